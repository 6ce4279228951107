"""`allusion-es gold`: check gold links, fetch public ones, turn one format into another."""

import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allusion_es.cli.help import GroupedCommand
from allusion_es.cli.notes import print_note
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
from allusion_es.cli.read import Languages, print_left_out
from allusion_es.core.errors import UsageError
from allusion_es.retrieval.defaults import DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from allusion_es.evaluation.gold.check import GoldReport
    from allusion_es.evaluation.gold.link import GoldLink
    from allusion_es.evaluation.gold.tei import TeiGold, UnreadReference

app = typer.Typer(
    help="Check gold links, fetch public ones, turn one form into another.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_SHOWN = 20
"""Findings of each kind that a table shows; JSON and TSV have all."""

_UNREAD_COLUMNS = ("file", "line", "element", "reference", "reason", "text", "xpath")


class VerseNumbering(StrEnum):
    """The verse numbering of gold links."""

    vulgate = "vulgate"
    hebrew = "hebrew"
    kjv = "kjv"


class LinkType(StrEnum):
    """The type of a gold link."""

    quotation = "quotation"
    paraphrase = "paraphrase"
    allusion = "allusion"
    reference = "reference"


class GoldFormat(StrEnum):
    """The format of a file of gold links."""

    jsonl = "jsonl"
    tsv = "tsv"
    trec = "trec"


class PublicGold(StrEnum):
    """Public collections of gold links."""

    openbible = "openbible"


Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The file to write; stdout by default.", show_default=False),
]
File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Gold links: JSON lines, a table with tabs, or TREC qrels with topics.",
        show_default=False,
    ),
]
FileKind = Annotated[
    GoldFormat | None,
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
Numbering = Annotated[VerseNumbering, typer.Option(help="Whose verse numbers the file has.")]


@app.command("from-tei", cls=GroupedCommand)
@takes_server
def from_tei(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="TEI P5.", show_default=False)
    ],
    out: Out = None,
    words: Annotated[int, typer.Option(min=1, help="Most words before a mere note mark.")] = 10,
    context: Annotated[int, typer.Option(min=0, help="Words before and after.")] = 15,
    type: Annotated[
        list[LinkType] | None,
        typer.Option("--type", help="Keep links of this type (repeatable); all by default."),
    ] = None,
    unread: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write all notes and sources that give no link, or less than they name, to a "
            "table with tabs (JSON lines if FILE ends in .jsonl).",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            help="Read this part of the file too, such as front, back or div; repeatable.",
            show_default=False,
        ),
    ] = None,
    language: Languages = None,
    numbering: Annotated[
        VerseNumbering, typer.Option(help="Whose verse numbers the references have.")
    ] = VerseNumbering.vulgate,
    name: Name = DEFAULTS.name,
    *,
    server: ServerOptions,
) -> None:
    """Read the Bible references that TEI editions encode as gold links, JSON lines.

    Read are ref, bibl, quote, q, seg, cit and note: their cRef, target and source, and words such
    as "cf. Ps. 33, 9". References that cannot be read are told line by line; --unread writes every
    note that gives no link, with its words and the reason, to a file.
    """
    from allusion_es.cli.progress import progress
    from allusion_es.core.errors import InputError
    from allusion_es.corpora.tei.reader import read_tei
    from allusion_es.corpora.tei.rules import ANNOTATED
    from allusion_es.evaluation.gold.files import write_gold
    from allusion_es.evaluation.gold.ids import ReferenceReader
    from allusion_es.evaluation.gold.tei import gold_from_tei

    parts = frozenset(keep or ())
    if noted := parts & ANNOTATED:
        # Their words are read for references; they cannot be words of the text as well.
        raise UsageError(f"--keep {min(noted)}: only parts such as front, back and div can be kept")
    reader = ReferenceReader(open_candidate_index(name, server).ids(), numbering.value)
    kept: list[GoldLink] = []
    unread_rows: list[dict[str, str | int]] = []
    # Files of one name in several folders go on counting, so that ids differ.
    counts: dict[str, int] = {}
    for path in progress(files, "Reading", len(files)):
        first = counts.get(path.stem, 0) + 1
        source = read_tei(path, keep=parts, languages=frozenset(language or ()))
        found = gold_from_tei(source, reader, words=words, context=context, first=first)
        counts[path.stem] = first + len(found.links) - 1
        links = [link for link in found.links if not type or link.type in type]
        _print_counts(path, found, links)
        # Notes are not left out here: they are what is read.
        print_left_out(source, frozenset({"part", "language", "deletion"}))
        unread_rows += (_unread_row(path, each) for each in found.all_unread())
        kept += links
    if unread is not None:
        _write_unread(unread, unread_rows)
    if not kept:
        named = ", ".join(map(str, files))
        raise InputError(f"{named}: no reference to a verse gives a link; see what is told above")
    write_gold(sys.stdout if out is None else out, kept)


