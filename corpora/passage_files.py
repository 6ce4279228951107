"""Passages read from files: tables, texts with a passage or a verse a line, pages, DOCX files.

`read_passages` chooses the reader by the name and first bytes of the file, unless the caller names
the kind.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from allusion_es.core.errors import InputError, UsageError, VerseError
from allusion_es.corpora.bible.references import (
    format_reference,
    is_verse_id,
    parse_references,
    parse_verse_id,
)
from allusion_es.corpora.documents import document_of
from allusion_es.corpora.formats import check_plain, kind_of
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.tables import (
    TABLE_SUFFIXES,
    check_length,
    read_lines,
    read_rows,
    shortened,
    split_lines,
)

Kind = Literal["table", "lines", "verses"]
"""The layout of a file of passages: a table, one passage a line, or one verse a line."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_NEEDED = ("id", "text")
_OPTIONAL = ("work", "tokens", "lemmas")

LONGEST_ID = 512
"""Most bytes of an id, the limit of Elasticsearch for `_id`."""


def read_passages(
    path: Path,
    *,
    kind: Kind | None = None,
    work: str | None = None,
    columns: Mapping[str, str] = _NO_NAMES,
) -> Iterator[Passage]:
    """Yield the passages of a file, one at a time; memory holds the ids and some lines.

    Args:
        path: A UTF-8 file, HTML or DOCX. `.tsv`, `.tab` and `.csv` are tables, others one passage
            a line or paragraph, unless `kind` says otherwise.
        kind: `table`, `lines` or `verses` (a reference, a tab, the text).
        work: The work's title; without one, the file's name without its suffix. A table's
            column `work` goes before it.
        columns: A table's own names of its columns, where they are not `id` and `text`.

    Raises:
        InputError: The file cannot be read as that kind; the message says where and why.
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
    r"""Yield the passages of a table with named columns.

    The columns `id` and `text` are needed; `work`, `tokens` and `lemmas` may be there; others
    are ignored. Tokens and lemmas are separated by blanks, one lemma for each token. An id
    such as `Ps.22.1` makes the passage that verse, with its book and testament.

    Args:
        path: A UTF-8 table with a header, separated as `read_rows` says.
        work: The work's title where the table has none; else the file's name without suffix.
        columns: The table's own names of its columns, where they differ.

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
        yield _table_passage(cells, order, path.stem if work is None else work, where)
        order += 1
    if not order:
        raise InputError(f"{path}: the table has a header but no rows; give one passage a row")


def _table_passage(cells: dict[str, str], order: int, work: str, where: str) -> Passage:
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


def read_text_lines(
    path: Path,
    *,
    work: str | None = None,
    kind: Literal["html", "docx"] | None = None,
    check: bool = False,
) -> Iterator[Passage]:
    r"""Yield a passage for each line that is not blank, with the line's number as its id.

    Args:
        path: A UTF-8 text file, or a page or document, of which each paragraph is a line.
        work: The work's title; without one, the file's name without its suffix.
        kind: `html` or `docx`, if it is not a text file.
        check: Whether to refuse lines that are markup (`formats.check_plain`).

    Raises:
        InputError: The file cannot be read, or has no text.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "Confessiones.txt")
        ...     _ = path.write_text("Magnus es, Domine\n\net laudabilis valde\n")
        ...     [(passage.id, passage.text) for passage in read_text_lines(path)]
        [('1', 'Magnus es, Domine'), ('3', 'et laudabilis valde')]
    """
    order = 0
    lines = _lines(path) if kind is None else iter(document_of(path, kind).text.split("\n"))
    for number, line in enumerate(lines, start=1):
        if text := line.strip():
            check_length(text, f"{path}:{number}: the line")
            if check:
                check_plain(text, f"{path}:{number}", is_line=True)
            yield Passage(
                id=str(number),
                text=text,
                work=path.stem if work is None else work,
                order=order,
                reference=str(number),
            )
            order += 1
    if not order:
        raise InputError(f"{path}: the file has no text; give one passage a line")


