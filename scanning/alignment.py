"""Local alignment of segments with their passages: which words stand in the same order."""

from dataclasses import dataclass

import numpy as np

from allusion_es.core.arrays import Integers, Singles
from allusion_es.language.latin.analysis import Analysis
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

_TOGETHER = 256
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


def align(gains: Singles, price: float) -> Alignments:
    """Align n stretches with n passages.

    `H_ij = max(0, H_(i-1)(j-1) + g_ij, H_(i-1)j - price, H_i(j-1) - price)`, H = 0 at the edges;
    the best alignment ends at the largest H, the first of equals. Source: Smith and Waterman 1981.

    Args:
        gains: g, the gain of aligning word i of the stretch with word j of the passage;
            negative where they differ and behind their ends; shape (n, stretch, passage).
        price: The price of skipping a word, above 0.

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
    slope = np.float32(price) * np.arange(columns + 1, dtype=np.float32)
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


def align_segments(analysis: Analysis, texts: CandidateTexts, segments: Segments) -> Alignments:
    """The best alignment of each segment with its passage, in words of the text.

    Equal forms gain the word's idf, other forms of the same lemma 80% of it; all else costs
    `PRICE`.
    """
    starts = np.maximum(segments.firsts - AROUND, 0)
    ends = np.minimum(segments.lasts + 1 + AROUND, len(analysis.tokens))
    ends = np.minimum(ends, starts + _LONGEST)
    scores = np.zeros(len(segments), dtype=np.float32)
    firsts, lasts = np.zeros(len(segments), dtype=np.int64), np.zeros(len(segments), dtype=np.int64)
    codes = _coded(analysis, texts)
    # Like lengths together, so that little is computed behind the ends of short ones.
    lengths = np.diff(texts.lemmas.offsets)[segments.passages]
    order = np.lexsort((lengths, (ends - starts) // _LIKE))
    for begin in range(0, len(segments), _TOGETHER):
        part = order[begin : begin + _TOGETHER]
        gains = _gains(codes, texts, segments.passages[part], starts[part], ends[part])
        found = align(gains, PRICE)
        scores[part] = found.scores
        firsts[part] = starts[part] + found.firsts
        lasts[part] = starts[part] + found.lasts
    return Alignments(scores, firsts, lasts)


def _coded(analysis: Analysis, texts: CandidateTexts) -> tuple[Integers, Integers]:
    """Codes of the text's tokens and lemmas among the passages' words, -1 for unknown words."""
    coded = []
    for words, known in ((analysis.tokens, texts.tokens), (analysis.lemmas, texts.lemmas)):
        numbers = {word: number for number, word in enumerate(known.words)}
        coded.append(np.array([numbers.get(word, -1) for word in words], dtype=np.int64))
    return coded[0], coded[1]


def _gains(
    codes: tuple[Integers, Integers],
    texts: CandidateTexts,
    passages: Integers,
    starts: Integers,
    ends: Integers,
) -> Singles:
    """Gains of each pair of words, as `align` takes them, shape (n, stretch, passage)."""
    rows = starts[:, None] + np.arange(int((ends - starts).max()))
    inside = rows < ends[:, None]
    rows[~inside] = 0
    offsets = texts.lemmas.offsets
    lengths = np.minimum(offsets[passages + 1] - offsets[passages], _LONGEST_PASSAGE)
    columns = offsets[passages, None] + np.arange(int(lengths.max()))
    there = np.arange(columns.shape[1]) < lengths[:, None]
    columns[~there] = 0
    lemmas, tokens = texts.lemmas.codes[columns], texts.tokens.codes[columns]
    same_lemma = codes[1][rows][:, :, None] == lemmas[:, None, :]
    same_token = codes[0][rows][:, :, None] == tokens[:, None, :]
    weights = texts.weights[lemmas].astype(np.float32)[:, None, :]
    gains = np.where(same_lemma, _SAME_LEMMA * weights, np.float32(-PRICE))
    gains = np.where(same_token, weights, gains)
    return np.asarray(
        np.where(inside[:, :, None] & there[:, None, :], gains, -PRICE), dtype=np.float32
    )
