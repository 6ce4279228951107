"""`allusion-es index`: build an index of the Vulgate or of one's own texts."""

import re
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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


class PassageFormat(StrEnum):
    """How a file is read."""

    table = "table"
    lines = "lines"
    verses = "verses"


class Neighbours(StrEnum):
    """How Elasticsearch finds nearest neighbours."""

    flat = "flat"
    hnsw = "hnsw"


@takes_server
def index(
    path: Annotated[
        Path | None,
        typer.Argument(
            help="A TSV or CSV with columns id and text, or a text with one passage a line (HTML, "
            "DOCX: a paragraph); the Vulgate by default.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            "-n",
            help="Name of the index; from the file's name by default.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        PassageFormat | None,
        typer.Option(
            help="table (columns id, text, …), lines (one passage a line), verses (reference, "
            "tab, text); by the file's name by default.",
            show_default=False,
        ),
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    work: Annotated[str | None, typer.Option(help="Title of the work.", show_default=False)] = None,
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
            help="Keep citation vectors, for 'citations' and 'citation-cosine'; by default where "
            "those that come with the program fit the lemmatiser.",
            show_default=False,
        ),
    ] = None,
    k1: Annotated[float, typer.Option(help="BM25's term-frequency saturation.")] = 1.2,
    b: Annotated[float, typer.Option(help="BM25's length normalisation.")] = 0.75,
    shards: Annotated[int, typer.Option(min=1, help="Shards on Elasticsearch.")] = 1,
    replicas: Annotated[int, typer.Option(min=0, help="Replicas on Elasticsearch.")] = 0,
    knn: Annotated[
        Neighbours, typer.Option(help="Nearest neighbours on Elasticsearch: exact or fast.")
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
    from allusion_es.local.library import BuildOptions
    from allusion_es.retrieval.index import check_name

    chosen = check_name(name or _name_of(path))
    options = BuildOptions(lemmatiser, stop_words, vectors, k1, b, learned_links)
    columns = column_names(text=text_column, id=id_column)
    passages = windowed(_passages(path, kind, work, columns), window, window_words, step)
    books = library(workers)
    if server.url is None:
        count, where = books.build(chosen, passages, options), str(books.path(chosen))
    else:
        from allusion_es.cli.progress import progress
        from allusion_es.es.build import build_es_index

        with server.connect() as connected:
            where = connected.url
            count = build_es_index(
                connected,
                chosen,
                *books.prepare(passages, options),
                shards=shards,
                replicas=replicas,
                knn=knn.value,
                progress=progress,
                workers=books.workers,
            )
    print(f"index {chosen!r}: {count} passages in {where}", file=sys.stderr)


def _name_of(path: Path | None) -> str:
    if path is None:
        return "vulgate"
    name = re.sub(r"[^a-z0-9_-]+", "-", path.stem.lower()).strip("-_")
    if not name:
        raise UsageError(f"{path}: no index name can be made of it; give one with --name")
    return name


def _passages(
    path: Path | None, kind: PassageFormat | None, work: str | None, columns: Mapping[str, str]
) -> "Iterable[Passage]":
    if path is None:
        return library().vulgate()
    from allusion_es.cli.progress import progress
    from allusion_es.corpora.passage_files import read_passages

    passages = read_passages(path, kind=kind.value if kind else None, work=work, columns=columns)
    return progress(passages, "Indexing")
