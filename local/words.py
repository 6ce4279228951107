"""Tokens and lemmas in the index of this process: BM25, TfIdf and statistics."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array
from allusion_es.language.vectors.types import WordNumbers
from allusion_es.retrieval.types import Field, SearchRequest, TermStatistics
from allusion_es.retrieval.weighting import (
    bm25,
    bm25_saturation,
    idf,
    lucene_idf,
    lucene_lengths,
    tfidf_query_weights,
)


class LocalWords:
    """The words of all passages.

    Args:
        load: Gives an array of the saved index.
        numbers: The place of each word among all words of the index.
        k1: BM25's term-frequency saturation.
        b: BM25's length normalisation.
    """

    def __init__(
        self, load: Callable[[str], Array], numbers: WordNumbers, k1: float, b: float
    ) -> None:
        self._load = load
        self._numbers = numbers
        self._k1 = k1
        self._b = b
        self._size = len(load("offsets")) - 1
        self._saturations: dict[Field, NDArray[np.float32]] = {}

    def scores(self, request: SearchRequest) -> NDArray[np.float32]:
        """The score of each passage for `bm25` or `tfidf`, shape (passages,)."""
        return self._bm25(request) if request.kind == "bm25" else self._tfidf(request)

    def statistics(self, field: Field, words: Sequence[str]) -> TermStatistics:
        """See `CandidateIndex.statistics`."""
        codes = self._numbers.of(words)
        known = codes >= 0
        df = np.zeros(len(words), dtype=np.int64)
        cf = np.zeros(len(words), dtype=np.int64)
        postings = self._load(f"{field}.posting_offsets")
        df[known] = postings[codes[known] + 1] - postings[codes[known]]
        cf[known] = self._load(f"{field}.cf")[codes[known]]
        passages, mean_length = self._extent
        return TermStatistics(df, cf, passages, mean_length)

    def _bm25(self, request: SearchRequest) -> NDArray[np.float32]:
        k1, b = self._k1, self._b
        passages, mean_length = self._extent
        saturation = self._saturations.get(request.field)
        if saturation is None:
            lengths = lucene_lengths(np.diff(self._load("offsets")))
            saturation = bm25_saturation(lengths, mean_length, k1, b)
            self._saturations[request.field] = saturation
        sums = np.zeros(self._size)
        for word, count in request.words.items():
            places, counts = self._postings(request.field, word)
            if len(places):
                weight = lucene_idf(np.array([len(places)]), passages)[0]
                sums[places] += bm25(counts, saturation[places], weight, k1, count)
        return sums.astype(np.float32)

    def _tfidf(self, request: SearchRequest) -> NDArray[np.float32]:
        words = list(request.words)
        statistics = self.statistics(request.field, words)
        idfs = idf(statistics.df, statistics.passages)
        sums = np.zeros(self._size)
        weights = tfidf_query_weights(request.words, words, idfs)
        for word, weight in zip(words, weights.astype(np.float32), strict=True):
            places, counts = self._postings(request.field, word)
            sums[places] += counts.astype(np.float64) * weight
        norms = self._load(f"{request.field}.norms")
        singles = sums.astype(np.float32)  # as a server adds before it divides
        scores = np.divide(singles, norms, out=np.zeros(self._size), where=norms > 0)
        return scores.astype(np.float32)

    def _postings(self, field: Field, word: str) -> tuple[Array, Array]:
        code = self._numbers.get(word)
        if code is None:
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        offsets = self._load(f"{field}.posting_offsets")
        part = slice(int(offsets[code]), int(offsets[code + 1]))
        return (
            self._load(f"{field}.posting_passages")[part],
            self._load(f"{field}.posting_counts")[part],
        )

    @cached_property
    def _extent(self) -> tuple[int, float]:
        """Passages with at least one word, and their mean length."""
        lengths = np.diff(self._load("offsets"))
        passages = int(np.count_nonzero(lengths))
        return passages, float(lengths.sum()) / passages if passages else 0.0
