"""The file of an index in this process: its header, its passages, and its arrays, all checked.

A file may come from anyone, so nothing in it is trusted. Checksums tell accidents; the checks
here also refuse a file that was made to do harm, before anything is computed from it.
"""

import json
import math
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from allusion_es.core.arrays import Array, ArrayFile, CheckedArrays
from allusion_es.core.errors import IndexDamagedError, IndexMissingError
from allusion_es.corpora.passage import Passage
from allusion_es.local.best_sums import BLOCK
from allusion_es.local.mean_vectors import LEAST_LENGTH
from allusion_es.retrieval.byte_vectors import MOST_LENGTH
from allusion_es.retrieval.index import IndexSettings

FORMAT = 5
"""Raised whenever the saved index changes in a way that older programs cannot read."""

READABLE = (1, 2, 3, 4, FORMAT)
"""Formats that this program reads; 1 has no citation vectors, 2 no n-grams and parallels, 3 no
encoder vectors; before 5 each citation vector has a length of its own, and means of word vectors
are kept instead of the lengths of their sums."""

ENCODER_VECTORS = "encoder_vectors"
"""The array of the passages' encoder vectors."""

VECTOR_LENGTHS = "vector_lengths"
"""The array of a field with `mean_vectors.lengths_of_sums` of all passages."""

FACETS = ("book", "testament", "work", "author")
"""The properties of passages that searches can be restricted by."""

_LATER_FACETS = frozenset({"author"})
"""Those that older indexes of a readable format lack; their passages have none."""

_RECORD = [str, str, str, str, int, int, int, str, str, str]
"""The types of the values of a record, in the order in which `encode_record` writes them; older
indexes lack the last."""

_MOST_PASSAGES = 1 << 31
"""Places of passages are kept in four bytes, with a sign."""

_MOST_COUNT = 1 << 31
"""More than any word occurs; above it, sums of counts could overflow."""

_UNIT = 1.01
"""Vectors of unit length have no larger number, roundings included."""

_FINITE_BITS = 0x7F800000 >> 15
"""Expansion weights below this are finite, see `expansion.weight_bits`: above it the bits of a
number in single precision mean infinity or NaN."""

_CHECKED_TOGETHER = 1 << 22
"""Numbers whose order is looked at at once, which bounds the memory for it."""

_LEAST_NORM = 1e-12
"""A smaller norm would make scores infinite; norms of real passages are far larger."""


def encode_record(passage: Passage) -> bytes:
    """All of a passage but its words, for `decode_record`."""
    return json.dumps(
        [
            passage.id,
            passage.text,
            passage.work,
            passage.book,
            passage.chapter,
            passage.verse,
            passage.order,
            passage.testament,
            passage.reference,
            passage.author,
        ],
        ensure_ascii=False,
    ).encode()


def decode_record(record: bytes) -> Passage:
    """The passage that `encode_record` wrote.

    Raises:
        ValueError, TypeError: It is something else.
    """
    values = json.loads(record)
    # Not isinstance: True is an int too.
    if [type(value) for value in values] not in (_RECORD, _RECORD[:-1]):
        raise TypeError("record")
    # JSON can hold a lone surrogate, which nothing could print; encoding it raises.
    "".join(value for value in values if isinstance(value, str)).encode()
    passage = Passage(*values[:9])
    return replace(passage, author=values[9]) if len(values) > 9 else passage


class _Header(Struct):
    """The header of a saved index, without the settings."""

    passages: Annotated[int, Meta(gt=0, lt=_MOST_PASSAGES)]
    facets: dict[str, list[str]]
    citation_length: Annotated[int, Meta(ge=0, lt=MOST_LENGTH)] = 0


