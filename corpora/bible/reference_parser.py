"""Reading verse references as people write them.

A text is cut into tokens and read from left to right. Where a book's name stands, its numbers
are read as far as they go (`_reference_numbers`). What comes out are pieces: references that
were read, references that were refused, each with the reason, and words that are neither. A
list of references (`references.parse_references`) is read only if all of it is; a note may hold
other words too (`references.find_references`). Both see the same pieces, so that the same text
is read in the same way everywhere.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from allusion_es.core.errors import VerseError
from allusion_es.corpora.bible.books import BOOKS, book_by_osis, find_book, match_words, plain_word
from allusion_es.corpora.bible.reference_names import NameFinder
from allusion_es.corpora.bible.reference_numbers import Reference, Run, read_run
from allusion_es.corpora.bible.reference_tokens import Token, numeral, tokenise
from allusion_es.corpora.bible.reference_words import (
    AND,
    BEFORE,
    CONFER,
    ENGLISH,
    FOLLOWING,
    HEBREW,
    PAGE,
    PARALLELS,
    SAME,
    SEPTUAGINT,
    TEXTS,
    VULGATE,
)

# References in addresses: CTS URNs, links, OSIS ids behind a scheme, parts of file names.


_ADDRESS = re.compile(r"[^\s:/#?=@]*[:/#?=@]\S*|#\S+", re.ASCII)
_CTS = re.compile(r"urn:cts:([^:\s]+):([^:\s]+):([^:\s@]+)(?:@\S*)?", re.IGNORECASE)
_TAIL = re.compile(r"[:/#=?&]")
_SCHEME = re.compile(r"[^\W\d]+[:/#=]")
# `sap7_26`, `Icor13_12`, `1_Cor_13_12`: the way of file names, in which blanks cannot stand.
_NAMED = re.compile(
    r"((?:[1-4]_?)?[A-Za-z]{2,20})[_.]?(\d{1,3})_(\d{1,3})(?:-(\d{1,3}(?:_\d{1,3})?))?"
)
_PATH = re.compile(
    r"(?:^|.*/)(?:[^/]*(?:bib|vulg|script)[^/]*/)(?:[^/]+/)*?((?:[1-4][_-]?)?[A-Za-z]{2,20})/"
    r"(\d{1,3})/(\d{1,3}(?:-\d{1,3})?)/?",
    re.IGNORECASE,
)
# OSIS names the edition before the verse: `Bible.KJV:Ps.34.8`.
_EDITION = re.compile(
    rf"(?:bible[.\-_])?(?:[a-z]{{2,3}}[.\-_])?({'|'.join(sorted(ENGLISH | HEBREW - {'h'}))})"
    r"(?:[.\-_]\w+)*[:/](.+)",
    re.IGNORECASE,
)
_NEUTRAL = re.compile(
    r"(?:vulgat[ae]|vulg?|vg|biblia|bible|bibl?|ot|nt|vt|at|stoa\w*|phi\d\w*|clem\w*|"
    r"\w*-?(?:lat|eng|deu|fra|ita|ed)\d*)",
    re.IGNORECASE,
)
# The works of the New Testament in the Thesaurus Linguae Graecae have its order.
_NEW_TESTAMENT = tuple(book.osis for book in BOOKS if book.testament == "nt")
_NO_FILE_NAMES = frozenset({"ep", "la", "le", "si", "ne", "no", "nr", "fig", "pag", "vol"})
"""Words of file names (`ep5_3`) that would be books' names: letters, articles, numbers."""


def is_address(text: str) -> bool:
    """Whether a text may be an address: one word, with a mark of addresses after a word."""
    return _ADDRESS.fullmatch(text) is not None


def readings(address: str) -> list[str]:
    """Texts of an address that may be references, the longest first.

    A CTS URN has one reading or none. The part after `@` in other addresses says where in the
    verse, and is left out.

    Example:
        >>> readings("https://example.org/bib/sap7_26@1-15")[-1]
        'sap 7:26'
        >>> readings("urn:cts:greekLit:tlg0031.tlg004:3.16")
        ['John 3:16']
    """
    plain = unquote(address)
    if match := _CTS.fullmatch(plain):
        return _of_urn(match[2], match[3])
    plain = re.sub(r"@[\d\-.,:\w]*$", "", plain)
    if match := _PATH.fullmatch(plain):
        return [f"{match[1].replace('_', ' ').replace('-', ' ')} {match[2]}:{match[3]}"]
    if match := _EDITION.fullmatch(plain):
        # The name of the text goes along, since it may count its verses otherwise.
        return [f"{reading} ({match[1].upper()})" for reading in _of_tail(match[2])]
    tails = [plain[match.end() :] for match in _TAIL.finditer(plain)]
    tails = [tail for tail in tails if not _SCHEME.match(tail)]
    return [reading for tail in tails for reading in _of_tail(tail)]


