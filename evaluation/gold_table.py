"""Gold links as tables: one link a row, tabs between columns, a header."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from allusion_es.core.errors import InputError, UsageError
from allusion_es.core.files import read_text
from allusion_es.evaluation.gold import GoldLink
from allusion_es.evaluation.gold_fields import COLUMNS, Value, make_link, values_of

_NEEDED = ("text", "relevant")


def read_table(path: Path) -> Iterator[GoldLink]:
    """The links of a table, in its order; `gold_files.read_gold` says what columns there are.

    Raises:
        InputError: It has no columns `text` and `relevant`, or a row cannot be read; the
            message names file, line and column.
    """
    lines = [line.removesuffix("\r").split("\t") for line in read_text(path).split("\n")]
    header = [name.strip().lower() for name in lines[0]]
    _check_header(header, path)
    for number, cells in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise InputError(
                f"{path}:{number}: {len(cells)} cells, but the header has {len(header)}; "
                "give each row as many cells"
            )
        row = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
        yield make_link({name: cell for name, cell in row.items() if cell}, path, number)


def table_lines(links: Iterable[GoldLink]) -> Iterator[str]:
    r"""The lines of a table with all columns; blanks, tabs and line ends become one blank.

    Raises:
        UsageError: An id contains blanks or semicolons, which stand between ids there.

    Example:
        >>> from allusion_es.retrieval.types import Query
        >>> lines = list(table_lines([GoldLink(Query("in\nprincipio", "q"), ("Gen.1.1",))]))
        >>> lines[1].split("\t")[:6]
        ['q', 'in principio', '', '', '', 'Gen.1.1']
    """
    yield "\t".join(COLUMNS)
    for link in links:
        yield "\t".join(_cell(value) for value in values_of(link).values())


def _check_header(header: list[str], path: Path) -> None:
    for name in _NEEDED:
        if name not in header:
            found = ", ".join(repr(column[:40]) for column in header[:12])
            raise InputError(
                f"{path}:1: there is no column {name!r}; found {found}; name the columns "
                "'text' and 'relevant' in the first line"
            )
    for name in COLUMNS:
        if header.count(name) > 1:
            raise InputError(f"{path}:1: column {name!r} is there twice; rename one")


def _cell(value: Value) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    for name in value:
        if ";" in name or len(name.split()) != 1:
            raise UsageError(
                f"{name!r} cannot stand in a table of gold links; ids must not contain blanks or "
                "semicolons"
            )
    return " ".join(value)
