"""Findings as a table with tabs that opens right in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from allusion_es.core.files import writing
from allusion_es.corpora.findings import Finding, check_findings
from allusion_es.corpora.source import SourceText

COLUMNS = (
    "start", "end", "page", "line", "section", "text", "reference", "passages", "kind",
    "probability", "score", "words", "alternatives", "xpath", "calibrated",
)  # fmt: skip
"""The columns, in their order."""

_FORMULA = tuple("=+-@\t\r")


def cell(text: str) -> str:
    """A text as a cell that no spreadsheet takes for a formula, on one line.

    Line ends, tabs and other control characters become blanks; a text that begins as a formula
    does gets an apostrophe before it.

    Example:
        >>> cell("=1+1"), cell("a" + chr(9) + "b"), cell("- et")
        ("'=1+1", 'a b', "'- et")
    """
    clean = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f"'{clean}" if clean.startswith(_FORMULA) else clean


def table_lines(source: SourceText, findings: Iterable[Finding]) -> Iterator[str]:
    """The lines of the table, the header first.

    A cell with a double quote in it is put between double quotes, as spreadsheets do.

    Args:
        source: The text.
        findings: What was found in it.

    Raises:
        UsageError: A finding is not of this text.
    """
    yield "\t".join(COLUMNS)
    for found in check_findings(source, findings):
        line = io.StringIO()
        csv.writer(line, "excel-tab", lineterminator="").writerow(_row(source, found))
        yield line.getvalue()


def write_table(path: Path, source: SourceText, findings: Iterable[Finding]) -> None:
    """Write the table, whole or not at all, with the byte-order mark that spreadsheets look for.

    Raises:
        UsageError: A finding is not of this text.
        StorageError: The file cannot be written.
    """
    with writing(path) as file:
        file.write("\ufeff".encode())
        file.writelines(f"{line}\n".encode() for line in table_lines(source, findings))


def _row(source: SourceText, found: Finding) -> list[str | int]:
    place = source.place(found.start, found.end)
    others = (f"{other.reference} ({other.probability:.2f})" for other in found.alternatives)
    return [
        found.start,
        found.end,
        cell(place.page),
        cell(place.line),
        cell(place.section),
        cell(found.text),
        cell(found.reference),
        cell(" ".join(found.passages)),
        cell(found.kind),
        f"{found.probability:.4f}",
        f"{found.score:.6g}",
        cell(" ".join(found.words)),
        cell("; ".join(others)),
        place.xpath,
        "yes" if found.calibrated else "no",
    ]
