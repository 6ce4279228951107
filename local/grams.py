"""Character n-grams in the index of this process: one matrix, searched by BM25."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, ArrayFile
from allusion_es.core.temporary_files import SpilledArray
from allusion_es.language.citations.word_parts import all_grams, find_rows, gram_key
from allusion_es.retrieval.posting_lists import PostingListBuilder
from allusion_es.retrieval.weighting import bm25_saturation, lucene_idf, lucene_lengths

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_KEYS = "ngram.keys"


@dataclass(frozen=True, slots=True)
class WordGrams:
    """The grams of all tokens of an index, as hashes, so that no text is read when it opens.

    Attributes:
        keys: The hashes of all grams, ascending.
        matrix: How often each word has each gram, shape (words, len(keys)).
    """

    keys: NDArray[np.int64]
    matrix: "csr_array"

    @staticmethod
    def of(words: Sequence[str], tokens: NDArray[np.bool_]) -> "WordGrams":
        """The grams of those of `words` that are tokens, shape (len(words),)."""
        from scipy.sparse import csr_array

        numbers: dict[int, int] = {}
        columns = array("i")
        ends = array("q", [0])
        for word, is_token in zip(words, tokens.tolist(), strict=True):
            if is_token:
                found = map(gram_key, all_grams(word))
                columns.extend([numbers.setdefault(key, len(numbers)) for key in found])
            ends.append(len(columns))
        keys = np.array(list(numbers), dtype=np.int64)
        order = np.argsort(keys)
        place_of = np.empty(len(keys), dtype=np.int64)
        place_of[order] = np.arange(len(keys))
        ones = np.ones(len(columns), dtype=np.int32)
        shape = (len(ends) - 1, len(keys))
        places = place_of[np.array(columns, dtype=np.int64)]
        return WordGrams(keys[order], csr_array((ones, places, np.array(ends)), shape=shape))

    def counts(self, codes: NDArray[np.int64], lengths: NDArray[np.int64]) -> "csr_array":
        """How often each passage has each gram, shape (passages, len(keys)).

        Args:
            codes: The tokens of all passages in order, as places in the words.
            lengths: How many of them each passage has.
        """
        from scipy.sparse import csr_array

        ends = np.concatenate(([0], np.cumsum(lengths)))
        shape = (len(lengths), self.matrix.shape[0])
        ones = np.ones(len(codes), dtype=np.int32)
        return csr_array((ones, codes, ends), shape=shape) @ self.matrix


def gram_arrays(
    grams: WordGrams, postings: PostingListBuilder, lengths: SpilledArray
) -> dict[str, Array | SpilledArray]:
    """The arrays that `LocalGrams` reads.

    Args:
        grams: The grams of all tokens.
        postings: What `WordGrams.counts` gives for all passages.
        lengths: How many grams each passage has.
    """
    found = postings.postings(kind=np.uint8 if postings.largest < 256 else np.int32)
    return {
        _KEYS: grams.keys,
        "ngram.posting_offsets": found.offsets,
        "ngram.posting_passages": found.passages,
        "ngram.posting_counts": found.values,
        "ngram.lengths": lengths,
    }


class LocalGrams:
    """The grams of all passages.

    Args:
        file: The saved index.
        load: Gives one of its arrays.
        k1: BM25's term-frequency saturation.
        b: BM25's length normalisation.
    """

    def __init__(self, file: ArrayFile, load: Callable[[str], Array], k1: float, b: float) -> None:
        self.known = _KEYS in file
        self._load = load
        self._k1 = k1
        self._b = b

    def scores(self, weights: Mapping[str, float]) -> NDArray[np.float32]:
        """BM25 of each passage for grams that count so much, shape (passages,)."""
        rows = find_rows(self._load(_KEYS), [gram_key(gram) for gram in weights])
        known = rows >= 0
        rows = rows[known]
        boosts = np.array(list(weights.values()), dtype=np.float32)[known]
        df = np.diff(self._load("ngram.posting_offsets"))[rows]
        weight = boosts * np.float32(1 + self._k1) * lucene_idf(df, self._extent[0])
        sums = weight.astype(np.float64) @ self._frequencies[rows]
        return np.asarray(sums, dtype=np.float32)

    @cached_property
    def _extent(self) -> tuple[int, float]:
        """Passages with at least one gram, and their mean length in grams."""
        lengths = self._load("ngram.lengths")
        passages = int(np.count_nonzero(lengths))
        return passages, float(lengths.sum(dtype=np.int64)) / passages if passages else 0.0

    @cached_property
    def _saturation(self) -> NDArray[np.float32]:
        lengths = lucene_lengths(self._load("ngram.lengths").astype(np.int64))
        return bm25_saturation(lengths, self._extent[1], self._k1, self._b)

    @cached_property
    def _frequencies(self) -> "csr_array":
        """What BM25 makes of how often grams occur, shape (grams, passages); computed once."""
        from scipy.sparse import csr_array

        passages = self._load("ngram.posting_passages").astype(np.int32)
        known = self._load("ngram.posting_counts").astype(np.float32)
        known *= self._saturation[passages]
        known /= 1 + known
        offsets = self._load("ngram.posting_offsets")
        shape = (len(offsets) - 1, len(self._saturation))
        return csr_array((known, passages, offsets.astype(np.int32)), shape=shape)
