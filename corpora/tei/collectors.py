"""Collectors of the parts of a TEI file that is being read, one class for each.

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

# Elements of the header that name the work, the most reliable first.
_WHERE = ("titleStmt", "monogr", "sourceDesc")
_NOT_A_NAME = frozenset({"date", "idno", "note", "num"})


class HeaderCollector:
    """Finds the first title and author in a TEI header.

    The file's `titleStmt` takes precedence over the description of the printed edition.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], str] = {}
        self._open: tuple[str, str] | None = None
        self._depth = 0
        self._words: list[str] = []

    def begin(self, names: Sequence[str]) -> None:
        """Take a start tag; `names` are the element and those around it, outermost first."""
        if self._open is None and names[-1] in ("title", "author"):
            where = next((name for name in _WHERE if name in names), "")
            key = (where, names[-1])
            if where and key not in self._found:
                self._open, self._depth, self._words = key, len(names), []

    def text(self, names: Sequence[str], data: str) -> None:
        """Take characters of the innermost of these elements."""
        if self._open is not None and not _NOT_A_NAME.intersection(names[self._depth :]):
            self._words.append(data)

    def end(self, depth: int) -> None:
        """Take the end tag of the element at a depth, counted from 1."""
        if self._open is not None and depth == self._depth:
            if words := " ".join("".join(self._words).split()):
                self._found[self._open] = words
            self._open = None

    def found(self, what: str) -> str:
        """Return the `title` or `author`, or "" if the header names none."""
        return next(
            (self._found[where, what] for where in _WHERE if (where, what) in self._found), ""
        )


# Pages, lines and sections

SECTIONS = ("book", "part", "letter", "poem", "chapter", "section", "paragraph")
"""The units of milestones that number sections, from the outermost inwards."""


@dataclass(slots=True)
class _Column:
    """Labels and the offsets at which they begin."""

    starts: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def add(self, start: int, label: str) -> None:
        self.starts.append(start)
        self.labels.append(label)

    def cut(self, length: int) -> None:
        del self.starts[length:], self.labels[length:]


class LabelCollector:
    """Counts pages (`pb`), lines (`lb`, `l`) and sections (`div`, `milestone`).

    A line has the number in its `n`; without one, it is one more than the line before on its page.
    A line break before the first word of a page begins line 1, not line 2.
    """

    def __init__(self) -> None:
        self._pages, self._lines, self._sections = _Column(), _Column(), _Column()
        self._line, self._line_start = 1, 0
        self._broken = False
        self._divisions: list[str] = []

    def page(self, attributes: Mapping[str, str], place: int) -> None:
        """Begin a page (`pb`) at an offset of the plain text; its lines are counted from 1."""
        self._pages.add(place, attributes.get("n", ""))
        self._line, self._line_start = 1, place
        self._lines.add(place, "1")

    def line(self, attributes: Mapping[str, str], place: int) -> None:
        """Begin a line (`lb`)."""
        if not self._broken:
            self._broken = True
            if self._lines.starts[:1] != [0]:
                # The text before the first `lb` is line 1; until now nothing showed that lines
                # are marked at all.
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
        """Begin a verse line (`l`), or end it where the number is ""."""
        self._broken = True
        self._lines.add(place, number)

    def division(self, attributes: Mapping[str, str], place: int) -> None:
        """Begin a `div`; an `n` with a colon is an identifier (a URN), not a number."""
        number = attributes.get("n", "")
        self._divisions.append("" if ":" in number else number)
        self._sections.add(place, self._section())

    def division_end(self, place: int) -> None:
        """End a `div`; the section around it continues."""
        self._divisions.pop()
        self._sections.add(place, self._section())

    def milestone(self, attributes: Mapping[str, str], place: int) -> None:
        """Begin the section that a `milestone` numbers; other milestones are ignored."""
        if attributes.get("unit", "") in SECTIONS and (number := attributes.get("n", "")):
            self._sections.add(place, ".".join(filter(None, [self._section(), number])))

    def _section(self) -> str:
        return ".".join(filter(None, self._divisions))

    def mark(self) -> tuple[int, int, int, int, int]:
        """Return the state of the counts, for `back_to`."""
        columns = (self._pages, self._lines, self._sections)
        pages, lines, sections = (len(column.starts) for column in columns)
        return pages, lines, sections, self._line, self._line_start

    def back_to(self, mark: tuple[int, int, int, int, int]) -> None:
        """Return to a state, forgetting what was counted since."""
        for column, length in zip((self._pages, self._lines, self._sections), mark, strict=False):
            column.cut(length)
        self._line, self._line_start = mark[3:]

    def pages(self) -> Labels:
        """Return the labels of the pages."""
        return Labels(self._pages.starts, self._pages.labels)

    def lines(self) -> Labels:
        """Return the labels of the lines; none if the file marks no lines."""
        return Labels(self._lines.starts, self._lines.labels) if self._broken else Labels()

    def sections(self) -> Labels:
        """Return the labels of the sections."""
        return Labels(self._sections.starts, self._sections.labels)


