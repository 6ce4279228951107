"""Books' names among the tokens of a text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from allusion_es.corpora.bible.books import BOOKS, Book, match_words, ordinal, plain_word
from allusion_es.corpora.bible.reference_tokens import Token
from allusion_es.corpora.bible.reference_words import FOLLOWING, LEADS, NO_NAMES_IN_LOWER_CASE

_MOST_WORDS = 4
_LONGEST_WORD = 24
_ANY = BOOKS[0]
# Books of the Greek and Latin Bible that the Vulgate here lacks: their numbers are no lines.
_MORE_BOOKS = {
    "Ezra": ("3", "4", "5"), "Bar": ("2", "3", "4"), "John": ("4", "5"), "Jude": (), "Neh": ()
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Name:
    """A book's name in a text.

    Attributes:
        book: The book.
        end: The token after it and its dot.
        written: Its words, with a dot if one follows, without number and words before it.
        doubtful: Whether it has a number, and would name another book without it (`1 Joh`).
        unknown: Whether a number makes it a book that the Vulgate here lacks (`3 Esdr`).
    """

    book: Book
    end: int
    written: str
    doubtful: bool = False
    unknown: bool = False


class NameFinder:
    """Finds names, and remembers what it found.

    Args:
        tokens: Of the text.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._found: dict[int, Name | None] = {}

    def at(self, place: int) -> Name | None:
        """The name that begins at a token, with what titles put before it."""
        if place not in self._found:
            self._found[place] = self._find(place)
        return self._found[place]

    def _find(self, place: int) -> Name | None:
        tokens = self._tokens
        if place >= len(tokens) or tokens[place].kind == "mark":
            return None
        if tokens[place].kind == "number" and self._is_inside(place):
            return None
        # `Ep. ad Rom.` first: `Ep` alone is Ephesians.
        return self._titled(place) or self._name(place)

    def _titled(self, place: int) -> Name | None:
        """A name with words of its title before it, or between its number and it."""
        leads, place = self._leads(place)
        number, after = self._number(place)
        more, after = self._leads(after)
        leads += more
        if not leads:
            return None
        found = self._match(number, after)
        if found is None or any(found.book.osis not in LEADS[lead] for lead in leads):
            return None
        return found

    def _name(self, place: int) -> Name | None:
        number, after = self._number(place)
        if number:
            found = self._match(number, after)
            if found is not None:
                return found
            alone = self._match("", after)
            if alone is not None and number in _MORE_BOOKS.get(alone.book.osis, ()):
                if alone.book.osis == "John" and self._tokens[place].kind == "number":
                    return None  # `4 Io. 3, 16`: the 4 is a verse or a line
                return Name(alone.book, alone.end, alone.written, unknown=True)
            if alone is None and self._needs_number(after):
                return Name(_ANY, after + 1, self._tokens[after].text, unknown=True)
            if alone is not None and self._tokens[place].kind == "word":
                return Name(alone.book, alone.end, alone.written, unknown=True)
            if self._tokens[place].kind == "number":
                return None
        return self._match("", place)

    def _needs_number(self, place: int) -> bool:
        """Whether a word is the name of books that are numbered (`Cor`), and no book alone."""
        if place >= len(self._tokens) or self._tokens[place].kind != "word":
            return False
        word = self._tokens[place].text
        return (
            len(word) > 1
            and word[0].isupper()
            and len(word) <= _LONGEST_WORD
            and any(match_words(number, [word]) for number in "12")
            and not match_words("", [word])
        )

    def _is_inside(self, place: int) -> bool:
        """Whether a number belongs to the mark before it: the second 1 of `Gen.1.1 John.1.1`."""
        if place < 2:
            return False
        token, before = self._tokens[place], self._tokens[place - 1]
        return (
            token.glued
            and before.text in ",:._"
            and before.glued
            and self._tokens[place - 2].kind != "mark"
            and not (
                place + 1 < len(self._tokens)
                and self._tokens[place + 1].glued
                and self._tokens[place + 1].kind == "word"
                # `11,1s.10`
                and self._tokens[place + 1].text not in FOLLOWING
                and not re.fullmatch("[a-z]", self._tokens[place + 1].text)
            )
            # `5,3.1 Cor`: no book is called so alone
            and not self._needs_number(place + 1)
        )

    def _number(self, place: int) -> tuple[str, int]:
        """The number that begins a book's name, or "", and the token after it."""
        tokens = self._tokens
        if place >= len(tokens) or tokens[place].kind == "mark":
            return "", place
        number = ordinal(tokens[place].text)
        if not number:
            return "", place
        after = place + 1
        if tokens[place].kind == "number" and after < len(tokens) and tokens[after].glued:
            # `1st Samuel`, but `1TH 5:17`
            is_ordinal = tokens[after].text in ("st", "nd", "rd", "th")
            after += is_ordinal and after + 1 < len(tokens) and tokens[after + 1].kind == "word"
        after += after < len(tokens) and tokens[after].text == "."
        if after >= len(tokens) or tokens[after].kind != "word":
            return "", place
        return number, after

    def _leads(self, place: int) -> tuple[list[str], int]:
        leads: list[str] = []
        while place < len(self._tokens) and len(leads) < _MOST_WORDS:
            word = plain_word(self._tokens[place].text)
            if word not in LEADS:
                break
            leads.append(word)
            place += 1
            place += place < len(self._tokens) and self._tokens[place].text == "."
        return leads, place

    def _match(self, number: str, place: int) -> Name | None:
        """The longest name whose words begin at a token."""
        words: list[tuple[str, int]] = []
        after = place
        while after < len(self._tokens) and len(words) < _MOST_WORDS:
            token = self._tokens[after]
            if token.kind != "word" or len(token.text) > _LONGEST_WORD:
                break
            after += 1
            after += after < len(self._tokens) and self._tokens[after].text == "."
            words.append((token.text, after))
        for count in range(len(words), 0, -1):
            listed = [word for word, _ in words[:count]]
            found = self._book(number, listed)
            if found is not None:
                book, is_numbered = found
                end = words[count - 1][1]
                dot = "." if self._tokens[end - 1].text == "." else ""
                doubtful = is_numbered and match_words("", listed) is not None
                return Name(book, end, " ".join(listed) + dot, doubtful)
        return None

    def _book(self, number: str, words: list[str]) -> tuple[Book, bool] | None:
        first = words[0]
        if (
            not number
            and len(words) == 1
            and first.islower()
            and (plain_word(first) in NO_NAMES_IN_LOWER_CASE)
        ):
            return None
        if not number and words == ["Nam"]:  # the Latin conjunction; USFM writes NAM
            return None
        if book := match_words(number, words):
            return book, bool(number)
        if not number and len(words) == 1 and (split := _glued(first)):
            return split, True
        return None


def _glued(word: str) -> Book | None:
    """The book of a name with a Roman number before it: `Icor`, `IIReg`."""
    for count in (3, 2, 1):
        number = ordinal(word[:count]) if set(word[:count].lower()) <= set("iv") else ""
        rest = word[count:]
        # `ire` and `ico` are words of Latin.
        shortest = 2 if word[:count].isupper() and not rest.isupper() else 3
        if number and len(rest) >= shortest and (book := match_words(number, [rest])):
            return book
    return None
