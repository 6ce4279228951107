"""Confidence intervals of means, and tests of whether one method is better than another.

Queries from one work, or from one verse, resemble each other, so that they say less than as many
unrelated ones. So groups of queries are drawn and turned here, never single queries. Everything
is seeded: the same input gives the same digits.

`scipy.stats` has no cluster bootstrap with expanded percentiles, and no Holm adjustment. Its
`permutation_test` gives the p of `paired_randomisation` where all turns are tried, but draws
other turns where they are sampled, and tries each sign of groups that do not differ.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import UsageError

Groups = Sequence[Hashable] | None
"""The group that each query belongs to; None where each query stands alone."""

_ROUNDING = 1e-12
"""Differences below this come from rounding."""

_CELLS = 1 << 20
"""Most numbers drawn at once (8 MB), so that memory does not grow with the number of draws.

Another number cuts the generator's stream elsewhere, so that last digits of figures may change.
"""


def bootstrap_interval(
    values: Sequence[float],
    groups: Groups = None,
    *,
    seed: int = 0,
    resamples: int = 10_000,
    level: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> tuple[float, float]:
    """The confidence interval of the mean over queries, by the cluster bootstrap.

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
        bounds: The least and the greatest mean that are possible: the interval where there are
            fewer than two groups, from which nothing can be learned.

    Returns:
        The lower and the upper end.

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
    sums, sizes = _group_sums(_finite(values), groups)
    count = len(sums)
    if count < 2:
        return bounds
    means = np.empty(resamples)
    numbers = np.random.default_rng(seed)
    for part in _row_slices(resamples, count):
        drawn = numbers.integers(0, count, size=(part.stop - part.start, count))
        means[part] = sums.take(drawn).sum(axis=1) / sizes.take(drawn).sum(axis=1)
    # Plain percentiles are too narrow for few groups; this is the expansion named above.
    expanded = math.sqrt(count / (count - 1)) * stdtrit(count - 1, (1 - level) / 2)
    tail = float(ndtr(expanded))
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def paired_randomisation(
    a: Sequence[float],
    b: Sequence[float],
    groups: Groups = None,
    *,
    seed: int = 0,
    permutations: int = 10_000,
) -> float:
    """The two-sided p of the difference of two methods' means, by the randomisation test.

    p is the probability of so great a difference if the methods are alike. Then it is chance
    which of them gave which value of a pair, and the sign of the difference of a whole group may
    be turned. p is the share of such turns of random groups, the actual one among them, in which
    the sum of the differences is as far from 0 as it is. All 2ⁿ turns are tried where they are no
    more than `permutations`.

    Sources: M. D. Smucker, J. Allan and B. Carterette, A Comparison of Statistical Significance
    Tests for Information Retrieval Evaluation (CIKM 2007); B. Phipson and G. K. Smyth,
    Permutation P-values Should Never Be Zero, Statistical Applications in Genetics and
    Molecular Biology 9 (2010).

    Args:
        a: One method's values, one for each query, finite.
        b: The other's, for the same queries.
        groups: The group of each query.
        seed: Another seed gives another sample.
        permutations: How many turns to try, at least 1.

    Returns:
        p, above 0 and at most 1.

    Raises:
        UsageError: The values are not pairs or not finite, `permutations` is below 1, or there
            is not one group for each pair.

    Example:
        >>> paired_randomisation([1, 1, 1], [0, 0, 0])  # +++ and --- of 8 turns
        0.25
        >>> paired_randomisation([1, 1, 1], [0, 0, 0], ["Gen", "Gen", "Isa"])
        0.5
    """
    if permutations < 1:
        raise UsageError(f"permutations must be at least 1, not {permutations}")
    sums, _ = _group_sums(_differences(a, b), groups)
    # Groups without a difference change no sum, whichever way they are turned.
    sums = sums[np.abs(sums) > _ROUNDING]
    if 1 << len(sums) <= permutations:
        turns = 1 << len(sums)
        return _as_extreme(_all_signs(turns, len(sums)), sums) / turns
    numbers = np.random.default_rng(seed)
    signs = (
        numbers.integers(0, 2, size=(part.stop - part.start, len(sums)), dtype=np.int8)
        for part in _row_slices(permutations, len(sums))
    )
    # The actual turn is one of those that are counted, so that p is never 0.
    return (_as_extreme(signs, sums) + 1) / (permutations + 1)


def _all_signs(turns: int, count: int) -> Iterator[NDArray[np.int8]]:
    """All turns of `count` groups: the binary digits of the numbers from 0 to 2ⁿ - 1."""
    for part in _row_slices(turns, count):
        numbers = np.arange(part.start, part.stop, dtype=np.int64)[:, None]
        yield (numbers >> np.arange(count) & 1).astype(np.int8)


