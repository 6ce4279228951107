"""A scan's findings as findings of a report, with the text around them and the shades of words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from allusion_es.corpora.findings import Alternative, Finding, text_key
from allusion_es.corpora.left_out import left_out_note
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.source_text import Annotation, Place, SourceText
from allusion_es.language.latin.analysis import Analyser, Analysis
from allusion_es.language.latin.fold import fold
from allusion_es.reports.heat import Heat, HeatedPair, HeatedWord
from allusion_es.reports.report import Match, ReportFinding, ReportMeta
from allusion_es.reports.surroundings import Surroundings
from allusion_es.retrieval.index import CandidateIndex

CONTEXT = 240
"""Most characters of the text that are shown before and after a finding: about a sentence."""

NOTE = (
    "Words that carry a finding are shaded by their order, the strongest darkest; the method does "
    "not say how much each of them adds."
)
"""The note on shades that every report of a scan has."""

_NEAR = 60
"""Characters after a finding within which an edition's reference is taken to belong to it."""


def scanned_findings(
    source: SourceText,
    findings: Iterable[Finding],
    index: CandidateIndex,
    analyser: Analyser,
) -> Iterator[ReportFinding]:
    """Make a finding of a report of each of a scan, in the same order, one at a time.

    Args:
        source: The text that was scanned.
        findings: The findings in it.
        index: The index that was searched.
        analyser: Its analyser (`retrieval.pipeline.index_analyser`).

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from allusion_es.corpora.source import read_source
        >>> from allusion_es.local.memory import index_texts
        >>> index = index_texts({"Ps.33.9": "gustate et videte", "Ps.33.10": "timete Dominum"})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.txt")
        ...     _ = path.write_text("Et gustate.")
        ...     source = read_source(path)
        >>> found = Finding(
        ...     3, 10, "gustate", ("Ps.33.9",), "Ps 33,9", 2.5, 0.9, "allusion", ("gustate",))
        >>> (shown,) = scanned_findings(source, [found], index, Analyser())
        >>> shown.id, shown.label, shown.before, shown.after, shown.matches[0].probability
        ('sermo:3-10', 'characters 4–10', 'Et ', '.', 0.9)
    """
    surroundings = Surroundings(index, analyser)
    # `app` holds other readings of the words; all else that was set apart may be a reference.
    cites = [each for each in source.annotations if each.element != "app"]
    work = _work_name(source)
    # Two findings may have the same words: the second gets `:2`, since ids must differ.
    seen: dict[str, int] = {}
    for found in findings:
        identifier = f"{source.path.stem}:{found.start}-{found.end}"
        seen[identifier] = times = seen.get(identifier, 0) + 1
        before, after = context(source.text, found.start, found.end)
        yield ReportFinding(
            id=identifier if times == 1 else f"{identifier}:{times}",
            text=found.text,
            matches=tuple(_matches(found, index, analyser, surroundings)),
            before=before,
            after=after,
            work=work,
            place=found.start,
            label=_label(source, found),
            note=_cited(cites, found),
        )


def scan_meta(
    source: SourceText,
    index: str,
    method: str,
    notes: Sequence[str] = (),
    *,
    measured: Sequence[tuple[float, float, float]] = (),
    doubt: str = "",
) -> ReportMeta:
    """Heading, method and notes of a report on one text.

    Args:
        source: The text.
        index: Name of the index.
        method: How the text was scanned.
        notes: More remarks for the reader; they come first.
        measured: Threshold, precision and recall of each point that was measured
            (`scanning.measured.measured_points`).
        doubt: Why the text is hardly Latin, or "".
    """
    left_out = left_out_note(source.left_out, with_options=False)
    remarks = [f"{each[0].upper()}{each[1:]}." for each in (*source.remarks, left_out) if each]
    return ReportMeta(
        title=f"Allusions in {_work_name(source)}",
        method=f"{method}, index {index}",
        notes=(*notes, *remarks, NOTE),
        extent=len(source.text),
        text=source.text,
        key=text_key(source.text),
        sections=_sections(source),
        measured=tuple(measured),
        doubt=doubt,
    )


