"""Draws the figures of `scale.py`: what building and asking cost as the collection grows.

    python benchmarks/scale_curves.py docs/scaling.jsonl --svg docs/scaling.svg
    python benchmarks/scale_curves.py docs/scaling.jsonl --tables

Six panels, both axes logarithmic: seconds of building, size, memory, milliseconds of a query by
`bm25` and by the default (percentile 50 as a line, 95 and 99 as marks above it), and queries a
second of several clients by `bm25` in each collection. The same figures and matplotlib give the
same bytes.
"""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

PLACES = {
    "local": ("in process", "#3b6ea5", "o"),
    "local+links": ("in process, citations known", "#7fb069", "D"),
    "es:1": ("Elasticsearch", "#a53b3b", "s"),
    "es:1+links": ("Elasticsearch, citations known", "#b8860b", "^"),
}
DEFAULT = "fused+learned"
PERCENTILES = (50, 95, 99)
CLIENTS = (1, 2, 4, 8)

Key = tuple[str, int, str]
"""Place, passages and what was measured."""


def read_figures(lines: Iterable[str]) -> dict[Key, float]:
    """The figures by place, passages and what was measured; of several, the last.

    Example:
        >>> line = '{"place": "local", "passages": 9, "what": "size on disk", "value": 2.5}'
        >>> read_figures([line])
        {('local', 9, 'size on disk'): 2.5}
    """
    records = (json.loads(line) for line in lines)
    return {(each["place"], each["passages"], each["what"]): each["value"] for each in records}


def curve(figures: Mapping[Key, float], place: str, what: str) -> tuple[list[int], list[float]]:
    """The sizes at which something was measured in a place, ascending, and what it was.

    Example:
        >>> curve({("local", 90, "a"): 3.0, ("local", 9, "a"): 2.5}, "local", "a")
        ([9, 90], [2.5, 3.0])
    """
    found = sorted(
        (size, value) for (at, size, name), value in figures.items() if (at, name) == (place, what)
    )
    return [size for size, _ in found], [value for _, value in found]


def draw_growth(axes: Axes, figures: Mapping[Key, float], what: str, title: str, unit: str) -> None:
    """One figure against the size of the collection, a line for each place."""
    for place, (name, colour, marker) in PLACES.items():
        sizes, values = curve(figures, place, what)
        axes.plot(sizes, values, color=colour, marker=marker, label=name)
    _label(axes, title, "passages", unit, _sizes(figures))


def draw_queries(axes: Axes, figures: Mapping[Key, float], method: str, title: str) -> None:
    """Percentiles of queries against the size of the collection."""
    for place, (_, colour, marker) in PLACES.items():
        for percentile in PERCENTILES:
            sizes, values = curve(figures, place, f"{method}: query, percentile {percentile}")
            middle = percentile == PERCENTILES[0]
            style: dict[str, Any] = (
                {"marker": marker} if middle else {"marker": "_", "linestyle": ""}
            )
            axes.plot(sizes, values, color=colour, **style)
    _label(axes, title, "passages", "ms (percentiles 50, 95, 99)", _sizes(figures))


def draw_throughput(axes: Axes, figures: Mapping[Key, float], method: str, title: str) -> None:
    """Queries a second against how many clients ask, a line for each place and size."""
    styles = dict(zip(_sizes(figures), cycle(("-", "--", ":", "-."))))
    for place, (_, colour, marker) in PLACES.items():
        for size, style in styles.items():
            keys = {n: (place, size, f"{method}: {n} clients") for n in CLIENTS}
            found = {n: figures[key] for n, key in keys.items() if key in figures}
            axes.plot([*found], [*found.values()], color=colour, marker=marker, linestyle=style)
    for size, style in styles.items():
        axes.plot([], [], color="#444", linestyle=style, label=f"{size:,} passages")
    axes.legend(fontsize=8)
    _label(axes, title, "clients", "queries a second", CLIENTS)


def _sizes(figures: Mapping[Key, float]) -> list[int]:
    return sorted({size for _, size, _ in figures})


def _label(axes: Axes, title: str, x_label: str, y_label: str, ticks: Sequence[int]) -> None:
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    if not any(np.size(line.get_xdata()) for line in axes.lines):
        axes.set(xticks=[], yticks=[], title=f"{title}: not measured")  # logarithms need numbers
        return
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(visible=True, color="#ddd")


def draw(figures: Mapping[Key, float]) -> Figure:
    """All panels."""
    drawing = Figure(figsize=(13, 8), layout="constrained")
    panels: Sequence[Any] = drawing.subplots(2, 3).flat
    built = next((what for _, _, what in figures if what.startswith("built by")), "built")
    draw_growth(panels[0], figures, built, "Building", "seconds")
    draw_growth(panels[1], figures, "size on disk", "Size on disk", "MB")
    draw_growth(panels[2], figures, f"{DEFAULT}: memory", "Memory of a process that asks", "MB")
    draw_queries(panels[3], figures, "bm25", "A query by bm25")
    draw_queries(panels[4], figures, DEFAULT, "A query by the default")
    draw_throughput(panels[5], figures, "bm25", "Throughput of bm25")
    panels[0].legend()
    return drawing


def table(figures: Mapping[Key, float], places: Sequence[str]) -> list[str]:
    """The figures of some places as a table in Markdown, a column for each size and place.

    Example:
        >>> size = "size on disk"
        >>> table({("local", 9000, size): 2.5, ("local", 900000, size): 2500.0}, ["local"])
        ['| | 9,000 | 900,000 |', '| --- | ---: | ---: |', '| size on disk | 2.5 | 2,500 |']
    """
    columns = sorted({(places.index(at), size) for at, size, _ in figures if at in places})
    rows = list(dict.fromkeys(what for at, _, what in figures if at in places))
    several = len(places) > 1
    heads = [f"{size:,}" + (f", {PLACES[places[n]][0]}" if several else "") for n, size in columns]
    lines = [_row("", heads), _row("---", ["---:"] * len(heads))]
    for what in rows:
        values = [figures.get((places[n], size, what)) for n, size in columns]
        lines.append(_row(what.strip(), ["" if each is None else _digits(each) for each in values]))
    return lines


def _row(name: str, cells: Iterable[str]) -> str:
    return " | ".join(("| " + name if name else "|", *cells)) + " |"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Draws the figures of scale.py.")
    parser.add_argument("figures", nargs="+", type=Path, help="of scale.py --json")
    parser.add_argument("--svg", type=Path, help="the drawing")
    parser.add_argument("--tables", action="store_true", help="print tables")
    options = parser.parse_args()
    # Text stays text, ids depend on nothing but the drawing, and no date is written.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "scale"})
    lines = [line for path in options.figures for line in path.read_text().splitlines()]
    figures = read_figures(lines)
    if options.svg:
        draw(figures).savefig(options.svg, format="svg", metadata={"Date": None})
    if options.tables:
        for kind in ("local", "es"):
            places = [place for place in PLACES if place.startswith(kind)]
            print("\n".join(table(figures, places)), end="\n\n")


if __name__ == "__main__":
    main()
