"""Findings of a scan: words of a source text that allude, and the passages that they allude to.

A finding can be written as a line of JSON, as a row of a table for spreadsheets, or as a W3C Web
Annotation; `tei.write` puts findings into TEI files.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from allusion_es.core.characters import shorten
from allusion_es.core.errors import UsageError
from allusion_es.core.files import writing
from allusion_es.corpora.bible.references import is_verse_id
from allusion_es.corpora.source_text import SourceText

_SHOWN = 40
"""Characters of a finding's words that its `repr` has."""

KINDS = ("quotation", "paraphrase", "allusion")
"""The kinds of findings, from the closest to the loosest."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another passage, or several in a row, that the words of a finding may allude to.

    Attributes:
        passages: Their ids, in the order of the collection.
        reference: What people read (`Ps 33,9`).
        score: The score, on the scale of the finding's.
        probability: How likely it is that these are meant, from 0 to 1.
    """

    passages: tuple[str, ...]
    reference: str
    score: float
    probability: float


@dataclass(frozen=True, slots=True)
class Finding:
    """Words of a source text that allude, and the passages that they allude to.

    Attributes:
        start: The offset of the first character in `SourceText.text`.
        end: The offset after the last.
        text: The words as printed.
        passages: Ids of the passages, in the order of the collection: one, or several in a row.
        reference: What people read (`Ps 33,9-10`).
        score: The score of the method that found it.
        probability: How likely it is that a reader would call it a link, from 0 to 1.
        kind: One of `KINDS`.
        words: The words of the text that support it, strongest first.
        alternatives: Other passages, best first, parallels with the same words among them.
        calibrated: Whether the probabilities were calibrated for this kind of collection and scan;
            otherwise they only rank the findings.

    Example:
        >>> Finding(0, 7, "Gustate", ("Ps.33.9",), "Ps 33,9", 2.5, 0.9, "quotation").end
        7
    """

    start: int
    end: int
    text: str
    passages: tuple[str, ...]
    reference: str
    score: float
    probability: float
    kind: str
    words: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    calibrated: bool = True

    def __repr__(self) -> str:
        """Words, reference, kind and probability, for the prompt."""
        words = shorten(" ".join(self.text.split()), _SHOWN)
        return f"<Finding {words!r}: {self.reference}, {self.kind}, {self.probability:.2f}>"


