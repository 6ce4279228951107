"""The two stages without the hits: which candidates a query has, and how they are reranked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.core.caches import IdentityCache
from allusion_es.core.errors import PluginError, UsageError
from allusion_es.core.plugins import Settings
from allusion_es.retrieval.fusion import reciprocal_rank_fusion
from allusion_es.retrieval.generators import ALL, load_generator
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.reranking import (
    UNDEFINED,
    Candidates,
    Collection,
    load_reranker,
    reranker_names,
)
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Field,
    Ranking,
    SearchFilter,
)
from allusion_es.retrieval.unanswered import Unanswered, attempt

_LARGEST = float(np.finfo(np.float32).max)
"""Runs keep scores in single precision, in which a larger one would be infinite."""


@dataclass(frozen=True, slots=True)
class Stages:
    """Which candidates are generated, and how they are ranked.

    Attributes:
        generators: Names of candidate generators; several are fused by reciprocal rank.
        fields: Which words the generators use; with both fields their rankings are fused.
        candidates: How many candidates the first stage hands on.
        reranker: Name of a reranker, or None to keep the first stage's order. Rerankers see
            lemmas, or tokens where `fields` has only these.
        settings: Parameters of the reranker (and of its parts), as text.
        within: Which passages may be returned.
        top: How many passages to keep.
        exact: How many of these need exact scores; None for all. See `Candidates.wanted`.
    """

    generators: tuple[str, ...] = ("bm25",)
    fields: tuple[Field, ...] = ("lemma",)
    candidates: int = 500
    reranker: str | None = "soft-cosine"
    settings: Settings = field(default_factory=dict)
    within: SearchFilter = field(default_factory=SearchFilter)
    top: int = 10
    exact: int | None = None

    def check(self, index: CandidateIndex) -> None:
        """Check the numbers, and that settings are for a reranker that is used.

        Raises:
            UsageError: A number is below 1, more candidates are asked for than the index gives,
                or a parameter is of another reranker.
        """
        for name in ("candidates", "top"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.candidates > index.max_candidates:
            raise UsageError(
                f"{self.candidates} candidates are more than the {index.max_candidates} that "
                f"index {index.name!r} returns in one search; ask for fewer"
            )
        if unused := set(self.settings) - set(reranker_names(self.reranker or "")):
            raise UsageError(
                f"parameters of {', '.join(sorted(unused))} are set, but the reranker is "
                f"{self.reranker or 'none'}"
            )


@dataclass(frozen=True, slots=True)
class Ranked:
    """A query's candidates and their final order.

    Attributes:
        query: The query and its words.
        first: All candidates as the first stage ranked them.
        candidates: The same with their words, or None where nothing reranks.
        places: Places in `first` of the best passages, best first, shape (n,).
        scores: Their final scores, shape (n,).
    """

    query: AnalysedQuery
    first: Ranking
    candidates: Candidates | None
    places: NDArray[np.int64]
    scores: Floats


class Ranker:
    """Ranks the passages of an index for queries.

    Args:
        index: Any candidate index.
        stages: How.

    Attributes:
        reranker: The reranker, or None.
        name: What messages call it.

    Raises:
        PluginError: A generator or reranker is unknown.
        UsageError: See `Stages.check`; or a parameter is unknown or not allowed.
    """

    def __init__(self, index: CandidateIndex, stages: Stages) -> None:
        stages.check(index)
        self._index = index
        self._stages = stages
        self._generators = [load_generator(name) for name in stages.generators]
        self.reranker = load_reranker(stages.reranker, stages.settings) if stages.reranker else None
        self._field: Field = "lemma" if "lemma" in stages.fields else "token"
        stage = f"first stage {'+'.join(stages.generators)!r}"
        self.name = f"reranker {stages.reranker!r}" if stages.reranker else stage
        self._stage = stage
        self._latest: IdentityCache[Candidates] = IdentityCache()

    def rank(
        self, queries: Sequence[AnalysedQuery], collection: Collection
    ) -> Iterator[Ranked | Unanswered]:
        """The passages for each query, in the order of the queries.

        A query for which a generator or reranker fails, or does not give each candidate a finite
        score, is `Unanswered`; the others are answered.

        Raises:
            AllusionError: What concerns every query; see `attempt`.
        """
        for query, first in zip(queries, self._first_stage(queries), strict=True):
            if isinstance(first, Unanswered):
                yield first
            else:
                yield attempt(
                    query.query,
                    self.name,
                    lambda: self._reranked(query, first, collection),  # noqa: B023 - called at once
                )

    def _first_stage(self, queries: Sequence[AnalysedQuery]) -> Sequence[Ranking | Unanswered]:
        """The candidates of each query; where a batch fails, its queries are asked one by one."""
        if not queries:
            return []
        found = attempt(queries[0].query, self._stage, lambda: self._candidates(queries))
        if not isinstance(found, Unanswered):
            return found
        if len(queries) == 1:
            return [found]
        return [each for query in queries for each in self._first_stage([query])]

    def _candidates(self, queries: Sequence[AnalysedQuery]) -> list[Ranking]:
        stages = self._stages
        lists = [
            generator.rank(queries, self._index, words, stages.candidates, stages.within)
            for generator in self._generators
            for words in (
                stages.fields[:1] if getattr(generator, "one_field", False) else stages.fields
            )
        ]
        for rankings in lists:
            _check_rankings(rankings, len(queries))
        if len(lists) == 1:
            return lists[0]
        return [
            reciprocal_rank_fusion(rankings, stages.candidates)
            for rankings in zip(*lists, strict=True)
        ]

    def _reranked(self, query: AnalysedQuery, first: Ranking, collection: Collection) -> Ranked:
        candidates = None
        scores = first.scores
        if self.reranker is not None and len(first):
            # Where all passages are candidates, the same ranking comes for every query.
            candidates = self._latest.get(lambda: self._with_words(first), first)
            scores = self._scored(query, candidates, collection)
        places = np.lexsort((np.array(first.ids, dtype=str), -scores))
        if self._stages.generators == (ALL,) and candidates is not None:
            nothing = (getattr(self.reranker, "nothing", 0.0), UNDEFINED)
            places = places[np.isin(scores[places], nothing, invert=True)]
        places = places[: self._stages.top]
        return Ranked(query, first, candidates, places, scores[places])

    def _with_words(self, first: Ranking) -> Candidates:
        exact = self._stages.top if self._stages.exact is None else self._stages.exact
        return Candidates(first, self._field, self._index.texts(self._field, first.ids)).want(exact)

    def _scored(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> Floats:
        assert self.reranker is not None
        scores = np.asarray(self.reranker.score(query, candidates, collection), dtype=np.float64)
        if scores.shape != (len(candidates),) or not (np.abs(scores) <= _LARGEST).all():
            raise PluginError(
                f"{self.name} gave no finite score for each of "
                f"{len(candidates)} candidates; this is a fault in the plug-in"
            )
        return scores


def _check_rankings(rankings: Sequence[Ranking], queries: int) -> None:
    """Refuse what a generator must not give: too few rankings, or scores that are no numbers."""
    if len(rankings) != queries:
        raise PluginError(f"the first stage gave {len(rankings)} rankings for {queries} queries")
    for ranking in rankings:
        if ranking.scores.shape != (len(ranking.ids),) or not np.isfinite(ranking.scores).all():
            raise PluginError("the first stage gave no finite score for each of its candidates")
