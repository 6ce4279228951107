"""Verse references: what people write (`Ps 22,1-3`, `I Reg. ii, 3`) and OSIS ids.

Reading is generous, printing is uniform. A reference is checked against a collection's
verses by `verse_table.VerseTable`, since only a collection knows which verses exist.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

from allusion_es.core.errors import UsageError, VerseError
from allusion_es.corpora.bible.books import OSIS_CODES, Book, book_by_osis, find_book, match_book

# Roman numerals, as editions number books and chapters.


_NUMERAL = re.compile(
    "(?=.)(?:c{0,3})(?:xc|xl|l?x{0,4})(?:ix|iv|v?i{0,4})", re.IGNORECASE | re.ASCII
)
_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


def roman_to_int(numeral: str) -> int | None:
    """The value of a Roman numeral up to 399, or None where it is none.

    The longer forms `iiii` and `xxxx` of older prints are read too, and a last `j` (`iij`).

    Example:
        >>> roman_to_int("XXII"), roman_to_int("cxviij"), roman_to_int("vix")
        (22, 118, None)
    """
    letters = numeral.lower()
    if letters.endswith("j"):
        letters = letters[:-1] + "i"
    if not _NUMERAL.fullmatch(letters):
        return None
    values = [_VALUES[letter] for letter in letters]
    following = [*values[1:], 0]
    return sum(
        -value if value < after else value for value, after in zip(values, following, strict=True)
    )


# Reading verse references as people write them.
#
# First the text is cut into books and their numbers, where Roman numerals become figures
# (`I Reg. ii, 3` gives 1 Samuel and `2,3`); then each book's numbers are read.


@dataclass(frozen=True, slots=True)
class Reference:
    """One verse, a stretch of verses, a chapter, or a book, not yet checked to exist.

    Attributes:
        book: OSIS code of the book.
        chapter: First chapter, or 0 for the whole book.
        verse: First verse, or 0 for the whole of the first chapter.
        last_chapter: Last chapter, or 0 for the whole book.
        last_verse: Last verse, or 0 for the whole of the last chapter.
        open: Whether it ends with its chapter, if that has fewer verses (`22,5ff`).
    """

    book: str
    chapter: int = 0
    verse: int = 0
    last_chapter: int = 0
    last_verse: int = 0
    open: bool = False

    def __str__(self) -> str:
        """OSIS: `Ps.22.1`, `Ps.22.1-Ps.23.2`, `Ps.22` or `Ps`."""
        first, last = (
            ".".join([self.book, *(str(number) for number in numbers if number)])
            for numbers in ((self.chapter, self.verse), (self.last_chapter, self.last_verse))
        )
        return first if first == last else f"{first}-{last}"


_VERSE_PART = re.compile(r"(?<=\d)[a-e]\b")
_TOKEN = re.compile(r"\d+|[^\W\d_]+|\S")
_DASHES = dict.fromkeys([*range(0x2010, 0x2016), 0x2212], "-")
_FOLLOWING = {"f": 1, "s": 1, "sq": 1, "seq": 1, "ff": 2, "ss": 2, "sqq": 2, "seqq": 2}
_LONGEST_NAME = 9
_LONGEST_TEXT = 2000
_SEPARATORS = ",:. "
_MARKS = frozenset(",:.")
_HELP = "write, for example, 'Ps 22,1-3', 'Ps.22.1' or '1 Reg 2,3'"


def read_references(text: str) -> tuple[Reference, ...]:
    """The references that `text` lists; see `references.parse_references`."""
    if len(text) > _LONGEST_TEXT:
        raise VerseError(f"{text[:30]!r}… is too long for a list of verses; give fewer at once")
    return tuple(
        reference
        for book, numbers in _books_and_numbers(text)
        for reference in _read_numbers(book, numbers, text)
    )


def _books_and_numbers(text: str) -> Iterator[tuple[Book, str]]:
    found_tokens = list(_TOKEN.finditer(_VERSE_PART.sub("", text.translate(_DASHES))))
    tokens = [match[0] for match in found_tokens]
    # In `Gen.1.1 John.1.1` the second 1 belongs to the dot before it, not to a first John.
    inside = {
        number
        for number, (before, match) in enumerate(pairwise(found_tokens), start=1)
        if match[0].isdecimal() and before[0] in _MARKS and before.end() == match.start()
    }
    place = 0
    book: Book | None = None
    numbers: list[str] = []
    while place < len(tokens):
        found, length = (None, 0) if place in inside else _book_at(tokens, place)
        if found is None:
            if book is None:
                raise _no_book(text, tokens)
            numbers.append(_number_or_mark(tokens[place], numbers, text))
            place += 1
            continue
        if book is not None and numbers and numbers[-1] == "-":
            # OSIS repeats the book after the dash: `Ps.22.1-Ps.22.3`.
            if found != book:
                raise VerseError(f"{text!r} goes from one book to another; give a range for each")
        else:
            if book is not None:
                yield book, _joined(numbers)
            book, numbers = found, []
        place += length
        place += place < len(tokens) and tokens[place] == "."
    if book is None:
        raise VerseError(f"there is no verse reference; {_HELP}")
    yield book, _joined(numbers)


def _book_at(tokens: list[str], place: int) -> tuple[Book | None, int]:
    """The book whose name begins at a token, and over how many tokens it goes."""
    for length in range(min(_LONGEST_NAME, len(tokens) - place), 0, -1):
        name = tokens[place : place + length]
        if (
            name[-1].isalpha()
            and all(token.isalnum() or token == "." for token in name)
            and not any(token.isdecimal() for token in name[1:])
            and (book := match_book(" ".join(name).replace(" .", ".")))
        ):
            return book, length
    return None, 0


def _number_or_mark(token: str, before: list[str], text: str) -> str:
    if token in ",:.;-" or token.isdecimal():
        return token
    follows_number = bool(before) and before[-1].isdecimal()
    if follows_number and token.lower() in _FOLLOWING:
        return token.lower()
    value = roman_to_int(token)
    if value is None:
        raise VerseError(f"{token[:40]!r} in {text[:80]!r} is no number or book; {_HELP}")
    return str(value)


def _joined(parts: list[str]) -> str:
    """The numbers with one mark between them, a blank where there was none."""
    joined = ""
    for part in parts:
        if part.isalpha():
            joined += part
        elif not part.isdecimal():
            # The dot after a Roman numeral or `sq.` gives way to the mark that follows it.
            if part != "." or joined[-1:].isdecimal():
                joined = joined.rstrip(",:.") + part
        else:
            joined += (" " if joined[-1:].isalnum() else "") + part
    return joined.strip(",:.; ")


def _read_numbers(book: Book, numbers: str, text: str) -> Iterator[Reference]:
    if not numbers:
        yield Reference(book.osis)
        return
    only_verses = book.has_one_chapter and not re.match(r"1[,:. ]\d", numbers)
    marks = "" if only_verses else re.sub(r"[^,:. ]", "", numbers)
    for listed in numbers.split(";"):
        chapter = 1 if only_verses else 0
        place, separator = 0, ""
        while place < len(listed):
            # After `22,1` another comma lists a verse; it begins no chapter and verse.
            mark = marks[:1] if separator != marks[:1] else ""
            reference, place = _stretch(book, listed, place, chapter, mark, text)
            yield reference
            chapter = reference.last_chapter if reference.last_verse else chapter
            separator = listed[place : place + 1]
            if separator and separator not in _SEPARATORS:
                raise _unreadable(text)
            place += 1


def _stretch(
    book: Book, listed: str, place: int, chapter: int, mark: str, text: str
) -> tuple[Reference, int]:
    """The verse, range or chapter that begins at a place, and where it ends."""
    second = rf"(?:{re.escape(mark)}(\d+))?" if mark else "()"
    suffix = rf"({'|'.join(sorted(_FOLLOWING, key=len, reverse=True))})?"
    match = re.compile(rf"(\d+){second}{suffix}(?:-(\d+){second})?").match(listed, place)
    if match is None or any(
        len(number) > 3 or not int(number) for number in re.findall(r"\d+", match[0])
    ):
        raise _unreadable(text)
    end = match.end()
    first, inner, following = int(match[1]), int(match[2] or 0), _FOLLOWING.get(match[3] or "", 0)
    last, last_inner = int(match[4] or 0), int(match[5] or 0)
    verse = inner or (first if chapter else 0)
    chapter = first if inner or not chapter else chapter
    if verse and last_inner and last < chapter:
        # In `Ps 22,1-3,5` the second comma lists a verse.
        end, last_inner = match.end(4), 0
    if last_inner or not verse:
        last_chapter, last_verse = last or chapter + following, last_inner
    else:
        last_chapter, last_verse = chapter, last or verse + following
    reference = Reference(
        book.osis, chapter, verse, last_chapter, last_verse, bool(following and verse)
    )
    _check(reference, text)
    return reference, end


def _check(reference: Reference, text: str) -> None:
    first = (reference.chapter, reference.verse)
    last = (reference.last_chapter, reference.last_verse)
    if last < first and (reference.last_verse or last[0] < first[0]):
        raise VerseError(f"{text[:80]!r} ends before it begins; write the earlier verse first")


def _no_book(text: str, tokens: list[str]) -> VerseError:
    words = [token for token in tokens[:_LONGEST_NAME] if token not in ",:.;-"]
    count = next((n for n, token in enumerate(words) if n and token.isdecimal()), len(words))
    try:
        find_book(" ".join(words[:count]))
    except VerseError as error:
        return VerseError(f"{text[:80]!r} names no book: {error}")
    return _unreadable(text)


def _unreadable(text: str) -> VerseError:
    return VerseError(f"{text[:80]!r} cannot be read as a verse reference; {_HELP}")


__all__ = [
    "STYLES",
    "Reference",
    "Style",
    "VerseId",
    "format_reference",
    "format_references",
    "is_verse_id",
    "parse_references",
    "parse_verse_id",
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

    Read are OSIS ids and ranges (`Ps.22.1-Ps.22.3`); chapter and verse with comma, colon,
    dot or blank between them; Roman numerals; verses listed with dots or commas; ranges
    within a chapter or across chapters (`Gen 1,31-2,3`); whole chapters and books; `f`, `s`
    and `sq` for one verse more, `ff`, `ss` and `sqq` for two. Letters after a verse (`3a`)
    mean the whole verse. In books of one chapter a single number is a verse.

    Raises:
        VerseError: The text cannot be read; the message says where and shows a good one.

    Example:
        >>> [str(reference) for reference in parse_references("I Reg. ii, 3; Ps 22,1-2.4")]
        ['1Sam.2.3', 'Ps.22.1-Ps.22.2', 'Ps.22.4']
    """
    return read_references(text)


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
    printed = ""
    before: VerseId | None = None
    for first, last in runs:
        if before is not None and first.book == before.book and first.chapter == before.chapter:
            printed += verse_mark
        else:
            printed += "; " if before else ""
            if before is None or first.book != before.book:
                printed += f"{first.book.abbreviation} "
            if not first.book.has_one_chapter:
                printed += f"{first.chapter}{chapter_mark}"
        printed += str(first.verse) if first == last else f"{first.verse}-{last.verse}"
        before = last
    return printed
