"""Searching the vectors of the passages of an index in this process."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array
from allusion_es.retrieval.byte_vectors import ByteVectors
from allusion_es.retrieval.types import Field, SearchRequest

Scored = tuple[NDArray[np.float32], NDArray[np.int64]]
"""A cosine for each passage, and the places of those that have one."""


BY_VECTOR = ("knn", "citations")
"""Kinds of search that compare vectors."""

_TOGETHER = 16
"""Requests that are compared at once: one product of matrices, and 2 MB for 36,000 passages."""


class LocalVectors:
    """Mean word vectors and citation vectors of all passages.

    Args:
        load: Gives an array of the saved index.
    """

    def __init__(self, load: Callable[[str], Array]) -> None:
        self._load = load
        self._placed: dict[Field, NDArray[np.int64]] = {}

    def search(self, requests: Sequence[SearchRequest]) -> Iterator[Scored]:
        """The cosines with each request of the kinds `knn` and `citations`, in their order."""
        remaining = iter(requests)
        while batch := list(islice(remaining, _TOGETHER)):
            vectors = [each.direction for each in batch]
            of_citations = [
                vector
                for request, vector in zip(batch, vectors, strict=True)
                if request.kind == "citations" and vector is not None
            ]
            found = iter(self._byte_vectors.cosines(np.array(of_citations)) if of_citations else ())
            for request, vector in zip(batch, vectors, strict=True):
                if vector is None:
                    yield np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.int64)
                elif request.kind == "citations":
                    yield next(found), self._byte_vectors.places
                else:
                    yield self._knn(vector, request.field)

    def _knn(self, vector: NDArray[np.float32], field: Field) -> Scored:
        vectors = self._load(f"{field}.mean_vectors")
        placed = self._placed.get(field)
        if placed is None:
            placed = self._placed[field] = np.flatnonzero(vectors.any(axis=1))
        return vectors @ vector, placed

    @cached_property
    def _byte_vectors(self) -> ByteVectors:
        return ByteVectors(self._load("citation_vectors"))
