"""Several rankings made into one."""

from collections.abc import Iterable, Sequence

import numpy as np

from allusion_es.retrieval.generators import (
    MAX_WORDS,
    citing_words,
    searched_grams,
    searched_words,
)
from allusion_es.retrieval.index import CandidateIndex, Capability, require_capability
from allusion_es.retrieval.types import (
    FIELDS,
    AnalysedQuery,
    Field,
    Ranking,
    SearchFilter,
    SearchRequest,
)

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


# Generators that weigh the words around a query too, and the first stage that fuses all.


AROUND = 0.2
"""How much a word around the query counts beside one of its own."""

FUSION_K = 10
"""The constant of reciprocal rank fusion here: high ranks count for more than usual."""

_LEXICAL: tuple[str, ...] = ("token", "lemma", "ngrams")
_KNOWN = ("token", "lemma", "expansion")
_WEIGHTS = {"lexical": 1.0, "citations": 2.0, "expansion": 1.0}


class Expansion:
    """Sum of the weights of the query's lemmas in the passages' expansions.

    A passage's expansion has the lemmas by which it is known to be cited, and those that its
    citation vector likes. Lemmas around the query count a fifth.
    """

    one_field = True

    def rank(
        self,
        queries: Sequence[AnalysedQuery],
        index: CandidateIndex,
        field: Field,
        size: int,
        within: SearchFilter,
    ) -> list[Ranking]:
        """See `CandidateGenerator.rank`; the field makes no difference.

        Raises:
            UsageError: The index was built without expansion.
        """
        require_capability("expansion", index.parts, index.name)
        return index.search([_request("expansion", q, index, size, within) for q in queries])


class Fused:
    """All that is known of words and citations, fused by reciprocal rank.

    First BM25 of tokens, of lemmas and of n-grams; then that list with citation vectors (which
    count twice) and expansion. What the index does not have is left out. Words around the query
    count a fifth, those of the query once. Where no word is known, nothing is found.
    """

    one_field = True

    def rank(
        self,
        queries: Sequence[AnalysedQuery],
        index: CandidateIndex,
        field: Field,
        size: int,
        within: SearchFilter,
    ) -> list[Ranking]:
        """See `CandidateGenerator.rank`; the field makes no difference."""
        kinds = _kinds(index)
        requests = [
            _request(kind, query, index, size, within) for query in queries for kind in kinds
        ]
        rankings = iter(index.search(requests))
        return [_fused({kind: next(rankings) for kind in kinds}, size) for _ in queries]


def words_around(query: AnalysedQuery, index: CandidateIndex, field: Field) -> dict[str, float]:
    """The distinct words of a query, each of weight 1, and those around it, of weight `AROUND`.

    At most `MAX_WORDS`; those around it fall away first.
    """
    own = searched_words(query.words(field), index, field)
    weights = dict.fromkeys(own, 1.0)
    if query.window is not None:
        around = query.window.tokens if field == "token" else query.window.lemmas
        for word in dict.fromkeys(around):
            if len(weights) < MAX_WORDS:
                weights.setdefault(word, AROUND)
    return weights


def _kinds(index: CandidateIndex) -> list[str]:
    """What is searched for, in a fixed order."""
    kinds: list[str] = list(FIELDS)
    parts: tuple[Capability, ...] = ("ngrams", "citations", "expansion")
    kinds += [part for part in parts if part in index.parts]
    if "citations" in kinds and index.citations is None:
        kinds.remove("citations")
    return kinds


def _request(
    kind: str, query: AnalysedQuery, index: CandidateIndex, size: int, within: SearchFilter
) -> SearchRequest:
    if kind == "citations":
        assert index.citations is not None
        vector = index.citations.query_vector(*citing_words(query))
        return SearchRequest("citations", "lemma", size, vector=vector, within=within)
    if kind == "ngrams":
        # Those of the words around the query bring little and cost much.
        grams = searched_grams(query.words("token"))
        return SearchRequest("ngrams", "token", size, words=grams, within=within)
    if kind == "expansion":
        words = words_around(query, index, "lemma")
        return SearchRequest("expansion", "lemma", size, words=words, within=within)
    field: Field = "token" if kind == "token" else "lemma"
    words = words_around(query, index, field)
    return SearchRequest("bm25", field, size, words=words, within=within)


def _fused(rankings: dict[str, Ranking], size: int) -> Ranking:
    if not any(len(rankings[kind]) for kind in _KNOWN if kind in rankings):
        # Vectors and letters are like some passage's whatever was typed.
        return Ranking.empty()
    lexical = _fuse((rankings[kind] for kind in _LEXICAL if kind in rankings), size)
    lists = {"lexical": lexical, **{k: r for k, r in rankings.items() if k in _WEIGHTS}}
    if len(lists) == 1:
        return lexical
    return _fuse(lists.values(), size, [_WEIGHTS[kind] for kind in lists])


def _fuse(
    rankings: Iterable[Ranking], size: int, weights: Sequence[float] | None = None
) -> Ranking:
    return reciprocal_rank_fusion(list(rankings), size, FUSION_K, weights)
