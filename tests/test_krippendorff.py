"""Krippendorff's alpha for units, against numbers by hand and in print, and the plain formula."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.annotation.agreement.krippendorff import expected_disagreement
from allusion_es.annotation.agreement.measures import measure_agreement
from allusion_es.annotation.spans import SpanAnnotation

Section = tuple[int, int, bool]
"""Begin, length, and whether it is a unit."""


def sections(length: int, units: list[tuple[int, int]]) -> list[Section]:
    found: list[Section] = []
    place = 0
    for start, end in units:
        found += [(place, start - place, False), (start, end - start, True)]
        place = end
    return [*found, (place, length - place, False)]


def delta(g: Section, h: Section) -> float:
    (b, length, unit), (c, other, unit_too) = g, h
    if unit and unit_too and -length < b - c < other:
        return (b - c) ** 2 + (b + length - c - other) ** 2
    if unit and not unit_too and other - length >= b - c >= 0:
        return length**2
    if unit_too and not unit and length - other >= c - b >= 0:
        return other**2
    return 0.0


def observed(length: int, observers: list[list[Section]]) -> float:
    m = len(observers)
    total = sum(
        delta(g, h)
        for i, one in enumerate(observers)
        for j, other in enumerate(observers)
        if i != j
        for g in one
        for h in other
    )
    return total / (m * (m - 1) * length**2)


def expected(length: int, observers: list[list[Section]]) -> float:
    """Every two sections laid over each other in every way, one by one."""
    every = [section for one in observers for section in one]
    units = [g for g in every if g[2]]
    total = 0.0
    for i, (_, g, _) in enumerate(units):
        for j, (_, h, _) in enumerate(units):
            if i != j:
                total += sum(delta((d, g, True), (0, h, True)) for d in range(-g + 1, h))
        for _, h, unit in every:
            if not unit:
                total += 2 * sum(g**2 for d in range(h) if d + g <= h)
    m = len(observers)
    ways = m * length * (m * length - 1) - sum(g * (g - 1) for _, g, _ in units)
    return total / (length * ways)


# The example of Krippendorff 2004, "Measuring the Reliability of Qualitative Text Analysis Data":
# two observers, a continuum of 300, two categories. Begins count from 0 here.
CATEGORY_C = [[(75, 145), (220, 250)], [(70, 150), (205, 225), (250, 270)]]
CATEGORY_K = [[(30, 90), (150, 200)], [(30, 90), (150, 200)]]


@pytest.mark.parametrize(
    ("units", "d_o", "d_e"), [(CATEGORY_C, 0.0144, 0.0532), (CATEGORY_K, 0.0, 0.0490)]
)
def test_printed_example(units: list[list[tuple[int, int]]], d_o: float, d_e: float) -> None:
    observers = [sections(300, one) for one in units]
    assert observed(300, observers) == pytest.approx(d_o, abs=5e-5)
    assert expected(300, observers) == pytest.approx(d_e, abs=5e-5)
    lengths = [s[1] for one in observers for s in one if s[2]]
    gaps = [s[1] for one in observers for s in one if not s[2]]
    ours = expected_disagreement(*counted(lengths), *counted(gaps), np.array([600.0]))
    assert ours[0] / 300 == pytest.approx(d_e, abs=5e-5)
    assert ours[0] / 300 == pytest.approx(expected(300, observers), rel=1e-12)


def counted(lengths: list[int]) -> tuple[np.ndarray, np.ndarray]:
    distinct, counts = np.unique(lengths, return_counts=True)
    return distinct, counts[None].astype(float)


def alpha(texts: list[tuple[int, list[tuple[int, int]]]]) -> float:
    rows = [
        SpanAnnotation(f"i{n:03}", f"a{k}", *span, tokens=length)
        for n, (length, spans) in enumerate(texts)
        for k, span in enumerate(spans)
    ]
    return measure_agreement(rows, resamples=0).total.alpha


def test_one_instance_by_hand() -> None:
    """Ten tokens, two annotators.

    δ² = (2-4)² + (6-9)² = 13, so D_o = 2·13 / (2·1·10²) = 0.13.
    Units 4 and 5: 1/3 (84 + 180) = 88. Gaps 6 and 5: 4² (3 + 2) + 5² (2 + 1) = 155.
    D_e = 2/10 (88 + 155) / (20·19 - 4·3 - 5·4) = 48.6/348.
    """
    assert alpha([(10, [(2, 6), (4, 9)])]) == pytest.approx(1 - 0.13 / (48.6 / 348), abs=1e-14)


def test_two_instances_by_hand() -> None:
    """The instance above, and one of six tokens with the same span of three twice.

    Σδ² = 26 over 20 + 12 places. Units 4, 5, 3, 3: 3/3 (84 + 180 + 30 + 30) = 324. Gaps 6, 5, 3, 3:
    4² (3 + 2) + 5² (2 + 1) + 2·3² (4 + 3 + 1 + 1) = 317. Ways: 32·31 - 12 - 20 - 6 - 6 = 948.
    """
    found = alpha([(10, [(2, 6), (4, 9)]), (6, [(0, 3), (0, 3)])])
    assert found == pytest.approx(1 - (26 / 32) / (2 * 641 / 948), abs=1e-14)


def test_three_annotators_of_whom_one_is_missing_once_by_hand() -> None:
    """Σδ² of i0 is 2·(1 + 4 + 1), divided by 2; of i1 2·(1 + 1), divided by 1; places 3·4 + 2·6.

    Units 2, 1, 1 (f = 6, 0, 0) and 2, 2 (6, 6): 4/3 · 18 = 24. Gaps 2, 3, 3, 4, 4: for units of
    two 3·2² (1 + 2 + 2 + 3 + 3) = 132, for units of one 2·(2 + 3 + 3 + 4 + 4) = 32. Ways:
    24·23 - 3·2 = 546.
    """
    found = alpha([(4, [(0, 2), (0, 1), (1, 2)]), (6, [(0, 2), (1, 3)])])
    # (0, 2)-(0, 1): 0 + 1; (0, 2)-(1, 2): 1 + 0; (0, 1)-(1, 2) apart: 1 + 1
    observed_sum = 2 * (1 + 1 + 2) / 2 + 2 * (1 + 1) / 1
    assert found == pytest.approx(1 - observed_sum / 24 / (2 * 188 / 546), abs=1e-14)


@st.composite
def texts(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    length = draw(st.integers(1, 15))
    place = st.integers(0, length - 1)
    marked = draw(st.lists(st.tuples(place, place), min_size=2, max_size=4))
    return length, [(min(s), max(s) + 1) for s in marked]


def ring(length: int, unit: tuple[int, int]) -> list[Section]:
    """A unit and the one gap that is left when the text's ends are joined."""
    start, end = unit
    return [(0, end - start, True), (end - start, length - (end - start), False)]