# Elements


@dataclass(slots=True, eq=False)
class OpenElement:
    """An element between its start tag and its end tag.

    Attributes:
        name: Its local name, with `{}` before it if it is not of TEI.
        prefix: The prefix of its name in the tag, with a colon, or "".
        number: Which of its parent's children of that name it is, from 1.
        byte: The first byte of its start tag.
        raw: The first character in it among all characters of the document.
        out: Whether its words are left out, for any reason.
        hidden: Whether they are left out for another reason than their language. Then everything
            inside is left out too, whereas Latin inside a foreign element is read.
        language: Its `xml:lang`, or that of the element around it.
        line: The line of the file on which its start tag begins.
        omission: The record of its words if they are left out.
        block: Whether it begins and ends a line.
        node: Its row in `Nodes`, or -1 as long as it holds no text.
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
    """Keeps the stack of open elements, and gives those that hold text a row in `Nodes`."""

    def __init__(self) -> None:
        self.stack: list[OpenElement] = []
        self._nodes = Nodes()

    def push(
        self, name: str, prefix: str, byte: int, raw: int, *, out: bool, block: bool
    ) -> OpenElement:
        """Push an element at its start tag."""
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
        """Pop the innermost element, whose end tag ends before the byte `stop`."""
        element = self.stack.pop()
        if element.node >= 0:
            self._nodes.stop[element.node] = stop
        return element

    def current(self) -> int:
        """Return the row of the innermost element, giving one to it and to those around it."""
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
        """Return the path to the innermost element."""
        prefix = "tei:" if namespaced else ""
        return "".join(
            f"/{prefix}{element.name}[{element.number}]"
            for element in self.stack
            if element.name[0] != "#"
        )

    def finished(self, runs: Runs, length: int) -> Nodes:
        """Return the elements that hold text, with the stretch of text of each.

        Args:
            runs: The runs of the whole text.
            length: Its length in characters.
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
"""Most characters that are kept of a note. Notes may stand inside notes, and each keeps the words
of those inside it: without a limit a hostile file would fill the memory."""


