"""Posting lists, built from the words of passages on disk, for more than fits into memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from allusion_es.core.arrays import Array
from allusion_es.core.temporary_files import SpilledArray, TemporaryFiles

_TOGETHER = 1_000_000
"""Entries of a block: 50 MB while they are sorted."""

_MOST_SMALL = 1 << 16
"""Places of as many passages fit into two bytes."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The posting lists of n words.

    Attributes:
        offsets: Word i has the entries `offsets[i]:offsets[i + 1]`; shape (n + 1,).
        passages: Places of passages, ascending for each word, in as few bytes as hold them.
        values: The value of each entry, such as how often the passage has the word.
    """

    offsets: NDArray[np.int64]
    passages: SpilledArray
    values: SpilledArray


class PostingListBuilder:
    """Turns entries by passage into entries by word.

    Entries are gathered in blocks, each sorted by word and kept in a file, and merged range by
    range of words, so that memory holds no more than a block.

    Args:
        files: Where the blocks lie.
        words: How many words there are.
        kind: The type of the entries' values.
        together: Entries of a block, by default `_TOGETHER`.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with TemporaryFiles(Path(tempfile.gettempdir())) as files:
        ...     builder = PostingListBuilder(files, 3, np.int32)
        ...     builder.add(np.array([2, 1]), np.array([2, 0, 2]), np.array([1, 5, 1]))
        ...     found = builder.postings()
        ...     found.offsets.tolist(), found.passages.mapped().tolist()
        ([0, 1, 1, 3], [0, 0, 1])
    """

    def __init__(
        self, files: TemporaryFiles, words: int, kind: DTypeLike, together: int = 0
    ) -> None:
        self._files = files
        self._words = words
        self._kind = np.dtype(kind)
        self._together = together or _TOGETHER
        self._waiting: list[tuple[Array, Array, Array]] = []
        self._entries = 0
        self._first = self._passages = 0
        self._largest = 0
        self._starts = files.array(np.int64, words + 1)
        self._places = files.array(np.int32)
        self._values = files.array(kind)

    @property
    def largest(self) -> int:
        """The largest value so far."""
        return self._largest

    def add(self, lengths: Array, words: Array, values: Array) -> None:
        """Take the entries of the next passages.

        Args:
            lengths: How many entries each passage has, shape (n,).
            words: The word of each entry, no word twice in a passage, shape (entries,).
            values: Their values, shape (entries,).
        """
        self._waiting.append((lengths, words.astype(np.int32), values.astype(self._kind)))
        self._entries += len(words)
        self._passages += len(lengths)
        self._largest = max(self._largest, int(values.max(initial=0)))
        if self._entries >= self._together:
            self._sort()

    def postings(self, places: DTypeLike | None = None, kind: DTypeLike | None = None) -> Postings:
        """All entries by word; nothing can be added any more.

        Args:
            places: The type of the places; by default the smallest that holds them.
            kind: The type of the values, if it is to be another one.
        """
        self._sort()
        starts = self._starts.mapped()
        sizes = np.zeros(self._words, dtype=np.int64)
        for block in starts:
            sizes += np.diff(block)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        small = np.uint16 if self._passages <= _MOST_SMALL else np.int32
        passages, values = self._files.array(places or small), self._files.array(kind or self._kind)
        for first, end in self._ranges(offsets):
            found, merged = self._merged(starts, offsets, first, end)
            passages.append(found)
            values.append(merged)
        return Postings(offsets, passages, values)

    def _sort(self) -> None:
        """Sort the waiting entries by word and write them as a block."""
        if not self._waiting:
            return
        from scipy.sparse import csr_array  # takes long to import

        # From rows of passages to columns of words is the sorting, in one fast step.
        lengths, words, values = (np.concatenate(each) for each in zip(*self._waiting, strict=True))
        ends = np.concatenate(([0], np.cumsum(lengths)))
        shape = (len(lengths), self._words)
        block = csr_array((values, words, ends), shape=shape).tocsc()
        self._starts.append(block.indptr[None, :].astype(np.int64) + len(self._places))
        self._places.append(block.indices + self._first)
        self._values.append(block.data)
        self._first = self._passages
        self._waiting, self._entries = [], 0

    def _ranges(self, offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """First and end of ranges of words that have no more entries than a block, or are one."""
        first = 0
        while first < self._words:
            most = int(offsets[first]) + self._together
            end = max(first + 1, int(np.searchsorted(offsets, most, "right")) - 1)
            yield first, min(end, self._words)
            first = end

    def _merged(
        self, starts: Array, offsets: NDArray[np.int64], first: int, end: int
    ) -> tuple[Array, Array]:
        """Passages and values of the words from `first` to `end`, exclusive."""
        size = int(offsets[end] - offsets[first])
        places, values = np.empty(size, np.int32), np.empty(size, self._kind)
        free = offsets[first:end] - offsets[first]
        for block in starts:
            part = block[first : end + 1]
            sizes = np.diff(part)
            here, there = int(part[0]), int(part[-1])
            at = np.arange(there - here) + np.repeat(free - (part[:-1] - here), sizes)
            places[at] = self._places.read(here, there)
            values[at] = self._values.read(here, there)
            free = free + sizes
        return places, values
