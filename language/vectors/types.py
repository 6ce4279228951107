"""Word vectors: what every source of them offers."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Integers
from allusion_es.core.caches import IdentityCache

# Numbers of words, with a memory for many words that are asked for together.


_REMEMBERED = 4


class WordNumbers(dict[str, int]):
    """The place of each of some distinct words.

    Rerankers ask again and again for the same thousands of words; whole tuples of them are
    remembered, the last few, and not looked up word by word.

    Args:
        words: Each once.

    Example:
        >>> WordNumbers(["deus", "lux"]).of(("lux", "nox"))
        array([ 1, -1])
    """

    def __init__(self, words: Iterable[str]) -> None:
        super().__init__((word, number) for number, word in enumerate(words))
        self._latest: IdentityCache[Integers] = IdentityCache(_REMEMBERED)

    def of(self, words: Sequence[str]) -> Integers:
        """The place of each, -1 for those that are not there; shape (len(words),)."""
        if not isinstance(words, tuple):
            return self._looked_up(words)
        return self._latest.get(lambda: self._looked_up(words), words)

    def remember(self, words: tuple[str, ...], numbers: Integers) -> None:
        """Keep what `of` would give for words that will be asked for."""
        self._latest.get(lambda: numbers, words)

    def _looked_up(self, words: Sequence[str]) -> Integers:
        number = self.get
        return np.array([number(word, -1) for word in words], dtype=np.int64)


class WordVectors(Protocol):
    """Gives each word a vector; words come as analysis spells them (u for v, i for j)."""

    @property
    def name(self) -> str:
        """Names the vectors and their version; indexes record it."""
        ...

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        ...

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of unit length, shape (len(words), dimension).

        A word that has no vector gets a row of zeros. All values are finite.
        """
        ...


class KnownVectors:
    """Vectors that are at hand for some words, and from elsewhere for all others.

    Vectors from elsewhere are kept, up to a limit, since a later query is likely to meet the
    same words.

    Args:
        rows: For each known word its row in `table`.
        table: Unit vectors, shape (rows, dimension).
        elsewhere: Where the vectors of other words come from; called when first needed.
        name: Names the vectors and their version.
        limit: How many vectors from elsewhere to keep.
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
        """See `WordVectors.vectors`."""
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
    """Word vectors of no word at all."""

    def __init__(self, name: str, dimension: int) -> None:
        self.name = name
        self.dimension = dimension

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Zeros, shape (len(words), dimension)."""
        return np.zeros((len(words), self.dimension), dtype=np.float32)


def kept_vectors(vectors: WordVectors) -> KnownVectors:
    """`vectors` with a memory, for sources that are slow to ask."""
    none = np.zeros((0, vectors.dimension), dtype=np.float32)
    return KnownVectors(WordNumbers(()), none, lambda: vectors, vectors.name)


def mean_vector(words: Sequence[str], vectors: WordVectors) -> NDArray[np.float32]:
    """The unit-length mean of the words' unit vectors, shape (dimension,).

    This is the paper's BOW_emb (section 5.2). Repeated words count as often as they occur;
    the result is all zeros where no word has a vector.
    """
    mean: NDArray[np.float32] = mean_vectors([words], vectors)[0]
    return mean


def mean_vectors(texts: Sequence[Sequence[str]], vectors: WordVectors) -> NDArray[np.float32]:
    """`mean_vector` of each text, shape (len(texts), dimension)."""
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