@dataclass(slots=True, eq=False)
class _OpenAnnotation:
    """An annotation whose end tag has not been read yet."""

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
    """Collects annotations, ids and pointers."""

    def __init__(self) -> None:
        self._records: list[_OpenAnnotation] = []
        self._open: list[int] = []
        self._capturing: list[_OpenAnnotation] = []
        self._ids: dict[str, tuple[OpenElement, int]] = {}
        self.pointers: dict[str, int] = {}
        self.reserved: set[str] = set()

    def reserve(self, attributes: Mapping[str, str]) -> None:
        """Remember an id that might also be given to a finding."""
        if (identifier := attributes.get(_XML_ID, "")).startswith("allusion"):
            self.reserved.add(identifier)

    def identify(self, element: OpenElement, attributes: Mapping[str, str], point: int) -> None:
        """Remember an element's id, and the id that it points to."""
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
        """Begin an annotation.

        Args:
            element: The element that annotates.
            attributes: Its attributes.
            point: The offset in the plain text at which it begins.
            xpath: The path to it.
            line: The line of the file.
            left_out: The name of the omission around it, or "".
            follows: The name of the omission directly before it, or "".
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
        """Add characters to all open annotations whose words are kept."""
        for record in self._capturing:
            if record.words is not None and record.length < _LONGEST_NOTE:
                record.words.append(data)
                record.length += len(data)

    def end(self, element: OpenElement) -> bool:
        """Take an end tag; return whether the element was the innermost annotation."""
        if not self._open or self._records[self._open[-1]].element is not element:
            return False
        record = self._records[self._open.pop()]
        if self._capturing and self._capturing[-1] is record:
            self._capturing.pop()
        return True

    def leave_out_last(self, element: OpenElement) -> None:
        """Mark an element's annotation as left out: its words turn out not to be the text's."""
        for record in reversed(self._records):
            if record.element is element:
                record.out = True
                return

    def finished(self, nodes: Nodes) -> tuple[Annotation, ...]:
        """Return all annotations in the order of their start tags."""
        return tuple(self._annotation(record, nodes) for record in self._records)

    def ids(self, nodes: Nodes) -> dict[str, tuple[int, int]]:
        """Return start and end of each element with an id, in characters of the plain text."""
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

_HYPHENS = "-\u2010\u00ac\u00ad\u2e17="
_PIECE = re.compile(
    # Blanks; or words with one blank or line end between them, none of them broken by a hyphen.
    rf"([ \t\n\r]+)|[^ \t\n\r]+(?:(?: |(?<![{_HYPHENS}])\n)[^ \t\n\r]+)*"
)
# The gap between the last word and the next, the stronger the higher: nothing, a border of words
# without a blank, a blank, a line end, a break within a word, the end of a block.
_NOTHING, _WORD, _BLANK, _BREAK, _JOINT, _LINE = range(6)
_CLOSING = frozenset(".,;:!?\u2026\u00b7)]}\u2019\u201d\u00bb\u203a'\"" + _HYPHENS)
_OPENING = frozenset("([{\u201c\u2018\u201e\u201a\u00ab\u2039")


@dataclass(frozen=True, slots=True)
class TextPosition:
    """A state of a `TextBuilder`, to which it can return."""

    parts: int
    last: str
    length: int
    runs: int
    size: int
    gap: tuple[int, tuple[int, int, int, int]]


class TextBuilder:
    """Builds the plain text and its runs from the characters of a file.

    Blanks and line ends in a row become one blank; blocks are lines of their own. A word that a
    hyphen breaks before a line end is joined, and so is a word around a break within it
    (`break="no"`).

    Args:
        width: Returns the number of bytes of a text in the file's encoding.
        node: Returns the row of the innermost open element.
    """

    def __init__(self, width: Callable[[str], int], node: Callable[[], int]) -> None:
        self._width = width
        self._node = node
        self._parts: list[str] = []
        self.length = 0
        self.runs = Runs()
        # The gap after the last word, and byte, size, raw offset and node of its blank.
        self._gap = _NOTHING
        self._blank = (0, 0, 0, 0)
        # Whether the last run may be continued: not after a character reference, whose bytes are
        # more than its characters.
        self._extensible = False

    def text(
        self, data: str, pieces: Sequence[str], starts: Sequence[int], stop: int, raw: int
    ) -> None:
        """Add characters of the file.

        Args:
            data: The characters.
            pieces: The same characters in the pieces that the parser reported.
            starts: The first byte of each piece.
            stop: The byte after the last piece.
            raw: The number of characters of the document before them.
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
        """Add characters that stand in the file as themselves, not as references."""
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
        """Begin a new line, since a block begins or ends."""
        if self.length:
            self._gap = _LINE

    def word_border(self) -> None:
        """End a word at markup: a blank follows, unless punctuation does."""
        if self.length and self._gap == _NOTHING:
            self._gap = _WORD

    def word_goes_on(self) -> None:
        """Join what comes next to the word before, over any blank or line end."""
        if self.length:
            self._gap = _JOINT

    def break_off(self) -> None:
        """Turn a break within a word into one after it, since the word ended there."""
        if self._gap == _JOINT:
            self._gap = _BREAK

    @property
    def position(self) -> tuple[int, int]:
        """The length of the text and the gap after it; both stay equal until something is added."""
        return self.length, self._gap

    def line_break(self, joins: bool) -> None:
        """Note a break of line or page, within a word if it `joins`."""
        if self.length and self._gap != _LINE:
            self._gap = _JOINT if joins or self._gap == _JOINT else _BREAK

    def mark(self) -> TextPosition:
        """Return the state of the text, for `back_to`."""
        last = self._parts[-1] if self._parts else ""
        size = self.runs.size[-1] if self.runs.size else 0
        gap = (self._gap, self._blank)
        return TextPosition(len(self._parts), last, self.length, len(self.runs.plain), size, gap)

    def back_to(self, mark: TextPosition) -> None:
        """Return to a state, forgetting the text that came after it."""
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
        """Return the text that was added since a state."""
        return "".join(self._parts[mark.parts :])

    def finished(self) -> str:
        """Return the whole text; the builder is of no use afterwards."""
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
        """Whether a blank belongs between the text and what follows: not next to punctuation."""
        before = next(filter(None, reversed(self._parts)), "")
        return following[0] not in _CLOSING and before[-1:] not in _OPENING

    def _drop_hyphen(self) -> bool:
        """Remove a hyphen after a letter at the end of the text; return whether there was one."""
        last = self._parts[-1]
        before = last[-2:-1] or "".join(self._parts[-2:-1])[-1:]
        if not last or last[-1] not in _HYPHENS or not before.isalpha():
            return False
        self._parts[-1] = last[:-1]
        self.length -= 1
        # The run may be left without characters; the next one then starts at the same offset.
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
