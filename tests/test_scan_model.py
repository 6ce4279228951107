"""What findings are made of segments: probabilities, alternatives, sequences, thresholds."""

import json
from dataclasses import replace
from functools import partial
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import UsageError
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.types import SearchFilter
from allusion_es.scanning.choosing import ALTERNATIVES, Choice, choose, joined
from allusion_es.scanning.features import NAMES
from allusion_es.scanning.model import (
    MODELS,
    MOST,
    Calibration,
    Point,
    ScanOptions,
    calibration,
    calibration_hash,
    parse_calibration,
)
from allusion_es.scanning.reading import Reading, read

POINTS = (Point(0.1, 0.5, 0.9), Point(0.3, 0.8, 0.7), Point(0.5, 0.75, 0.5), Point(0.7, 0.9, 0.2))
MODEL = Calibration(-1.0, (2.0, *[0.0] * (len(NAMES) - 1)), 0.3, POINTS)


def test_probabilities_by_hand() -> None:
    features = np.zeros((2, len(NAMES)))
    features[1, 0] = 1.0
    assert MODEL.log_odds(features).tolist() == [-1.0, 1.0]
    # 1 / (1 + e) and e / (1 + e)
    assert MODEL.probabilities(features).tolist() == pytest.approx([0.268941, 0.731059], abs=1e-6)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5))
