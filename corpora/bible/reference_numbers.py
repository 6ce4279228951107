"""The chapters and verses after a book's name.

What separates numbers has no fixed meaning: a comma stands between chapter and verse or between
verses, a dot too. What decides is what can be meant: Roman numerals beside figures, the mark
that the first chapter and verse have, verses that ascend, chapters that the book has. Where two
readings remain, the reference is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from allusion_es.corpora.bible.books import Book, plain_word
from allusion_es.corpora.bible.reference_names import NameFinder
from allusion_es.corpora.bible.reference_tokens import Token, numeral
from allusion_es.corpora.bible.reference_words import (
    AND,
    CHAPTER,
    CONFER,
    ENGLISH,
    FOLLOWING,
    HEBREW,
    LABELS,
    SEPTUAGINT,
    TEXTS,
    TO,
    VERSE,
    VULGATE,
)

_MOST_DIGITS = 3
_LONGEST_BRACKET = 12
# Chapters of Jeremiah in the Hebrew and Latin text, and in the Septuagint.
_JEREMIAH = {
    **{hebrew: hebrew + 7 for hebrew in range(26, 44)},
    44: 51, 45: 51, 46: 26, 47: 29, 48: 31, 49: 30, 50: 27, 51: 28,
}  # fmt: skip
# The Septuagint counts these verses on with letters, for a text that the Vulgate lacks.
_GREEK_MORE = {
    ("1Kgs", 2, 35), ("1Kgs", 2, 46), ("1Kgs", 12, 24), ("1Kgs", 16, 28), ("Prov", 24, 22),
    ("Job", 42, 17), ("Sir", 36, 16),
}  # fmt: skip

_IN_CAPITALS = frozenset({"mt", "tm", "rv"})
"""Names of texts that are names of books too where they are not written in capitals."""

_HEBREWS = frozenset({"heb", "hebr"})
"""Words that mean the Hebrew numbering or the letter to the Hebrews."""

_CHAPTERS_OF_HEBREWS = 13

_ALTERNATIVE = re.compile(
    r"\s*=?\s*(?:([^\W\d]+)\.?\s*)?(?:([^\W\d]+)\.?\s*)?"
    r"(\d{1,3})(?:\s*[,:.]\s*(\d{1,3})(?:\s*-\s*(\d{1,3}))?)?\s*(?:([^\W\d]+)\.?)?\s*"
)


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

    def __repr__(self) -> str:
        """The OSIS reference, for the prompt."""
        return f"<Reference {self}>"

    def __str__(self) -> str:
        """OSIS: `Ps.22.1`, `Ps.22.1-Ps.23.2`, `Ps.22` or `Ps`."""
        first, last = (
            ".".join([self.book, *(str(number) for number in numbers if number)])
            for numbers in ((self.chapter, self.verse), (self.last_chapter, self.last_verse))
        )
        return first if first == last else f"{first}-{last}"


@dataclass(slots=True)
class Run:
    """The numbers after a book's name, as far as they could be read.

    Attributes:
        end: The token after all that was read or refused.
        good: The token after what was read.
        references: What was read.
        reason: Why the rest, or all, was refused, or "".
    """

    end: int
    good: int
    references: tuple[Reference, ...] = ()
    reason: str = ""


class _RefusedError(Exception):
    """Numbers that cannot be read in one way.

    Args:
        reason: Why.
        all_of_it: Whether what was read before is doubtful too.
    """

    def __init__(self, reason: str, *, all_of_it: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.all_of_it = all_of_it


@dataclass(slots=True)
class _Separator:
    """The text between two numbers: at most one mark, and words."""

    end: int
    mark: str = ""
    linked: bool = False
    verse: bool = False
    chapter: bool = False
    tight: bool = True


@dataclass(slots=True)
class _State:
    """The chapter, the verse and the references that have been read so far."""

    chapter: int = 0
    verse: int = 0
    roman_chapter: bool = False
    roman_verse: bool = False
    upper: bool = False
    mark: str = ""
    tight: bool = True
    ranged: bool = False
    commas: int = 0
    pending: bool = False
    references: list[Reference] = field(default_factory=list)


def read_run(
    tokens: Sequence[Token], names: NameFinder, place: int, start: int, book: Book, written: str
) -> Run:
    """The references that the numbers from a token on are, as far as they belong to a book.

    Args:
        tokens: Of the text.
        names: Finds books' names among them.
        place: The token after the name.
        start: The first token of the name, for references that repeat the book.
        book: The book.
        written: Its name as written, with a dot if one follows.
    """
    return _Numbers(tokens, names, book, written).read(place)


class _Numbers:
    def __init__(
        self, tokens: Sequence[Token], names: NameFinder, book: Book, written: str
    ) -> None:
        self._tokens = tokens
        self._names = names
        self._book = book
        self._written = written
        self._now = _State()

    def read(self, place: int) -> Run:
        now, good = self._now, place
        try:
            place = self._first(place)
            if not now.references and not now.pending:
                return Run(place, place)
            good = place
            while (after := self._next(place)) is not None:
                good = place = after
            if now.pending:
                self._chapter_alone()
                good = place
            self._check_name()
        except _RefusedError as error:
            kept = () if error.all_of_it or now.pending else tuple(now.references)
            return Run(self._skipped(max(place, good)), good, kept, error.reason)
        return Run(place, good, tuple(now.references))

    # The first numbers.

    def _first(self, place: int) -> int:
        """Read the chapter, or the verse of a book with one chapter."""
        separator = self._separator(place, "name")
        if separator.mark not in ("", ".", ",", ":", "_") or separator.linked:
            return place
        value = self._numeral(separator.end)
        if value is None:
            if separator.verse or self._text(separator.end) == "-":
                self._refuse_dash(separator.end)
            return place
        if separator.verse and not self._book.has_one_chapter:
            raise _RefusedError("a verse is named, and no chapter")
        if self._book.has_one_chapter:
            return self._first_of_one_chapter(separator, value)
        self._begin_chapter(separator.end, value)
        return self._after_chapter(separator.end + 1)

    def _refuse_dash(self, place: int) -> None:
        if self._text(place) == "-" and self._numeral(place + 1 + (self._text(place + 1) == "-")):
            raise _RefusedError("a dash stands before its first number")

    def _first_of_one_chapter(self, separator: _Separator, value: tuple[int, bool]) -> int:
        now, place = self._now, separator.end
        now.chapter, now.mark = 1, ":"
        second = self._numeral(self._mark_end(place + 1))
        mark = self._text(place + 1)
        words = self._separator(place + 1, "chapter") if not separator.verse else None
        paired = (
            second is not None
            and not self._names.at(self._mark_end(place + 1))
            and (mark in (",", ":", ".", "_") or self._numeral(place + 1) is not None)
        )
        if words is not None and words.verse and self._numeral(words.end):
            paired, mark = True, ","
        if separator.verse or not paired or (mark == "." and value[0] != 1 and not value[1]):
            self._doubt_judges()
            return self._verse(place, value, one_chapter=True)
        if value[0] != 1:
            raise _RefusedError(
                f"{self._book.abbreviation} has one chapter, and {value[0]} is above it",
                all_of_it=True,
            )
        self._doubt_judges()
        now.roman_chapter, now.mark = value[1], mark if mark in (",", ":", ".") else ""
        now.tight = self._tight(self._mark_end(place + 1))
        now.pending = True
        return place + 1

    def _doubt_judges(self) -> None:
        """Refuse `Iud. 16, 3` (Judges, Judith or Jude); `Jud 5` and `JUD 1:3` are Jude."""
        word = plain_word(self._written.rstrip("."))
        if word not in ("iud", "jud", "ivd", "jvd"):
            return
        plainly = self._written.startswith("J") and not self._written.endswith(".")
        if not plainly:
            raise _RefusedError(
                f"{self._written!r} may be Judges, Judith or Jude; write Judic, Judith or Jude",
                all_of_it=True,
            )

    def _begin_chapter(self, place: int, value: tuple[int, bool]) -> None:
        now = self._now
        self._check_size(place, value[0])
        if self._text(place) in ("l", "c") and (
            self._book.chapters < value[0] or self._numeral(place + 2, roman=True)
        ):
            raise _RefusedError(f"{self._text(place)!r} may be a numeral or a word")
        now.chapter, now.verse, now.pending, now.ranged = value[0], 0, True, False
        now.roman_chapter = value[1]
        now.upper = value[1] and self._text(place).isupper()
        now.commas = 0

    def _after_chapter(self, place: int) -> int:
        """Read what may stand between a chapter and its verse: `22 (23)`, `22-24`, `22f`."""
        now = self._now
        if self._tokens_glued_word(place):
            word = self._text(place)
            if plain_word(word) not in FOLLOWING:
                if self._book.osis == "Ps" and now.chapter == 9 and word in ("a", "A"):
                    place += 1
                else:
                    raise _RefusedError(f"{word[:20]!r} after a chapter is no verse")
        place = self._chapter_bracket(place)
        if self._text(place) == "/" and self._numeral(place + 1):
            other = self._numeral(place + 1)
            if other and self._text(place + 2) in (",", ":", ".") and not other[1]:
                now.chapter = self._one_of(now.chapter, other[0], "")
                place += 2
        if self._text(place) == "-":
            return self._chapters(place)
        following = self._following(place)
        if following:
            count, end = following
            if self._separator(end, "verse").mark == "" and self._numeral(end):
                raise _RefusedError("what follows a chapter is no verse")
            last = now.chapter + count
            self._add(Reference(self._book.osis, now.chapter, 0, last, 0))
            now.pending, now.ranged = False, True
            now.chapter = last
            return end
        return place

    def _chapters(self, place: int) -> int:
        """Read a range that begins with a whole chapter: `22-24`, `22-24,3`."""
        now = self._now
        end = self._repeated_book(place + 1)
        value = self._numeral(end)
        if value is None:
            raise _RefusedError("a range has no end")
        self._check_size(end, value[0])
        if value[0] < now.chapter:
            raise _RefusedError("a range ends before it begins; write the earlier verse first")
        last, after, verse = value[0], end + 1, 0
        mark_end = self._mark_end(after)
        second = self._numeral(mark_end) if mark_end > after else None
        if second and not self._names.at(mark_end) and self._text(after) in (",", ":", "."):
            if not self._tight(mark_end) and self._text(after) != ":":
                raise _RefusedError("chapters and verses cannot be told apart", all_of_it=True)
            verse, after = second[0], mark_end + 1
            self._check_size(mark_end, verse)
            after = self._part(after, last, verse)
        self._add(Reference(self._book.osis, now.chapter, 0, last, verse))
        now.chapter, now.verse, now.pending, now.ranged = last, verse, False, True
        if self._text(after) == "-":
            raise _RefusedError("a range has two ends", all_of_it=True)
        return after

    # All other numbers.

    def _next(self, place: int) -> int | None:
        """Read the next number, or None where the numbers end."""
        now = self._now
        level = "chapter" if now.pending else "verse"
        separator = self._separator(place, level)
        value = self._numeral(separator.end)
        if value is None or self._names.at(separator.end):
            # In `Matth. 5, 3 Io.` 3 is a verse; `5, 1 Io. 4` could be both.
            name = self._names.at(separator.end) if value is not None else None
            if (
                name is not None
                and now.pending
                and name.doubtful
                and separator.mark in (",", ":", ".", "")
                and not self._loose_comma_is_list(separator)
            ):
                raise _RefusedError(
                    f"{self._text(separator.end)} may be a verse or the next book's number",
                    all_of_it=True,
                )
            return None
        if self._is_line(separator, value, place):
            return None
        if now.pending:
            return self._after_pending(separator, value)
        if separator.chapter:
            self._begin_chapter(separator.end, value)
            return self._after_chapter(separator.end + 1)
        if separator.mark == ";" and self._book.has_one_chapter:
            return self._verse(separator.end, value)
        if separator.verse:
            return self._verse(separator.end, value)
        if now.verse == 0:
            return self._after_chapters(separator, value)
        return self._after_verse(separator, value)

    def _loose_comma_is_list(self, separator: _Separator) -> bool:
        """Whether a blank after the comma sets it off from `13,1`, the text's way elsewhere."""
        if separator.mark != "," or separator.tight:
            return False
        tokens = self._tokens
        return any(
            tokens[n].text == "," and tokens[n].glued and tokens[n + 1].glued
            for n in range(separator.end, len(tokens) - 1)
            if tokens[n + 1].kind == "number" and tokens[n - 1].kind == "number"
        )

    def _is_line(self, separator: _Separator, value: tuple[int, bool], place: int) -> bool:
        """Whether a number belongs to the entry after it: a line, or a note's number."""
        after = separator.end + 1
        if value[1] or separator.linked or separator.verse or separator.chapter:
            return False
        if self._text(after) in ("]", ")") and self._text(separator.end - 1) not in ("(", "["):
            return not self._opened(separator.end)
        if self._now.pending:
            return False
        if separator.mark == "" or (separator.mark in (".", ",", ";") and not separator.tight):
            while self._text(after) and plain_word(self._text(after)) in CONFER:
                after += 1
                after += self._text(after) == "."
            return self._names.at(after) is not None
        return False

    def _opened(self, place: int) -> bool:
        """Whether a bracket that closes after a number was opened before it."""
        depth = 0
        for token in self._tokens[max(0, place - 60) : place]:
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
            depth = max(depth, 0)
        return depth > 0

    def _after_pending(self, separator: _Separator, value: tuple[int, bool]) -> int:
        """Read the number after a chapter: its verse, or another chapter."""
        now = self._now
        to_verse = separator.mark in ("", ",", ":", ".", "_") and not separator.linked
        if (separator.verse or to_verse) and not separator.chapter:
            now.mark = separator.mark if separator.mark in (",", ":", ".") else ""
            now.tight = separator.tight
            if (
                not separator.verse
                and separator.mark in ("", ",", ".")
                and value == (70, True)
                and self._text(separator.end) == "LXX"
                and not now.roman_chapter
            ):
                raise _RefusedError("'LXX' may be the Septuagint", all_of_it=True)
            letter = re.fullmatch("[a-z]", self._text(separator.end))
            if letter and value[1] and now.mark == "" and not now.roman_chapter:
                raise _RefusedError(f"{letter[0]!r} may be a numeral or a word", all_of_it=True)
            if plain_word(self._written.rstrip(".")) == "pss" and now.mark != ":":
                raise _RefusedError("psalms and verses cannot be told apart", all_of_it=True)
            now.roman_verse = value[1]
            return self._verse(separator.end, value)
        self._chapter_alone()
        self._begin_chapter(separator.end, value)
        return self._after_chapter(separator.end + 1)

    def _chapter_alone(self) -> None:
        now = self._now
        self._add(Reference(self._book.osis, now.chapter, 0, now.chapter, 0))
        now.pending = False

    def _after_chapters(self, separator: _Separator, value: tuple[int, bool]) -> int:
        """Read the number after a list of chapters: another chapter, never a verse."""
        if separator.mark in (",", ".", ":", "") and not separator.linked:
            raise _RefusedError("chapters and verses cannot be told apart", all_of_it=True)
        self._begin_chapter(separator.end, value)
        return self._after_chapter(separator.end + 1)

    def _after_verse(self, separator: _Separator, value: tuple[int, bool]) -> int:
        """Read the number after a verse: another verse, or a chapter with its verse."""
        now, place = self._now, separator.end
        paired = self._paired(place)
        if now.roman_chapter and not now.roman_verse:
            if not value[1]:
                if separator.mark == "" and not separator.linked:
                    raise _RefusedError(f"{value[0]} is no verse of a list")
                joined = paired and not separator.linked and self._text(place + 1) != "."
                if joined and separator.mark == ";":
                    raise _RefusedError("chapters and verses cannot be told apart")
                return self._listed(separator, value)
            if not paired:
                raise _RefusedError("a whole chapter stands among verses")
            return self._chapter_of_verse(place, value)
        if value[1] and not now.roman_chapter:
            raise _RefusedError(f"{self._text(place)[:20]!r} may be a chapter or a verse")
        if self._book.has_one_chapter:
            if paired and self._text(place + 1) == ":":
                raise _RefusedError("chapters and verses cannot be told apart")
            return self._listed(separator, value)
        if self._begins_chapter(separator, value[0], paired):
            return self._chapter_of_verse(place, value)
        if separator.mark == ";":
            raise _RefusedError(f"{value[0]} may be a chapter or a verse; write chapter and verse")
        if separator.mark == "" and not separator.linked:
            raise _RefusedError(f"{value[0]} is no verse of a list")
        if separator.mark == ":" or separator.mark == "_":
            raise _RefusedError(
                f"{value[0]} follows a colon, and is no verse of a list",
                all_of_it=now.mark == "",  # `Gen 1 2:3`: 2 may be a chapter
            )
        return self._listed(separator, value)

    def _begins_chapter(self, separator: _Separator, value: int, paired: bool) -> bool:
        """Whether a number after a verse is a chapter that has its verse after it."""
        now = self._now
        if not paired:
            return False
        place = separator.end
        mark, second = self._text(place + 1), self._numeral(self._mark_end(place + 1))
        number = second[0] if second else 0
        tight = self._tight(self._mark_end(place + 1))
        ascending = now.verse < value < number
        if now.mark == ":" or mark == ":":
            return mark == ":"
        if separator.linked and ascending and value <= now.chapter:
            raise _RefusedError(f"{value} may be a chapter or a verse")
        if separator.mark == ";" or separator.linked:
            return True
        if mark == "." and now.mark == ",":
            return False  # `22,1, 3.5` goes on listing verses
        if now.mark == "" and mark in (",", "."):
            return False
        if separator.mark == "," and mark == "," and now.mark == ",":
            if now.tight and tight and not separator.tight:
                return True  # `5,3, 6,9`
            if ascending:
                return False
            raise _RefusedError(f"{value} may be a chapter or a verse")
        # From here on a dot lists verses and a comma parts chapter and verse, or the reverse.
        if separator.mark == now.mark:
            if ascending:
                return False
            raise _RefusedError(f"{value} may be a chapter or a verse")
        if not ascending and value >= now.chapter:
            return True
        if now.tight and tight and not separator.tight and value > now.chapter:
            return True
        raise _RefusedError(f"{value} may be a chapter or a verse")

    def _chapter_of_verse(self, place: int, value: tuple[int, bool]) -> int:
        self._begin_chapter(place, value)
        return self._after_chapter(place + 1)

    def _listed(self, separator: _Separator, value: tuple[int, bool]) -> int:
        """Read a further verse of a chapter."""
        now = self._now
        loose = (separator.mark == "," and now.mark in (",", "")) or not separator.tight
        if loose and now.mark != ":" and value[0] <= now.verse:
            raise _RefusedError(f"{value[0]} does not ascend; it may be a chapter or a verse")
        if separator.mark == "," and now.mark == ",":
            now.commas += 1
            if (
                now.commas == 1
                and not now.ranged
                and not now.roman_chapter
                and now.chapter + 2 == now.verse + 1 == value[0]
            ):
                raise _RefusedError("chapters and verses cannot be told apart", all_of_it=True)
        return self._verse(separator.end, value)

    # One verse, or a range that begins with it.

    def _verse(self, place: int, value: tuple[int, bool], *, one_chapter: bool = False) -> int:
        now = self._now
        self._check_size(place, value[0])
        now.pending, now.verse, now.ranged = False, value[0], False
        place = self._part(place + 1, now.chapter, value[0])
        if self._text(place) == "-" or self._word(place) in TO or self._is_next(place, value[0]):
            return self._trailing(self._range(place, value[0]))
        following = self._following(place)
        if following:
            count, place = following
            last = value[0] + count
            self._add(
                Reference(self._book.osis, now.chapter, value[0], now.chapter, last, open=True)
            )
            now.verse = last
        else:
            self._add(Reference(self._book.osis, now.chapter, value[0], now.chapter, value[0]))
        return self._trailing(place)

    def _is_next(self, place: int, verse: int) -> bool:
        """Whether a slash and the next verse follow (`21, 17/18`), as in Corpus Christianorum.

        After a colon (`34:8/9`) the two may be numbers of one verse.
        """
        after = place + 1
        return (
            self._text(place) == "/"
            and self._now.mark != ":"
            and self._text(after) == str(verse + 1)
            and self._text(after + 1) not in ("/", "-", ":")
            and not self._names.at(after)
            and not self._paired(after)
        )

    def _part(self, place: int, chapter: int, verse: int) -> int:
        """Go over the letter that names a part of a verse (`3a`, `3 b`)."""
        if not self._tokens_glued_word(place):
            word = self._text(place)
            if len(word) == 1 and word in "abcd" and not self._numeral_follows_letter(place):
                if self._names.at(place) or (self._text(place + 1) == "." and word == "c"):
                    return place
                return place + 1 if word != "c" else place
            return place + (word == "*")
        word = self._text(place)
        if plain_word(word) in FOLLOWING:
            return place
        if not re.fullmatch(r"[a-e][αβγ]?", word):
            raise _RefusedError(f"{word[:20]!r} after a verse cannot be read")
        if self._book.osis == "Esth" or (self._book.osis, chapter, verse) in _GREEK_MORE:
            raise _RefusedError("verses with letters are those of the Septuagint here")
        place += 1
        while (
            self._text(place) in (".", ",", "-")
            and place + 1 < len(self._tokens)
            and self._tokens[place + 1].glued
            and re.fullmatch("[a-e]", self._text(place + 1))
        ):
            place += 2
        return place

    def _numeral_follows_letter(self, place: int) -> bool:
        after = place + 1 + (self._text(place + 1) == ".")
        return self._numeral(after) is not None or (
            after < len(self._tokens)
            and self._tokens[after].kind == "word"
            and self._text(place + 1) != "."
            and self._word(after) not in AND | CONFER
            and self._names.at(after) is None
        )

    def _range(self, place: int, first: int) -> int:
        """Read the end of a range: a verse, or a chapter and its verse."""
        now = self._now
        spaced = not self._tokens[place].glued
        place += 1
        place += self._word(place) == "ad"
        if self._word(place) in VERSE and self._word(place) != "v":
            place += 1
        elif self._word(place) == "v" and self._numeral(place + 1 + (self._text(place + 1) == ".")):
            place += 1
            place += self._text(place) == "."
        place_of_name = place
        place = self._repeated_book(place)
        value = self._numeral(place)
        if value is None:
            raise _RefusedError("a range has no end", all_of_it=False)
        self._check_size(place, value[0])
        mark_end = self._mark_end(place + 1)
        second = self._numeral(mark_end) if not self._names.at(mark_end) else None
        chapters = second is not None and self._ends_in_chapter(
            first, (place, value), (mark_end, second), spaced, place != place_of_name
        )
        if not chapters and (place != place_of_name) and not self._book.has_one_chapter:
            raise _RefusedError("a range ends with a whole chapter", all_of_it=False)
        if value[1] and now.roman_chapter and not now.roman_verse and not chapters:
            raise _RefusedError("a range ends with a whole chapter", all_of_it=False)
        last_chapter, last, end = now.chapter, value[0], place + 1
        if chapters and second is not None:
            last_chapter, last, end = value[0], second[0], mark_end + 1
            self._check_size(mark_end, last)
        if (last_chapter, last) < (now.chapter, first):
            raise _RefusedError("a range ends before it begins; write the earlier verse first")
        end = self._part(end, last_chapter, last)
        if self._text(end) == "-" or self._following(end):
            raise _RefusedError("a range has two ends", all_of_it=True)
        self._add(Reference(self._book.osis, now.chapter, first, last_chapter, last))
        now.chapter, now.verse, now.ranged = last_chapter, last, True
        return end

    def _ends_in_chapter(
        self,
        first: int,
        third: tuple[int, tuple[int, bool]],
        fourth: tuple[int, tuple[int, bool]],
        spaced: bool,
        repeated: bool,
    ) -> bool:
        """Whether `a,b-c,d` goes on to verse d of chapter c, or lists verse d after b to c."""
        now = self._now
        (place, (last, roman)), (mark_end, (number, _)) = third, fourth
        mark = self._text(place + 1) if mark_end > place + 1 else ""
        if repeated or mark == ":":
            return True
        if now.roman_chapter and not now.roman_verse:
            return roman
        if mark == "":
            return False
        if now.mark == ":" or (mark != now.mark and now.mark != ""):
            return False
        as_list = first < last < number
        as_chapter = now.chapter < last <= self._book.chapters or (
            now.chapter == last and first < number
        )
        # Books of other numberings (Joel 4) are only taken where nothing else can be meant.
        if not as_list:
            return last >= now.chapter
        if not as_chapter or self._book.has_one_chapter:
            return False
        if spaced or number == last + 1:
            return True
        if self._tight(mark_end):
            if last - now.chapter <= 1:
                return True
        elif last - now.chapter > 1:
            return False
        raise _RefusedError(f"{last} may be a chapter or a verse", all_of_it=True)

    def _repeated_book(self, place: int) -> int:
        """Go over the same book's name, which OSIS repeats after the dash."""
        name = self._names.at(place)
        if name is None:
            return place
        if self._numeral(place) and not self._numeral(name.end):
            return place
        if name.book != self._book or name.unknown:
            raise _RefusedError(
                "it goes from one book to another; give a range for each", all_of_it=True
            )
        return name.end

    def _following(self, place: int) -> tuple[int, int] | None:
        """How many verses `sq.` or the like adds, and where it ends."""
        start = place
        place += self._text(place) == ","  # `14, seqq.`
        if self._word(place) in AND | {"u"}:
            place += 1
            place += self._text(place) == "."
        word = self._word(place)
        count = FOLLOWING.get(word)
        if count is None or (self._text(place)[0].isupper()):
            return None
        end = place + 1
        # The dot of `11,1s.10` lists a verse.
        lists = self._now.mark == "," and self._tight(end + 1) and self._numeral(end + 1)
        end += self._text(end) == "." and not lists
        if not self._tokens[place].glued and word in ("s", "f", "fol", "seg", "sg"):
            if self._names.at(end) and word == "s":
                raise _RefusedError("'s.' may be what follows, or 'see'")
            if self._numeral(end) and not self._names.at(end) and start == place:
                raise _RefusedError(f"{word!r} may be what follows, or a page")
        return count, end

    # Brackets and names of texts.

    def _chapter_bracket(self, place: int) -> int:
        """Read another numbering's chapter after a chapter: `22 (23)`, `22 [Vulg. 21]`."""
        now = self._now
        inside = self._bracket(place)
        if inside is None:
            return place
        content, end = inside
        if self._only_labels(content):
            self._check_labels(content)
            return end
        match = _ALTERNATIVE.fullmatch(content)
        if match is None or match[4]:
            return place
        label = self._label(match)
        if label is None:
            return place
        now.chapter = self._one_of(now.chapter, int(match[3]), label)
        return end

    def _trailing(self, place: int) -> int:
        """Read what may stand after a verse: `(Vg 21:2)`, `LXX`."""
        while True:
            if self._text(place) in ("(", "["):
                after = self._verse_bracket(place)
            else:
                after = self._label_word(place)
            if after == place:
                return place
            place = after

    def _label_word(self, place: int) -> int:
        start = place
        place += self._text(place) == ","
        while plain_word(self._text(place)) in ("iuxta", "iux", "sec", "secundum", "apud", "ap"):
            place += 1
            place += self._text(place) == "."
        word = self._word(place)
        if word not in TEXTS or word in ("gr", "h"):
            return start
        if self._names.at(place) and self._numeral(self._names.at(place).end):  # type: ignore[union-attr]
            return start
        end = place + 1
        end += self._text(end) == "."
        roman = numeral(self._tokens, place)
        if roman and self._now.roman_chapter and self._paired(place):
            if start == place:
                raise _RefusedError("'LXX' may be the Septuagint")
            return start
        if roman and self._text(place) != "LXX":
            return start
        self._check_labels(word)
        if (
            self._numeral(self._mark_end(end))
            and roman
            and self._mark_end(end) > end
            and (self._text(end) != ";" and self._now.roman_chapter)
        ):
            raise _RefusedError("'LXX' may be the Septuagint")
        return end

    def _verse_bracket(self, place: int) -> int:
        """Read another numbering's chapter and verse after a verse."""
        now = self._now
        inside = self._bracket(place)
        if inside is None:
            return place
        content, end = inside
        if self._only_labels(content):
            self._check_labels(content)
            return end
        match = _ALTERNATIVE.fullmatch(content)
        label = self._label(match) if match else None
        if match is None or label is None or not now.references:
            return place
        if label in _HEBREWS and match[4] and int(match[3]) <= _CHAPTERS_OF_HEBREWS:
            # `Ps. 2, 7 (Hebr. 1, 5)` is the letter; `Ps. 22, 1 (Hebr. 23, 1)` another numbering.
            if now.references[-1].chapter not in (int(match[3]), int(match[3]) - 1):
                return place
            raise _RefusedError(
                f"'{label}' may be the Hebrew numbering or the letter to the Hebrews",
                all_of_it=True,
            )
        other = self._alternative(now.references[-1], match, label)
        now.references[-1] = other
        now.chapter, now.verse = other.last_chapter, other.last_verse
        return end

    def _alternative(self, given: Reference, match: "re.Match[str]", label: str) -> Reference:
        book = self._book.osis
        chapter, verse = int(match[3]), int(match[4] or 0)
        last = int(match[5] or verse)
        if label in HEBREW:
            return given
        if label in ENGLISH:
            raise _RefusedError("another numbering than the Vulgate's is named", all_of_it=True)
        if not verse:
            chapter, verse, last = given.chapter, chapter, chapter
            if label not in VULGATE:
                raise _RefusedError(
                    f"({match[3]}) may be another number of the verse", all_of_it=True
                )
        other = Reference(book, chapter, verse, chapter, last)
        if label in VULGATE or (label in SEPTUAGINT and book == "Ps"):
            return other
        if label in SEPTUAGINT:
            return given
        if book == "Ps" and given.chapter != chapter:
            return other if self._one_of(given.chapter, chapter, "") == chapter else given
        raise _RefusedError("two numberings are given, and it is not said which", all_of_it=True)

    def _bracket(self, place: int) -> tuple[str, int] | None:
        """The content of the bracket that opens at a token, and the token after the bracket."""
        if self._text(place) not in ("(", "["):
            return None
        closing = ")" if self._text(place) == "(" else "]"
        for end in range(place + 1, min(place + _LONGEST_BRACKET, len(self._tokens))):
            if self._text(end) == closing:
                content = ""
                for token in self._tokens[place + 1 : end]:
                    content += ("" if token.glued else " ") + token.text
                return content, end + 1
        return None

    def _only_labels(self, content: str) -> bool:
        words = re.findall(r"[^\W\d_]+", content)
        return (
            bool(words)
            and not re.search(r"\d", content)
            and all(plain_word(word) in LABELS | {"et"} for word in words)
        )

    def _check_labels(self, content: str) -> None:
        """Refuse numbers that are said to be another numbering's, where that differs."""
        words = {plain_word(word) for word in re.findall(r"[^\W\d_]+", content)}
        if words & HEBREW:
            raise _RefusedError("the Hebrew numbering is named", all_of_it=True)
        if words & ENGLISH and self._book.osis in ("Ps", "Joel", "Mal"):
            raise _RefusedError("an English numbering is named", all_of_it=True)
        if words & SEPTUAGINT and (
            (self._book.osis == "Jer" and self._now.chapter >= 25)
            or (self._book.osis == "1Kgs" and self._now.chapter in (20, 21))
        ):
            raise _RefusedError(
                "the Septuagint counts these chapters in another way", all_of_it=True
            )

    def _label(self, match: "re.Match[str]") -> str | None:
        """The one label of a bracket, "" without one, None where a word is none."""
        written = [word for word in (match[1], match[2], match[6]) if word]
        # "MT" is the Masoretic text and "RV" the Revised Version, but "Mt" is Matthew.
        if any(plain_word(word) in _IN_CAPITALS and not word.isupper() for word in written):
            return None
        words = [plain_word(word) for word in written]
        names = {self._word_of_name(), *(("ps", "psalm") if self._book.osis == "Ps" else ())}
        if words and words[0] in names:
            words = words[1:]
        if len(words) > 1 and len(set(words) & (VULGATE | SEPTUAGINT | HEBREW | ENGLISH)) != 1:
            return None
        known = [word for word in words if word in VULGATE | SEPTUAGINT | HEBREW | ENGLISH]
        others = [word for word in words if word not in known and word not in names]
        if others:
            return None
        return known[0] if known else ""

    def _word_of_name(self) -> str:
        return plain_word(self._written.rstrip("."))

    def _one_of(self, given: int, other: int, label: str) -> int:
        """The Vulgate's chapter of two that an edition prints.

        Psalms 10 to 147 of the Hebrew Bible are 9 to 146 of the Vulgate, so the Vulgate's is the
        smaller number, whichever stands first. Psalms that are divided in another way (9,
        113 to 115, 147) have other verse numbers too, and are refused. In Jeremiah the pair
        itself tells which number is the Septuagint's; in 3 Kings 20 and 21 the Greek order is
        the one that is put in brackets.
        """
        book = self._book.osis
        if label in VULGATE and book != "Ps":
            return other
        if label in HEBREW and book != "Ps":
            raise _RefusedError("another numbering's chapter is named")
        if book == "Ps":
            low, high = sorted((given, other))
            usual = high == low + 1 and (10 <= low <= 113 or 116 <= low <= 146)
            if not usual and (low, high) != (114, 116):
                raise _RefusedError(f"psalms {given} and {other} are not divided alike")
            if label in VULGATE | SEPTUAGINT:
                if other != low:
                    raise _RefusedError(f"the Vulgate's psalm is {low}, not {other}")
            elif label in HEBREW and other != high:
                raise _RefusedError(f"the Hebrew psalm is {high}, not {other}")
            return low
        if book == "Jer" and label == "":
            if _JEREMIAH.get(given) == other:
                return given
            if _JEREMIAH.get(other) == given:
                return other
        if book == "1Kgs" and {given, other} == {20, 21}:
            return given
        if label in SEPTUAGINT:
            return given
        raise _RefusedError("two chapters are given, and it is not said which is the Vulgate's")

    # Tokens.

    def _separator(self, place: int, level: str) -> _Separator:
        """The separator before the next number.

        Args:
            place: The token after the last number.
            level: `name` after a book, `chapter` after a chapter, else `verse`.
        """
        found = _Separator(place)
        end, dotted = place, False
        while end < len(self._tokens):
            token, word = self._tokens[end], self._word(end)
            if token.kind == "number" or (
                self._names.at(end) and not self._is_word_mark(end, word)
            ):
                break
            if token.kind == "mark":
                if token.text in "&+":
                    found.linked = True
                elif token.text == "." and dotted:
                    dotted = False
                    end += 1
                    continue
                elif token.text in ",.:;_" and not (found.linked or found.verse or found.chapter):
                    if found.mark not in ("", "."):
                        break
                    found.mark = token.text
                elif token.text in ",;" and found.mark == "" and found.linked:
                    break
                else:
                    break
            elif word in ("u", "U"):
                if not self._versus_or_and(end, level, found):
                    break
                dotted = True
            elif word in AND or word in CONFER:
                if level == "name":
                    break
                found.linked = dotted = True
            elif word in VERSE and self._is_verse_word(end, word, level, found):
                found.verse = dotted = True
            elif word in CHAPTER and self._is_chapter_word(end, word, level):
                found.chapter = dotted = True
            else:
                break
            end += 1
        found.end = end
        found.tight = end < len(self._tokens) and all(
            token.glued for token in self._tokens[place : end + 1]
        )
        return found

    def _is_word_mark(self, place: int, word: str) -> bool:
        """Whether a word before a number is `ac` or `c.` though a book is called so."""
        return word in AND and self._text(place).islower()

    def _after_dot(self, place: int) -> int:
        return place + 1 + (self._text(place + 1) == ".")

    def _versus_or_and(self, place: int, level: str, found: _Separator) -> bool:
        """`u.` before a number: `und` after a verse, `uersus` after a chapter and a comma."""
        after = self._after_dot(place)
        if level == "name" or self._numeral(after) is None or self._names.at(after):
            return False
        if level == "verse":
            found.linked = True
        elif found.mark == ",":
            found.verse = True
        else:
            raise _RefusedError("'u.' may be 'and' or 'verse'", all_of_it=True)
        return True

    def _is_verse_word(self, place: int, word: str, level: str, found: _Separator) -> bool:
        """Whether a word means a verse; `v` may also be a Roman five, or `vide`."""
        after = self._after_dot(place)
        value = self._numeral(after)
        if value is None or self._names.at(after) is not None:
            return False
        if word != "v":
            return True
        if level == "name":
            return self._book.has_one_chapter
        now = self._now
        same_case = now.roman_chapter and now.upper == self._text(place).isupper()
        if value[1]:
            if same_case or not now.roman_chapter:
                raise _RefusedError("'v.' may be 'verse' or a five", all_of_it=level == "chapter")
            return True
        if level == "chapter" or not now.roman_chapter or not same_case:
            return True
        if found.mark == ";" or found.linked:
            return False
        raise _RefusedError("'v.' may be 'verse' or a five")

    def _is_chapter_word(self, place: int, word: str, level: str) -> bool:
        """Whether a word means a chapter; `c` may also be a Roman hundred."""
        after = self._after_dot(place)
        if self._numeral(after) is None or self._names.at(after) is not None:
            return False
        if word != "c" or level != "name" or self._book.chapters < 100:
            return True
        if self._numeral(self._mark_end(after + 1)) and self._mark_end(after + 1) > after + 1:
            return True
        raise _RefusedError("'c.' may be 'chapter' or a hundred", all_of_it=True)

    def _paired(self, place: int) -> bool:
        """Whether a mark, or a blank, and another number follow a number."""
        after = self._mark_end(place + 1)
        if self._text(place + 1) == ";" or self._numeral(after) is None or self._names.at(after):
            return False
        if after > place + 1:
            return True
        return self._now.mark == "" and not self._tokens[after].glued

    def _mark_end(self, place: int) -> int:
        """The token after a mark between two numbers; a dot may stand before it."""
        if self._text(place) == "." and self._text(place + 1) in (",", ":"):
            return place + 2
        return place + (self._text(place) in (",", ":", ".", "_"))

    def _tight(self, place: int) -> bool:
        """Whether no blank stands before a number and the mark before it."""
        return (
            place < len(self._tokens)
            and self._tokens[place].glued
            and self._tokens[place - 1].glued
        )

    def _numeral(self, place: int, *, roman: bool = False) -> tuple[int, bool] | None:
        found = numeral(self._tokens, place)
        return found if found is None or not roman or found[1] else None

    def _text(self, place: int) -> str:
        return self._tokens[place].text if 0 <= place < len(self._tokens) else ""

    def _word(self, place: int) -> str:
        if place >= len(self._tokens) or self._tokens[place].kind != "word":
            return ""
        return plain_word(self._tokens[place].text)

    def _tokens_glued_word(self, place: int) -> bool:
        return (
            place < len(self._tokens)
            and self._tokens[place].kind == "word"
            and self._tokens[place].glued
        )

    def _check_size(self, place: int, value: int) -> None:
        if not value or (len(self._text(place)) > _MOST_DIGITS and value > 999):
            raise _RefusedError(f"{self._text(place)[:12]} is no chapter or verse")

    def _check_name(self) -> None:
        """Refuse short names that other languages give to another book."""
        now, word = self._now, plain_word(self._written.rstrip("."))
        dotted = self._written.endswith(".")
        highest = max((each.last_chapter for each in now.references), default=0)
        if word == "es" and not dotted and highest <= 40:
            raise _RefusedError("'Es' may be Isaiah or Exodus", all_of_it=True)
        if word == "ies":
            raise _RefusedError("it may be Isaiah, Joshua or Sirach", all_of_it=True)
        if word == "ep" and dotted:
            raise _RefusedError("'Ep.' may be a letter", all_of_it=True)
        if word == "sg" and now.mark == ":" and highest <= 8:
            raise _RefusedError("'Sg' may be the Song or Wisdom", all_of_it=True)
        if word in ("esd", "esdras") and self._book.osis in ("Ezra", "Neh"):
            raise _RefusedError("it may be Ezra or the third book of Esdras", all_of_it=True)

    def _separator_end(self, place: int) -> int | None:
        """The next number, if only marks and words between numbers stand before it."""
        words = AND | CONFER | VERSE | CHAPTER | {"u"}
        while place < len(self._tokens) and self._numeral(place) is None:
            if self._text(place) not in ",.:;_-&" and self._word(place) not in words:
                return None
            place += 1
        return place if place < len(self._tokens) else None

    def _add(self, reference: Reference) -> None:
        self._now.references.append(reference)

    def _skipped(self, place: int) -> int:
        """The token after the numbers and marks that were refused, one number at least."""
        number = self._separator_end(place)
        if number is not None and self._names.at(number) is None:
            place = number + 1
        while place < len(self._tokens):
            token = self._tokens[place]
            if self._names.at(place) is not None or token.text in "()[];":
                break
            if token.kind == "word" and not (
                self._numeral(place)
                or self._word(place) in VERSE | CHAPTER | FOLLOWING.keys()
                or token.glued
            ):
                break
            place += 1
        return place
