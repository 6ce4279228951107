"""The paper's κ for spans, worked by hand, on random spans and on large data."""

import math
import random
from collections.abc import Iterable
from dataclasses import replace
from difflib import SequenceMatcher
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.annotation.agreement.measures import DIFFERING, Agreement, measure_agreement
from allusion_es.annotation.agreement.overlap import longest_common_substring, overlap
from allusion_es.annotation.spans import SpanAnnotation
from allusion_es.core.errors import InputError

Marks = dict[str, tuple[tuple[int, int], ...]]

WORKED: Marks = {
    "b-1": ((2, 6), (4, 9), (2, 6)),
    "b-2": ((0, 3), (0, 3), (0, 3)),
    "b-3": ((5, 6), (5, 8), (4, 8)),
    "b-4": ((0, 2), (3, 5), (1, 4)),
}


def annotations(marks: Marks, **more: object) -> list[SpanAnnotation]:
    return [
        SpanAnnotation(instance, name, start, end, **more)  # type: ignore[arg-type]
        for instance, spans in marks.items()
        for name, (start, end) in zip(("anna", "berta", "clara"), spans, strict=False)
    ]


def measured(marks: Marks) -> Agreement:
    return measure_agreement(annotations(marks), resamples=0)


def test_worked_example() -> None:
    """Three annotators, four instances, twelve pairs.

    Pair by pair (anna-berta, anna-clara, berta-clara):
    b-1: A 2 4 2, D 5 0 5, O 2/7 1 2/7
    b-2: A 3 3 3, D 0 0 0, O 1 1 1
    b-3: A 1 1 3, D 2 3 1, O 1/3 1/4 3/4
    b-4: A 0 1 1, D 4 3 3, O 0 1/4 1/4
    """
    found = measured(WORKED)
    total = found.total
    assert (total.instances, total.pairs, found.counts.annotators) == (4, 12, 3)
    assert sorted(found.common.tolist()) == sorted([2, 4, 2, 3, 3, 3, 1, 1, 3, 0, 1, 1])
    assert sorted(found.union.tolist()) == sorted([7, 4, 7, 3, 3, 3, 3, 4, 4, 4, 4, 4])
    # O_o = (4/7 + 1 + 3 + 1/3 + 1/4 + 3/4 + 0 + 1/4 + 1/4) / 12
    assert total.observed_overlap == pytest.approx(269 / 504, abs=1e-15)
    # A_e = 24/12, D_e = 26/12, O_e = 24/50
    assert total.agreement == 2.0
    assert total.disagreement == pytest.approx(13 / 6, abs=1e-15)
    assert total.expected_overlap == 0.48
    # (269/504 - 12/25) / (13/25)
    assert total.kappa == pytest.approx(677 / 6552, abs=1e-15)
    assert total.perfect_share == pytest.approx(4 / 12, abs=1e-15)


def test_worked_example_by_pair() -> None:
    by_pair = measured(WORKED).by_pair
    assert list(by_pair) == [("anna", "berta"), ("anna", "clara"), ("berta", "clara")]
    # anna-berta: O_o = (2/7 + 1 + 1/3 + 0) / 4, ΣA = 6, ΣD = 11
    first = by_pair["anna", "berta"]
    assert first.observed_overlap == pytest.approx(34 / 84, abs=1e-15)
    assert first.expected_overlap == pytest.approx(6 / 17, abs=1e-15)
    assert first.kappa == pytest.approx((34 / 84 - 6 / 17) / (11 / 17), abs=1e-15)
    assert first.perfect_share == 0.25
    # anna-clara: O_o = (1 + 1 + 1/4 + 1/4) / 4, ΣA = 9, ΣD = 6
    assert by_pair["anna", "clara"].kappa == pytest.approx((0.625 - 0.6) / 0.4, abs=1e-14)


def test_worked_example_by_type() -> None:
    rows = annotations(WORKED)
    kinds = {"b-1": "allusion", "b-2": "quotation", "b-3": "allusion", "b-4": ""}
    found = measure_agreement([replace(r, type=kinds[r.instance]) for r in rows], resamples=0)
    assert list(found.by_type) == ["", "allusion", "quotation"]
    assert [c.instances for c in found.by_type.values()] == [1, 2, 1]
    # allusion: O_o = (4/7 + 1 + 4/3) / 6, ΣA = 13, ΣD = 16
    assert found.by_type["allusion"].observed_overlap == pytest.approx(61 / 126, abs=1e-15)
    assert found.by_type["allusion"].expected_overlap == pytest.approx(13 / 29, abs=1e-15)
    assert found.by_type["quotation"].kappa == 1.0


