"""Coefficients of agreement over pairs of spans, and how sure they are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from allusion_es.annotation.agreement.krippendorff import Continua, continua_of
from allusion_es.annotation.agreement.overlap import Pairs, SpanTable
from allusion_es.core.arrays import Floats

CONFIDENCE = 0.95
"""Share of resampled values that an interval holds."""

_BATCH = 64


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Agreement over a set of pairs.

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
    """Where a coefficient lies in `CONFIDENCE` of the resampled data sets."""

    low: float
    high: float


class Sample:
    """Pairs, summed up for each instance, so that instances can be drawn again and again.

    Args:
        table: Spans, of which at least two can be compared.
        pairs: Which of them are.
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


def bootstrap_intervals(
    values: Callable[[Floats], dict[str, Floats]], instances: int, resamples: int, seed: int
) -> dict[str, Interval]:
    """Percentile intervals of every value over instances drawn with replacement.

    Args:
        values: Takes how often each instance occurs, shape (data sets, instances), and returns
            arrays of shape (data sets,).
        instances: How many instances there are; one alone has no intervals, which would be points.
        resamples: How many data sets to draw; with 0, there are no intervals.
        seed: Of the drawing.
    """
    if not resamples or instances < 2:
        return {}
    random = np.random.default_rng(seed)
    drawn: dict[str, list[Floats]] = {}
    for done in range(0, resamples, _BATCH):
        weights = [
            np.bincount(random.integers(instances, size=instances), minlength=instances)
            for _ in range(min(_BATCH, resamples - done))
        ]
        for name, value in values(np.array(weights, dtype=np.float64)).items():
            drawn.setdefault(name, []).append(value)
    ends = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    return {
        name: Interval(*(float(x) for x in np.quantile(np.concatenate(parts), ends)))
        for name, parts in drawn.items()
    }
