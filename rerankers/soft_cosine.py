"""Soft cosine by word vectors: the paper's best model."""

from collections.abc import Sequence

import numpy as np

from allusion_es.core.arrays import Singles
from allusion_es.rerankers._shared.soft_cosines import (
    SoftCosineReranker,
    WordFeatures,
)
from allusion_es.rerankers._shared.word_vectors import ChosenVectors
from allusion_es.retrieval.reranking import Collection
from allusion_es.retrieval.types import Field


class SoftCosine(SoftCosineReranker):
    """Cosine of TfIdf vectors in which words with similar vectors count as partly equal.

    `sum_ij S_ij q_i p_j / (sqrt(sum_ij S_ij q_i q_j) sqrt(sum_ij S_ij p_i p_j))` with
    `S_ij = max(0, cos(v_i, v_j)) ** power` and `S_ii = 1`; q and p are TfIdf vectors with the
    paper's idf. Source: Sidorov et al. 2014; Manjavacas et al. 2019, section 5.3, SC_emb.

    S is computed for the words of the query and the candidates only. A word without a vector is
    similar to itself alone; without word vectors this is the TfIdf cosine. A text without
    weight scores 0.

    Args:
        power: Raises S, so that only close words count; the paper's 5. At least 1.
        vectors: Name or path of word vectors; "" for those of the index.

    Example:
        >>> from allusion_es.rerankers.trial import TrialVectors, trial
        >>> vectors = TrialVectors({"rex": (1, 0), "regina": (0.6, 0.8)})
        >>> trial(SoftCosine(power=2), "rex", ["rex", "regina", "nemo"], vectors)
        [1.0, 0.36, 0.0]
    """

    name = "soft-cosine"

    def __init__(self, power: int = 5, vectors: str = "") -> None:
        super().__init__(power)
        self._vectors = ChosenVectors(self.name, vectors)

    def features(self, words: Sequence[str], field: Field, collection: Collection) -> WordFeatures:
        """Unit vectors of words, shape (len(words), dimension)."""
        return self._vectors.rows(collection, words)

    def compare(self, left: WordFeatures, right: WordFeatures) -> Singles:
        """`max(0, cos)` of each pair of words."""
        cosines: Singles = np.matmul(left, np.swapaxes(right, -1, -2))
        return np.maximum(cosines, 0.0, out=cosines)

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note that names the word vectors in use."""
        return (self._vectors.note(collection),)