def _print_counts(path: Path, found: "TeiGold", links: "Sequence[GoldLink]") -> None:
    """Print each reference of a file that gives no link, and how many links there are."""
    for each in found.unread:
        print(f"{path}:{each.line}: {each.written!r}: {each.reason}", file=sys.stderr)
    types = _counts(sorted(link.type for link in links))
    print(
        f"{path}: {len(links)} links"
        + (f" ({types})" if types else "")
        + f"; references not read: {len(found.unread)}, "
        f"notes and pointers without one: {found.without}"
        + (f", notes read in part: {len(found.in_part)}" if found.in_part else ""),
        file=sys.stderr,
    )


def _unread_row(path: Path, unread: "UnreadReference") -> "dict[str, str | int]":
    return {
        "file": str(path),
        "line": unread.line,
        "element": unread.element,
        "reference": unread.written,
        "reason": unread.reason,
        "text": unread.text,
        "xpath": unread.xpath,
    }


def _write_unread(path: Path, rows: "Sequence[dict[str, str | int]]") -> None:
    """Write the notes and sources that were not read, whole or not at all, and print how many."""
    import csv
    import io
    import json

    from allusion_es.core.files import write_lines
    from allusion_es.corpora.findings import spreadsheet_cell

    def table() -> "Iterator[str]":
        yield "\t".join(_UNREAD_COLUMNS)
        for row in rows:
            line = io.StringIO()
            cells = [spreadsheet_cell(str(value)) for value in row.values()]
            csv.writer(line, "excel-tab", lineterminator="").writerow(cells)
            yield line.getvalue()

    if path.suffix.lower() in (".jsonl", ".json"):
        write_lines(path, (json.dumps(row, ensure_ascii=False) for row in rows))
    else:
        write_lines(path, table())
    print(f"{path}: {len(rows)} notes and sources that were not read", file=sys.stderr)


@app.command("check", cls=GroupedCommand)
@takes_server
def check(
    file: File,
    kind: FileKind = None,
    topics: Topics = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    relevant_column: RelevantColumn = None,
    numbering: Numbering = VerseNumbering.vulgate,
    name: Name = DEFAULTS.name,
    format: Annotated[TableFormat, typer.Option(help="How to print.")] = TableFormat.table,
    *,
    server: ServerOptions,
) -> None:
    """Report what may be wrong with gold links.

    References to whole chapters and books, unknown passages, the same words twice, anchors that
    are not there, verse numbers that are off by one, links that share no word. A file that cannot
    be read is an error.
    """
    from allusion_es.evaluation.gold.check import check as look_through
    from allusion_es.evaluation.gold.files import read_gold
    from allusion_es.retrieval.pipeline import index_analyser

    columns = column_names(text=text_column, query_id=id_column, relevant=relevant_column)
    links = read_gold(file, kind, topics, columns)
    index = open_candidate_index(name, server)
    analyser = index_analyser(index)
    report = look_through(links, index, analyser, numbering.value, source=str(file))
    _print_report(report, format)
    counts = _counts(finding.kind for finding in report.findings)
    print(f"{file}: {len(links)} queries; {counts or 'nothing to look at'}", file=sys.stderr)


