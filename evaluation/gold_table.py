"""Gold links as tables: one link a row, tabs between columns, a header."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from allusion_es.core.errors import UsageError
from allusion_es.corpora.tables import read_rows
from allusion_es.evaluation.gold import GoldLink
from allusion_es.evaluation.gold_fields import COLUMNS, Value, make_link, values_of

_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_NEEDED = ("text", "relevant")


def read_table(path: Path, columns: Mapping[str, str] = _NO_NAMES) -> Iterator[GoldLink]:
    """The links of a table, in its order; `gold_files.read_gold` says what columns there are.

    Args:
        path: The table; tabs between columns, or a `.csv` (`tables.read_rows`).
        columns: What the table calls its columns, where it is another name.

    Raises:
        InputError: It has no columns `text` and `relevant`, or a row cannot be read; the
            message names file, line and column.
    """
    others = [name for name in COLUMNS if name not in _NEEDED]
    for number, cells in read_rows(path, _NEEDED, others, columns, command="gold convert "):
        if record := {name: cell for name, cell in cells.items() if cell}:
            yield make_link(record, path, number)


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
