"""The report of `allusion-es evaluate --html`: figures, and what became of each gold passage."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from allusion_es.cli.evaluate.output import for_people
from allusion_es.core.files import write_lines
from allusion_es.reports.errors_page import errors_page
from allusion_es.reports.figures import overlap_svg
from allusion_es.reports.figures_page import figures_data, figures_page


class EvaluationPage:
    """The report of an evaluation, put together table by table.

    Args:
        title: Its heading.

    Attributes:
        errors: The rows of the error analysis, if there is one.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._tables: list[tuple[str, Sequence[Mapping[str, Any]]]] = []
        self._pictures: list[tuple[str, str]] = []
        self._remarks: list[str] = []
        self.errors: Sequence[Mapping[str, Any]] = ()

    def add(self, rows: Sequence[Mapping[str, Any]], title: str, note: str = "") -> None:
        """Add a table as people read it, and a remark on it."""
        self._tables.append((title, [for_people(row) for row in rows]))
        self._remarks += [note] if note else []

    def add_histogram(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add the histogram of types that links share, as a picture and a table."""
        self._pictures.append(("Types that queries share with passages", overlap_svg(rows)))
        self.add(rows, "Links by shared types")

    def write(self, path: Path, notes: Sequence[str]) -> None:
        """Write it, and say on stderr what is in it.

        Raises:
            StorageError: The file cannot be written.
        """
        figures = figures_data(self._tables, self._pictures, [*self._remarks, *notes])
        if self.errors:
            content = errors_page(self.errors, self._title, figures)
        else:
            content = figures_page(self._title, figures)
        write_lines(path, [content])
        tables = "1 table" if len(self._tables) == 1 else f"{len(self._tables)} tables"
        links = len({(row["query_id"], row["relevant"]) for row in self.errors})
        print(f"{path}: {tables}" + (f", {links} gold links" if links else ""), file=sys.stderr)