def _print_report(report: "GoldReport", format: TableFormat) -> None:
    """Print the report; a table shows the first findings of each kind only."""
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
        shown = []
        for kind, count in Counter(finding["kind"] for finding in findings).items():
            shown += [finding for finding in findings if finding["kind"] == kind][:_SHOWN]
            if count > _SHOWN:
                note = f"{count - _SHOWN} more; --format tsv lists all"
                shown.append(dict.fromkeys(findings[0], "") | {"kind": kind, "note": note})
        print_rows(shown, format, "To look at")


@app.command("convert", cls=GroupedCommand)
@takes_server
def convert(
    file: File,
    to: Annotated[GoldFormat, typer.Option("--to", help="What to write.")],
    out: Out = None,
    kind: FileKind = None,
    topics: Topics = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    relevant_column: RelevantColumn = None,
    numbering: Numbering = VerseNumbering.vulgate,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out passages that the index lacks.")
    ] = False,
    name: Name = DEFAULTS.name,
    *,
    server: ServerOptions,
) -> None:
    """Write gold links in another form, with ids of the index in place of references.

    TREC files are two: qrels, and topics of the same name that ends in .topics.
    """
    from allusion_es.evaluation.gold.files import read_gold, write_gold, write_table, write_trec
    from allusion_es.evaluation.gold.ids import resolve, resolve_known

    if to is GoldFormat.trec and out is None:
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
    where = str(out)
    if to is GoldFormat.trec and out is not None:
        where = f"{out} and {write_trec(out, kept, print_note)}"
    else:
        write = write_gold if to is GoldFormat.jsonl else write_table
        write(sys.stdout if out is None else out, kept)
    if out is not None:
        print(f"{where}: {_size(kept)}", file=sys.stderr)


@app.command("fetch", cls=GroupedCommand)
@takes_server
def fetch(
    source: Annotated[PublicGold, typer.Argument(help="Which links.", show_default=False)],
    votes: Annotated[int, typer.Option(min=1, help="Votes that a link has at least.")] = 20,
    out: Out = None,
    name: Name = DEFAULTS.name,
    *,
    server: ServerOptions,
) -> None:
    """Fetch public gold links: verses of the New Testament with verses of the Old.

    The words are those of the index. openbible: cross-references that readers of OpenBible.info
    voted for, CC BY 4.0.
    """
    from allusion_es.cli.progress import progress
    from allusion_es.core.files import data_dir
    from allusion_es.corpora import packages
    from allusion_es.evaluation.gold.files import write_gold
    from allusion_es.evaluation.gold.openbible import openbible_links

    index = open_candidate_index(name, server)
    path = packages.fetch(packages.CROSS_REFERENCES, data_dir(), progress)
    packages.verify(packages.CROSS_REFERENCES, data_dir())
    links = openbible_links(path, index, votes)
    write_gold(sys.stdout if out is None else out, links)
    credit = packages.CROSS_REFERENCES.credit
    print(f"{source.value}: {_size(links)} ({credit})", file=sys.stderr)


def _counts(kinds: "Iterable[str]") -> str:
    """The number of each kind, in the order of the first of each, as words.

    Example:
        >>> _counts(["allusion", "quotation", "allusion"])
        '2 allusion, 1 quotation'
    """
    return ", ".join(f"{count} {kind}" for kind, count in Counter(kinds).items())


def _size(links: "Sequence[GoldLink]") -> str:
    """The numbers of queries and links, where a link is a query with one of its passages."""
    return f"{len(links)} queries, {sum(len(link.relevant) for link in links)} links"
