"""What the passages of an in-process index have, computed piece by piece, in any process."""

from allusion_es.core.arrays import Floats
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array
from allusion_es.retrieval.cited import CitedPassages, Citing, text_words
from allusion_es.retrieval.local_grams import WordGrams
from allusion_es.retrieval.spool import SpooledWords
from allusion_es.retrieval.types import (
    FIELDS,
    Field,
)

Entries = tuple[Array, Array, Array]
"""What passages have, as `Inversion.add` takes it: how many, of what, and values."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What n passages have.

    Attributes:
        counts: How often each of them has its words.
        norms: The lengths of their TfIdf vectors, shape (n,).
        grams: How often each of them has its grams.
        gram_lengths: How many grams each has, shape (n,).
        vectors: Their citation vectors, shape (n, dimension), or None.
        expanded: Their expansions, or None.
    """

    counts: dict[Field, Entries]
    norms: dict[Field, Floats]
    grams: Entries
    gram_lengths: NDArray[np.int32]
    vectors: NDArray[np.int8] | None
    expanded: Entries | None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the whole collection once all its words are.

    Attributes:
        words: All words.
        idfs: The paper's idf of each word in each field.
        grams: The grams of all words.
        citing: For citation vectors and expansions, or None.
    """

    words: Sequence[str]
    idfs: dict[Field, Floats]
    grams: WordGrams
    citing: Citing | None


class PieceMaker:
    """Makes pieces.

    Args:
        known: Of the collection.
    """

    def __init__(self, known: Known) -> None:
        self._idfs = known.idfs
        self._grams = known.grams
        self._words = {field: known.words for field in FIELDS}
        self._cited = CitedPassages(known.citing) if known.citing else None

    def __call__(self, passages: tuple[Sequence[str], Mapping[Field, SpooledWords]]) -> Piece:
        """What passages have of which the ids and the words are given."""
        ids, words = passages
        counts, norms = {}, {}
        for field in FIELDS:
            counts[field], norms[field] = _weighed(words[field], self._idfs[field])
        tokens = words["token"]
        grams = self._grams.counts(tokens.codes, tokens.lengths)
        vectors = expanded = None
        if self._cited:
            vectors, found = self._cited.of(ids, text_words(self._words, words))
            lengths = np.diff(found.offsets)
            expanded = (lengths, found.codes.astype(np.int32), found.bits)
        return Piece(
            counts,
            norms,
            (np.diff(grams.indptr), grams.indices, grams.data),
            np.asarray(grams.sum(axis=1), dtype=np.int32),
            vectors,
            expanded,
        )


def _weighed(words: SpooledWords, idfs: Floats) -> tuple[Entries, Floats]:
    """How often passages have their words, and the lengths of their TfIdf vectors."""
    size = len(words.lengths)
    owners, codes, counts = words.counts(max(len(idfs), 1))
    squares = (counts * idfs[codes]) ** 2
    norms = np.sqrt(np.bincount(owners, weights=squares, minlength=size))
    lengths = np.bincount(owners, minlength=size)
    return (lengths, codes.astype(np.int32), counts.astype(np.int32)), norms