def test_types_that_differ_are_a_kind_of_their_own() -> None:
    rows = annotations({"b-1": ((0, 2), (0, 2), (1, 2))})
    rows = [replace(row, type=kind) for row, kind in zip(rows, ("x", "", "y"), strict=True)]
    by_type = measure_agreement(rows, resamples=0).by_type
    assert {kind: c.pairs for kind, c in by_type.items()} == {"x": 1, "y": 1, DIFFERING: 1}
    assert by_type[DIFFERING].observed_overlap == 0.5


def test_instances_without_an_anchor_are_counted_apart() -> None:
    told = {"b-1": True, "b-2": False, "b-3": False, "b-4": None}
    rows = [replace(row, has_anchor=told[row.instance]) for row in annotations(WORKED)]
    # One annotation of b-1 does not say; the others do.
    rows[0] = replace(rows[0], has_anchor=None)
    found = measure_agreement(rows, resamples=0)
    assert found.total == measured(WORKED).total
    assert [(told, c.instances, c.pairs) for told, c in found.by_anchor.items()] == [
        (False, 2, 6),
        (True, 1, 3),
        (None, 1, 3),
    ]
    # b-2 and b-3: O_o = (3 + 1/3 + 1/4 + 3/4) / 6, ΣA = 14, ΣD = 6
    assert found.by_anchor[False].observed_overlap == pytest.approx(13 / 18, abs=1e-15)
    assert found.by_anchor[False].expected_overlap == pytest.approx(0.7, abs=1e-15)
    assert found.counts.without_anchor == 2
    assert list(measured(WORKED).by_anchor) == [None]


def test_histogram_and_cumulative_shares_of_the_worked_example() -> None:
    found = measured(WORKED)
    # 0 | 1/4 1/4 1/4 2/7 2/7 | 1/3 | 3/4 | 1 1 1 1
    assert found.histogram().tolist() == [1, 0, 5, 1, 0, 0, 0, 1, 0, 4]
    assert found.histogram(2).tolist() == [7, 5]
    overlaps, shares = found.cumulative()
    assert overlaps.tolist() == [0.0, 0.25, 2 / 7, 1 / 3, 0.75, 1.0]
    assert shares.tolist() == [n / 12 for n in (1, 4, 6, 7, 8, 12)]


def test_an_overlap_on_the_border_of_two_parts_lies_in_the_upper_one() -> None:
    # 3/10 is below 0.3 in binary times ten; the parts are cut in whole numbers.
    assert measured({"b-1": ((0, 3), (0, 10))}).histogram().tolist() == [0, 0, 0, 1, *[0] * 6]


def test_identical_spans_give_one() -> None:
    total = measured({"b-1": ((2, 6),) * 3, "b-2": ((0, 40),) * 2}).total
    assert (total.observed_overlap, total.expected_overlap) == (1.0, 1.0)
    assert (total.kappa, total.alpha, total.perfect_share) == (1.0, 1.0, 1.0)


def test_spans_that_share_nothing() -> None:
    total = measured({"b-1": ((0, 2), (2, 4)), "b-2": ((7, 8), (0, 4))}).total
    assert (total.observed_overlap, total.expected_overlap, total.kappa) == (0.0, 0.0, 0.0)


def test_equal_overlap_everywhere_gives_zero_however_high() -> None:
    """κ sees only how overlap varies with length: nine tokens of ten shared by all is 0."""
    total = measured({"b-1": ((0, 9), (0, 10)), "b-2": ((0, 18), (0, 20))}).total
    assert total.observed_overlap == pytest.approx(0.9)
    assert total.kappa == pytest.approx(0, abs=1e-12)


def test_one_long_span_in_agreement_makes_it_very_negative() -> None:
    total = measured({"b-1": ((0, 1000), (0, 1000)), "b-2": ((0, 1), (1, 2))}).total
    # O_o = 1/2, O_e = 1000/1002
    assert total.kappa == pytest.approx((0.5 - 1000 / 1002) / (2 / 1002))


SPANS = st.tuples(st.integers(0, 12), st.integers(1, 12)).map(lambda s: (s[0], s[0] + s[1]))
DATA = st.lists(st.lists(SPANS, min_size=2, max_size=3).map(tuple), min_size=1, max_size=6).map(
    lambda spans: {f"i{n}": marks for n, marks in enumerate(spans)}
)


