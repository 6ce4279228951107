"""Runs of many methods: computed in several processes, kept, and resumed where they stopped.

`compute_runs` cuts the work into batches of queries for one method. Each batch is saved as a file
as soon as it is done, in a folder named by the hash of all that decides its content. So an
evaluation that was interrupted goes on where it stopped, and one that was done before is read
from disk.
"""

import contextlib
import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from allusion_es.core.code import code_hash
from allusion_es.core.errors import IndexDamagedError, UsageError
from allusion_es.core.locks import scratch_folder
from allusion_es.core.plugins import Settings, load_plugin
from allusion_es.core.processes import in_processes
from allusion_es.core.progress import Progress, silent
from allusion_es.evaluation.methods import EXACT, Method
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

_BATCH_SIZE = 64
"""Queries in a batch: at most so many are lost for each process that is killed.

With smaller batches a query is more often ranked apart from its neighbours, which costs time, and
there are more files. Another size makes all kept runs useless: files are numbered by batches.
"""

_CODE = ("core", "language", "retrieval", "rerankers", "local", "es")
"""Packages whose code decides what a run contains."""

OpenIndex = Callable[[], CandidateIndex]
"""Opens the index. It is called in other processes, so it must be a function of a module, or a
`partial` of one."""

OnUnanswered = Callable[[Method, Unanswered], None]
"""Called with each query that a method could not answer."""


@dataclass(frozen=True, slots=True)
class QuerySet:
    """Queries that are evaluated together.

    Attributes:
        name: Tells the query sets of one evaluation apart.
        queries: With distinct ids.
    """

    name: str
    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """The part of an evaluation that is the same for all methods.

    Attributes:
        open_index: Opens the index.
        sets: The query sets.
        depth: How many passages of each ranking to keep.
        search_filter: Which passages are searched.
    """

    open_index: OpenIndex
    sets: tuple[QuerySet, ...]
    depth: int = 1000
    search_filter: SearchFilter = field(default_factory=SearchFilter)


@dataclass(frozen=True, slots=True)
class QueryBatch:
    """Some queries of a set, for one method.

    Attributes:
        method: The method.
        set: Number of the query set in the task.
        first: Number of the first query in the set.
        last: Number of the last query, plus 1.
    """

    method: Method
    set: int
    first: int
    last: int

    def queries(self, task: Task) -> tuple[Query, ...]:
        """The queries of the batch."""
        return task.sets[self.set].queries[self.first : self.last]


def raise_unanswered(method: Method, unanswered: Unanswered) -> None:
    """Raise why a query could not be answered, for callers that need all answers."""
    raise unanswered.error


def compute_runs(
    task: Task,
    wanted: Sequence[tuple[Method, int]],
    *,
    index: CandidateIndex | None = None,
    workers: int = 1,
    folder: Path | None = None,
    progress: Progress = silent,
    on_unanswered: OnUnanswered = raise_unanswered,
) -> Iterator[dict[str, QueryRanking]]:
    """The run of each method, in the order of `wanted`.

    A query that a method cannot answer is not in its run. Its batch counts as missing, so that it
    is asked again the next time.

    Batches that are missing are computed first, and each is saved as soon as it is done. Then the
    runs are read one by one, so that only one of them is in memory.

    Args:
        task: The index, the queries, the depth and the search filter.
        wanted: The methods, each with the number of its query set.
        index: The task's index, if it is open already; by default it is opened here.
        workers: Number of processes; with 1, all is computed in this one.
        folder: Where runs are kept; None keeps none.
        progress: Shown while batches are computed.
        on_unanswered: Called with each query that a method could not answer; by default the first
            of them ends the evaluation.

    Raises:
        UsageError: `workers` is below 1.
        AllusionError: As `Ranker` and the index raise; or a process died.
    """
    if workers < 1:
        raise UsageError(f"workers must be at least 1, not {workers}")
    if index is None:
        index = task.open_index()
    with contextlib.ExitStack() as stack:
        # Runs that are not kept go through files too: in memory, all of them could be too large.
        root = folder or stack.enter_context(scratch_folder())
        runs: list[dict[Path, QueryBatch]] = []
        for method, number in wanted:
            own = run_folder(root, task, index.fingerprint, method, number)
            size = len(task.sets[number].queries)
            runs.append(
                {
                    own / f"{first // _BATCH_SIZE:06d}.run": QueryBatch(
                        method, number, first, min(first + _BATCH_SIZE, size)
                    )
                    for first in range(0, size, _BATCH_SIZE)
                }
            )
        missing = {
            path: batch
            for run in runs
            for path, batch in run.items()
            if not _is_complete(path, batch.queries(task))
        }
        for path, (found, unanswered) in progress(
            _computed(task, missing, index, workers), "Evaluating", len(missing)
        ):
            for each in unanswered:
                on_unanswered(missing[path].method, each)
            save_run(path, found)
        for run in runs:
            yield {query: found for path in run for query, found in load_run(path).items()}


