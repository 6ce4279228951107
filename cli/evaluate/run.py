"""The work of `allusion-es evaluate`: runs methods, and prints and writes their figures."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from allusion_es.cli.evaluate.output import (
    check_names,
    print_histogram,
    print_methods,
    print_rows,
    with_printed,
    write_errors,
    write_figure,
    write_table,
)
from allusion_es.cli.evaluate.page import EvaluationPage
from allusion_es.cli.notes import print_note
from allusion_es.cli.options import ServerOptions, open_candidate_index
from allusion_es.cli.progress import progress
from allusion_es.core.errors import UsageError
from allusion_es.core.files import data_dir
from allusion_es.core.plugins import Settings
from allusion_es.corpora.bible.numbering import Numbering
from allusion_es.evaluation.errors import ErrorAnalysis, with_parallels
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.evaluation.gold.ids import chosen_links, left_out_note
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.manifest import ResultHashes, run_hash
from allusion_es.evaluation.measures import parse_measure
from allusion_es.evaluation.methods import ORACLE, Method
from allusion_es.evaluation.overlap import (
    Overlap,
    overlap_histogram,
    overlap_table,
    overlaps,
)
from allusion_es.evaluation.paper import experiments, printed_figures
from allusion_es.evaluation.paper.experiments import Experiment, TableLine, line_runs
from allusion_es.evaluation.paper.windows import has_anchor
from allusion_es.evaluation.runner import Task
from allusion_es.evaluation.runs import Run, found_in
from allusion_es.evaluation.scoring import (
    ScoredRun,
    Scoring,
    compare_methods,
    comparison_row,
    score_rows,
    score_run,
    with_best,
)
from allusion_es.evaluation.trec import read_run, write_run
from allusion_es.language.latin.analysis import Analysis
from allusion_es.language.vectors.training import WordVectorTraining, train_vectors
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.options import generators_of, search_filter_of
from allusion_es.retrieval.pipeline import Ranker, attempt_analysis, index_analyser
from allusion_es.retrieval.types import FIELDS, AnalysedQuery, Field, Ranking
from allusion_es.retrieval.unanswered import Unanswered, left_out
from allusion_es.retrieval.works import OwnWork, known_names


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """The options of `allusion-es evaluate`, checked and with lists taken apart.

    They are listed a second time here because a manifest keeps them by these names: to repeat it,
    the same options are made from its values, whose types are checked against these annotations.
    """

    experiment: str | None
    gold: Path
    topics: Path | None
    run: Path | None
    methods: tuple[str, ...]
    inputs: tuple[str, ...]
    first_stage: str
    candidates: int
    depth: int
    measures: tuple[str, ...]
    types: frozenset[str]
    books: tuple[str, ...]
    testaments: tuple[str, ...]
    works: tuple[str, ...]
    numbering: Numbering
    skip_unknown: bool
    windows: tuple[int, ...]
    word2vec: Path | None
    settings: Settings
    parallels: bool
    compare: str | None
    errors: Path | None
    save_run: Path | None
    figure: Path | None
    resamples: int
    seed: int
    workers: int
    cache: bool
    format: str
    index: str
    server: ServerOptions
    html: Path | None = None
    paper_column: bool = True
    pairs: Path | None = None
    authors: tuple[str, ...] = ()
    excluded_works: tuple[str, ...] = ()
    excluded_authors: tuple[str, ...] = ()
    own_work: bool = False


class Evaluation:
    """One evaluation: reads the gold links, runs methods, prints and writes figures.

    Args:
        choices: The options of the command.
        hashes: Hash each run, for a manifest; for 800 queries it takes as long as to judge them.

    Attributes:
        index: The index that is searched.

    Raises:
        UsageError: An option is wrong.
        AllusionError: The index or the gold links cannot be read.
    """

    def __init__(self, choices: EvaluateOptions, *, hashes: bool = False) -> None:
        self._choices, self._hashes = choices, hashes
        # Names and measures first: a slip must not cost an hour's work.
        check_names(choices.errors, choices.figure, choices.pairs)
        if choices.pairs and not choices.compare:
            raise UsageError("--pairs writes what --compare finds; name a measure with --compare")
        compared = [parse_measure(choices.compare, "compare")] if choices.compare else []
        given = [parse_measure(name) for name in choices.measures]
        self._measures = tuple({one.name: one for one in [*given, *compared]}.values())
        self._fields = tuple(_field(name) for name in choices.inputs)
        search_filter = search_filter_of(
            choices.books,
            choices.testaments,
            choices.works,
            authors=choices.authors,
            excluded_works=choices.excluded_works,
            excluded_authors=choices.excluded_authors,
            own_work=choices.own_work,
        )
        self.index = open_candidate_index(choices.index, choices.server)
        self._search_filter = known_names(search_filter, self.index)
        self._results = ResultHashes()
        self._unanswered: list[Unanswered] = []
        self._notes: list[str] = []
        self._page = EvaluationPage(f"Evaluation on {choices.gold.name}")
        self._links = self._read_links()

    def run(self) -> ResultHashes:
        """Evaluate, print the figures, and write the files that the options name."""
        choices = self._choices
        if choices.experiment == "table1":
            rows = [{**row, "from": "here"} for row in overlap_table(self._answerable_overlaps())]
            note = ""
            if choices.paper_column:
                rows += [_paper_overlap(group) for group in printed_figures.OVERLAP]
                note = printed_figures.NOTE
            self._results.add_table(rows)
            title = "Table 1: overlap and lengths by link type"
            if choices.html:
                self._page.add(rows, title, note)
            else:
                print_rows(rows, choices.format, title, note, "tab:overlap")
        elif choices.experiment == "fig2":
            rows = overlap_histogram(self._answerable_overlaps())
            self._results.add_table(rows)
            if choices.html:
                self._page.add_histogram(rows)
            else:
                print_histogram(rows, choices.format)
            if choices.figure:
                write_figure(choices.figure, rows)
        elif choices.run:
            self._score(f"Run {choices.run.name}", self._read_run(choices.run))
        else:
            experiment = self._experiment()
            self._score(experiment.title, self._runs(experiment))
        if choices.html:
            self._page.write(choices.html, self._notes)
        return self._results

    def check_answered(self) -> None:
        """Raise an error, once all is printed and written, if queries were left out.

        Raises:
            LeftOutError: Some were.
        """
        if self._unanswered:
            raise left_out(self._unanswered, len(self._links))

    def _note(self, message: str) -> None:
        """Print a note, and keep it for the report."""
        print_note(message)
        self._notes.append(message)

    def _read_links(self) -> list[GoldLink]:
        choices = self._choices
        links, left_out = chosen_links(
            read_gold(choices.gold, topics=choices.topics),
            self.index.ids(self._search_filter),
            types=choices.types,
            numbering=choices.numbering,
            skip_unknown=choices.skip_unknown,
            source=str(choices.gold),
        )
        if left_out:
            self._note(left_out_note(left_out))
        return links

    def _answerable_overlaps(self) -> list[Overlap]:
        """The overlaps of queries that can be analysed; the others are left out and recorded."""
        queries = self._analysed()
        known = {name: each for name, each in queries.items() if isinstance(each, AnalysedQuery)}
        for each in queries.values():
            if isinstance(each, Unanswered):
                self._unanswered.append(each)
                self._note(f"query {each.query.query_id} is left out: {each.error}")
        links = [link for link in self._links if link.query.query_id in known]
        return overlaps(links, known, self.index)

    def _overlaps(self) -> list[Overlap]:
        """The overlaps of all links; a query that cannot be analysed has no words."""
        nothing = Analysis((), (), ())
        queries = {
            name: AnalysedQuery(each.query, nothing) if isinstance(each, Unanswered) else each
            for name, each in self._analysed().items()
        }
        return overlaps(self._links, queries, self.index)

    def _analysed(self) -> dict[str, AnalysedQuery | Unanswered]:
        analyser = index_analyser(self.index)
        return {link.query.query_id: attempt_analysis(link.query, analyser) for link in self._links}

    def _record_unanswered(self, method: Method, unanswered: Unanswered) -> None:
        """Record that a query counts as not found, and print why."""
        self._unanswered.append(unanswered)
        self._note(
            f"{method.name} {method.field}: query {unanswered.query.query_id} could not be "
            f"answered and counts as not found: {unanswered.error}"
        )

    def _warn_of_known_works(self) -> None:
        """Print that figures are too good for works that the index's vectors were learned from."""
        citations = self.index.citations
        if citations is not None:
            about = citations.about
            self._note(
                f"the index's citation vectors were learned from {about.get('links', 'many')} "
                f"links in {about.get('works', 'several')} works ('allusion-es learn --info'); for "
                "these works the figures are too good"
            )

    def _experiment(self) -> Experiment:
        choices, links = self._choices, self._links
        base = Method(
            reranker=choices.methods[0],
            first_stage=generators_of(choices.first_stage),
            candidates=choices.candidates,
            settings=choices.settings,
        )
        if choices.experiment == "table2":
            return experiments.table2(links, base)
        if choices.experiment == "table3":
            return experiments.table3(links, base, self._word2vec())
        if choices.experiment == "table4":
            without = sum(not has_anchor(link) for link in links)
            if without:
                self._note(
                    f"{without} of {len(links)} links have no anchor: their middle word is taken"
                )
            return experiments.table4(links, base, choices.windows)
        return experiments.free_choice(links, choices.methods, self._fields, base)

    def _word2vec(self) -> dict[Field, str]:
        """For each field the path of word2vec vectors: those given, or of the index's own words."""
        if self._choices.word2vec:
            return dict.fromkeys(FIELDS, str(self._choices.word2vec))
        return {field: str(_train_word2vec(self.index, field)) for field in FIELDS}

    def _read_run(self, path: Path) -> list[tuple[TableLine, Run]]:
        """The run of a TREC file as the only line of a table; prints how it fits the links."""
        rankings = read_run(path)
        asked = {link.query.query_id for link in self._links}
        unjudged = [name for name in rankings if name not in asked]
        if len(unjudged) == len(rankings):
            raise UsageError(
                f"{path}: no query of this run is in {self._choices.gold}; the run has "
                f"{_examples(unjudged)}, the gold links {_examples(sorted(asked))}"
            )
        missing = sorted(asked - set(rankings))
        if unjudged:
            self._note(
                f"{len(unjudged)} queries of the run have no gold links and are left out "
                f"({_examples(unjudged)})"
            )
        if missing:
            self._note(
                f"{len(missing)} queries of the gold links are not in the run and count 0 "
                f"({_examples(missing)})"
            )
        self._print_unknown_passages(rankings)
        run = {name: found_in(ranking) for name, ranking in rankings.items() if name in asked}
        return [(TableLine(Method(None), 0, {"method": path.name, "input": ""}), run)]

    def _print_unknown_passages(self, rankings: Mapping[str, Ranking]) -> None:
        """Print which passages only the run or only the gold links name.

        A run with ids of another scheme would score 0, as one that finds nothing.
        """
        ranked = dict.fromkeys(passage for each in rankings.values() for passage in each.ids)
        index = frozenset(self.index.ids())
        if unknown := [passage for passage in ranked if passage not in index]:
            self._note(
                f"{len(unknown)} of {len(ranked)} passages of the run are not in index "
                f"{self.index.name!r} ({_examples(unknown)}; the index has "
                f"{_examples(self.index.ids()[:1])}): they count as wrong"
            )
        relevant = dict.fromkeys(passage for link in self._links for passage in link.relevant)
        if lost := [passage for passage in relevant if passage not in ranked]:
            self._note(
                f"{len(lost)} of {len(relevant)} relevant passages are ranked nowhere in the run "
                f"({_examples(lost)})"
            )

    def _runs(self, experiment: Experiment) -> Iterator[tuple[TableLine, Run]]:
        choices = self._choices
        if choices.save_run and len(experiment.lines) > 1:
            raise UsageError(
                f"--save-run writes one run, but there are {len(experiment.lines)}; choose one "
                "method and input"
            )
        for line in experiment.lines:
            # Before the work, and before anything is said of figures that will not come.
            if line.method.reranker != ORACLE:
                Ranker(self.index, line.method.options(choices.depth, self._search_filter))
        if any(line.method.knows_citations for line in experiment.lines):
            self._warn_of_known_works()
        own = OwnWork(self.index, self._search_filter)
        list(own.groups([link.asked for link in self._links]))
        if own.note:
            self._note(own.note)
        return line_runs(
            experiment,
            self._links,
            # Other processes open the index anew, since an open one cannot be sent to them.
            Task(
                partial(open_candidate_index, choices.index, choices.server),
                experiment.sets,
                choices.depth,
                self._search_filter,
            ),
            index=self.index,
            workers=choices.workers,
            folder=data_dir() / "evaluations" if choices.cache else None,
            progress=progress,
            on_unanswered=self._record_unanswered,
        )

    def _score(self, title: str, results: Iterable[tuple[TableLine, Run]]) -> None:
        """Print the figures of runs; write errors and runs to the files that the options name."""
        choices = self._choices
        links = with_parallels(self._links, self.index) if choices.parallels else self._links
        scoring = Scoring(self._measures, choices.resamples, seed=choices.seed)
        errors = None
        if choices.errors or choices.html:
            errors = ErrorAnalysis(self._links, self.index, self._overlaps())
        lines, scored = [], []
        for line, run in results:
            lines.append(line)
            # A run from elsewhere may well leave out queries for which it has nothing.
            names = [] if choices.run else [link.query.query_id for link in links]
            unanswered = frozenset(name for name in names if name not in run)
            scored.append(score_run(run, links, line.labels, unanswered))
            if self._hashes:
                self._results.runs[scored[-1].name] = run_hash(run)
            if errors:
                errors.add(line.labels, run, unanswered)
            if choices.save_run:
                rankings = {query: found.ranking for query, found in run.items()}
                write_run(choices.save_run, rankings, line.method.name, self._note)
        self._print_scores(title, lines, scored, links, scoring)
        if errors and choices.errors:
            write_errors(choices.errors, errors.rows())
        if errors and choices.html:
            self._page.errors = errors.rows()
        if errors:
            for row in errors.losses():
                self._note(
                    "{method} {input}: of {links} relevant passages {lost_in_first_stage} were "
                    "lost in the first stage, {ranked_low} ranked below 20".format_map(row)
                    + (f", {row['unanswered']} not looked for" if "unanswered" in row else "")
                )

    def _print_scores(
        self,
        title: str,
        lines: Sequence[TableLine],
        scored: Sequence[ScoredRun],
        links: Sequence[GoldLink],
        scoring: Scoring,
    ) -> None:
        """Print the figures of judged runs, and how they differ where that is asked for."""
        choices = self._choices
        rows = score_rows(scored, links, scoring)
        pairs: list[dict[str, Any]] = []
        if choices.compare:
            measure = parse_measure(choices.compare)
            compared = compare_methods(scored, links, measure, scoring)
            pairs = [comparison_row(pair) for pair in compared]
            rows = with_best(rows, scored[0].labels, measure.name, compared)
            best = next((row["versus"] for row in rows if row["versus"]), "")
            if (choices.format == "table" or choices.html) and best:
                title += f"; difference: {measure.name} less that of {best}"
        note = ""
        if choices.experiment and choices.paper_column:
            rows, note = with_printed(rows, lines), printed_figures.NOTE
        self._results.add_table(rows)
        label = f"tab:{_LABELS.get(choices.experiment or '', 'methods')}"
        measures = [measure.name for measure in self._measures]
        compared_by = choices.compare if choices.compare and pairs else ""
        if choices.html:
            self._page.add(rows, title, note)
        else:
            print_methods(rows, measures, choices.format, title, note, label, compared_by)
        if pairs:
            self._results.add_table(pairs)
            named = f"Pairs of methods by {choices.compare}"
            if choices.html:
                self._page.add(pairs, named)
            elif choices.format == "table":
                print_rows(pairs, "table", named)
            if choices.pairs:
                write_table(choices.pairs, pairs)


