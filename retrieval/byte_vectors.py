"""Cosines of vectors with one byte a number, as both kinds of index keep citation vectors."""

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Bytes, Singles
from allusion_es.language.citations.vectors import to_bytes

_FEW = 3
"""Up to so many queries, comparing one after the other is faster; sums are exact either way."""


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
        # Single precision holds every sum of products of bytes exactly, and is far faster.
        self._rows: Singles = rows.astype(np.float32)
        squares = np.einsum("ij,ij->i", self._rows, self._rows)
        self._lengths = np.sqrt(squares.astype(np.float64))
        self.places = np.flatnonzero(self._lengths)

    def cosines(self, vectors: Singles) -> Singles:
        """The cosine of each passage with each query, shape (queries, passages).

        Args:
            vectors: Shape (queries, dimension).
        """
        queries = np.array([byte_vector(vector) for vector in vectors]).astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", queries, queries).astype(np.float64))
        if len(queries) <= _FEW:
            products = np.stack([self._rows @ query for query in queries]).astype(np.float64)
        else:
            products = (queries @ self._rows.T).astype(np.float64)
        divisors = lengths[:, None] * self._lengths
        cosines = np.divide(products, divisors, out=np.zeros_like(products), where=divisors > 0)
        return server_cosines(cosines)
