"""The words of many texts as numbers, so that rerankers can work on arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class CodedTexts:
    """The words of n texts, each distinct word once.

    Attributes:
        words: The distinct words.
        codes: All words of all texts in order, as positions in `words`, shape (total,).
        offsets: Text i is `codes[offsets[i]:offsets[i + 1]]`; shape (n + 1,).
    """

    words: tuple[str, ...]
    codes: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        """The number of texts."""
        return len(self.offsets) - 1

    def text(self, number: int) -> tuple[str, ...]:
        """The words of one text, in order."""
        codes = self.codes[self.offsets[number] : self.offsets[number + 1]]
        return tuple(self.words[code] for code in codes)

    def take(self, numbers: Sequence[int]) -> "CodedTexts":
        """Some of the texts, in the order of `numbers`."""
        return code_texts([self.text(number) for number in numbers])

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    def find(self, searched: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct words `searched` that occur: their numbers there, and places in `words`."""
        places = self._places
        pairs = [(number, places[word]) for number, word in enumerate(searched) if word in places]
        both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The text of each word in `codes`."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The entries of `counts` by word, and where those of each begin, shape (words + 1,)."""
        return _by_code(self.counts.codes, len(self.words))

    def entries_of(self, searched: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The entries of `counts` for the distinct words `searched`, ascending.

        Returns:
            For each entry the number of its word in `searched`, and its place in `counts`.

        Example:
            >>> code_texts([("deus", "dixit"), ("dixit", "deus", "deus")]).entries_of(["dixit"])
            (array([0, 0]), array([1, 3]))
        """
        return self._places_of(searched, self.counts.codes, *self.entries)

    def occurrences_of(
        self, searched: Sequence[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The occurrences of the distinct words `searched`, ascending.

        Returns:
            For each occurrence the number of its word in `searched`, and its place in `codes`.
        """
        return self._places_of(searched, self.codes, *self._occurrences)

    def _places_of(
        self,
        searched: Sequence[str],
        codes: NDArray[np.int64],
        order: NDArray[np.int64],
        starts: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places in `codes` of some words, ascending, and for each the number of its word."""
        numbers, found = self.find(searched)
        # Marking them takes less time than sorting.
        is_found = np.zeros(len(codes), dtype=bool)
        for code in found.tolist():
            is_found[order[starts[code] : starts[code + 1]]] = True
        places = np.flatnonzero(is_found)
        number_of = np.zeros(len(self.words), dtype=np.int64)
        number_of[found] = numbers
        return number_of[codes[places]], places

    @cached_property
    def _occurrences(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places in `codes` by word, and where those of each begin, shape (words + 1,)."""
        return _by_code(self.codes, len(self.words))

    @cached_property
    def counts(self) -> "WordCounts":
        """The frequency of each word in each text; counted once."""
        size = max(len(self.words), 1)
        keys, counts = np.unique(self.owners * size + self.codes, return_counts=True)
        return WordCounts(keys // size, keys % size, counts.astype(np.float64), len(self))


def _by_code(codes: NDArray[np.int64], words: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts = np.cumsum(np.bincount(codes, minlength=words))
    return np.argsort(codes, kind="stable"), np.concatenate(([0], starts))


@dataclass(frozen=True)
class WordCounts:
    """Counts of words in n texts: one entry a text and distinct word, ordered by text.

    Attributes:
        texts: Which text, shape (entries,).
        codes: Which word, shape (entries,).
        counts: How often it occurs there, at least 1, shape (entries,).
        size: n, the number of texts.
    """

    texts: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.float64]
    size: int

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of `values` (one an entry) for each text, shape (size,)."""
        sums = np.bincount(self.texts, weights=values, minlength=self.size)
        return sums.astype(np.float64, copy=False)

    def matrix(self, values: NDArray[np.float64], words: int) -> "csr_array":
        """`values` (one an entry) as a sparse matrix, shape (size, words)."""
        # Imported here, since it takes longer than to compare a few words.
        from scipy.sparse import csr_array

        return csr_array((values, self.codes, self._starts), shape=(self.size, words))

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where the entries of each text begin, and where the last one's end, shape (size + 1,)."""
        return np.searchsorted(self.texts, np.arange(self.size + 1))


def code_texts(texts: Sequence[Sequence[str]]) -> CodedTexts:
    """The coded form of `texts`.

    Example:
        >>> coded = code_texts([("deus", "dixit", "deus"), (), ("dixit",)])
        >>> coded.words, coded.codes.tolist(), coded.offsets.tolist()
        (('deus', 'dixit'), [0, 1, 0, 1], [0, 3, 3, 4])
    """
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(word, len(numbers)) for text in texts for word in text]
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return CodedTexts(tuple(numbers), np.array(codes, dtype=np.int64), offsets)
