"""Agreement of annotators on spans: overlap, the paper's κ, Krippendorff's uα, with intervals.

`measure_agreement` takes annotations and returns an `Agreement`. It forms all pairs of spans of an
instance (`overlap`), sums them up for each instance (`_Sample`), and resamples the instances.

Source of κ: Manjavacas, Long and Kestemont 2019. `docs/agreement.md`
tells what it does and does not correct for.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from allusion_es.annotation.agreement.krippendorff import Continua, continua_of
from allusion_es.annotation.agreement.overlap import (
    Pairs,
    SpanTable,
    pairs_of,
    span_table,
)
from allusion_es.annotation.spans import SpanAnnotation
from allusion_es.core.arrays import Floats, Integers
from allusion_es.core.errors import InputError

CONFIDENCE = 0.95
"""Share of resampled values that an interval holds."""

_BATCH = 64
"""Data sets that are resampled at once: weights of 64 x 10,000 instances take 5 MB."""

DIFFERING = "(differing)"
"""The kind of link of a pair whose two annotations name different kinds."""


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Coefficients of agreement over a set of pairs of spans.

    Attributes:
        instances: How many instances the pairs come from.
        pairs: Unordered pairs of spans of one instance.
        agreement: A_e, mean tokens in common.
        disagreement: D_e, mean tokens that only one of the two marked.
        observed_overlap: O_o, mean of each pair's overlap.
        expected_overlap: O_e = A_e / (A_e + D_e).
        kappa: (O_o - O_e) / (1 - O_e); 1 where all pairs are identical, and so O_e is 1.
        perfect_share: Share of pairs with identical spans.
        alpha: Krippendorff's alpha for units.
    """

    instances: int
    pairs: int
    agreement: float
    disagreement: float
    observed_overlap: float
    expected_overlap: float
    kappa: float
    perfect_share: float
    alpha: float


