"""Draws the plan of Kibana's dashboard from the objects that are installed in Kibana.

    python benchmarks/kibana_picture.py docs/kibana.svg

It shows where each list and panel stands, and what is on its axes or in its columns. It is no
picture of Kibana itself, whose colours and type are its own.
"""

import json
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from allusion_es.core.files import write_lines
from allusion_es.es.kibana.objects import SavedObject, saved_objects

COLUMN, ROW, TOP = 20, 9, 74
"""Pixels of a column and of a row of the dashboard's grid, and of what is above the grid."""

STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1d1c1a}.head{font-weight:600}"
    ".quiet{fill:#5d5a55;font-size:11px}.box{fill:#fff;stroke:#d5d1c8}"
    ".end{text-anchor:end}.bar{fill:#56b4e9}.gold{fill:#d55e00}"
)


def picture(objects: list[SavedObject]) -> str:
    """The plan as SVG; the last of the objects is the dashboard."""
    dashboard, by_id = objects[-1], {each["id"]: each for each in objects}
    panels = json.loads(dashboard["attributes"]["panelsJSON"])
    ids = {each["name"]: each["id"] for each in dashboard["references"]}
    lowest = max(each["gridData"]["y"] + each["gridData"]["h"] for each in panels)
    width, height = 48 * COLUMN, TOP + lowest * ROW
    title = dashboard["attributes"]["title"]
    drawn = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' role='img'>",
        f"<title>Plan of the dashboard “{escape(title)}”</title><style>{STYLE}</style>",
        f"<rect width='{width}' height='{height}' fill='#fbfaf7'/>",
        _text(10, 22, title, "head"),
        *_controls(dashboard, width),
    ]
    for panel in panels:
        grid = panel["gridData"]
        saved = by_id[ids[f"{panel['panelIndex']}:{panel['panelRefName']}"]]
        place = (grid["x"] * COLUMN, TOP + grid["y"] * ROW, grid["w"] * COLUMN, grid["h"] * ROW)
        drawn += _panel(saved, *place)
    return "\n".join([*drawn, "</svg>"])


def _controls(dashboard: SavedObject, width: int) -> Iterator[str]:
    """The lists above the panels, from left to right."""
    controls = json.loads(dashboard["attributes"]["controlGroupInput"]["panelsJSON"]).values()
    names = [
        each["explicitInput"]["title"] for each in sorted(controls, key=lambda each: each["order"])
    ]
    each_width = width / len(names)
    for number, name in enumerate(names):
        x = number * each_width
        yield f"<rect class='box' x='{x + 5:g}' y='34' width='{each_width - 10:g}' height='30'/>"
        yield _text(x + 14, 53, f"{name}  ▾")


def _panel(saved: SavedObject, x: int, y: int, width: int, height: int) -> Iterator[str]:
    """A panel with its title and a sketch of what is in it."""
    yield (f"<rect class='box' x='{x + 3}' y='{y + 3}' width='{width - 6}' height='{height - 6}'/>")
    yield _text(x + 12, y + 22, saved["attributes"]["title"], "head")
    if saved["type"] == "search":
        yield from _columns(saved["attributes"]["columns"], x + 12, y + 44, width - 24)
        return
    state = json.loads(saved["attributes"]["visState"])
    labels = {agg["schema"]: _label(agg) for agg in state["aggs"]}
    foot = y + height - 14
    if state["type"] == "vega":
        encoding = json.loads(state["params"]["spec"])["encoding"]
        yield _text(x + 12, y + 42, f"↑ {encoding['y']['title']}", "quiet")
        yield _text(x + width / 2, foot, f"{encoding['x']['title']} →", "quiet")
        for step in range(1, 12):
            left, up = x + step * width / 13, y + 46 + step * (height - 80) / 12
            kind = "gold" if step in (2, 9) else "bar"
            yield f"<circle class='{kind}' cx='{left:g}' cy='{up:g}' r='3'/>"
    elif state["type"] == "histogram":
        yield _text(x + 12, y + 42, f"↑ {labels['metric']}", "quiet")
        yield _text(x + width / 2, foot, f"{labels['segment']} →", "quiet")
        yield _text(x + width - 14, y + 42, labels["group"], "quiet end")
        for step in range(12):
            tall = (height - 80) * (12 - step) / 13
            left = x + 16 + step * (width - 40) / 12
            yield (
                f"<rect class='bar' x='{left:g}' y='{foot - 16 - tall:g}' "
                f"width='{(width - 40) / 15:g}' height='{tall:g}'/>"
            )
    elif state["type"] == "table":
        heads = [_label(agg) for agg in state["aggs"]]
        yield from _columns([*heads[-1:], *heads[:-1]], x + 12, y + 44, width - 24)
    else:
        for number, agg in enumerate(state["aggs"]):
            yield _text(x + 12, y + 50 + 22 * number, _label(agg))


def _label(agg: dict[str, Any]) -> str:
    """What an aggregation is called: its label, or those of its filters."""
    params = agg["params"]
    if "filters" in params:
        return " · ".join(each["label"] for each in params["filters"])
    return str(params["customLabel"])


def _columns(names: list[str], x: float, y: float, width: float) -> Iterator[str]:
    """The heads of a table, and lines below them."""
    for number, name in enumerate(names):
        yield _text(x + number * width / len(names), y, name, "quiet")
    for line in range(4):
        yield f"<path d='M{x:g} {y + 14 + 18 * line:g}h{width:g}' stroke='#d5d1c8'/>"


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f"<text x='{x:g}' y='{y:g}' class='{kind}'>{escape(text)}</text>"


if __name__ == "__main__":
    write_lines(Path(sys.argv[1]), [picture(saved_objects())])
