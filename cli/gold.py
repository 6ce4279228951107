"""`allusion-es gold`: check gold links, fetch public ones, turn one form into another."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allusion_es.cli.gold_tei import Numbers, Out, from_tei
from allusion_es.cli.options import (
    IdColumn,
    Name,
    ServerOptions,
    TableFormat,
    TextColumn,
    column_names,
    open_candidate_index,
    takes_server,
)
from allusion_es.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allusion_es.evaluation.gold import GoldLink
    from allusion_es.evaluation.gold_check import Finding, GoldReport

app = typer.Typer(
    help="Check gold links, fetch public ones, turn one form into another.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_SHOWN = 20
"""Findings of each kind that a table shows; JSON and TSV have all."""


class Kind(StrEnum):
    """How gold links are written down."""

    jsonl = "jsonl"
    tsv = "tsv"
    trec = "trec"


class Source(StrEnum):
    """Public gold links."""

    openbible = "openbible"


File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Gold links: JSON lines, a table with tabs, or TREC qrels with topics.",
        show_default=False,
    ),
]
FileKind = Annotated[
    Kind | None,
    typer.Option(help="How the file is read; by its name by default.", show_default=False),
]
Topics = Annotated[
    Path | None,
    typer.Option(
        help="The topics of qrels; by default the same name, ending in .topics.",
        show_default=False,
    ),
]
RelevantColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="What a table calls the column relevant.", show_default=False
    ),
]
Numbering = Annotated[Numbers, typer.Option(help="Whose verse numbers the file has.")]

app.command("from-tei")(from_tei)


@app.command("check")
@takes_server
def check(
    file: File,
    kind: FileKind = None,
    topics: Topics = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    relevant_column: RelevantColumn = None,
    numbering: Numbering = Numbers.vulgate,
    name: Name = "vulgate",
    format: Annotated[TableFormat, typer.Option(help="How to print.")] = TableFormat.table,
    *,
    server: ServerOptions,
) -> None:
    """Report what may be wrong with gold links.

    References to whole chapters and books, unknown passages, the same words twice, anchors that
    are not there, verse numbers that are off by one, links that share no word. A file that cannot
    be read is an error.
    """
    from allusion_es.evaluation.gold_check import check as look_through
    from allusion_es.evaluation.gold_files import read_gold
    from allusion_es.retrieval.pipeline import index_analyser

    columns = column_names(text=text_column, query_id=id_column, relevant=relevant_column)
    links = read_gold(file, kind, topics, columns)
    index = open_candidate_index(name, server)
    analyser = index_analyser(index)
    report = look_through(links, index, analyser, numbering.value, source=str(file))
    _print_report(report, format)
    counts = ", ".join(f"{count} {kind}" for kind, count in _kinds(report.findings).items())
    print(f"{file}: {len(links)} queries; {counts or 'nothing to look at'}", file=sys.stderr)


@app.command("convert")
@takes_server
def convert(
    file: File,
    to: Annotated[Kind, typer.Option("--to", help="What to write.")],
    out: Out = None,
    kind: FileKind = None,
    topics: Topics = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    relevant_column: RelevantColumn = None,
    numbering: Numbering = Numbers.vulgate,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out passages that the index lacks.")
    ] = False,
    name: Name = "vulgate",
    *,
    server: ServerOptions,
) -> None:
    """Write gold links in another form, with ids of the index in place of references.

    TREC files are two: qrels, and topics of the same name that ends in .topics.
    """
    from allusion_es.evaluation.gold_files import read_gold, write_gold, write_table, write_trec
    from allusion_es.evaluation.gold_ids import resolve, resolve_known

    if to is Kind.trec and out is None:
        raise UsageError("--to trec writes two files; name the qrels with --out")
    columns = column_names(text=text_column, query_id=id_column, relevant=relevant_column)
    links = read_gold(file, kind, topics, columns)
    ids = open_candidate_index(name, server).ids()
    if skip_unknown:
        kept, unknown = resolve_known(links, ids, numbering.value, source=str(file))
        lost = len(links) - len(kept)
        print(f"{file}: {len(unknown)} unknown passages, {lost} queries left out", file=sys.stderr)
    else:
        kept = resolve(links, ids, numbering.value, source=str(file))
    if out is None:
        (write_gold if to is Kind.jsonl else write_table)(sys.stdout, kept)
        return
    where = str(out)
    if to is Kind.trec:
        where = f"{out} and {write_trec(out, kept, _say)}"
    else:
        (write_gold if to is Kind.jsonl else write_table)(out, kept)
    print(f"{where}: {_amount(kept)}", file=sys.stderr)


def _say(note: str) -> None:
    print(f"note: {note}", file=sys.stderr)


@app.command("fetch")
@takes_server
def fetch(
    source: Annotated[Source, typer.Argument(help="Which links.", show_default=False)],
    votes: Annotated[int, typer.Option(min=1, help="Votes that a link has at least.")] = 20,
    out: Out = None,
    name: Name = "vulgate",
    *,
    server: ServerOptions,
) -> None:
    """Fetch public gold links: verses of the New Testament with verses of the Old.

    The words are those of the index. openbible: cross-references that readers of OpenBible.info
    voted for, CC BY 4.0.
    """
    from allusion_es.cli.progress import progress
    from allusion_es.core.files import data_dir as folder
    from allusion_es.corpora import packages
    from allusion_es.evaluation.gold_files import write_gold
    from allusion_es.evaluation.openbible import openbible_links

    index = open_candidate_index(name, server)
    path = packages.fetch(packages.CROSS_REFERENCES, folder(), progress)
    packages.verify(packages.CROSS_REFERENCES, folder())
    links = openbible_links(path, index, votes)
    write_gold(sys.stdout if out is None else out, links)
    credit = packages.CROSS_REFERENCES.credit
    print(f"{source.value}: {_amount(links)} ({credit})", file=sys.stderr)


def _amount(links: "Sequence[GoldLink]") -> str:
    return f"{len(links)} queries, {sum(len(link.relevant) for link in links)} links"


def _kinds(findings: "Sequence[Finding]") -> dict[str, int]:
    """How many findings there are of each kind, in their order."""
    from collections import Counter

    return dict(Counter(finding.kind for finding in findings))


def _print_report(report: "GoldReport", format: TableFormat) -> None:
    import json
    from dataclasses import asdict

    from allusion_es.cli.output import print_rows

    types = [asdict(counts) for counts in report.types]
    findings = [asdict(finding) for finding in report.findings]
    if format is TableFormat.json:
        print(json.dumps({"types": types, "findings": findings}, ensure_ascii=False, indent=2))
    elif format is TableFormat.tsv:
        print_rows(findings, format)
    else:
        print_rows(types, format, "Links by type")
        print_rows(list(_first_of_each_kind(findings)), format, "To look at")


def _first_of_each_kind(findings: "Sequence[dict[str, Any]]") -> "Iterator[dict[str, Any]]":
    for kind, count in _kinds_of(findings).items():
        of_kind = [finding for finding in findings if finding["kind"] == kind]
        yield from of_kind[:_SHOWN]
        if count > _SHOWN:
            note = f"{count - _SHOWN} more; --format tsv lists all"
            yield dict.fromkeys(findings[0], "") | {"kind": kind, "note": note}


def _kinds_of(findings: "Sequence[dict[str, Any]]") -> "dict[str, int]":
    from collections import Counter

    return dict(Counter(finding["kind"] for finding in findings))
