"""The work of an evaluation, cut into pieces that any process can do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from allusion_es.core.latest import Latest
from allusion_es.evaluation.methods import Method
from allusion_es.evaluation.runs import Found
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import answerable, attempt_analysis, index_analyser
from allusion_es.retrieval.ranker import Ranked, Ranker
from allusion_es.retrieval.reranking import Collection, QueryFrequencies
from allusion_es.retrieval.types import AnalysedQuery, Query, Ranking, Within
from allusion_es.retrieval.unanswered import Unanswered

OpenIndex = Callable[[], CandidateIndex]
"""Opens the index; other processes call it too, so it must be a function of a module."""


@dataclass(frozen=True, slots=True)
class QuerySet:
    """Queries that are asked together.

    Attributes:
        name: Distinguishes several query sets of one evaluation.
        queries: With distinct ids.
    """

    name: str
    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of an index, whatever the method.

    Attributes:
        open_index: Opens the index.
        sets: The query sets.
        depth: How many passages to keep for each query.
        within: Which passages may be found.
    """

    open_index: OpenIndex
    sets: tuple[QuerySet, ...]
    depth: int = 1000
    within: Within = field(default_factory=Within)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some queries for one method.

    Attributes:
        method: How they are answered.
        set: Which query set of the task.
        first: The first query's place in it.
        last: The place behind the last query's.
    """

    method: Method
    set: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a piece.

    Attributes:
        found: What was found, by query id; nothing for queries that could not be answered.
        unanswered: Those.
    """

    found: dict[str, Found]
    unanswered: tuple[Unanswered, ...] = ()


class Worker:
    """Does pieces of a task, one after the other.

    Args:
        task: What is asked.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._index = task.open_index()
        self._queries: Latest[Sequence[AnalysedQuery | Unanswered]] = Latest()
        self._rankers: Latest[tuple[Ranker, Collection]] = Latest()
        self._method: Method | None = None

    def do(self, piece: Piece) -> Done:
        """What is found for the queries of a piece.

        Raises:
            AllusionError: What concerns every query, as `Ranker` and the index raise it.
        """
        whole = self._task.sets[piece.set]
        queries = self._queries.get(lambda: self._analysed(whole.queries), whole)
        if piece.method != self._method:
            self._method = piece.method
        ranker, collection = self._rankers.get(
            lambda: self._ranker(piece.method, queries), self._method, queries
        )
        asked = queries[piece.first : piece.last]
        found: dict[str, Found] = {}
        unanswered = [query for query in asked if isinstance(query, Unanswered)]
        for ranked in ranker.rank(list(answerable(asked)), collection):
            if isinstance(ranked, Unanswered):
                unanswered.append(ranked)
            else:
                found[ranked.query.query.query_id] = _found(ranked)
        return Done(found, tuple(unanswered))

    def _analysed(self, queries: Sequence[Query]) -> list[AnalysedQuery | Unanswered]:
        analyser = index_analyser(self._index)
        return [attempt_analysis(query, analyser) for query in queries]

    def _ranker(
        self, method: Method, queries: Sequence[AnalysedQuery | Unanswered]
    ) -> tuple[Ranker, Collection]:
        stages = method.stages(self._task.depth, self._task.within)
        frequencies = QueryFrequencies(answerable(queries))
        return Ranker(self._index, stages), Collection(self._index, frequencies)


def _found(ranked: Ranked) -> Found:
    ids = ranked.first.ids
    names = tuple([ids[place] for place in ranked.places.tolist()])
    # Runs are kept in single precision, which can bring scores together, but not out of order.
    scores = ranked.scores.astype(np.float32).astype(np.float64)
    return Found(Ranking(names, scores), (ranked.places + 1).astype(np.int32))
