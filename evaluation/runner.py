"""Runs of many methods: computed in several processes, kept, and resumed where they stopped."""

import contextlib
import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from allusion_es.core.caches import IdentityCache
from allusion_es.core.code import code_hash
from allusion_es.core.errors import IndexDamagedError, UsageError
from allusion_es.core.locks import scratch_folder
from allusion_es.core.plugins import load_plugin
from allusion_es.core.processes import in_processes
from allusion_es.core.progress import Progress, silent
from allusion_es.evaluation.methods import Method
from allusion_es.evaluation.runs import QueryRanking, load_run, save_run
from allusion_es.retrieval import generators, reranking
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import (
    Ranked,
    Ranker,
    answerable,
    attempt_analysis,
    index_analyser,
)
from allusion_es.retrieval.reranking import Collection, QueryFrequencies, reranker_names
from allusion_es.retrieval.types import AnalysedQuery, Query, Ranking, SearchFilter
from allusion_es.retrieval.unanswered import Unanswered

# The work of an evaluation, cut into pieces that any process can do.


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
        search_filter: Which passages may be found.
    """

    open_index: OpenIndex
    sets: tuple[QuerySet, ...]
    depth: int = 1000
    search_filter: SearchFilter = field(default_factory=SearchFilter)


@dataclass(frozen=True, slots=True)
class QueryBatch:
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

    found: dict[str, QueryRanking]
    unanswered: tuple[Unanswered, ...] = ()


class Worker:
    """Does pieces of a task, one after the other.

    Args:
        task: What is asked.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._index = task.open_index()
        self._queries: IdentityCache[Sequence[AnalysedQuery | Unanswered]] = IdentityCache()
        self._rankers: IdentityCache[tuple[Ranker, Collection]] = IdentityCache()
        self._method: Method | None = None

    def do(self, piece: QueryBatch) -> Done:
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
        found: dict[str, QueryRanking] = {}
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
        options = method.options(self._task.depth, self._task.search_filter)
        frequencies = QueryFrequencies(answerable(queries))
        return Ranker(self._index, options), Collection(self._index, frequencies)


def _found(ranked: Ranked) -> QueryRanking:
    ids = ranked.first.ids
    names = tuple([ids[place] for place in ranked.places.tolist()])
    # Runs are kept in single precision, which can bring scores together, but not out of order.
    scores = ranked.scores.astype(np.float32).astype(np.float64)
    return QueryRanking(Ranking(names, scores), (ranked.places + 1).astype(np.int32))


# Where the runs of earlier evaluations lie, so that a second table costs nothing.


_CODE_PARTS = ("core", "language", "retrieval", "rerankers", "es")
"""Packages whose code decides what a run holds."""


def run_folder(root: Path, task: Task, fingerprint: str, method: Method, number: int) -> Path:
    """Where the pieces of a run lie: another folder for everything that could change it.

    That is the index, the method and its parameters (and the files that these name), the
    queries, the depth, and the code.

    Args:
        root: The folder of all runs.
        task: What is asked.
        fingerprint: That of the index.
        method: How it is answered.
        number: Which query set of the task.
    """
    where = task.search_filter
    what = {
        "code": [code_hash(*_CODE_PARTS), *_plugin_code(method)],
        "index": fingerprint,
        "method": [
            method.reranker,
            method.field,
            method.first_stage,
            None if method.whole else method.candidates,
            {name: dict(values) for name, values in method.settings.items()},
        ],
        "files": _named_files(method),
        "depth": task.depth,
        "within": [
            sorted(where.books),
            sorted(where.testaments),
            sorted(where.works),
        ],
        "queries": [asdict(query) for query in task.sets[number].queries],
    }
    data = json.dumps(what, sort_keys=True).encode()
    return root / hashlib.sha256(data).hexdigest()[:32]


def _named_files(method: Method) -> list[tuple[str, int, int]]:
    """Size and time of the files that are among the parameters, such as word vectors."""
    named = [value for values in method.settings.values() for value in values.values()]
    found = []
    for path in (Path(value) for value in sorted(named) if value):
        if path.is_file():
            state = path.stat()
            found.append((str(path), state.st_size, state.st_mtime_ns))
    return found


