"""`allusion-es embeddings`: train word vectors, describe them, list near words."""

import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allusion_es.cli.index import PassageFormat
from allusion_es.cli.options import DataDir, Name, TableFormat, library
from allusion_es.core.errors import UsageError
from allusion_es.retrieval.defaults import DEFAULTS

if TYPE_CHECKING:
    from allusion_es.corpora.passage import Passage
    from allusion_es.language.vectors.types import WordVectors
    from allusion_es.local.index import LocalIndex

app = typer.Typer(
    help="Train word vectors, describe them, find near words.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_VERSES = 35_809
"""Verses of the Vulgate, for the progress bar."""


class TrainingMethod(StrEnum):
    """A method of training word vectors."""

    fasttext = "fasttext"
    word2vec = "word2vec"


class WordField(StrEnum):
    """A kind of words of an index."""

    token = "token"
    lemma = "lemma"


@app.command("train")
def train(
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            help="Texts, as for 'allusion-es index'; the Vulgate by default.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        TrainingMethod,
        typer.Option(help="fasttext also gives vectors to words that the texts lack."),
    ] = TrainingMethod.fasttext,
    dimension: Annotated[int, typer.Option(help="Length of the vectors.")] = 100,
    window: Annotated[int, typer.Option(help="Words to each side that are context.")] = 5,
    epochs: Annotated[int, typer.Option(help="How often to go through the texts.")] = 10,
    min_count: Annotated[int, typer.Option(help="Rarer words get no row of their own.")] = 3,
    seed: Annotated[int, typer.Option(help="Same texts and seed: same file.")] = 1,
    lemmas: Annotated[
        bool, typer.Option("--lemmas/--tokens", help="Train on lemmas or on word forms.")
    ] = True,
    kind: Annotated[
        PassageFormat | None,
        typer.Option(
            help="How the texts are read; by the file's name by default.", show_default=False
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Train word vectors with gensim, on your texts or the Vulgate.

    One thread trains, so that the same texts and seed give the same file.
    """
    import logging

    from allusion_es.cli.progress import progress
    from allusion_es.language.vectors.training import WordVectorTraining, train_vectors

    training = WordVectorTraining(method.value, dimension, window, epochs, min_count, seed)
    if out.is_dir() or any(path.resolve() == out.resolve() for path in paths or ()):
        raise UsageError(f"--out {out}: a folder or one of the texts; give another file")
    # gensim warns of small texts through logging, in words that are not ours.
    logging.getLogger("gensim").addHandler(logging.NullHandler())
    texts = list(_texts(paths or (), kind, lemmas))
    works = ", ".join(path.name for path in paths or ()) or "the Vulgate"
    about = f"{'lemmas' if lemmas else 'tokens'} of {works}"
    words = train_vectors(texts, out, training, about, progress)
    print(f"{out}: {words} words, {dimension} dimensions", file=sys.stderr)


def _texts(
    paths: Iterable[Path], kind: PassageFormat | None, lemmas: bool
) -> Iterator[tuple[str, ...]]:
    """The lemmas or tokens of each passage of the files, or of the Vulgate if there are none."""
    from allusion_es.language.latin.analysis import Analyser
    from allusion_es.retrieval.analysed import analyse_passages

    for analysed in analyse_passages(_passages(paths, kind), Analyser()):
        yield analysed.analysis.lemmas if lemmas else analysed.analysis.tokens


def _passages(paths: Iterable[Path], kind: PassageFormat | None) -> "Iterator[Passage]":
    from allusion_es.cli.progress import progress
    from allusion_es.corpora.bible.vulgate import read_vulgate
    from allusion_es.corpora.packages import VULGATE, fetch
    from allusion_es.corpora.passage_files import read_passages

    if not paths:
        path = fetch(VULGATE, library().folder, progress)
        yield from progress(read_vulgate(path), "Reading the Vulgate", _VERSES)
    for path in paths:
        passages = read_passages(path, kind=kind.value if kind else None)
        yield from progress(passages, f"Reading {path.name}")


@app.command("info")
def info(
    source: Annotated[
        str, typer.Argument(metavar="FILE|NAME", help="A file of word vectors, or floret.")
    ],
    format: Annotated[TableFormat, typer.Option(help="How to print.")] = TableFormat.table,
    data_dir: DataDir = None,
) -> None:
    """Describe word vectors: format, words, dimension, what becomes of unknown words."""
    from allusion_es.cli.output import print_rows
    from allusion_es.language.vectors.tables import NgramVectors, TableVectors

    vectors = open_vectors(source)
    facts: dict[str, Any] = {"name": vectors.name, "dimension": vectors.dimension}
    if isinstance(vectors, NgramVectors | TableVectors):
        facts |= {"format": vectors.kind, "words": len(vectors)}
        facts |= {"unknown_words": vectors.unknown_words, **vectors.details}
    else:
        facts |= {"format": "floret", "words": "any, each made of its n-grams"}
    if format is TableFormat.table:
        rows = [{"property": name, "value": value} for name, value in facts.items()]
        print_rows(rows, format)
    else:
        print_rows([facts], format)


@app.command("nearest")
def nearest(
    word: Annotated[str, typer.Argument(help="The word, in any spelling.")],
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="Word vectors: a file, or floret; by default those of the index.",
            show_default=False,
        ),
    ] = None,
    name: Name = DEFAULTS.name,
    field: Annotated[WordField, typer.Option(help="Which words of the index.")] = WordField.lemma,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many words to show.")] = 10,
    format: Annotated[TableFormat, typer.Option(help="How to print.")] = TableFormat.table,
    data_dir: DataDir = None,
) -> None:
    """List the words of an index whose vectors are nearest to a word's, by cosine."""
    from allusion_es.cli.output import print_rows
    from allusion_es.language.latin.fold import fold

    # Vectors are of folded words: small letters, with u for v and i for j.
    form = fold(word)
    if not form:
        raise UsageError(f"{word!r} is no word; give one with letters")
    index = library().open(name)
    source = open_vectors(vectors) if vectors is not None else index.vectors
    if source is None:
        raise UsageError(f"index {name!r} has no word vectors; choose some with --vectors")
    if not source.vectors([form]).any():
        print(f"{form!r} has no vector in {source.name}", file=sys.stderr)
    print_rows(list(_nearest(form, source, index, field, top)), format, f"Nearest to {form}")


def _nearest(
    form: str, source: "WordVectors", index: "LocalIndex", field: WordField, top: int
) -> Iterator[dict[str, Any]]:
    """The nearest words with their cosine and document frequency; ties in alphabetical order."""
    import numpy as np

    words = [word for word in index.words if word != form]
    df = index.statistics(field.value, words).df
    known = [(word, count) for word, count in zip(words, df.tolist(), strict=True) if count]
    if not known:
        return
    cosines = source.vectors([word for word, _ in known]) @ source.vectors([form])[0]
    order = np.lexsort((np.arange(len(known)), -cosines))
    for rank, place in enumerate(order[:top].tolist(), start=1):
        cosine = round(float(cosines[place]), 6)
        if cosine > 0:
            word, count = known[place]
            yield {"rank": rank, "word": word, "cosine": cosine, "passages": count}


def open_vectors(source: str) -> "WordVectors":
    """The word vectors of a file or a name.

    Raises:
        InputError: It is neither, or cannot be read as word vectors.
    """
    from allusion_es.language.vectors.files import load_vectors

    return load_vectors(source, {"floret": library().vectors})
