"""The paper's T+WMD: for each query the model that suits its gold passage."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from allusion_es.core.progress import Progress, silent
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.methods import ORACLE, Method
from allusion_es.evaluation.paper.experiments import Experiment, Line
from allusion_es.evaluation.runner import Task, Tell, compute_runs, refuse
from allusion_es.evaluation.runs import QueryRanking, Run
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import attempt_analysis, index_analyser
from allusion_es.retrieval.types import AnalysedQuery, Field
from allusion_es.retrieval.unanswered import Unanswered


def shares_two_types(
    links: Sequence[GoldLink],
    queries: Mapping[str, AnalysedQuery],
    index: CandidateIndex,
    field: Field,
) -> dict[str, bool]:
    """For each query whether a gold passage of it shares two or more types with it.

    Args:
        links: Gold links.
        queries: Their queries by id, analysed.
        index: Where the passages are.
        field: Types of which words.

    Raises:
        VerseError: A gold passage is not in the index.
    """
    shared = {}
    for link in links:
        types = set(queries[link.query.query_id].words(field))
        texts = index.texts(field, link.relevant)
        overlaps = (len(types & set(texts.text(number))) for number in range(len(texts)))
        shared[link.query.query_id] = max(overlaps) > 1
    return shared


def oracle_run(tesserae: Run, wmd: Run, shared: Mapping[str, bool]) -> dict[str, QueryRanking]:
    """The ranking by Tesserae where a gold passage shares two types, else that by WMD.

    It knows the answer: its figures are those of a perfect scale between the two models, and a
    bound for the reranker `tesserae-wmd`. A query that the chosen model did not answer is not in
    it. Source: Manjavacas et al. 2019, section 5.3.

    Args:
        tesserae: The run of Tesserae.
        wmd: The run of Word Mover's Distance, of the same queries.
        shared: From `shares_two_types`.
    """
    chosen = {query: tesserae if two else wmd for query, two in shared.items()}
    return {query: run[query] for query, run in chosen.items() if query in run}


# The runs behind the lines of a table.


_BACKOFF_PARTS = ("tesserae", "wmd")
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
    parts = [(_part(line.method, name), line.set) for line in chosen for name in _BACKOFF_PARTS]
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
            kept[wanted.index((_part(line.method, name), line.set))] for name in _BACKOFF_PARTS
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
