"""Intervals and tests: by hand where they are small, by simulation where they are not."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from allusion_es.core.errors import UsageError
from allusion_es.evaluation.measures import mean
from allusion_es.evaluation.statistics import (
    Comparison,
    bootstrap_interval,
    compare,
    effect_size,
    holm,
    paired_randomisation,
)

shares = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), min_size=1, max_size=30)


def test_an_interval_by_hand() -> None:
    """Of two groups with means 0 and 1, a quarter of the samples has mean 0, a quarter 1."""
    assert bootstrap_interval([0, 1], level=0.4) == (0, 1)
    # Expanded for n = 2, α/2 = 0.45: t = -0.1584, and Φ(-√2 · 0.1584) = 0.411, in the middle.
    assert bootstrap_interval([0, 1], level=0.1) == (0.5, 0.5)


def test_whole_groups_are_drawn() -> None:
    """Groups of 3 and 1: the means that there can be are 1, 3/4 and 0, and nothing between."""
    values, groups = [1.0, 1.0, 1.0, 0.0], ["Gen", "Gen", "Gen", "Isa"]
    assert bootstrap_interval(values, groups, level=0.1) == (0.75, 0.75)
    assert bootstrap_interval(values, groups, level=0.9) == (0, 1)


def coverage(clusters: int, per_cluster: int, use_groups: bool) -> float:
    """How often intervals hold the true mean 0.4 of values of clustered queries."""
    numbers = np.random.default_rng(7)
    held = 0
    for seed in range(400):
        means = numbers.beta(2, 3, clusters)
        sizes = numbers.integers(1, 2 * per_cluster, clusters)
        groups = np.repeat(np.arange(clusters), sizes)
        values = (numbers.random(len(groups)) < means[groups]).astype(float)
        chosen = groups.tolist() if use_groups else None
        low, high = bootstrap_interval(values.tolist(), chosen, seed=seed, resamples=400)
        held += low <= 0.4 <= high
    return held / 400


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Nominal 0.95; the standard error of a share of 400 is 0.011."""
    assert 0.92 < coverage(clusters=60, per_cluster=1, use_groups=True) < 0.98
    assert 0.92 < coverage(clusters=25, per_cluster=8, use_groups=True) < 0.98
    # What leaving the groups out would do.
    assert coverage(clusters=25, per_cluster=8, use_groups=False) < 0.85


def test_false_alarms_are_as_rare_as_they_should_be() -> None:
    """Two methods that are alike, on clustered queries: p <= 0.05 in 5 % of the cases."""
    numbers = np.random.default_rng(11)
    alarms = 0
    for seed in range(400):
        groups = np.repeat(np.arange(20), 5)
        shared = numbers.normal(0, 1, 20)[groups]
        a = numbers.normal(0, 1, 100) + shared
        alarms += paired_randomisation(
            a.tolist(), [0.0] * 100, groups.tolist(), seed=seed, permutations=200
        ) <= 0.05  # fmt: skip
    assert 0.02 < alarms / 400 < 0.08


@given(shares, st.data())
def test_intervals_lie_among_the_means_and_are_the_same_again(
    values: list[float], data: st.DataObject
) -> None:
    size = len(values)
    groups = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    low, high = bootstrap_interval(values, groups, resamples=99)
    if len(set(groups)) < 2:
        assert (low, high) == (0, 1)
    else:
        assert min(values) - 1e-12 <= low <= high <= max(values) + 1e-12
    assert (low, high) == bootstrap_interval(values, groups, resamples=99)


def test_the_interval_is_near_students_for_normal_values() -> None:
    """An independent oracle, where it applies."""
    values = np.random.default_rng(5).normal(0.5, 0.1, 200)
    error = stats.sem(values)
    expected = stats.t.interval(0.95, 199, values.mean(), error)
    found = bootstrap_interval(values.tolist())
    assert found == pytest.approx(expected, abs=0.1 * error)


def test_a_large_sample_is_drawn_in_parts_and_means_the_same() -> None:
    """More cells than are drawn at once: the digits come from one stream of numbers."""
    values = np.random.default_rng(2).random(3_000)
    low, high = bootstrap_interval(values.tolist(), resamples=1_000)
    half = 1.96 * values.std() / np.sqrt(3_000)
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.002)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.1, 0.2, 0.3, 1.0]), max_size=8))
def test_the_exact_test_is_the_enumeration(differences: list[float]) -> None:
    p = paired_randomisation(differences, [0.0] * len(differences))
    observed = abs(sum(differences)) - 1e-9
    turned = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True))) >= observed
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    assert p == sum(turned) / len(turned)