class Interval(NamedTuple):
    """The range of a coefficient in `CONFIDENCE` of the resampled data sets."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of annotations that were read, and of those that were compared.

    Attributes:
        instances: Instances that anybody judged.
        annotators: People who judged.
        annotations: Judgements.
        doubts: Judgements with a doubt.
        left_out: Doubts that were not compared; without `keep_doubts`, all of them.
        skipped: Judgements without a span and without a doubt.
        missing: Judgements that are not there, of instances that two or more people judged.
        alone: Instances with one span only, so that there is nothing to compare.
        assumed_lengths: Compared instances of which no annotation tells how long the text is, so
            that for uα it ends with the furthest span.
        without_anchor: Instances whose link names no anchor, so that spans could lie anywhere.
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
    without_anchor: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """The result of `measure_agreement`.

    Attributes:
        total: Over all pairs.
        intervals: Bootstrap intervals of the total's coefficients, by name; empty without
            resamples, or with one instance.
        by_pair: For each two annotators with a pair, sorted by name.
        by_type: For each kind of link, sorted; "" is a kind that is not told.
        by_anchor: For instances without an anchor (False), with one (True), and where it is not
            told (None), in this order, as far as they have pairs. Spans around an anchor have a
            word in common whatever their annotators think, others need not.
        counts: What was read.
        common: Tokens in common of each pair, shape (pairs,).
        union: Tokens that either marked of each pair, shape (pairs,).
    """

    total: Coefficients
    intervals: Mapping[str, Interval]
    by_pair: Mapping[tuple[str, str], Coefficients]
    by_type: Mapping[str, Coefficients]
    by_anchor: Mapping[bool | None, Coefficients]
    counts: Counts
    common: Integers
    union: Integers

    def histogram(self, bins: int = 10) -> Integers:
        """Number of pairs by overlap, in equal parts of 0 to 1, shape (bins,).

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
    """Measure how far annotators agree on spans.

    Args:
        annotations: At most one for each instance and annotator, in any order.
        keep_doubts: Whether spans that their annotator doubts are compared, too.
        resamples: How many data sets to draw for the intervals; 0 for no intervals. Instances are
            drawn with replacement, each with all its annotations, since pairs of one instance
            are not independent.
        seed: Seed of the random numbers.

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
    sample = _Sample(table, pairs)
    return Agreement(
        total=sample.coefficients(),
        intervals=_bootstrap_intervals(sample, resamples, seed),
        by_pair=dict(_by_pair(table, pairs)),
        by_type=dict(_by_type(table, pairs)),
        by_anchor=dict(_by_anchor(table, pairs)),
        counts=_counts(annotations, used, table, sample.continua),
        common=pairs.agreement,
        union=pairs.union,
    )


class _Sample:
    """Sums over the pairs of each instance.

    A resampled data set is then a row of weights, one for each instance, and its coefficients are a
    product of matrices: a thousand data sets take milliseconds.

    Args:
        table: The spans.
        pairs: Their pairs, at least one.
    """

    def __init__(self, table: SpanTable, pairs: Pairs) -> None:
        self.continua: Continua = continua_of(table, pairs)
        owner = table.instance[pairs.first]
        columns = (
            np.ones(owner.size),
            pairs.agreement,
            pairs.disagreement,
            pairs.overlap,
            pairs.disagreement == 0,
        )
        sums = [np.bincount(owner, weights=c, minlength=len(table.instances)) for c in columns]
        self._sums = np.stack(sums, axis=1)[self.continua.instance]

    def values(self, weights: Floats) -> dict[str, Floats]:
        """The coefficients if each instance occurs as often as its weight says.

        Args:
            weights: Shape (data sets, instances with a pair).

        Returns:
            An array of shape (data sets,) for each coefficient.
        """
        pairs, agreement, disagreement, overlap, perfect = (weights @ self._sums).T
        observed = overlap / pairs
        # (O_o - O_e) / (1 - O_e), with both sides multiplied by ΣA + ΣD.
        above = observed * (agreement + disagreement) - agreement
        one = np.ones_like(above)
        return {
            "agreement": agreement / pairs,
            "disagreement": disagreement / pairs,
            "observed_overlap": observed,
            "expected_overlap": agreement / (agreement + disagreement),
            "kappa": np.divide(above, disagreement, out=one, where=disagreement > 0),
            "perfect_share": perfect / pairs,
            "alpha": self.continua.alpha(weights),
        }

    def coefficients(self) -> Coefficients:
        """The coefficients of the pairs as they are."""
        values = self.values(np.ones((1, len(self._sums))))
        return Coefficients(
            instances=len(self._sums),
            pairs=int(self._sums[:, 0].sum()),
            **{name: float(value[0]) for name, value in values.items()},
        )


def _bootstrap_intervals(sample: _Sample, resamples: int, seed: int) -> dict[str, Interval]:
    """Percentile intervals of every value over instances drawn with replacement.

    Args:
        sample: The pairs; of one instance alone there are no intervals, which would be points.
        resamples: How many data sets to draw; with 0, there are no intervals.
        seed: Seed of the random numbers.
    """
    instances = len(sample.continua.instance)
    if not resamples or instances < 2:
        return {}
    random = np.random.default_rng(seed)
    drawn: dict[str, list[Floats]] = {}
    for done in range(0, resamples, _BATCH):
        weights = [
            np.bincount(random.integers(instances, size=instances), minlength=instances)
            for _ in range(min(_BATCH, resamples - done))
        ]
        for name, value in sample.values(np.array(weights, dtype=np.float64)).items():
            drawn.setdefault(name, []).append(value)
    ends = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    return {
        name: Interval(*(float(x) for x in np.quantile(np.concatenate(parts), ends)))
        for name, parts in drawn.items()
    }


def _by_pair(table: SpanTable, pairs: Pairs) -> Iterator[tuple[tuple[str, str], Coefficients]]:
    one, other = table.annotator[pairs.first], table.annotator[pairs.second]
    for code, coefficients in _grouped(table, pairs, one * len(table.annotators) + other):
        first, second = divmod(code, len(table.annotators))
        yield (table.annotators[first], table.annotators[second]), coefficients


def _by_type(table: SpanTable, pairs: Pairs) -> Iterator[tuple[str, Coefficients]]:
    one, other = table.type[pairs.first], table.type[pairs.second]
    unknown = table.types.index("") if "" in table.types else -1
    # An annotator who names no kind does not contradict one who names a kind.
    known = np.where(one == unknown, other, one)
    differ = (one != other) & (one != unknown) & (other != unknown)
    for code, coefficients in _grouped(table, pairs, np.where(differ, len(table.types), known)):
        yield (*table.types, DIFFERING)[code], coefficients


def _by_anchor(table: SpanTable, pairs: Pairs) -> Iterator[tuple[bool | None, Coefficients]]:
    found = dict(_grouped(table, pairs, table.anchor[pairs.first]))
    for code, told in ((0, False), (1, True), (-1, None)):
        if code in found:
            yield told, found[code]


def _grouped(
    table: SpanTable, pairs: Pairs, groups: Integers
) -> Iterator[tuple[int, Coefficients]]:
    """The coefficients of the pairs of each group, `groups` of shape (pairs,)."""
    order = np.argsort(groups, kind="stable")
    ends = np.flatnonzero(np.diff(groups[order])) + 1
    for chosen in np.split(order, ends):
        # A table of only the spans in these pairs, and the pairs renumbered to its rows.
        rows = np.unique(np.concatenate([pairs.first[chosen], pairs.second[chosen]]))
        part = table.rows(rows)
        within = Pairs(
            np.searchsorted(rows, pairs.first[chosen]),
            np.searchsorted(rows, pairs.second[chosen]),
            pairs.agreement[chosen],
            pairs.disagreement[chosen],
        )
        yield int(groups[chosen[0]]), _Sample(part, within).coefficients()


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
        without_anchor=len({row.instance for row in annotations if row.has_anchor is False}),
    )
