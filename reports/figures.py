"""Figures: histograms and step curves as SVG, bars of characters for a terminal.

SVG is written here rather than by a plotting library, so that the same numbers give the same bytes
and a figure needs no installation. A figure is one or more panels side by side. It needs no script,
font or other file, has a title and a description for screen readers, and a tooltip on each bar and
step.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape

from allusion_es.core.errors import UsageError

# Pixels: of a panel, and of its margins, which hold the heading and the labels of the axes.
_WIDTH, _HEIGHT = 420, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 40, 50
_PLOT_WIDTH, _PLOT_HEIGHT = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
_STYLE = (
    "text{font-family:sans-serif;font-size:12px;fill:#222}"
    ".head{font-size:14px;font-weight:bold}"
    ".axis{stroke:#444;fill:none}.grid{stroke:#ddd}"
    ".bar{fill:#3b6ea5;stroke:#fff}.curve{fill:none;stroke:#a53b3b;stroke-width:2}"
    ".dot{fill:#a53b3b}"
)


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram: its heading, and what is drawn, as SVG elements."""

    title: str
    elements: tuple[str, ...]


def histogram(
    edges: Sequence[float],
    counts: Sequence[float],
    *,
    title: str,
    x_label: str,
    y_label: str,
    whole: bool = False,
) -> Panel:
    """Bars over stretches of the x axis.

    Args:
        edges: Where the stretches begin, ascending, and where the last one ends: one more than
            `counts`.
        counts: How high each bar is, not negative.
        title: The panel's heading.
        x_label: What the x axis shows.
        y_label: What the y axis shows.
        whole: Whether both axes have whole numbers only, as those of counts.

    Raises:
        ValueError: A number is out of range, or the edges do not ascend.

    Example:
        >>> panel = histogram([0, 1, 2], [3, 5], title="a", x_label="shared tokens", y_label="n")
        >>> sum("class='bar'" in element for element in panel.elements)
        2
    """
    if len(edges) != len(counts) + 1 or not counts:
        raise ValueError("give one edge more than counts, and at least one count")
    _check([*edges, *counts], edges)
    if min(counts) < 0:
        raise ValueError("counts must not be negative")
    # Where all counts are 0, the y axis still needs a length.
    highest = max(counts)
    least = 1.0 if whole else 0.0
    top = _ticks(0, highest if highest > 1e-9 else 1, least)[-1]
    axes = _Axes(edges[0], edges[-1], top, least)
    drawn = [*axes.draw(x_label, y_label)]
    for (left, right), count in zip(pairwise(edges), counts, strict=True):
        x, y = axes.x(left), axes.y(count)
        size = f"width='{_n(axes.x(right) - x)}' height='{_n(axes.y(0) - y)}'"
        tooltip = f"{_label(left)} to {_label(right)}: {_label(count)}"
        drawn.append(
            f"<rect class='bar' x='{_n(x)}' y='{_n(y)}' {size}><title>{tooltip}</title></rect>"
        )
    return Panel(title, tuple(drawn))


def steps(
    places: Sequence[float],
    shares: Sequence[float],
    *,
    title: str,
    x_label: str,
    y_label: str,
    start: float = 0.0,
    end: float = 1.0,
) -> Panel:
    """A cumulative curve: from each place on, as high as its share.

    Args:
        places: Where the curve rises, ascending, between `start` and `end`.
        shares: How high it is from there on, 0 to 1.
        title: The panel's heading.
        x_label: What the x axis shows.
        y_label: What the y axis shows.
        start: Where the x axis begins.
        end: Where it ends.

    Raises:
        ValueError: A number is out of range, or the places do not ascend.

    Example:
        >>> panel = steps([0.5, 1], [0.25, 1], title="b", x_label="overlap", y_label="share")
        >>> sum("class='curve'" in element for element in panel.elements)
        1
    """
    if len(places) != len(shares) or not places:
        raise ValueError("give one share for each place, and at least one")
    _check([*places, *shares], [start, end])
    # Widened by 1 on both sides, since a place may lie on an end.
    _check([], [start - 1, *places, end + 1])
    axes = _Axes(start, end, 1.0)
    path, dots = [f"M{_n(axes.x(start))} {_n(axes.y(0))}"], []
    for place, share in zip(places, shares, strict=True):
        x, y = _n(axes.x(place)), _n(axes.y(share))
        path.append(f"H{x}V{y}")
        dots.append(
            f"<circle class='dot' cx='{x}' cy='{y}' r='2'>"
            f"<title>at most {_label(place)}: {_label(share)}</title></circle>"
        )
    curve = "".join([*path, f"H{_n(axes.x(end))}"])
    drawn = (*axes.draw(x_label, y_label), f"<path class='curve' d='{curve}'/>", *dots)
    return Panel(title, drawn)


