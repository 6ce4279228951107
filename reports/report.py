"""The report: findings on one HTML page, to read, sort, filter and judge.

A finding is a stretch of a text with the passages that it may allude to (its matches). It does not
know how it was found, so that whatever finds allusions can be reported: `answers` makes findings of
a retriever's answers, `scanned` of a scan's findings.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

from allusion_es.core.files import write_lines
from allusion_es.corpora.bible.books import BOOKS
from allusion_es.corpora.passage import Passage
from allusion_es.reports.heat import Heat, HeatedPair, HeatedWord
from allusion_es.reports.page import page

_DIGITS = 6
"""Significant digits of scores."""

_WORD_DIGITS = 4
"""Significant digits of what words and pairs add; they are most of a report's bytes."""


@dataclass(frozen=True, slots=True)
class Match:
    """A passage that the words of a finding may allude to.

    Attributes:
        passage: The passage.
        rank: Its rank among the matches of its finding, from 1.
        score: The score that it is ranked by.
        candidate_rank: Rank in the first stage, from 1; 0 where there is none.
        candidate_score: Score in the first stage.
        before: The passages that precede it in its book, in their order.
        after: Those that follow it.
        heat: How much each word adds to the score; empty where the method does not tell.
        kind: Kind of link (`allusion`, `quotation`, …), or "" where it is not known.
        probability: Probability of a link, from 0 to 1, or None where that is not estimated.
        ids: Ids of the passages that `passage` joins, if it joins several in a row; else empty.
        parallels: References of passages that say nearly the same.
    """

    passage: Passage
    rank: int
    score: float
    candidate_rank: int = 0
    candidate_score: float = 0.0
    before: tuple[Passage, ...] = ()
    after: tuple[Passage, ...] = ()
    heat: Heat = field(default_factory=Heat)
    kind: str = ""
    probability: float | None = None
    ids: tuple[str, ...] = ()
    parallels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportFinding:
    """Words of a text that may allude, in their context, and the passages that they may allude to.

    Attributes:
        id: Unique in the report; the query id of gold lines.
        text: The words.
        matches: Best first; the first is shown, the others are its alternatives. May be empty.
        before: Words that precede them.
        after: Words that follow them.
        work: The work that they stand in, or "".
        place: Where in the work, in any unit that grows from its beginning.
        label: Name of that place (`page 3, line 12`); where it is "", the id is shown.
        method: Method that found them, where a report compares methods, or "".
        key: Key of the text (`corpora.findings.text_key`), where the report is not of one text.
        note: A remark for the reader, or "".

    Example:
        >>> passage = Passage("Ps.1.1", "Beatus vir", book="Ps", reference="Ps 1,1")
        >>> ReportFinding("q", "vir beatus", (Match(passage, 1, 0.9, 3, 12.5),)).matches[0].score
        0.9
    """

    id: str
    text: str
    matches: tuple[Match, ...] = ()
    before: str = ""
    after: str = ""
    work: str = ""
    place: int = 0
    label: str = ""
    method: str = ""
    note: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class ReportMeta:
    """Heading, method and notes of a report.

    Attributes:
        title: Its heading.
        method: Method that found all of it.
        notes: Remarks for a reader of the scores, each a sentence.
        extent: End of the one work that is reported on, in the unit of `ReportFinding.place`; 0
            where there are several, or none.
        text: The words of that work, if they are to be read beside the findings. Then places are
            characters of it.
        key: Key of the work's words (`corpora.findings.text_key`), by which a reader's judgements
            of its findings are kept; "" where each finding has a text of its own.
        sections: Where sections, or else pages, of the work begin: character and label of each.
        measured: Thresholds of probability, ascending, each with the precision and the recall that
            were measured there; empty where nothing was, or it does not hold.
        doubt: Why the text is hardly Latin, or "".
    """

    title: str = "Allusions"
    method: str = ""
    notes: tuple[str, ...] = ()
    extent: int = 0
    text: str = ""
    key: str = ""
    sections: tuple[tuple[int, str], ...] = ()
    measured: tuple[tuple[float, float, float], ...] = ()
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class ReportJudgement:
    """What a reader said of a passage for a stretch of a text.

    Attributes:
        key: Key of the text.
        start: The first character of the stretch.
        end: The character after the last.
        passage: Id of the passage.
        decision: `accept`, `reject` or "".
        comment: A remark, or "".
    """

    key: str
    start: int
    end: int
    passage: str
    decision: str = ""
    comment: str = ""


def write_report(
    target: Path | TextIO,
    findings: Sequence[ReportFinding],
    meta: ReportMeta | None = None,
    judgements: Sequence[ReportJudgement] = (),
) -> None:
    """Write a report as one HTML file.

    The same findings give the same bytes, and the same id: what a reader marked in one copy is
    there in another in the same browser.

    Args:
        target: A file, written whole or not at all, or an open stream.
        findings: In the order of their texts; no id twice.
        meta: Heading, method and notes.
        judgements: What readers said of them so far.

    Raises:
        StorageError: The file cannot be written.
        ValueError: A score is not finite, or an id is there twice.

    Example:
        >>> import io
        >>> stream = io.StringIO()
        >>> write_report(stream, [ReportFinding("q", "vir <beatus>")])
        >>> stream.getvalue()[:15], "<beatus>" in stream.getvalue()
        ('<!doctype html>', False)
    """
    meta = meta or ReportMeta()
    write_lines(target, [page("report", meta.title, report_data(findings, meta, judgements))])


