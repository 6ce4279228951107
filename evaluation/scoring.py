"""Figures of runs: the measures of each method by group of gold links, with intervals.

A run is judged (`score_run`), then measured (`score_rows`) or compared with others
(`compare_methods`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.measures import Judged, Measure, judge, macro_mean, mean
from allusion_es.evaluation.runs import Run
from allusion_es.evaluation.statistics import Comparison, bootstrap_interval, compare

MACRO = "macro by work"
"""Name of the group in which each work counts alike."""

_RESAMPLES = 2_000
"""Draws for an interval by default: its ends then vary by about a fiftieth of its width."""

_COMPARED = (
    "first", "second", "difference", "difference_low", "difference_high", "p", "p_holm", "effect",
)  # fmt: skip
"""The columns of a comparison of two methods."""

_DIGITS = 4
"""Digits after the point of figures from 0 to 100; tables for people show fewer."""


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A method's run with the ranks of the relevant passages.

    Attributes:
        labels: The columns printed before the figures, such as method and input.
        judged: The judged ranking of each gold link, in the order of the links.
        unanswered: Numbers of the gold links whose query the method could not answer.
    """

    labels: Mapping[str, str]
    judged: tuple[Judged, ...]
    unanswered: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """All labels, with blanks between them."""
        return " ".join(self.labels.values())


@dataclass(frozen=True, slots=True)
class Scoring:
    """The measures of an evaluation, and how their confidence intervals are drawn.

    Attributes:
        measures: The measures.
        resamples: How often queries are drawn for an interval; 0 for no intervals.
        level: How often such intervals hold the true mean, between 0 and 1.
        seed: Seed of the draws.
    """

    measures: tuple[Measure, ...]
    resamples: int = _RESAMPLES
    level: float = 0.95
    seed: int = 0


def score_run(
    run: Run,
    links: Sequence[GoldLink],
    labels: Mapping[str, str],
    unanswered: Collection[str] = (),
) -> ScoredRun:
    """The run, judged by gold links; a query that it lacks counts as one without hits.

    Args:
        run: The run.
        links: The gold links.
        labels: The columns printed before the figures.
        unanswered: Ids of the queries that it lacks because the method could not answer them.
    """
    judged = []
    for link in links:
        found = run.get(link.query.query_id)
        judged.append(judge(found.ranking.ids if found else (), link.relevant))
    failed = (n for n, link in enumerate(links) if link.query.query_id in unanswered)
    return ScoredRun(labels, tuple(judged), frozenset(failed))


def query_groups(links: Sequence[GoldLink]) -> list[str]:
    """The group of each link in resampling: the verse that it is from, else the work, else itself.

    Queries of one group resemble each other, so that they are drawn together (`statistics`).


    Example:
        >>> from allusion_es.retrieval.types import Query
        >>> query_groups([GoldLink(Query("lux", "q1"), ("Gen.1.3",), author="Bernard"),
        ...               GoldLink(Query("lux", "q2"), ("Gen.1.3",))])
        ['work Bernard', 'query q2']
    """
    return [
        f"verse {link.source_ids[0]}"
        if link.source_ids
        else f"work {link.work}"
        if link.work
        else f"query {link.query.query_id}"
        for link in links
    ]


def score_rows(
    scored: Iterable[ScoredRun], links: Sequence[GoldLink], scoring: Scoring
) -> list[dict[str, Any]]:
    """The figures of each method for each group of links, from 0 to 100.

    A row has the labels, the group, the number of queries and the figures. Groups are the link
    types, all links, and all links with each work counting alike, where there are several of each.
    `candidate_recall` is the share of queries with a relevant passage among the candidates: the
    most that a reranker could find. Where a method could not answer all queries, `unanswered` says
    how many of `queries` these are: they count as not found, so that all methods are measured on
    the same queries.
    """
    groups = link_groups(links)
    clusters = query_groups(links)
    scored = list(scored)
    has_unanswered = any(one.unanswered for one in scored)
    rows = []
    for one in scored:
        for group, members in groups.items():
            row: dict[str, Any] = {**one.labels, "group": group, "queries": len(members)}
            if has_unanswered:
                row["unanswered"] = len(one.unanswered.intersection(members))
            judged = [one.judged[number] for number in members]
            for measure in scoring.measures:
                values = [measure(each) for each in judged]
                row[measure.name] = _percent(mean(values))
                if scoring.resamples:
                    low, high = bootstrap_interval(
                        values,
                        [clusters[number] for number in members],
                        seed=scoring.seed,
                        resamples=scoring.resamples,
                        level=scoring.level,
                    )
                    row[f"{measure.name}_low"] = _percent(low)
                    row[f"{measure.name}_high"] = _percent(high)
            row["candidate_recall"] = _percent(mean([float(bool(j.ranks)) for j in judged]))
            rows.append(row)
        rows += _macro_row(one, links, scoring, has_unanswered)
    return rows


