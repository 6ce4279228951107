"""Jaccard: the share of distinct words that two texts have in common."""

import numpy as np

from allusion_es.rerankers._shared.word_pairs import PairReranker, PairSums, by_counts
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import AnalysedQuery


class Jaccard(PairReranker):
    """Distinct words that two texts share, divided by those that either has.

    `|Q & P| / |Q | P|`, over types; repetitions do not count. Source: Jaccard 1901. From 0 to
    1; texts without words score 0. Each shared word adds the same.

    Example:
        >>> from allusion_es.rerankers.trial import trial
        >>> trial(Jaccard(), "deus caritas est", ["deus lux est", "lux lux"])
        [0.5, 0.0]
    """

    def sums(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> PairSums:
        """The sums over pairs of words that give the scores."""
        plain = by_counts(query, candidates)
        asked = np.zeros(len(plain.words))
        asked[plain.texts.find(plain.query_words)[1]] = 1.0
        ones = np.ones(len(plain.weights))
        shared = plain.entries.sums(asked[plain.entries.codes])
        either = plain.entries.sums(ones) + len(plain.query_words) - shared
        return PairSums(
            plain.query_words,
            np.ones(len(plain.query_words)),
            plain.texts,
            None,
            ones,
            either,
        )
