"""The elements of a TEI file that are open, and those that hold text."""

from dataclasses import dataclass

from allusion_es.corpora.left_out import Omission
from allusion_es.corpora.source_map import Nodes, Runs


@dataclass(slots=True, eq=False)
class Open:
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


class NodeReader:
    """Keeps the stack of open elements, and numbers those in which text is found."""

    def __init__(self) -> None:
        self.stack: list[Open] = []
        self._nodes = Nodes()

    def push(self, name: str, prefix: str, byte: int, raw: int, *, out: bool, block: bool) -> Open:
        """An element begins."""
        number = 1
        if self.stack:
            children = self.stack[-1].children
            if children is None:
                children = self.stack[-1].children = {}
            number = children[name] = children.get(name, 0) + 1
        element = Open(name, prefix, number, byte, raw, out, block)
        self.stack.append(element)
        return element

    def pop(self, stop: int) -> Open:
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
