"""Searching the vectors of the passages of an index in this process."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, ArrayFile
from allusion_es.core.errors import UsageError
from allusion_es.retrieval.byte_vectors import ByteVectors
from allusion_es.retrieval.types import Field, SearchRequest

Scored = tuple[NDArray[np.float32], NDArray[np.int64]]
"""A cosine for each passage, and the places of those that have one."""


class LocalVectors:
    """Mean word vectors and citation vectors of all passages.

    Args:
        file: The saved index.
        load: Gives one of its arrays.
        name: The index's name, for messages.
        rebuild: How to build it again, for messages.
    """

    def __init__(
        self, file: ArrayFile, load: Callable[[str], Array], name: str, rebuild: str
    ) -> None:
        self._file = file
        self._load = load
        self._name = name
        self._rebuild = rebuild
        self._placed: dict[Field, NDArray[np.int64]] = {}

    def search(self, request: SearchRequest) -> Scored:
        """The cosines with a request of the kinds `knn` and `citations`.

        Raises:
            UsageError: The index has no such vectors.
        """
        return self._citations(request) if request.kind == "citations" else self._knn(request)

    def _knn(self, request: SearchRequest) -> Scored:
        field = request.field
        if f"{field}.mean_vectors" not in self._file or request.vector is None:
            raise UsageError(
                f"index {self._name!r} has no word vectors; {self._rebuild}, without --no-vectors"
            )
        vectors = self._load(f"{field}.mean_vectors")
        placed = self._placed.get(field)
        if placed is None:
            placed = self._placed[field] = np.flatnonzero(vectors.any(axis=1))
        return vectors @ request.vector, placed

    def _citations(self, request: SearchRequest) -> Scored:
        if "citation_vectors" not in self._file or request.vector is None:
            raise UsageError(
                f"index {self._name!r} has no citation vectors; {self._rebuild}, without "
                "--no-learned-links"
            )
        vectors = self._byte_vectors
        return vectors.cosines(request.vector), vectors.places

    @cached_property
    def _byte_vectors(self) -> ByteVectors:
        return ByteVectors(self._load("citation_vectors"))
