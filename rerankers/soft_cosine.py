"""Soft cosine: the paper's best model."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.errors import UsageError
from allusion_es.language.vectors import WordVectors
from allusion_es.retrieval.explain import as_contributions
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.texts import WordCounts
from allusion_es.retrieval.types import AnalysedQuery, Contribution, Floats
from allusion_es.retrieval.weighting import idf

Singles = NDArray[np.float32]

_STEP = 8
"""Texts are compared with themselves in batches of like length, padded to multiples of this."""


class SoftCosine:
    """Cosine of TfIdf vectors in which similar words count as partly equal.

    `sum_ij S_ij q_i p_j / (sqrt(sum_ij S_ij q_i q_j) sqrt(sum_ij S_ij p_i p_j))` with
    `S_ij = max(0, cos(v_i, v_j)) ** power` and `S_ii = 1`; q and p are TfIdf vectors with the
    paper's idf. Source: Sidorov et al. 2014; Manjavacas et al. 2019, section 5.3.

    S is computed for the words of the query and the candidates only. A word without a vector is
    similar to itself alone; without word vectors this is the TfIdf cosine. A text without
    weight scores 0.

    Args:
        power: Raises S, so that only close words count; the paper's 5.
    """

    def __init__(self, power: int = 5) -> None:
        if power < 1:
            raise UsageError(f"soft-cosine: power must be at least 1, not {power}")
        self._power = power

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """See `Reranker.score`."""
        words = self._words(query, candidates, collection)
        if words.query_norm == 0:
            return np.zeros(len(candidates))
        entries = candidates.texts.counts()
        weights = entries.counts * words.passage_idf[entries.codes]
        pull = words.query_weights @ words.similarity.astype(np.float64)
        shared = entries.sums(weights * pull[entries.codes])
        norms = np.sqrt(self._squares(entries, weights, words.passage_vectors))
        scores = np.zeros(len(candidates))
        np.divide(shared, norms * words.query_norm, out=scores, where=norms > 0)
        return scores

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[tuple[Contribution, ...]]:
        """See `Reranker.explain`; pairs that add nothing are left out."""
        words = self._words(query, candidates, collection)
        entries = candidates.texts.counts()
        weights = entries.counts * words.passage_idf[entries.codes]
        norms = np.sqrt(self._squares(entries, weights, words.passage_vectors))
        parts: list[dict[tuple[str, str], float]] = [{} for _ in range(len(candidates))]
        if words.query_norm == 0:
            return [()] * len(candidates)
        for text, code, weight in zip(entries.texts, entries.codes, weights, strict=True):
            for row, word in enumerate(words.query_words):
                part = words.query_weights[row] * words.similarity[row, code] * weight
                if part > 0:
                    pair = (word, candidates.texts.words[code])
                    parts[text][pair] = float(part / (norms[text] * words.query_norm))
        return [as_contributions(found) for found in parts]

    def _words(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> "_Words":
        field = candidates.field
        counts = Counter(query.words(field))
        asked, found = list(counts), list(candidates.texts.words)
        of_query = collection.statistics(field, asked)
        of_passages = collection.statistics(field, found)
        tf = np.array(list(counts.values()), dtype=np.float64)
        weights = tf * idf(of_query.df, of_query.passages)
        left, right = _unit_vectors(collection.vectors, asked, found)
        own = self._similarity(left, left)
        np.fill_diagonal(own, 1.0)
        return _Words(
            query_words=asked,
            query_weights=weights,
            query_norm=float(np.sqrt(weights @ own.astype(np.float64) @ weights)),
            passage_idf=idf(of_passages.df, of_passages.passages),
            passage_vectors=right,
            similarity=self._between(asked, left, found, right),
        )

    def _between(
        self, asked: list[str], left: Singles, found: list[str], right: Singles
    ) -> Singles:
        """S between query words and passage words, exactly 1 where they are equal."""
        similarity = self._similarity(left, right)
        rows = {word: row for row, word in enumerate(asked)}
        for column, word in enumerate(found):
            if word in rows:
                similarity[rows[word], column] = 1.0
        return similarity

    def _similarity(self, left: Singles, right: Singles) -> Singles:
        cosines = np.matmul(left, np.swapaxes(right, -1, -2))
        np.maximum(cosines, 0.0, out=cosines)
        return _power(cosines, self._power)

    def _squares(self, entries: WordCounts, weights: Floats, vectors: Singles) -> Floats:
        """`sum_ij S_ij p_i p_j` of each text, shape (entries.size,).

        S_ii = 1 is added apart, so that it is exact, and holds for words without a vector.
        """
        squares = entries.sums(weights**2)
        sizes = np.bincount(entries.texts, minlength=entries.size)
        starts = np.concatenate(([0], np.cumsum(sizes)))[:-1]
        padded = -(-sizes // _STEP) * _STEP
        for width in np.unique(padded[sizes > 1]).tolist():
            texts = np.flatnonzero((padded == width) & (sizes > 1))
            places = starts[texts, None] + np.arange(width)
            inside = np.arange(width) < sizes[texts, None]
            places[~inside] = 0
            weight = np.where(inside, weights[places], 0.0).astype(np.float32)
            mine = vectors[entries.codes[places]]
            similarity = self._similarity(mine, mine)
            diagonal = np.arange(width)
            similarity[:, diagonal, diagonal] = 0.0
            pulled = np.matmul(similarity, weight[:, :, None])[:, :, 0]
            squares[texts] += np.einsum("ij,ij->i", pulled, weight)
        return squares


@dataclass(frozen=True, slots=True)
class _Words:
    """Weights and similarities of the words of a query and its candidates."""

    query_words: list[str]
    query_weights: Floats
    query_norm: float
    passage_idf: Floats
    passage_vectors: Singles
    similarity: Singles


def _power(base: Singles, exponent: int) -> Singles:
    """`base ** exponent`, by multiplication: numpy's own power is 20 times slower."""
    result = base if exponent & 1 else np.ones_like(base)
    while exponent := exponent >> 1:
        base = base * base
        if exponent & 1:
            result = result * base
    return result


def _unit_vectors(
    vectors: WordVectors | None, asked: list[str], found: list[str]
) -> tuple[Singles, Singles]:
    if vectors is None:
        return np.zeros((len(asked), 1), np.float32), np.zeros((len(found), 1), np.float32)
    return vectors.vectors(asked), vectors.vectors(found)
