"""Whether one method is better than another: randomisation test, Holm, effect size."""

from allusion_es.core.arrays import Floats
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.errors import UsageError
from allusion_es.evaluation.groups import (
    Groups,
    differences,
    grouped,
    parts,
)

_ROUNDING = 1e-12
"""Differences below this come from rounding."""


def paired_randomisation(
    a: Sequence[float],
    b: Sequence[float],
    groups: Groups = None,
    *,
    seed: int = 0,
    permutations: int = 10_000,
) -> float:
    """How probable so great a difference of means is if the two methods are alike: p, two-sided.

    If they are alike, it is chance which of them gave which value of a pair. The sign of the
    difference is turned for whole groups, for all groups of a random half. p is the share of
    such turns, the actual one among them, in which the sum of the differences is as far from 0
    as it is. All 2ⁿ turns are tried where they are no more than `permutations`.

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
    sums, _ = grouped(differences(a, b), groups)
    # Groups without a difference change no sum, whichever way they are turned.
    sums = sums[np.abs(sums) > _ROUNDING]
    if 1 << len(sums) <= permutations:
        turns = 1 << len(sums)
        return _as_extreme(_all_signs(turns, len(sums)), sums) / turns
    numbers = np.random.default_rng(seed)
    signs = (
        numbers.integers(0, 2, size=(part.stop - part.start, len(sums)), dtype=np.int8)
        for part in parts(permutations, len(sums))
    )
    return (_as_extreme(signs, sums) + 1) / (permutations + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Probabilities adjusted for being several, by Holm's step-down method.

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
    """The mean of the differences a - b / their standard deviation; 0 where they do not vary.

    Source: J. Cohen, Statistical Power Analysis for the Behavioral Sciences (1988), d for
    paired samples; the deviation is the sample's, with n - 1.

    Raises:
        UsageError: The values are not pairs or not finite.

    Example:
        >>> round(effect_size([1.0, 0.5, 0.0], [0.0, 0.5, 0.0]), 6)  # 1/3 / sqrt(1/3)
        0.57735
    """
    each = differences(a, b)
    if len(each) < 2:
        return 0.0
    deviation = float(each.std(ddof=1))
    return float(each.mean()) / deviation if deviation > _ROUNDING else 0.0


def _all_signs(turns: int, count: int) -> Iterator[NDArray[np.int8]]:
    for part in parts(turns, count):
        numbers = np.arange(part.start, part.stop, dtype=np.int64)[:, None]
        yield (numbers >> np.arange(count) & 1).astype(np.int8)


def _as_extreme(signs: Iterator[NDArray[np.int8]], sums: Floats) -> int:
    """In how many turns (rows of 0 and 1) the total is as far from 0 as it is unturned."""
    total = float(sums.sum())
    least = abs(total) - _ROUNDING * max(1, len(sums))
    return sum(
        int(np.count_nonzero(np.abs(2 * (chosen @ sums) - total) >= least)) for chosen in signs
    )
