"""Traces: the rankings of a query's candidates by each first stage and each reranker."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from allusion_es.core.errors import UsageError
from allusion_es.core.plugins import Settings
from allusion_es.retrieval.explanations import first_stage_contributions
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import (
    QueryOptions,
    Ranked,
    Ranker,
    answerable,
    attempt_analysis,
    checked_reasons,
    index_analyser,
)
from allusion_es.retrieval.reranking import (
    Collection,
    Explanation,
    QueryFrequencies,
    reranker_names,
)
from allusion_es.retrieval.types import AnalysedQuery, Field, Query, Ranking, SearchFilter
from allusion_es.retrieval.unanswered import Unanswered, attempt

_BATCH = 64
"""Queries whose rankings are in memory at a time."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A query's candidates, and their places in the rankings of all stages.

    Attributes:
        query: The query and its words.
        first: The candidates before reranking.
        final: The same in their final order, which is that of the first reranker.
        first_stages: The ranking of each first stage before they are fused, by name.
        rerankers: The ranking of each reranker, by name.
        explanations: For some candidates, by id, the word pairs behind the final score.
    """

    query: AnalysedQuery
    first: Ranking
    final: Ranking
    first_stages: Mapping[str, Ranking]
    rerankers: Mapping[str, Ranking]
    explanations: Mapping[str, Explanation]


class Tracer:
    """Follows candidates through several first stages and rerankers.

    Args:
        index: Any candidate index.
        generators: Names of candidate generators; the candidates are their fusion.
        fields: Which words the generators use; with both fields their rankings are fused.
        candidates: How many candidates there are for each query, at most.
        rerankers: Names of rerankers, each of which rescores the same candidates; the first
            decides their final order. Without any, that of the first stage is final.
        search_filter: Which passages may be found.
        settings: Parameters of the rerankers, as text.

    Raises:
        PluginError: A generator or reranker is unknown.
        SettingsMismatchError: As `index_analyser`.
        UsageError: A name is there twice, a number is out of bounds, or a parameter is unknown.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> index = index_texts({"Gen.1.1": "In principio creavit Deus", "Ps.1.1": "Beatus vir"})
        >>> tracer = Tracer(index, rerankers=("jaccard", "tfidf"))
        >>> trace = next(tracer.traces([Query("creator in principio")], explain=1))
        >>> trace.final.ids, list(trace.rerankers), list(trace.first_stages)
        (('Gen.1.1',), ['jaccard', 'tfidf'], ['bm25'])
    """

    def __init__(
        self,
        index: CandidateIndex,
        *,
        generators: Sequence[str] = ("bm25",),
        fields: Sequence[Field] = ("lemma",),
        candidates: int = 100,
        rerankers: Sequence[str] = (),
        search_filter: SearchFilter = SearchFilter(),  # noqa: B008 - frozen
        settings: Settings = MappingProxyType({}),
    ) -> None:
        _check_names(generators, rerankers, settings)

        def ranker(generators: Sequence[str], reranker: str | None) -> Ranker:
            names = reranker_names(reranker or "")
            options = QueryOptions(
                generators=tuple(generators),
                fields=tuple(fields),
                candidates=candidates,
                reranker=reranker,
                settings={name: values for name, values in settings.items() if name in names},
                search_filter=search_filter,
                top=candidates,
            )
            return Ranker(index, options)

        self._index, self._analyser = index, index_analyser(index)
        self._generators, self._fields = tuple(generators), tuple(fields)
        self._reranker = rerankers[0] if rerankers else None
        self._final = ranker(generators, self._reranker)
        alone = generators if len(generators) > 1 else ()
        self._alone = {name: ranker((name,), None) for name in alone}
        self._others = {name: ranker(generators, name) for name in rerankers[1:]}

    def traces(
        self,
        queries: Sequence[Query],
        explain: int = 10,
        also: Mapping[str, Iterable[str]] = MappingProxyType({}),
    ) -> Iterator[Trace | Unanswered]:
        """The trace of each query, in order; only some of them are in memory at a time.

        A query for which one of the stages fails is `Unanswered`; the others are traced.

        Args:
            queries: With distinct ids; together they are the query side's collection.
            explain: How many of the best candidates get an explanation.
            also: Other passages, by query id, that are explained where they are candidates.

        Raises:
            AllusionError: What concerns every query; see `attempt`.
        """
        analysed = [attempt_analysis(query, self._analyser) for query in queries]
        collection = Collection(self._index, QueryFrequencies(answerable(analysed)), {})
        for start in range(0, len(analysed), _BATCH):
            batch = analysed[start : start + _BATCH]
            asked = list(answerable(batch))
            alone = _rankings(self._alone, asked, collection)
            others = _rankings(self._others, asked, collection)
            ranked = enumerate(self._final.rank(asked, collection))
            for query in batch:
                if isinstance(query, Unanswered):
                    yield query
                    continue
                number, final = next(ranked)
                first_stages = {name: rankings[number] for name, rankings in alone.items()}
                rerankers = {name: rankings[number] for name, rankings in others.items()}
                yield self._trace(
                    final, first_stages, rerankers, explain, also.get(query.query.query_id, ()),
                    collection,
                )  # fmt: skip

    def _trace(
        self,
        ranked: Ranked | Unanswered,
        first_stages: Mapping[str, Ranking | Unanswered],
        rerankers: Mapping[str, Ranking | Unanswered],
        explain: int,
        also: Iterable[str],
        collection: Collection,
    ) -> Trace | Unanswered:
        """One query's trace, from what each stage made of it; all of them, or none."""
        if isinstance(ranked, Unanswered):
            return ranked
        for each in (*first_stages.values(), *rerankers.values()):
            if isinstance(each, Unanswered):
                return each
        final = _final(ranked)
        reasons = attempt(
            ranked.query.query,
            self._final.name,
            lambda: self._explanations(ranked, {*final.ids[:explain], *also}, collection),
        )
        if isinstance(reasons, Unanswered):
            return reasons
        return Trace(
            ranked.query,
            ranked.first,
            final,
            _all_answered(first_stages) or {self._generators[0]: ranked.first},
            {self._reranker: final, **_all_answered(rerankers)} if self._reranker else {},
            reasons,
        )

    def _explanations(
        self, ranked: Ranked, wanted: set[str], collection: Collection
    ) -> dict[str, Explanation]:
        places = [n for n in ranked.places.tolist() if ranked.first.ids[n] in wanted]
        if not places:
            return {}
        chosen = ranked.first.take(places)
        reranker = self._final.reranker
        if reranker is None or ranked.candidates is None:
            found: Sequence[Explanation] = first_stage_contributions(
                self._generators, self._fields, ranked.query, chosen, self._index
            )
        else:
            found = checked_reasons(
                reranker.explain(ranked.query, ranked.candidates.take(places), collection),
                len(places),
                self._final.name,
            )
        return dict(zip(chosen.ids, found, strict=True))


