"""Passages from tables, and the choice of a reader for a file."""

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from allusion_es.core.errors import InputError, UsageError
from allusion_es.corpora.bible.references import is_verse_id
from allusion_es.corpora.lines import (
    LONGEST_CELL,
    SeenIds,
    check_length,
    read_lines,
    shortened,
)
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.plain import read_text_lines, read_verse_lines, verse_passage

Kind = Literal["table", "lines", "verses"]
"""What a file holds: a table, one passage a line, or one verse a line."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_NEEDED = ("id", "text")
_OPTIONAL = ("work", "tokens", "lemmas")
_TAB_SUFFIXES = frozenset({".tsv", ".tab"})
_TABLE_SUFFIXES = _TAB_SUFFIXES | {".csv"}


def read_passages(
    path: Path, *, kind: Kind | None = None, work: str | None = None
) -> Iterator[Passage]:
    """The passages of a file, one at a time; memory holds the ids and one line.

    Args:
        path: A UTF-8 file. `.tsv`, `.tab` and `.csv` are tables, others one passage a line,
            unless `kind` says otherwise.
        kind: `table`, `lines` or `verses` (a reference, a tab, the text).
        work: The work's title; without one, the file's name without its suffix. A table's
            column `work` goes before it.

    Raises:
        InputError: The file cannot be read as that; the message says where and why.
        UsageError: There is no such kind.
    """
    chosen = kind or ("table" if path.suffix.lower() in _TABLE_SUFFIXES else "lines")
    if chosen == "table":
        return read_table(path, work=work)
    if chosen == "lines":
        return read_text_lines(path, work=work)
    if chosen == "verses":
        return read_verse_lines(path, work=work)
    raise UsageError(f"there is no kind of file {kind!r}; use one of {', '.join(KINDS)}")


def read_table(path: Path, *, work: str | None = None) -> Iterator[Passage]:
    r"""The passages of a table with named columns.

    The columns `id` and `text` are needed; `work`, `tokens` and `lemmas` may be there; others
    are passed over. Tokens and lemmas are separated by blanks, one lemma for each token. An id
    such as `Ps.22.1` makes the passage that verse, with its book and testament. A name that
    ends in `.csv` means commas and quotes as spreadsheets write them; any other, tabs and no
    quoting.

    Args:
        path: A UTF-8 table with a header.
        work: The work's title where the table has none; else the file's name without suffix.

    Raises:
        InputError: The file is not such a table; the message names line and column.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.tsv")
        ...     _ = path.write_text("id\ttext\ns1\tGustate et videte\n")
        ...     [(passage.id, passage.work) for passage in read_table(path)]
        [('s1', 'sermo')]
    """
    rows = _rows(path)
    _, header = next(rows, (0, None))
    if header is None:
        raise InputError(f"{path}: the file is empty; give a header with 'id' and 'text', and rows")
    columns = _columns(header, path)
    seen, order = SeenIds(), 0
    for number, row in rows:
        if not row:
            continue
        where = f"{path}:{number}"
        if len(row) != len(header):
            raise InputError(
                f"{where}: {len(row)} cells, but the header has {len(header)}; "
                "give each row as many cells"
            )
        cells = {name: row[place].strip() for name, place in columns.items()}
        for name, cell in cells.items():
            check_length(cell, f"{where}: column {name!r}")
        seen.add(cells["id"], number, f"{where}: column 'id'")
        yield _passage(cells, order, path.stem if work is None else work, where)
        order += 1
    if not order:
        raise InputError(f"{path}: the table has a header but no rows; give one passage a row")


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Each row with the number of its first line."""
    if path.suffix.lower() == ".csv":
        reader = csv.reader(read_lines(path), strict=True)
    else:
        reader = csv.reader(read_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE)
    number = 1
    try:
        for row in reader:
            yield number, row
            number = reader.line_num + 1
    except csv.Error as error:
        if "field larger" in str(error):
            raise InputError(
                f"{path}:{number}: a cell has more than {LONGEST_CELL:,} characters; "
                "split it into shorter passages"
            ) from error
        raise InputError(
            f"{path}:{number}: cannot be read as a table: {error}; "
            "check the quotes and line ends of this row"
        ) from error


def _columns(header: list[str], path: Path) -> dict[str, int]:
    """Where each column that matters stands."""
    names = [name.strip().lower() for name in header]
    if not any(names):
        raise InputError(f"{path}:1: the first line is empty; put column names there")
    found = ", ".join(shortened(name.strip()) for name in header[:12])
    for name in _NEEDED:
        if name not in names:
            raise InputError(
                f"{path}:1: there is no column {name!r}; found {found}; "
                "name the columns 'id' and 'text' in the first line"
            )
    for name in (*_NEEDED, *_OPTIONAL):
        if names.count(name) > 1:
            raise InputError(f"{path}:1: column {name!r} is there twice; rename one")
    if "lemmas" in names and "tokens" not in names:
        raise InputError(
            f"{path}:1: column 'lemmas' without a column 'tokens'; give both, one lemma a token"
        )
    return {name: names.index(name) for name in (*_NEEDED, *_OPTIONAL) if name in names}


def _passage(cells: dict[str, str], order: int, work: str, where: str) -> Passage:
    if not cells["text"]:
        raise InputError(
            f"{where}: column 'text' of {shortened(cells['id'])} is empty; "
            "give it a text or leave out the row"
        )
    tokens = tuple(cells.get("tokens", "").split()) or None
    lemmas = tuple(cells.get("lemmas", "").split()) or None
    if lemmas is not None and len(tokens or ()) != len(lemmas):
        raise InputError(
            f"{where}: column 'lemmas' of {shortened(cells['id'])} has {len(lemmas)} words, "
            f"column 'tokens' {len(tokens or ())}; give one lemma for each token"
        )
    work = cells.get("work") or work
    if is_verse_id(cells["id"]):
        passage = verse_passage(cells["id"], cells["text"], work, order)
    else:
        passage = Passage(cells["id"], cells["text"], work, order=order, reference=cells["id"])
    return replace(passage, tokens=tokens, lemmas=lemmas)
