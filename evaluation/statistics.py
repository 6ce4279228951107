"""How sure a mean is, and whether one method is better than another.

Queries from one work, or from one verse, resemble each other, so that they say less than as
many unrelated ones. Here the group is what is drawn and what is swapped, never the query.
Everything is seeded: the same input gives the same digits.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import ndtr, stdtrit

from allusion_es.core.errors import UsageError
from allusion_es.evaluation.groups import Groups, differences, finite, grouped, parts
from allusion_es.evaluation.significance import effect_size, holm, paired_randomisation

__all__ = [
    "Comparison",
    "bootstrap_interval",
    "compare",
    "effect_size",
    "holm",
    "paired_randomisation",
]


def bootstrap_interval(
    values: Sequence[float],
    groups: Groups = None,
    *,
    seed: int = 0,
    resamples: int = 10_000,
    level: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> tuple[float, float]:
    """A confidence interval of the mean over queries: the cluster bootstrap.

    As many groups as there are, n, are drawn with replacement, and the mean is taken over the
    queries of those drawn. The interval lies between two percentiles of these means, set
    further apart for small n: not at α/2 but at Φ(-√(n / (n - 1)) t), t the α/2 quantile of
    Student's t with n - 1 degrees of freedom.

    Sources: A. C. Davison and D. V. Hinkley, Bootstrap Methods and their Application (1997),
    section 3.8; T. C. Hesterberg, What Teachers Should Know About the Bootstrap, The American
    Statistician 69 (2015), section 4.3 (expanded percentile interval).

    Args:
        values: One for each query, finite.
        groups: The group of each query (its work, or the verse that it is from).
        seed: Another seed gives another sample.
        resamples: How often to draw, at least 1.
        level: How often such intervals hold the true mean, between 0 and 1.
        bounds: What the interval is where there are fewer than two groups, from which nothing
            can be learned: the least and the greatest mean that there can be.

    Returns:
        Its ends.

    Raises:
        UsageError: A value is not finite, a number is out of range, or there is not one group
            for each value.

    Example:
        >>> bootstrap_interval([0.5] * 10), bootstrap_interval([1.0, 1.0], ["Gen", "Gen"])
        ((0.5, 0.5), (0.0, 1.0))
    """
    if resamples < 1 or not 0 < level < 1:
        raise UsageError(
            f"resamples must be at least 1 and the level between 0 and 1, not {resamples} and "
            f"{level}"
        )
    sums, sizes = grouped(finite(values), groups)
    count = len(sums)
    if count < 2:
        return bounds
    means = np.empty(resamples)
    numbers = np.random.default_rng(seed)
    for part in parts(resamples, count):
        drawn = numbers.integers(0, count, size=(part.stop - part.start, count))
        means[part] = sums.take(drawn).sum(axis=1) / sizes.take(drawn).sum(axis=1)
    tail = _tail((1 - level) / 2, count)
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two methods compared on the same queries.

    Attributes:
        first: Name of one method.
        second: Name of the other.
        difference: Mean of the first less mean of the second.
        low: Lower end of the confidence interval of the difference.
        high: Upper end.
        p: From `paired_randomisation`.
        adjusted_p: The same after `holm` over all pairs that were compared.
        effect: From `effect_size`.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    adjusted_p: float
    effect: float


def compare(
    values_by_method: Mapping[str, Sequence[float]],
    groups: Groups = None,
    *,
    seed: int = 0,
    resamples: int = 10_000,
    permutations: int = 10_000,
    level: float = 0.95,
) -> list[Comparison]:
    """Every pair of methods, in the order in which they are given.

    Args:
        values_by_method: For each method the values of the same queries, from 0 to 1.
        groups: The group of each query.
        seed: As for the functions that are used.
        resamples: As for `bootstrap_interval`.
        permutations: As for `paired_randomisation`.
        level: As for `bootstrap_interval`.

    Raises:
        UsageError: As they do.

    Example:
        >>> (pair,) = compare({"bm25": [1.0, 1.0, 0.5, 0.5], "tfidf": [0.5, 0.0, 0.5, 0.0]})
        >>> pair.first, pair.second, pair.difference, pair.p
        ('bm25', 'tfidf', 0.5, 0.25)
    """
    pairs = list(combinations(values_by_method, 2))
    valued = [(values_by_method[first], values_by_method[second]) for first, second in pairs]
    p_values = [
        paired_randomisation(a, b, groups, seed=seed, permutations=permutations) for a, b in valued
    ]
    compared = []
    for names, (a, b), p, adjusted in zip(pairs, valued, p_values, holm(p_values), strict=True):
        each = differences(a, b).tolist()
        low, high = bootstrap_interval(
            each, groups, seed=seed, resamples=resamples, level=level, bounds=(-1.0, 1.0)
        )
        mean = math.fsum(each) / len(each) if each else 0.0
        compared.append(Comparison(*names, mean, low, high, p, adjusted, effect_size(a, b)))
    return compared


def _tail(alpha: float, count: int) -> float:
    """The percentile of the expanded interval, as a share."""
    return float(ndtr(math.sqrt(count / (count - 1)) * stdtrit(count - 1, alpha)))