def _final(ranked: Ranked) -> Ranking:
    return Ranking(ranked.first.take(ranked.places.tolist()).ids, ranked.scores)


def _rankings(
    rankers: Mapping[str, Ranker], queries: Sequence[AnalysedQuery], collection: Collection
) -> dict[str, list[Ranking | Unanswered]]:
    return {
        name: [
            ranked if isinstance(ranked, Unanswered) else _final(ranked)
            for ranked in ranker.rank(queries, collection)
        ]
        for name, ranker in rankers.items()
    }


def _all_answered(rankings: Mapping[str, Ranking | Unanswered]) -> dict[str, Ranking]:
    return {name: each for name, each in rankings.items() if not isinstance(each, Unanswered)}


def _check_names(generators: Sequence[str], rerankers: Sequence[str], settings: Settings) -> None:
    if not generators:
        raise UsageError("no first stage is named; give at least one")
    for argument, names in (("first_stage", generators), ("rerank", rerankers)):
        if len(set(names)) < len(names):
            told = f"one is named twice ({', '.join(names)}); name each once"
            raise UsageError(told, argument=argument)
    used = {part for name in rerankers for part in reranker_names(name)}
    if unused := sorted(set(settings) - used):
        raise UsageError(
            f"parameters of {', '.join(unused)} are set, but the rerankers are "
            f"{', '.join(rerankers) or 'none'}",
            argument="set",
        )
