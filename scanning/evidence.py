"""What speaks for each stretch of a text alluding to a passage, as numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers, Singles
from allusion_es.language.latin.analysis import Analysis
from allusion_es.retrieval.coded_texts import CodedTexts
from allusion_es.scanning.segments import Matches, Segments

# Aligning many stretches of a text with passages at once: what stands in the same order.


@dataclass(frozen=True, slots=True)
class Alignments:
    """The best alignment of each pair; all arrays of shape (n,).

    Attributes:
        scores: Weight of the aligned words, less the price of those skipped.
        firsts: The first aligned word of the stretch, counted from its start.
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
        gains: g, what it brings to align word i of the stretch with word j of the passage;
            negative where they differ and behind their ends; shape (n, stretch, passage).
        price: What it costs to skip a word, above 0.

    Example:
        >>> gains = np.array([[[-1, -1], [2, -1], [-1, -1], [-1, 3]]], dtype=np.float32)
        >>> best = align(gains, 0.5)
        >>> best.scores.tolist(), best.firsts.tolist(), best.lasts.tolist()
        ([4.5], [1], [3])
    """
    n, rows, columns = gains.shape
    above = np.zeros((n, columns + 1), dtype=np.float32)
    begun = np.zeros((n, columns + 1), dtype=np.int64)
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


PRICE = 1.0
"""What each word costs that stands between two matches, in units of idf."""

AROUND = 3
"""Words before and after a segment that its alignment may take in."""

_LONGEST = 60
_LONGEST_PASSAGE = 90


@dataclass(frozen=True, slots=True)
class CandidateTexts:
    """Passages that may be alluded to, and the weights of words.

    Attributes:
        ids: Their ids.
        tokens: Their tokens.
        lemmas: Their lemmas.
        weights: idf of each of `lemmas.words`, shape (words,).
    """

    ids: tuple[str, ...]
    tokens: CodedTexts
    lemmas: CodedTexts
    weights: Floats


def damped(matches: Matches, texts: CandidateTexts, gap: int = 25, share: float = 0.1) -> Floats:
    """What each match is worth: the idf of the passage's word by how alike the words are.

    A word that the text has again within `gap` words, and the passage only once, counts a tenth:
    else a text that turns a word over and over alludes to every passage that has it.
    """
    counts = texts.lemmas.counts
    width = max(len(texts.lemmas.words), 1)
    keys = counts.texts * width + counts.codes
    mine = matches.passages * width + matches.codes
    once = counts.counts[np.searchsorted(keys, mine)] < 2
    order = np.lexsort((matches.places, mine))
    again = np.zeros(len(mine), dtype=bool)
    if len(mine):
        same = np.diff(mine[order]) == 0
        near = np.diff(matches.places[order]) <= gap
        again[order[1:]] = same & near
    worth = texts.weights[matches.codes] * matches.likeness
    return np.where(again & once, share * worth, worth)


def ordered(
    analysis: Analysis, texts: CandidateTexts, segments: Segments
) -> tuple[Alignments, Integers]:
    """Segments aligned with their passages word by word; equal forms count most.

    Returns:
        The alignments, and the word of the text at which each stretch starts that was aligned.
    """
    total = len(analysis.tokens)
    starts = np.maximum(segments.firsts - AROUND, 0)
    ends = np.minimum(segments.lasts + 1 + AROUND, total)
    ends = np.minimum(ends, starts + _LONGEST)
    scores = np.zeros(len(segments), dtype=np.float32)
    firsts, lasts = np.zeros(len(segments), dtype=np.int64), np.zeros(len(segments), dtype=np.int64)
    mine = _coded(analysis, texts)
    for begin in range(0, len(segments), 256):
        part = slice(begin, begin + 256)
        gains = _gains(mine, texts, segments.passages[part], starts[part], ends[part])
        found = align(gains, PRICE)
        scores[part], firsts[part], lasts[part] = found.scores, found.firsts, found.lasts
    return Alignments(scores, firsts, lasts), starts


def _coded(analysis: Analysis, texts: CandidateTexts) -> tuple[Integers, Integers]:
    """The text's tokens and lemmas as numbers of the passages' words, -1 where they have none."""
    coded = []
    for words, known in ((analysis.tokens, texts.tokens), (analysis.lemmas, texts.lemmas)):
        numbers = {word: number for number, word in enumerate(known.words)}
        coded.append(np.array([numbers.get(word, -1) for word in words], dtype=np.int64))
    return coded[0], coded[1]


def _gains(
    mine: tuple[Integers, Integers],
    texts: CandidateTexts,
    passages: Integers,
    starts: Integers,
    ends: Integers,
) -> NDArray[np.float32]:
    rows = starts[:, None] + np.arange(int((ends - starts).max()))
    inside = rows < ends[:, None]
    rows[~inside] = 0
    offsets = texts.lemmas.offsets
    lengths = np.minimum(offsets[passages + 1] - offsets[passages], _LONGEST_PASSAGE)
    columns = offsets[passages, None] + np.arange(int(lengths.max()))
    there = np.arange(columns.shape[1]) < lengths[:, None]
    columns[~there] = 0
    lemmas, tokens = texts.lemmas.codes[columns], texts.tokens.codes[columns]
    same_lemma = mine[1][rows][:, :, None] == lemmas[:, None, :]
    same_token = mine[0][rows][:, :, None] == tokens[:, None, :]
    weights = texts.weights[lemmas].astype(np.float32)[:, None, :]
    gains = np.where(same_lemma, np.float32(0.8) * weights, np.float32(-PRICE))
    gains = np.where(same_token, weights, gains)
    return np.asarray(
        np.where(inside[:, :, None] & there[:, None, :], gains, -PRICE), dtype=np.float32
    )