def _plugin_code(method: Method) -> list[str]:
    """The code of the plug-ins that are used, which may be of other packages."""
    used = [(reranking.GROUP, name) for name in reranker_names(method.reranker or "") if name]
    used += [(generators.GROUP, name) for name in method.first_stage]
    return [
        hashlib.sha256(Path(inspect.getfile(load_plugin(*plugin))).read_bytes()).hexdigest()
        for plugin in used
    ]


Wanted = tuple[Method, int]
"""A method, and the number of the query set that it answers."""

Tell = Callable[[Method, Unanswered], None]
"""Takes a query that a method could not answer."""

_QUERIES = 64
"""Queries in a piece: what is lost, at most, for each process that is killed."""


def refuse(method: Method, unanswered: Unanswered) -> None:
    """Raises why a query could not be answered, for those who cannot do without it."""
    raise unanswered.error


def compute_runs(
    task: Task,
    wanted: Sequence[Wanted],
    *,
    workers: int = 1,
    folder: Path | None = None,
    progress: Progress = silent,
    tell: Tell = refuse,
) -> Iterator[dict[str, QueryRanking]]:
    """The run of each method, in the order of `wanted`.

    A query that a method cannot answer is told of and is not in its run; nor is it kept as
    answered, so that it is asked again the next time.

    What is missing is computed first, in pieces; each is kept as soon as it is done, so that a
    run that was interrupted goes on where it stopped. Then runs are read one by one, so that
    only one of them is in memory.

    Args:
        task: What is asked.
        wanted: The methods and their query sets.
        workers: Processes that compute; 1 computes in this one.
        folder: Where runs are kept; None keeps none.
        progress: Shown while pieces are computed.
        tell: Takes queries that are not answered; by default the first of them ends it all.

    Raises:
        UsageError: `workers` is below 1.
        AllusionError: As `Ranker` and the index raise; or a process died.
    """
    if workers < 1:
        raise UsageError(f"workers must be at least 1, not {workers}")
    with contextlib.ExitStack() as stack:
        root = folder or stack.enter_context(scratch_folder())
        fingerprint = task.open_index().fingerprint
        places = [
            _pieces(task, method, number, run_folder(root, task, fingerprint, method, number))
            for method, number in wanted
        ]
        missing = {
            path: piece
            for pieces in places
            for path, piece in pieces
            if not _sound(path, task, piece)
        }
        work = _in_processes(task, missing, workers) if workers > 1 else _here(task, missing)
        for path, done in progress(work, "Evaluating", len(missing)):
            for unanswered in done.unanswered:
                tell(missing[path].method, unanswered)
            save_run(path, done.found)
        for pieces in places:
            yield {query: found for path, _ in pieces for query, found in load_run(path).items()}


def _pieces(task: Task, method: Method, number: int, folder: Path) -> list[tuple[Path, QueryBatch]]:
    size = len(task.sets[number].queries)
    return [
        (
            folder / f"{first // _QUERIES:06d}.run",
            QueryBatch(method, number, first, min(first + _QUERIES, size)),
        )
        for first in range(0, size, _QUERIES)
    ]


def _sound(path: Path, task: Task, piece: QueryBatch) -> bool:
    """Whether a whole piece is there; a damaged one is removed, to be made again.

    One that lacks a query, which could not be answered then, is made again too.
    """
    asked = task.sets[piece.set].queries[piece.first : piece.last]
    try:
        return load_run(path).keys() == {query.query_id for query in asked}
    except OSError:
        return False
    except IndexDamagedError:
        path.unlink(missing_ok=True)
        return False


def _here(task: Task, missing: dict[Path, QueryBatch]) -> Iterator[tuple[Path, Done]]:
    worker = Worker(task) if missing else None
    for path, piece in missing.items():
        assert worker is not None
        yield path, worker.do(piece)


def _in_processes(
    task: Task, missing: dict[Path, QueryBatch], workers: int
) -> Iterator[tuple[Path, Done]]:
    if not missing:
        return
    done = in_processes(
        partial(_worker, task),
        missing.items(),
        min(workers, len(missing)),
        "what was done is kept: run the evaluation again, with fewer --workers",
    )
    for (path, _), each in done:
        yield path, each


def _worker(task: Task) -> Callable[[tuple[Path, QueryBatch]], Done]:
    worker = Worker(task)
    return lambda item: worker.do(item[1])
