"""Reading verse references as people write them.

First the text is cut into books and their numbers, where Roman numerals become figures
(`I Reg. ii, 3` gives 1 Samuel and `2,3`); then each book's numbers are read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from allusion_es.core.errors import VerseError
from allusion_es.corpora._roman import roman_to_int
from allusion_es.corpora.books import Book, find_book, match_book


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
