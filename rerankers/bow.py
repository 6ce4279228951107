"""BOW: cosine of word counts."""

from allusion_es.rerankers._shared.word_pairs import (
    PairReranker,
    PairSums,
    by_counts,
)
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import AnalysedQuery


class BagOfWords(PairReranker):
    """Cosine of the vectors of word counts.

    `sum_w tf(w, q) tf(w, p) / (sqrt(sum_w tf(w, q)^2) sqrt(sum_w tf(w, p)^2))`. Source:
    Manjavacas et al. 2019, section 5.1, BOW. From 0 to 1; a text without words scores 0.

    Example:
        >>> from allusion_es.rerankers.trial import trial
        >>> trial(BagOfWords(), "a a a a b b b", ["a", "c"])
        [0.8, 0.0]
    """

    def sums(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> PairSums:
        """The sums over pairs of words that give the scores."""
        plain = by_counts(query, candidates)
        return PairSums(
            plain.query_words,
            plain.query_weights,
            plain.texts,
            None,
            plain.weights,
            plain.norms(collection),
        )
