"""Cosines with the means of passages' word vectors, of which only the lengths are kept.

The product of a query's vector with the sum of a passage's word vectors is the sum of its products
with each of them. So the vectors of all passages need not be kept, which would take a quarter of an
index: a query is compared with each distinct word once, and the results are added up.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, Floats, Integers
from allusion_es.local.best_sums import Scored

_TOGETHER = 1 << 20
"""Words of passages that are looked up at once: 4 MB in single precision."""

LEAST_LENGTH = 1e-6
"""What is left of vectors of unit length that cancel out is rounding, not a direction."""


def lengths_of_sums(codes: Array, lengths: Integers, table: Array) -> Floats:
    """The length of the sum of each passage's word vectors, 0 where it has none.

    Args:
        codes: The words of all passages in order, as rows of `table`.
        lengths: How many of them each passage has, shape (passages,).
        table: Unit vectors of words, shape (words, dimension).

    Returns:
        Shape (passages,).

    Example:
        >>> table = np.array([[1, 0], [0, 1]], dtype=np.float32)
        >>> lengths_of_sums(np.array([0, 0, 1]), np.array([2, 0, 1]), table).tolist()
        [2.0, 0.0, 1.0]
    """
    sums = np.zeros((len(lengths), table.shape[1]))
    starts = np.cumsum(lengths) - lengths
    # Word by word over all passages, so that no more than one vector a passage is in memory.
    for number in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > number)
        sums[rows] += table[codes[starts[rows] + number]]
    found: Floats = np.linalg.norm(sums, axis=1)
    found[found < LEAST_LENGTH] = 0
    return found


class MeanVectors:
    """The means of one field's word vectors, of all passages.

    Args:
        codes: The words of all passages in order, as rows of `table`.
        offsets: Passage i has the words `codes[offsets[i]:offsets[i + 1]]`.
        table: Unit vectors of words, shape (words, dimension).
        lengths: What `lengths_of_sums` gives; computed where it is None.
    """

    def __init__(self, codes: Array, offsets: Array, table: Array, lengths: Array | None) -> None:
        self._codes = codes
        self._offsets = offsets
        self._table = table
        self._lengths = self._computed_lengths() if lengths is None else lengths
        self._places = np.flatnonzero(self._lengths)

    def cosines(self, vector: NDArray[np.float32]) -> Scored:
        """The cosine of each passage that has one with a query's vector of unit length."""
        products = self._table @ vector
        sums = np.zeros(len(self._lengths))
        for part, codes, starts in self._parts():
            filled = np.flatnonzero(np.diff(starts))
            if len(filled):
                each = np.take(products, codes)
                added = np.add.reduceat(each, starts[filled], dtype=np.float64)
                sums[part.start + filled] = added
        found = sums[self._places] / self._lengths[self._places]
        return Scored(self._places, found.astype(np.float32))

    def _parts(self) -> Iterator[tuple[slice, Array, Integers]]:
        """Passages some at a time: which they are, their words, and where those of each begin."""
        offsets, first = self._offsets, 0
        while first < len(offsets) - 1:
            last = int(np.searchsorted(offsets, offsets[first] + _TOGETHER, "right")) - 1
            last = max(last, first + 1)
            starts = offsets[first : last + 1]
            yield slice(first, last), self._codes[starts[0] : starts[-1]], starts - starts[0]
            first = last

    def _computed_lengths(self) -> Floats:
        """For indexes of earlier formats, which keep means instead of lengths."""
        found = [
            lengths_of_sums(codes, np.diff(starts), self._table)
            for _, codes, starts in self._parts()
        ]
        return np.concatenate(found)
