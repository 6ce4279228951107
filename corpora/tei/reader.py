"""From the events of a TEI file to its plain text, labels and annotations."""

from collections.abc import Callable, Sequence
from pathlib import Path

from allusion_es.core.errors import InputError, VerseError
from allusion_es.corpora.bible.references import parse_references
from allusion_es.corpora.source import SourceText
from allusion_es.corpora.source_map import TextMap
from allusion_es.corpora.source_plain import check_latin
from allusion_es.corpora.tei.events import Attributes, read_events
from allusion_es.corpora.tei.labels import LabelReader
from allusion_es.corpora.tei.nodes import NodeReader, Open
from allusion_es.corpora.tei.notes import NoteReader
from allusion_es.corpora.tei.rules import (
    ANNOTATED,
    BLOCKS,
    BREAKS,
    CHOSEN,
    TEI,
    is_left_out,
)
from allusion_es.corpora.tei.text import TextBuilder, TextPosition

# Author and title of a work, from the header of its TEI file.


_WHERE = ("titleStmt", "monogr", "sourceDesc")
_NOT_A_NAME = frozenset({"date", "idno", "note", "num"})


class HeaderReader:
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


_ROOTS = frozenset({"TEI", "teiCorpus"})
_CHOICES = frozenset({"choice", "app"})
_READINGS = frozenset({"lem", "rdg"})

_State = tuple[TextPosition, tuple[int, int, int, int, int]]


class TeiReader:
    """The `tei_events.Events` that read a text.

    Args:
        path: The file, for messages.
        keep: Elements whose words are read although they are left out by default.
    """

    def __init__(self, path: Path, keep: frozenset[str]) -> None:
        self._path = path
        self._keep = keep
        self.nodes = NodeReader()
        self.labels = LabelReader()
        self.notes = NoteReader()
        self.header = HeaderReader()
        self.namespaced = False
        self.prefix = ""
        self.insert_at = -1
        self._raw = 0
        self._spaces: list[dict[str, str]] = [{}]
        self._headers = 0
        # For each open `choice`, `app` and `ref`: how far the text was when it began.
        self._states: dict[Open, _State] = {}
        self._chosen: dict[Open, int] = {}

    def opened(self, codec: str) -> None:
        """The encoding is known, so that bytes can be counted."""
        self.builder = TextBuilder(_width(codec), self.nodes.current)

    def begin(self, name: str, attributes: Attributes, start: int, line: int) -> None:
        """An element begins."""
        local, prefix = self._resolve(name, attributes, line)
        parent = self.nodes.stack[-1] if self.nodes.stack else None
        if parent is None:
            self._check_root(local, prefix, name, line)
        out = (parent is not None and parent.out) or local[0] == "{"
        out = out or is_left_out(local, attributes, self._keep)
        out = out or (parent is not None and not self._choose(parent, local))
        block = not out and local in BLOCKS
        self.notes.reserve(attributes)
        element = self.nodes.push(local, prefix, start, self._raw, out=out, block=block)
        if local == "teiHeader":
            self._headers += 1
        if self._headers:
            self.header.begin([each.name for each in self.nodes.stack])
        else:
            self._begin_text(element, attributes, line)

    def _begin_text(self, element: Open, attributes: Attributes, line: int) -> None:
        local, place = element.name, self.builder.length
        if not element.out:
            if element.block:
                self.builder.line()
            if local in _CHOICES or local == "ref":
                self._states[element] = self._state()
            self._count(element, attributes, place)
            self.notes.identify(element, attributes, place)
        if local in ANNOTATED and (
            local != "seg" or "source" in attributes or "corresp" in attributes
        ):
            self.notes.begin(element, attributes, place, self.nodes.path(self.namespaced), line)

    def end(self, name: str, start: int, stop: int) -> None:
        """An element ends."""
        depth = len(self.nodes.stack)
        element = self.nodes.pop(stop)
        self._spaces.pop()
        if self._headers:
            self.header.end(depth)
            if element.name == "teiHeader":
                self._headers -= 1
                if self.insert_at < 0:
                    self.insert_at = stop
            return
        self.notes.end(element)
        state = self._states.pop(element, None)
        chosen = self._chosen.pop(element, None)
        if element.out:
            return
        if element.name == "app" and chosen is None:
            # Without readings it is what some editions put at the foot of a page.
            self.notes.leave_out_last(element)
        if element.name == "ref" and state is not None:
            self._drop_reference(element, state)
        if element.block:
            self.builder.line()
        if element.name == "l":
            self.labels.verse("", self.builder.length)
        elif element.name.startswith("div") and element.block:
            self.labels.division_end(self.builder.length)

    def text(self, pieces: Sequence[str], starts: Sequence[int], stop: int) -> None:
        """Characters."""
        top, data = self.nodes.stack[-1], "".join(pieces)
        if self._headers:
            self.header.text([each.name for each in self.nodes.stack], data)
        else:
            self.notes.text(data)
            if not top.out and top.name not in _CHOICES:
                self.builder.text(data, pieces, starts, stop, self._raw)
        self._raw += len(data)

    def cdata(self, begins: bool, start: int, stop: int) -> None:
        """A CDATA section begins or ends: an element in which nothing can be marked up."""
        if begins:
            top = self.nodes.stack[-1]
            self.nodes.push("#cdata", "", start, self._raw, out=top.out, block=False)
        else:
            self.nodes.pop(stop)

    def _resolve(self, name: str, attributes: Attributes, line: int) -> tuple[str, str]:
        """The local name, `{}` before it if it is not of TEI, and its prefix with a colon."""
        scope = self._spaces[-1]
        declared = {
            key[6:]: value
            for key, value in attributes.items()
            if key == "xmlns" or key.startswith("xmlns:")
        }
        self._spaces.append({**scope, **declared} if declared else scope)
        prefix, colon, local = name.rpartition(":")
        space = self._spaces[-1].get(prefix, "")
        if colon and not space and prefix != "xml":
            raise InputError(
                f"{self._path}:{line}: the prefix of <{name[:40]}> is not declared; add "
                f"xmlns:{prefix[:40]} to the file's first element"
            )
        if not self.nodes.stack:
            self.namespaced = space == TEI
        return (
            local if space == (TEI if self.namespaced else "") else "{}" + local
        ), prefix + colon

    def _check_root(self, local: str, prefix: str, name: str, line: int) -> None:
        if local not in _ROOTS:
            older = "; TEI P4 is not read, convert it to P5" if name == "TEI.2" else ""
            raise InputError(
                f"{self._path}:{line}: the file's first element is <{name[:40]}>, not TEI's <TEI>"
                + (older or "; give a file in TEI P5, or plain text")
            )
        self.prefix = prefix

    def _choose(self, parent: Open, local: str) -> bool:
        """Whether a child of a `choice` or `app` is read; another one may give way to it."""
        if parent not in self._states or parent.name not in _CHOICES:
            return True
        if local in BREAKS or local == "note" or (parent.name == "app" and local not in _READINGS):
            return False
        rank = CHOSEN.get(local, 1)
        if rank <= self._chosen.get(parent, -1):
            return False
        if parent in self._chosen:
            self._go_back(self._states[parent])
        self._chosen[parent] = rank
        return True

    def _count(self, element: Open, attributes: Attributes, place: int) -> None:
        """Line ends and the numbers of pages, lines and sections."""
        local = element.name
        if local in BREAKS:
            self.builder.line_break(joins=attributes.get("break") == "no")
            if local == "pb":
                self.labels.page(attributes, place)
            elif local == "lb":
                self.labels.line(attributes, place)
        elif local == "l":
            self.labels.verse(attributes.get("n", ""), place)
        elif local.startswith("div") and element.block:
            self.labels.division(attributes, place)
        elif local == "milestone":
            self.labels.milestone(attributes, place)

    def _drop_reference(self, element: Open, state: _State) -> None:
        """Leave out a `ref` that holds a reference or the mark of a note, not words."""
        words = self.builder.since(state[0])
        if not any(map(str.isalpha, words)) or _is_reference(words):
            self.notes.leave_out_last(element)
            self._go_back(state)

    def _state(self) -> _State:
        return self.builder.mark(), self.labels.mark()

    def _go_back(self, state: _State) -> None:
        self.builder.back_to(state[0])
        self.labels.back_to(state[1])