def test_probabilities_stay_between_0_and_1(values: list[float]) -> None:
    features = np.zeros((len(values), len(NAMES)))
    features[:, 0] = sorted(values)
    found = MODEL.probabilities(features)
    assert ((found > 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize(
    ("precision", "threshold"), [(0.4, 0.1), (0.5, 0.1), (0.7, 0.3), (0.8, 0.7), (0.9, 0.7)]
)
def test_a_threshold_keeps_its_precision_above_it(precision: float, threshold: float) -> None:
    # 0.8 is reached at 0.3, but lost again at 0.5.
    assert MODEL.threshold_for(precision) == threshold


@pytest.mark.parametrize(
    ("precision", "said"),
    [
        (0.95, "no threshold has a measured precision of 0.95; the best is 0.90"),
        (0.0, "precision: give a number between 0 and 1, not 0"),
        (1.0, "not 1$"),
        (float("nan"), "not nan$"),
    ],
)
def test_a_precision_that_cannot_be_had(precision: float, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        MODEL.threshold_for(precision)


def test_the_nearest_point() -> None:
    assert MODEL.nearest(0.38) == POINTS[1]
    assert MODEL.nearest(1.0) == POINTS[3]
    assert Calibration(0.0, MODEL.weights, 0.5).nearest(0.5) is None


@pytest.mark.parametrize("name", MODELS)
def test_the_fitted_models_fit_this_program(name: str) -> None:
    model = calibration(name)
    assert len(model.weights) == len(NAMES)
    assert np.isfinite([model.bias, *model.weights]).all()
    assert 0 < model.threshold < 1
    thresholds = [point.threshold for point in model.points]
    assert thresholds == sorted(set(thresholds))
    assert model.threshold in thresholds
    recalls = [point.recall for point in model.points]
    assert recalls == sorted(recalls, reverse=True)
    for point in model.points:
        assert 0 < point.precision <= 1
        assert 0 <= point.recall <= 1


@pytest.mark.parametrize("change", [{"format": 0}, {"features": ["other"]}, {"features": []}])
def test_another_file_is_refused(change: dict[str, object]) -> None:
    shipped = json.loads((files("allusion_es.scanning") / "scan.json").read_text("utf-8"))
    assert parse_calibration(shipped, "fast") == calibration("fast")
    with pytest.raises(UsageError, match="calibration does not fit"):
        parse_calibration(shipped | change, "fast")


def test_its_hash_is_that_of_the_file() -> None:
    assert calibration_hash() == calibration_hash()
    assert len(calibration_hash()) == 64


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"threshold": 0.0}, "threshold: give a number from 0 to 1, not 0"),
        ({"threshold": 1.5}, "threshold: .* not 1.5"),
        ({"threshold": float("nan")}, "threshold: .* not nan"),
        ({"threshold": float("inf")}, "threshold: .* not inf"),
        ({"threshold": 0.5, "precision": 0.8}, "say the same thing"),
        ({"top": 0}, "top: give a number from 1 to 6, not 0"),
        ({"top": MOST + 1}, "top: .* not 7"),
    ],
)
def test_wrong_options(values: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ScanOptions(**values)  # type: ignore[arg-type]


def one(
    first: int, last: int, passage: int, probability: float = 0.5, others: tuple[Choice, ...] = ()
) -> Choice:
    return Choice((first,), first, last, (passage,), probability * 10, probability, others)


def follows(one: int, other: int) -> bool:
    return other == one + 1


def test_a_quotation_that_runs_over_three_verses_is_one() -> None:
    found = joined([one(0, 4, 7), one(6, 9, 8, 0.9), one(10, 12, 9)], follows)
    assert [(f.first, f.last, f.passages, f.segments) for f in found] == [
        (0, 12, (7, 8, 9), (0, 6, 10))
    ]
    assert found[0].probability == 0.9


@pytest.mark.parametrize(
    ("second", "count"),
    [
        (one(11, 14, 8), 1),  # six words between
        (one(12, 14, 8), 2),  # seven
        (one(5, 9, 9), 2),  # not the next verse
        (one(5, 9, 6), 2),  # the verse before
        (one(5, 9, 7), 1),  # the same verse goes on
    ],
)
def test_what_is_joined(second: Choice, count: int) -> None:
    assert len(joined([one(0, 4, 7), second], follows)) == count


def test_a_sequence_has_the_best_alternatives_of_both_and_not_itself() -> None:
    first = one(0, 4, 7, 0.9, (one(0, 4, 20, 0.3), one(0, 4, 8, 0.29)))
    second = one(5, 9, 8, 0.8, (one(5, 9, 30, 0.6), one(5, 9, 20, 0.2)))
    [found] = joined([first, second], follows)
    assert [other.passages for other in found.others] == [(30,), (20,)]


@pytest.fixture(scope="module")
def psalms() -> LocalIndex:
    verses = {f"Gen.1.{n}": f"aliud{n} uerbum{n} nouum{n}" for n in range(1, 200)}
    return index_texts(
        verses
        | {
            "Ps.33.9": "gustate et videte quoniam suavis est dominus",
            "1Pet.2.3": "si tamen gustastis quoniam dulcis est dominus",
            "Ps.39.2": "exspectans exspectavi dominum et intendit mihi",
        }
    )


@pytest.fixture(scope="module")
def reading(psalms: LocalIndex) -> Reading:
    text = (
        "dixit enim gustate et videte quoniam suavis est dominus et exspectans exspectavi dominum"
    )
    return read(psalms, Analyser().analyse(text), SearchFilter(), None)


def test_what_competes_is_an_alternative(reading: Reading) -> None:
    ids, segments = reading.texts.ids, reading.segments
    names = [ids[number] for number in segments.passages.tolist()]
    odds = np.array([{"Ps.33.9": 2.0, "Ps.39.2": 1.0}.get(name, 0.5) for name in names])
    found = choose(reading, odds, 1 / (1 + np.exp(-odds)), 0.5)
    named = [(ids[c.passages[0]], c.first, c.last) for c in found]
    # `et` before `exspectans` is not part of it, as the alignment knows.
    assert named == [("Ps.33.9", 2, 8), ("Ps.39.2", 10, 12)]
    assert "1Pet.2.3" not in [name for name, _, _ in named]
    assert all(ids[other.passages[0]] == "1Pet.2.3" for other in found[0].others)


@given(st.data())
def test_choices_keep_their_promises(reading: Reading, data: st.DataObject) -> None:
    size = len(reading.segments)
    assert size >= 2
    values = data.draw(st.lists(st.floats(0.001, 0.999), min_size=size, max_size=size))
    probabilities = np.array(values)
    least = data.draw(st.floats(0.05, 0.9))
    found = choose(reading, np.log(probabilities / (1 - probabilities)), probabilities, least)
    assert found == sorted(found, key=lambda choice: (choice.first, choice.last))
    if probabilities.max() >= least:
        assert max(choice.probability for choice in found) == probabilities.max()
    for choice in found:
        assert choice.probability >= least
        assert len(choice.others) <= ALTERNATIVES
        named = [other.passages for other in (choice, *choice.others)]
        assert len(set(named)) == len(named)
        shown = [choice.probability, *(other.probability for other in choice.others)]
        assert shown == sorted(shown, reverse=True)
        for other in found:
            common = min(choice.last, other.last) - max(choice.first, other.first) + 1
            shorter = min(choice.last - choice.first, other.last - other.first) + 1
            assert choice is other or 2 * common < shorter
    assert joined(found, lambda one, other: False) == [
        replace(choice) for choice in joined(found, partial(lambda one, other: False))
    ]
