"""Paragraphs that are put together from pieces, and what a document is then."""

import re
from dataclasses import dataclass, field

from allusion_es.corpora.source_map import Labels

_LONGEST_HEADING = 80
_BLANKS = re.compile(r"[ \t\r\n\f]+")


@dataclass(frozen=True, slots=True)
class Document:
    """The words of a page or a document of a word processor.

    Attributes:
        text: Its paragraphs, a line each.
        title: What it calls itself, or "".
        author: Its author, or "".
        sections: Where its headings begin, and what they say.
    """

    text: str
    title: str = ""
    author: str = ""
    sections: Labels = field(default_factory=Labels)


class Paragraphs:
    """Puts a text together.

    Attributes:
        is_heading: Whether what is added is a heading.
        is_preformatted: Whether its blanks and line ends are kept.

    Example:
        >>> paragraphs = Paragraphs()
        >>> for piece in ("Gus", "tate  et", " videte"):
        ...     paragraphs.add(piece)
        >>> paragraphs.close()
        >>> paragraphs.document().text
        'Gustate et videte'
    """

    def __init__(self) -> None:
        """Start with none."""
        self.is_heading = False
        self.is_preformatted = False
        self._pieces: list[str] = []
        self._lines: list[str] = []
        self._size = 0
        self._starts: list[int] = []
        self._labels: list[str] = []

    def add(self, text: str) -> None:
        """Go on with the paragraph."""
        self._pieces.append(text if self.is_preformatted else _BLANKS.sub(" ", text))

    def close(self) -> None:
        """End the paragraph; one without words is left out."""
        if not self._pieces:
            return
        text = "".join(self._pieces)
        self._pieces.clear()
        text = text.strip("\n") if self.is_preformatted else _BLANKS.sub(" ", text).strip(" ")
        if not text.strip():
            return
        if self.is_heading:
            self._starts.append(self._size)
            self._labels.append(" ".join(text.split())[:_LONGEST_HEADING])
        self._lines.append(text)
        self._size += len(text) + 1

    def document(self, title: str = "", author: str = "") -> Document:
        """All paragraphs that were closed."""
        sections = Labels(self._starts, self._labels)
        return Document("\n".join(self._lines), title, author, sections)
