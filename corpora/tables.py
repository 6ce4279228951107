"""Passages from tables, and the choice of a reader for a file."""

import csv
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from allusion_es.core.errors import InputError, UsageError
from allusion_es.corpora.bible.references import is_verse_id
from allusion_es.corpora.formats import kind_of
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

_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_NEEDED = ("id", "text")
_OPTIONAL = ("work", "tokens", "lemmas")
TABLE_SUFFIXES = frozenset({".csv", ".tsv", ".tab"})
"""What names of tables end in."""

_OTHER_NAMES: Mapping[str, Sequence[str]] = {
    "id": ("seg_id", "passage_id", "verse_id", "verse", "ref", "reference", "locus", "osis", "urn"),
    "text": ("content", "verse_text", "latin", "words", "passage", "segment", "line", "sentence"),
    "query_id": ("id", "qid", "seg_id", "segment_id", "key"),
    "relevant": ("verse", "verses", "ref", "reference", "references", "target", "targets"),
}
"""What others call the columns, for the advice in errors."""


def read_passages(
    path: Path,
    *,
    kind: Kind | None = None,
    work: str | None = None,
    columns: Mapping[str, str] = _NO_NAMES,
) -> Iterator[Passage]:
    """The passages of a file, one at a time; memory holds the ids and one line.

    Args:
        path: A UTF-8 file, HTML or DOCX. `.tsv`, `.tab` and `.csv` are tables, others one passage
            a line or paragraph, unless `kind` says otherwise.
        kind: `table`, `lines` or `verses` (a reference, a tab, the text).
        work: The work's title; without one, the file's name without its suffix. A table's
            column `work` goes before it.
        columns: What a table calls its columns, where it is not `id` and `text`.

    Raises:
        InputError: The file cannot be read as that; the message says where and why.
        UsageError: There is no such kind.
    """
    if kind is None:
        is_table = path.suffix.lower() in TABLE_SUFFIXES
        found = kind_of(path, tables=is_table)
        if found == "tei":
            raise InputError(
                f"{path}: the file is XML, and passages are not read from it; save its text as "
                "plain text, one passage a line ('allusion-es read' prints it)"
            )
        if is_table:
            return read_table(path, work=work, columns=columns)
        document = found if found == "html" or found == "docx" else None
        return read_text_lines(path, work=work, kind=document, check=document is None)
    if kind == "table":
        return read_table(path, work=work, columns=columns)
    if kind == "lines":
        return read_text_lines(path, work=work)
    if kind == "verses":
        return read_verse_lines(path, work=work)
    raise UsageError(f"there is no kind of file {kind!r}; use one of {', '.join(KINDS)}")


def read_table(
    path: Path, *, work: str | None = None, columns: Mapping[str, str] = _NO_NAMES
) -> Iterator[Passage]:
    r"""The passages of a table with named columns.

    The columns `id` and `text` are needed; `work`, `tokens` and `lemmas` may be there; others
    are passed over. Tokens and lemmas are separated by blanks, one lemma for each token. An id
    such as `Ps.22.1` makes the passage that verse, with its book and testament.

    Args:
        path: A UTF-8 table with a header; see `read_rows`.
        work: The work's title where the table has none; else the file's name without suffix.
        columns: What the table calls its columns, where it is another name.

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
    seen, order = SeenIds(), 0
    for number, cells in read_rows(path, _NEEDED, _OPTIONAL, columns):
        where = f"{path}:{number}"
        seen.add(cells["id"], number, f"{where}: column 'id'")
        if not order and "lemmas" in cells and "tokens" not in cells:
            raise InputError(
                f"{path}:1: column 'lemmas' without a column 'tokens'; give both, one lemma a token"
            )
        yield _passage(cells, order, path.stem if work is None else work, where)
        order += 1
    if not order:
        raise InputError(f"{path}: the table has a header but no rows; give one passage a row")


def read_rows(
    source: Path | str,
    needed: Sequence[str],
    optional: Sequence[str],
    names: Mapping[str, str] = _NO_NAMES,
    text: str | None = None,
    command: str = "",
) -> Iterator[tuple[int, dict[str, str]]]:
    r"""The rows of a table with named columns, as cells by column; other columns are passed over.

    A name that ends in `.csv` means quotes as spreadsheets write them, with commas, semicolons (as
    Excel writes them in most of Europe) or tabs, whichever divides the header best. Any other name
    means tabs and no quoting.

    Args:
        source: The file; or what to call `text` in messages.
        needed: Columns that must be there.
        optional: Columns that may be there.
        names: What the table calls a column, where it is another name.
        text: The table itself, if it is in no file; it is divided as a `.csv` is, unless its header
            has tabs.
        command: Which command has the options that name columns, if it is not the one in use.

    Yields:
        The number of the row's first line, and its cells.

    Raises:
        InputError: It is no such table; the message names line and column.

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
    columns = _columns(header, source, needed, optional, names, command)
    for number, row in rows:
        if not row:
            continue
        where = f"{source}:{number}"
        if len(row) != len(header):
            raise InputError(
                f"{where}: {len(row)} cells, but the header has {len(header)}; "
                "give each row as many cells"
            )
        cells = {name: row[place].strip() for name, place in columns.items()}
        for name, cell in cells.items():
            check_length(cell, f"{where}: column {name!r}")
        yield number, cells


def _rows(source: Path | str, text: str | None) -> Iterator[tuple[int, list[str]]]:
    """Each row with the number of its first line."""
    lines = read_lines(Path(source)) if text is None else io.StringIO(text, newline="")
    number = 1
    first = next(lines, "")
    if first.strip().strip('"').lower() in (
        "sep=,",
        "sep=;",
        "sep=\t",
        "sep=",
    ):  # as Excel begins a table
        number, first = 2, next(lines, "")
    if not first:
        return
    is_csv = text is not None or Path(source).suffix.lower() == ".csv"
    divider = _divider(first) if is_csv else "\t"
    if text is not None and divider == "\t":
        is_csv = False
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
    """What divides a header into most columns; a comma, where nothing does."""
    outside = "".join(header.split('"')[::2])
    return max(",;\t", key=outside.count)


def _columns(
    header: list[str],
    source: Path | str,
    needed: Sequence[str],
    optional: Sequence[str],
    names: Mapping[str, str],
    command: str,
) -> dict[str, int]:
    """Where each column that matters stands."""
    there = [name.strip().lower() for name in header]
    if not any(there):
        raise InputError(f"{source}:1: the first line is empty; put column names there")
    found = ", ".join(shortened(name.strip()) for name in header[:12])
    columns = {}
    for name in (*needed, *optional):
        called = names.get(name, name).strip().lower()
        if there.count(called) > 1:
            raise InputError(f"{source}:1: column {called!r} is there twice; rename one")
        if called in there:
            columns[name] = there.index(called)
        elif name in needed or name in names:
            advice = "give the name of one of these"
            if name not in names:
                advice = _advice(name, there, command)
            raise InputError(f"{source}:1: there is no column {called!r}; found {found}; {advice}")
    return columns


def _advice(name: str, there: Sequence[str], command: str) -> str:
    option = f"{command}--{name.removeprefix('query_')}-column"
    known = _OTHER_NAMES.get(name, ())
    likely = next((each for each in there if each in known), "NAME")
    return f"rename one in the first line, or say which it is with '{option} {likely}'"


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
