"""Character n-grams in the index of this process: one matrix, searched by BM25."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, ArrayFile
from allusion_es.language.word_parts import all_grams, find_rows, gram_key
from allusion_es.retrieval.weighting import bm25_saturation, lucene_idf, lucene_lengths

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_KEYS = "ngram.keys"
_SMALL = 1 << 16


def gram_arrays(
    words: Sequence[str], codes: NDArray[np.int32], offsets: NDArray[np.int64]
) -> dict[str, Array]:
    """The arrays that `LocalGrams` reads.

    Grams are kept as hashes, so that no text is read when the index opens.

    Args:
        words: All words of the index.
        codes: The tokens of all passages in order, as places in `words`, shape (total,).
        offsets: Passage i has the tokens `offsets[i]:offsets[i + 1]`; shape (passages + 1,).
    """
    from scipy.sparse import csr_array

    numbers: dict[int, int] = {}
    columns: list[int] = []
    ends = [0]
    used = np.unique(codes)
    for word in used.tolist():
        found = all_grams(words[word])
        columns += [numbers.setdefault(gram_key(gram), len(numbers)) for gram in found]
        ends.append(len(columns))
    keys = np.array(list(numbers), dtype=np.int64)
    order = np.argsort(keys)
    place_of = np.empty(len(keys), dtype=np.int64)
    place_of[order] = np.arange(len(keys))
    grams_of_words = csr_array(
        (np.ones(len(columns), dtype=np.int32), place_of[columns], ends),
        shape=(len(used), len(keys)),
    )
    ones = np.ones(len(codes), dtype=np.int32)
    texts = csr_array(
        (ones, np.searchsorted(used, codes), offsets), shape=(len(offsets) - 1, len(used))
    )
    postings = (texts @ grams_of_words).tocsc()
    postings.sort_indices()
    most = int(postings.data.max(initial=0))
    return {
        _KEYS: keys[order],
        "ngram.posting_offsets": postings.indptr.astype(np.int64),
        "ngram.posting_passages": small(postings.indices, len(offsets) - 1),
        "ngram.posting_counts": postings.data.astype(np.uint8 if most < 256 else np.int32),
        "ngram.lengths": (texts @ np.diff(ends)).astype(np.int32),
    }


def small(places: Array, size: int) -> Array:
    """Places below `size` in as few bytes as hold them."""
    return places.astype(np.uint16 if size <= _SMALL else np.int32)


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
