"""Two stages: candidates from one generator or several, then a reranker, then hits."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from allusion_es.core.errors import PluginError, SettingsMismatchError, UsageError
from allusion_es.language.analysis import Analyser
from allusion_es.retrieval.explain import first_stage_contributions
from allusion_es.retrieval.fusion import reciprocal_rank_fusion
from allusion_es.retrieval.generators import MAX_WORDS, load_generator
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.reranking import Candidates, Collection, load_reranker
from allusion_es.retrieval.types import (
    FIELDS,
    AnalysedQuery,
    Contribution,
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

    Attributes:
        analyser: Analyses as the index was analysed.

    Raises:
        PluginError: A generator or reranker is unknown.
        SettingsMismatchError: This installation would analyse the query in another way than the
            index was.
        UsageError: A number is below 1, or more candidates are asked for than the index gives.

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
        self._collection = Collection(index)
        self._generators = [load_generator(name) for name in generators]
        self._generator_names = tuple(generators)
        self._fields = tuple(fields)
        self._candidates = candidates
        self._reranker = load_reranker(reranker) if reranker else None
        self._reranker_name = reranker
        self._rerank_field: Field = "lemma" if "lemma" in fields else "token"
        self._top = top
        self._within = within
        self._explain = explain
        settings = index.settings.analysis
        self.analyser = Analyser(settings.lemmatiser, settings.stop_words)
        if self.analyser.settings != settings:
            raise SettingsMismatchError(
                f"index {index.name!r} was built with {settings}, but this installation analyses "
                f"queries with {self.analyser.settings}; rebuild it with 'allusion-es index'"
            )

    def answer(self, query: Query | str) -> Answer:
        """What is found for one query."""
        asked = Query(query) if isinstance(query, str) else query
        return next(self.answers([asked]))

    def answers(self, queries: Iterable[Query]) -> Iterator[Answer]:
        """What is found for each query, in order; they are searched for in batches."""
        remaining = iter(queries)
        while batch := list(islice(remaining, _BATCH)):
            analysed = [AnalysedQuery(q, self.analyser.analyse(q.text)) for q in batch]
            for query, ranking in zip(analysed, self._first_stage(analysed), strict=True):
                yield self._finish(query, ranking)

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

    def _finish(self, query: AnalysedQuery, ranking: Ranking) -> Answer:
        texts = self._index.texts(self._rerank_field, ranking.ids)
        candidates = Candidates(ranking, self._rerank_field, texts)
        scores = self._scores(query, candidates)
        order = np.lexsort((np.array(ranking.ids, dtype=str), -scores))[: self._top].tolist()
        hits = self._hits(ranking, scores, order, self._reasons(query, candidates, order))
        distinct = max(len(set(query.words(field))) for field in self._fields)
        return Answer(query, hits, self._unknown(query), max(0, distinct - MAX_WORDS))

    def _scores(self, query: AnalysedQuery, candidates: Candidates) -> Floats:
        if self._reranker is None or not len(candidates):
            return candidates.ranking.scores
        scores = self._reranker.score(query, candidates, self._collection)
        if scores.shape != (len(candidates),) or not np.isfinite(scores).all():
            raise PluginError(
                f"reranker {self._reranker_name!r} gave no finite score for each of "
                f"{len(candidates)} candidates; this is a fault in the plug-in"
            )
        return scores

    def _reasons(
        self, query: AnalysedQuery, candidates: Candidates, order: Sequence[int]
    ) -> list[tuple[Contribution, ...]]:
        if not self._explain or not order:
            return [()] * len(order)
        chosen = candidates.take(order)
        if self._reranker is not None:
            return self._reranker.explain(query, chosen, self._collection)
        return first_stage_contributions(
            self._generator_names, self._fields, query, chosen, self._index
        )

    def _hits(
        self,
        ranking: Ranking,
        scores: Floats,
        order: Sequence[int],
        reasons: Sequence[tuple[Contribution, ...]],
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


FIELD_CHOICES: dict[str, tuple[Field, ...]] = {
    "token": ("token",),
    "lemma": ("lemma",),
    "both": FIELDS,
}
"""What the command line calls the choices of fields."""

STAGE_CHOICES: dict[str, tuple[str, ...]] = {"rrf": ("bm25", "tfidf", "knn")}
"""First stages that are several generators; any other name is one generator."""
