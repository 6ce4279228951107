"""Findings of a scan, as a report shows them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from allusion_es.corpora import findings as scans
from allusion_es.corpora.left_out import left_out_note
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.source_text import Annotation, Place, SourceText
from allusion_es.language.latin.analysis import Analyser, Analysis
from allusion_es.language.latin.fold import fold
from allusion_es.reports.finding import Match, ReportFinding, ReportMeta
from allusion_es.reports.heat import Heat, HeatedPair, HeatedWord
from allusion_es.reports.surroundings import Surroundings
from allusion_es.retrieval.index import CandidateIndex

CONTEXT = 240
"""Characters of the text that are shown before and after the words of a finding, at most."""

NOTE = (
    "Words that carry a finding are shaded by their order, the strongest darkest; the method does "
    "not say how much each of them adds."
)
"""What a reader of the shades should know."""

_NEAR = 60
"""Characters after a finding within which an editor's reference is taken to belong to it."""


def scanned_findings(
    source: SourceText,
    findings: Iterable[scans.Finding],
    index: CandidateIndex,
    analyser: Analyser,
) -> Iterator[ReportFinding]:
    """One finding of a report for each of a scan, in the same order, one at a time.

    Args:
        source: What was scanned.
        findings: What was found in it.
        index: Where their passages are.
        analyser: That of the index (`retrieval.pipeline.index_analyser`).

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
        >>> found = scans.Finding(
        ...     3, 10, "gustate", ("Ps.33.9",), "Ps 33,9", 2.5, 0.9, "allusion", ("gustate",))
        >>> (shown,) = scanned_findings(source, [found], index, Analyser())
        >>> shown.id, shown.label, shown.before, shown.after, shown.matches[0].probability
        ('sermo:3-10', 'characters 4–10', 'Et ', '.', 0.9)
    """
    around = Surroundings(index, analyser)
    cites = [each for each in source.annotations if each.element != "app"]
    work = ", ".join(filter(None, (source.author, source.title))) or source.path.name
    seen: dict[str, int] = {}
    for found in findings:
        identifier = f"{source.path.stem}:{found.start}-{found.end}"
        seen[identifier] = times = seen.get(identifier, 0) + 1
        before, after = context(source.text, found.start, found.end)
        yield ReportFinding(
            id=identifier if times == 1 else f"{identifier}:{times}",
            text=found.text,
            matches=tuple(_matches(found, index, analyser, around)),
            before=before,
            after=after,
            work=work,
            place=found.start,
            label=_label(source, found),
            note=_cited(cites, found),
        )


def scan_meta(source: SourceText, index: str, method: str, notes: Sequence[str] = ()) -> ReportMeta:
    """What a report on one text says of itself.

    Args:
        source: The text.
        index: Name of the index.
        method: How it was scanned.
        notes: What else should be known.
    """
    left_out = left_out_note(source.left_out, with_options=False)
    told = [f"{each[0].upper()}{each[1:]}." for each in (*source.remarks, left_out) if each]
    work = ", ".join(filter(None, (source.author, source.title))) or source.path.name
    return ReportMeta(
        title=f"Allusions in {work}",
        method=f"{method}, index {index}",
        notes=(*notes, *told, NOTE),
        extent=len(source.text),
    )


def calibration_note(unmeasured: str) -> str:
    """What a reader of probabilities should know where they are not calibrated; "" where they are.

    Args:
        unmeasured: Why they are not (`scanning.measured.unmeasured`), or "".

    Example:
        >>> calibration_note("not calibrated for this collection")
        'Probabilities are not calibrated for this collection: they only rank the findings.'
    """
    return f"Probabilities are {unmeasured}: they only rank the findings." if unmeasured else ""


def _label(source: SourceText, found: scans.Finding) -> str:
    if source.kind != "tei" and "\n" not in source.text.strip():
        return f"characters {found.start + 1}–{found.end}"
    return place_label(source.place(found.start, found.end))


def place_label(place: Place) -> str:
    """A place in a text as people say it; "" where there is nothing to say.

    Example:
        >>> place_label(Place("12", "3", "1.4", "", 0, 1))
        'section 1.4, page 12, line 3'
    """
    page = f"page {place.page}" if place.page else ""
    line = f"line {place.line}" if place.line else ""
    section = f"section {place.section}" if place.section else ""
    return ", ".join(filter(None, (section, page, line)))


def context(text: str, start: int, end: int, most: int = CONTEXT) -> tuple[str, str]:
    """What stands before and after a stretch of a text, in whole words.

    Example:
        >>> context("Dominus regit me et nihil mihi deerit", 14, 16, 8)
        ('…regit ', ' et…')
    """
    before, after = text[max(0, start - most) : start], text[end : end + most]
    if start > most:
        before = f"…{before.partition(' ')[2]}"
    if end + most < len(text):
        after = f"{after.rpartition(' ')[0]}…"
    return before, after


def _matches(
    found: scans.Finding, index: CandidateIndex, analyser: Analyser, around: Surroundings
) -> Iterator[Match]:
    words = analyser.analyse(found.text)
    best = scans.Alternative(found.passages, found.reference, found.score, found.probability)
    seen: set[tuple[str, ...]] = set()
    for other in (best, *found.alternatives):
        if other.passages in seen:
            continue
        seen.add(other.passages)
        verses = index.passages(other.passages)
        before, after = around.neighbours(verses[0], verses[-1])
        passage = _joined(verses, other.reference)
        yield Match(
            passage=passage,
            rank=len(seen),
            score=other.score,
            before=before,
            after=after,
            heat=order_heat(found.text, words, found.words, around.analysis(passage)),
            kind=found.kind,
            probability=other.probability,
            ids=other.passages if len(verses) > 1 else (),
        )


def _joined(verses: Sequence[Passage], reference: str) -> Passage:
    """Passages in a row as one."""
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
    """Heat of which no more is known than which words carry a finding, strongest first.

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
    words = zip(passage.tokens, passage.lemmas, strict=True)
    return [place for place, (t, word) in enumerate(words) if t == token or word == lemma]


def _cited(cites: Sequence[Annotation], found: scans.Finding) -> str:
    """What the edition itself refers to at the words of a finding, or shortly after."""
    told = [
        each.target or each.text
        for each in cites
        if each.start < found.end + _NEAR and each.end >= found.start
    ]
    names = [" ".join(text.split())[:60] for text in dict.fromkeys(told) if text.strip()]
    return f"The edition has here: {'; '.join(names[:3])}" if names else ""