def read_verse_lines(path: Path, *, work: str | None = None) -> Iterator[Passage]:
    r"""Yield the verses of a file whose lines are a reference, a tab, and the text.

    Args:
        path: A UTF-8 text file; blank lines and lines that begin with `#` are ignored. References
            may be in any style.
        work: The work's title; without one, the file's name without its suffix.

    Raises:
        InputError: The file cannot be read, or a line is not a reference, a tab and a text.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "Psalmi.txt")
        ...     _ = path.write_text("Ps 22,1\tDominus regit me\n")
        ...     [(passage.id, passage.reference) for passage in read_verse_lines(path)]
        [('Ps.22.1', 'Ps 22,1')]
    """
    seen, order = SeenIds(), 0
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        where = f"{path}:{number}"
        reference, tab, text = line.strip("\r\n").partition("\t")
        if not tab:
            raise InputError(
                f"{where}: no tab in {shortened(line.strip())}; write 'Ps 22,1', a tab, the text"
            )
        identifier = _verse_id(reference, where)
        seen.add(identifier, number, f"{where}: the reference")
        if not text.strip():
            raise InputError(f"{where}: the text of {identifier} is empty; leave out the line")
        check_length(text, f"{where}: the text")
        yield verse_passage(identifier, text.strip(), path.stem if work is None else work, order)
        order += 1
    if not order:
        raise InputError(f"{path}: the file has no verses; write 'Ps 22,1', a tab, the text")


def verse_passage(identifier: str, text: str, work: str, order: int) -> Passage:
    """Return the passage of a verse, with the book, chapter and verse that its OSIS id names.

    Raises:
        VerseError: The id is not that of a verse.

    Example:
        >>> verse_passage("Ps.22.1", "Dominus regit me", "Psalterium", 0).testament
        'ot'
    """
    verse = parse_verse_id(identifier)
    return Passage(
        id=identifier,
        text=text,
        work=work,
        book=verse.book.osis,
        chapter=verse.chapter,
        verse=verse.verse,
        order=order,
        testament=verse.book.testament,
        reference=format_reference(identifier),
    )


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file, also of one whose lines end as on old Macs."""
    for line in read_lines(path):
        yield from split_lines(line.removesuffix("\n").removesuffix("\r"))


def _verse_id(reference: str, where: str) -> str:
    """The OSIS id of a reference to one verse."""
    try:
        identifiers = [str(found) for found in parse_references(reference)]
        return str(parse_verse_id(identifiers[0] if len(identifiers) == 1 else reference))
    except VerseError as error:
        raise InputError(
            f"{where}: {shortened(reference)} is not the reference of one verse: {error}"
        ) from error


class SeenIds:
    """The ids of the passages read so far; refuses an id that is repeated or cannot be used."""

    def __init__(self) -> None:
        """Start without ids."""
        self._lines: dict[str, int] = {}

    def add(self, identifier: str, line: int, where: str) -> None:
        """Check an id and remember it.

        Args:
            identifier: The id.
            line: The number of the line that it stands on.
            where: The start of the message: file, line, and column.

        Raises:
            InputError: It is empty, repeated, too long, or has control characters.
        """
        if not identifier:
            raise InputError(f"{where} is empty; give each passage an id")
        if not identifier.isprintable():
            raise InputError(
                f"{where} is {shortened(identifier)}, with a control character or line break; "
                "use printable characters only"
            )
        if len(identifier.encode()) > LONGEST_ID:
            raise InputError(
                f"{where} is {shortened(identifier)}, longer than {LONGEST_ID} bytes; shorten it"
            )
        if (first := self._lines.setdefault(identifier, line)) != line:
            raise InputError(
                f"{where} is {shortened(identifier)}, as on line {first}; "
                "give each passage an id of its own"
            )
