"""Averaged vectors: cosines of texts that are weighted sums of their words' vectors."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.core.caches import IdentityCache
from allusion_es.rerankers._shared.word_pairs import PairReranker, PairSums, WeightedWords
from allusion_es.retrieval.coded_texts import WordCounts
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import AnalysedQuery


class AveragedVectors(PairReranker):
    """`cos(sum_i q_i v_i, sum_j p_j v_j)`, which is a sum over pairs `q_i p_j v_i . v_j`.

    The mean and the sum of vectors have the same direction, so nothing is divided by the number
    of words. A text whose vector has no length scores 0.
    """

    def __init__(self) -> None:
        self._latest: IdentityCache[tuple[Floats, Floats]] = IdentityCache()

    @abstractmethod
    def weights(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> WeightedWords:
        """The weights q and p."""

    @abstractmethod
    def passage_vectors(
        self, weighted: WeightedWords, collection: Collection
    ) -> NDArray[np.floating]:
        """The vectors v of the candidates' words, shape (words, dimension)."""

    @abstractmethod
    def query_vectors(
        self, weighted: WeightedWords, found: Floats, collection: Collection
    ) -> NDArray[np.floating]:
        """The vectors v of the query's words, shape (words, dimension).

        `found` is what `passage_vectors` gave.
        """

    def sums(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> PairSums:
        """The sums over pairs of words that give the scores."""
        weighted = self.weights(query, candidates, collection)
        right, norms = self._latest.get(
            lambda: self._passage_side(weighted, collection), candidates.texts, collection
        )
        left = self.query_vectors(weighted, right, collection).astype(np.float64, copy=False)
        mean = weighted.query_weights @ left
        return PairSums(
            weighted.query_words,
            weighted.query_weights,
            weighted.texts,
            (left, right),
            weighted.weights,
            _length(mean) * norms,
        )

    def _passage_side(
        self, weighted: WeightedWords, collection: Collection
    ) -> tuple[Floats, Floats]:
        """Vectors of words, and the length of each text's sum of them."""
        vectors = self.passage_vectors(weighted, collection).astype(np.float64, copy=False)
        return vectors, _norms(weighted, vectors)


def _norms(weighted: WeightedWords, vectors: Floats) -> Floats:
    """Length of the sum of each text's vectors, shape (entries.size,)."""
    means = text_vectors(weighted.entries, weighted.weights, vectors)
    norms: Floats = np.sqrt(np.einsum("ij,ij->i", means, means))
    # What is left of vectors that cancel out is rounding, not a direction.
    norms[norms < 1e-9] = 0.0
    return norms


def _length(vector: Floats) -> float:
    length = float(np.linalg.norm(vector))
    return length if length >= 1e-9 else 0.0


def text_vectors(entries: WordCounts, weights: Floats, vectors: Floats) -> Floats:
    """Weighted sum of the vectors of each text's words, shape (entries.size, dimension)."""
    sums: Floats = entries.matrix(weights, len(vectors)) @ vectors
    return sums
