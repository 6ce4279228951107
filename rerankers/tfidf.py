"""TfIdf: cosine of word counts weighted by how rare the words are."""

from allusion_es.rerankers._shared.word_pairs import (
    PairReranker,
    PairSums,
    by_tfidf,
)
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import AnalysedQuery


class TfIdf(PairReranker):
    """Cosine of TfIdf vectors.

    As BOW, with `tf(w, d) idf(w)` for `tf(w, d)`, where `idf(w) = log(|D| / (1 + df(w)))`,
    floored at 0; df from the collection that is searched, for the query too. Source:
    Manjavacas et al. 2019, section 5.1, TfIdf. From 0 to 1; a text without weight scores 0.

    Example:
        >>> from allusion_es.rerankers.trial import trial
        >>> trial(TfIdf(), "deus lux", ["deus", "deus lux", "nox", "nox"])
        [0.3833, 1.0, 0.0, 0.0]
    """

    def sums(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> PairSums:
        """The sums over pairs of words that give the scores."""
        weighted = by_tfidf(query, candidates, collection)
        return PairSums(
            weighted.query_words,
            weighted.query_weights,
            weighted.texts,
            None,
            weighted.weights,
            weighted.norms(collection),
        )