def joined_meta(metas: Sequence[ReportMeta]) -> ReportMeta:
    """Heading, method and notes of one report on several texts; of a single one, its own.

    A note that is not of all texts says which it is of.

    Args:
        metas: From `scan_meta`, one for each text.

    Example:
        >>> two = [ReportMeta("Allusions in a", "Scan", (NOTE, "cut")), ReportMeta("b", "Scan")]
        >>> joined_meta(two).title, joined_meta(two).notes[1]
        ('Allusions in 2 texts', 'Allusions in a: cut')
    """
    if len(metas) == 1:
        return metas[0]
    shared = [note for note in metas[0].notes if all(note in each.notes for each in metas)]
    own = [f"{each.title}: {note}" for each in metas for note in each.notes if note not in shared]
    return ReportMeta(f"Allusions in {len(metas)} texts", metas[0].method, (*shared, *own))


_MOST_SECTIONS = 400
"""Sections or pages that a map shows as ticks; of more, one could not be told from the next."""


def _sections(source: SourceText) -> tuple[tuple[int, str], ...]:
    """Where the sections of a text begin, or its pages, or where it has neither its paragraphs."""
    for labels, name in ((source.sections, "section"), (source.pages, "page")):
        rows = [
            (start, f"{name} {label}")
            for start, label in zip(labels.starts, labels.labels, strict=True)
            if label
        ]
        if 1 < len(rows) <= _MOST_SECTIONS:
            return tuple(rows)
    starts = [match.end() for match in re.finditer(r"\n\s*\n", source.text.rstrip())]
    if not 1 <= len(starts) < _MOST_SECTIONS:
        return ()
    return tuple((start, f"paragraph {n}") for n, start in enumerate([0, *starts], start=1))


def calibration_note(unmeasured: str) -> str:
    """The note on probabilities that are not calibrated; "" if they are.

    Args:
        unmeasured: Why they are not calibrated (`scanning.measured.unmeasured`), or "".

    Example:
        >>> calibration_note("not calibrated for this collection")
        'Probabilities are not calibrated for this collection: they only rank the findings.'
    """
    return f"Probabilities are {unmeasured}: they only rank the findings." if unmeasured else ""


def _work_name(source: SourceText) -> str:
    return source.work or source.path.name


def _label(source: SourceText, found: Finding) -> str:
    # A text of one line, such as a pasted one, has no lines to count: characters are told.
    if source.kind != "tei" and "\n" not in source.text.strip():
        return f"characters {found.start + 1}–{found.end}"
    return place_label(source.place(found.start, found.end))


def place_label(place: Place) -> str:
    """A place in a text in words; "" if it has neither page, line nor section.

    Example:
        >>> place_label(Place("12", "3", "1.4", "", 0, 1))
        'section 1.4, page 12, line 3'
    """
    page = f"page {place.page}" if place.page else ""
    line = f"line {place.line}" if place.line else ""
    section = f"section {place.section}" if place.section else ""
    return ", ".join(filter(None, (section, page, line)))


def context(text: str, start: int, end: int, most: int = CONTEXT) -> tuple[str, str]:
    """The text before and after a stretch of it, in whole words.

    Example:
        >>> context("Dominus regit me et nihil mihi deerit", 14, 16, 8)
        ('…regit ', ' et…')
    """
    before, after = text[max(0, start - most) : start], text[end : end + most]
    # Cut at a blank, so that no half word is shown.
    if start > most:
        before = f"…{before.partition(' ')[2]}"
    if end + most < len(text):
        after = f"{after.rpartition(' ')[0]}…"
    return before, after


