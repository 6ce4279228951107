"""Soft local alignment: the stretches of query and passage that are most similar, in order."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.core.plugins import check_range
from allusion_es.rerankers._shared.soft_cosines import MOST_POWER
from allusion_es.rerankers._shared.soft_cosines import power as raised
from allusion_es.rerankers._shared.word_vectors import ChosenVectors
from allusion_es.retrieval.coded_texts import CodedTexts
from allusion_es.retrieval.explanations import Parts, as_contributions
from allusion_es.retrieval.reranking import Candidates, Collection, Explanation
from allusion_es.retrieval.types import AnalysedQuery
from allusion_es.retrieval.weighting import idf

_TOGETHER = 128
"""Texts of like length that are aligned at once; more would be padded to longer ones."""

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
        rows, gains = self._gains(query, candidates, collection)
        return alignment_scores(rows, gains, candidates.texts, self._gap)

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """The gains of aligned words, and with `‹gap›` the price of words skipped between them."""
        rows, gains = self._gains(query, candidates, collection)
        words, texts = query.words(candidates.field), candidates.texts
        reasons: list[Explanation] = []
        for number in range(len(candidates)):
            codes = texts.codes[texts.offsets[number] : texts.offsets[number + 1]]
            table = np.zeros((len(rows) + 1, len(codes) + 1))
            for row, heights in enumerate(_heights(rows, gains, codes[None], self._gap), start=1):
                table[row] = heights[0]
            own = gains[np.ix_(rows, codes)]
            reasons.append(
                as_contributions(_path(table, own, self._gap, words, texts.text(number)))
            )
        return reasons

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note that names the word vectors in use."""
        return (self._vectors.note(collection),)

    def _gains(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> tuple[NDArray[np.int64], Floats]:
        """The gains s of distinct words, and the row of each word of the query in them.

        Returns:
            Rows, shape (words,), and s, shape (distinct, distinct + 1); its last column is for the
            padding behind short texts.
        """
        words = query.words(candidates.field)
        asked, found = list(dict.fromkeys(words)), candidates.texts.words
        left, right = (self._vectors.rows(collection, some) for some in (asked, found))
        cosines = np.maximum(left @ right.T, 0.0)
        similarity = raised(cosines, self._power).astype(np.float64)
        similarity[candidates.texts.find(asked)] = 1.0
        known = [collection.statistics(candidates.field, some) for some in (asked, found)]
        asked_idf, found_idf = (idf(one.df, one.passages) for one in known)
        gains = np.full((len(asked), len(found) + 1), -self._gap)
        gains[:, :-1] = (
            similarity * (np.minimum(asked_idf[:, None], found_idf) + self._gap) - self._gap
        )
        numbers = {word: number for number, word in enumerate(asked)}
        return np.array([numbers[word] for word in words], dtype=np.int64), gains


def alignment_scores(
    rows: NDArray[np.int64], gains: Floats, texts: CodedTexts, gap: float
) -> Floats:
    """The weight of the best alignment of a query with each text, shape (len(texts),).

    Args:
        rows: The query's words in order, as rows of `gains`.
        gains: s of each word of the query and each word of the texts, and a last column of `-gap`,
            shape (distinct, distinct + 1).
        texts: The texts; their words themselves are not looked at.
        gap: What it costs to skip a word.
    """
    scores = np.zeros(len(texts))
    for numbers, codes in _padded(texts):
        best = np.zeros((len(codes), codes.shape[1] + 1))
        for heights in _heights(rows, gains, codes, gap):
            np.maximum(best, heights, out=best)
        scores[numbers] = best.max(axis=1)
    return scores


def _padded(texts: CodedTexts) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Texts of like length and their words, shape (texts, longest), -1 behind their end."""
    lengths = np.diff(texts.offsets)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    for first in range(0, len(order), _TOGETHER):
        some = order[first : first + _TOGETHER]
        places = np.arange(lengths[some[-1]])
        inside = places < lengths[some, None]
        codes = np.full(inside.shape, -1, dtype=np.int64)
        codes[inside] = texts.codes[(texts.offsets[some, None] + places)[inside]]
        yield some, codes


def _heights(
    rows: NDArray[np.int64], gains: Floats, codes: NDArray[np.int64], gap: float
) -> Iterator[Floats]:
    """H_ij of one query word i after the other, shape (texts, longest + 1)."""
    # If a gap costs more than all the query's words can gain, no stretch has one.
    if gap >= gains.max(axis=1, initial=0.0)[rows].sum():
        yield from _unbroken(rows, gains, codes)
        return
    # With `gap j` added to column j, skipping words of the passage is a running maximum, which
    # numpy computes for all texts at once.
    floor = gap * np.arange(codes.shape[1] + 1.0)
    above = np.broadcast_to(floor, (len(codes), len(floor)))
    for row in rows.tolist():
        here = above - gap
        np.maximum(here[:, 1:], above[:, :-1] + (gains[row] + gap)[codes], out=here[:, 1:])
        np.maximum(here, floor, out=here)
        np.maximum.accumulate(here, axis=1, out=here)
        yield here - floor
        above = here


def _unbroken(rows: NDArray[np.int64], gains: Floats, codes: NDArray[np.int64]) -> Iterator[Floats]:
    """H_ij as `_heights` gives them, where no stretch is worth a gap."""
    here = np.zeros((len(codes), codes.shape[1] + 1))
    for row in rows.tolist():
        above, here = here, np.zeros_like(here)
        np.maximum(above[:, :-1] + gains[row][codes], 0.0, out=here[:, 1:])
        yield here


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