def report_data(
    findings: Sequence[ReportFinding],
    meta: ReportMeta,
    judgements: Sequence[ReportJudgement] = (),
) -> dict[str, Any]:
    """The JSON that the page's script reads; a passage is listed once, and named by its number.

    Raises:
        ValueError: An id is there twice.

    Example:
        >>> report_data([ReportFinding("q", "vir")], ReportMeta("Sermo"))["findings"][0]["text"]
        'vir'
    """
    for name, times in Counter(finding.id for finding in findings).items():
        if times > 1:
            raise ValueError(f"{times} findings have the id {name!r}; marks go by it")
    rows = ReportRows()
    judged = {"judgements": [asdict(each) for each in judgements]} if judgements else {}
    return {**meta_row(meta), **rows.chunk(findings), **judged}


def meta_row(meta: ReportMeta) -> dict[str, Any]:
    """Heading, method and notes, as the page's script reads them.

    Example:
        >>> row = meta_row(ReportMeta("Sermo"))
        >>> row["title"], row["method"], row["notes"], row["extent"], "text" in row
        ('Sermo', '', [], 0, False)
    """
    row = {
        "title": meta.title,
        "method": meta.method,
        "notes": list(meta.notes),
        "extent": meta.extent,
        "program": f"allusion-es {version('allusion-es')}",
        "text": meta.text,
        "key": meta.key,
        "sections": list(meta.sections),
        "measured": list(meta.measured),
        "doubt": meta.doubt,
    }
    needed = ("title", "method", "notes", "extent", "program")
    return {name: value for name, value in row.items() if value or name in needed}


class ReportRows:
    """Findings as the page's script reads them, in chunks; each passage is sent once.

    Example:
        >>> rows, psalm = ReportRows(), Passage("Ps.1.1", "Beatus vir", book="Ps")
        >>> found = [ReportFinding(name, "vir", (Match(psalm, 1, 0.5),)) for name in "ab"]
        >>> [len(rows.chunk([each])["passages"]) for each in found]
        [1, 0]
    """

    def __init__(self) -> None:
        self._passages = _PassageRows()

    def chunk(self, findings: Iterable[ReportFinding]) -> dict[str, Any]:
        """Some findings, the passages that none named before, and the books of all so far."""
        sent = len(self._passages.rows)
        rows = [_finding(finding, self._passages) for finding in findings]
        return {
            "findings": rows,
            "passages": self._passages.rows[sent:],
            "books": _books(self._passages.rows),
        }


class _PassageRows:
    """The passages so far, each a row with a number that findings refer to."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}

    def number(self, passage: Passage, ids: Sequence[str] = ()) -> int:
        """The number of a passage, which is added if it is new."""
        if passage.id not in self._numbers:
            self._numbers[passage.id] = len(self.rows)
            row: dict[str, Any] = {
                "id": passage.id,
                "reference": passage.reference or passage.id,
                "book": passage.book or passage.work,
                "text": passage.text,
            }
            self.rows.append({**row, "ids": list(ids)} if ids else row)
        return self._numbers[passage.id]


def _books(rows: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """The books of the passages in canonical order; works that are not of the Bible come last."""
    present = dict.fromkeys(row["book"] for row in rows)
    known = [book for book in BOOKS if book.osis in present]
    others = sorted(present.keys() - {book.osis for book in known})
    return [
        *(
            {
                "id": book.osis,
                "label": book.abbreviation,
                "name": book.names[0],
                # By these a reader may look for it.
                "names": list(book.names[1:]),
                "testament": book.testament,
            }
            for book in known
        ),
        *({"id": name, "label": name or "–", "name": name or "without a book"} for name in others),
    ]


def _finding(finding: ReportFinding, passages: _PassageRows) -> dict[str, Any]:
    row = {
        "id": finding.id,
        "text": finding.text,
        "before": finding.before,
        "after": finding.after,
        "work": finding.work,
        "place": finding.place,
        "label": finding.label,
        "method": finding.method,
        "note": finding.note,
        "key": finding.key,
    }
    # Empty fields are left out, since a report may hold thousands of findings.
    kept = {name: value for name, value in row.items() if value != ""}
    return {**kept, "matches": [_match(match, passages) for match in finding.matches]}


def _match(match: Match, passages: _PassageRows) -> dict[str, Any]:
    heat = match.heat
    row: dict[str, Any] = {
        "passage": passages.number(match.passage, match.ids),
        "before": [passages.number(passage) for passage in match.before],
        "after": [passages.number(passage) for passage in match.after],
        "score": _rounded(match.score),
        "query": [_word(word, heat.by_order) for word in heat.query],
        "words": [_word(word, heat.by_order) for word in heat.passage],
        "pairs": [_pair(pair, heat.by_order) for pair in heat.pairs],
        "apart": [_pair(pair, heat.by_order) for pair in heat.apart],
    }
    if match.candidate_rank:
        row["candidateRank"] = match.candidate_rank
        row["candidateScore"] = _rounded(match.candidate_score)
    if heat.others:
        row["others"] = [heat.others, _rounded(heat.others_sum)]
    if match.parallels:
        row["parallels"] = list(match.parallels)
    if match.kind:
        row["kind"] = match.kind
    if match.probability is not None:
        row["probability"] = _rounded(match.probability)
    return row


def _word(word: HeatedWord, by_order: bool) -> list[float | None]:
    added = None if by_order else _rounded(word.contribution, _WORD_DIGITS)
    return [word.start, word.end, added, round(word.shade, 3)]


def _pair(pair: HeatedPair, by_order: bool) -> list[Any]:
    return [
        pair.query_word,
        pair.passage_word,
        None if by_order else _rounded(pair.contribution, _WORD_DIGITS),
        list(pair.query_places),
        list(pair.passage_places),
    ]


def _rounded(value: float, digits: int = _DIGITS) -> float:
    # Significant digits rather than decimals: scores of methods differ by orders of magnitude.
    return float(f"{value:.{digits}g}")
