"""The protocol of word vectors, caches for them, and mean vectors of texts."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Integers
from allusion_es.core.caches import IdentityCache

Key = TypeVar("Key", bound=Hashable)

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


class RowCache(Generic[Key]):
    """A cache of the rows that belong to keys, such as words, in one growing table.

    Args:
        dimension: The length of a row.
        limit: The most rows to keep. When there would be more, all are dropped: that is simpler
            than dropping the oldest, and happens once in as many new keys.

    Example:
        >>> cache = RowCache(1, limit=10)
        >>> cache.rows(["a", "bb", "a"], lambda new: np.array([[len(key)] for key in new])).tolist()
        [[1.0], [2.0], [1.0]]
    """

    def __init__(self, dimension: int, limit: int) -> None:
        self._limit = limit
        self._places: dict[Key, int] = {}
        self._table = np.zeros((0, dimension), dtype=np.float32)

    def rows(
        self, keys: Sequence[Key], compute: Callable[[Sequence[Key]], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        """Return the rows of keys, shape (len(keys), dimension).

        Args:
            keys: The keys; repeated ones are allowed.
            compute: Returns the rows of distinct keys that are not in the cache.
        """
        known = self._places.get
        places = [known(key, -1) for key in keys]
        if -1 in places:
            missing = (key for key, place in zip(keys, places, strict=True) if place < 0)
            self._add(list(dict.fromkeys(missing)), keys, compute)
            places = [self._places[key] for key in keys]
        return self._table[places]

    def _add(
        self,
        new: Sequence[Key],
        keys: Sequence[Key],
        compute: Callable[[Sequence[Key]], NDArray[np.float32]],
    ) -> None:
        """Compute and keep the rows of new keys, or of all keys where the cache was full."""
        if len(self._places) + len(new) > self._limit:
            self._places.clear()
            new = list(dict.fromkeys(keys))
        first, size = len(self._places), len(self._places) + len(new)
        if size > len(self._table):
            grown = np.zeros((size + size // 2, self._table.shape[1]), dtype=np.float32)
            grown[:first] = self._table[:first]
            self._table = grown
        self._table[first:size] = compute(new)
        self._places.update(zip(new, range(first, size), strict=True))


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
        self._cache: RowCache[str] = RowCache(table.shape[1], limit)
        self.name = name
        self.dimension: int = table.shape[1]

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(words), dimension), as `WordVectors.vectors` does."""
        rows = self._rows.of(words)
        other = np.flatnonzero(rows < 0).tolist()
        if not other:
            return self._table[rows]
        missing = [words[number] for number in other]
        found = self._cache.rows(missing, lambda new: self._elsewhere().vectors(new))
        if len(other) == len(words):
            return found
        result = self._table[rows]
        result[other] = found
        return result


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