def _of_tail(tail: str) -> list[str]:
    named = _NAMED.fullmatch(tail)
    if named:
        name = named[1].replace("_", " ")
        if plain_word(name) in _NO_FILE_NAMES:
            return []
        last = f"-{named[4].replace('_', ':')}" if named[4] else ""
        # A name in small letters is one here, though it is a word elsewhere (`is7_14`).
        name = name if len(name) > 2 and plain_word(name) not in ("col", "act") else name.title()
        return [f"{name} {named[2]}:{named[3]}{last}"]
    words = re.sub(r"(?<=\d)_(?=\d)", ":", tail).replace("_", " ")
    return [words] if words else []


def _of_urn(work: str, passage: str) -> list[str]:
    parts = [part for part in work.split(".") if part]
    passage = passage.replace(".", ":") if re.fullmatch(r"[\d.\-]+", passage) else passage
    if not passage[:1].isdecimal():
        return [passage.replace("_", " ")] if all(map(_is_neutral, parts)) else []
    if re.fullmatch(r"\d+:\d+(?:-(?:\d+:)?\d+)?", passage) is None:
        return []
    if parts[0] == "tlg0031" and len(parts) > 1 and re.fullmatch(r"tlg0[0-2]\d", parts[1]):
        number = int(parts[1][3:])
        return [f"{_NEW_TESTAMENT[number - 1]} {passage}"] if 1 <= number <= 27 else []
    if parts[:2] == ["tlg0527", "tlg027"]:
        return [f"Ps {passage}"]  # other books of the Septuagint count their verses otherwise
    books = [part for part in parts if not _is_neutral(part)]
    if len(books) != 1 or (match := re.fullmatch(r"([1-4]?)([^\W\d]+)", books[0])) is None:
        return []
    book = match_words(match[1], [match[2]])
    return [f"{book.osis} {passage}"] if book else []


def _is_neutral(part: str) -> bool:
    return _NEUTRAL.fullmatch(part) is not None


__all__ = ["Piece", "Reference", "read_pieces", "read_references", "reference_in_address"]

