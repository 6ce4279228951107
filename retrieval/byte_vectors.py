"""Cosines of vectors with one byte a number, as both kinds of index keep citation vectors."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Bytes, Singles
from allusion_es.language.citations.vectors import to_bytes

_TOGETHER = 1 << 18
"""Numbers that are turned into single precision at once: 1 MB, which stays in a processor's cache.
Reading bytes from memory once for all queries takes less time than multiplying them there."""


def byte_vector(vector: Singles) -> Bytes:
    """A query's vector as an index compares it, shape (dimension,).

    Example:
        >>> byte_vector(np.array([0.6, -0.8], dtype=np.float32)).tolist()
        [95, -127]
    """
    rows, _ = to_bytes(vector[None, :])
    row: Bytes = rows[0]
    return row


def server_cosines(cosines: NDArray[np.float64]) -> Singles:
    """Cosines rounded as a server rounds them, so that ties are the same; same shape.

    A server gives `(1 + cosine) / 2` in single precision.
    """
    scores = ((1 + cosines.astype(np.float32)) / 2).astype(np.float32)
    return np.asarray(2 * scores.astype(np.float64) - 1, dtype=np.float32)


class ByteVectors:
    """The vectors of many passages.

    Args:
        rows: Shape (passages, dimension); zeros where a passage has none.

    Attributes:
        places: The places of the passages that have a vector, ascending.

    Example:
        >>> vectors = ByteVectors(np.array([[127, 0], [0, 0], [90, 90]], dtype=np.int8))
        >>> vectors.places.tolist()
        [0, 2]
        >>> vectors.cosines(np.array([[1, 0]], dtype=np.float32)).round(4).tolist()
        [[1.0, 0.0, 0.707099974155426]]
    """

    def __init__(self, rows: Bytes) -> None:
        self._rows = rows
        self._step = max(1, _TOGETHER // max(rows.shape[1], 1))
        squares = np.zeros(len(rows), dtype=np.float32)
        for part, block in self._blocks():
            np.einsum("ij,ij->i", block, block, out=squares[part])
        self._lengths = np.sqrt(squares.astype(np.float64))
        self.places = np.flatnonzero(self._lengths)

    def cosines(self, vectors: Singles) -> Singles:
        """The cosine of each passage with each query, shape (queries, passages).

        Args:
            vectors: Shape (queries, dimension).
        """
        queries = np.array([byte_vector(vector) for vector in vectors]).astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", queries, queries).astype(np.float64))
        columns = np.ascontiguousarray(queries.T)
        products = np.empty((len(self._rows), len(queries)), dtype=np.float32)
        for part, block in self._blocks():
            np.matmul(block, columns, out=products[part])
        divisors = lengths[:, None] * self._lengths
        cosines = np.zeros(divisors.shape)
        np.divide(products.T, divisors, out=cosines, where=divisors > 0)
        return server_cosines(cosines)

    def _blocks(self) -> Iterator[tuple[slice, Singles]]:
        """The rows in single precision, some at a time, and which they are.

        Single precision holds every sum of products of bytes exactly, in any order.
        """
        space = np.empty((min(self._step, len(self._rows)), self._rows.shape[1]), dtype=np.float32)
        for first in range(0, len(self._rows), self._step):
            rows = self._rows[first : first + self._step]
            block = space[: len(rows)]
            block[...] = rows
            yield slice(first, first + len(rows)), block
