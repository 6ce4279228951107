"""How far annotators agree: the paper's κ for spans, uα, and what they rest on.

Source of κ: Manjavacas, Long and Kestemont 2019. What it does and does not correct for is told in
`docs/agreement.md`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from allusion_es.annotation.agreement.coefficients import (
    Coefficients,
    Interval,
    Sample,
    bootstrap_intervals,
)
from allusion_es.annotation.agreement.krippendorff import Continua
from allusion_es.annotation.agreement.overlap import (
    Pairs,
    SpanTable,
    pairs_of,
    span_table,
)
from allusion_es.annotation.spans import SpanAnnotation
from allusion_es.core.arrays import Floats, Integers
from allusion_es.core.errors import InputError

DIFFERING = "(differing)"
"""The kind of link of a pair whose two annotations name different kinds."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What was read, and what of it was compared.

    Attributes:
        instances: Instances that anybody judged.
        annotators: People who judged.
        annotations: Judgements.
        doubts: Judgements with a doubt.
        left_out: Doubts that were not compared; without `keep_doubts`, all of them.
        skipped: Judgements without a span and without a doubt.
        missing: Judgements that are not there, of instances that two or more people judged.
        alone: Instances with one span only, which nothing can be compared with.
        assumed_lengths: Compared instances of which no annotation tells how long the text is, so
            that for uα it ends with the furthest span.
    """

    instances: int
    annotators: int
    annotations: int
    doubts: int
    left_out: int
    skipped: int
    missing: int
    alone: int
    assumed_lengths: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """All that `measure_agreement` found.

    Attributes:
        total: Over all pairs.
        intervals: Bootstrap intervals of the total's coefficients, by name; empty without
            resamples, or with one instance.
        by_pair: For each two annotators with a pair, sorted by name.
        by_type: For each kind of link, sorted; "" is a kind that is not told.
        counts: What was read.
        common: Tokens in common of each pair, shape (pairs,).
        union: Tokens that either marked of each pair, shape (pairs,).
    """

    total: Coefficients
    intervals: Mapping[str, Interval]
    by_pair: Mapping[tuple[str, str], Coefficients]
    by_type: Mapping[str, Coefficients]
    counts: Counts
    common: Integers
    union: Integers

    def histogram(self, bins: int = 10) -> Integers:
        """How many pairs have an overlap in each part of 0 to 1, shape (bins,).

        A part holds its lower end; the last one holds 1, too.
        """
        places = np.minimum(self.common * bins // self.union, bins - 1)
        return np.bincount(places, minlength=bins)

    def cumulative(self) -> tuple[Floats, Floats]:
        """Each overlap that occurs, ascending, and the share of pairs with at most that much."""
        overlaps, counts = np.unique(self.common / self.union, return_counts=True)
        return overlaps, np.cumsum(counts) / self.common.size


def measure_agreement(
    annotations: Sequence[SpanAnnotation],
    *,
    keep_doubts: bool = False,
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """How far annotators agree on spans.

    Args:
        annotations: At most one for each instance and annotator, in any order.
        keep_doubts: Whether spans that their annotator doubts are compared, too.
        resamples: How many data sets to draw for the intervals; 0 for no intervals. Instances are
            drawn with replacement, each with all its annotations, since pairs of one instance
            are not independent.
        seed: Of the drawing.

    Raises:
        InputError: No instance has two spans to compare.

    Example:
        >>> annotations = [
        ...     SpanAnnotation("b-1", "anna", 2, 6),
        ...     SpanAnnotation("b-1", "berta", 4, 9),
        ...     SpanAnnotation("b-2", "anna", 0, 3),
        ...     SpanAnnotation("b-2", "berta", 0, 3),
        ... ]
        >>> total = measure_agreement(annotations, resamples=0).total
        >>> round(total.observed_overlap, 4), total.expected_overlap, round(total.kappa, 4)
        (0.6429, 0.5, 0.2857)
    """
    used = [row for row in annotations if row.length and (keep_doubts or not row.doubt)]
    table = span_table(used)
    pairs = pairs_of(table)
    if not pairs.first.size:
        raise InputError(
            f"{len(annotations)} annotations, {len(used)} of them with a span to compare: no "
            "instance has spans of two annotators; give the files of two annotators or more"
        )
    sample = Sample(table, pairs)
    return Agreement(
        total=sample.coefficients(),
        intervals=bootstrap_intervals(
            sample.values, len(sample.continua.instance), resamples, seed
        ),
        by_pair=dict(_by_pair(table, pairs)),
        by_type=dict(_by_type(table, pairs)),
        counts=_counts(annotations, used, table, sample.continua),
        common=pairs.agreement,
        union=pairs.union,
    )


def _by_pair(table: SpanTable, pairs: Pairs) -> Iterator[tuple[tuple[str, str], Coefficients]]:
    one, other = table.annotator[pairs.first], table.annotator[pairs.second]
    for code, coefficients in _grouped(table, pairs, one * len(table.annotators) + other):
        first, second = divmod(code, len(table.annotators))
        yield (table.annotators[first], table.annotators[second]), coefficients


def _by_type(table: SpanTable, pairs: Pairs) -> Iterator[tuple[str, Coefficients]]:
    one, other = table.type[pairs.first], table.type[pairs.second]
    unknown = table.types.index("") if "" in table.types else -1
    # Who names no kind does not contradict who names one.
    known = np.where(one == unknown, other, one)
    differ = (one != other) & (one != unknown) & (other != unknown)
    for code, coefficients in _grouped(table, pairs, np.where(differ, len(table.types), known)):
        yield (*table.types, DIFFERING)[code], coefficients


def _grouped(
    table: SpanTable, pairs: Pairs, groups: Integers
) -> Iterator[tuple[int, Coefficients]]:
    """The coefficients of the pairs of each group, `groups` of shape (pairs,)."""
    order = np.argsort(groups, kind="stable")
    ends = np.flatnonzero(np.diff(groups[order])) + 1
    for chosen in np.split(order, ends):
        rows = np.unique(np.concatenate([pairs.first[chosen], pairs.second[chosen]]))
        part = table.rows(rows)
        within = Pairs(
            np.searchsorted(rows, pairs.first[chosen]),
            np.searchsorted(rows, pairs.second[chosen]),
            pairs.agreement[chosen],
            pairs.disagreement[chosen],
        )
        yield int(groups[chosen[0]]), Sample(part, within).coefficients()


def _counts(
    annotations: Sequence[SpanAnnotation],
    used: Sequence[SpanAnnotation],
    table: SpanTable,
    continua: Continua,
) -> Counts:
    judged = Counter(row.instance for row in annotations)
    annotators = len({row.annotator for row in annotations})
    doubts = sum(row.doubt for row in annotations)
    told = {row.instance for row in used if row.tokens}
    return Counts(
        instances=len(judged),
        annotators=annotators,
        annotations=len(annotations),
        doubts=doubts,
        left_out=doubts - sum(row.doubt for row in used),
        skipped=sum(not row.length and not row.doubt for row in annotations),
        missing=sum(annotators - count for count in judged.values() if count > 1),
        alone=len(table.instances) - len(continua.instance),
        assumed_lengths=sum(table.instances[i] not in told for i in continua.instance),
    )
