"""Evaluations from Python: `evaluate`, and what it gives."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from allusion_es.core.errors import InputError, UsageError
from allusion_es.core.files import data_dir
from allusion_es.corpora.bible.numbering import NUMBERINGS
from allusion_es.evaluation.errors import with_parallels
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.evaluation.gold.ids import chosen_links, left_out_note
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.measures import parse_measure
from allusion_es.evaluation.methods import Method
from allusion_es.evaluation.paper.experiments import free_choice, line_runs
from allusion_es.evaluation.runner import Task
from allusion_es.evaluation.runs import Run
from allusion_es.evaluation.scoring import (
    ScoredRun,
    Scoring,
    compare_methods,
    score_rows,
    score_run,
    with_best,
)
from allusion_es.evaluation.statistics import Comparison
from allusion_es.front.answers import names, one_of, settings_of
from allusion_es.front.frames import data_frame
from allusion_es.front.indexes import Index, index_of
from allusion_es.reports.latex import methods_table
from allusion_es.reports.notebook import rows_table
from allusion_es.retrieval.defaults import DEFAULTS
from allusion_es.retrieval.options import generators_of, search_filter_of
from allusion_es.retrieval.types import FIELDS
from allusion_es.retrieval.unanswered import Unanswered
from allusion_es.retrieval.works import OwnWork, known_names

if TYPE_CHECKING:
    import pandas


class Evaluation(Sequence[Mapping[str, Any]]):
    """The figures of methods on gold links: a row for each method, input and group of links.

    In a notebook it shows itself as a table.

    Args:
        links: The gold links.
        scored: The judged run of each method.
        runs: The runs, by the method's name and input.
        scoring: The measures, and how intervals are drawn.
        unanswered: What could not be answered, and counts as not found.
        notes: What a reader of the figures should know.

    Attributes:
        rows: The figures from 0 to 100, as `allusion-es evaluate --format json` prints them.
        runs: As given; `runs["learned lemma"]["q1"].ranking.ids` are the passages of a query.
        unanswered: As given: the method's name, the query and the reason.
        notes: As given.
    """

    def __init__(
        self,
        links: Sequence[GoldLink],
        scored: Sequence[ScoredRun],
        runs: Mapping[str, Run],
        scoring: Scoring,
        unanswered: Sequence[tuple[str, Unanswered]],
        notes: Sequence[str] = (),
    ) -> None:
        self._links, self._scored, self._scoring = links, scored, scoring
        self.rows: list[dict[str, Any]] = score_rows(scored, links, scoring)
        self.runs = runs
        self.unanswered = tuple(unanswered)
        self.notes = tuple(notes)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    @overload
    def __getitem__(self, number: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, number: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, number: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """The row of a number, from 0."""
        return self.rows[number]

    def __repr__(self) -> str:
        """The methods, and the first measure of each on all links."""
        measure = self._scoring.measures[0].name
        every = (row for row in self.rows if row["group"] == "all")
        figures = ", ".join(f"{row['method']} {row['input']} {row[measure]:.2f}" for row in every)
        return f"<Evaluation on {len(self._links)} links, {measure}: {figures}>"

    def _repr_html_(self) -> str:
        """The table that notebooks show."""
        return rows_table(self._without_intervals())

    def to_dict(self) -> list[dict[str, Any]]:
        """The rows that `allusion-es evaluate --format json` prints."""
        return [dict(row) for row in self.rows]

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame with the rows.

        Raises:
            UsageError: pandas is not installed.
        """
        return data_frame(self.rows, list(self.rows[0]))

    def to_latex(
        self, caption: str = "Methods", label: str = "tab:methods", compare: str = ""
    ) -> str:
        """The table for a paper, in LaTeX; needs the package booktabs.

        Args:
            caption: Plain text; what bold figures and signs mean is added.
            label: The table's key, for references.
            compare: A measure of the evaluation: marks what is significantly below the best by it.

        Raises:
            UsageError: There is no such measure.
        """
        measures = [measure.name for measure in self._scoring.measures]
        rows: Sequence[Mapping[str, Any]] = self.rows
        if compare and compare not in measures:
            raise UsageError(f"compare {compare!r:.40}: use one of {', '.join(measures)}")
        if compare:
            rows = with_best(rows, self._scored[0].labels, compare, self.compare(compare))
        return methods_table(rows, measures, caption, label, compare)

    def compare(self, measure: str | None = None) -> list[Comparison]:
        """Every pair of methods: difference, interval, p, p after Holm, effect; from -1 to 1.

        Args:
            measure: By which measure; by default the first of the evaluation.

        Raises:
            UsageError: There is no such measure, or only one method.
        """
        chosen = parse_measure(measure) if measure else self._scoring.measures[0]
        return list(compare_methods(self._scored, self._links, chosen, self._scoring))

    def _without_intervals(self) -> list[dict[str, Any]]:
        return [
            {name: value for name, value in row.items() if not name.endswith(("_low", "_high"))}
            for row in self.rows
        ]


