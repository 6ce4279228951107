"""Cosines of vectors with one byte a number, as both kinds of index keep citation vectors.

All citation vectors of an index have one length. So whole-number products rank passages as cosines
do, and a server needs no lengths, which take it most of the time. The vectors of encoders, and
citation vectors of older indexes, are as long as bytes allow, each by itself.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, Bytes, Floats, Singles
from allusion_es.language.citations.vectors import to_bytes

_TOGETHER = 1 << 18
"""Numbers that are turned into single precision at once: 1 MB, which stays in a processor's cache.
Reading bytes from memory once for all queries takes less time than multiplying them there."""

ALL = slice(None)
"""All passages."""

_LARGEST = 127

_DEVIATIONS = 5.5
"""Standard deviations of a vector's numbers that a byte holds. The largest of all numbers of the
Vulgate's 35,809 citation vectors is 5.4 from zero."""

MOST_LENGTH = 1 << 16
"""More than any common length."""

_LEAST_SCORE = 2.0**-25
"""A server's score of a negative product is no smaller; only a garbled answer has less."""


def common_length(dimension: int) -> int:
    """The length of the vectors that `unit_bytes` makes.

    Example:
        >>> common_length(256), common_length(4)
        (369, 127)
    """
    return int(_LARGEST * max(1.0, math.sqrt(dimension) / _DEVIATIONS))


def unit_bytes(vectors: Singles) -> Bytes:
    """Vectors as whole numbers from -127 to 127, all of one length but for rounding; same shape.

    A number that is too large becomes the largest; vectors of zeros stay so.

    Args:
        vectors: Of unit length or zeros, shape (n, dimension).

    Example:
        >>> unit_bytes(np.array([[0.6, -0.8], [0.0, 0.0]], dtype=np.float32)).tolist()
        [[76, -102], [0, 0]]
    """
    scaled = np.rint(vectors * np.float32(common_length(vectors.shape[1])))
    numbers: Bytes = np.clip(scaled, -_LARGEST, _LARGEST).astype(np.int8)
    return numbers


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


def server_products(scores: Floats) -> Floats:
    """The whole-number products from a server's scores of `max_inner_product`; same shape.

    A server gives `product + 1`, or `1 / (1 - product)` for a negative product. Products of vectors
    that `unit_bytes` and `byte_vector` made are small enough to be told exactly.

    Args:
        scores: Of single precision.

    Example:
        >>> server_products(np.array([8.0, 1.0, 0.25])).tolist()
        [7.0, 0.0, -3.0]
    """
    above, below = np.maximum(scores, 1.0) - 1, 1 - 1 / np.clip(scores, _LEAST_SCORE, 1.0)
    return np.rint(above + below)


def product_cosines(products: Floats | Singles, query: Bytes, length: float) -> Singles:
    """Cosines of a query with passages whose vectors have one length; same shape.

    Rounding makes a cosine wrong by some thousandths, so the largest may be just above 1.

    Args:
        products: Of the query and the passages.
        query: Its `byte_vector`.
        length: That of the passages' vectors.
    """
    divisor = math.sqrt(int((query.astype(np.int64) ** 2).sum())) * length
    return (products.astype(np.float64) / (divisor or 1.0)).astype(np.float32)


class ByteVectors:
    """The vectors of many passages.

    Args:
        rows: Shape (passages, dimension); zeros where a passage has none.
        length: The length of all of them, or 0 if each has its own.

    Attributes:
        places: The places of the passages that have a vector, ascending.

    Example:
        >>> vectors = ByteVectors(np.array([[127, 0], [0, 0], [90, 90]], dtype=np.int8))
        >>> vectors.places.tolist()
        [0, 2]
        >>> vectors.cosines(np.array([[1, 0]], dtype=np.float32)).round(4).tolist()
        [[1.0, 0.0, 0.707099974155426]]
    """

    def __init__(self, rows: Bytes, length: float = 0.0) -> None:
        self._rows = rows
        self._length = length
        self._step = max(1, _TOGETHER // max(rows.shape[1], 1))
        squares = np.zeros(len(rows), dtype=np.float32)
        for part, block in self._blocks(rows):
            np.einsum("ij,ij->i", block, block, out=squares[part])
        self._lengths = np.sqrt(squares.astype(np.float64))
        self.places = np.flatnonzero(self._lengths)

    def __len__(self) -> int:
        """How many passages there are."""
        return len(self._rows)

    def cosines(self, vectors: Singles, part: slice = ALL) -> Singles:
        """The cosine of each passage with each query, shape (queries, passages).

        Args:
            vectors: Shape (queries, dimension).
            part: Which passages; all by default.
        """
        queries = np.array([byte_vector(vector) for vector in vectors])
        products = self._products(queries, self._rows[part])
        if self._length:
            both = zip(products, queries, strict=True)
            found = [product_cosines(row, query, self._length) for row, query in both]
            return np.array(found)
        lengths = np.sqrt((queries.astype(np.float64) ** 2).sum(axis=1))
        divisors = lengths[:, None] * self._lengths[part]
        cosines = np.zeros(divisors.shape)
        np.divide(products, divisors, out=cosines, where=divisors > 0)
        return server_cosines(cosines)

    def _products(self, queries: Bytes, rows: Bytes) -> Array:
        """The product of each query with each row, whole numbers, shape (queries, rows)."""
        at_once = _products_of_bytes()
        if at_once is not None and len(rows):
            return at_once(queries, rows)
        columns = np.ascontiguousarray(queries.T, dtype=np.float32)
        products = np.empty((len(rows), len(queries)), dtype=np.float32)
        for part, block in self._blocks(rows):
            np.matmul(block, columns, out=products[part])
        return products.T

    def _blocks(self, rows: Bytes) -> Iterator[tuple[slice, Singles]]:
        """Rows in single precision, some at a time, and which they are.

        Single precision holds every sum of products of bytes exactly, in any order.
        """
        space = np.empty((min(self._step, len(rows)), rows.shape[1]), dtype=np.float32)
        for first in range(0, len(rows), self._step):
            some = rows[first : first + self._step]
            block = space[: len(some)]
            block[...] = some
            yield slice(first, first + len(some)), block


@cache
def _products_of_bytes() -> Callable[[Bytes, Bytes], Array] | None:
    """The function that multiplies matrices of bytes as such, or None where there is none.

    It comes with the extra `fast`, gives the same whole numbers, and takes a third of the time.
    """
    try:
        from simsimd import cdist
    except ImportError:
        return None
    return lambda one, other: np.asarray(cdist(one, other, "dot"))
