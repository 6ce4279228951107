"""Author and title of a work, from the header of its TEI file."""

from collections.abc import Sequence

_WHERE = ("titleStmt", "monogr", "sourceDesc")
_NOT_A_NAME = frozenset({"date", "idno", "note", "num"})


class HeaderReader:
    """Listens to a header for the first title and author.

    Those of the file's `titleStmt` go before those of the edition that it was made from.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], str] = {}
        self._open: tuple[str, str] | None = None
        self._depth = 0
        self._words: list[str] = []

    def begin(self, names: Sequence[str]) -> None:
        """An element begins; `names` are its own and those around it, outermost first."""
        if self._open is None and names[-1] in ("title", "author"):
            where = next((name for name in _WHERE if name in names), "")
            key = (where, names[-1])
            if where and key not in self._found:
                self._open, self._depth, self._words = key, len(names), []

    def text(self, names: Sequence[str], data: str) -> None:
        """Characters stand in the innermost of these elements."""
        if self._open is not None and not _NOT_A_NAME.intersection(names[self._depth :]):
            self._words.append(data)

    def end(self, depth: int) -> None:
        """The element at a depth, from 1, ends."""
        if self._open is not None and depth == self._depth:
            if words := " ".join("".join(self._words).split()):
                self._found[self._open] = words
            self._open = None

    def found(self, what: str) -> str:
        """The `title` or `author`, or "" where the header names none."""
        return next(
            (self._found[where, what] for where in _WHERE if (where, what) in self._found), ""
        )
