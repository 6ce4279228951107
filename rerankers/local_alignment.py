"""Soft local alignment: the stretches of query and passage that are most similar, in order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers
from allusion_es.core.plugins import check_range
from allusion_es.rerankers._shared.soft_cosines import MOST_POWER
from allusion_es.rerankers._shared.soft_cosines import power as raised
from allusion_es.rerankers._shared.word_vectors import ChosenVectors
from allusion_es.retrieval.explanations import Parts, as_contributions
from allusion_es.retrieval.reranking import Candidates, Collection, Explanation
from allusion_es.retrieval.types import AnalysedQuery
from allusion_es.retrieval.weighting import idf

_TOGETHER = 256
"""Texts that are aligned at once, so that memory stays bounded."""

_QUANTUM = 2.0**-28
"""Gains are rounded to multiples of it, 4e-9: then equal texts score the same to the last bit."""

_GAP = "‹gap›"
"""The partner of a skipped word in explanations."""


class LocalAlignment:
    """Weight of the best alignment of a stretch of the query with a stretch of the passage.

    `H_ij = max(0, H_(i-1)(j-1) + s_ij, H_(i-1)j - gap, H_i(j-1) - gap)`, H = 0 at the edges; the
    score is the largest H. `s_ij = S_ij min(idf_i, idf_j) - gap (1 - S_ij)` for word i of the
    query and word j of the passage, with `S_ij = max(0, cos(v_i, v_j)) ** power`, 1 for equal
    words. Source: Smith and Waterman 1981, with weights of words instead of a substitution
    matrix; idf is the paper's (Manjavacas et al. 2019, section 5.1), S that of its soft cosine.

    Never negative and symmetric; no passage scores higher than the query's own words, and words
    before or after a stretch take nothing away. With a small gap cost words may lie far apart,
    but only words in the same order count together. Explained by the aligned words and the gaps.
    The defaults were chosen on samples of two gold sets; see `docs/quality.md`.

    Args:
        gap: What it costs to skip a word, from 0 to 100.
        power: Raises S, so that only close words count; at least 1.
        vectors: Name or path of word vectors; "" for those of the index.

    Example:
        >>> from allusion_es.rerankers.trial import trial
        >>> texts = ["lux nox dies", "lux dies", "rex", "ius"]
        >>> trial(LocalAlignment(gap=0.1), "nox lux dies", texts)  # ln 2 + ln 4/3 - 0.1; 2 ln 4/3
        [0.8808, 0.5754, 0.0, 0.0]
    """

    name = "local-alignment"

    def __init__(self, gap: float = 1.0, power: int = 5, vectors: str = "") -> None:
        check_range(self.name, "gap", gap, 0, 100)
        check_range(self.name, "power", power, 1, MOST_POWER)
        self._gap = gap
        self._power = power
        self._vectors = ChosenVectors(self.name, vectors)

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        aligned = self.alignment(query, candidates, collection)
        return alignment_scores([aligned], candidates.texts.offsets)[0]

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """The gains of aligned words, and with `‹gap›` the price of words skipped between them."""
        aligned = self.alignment(query, candidates, collection)
        words, texts = query.words(candidates.field), candidates.texts
        reasons: list[Explanation] = []
        for number in range(len(candidates)):
            codes = texts.codes[texts.offsets[number] : texts.offsets[number + 1]]
            own = aligned.gains[np.ix_(aligned.rows, codes)]
            table = aligned.table(codes)
            reasons.append(
                as_contributions(_path(table, own, aligned.gap, words, texts.text(number)))
            )
        return reasons

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note that names the word vectors in use."""
        return (self._vectors.note(collection),)

    def alignment(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> "Alignment":
        """The query and the candidates, ready to be aligned."""
        words, texts = query.words(candidates.field), candidates.texts
        asked, found = list(dict.fromkeys(words)), texts.words
        vectors = self._vectors.find(collection)

        def similarities() -> Floats:
            left, right = (self._vectors.rows(collection, some) for some in (asked, found))
            similarity = raised(np.maximum(left @ right.T, 0.0), self._power).astype(np.float64)
            similarity[texts.find(asked)] = 1.0
            return similarity

        # Alignments that differ only in their gap share them.
        similarity = collection.kept(
            similarities, LocalAlignment, query, texts, vectors, self._power
        )
        known = [collection.statistics(candidates.field, some) for some in (asked, found)]
        asked_idf, found_idf = (idf(one.df, one.passages) for one in known)
        lighter = np.minimum(asked_idf[:, None], found_idf)
        gains = similarity * (lighter + self._gap) - self._gap
        numbers = {word: number for number, word in enumerate(asked)}
        rows = np.array([numbers[word] for word in words], dtype=np.int64)
        return Alignment.exact(rows, gains, texts.codes, self._gap)


@dataclass(frozen=True, slots=True)
class Alignment:
    """A query that is to be aligned with texts.

    Attributes:
        rows: The query's words in order, as rows of `gains`.
        gains: s of each word of the query and each word of the texts, shape (distinct, distinct).
        codes: The words of all texts in order, as columns of `gains`.
        gap: What it costs to skip a word.
    """

    rows: Integers
    gains: Floats
    codes: Integers
    gap: float

    @staticmethod
    def exact(rows: Integers, gains: NDArray[Any], codes: Integers, gap: float) -> "Alignment":
        """The alignment whose gains and gap are rounded to `_QUANTUM`.

        Any sum of them is exact then, whatever is added on the way.
        """
        rounded, price = (
            np.rint(each.astype(np.float64) / _QUANTUM) * _QUANTUM
            for each in (gains, np.array(gap))
        )
        return Alignment(rows, rounded, codes, float(price))

    @property
    def is_unbroken(self) -> bool:
        """Whether a gap costs more than all the query's words can gain: no stretch has one."""
        return bool(self.gap >= self.gains.max(axis=1, initial=0.0)[self.rows].sum())

    def table(self, codes: Integers) -> Floats:
        """H of one text's words, shape (words of the query + 1, words of the text + 1)."""
        offsets = np.array([0, len(codes)])
        own = replace(self, codes=codes)
        floor, rows = _unbroken([own], offsets) if self.is_unbroken else _gapped([own], offsets)
        found = [(heights - floor)[0] for heights in rows]
        return np.stack([np.zeros(len(codes) + 1), *found])


def alignment_scores(alignments: Sequence[Alignment], offsets: Integers) -> list[Floats]:
    """The weight of the best alignment of a query with each text, shape (texts,) for each.

    Several alignments of the same query and texts, by different words or gaps, are computed at
    once, which takes hardly longer than one.

    Args:
        alignments: Of one query, at least one.
        offsets: Text i of each has `codes[offsets[i]:offsets[i + 1]]`; shape (texts + 1,).
    """
    scores = np.zeros((len(alignments), len(offsets) - 1))
    kinds = np.array([each.is_unbroken for each in alignments])
    for heights, kind in ((_gapped, False), (_unbroken, True)):
        numbers = np.flatnonzero(kinds == kind)
        chosen = [alignments[number] for number in numbers.tolist()]
        for first in range(0, len(offsets) - 1 if chosen else 0, _TOGETHER):
            borders = offsets[first : first + _TOGETHER + 1]
            part = slice(int(borders[0]), int(borders[-1]))
            some = [replace(each, codes=each.codes[part]) for each in chosen]
            starts = _starts(borders)
            floor, rows = heights(some, borders)
            best = floor.copy()
            for here in rows:
                np.maximum(best, here, out=best)
            best -= floor
            scores[numbers, first : first + len(starts)] = np.maximum.reduceat(best, starts, axis=1)
    return list(scores)


def _starts(offsets: Integers) -> Integers:
    """The first column of each text, if each has one more than it has words; shape (texts,)."""
    return np.asarray(offsets[:-1] - offsets[0] + np.arange(len(offsets) - 1))


def _gapped(alignments: Sequence[Alignment], offsets: Integers) -> tuple[Floats, Iterator[Floats]]:
    """H_ij of one word i of the query after the other.

    The columns of all texts stand side by side: for each text column 0, then one for each word.
    With `gap j` added to column j, skipping words of a text is a running maximum. What is
    added to the next text is more than any sum of gains, so that nothing runs over into it.

    Args:
        alignments: Of one query.
        offsets: Of their texts.

    Returns:
        What is added to each column, shape (alignments, columns), and for each word of the query
        H with it, of the same shape, overwritten after the next one.
    """
    starts, lengths = _starts(offsets), np.diff(offsets)
    gaps = np.array([[each.gap] for each in alignments])
    tables = [each.gains + each.gap for each in alignments]
    most = max(float(each.gains.max(axis=1, initial=0.0)[each.rows].sum()) for each in alignments)
    step = 2.0 ** np.ceil(np.log2(1 + most + float(gaps.max()) * (1 + lengths.max(initial=0))))
    numbers = np.repeat(np.arange(len(starts)), lengths + 1)
    floor: Floats = gaps * (np.arange(len(numbers)) - starts[numbers]) + step * numbers

    def rows() -> Iterator[Floats]:
        above, here = floor.copy(), np.empty_like(floor)
        for gains in _gains(alignments, tables, starts, lengths):
            gains[:, 1:] += above[:, :-1]
            np.subtract(above, gaps, out=here)
            np.maximum(here, gains, out=here)
            np.maximum(here, floor, out=here)
            np.maximum.accumulate(here, axis=1, out=here)
            yield here
            above, here = here, above

    return floor, rows()


def _unbroken(
    alignments: Sequence[Alignment], offsets: Integers
) -> tuple[Floats, Iterator[Floats]]:
    """H_ij as `_gapped` gives them, where no stretch is worth a gap; nothing is added to it."""
    starts, lengths = _starts(offsets), np.diff(offsets)
    nothing: Floats = np.zeros((len(alignments), int(lengths.sum()) + len(starts)))

    def rows() -> Iterator[Floats]:
        above = nothing
        for gains in _gains(alignments, [each.gains for each in alignments], starts, lengths):
            gains[:, 1:] += above[:, :-1]
            above = np.maximum(gains, 0.0)
            yield above

    return nothing, rows()


def _gains(
    alignments: Sequence[Alignment], tables: Sequence[Floats], starts: Integers, lengths: Integers
) -> Iterator[Floats]:
    """The gains of one word of the query after the other, shape (alignments, columns).

    Nothing leads to column 0 of a text: there they are below all numbers.

    Args:
        alignments: Of one query.
        tables: For each the gains of its distinct words, shape (distinct, words).
        starts: The column 0 of each text.
        lengths: The words of each text.
    """
    columns = int(lengths.sum()) + len(starts)
    is_word = np.ones(columns, dtype=np.bool_)
    is_word[starts] = False
    codes, closed = [], []
    for each, table in zip(alignments, tables, strict=True):
        own = np.full(columns, table.shape[1])
        own[is_word] = each.codes
        codes.append(own)
        closed.append(np.append(table, np.full((len(table), 1), -np.inf), axis=1))
    found = np.empty((len(alignments), columns))
    for word in range(len(alignments[0].rows)):
        for number, each in enumerate(alignments):
            # Any other mode than to raise writes to its place at once; all codes are right.
            row = closed[number][each.rows[word]]
            np.take(row, codes[number], out=found[number], mode="clip")
        yield found


def _path(
    table: Floats, gains: Floats, gap: float, asked: Sequence[str], found: Sequence[str]
) -> Parts:
    """The gain or price of each step of the best alignment, traced back from its end."""
    row, column = (int(place) for place in np.unravel_index(table.argmax(), table.shape))
    parts: Parts = {}
    while row > 0 and column > 0 and table[row, column] > 1e-12:
        gain = float(gains[row - 1, column - 1])
        steps = (
            (table[row - 1, column - 1] + gain, 1, 1, (asked[row - 1], found[column - 1]), gain),
            (table[row - 1, column] - gap, 1, 0, (asked[row - 1], _GAP), -gap),
            (table[row, column - 1] - gap, 0, 1, (_GAP, found[column - 1]), -gap),
        )
        _, down, right, pair, added = max(steps, key=lambda step: step[0])
        if added:
            parts[pair] = parts.get(pair, 0.0) + added
        row, column = row - down, column - right
    return parts
