"""The runs behind the lines of a table."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from allusion_es.core.progress import Progress, silent
from allusion_es.evaluation.experiments import Experiment, Line
from allusion_es.evaluation.gold import GoldLink
from allusion_es.evaluation.methods import ORACLE, Method
from allusion_es.evaluation.oracle import oracle_run, shares_two_types
from allusion_es.evaluation.runner import Tell, compute_runs, refuse
from allusion_es.evaluation.runs import Run
from allusion_es.evaluation.work import Task
from allusion_es.retrieval.pipeline import attempt_analysis, index_analyser
from allusion_es.retrieval.types import Field
from allusion_es.retrieval.unanswered import Unanswered

_PARTS = ("tesserae", "wmd")
"""The models between which the oracle chooses."""


def line_runs(
    experiment: Experiment,
    links: Sequence[GoldLink],
    task: Task,
    *,
    workers: int = 1,
    folder: Path | None = None,
    progress: Progress = silent,
    tell: Tell = refuse,
) -> Iterator[tuple[Line, Run]]:
    """Each line with its run; those of the oracle come last.

    A run lacks the queries that could not be answered, which `tell` takes.

    Args:
        experiment: What is to be run.
        links: The gold links, which the oracle looks at.
        task: The index, the depth, and which passages; its sets must be the experiment's.
        workers: See `compute_runs`.
        folder: See `compute_runs`.
        progress: See `compute_runs`.
        tell: See `compute_runs`.

    Raises:
        AllusionError: As `compute_runs` raises.
    """
    lines = [line for line in experiment.lines if line.method.reranker != ORACLE]
    wanted = [(line.method, line.set) for line in lines]
    chosen = [line for line in experiment.lines if line.method.reranker == ORACLE]
    parts = [(_part(line.method, name), line.set) for line in chosen for name in _PARTS]
    wanted += [part for part in parts if part not in wanted]
    kept: dict[int, Run] = {}
    runs = compute_runs(task, wanted, workers=workers, folder=folder, progress=progress, tell=tell)
    for number, run in enumerate(runs):
        if number < len(lines):
            yield lines[number], run
        if wanted[number] in parts:
            kept[number] = run
    for line in chosen:
        tesserae, wmd = (
            kept[wanted.index((_part(line.method, name), line.set))] for name in _PARTS
        )
        yield line, oracle_run(tesserae, wmd, _shared(links, task, line))


def _part(method: Method, name: str) -> Method:
    return replace(method, reranker=name, label="")


def _shared(links: Sequence[GoldLink], task: Task, line: Line) -> dict[str, bool]:
    index = task.open_index()
    analyser = index_analyser(index)
    analysed = (attempt_analysis(query, analyser) for query in task.sets[line.set].queries)
    queries = {
        query.query.query_id: query for query in analysed if not isinstance(query, Unanswered)
    }
    field: Field = line.method.field
    known = [link for link in links if link.query.query_id in queries]
    return shares_two_types(known, queries, index, field)
