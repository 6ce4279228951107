"""`allusion-es gold from-tei`: gold links from the references that TEI editions encode."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allusion_es.cli.options import (
    Name,
    ServerOptions,
    open_candidate_index,
    takes_server,
)
from allusion_es.cli.read import Languages, tell_left_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from allusion_es.evaluation.gold import GoldLink
    from allusion_es.evaluation.gold_tei import TeiGold, Unread


class Numbers(StrEnum):
    """Whose verse numbers references have."""

    vulgate = "vulgate"
    hebrew = "hebrew"
    kjv = "kjv"


class LinkType(StrEnum):
    """Of which type a link is."""

    quotation = "quotation"
    paraphrase = "paraphrase"
    allusion = "allusion"
    reference = "reference"


_UNREAD_COLUMNS = ("file", "line", "element", "reference", "reason", "text", "xpath")

Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The file to write; stdout by default.", show_default=False),
]


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
        Numbers, typer.Option(help="Whose verse numbers the references have.")
    ] = Numbers.vulgate,
    name: Name = "vulgate",
    *,
    server: ServerOptions,
) -> None:
    """Read the Bible references that TEI editions encode as gold links, JSON lines.

    Read are ref, bibl, quote, q, seg, cit and note: their cRef, target and source, and words such
    as "cf. Ps. 33, 9". References that cannot be read are told line by line; --unread writes every
    note that gives no link, with its words and the reason, to a file.
    """
    from allusion_es.cli.progress import progress
    from allusion_es.core.errors import InputError, UsageError
    from allusion_es.corpora.tei import read_tei
    from allusion_es.corpora.tei_rules import ANNOTATED
    from allusion_es.evaluation.gold_files import write_gold
    from allusion_es.evaluation.gold_ids import ReferenceReader
    from allusion_es.evaluation.gold_tei import gold_from_tei

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
        _tell(path, found, links)
        # Notes are not left out here: they are what is read.
        tell_left_out(source, frozenset({"part", "language", "deletion"}))
        unread_rows += (_unread_row(path, each) for each in found.all_unread())
        kept += links
    if unread is not None:
        _write_unread(unread, unread_rows)
    if not kept:
        named = ", ".join(map(str, files))
        raise InputError(f"{named}: no reference to a verse gives a link; see what is told above")
    write_gold(sys.stdout if out is None else out, kept)


def _tell(path: Path, found: "TeiGold", links: "Sequence[GoldLink]") -> None:
    for each in found.unread:
        print(f"{path}:{each.line}: {each.written!r}: {each.reason}", file=sys.stderr)
    print(
        f"{path}: {_amount(links)}; references not read: {len(found.unread)}, "
        f"notes and pointers without one: {found.without}"
        + (f", notes read in part: {len(found.in_part)}" if found.in_part else ""),
        file=sys.stderr,
    )


def _unread_row(path: Path, unread: "Unread") -> "dict[str, str | int]":
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
    """Write what could not be read, whole or not at all, and say how much it is."""
    import csv
    import io
    import json

    from allusion_es.core.files import write_lines
    from allusion_es.corpora.finding_table import cell

    def table() -> "Iterator[str]":
        yield "\t".join(_UNREAD_COLUMNS)
        for row in rows:
            line = io.StringIO()
            cells = [cell(str(value)) for value in row.values()]
            csv.writer(line, "excel-tab", lineterminator="").writerow(cells)
            yield line.getvalue()

    if path.suffix.lower() in (".jsonl", ".json"):
        write_lines(path, (json.dumps(row, ensure_ascii=False) for row in rows))
    else:
        write_lines(path, table())
    print(f"{path}: {len(rows)} notes and sources that were not read", file=sys.stderr)


def _amount(links: "Sequence[GoldLink]") -> str:
    kinds = _kinds(link.type for link in links)
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return f"{len(links)} links" + (f" ({counted})" if counted else "")


def _kinds(types: "Iterable[str]") -> dict[str, int]:
    from collections import Counter

    return dict(sorted(Counter(types).items()))
