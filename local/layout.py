"""What the arrays of an index in this process must be like; a file may come from anyone."""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from allusion_es.core.arrays import Array, ArrayFile, CheckedArrays
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.types import FIELDS

_MOST_PASSAGES = 1 << 31
_MOST_COUNT = 1 << 31
_UNIT = 1.01
"""Vectors of unit length have no larger number, roundings included."""

_FINITE_BITS = 0x7F800000 >> 15
"""Expansion weights below this are finite: see `expansion.weight_bits`."""

_LEAST_NORM = 1e-12
"""A smaller norm would make scores infinite; norms of real passages are far larger."""


class LocalLayout:
    """Gives the arrays of a saved index, each checked when it is first asked for.

    Args:
        file: The saved index.
        facets: The properties of passages that searches can be restricted by.

    Attributes:
        settings: How it was built.
        passages: How many passages it holds.
        facets: The values of each property.

    Raises:
        IndexDamagedError: The header is not that of an index. Every method raises it, too.
    """

    def __init__(self, file: ArrayFile, facets: tuple[str, ...]) -> None:
        self._checked = CheckedArrays(file)
        self._arrays: dict[str, Array] = {}
        told = self._checked.told
        self.settings: IndexSettings = told(lambda meta: IndexSettings.from_json(meta["settings"]))
        self.passages: int = told(_passages)
        self.facets: dict[str, list[str]] = told(lambda meta: _facets(meta, facets))

    def load(self, name: str) -> Array:
        """The array of that name."""
        array = self._arrays.get(name)
        if array is None:
            array = self._arrays[name] = self._read(name)
        return array

    @cached_property
    def words(self) -> list[str]:
        """All words that occur as token or lemma, sorted."""
        return self._checked.lines("words")

    @cached_property
    def ids(self) -> list[str]:
        """The ids of all passages, in the order of the collection."""
        ids = self._checked.lines("ids", self.passages)
        if not "".join(ids).isprintable():
            raise self._checked.file.damaged("ids is not what it must be")
        return ids

    @cached_property
    def expansion_words(self) -> list[str]:
        """All words that expansions have, sorted."""
        return self._checked.lines("expansion.words")

    def _read(self, name: str) -> Array:
        head, _, part = name.partition(".")
        if head in FIELDS:
            return self._field(name, part)
        if head == "facet":
            return self._checked.integers(name, (self.passages,), len(self.facets[part]))
        if head == "ngram":
            return self._grams(name)
        if head == "expansion":
            return self._expansion(name)
        return self._other(name)

    def _other(self, name: str) -> Array:
        checked, passages = self._checked, self.passages
        if name == "parallels.passages":
            return checked.integers(name, (None,), passages)
        if name == "parallels.groups":
            return checked.integers(name, self.load("parallels.passages").shape, passages)
        if name == "id_order":
            return checked.integers(name, (passages,), passages)
        if name == "offsets":
            return checked.offsets(name, passages, checked.file.length("token.codes"))
        if name == "record_offsets":
            return checked.offsets(name, passages, len(self.load("records")))
        if name == "word_vectors":
            return checked.floats(name, (len(self.words), None), _UNIT)
        if name == "citation_vectors":
            return checked.integers(name, (passages, None), 128, least=-128)
        return checked.integers(name, (None,), 256)

    def _field(self, name: str, part: str) -> Array:
        checked, words = self._checked, len(self.words)
        field = name.partition(".")[0]
        if part == "codes":
            return checked.integers(name, (int(self.load("offsets")[-1]),), words)
        if part == "cf":
            return checked.integers(name, (words,), _MOST_COUNT)
        if part == "norms":
            norms = checked.floats(name, (self.passages,), math.sqrt(_MOST_COUNT) ** 3, least=0)
            if ((norms > 0) & (norms < _LEAST_NORM)).any():
                raise checked.file.damaged(f"{name} is not what it must be")
            return norms
        if part == "mean_vectors":
            return checked.floats(name, (self.passages, None), _UNIT)
        postings = checked.file.length(f"{field}.posting_passages")
        if part == "posting_offsets":
            return checked.offsets(name, words, postings)
        if part == "posting_counts":
            return checked.floats(name, (postings,), _MOST_COUNT, least=0)
        return checked.integers(name, (postings,), self.passages)

    def _grams(self, name: str) -> Array:
        checked = self._checked
        if name == "ngram.keys":
            return checked.integers(name, (None,))
        if name == "ngram.lengths":
            return checked.integers(name, (self.passages,), _MOST_COUNT)
        postings = checked.file.length("ngram.posting_passages")
        if name == "ngram.posting_offsets":
            return checked.offsets(name, len(self.load("ngram.keys")), postings)
        if name == "ngram.posting_counts":
            return checked.integers(name, (postings,), _MOST_COUNT)
        return checked.integers(name, (postings,), self.passages)

    def _expansion(self, name: str) -> Array:
        checked = self._checked
        if name == "expansion.words":
            return checked.integers(name, (None,), 256)
        postings = checked.file.length("expansion.posting_passages")
        if name == "expansion.posting_offsets":
            return checked.offsets(name, len(self.expansion_words), postings)
        if name == "expansion.weights":
            return checked.integers(name, (postings,), _FINITE_BITS)
        return checked.integers(name, (postings,), self.passages)


def _passages(meta: Mapping[str, Any]) -> int:
    passages = meta["passages"]
    if type(passages) is not int or not 0 < passages < _MOST_PASSAGES:
        raise ValueError("passages")
    return passages


def _facets(meta: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, list[str]]:
    facets = {name: list(meta["facets"][name]) for name in names}
    if not all(isinstance(value, str) for values in facets.values() for value in values):
        raise TypeError("facets")
    "".join(value for values in facets.values() for value in values).encode()
    return facets
