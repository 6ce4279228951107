"""BOW_emb: cosine of averaged word vectors."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.rerankers._shared.averaged_vectors import AveragedVectors
from allusion_es.rerankers._shared.word_pairs import WeightedWords, by_counts
from allusion_es.rerankers._shared.word_vectors import ChosenVectors, vectors_of
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import AnalysedQuery


class AveragedEmbeddings(AveragedVectors):
    """Cosine of the averages of two texts' word vectors.

    `cos(sum_w tf(w, q) v_w, sum_w tf(w, p) v_w)` with vectors v of unit length. Source: Wieting
    et al. 2015; Manjavacas et al. 2019, section 5.2, BOW_emb. From -1 to 1. A word without a
    vector is left out; a text without words that have one scores 0.

    Args:
        vectors: Name or path of word vectors; "" for those of the index.

    Raises:
        UsageError: When scoring, where `vectors` is "" and the index has none.

    Example:
        >>> from allusion_es.rerankers.trial import TrialVectors, trial
        >>> vectors = TrialVectors({"rex": (1, 0), "regina": (0.6, 0.8)})
        >>> trial(AveragedEmbeddings(), "rex", ["regina", "rex nemo", "nemo"], vectors)
        [0.6, 1.0, 0.0]
    """

    name = "bow-emb"

    def __init__(self, vectors: str = "") -> None:
        super().__init__()
        self._vectors = ChosenVectors(self.name, vectors)

    def weights(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> WeightedWords:
        """Counts of words."""
        return by_counts(query, candidates)

    def passage_vectors(
        self, weighted: WeightedWords, collection: Collection
    ) -> NDArray[np.floating]:
        """The word vectors of the candidates' words, shape (words, dimension)."""
        self._vectors.need(collection)
        return self._vectors.rows(collection, weighted.words)

    def query_vectors(
        self, weighted: WeightedWords, found: Floats, collection: Collection
    ) -> NDArray[np.floating]:
        """The word vectors of the query's words, shape (words, dimension)."""
        return vectors_of(self._vectors.need(collection), weighted.query_words)

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note that names the word vectors in use."""
        return (self._vectors.note(collection),)
