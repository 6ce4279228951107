"""How a TEI edition is cited: the passages that its numbers name, and the number of each.

An edition may declare its citations in the header, as `cRefPattern` (CTS) or `citeStructure`; then
these are followed. Where it declares none that can be followed, its own structure is: what has a
number (`n`) among `div`, `l`, `p`, `ab`, `seg` and `s` is cited by it, after the numbers around it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from allusion_es.corpora.source_text import SourceText
from allusion_es.corpora.tei.collectors import SECTIONS, OpenElement
from allusion_es.corpora.tei.rules import BLOCKS

_DIVISIONS = frozenset({"div", *(f"div{n}" for n in range(1, 8))})
_CITED = _DIVISIONS | {"l", "p", "ab", "seg", "s"}
_PROSE = frozenset({"p", "ab"})
_HEADINGS = frozenset({
    "head", "trailer", "byline", "titlePage", "docTitle", "titlePart", "docImprint",
})  # fmt: skip
"""Elements that are no passages of their own; a numbered division has its heading in it."""

_UNNUMBERED = frozenset({
    "l", "p", "ab", "item", "cell", "salute", "signed", "dateline",
})  # fmt: skip
"""Elements that are passages even without a number: else their words would be lost."""

_RECORDED = BLOCKS | _CITED | {"milestone"}

_ROOT = "TEI"
_ID = "xml:id"
_URN = "urn:cts:"
_STEP = re.compile(r"(//|/|)(?:\w+:)?([\w-]+|\*)((?:\[[^\]]*\])*)")
_TEST = re.compile(r"@([\w:.-]+)(?:\s*=\s*(?:'([^']*)'|\"([^\"]*)\"))?")
_USED = re.compile(r"@([\w:.-]+)|position\(\)")
_POSITION = "position()"


# What the header declares.


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a path: an element's name, the attributes that it needs, and what it is cited by.

    Attributes:
        name: The element's name, or `*`.
        axis: What stands before it: `/` for a child of the step before, `//` for any element in
            it; "" is `/`, but that a path may begin anywhere with it.
        needs: Values that attributes must have; None for any value.
        cited_by: The attribute that is the level's number, `position()`, or "" where the step
            is no level of the citation.
        delimiter: What stands before the number where it is not the first.
    """

    name: str
    axis: str
    needs: tuple[tuple[str, str | None], ...] = ()
    cited_by: str = ""
    delimiter: str = "."


_Path = tuple[_Step, ...]


def _steps(path: str) -> _Path | None:
    """The steps of a path such as `/tei:TEI//tei:l[@n='$2']`; None if it has what is not read."""
    steps: list[_Step] = []
    at, path = 0, path.strip().removeprefix(".")
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or not match[0]:
            return None
        needs: list[tuple[str, str | None]] = []
        cited_by = ""
        for test in re.findall(r"\[([^\]]*)\]", match[3]):
            for part in re.split(r"\s+and\s+", test.strip()):
                found = _TEST.fullmatch(part.strip())
                if found is None:
                    return None
                value = found[2] if found[2] is not None else found[3]
                if value is not None and re.fullmatch(r"\$\d", value):
                    cited_by = found[1]
                else:
                    needs.append((found[1], value))
        steps.append(_Step(match[2], match[1], tuple(needs), cited_by))
        at = match.end()
    return tuple(steps)


