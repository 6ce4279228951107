"""Puts the figures of docs/figures.json into the README: a table, and the chart that it shows.

    python benchmarks/readme_figures.py

`docs/figures.json` holds, for each method, MRR, P@10 and P@20 on each set of gold links, times 100;
they are those of docs/quality.md, where the protocol stands. `parts` are in the table alone. After
a new measurement, change the file and run this. The same figures and matplotlib give the same
bytes.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures.json"
README = ROOT / "README.md"
CHART = ROOT / "docs" / "pictures" / "quality.svg"

_BEGIN = "<!-- From docs/figures.json, by benchmarks/readme_figures.py -->\n"
_END = "<!-- End of figures -->"
_BLOCK = re.compile(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)
_COLOURS = ("#9aa5b1", "#6b7a8c", "#7d9fd0", "#2f5fa8")


def table(figures: Mapping[str, Any]) -> str:
    """The table of all methods: MRR, P@10 and P@20 on each set.

    Example:
        >>> figures = {
        ...     "sets": [{"name": "a", "queries": 7, "what": "allusions"}],
        ...     "methods": [{"name": "BM25", "a": [31.7, 43.4, 48.4]}],
        ... }
        >>> print(table(figures))
        | MRR / P@10 / P@20 | 7 allusions |
        |---|---|
        | BM25 | 31.7 / 43.4 / 48.4 |
        <BLANKLINE>
    """
    sets = figures["sets"]
    heads = [f"{each['queries']} {each['what']}" for each in sets]
    lines = [f"| MRR / P@10 / P@20 | {' | '.join(heads)} |", "|---" * (len(sets) + 1) + "|"]
    for method in [*figures["methods"], *figures.get("parts", [])]:
        cells = [" / ".join(f"{value:.1f}" for value in method[each["name"]]) for each in sets]
        lines.append(f"| {method['name']} | {' | '.join(cells)} |")
    return "".join(f"{line}\n" for line in lines)


def with_figures(text: str, figures: Mapping[str, Any]) -> str:
    """The README's text with the table of these figures."""
    return _BLOCK.sub(lambda _: f"{_BEGIN}{table(figures)}{_END}", text)


def draw(figures: Mapping[str, Any]) -> Figure:
    """The chart of P@10: a panel for each set, a bar for each method."""
    sets, methods = figures["sets"], figures["methods"]
    figure = Figure(figsize=(8.6, 2.2), layout="constrained")
    panels = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
    names = [method["name"] for method in methods]
    for panel, each in zip(panels, sets, strict=True):
        values = [method[each["name"]][1] for method in methods]
        bars = panel.barh(names, values, color=_COLOURS[-len(names) :], height=0.7)
        panel.bar_label(bars, fmt="%.0f", padding=3, fontsize=9)
        panel.set_title(f"{each['queries']} {each['what']}", fontsize=9.5, loc="left")
        panel.set_xlim(0, 100)
        panel.set_xticks(range(0, 101, 20))
        panel.tick_params(labelsize=9, length=0)
        panel.spines[["top", "right", "left"]].set_visible(False)
    panels[0].invert_yaxis()
    figure.supxlabel("queries of 100 with a right verse among the first ten", fontsize=9)
    return figure


def main() -> None:
    figures = json.loads(FIGURES.read_text())
    README.write_text(with_figures(README.read_text(), figures))
    # Text stays text, ids depend on nothing but the drawing, and no date is written.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "readme"})
    draw(figures).savefig(CHART, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
