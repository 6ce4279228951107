"""The 73 books of the Latin Vulgate in canonical order, and the names by which they are cited.

`books.tsv` holds each book's OSIS code, its code in the data of vulgata-spacy, the abbreviation
that is printed, its testament, the number of its chapters and its other names. The abbreviations
are those of Latin citations: `1 Reg` to `4 Reg` for the books of Kings, `1 Par`, `1 Esdr` and
`2 Esdr`, `Eccle` for Ecclesiastes beside `Eccli` for Ecclesiasticus, `Cant`, `Sap`, `Thren`, `Apc`.
Names are read in Latin, English, German, French, Italian and Spanish. Where one abbreviation has
two meanings, the one of the Latin data holds: `Ez` is Ezekiel, `Jud` is the epistle of Jude, and
`1 Reg` is 1 Samuel, while `1 Kings`, `1 Kön` and `1 Rois` are the Vulgate's `3 Reg`. A beginning
of four letters or more is a name too, where only one book's names begin so (`Joann.`, `Galat.`).
"""

import csv
import difflib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from allusion_es.core.characters import shorten
from allusion_es.core.errors import VerseError

_ONE_CHAPTER = frozenset({"Obad", "Phlm", "2John", "3John", "Jude"})
_ORDINALS = {
    **dict.fromkeys(("i", "first", "1st", "primus", "prima", "primum", "erste", "erster"), "1"),
    **dict.fromkeys(("ii", "second", "2nd", "secundus", "secunda", "zweite", "zweiter"), "2"),
    **dict.fromkeys(("iii", "third", "3rd", "tertius", "tertia", "dritte", "dritter"), "3"),
    **dict.fromkeys(("iv", "iiii", "fourth", "4th", "quartus", "vierte", "viertes"), "4"),
    **dict.fromkeys(("v", "fifth", "5th", "quintus"), "5"),
}
# Words that titles have before a book's name: `Epistola ad Romanos`, `Evangelium secundum Lucam`.
_LEADING = re.compile(r"^(?:(?:epistola|epistula|evangelium|ad|secundum|liber)\s+)+")
_NUMBER = re.compile(r"^([1-5](?:st|nd|rd|th)?|[a-z]+)(?:\.\s*|\s+)(?=\S)|^([1-5])(?=[a-z])")
_SPELLING = str.maketrans({"j": "i", "v": "u", "æ": "ae", "œ": "oe"})
_SHORTEST_BEGINNING = 4
# In names of several words each may be cut to three letters: `Act. Apo.`, `Jes. Sir.`
_SHORTEST_OF_SEVERAL = 3
# Beginnings of one book's names that have other meanings too: the Apostle, Jesus son of Nave,
# an author (Richard), a person or a people.
_NO_BEGINNING = frozenset({"apos", "apost", "aposto", "apostol", "iesu", "iesus", "rich", "roma"})


@dataclass(frozen=True, slots=True)
class Book:
    """A book of the Bible.

    Attributes:
        osis: OSIS code (`1Sam`), as in verse ids.
        vulgate: Code in the Vulgate of vulgata-spacy (`1Rg`).
        abbreviation: The name that is printed before chapter and verse (`1 Reg`).
        testament: `ot` or `nt`.
        chapters: The number of its chapters in the Vulgate.
        names: Other names and abbreviations, the full Latin name first.
    """

    osis: str
    vulgate: str
    abbreviation: str
    testament: str
    chapters: int
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
                chapters=int(row["chapters"]),
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
    """Return the book with an OSIS code.

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
    """Return the book that a name or an abbreviation means.

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
    """Return the book that a name means, as `find_book` does, or None if there is none.

    Example:
        >>> match_book("Ps xxii") is None
        True
    """
    key = _key(name)
    spelled = _spelled(key)
    return _by_name().get(key) or _by_name().get(spelled) or _begun_by(spelled)


def _spelled(key: str) -> str:
    """A name with `i` for `j` and `u` for `v`, so that `Ioh` is `Joh`.

    Names of two letters stay as they are, but for `Io`: `in`, `ib` and `id` are not `Jn`, `Jb`
    and `Jd`.
    """
    letters = key.lstrip("12345")
    return key.translate(_SPELLING) if len(letters) > 2 or letters in ("io", "jo") else key