def svg(panels: Sequence[Panel], *, title: str, description: str) -> str:
    """A figure of panels as the text of an SVG file.

    Args:
        panels: From left to right.
        title: What it is called, for screen readers and tooltips.
        description: What it shows, in a sentence or two.

    Example:
        >>> svg([], title="<Overlap>", description="Nothing").splitlines()[1]
        "<title id='t'>&lt;Overlap&gt;</title>"
    """
    groups = [
        f"<g transform='translate({_WIDTH * place} 0)'>\n"
        f"<text class='head' x='{_LEFT}' y='22'>{_text(panel.title)}</text>\n"
        + "\n".join(panel.elements)
        + "\n</g>"
        for place, panel in enumerate(panels)
    ]
    width = _WIDTH * max(1, len(panels))
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{_HEIGHT}' "
        f"viewBox='0 0 {width} {_HEIGHT}' role='img' aria-labelledby='t d'>\n"
        f"<title id='t'>{_text(title)}</title>\n<desc id='d'>{_text(description)}</desc>\n"
        f"<style>{_STYLE}</style><rect width='100%' height='100%' fill='#fff'/>\n"
        + "\n".join(groups)
        + "\n</svg>\n"
    )


@dataclass(frozen=True, slots=True)
class _Axes:
    """The axes of a panel, x from `left` to `right`, y from 0 to `top`: numbers to pixels.

    Steps between labels are at least `least`.
    """

    left: float
    right: float
    top: float
    least: float = 0.0

    def x(self, value: float) -> float:
        return _LEFT + (value - self.left) / (self.right - self.left) * _PLOT_WIDTH

    def y(self, value: float) -> float:
        return _TOP + (1 - value / self.top) * _PLOT_HEIGHT

    def draw(self, x_label: str, y_label: str) -> list[str]:
        base, middle = _TOP + _PLOT_HEIGHT, _TOP + _PLOT_HEIGHT // 2
        drawn = []
        for tick in _ticks(0, self.top, self.least):
            y = _n(self.y(tick))
            drawn.append(f"<path class='grid' d='M{_LEFT} {y}h{_PLOT_WIDTH}'/>")
            drawn.append(
                f"<text x='{_LEFT - 6}' y='{y}' dy='4' text-anchor='end'>{_label(tick)}</text>"
            )
        for tick in _ticks(self.left, self.right, self.least):
            if tick <= self.right:
                x = _n(self.x(tick))
                drawn.append(f"<path class='axis' d='M{x} {base}v4'/>")
                drawn.append(
                    f"<text x='{x}' y='{base + 18}' text-anchor='middle'>{_label(tick)}</text>"
                )
        drawn.append(f"<path class='axis' d='M{_LEFT} {_TOP}V{base}h{_PLOT_WIDTH}'/>")
        drawn.append(
            f"<text x='{_LEFT + _PLOT_WIDTH // 2}' y='{_HEIGHT - 12}' text-anchor='middle'>"
            f"{_text(x_label)}</text>"
        )
        drawn.append(
            f"<text transform='translate(14 {middle}) rotate(-90)' text-anchor='middle'>"
            f"{_text(y_label)}</text>"
        )
        return drawn


def _check(numbers: Sequence[float], ascending: Sequence[float]) -> None:
    if not all(math.isfinite(number) for number in (*numbers, *ascending)):
        raise ValueError("every number must be finite")
    if any(a >= b for a, b in pairwise(ascending)):
        raise ValueError("places must ascend")


