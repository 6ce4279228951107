"""Stretches of a text cut so that each can be put between tags.

A stretch that begins in one element and ends in another is cut at their borders: as few and as
long pieces as go, none over the border of a paragraph, a verse line or another block, and none
inside an element in which TEI allows no `seg`. Stretches that overlap are cut where the earlier
one ends, so that they nest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from allusion_es.corpora.source_map import TextMap
from allusion_es.corpora.tei_rules import ATOMS, CONTAINERS


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text that can be put between a start tag and an end tag.

    Attributes:
        stretch: Which of the stretches it is of, its number.
        start: Its first character in the plain text.
        end: The one after its last.
        byte: Where the start tag goes in the file.
        stop: Where the end tag goes.
        node: The element that both tags are put into.
    """

    stretch: int
    start: int
    end: int
    byte: int
    stop: int
    node: int


def cut(text: str, text_map: TextMap, stretches: Sequence[tuple[int, int]]) -> list[Piece]:
    """Cut stretches of a text into pieces that nest.

    Args:
        text: The plain text.
        text_map: Where its characters stand.
        stretches: Start and end of each.

    Returns:
        The pieces in the order of the text; a piece comes before those inside it. Pieces without
        a letter or figure are left out, and so are blanks at both ends of each.
    """
    cutter = _Cutter(text, text_map)
    wide = [cutter.widened(*stretch) for stretch in stretches]
    order = sorted(range(len(wide)), key=lambda n: (wide[n][0], -wide[n][1], n))
    pieces: list[Piece] = []
    ends: list[int] = []
    for number in order:
        start, end = wide[number]
        ends = [each for each in ends if each > start]
        inner = sorted(each for each in ends if each < end)
        for first, last in zip([start, *inner], [*inner, end], strict=True):
            pieces += cutter.pieces(number, first, last)
        ends.append(end)
    return sorted(pieces, key=lambda piece: (piece.byte, -piece.stop))


class _Cutter:
    def __init__(self, text: str, text_map: TextMap) -> None:
        self._text = text
        self._map = text_map
        self._nodes = text_map.nodes

    def widened(self, start: int, end: int) -> tuple[int, int]:
        """The stretch with the whole of each element in which nothing can be marked up."""
        for node in self._atoms(start):
            start = min(start, self._nodes.start[node])
        for node in self._atoms(end - 1):
            end = max(end, self._nodes.end[node])
        return start, end

    def _atoms(self, place: int) -> Iterator[int]:
        around = self._nodes.around(self._map.node_of(place))
        return takewhile(lambda node: self._nodes.name[node] in ATOMS, around)

    def pieces(self, stretch: int, start: int, end: int) -> Iterator[Piece]:
        while True:
            start, last = self._trimmed(start, end)
            if start >= last:
                return
            node, stop = self._longest(start, self._block_end(start, last))
            if stop <= start:
                # Blocks inside an element that can hold none: nothing can be marked up here.
                start += 1
                continue
            first, last = self._trimmed(start, stop)
            if any(map(str.isalnum, self._text[first:last])):
                yield self._piece(stretch, first, last, node)
            start = stop

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        while start < end and self._text[start].isspace():
            start += 1
        while start < end and self._text[end - 1].isspace():
            end -= 1
        return start, end

    def _block(self, node: int) -> int:
        return next(n for n in self._nodes.around(node) if self._nodes.block[n])

    def _block_end(self, start: int, end: int) -> int:
        """Where the text leaves the innermost block that it starts in."""
        runs = self._map.runs
        run = self._map.run_of(start)
        block = self._block(runs.node[run])
        while run < len(runs.plain) and runs.plain[run] < end:
            node = runs.node[run]
            if node >= 0 and self._block(node) != block:
                return runs.plain[run]
            run += 1
        return end

    def _longest(self, start: int, end: int) -> tuple[int, int]:
        """The element that can hold the longest piece from `start` on, and where it ends."""
        nodes = self._nodes
        innermost = self._map.node_of(start)
        best, best_stop = innermost, start
        for node in nodes.around(innermost):
            name = nodes.name[node]
            if name not in ATOMS and (name not in CONTAINERS or node == innermost):
                stop = self._trimmed(start, self._reach(node, end))[1]
                if stop > best_stop:
                    best, best_stop = node, stop
            if nodes.block[node] or not self._blank(nodes.start[node], start):
                break
        return best, best_stop

    def _reach(self, node: int, end: int) -> int:
        """How far a piece in an element can go without ending inside one of its children."""
        nodes = self._nodes
        end = min(end, nodes.end[node])
        last = self._trimmed(0, end)[1]
        for inner in nodes.around(self._map.node_of(last - 1)):
            if inner == node:
                break
            if not self._blank(last, nodes.end[inner]):
                end = nodes.start[inner]
        return end

    def _blank(self, start: int, end: int) -> bool:
        return start >= end or self._text[start:end].isspace()

    def _piece(self, stretch: int, start: int, end: int, node: int) -> Piece:
        byte, stop = self._map.byte_range(start, end)
        for inner in self._nodes.around(self._map.node_of(start)):
            if inner == node:
                break
            byte = self._nodes.byte[inner]
        for inner in self._nodes.around(self._map.node_of(end - 1)):
            if inner == node:
                break
            stop = self._nodes.stop[inner]
        return Piece(stretch, start, end, byte, stop, node)