def evaluate(
    gold: str | Path | Iterable[GoldLink],
    *,
    rerankers: str | Iterable[str] = DEFAULTS.rerank,
    index: "Index | str | None" = None,
    input: str | Iterable[str] = DEFAULTS.field,
    first_stage: str = DEFAULTS.first_stage,
    candidates: int = DEFAULTS.candidates,
    depth: int = 1000,
    measures: str | Iterable[str] = ("mrr", "p10", "p20"),
    type: str | Iterable[str] = (),
    book: str | Iterable[str] = (),
    testament: str | Iterable[str] = (),
    work: str | Iterable[str] = (),
    author: str | Iterable[str] = (),
    exclude_work: str | Iterable[str] = (),
    exclude_author: str | Iterable[str] = (),
    own_work: bool = False,
    numbering: str = "vulgate",
    skip_unknown: bool = False,
    set: Mapping[str, Mapping[str, object]] | None = None,
    parallels: bool = False,
    resamples: int = 2000,
    seed: int = 0,
    cache: bool = True,
) -> Evaluation:
    """Measure methods on gold links, as `allusion-es evaluate` does; by default what `find` gives.

    Args:
        gold: A file of gold links (JSON lines, a table, TREC qrels with topics beside them), or
            `GoldLink` objects.
        rerankers: A reranker or several; `none` is the first stage alone.
        index: An index, its name, or the URL of a server; see `open_index`.
        input: Words that are compared: `lemma`, `token`, or both in a list.
        first_stage: As for `find`, or `all`: no first stage.
        candidates: How many candidates the rerankers get.
        depth: How much of each ranking to keep.
        measures: `mrr`, `p10` (as the paper's P@10), `success@k`, `precision@k`, `recall@k`,
            `ndcg@k`, `map`, `rprec`.
        type: Only links of this type, or these.
        book: Search only this book, or these.
        testament: Search only this testament: `ot` or `nt`.
        work: Search only this work, or these.
        author: Only works of this author, or these.
        exclude_work: Not this work, or these.
        exclude_author: No work of this author, or these.
        own_work: Search the work that a query is from, too; it is left out otherwise.
        numbering: Whose verse numbers the links have: `vulgate`, `hebrew` or `kjv`.
        skip_unknown: Leave out passages that the index lacks.
        set: Parameters of rerankers: `{"soft-cosine": {"power": 3}}`.
        parallels: Count parallels of a relevant passage as relevant.
        resamples: Draws for confidence intervals; 0 for none.
        seed: Of draws and tests.
        cache: Keep runs, and use those kept.

    Raises:
        AllusionError: The links, an argument or the index cannot be used.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> from allusion_es.retrieval.types import Query
        >>> index = Index(index_texts({"Ps.22.1": "Dominus regit me", "Isa.5.1": "vinea mea"}))
        >>> links = [GoldLink(Query("vinea electa", "q1"), ("Isa.5.1",))]
        >>> evaluate(links, rerankers="none", index=index, resamples=0, cache=False)
        <Evaluation on 1 links, mrr: none:fused lemma 100.00>
    """
    scoring = Scoring(
        tuple(parse_measure(name) for name in _some("measures", measures)), resamples, seed=seed
    )
    if depth < 1:
        raise UsageError(f"must be at least 1, not {depth}", argument="depth")
    fields = [field for name in _some("input", input) for field in FIELDS if field == name]
    if len(fields) != len(_some("input", input)):
        raise UsageError(f"input: use {' or '.join(FIELDS)}, not {input!r:.40}")
    search_filter = search_filter_of(
        names(book),
        names(testament),
        names(work),
        authors=names(author),
        excluded_works=names(exclude_work),
        excluded_authors=names(exclude_author),
        own_work=own_work,
    )
    opened = index_of(index).candidates
    search_filter = known_names(search_filter, opened)
    known = opened.ids(search_filter)
    links, left_out = _links(gold, names(type), known, numbering, skip_unknown)
    base = Method(
        None,
        first_stage=generators_of(first_stage),
        candidates=candidates,
        settings=settings_of(set or {}),
    )
    experiment = free_choice(links, _some("rerankers", rerankers), fields, base)
    unanswered: list[tuple[str, Unanswered]] = []
    runs: dict[str, Run] = {}
    scored = []
    relevant = with_parallels(links, opened) if parallels else links
    for line, run in line_runs(
        experiment,
        links,
        Task(lambda: opened, experiment.sets, depth, search_filter),
        index=opened,
        folder=data_dir() / "evaluations" if cache else None,
        on_unanswered=lambda method, each: unanswered.append((method.name, each)),
    ):
        lost = [each.query.query_id for name, each in unanswered if name == line.method.name]
        scored.append(score_run(run, relevant, line.labels, lost))
        runs[scored[-1].name] = run
    own = OwnWork(opened, search_filter)
    list(own.groups([link.asked for link in links]))
    notes = [left_out_note(left_out)] if left_out else []
    notes += [own.note] if own.note else []
    return Evaluation(links, scored, runs, scoring, unanswered, notes)


def _links(
    gold: object, types: Sequence[str], ids: Sequence[str], numbering: str, skip_unknown: bool
) -> tuple[list[GoldLink], int]:
    """The gold links with ids that the index has, and how many passages were left out."""
    if isinstance(gold, (str, Path)):
        links, source = read_gold(Path(gold)), str(gold)
    elif isinstance(gold, Iterable) and not hasattr(gold, "columns"):
        links, source = list(gold), "gold"
        for each in links:
            if not isinstance(each, GoldLink):
                raise UsageError(f"gold: give GoldLink objects, not {each.__class__.__name__}")
    else:
        raise UsageError(
            f"gold links are a file or GoldLink objects, not {gold.__class__.__name__}"
        )
    if not links:
        raise InputError(f"{source}: there are no gold links")
    return chosen_links(
        links,
        ids,
        types=types,
        numbering=one_of("numbering", numbering, NUMBERINGS),
        skip_unknown=skip_unknown,
        source=source,
    )


def _some(argument: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """The names of an argument, each once; at least one."""
    if found := tuple(dict.fromkeys(names(given))):
        return found
    raise UsageError(f"{argument} names nothing; give one or several")