def link_groups(links: Sequence[GoldLink]) -> dict[str, list[int]]:
    """Numbers of the links of each type, where there are several types, and of all links."""
    groups: dict[str, list[int]] = {}
    for number, link in enumerate(links):
        groups.setdefault(link.type or "untyped", []).append(number)
    if len(groups) == 1:
        groups = {}
    return {**groups, "all": list(range(len(links)))}


def compare_methods(
    scored: Sequence[ScoredRun], links: Sequence[GoldLink], measure: Measure, scoring: Scoring
) -> list[Comparison]:
    """The comparison of every pair of methods by one measure, as `statistics.compare` makes it."""
    values = {one.name: [measure(judged) for judged in one.judged] for one in scored}
    return compare(
        values,
        query_groups(links),
        seed=scoring.seed,
        # A comparison always has an interval, also where single figures have none.
        resamples=scoring.resamples or _RESAMPLES,
        level=scoring.level,
    )


def with_best(
    rows: Sequence[Mapping[str, Any]],
    labels: Collection[str],
    measure: str,
    pairs: Sequence[Comparison],
) -> list[dict[str, Any]]:
    """The rows, each of all links with how it differs from the best of them.

    The new columns are None for the best itself and for other groups of links, since methods are
    compared on all links.

    Args:
        rows: From `score_rows`.
        labels: Names of the columns before the group.
        measure: Name of the measure by which methods were compared.
        pairs: From `compare_methods`.
    """
    every = [row for row in rows if row["group"] == "all"]
    best = _row_name(max(every, key=lambda row: float(row[measure])), labels)
    differences: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        if pair.second == best:
            differences[pair.first] = comparison_row(pair)
        elif pair.first == best:
            turned = replace(
                pair,
                first=pair.second,
                second=best,
                # 0 - 0 is 0, while -0 would be shown as such.
                difference=0 - pair.difference,
                low=0 - pair.high,
                high=0 - pair.low,
                effect=0 - pair.effect,
            )
            differences[pair.second] = comparison_row(turned)
    added = []
    for row in rows:
        own = differences.get(_row_name(row, labels)) if row["group"] == "all" else None
        found = own or dict.fromkeys(_COMPARED)
        columns = {name: found[name] for name in _COMPARED if name not in ("first", "second")}
        added.append({**row, "versus": best if own else None, **columns})
    return added


def comparison_row(pair: Comparison) -> dict[str, Any]:
    """The columns of a comparison, with differences from -100 to 100."""
    values = (
        pair.first,
        pair.second,
        _percent(pair.difference),
        _percent(pair.low),
        _percent(pair.high),
        round(pair.p, 6),
        round(pair.adjusted_p, 6),
        round(pair.effect, 4),
    )
    return dict(zip(_COMPARED, values, strict=True))


def _row_name(row: Mapping[str, Any], labels: Collection[str]) -> str:
    """The name of a row's run, as `ScoredRun.name` gives it."""
    return " ".join(row[label] for label in labels)


def _macro_row(
    one: ScoredRun, links: Sequence[GoldLink], scoring: Scoring, has_unanswered: bool
) -> list[dict[str, Any]]:
    """The figures with each work counting alike; none unless the links are of several works."""
    works = [link.work for link in links]
    if len(set(works)) < 2 or not all(works):
        return []

    def macro(value: Callable[[Judged], float]) -> float:
        return _percent(macro_mean([value(judged) for judged in one.judged], works))

    row: dict[str, Any] = {**one.labels, "group": MACRO, "queries": len(links)}
    if has_unanswered:
        row["unanswered"] = len(one.unanswered)
    for measure in scoring.measures:
        row[measure.name] = macro(measure)
        if scoring.resamples:
            # Groups are drawn whole, and here the works themselves are the units: no interval.
            row[f"{measure.name}_low"] = row[f"{measure.name}_high"] = None
    row["candidate_recall"] = macro(lambda judged: float(bool(judged.ranks)))
    return [row]


def _percent(value: float) -> float:
    return round(100 * value, _DIGITS)