@given(SPANS, SPANS)
def test_overlap_of_two_spans(s: tuple[int, int], t: tuple[int, int]) -> None:
    common = longest_common_substring(s, t)
    places = [range(*s), range(*t)]
    match = SequenceMatcher(None, list(places[0]), list(places[1]), autojunk=False)
    assert common == match.find_longest_match().size
    assert common == longest_common_substring(t, s)
    lengths = len(places[0]) + len(places[1])
    assert common + (lengths - 2 * common) == len(set(places[0]) | set(places[1]))
    assert 0 <= overlap(s, t) == overlap(t, s) <= 1
    assert (overlap(s, t) == 1) == (s == t)


@given(DATA)
def test_pairs_of_a_data_set_one_by_one(marks: Marks) -> None:
    found = measured(marks)
    pairs = [
        (s, t) for spans in marks.values() for i, s in enumerate(spans) for t in spans[i + 1 :]
    ]
    assert found.total.pairs == len(pairs)
    observed = math.fsum(overlap(s, t) for s, t in pairs) / len(pairs)
    assert found.total.observed_overlap == pytest.approx(observed, abs=1e-12)
    common = sum(longest_common_substring(s, t) for s, t in pairs)
    union = sum(len(set(range(*s)) | set(range(*t))) for s, t in pairs)
    assert found.total.expected_overlap == pytest.approx(common / union, abs=1e-12)
    assert sum(c.pairs for c in found.by_pair.values()) == len(pairs)
    assert all(math.isfinite(v) for v in (found.total.kappa, found.total.alpha))
    assert found.histogram().sum() == len(pairs)
    assert found.cumulative()[1][-1] == 1


@given(DATA)
def test_kappa_is_a_covariance(marks: Marks) -> None:
    """κ = -cov(O, A + D) / D_e, which docs/agreement.md explains."""
    found = measured(marks)
    if not found.total.disagreement:
        return
    overlaps = [Fraction(int(a), int(u)) for a, u in zip(found.common, found.union, strict=True)]
    unions = [int(u) for u in found.union]
    n = len(unions)
    mean = sum(o * u for o, u in zip(overlaps, unions, strict=True)) / n
    covariance = mean - sum(overlaps) / n * Fraction(sum(unions), n)
    apart = Fraction(sum(unions) - int(found.common.sum()), n)
    assert found.total.kappa == pytest.approx(float(-covariance / apart), abs=1e-9)


@given(DATA, st.randoms(use_true_random=False))
def test_order_of_lines_does_not_matter(marks: Marks, shuffler: random.Random) -> None:
    rows = annotations(marks)
    before = measure_agreement(rows, resamples=20)
    shuffler.shuffle(rows)
    after = measure_agreement(rows, resamples=20)
    assert (after.total, after.intervals, after.by_pair) == (
        before.total,
        before.intervals,
        before.by_pair,
    )


@given(DATA)
def test_names_of_annotators_do_not_matter(marks: Marks) -> None:
    rows = annotations(marks)
    names = {"anna": "z", "berta": "a", "clara": "m"}
    one = measure_agreement(rows, resamples=0).total
    other = measure_agreement(
        [replace(row, annotator=names[row.annotator]) for row in rows], resamples=0
    ).total
    for name in ("observed_overlap", "expected_overlap", "kappa", "alpha", "perfect_share"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-9)


def kappa_predicted(pairs: Iterable[tuple[int, int, int]]) -> tuple[float, float, float]:
    """O_o, O_e and κ of infinitely many pairs, from (A, A + D, weight) of each that can occur."""
    observed = common = union = total = Fraction(0)
    for a, u, weight in pairs:
        observed += Fraction(a * weight, u)
        common += a * weight
        union += u * weight
        total += weight
    o_o, o_e = observed / total, common / union
    return float(o_o), float(o_e), float((o_o - o_e) / (1 - o_e))


def test_random_spans_around_an_anchor_give_what_the_formulas_predict() -> None:
    """Each annotator goes 0 to 6 tokens to each side of the anchor, without looking at the text."""
    reach = range(7)
    o_o, o_e, kappa = kappa_predicted(
        (min(a, b) + min(c, d) + 1, max(a, b) + max(c, d) + 1, 1)
        for a, b, c, d in product(reach, repeat=4)
    )
    # By hand: E[min] of two of 0..6 is 13/7, E[max] 29/7, so O_e = (26/7 + 1) / (58/7 + 1).
    assert o_e == pytest.approx(33 / 65)
    chance = random.Random(1)
    marks: Marks = {
        f"i{n}": tuple((20 - chance.randrange(7), 21 + chance.randrange(7)) for _ in range(3))
        for n in range(5000)
    }
    found = measure_agreement(annotations(marks, tokens=41), seed=1)
    assert found.total.observed_overlap == pytest.approx(o_o, abs=0.01)
    assert found.total.expected_overlap == pytest.approx(o_e, abs=0.01)
    assert found.total.kappa == pytest.approx(kappa, abs=0.01)