def _ticks(low: float, high: float, least: float = 0.0) -> list[float]:
    """Round numbers from `low` on, about five steps apart, the last at `high` or beyond.

    Steps are at least `least`.
    """
    # 1e-12: no division by 0 where both are the same
    rough = max((high - low) / 5, least, 1e-12)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999999)
    # 1e-9, since 3 * 0.1 is a little more than 0.3 and would get a tick beyond the end.
    first, last = math.ceil(low / step - 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def _label(number: float) -> str:
    """A number as a label, with six digits at most."""
    return f"{round(number, 12) + 0:.6g}"


def _n(number: float) -> str:
    """A coordinate with two places at most, never -0."""
    return f"{round(float(number), 2) + 0:.2f}".rstrip("0").rstrip(".")


def _text(text: str) -> str:
    """Text that XML can hold: escaped, control characters shown as one sign."""
    return escape("".join(c if c.isprintable() else "\ufffd" for c in text), {"'": "&#39;"})


# The paper's Figure 2: how many links share how many tokens and lemmas.

_TITLE = "Types that queries share with what they allude to"


def overlap_svg(rows: Sequence[Mapping[str, Any]]) -> str:
    """Histograms of shared tokens and lemmas as SVG, a panel for each.

    Args:
        rows: From `evaluation.overlap.overlap_histogram`: `input`, `shared`, `links`.

    Example:
        >>> rows = [{"input": "token", "shared": 0, "links": 3}]
        >>> overlap_svg(rows).count("class='bar'")
        1
    """
    panels = [
        histogram(
            [shared - 0.5 for shared in range(len(counts) + 1)],
            counts,
            title=f"{field}s",
            x_label=f"shared {field}s",
            y_label="links",
            whole=True,
        )
        for field, counts in _counts(rows).items()
    ]
    total = sum(max(_counts(rows).values(), key=sum, default=[]))
    return svg(panels, title=_TITLE, description=f"Histograms of {total} links.")


def overlap_picture(rows: Sequence[Mapping[str, Any]], kind: str) -> bytes:
    """The histograms of `overlap_svg` as PDF or PNG, drawn by matplotlib.

    Args:
        rows: As for `overlap_svg`.
        kind: `pdf` or `png`.

    Raises:
        UsageError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise UsageError(
            f"{kind.upper()} figures need matplotlib: pip install 'allusion-es[figures]'; .svg "
            "needs nothing"
        ) from error
    counts = _counts(rows)
    figure = Figure(figsize=(4.2 * max(len(counts), 1), 3.2), layout="constrained")
    figure.suptitle(_TITLE)
    for number, (field, heights) in enumerate(counts.items(), start=1):
        axes = figure.add_subplot(1, len(counts), number)
        axes.bar(range(len(heights)), heights, width=1.0, edgecolor="white", color="#3b6ea5")
        axes.set_xlabel(f"shared {field}s")
        axes.set_ylabel("links")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    data = BytesIO()
    # These name matplotlib's version and the time; without them, files are the same each time.
    told = {"Software": None} if kind == "png" else {"CreationDate": None, "Producer": None}
    figure.savefig(data, format=kind, dpi=150, metadata=told)
    return data.getvalue()


def _counts(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    counts: dict[str, list[int]] = {}
    for row in rows:
        counts.setdefault(row["input"], []).append(row["links"])
    return counts


# Bars of characters, for a terminal.

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, width: int) -> str:
    """A bar whose length is a share of `width` columns, to an eighth of a column.

    Example:
        >>> bar(0.5, 5)
        '██▌'
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def bars(
    labels: Sequence[str], values: Sequence[float], figures: Sequence[str], width: int = 40
) -> list[str]:
    """One line for each value: label, figure, and a bar; the largest is as long as `width`.

    Args:
        labels: Name of each value.
        values: Not negative.
        figures: The values as they are to be printed.
        width: Columns of the longest bar.

    Example:
        >>> bars(["0.0", "0.5"], [1, 4], ["1", "4"], width=4)
        ['0.0  1  █', '0.5  4  ████']
    """
    largest = max(values, default=0) or 1
    first = max(map(len, labels), default=0)
    second = max(map(len, figures), default=0)
    return [
        f"{label:<{first}}  {figure:>{second}}  {bar(value / largest, width)}".rstrip()
        for label, value, figure in zip(labels, values, figures, strict=True)
    ]
