"""Fusion of several rankings by reciprocal rank, and the first stage `fused`, which uses it."""

from collections.abc import Iterable, Sequence

import numpy as np

from allusion_es.retrieval.generators import (
    CitationSearch,
    DenseSearch,
    ExpansionSearch,
    NgramSearch,
    SearchGenerator,
    words_around,
)
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import FIELDS, AnalysedQuery, Field, Ranking, SearchRequest

RRF_K = 60
"""The constant of reciprocal rank fusion, as its authors chose it."""


def reciprocal_rank_fusion(
    rankings: Sequence[Ranking],
    size: int,
    k: int = RRF_K,
    weights: Sequence[float] | None = None,
) -> Ranking:
    """Passages by the sum of `weight / (k + rank)` over the rankings that hold them.

    Source: Cormack, Clarke and Büttcher, SIGIR 2009.

    Args:
        rankings: Each from best to worst.
        size: How many passages to keep.
        k: Damps the difference between high ranks.
        weights: How much each ranking counts; by default 1.

    Example:
        >>> first = Ranking(("a", "b"), np.array([9.0, 8.0]))
        >>> second = Ranking(("b", "c"), np.array([0.9, 0.1]))
        >>> fused = reciprocal_rank_fusion([first, second], 2)
        >>> fused.ids, fused.scores.round(4).tolist()
        (('b', 'a'), [0.0325, 0.0164])
    """
    scores: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, identifier in enumerate(ranking.ids, start=1):
            scores[identifier] = scores.get(identifier, 0.0) + weight / (k + rank)
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:size]
    return Ranking(
        tuple(identifier for identifier, _ in best), np.array([score for _, score in best])
    )


FUSION_K = 10
"""The constant in `fused`, chosen on development links: high ranks count for more than usual."""

_CITATIONS_WEIGHT = 2.0
"""How much citation vectors count beside words and expansion, chosen on development links."""


class FusedSearch(SearchGenerator):
    """All that is known of words and citations, fused by reciprocal rank.

    First BM25 of tokens, of lemmas and of n-grams are fused; then that list with citation vectors
    (which count twice), expansion and encoder vectors. What the index does not have is left out.
    Words around the query count a fifth, those of the query once. Where no word is known, nothing
    is found.
    """

    one_field = True

    def __init__(self) -> None:
        self._dense = DenseSearch()

    def warnings(self) -> Sequence[str]:
        """How many queries the encoder cut, if any."""
        return self._dense.warnings()

    def requests(
        self, query: AnalysedQuery, index: CandidateIndex, field: Field
    ) -> list[SearchRequest]:
        """A search for each list that the index can give; the field makes no difference."""
        generators: list[SearchGenerator] = []
        if "ngrams" in index.capabilities:
            generators.append(NgramSearch())
        # The vectors themselves are needed for the query, and may not be on this machine.
        if "citations" in index.capabilities and index.citations is not None:
            generators.append(CitationSearch())
        if "expansion" in index.capabilities:
            generators.append(ExpansionSearch())
        if "dense" in index.capabilities:
            generators.append(self._dense)
        return [
            *(SearchRequest("bm25", f, words=words_around(query, index, f)) for f in FIELDS),
            *(r for generator in generators for r in generator.requests(query, index, "lemma")),
        ]

    def fuse(
        self, requests: Sequence[SearchRequest], rankings: Sequence[Ranking], size: int
    ) -> Ranking:
        """The fused ranking; empty if neither the passages nor their expansions have a word."""
        answers = [(r.kind, ranking) for r, ranking in zip(requests, rankings, strict=True)]
        # Vectors and n-grams are like those of some passage whatever was typed.
        if not any(len(ranking) for kind, ranking in answers if kind in ("bm25", "expansion")):
            return Ranking.empty()
        words = _fuse((ranking for kind, ranking in answers if kind in ("bm25", "ngrams")), size)
        learned = {kind: ranking for kind, ranking in answers if kind not in ("bm25", "ngrams")}
        if not learned:
            return words
        weights = [_CITATIONS_WEIGHT if kind == "citations" else 1.0 for kind in learned]
        return _fuse([words, *learned.values()], size, [1.0, *weights])


def _fuse(
    rankings: Iterable[Ranking], size: int, weights: Sequence[float] | None = None
) -> Ranking:
    return reciprocal_rank_fusion(list(rankings), size, FUSION_K, weights)
