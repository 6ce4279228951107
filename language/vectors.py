"""Word vectors: what every source of them offers."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


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


def mean_vector(words: Sequence[str], vectors: WordVectors) -> NDArray[np.float32]:
    """The unit-length mean of the words' unit vectors, shape (dimension,).

    This is the paper's BOW_emb (section 5.2). Repeated words count as often as they occur;
    the result is all zeros where no word has a vector.
    """
    return mean_vectors([words], vectors)[0]


def mean_vectors(
    texts: Sequence[Sequence[str]], vectors: WordVectors
) -> NDArray[np.float32]:
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
