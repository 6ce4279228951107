"""TfIdf_emb: cosine of word vectors averaged with TfIdf weights."""

from allusion_es.rerankers._shared.word_pairs import WeightedWords, by_tfidf
from allusion_es.rerankers.bow_emb import AveragedEmbeddings
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import AnalysedQuery


class WeightedEmbeddings(AveragedEmbeddings):
    """Cosine of the TfIdf-weighted averages of two texts' word vectors.

    As `AveragedEmbeddings`, with `tf(w, d) idf(w)` for `tf(w, d)` and the paper's idf. Source:
    Manjavacas et al. 2019, section 5.2, TfIdf_emb. From -1 to 1; a text without weight, or
    without words that have a vector, scores 0.

    Args:
        vectors: Name or path of word vectors; "" for those of the index.

    Raises:
        UsageError: When scoring, where `vectors` is "" and the index has none.

    Example:
        >>> from allusion_es.rerankers.trial import TrialVectors, trial
        >>> vectors = TrialVectors({"rex": (1, 0), "regina": (0.6, 0.8)})
        >>> trial(WeightedEmbeddings(), "rex", ["regina", "rex nemo", "nemo", "alius"], vectors)
        [0.6, 1.0, 0.0, 0.0]
    """

    name = "tfidf-emb"

    def weights(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> WeightedWords:
        """TfIdf weights, with the paper's idf."""
        return by_tfidf(query, candidates, collection)