def check_findings(source: SourceText, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in the order of the text, longer ones first where they begin together.

    Raises:
        UsageError: A finding has no passages, its words are not at its offsets, or its score or
            probability is out of range or not finite.
    """
    ordered = sorted(findings, key=lambda found: (found.start, -found.end, found.passages))
    for found in ordered:
        if not 0 <= found.start < found.end <= len(source.text) or (
            source.text[found.start : found.end] != found.text
        ):
            raise UsageError(
                f"{source.path}: the words {found.text[:40]!r} do not stand at characters "
                f"{found.start} to {found.end}; give findings of this file"
            )
        if not found.passages:
            raise UsageError(f"{source.path}: the finding at {found.start} names no passage")
        if not 0 <= found.probability <= 1 or not math.isfinite(found.score):
            raise UsageError(
                f"{source.path}: the finding at {found.start} has probability {found.probability} "
                f"and score {found.score}; give numbers, the first from 0 to 1"
            )
    return ordered


def json_line(
    source: SourceText, finding: Finding, partial: Mapping[str, object] | None = None
) -> str:
    """Return a finding as a line of JSON, with its place in the file.

    Args:
        source: The text.
        finding: The finding.
        partial: How much of the index was not searched, or None.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from allusion_es.corpora.source import read_source
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.txt")
        ...     _ = path.write_text("Gustate")
        ...     source = read_source(path)
        >>> found = Finding(0, 7, "Gustate", ("Ps.33.9",), "Ps 33,9", 2.5, 0.9, "quotation")
        >>> json_line(source, found)[:46]
        '{"start": 0, "end": 7, "text": "Gustate", "pas'
    """
    record = finding_record(source, finding)
    if partial:
        record["partial"] = partial
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def finding_record(source: SourceText, finding: Finding) -> dict[str, object]:
    """Return a finding and its place in the file as plain values, as `json_line` writes them."""
    place = source.place(finding.start, finding.end)
    record: dict[str, object] = {
        "start": finding.start,
        "end": finding.end,
        "text": finding.text,
        "passages": finding.passages,
        "reference": finding.reference,
        "score": finding.score,
        "probability": finding.probability,
        "calibrated": finding.calibrated,
        "kind": finding.kind,
        "words": finding.words,
        "alternatives": [
            {
                "passages": other.passages,
                "reference": other.reference,
                "score": other.score,
                "probability": other.probability,
            }
            for other in finding.alternatives
        ],
    }
    for name in ("xpath", "page", "line", "section"):
        if value := getattr(place, name):
            record[name] = value
    return record


def passage_uri(passage: str) -> str:
    """Return the URI of a passage: `bible:Ps.33.9` for a verse, else `passage:…`.

    Characters that a URI may not contain are percent-encoded.

    Example:
        >>> passage_uri("Ps.33.9"), passage_uri("sermo 1#3-5")
        ('bible:Ps.33.9', 'passage:sermo%201%233-5')
    """
    scheme = "bible" if is_verse_id(passage) else "passage"
    return f"{scheme}:{quote(passage, safe='.-_~')}"


# As a table for spreadsheets

TABLE_COLUMNS = (
    "start", "end", "page", "line", "section", "text", "reference", "passages", "kind",
    "probability", "score", "words", "alternatives", "xpath", "calibrated",
)  # fmt: skip
"""The columns of the table."""

# Spreadsheets run a cell that begins with one of these as a formula, also when it comes from a
# text that somebody else wrote (https://owasp.org/www-community/attacks/CSV_Injection).
_FORMULA = tuple("=+-@\t\r")


def spreadsheet_cell(text: str) -> str:
    """Return a text as a cell of one line that no spreadsheet takes for a formula.

    Line ends, tabs and other control characters become blanks; a text that begins as a formula
    does gets an apostrophe before it.

    Example:
        >>> spreadsheet_cell("=1+1"), spreadsheet_cell("a" + chr(9) + "b"), spreadsheet_cell("- et")
        ("'=1+1", 'a b', "'- et")
    """
    clean = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f"'{clean}" if clean.startswith(_FORMULA) else clean


def table_lines(source: SourceText, findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the lines of the table, the header first.

    A cell with a double quote in it is put between double quotes, as spreadsheets do.

    Args:
        source: The text.
        findings: What was found in it.

    Raises:
        UsageError: A finding is not of this text.
    """
    yield "\t".join(TABLE_COLUMNS)
    for found in check_findings(source, findings):
        line = io.StringIO()
        csv.writer(line, "excel-tab", lineterminator="").writerow(_table_row(source, found))
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


def _table_row(source: SourceText, found: Finding) -> list[str | int]:
    place = source.place(found.start, found.end)
    others = (f"{other.reference} ({other.probability:.2f})" for other in found.alternatives)
    return [
        found.start,
        found.end,
        spreadsheet_cell(place.page),
        spreadsheet_cell(place.line),
        spreadsheet_cell(place.section),
        spreadsheet_cell(found.text),
        spreadsheet_cell(found.reference),
        spreadsheet_cell(" ".join(found.passages)),
        spreadsheet_cell(found.kind),
        f"{found.probability:.4f}",
        f"{found.score:.6g}",
        spreadsheet_cell(" ".join(found.words)),
        spreadsheet_cell("; ".join(others)),
        place.xpath,
        "yes" if found.calibrated else "no",
    ]


# As W3C Web Annotations

_CONTEXT = 32
"""Characters before and after the words, by which a reader of the annotation finds them again."""


def annotation_lines(source: SourceText, findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the lines of an AnnotationPage (https://www.w3.org/TR/annotation-model/).

    Each finding is one annotation, on a line of its own.

    The target is the file, with a TextQuoteSelector; in plain files also a TextPositionSelector
    (characters of the text, from 0), in TEI an XPathSelector of the innermost element around the
    words, refined by a TextPositionSelector in that element's whole text.

    Args:
        source: The file, named by its name.
        findings: What was found in it.

    Raises:
        UsageError: A finding is not of this text.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from allusion_es.corpora.source import read_source
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.txt")
        ...     _ = path.write_text("Et gustate.")
        ...     source = read_source(path)
        >>> found = Finding(3, 10, "gustate", ("Ps.33.9",), "Ps 33,9", 2.5, 0.9, "allusion")
        >>> page = json.loads("".join(annotation_lines(source, [found])))
        >>> page["items"][0]["target"]["selector"][0]["prefix"]
        'Et '
    """
    ordered = check_findings(source, findings)
    yield '{"@context": "http://www.w3.org/ns/anno.jsonld", "id": "#allusions", '
    yield '"type": "AnnotationPage", "items": ['
    for number, found in enumerate(ordered, start=1):
        comma = "," if number < len(ordered) else ""
        record = _annotation(source, found, number)
        yield json.dumps(record, ensure_ascii=False, allow_nan=False) + comma
    yield "]}"


def _annotation(source: SourceText, found: Finding, number: int) -> dict[str, Any]:
    bodies: list[dict[str, Any]] = [
        {
            "type": "SpecificResource",
            "purpose": "linking",
            "source": passage_uri(passage),
        }
        for passage in found.passages
    ]
    bodies.append({"type": "TextualBody", "purpose": "tagging", "value": found.kind})
    trust = "" if found.calibrated else ", not calibrated"
    description = f"{found.reference} (probability {found.probability:.2f}{trust})"
    bodies.append({"type": "TextualBody", "purpose": "describing", "value": description})
    return {
        "id": f"#allusion-{number}",
        "type": "Annotation",
        "motivation": "linking",
        "body": bodies,
        "target": {"source": quote(source.path.name), "selector": _selectors(source, found)},
    }


def _selectors(source: SourceText, found: Finding) -> list[dict[str, Any]]:
    start, end, text = found.start, found.end, source.text
    words = {
        "type": "TextQuoteSelector",
        "exact": found.text,
        "prefix": text[max(0, start - _CONTEXT) : start],
        "suffix": text[end : end + _CONTEXT],
    }
    if source.kind == "text":
        return [words, {"type": "TextPositionSelector", "start": start, "end": end}]
    if source.kind != "tei":  # offsets in the extracted text do not exist in the file
        return [words]
    place = source.place(start, end)
    position = {
        "type": "TextPositionSelector",
        "start": place.offset,
        "end": place.offset + place.length,
    }
    return [words, {"type": "XPathSelector", "value": place.xpath, "refinedBy": position}]
