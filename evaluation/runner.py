"""Runs of many methods: computed in several processes, kept, and resumed where they stopped."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from allusion_es.core.errors import IndexDamagedError, UsageError
from allusion_es.core.locks import scratch_folder
from allusion_es.core.processes import in_processes
from allusion_es.core.progress import Progress, silent
from allusion_es.evaluation.methods import Method
from allusion_es.evaluation.run_cache import run_folder
from allusion_es.evaluation.runs import Found, load_run, save_run
from allusion_es.evaluation.work import Done, Piece, Task, Worker
from allusion_es.retrieval.unanswered import Unanswered

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
) -> Iterator[dict[str, Found]]:
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


def _pieces(task: Task, method: Method, number: int, folder: Path) -> list[tuple[Path, Piece]]:
    size = len(task.sets[number].queries)
    return [
        (
            folder / f"{first // _QUERIES:06d}.run",
            Piece(method, number, first, min(first + _QUERIES, size)),
        )
        for first in range(0, size, _QUERIES)
    ]


def _sound(path: Path, task: Task, piece: Piece) -> bool:
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


def _here(task: Task, missing: dict[Path, Piece]) -> Iterator[tuple[Path, Done]]:
    worker = Worker(task) if missing else None
    for path, piece in missing.items():
        assert worker is not None
        yield path, worker.do(piece)


def _in_processes(
    task: Task, missing: dict[Path, Piece], workers: int
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


def _worker(task: Task) -> Callable[[tuple[Path, Piece]], Done]:
    worker = Worker(task)
    return lambda item: worker.do(item[1])
