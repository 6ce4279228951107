"""Figures and bars: what they show, that they are XML, and the same each time."""

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.reports.figures import Panel, bar, bars, histogram, steps, svg

SPACE = "{http://www.w3.org/2000/svg}"


def elements(panel: Panel, kind: str, of: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg([panel], title="t", description="d"))
    return [e for e in root.iter(SPACE + kind) if e.get("class") == of]


def drawn(counts: list[float]) -> Panel:
    edges = list(range(len(counts) + 1))
    return histogram(edges, counts, title="shared tokens", x_label="tokens", y_label="links")


def test_bars_are_as_high_as_their_counts() -> None:
    found = elements(drawn([0, 5, 10]), "rect", "bar")
    assert [float(e.attrib["height"]) for e in found] == [0, 115, 230]
    assert [float(e.attrib["x"]) for e in found] == pytest.approx([58, 174, 290])
    assert [e[0].text for e in found] == ["0 to 1: 0", "1 to 2: 5", "2 to 3: 10"]


def test_a_cumulative_curve_rises_where_it_should() -> None:
    panel = steps([0.25, 1], [0.5, 1], title="c", x_label="x", y_label="y")
    (curve,) = elements(panel, "path", "curve")
    # The plot is 348 wide from 58 on, and 230 high from 40 on.
    assert curve.attrib["d"] == "M58 270H145V155H406V40H406"
    assert [e[0].text for e in elements(panel, "circle", "dot")] == [
        "at most 0.25: 0.5",
        "at most 1: 1",
    ]


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20))
def test_bars_stay_inside_the_plot(counts: list[float]) -> None:
    for element in elements(drawn(counts), "rect", "bar"):
        y, height = float(element.attrib["y"]), float(element.attrib["height"])
        assert y >= 39.99
        assert y + height == pytest.approx(270, abs=0.02)
    assert drawn(counts) == drawn(counts)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_gives_xml(text: str) -> None:
    panel = histogram([0, 1], [1], title=text, x_label=text, y_label=text)
    root = ElementTree.fromstring(svg([panel, panel], title=text, description=text))
    shown = "".join(c if c.isprintable() else "\ufffd" for c in text)
    assert [e.text or "" for e in root[:2]] == [shown, shown]
    assert root.get("width") == "840"
    assert root.get("aria-labelledby") == "t d"


def test_scripts_in_titles_stay_text() -> None:
    figure = svg([], title="<script>alert(1)</script>", description="' onload='x")
    assert "<script" not in figure
    assert "'x" not in figure.replace("'http", "")


@pytest.mark.parametrize(
    ("edges", "counts"),
    [([0], []), ([0, 1], [1, 2]), ([0, 0], [1]), ([0, math.nan], [1]), ([0, 1], [-1])],
)
def test_what_is_no_histogram(edges: list[float], counts: list[float]) -> None:
    with pytest.raises(ValueError, match=r"must|give"):
        histogram(edges, counts, title="", x_label="", y_label="")


def test_what_is_no_curve() -> None:
    for places, shares in (([], []), ([0.5], []), ([0.5, 0.5], [0, 1]), ([0.5], [math.inf])):
        with pytest.raises(ValueError, match=r"must|give"):
            steps(places, shares, title="", x_label="", y_label="")


def test_bars_for_a_terminal() -> None:
    assert bars(["a", "bb"], [0, 3], ["0", "3"], width=3) == ["a   0", "bb  3  ███"]
    assert bars([], [], []) == []
    assert (bar(-1, 4), bar(2, 4), bar(1 / 16, 4)) == ("", "████", "▎")
    assert bars(["a"], [0], ["0"]) == ["a  0"]
