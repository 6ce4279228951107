"""Pages, lines and sections counted while a TEI file is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from allusion_es.corpora.source_map import Labels

_SECTIONS = frozenset({"book", "chapter", "section", "paragraph", "part", "letter", "poem"})


@dataclass(slots=True)
class _Column:
    starts: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def add(self, start: int, label: str) -> None:
        self.starts.append(start)
        self.labels.append(label)

    def cut(self, length: int) -> None:
        del self.starts[length:], self.labels[length:]


class LabelReader:
    """Counts pages (`pb`), lines (`lb`, `l`) and sections (`div`, `milestone`).

    A line is called by its `n`; one without is counted on from the line before on its page. A
    line break that no word precedes on its page begins the first line, not the second.
    """

    def __init__(self) -> None:
        self._pages, self._lines, self._sections = _Column(), _Column(), _Column()
        self._line, self._line_start = 1, 0
        self._broken = False
        self._divisions: list[str] = []

    def page(self, attributes: Mapping[str, str], place: int) -> None:
        """A `pb` at a place of the plain text."""
        self._pages.add(place, attributes.get("n", ""))
        self._line, self._line_start = 1, place
        self._lines.add(place, "1")

    def line(self, attributes: Mapping[str, str], place: int) -> None:
        """An `lb`."""
        if not self._broken:
            self._broken = True
            if self._lines.starts[:1] != [0]:
                # Before the first line break nothing told that there are lines.
                self._lines.starts.insert(0, 0)
                self._lines.labels.insert(0, "1")
        given = attributes.get("n", "")
        if given.isdecimal():
            self._line = int(given)
        elif place > self._line_start:
            self._line += 1
        self._line_start = place
        self._lines.add(place, given or str(self._line))

    def verse(self, number: str, place: int) -> None:
        """An `l` begins, or, with no number, ends."""
        self._broken = True
        self._lines.add(place, number)

    def division(self, attributes: Mapping[str, str], place: int) -> None:
        """A `div` begins."""
        number = attributes.get("n", "")
        self._divisions.append("" if ":" in number else number)
        self._sections.add(place, self._section())

    def division_end(self, place: int) -> None:
        """A `div` ends."""
        self._divisions.pop()
        self._sections.add(place, self._section())

    def milestone(self, attributes: Mapping[str, str], place: int) -> None:
        """A `milestone`; only those that number sections count."""
        if attributes.get("unit", "") in _SECTIONS and (number := attributes.get("n", "")):
            self._sections.add(place, ".".join(filter(None, [self._section(), number])))

    def _section(self) -> str:
        return ".".join(filter(None, self._divisions))

    def mark(self) -> tuple[int, int, int, int, int]:
        """Remember how far they have been counted."""
        columns = (self._pages, self._lines, self._sections)
        pages, lines, sections = (len(column.starts) for column in columns)
        return pages, lines, sections, self._line, self._line_start

    def back_to(self, mark: tuple[int, int, int, int, int]) -> None:
        """Forget what came after a mark."""
        for column, length in zip((self._pages, self._lines, self._sections), mark, strict=False):
            column.cut(length)
        self._line, self._line_start = mark[3:]

    def pages(self) -> Labels:
        """The pages."""
        return Labels(self._pages.starts, self._pages.labels)

    def lines(self) -> Labels:
        """The lines; none where the file has no line breaks."""
        return Labels(self._lines.starts, self._lines.labels) if self._broken else Labels()

    def sections(self) -> Labels:
        """The sections."""
        return Labels(self._sections.starts, self._sections.labels)
