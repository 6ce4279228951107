"""What is gathered while a TEI file is read, each by a class of its own.

`TeiReader` tells these classes about tags and characters: `HeaderCollector` finds title and
author, `LabelCollector` counts pages, lines and sections, `ElementStack` numbers the elements
that hold text, `AnnotationCollector` keeps what the file says of its own text, and `TextBuilder`
puts the plain text together.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from allusion_es.corpora.left_out import Omission
from allusion_es.corpora.source_text import Annotation, Labels, Nodes, Runs

# Title and author

_WHERE = ("titleStmt", "monogr", "sourceDesc")
_NOT_A_NAME = frozenset({"date", "idno", "note", "num"})


class HeaderCollector:
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


# Pages, lines and sections

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


class LabelCollector:
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


# Elements


@dataclass(slots=True, eq=False)
class OpenElement:
    """An element between its start tag and its end tag.

    Attributes:
        name: Its local name, or `{…}` and its name if it is not of TEI.
        prefix: What stands before the name in its tag.
        number: Which of its parent's children of that name it is, from 1.
        byte: The first byte of its start tag.
        raw: The first character in it among all characters of the document.
        out: Whether its words are left out, for any reason.
        hidden: Whether they are left out for another reason than their language: then all that is
            in it is left out too.
        language: Its `xml:lang`, or that of the element around it.
        line: The line of the file on which its start tag begins.
        omission: What is told of its words if they are left out.
        block: Whether it begins and ends a line.
        node: Its number among `Nodes`, -1 as long as it holds no text.
        children: How many children it has had, by name.
    """

    name: str
    prefix: str
    number: int
    byte: int
    raw: int
    out: bool
    block: bool
    node: int = -1
    children: dict[str, int] | None = None
    hidden: bool = False
    language: str = ""
    line: int = 0
    omission: Omission | None = None


class ElementStack:
    """Keeps the stack of open elements, and numbers those in which text is found."""

    def __init__(self) -> None:
        self.stack: list[OpenElement] = []
        self._nodes = Nodes()

    def push(
        self, name: str, prefix: str, byte: int, raw: int, *, out: bool, block: bool
    ) -> OpenElement:
        """An element begins."""
        number = 1
        if self.stack:
            children = self.stack[-1].children
            if children is None:
                children = self.stack[-1].children = {}
            number = children[name] = children.get(name, 0) + 1
        element = OpenElement(name, prefix, number, byte, raw, out, block)
        self.stack.append(element)
        return element

    def pop(self, stop: int) -> OpenElement:
        """The innermost element ends; its end tag ends before a byte."""
        element = self.stack.pop()
        if element.node >= 0:
            self._nodes.stop[element.node] = stop
        return element

    def current(self) -> int:
        """The number of the innermost element, which holds text."""
        if self.stack[-1].node < 0:
            self._number_all()
        return self.stack[-1].node

    def _number_all(self) -> None:
        nodes, parent = self._nodes, -1
        for element in self.stack:
            if element.node < 0:
                element.node = len(nodes.name)
                nodes.name.append(element.name)
                nodes.prefix.append(element.prefix)
                values = (parent, element.number, element.byte, -1, element.raw, -1, -1)
                columns = (
                    nodes.parent, nodes.number, nodes.byte, nodes.stop, nodes.raw, nodes.start,
                    nodes.end,
                )  # fmt: skip
                for column, value in zip(columns, values, strict=True):
                    column.append(value)
                nodes.block.append(element.block)
            parent = element.node

    def path(self, namespaced: bool) -> str:
        """The path to the innermost element."""
        prefix = "tei:" if namespaced else ""
        return "".join(
            f"/{prefix}{element.name}[{element.number}]"
            for element in self.stack
            if element.name[0] != "#"
        )

    def finished(self, runs: Runs, length: int) -> Nodes:
        """The elements that hold text, with the stretch that each holds.

        Args:
            runs: Of the whole text.
            length: Its characters.
        """
        nodes = self._nodes
        for run, node in enumerate(runs.node):
            if node >= 0:
                end = runs.plain[run + 1] if run + 1 < len(runs.plain) else length
                if nodes.start[node] < 0:
                    nodes.start[node] = runs.plain[run]
                nodes.end[node] = end
        for node in range(len(nodes.name) - 1, 0, -1):
            parent = nodes.parent[node]
            if parent < 0 or nodes.start[node] < 0:
                continue
            if nodes.start[parent] < 0 or nodes.start[node] < nodes.start[parent]:
                nodes.start[parent] = nodes.start[node]
            nodes.end[parent] = max(nodes.end[parent], nodes.end[node])
        return nodes


# Annotations

_TARGETS = ("cRef", "target", "source", "corresp")
_POINTERS = frozenset({"ref", "ptr"})
_XML_ID = "xml:id"
_LONGEST_NOTE = 100_000
"""Most characters that are kept of a note: notes inside each other must not fill the memory."""


@dataclass(slots=True, eq=False)
class _OpenAnnotation:
    """An annotation whose words are not all read."""

    element: OpenElement
    target: str
    type: str
    id: str
    point: int
    xpath: str
    line: int
    parent: int
    next: str
    left_out: str
    follows: str
    out: bool
    words: list[str] | None
    length: int = 0


class AnnotationCollector:
    """Gathers annotations, ids and pointers."""

    def __init__(self) -> None:
        self._records: list[_OpenAnnotation] = []
        self._open: list[int] = []
        self._capturing: list[_OpenAnnotation] = []
        self._ids: dict[str, tuple[OpenElement, int]] = {}
        self.pointers: dict[str, int] = {}
        self.reserved: set[str] = set()

    def reserve(self, attributes: Mapping[str, str]) -> None:
        """Remember an id that a finding could be given too."""
        if (identifier := attributes.get(_XML_ID, "")).startswith("allusion"):
            self.reserved.add(identifier)

    def identify(self, element: OpenElement, attributes: Mapping[str, str], point: int) -> None:
        """Note an element's id, and what it points to."""
        if identifier := attributes.get(_XML_ID, ""):
            self._ids.setdefault(identifier, (element, point))
        if element.name in _POINTERS and attributes.get("target", "").startswith("#"):
            self.pointers.setdefault(attributes["target"][1:], point)

    def begin(
        self,
        element: OpenElement,
        attributes: Mapping[str, str],
        point: int,
        xpath: str,
        line: int,
        left_out: str = "",
        follows: str = "",
    ) -> None:
        """An annotation begins at a point of the plain text.

        Args:
            element: The element that it is.
            attributes: Its attributes.
            point: Where in the plain text it begins.
            xpath: The path to it.
            line: The line of the file.
            left_out: What is left out around it.
            follows: What is left out directly before it.
        """
        target = next((attributes[name] for name in _TARGETS if attributes.get(name)), "")
        if not target and element.name == "bibl":
            target = attributes.get("n", "")
        captured = element.out or element.name in ("app", "bibl", "note", "ref")
        record = _OpenAnnotation(
            element=element,
            target=target,
            type=attributes.get("type", ""),
            id=attributes.get(_XML_ID, ""),
            point=point,
            xpath=xpath,
            line=line,
            parent=self._open[-1] if self._open else -1,
            next=attributes.get("next", "").removeprefix("#"),
            left_out=left_out,
            follows=follows,
            out=element.out,
            words=[] if captured else None,
        )
        self._open.append(len(self._records))
        self._records.append(record)
        if captured:
            self._capturing.append(record)

    def text(self, data: str) -> None:
        """Characters stand in the annotations that are open."""
        for record in self._capturing:
            if record.words is not None and record.length < _LONGEST_NOTE:
                record.words.append(data)
                record.length += len(data)

    def end(self, element: OpenElement) -> bool:
        """An element ends; whether it was the innermost annotation."""
        if not self._open or self._records[self._open[-1]].element is not element:
            return False
        record = self._records[self._open.pop()]
        if self._capturing and self._capturing[-1] is record:
            self._capturing.pop()
        return True

    def leave_out_last(self, element: OpenElement) -> None:
        """The annotation that an element is turns out to be no words of the text."""
        for record in reversed(self._records):
            if record.element is element:
                record.out = True
                return

    def annotations(self, nodes: Nodes) -> tuple[Annotation, ...]:
        """All of them, in the order of their start tags."""
        return tuple(self._annotation(record, nodes) for record in self._records)

    def ids(self, nodes: Nodes) -> dict[str, tuple[int, int]]:
        """Where the elements with an id stand."""
        return {
            identifier: _stretch(element, point, nodes)
            for identifier, (element, point) in self._ids.items()
        }

    def _annotation(self, record: _OpenAnnotation, nodes: Nodes) -> Annotation:
        start, end = _stretch(record.element, record.point, nodes)
        if record.out:
            start = end = record.point
        words = "" if record.words is None or not record.out else "".join(record.words)
        return Annotation(
            element=record.element.name,
            start=start,
            end=end,
            text=" ".join(words.split()),
            target=record.target,
            type=record.type,
            id=record.id,
            xpath=record.xpath,
            line=record.line,
            parent=record.parent,
            next=record.next,
            left_out=record.left_out,
            follows=record.follows,
        )


def _stretch(element: OpenElement, point: int, nodes: Nodes) -> tuple[int, int]:
    node = element.node
    if node < 0 or nodes.start[node] < 0:
        return point, point
    return nodes.start[node], nodes.end[node]


# The plain text

_HYPHENS = "-\u2010\u00ac\u00ad"
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