def match_words(number: str, words: Sequence[str]) -> Book | None:
    """The book that a number and the words of a name mean, or None where there is none.

    Unlike `match_book` it keeps words apart, so that `Jo. b` is not Job. Each word may be cut
    short, where only one book can be meant.

    Args:
        number: `1` to `5`, or "" for a book without a number.
        words: The words of the name, without dots.

    Example:
        >>> match_words("1", ["Cor"]).osis, match_words("", ["Act", "Apost"]).osis
        ('1Cor', 'Acts')
        >>> match_words("", ["Jo", "b"]) is None
        True
    """
    return _match_words(number, tuple(map(plain_word, words)))


@lru_cache(maxsize=8192)
def plain_word(word: str) -> str:
    """A word in lower case and without accents."""
    decomposed = unicodedata.normalize("NFD", word.casefold())
    return "".join(mark for mark in decomposed if not unicodedata.combining(mark))


def ordinal(word: str) -> str:
    """The number of a book that a word means (`II`, `2`, `second`), or "".

    Example:
        >>> ordinal("II"), ordinal("primus"), ordinal("Reg")
        ('2', '1', '')
    """
    plain = plain_word(word)
    return plain if plain in {"1", "2", "3", "4", "5"} else _ORDINALS.get(plain, "")


@lru_cache(maxsize=8192)
def _match_words(number: str, words: tuple[str, ...]) -> Book | None:
    spelled = tuple(map(_spelled, words))
    found = _by_words().get((number, words)) or _by_words().get((number, spelled))
    if found is not None:
        return found
    shortest = _SHORTEST_BEGINNING if len(words) == 1 else _SHORTEST_OF_SEVERAL
    if any(len(word) < shortest for word in spelled):
        return None
    if len(spelled) == 1 and spelled[0] in _NO_BEGINNING:
        return None
    books = {
        book.osis: book
        for (given, full), book in _by_words().items()
        if given == number
        and len(full) == len(spelled)
        and all(whole.startswith(word) for word, whole in zip(spelled, full, strict=True))
    }
    return next(iter(books.values())) if len(books) == 1 else None


@cache
def _by_words() -> dict[tuple[str, tuple[str, ...]], Book]:
    """The books by number and words, as written and in one spelling."""
    named = []
    for book in BOOKS:
        for name in (book.osis, book.vulgate, book.abbreviation, *book.names):
            number, rest = (name[0], name[1:]) if name[0].isdecimal() else ("", name)
            named.append(((number, tuple(map(plain_word, rest.split()))), book))
    books = {
        (number, tuple(map(_spelled, words))): book for (number, words), book in reversed(named)
    }
    # Names as written win, so that `Lu` is Luke although `Lv` would be spelled the same.
    return books | dict(reversed(named))


def _begun_by(key: str) -> Book | None:
    """The only book that has a name which begins so."""
    number, rest = (key[:1], key[1:]) if key[:1].isdecimal() else ("", key)
    return _match_words(number, (rest,)) if len(rest) >= _SHORTEST_BEGINNING else None


@cache
def _by_name() -> dict[str, Book]:
    named = [
        (_key(name), book)
        for book in BOOKS
        for name in (book.osis, book.vulgate, book.abbreviation, *book.names)
    ]
    # Names as written win, so that `Lu` is Luke although `Lv` would be spelled the same.
    books = {_spelled(key): book for key, book in reversed(named)}
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
    shown = shorten(name, 40)
    written = shown.casefold()
    # Readers try each id of a file as a reference, so this must be fast: only names with the same
    # first letter are compared.
    others = [other for other in map(str.casefold, known) if other[0] == written[:1]]
    near = difflib.get_close_matches(written, others, n=3)
    if near:
        hint = f"did you mean {' or '.join(_printed_names()[other] for other in near)}?"
    else:
        hint = "write a book such as Gen, Ps, 1 Reg, Cant, Joh or Apc"
    return VerseError(f"{shown!r} is not a book of the Bible; {hint}")
