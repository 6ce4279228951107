"""The answers to many queries, from several processes where these are worth their start."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from allusion_es.core.processes import in_processes
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import (
    Answer,
    QueryOptions,
    Retriever,
    answerable,
    attempt_analysis,
)
from allusion_es.retrieval.reranking import QueryFrequencies
from allusion_es.retrieval.types import Query

_TOGETHER = 32
"""Queries that a process answers at once."""

_A_PROCESS = 64
"""Queries that make a process worth its start: opening an index takes as long as some dozens."""

_Part = tuple[list[Answer], tuple[str, ...], tuple[str, ...]]
"""The answers to some of the queries, and the notes and warnings of the retriever that gave them.
"""


class ManyAnswers:
    """The answers to queries, in their order; iterated once.

    They are those that one process gives, whatever the number of processes.

    Args:
        retriever: Answers in this process where the queries are few, or one process is wanted.
        open_index: Opens the index; other processes call it too, so it must be a function of a
            module, or a `partial` of one.
        queries: The queries.
        workers: Most processes.

    Attributes:
        notes: What a reader of the scores should know, as in `Retriever`; empty before the first
            answer.
        warnings: What concerns all answers so far, each once.
    """

    def __init__(
        self,
        retriever: Retriever,
        open_index: Callable[[], CandidateIndex],
        queries: Sequence[Query],
        workers: int,
    ) -> None:
        self._retriever = retriever
        self._open_index = open_index
        self._queries = queries
        self._workers = min(workers, len(queries) // _A_PROCESS)
        self._warnings: dict[str, None] = {}
        self.notes: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all answers so far, each once."""
        return tuple(self._warnings)

    def __iter__(self) -> Iterator[Answer]:
        """The answers.

        Raises:
            AllusionError: As `Retriever.answers` raises it; or a process died.
        """
        if self._workers < 2:
            for answer in self._retriever.answers(self._queries):
                self._note(self._retriever.notes, self._retriever.warnings)
                yield answer
            return
        starts = range(0, len(self._queries), _TOGETHER)
        parts = [self._queries[start : start + _TOGETHER] for start in starts]
        start = partial(_answerer, self._open_index, self._retriever.options, tuple(self._queries))
        advice = "run it again with fewer --workers"
        for _, (answers, notes, warnings) in in_processes(
            start, parts, self._workers, advice, ordered=True
        ):
            self._note(notes, warnings)
            yield from answers

    def _note(self, notes: tuple[str, ...], warnings: tuple[str, ...]) -> None:
        self.notes = notes
        self._warnings.update(dict.fromkeys(warnings))


def _answerer(
    open_index: Callable[[], CandidateIndex], options: QueryOptions, queries: Sequence[Query]
) -> Callable[[Sequence[Query]], _Part]:
    """The function that answers a part of the queries, with an index of its own."""
    retriever = Retriever(open_index(), options)
    # They must not depend on how the queries are divided. Few rerankers ask for them.
    analysed = (attempt_analysis(query, retriever.analyser) for query in queries)
    frequencies = QueryFrequencies(answerable(analysed))

    def answer(part: Sequence[Query]) -> _Part:
        return list(retriever.answers(part, frequencies)), retriever.notes, retriever.warnings

    return answer
