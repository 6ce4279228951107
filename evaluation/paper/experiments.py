"""The paper's experiments: the methods and queries of each table, and the runs behind its lines.

Source: E. Manjavacas, B. Long and M. Kestemont, On the Feasibility of Automated Detection of
Allusive Text Reuse (2019).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from allusion_es.core.progress import Progress, silent
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.methods import ORACLE, PAPER_NAMES, Method
from allusion_es.evaluation.paper import printed_figures
from allusion_es.evaluation.paper.windows import window
from allusion_es.evaluation.runner import (
    OnUnanswered,
    QuerySet,
    Task,
    compute_runs,
    raise_unanswered,
)
from allusion_es.evaluation.runs import QueryRanking, Run
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.options import generators_of
from allusion_es.retrieval.pipeline import answerable, attempt_analysis, index_analyser
from allusion_es.retrieval.reranking import reranker_names
from allusion_es.retrieval.types import FIELDS, AnalysedQuery, Field

MANUAL = "manual"
"""Name of the query set of the annotated spans; the paper calls them so."""

_ORACLE_MODELS = ("tesserae", "wmd")
"""The models between which the oracle chooses, in the order of `_oracle_run`'s arguments."""


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line of a table: a method, and the queries that it answers.

    Attributes:
        method: The method.
        set: Number of the query set in the experiment.
        labels: The columns printed before the figures, by name.
        printed: The paper's figures (MRR, P@10, P@20), or None where it prints none.
    """

    method: Method
    set: int
    labels: Mapping[str, str]
    printed: printed_figures.Triple | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table to be computed.

    Attributes:
        title: The table's title.
        sets: The query sets.
        lines: The table's lines.
    """

    title: str
    sets: tuple[QuerySet, ...]
    lines: tuple[TableLine, ...]


def free_choice(
    links: Sequence[GoldLink], rerankers: Iterable[str], fields: Iterable[Field], base: Method
) -> Experiment:
    """The experiment that runs every reranker on every input.

    Args:
        links: The gold links.
        rerankers: Their names; `none` is the first stage alone, `none:dense` another one alone.
        fields: The inputs.
        base: First stage, candidates and settings.
    """
    names = list(rerankers)
    methods = [
        replace(_reranked(base, name, names), field=field) for name in names for field in fields
    ]
    lines = tuple(
        TableLine(method, 0, {"method": method.name, "input": method.field}) for method in methods
    )
    return Experiment("Methods", (spans(links),), lines)


def _reranked(base: Method, name: str, names: Sequence[str]) -> Method:
    """The method with a reranker and its parameters, or a first stage of its own without one.

    Parameters that are for none of `names` are left to all of them, so that they are refused.
    """
    others = {part for each in names for part in reranker_names(each)} - {*reranker_names(name)}
    settings = {part: values for part, values in base.settings.items() if part not in others}
    base = replace(base, settings=settings)
    reranker, colon, stage = name.partition(":")
    if reranker != "none":
        return replace(base, reranker=name)
    return replace(
        base, reranker=None, first_stage=generators_of(stage) if colon else base.first_stage
    )


def table2(links: Sequence[GoldLink], base: Method) -> Experiment:
    """The paper's Table 2: all its models, on tokens and on lemmas.

    WordNet knows only lemmas, so `soft-cosine-wordnet` has no line for tokens.
    """
    lines = tuple(
        TableLine(
            replace(base, reranker=name, field=field),
            0,
            {"method": name, "model": label, "input": field},
            printed_figures.MODELS.get((name, field)),
        )
        for name, label in PAPER_NAMES.items()
        for field in FIELDS
        if (name, field) in printed_figures.MODELS
    )
    return Experiment("Table 2: all models", (spans(links),), lines)


def table3(links: Sequence[GoldLink], base: Method, vectors: Mapping[Field, str]) -> Experiment:
    """The paper's Table 3: soft cosine with word similarities from three sources.

    Args:
        links: The gold links.
        base: First stage and candidates.
        vectors: For each input the path of word2vec vectors.
    """
    lines = []
    for label, name in (
        ("SC_emb", "soft-cosine"),
        ("SC_w2v", "soft-cosine"),
        ("SC_rnd", "soft-cosine-random"),
    ):
        for field in FIELDS:
            settings = {name: {"vectors": vectors[field]}} if label == "SC_w2v" else {}
            method = replace(base, reranker=name, field=field, settings=settings, label=label)
            labels = {"method": name, "model": label, "input": field}
            lines.append(TableLine(method, 0, labels, printed_figures.SIMILARITIES[label, field]))
    return Experiment("Table 3: sources of word similarity", (spans(links),), tuple(lines))