_LABELS = {"table2": "models", "table3": "similarities", "table4": "windows"}
"""What the key of each table for LaTeX is called."""


def _train_word2vec(index: CandidateIndex, field: Field) -> Path:
    """The file of word2vec vectors of an index's tokens or lemmas; trained if it is missing.

    Raises:
        StorageError: It cannot be written.
    """
    name = f"word2vec-{index.name}-{index.fingerprint}-{field}.vec"
    path = data_dir() / "vectors" / name
    if path.exists():
        return path
    # gensim warns of small texts through logging, in words that are not ours.
    logging.getLogger("gensim").addHandler(logging.NullHandler())
    coded = index.texts(field, index.ids())
    texts = [coded.text(number) for number in range(len(coded))]
    about = f"{field}s of index {index.name}"
    words = train_vectors(texts, path, WordVectorTraining(method="word2vec"), about, progress)
    print_note(f"trained word2vec vectors of {words} {field}s of the index")
    return path


def _field(name: str) -> Field:
    for field in FIELDS:
        if name == field:
            return field
    raise UsageError(
        f"use token, lemma, or both with a comma between them, not {name!r}", argument="input"
    )


def _paper_overlap(group: str) -> dict[str, Any]:
    """The paper's row of Table 1 for a link type, with the columns of `overlap_table`."""
    columns = ("jaccard_token", "jaccard_lemma", "source_length", "ref_length")
    names = [name for column in columns for name in (column, f"{column}_sd")]
    row = dict(zip([*names, "count"], printed_figures.OVERLAP[group], strict=True))
    return {"group": group, **row, "from": "paper"}


def _examples(names: Sequence[str]) -> str:
    """The first few names, quoted, for a message.

    Example:
        >>> _examples(["q1", "q2", "q3", "q4"])
        "'q1', 'q2', 'q3', …"
    """
    told = ", ".join(repr(name[:60]) for name in names[:3])
    return f"{told}, …" if len(names) > 3 else told
