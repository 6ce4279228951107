"""Passages from plain text: one a line, or one verse a line with its reference."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from allusion_es.core.errors import InputError, VerseError
from allusion_es.corpora.bible.references import (
    format_reference,
    parse_references,
    parse_verse_id,
)
from allusion_es.corpora.documents import document_of
from allusion_es.corpora.formats import check_plain
from allusion_es.corpora.lines import SeenIds, check_length, read_lines, shortened, split_lines
from allusion_es.corpora.passage import Passage


def read_text_lines(
    path: Path,
    *,
    work: str | None = None,
    kind: Literal["html", "docx"] | None = None,
    check: bool = False,
) -> Iterator[Passage]:
    r"""One passage for each line that is not blank; its id is the line's number.

    Args:
        path: A UTF-8 text file, or a page or document, of which each paragraph is a line.
        work: The work's title; without one, the file's name without its suffix.
        kind: What it is, if it is no text file.
        check: Refuse lines that are markup (`formats.check_plain`).

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
    r"""One verse a line: a reference in any style, a tab, and the text.

    Args:
        path: A UTF-8 text file; blank lines and lines that begin with `#` are passed over.
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
    """A verse with what its OSIS id tells: book, chapter, verse, testament, reference.

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
    """The lines of a file, also one whose lines end as on old Macs."""
    for line in read_lines(path):
        yield from split_lines(line.removesuffix("\n").removesuffix("\r"))


def _verse_id(reference: str, where: str) -> str:
    try:
        identifiers = [str(found) for found in parse_references(reference)]
        return str(parse_verse_id(identifiers[0] if len(identifiers) == 1 else reference))
    except VerseError as error:
        raise InputError(
            f"{where}: {shortened(reference)} is not the reference of one verse: {error}"
        ) from error