def run_folder(root: Path, task: Task, fingerprint: str, method: Method, number: int) -> Path:
    """The folder of a run's batches, named by the hash of all that decides its content.

    That is the index, the method and its parameters (and the files that these name), the
    queries, the depth, the search filter, and the code.

    Args:
        root: The folder of all runs.
        task: The index, the queries, the depth and the search filter.
        fingerprint: The index's fingerprint.
        method: The method.
        number: Number of the query set in the task.
    """
    plugins = [(reranking.GROUP, name) for name in reranker_names(method.reranker or "") if name]
    plugins += [(generators.GROUP, name) for name in method.first_stage]
    # Plug-ins may be of other packages, whose code `code_hash` does not see.
    plugin_hashes = [
        hashlib.sha256(Path(inspect.getfile(load_plugin(*plugin))).read_bytes()).hexdigest()
        for plugin in plugins
    ]
    content = {
        "code": [code_hash(*_CODE), *plugin_hashes],
        "index": fingerprint,
        "method": [
            method.reranker,
            method.field,
            method.first_stage,
            # Where the whole collection is ranked, the number of candidates changes nothing.
            f"exact: {EXACT}" if method.whole else method.candidates,
            {name: dict(values) for name, values in method.settings.items()},
        ],
        "files": _file_states(method),
        "depth": task.depth,
        "within": task.search_filter.as_lists(),
        "queries": [asdict(query) for query in task.sets[number].queries],
    }
    data = json.dumps(content, sort_keys=True).encode()
    return root / hashlib.sha256(data).hexdigest()[:32]


def _file_states(method: Method) -> list[tuple[str, int, int]]:
    """Path, size and time of change of the files among a method's parameters, and in folders there.

    Their content is not hashed: word vectors can be of gigabytes.
    """
    states = []
    for path in parameter_files(method.settings):
        state = path.stat()
        states.append((str(path), state.st_size, state.st_mtime_ns))
    return states


def parameter_files(settings: Settings) -> list[Path]:
    """The files that parameters name, and those in the folders that they name, as models are."""
    named = [Path(value) for values in settings.values() for value in values.values() if value]
    found = {path for path in named if path.is_file()}
    for folder in (path for path in named if path.is_dir()):
        found.update(path for path in folder.rglob("*") if path.is_file())
    return sorted(found)


def _is_complete(path: Path, queries: Iterable[Query]) -> bool:
    """True if a saved batch has a ranking for each of the queries; a damaged file is removed."""
    try:
        return load_run(path).keys() == {query.query_id for query in queries}
    except OSError:
        return False
    except IndexDamagedError:
        path.unlink(missing_ok=True)
        return False


_Answers = tuple[dict[str, QueryRanking], list[Unanswered]]
"""The rankings of a batch's queries by id, and the queries that could not be answered."""


def _computed(
    task: Task, missing: dict[Path, QueryBatch], index: CandidateIndex, workers: int
) -> Iterator[tuple[Path, _Answers]]:
    """The answers of each missing batch, in any order."""
    if not missing:
        return
    if workers == 1:
        worker = Worker(task, index)
        for path, batch in missing.items():
            yield path, worker.answer(batch)
        return
    done = in_processes(
        partial(_start_worker, task),
        missing.items(),
        min(workers, len(missing)),
        "what was done is kept: run the evaluation again, with fewer --workers",
    )
    for (path, _), answers in done:
        yield path, answers


def _start_worker(task: Task) -> Callable[[tuple[Path, QueryBatch]], _Answers]:
    worker = Worker(task, task.open_index())
    return lambda item: worker.answer(item[1])


class Worker:
    """Answers batches of a task, one after the other.

    Batches come method by method, so the last query set and the last method stay loaded: to
    analyse a set's queries, or to load word vectors, takes longer than to rank a batch.

    Args:
        task: The task.
        index: Its index.
    """

    def __init__(self, task: Task, index: CandidateIndex) -> None:
        self._task = task
        self._index = index
        self._set = -1
        self._queries: Sequence[AnalysedQuery | Unanswered] = ()
        self._method: Method | None = None
        self._ranker: tuple[Ranker, Collection] | None = None

    def answer(self, batch: QueryBatch) -> _Answers:
        """Rank the queries of a batch.

        Raises:
            AllusionError: An error that concerns every query, as `Ranker` and the index raise it.
        """
        ranker, collection = self._load(batch)
        queries = self._queries[batch.first : batch.last]
        unanswered = [query for query in queries if isinstance(query, Unanswered)]
        found: dict[str, QueryRanking] = {}
        for ranked in ranker.rank(list(answerable(queries)), collection):
            if isinstance(ranked, Unanswered):
                unanswered.append(ranked)
            else:
                found[ranked.query.query.query_id] = _query_ranking(ranked)
        return found, unanswered

    def _load(self, batch: QueryBatch) -> tuple[Ranker, Collection]:
        if batch.set != self._set:
            analyser = index_analyser(self._index)
            queries = self._task.sets[batch.set].queries
            self._queries = [attempt_analysis(query, analyser) for query in queries]
            self._set, self._ranker = batch.set, None
        if self._ranker is None or batch.method != self._method:
            stages = batch.method.options(self._task.depth, self._task.search_filter)
            # Frequencies are those of the whole set: they must not depend on how it is cut.
            frequencies = QueryFrequencies(answerable(self._queries))
            self._ranker = Ranker(self._index, stages), Collection(self._index, frequencies)
            self._method = batch.method
        return self._ranker


def _query_ranking(ranked: Ranked) -> QueryRanking:
    ids = ranked.first.ids
    names = tuple([ids[place] for place in ranked.places.tolist()])
    # Runs are kept in single precision, which can bring scores together, but not out of order.
    scores = ranked.scores.astype(np.float32).astype(np.float64)
    return QueryRanking(Ranking(names, scores), (ranked.places + 1).astype(np.int32))