class SavedIndex:
    """A saved index: gives each of its arrays, checked when it is first asked for.

    Args:
        path: The file.

    Attributes:
        name: The index's name.
        file: The file's arrays, unchecked but for their checksums.
        settings: How the index was built.
        passages: How many passages it holds.
        facets: The values of each property in `FACETS`.
        citation_length: The length of all citation vectors; 0 in older indexes, where each has its
            own.

    Raises:
        IndexMissingError: There is no such file.
        IndexDamagedError: It is damaged, or of another format; the message says how to rebuild.
            Every method and property raises it, too.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        rebuild = f"rebuild it with 'allusion-es index … --name {self.name}'"
        try:
            self.file = ArrayFile(path, rebuild)
        except FileNotFoundError as error:
            raise IndexMissingError(
                f"there is no index {self.name!r} ({path}); build it with 'allusion-es index'"
            ) from error
        except OSError as error:
            raise IndexDamagedError(
                f"{path}: cannot be read ({error.strerror or error}); {rebuild}"
            ) from error
        found = self.file.meta.get("format")
        if found not in READABLE:
            raise IndexDamagedError(
                f"{path}: index format {found!r:.40} instead of {FORMAT}; {rebuild}"
            )
        self._checked = CheckedArrays(self.file)
        self._arrays: dict[str, Array] = {}
        self.settings: IndexSettings = self._checked.read_header(
            lambda meta: IndexSettings.from_json(meta["settings"])
        )
        header = self._checked.header(_Header)
        self.passages, self.facets = header.passages, header.facets
        self.citation_length = header.citation_length
        if not self.facets.keys() >= set(FACETS) - _LATER_FACETS:
            raise self.file.damaged("its header lacks a property of passages")

    def __contains__(self, name: str) -> bool:
        """Whether there is an array of that name."""
        return name in self.file

    def load(self, name: str) -> Array:
        """The array of that name."""
        array = self._arrays.get(name)
        if array is None:
            array = self._arrays[name] = self._read(name)
        return array

    def find(self, name: str) -> Array | None:
        """The array of that name, or None where there is none."""
        return self.load(name) if name in self else None

    @cached_property
    def words(self) -> list[str]:
        """All words that occur as token or lemma, sorted."""
        return self._checked.lines("words")

    @cached_property
    def ids(self) -> list[str]:
        """The ids of all passages, in the order of the collection."""
        ids = self._checked.lines("ids", self.passages)
        if not "".join(ids).isprintable():
            raise self.file.damaged("ids is not what it must be")
        return ids

    @cached_property
    def expansion_words(self) -> list[str]:
        """All words that expansions have, sorted."""
        return self._checked.lines("expansion.words")

    def _read(self, name: str) -> Array:
        """The array of that name, if its type, its shape and its numbers are what they must be."""
        checked, passages = self._checked, self.passages
        match name.split("."):
            # Posting lists: row i has the passages of word (or n-gram) i, and its frequencies.
            case [kind, "posting_offsets"]:
                postings = checked.file.length(f"{kind}.posting_passages")
                return checked.offsets(name, self._rows(kind), postings)
            case [kind, "posting_passages"]:
                array = checked.integers(name, (None,), passages)
                # Lists of small collections are never cut, and may be read in any order.
                if passages > BLOCK and not _ascend(array, self.load(f"{kind}.posting_offsets")):
                    raise checked.file.damaged(f"{name} is not what it must be")
                return array
            case ["ngram", "posting_counts"]:
                postings = checked.file.length("ngram.posting_passages")
                return checked.integers(name, (postings,), _MOST_COUNT)
            case [field, "posting_counts"]:
                postings = checked.file.length(f"{field}.posting_passages")
                return checked.floats(name, (postings,), _MOST_COUNT, least=0)
            case ["expansion", "weights"]:
                postings = checked.file.length("expansion.posting_passages")
                return checked.integers(name, (postings,), _FINITE_BITS)
            # The words of passages, in order: passage i has offsets[i]:offsets[i + 1].
            case ["offsets"]:
                return checked.offsets(name, passages, checked.file.length("token.codes"))
            case [_, "codes"]:
                return checked.integers(name, (int(self.load("offsets")[-1]),), len(self.words))
            case [_, "cf"]:
                return checked.integers(name, (len(self.words),), _MOST_COUNT)
            case [_, "norms"]:
                return self._divisors(name, math.sqrt(_MOST_COUNT) ** 3, _LEAST_NORM)
            case ["ngram", "keys"]:
                return checked.integers(name, (None,))
            case ["ngram", "lengths"]:
                return checked.integers(name, (passages,), _MOST_COUNT)
            case ["word_vectors"]:
                return checked.floats(name, (len(self.words), None), _UNIT)
            case [_, each] if each == VECTOR_LENGTHS:
                return self._divisors(name, _MOST_COUNT, LEAST_LENGTH)
            case ["citation_vectors"]:
                return checked.integers(name, (passages, None), 128, least=-128)
            case [each] if each == ENCODER_VECTORS:
                encoder = self.settings.encoder
                shape = (passages, encoder.dimension if encoder else 0)
                if encoder and encoder.store == "float16":
                    return checked.floats(name, shape, _UNIT)
                return checked.integers(name, shape, 128, least=-128)
            case ["parallels", "passages"]:
                return checked.integers(name, (None,), passages)
            case ["parallels", "groups"]:
                return checked.integers(name, self.load("parallels.passages").shape, passages)
            case ["id_order"]:
                return checked.integers(name, (passages,), passages)
            case ["facet", facet]:
                return checked.integers(name, (passages,), len(self.facets[facet]))
            case ["record_offsets"]:
                return checked.offsets(name, passages, len(self.load("records")))
            case _:  # bytes of records and words
                return checked.integers(name, (None,), 256)

    def _divisors(self, name: str, most: float, least: float) -> Array:
        """Numbers of passages by which others are divided, each 0 or from `least` to `most`."""
        found = self._checked.floats(name, (self.passages,), most, least=0)
        if ((found > 0) & (found < least)).any():
            raise self.file.damaged(f"{name} is not what it must be")
        return found

    def _rows(self, kind: str) -> int:
        """How many posting lists of a kind there are."""
        if kind == "ngram":
            return len(self.load("ngram.keys"))
        return len(self.expansion_words if kind == "expansion" else self.words)


def _ascend(numbers: Array, offsets: Array) -> bool:
    """Whether the numbers of each part ascend, part i being `offsets[i]:offsets[i + 1]`."""
    for first in range(0, len(numbers) - 1, _CHECKED_TOGETHER):
        some = numbers[first : first + _CHECKED_TOGETHER + 1]
        falls = np.flatnonzero(some[1:] <= some[:-1]) + first + 1
        if (offsets[np.searchsorted(offsets, falls)] != falls).any():
            return False
    return True