def table4(links: Sequence[GoldLink], base: Method, sizes: Sequence[int]) -> Experiment:
    """The paper's Table 4: one method on annotated spans and on windows around the anchor.

    Args:
        links: The gold links.
        base: The method.
        sizes: Words on each side of the anchor.
    """
    sets = [spans(links)]
    for size in dict.fromkeys(sizes):
        queries = tuple(window(link.asked, size) for link in links)
        sets.append(QuerySet(str(size), queries))
    lines = [
        TableLine(
            replace(base, field=field),
            number,
            {"method": base.name, "input": field, "window": each.name},
            # The paper tried windows with this method alone.
            printed_figures.WINDOWS.get((each.name, field))
            if base.reranker == "soft-cosine"
            else None,
        )
        for number, each in enumerate(sets)
        for field in FIELDS
    ]
    return Experiment(
        f"Table 4: {base.name} on windows around the anchor", tuple(sets), tuple(lines)
    )


def spans(links: Sequence[GoldLink]) -> QuerySet:
    """The query set of the annotated spans: the queries of the links as they are."""
    return QuerySet(MANUAL, tuple(link.asked for link in links))


def line_runs(
    experiment: Experiment,
    links: Sequence[GoldLink],
    task: Task,
    *,
    index: CandidateIndex | None = None,
    workers: int = 1,
    folder: Path | None = None,
    progress: Progress = silent,
    on_unanswered: OnUnanswered = raise_unanswered,
) -> Iterator[tuple[TableLine, Run]]:
    """Each line of an experiment with its run; the oracle's lines come last.

    A run lacks the queries that could not be answered.

    Args:
        experiment: The experiment.
        links: The gold links; only the oracle looks at them.
        task: The index, the depth and the search filter; its sets must be the experiment's.
        index: As for `compute_runs`.
        workers: As for `compute_runs`.
        folder: As for `compute_runs`.
        progress: As for `compute_runs`.
        on_unanswered: As for `compute_runs`.

    Raises:
        AllusionError: As `compute_runs` raises.
    """
    if index is None:
        index = task.open_index()
    lines = [line for line in experiment.lines if line.method.reranker != ORACLE]
    oracle_lines = [line for line in experiment.lines if line.method.reranker == ORACLE]
    # The oracle needs whole runs of two models. They are kept in memory until its turn, and are
    # computed once where they are lines of the table as well.
    needed = [part for line in oracle_lines for part in _oracle_parts(line)]
    wanted = [(line.method, line.set) for line in lines]
    wanted += [part for part in needed if part not in wanted]
    runs = compute_runs(
        task,
        wanted,
        index=index,
        workers=workers,
        folder=folder,
        progress=progress,
        on_unanswered=on_unanswered,
    )
    kept: dict[int, Run] = {}
    for number, run in enumerate(runs):
        if number < len(lines):
            yield lines[number], run
        if wanted[number] in needed:
            kept[number] = run
    analyser = index_analyser(index)
    analysed = {
        number: [attempt_analysis(query, analyser) for query in task.sets[number].queries]
        for number in {line.set for line in oracle_lines}
    }
    for line in oracle_lines:
        tesserae, wmd = (kept[wanted.index(part)] for part in _oracle_parts(line))
        queries = answerable(analysed[line.set])
        yield line, _oracle_run(tesserae, wmd, links, queries, index, line.method.field)


def _oracle_parts(line: TableLine) -> list[tuple[Method, int]]:
    """The models between which the oracle of a line chooses, with the line's query set."""
    return [(replace(line.method, reranker=name, label=""), line.set) for name in _ORACLE_MODELS]


def _oracle_run(
    tesserae: Run,
    wmd: Run,
    links: Sequence[GoldLink],
    queries: Iterable[AnalysedQuery],
    index: CandidateIndex,
    field: Field,
) -> dict[str, QueryRanking]:
    """The paper's T+WMD: the better suited of two models for each query.

    A query whose gold passage shares two or more types with it gets the ranking by Tesserae,
    which needs two shared words; any other the ranking by Word Mover's Distance. So the oracle
    knows the answer: its figures are those of a perfect scale between the two models, and a bound
    for the reranker `tesserae-wmd`. A query that the chosen model could not answer, or that cannot
    be analysed, is not in the run. Source: section 5.3 of the paper.
    """
    analysed = {query.query.query_id: query for query in queries}
    run = {}
    for link in links:
        query_id = link.query.query_id
        if query_id not in analysed:
            continue
        types = set(analysed[query_id].words(field))
        texts = index.texts(field, link.relevant)
        shares_two = any(len(types.intersection(texts.text(n))) > 1 for n in range(len(texts)))
        chosen = tesserae if shares_two else wmd
        if query_id in chosen:
            run[query_id] = chosen[query_id]
    return run
