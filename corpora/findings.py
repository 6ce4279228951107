"""What a scan finds in a source text: words that allude, and to what."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from allusion_es.core.errors import UsageError
from allusion_es.corpora.bible.references import is_verse_id
from allusion_es.corpora.source import SourceText

KINDS = ("quotation", "paraphrase", "allusion")
"""What a finding may be."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Other passages that the same words may allude to.

    Attributes:
        passages: Their ids, in the order of the collection.
        reference: What people read (`Ps 33,9`).
        score: As that of the finding.
        probability: How likely it is that they are meant, from 0 to 1.
    """

    passages: tuple[str, ...]
    reference: str
    score: float
    probability: float


@dataclass(frozen=True, slots=True)
class Finding:
    """Words of a source text that allude, and the passages that they allude to.

    Attributes:
        start: The first character in `SourceText.text`.
        end: The one after the last.
        text: The words, as the text has them.
        passages: Ids of the passages, in the order of the collection: one, or several in a row.
        reference: What people read (`Ps 33,9-10`).
        score: The score of the method that found it.
        probability: How likely it is that a reader would call it a link, from 0 to 1.
        kind: One of `KINDS`.
        words: The words of the text that carry it, strongest first.
        alternatives: Other passages, best first; parallels of the same words among them.
        calibrated: Whether the probabilities were measured for such a collection and scan;
            otherwise they only rank.

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


def check_findings(source: SourceText, findings: Iterable[Finding]) -> list[Finding]:
    """The findings in the order of the text, longer ones first where they begin together.

    Raises:
        UsageError: One has no passages, its words do not stand where it says, or a number is
            none.
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
    """A finding as a line of JSON, with its place in the file.

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
    if partial:
        record["partial"] = partial
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def passage_uri(passage: str) -> str:
    """How a passage is named where a URI is asked for: `bible:Ps.33.9`, else `passage:…`.

    Characters that a URI may not have are written as `%20` and so on.

    Example:
        >>> passage_uri("Ps.33.9"), passage_uri("sermo 1#3-5")
        ('bible:Ps.33.9', 'passage:sermo%201%233-5')
    """
    from urllib.parse import quote

    scheme = "bible" if is_verse_id(passage) else "passage"
    return f"{scheme}:{quote(passage, safe='.-_~')}"
