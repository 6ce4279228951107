"""Verse references: what people write (`Ps 22,1-3`, `I Reg. ii, 3`) and OSIS ids.

Reading is generous, printing is uniform. A reference is checked against a collection's
verses by `verse_table.VerseTable`, since only a collection knows which verses exist.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from allusion_es.core.errors import UsageError, VerseError
from allusion_es.corpora.bible.books import OSIS_CODES, Book, book_by_osis
from allusion_es.corpora.bible.reference_parser import (
    Piece,
    Reference,
    read_pieces,
    read_references,
    reference_in_address,
)

__all__ = [
    "STYLES",
    "Piece",
    "Reference",
    "Style",
    "VerseId",
    "find_references",
    "format_reference",
    "format_references",
    "is_verse_id",
    "parse_references",
    "parse_verse_id",
    "reference_in_address",
]

Style = Literal["osis", "comma", "colon"]
"""How a reference is printed: `Ps.22.1`, `Ps 22,1` or `Ps 22:1`."""

STYLES: tuple[Style, ...] = get_args(Style)

_VERSE_ID = re.compile(r"(\w+)\.([1-9][0-9]{0,2})\.([1-9][0-9]{0,2})")


@dataclass(frozen=True, slots=True)
class VerseId:
    """The parts of an OSIS id of a verse.

    Attributes:
        book: The book.
        chapter: Chapter number, from 1.
        verse: Verse number, from 1.
    """

    book: Book
    chapter: int
    verse: int

    def __str__(self) -> str:
        """The OSIS id."""
        return f"{self.book.osis}.{self.chapter}.{self.verse}"


def parse_verse_id(osis_id: str) -> VerseId:
    """The parts of an OSIS id such as `1Sam.2.3`.

    Raises:
        VerseError: It is not an id of one verse, or its book is unknown.

    Example:
        >>> parse_verse_id("1Sam.2.3").chapter
        2
    """
    match = _VERSE_ID.fullmatch(osis_id)
    if match is None:
        raise VerseError(f"{osis_id[:80]!r} is not an OSIS id of a verse such as 'Ps.22.1'")
    return VerseId(book_by_osis(match[1]), int(match[2]), int(match[3]))


def is_verse_id(text: str) -> bool:
    """Whether a text is an OSIS id of a verse, of a book that there is.

    Example:
        >>> is_verse_id("Ps.22.1"), is_verse_id("Sermo.22.1")
        (True, False)
    """
    match = _VERSE_ID.fullmatch(text)
    return match is not None and match[1] in OSIS_CODES


def parse_references(text: str) -> tuple[Reference, ...]:
    """The references that a text such as `Ps 22,1.3; Is 7,14` lists, in its order.

    Read are OSIS ids and ranges (`Ps.22.1-Ps.22.3`), codes of USFM (`1SA 2:3`), links and CTS
    URNs that end in a reference; chapter and verse with comma, colon, dot or blank between
    them, or with words (`cap. 1, v. 26`); Roman numerals; verses listed with dots, commas or
    `et`; ranges within a chapter or across chapters (`Gen 1,31-2,3`); whole chapters, and a
    book where its name is the whole text. `f`, `s`, `sq` and `suiv` are one verse more, `ff`,
    `ss` and `sqq` two: the fewest that a plural means. Letters after a verse (`3a`) mean the
    whole verse. In books of one chapter a single number is a verse, and a higher chapter is
    refused. Pages, years in brackets, numbers of printed lines and `cf.` are passed over.

    Where an edition prints the Hebrew and the Vulgate's number of a psalm (`Ps 22 (23), 1`), the
    Vulgate's is read, whichever stands first, since that is the text of this collection.

    What can be meant in two ways is refused, and so is a name behind an author or a title
    (`adv. Marc. 2, 4`): a reference that is refused costs one link, a wrong one all of an
    evaluation.

    Raises:
        VerseError: The text cannot be read; the message says where and shows a good one.

    Example:
        >>> [str(reference) for reference in parse_references("I Reg. ii, 3; Ps 22,1-2.4")]
        ['1Sam.2.3', 'Ps.22.1-Ps.22.2', 'Ps.22.4']
    """
    return read_references(text)


def find_references(text: str, book: str = "") -> tuple[Piece, ...]:
    """The references in a note or another text, in its order, read and refused.

    They are read as `parse_references` reads them; other words may stand between. A name with
    no number is passed over.

    Args:
        text: The note's words.
        book: OSIS code of the book that `ibid.` means, or "".

    Example:
        >>> for piece in find_references("cf. Gen. 1, 26 et 27; Tert. adv. Marc. 2, 4"):
        ...     print(piece.written, *piece.references or [piece.reason], sep=" | ")
        Gen. 1, 26 et 27 | Gen.1.26 | Gen.1.27
        Marc. 2, 4 | 'adv' before it may be an author or a title
    """
    return tuple(read_pieces(text, book))


def format_reference(osis_id: str, style: Style = "comma") -> str:
    """One verse as people read it.

    Raises:
        VerseError: It is not an OSIS id of a verse.

    Example:
        >>> format_reference("1Sam.2.3"), format_reference("Rev.1.8", "colon")
        ('1 Reg 2,3', 'Apc 1:8')
    """
    return format_references([osis_id], style)


def format_references(osis_ids: Iterable[str], style: Style = "comma") -> str:
    """Several verses in the order given, with ranges where verses follow each other.

    Raises:
        VerseError: One is not an OSIS id of a verse.
        UsageError: There is no such style.

    Example:
        >>> format_references(["Ps.22.1", "Ps.22.2", "Ps.22.4", "Ps.23.1", "Jude.1.5"])
        'Ps 22,1-2.4; 23,1; Jud 5'
    """
    if style not in STYLES:
        raise UsageError(f"there is no style {style!r}; use one of {', '.join(STYLES)}")
    runs = list(_runs(parse_verse_id(osis_id) for osis_id in osis_ids))
    if style == "osis":
        return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
    return _join(runs, *((",", ".") if style == "comma" else (":", ",")))


def _runs(verses: Iterable[VerseId]) -> Iterator[tuple[VerseId, VerseId]]:
    """First and last verse of each stretch in which every verse follows the one before."""
    first = last = None
    for verse in verses:
        if first is None or last is None:
            first = verse
        elif verse != VerseId(last.book, last.chapter, last.verse + 1):
            yield first, last
            first = verse
        last = verse
    if first is not None and last is not None:
        yield first, last


def _join(runs: list[tuple[VerseId, VerseId]], chapter_mark: str, verse_mark: str) -> str:
    """The stretches as people read them.

    A book of one chapter has its chapter printed where several stretches follow each other:
    `Jud 1.3` could be the third verse of the first chapter.
    """
    printed = ""
    before: VerseId | None = None
    for number, (first, last) in enumerate(runs):
        follows = number + 1 < len(runs) and runs[number + 1][0].book == first.book
        if before is not None and first.book == before.book and first.chapter == before.chapter:
            printed += verse_mark
        else:
            printed += "; " if before else ""
            if before is None or first.book != before.book:
                printed += f"{first.book.abbreviation} "
            if follows or not first.book.has_one_chapter:
                printed += f"{first.chapter}{chapter_mark}"
        printed += str(first.verse) if first == last else f"{first.verse}-{last.verse}"
        before = last
    return printed
