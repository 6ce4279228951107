"""Lines of text files and rows of tables, with errors that name file, line and column.

Files are streamed: memory holds a megabyte of lines. Passages, queries and gold links are all read
through `read_lines` and `read_rows`.
"""

import contextlib
import csv
import io
import itertools
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from allusion_es.core.characters import shorten
from allusion_es.core.errors import InputError

LONGEST_LINE = 4_000_000
"""Most bytes of a line. A longer one is no passage, and would be read into memory whole."""

LONGEST_CELL = 100_000
"""Most characters of a cell or a passage; a verse has some 100, a page some 3,000."""

LINE_END = re.compile("\r\n|[\n\r\u2028\u2029]")
"""The end of a line, also as old Macs write it, and Pages and InDesign inside paragraphs."""

_AT_ONCE = 1 << 20  # bytes of lines that are read before the first of them is handed out


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, each with its line end; a byte-order mark is dropped.

    Raises:
        InputError: The file cannot be read, is not UTF-8, holds a NUL byte, or a line is too
            long; the message says where.
    """
    number, offset, has_more = 0, 0, True
    try:
        with contextlib.ExitStack() as opened:
            file = opened.enter_context(path.open("rb"))
            while has_more:
                lines, has_more = _some_lines(file)
                if not has_more:
                    # Closed before the last lines are handed out: a caller that stops there would
                    # leave the file open until the generator is collected.
                    opened.close()
                for line in lines:
                    number += 1
                    yield _decoded(line, f"{path}:{number}", offset)
                    offset += len(line)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def split_lines(text: str) -> list[str]:
    r"""The lines of a text without their ends, whatever program wrote it.

    Example:
        >>> split_lines("Gustate\ret videte\r\nquoniam")
        ['Gustate', 'et videte', 'quoniam']
    """
    return LINE_END.split(text)


def _some_lines(file: BinaryIO) -> tuple[list[bytes], bool]:
    """Read about a megabyte of lines; also say whether there may be more."""
    lines: list[bytes] = []
    size = 0
    while size < _AT_ONCE:
        line = file.readline(LONGEST_LINE + 1)
        if not line:
            return lines, False
        lines.append(line)
        size += len(line)
    return lines, True


def _decoded(line: bytes, where: str, offset: int) -> str:
    if len(line) > LONGEST_LINE:
        raise InputError(f"{where}: the line is longer than {LONGEST_LINE:,} bytes; split it")
    if (nul := line.find(b"\0")) >= 0:
        raise InputError(
            f"{where}: NUL byte at byte {offset + nul}; save the file as UTF-8 text without it"
        )
    if not offset and line.startswith(BOM_UTF8):
        line, offset = line[len(BOM_UTF8) :], len(BOM_UTF8)
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where}: not UTF-8 at byte {offset + error.start} (0x{line[error.start]:02x}); "
            "save the file as UTF-8"
        ) from error


def check_length(text: str, where: str) -> None:
    """Refuse a text that is too long for a passage.

    Args:
        text: The text.
        where: The start of the message: file, line, and what the text is.

    Raises:
        InputError: The text has more than `LONGEST_CELL` characters.
    """
    if len(text) > LONGEST_CELL:
        raise InputError(
            f"{where} has {len(text):,} characters, more than {LONGEST_CELL:,}; "
            "split it into shorter passages"
        )


def shortened(value: str) -> str:
    """A value for an error message: quoted, control characters escaped, cut at 40 characters."""
    return repr(shorten(value, 40))


OnBad = Callable[[InputError], None]
"""Takes the error of a record that cannot be read; if it returns, the others are read."""


def raise_bad(error: InputError) -> None:
    """Raise the error of a record, for callers that need all of them."""
    raise error


_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_OTHER_NAMES: Mapping[str, Sequence[str]] = {
    "id": ("seg_id", "passage_id", "verse_id", "verse", "ref", "reference", "locus", "osis", "urn"),
    "text": ("content", "verse_text", "latin", "words", "passage", "segment", "line", "sentence"),
    "query_id": ("id", "qid", "seg_id", "segment_id", "key"),
    "relevant": ("verse", "verses", "ref", "reference", "references", "target", "targets"),
}
"""Names that other programs give the columns; an error suggests the one that the table has."""


def read_rows(
    source: Path | str,
    needed: Sequence[str],
    optional: Sequence[str],
    names: Mapping[str, str] = _NO_NAMES,
    text: str | None = None,
    command: str = "",
    advice: str = "",
    on_bad: OnBad = raise_bad,
) -> Iterator[tuple[int, dict[str, str]]]:
    r"""Yield the rows of a table with named columns, each as a mapping from column to cell.

    Columns that are not named in `needed` or `optional` are ignored.

    A name that ends in `.csv` means quotes as spreadsheets write them, with commas, semicolons (as
    Excel writes them in most of Europe) or tabs, whichever divides the header best. Any other name
    means tabs and no quoting.

    Args:
        source: The file; or, with `text`, its name in messages.
        needed: Columns that the table must have.
        optional: Columns that it may have.
        names: The table's own names of columns, where they differ.
        text: The table's content, if it does not come from a file; read like a `.csv`, unless its
            header has tabs.
        command: The command whose options name the columns (`query `), if it is not the one in
            use; for the advice in messages.
        advice: What to do about a column that is missing, where no option names columns.
        on_bad: Called with the error of a row that has another number of cells, or too long ones.

    Yields:
        The number of the row's first line, and its cells.

    Raises:
        InputError: The table lacks a column or cannot be read; the message names line and column.

    Example:
        >>> rows = read_rows("stdin", ["text"], ["id"], text='id;text\nq1;"vir; beatus"\n')
        >>> list(rows)
        [(2, {'text': 'vir; beatus', 'id': 'q1'})]
    """
    rows = _rows(source, text)
    _, header = next(rows, (0, None))
    if header is None:
        wanted = " and ".join(map(repr, needed))
        raise InputError(f"{source}: the file is empty; give a header with {wanted}, and rows")
    columns = _columns(header, source, needed, optional, names, command, advice)
    for number, row in rows:
        if not row:
            continue
        where = f"{source}:{number}"
        try:
            cells = _cells(row, len(header), columns, where)
        except InputError as error:
            on_bad(error)
        else:
            yield number, cells


def _cells(row: Sequence[str], size: int, columns: Mapping[str, int], where: str) -> dict[str, str]:
    """The cells of a row that are read."""
    if len(row) != size:
        raise InputError(
            f"{where}: {len(row)} cells, but the header has {size}; give each row as many cells"
        )
    cells = {name: row[place].strip() for name, place in columns.items()}
    for name, cell in cells.items():
        check_length(cell, f"{where}: column {name!r}")
    return cells


def _rows(source: Path | str, text: str | None) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of its first line; a quoted cell may span several lines."""
    lines = read_lines(Path(source)) if text is None else io.StringIO(text, newline="")
    number = 1
    first = next(lines, "")
    # Excel's own first line, in quotes where another program saved it.
    if first.strip().strip('"').lower() in ("sep=,", "sep=;", "sep=\t", "sep="):
        number, first = 2, next(lines, "")
    if not first:
        return
    is_csv = text is not None or Path(source).suffix.lower() == ".csv"
    divider = _divider(first) if is_csv else "\t"
    if text is not None and divider == "\t":
        is_csv = False
    # Only files of spreadsheets quote cells: elsewhere a quotation mark is a character of the text.
    reader = csv.reader(
        itertools.chain([first], lines),
        delimiter=divider,
        quoting=csv.QUOTE_MINIMAL if is_csv else csv.QUOTE_NONE,
        strict=is_csv,
    )
    before = number - 1
    try:
        for row in reader:
            yield number, row
            number = before + reader.line_num + 1
    except csv.Error as error:
        if "field larger" in str(error):
            raise InputError(
                f"{source}:{number}: a cell has more than {LONGEST_CELL:,} characters; "
                "split it into shorter passages"
            ) from error
        raise InputError(
            f"{source}:{number}: cannot be read as a table: {error}; "
            "check the quotes and line ends of this row"
        ) from error


