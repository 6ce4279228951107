"""`allusion-es compare`: which passages of a text allude to which of another?"""

import csv
import json
import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allusion_es.cli.bad_records import BadRecords
from allusion_es.cli.notes import print_note
from allusion_es.cli.options import (
    Author,
    ExcludeAuthor,
    ExcludeWork,
    Html,
    OwnWork,
    ServerOptions,
    library,
    open_candidate_index,
    takes_html,
    takes_server,
)
from allusion_es.retrieval.defaults import DEFAULTS

if TYPE_CHECKING:
    from allusion_es.front.comparison import Comparison


class PairFormat(StrEnum):
    """How pairs are printed."""

    table = "table"
    json = "json"
    csv = "csv"
    tsv = "tsv"


@takes_server
def compare(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="The earlier text, which is alluded to: a file or folder as for 'index', or the "
            "name of an index; with --es the index is on the server.",
            show_default=False,
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(help="The later text, which alludes: a file or folder.", show_default=False),
    ],
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many pairs to show.")] = 100,
    window: Annotated[
        int,
        typer.Option(
            min=1,
            help="An allusion may go over so many passages on either side: pairs beside each other "
            "are shown as one.",
        ),
    ] = 1,
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
    *,
    server: ServerOptions,
) -> None:
    """Find the passages of a later text that allude to those of an earlier one.

    SOURCE and TARGET are what Tesserae calls so. Each passage of TARGET is a query with the
    passages beside it as context; the best pairs are printed. The index of SOURCE is kept, so that
    it is built only once.
    """
    from allusion_es.cli.progress import progress
    from allusion_es.corpora.passage_files import read_files
    from allusion_es.front.comparison import compare_passages, open_source
    from allusion_es.language.latin.analysis import Analyser
    from allusion_es.retrieval.latin import CollectionDoubt
    from allusion_es.retrieval.options import search_filter_of
    from allusion_es.retrieval.pipeline import QueryOptions
    from allusion_es.retrieval.unanswered import left_out

    takes_html(context, html, "format")
    bad = BadRecords()
    processes = workers or os.cpu_count() or 1
    # The target first: a slip in it must not cost the building of an index.
    doubts = {name: CollectionDoubt(Analyser()) for name in (target.name, source)}
    passages = doubts[target.name].watch(read_files([target], on_bad=bad))
    targets = list(progress(passages, f"Reading {target.name}"))
    opened = open_source(
        source,
        library(processes),
        partial(open_candidate_index, server=server),
        None if server.url is None else server.connect,
        bad,
        progress,
        doubts[source].watch,
    )
    is_both = server.url is None and Path(source).exists() and source in library().names()
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
    found = compare_passages(
        opened.open,
        targets,
        options,
        top=top,
        window=window,
        workers=processes,
        progress=progress,
    )
    retriever = found.retriever
    if html is not None:
        from allusion_es.cli.query import write_answers

        write_answers(html, found.answers(), retriever, found.method, found.found)
    else:
        _print(found, format or PairFormat.table)
    noun = "pair" if len(found) == 1 else "pairs"
    print(
        f"{len(found)} {noun} of {len(targets):,} passages of {target.name} with "
        f"{len(retriever.index):,} of {source}; scores order them, and say nothing by themselves",
        file=sys.stderr,
    )
    doubtful = [f"{name}: {note}" for name, each in doubts.items() for note in each.notes()]
    both = [f"{source} is a file or folder here, and was read; the index of that name was not used"]
    for note in (*(both if is_both else ()), *found.notes, *doubtful):
        print_note(note)
    if bad.count:
        # Found again as it is, it would not say what it lacks.
        opened.forget()
    if found.unanswered:
        raise left_out(found.unanswered, len(targets))
    bad.check()


def _print(found: "Comparison", format: PairFormat) -> None:
    from allusion_es.front.comparison import COLUMNS
    from allusion_es.reports.answers import one_line

    rows = found.rows()
    if format is PairFormat.table:
        _print_table(rows)
    elif format is PairFormat.json:
        for record in found.to_dict():
            print(json.dumps(record, ensure_ascii=False))
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
