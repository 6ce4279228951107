"""Explanations of first-stage scores: the contribution of each pair of words."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import AnalysedQuery, Contribution, Field, Ranking
from allusion_es.retrieval.weighting import (
    bm25,
    bm25_saturation,
    idf,
    lucene_idf,
    lucene_lengths,
    tfidf_query_weights,
)

Parts = dict[tuple[str, str], float]
"""The contribution of each pair of query word and passage word."""


def first_stage_contributions(
    generators: Sequence[str],
    fields: Sequence[Field],
    query: AnalysedQuery,
    ranking: Ranking,
    index: CandidateIndex,
) -> list[tuple[Contribution, ...]]:
    """Word pairs behind each candidate's first-stage score, largest first; they sum to it.

    A score that is fused from several rankings is divided among the pairs in the proportion in
    which they make up the fused scores; for the first stage `fused`, BM25 stands for all of it.
    Other generators explain nothing: a candidate that only they found has no contributions.

    Args:
        generators: Names of the generators behind the scores.
        fields: The fields they searched.
        query: The query.
        ranking: Some of its candidates, with the scores to explain.
        index: Where they came from.
    """
    totals: list[Parts] = [{} for _ in range(len(ranking))]
    for field in fields:
        texts = index.texts(field, ranking.ids)
        for name in generators:
            explain = _EXPLAIN.get(name)
            if explain is None:
                continue
            for number, total in enumerate(totals):
                parts = explain(query.words(field), texts.text(number), field, index)
                scale = sum(parts.values())
                if scale > 0:
                    for pair, value in parts.items():
                        total[pair] = total.get(pair, 0.0) + value / scale
    return [
        as_contributions(_scaled(total, float(score)))
        for total, score in zip(totals, ranking.scores, strict=True)
    ]


def as_contributions(parts: Parts) -> tuple[Contribution, ...]:
    """The pairs, largest contribution first, then in the order of their words.

    Contributions that agree to nine digits count as equal: which of two such is larger depends on
    the processor's way of adding.

    Example:
        >>> [c.query_word for c in as_contributions({("b", "x"): 0.1 + 0.2, ("a", "x"): 0.3})]
        ['a', 'b']
    """
    ordered = sorted(parts.items(), key=lambda item: (-float(f"{item[1]:.8e}"), item[0]))
    return tuple(Contribution(query, passage, value) for (query, passage), value in ordered)


def _scaled(parts: Parts, score: float) -> Parts:
    """Contributions in the same proportions that sum to `score`."""
    total = sum(parts.values())
    return {pair: value * score / total for pair, value in parts.items()} if total else {}


def _bm25(
    query: Sequence[str], passage: Sequence[str], field: Field, index: CandidateIndex
) -> Parts:
    shared, in_query, in_passage = _shared(query, passage)
    known = index.statistics(field, shared)
    k1, b = index.settings.k1, index.settings.b
    lengths = lucene_lengths(np.array([len(passage)]))
    saturation = bm25_saturation(lengths, known.mean_length, k1, b)
    parts = {}
    for word, weight in zip(shared, lucene_idf(known.df, known.passages), strict=True):
        frequency = np.array([in_passage[word]], dtype=np.float32)
        parts[word, word] = float(bm25(frequency, saturation, weight, k1, in_query[word])[0])
    return parts


def _tfidf(
    query: Sequence[str], passage: Sequence[str], field: Field, index: CandidateIndex
) -> Parts:
    shared, in_query, in_passage = _shared(query, passage)
    known = index.statistics(field, shared)
    weights = tfidf_query_weights(in_query, shared, idf(known.df, known.passages))
    return {
        (w, w): float(weight * in_passage[w]) for w, weight in zip(shared, weights, strict=True)
    }


def _knn(
    query: Sequence[str], passage: Sequence[str], field: Field, index: CandidateIndex
) -> Parts:
    if index.vectors is None:
        return {}
    in_query, in_passage = Counter(query), Counter(passage)
    vectors = index.vectors.vectors
    # The cosine of two sums is, but for their lengths, the sum of the products of all pairs.
    products = (vectors(list(in_query)) @ vectors(list(in_passage)).T).tolist()
    return {
        (one, other): products[row][column] * in_query[one] * in_passage[other]
        for row, one in enumerate(in_query)
        for column, other in enumerate(in_passage)
    }


def _shared(
    query: Sequence[str], passage: Sequence[str]
) -> tuple[list[str], Counter[str], Counter[str]]:
    """The words that both have, and how often each word occurs in the query and the passage."""
    in_query, in_passage = Counter(query), Counter(passage)
    return sorted(in_query.keys() & in_passage.keys()), in_query, in_passage


# First stages that are missing here explain nothing; see `first_stage_contributions` for `fused`.
_EXPLAIN: dict[str, Callable[[Sequence[str], Sequence[str], Field, CandidateIndex], Parts]] = {
    "bm25": _bm25,
    "tfidf": _tfidf,
    "knn": _knn,
    "fused": _bm25,
}
