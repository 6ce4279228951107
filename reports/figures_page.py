"""The page of figures: tables and pictures of an evaluation or of annotators' agreement."""

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from allusion_es.core.characters import visible
from allusion_es.reports.page import page

_NUMBER = re.compile(r"-?\d.*")
"""A cell that is set flush right: a number, perhaps with its interval."""


def figures_page(title: str, figures: Mapping[str, Any]) -> str:
    """A self-contained page of tables and pictures.

    Args:
        title: Its heading.
        figures: From `figures_data`.

    Example:
        >>> text = figures_page("Agreement", figures_data([], notes=["no spans"]))
        >>> text.startswith("<!doctype html>"), "<title>Agreement</title>" in text
        (True, True)
    """
    return page("figures", title, {"title": title, "figures": figures})


def figures_data(
    tables: Sequence[tuple[str, Sequence[Mapping[str, Any]]]],
    pictures: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The JSON of tables, pictures and notes that the script of a page reads.

    Args:
        tables: For each its heading and its rows, whose values are shown as they are; all rows of
            a table have the same columns.
        pictures: For each what it shows, and the text of its SVG.
        notes: What a reader should know, below all.

    Example:
        >>> data = figures_data([("Methods", [{"method": "bm25", "mrr": "51.11"}])])
        >>> data["tables"][0]["heads"], data["tables"][0]["rows"]
        ([['method', False], ['mrr', True]], [['bm25', '51.11']])
    """
    return {
        "tables": [_table(heading, rows) for heading, rows in tables if rows],
        "pictures": [
            # As an image an SVG cannot run scripts, whatever is in it.
            [told, f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"]
            for told, svg in pictures
        ],
        "notes": [visible(note) for note in notes],
    }


def _table(heading: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A table; a column of which all cells are numbers is told as such."""
    cells = [[visible(str(value)) for value in row.values()] for row in rows]
    numeric = [
        any(column) and all(not cell or _NUMBER.fullmatch(cell) for cell in column)
        for column in zip(*cells, strict=True)
    ]
    heads = [[visible(name), number] for name, number in zip(rows[0], numeric, strict=True)]
    return {"heading": visible(heading), "heads": heads, "rows": cells}