class DeclaredCitations:
    """Reads the `refsDecl` of a header.

    Attributes:
        paths: The paths of all levels that can be followed.
        unread: Paths that cannot be, as the header has them.
    """

    def __init__(self) -> None:
        self.paths: list[_Path] = []
        self.unread: list[str] = []
        self._is_own = True
        # The path of each `citeStructure` that is open; None where it cannot be followed.
        self._open: list[_Path | None] = []

    def inherit(self, around: "DeclaredCitations") -> None:
        """Follow what a corpus declares, until the text's own header declares something."""
        self.paths, self._is_own = [*around.paths], False

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take a start tag of the header."""
        if name == "cRefPattern":
            pattern = attributes.get("replacementPattern", "")
            found = re.search(r"#xpath\((.*)\)\s*$", pattern, re.DOTALL)
            steps = _steps(found[1]) if found else None
            is_cited = steps is not None and steps[-1].cited_by
            self._keep(steps if is_cited else None, pattern)
        elif name == "citeStructure":
            self._open.append(self._structure(attributes))

    def end(self, name: str) -> None:
        """Take an end tag of the header."""
        if name == "citeStructure" and self._open:
            self._open.pop()

    def _structure(self, attributes: Mapping[str, str]) -> _Path | None:
        around = self._open[-1] if self._open else ()
        match, use = attributes.get("match", ""), attributes.get("use", "")
        steps, used = _steps(match), _USED.fullmatch(use.strip())
        path: _Path | None = None
        if steps and used and around is not None:
            last = steps[-1]
            cited = _Step(
                last.name, last.axis, last.needs, used[1] or _POSITION, attributes.get("delim", ".")
            )
            path = (*around, *steps[:-1], cited)
        self._keep(path, f"{match} {use}".strip())
        return path

    def _keep(self, path: _Path | None, written: str) -> None:
        if not self._is_own:
            self.paths, self._is_own = [], True
        if path is None:
            self.unread.append(written)
        else:
            self.paths.append(path)


# What the text has.


@dataclass(slots=True, eq=False)
class _Element:
    """An element of the text that may be cited, or hold what is.

    Attributes:
        name: Its name.
        attributes: Its attributes.
        parent: The row of the recorded element around it, or -1.
        number: Which of its parent's children of that name it is, from 1.
        line: Its line in the file.
        place: The length of the text when it began.
        node: Its row in the text's `Nodes`; -1 where it holds no words.
        last: The row after the last element in it.
        counted: The number of a verse line that has none: one more than the line before.
    """

    name: str
    attributes: Mapping[str, str]
    parent: int
    number: int
    line: int
    place: int
    node: int = -1
    last: int = -1
    counted: str = ""

    @property
    def n(self) -> str:
        """Its number, or ""; a URN is the name of an edition, no number."""
        given = " ".join(self.attributes.get("n", "").split())
        return "" if ":" in given else given or self.counted


@dataclass(frozen=True, slots=True)
class CitedUnit:
    """A stretch of an edition that has a citation.

    Attributes:
        citation: The numbers that cite it, such as `1.12`; "" if the whole text has none.
        start: Its first character in the text.
        end: The one after its last.
        line: Its line in the file.
    """

    citation: str
    start: int
    end: int
    line: int


@dataclass(slots=True)
class CitationCollector:
    """Collects what a file declares of its citations, and the elements that may be cited.

    Attributes:
        declared: What its header declares.
        urn: The edition's name in its CTS URN (`phi0690.phi003.perseus-lat2`), or "".
    """

    declared: DeclaredCitations = field(default_factory=DeclaredCitations)
    urn: str = ""
    _elements: list[_Element] = field(default_factory=list)
    _open: list[tuple[OpenElement, int]] = field(default_factory=list)
    _named: frozenset[str] | None = None
    # The number of the last verse line in each division, by its row.
    _verses: dict[int, int] = field(default_factory=dict)
    # The types of the divisions in each element, by its row.
    _kinds: dict[int, list[str]] = field(default_factory=dict)

    def begin(
        self, element: OpenElement, attributes: Mapping[str, str], line: int, place: int
    ) -> None:
        """Take a start tag of the text whose words are read."""
        if self._named is None:
            names = {step.name for path in self.declared.paths for step in path}
            self._named = _RECORDED | names
        if element.name not in self._named:
            return
        urn = attributes.get("n", "")
        if not self.urn and urn.startswith(_URN) and element.name in _DIVISIONS | {"text", "body"}:
            self.urn = urn.split(":")[3]
        parent = self._open[-1][1] if self._open else -1
        kept = _Element(element.name, attributes, parent, element.number, line, place)
        if element.name == "l":
            kept.counted = self._verse(kept)
        self._open.append((element, len(self._elements)))
        self._elements.append(kept)

    def end(self, element: OpenElement) -> None:
        """Take an end tag."""
        if self._open and self._open[-1][0] is element:
            _, row = self._open.pop()
            self._elements[row].node = element.node
            self._elements[row].last = len(self._elements)

    def _verse(self, verse: _Element) -> str:
        """The number that a verse line has by its place: most editions print every fifth only."""
        around = self._division(verse)
        before = self._verses.get(around, 0)
        given = re.match(r"\d+", verse.attributes.get("n", ""))
        # A line that two speakers share is in two parts, of which only the first counts.
        goes_on = verse.attributes.get("part", "") in ("M", "F") and before
        number = int(given[0]) if given else before if goes_on else before + 1
        self._verses[around] = number
        return str(number)

    def _division(self, element: _Element) -> int:
        """The row of the division around an element, or -1."""
        around = element.parent
        while around >= 0 and self._elements[around].name not in _DIVISIONS:
            around = self._elements[around].parent
        return around

    def _forget_quoted_verse(self) -> None:
        """Take the counted numbers from verse lines among prose, which are quoted there."""
        prose = {self._division(each) for each in self._elements if each.name in _PROSE}
        for each in self._elements:
            if each.name == "l" and self._division(each) in prose:
                each.counted = ""

    def units(self, source: SourceText) -> Iterator[CitedUnit]:
        """The cited stretches of the text, in its order; none of them is in another.

        A citation that comes again at once goes on (a verse line in two parts); where it comes
        again later, it is another, and gets `(2)`.

        Args:
            source: The text of the same file.
        """
        self._forget_quoted_verse()
        cited = self._declared_citations() or self._own_citations(with_groups=False)
        if _repeats(self._leaves(cited), cited):
            again = self._own_citations(with_groups=True)
            if not self.declared.paths and not _repeats(self._leaves(again), again):
                cited = again
        seen: Counter[str] = Counter()
        held: CitedUnit | None = None
        written = ""
        for unit in self._cut(self._leaves(cited), cited, source):
            if held is not None and unit.citation == written:
                held = CitedUnit(held.citation, held.start, unit.end, held.line)
                continue
            if held is not None:
                yield held
            written = unit.citation
            seen[written] += 1
            name = written if seen[written] == 1 else f"{written}({seen[written]})"
            held = CitedUnit(name, unit.start, unit.end, unit.line)
        if held is not None:
            yield held

    def _declared_citations(self) -> dict[int, str]:
        """The citation of each element that a declared path leads to, by its row."""
        found: dict[int, str] = {}
        # The longest paths last, since an element that two lead to is cited in full.
        for path in sorted(self.declared.paths, key=len):
            for row in range(len(self._elements)):
                citation = self._followed(path, len(path) - 1, row)
                if citation is not None:
                    found[row] = citation
        return found

    def _followed(self, path: _Path, at: int, row: int) -> str | None:
        """The citation of an element if it is where a path leads up to a step; else None."""
        step, element = path[at], self._elements[row]
        if step.name not in (element.name, "*"):
            return None
        for name, value in step.needs:
            given = element.attributes.get(name)
            if given is None or (value is not None and given != value):
                return None
        own = str(element.number) if step.cited_by == _POSITION else ""
        if step.cited_by and not own:
            own = element.n if step.cited_by == "n" else element.attributes.get(step.cited_by, "")
            if not own:
                return None
        if at == 0:
            return None if step.axis == "/" and element.name != _ROOT else own
        around = element.parent
        while around >= 0:
            before = self._followed(path, at - 1, around)
            if before is not None:
                return f"{before}{step.delimiter}{own}" if before and own else before or own
            if step.axis != "//":
                return None
            around = self._elements[around].parent
        return None

    def _own_citations(self, *, with_groups: bool) -> dict[int, str]:
        """The citation of each numbered element, by its row, from its own and outer numbers.

        Args:
            with_groups: Whether the number of a stanza (`lg`) counts; where lines are numbered
                through a poem, it would only make their citations longer.
        """
        found: dict[int, str] = {}
        parts: list[str] = []
        siblings = Counter(
            (each.parent, each.name, each.n) for each in self._elements if each.name in _DIVISIONS
        )
        levels = _CITED | {"lg"} if with_groups else _CITED
        for row, element in enumerate(self._elements):
            around = parts[element.parent] if element.parent >= 0 else ""
            own = element.n if element.name in levels else ""
            # In some editions the `n` of a division is its depth, so all have the same.
            if element.name in _DIVISIONS and siblings[element.parent, element.name, own] > 1:
                own = ""
            level = own or self._name(row)
            parts.append(".".join(filter(None, [around, level])))
            # Verse that is quoted in a paragraph belongs to it.
            if own and element.name != "lg" and not (element.name == "l" and self._in_prose(row)):
                found[row] = parts[row]
        return found

    def _in_prose(self, row: int) -> bool:
        around = self._elements[row].parent
        while around >= 0 and self._elements[around].name not in _DIVISIONS:
            if self._elements[around].name in _PROSE:
                return True
            around = self._elements[around].parent
        return False

    def _leaves(self, cited: dict[int, str]) -> list[int]:
        """The rows of passages: what is cited and has nothing cited in it, and what is left over.

        Blocks in no such element, such as a paragraph without a number among numbered ones, are
        passages of their own, cited by what is around them and their place in it; `cited` gets
        their citations. Headings are not.
        """
        leaves: list[int] = []
        row = 0
        while row < len(self._elements):
            element = self._elements[row]
            has_cited = any(each in cited for each in range(row + 1, element.last))
            if element.node < 0 or element.name in _HEADINGS:
                row = max(element.last, row + 1)
            elif row in cited and not has_cited:
                leaves.append(row)
                row = max(element.last, row + 1)
            elif element.name in _UNNUMBERED and not has_cited:
                cited[row] = self._by_place(row, cited)
                leaves.append(row)
                row = max(element.last, row + 1)
            else:
                row += 1
        return leaves

    def _by_place(self, row: int, cited: Mapping[int, str]) -> str:
        """The citation of an element without a number: `1.p3`, the third `p` in 1."""
        element = self._elements[row]
        parts = [f"{element.name}{element.number}"]
        around = element.parent
        while around >= 0 and around not in cited:
            if part := self._name(around):
                parts.append(part)
            around = self._elements[around].parent
        if around >= 0:
            parts.append(cited[around])
        return ".".join(reversed(parts))

    def _name(self, row: int) -> str:
        """What a division without a number is called: its id, its type, or its place."""
        element = self._elements[row]
        if element.name not in _DIVISIONS:
            return ""
        if not self._kinds:
            for each in self._elements:
                if each.name in _DIVISIONS:
                    self._kinds.setdefault(each.parent, []).append(each.attributes.get("type", ""))
        beside = self._kinds[element.parent]
        if len(beside) == 1:
            return ""
        kind = element.attributes.get("type", "")
        if kind and beside.count(kind) == 1:
            return kind
        return element.attributes.get(_ID) or f"{element.name}{element.number}"

    def _cut(
        self, leaves: Sequence[int], cited: Mapping[int, str], source: SourceText
    ) -> Iterator[CitedUnit]:
        """The stretches of elements, cut where milestones number sections in them."""
        for row, (start, end) in zip(leaves, self._stretches(leaves, source), strict=True):
            element = self._elements[row]
            citation, line = cited[row], element.line
            levels: dict[str, str] = {}
            for each in self._elements[row + 1 : element.last]:
                unit = each.attributes.get("unit", "")
                if each.name != "milestone" or unit not in SECTIONS or not each.n:
                    continue
                if source.text[start : each.place].strip():
                    yield CitedUnit(_joined(citation, levels), start, each.place, line)
                    start, line = each.place, each.line
                outer = SECTIONS.index(unit)
                levels = {k: v for k, v in levels.items() if SECTIONS.index(k) < outer}
                levels[unit] = each.n
            if source.text[start:end].strip():
                yield CitedUnit(_joined(citation, levels), start, end, line)

    def _stretches(self, leaves: Sequence[int], source: SourceText) -> list[tuple[int, int]]:
        """Start and end of each passage.

        Of a block (`p`, `l`) that is divided (into `seg`), all words belong to one of its parts.
        """
        starts, ends = source.map.nodes.start, source.map.nodes.end
        found = [
            (max(starts[self._elements[row].node], 0), max(ends[self._elements[row].node], 0))
            for row in leaves
        ]
        blocks = [self._block(row) for row in leaves]
        for number, (row, block) in enumerate(zip(leaves, blocks, strict=True)):
            if block == row:
                continue
            start, end = found[number]
            around = self._elements[block].node
            if not number or blocks[number - 1] != block:
                start = starts[around]
            is_last = number + 1 == len(leaves) or blocks[number + 1] != block
            end = ends[around] if is_last else found[number + 1][0]
            found[number] = start, end
        return found

    def _block(self, row: int) -> int:
        """The row of the outermost paragraph or verse line around an element, or itself."""
        block = around = row
        while around >= 0:
            if self._elements[around].name in _UNNUMBERED:
                block = around
            around = self._elements[around].parent
        return block


def _joined(citation: str, levels: Mapping[str, str]) -> str:
    return ".".join(filter(None, [citation, *levels.values()]))


def _repeats(rows: Sequence[int], cited: Mapping[int, str]) -> bool:
    """Whether a citation comes again after another."""
    names = [cited[row] for row in rows]
    return len(set(names)) < sum(
        name != before for name, before in zip(names, ["\n", *names], strict=False)
    )
