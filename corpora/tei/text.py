"""The plain text of a TEI file in the making: blanks, line ends, words broken at them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from allusion_es.corpora.source_map import Runs

_HYPHENS = "-\u2010\u00ac\u00ad\u2e17="
_PIECE = re.compile(
    # Blanks; or words with one blank or line end between them, none of them broken by a hyphen.
    rf"([ \t\n\r]+)|[^ \t\n\r]+(?:(?: |(?<![{_HYPHENS}])\n)[^ \t\n\r]+)*"
)
_NOTHING, _WORD, _BLANK, _BREAK, _JOINT, _LINE = range(6)
_CLOSING = frozenset(".,;:!?\u2026\u00b7)]}\u2019\u201d\u00bb\u203a'\"" + _HYPHENS)
_OPENING = frozenset("([{\u201c\u2018\u201e\u201a\u00ab\u2039")


@dataclass(frozen=True, slots=True)
class TextPosition:
    """How far the plain text had come, to go back to."""

    parts: int
    last: str
    length: int
    runs: int
    size: int
    gap: tuple[int, tuple[int, int, int, int]]


class TextBuilder:
    """Puts a plain text together from the characters of a file.

    Blanks and line ends in a row become one blank; blocks are lines of their own. A word that a
    hyphen breaks before a line end is put together, and so is one around a break that does not
    break words.

    Args:
        width: Tells how many bytes a text takes up in the file.
        node: Tells the number of the element that is open.
    """

    def __init__(self, width: Callable[[str], int], node: Callable[[], int]) -> None:
        self._width = width
        self._node = node
        self._parts: list[str] = []
        self.length = 0
        self.runs = Runs()
        # What stands between the last word and the next, and where its blank is.
        self._gap = _NOTHING
        self._blank = (0, 0, 0, 0)
        # Whether the last run may go on: not after a character reference.
        self._extensible = False

    def text(
        self, data: str, pieces: Sequence[str], starts: Sequence[int], stop: int, raw: int
    ) -> None:
        """Characters of the file.

        Args:
            data: All of them.
            pieces: The same in pieces.
            starts: The first byte of each piece.
            stop: The byte after the last.
            raw: How many characters of the document are before them.
        """
        if stop - starts[0] == self._width(data):
            self._regular(data, starts[0], raw)
            return
        for piece, start, end in zip(pieces, starts, (*starts[1:], stop), strict=True):
            if end - start == self._width(piece):
                self._regular(piece, start, raw)
            elif piece in " \t\n\r":
                self._space(piece, start, end - start, raw)
            else:
                self._words(piece, start, end - start, raw)
            raw += len(piece)

    def _regular(self, data: str, byte: int, raw: int) -> None:
        """Characters that all stand in the file as they are."""
        place = 0
        for match in _PIECE.finditer(data):
            piece = match[0]
            size = self._width(piece)
            if match[1]:
                self._space(piece, byte, size, raw + place)
            else:
                self._words(piece.replace("\n", " "), byte, size, raw + place)
            byte, place = byte + size, match.end()

    def line(self) -> None:
        """A block begins or ends."""
        if self.length:
            self._gap = _LINE

    def word_border(self) -> None:
        """Markup stands here that words do not go over: a blank, but for punctuation."""
        if self.length and self._gap == _NOTHING:
            self._gap = _WORD

    def word_goes_on(self) -> None:
        """What comes next goes on with the word before, over any blank or line end."""
        if self.length:
            self._gap = _JOINT

    def break_off(self) -> None:
        """A break that was within a word turns out to be at its end."""
        if self._gap == _JOINT:
            self._gap = _BREAK

    @property
    def position(self) -> tuple[int, int]:
        """How far the text has come, and what stands between its last word and the next."""
        return self.length, self._gap

    def line_break(self, joins: bool) -> None:
        """A break of line or page stands here, within a word if it `joins`."""
        if self.length and self._gap != _LINE:
            self._gap = _JOINT if joins or self._gap == _JOINT else _BREAK

    def mark(self) -> TextPosition:
        """Remember how far the text has come."""
        last = self._parts[-1] if self._parts else ""
        size = self.runs.size[-1] if self.runs.size else 0
        gap = (self._gap, self._blank)
        return TextPosition(len(self._parts), last, self.length, len(self.runs.plain), size, gap)

    def back_to(self, mark: TextPosition) -> None:
        """Forget what came after a mark."""
        del self._parts[mark.parts :]
        for column in self.runs.columns():
            del column[mark.runs :]
        if mark.parts:
            self._parts[-1] = mark.last
            self.runs.size[-1] = mark.size
        self.length = mark.length
        self._gap, self._blank = mark.gap
        self._extensible = False

    def since(self, mark: TextPosition) -> str:
        """The text after a mark."""
        return "".join(self._parts[mark.parts :])

    def finished(self) -> str:
        """The whole text."""
        text = "".join(self._parts)
        self._parts.clear()
        return text

    def _space(self, data: str, byte: int, size: int, raw: int) -> None:
        if not self.length or self._gap in (_JOINT, _LINE):
            return
        broken = "\n" in data
        if self._gap <= _WORD:
            self._blank = (byte, size if len(data) == 1 else self._width(" "), raw, self._node())
        self._gap = max(self._gap, _BREAK if broken else _BLANK)

    def _words(self, data: str, byte: int, size: int, raw: int) -> None:
        gap, self._gap = self._gap, _NOTHING
        joined = gap in (_BREAK, _JOINT) and data[0].isalpha() and self._drop_hyphen()
        if gap == _LINE:
            self._append("\n", byte, 0, raw, -1)
        elif gap in (_BLANK, _BREAK) and not joined:
            if self._blank[1]:
                self._append(" ", *self._blank)
            else:
                self._append(" ", byte, 0, raw, -1)
        elif gap == _WORD and self._are_apart(data):
            self._append(" ", byte, 0, raw, -1)
        self._blank = (0, 0, 0, 0)
        self._append(data, byte, size, raw, self._node())

    def _are_apart(self, following: str) -> bool:
        """Whether a blank belongs between the text and what follows: not beside punctuation."""
        before = next(filter(None, reversed(self._parts)), "")
        return following[0] not in _CLOSING and before[-1:] not in _OPENING

    def _drop_hyphen(self) -> bool:
        """Take away the hyphen that ends the text, if a letter is before it."""
        last = self._parts[-1]
        before = last[-2:-1] or "".join(self._parts[-2:-1])[-1:]
        if not last or last[-1] not in _HYPHENS or not before.isalpha():
            return False
        self._parts[-1] = last[:-1]
        self.length -= 1
        # A run may stay behind without characters; the next one starts at the same place.
        alone = self.runs.plain[-1] == self.length
        self.runs.size[-1] = 0 if alone else self.runs.size[-1] - self._width(last[-1])
        self._extensible = False
        return True

    def _append(self, data: str, byte: int, size: int, raw: int, node: int) -> None:
        runs, regular = self.runs, size == self._width(data)
        if (
            regular
            and self._extensible
            and runs.node[-1] == node
            and runs.byte[-1] + runs.size[-1] == byte
        ):
            runs.size[-1] += size
        else:
            new = (self.length, byte, size, raw, node)
            for column, value in zip(runs.columns(), new, strict=True):
                column.append(value)
            self._extensible = regular
        self._parts.append(data)
        self.length += len(data)
