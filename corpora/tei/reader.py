"""From the events of a TEI file to its plain text, labels and annotations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from allusion_es.core.errors import InputError
from allusion_es.corpora.left_out import Cause, LeftOut, Omission, left_out_note
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
    BORDERS,
    BREAKS,
    CHOSEN,
    ELEMENTS_ONLY,
    PARTS,
    SURENESS,
    TEI,
    UNITS,
    is_printed_reference,
    is_read_language,
    is_word,
    joins_words,
    left_out_as,
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
_READINGS = frozenset({"lem", "rdg", "rdgGrp"})
_QUOTES = frozenset({"cit", "q", "quote"})
_MAY_BE_EMPTY = frozenset({"ex", "expan", "rdg", "reg"})
"""Readings that are no reading where they are empty; a `lem` or `corr` may mean an omission."""

_State = tuple[TextPosition, tuple[int, int, int, int, int]]


@dataclass(frozen=True, slots=True)
class _Reading:
    """The child of a `choice` or `app` that is read, as far as is known."""

    name: str
    rank: tuple[int, int]
    line: int


class TeiReader:
    """The `tei_events.Events` that read a text.

    Args:
        path: The file, for messages.
        keep: Elements whose words are read although they are left out by default.
        languages: Languages that are read besides Latin.
        endless: Ids to which no deletion goes, since they do not follow it.
    """

    def __init__(
        self,
        path: Path,
        keep: frozenset[str],
        languages: frozenset[str] = frozenset(),
        endless: frozenset[str] = frozenset(),
    ) -> None:
        self._path = path
        self._keep = keep
        self._languages = languages
        self._endless = endless
        self.nodes = NodeReader()
        self.labels = LabelReader()
        self.notes = NoteReader()
        self.header = HeaderReader()
        self.omissions: list[Omission] = []
        self.remarks: list[str] = []
        # The deletions (`delSpan`) that are open, by the id at which each ends.
        self.deletions: dict[str, Omission] = {}
        self.namespaced = False
        self.prefix = ""
        self.insert_at = -1
        self._raw = 0
        self._spaces: list[dict[str, str]] = [{}]
        self._headers = 0
        # For each open `choice`, `app`, `ref`, `am` and `g`: how far the text was when it began.
        self._states: dict[Open, _State] = {}
        self._chosen: dict[Open, _Reading] = {}
        self._stray: dict[Open, Omission] = {}
        self._nothing = Omission("", "element", 0, 0, "")
        # The words (`w`) that are open: how long the text was when each began, and whether it
        # goes on in another element.
        self._words: dict[Open, tuple[int, bool]] = {}
        # How long the text was when a word ended that goes on in another element.
        self._unfinished, self._joins_next = -1, False
        # How long it was at a line break that joins only because it is inside a `w`.
        self._soft_joint = -1
        # How far the text was when the last `am` and `ex` ended, and when that `am` began.
        self._last_am: tuple[tuple[int, int], _State] | None = None
        self._last_ex: tuple[int, int] | None = None
        self._deletion_end: Open | None = None
        self._last_foreign: Omission | None = None

    def opened(self, codec: str) -> None:
        """The encoding is known, so that bytes can be counted."""
        self.builder = TextBuilder(_width(codec), self.nodes.current)

    def begin(self, name: str, attributes: Attributes, start: int, line: int) -> None:
        """An element begins."""
        local, prefix = self._resolve(name, attributes, line)
        parent = self.nodes.stack[-1] if self.nodes.stack else None
        if parent is None:
            self._check_root(local, prefix, name, line)
        around = parent.language if parent else ""
        # `lang` without a prefix is of older TEI, but stands in many a file of P5.
        language = attributes.get("xml:lang", attributes.get("lang", around))
        foreign = not is_read_language(language, self._languages)
        hidden_as = "other namespaces" if local[0] == "{" else ""
        hidden_as = hidden_as or left_out_as(local, attributes, self._keep)
        if parent is not None and parent.name == "restore" and local == "del":
            hidden_as = ""
        hidden = bool(hidden_as) or (parent is not None and parent.hidden)
        variant = not hidden and not foreign and not self._is_chosen(local, attributes, line)
        hidden = hidden or variant
        block = not hidden and local in BLOCKS
        self.notes.reserve(attributes)
        element = self.nodes.push(
            local, prefix, start, self._raw, out=hidden or foreign, block=block
        )
        element.hidden, element.language, element.line = hidden, language, line
        if local == "teiHeader":
            self._headers += 1
        if self._headers:
            self.header.begin([each.name for each in self.nodes.stack])
            return
        if element.out:
            cause: Cause = "language"
            if variant:
                hidden_as, cause = local, "variant"
            elif hidden_as:
                is_part = local in PARTS or local.startswith("div")
                cause = "part" if is_part else "element"
            self._leave_out(element, parent, hidden_as, cause, line)
        self._begin_text(element, attributes, line)

    def _leave_out(
        self, element: Open, parent: Open | None, hidden_as: str, cause: Cause, line: int
    ) -> None:
        """An element's words are left out: a new omission, or more of the one around it."""
        around = None if parent is None else parent.omission
        same_language = parent is not None and parent.language == element.language
        if around is not None and (
            around.cause != "language" or (cause == "language" and same_language)
        ):
            element.omission = around
            if element.name in BLOCKS:
                around.border()
            return
        if cause == "language":
            hidden_as, option = f'xml:lang="{element.language}"', f"--language {element.language}"
        else:
            told = cause in ("element", "part") and element.name[0] != "{"
            option = f"--keep {element.name}" if told else ""
            if element.name in BORDERS:
                self.builder.word_border()
        element.omission = self._omission(hidden_as, cause, line, option)

    def _omission(self, what: str, cause: Cause, line: int, option: str = "") -> Omission:
        xpath = self.nodes.path(self.namespaced)
        omission = Omission(what, cause, self.builder.length, line, xpath, option)
        self.omissions.append(omission)
        if cause in ("language", "deletion"):
            self._last_foreign = omission
        return omission

    def _begin_text(self, element: Open, attributes: Attributes, line: int) -> None:
        local, place = element.name, self.builder.length
        self._end_deletion(attributes)
        if not element.hidden:
            if element.block:
                self.builder.line()
            if not element.out and local == "ex":
                self._give_way_to_ex()
            if local in _CHOICES or (not element.out and local in ("ref", "am", "g")):
                self._states[element] = self._state()
            self._count(element, attributes, place)
            self._border(element, attributes)
            self.notes.identify(element, attributes, place)
            if local == "delSpan":
                self._begin_deletion(attributes, line)
        elif local == "pb" and element.omission is not None and element.omission.cause == "part":
            # The text after a preface may begin on its last page.
            self.labels.page(attributes, place)
        if local in ANNOTATED and (
            local not in ("said", "seg") or "source" in attributes or "corresp" in attributes
        ):
            xpath = self.nodes.path(self.namespaced)
            around = self._hidden_around()
            before = self._last_foreign
            follows = before.what if before and before.words and before.start == place else ""
            self.notes.begin(element, attributes, place, xpath, line, around, follows)

    def _hidden_around(self) -> str:
        """What is left out around the innermost element, if it is no note or variant."""
        if self.deletions:
            return "delSpan"
        for element in reversed(self.nodes.stack):
            if element.omission is None:
                break
            if element.omission.cause in ("part", "language"):
                return element.omission.what
        return ""

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
        self._stray.pop(element, None)
        if element.omission is not None and (element.name in BLOCKS or element.name == "w"):
            element.omission.border()
        if element.hidden:
            return
        if element.block:
            for deletion in self.deletions.values():
                deletion.border()
        if element.name == "app" and chosen is None:
            # Without readings it is what some editions put at the foot of a page.
            self.notes.leave_out_last(element)
        if state is not None:
            self._end_state(element, state)
        if element.name == "ex" and not element.out:
            self._last_ex = self.builder.position
        if element in self._words:
            self._end_word(element)
        elif element.name in UNITS and not self._words:
            self.builder.word_border()
        if element.block:
            self.builder.line()
        if element.name == "l":
            self.labels.verse("", self.builder.length)
        elif element.name.startswith("div") and element.block:
            self.labels.division_end(self.builder.length)

    def _end_state(self, element: Open, state: _State) -> None:
        """An element ends of which it was kept where it began."""
        if element.name == "ref":
            self._drop_reference(element, state)
        elif element.name == "am":
            self._last_am = self.builder.position, state
        elif element.name == "g" and self.builder.length == state[0].length and not self._words:
            # An ornament or a mark between words; a letter would be written out.
            self.builder.word_border()

    def text(self, pieces: Sequence[str], starts: Sequence[int], stop: int) -> None:
        """Characters."""
        top, data = self.nodes.stack[-1], "".join(pieces)
        if self._headers:
            self.header.text([each.name for each in self.nodes.stack], data)
        else:
            self.notes.text(data)
            omission = self._omission_of(top, data)
            if omission is None:
                self.builder.text(data, pieces, starts, stop, self._raw)
            else:
                omission.add(data)
                if not self._words and _takes_blanks(omission, data):
                    self.builder.word_border()
        self._raw += len(data)

    def _omission_of(self, top: Open, data: str) -> Omission | None:
        """What characters are left out with, or None where they are read."""
        if top.omission is not None:
            return top.omission
        if top.name in ELEMENTS_ONLY:
            if not data.strip():
                return self._nothing
            if top not in self._stray:
                self._stray[top] = self._omission(top.name, "element", top.line)
            return self._stray[top]
        return next(iter(self.deletions.values()), None)

    def cdata(self, begins: bool, start: int, stop: int) -> None:
        """A CDATA section begins or ends: an element in which nothing can be marked up."""
        if begins:
            top = self.nodes.stack[-1]
            element = self.nodes.push("#cdata", "", start, self._raw, out=top.out, block=False)
            element.hidden, element.language = top.hidden, top.language
            # Between the readings of an `app` there is nothing to read, in CDATA or not.
            element.omission = self._nothing if top.name in ELEMENTS_ONLY else top.omission
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

    def _is_chosen(self, local: str, attributes: Attributes, line: int) -> bool:
        """Whether a child of a `choice` or `app` is read; another one may give way to it."""
        if local == "am" and self._am_is_written_out():
            return False
        holder = self._holder()
        if holder is None or local == "rdgGrp":
            return True
        if local in BREAKS or local == "note" or (holder.name == "app" and local not in _READINGS):
            return False
        sureness = SURENESS.get(attributes.get("cert", ""), 1) if holder.name == "choice" else 0
        rank = CHOSEN.get(local, 1), sureness
        before, state = self._chosen.get(holder), self._states[holder]
        if before is not None:
            empty = self.builder.length == state[0].length and before.name in _MAY_BE_EMPTY
            if rank <= before.rank and not empty:
                return False
            self._leave_out_since(state, before.name, before.line)
        self._chosen[holder] = _Reading(local, rank, line)
        return True

    def _holder(self) -> Open | None:
        """The `choice` or `app` whose child comes next, groups of readings aside."""
        for element in reversed(self.nodes.stack):
            if element.name in _CHOICES:
                return element if element in self._states else None
            if element.name != "rdgGrp":
                return None
        return None

    def _am_is_written_out(self) -> bool:
        """Whether the letters that a mark of abbreviation stands for are in the text."""
        if any(each.name == "expan" for each in self.nodes.stack):
            return True
        in_choice = self.nodes.stack[-1].name == "choice"
        return not in_choice and self._last_ex == self.builder.position

    def _give_way_to_ex(self) -> None:
        """Leave out an `am` right before the `ex` that begins."""
        if self._last_am is not None and self.nodes.stack[-2].name != "choice":
            position, state = self._last_am
            if position == self.builder.position:
                self._leave_out_since(state, "am", self.nodes.stack[-1].line)
        self._last_am = None

    def _leave_out_since(
        self, state: _State, what: str, line: int, cause: Cause = "variant"
    ) -> None:
        """Take words out of the text again."""
        if words := self.builder.since(state[0]).strip():
            xpath = self.nodes.path(self.namespaced)
            omission = Omission(what, cause, state[0].length, line, xpath)
            omission.add(words)
            self.omissions.append(omission)
        self._go_back(state)

    def _count(self, element: Open, attributes: Attributes, place: int) -> None:
        """Line ends and the numbers of pages, lines and sections."""
        local = element.name
        if local in BREAKS:
            self._break(attributes)
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

    def _break(self, attributes: Attributes) -> None:
        """A break of a line, page or column; within a `w` it separates only if it says so."""
        joins = joins_words(attributes)
        if not joins and self._words and attributes.get("break") != "yes":
            began, _ = next(iter(self._words.values()))
            if self.builder.length > began:
                joins, self._soft_joint = True, self.builder.length
        self.builder.line_break(joins)

    def _border(self, element: Open, attributes: Attributes) -> None:
        """Words do not go over some elements, blank or not."""
        local = element.name
        if element.out:
            return
        if is_word(local, attributes):
            self._begin_word(element, attributes)
        elif self._words:
            return
        elif local == "milestone" and joins_words(attributes):
            self.builder.line_break(joins=True)
        elif local in UNITS or (local in BORDERS and element is not self._deletion_end):
            self.builder.word_border()

    def _begin_word(self, element: Open, attributes: Attributes) -> None:
        part, join = attributes.get("part", ""), attributes.get("join", "")
        if not self._words:
            goes_on = part in ("M", "F") or "prev" in attributes
            if join in ("left", "both") or (
                self._unfinished == self.builder.length and (goes_on or self._joins_next)
            ):
                self.builder.word_goes_on()
            else:
                self.builder.word_border()
        self._joins_next = join in ("right", "both")
        unfinished = part in ("I", "M") or "next" in attributes or self._joins_next
        self._words[element] = self.builder.length, unfinished

    def _end_word(self, element: Open) -> None:
        _, unfinished = self._words.pop(element)
        if self._words:
            return
        if self._soft_joint == self.builder.length:
            self.builder.break_off()
        self._soft_joint = -1
        self._unfinished = self.builder.length if unfinished else -1
        self.builder.word_border()

    def _begin_deletion(self, attributes: Attributes, line: int) -> None:
        """Words are deleted up to an element with an id, which comes later."""
        target = attributes.get("spanTo", "").removeprefix("#")
        if not target:
            self.remarks.append(f"line {line}: a delSpan has no spanTo; nothing is left out for it")
        elif target in self._endless:
            self.remarks.append(
                f"line {line}: a delSpan goes to {attributes['spanTo']!r}, which does not come "
                "after it; nothing is left out for it"
            )
        elif target not in self.deletions:
            self.deletions[target] = self._omission("delSpan", "deletion", line)

    def _end_deletion(self, attributes: Attributes) -> None:
        self._deletion_end = None
        if self.deletions and (identifier := attributes.get("xml:id", "")) in self.deletions:
            del self.deletions[identifier]
            self._deletion_end = self.nodes.stack[-1]

    def _drop_reference(self, element: Open, state: _State) -> None:
        """Leave out a `ref` that holds a reference or the mark of a note, not words."""
        words = self.builder.since(state[0])
        quoted = any(each.name in _QUOTES for each in self.nodes.stack)
        if not words.strip() or is_printed_reference(words, quoted=quoted):
            self.notes.leave_out_last(element)
            self._leave_out_since(state, "ref", element.line, "element")

    def _state(self) -> _State:
        return self.builder.mark(), self.labels.mark()

    def _go_back(self, state: _State) -> None:
        self.builder.back_to(state[0])
        self.labels.back_to(state[1])


