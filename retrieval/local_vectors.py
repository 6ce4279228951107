"""Searching the vectors of the passages of an index in this process."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array
from allusion_es.retrieval.byte_vectors import ByteVectors
from allusion_es.retrieval.types import Field, SearchRequest

Scored = tuple[NDArray[np.float32], NDArray[np.int64]]
"""A cosine for each passage, and the places of those that have one."""


class LocalVectors:
    """Mean word vectors and citation vectors of all passages.

    Args:
        load: Gives an array of the saved index.
    """

    def __init__(self, load: Callable[[str], Array]) -> None:
        self._load = load
        self._placed: dict[Field, NDArray[np.int64]] = {}

    def search(self, request: SearchRequest) -> Scored:
        """The cosines with a request of the kinds `knn` and `citations`."""
        vector = request.vector
        if vector is None:
            return np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.int64)
        if request.kind == "citations":
            return self._byte_vectors.cosines(vector), self._byte_vectors.places
        return self._knn(vector, request.field)

    def _knn(self, vector: NDArray[np.float32], field: Field) -> Scored:
        vectors = self._load(f"{field}.mean_vectors")
        placed = self._placed.get(field)
        if placed is None:
            placed = self._placed[field] = np.flatnonzero(vectors.any(axis=1))
        return vectors @ vector, placed

    @cached_property
    def _byte_vectors(self) -> ByteVectors:
        return ByteVectors(self._load("citation_vectors"))
