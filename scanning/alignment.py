"""Aligning many stretches of a text with passages at once: what stands in the same order."""

from allusion_es.core.arrays import Integers, Singles
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray



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