def _takes_blanks(omission: Omission, data: str) -> bool:
    """Whether the words on both sides of what is left out are words apart."""
    if omission.cause == "language":
        return not data.isspace()
    spaced = data[0].isspace() or data[-1].isspace()
    return spaced and (omission.cause == "deletion" or omission.what in ("del", "surplus"))


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


def read_tei(
    path: Path,
    *,
    keep: frozenset[str] = frozenset(),
    languages: frozenset[str] = frozenset(),
) -> SourceText:
    """Read a TEI file.

    It is read as a stream; memory holds its text, some numbers for each line and element, and
    its notes.

    Args:
        path: TEI P5, in UTF-8, UTF-16, ISO-8859-1 or another encoding of one byte a character,
            as the file declares.
        keep: Elements whose words are read although they are left out by default, such as `note`.
        languages: Values of `xml:lang` that are read besides Latin; `all` is every one.

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
    reader = TeiReader(path, keep, languages)
    facts = read_events(path, reader)
    # A deletion to an id that never comes would leave out all the rest.
    endless: frozenset[str] = frozenset()
    while reader.deletions:
        endless |= reader.deletions.keys()
        reader = TeiReader(path, keep, languages, endless)
        facts = read_events(path, reader)
    text = reader.builder.finished()
    left_out = _left_out(reader, len(text))
    if not text:
        told = left_out_note(left_out)
        raise InputError(
            f"{path}: there is no text outside of its header, notes and apparatus; "
            + (told or "give it some")
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
        left_out=left_out,
        remarks=tuple(reader.remarks),
    )


def _left_out(reader: TeiReader, length: int) -> tuple[LeftOut, ...]:
    """What was left out, in the order of the file, without what has no words."""
    # What stands in a reading that had to give way may point behind the end of the text.
    for omission in reader.omissions:
        omission.start = min(omission.start, length)
    found = (omission.finished() for omission in reader.omissions if omission.words)
    return tuple(sorted(found, key=lambda each: (each.start, each.line)))