def test_the_random_test_is_near_the_exact_one_and_scipys() -> None:
    numbers = np.random.default_rng(3)
    a, b = numbers.random(13), numbers.random(13) * 0.8
    exact = paired_randomisation(a.tolist(), b.tolist())
    drawn = paired_randomisation(a.tolist(), b.tolist(), permutations=8_000, seed=4)
    assert 0.01 < exact < 0.99
    assert exact != drawn
    assert drawn == pytest.approx(exact, abs=0.02)
    theirs = stats.permutation_test(
        (a - b,), np.sum, permutation_type="samples", n_resamples=10_000, vectorized=False
    )
    assert exact == pytest.approx(theirs.pvalue)


def test_a_random_p_is_never_0() -> None:
    assert paired_randomisation([1.0] * 50, [0.0] * 50, permutations=99) == 0.01
    assert paired_randomisation([1.0] * 50, [1.0] * 50) == 1
    assert paired_randomisation([], []) == 1


def test_groups_are_turned_whole() -> None:
    a, b = [1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]
    # The groups' sums are 2, -1 and 1, together 2; the turns give 4, 2, 2, 0, 0, -2, -2, -4.
    assert paired_randomisation(a, b, ["x", "x", "y", "z"]) == 6 / 8
    assert paired_randomisation(a, b, ["x", "x", "x", "x"]) == 1


def test_holm_by_hand() -> None:
    assert holm([]) == []
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.6]) == [1, 1]


@given(st.lists(st.floats(0, 1)))
def test_holm_never_lowers_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda number: p_values[number])
    assert [adjusted[number] for number in order] == sorted(adjusted)


def test_effect_sizes() -> None:
    assert effect_size([1, 0, 1], [0, 0, 0]) == pytest.approx((2 / 3) / np.sqrt(1 / 3))
    assert effect_size([0.4, 0.3], [0.3, 0.2]) == 0  # the same difference, but for rounding
    assert effect_size([1], [0]) == effect_size([], []) == 0
    assert effect_size([0, 0, 0], [1, 0, 1]) == -effect_size([1, 0, 1], [0, 0, 0])


def test_all_pairs_are_compared() -> None:
    values = {"a": [1.0, 1.0, 0.5, 0.5], "b": [0.5, 0.0, 0.5, 0.0], "c": [0.5, 0.0, 0.5, 0.0]}
    found = compare(values)
    assert [(pair.first, pair.second) for pair in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    # Differences .5, 1, 0, .5: of the 8 turns of three, +++ and --- are as far from 0.
    assert [pair.p for pair in found] == [0.25, 0.25, 1]
    assert [pair.adjusted_p for pair in found] == [0.75, 0.75, 1]
    assert [pair.difference for pair in found] == [0.5, 0.5, 0]
    assert found[0].low < 0.5 < found[0].high
    assert (found[2].low, found[2].high, found[2].effect) == (0, 0, 0)
    assert found[0].effect == pytest.approx(0.5 / np.std([0.5, 1, 0, 0.5], ddof=1))
    assert compare({"a": [1.0]}) == []
    (alone,) = compare({"a": [1.0, 1.0], "b": [0.0, 0.0]}, groups=["x", "x"])
    assert alone == Comparison("a", "b", 1.0, -1.0, 1.0, 1.0, 1.0, 0.0)


@given(shares, shares)
def test_turning_a_comparison_round_turns_its_numbers(a: list[float], b: list[float]) -> None:
    size = min(len(a), len(b))
    (one,) = compare({"a": a[:size], "b": b[:size]}, resamples=50, permutations=99)
    (other,) = compare({"b": b[:size], "a": a[:size]}, resamples=50, permutations=99)
    assert other.difference == -one.difference
    assert other.p == one.p
    assert other.effect == pytest.approx(-one.effect)
    assert one.difference == pytest.approx(mean(a[:size]) - mean(b[:size]))


def test_bad_values_are_refused() -> None:
    with pytest.raises(UsageError, match="value 2 of 2 is nan"):
        bootstrap_interval([0.5, float("nan")])
    with pytest.raises(UsageError, match="1 groups for 2 values"):
        bootstrap_interval([0.5, 0.5], ["x"])
    with pytest.raises(UsageError, match="resamples must be at least 1"):
        bootstrap_interval([0.5, 0.5], resamples=0)
    with pytest.raises(UsageError, match="the level between 0 and 1"):
        bootstrap_interval([0.5, 0.5], level=1)
    with pytest.raises(UsageError, match="2 values against 1; give both methods the same"):
        paired_randomisation([1, 2], [1])
    with pytest.raises(UsageError, match="value 1 of 1 is inf"):
        effect_size([float("inf")], [0])
    with pytest.raises(UsageError, match="permutations must be at least 1"):
        paired_randomisation([1], [0], permutations=0)