_LONGEST_TEXT = 2000
_HELP = "write, for example, 'Ps 22,1-3', 'Ps.22.1' or '1 Reg 2,3'"
# Marks that begin anew: no author before them has to do with the book after them.
_PARTING = frozenset(";()[]{}|/=†‡•‖∥")
_HARMLESS = frozenset(".,:;()[]{}|/=†‡•‖∥*\"'“”„«»‹›<>\u2018\u2019&+_")
_NO_LINES = frozenset({*PAGE, "l", "lib", "fol", "f", "col", "vol", "tom", "t", "no", "num"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A reference in a text, or what may be one and cannot be read.

    Attributes:
        written: The words of the text.
        references: What they refer to; empty where they were refused.
        reason: Why they were refused, or "".
        start: Its first character in the text.
        end: The character after its last.
        confer: Whether `cf.` or the like stands before it.
        line: The number of the printed line that stands before it, or 0.
    """

    written: str
    references: tuple[Reference, ...]
    reason: str = ""
    start: int = 0
    end: int = 0
    confer: bool = False
    line: int = 0


def read_references(text: str) -> tuple[Reference, ...]:
    """The references that `text` lists; see `references.parse_references`."""
    if len(text) > _LONGEST_TEXT:
        raise VerseError(f"{text[:30]!r}… is too long for a list of verses; give fewer at once")
    words = text.split()
    if not any(map(is_address, words)):
        return _list_of_references(text)
    try:
        return _list_of_references(text)  # `Mt 5,3/Lc 6,20`
    except VerseError as error:
        if not all(map(is_address, words)):
            raise
        found = [read_address(word) for word in words]
        if not all(found):
            raise error from None
        return tuple(reference for each in found for reference in each)


def read_address(word: str) -> tuple[Reference, ...]:
    """The references of an address or a name such as `sap7_26`; empty where it has none."""
    reading = reference_in_address(word)
    return _list_of_references(reading) if reading else ()


def reference_in_address(word: str) -> str:
    """The reference in an address, as one writes it (`Sap 7:26`), or ""."""
    for reading in readings(word) if is_address(word) else ():
        try:
            found = _list_of_references(reading)
        except VerseError:
            continue
        if all(reference.verse for reference in found):
            return reading
    return ""


def _list_of_references(text: str) -> tuple[Reference, ...]:
    scan = _Scan(text)
    pieces = list(scan.pieces())
    if not pieces and scan.bare:
        if scan.alone:
            return (Reference(scan.bare[0]),)
        raise _refused(text, f"{scan.bare[1]!r} names a whole book in a longer text")
    for piece in pieces:
        if piece.reason:
            raise _refused(text, piece.reason)
    if not pieces:
        raise _no_book(text, scan.tokens)
    if scan.strange:
        token = scan.strange[0]
        raise VerseError(f"{token.text[:40]!r} in {text[:80]!r} is no number or book; {_HELP}")
    if scan.bare:
        raise _refused(text, f"{scan.bare[1]!r} names a whole book in a longer text")
    return tuple(reference for piece in pieces for reference in piece.references)


def read_pieces(text: str, book: str = "") -> list[Piece]:
    """The references in a note; see `references.find_references`."""
    return list(_Scan(text, book).pieces())


class _Scan:
    """Reads a text once, from left to right.

    Attributes:
        tokens: Of the text.
        strange: Tokens that belong to no reference and are not usual around one.
        bare: OSIS code and words of a book's name without numbers, the first one.
        alone: Whether the text is nothing but that name.
    """

    def __init__(self, text: str, book: str = "") -> None:
        self.text = text
        self.tokens = tokenise(text)
        self.names = NameFinder(self.tokens)
        self.strange: list[Token] = []
        self.bare: tuple[str, str] | None = None
        self.alone = False
        self._book = book
        self._marked = self._has_line_marks()

    def pieces(self) -> Iterator[Piece]:
        """The references and the refused parts in order; attributes are final after the last."""
        tokens, place = self.tokens, 0
        self._taint, self._confer, self._line, self._letter = "", False, 0, ""
        self._verse_before = False
        while place < len(tokens):
            if self._is_mark_of_line(place):
                place = self._take_line(place)
                continue
            name = self.names.at(place)
            if name is None:
                if (same := self._same_book(place)) is not None:
                    run = read_run(tokens, self.names, same, place, book_by_osis(self._book), "")
                    if run.references or run.reason:
                        yield from self._read(place, run)
                        place = run.end
                        continue
                if self._is_left_over(place):
                    reason = f"{tokens[place].text[:20]!r} after it is read in no way"
                    yield self._piece(place, place + 1, reason)
                    self._verse_before = False
                    place += 1
                    continue
                place = self._pass(place)
                continue
            if name.unknown:
                end = self._after_numbers(name.end)
                yield self._piece(place, end, f"{self._slice(place, name.end)!r} is no book here")
                self._taint, place = "", end
                continue
            run = read_run(tokens, self.names, name.end, place, name.book, name.written)
            if not run.references and not run.reason:
                self.bare = self.bare or (name.book.osis, self._slice(place, name.end))
                self.alone = not self.strange and self._only_marks(name.end)
                if self._verse_before and self._only_marks(name.end):
                    yield self._piece(place, name.end, "it names a whole book in a longer text")
                self._taint, self._confer, self._verse_before = name.written, False, False
                place = name.end
                continue
            if self._taint or (doubt := self._doubtful(place, name.doubtful)):
                end = max(run.end, name.end)
                reason = (
                    f"{self._taint!r} before it may be an author or a title"
                    if self._taint
                    else doubt
                )
                yield self._piece(place, end, reason)
                self._taint, self._verse_before = "", False
                place = self._after_numbers(end)
                continue
            self._book = name.book.osis
            yield from self._read(place, run)
            if not run.references and not self._has_figures(name.end, run.end):
                # `Hier. c. Ioh. 3, 4`: the name may be that of an author.
                self._taint = name.written
            place = run.end

    def _read(self, place: int, run: Run) -> Iterator[Piece]:
        """The pieces of a book and its numbers: what was read, and the rest that was refused."""
        if run.references:
            yield self._piece(place, run.good, "", run.references)
        if run.reason:
            start = run.good if run.references else place
            yield self._piece(start, run.end, run.reason)
        self._taint = ""
        self._verse_before = not run.reason
        self._run_end = run.end

    def _piece(
        self, start: int, end: int, reason: str, references: tuple[Reference, ...] = ()
    ) -> Piece:
        first, last = self.tokens[start].start, self.tokens[end - 1].end
        written = self.text[first:last]
        # The dot that ends a sentence is none of the reference's.
        cut = written.rstrip(" \t\n.,;:") or written
        return Piece(cut, references, reason, first, first + len(cut), self._confer, self._line)

    def _has_figures(self, start: int, end: int) -> bool:
        return any(token.kind == "number" for token in self.tokens[start:end])

    def _slice(self, start: int, end: int) -> str:
        return self.text[self.tokens[start].start : self.tokens[end - 1].end][:60]

    def _only_marks(self, place: int) -> bool:
        return all(token.text in _HARMLESS for token in self.tokens[place:])

    # What stands between references.

    def _pass(self, place: int) -> int:
        """Go over a token that begins no reference, and note what it means for the next."""
        token = self.tokens[place]
        word = plain_word(token.text) if token.kind == "word" else ""
        before_verse, self._verse_before = self._verse_before, False
        if token.kind == "mark":
            if token.text in _PARTING:
                self._taint = ""
            if token.text not in _HARMLESS:
                self.strange.append(token)
            # A mark between two references keeps `cf.`; so does the line.
            self._verse_before = before_verse
        elif token.kind == "number":
            self._taint = ""
            if not self._is_page_or_year(place):
                self.strange.append(token)
                self._confer, self._line = False, 0
        elif self._is_letter(place):
            self._confer, self._taint, self._letter = False, "", token.text
        elif word in CONFER or (word in ("u", "v", "s") and self._before_book(place + 1)):
            self._confer, self._taint = True, ""
        elif word in AND or word in SAME:
            self._confer, self._line, self._taint = False, 0, ""
            self._verse_before = before_verse and word in AND
        elif before_verse and (word in PARALLELS or word in TEXTS):
            self._taint = ""
        elif word in VULGATE | SEPTUAGINT and self._before_book(place + 1):
            pass
        elif word in BEFORE and self._before_book(place + 1):
            self._confer, self._line, self._taint = False, 0, ""
        elif word in PAGE and self._next_is_number(place + 1):
            self._taint = ""
        else:
            self.strange.append(token)
            self._confer, self._line, self._taint = False, 0, token.text[:40]
        return place + 1

    def _is_letter(self, place: int) -> bool:
        """Whether a letter numbers references, as in Sources Chrétiennes: `a. Gn 1, 26 b. Ps`.

        Those that begin words of titles (`c.` is `contra`) begin no such list. One letter may be
        missing, since `26 b` is half a verse.
        """
        letter = self._text(place)
        if not re.fullmatch("[a-z]", letter) or self._text(place + 1) not in (".", ")"):
            return False
        if self._letter:
            usual = 0 < ord(letter) - ord(self._letter) <= 2
        else:
            usual = place == 0 and letter in "abdefgik"
        return usual and self._before_book(place + 2)

    def _before_book(self, place: int) -> bool:
        """Whether a book's name comes next, after dots, marks and words of sending."""
        tokens = self.tokens
        while place < len(tokens) and (
            tokens[place].text in ".:," or plain_word(tokens[place].text) in CONFER | AND | BEFORE
        ):
            if self.names.at(place) is not None:
                return True
            place += 1
        return place < len(tokens) and (
            self.names.at(place) is not None or tokens[place].text in "([\"'“„«"
        )

    def _next_is_number(self, place: int) -> bool:
        place += place < len(self.tokens) and self.tokens[place].text == "."
        return place < len(self.tokens) and self.tokens[place].kind == "number"

    def _is_page_or_year(self, place: int) -> bool:
        """Whether a number is that of a page (`p. 25`), or a year in brackets."""
        before = [token.text for token in self.tokens[max(0, place - 2) : place]]
        if before and before[-1] == ".":
            before.pop()
        if before and plain_word(before[-1]) in PAGE:
            return True
        number = self.tokens[place].text
        brackets = self._text(place - 1), self._text(place + 1)
        return len(number) == 4 and brackets in (("(", ")"), ("[", "]"))

    def _text(self, place: int) -> str:
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def _is_left_over(self, place: int) -> bool:
        """Whether a number or `sqq.` follows a verse and yet was not read with it."""
        token = self.tokens[place]
        is_number = token.kind == "number" and not self._is_page_or_year(place)
        is_following = plain_word(token.text) in FOLLOWING and token.text.islower()
        return self._verse_before and (
            is_number or (is_following and not self._before_book(place + 1))
        )

    def _same_book(self, place: int) -> int | None:
        """The first token of the numbers after `ibid.`, if that word is here and means a book."""
        if not self._book or plain_word(self.tokens[place].text) not in SAME:
            return None
        place += 1
        while self._text(place) in (".", ","):
            place += 1
        return place

    # Numbers of printed lines.

    def _is_mark_of_line(self, place: int) -> bool:
        """Whether a number is that of a line or a note: `9] Ps. 18, 2`, `9 Ps. 18, 2`."""
        token = self.tokens[place]
        if token.kind != "number":
            return False
        if self._text(place + 1) in ("]", ")") and self._text(place - 1) not in ("(", "["):
            return True
        if self._text(place + 1) in ("]", ")"):
            return len(token.text) < 4 and self._before_book(place + 2)
        if token.glued and place:
            return False
        name = self.names.at(place)
        if name is not None and not name.doubtful:
            return False
        if name is not None:  # `3 Io. 1, 10`: the third epistle, or line 3
            return False
        before = plain_word(self._text(place - 1).strip(".") or self._text(place - 2))
        if before in _NO_LINES or (self._text(place - 1) == "." and self._loose(place)):
            return False
        after = place + 1
        while self._text(after) and plain_word(self._text(after)) in CONFER | {"u", "v"}:
            after += 1
            after += self._text(after) == "."
        following = self.names.at(after) if after < len(self.tokens) else None
        return following is not None and not following.unknown

    def _loose(self, place: int) -> bool:
        """Whether the number may be a verse of the reference before it (`Ps. 18, 2. 10 Io.`)."""
        return self._verse_before and not self._marked

    def _take_line(self, place: int) -> int:
        self._line = int(self.tokens[place].text[:6])
        self._confer, self._taint, self._verse_before = False, "", False
        return place + 1 + (self._text(place + 1) in ("]", ")"))

    def _has_line_marks(self) -> bool:
        """Whether the text begins with the number of a line."""
        self._verse_before = False
        return bool(self.tokens) and self._is_mark_of_line(0)

    def _doubtful(self, place: int, doubtful: bool) -> str:
        """Why a number before a book may be something else than the book's, or ""."""
        if not doubtful or self.tokens[place].kind != "number":
            return ""
        number = self.tokens[place].text
        if self._marked:
            return f"{number} may be the number of the book or of a line"
        if place and self.tokens[place - 1].kind == "number" and not self._verse_before:
            return f"{number} may be the number of the book or belong to what is before it"
        return ""

    def _after_numbers(self, place: int) -> int:
        """The token after the numbers of a work that is no book of the Bible."""
        tokens = self.tokens
        while place < len(tokens):
            token = tokens[place]
            if self.names.at(place) is not None or token.text in _PARTING:
                break
            if token.kind == "word" and numeral(tokens, place) is None:
                break
            place += 1
        return place


def _refused(text: str, reason: str) -> VerseError:
    return VerseError(f"{text[:80]!r} cannot be read as a verse reference: {reason}; {_HELP}")


def _no_book(text: str, tokens: list[Token]) -> VerseError:
    if not tokens:
        return VerseError(f"there is no verse reference; {_HELP}")
    words = [token.text for token in tokens[:9] if token.kind != "mark"]
    count = next((n for n, word in enumerate(words) if n and word.isdecimal()), len(words))
    try:
        find_book(" ".join(words[:count]))
    except VerseError as error:
        return VerseError(f"{text[:80]!r} names no book: {error}")
    return VerseError(f"{text[:80]!r} cannot be read as a verse reference; {_HELP}")
