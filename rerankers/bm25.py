"""BM25 as Lucene computes it."""

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.core.plugins import check_range
from allusion_es.rerankers._shared.word_pairs import (
    PairReranker,
    PairSums,
    WeightedWords,
    by_counts,
)
from allusion_es.retrieval.coded_texts import CodedTexts
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import (
    AnalysedQuery,
    TermStatistics,
)
from allusion_es.retrieval.weighting import bm25, bm25_saturation, lucene_idf, lucene_lengths


class Bm25(PairReranker):
    """BM25, with Lucene's idf and its rounding of lengths.

    `sum_w tf(w, q) idf(w) (k1 + 1) f / (f + k1 (1 - b + b |p| / mean length))` with
    `f = tf(w, p)` and `idf(w) = ln(1 + (N - df + 0.5) / (df + 0.5))`. Source: Robertson and
    Zaragoza 2009; Lucene's BM25Similarity. Never negative; 0 where no word is shared. The same
    function as in the first stage, without its last rounding.

    Args:
        k1: Term-frequency saturation, from 0.01 to 100; that of the index is not looked up.
        b: Length normalisation, from 0 to 1.

    Example:
        >>> from allusion_es.rerankers.trial import trial
        >>> trial(Bm25(), "deus lux", ["deus", "deus lux", "nox", "nox"])
        [0.7549, 1.5232, 0.0, 0.0]
    """

    def __init__(self, k1: float = 1.2, b: float = 0.75) -> None:
        check_range("bm25", "k1", k1, 0.01, 100)
        check_range("bm25", "b", b, 0, 1)
        self._k1 = k1
        self._b = b

    def sums(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> PairSums:
        """The sums over pairs of words that give the scores."""
        plain = by_counts(query, candidates)
        known = collection.statistics(candidates.field, plain.words)
        return PairSums(
            plain.query_words,
            np.ones(len(plain.query_words)),
            plain.texts,
            None,
            self._weights(plain, candidates.texts, known),
            np.ones(len(candidates)),
        )

    def _weights(self, plain: WeightedWords, texts: CodedTexts, known: TermStatistics) -> Floats:
        """The addend of each entry, 0 for words that the query lacks; shape (entries,)."""
        lengths = lucene_lengths(np.diff(texts.offsets))
        saturation = bm25_saturation(lengths, known.mean_length, self._k1, self._b)
        inverse = lucene_idf(known.df, known.passages)
        entries, weights = plain.entries, np.zeros(len(plain.weights))
        order, starts = texts.entries
        for row, code in zip(*texts.find(plain.query_words), strict=True):
            places = order[starts[code] : starts[code + 1]]
            weights[places] = bm25(
                plain.weights[places].astype(np.float32),
                saturation[entries.texts[places]],
                inverse[code],
                self._k1,
                float(plain.query_weights[row]),
            )
        return weights
