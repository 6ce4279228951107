"""Where the characters of a plain text stand in the file that it was read from."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_NONE = -1


def numbers() -> "array[int]":
    """An empty column of whole numbers, eight bytes each."""
    return array("q")


@dataclass(frozen=True, slots=True)
class Runs:
    """Stretches of the plain text whose characters follow each other in the file.

    All columns have the same length, one number for each run; the runs cover the plain text from
    its first character to its last. Blanks and line ends that stand for markup are runs without
    bytes and without an element.

    Attributes:
        plain: Where the run starts in the plain text, in characters.
        byte: Its first byte in the file.
        size: Its bytes; more than its characters take up where it is one character reference.
        raw: Its first character among all characters of the document, notes and blanks included.
        node: The element that it stands in, a number of `Nodes`, or -1.
    """

    plain: "array[int]" = field(default_factory=numbers)
    byte: "array[int]" = field(default_factory=numbers)
    size: "array[int]" = field(default_factory=numbers)
    raw: "array[int]" = field(default_factory=numbers)
    node: "array[int]" = field(default_factory=numbers)

    def columns(self) -> tuple["array[int]", ...]:
        """All columns, `plain` first."""
        return self.plain, self.byte, self.size, self.raw, self.node


@dataclass(frozen=True, slots=True)
class Nodes:
    """The elements that hold characters of the plain text, in the order of the document.

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
        """The element, the one around it, and so on."""
        while node != _NONE:
            yield node
            node = self.parent[node]


class TextMap:
    """From the characters of a plain text to the bytes and elements of its file.

    Args:
        text: The plain text.
        codec: The file's encoding.
        runs: Where its characters are.
        nodes: In which elements; none for plain files.
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
        """The run of the character at a place of the plain text."""
        return bisect_right(self.runs.plain, place) - 1

    def node_of(self, place: int) -> int:
        """The element that the character at a place stands in, or -1."""
        return self.runs.node[self.run_of(place)]

    def byte_range(self, start: int, end: int) -> tuple[int, int]:
        """The bytes of the file from the first to the last of these characters.

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
        """The same stretch among all characters of the document, notes and blanks included."""
        first, last = self.run_of(start), self.run_of(end - 1)
        runs = self.runs
        return (
            runs.raw[first] + start - runs.plain[first],
            runs.raw[last] + end - runs.plain[last],
        )

    def common_node(self, start: int, end: int) -> int:
        """The innermost element around all these characters, or -1."""
        first = [*self.nodes.around(self.node_of(start))]
        around = set(self.nodes.around(self.node_of(end - 1)))
        return next((n for n in first if n in around and self.nodes.name[n][0] != "#"), _NONE)

    def xpath(self, node: int) -> str:
        """The path to an element (`/tei:TEI[1]/tei:text[1]/…`), "" for -1."""
        steps = [
            f"/{self._prefix}{self.nodes.name[n]}[{self.nodes.number[n]}]"
            for n in self.nodes.around(node)
            if self.nodes.name[n][0] != "#"
        ]
        return "".join(reversed(steps))


@dataclass(frozen=True, slots=True)
class Labels:
    """What is counted along a text: its pages, lines or sections.

    Attributes:
        starts: Where each begins, in characters of the plain text, never falling.
        labels: What each is called.

    Example:
        >>> Labels((0, 40), ("583", "584")).at(41)
        '584'
    """

    starts: Sequence[int] = ()
    labels: Sequence[str] = ()

    def at(self, place: int) -> str:
        """The label of the last that begins at or before a place, or ""."""
        found = bisect_right(self.starts, place) - 1
        return self.labels[found] if found >= 0 else ""