def _matches(
    found: Finding, index: CandidateIndex, analyser: Analyser, surroundings: Surroundings
) -> Iterator[Match]:
    """The finding's passages and its alternatives, each once, best first."""
    words = analyser.analyse(found.text)
    best = Alternative(found.passages, found.reference, found.score, found.probability)
    seen: set[tuple[str, ...]] = set()
    for other in (best, *found.alternatives):
        if other.passages in seen:
            continue
        seen.add(other.passages)
        verses = index.passages(other.passages)
        before, after = surroundings.neighbours(verses[0], verses[-1])
        passage = _joined(verses, other.reference)
        yield Match(
            passage=passage,
            rank=len(seen),
            score=other.score,
            before=before,
            after=after,
            heat=order_heat(found.text, words, found.words, surroundings.analysis(passage)),
            kind=found.kind,
            probability=other.probability,
            ids=other.passages if len(verses) > 1 else (),
        )


def _joined(verses: Sequence[Passage], reference: str) -> Passage:
    """Neighbouring passages joined to one."""
    first = verses[0]
    if len(verses) == 1:
        return first
    return replace(
        first,
        id=" ".join(verse.id for verse in verses),
        text=" ".join(verse.text for verse in verses),
        reference=reference,
    )


def order_heat(text: str, own: Analysis, carrying: Sequence[str], passage: Analysis) -> Heat:
    """Heat that shades words by their order, where no contributions are known.

    Args:
        text: The words of the finding.
        own: Their analysis.
        carrying: The words that carry it, strongest first, as printed, or as tokens or lemmas.
        passage: The words of the passage; those with the same token or lemma are their pairs.

    Example:
        >>> query, verse = map(Analyser().analyse, ("Deus dixit", "dicit deum"))
        >>> heat = order_heat("Deus dixit", query, ["dixit", "Deus"], verse)
        >>> [(word.start, word.shade) for word in heat.query], heat.pairs[0].passage_word
        ([(0, 0.65), (5, 1.0)], 'dicit')
    """
    # From 1 for the strongest word down to a little above 0.3, so that the last is still seen.
    # Reversed, so that a word that is named twice keeps the shade of its first place.
    shades = {
        fold(word): 1 - 0.7 * place / len(carrying)
        for place, word in reversed(list(enumerate(carrying)))
    }
    query: list[HeatedWord] = []
    verse: dict[int, HeatedWord] = {}
    paired: list[tuple[float, str, int, list[int]]] = []
    for token, lemma, (start, end) in zip(own.tokens, own.lemmas, own.spans, strict=True):
        forms = (fold(text[start:end]), token, lemma)
        shade = max((shades.get(form, 0.0) for form in forms), default=0.0)
        if not shade:
            continue
        places = _same(passage, token, lemma)
        for place in places:
            known = verse.get(place)
            if known is None or known.shade < shade:
                verse[place] = HeatedWord(*passage.spans[place], 0.0, shade)
        paired.append((shade, token, len(query), places))
        query.append(HeatedWord(start, end, 0.0, shade))
    numbers = {place: number for number, place in enumerate(sorted(verse))}
    pairs = [
        HeatedPair(
            token, passage.tokens[places[0]], 0.0, (number,), tuple(numbers[n] for n in places)
        )
        for _, token, number, places in sorted(paired, key=lambda each: (-each[0], each[2]))
        if places
    ]
    return Heat(tuple(query), tuple(verse[n] for n in sorted(verse)), tuple(pairs), by_order=True)


def _same(passage: Analysis, token: str, lemma: str) -> list[int]:
    """Places of the words of a passage that have this token or lemma."""
    words = zip(passage.tokens, passage.lemmas, strict=True)
    return [place for place, (t, word) in enumerate(words) if t == token or word == lemma]


def _cited(cites: Sequence[Annotation], found: Finding) -> str:
    """A note on references of the edition at the words of a finding, or shortly after; or ""."""
    references = [
        each.target or each.text
        for each in cites
        if each.start < found.end + _NEAR and each.end >= found.start
    ]
    names = [" ".join(text.split())[:60] for text in dict.fromkeys(references) if text.strip()]
    return f"The edition has here: {'; '.join(names[:3])}" if names else ""
