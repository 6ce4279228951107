"""`allusion-es compare`: which passages of a text allude to which of another?"""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allusion_es.cli.bad_records import BadRecords
from allusion_es.cli.options import (
    Author,
    DataDir,
    ExcludeAuthor,
    ExcludeWork,
    Html,
    OwnWork,
    ServerOptions,
    library,
    open_candidate_index,
    takes_html,
)
from allusion_es.core.errors import InputError, UsageError
from allusion_es.retrieval.defaults import DEFAULTS

if TYPE_CHECKING:
    from allusion_es.corpora.passage import Passage
    from allusion_es.front.comparison import Pair
    from allusion_es.retrieval.index import CandidateIndex


class PairFormat(StrEnum):
    """How pairs are printed."""

    table = "table"
    json = "json"
    csv = "csv"
    tsv = "tsv"


def compare(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="The earlier text, which is alluded to: a file or folder as for 'index', or the "
            "name of an index.",
            show_default=False,
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(help="The later text, which alludes: a file or folder.", show_default=False),
    ],
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many pairs to show.")] = 100,
    first_stage: Annotated[
        str, typer.Option(help="Candidates, as for 'query'.")
    ] = DEFAULTS.first_stage,
    candidates: Annotated[
        int, typer.Option(help="How many candidates to rescore for each passage of TARGET.")
    ] = DEFAULTS.candidates,
    rerank: Annotated[
        str, typer.Option(help="Reranker (allusion-es list rerankers), or none.")
    ] = DEFAULTS.rerank,
    work: Annotated[
        list[str] | None, typer.Option(help="Only this work of SOURCE; repeatable.")
    ] = None,
    author: Author = None,
    exclude_work: ExcludeWork = None,
    exclude_author: ExcludeAuthor = None,
    own_work: OwnWork = False,
    html: Html = None,
    format: Annotated[
        PairFormat | None,
        typer.Option(
            help="json: a pair a line; csv and tsv: for spreadsheets; a table by default.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes; one a processor by default.",
            show_default=False,
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Find the passages of a later text that allude to those of an earlier one.

    SOURCE and TARGET are what Tesserae calls so. Each passage of TARGET is a query with the
    passages beside it as context; the best pairs are printed. The index of SOURCE is kept, so that
    it is built only once.
    """
    from allusion_es.cli.progress import progress
    from allusion_es.corpora.passage_files import read_files
    from allusion_es.front.comparison import answers_of_pairs, best_pairs
    from allusion_es.front.many_answers import ManyAnswers
    from allusion_es.front.queries import passage_queries
    from allusion_es.retrieval.options import search_filter_of
    from allusion_es.retrieval.pipeline import QueryOptions, Retriever
    from allusion_es.retrieval.unanswered import Unanswered, left_out

    takes_html(context, html, "format")
    bad = BadRecords()
    processes = workers or os.cpu_count() or 1
    # The target first: a slip in it must not cost the building of an index.
    targets = list(progress(read_files([target], on_bad=bad), f"Reading {target.name}"))
    key, open_index = _source(source, processes, bad)
    options = QueryOptions.chosen(
        first_stage=first_stage,
        candidates=candidates,
        rerank=rerank,
        search_filter=search_filter_of(
            None,
            None,
            work,
            authors=author,
            excluded_works=exclude_work,
            excluded_authors=exclude_author,
            own_work=own_work,
        ),
        explain=html is not None,
    )
    index = open_index()
    # Options are checked here, before other processes begin.
    retriever = Retriever(index, options)
    queries = passage_queries(targets)
    found = ManyAnswers(retriever, open_index, queries, processes)
    answers = list(progress(found, "Comparing", len(queries)))
    pairs = best_pairs(answers, targets, retriever, top)
    if html is not None:
        from allusion_es.cli.query import write_answers

        method = f"{first_stage}.{rerank}, the best {len(pairs)} pairs"
        write_answers(html, answers_of_pairs(answers, pairs), retriever, method, found)
    else:
        _print(pairs, format or PairFormat.table)
    noun = "pair" if len(pairs) == 1 else "pairs"
    print(
        f"{len(pairs)} {noun} of {len(targets):,} passages of {target.name} with {len(index):,} of "
        f"{source}; scores order them, and say nothing by themselves",
        file=sys.stderr,
    )
    for warning in found.warnings:
        print(f"note: {warning}", file=sys.stderr)
    if key and bad.count:
        # Found again as it is, it would not say what it lacks.
        library().forget(key)
    unanswered = [
        Unanswered(answer.query.query, answer.failure)
        for answer in answers
        if answer.failure is not None
    ]
    if unanswered:
        raise left_out(unanswered, len(queries))
    bad.check()


def _source(
    source: str, workers: int, bad: BadRecords
) -> "tuple[str, Callable[[], CandidateIndex]]":
    """What opens the index of a file or folder, or of that name; and the key of one that is kept.

    The index of files is built here where it is not there yet.
    """
    from allusion_es.cli.progress import progress
    from allusion_es.corpora.passage_files import read_files
    from allusion_es.front.comparison import collection_key

    path, books = Path(source), library(workers)
    if path.exists():

        def passages() -> "Iterable[Passage]":
            return progress(read_files([path], on_bad=bad), f"Indexing {path.name}")

        key = collection_key([path])
        books.kept(key, passages)
        return key, partial(_open_kept, key)
    try:
        known = source == DEFAULTS.name or books.path(source).exists()
    except UsageError:
        known = False
    if not known:
        there = ", ".join(books.names()) or "none yet"
        raise InputError(f"{source}: there is no such file, and no index of that name; {there}")
    return "", partial(open_candidate_index, source, ServerOptions(None))


def _open_kept(key: str) -> "CandidateIndex":
    """The index that is kept under a key; also called in other processes."""
    return library().open_kept(key)


def _print(pairs: "Sequence[Pair]", format: PairFormat) -> None:
    from allusion_es.front.comparison import COLUMNS
    from allusion_es.reports.answers import one_line

    rows = [pair.row(rank) for rank, pair in enumerate(pairs, start=1)]
    if format is PairFormat.table:
        _print_table(rows)
    elif format is PairFormat.json:
        for row, pair in zip(rows, pairs, strict=True):
            print(json.dumps({**row, "matched": pair.matched}, ensure_ascii=False))
    elif format is PairFormat.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([one_line(str(value)) for value in row.values()] for row in rows)
    else:
        print("\t".join(COLUMNS))
        for row in rows:
            print("\t".join(one_line(str(value)) for value in row.values()))


def _print_table(rows: Sequence[dict[str, object]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from allusion_es.cli.output import console
    from allusion_es.core.characters import visible

    table = Table(show_edge=False, pad_edge=False)
    table.add_column("rank", justify="right")
    table.add_column("target", ratio=2)
    table.add_column("source", ratio=2)
    table.add_column("matched words", ratio=1)
    table.add_column("score", justify="right")
    for row in rows:
        target, source = (
            Text.assemble(
                (visible(f"{row[side]}"), "bold"), "\n", visible(f"{row[f'{side}_text']}")
            )
            for side in ("target", "source")
        )
        matched = Text(visible(str(row["matched"])))
        table.add_row(str(row["rank"]), target, source, matched, f"{row['score']:.4f}")
    console().print(table if rows else "no pair found")
