"""Local alignment of segments with their passages: which words stand in the same order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers, Singles, padded_ranges
from allusion_es.language.latin.analysis import Analysis
from allusion_es.retrieval.coded_texts import CodedTexts, code_texts
from allusion_es.scanning.segments import CandidateTexts, Segments

PRICE = 1.0
"""Price of each word that is skipped between two matches, in units of idf.

A segment pays it for words between its matches, an alignment for words that it skips on either
side. Higher prices give shorter segments; the models of `scan.json` were fitted with this one.
"""

AROUND = 3
"""Words before and after a segment that its alignment may take in."""

_LONGEST = 60
"""Words of a segment that are aligned at most; memory grows with it times `_LONGEST_PASSAGE`."""

_LONGEST_PASSAGE = 90
"""Words of a passage that are aligned at most; nearly all verses have fewer."""

_SAME_LEMMA = np.float32(0.8)
"""Share of a word's weight that another form of the same lemma brings."""

_TOGETHER = 128
"""Segments that are aligned at once, so that memory stays bounded."""


_LIKE = 4
"""Lengths of segments that are alike enough to be aligned together, in words."""


@dataclass(frozen=True, slots=True)
class Alignments:
    """The best alignment of each pair; all arrays of shape (n,).

    Attributes:
        scores: Weight of the aligned words, less the price of those skipped.
        firsts: The first aligned word of the stretch.
        lasts: The last one; before `firsts` where nothing is aligned.
    """

    scores: Singles
    firsts: Integers
    lasts: Integers


def align(gains: Singles, price: float, before: Integers | None = None) -> Alignments:
    """Align n stretches with n passages.

    `H_ij = max(0, H_(i-1)(j-1) + g_ij, H_(i-1)j - price, H_i(j-1) - price)`, H = 0 at the edges;
    the best alignment ends at the largest H, the first of equals. Source: Smith and Waterman 1981.

    Args:
        gains: g, the gain of aligning word i of the stretch with word j of the passage;
            negative where they differ and behind their ends; shape (n, stretch, passage).
        price: The price of skipping a word, above 0.
        before: Words of the passage before the first of `gains`, shape (n,); none by default. They
            change nothing but the last digits of scores, as if these words were aligned too.

    Example:
        >>> gains = np.array([[[-1, -1], [2, -1], [-1, -1], [-1, 3]]], dtype=np.float32)
        >>> best = align(gains, 0.5)
        >>> best.scores.tolist(), best.firsts.tolist(), best.lasts.tolist()
        ([4.5], [1], [3])
    """
    n, rows, columns = gains.shape
    above = np.zeros((n, columns + 1), dtype=np.float32)
    begun = np.zeros((n, columns + 1), dtype=np.int32)
    best = np.zeros(n, dtype=np.float32)
    firsts, lasts = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    left_out = np.zeros(n, dtype=np.int64) if before is None else before
    slope = np.float32(price) * (left_out[:, None] + np.arange(columns + 1)).astype(np.float32)
    for row in range(rows):
        here = np.maximum(above - np.float32(price), 0)
        from_row = np.where(here > 0, begun, row + 1)
        diagonal = above[:, :-1] + gains[:, row]
        fresh = np.where(above[:, :-1] > 0, begun[:, :-1], row)
        wins = diagonal > here[:, 1:]
        here[:, 1:] = np.where(wins, diagonal, here[:, 1:])
        from_row[:, 1:] = np.where(wins, fresh, from_row[:, 1:])
        # Skipping words of the passage: the highest place before, less the price of each step.
        risen = here + slope
        highest = np.maximum.accumulate(risen, axis=1)
        own = np.where(risen >= highest, np.arange(columns + 1), 0)
        source = np.maximum.accumulate(own, axis=1)
        above = np.maximum(highest - slope, 0)
        begun = np.take_along_axis(from_row, source, axis=1)
        peaks = above.argmax(axis=1)
        values = above[np.arange(n), peaks]
        better = values > best
        best = np.where(better, values, best)
        firsts = np.where(better, begun[np.arange(n), peaks], firsts)
        lasts = np.where(better, row, lasts)
    return Alignments(best, firsts, lasts)


@dataclass(frozen=True, slots=True)
class Stretches:
    """The words between which segments and their passages have equal ones; all of shape (n,).

    An alignment cannot begin or end outside, so that nothing else need be aligned.

    Attributes:
        firsts: The first such word of the text.
        lengths: Words from there to the last one; 0 where no word is equal.
        begins: The first such word of the passage, as a position in `CodedTexts.codes`.
        before: Words of the passage before it.
        widths: Words from there to the last one.
        most: What an alignment can score at most.
    """

    firsts: Integers
    lengths: Integers
    begins: Integers
    before: Integers
    widths: Integers
    most: Floats

    def take(self, chosen: NDArray[np.bool_]) -> "Stretches":
        """The chosen ones."""
        return Stretches(
            self.firsts[chosen],
            self.lengths[chosen],
            self.begins[chosen],
            self.before[chosen],
            self.widths[chosen],
            self.most[chosen],
        )


