"""The protocol of word vectors, caches for them, and mean vectors of texts."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Integers
from allusion_es.core.caches import IdentityCache

_REMEMBERED = 4  # tuples of words: a query's tokens and lemmas, and its candidates'


class WordNumbers(dict[str, int]):
    """A dictionary of distinct words and their positions, fast for tuples that are asked for again.

    Rerankers ask again and again for the same thousands of words. The positions of the last
    few tuples are cached by the identity of the tuple, so that words are not looked up one by one.

    Args:
        words: The words, each once.

    Example:
        >>> WordNumbers(["deus", "lux"]).of(("lux", "nox"))
        array([ 1, -1])
    """

    def __init__(self, words: Iterable[str]) -> None:
        super().__init__((word, number) for number, word in enumerate(words))
        self._latest: IdentityCache[Integers] = IdentityCache(_REMEMBERED)

    def of(self, words: Sequence[str]) -> Integers:
        """Return the position of each word, -1 if it is missing; shape (len(words),)."""
        if not isinstance(words, tuple):
            return self._looked_up(words)
        return self._latest.get(lambda: self._looked_up(words), words)

    def remember(self, words: tuple[str, ...], numbers: Integers) -> None:
        """Cache the positions of words that are about to be asked for."""
        self._latest.get(lambda: numbers, words)

    def _looked_up(self, words: Sequence[str]) -> Integers:
        number = self.get
        return np.array([number(word, -1) for word in words], dtype=np.int64)


class WordVectors(Protocol):
    """A source of word vectors; words are spelled as analysis does (u for v, i for j)."""

    @property
    def name(self) -> str:
        """The name of the vectors and their version; indexes record it."""
        ...

    @property
    def dimension(self) -> int:
        """The length of each vector."""
        ...

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of unit length, shape (len(words), dimension), all values finite.

        A word without a vector gets a row of zeros.
        """
        ...


class KnownVectors:
    """Word vectors from a table for known words, and from another source for all others.

    Vectors of the other source are cached, up to a limit, since later queries are likely to have
    the same words.

    Args:
        rows: For each known word its row in `table`.
        table: Unit vectors, shape (rows, dimension).
        elsewhere: Returns the other source; called when it is first needed, since opening it may
            take seconds.
        name: The name of the vectors and their version.
        limit: The most vectors of the other source to cache.
    """

    def __init__(
        self,
        rows: WordNumbers,
        table: NDArray[np.float32],
        elsewhere: Callable[[], WordVectors],
        name: str,
        limit: int = 100_000,
    ) -> None:
        self._rows = rows
        self._table = table
        self._elsewhere = elsewhere
        self._limit = limit
        self._kept_rows: dict[str, int] = {}
        self._kept = np.zeros((0, table.shape[1]), dtype=np.float32)
        self.name = name
        self.dimension: int = table.shape[1]

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(words), dimension), as `WordVectors.vectors` does."""
        rows = self._rows.of(words)
        other = np.flatnonzero(rows < 0).tolist()
        if not other:
            return self._table[rows]
        found = self._from_elsewhere([words[number] for number in other])
        if len(other) == len(words):
            return found
        result = self._table[rows]
        result[other] = found
        return result

    def _from_elsewhere(self, words: Sequence[str]) -> NDArray[np.float32]:
        new = sorted(word for word in set(words) if word not in self._kept_rows)
        if len(self._kept_rows) + len(new) > self._limit:
            # Dropping all is simpler than dropping the oldest, and happens once in 100,000 words.
            self._kept_rows.clear()
            new = sorted(set(words))
        if new:
            first, size = len(self._kept_rows), len(self._kept_rows) + len(new)
            if size > len(self._kept):
                grown = np.zeros((2 * size, self.dimension), dtype=np.float32)
                grown[:first] = self._kept[:first]
                self._kept = grown
            self._kept[first:size] = self._elsewhere().vectors(new)
            self._kept_rows.update(zip(new, range(first, size), strict=True))
        return self._kept[[self._kept_rows[word] for word in words]]


class NoVectors:
    """Word vectors in which no word is known: all are zeros."""

    def __init__(self, name: str, dimension: int) -> None:
        self.name = name
        self.dimension = dimension

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return zeros, shape (len(words), dimension)."""
        return np.zeros((len(words), self.dimension), dtype=np.float32)


def kept_vectors(vectors: WordVectors) -> KnownVectors:
    """Return word vectors with a cache, for a source that is slow."""
    none = np.zeros((0, vectors.dimension), dtype=np.float32)
    return KnownVectors(WordNumbers(()), none, lambda: vectors, vectors.name)


def mean_vector(words: Sequence[str], vectors: WordVectors) -> NDArray[np.float32]:
    """Return the mean of the words' unit vectors, scaled to unit length; shape (dimension,).

    This is the paper's BOW_emb (section 5.2). Repeated words count as often as they occur;
    the result is all zeros where no word has a vector.
    """
    mean: NDArray[np.float32] = mean_vectors([words], vectors)[0]
    return mean


def mean_vectors(texts: Sequence[Sequence[str]], vectors: WordVectors) -> NDArray[np.float32]:
    """Return `mean_vector` of each text, shape (len(texts), dimension)."""
    words = sorted({word for text in texts for word in text})
    rows = {word: row for row, word in enumerate(words)}
    table = vectors.vectors(words)
    means = np.zeros((len(texts), vectors.dimension), dtype=np.float32)
    for number, text in enumerate(texts):
        if text:
            total = table[[rows[word] for word in text]].sum(axis=0, dtype=np.float64)
            length = float(np.linalg.norm(total))
            if length > 0:
                means[number] = total / length
    return means