@given(texts())
def test_one_instance_is_the_formula_in_the_docstring(
    text: tuple[int, list[tuple[int, int]]],
) -> None:
    length, spans = text
    d_o = observed(length, [sections(length, [span]) for span in spans])
    d_e = expected(length, [ring(length, span) for span in spans])
    assert alpha([text]) == pytest.approx(1 - d_o / d_e if d_o else 1.0, abs=1e-9)


def test_many_instances_are_the_formula_in_print_for_their_texts_end_to_end() -> None:
    chance = random.Random(3)
    data, observers = [], [[], []]  # type: ignore[var-annotated]
    place = 0
    for _ in range(150):
        length = chance.randrange(30, 40)
        starts = [chance.randrange(8, 16) for _ in range(2)]
        spans = [(start, start + chance.randrange(3, 9)) for start in starts]
        data.append((length, spans))
        for units, (start, end) in zip(observers, spans, strict=True):
            units.append((place + start, place + end))
        place += length
    joined = [sections(place, units) for units in observers]
    lengths = [section[1] for one in joined for section in one if section[2]]
    gaps = [section[1] for one in joined for section in one if not section[2]]
    d_e = expected_disagreement(*counted(lengths), *counted(gaps), np.array([2.0 * place]))[0]
    in_print = 1 - observed(place, joined) * place / d_e
    assert 0.3 < in_print < 0.9
    assert alpha(data) == pytest.approx(in_print, abs=0.003)


def test_texts_of_one_token_have_nothing_to_disagree_in() -> None:
    assert alpha([(1, [(0, 1), (0, 1)])] * 3) == 1.0
