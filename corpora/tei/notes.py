"""What a TEI file says of its own text, gathered while it is read."""

from collections.abc import Mapping
from dataclasses import dataclass

from allusion_es.corpora.source import Annotation
from allusion_es.corpora.source_map import Nodes
from allusion_es.corpora.tei.nodes import Open

_TARGETS = ("cRef", "target", "source", "corresp")
_POINTERS = frozenset({"ref", "ptr"})
_XML_ID = "xml:id"
_LONGEST_NOTE = 100_000
"""Most characters that are kept of a note: notes inside each other must not fill the memory."""


@dataclass(slots=True, eq=False)
class _Record:
    """An annotation whose words are not all read."""

    element: Open
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


class NoteReader:
    """Gathers annotations, ids and pointers."""

    def __init__(self) -> None:
        self._records: list[_Record] = []
        self._open: list[int] = []
        self._capturing: list[_Record] = []
        self._ids: dict[str, tuple[Open, int]] = {}
        self.pointers: dict[str, int] = {}
        self.reserved: set[str] = set()

    def reserve(self, attributes: Mapping[str, str]) -> None:
        """Remember an id that a finding could be given too."""
        if (identifier := attributes.get(_XML_ID, "")).startswith("allusion"):
            self.reserved.add(identifier)

    def identify(self, element: Open, attributes: Mapping[str, str], point: int) -> None:
        """Note an element's id, and what it points to."""
        if identifier := attributes.get(_XML_ID, ""):
            self._ids.setdefault(identifier, (element, point))
        if element.name in _POINTERS and attributes.get("target", "").startswith("#"):
            self.pointers.setdefault(attributes["target"][1:], point)

    def begin(
        self,
        element: Open,
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
        record = _Record(
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

    def end(self, element: Open) -> bool:
        """An element ends; whether it was the innermost annotation."""
        if not self._open or self._records[self._open[-1]].element is not element:
            return False
        record = self._records[self._open.pop()]
        if self._capturing and self._capturing[-1] is record:
            self._capturing.pop()
        return True

    def leave_out_last(self, element: Open) -> None:
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

    def _annotation(self, record: _Record, nodes: Nodes) -> Annotation:
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


def _stretch(element: Open, point: int, nodes: Nodes) -> tuple[int, int]:
    node = element.node
    if node < 0 or nodes.start[node] < 0:
        return point, point
    return nodes.start[node], nodes.end[node]
