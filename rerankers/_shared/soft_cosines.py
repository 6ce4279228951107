"""Soft cosines, with any similarity of words: the base of the `soft_cosine*` rerankers."""

import itertools
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Singles
from allusion_es.core.caches import IdentityCache
from allusion_es.core.plugins import check_range
from allusion_es.rerankers._shared.word_pairs import (
    PairReranker,
    PairSums,
    WeightedWords,
    by_tfidf,
)
from allusion_es.retrieval.coded_texts import WordCounts
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Field,
)

WordFeatures = NDArray[Any]
"""One row a word, from which similarities of words are computed: vectors, numbers or words."""

_STEP = 8
"""Texts are compared with themselves in batches, their lengths padded to multiples of this."""

_NUMBERS = itertools.count()
"""Gives each reranker a number, for the name of its memory."""

_MEMORY_SIZE = 200_000
"""Passages whose squares are kept, about 20 MB; then the memory is emptied."""

_CELLS = 1 << 22
"""Numbers that a batch of texts holds at once, so that memory stays bounded: 16 MB."""

MOST_POWER = 100
"""Highest power: higher ones leave only equal words, and let rounding errors grow without bound."""


class SoftCosineReranker(PairReranker):
    """Cosine of TfIdf vectors q and p in which similar words count as partly equal.

    `sum_ij S_ij q_i p_j / (sqrt(sum_ij S_ij q_i q_j) sqrt(sum_ij S_ij p_i p_j))`, S_ii = 1 and
    S_ij the similarity of the words raised to a power. Source: Sidorov et al. 2014; Manjavacas
    et al. 2019, section 5.3.

    S is computed for the words of the query and the candidates only, from a feature of each
    word. A text without weight scores 0.

    Args:
        power: Raises S, so that only close words count.
    """

    name: str

    def __init__(self, power: int) -> None:
        check_range(self.name, "power", power, 1, MOST_POWER)
        self._power = power
        # Two of the same name may differ in power, vectors or seed, and must not share a memory.
        self._number = next(_NUMBERS)
        self._latest: IdentityCache[WordFeatures] = IdentityCache()

    @abstractmethod
    def features(self, words: Sequence[str], field: Field, collection: Collection) -> WordFeatures:
        """The features of words, shape (len(words), …)."""

    @abstractmethod
    def compare(self, left: WordFeatures, right: WordFeatures) -> Singles:
        """Similarities before the power, from 0 to 1; those of equal words do not matter.

        Shapes (…, n, f) and (…, m, f) give (…, n, m), as a new array.
        """

    def sums(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> PairSums:
        """The sums over pairs of words that give the scores."""
        weighted = by_tfidf(query, candidates, collection)
        asked, found = weighted.query_words, weighted.words
        left = self.features(asked, candidates.field, collection)
        right = self._latest.get(
            lambda: self.features(found, candidates.field, collection), found, collection
        )
        own = self.similarity(left, left)
        np.fill_diagonal(own, 1.0)
        between = self.similarity(left, right)
        between[candidates.texts.find(asked)] = 1.0
        weights = weighted.query_weights
        square = float(weights @ own.astype(np.float64) @ weights)
        return PairSums(
            asked,
            weights,
            weighted.texts,
            between,
            weighted.weights,
            np.sqrt(
                square
                * collection.kept(
                    lambda: self._kept_squares(weighted, right, candidates, collection),
                    self,
                    candidates.texts,
                )
            ),
        )

    def similarity(self, left: WordFeatures, right: WordFeatures) -> Singles:
        """S from features; the diagonal does not matter. Shapes as in `compare`."""
        return power(self.compare(left, right), self._power)

    def _kept_squares(
        self,
        weighted: WeightedWords,
        features: WordFeatures,
        candidates: Candidates,
        collection: Collection,
    ) -> Floats:
        """`squares`, looked up for passages that were candidates before: no query changes them."""
        memory = collection.memory(f"{self.name} {self._number} squares {candidates.field}")
        ids = candidates.ranking.ids
        squares = np.array([memory.get(identifier, -1.0) for identifier in ids], dtype=np.float64)
        new = squares < 0
        if new.any():
            entries = weighted.entries
            is_new = new[entries.texts]
            some = WordCounts(
                entries.texts[is_new], entries.codes[is_new], entries.counts[is_new], entries.size
            )
            squares[new] = self.squares(some, weighted.weights[is_new], features)[new]
            if len(memory) > _MEMORY_SIZE:
                memory.clear()
            for number in np.flatnonzero(new).tolist():
                memory[ids[number]] = float(squares[number])
        return squares

    def squares(self, entries: WordCounts, weights: Floats, features: WordFeatures) -> Floats:
        """`sum_ij S_ij p_i p_j` of each text, shape (entries.size,).

        S_ii = 1 is added apart, so that it is exact whatever `compare` gives for it.
        """
        squares = entries.sums(weights**2)
        sizes = np.bincount(entries.texts, minlength=entries.size)
        starts = np.cumsum(sizes) - sizes
        padded = -(-sizes // _STEP) * _STEP
        each = int(np.prod(features.shape[1:], dtype=np.int64))
        for width in np.unique(padded[sizes > 1]).tolist():
            texts = np.flatnonzero((padded == width) & (sizes > 1))
            batch = max(1, _CELLS // (width * max(each, width)))
            for first in range(0, len(texts), batch):
                some = texts[first : first + batch]
                squares[some] += self._cross_terms(
                    entries, weights, features, starts, sizes, some, width
                )
        return squares

    def _cross_terms(
        self,
        entries: WordCounts,
        weights: Floats,
        features: WordFeatures,
        starts: NDArray[np.int64],
        sizes: NDArray[np.int64],
        texts: NDArray[np.int64],
        width: int,
    ) -> Singles:
        """`sum over i != j of S_ij p_i p_j` for `texts`, padded to `width` distinct words."""
        places = starts[texts, None] + np.arange(width)
        inside = np.arange(width) < sizes[texts, None]
        places[~inside] = 0
        weight = np.where(inside, weights[places], 0.0).astype(np.float32)
        of_words = features[entries.codes[places]]
        similarity = self.similarity(of_words, of_words)
        diagonal = np.arange(width)
        similarity[:, diagonal, diagonal] = 0.0
        pulled = np.matmul(similarity, weight[:, :, None])[:, :, 0]
        return np.asarray(np.einsum("ij,ij->i", pulled, weight))


def power(base: Singles, exponent: int) -> Singles:
    """`base ** exponent`, by multiplication: numpy's own power is 20 times slower."""
    result = base if exponent & 1 else np.ones_like(base)
    while exponent := exponent >> 1:
        base = base * base
        if exponent & 1:
            result = result * base
    return result
