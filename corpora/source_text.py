"""A source text: the words of a file to be read for allusions, and where each stands in the file.

Readers (`source`, `tei.reader`) make a `SourceText`; whoever searches it or writes findings into
the file uses it. This module knows no reader, so that readers can import it.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from allusion_es.core.errors import InputError, UsageError
from allusion_es.corpora.left_out import LeftOut
from allusion_es.corpora.passage import Work

LARGEST_FILE = 1 << 30
"""Most bytes of a source file, 1 GiB: its text is held in memory."""

_LATIN = re.compile("[A-Za-zÀ-ɏ]")  # up to the end of Latin Extended-B
_NONE = -1


def numbers() -> "array[int]":
    """Return an empty column of whole numbers, eight bytes each.

    A long text has millions of runs; as Python objects they would take many times the memory.
    """
    return array("q")


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs: stretches of the plain text whose characters follow each other in the file.

    All columns have the same length, one number for each run; the runs cover the plain text from
    its first character to its last. Blanks and line ends that stand for markup are runs without
    bytes and without an element.

    Attributes:
        plain: Where the run starts in the plain text, in characters.
        byte: Its first byte in the file.
        size: Its bytes; more than its characters take up where it is one character reference.
        raw: Its first character among all characters of the document, notes and blanks included.
        node: The element that it stands in, a row of `Nodes`, or -1.
    """

    plain: "array[int]" = field(default_factory=numbers)
    byte: "array[int]" = field(default_factory=numbers)
    size: "array[int]" = field(default_factory=numbers)
    raw: "array[int]" = field(default_factory=numbers)
    node: "array[int]" = field(default_factory=numbers)

    def columns(self) -> tuple["array[int]", ...]:
        """Return all columns, `plain` first."""
        return self.plain, self.byte, self.size, self.raw, self.node


@dataclass(frozen=True, slots=True)
class Nodes:
    """The elements that hold characters of the plain text, one row each, in document order.

    Attributes:
        name: Their local names; `#cdata` for a CDATA section.
        prefix: What stands before the name in a tag (`tei:`), or "".
        parent: The element around each, or -1.
        number: Which of its parent's children of that name it is, from 1.
        byte: The first byte of its start tag.
        stop: The byte after its end tag.
        raw: The first character in it among all characters of the document.
        block: Whether it begins and ends a line of the plain text.
        start: Where its words start in the plain text.
        end: Where they end, exclusive.
    """

    name: list[str] = field(default_factory=list)
    prefix: list[str] = field(default_factory=list)
    parent: "array[int]" = field(default_factory=numbers)
    number: "array[int]" = field(default_factory=numbers)
    byte: "array[int]" = field(default_factory=numbers)
    stop: "array[int]" = field(default_factory=numbers)
    raw: "array[int]" = field(default_factory=numbers)
    block: bytearray = field(default_factory=bytearray)
    start: "array[int]" = field(default_factory=numbers)
    end: "array[int]" = field(default_factory=numbers)

    def around(self, node: int) -> Iterator[int]:
        """Yield the element itself, the one around it, and so on to the root."""
        while node != _NONE:
            yield node
            node = self.parent[node]


