"""Two stages: candidates from one generator or several, then a reranker, then hits."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from types import MappingProxyType

import numpy as np

from allusion_es.core.errors import PluginError, SettingsMismatchError, UsageError
from allusion_es.core.parameters import Settings
from allusion_es.language.analysis import Analyser
from allusion_es.retrieval.explain import first_stage_contributions
from allusion_es.retrieval.fusion import reciprocal_rank_fusion
from allusion_es.retrieval.generators import MAX_WORDS, load_generator
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.reranking import (
    Candidates,
    Collection,
    Explanation,
    QueryFrequencies,
    load_reranker,
    reranker_names,
    reranker_notes,
)
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Field,
    Floats,
    Hit,
    Query,
    Ranking,
    Within,
)

_BATCH = 64


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found for a query.

    Attributes:
        query: The query and its words.
        hits: Best first; empty where no word of the query is known.
        unknown: Tokens of the query that the collection does not have, in their order.
        cut: How many of its distinct words were not searched for, since it has too many.
    """

    query: AnalysedQuery
    hits: tuple[Hit, ...]
    unknown: tuple[str, ...]
    cut: int


class Retriever:
    """Answers queries from an index.

    Args:
        index: Any candidate index.
        generators: Names of candidate generators; several are fused by reciprocal rank.
        fields: Which words the generators use; with both fields their rankings are fused.
        candidates: How many candidates the first stage hands on.
        reranker: Name of a reranker, or None to keep the first stage's order. Rerankers see
            lemmas, or tokens where `fields` has only these.
        top: How many hits to return.
        within: Which passages may be returned.
        explain: Fill `Hit.contributions`.
        settings: Parameters of the reranker (and of its parts), as text.

    Attributes:
        analyser: Analyses as the index was analysed.
        notes: What a reader of the scores should know: their scale, the vectors, the
            frequencies; empty before the first answer.

    Raises:
        PluginError: A generator or reranker is unknown.
        SettingsMismatchError: This installation would analyse the query in another way than the
            index was.
        UsageError: A number is below 1, more candidates are asked for than the index gives, or a
            parameter is unknown or not allowed.

    Example:
        >>> from allusion_es.retrieval.memory import index_texts
        >>> index = index_texts({"Gen.1.1": "In principio creavit Deus", "Ps.1.1": "Beatus vir"})
        >>> answer = Retriever(index, reranker=None).answer(Query("creator in principio"))
        >>> [hit.id for hit in answer.hits], answer.unknown
        (['Gen.1.1'], ('creator',))
    """

    def __init__(
        self,
        index: CandidateIndex,
        *,
        generators: Sequence[str] = ("bm25",),
        fields: Sequence[Field] = ("lemma",),
        candidates: int = 500,
        reranker: str | None = "soft-cosine",
        top: int = 10,
        within: Within = Within(),  # noqa: B008 - frozen
        explain: bool = False,
        settings: Settings = MappingProxyType({}),
    ) -> None:
        for name, number in (("candidates", candidates), ("top", top)):
            if number < 1:
                raise UsageError(f"{name} must be at least 1, not {number}")
        if candidates > index.max_candidates:
            raise UsageError(
                f"{candidates} candidates are more than the {index.max_candidates} that index "
                f"{index.name!r} returns in one search; ask for fewer"
            )
        self._index = index
        self._generators = [load_generator(name) for name in generators]
        self._generator_names = tuple(generators)
        self._fields = tuple(fields)
        self._candidates = candidates
        self._reranker = load_reranker(reranker, settings) if reranker else None
        if unused := set(settings) - set(reranker_names(reranker or "")):
            raise UsageError(
                f"parameters of {', '.join(sorted(unused))} are set, but the reranker is "
                f"{reranker or 'none'}"
            )
        self._reranker_name = reranker
        self._rerank_field: Field = "lemma" if "lemma" in fields else "token"
        self._memories: dict[str, dict[str, float]] = {}
        self._top = top
        self._within = within
        self._explain = explain
        self.analyser = _analyser(index)
        self.notes: tuple[str, ...] = ()

    def answer(self, query: Query | str) -> Answer:
        """What is found for one query."""
        asked = Query(query) if isinstance(query, str) else query
        return next(self.answers([asked]))

    def answers(self, queries: Iterable[Query]) -> Iterator[Answer]:
        """What is found for each query, in order; they are searched for in batches.

        The queries of a sequence count as a collection of their own for rerankers that compare
        two collections; an iterator is read batch by batch, and each of its queries stands alone.
        """
        analysed: Iterable[AnalysedQuery] = (
            AnalysedQuery(query, self.analyser.analyse(query.text)) for query in queries
        )
        frequencies = None
        if isinstance(queries, Sequence):
            analysed = list(analysed)
            frequencies = QueryFrequencies(analysed)
        collection = Collection(self._index, frequencies, self._memories)
        if self._reranker is not None:
            self.notes = reranker_notes(self._reranker, collection)
        remaining = iter(analysed)
        while batch := list(islice(remaining, _BATCH)):
            for query, ranking in zip(batch, self._first_stage(batch), strict=True):
                yield self._finish(query, ranking, collection)

    def _first_stage(self, queries: Sequence[AnalysedQuery]) -> list[Ranking]:
        lists = [
            generator.rank(queries, self._index, field, self._candidates, self._within)
            for generator in self._generators
            for field in self._fields
        ]
        if len(lists) == 1:
            return lists[0]
        return [
            reciprocal_rank_fusion(rankings, self._candidates)
            for rankings in zip(*lists, strict=True)
        ]

    def _finish(self, query: AnalysedQuery, ranking: Ranking, collection: Collection) -> Answer:
        candidates = self._candidates_of(ranking)
        scores = self._scores(query, ranking, candidates, collection)
        order = np.lexsort((np.array(ranking.ids, dtype=str), -scores))[: self._top].tolist()
        reasons = self._reasons(query, ranking, candidates, order, collection)
        hits = self._hits(ranking, scores, order, reasons)
        distinct = max(len(set(query.words(field))) for field in self._fields)
        return Answer(query, hits, self._unknown(query), max(0, distinct - MAX_WORDS))

    def _candidates_of(self, ranking: Ranking) -> Candidates | None:
        """The candidates with their words; None where nothing is to be reranked."""
        if self._reranker is None or not len(ranking):
            return None
        texts = self._index.texts(self._rerank_field, ranking.ids)
        return Candidates(ranking, self._rerank_field, texts).want(self._top)

    def _scores(
        self,
        query: AnalysedQuery,
        ranking: Ranking,
        candidates: Candidates | None,
        collection: Collection,
    ) -> Floats:
        if self._reranker is None or candidates is None:
            return ranking.scores
        scores = self._reranker.score(query, candidates, collection)
        if scores.shape != (len(candidates),) or not np.isfinite(scores).all():
            raise PluginError(
                f"reranker {self._reranker_name!r} gave no finite score for each of "
                f"{len(candidates)} candidates; this is a fault in the plug-in"
            )
        return scores

    def _reasons(
        self,
        query: AnalysedQuery,
        ranking: Ranking,
        candidates: Candidates | None,
        order: Sequence[int],
        collection: Collection,
    ) -> Sequence[Explanation]:
        if not self._explain or not order:
            return [()] * len(order)
        if self._reranker is not None and candidates is not None:
            return self._reranker.explain(query, candidates.take(order), collection)
        return first_stage_contributions(
            self._generator_names, self._fields, query, ranking.take(order), self._index
        )

    def _hits(
        self,
        ranking: Ranking,
        scores: Floats,
        order: Sequence[int],
        reasons: Sequence[Explanation],
    ) -> tuple[Hit, ...]:
        passages = self._index.passages([ranking.ids[number] for number in order])
        return tuple(
            Hit(
                rank=rank,
                id=passage.id,
                reference=passage.reference or passage.id,
                text=passage.text,
                score=float(scores[number]),
                candidate_rank=number + 1,
                candidate_score=float(ranking.scores[number]),
                contributions=parts,
            )
            for rank, (number, passage, parts) in enumerate(
                zip(order, passages, reasons, strict=True), start=1
            )
        )

    def _unknown(self, query: AnalysedQuery) -> tuple[str, ...]:
        """Tokens that occur in none of the searched fields."""
        tokens = query.words("token")
        known = np.zeros(len(tokens), dtype=bool)
        for field in self._fields:
            known |= self._index.statistics(field, query.words(field)).df > 0
        found = (
            token for token, is_known in zip(tokens, known.tolist(), strict=True) if not is_known
        )
        return tuple(dict.fromkeys(found))


def _analyser(index: CandidateIndex) -> Analyser:
    """The analyser that the index was built with.

    Raises:
        SettingsMismatchError: This installation has another one.
    """
    settings = index.settings.analysis
    analyser = Analyser(settings.lemmatiser, settings.stop_words)
    then, now = asdict(settings), asdict(analyser.settings)
    changed = [f"{key} {then[key]!r} (now {now[key]!r})" for key in then if then[key] != now[key]]
    if changed:
        raise SettingsMismatchError(
            f"index {index.name!r} was built with {', '.join(changed)}, so queries would be "
            "analysed in another way; rebuild it with 'allusion-es index'"
        )
    return analyser
