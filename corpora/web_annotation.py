"""Findings as W3C Web Annotations, in JSON-LD."""

import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from allusion_es.corpora.findings import Finding, check_findings, passage_uri
from allusion_es.corpora.source import SourceText

_CONTEXT = 32
"""Characters before and after the words that help to find them again."""


def annotation_lines(source: SourceText, findings: Iterable[Finding]) -> Iterator[str]:
    """The lines of an AnnotationPage (https://www.w3.org/TR/annotation-model/), one a finding.

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
    told = f"{found.reference} (probability {found.probability:.2f}{trust})"
    bodies.append({"type": "TextualBody", "purpose": "describing", "value": told})
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
    if source.kind != "tei":  # places in its text are none of its file
        return [words]
    place = source.place(start, end)
    position = {
        "type": "TextPositionSelector",
        "start": place.offset,
        "end": place.offset + place.length,
    }
    return [words, {"type": "XPathSelector", "value": place.xpath, "refinedBy": position}]
