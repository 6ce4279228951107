"""`allusion-es index`: build an index of the Vulgate or of one's own texts."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allusion_es.cli.bad_records import BadRecords
from allusion_es.cli.notes import print_note
from allusion_es.cli.options import (
    IdColumn,
    ServerOptions,
    TextColumn,
    column_names,
    library,
    takes_server,
)
from allusion_es.core.errors import UsageError

if TYPE_CHECKING:
    from allusion_es.corpora.passage import Passage
    from allusion_es.language.encoders.settings import EncoderChoice


class PassageFormat(StrEnum):
    """How a file is read."""

    table = "table"
    lines = "lines"
    verses = "verses"
    tei = "tei"
    tess = "tess"
    jsonl = "jsonl"


class Neighbours(StrEnum):
    """How Elasticsearch finds nearest neighbours."""

    flat = "flat"
    hnsw = "hnsw"
    int8_hnsw = "int8_hnsw"


@takes_server
def index(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE|FOLDER]…",
            help="TEI editions, Tesserae's .tess, a TSV or CSV with columns id and text, JSON "
            "lines with id and text, or texts with one passage a line (HTML, DOCX: a paragraph); "
            "the Vulgate by default.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            "-n",
            help="Name of the index; from the first file's name by default.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        PassageFormat | None,
        typer.Option(
            help="table (columns id, text, …), lines (one passage a line), verses (reference, "
            "tab, text), tei, tess, or jsonl; by the file's name by default.",
            show_default=False,
        ),
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    work: Annotated[
        str | None,
        typer.Option(help="Title of the work; from the file by default.", show_default=False),
    ] = None,
    author: Annotated[
        str | None,
        typer.Option(help="Author of the work; from the file by default.", show_default=False),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(help="Index windows of this many passages.", show_default=False),
    ] = None,
    window_words: Annotated[
        int | None, typer.Option(help="Index windows of this many words.", show_default=False)
    ] = None,
    step: Annotated[
        int | None,
        typer.Option(
            help="From one window to the next; half a window by default.", show_default=False
        ),
    ] = None,
    lemmatiser: Annotated[str, typer.Option(help="Lemmatiser plug-in.")] = "simplemma",
    stop_words: Annotated[
        bool, typer.Option("--stop-words", help="Leave out function words.")
    ] = False,
    vectors: Annotated[
        bool, typer.Option(help="Keep word vectors, for knn and soft cosine.")
    ] = True,
    learned_links: Annotated[
        bool | None,
        typer.Option(
            "--learned-links/--no-learned-links",
            help="Keep what was learned from citations of the Bible; by default where the "
            "collection is the Bible and it fits the lemmatiser.",
            show_default=False,
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Give passages vectors of a sentence encoder, for 'dense' and 'encoder-cosine': a "
            "folder with an ONNX export, or a name on the hub (docs/neural.md).",
            show_default=False,
        ),
    ] = None,
    pooling: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How the encoder's vectors of tokens become one: mean, cls, max, or none where it "
            "gives one; as the model's files say by default.",
            show_default=False,
        ),
    ] = None,
    query_prefix: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What the encoder wants before queries, such as 'query: '; as the model's files "
            "say by default.",
            show_default=False,
        ),
    ] = None,
    passage_prefix: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="The same before passages: 'passage: '.", show_default=False
        ),
    ] = None,
    encoder_store: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            help="How the encoder's vectors are kept: int8 (the default) or float16.",
            show_default=False,
        ),
    ] = None,
    k1: Annotated[float, typer.Option(help="BM25's term-frequency saturation.")] = 1.2,
    b: Annotated[float, typer.Option(help="BM25's length normalisation.")] = 0.75,
    shards: Annotated[int, typer.Option(min=1, help="Shards on Elasticsearch.")] = 1,
    replicas: Annotated[int, typer.Option(min=0, help="Replicas on Elasticsearch.")] = 0,
    knn: Annotated[
        Neighbours, typer.Option(help="Nearest neighbours on Elasticsearch: exact (flat) or fast.")
    ] = Neighbours.flat,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; one a processor by default.", show_default=False),
    ] = None,
    *,
    server: ServerOptions,
) -> None:
    """Build an index in this process, or on Elasticsearch with --es.

    An index of the same name stays in use until the new one is complete.
    """
    from allusion_es.corpora.windows import windowed
    from allusion_es.language.latin.analysis import Analyser
    from allusion_es.local.library import BuildOptions
    from allusion_es.retrieval.index import check_name
    from allusion_es.retrieval.latin import CollectionDoubt

    chosen = check_name(name or _name_of(paths[0] if paths else None))
    bad = BadRecords()
    chosen_encoder = _encoder(encoder, pooling, query_prefix, passage_prefix, encoder_store)
    options = BuildOptions(lemmatiser, stop_words, vectors, k1, b, learned_links, chosen_encoder)
    columns = column_names(text=text_column, id=id_column)
    found = _passages(paths or (), kind, work, author, columns, bad)
    doubt = CollectionDoubt(Analyser(lemmatiser))
    passages = windowed(doubt.watch(found), window, window_words, step)
    books = library(workers)
    if server.url is None:
        prepared = books.prepare(passages, options)
        count, where = books.build_prepared(chosen, prepared), str(books.path(chosen))
    else:
        from allusion_es.cli.progress import progress
        from allusion_es.es.build import build_es_index

        with server.connect() as connected:
            where, prepared = connected.url, books.prepare(passages, options)
            count = build_es_index(
                connected,
                chosen,
                *prepared,
                shards=shards,
                replicas=replicas,
                knn=knn.value,
                progress=progress,
                workers=books.workers,
            )
    print(f"index {chosen!r}: {count} passages in {where}", file=sys.stderr)
    for note in doubt.notes():
        print_note(note)
    encoded = prepared[-1]
    if encoded is not None and encoded.cut:
        settings = encoded.settings
        print_note(
            f"{encoded.cut} passages are longer than the {settings.max_tokens} tokens that "
            f"{settings.name} reads, and were cut"
        )
    bad.check()


def _encoder(
    model: str | None,
    pooling: str | None,
    query_prefix: str | None,
    passage_prefix: str | None,
    store: str | None,
) -> "EncoderChoice | None":
    from allusion_es.language.encoders.settings import EncoderChoice

    if model is not None:
        return EncoderChoice(model, pooling, query_prefix, passage_prefix, store or "int8")
    if any(option is not None for option in (pooling, query_prefix, passage_prefix, store)):
        raise UsageError(
            "--pooling, --query-prefix, --passage-prefix and --encoder-store need --encoder"
        )
    return None


def _name_of(path: Path | None) -> str:
    if path is None:
        return "vulgate"
    # A folder may have a full stop in its name, and `.` has none.
    stem = path.resolve().name if path.is_dir() else path.stem
    name = re.sub(r"[^a-z0-9_-]+", "-", stem.lower()).strip("-_")
    if not name:
        raise UsageError(f"{path}: no index name can be made of it; give one with --name")
    return name


def _passages(
    paths: Sequence[Path],
    kind: PassageFormat | None,
    work: str | None,
    author: str | None,
    columns: Mapping[str, str],
    bad: BadRecords,
) -> "Iterable[Passage]":
    if not paths:
        return library().vulgate()
    from allusion_es.cli.progress import progress
    from allusion_es.corpora.passage_files import read_files

    passages = read_files(
        paths,
        kind=kind.value if kind else None,
        work=work,
        author=author,
        columns=columns,
        on_bad=bad,
    )
    return progress(passages, "Indexing")