def _divider(header: str) -> str:
    """The separator that divides a header into the most columns; a comma where none does."""
    outside = "".join(header.split('"')[::2])
    return max(",;\t", key=outside.count)


def _columns(
    header: list[str],
    source: Path | str,
    needed: Sequence[str],
    optional: Sequence[str],
    names: Mapping[str, str],
    command: str,
    advice: str,
) -> dict[str, int]:
    """The position of each column that is read."""
    header_names = [name.strip().lower() for name in header]
    if not any(header_names):
        raise InputError(f"{source}:1: the first line is empty; put column names there")
    found = ", ".join(shortened(name.strip()) for name in header[:12])
    columns = {}
    for name in (*needed, *optional):
        called = names.get(name, name).strip().lower()
        if header_names.count(called) > 1:
            raise InputError(f"{source}:1: column {called!r} is there twice; rename one")
        if called in header_names:
            columns[name] = header_names.index(called)
        elif name in needed or name in names:
            todo = "give the name of one of these"
            if name not in names:
                todo = advice or _advice(name, header_names, command)
            raise InputError(f"{source}:1: there is no column {called!r}; found {found}; {todo}")
    return columns


def _advice(name: str, header_names: Sequence[str], command: str) -> str:
    option = f"{command}--{name.removeprefix('query_')}-column"
    known = _OTHER_NAMES.get(name, ())
    likely = next((each for each in header_names if each in known), "NAME")
    return f"rename one in the first line, or say which it is with '{option} {likely}'"