def _is_reference(words: str) -> bool:
    if len(words) > 200 or not any(map(str.isdecimal, words)):
        return False
    try:
        return bool(parse_references(words.strip(" \n()[].,;")))
    except VerseError:
        return False


def _width(codec: str) -> Callable[[str], int]:
    """How many bytes a text takes up in an encoding."""
    if codec == "utf-8":
        return lambda text: len(text) if text.isascii() else len(text.encode())
    if codec.startswith("utf-"):
        return lambda text: len(text.encode(codec))
    return len


# TEI P5 read for its text: words in their order, with the place of every character.
#
# The header, notes, apparatus and what `tei_rules` lists are left out. In `choice` the correction,
# the regularised and the expanded form are read (`corr`, `reg`, `expan`), in `app` the `lem`, or
# the first reading where there is none; what else is in an `app` is left out. `supplied`, `add` and
# `unclear` are read as they stand; a `gap` is nothing. Blocks (`p`, `l`, `head`, …) are lines of the
# plain text; other line ends and blanks in a row are one blank. A break of line or page separates
# words unless it says `break="no"`; a word that a hyphen breaks at a line end is one word, without
# the hyphen.


def read_tei(path: Path, *, keep: frozenset[str] = frozenset()) -> SourceText:
    """Read a TEI file.

    It is read as a stream; memory holds its text, some numbers for each line and element, and
    its notes.

    Args:
        path: TEI P5, in UTF-8, UTF-16, ISO-8859-1 or another encoding of one byte a character,
            as the file declares.
        keep: Elements whose words are read although they are left out by default, such as `note`.

    Raises:
        InputError: It is not well-formed, not TEI, declares entities, or has no Latin text.

    Example:
        >>> import tempfile
        >>> tei = '<TEI><text><body><p>Gusta<lb break="no"/>te <note>Ps 33,9</note>'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.xml")
        ...     _ = path.write_text(tei + "et videte</p></body></text></TEI>")
        ...     source = read_tei(path)
        ...     source.text, source.place(8, 10).xpath, source.annotations[0].text
        ('Gustate et videte', '/TEI[1]/text[1]/body[1]/p[1]', 'Ps 33,9')
    """
    reader = TeiReader(path, keep)
    facts = read_events(path, reader)
    text = reader.builder.finished()
    if not text:
        raise InputError(
            f"{path}: there is no text outside of its header, notes and apparatus; give it some"
        )
    check_latin(text, path)
    runs, nodes = reader.builder.runs, reader.nodes.finished(reader.builder.runs, len(text))
    text_map = TextMap(text, facts.codec, runs, nodes, namespaced=reader.namespaced)
    return SourceText(
        path=path,
        kind="tei",
        text=text,
        map=text_map,
        facts=facts,
        title=reader.header.found("title"),
        author=reader.header.found("author"),
        pages=reader.labels.pages(),
        lines=reader.labels.lines(),
        sections=reader.labels.sections(),
        annotations=reader.notes.annotations(nodes),
        ids=reader.notes.ids(nodes),
        pointers=reader.notes.pointers,
        insert_at=reader.insert_at,
        prefix=reader.prefix,
        reserved=frozenset(reader.notes.reserved),
    )