def test_random_spans_of_one_length_give_what_the_formulas_predict() -> None:
    """Ten tokens anywhere in a hundred: κ is not 0; what overlaps more has a smaller union."""
    places = range(91)
    common = [(max(0, 10 - abs(i - j)), i, j) for i, j in product(places, repeat=2)]
    o_o, o_e, kappa = kappa_predicted((a, 20 - a, 1) for a, _, _ in common)
    chance = random.Random(2)
    starts = [[chance.randrange(91) for _ in range(2)] for _ in range(20000)]
    marks: Marks = {f"i{n}": tuple((s, s + 10) for s in pair) for n, pair in enumerate(starts)}
    total = measure_agreement(annotations(marks, tokens=100), resamples=0).total
    assert total.observed_overlap == pytest.approx(o_o, abs=0.01)
    assert total.expected_overlap == pytest.approx(o_e, abs=0.01)
    assert total.kappa == pytest.approx(kappa, abs=0.01)
    # uα does correct for chance here, where spans may lie anywhere.
    assert total.alpha == pytest.approx(0, abs=0.03)


def test_doubts_are_left_out_and_counted() -> None:
    rows = annotations(WORKED)
    rows[0] = replace(rows[0], doubt=True)
    rows[4] = replace(rows[4], start=None, end=None, doubt=True)
    rows[5] = replace(rows[5], start=None, end=None)
    found = measure_agreement(rows, resamples=0)
    # b-1 has one pair left, b-2 none.
    assert (found.total.instances, found.total.pairs) == (3, 7)
    counts = found.counts
    assert (counts.instances, counts.annotations, counts.alone) == (4, 12, 1)
    assert (counts.doubts, counts.left_out, counts.skipped, counts.missing) == (2, 2, 1, 0)
    kept = measure_agreement(rows, resamples=0, keep_doubts=True)
    assert kept.total.pairs == 9
    assert (kept.counts.doubts, kept.counts.left_out) == (2, 1)


def test_missing_annotations_are_counted_where_two_judged() -> None:
    rows = annotations(WORKED)
    del rows[2]
    rows.append(SpanAnnotation("b-5", "anna", 0, 2))
    counts = measure_agreement(rows, resamples=0).counts
    assert (counts.missing, counts.alone) == (1, 1)


def test_nothing_to_compare_is_an_error() -> None:
    for rows in ([], [SpanAnnotation("i", "anna", 0, 2), SpanAnnotation("j", "berta", 0, 2)]):
        with pytest.raises(InputError, match="no instance has spans of two annotators"):
            measure_agreement(rows)
    doubted = annotations({"b-1": ((0, 1), (0, 1))}, doubt=True)
    with pytest.raises(InputError, match="2 annotations, 0 of them"):
        measure_agreement(doubted)


def test_intervals_are_those_of_the_instances_drawn() -> None:
    """With two instances, a resample holds both (half of them), or one twice (a quarter each)."""
    marks: Marks = {"b-1": ((0, 2), (0, 2)), "b-2": ((0, 1), (0, 4))}
    interval = measure_agreement(annotations(marks), resamples=400).intervals["observed_overlap"]
    assert interval == (0.25, 1.0)
    alone = {"b-1": marks["b-1"]}
    assert measure_agreement(annotations(alone), resamples=400).intervals == {}
    again = measure_agreement(annotations(marks), resamples=400)
    assert again.intervals["observed_overlap"] == interval
    wide = measure_agreement(annotations(WORKED), resamples=400)
    assert wide.intervals["kappa"].low < wide.total.kappa < wide.intervals["kappa"].high
    assert wide.intervals["alpha"].low < wide.total.alpha < wide.intervals["alpha"].high
    other = measure_agreement(annotations(WORKED), resamples=400, seed=7)
    assert other.intervals["kappa"] != wide.intervals["kappa"]


def test_a_span_is_both_places_or_none() -> None:
    with pytest.raises(ValueError, match="both start and end"):
        SpanAnnotation("i", "anna", 1, None)
    with pytest.raises(ValueError, match="hold no token"):
        SpanAnnotation("i", "anna", 3, 3)