class Aligner:
    """Aligns segments of a text with their passages.

    Equal forms gain the word's idf, other forms of the same lemma 80% of it; all else costs
    `PRICE`.

    Args:
        analysis: The words of the text.
        texts: The passages.
    """

    def __init__(self, analysis: Analysis, texts: CandidateTexts) -> None:
        self._texts = texts
        self._words = len(analysis.tokens)
        self._tokens = _coded(analysis.tokens, texts.tokens)
        self._lemmas = _coded(analysis.lemmas, texts.lemmas)
        self._weights = texts.weights.astype(np.float32)

    def stretches(self, segments: Segments) -> Stretches:
        """The words that may be aligned: those of each segment with `AROUND` on either side."""
        starts = np.maximum(segments.firsts - AROUND, 0)
        ends = np.minimum(segments.lasts + 1 + AROUND, self._words)
        lengths = np.minimum(ends - starts, _LONGEST)
        offsets = self._texts.lemmas.offsets
        begins = offsets[segments.passages]
        widths = np.minimum(offsets[segments.passages + 1] - begins, _LONGEST_PASSAGE)
        # Words before the first equal one, and from there to the last, of the text and the passage.
        before, size, left_out, width = np.zeros((4, len(segments)), dtype=np.int64)
        most = np.zeros(len(segments))
        for part in _alike(lengths, widths):
            gains = self._gains(starts[part], lengths[part], begins[part], widths[part])
            before[part], size[part] = _extent(gains.max(axis=2) > 0)
            left_out[part], width[part] = _extent(gains.max(axis=1) > 0)
            # Each word of the text is aligned once at most.
            most[part] = np.maximum(gains.max(axis=2), 0).sum(axis=1)
        return Stretches(starts + before, size, begins + left_out, left_out, width, most)

    def align(self, stretches: Stretches) -> Alignments:
        """The best alignment of each stretch, in words of the text."""
        scores = np.zeros(len(stretches.firsts), dtype=np.float32)
        firsts, lasts = stretches.firsts.copy(), stretches.firsts - 1
        for part in _alike(stretches.lengths, stretches.widths):
            starts = stretches.firsts[part]
            gains = self._gains(
                starts, stretches.lengths[part], stretches.begins[part], stretches.widths[part]
            )
            # The trees of the models were fitted to scores with these last digits.
            found = align(gains, PRICE, stretches.before[part])
            scores[part] = found.scores
            firsts[part] = starts + found.firsts
            lasts[part] = starts + found.lasts
        return Alignments(scores, firsts, lasts)

    def _gains(
        self, starts: Integers, lengths: Integers, begins: Integers, widths: Integers
    ) -> Singles:
        """Gains of each pair of words, as `align` takes them, shape (n, stretch, passage)."""
        rows, inside = padded_ranges(starts, lengths)
        columns, there = padded_ranges(begins, widths)
        # Codes that nothing is equal to, behind both ends.
        mine = [np.where(inside, codes[rows], -1) for codes in (self._lemmas, self._tokens)]
        texts = (self._texts.lemmas, self._texts.tokens)
        theirs = [np.where(there, text.codes[columns], -2) for text in texts]
        same_lemma, same_token = (
            one[:, :, None] == other[:, None, :] for one, other in zip(mine, theirs, strict=True)
        )
        weights = np.where(there, self._weights[texts[0].codes[columns]], np.float32(0))
        gains = np.where(same_lemma, (_SAME_LEMMA * weights)[:, None, :], np.float32(-PRICE))
        np.copyto(gains, weights[:, None, :], where=same_token)
        return gains


def _alike(lengths: Integers, widths: Integers) -> Iterator[Integers]:
    """The numbers of all pairs that have words, like sizes together.

    So little is computed behind the ends of short ones.
    """
    order = np.lexsort((widths, -(-lengths // _LIKE)))
    order = order[np.searchsorted(lengths[order] > 0, True) :]
    for begin in range(0, len(order), _TOGETHER):
        yield order[begin : begin + _TOGETHER]


def _extent(is_there: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """The first True of each row, and how many places it is from there to the last; 0 for none."""
    size = is_there.shape[1]
    first, last = is_there.argmax(axis=1), size - 1 - is_there[:, ::-1].argmax(axis=1)
    return first, np.where(is_there.any(axis=1), last + 1 - first, 0)


def _coded(words: Sequence[str], known: CodedTexts) -> Integers:
    """Codes of the text's words among the passages' words, -1 for unknown words."""
    text = code_texts((words,))
    numbers, codes = known.find(text.words)
    code_of = np.full(len(text.words), -1)
    code_of[numbers] = codes
    return np.asarray(code_of[text.codes])
