"""The 73 books of the Latin Vulgate in canonical order, and what people call them.

`books.tsv` holds each book's OSIS code, its code in the data of vulgata-spacy, the
abbreviation that is printed, its testament and its other names. What is printed is the usual
Latin citation: `1 Reg` to `4 Reg` for the books of Kings, `1 Par`, `1 Esdr` and `2 Esdr`,
`Eccle` for Ecclesiastes beside `Eccli` for Ecclesiasticus, `Cant`, `Sap`, `Thren`, `Apc`.
Names are read in Latin, English, German, French and Italian. Where one abbreviation has two
meanings, the one of the Latin data holds: `Ez` is Ezekiel, `Jud` is the epistle of Jude, and
`1 Reg` is 1 Samuel, while `1 Kings`, `1 Kön` and `1 Rois` are the Vulgate's `3 Reg`.
"""

import csv
import difflib
import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from allusion_es.core.errors import VerseError

_ONE_CHAPTER = frozenset({"Obad", "Phlm", "2John", "3John", "Jude"})
_ORDINALS = {
    **dict.fromkeys(("i", "first", "1st", "primus", "prima", "primum", "erste", "erster"), "1"),
    **dict.fromkeys(("ii", "second", "2nd", "secundus", "secunda", "zweite", "zweiter"), "2"),
    **dict.fromkeys(("iii", "third", "3rd", "tertius", "tertia", "dritte", "dritter"), "3"),
    **dict.fromkeys(("iv", "iiii", "fourth", "4th", "quartus", "vierte", "viertes"), "4"),
    **dict.fromkeys(("v", "fifth", "5th", "quintus"), "5"),
}
# Words that titles put before a book's name: `Epistola ad Romanos`, `Evangelium secundum Lucam`.
_LEADING = re.compile(r"^(?:(?:epistola|epistula|evangelium|ad|secundum|liber)\s+)+")
_NUMBER = re.compile(r"^([1-5](?:st|nd|rd|th)?|[a-z]+)(?:\.\s*|\s+)(?=\S)|^([1-5])(?=[a-z])")
_SPELLING = str.maketrans({"j": "i", "v": "u", "æ": "ae", "œ": "oe"})


@dataclass(frozen=True, slots=True)
class Book:
    """A book of the Bible.

    Attributes:
        osis: OSIS code (`1Sam`), as in verse ids.
        vulgate: Code in the Vulgate of vulgata-spacy (`1Rg`).
        abbreviation: What is printed before chapter and verse (`1 Reg`).
        testament: `ot` or `nt`.
        names: Other names and abbreviations, the full Latin name first.
    """

    osis: str
    vulgate: str
    abbreviation: str
    testament: str
    names: tuple[str, ...]

    @property
    def has_one_chapter(self) -> bool:
        """Whether a single number after the book's name is a verse (`Jude 5`)."""
        return self.osis in _ONE_CHAPTER


def _read_books() -> tuple[Book, ...]:
    path = Path(__file__).with_name("books.tsv")
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            Book(
                osis=row["osis"],
                vulgate=row["vulgate"],
                abbreviation=row["abbreviation"],
                testament=row["testament"],
                names=tuple(row["names"].split("; ")),
            )
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        )


BOOKS = _read_books()
"""The books in canonical order."""

_BY_OSIS = {book.osis: book for book in BOOKS}

OSIS_CODES = frozenset(_BY_OSIS)
"""The books' OSIS codes."""


def book_by_osis(code: str) -> Book:
    """The book with an OSIS code.

    Raises:
        VerseError: No book has this code; the message names near ones.

    Example:
        >>> book_by_osis("1Sam").abbreviation
        '1 Reg'
    """
    try:
        return _BY_OSIS[code]
    except KeyError:
        raise _unknown(code, list(_BY_OSIS)) from None


def find_book(name: str) -> Book:
    """The book that a name or an abbreviation means.

    Case, accents, dots, `i` for `j` and `u` for `v` make no difference; a book's number may
    be `1`, `1.`, `I` or `first`.

    Raises:
        VerseError: No book has this name; the message names near ones.

    Example:
        >>> [find_book(name).osis for name in ("1 Reg", "III Reg.", "1. Mose", "Offb", "Iudic.")]
        ['1Sam', '1Kgs', 'Gen', 'Rev', 'Judg']
    """
    book = match_book(name)
    if book is None:
        raise _unknown(name, list(_printed_names()))
    return book


def match_book(name: str) -> Book | None:
    """The book that a name means, as `find_book`, or None where there is none.

    Example:
        >>> match_book("Ps xxii") is None
        True
    """
    key = _key(name)
    return _by_name().get(key) or _by_name().get(key.translate(_SPELLING))


@cache
def _by_name() -> dict[str, Book]:
    named = [
        (_key(name), book)
        for book in BOOKS
        for name in (book.osis, book.vulgate, book.abbreviation, *book.names)
    ]
    # Names as written win, so that `Lu` is Luke although `Lv` would be spelled the same.
    books = {key.translate(_SPELLING): book for key, book in reversed(named)}
    return books | dict(reversed(named))


@cache
def _printed_names() -> dict[str, str]:
    names = (name for book in BOOKS for name in (book.abbreviation, book.osis, *book.names))
    return {name.casefold(): name for name in names}


@lru_cache(maxsize=4096)
def _key(name: str) -> str:
    decomposed = unicodedata.normalize("NFD", name.strip().casefold())
    plain = "".join(mark for mark in decomposed if not unicodedata.combining(mark))
    number, rest = "", plain
    if match := _NUMBER.match(plain):
        given = match[1] or match[2]
        number = _ORDINALS.get(given, given if given.isdecimal() else "")
        rest = plain[match.end() :] if number else plain
    rest = _LEADING.sub("", rest.strip())
    return number + re.sub(r"[\s.\-_]+", "", rest)


def _unknown(name: str, known: list[str]) -> VerseError:
    shown = name if len(name) <= 40 else name[:39] + "…"
    written = shown.casefold()
    # Whole files of ids are tried as books: only names with the same first letter are compared.
    others = [other for other in map(str.casefold, known) if other[0] == written[:1]]
    near = difflib.get_close_matches(written, others, n=3)
    if near:
        hint = f"did you mean {' or '.join(_printed_names()[other] for other in near)}?"
    else:
        hint = "write a book such as Gen, Ps, 1 Reg, Cant, Joh or Apc"
    return VerseError(f"{shown!r} is not a book of the Bible; {hint}")