def _as_extreme(signs: Iterator[NDArray[np.int8]], sums: Floats) -> int:
    """The number of turns (rows of 0 and 1) whose total is as far from 0 as the actual total."""
    total = float(sums.sum())
    least = abs(total) - _ROUNDING * max(1, len(sums))
    # To turn the chosen groups takes their sums away twice.
    return sum(
        int(np.count_nonzero(np.abs(2 * (chosen @ sums) - total) >= least)) for chosen in signs
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values of several tests, adjusted for their number by Holm's step-down method.

    The least of m is multiplied by m, the next by m - 1, and so on; none is less than the one
    before it, none above 1.

    Source: S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian
    Journal of Statistics 6 (1979).

    Example:
        >>> holm([0.03, 0.01, 0.04])
        [0.06, 0.03, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    order = sorted(range(len(p_values)), key=lambda number: p_values[number])
    for before, number in enumerate(order):
        highest = min(1.0, max(highest, p_values[number] * (len(p_values) - before)))
        adjusted[number] = highest
    return adjusted


def effect_size(a: Sequence[float], b: Sequence[float]) -> float:
    """Cohen's d: the mean of the differences a - b / their standard deviation; 0 without variance.

    Source: J. Cohen, Statistical Power Analysis for the Behavioral Sciences (1988), d for
    paired samples; the deviation is the sample's, with n - 1.

    Raises:
        UsageError: The values are not pairs or not finite.

    Example:
        >>> round(effect_size([1.0, 0.5, 0.0], [0.0, 0.5, 0.0]), 6)  # 1/3 / sqrt(1/3)
        0.57735
    """
    each = _differences(a, b)
    if len(each) < 2:
        return 0.0
    deviation = float(each.std(ddof=1))
    return float(each.mean()) / deviation if deviation > _ROUNDING else 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two methods compared on the same queries.

    Attributes:
        first: Name of one method.
        second: Name of the other.
        difference: Mean of the first minus mean of the second.
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
    """The comparison of every pair of methods, in the order in which they are given.

    Args:
        values_by_method: For each method the values of the same queries, from 0 to 1.
        groups: The group of each query.
        seed: As for `bootstrap_interval` and `paired_randomisation`.
        resamples: As for `bootstrap_interval`.
        permutations: As for `paired_randomisation`.
        level: As for `bootstrap_interval`.

    Raises:
        UsageError: As `bootstrap_interval` and `paired_randomisation` raise it.

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
        each = _differences(a, b).tolist()
        low, high = bootstrap_interval(
            each, groups, seed=seed, resamples=resamples, level=level, bounds=(-1.0, 1.0)
        )
        mean = math.fsum(each) / len(each) if each else 0.0
        compared.append(Comparison(*names, mean, low, high, p, adjusted, effect_size(a, b)))
    return compared


def _differences(a: Sequence[float], b: Sequence[float]) -> Floats:
    """The differences a - b of each query, shape (n,).

    Raises:
        UsageError: There are not as many, or one is not finite.
    """
    if len(a) != len(b):
        raise UsageError(f"{len(a)} values against {len(b)}; give both methods the same queries")
    return _finite(a) - _finite(b)


def _finite(values: Sequence[float]) -> Floats:
    """The values as an array, shape (n,).

    Raises:
        UsageError: One is not finite; the message says which.
    """
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise UsageError(f"value {place + 1} of {len(array)} is {array[place]}; give finite ones")
    return array


def _group_sums(values: Floats, groups: Groups) -> tuple[Floats, Floats]:
    """The sum and the number of the values of each group, both of shape (groups,).

    Raises:
        UsageError: There is not one group for each value.

    Example:
        >>> sums, sizes = _group_sums(np.array([1.0, 2.0, 4.0]), ["Gen", "Isa", "Gen"])
        >>> sums.tolist(), sizes.tolist()
        ([5.0, 2.0], [2.0, 1.0])
    """
    if groups is None:
        return values, np.ones(len(values))
    if len(groups) != len(values):
        raise UsageError(f"{len(groups)} groups for {len(values)} values; give one for each")
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=np.int64)
    sums = np.bincount(codes, weights=values).astype(np.float64)
    return sums, np.bincount(codes).astype(np.float64)


def _row_slices(rows: int, columns: int) -> Iterator[slice]:
    """Slices of the rows of a table, each of at most `_CELLS` cells, or of one row."""
    size = max(1, _CELLS // max(columns, 1))
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))
