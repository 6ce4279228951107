"""Fusion of several rankings by reciprocal rank, and the first stage `fused`, which uses it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.retrieval.citing_evidence import citing_evidence
from allusion_es.retrieval.generators import (
    CitationSearch,
    CitingTextSearch,
    DenseSearch,
    ExpansionSearch,
    NgramSearch,
    SearchGenerator,
    StemSearch,
    WindowSearch,
    words_around,
)
from allusion_es.retrieval.index import CandidateIndex, is_bible
from allusion_es.retrieval.types import (
    FIELDS,
    AnalysedQuery,
    Field,
    Ranking,
    SearchFilter,
    SearchRequest,
)

FUSED = "fused"
"""Name of the first stage `FusedSearch`."""

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
    # By id, then by score: sorting keeps the order of equals, also from the highest down.
    best = sorted(sorted(scores), key=scores.__getitem__, reverse=True)[:size]
    return Ranking(tuple(best), np.array([scores[identifier] for identifier in best]))


FUSION_K = 10
"""The constant in `fused`, chosen on development links: high ranks count for more than usual."""

_WEIGHTS = {
    "citations": 2.0,
    "expansion": 1.0,
    "named": 0.5,
    "window": 0.3,
    "stems": 0.5,
    "dense": 1.0,
}
"""How much each list counts beside that of the words, which counts 1; chosen on development links,
but for encoder vectors, which are the user's."""


class FusedSearch(SearchGenerator):
    """All that is known of words and citations, fused by reciprocal rank.

    First BM25 of tokens, of lemmas and of n-grams are fused; then that list with what was learned
    from citations: the vectors of the query (which count twice), expansion, the texts that are
    known to cite a passage (a half), the vector of the words around the query (0.3); in a
    collection that is not the Bible, and of which no citations are known, with lemmas that begin
    alike (a half); and with encoder vectors. What the index does not have is left out. Words around
    the query count a fifth, those of the query once. Where no word is known, nothing is found.
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
            if query.window is not None:
                generators.append(WindowSearch())
            if citing_evidence(index.citations) is not None:
                generators.append(CitingTextSearch())
        if "expansion" in index.capabilities:
            generators.append(ExpansionSearch())
        elif not is_bible(index):
            generators.append(StemSearch())
        if "dense" in index.capabilities:
            generators.append(self._dense)
        return [
            *(SearchRequest("bm25", f, words=words_around(query, index, f)) for f in FIELDS),
            *(r for generator in generators for r in generator.requests(query, index, "lemma")),
        ]

    def fuse(
        self, requests: Sequence[SearchRequest], rankings: Sequence[Ranking], size: int
    ) -> Ranking:
        """The fused ranking; empty if neither the passages nor their expansions have a word.

        Its `parts` are the scores of its passages here (`fused`) and in the rankings that it is
        made of: `bm25-token`, `bm25-lemma`, `ngrams`, `words` (these three fused), `citations`,
        `window`, `named`, `expansion`, `stems` and `dense`.
        """
        lists = _fused_lists(requests, rankings, size)
        ids = lists["fused"].ids[:size]
        return Ranking(ids, lists["fused"].scores[:size], _scores_of(ids, lists))

    def parts(
        self,
        query: AnalysedQuery,
        index: CandidateIndex,
        ids: Sequence[str],
        search_filter: SearchFilter,
    ) -> dict[str, Floats]:
        """What would be the `parts` of passages that another first stage found.

        Args:
            query: The query.
            index: The index.
            ids: The passages; how many they are is also how long the fused lists are, as far as
                `MOST_FUSED`.
            search_filter: As they were found with.

        Returns:
            Scores by name, shape (len(ids),) each, 0 where a passage is not in a list.
        """
        size = min(len(ids), MOST_FUSED)
        requests = [
            replace(request, size=size, search_filter=search_filter)
            for request in self.requests(query, index, "lemma")
        ]
        return _scores_of(ids, _fused_lists(requests, index.search(requests), size))


MOST_FUSED = 1000
"""The longest lists that are fused for passages of another first stage; further down they say
next to nothing."""

_OF_BM25 = tuple(f"bm25-{field}" for field in FIELDS)


def _names(requests: Sequence[SearchRequest]) -> list[str]:
    """The name of each request's ranking: its kind, and what tells it from others of that kind."""
    names: list[str] = []
    for request in requests:
        name = f"bm25-{request.field}" if request.kind == "bm25" else request.kind
        names.append("window" if name in names else name)
    return names


def _fused_lists(
    requests: Sequence[SearchRequest], rankings: Sequence[Ranking], size: int
) -> dict[str, Ranking]:
    """The rankings by name, with that of `words` and, of any length, the `fused` one."""
    lists = dict(zip(_names(requests), rankings, strict=True))
    # Vectors and n-grams are like those of some passage whatever was typed.
    if not any(len(lists.get(name, ())) for name in (*_OF_BM25, "expansion", "stems")):
        return {"fused": Ranking.empty()}
    of_words = [lists[name] for name in (*_OF_BM25, "ngrams") if name in lists]
    lists["words"] = reciprocal_rank_fusion(of_words, size, FUSION_K)
    learned = [name for name in _WEIGHTS if name in lists]
    if not learned:
        return {**lists, "fused": lists["words"]}
    lists["fused"] = reciprocal_rank_fusion(
        [lists["words"], *(lists[name] for name in learned)],
        sum(len(ranking) for ranking in lists.values()),
        FUSION_K,
        [1.0, *(_WEIGHTS[name] for name in learned)],
    )
    return lists


def _scores_of(ids: Sequence[str], lists: Mapping[str, Ranking]) -> dict[str, Floats]:
    """The scores that passages have in each ranking, 0 where they are not in it."""
    found = {}
    for name, ranking in lists.items():
        scores = dict(zip(ranking.ids, ranking.scores.tolist(), strict=True))
        found[name] = np.array([scores.get(each, 0.0) for each in ids], dtype=np.float64)
    return found