class TextMap:
    """Maps characters of a plain text to the bytes and elements of its file.

    Args:
        text: The plain text.
        codec: The file's encoding.
        runs: The place of its characters in the file.
        nodes: The elements that they stand in; no rows for plain files.
        namespaced: Whether the elements are in the namespace of TEI.
    """

    def __init__(
        self, text: str, codec: str, runs: Runs, nodes: Nodes, *, namespaced: bool = False
    ) -> None:
        self._text = text
        self.codec = codec
        self.runs = runs
        self.nodes = nodes
        self._prefix = "tei:" if namespaced else ""

    def run_of(self, place: int) -> int:
        """Return the run of the character at an offset of the plain text."""
        return bisect_right(self.runs.plain, place) - 1

    def node_of(self, place: int) -> int:
        """Return the element that the character at an offset stands in, or -1."""
        return self.runs.node[self.run_of(place)]

    def byte_range(self, start: int, end: int) -> tuple[int, int]:
        """Return the bytes of the file from the first to the last of these characters.

        Args:
            start: The first character.
            end: The one after the last; more than `start`.

        Returns:
            First byte, and the byte after the last. Between them there may be markup, and words
            that the plain text leaves out.
        """
        return self._byte(start), self._stop(end)

    def _byte(self, place: int) -> int:
        run = self.run_of(place)
        return self.runs.byte[run] + self._width(self.runs.plain[run], place)

    def _stop(self, end: int) -> int:
        run = self.run_of(end - 1)
        following = self.runs.plain[run + 1] if run + 1 < len(self.runs.plain) else len(self._text)
        if end == following:
            return self.runs.byte[run] + self.runs.size[run]
        return self.runs.byte[run] + self._width(self.runs.plain[run], end)

    def _width(self, start: int, end: int) -> int:
        return len(self._text[start:end].encode(self.codec))

    def raw_range(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch in characters of the whole document, notes and blanks included."""
        first, last = self.run_of(start), self.run_of(end - 1)
        runs = self.runs
        return (
            runs.raw[first] + start - runs.plain[first],
            runs.raw[last] + end - runs.plain[last],
        )

    def common_node(self, start: int, end: int) -> int:
        """Return the innermost element around all these characters, or -1."""
        first = [*self.nodes.around(self.node_of(start))]
        around = set(self.nodes.around(self.node_of(end - 1)))
        return next((n for n in first if n in around and self.nodes.name[n][0] != "#"), _NONE)

    def xpath(self, node: int) -> str:
        """Return the path to an element (`/tei:TEI[1]/tei:text[1]/…`), "" for -1."""
        steps = [
            f"/{self._prefix}{self.nodes.name[n]}[{self.nodes.number[n]}]"
            for n in self.nodes.around(node)
            if self.nodes.name[n][0] != "#"
        ]
        return "".join(reversed(steps))


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a text's pages, lines or sections.

    Attributes:
        starts: The offset at which each begins, ascending.
        labels: The label of each.

    Example:
        >>> Labels((0, 40), ("583", "584")).at(41)
        '584'
    """

    starts: Sequence[int] = ()
    labels: Sequence[str] = ()

    def at(self, place: int) -> str:
        """Return the label that holds at an offset, or ""."""
        found = bisect_right(self.starts, place) - 1
        return self.labels[found] if found >= 0 else ""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Encoding, size and checksum of a file when it was read; they show whether it has changed.

    Attributes:
        codec: Python's name of its encoding, without a byte-order mark.
        size: The number of its bytes.
        crc: The CRC-32 of its bytes.
    """

    codec: str
    size: int
    crc: int


SourceKind = Literal["text", "tei", "html", "docx", "passages"]
"""The kind of a source file: plain text, TEI P5, a web page, a DOCX file, or a file of passages
with ids (a table, JSON lines, a text of Tesserae)."""

SOURCE_KINDS: tuple[SourceKind, ...] = get_args(SourceKind)


@dataclass(frozen=True, slots=True)
class Annotation:
    """An element of a TEI file by which its editor annotates the text, such as `quote` or `note`.

    Attributes:
        element: `quote`, `q`, `cit`, `ref`, `bibl`, `note`, `seg` or `app`.
        start: The offset of its first word in the plain text; if its words are left out, the offset
            at which the element stands.
        end: The offset after its last word; equal to `start` if its words are left out.
        text: Its own words, with single blanks, if they are left out of the plain text; else "".
            Of a very long note the first hundred thousand characters.
        target: The value that it refers to: its `cRef`, `target`, `source`, `corresp`, or a
            `bibl`'s `n`.
        type: Its `type`, or "".
        id: Its `xml:id`, or "".
        xpath: The path to it.
        line: The line of the file on which it begins, from 1.
        parent: The index of the annotation around it, or -1.
        next: The id of the element that continues it (`next` in TEI), or "".
        left_out: The part of the file around it that is left out of the text (a `front`, words of
            another language), or "".
        follows: Words of another language or deleted words that stand directly before it and are
            left out, so that it may belong to them; else "".
    """

    element: str
    start: int
    end: int
    text: str
    target: str
    type: str
    id: str
    xpath: str
    line: int
    parent: int
    next: str = ""
    left_out: str = ""
    follows: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a stretch of a source text: page, line, section and element.

    Attributes:
        page: Page (`pb`), or "".
        line: Line (`lb`, `l`; in a plain file the line of the file), or "".
        section: The numbers of the sections around it (`1.4`), or "".
        xpath: The path to the innermost element around it, or "".
        offset: Its first character, counted from the start of that element's whole text (in a
            plain file: from the start of the text), notes and blanks included.
        length: The number of its characters, counted likewise.
    """

    page: str
    line: str
    section: str
    xpath: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class SourceText:
    """A text to be read for allusions.

    Attributes:
        path: The file.
        kind: The kind of file.
        text: Its words. For a plain file the whole text, character by character; for TEI the
            text that `read_tei` extracts; for a page or DOCX file its paragraphs, and for a file
            of passages these, a line each.
        map: The place of each character of `text` in the file.
        facts: Encoding, size and checksum of the file when it was read.
        title: The work's title, or "".
        author: Its author, or "".
        pages: The pages.
        lines: The lines.
        sections: The sections.
        annotations: The editor's annotations, in the order of the start tags.
        ids: For each `xml:id` the start and end of its element in `text`.
        pointers: For each id the offset of the first `ref` or `ptr` that points to it.
        insert_at: The byte after the file's header, where a `standOff` may go; -1 without one.
        describe_at: The byte after the header's `fileDesc`, where an `encodingDesc` may go; or -1.
        prefixes: The prefixes of URIs that the header defines (`prefixDef`).
        prefix: The prefix of TEI's element names (`tei:`), or "".
        reserved: Ids of the file that begin with `allusion`; findings must not get the same.
        left_out: Words of the file that are not in `text`, in the order of the file.
        remarks: Notes for the editor on how the file was read, a line each.
    """

    path: Path
    kind: SourceKind
    text: str
    map: TextMap
    facts: FileFacts
    title: str = ""
    author: str = ""
    pages: Labels = field(default_factory=Labels)
    lines: Labels = field(default_factory=Labels)
    sections: Labels = field(default_factory=Labels)
    annotations: tuple[Annotation, ...] = ()
    ids: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    pointers: Mapping[str, int] = field(default_factory=dict)
    insert_at: int = -1
    describe_at: int = -1
    prefixes: frozenset[str] = frozenset()
    prefix: str = ""
    reserved: frozenset[str] = frozenset()
    left_out: tuple[LeftOut, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def work(self) -> str:
        """Author and title of the work, with a comma between; "" if it has neither."""
        return Work(self.author, self.title).label

    def place(self, start: int, end: int) -> Place:
        """Return the place of the characters from `start` to `end`, which is exclusive.

        Raises:
            UsageError: The text has no such characters.
        """
        if not 0 <= start < end <= len(self.text):
            raise UsageError(
                f"{self.path}: characters {start} to {end} are not in its text of "
                f"{len(self.text)}; give a stretch inside it"
            )
        node = self.map.common_node(start, end)
        first, last = self.map.raw_range(start, end)
        before = self.map.nodes.raw[node] if node >= 0 else 0
        return Place(
            page=self.pages.at(start),
            line=self.lines.at(start),
            section=self.sections.at(start),
            xpath=self.map.xpath(node),
            offset=first - before,
            length=last - first,
        )


def check_latin(text: str, path: Path) -> None:
    """Refuse a text that cannot be Latin.

    Raises:
        InputError: It is empty, or has no letter of the Latin alphabet.
    """
    if not text.strip():
        raise InputError(f"{path}: there is no text in it; give it some words")
    if not _LATIN.search(text):
        raise InputError(f"{path}: there is no Latin letter in it; give it a Latin text")
