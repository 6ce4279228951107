"""The reader of TEI P5: the words of a file in their order, with the place of every character.

The header, notes, apparatus and the elements that `rules` lists are left out. In `choice` the
correction, the regularised and the expanded form are read (`corr`, `reg`, `expan`), in `app` the
`lem`, or the first reading if there is none; other readings are left out. `supplied`, `add` and
`unclear` are read as they stand; a `gap` adds nothing. Blocks (`p`, `l`, `head`, …) are lines of
the plain text; other line ends and blanks in a row are one blank. A break of line or page separates
words unless it says `break="no"`; a word that a hyphen breaks at a line end is one word, without
the hyphen.

Some decisions depend on what comes later in the file (a better reading in a `choice`, an empty
`reg`, the end of a `delSpan`). The reader then returns to a saved state of the text and its labels,
or, for a deletion without an end, reads the file again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from allusion_es.core.errors import InputError
from allusion_es.corpora.left_out import Cause, LeftOut, Omission, left_out_note
from allusion_es.corpora.source_text import SourceText, TextMap, check_latin
from allusion_es.corpora.tei.citations import CitationCollector, CitedUnit
from allusion_es.corpora.tei.collectors import (
    AnnotationCollector,
    ElementStack,
    HeaderCollector,
    LabelCollector,
    OpenElement,
    TextBuilder,
    TextPosition,
)
from allusion_es.corpora.tei.events import Attributes, read_events
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

_ROOTS = frozenset({"TEI", "teiCorpus"})
_CHOICES = frozenset({"choice", "app"})
_READINGS = frozenset({"lem", "rdg", "rdgGrp"})
_QUOTES = frozenset({"cit", "q", "quote"})
_MAY_BE_EMPTY = frozenset({"ex", "expan", "rdg", "reg"})
"""Readings that are no reading where they are empty; a `lem` or `corr` may mean an omission."""


def read_tei(
    path: Path,
    *,
    keep: frozenset[str] = frozenset(),
    languages: frozenset[str] = frozenset(),
) -> SourceText:
    """Return the text of a TEI file.

    The file is streamed; memory holds its text, some numbers for each line and element, and its
    notes.

    Args:
        path: TEI P5, in UTF-8, UTF-16, ISO-8859-1 or another encoding of one byte a character,
            as the file declares.
        keep: Elements that are left out by default and shall be read, such as `note`.
        languages: Values of `xml:lang` that are read besides Latin; `all` means every language.

    Raises:
        InputError: The file is not well-formed, not TEI, declares entities, or has no Latin text.

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
    return _read(path, keep, languages)[0]


@dataclass(frozen=True, slots=True)
class CitedText:
    """A text of a TEI file, of which a `teiCorpus` has several, and what is cited of it.

    Attributes:
        title: Its title, or that of the corpus, or "".
        author: Its author, or that of the corpus, or "".
        urn: The edition's name in its CTS URN (`phi0690.phi003.perseus-lat2`), or "".
        name: What tells it from the others of a corpus: its `xml:id`, or its number; "" in a file
            of one text.
        units: The stretches that are cited, in their order (`CitationCollector.units`); the whole
            text where it has no citations.
    """

    title: str
    author: str
    urn: str
    name: str
    units: tuple[CitedUnit, ...]


def read_cited_tei(
    path: Path, *, languages: frozenset[str] = frozenset()
) -> tuple[SourceText, list[CitedText]]:
    """Return the text of a TEI file, and the texts that it consists of with what is cited of each.

    Args:
        path: As for `read_tei`; the errors are the same.
        languages: Values of `xml:lang` that are read besides Latin; `all` means every language.
    """
    source, reader = _read(path, frozenset(), languages)
    texts = []
    for number, part in enumerate(reader.texts, start=1):
        units = tuple(part.citations.units(source))
        has_texts = any(other.around is part for other in reader.texts)
        if not units and not has_texts and source.text[part.start : part.end].strip():
            units = (CitedUnit("", part.start, part.end, part.line),)
        texts.append(
            CitedText(
                part.found("title"),
                part.found("author"),
                part.citations.urn,
                (part.name or str(number)) if len(reader.texts) > 1 else "",
                units,
            )
        )
    return source, texts


def _read(
    path: Path, keep: frozenset[str], languages: frozenset[str]
) -> tuple[SourceText, "TeiReader"]:
    """The text of a file, and the reader that has read it."""
    reader = TeiReader(path, keep, languages)
    facts = read_events(path, reader)
    # A `delSpan` to an id that never comes would leave out the rest of the file. Only the end of
    # the file shows that, so the file is read again with such deletions ignored.
    endless: frozenset[str] = frozenset()
    while reader.deletions:
        endless |= reader.deletions.keys()
        reader = TeiReader(path, keep, languages, endless)
        facts = read_events(path, reader)
    text = reader.builder.finished()
    left_out = _left_out(reader, len(text))
    if not text:
        note = left_out_note(left_out)
        raise InputError(
            f"{path}: there is no text outside of its header, notes and apparatus; "
            + (note or "give it some")
        )
    check_latin(text, path)
    runs, nodes = reader.builder.runs, reader.elements.finished(reader.builder.runs, len(text))
    text_map = TextMap(text, facts.codec, runs, nodes, namespaced=reader.namespaced)
    source = SourceText(
        path=path,
        kind="tei",
        text=text,
        map=text_map,
        facts=facts,
        title=reader.found("title"),
        author=reader.found("author"),
        pages=reader.labels.pages(),
        lines=reader.labels.lines(),
        sections=reader.labels.sections(),
        annotations=reader.annotations.finished(nodes),
        ids=reader.annotations.ids(nodes),
        pointers=reader.annotations.pointers,
        insert_at=reader.insert_at,
        describe_at=reader.describe_at,
        prefixes=frozenset(reader.prefixes),
        prefix=reader.prefix,
        reserved=frozenset(reader.annotations.reserved),
        left_out=left_out,
        remarks=tuple(reader.remarks),
    )
    return source, reader


def _left_out(reader: "TeiReader", length: int) -> tuple[LeftOut, ...]:
    """The omissions that have words, in the order of the file."""
    # An omission inside a reading that was taken back may lie behind the end of the text.
    for omission in reader.omissions:
        omission.start = min(omission.start, length)
    found = (omission.finished() for omission in reader.omissions if omission.words)
    return tuple(sorted(found, key=lambda each: (each.start, each.line)))


_State = tuple[TextPosition, tuple[int, int, int, int, int]]


@dataclass(frozen=True, slots=True)
class _Reading:
    """The child of a `choice` or `app` that is read so far; a later child may replace it."""

    name: str
    rank: tuple[int, int]
    line: int


@dataclass(slots=True)
class _Part:
    """A text of the file, or a corpus of several: what its own header says and its own numbers are.

    Attributes:
        depth: How many elements are open in it, itself among them.
        around: The corpus that it is in, or None.
        name: Its `xml:id`, or "".
        line: Its line in the file.
        start: The length of the file's text when it began.
        end: The same when it ended.
        header: Takes its header.
        citations: Takes its elements.
    """

    depth: int
    around: "_Part | None" = None
    name: str = ""
    line: int = 1
    start: int = 0
    end: int = 0
    header: HeaderCollector = field(default_factory=HeaderCollector)
    citations: CitationCollector = field(default_factory=CitationCollector)

    def found(self, what: str) -> str:
        """The `title` or `author` of its header, or else of the corpus around it, or ""."""
        own = self.header.found(what)
        return own or ("" if self.around is None else self.around.found(what))


class TeiReader:
    """Receives the events of a TEI file (`events.Events`) and collects its text and annotations.

    Args:
        path: The file, for messages.
        keep: Elements that are left out by default and shall be read.
        languages: Languages that are read besides Latin.
        endless: Ids at which deletions claim to end but which do not follow them; such deletions
            are ignored.
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
        self.elements = ElementStack()
        self.labels = LabelCollector()
        self.annotations = AnnotationCollector()
        # The file, or what of it is being read: in a `teiCorpus` each text has its own header.
        self._part = _Part(depth=1)
        self.texts: list[_Part] = []
        self.omissions: list[Omission] = []
        self.remarks: list[str] = []
        # The deletions (`delSpan`) that are open, by the id at which each ends.
        self.deletions: dict[str, Omission] = {}
        self.namespaced = False
        self.prefix = ""
        self.insert_at = -1
        self.describe_at = -1
        self.prefixes: set[str] = set()
        # Characters of the document so far, notes and blanks included.
        self._raw = 0
        # For each open element the namespaces in scope, by prefix.
        self._spaces: list[dict[str, str]] = [{}]
        # How many `teiHeader` are open; a `teiCorpus` has one of its own and one for each text.
        self._headers = 0
        # For each open `choice`, `app`, `ref`, `am` and `g` the state of the text when it began, to
        # which the reader returns if its words turn out not to be read.
        self._states: dict[OpenElement, _State] = {}
        self._chosen: dict[OpenElement, _Reading] = {}
        # Characters directly in an element that may hold only elements, such as `choice`.
        self._stray: dict[OpenElement, Omission] = {}
        # Takes the blanks between such elements, and is never reported.
        self._nothing = Omission("", "element", 0, 0, "")
        # The words (`w`) that are open, each with the length of the text when it began and whether
        # it continues in another element.
        self._words: dict[OpenElement, tuple[int, bool]] = {}
        # The length of the text when a word ended that continues in another element; -1 for none.
        self._unfinished, self._joins_next = -1, False
        # The length at a line break that joins only because it stands inside a `w`; -1 for none.
        self._soft_joint = -1
        # The position of the text at the end of the last `am` and `ex`, with the state before the
        # `am`: letters that an abbreviation mark stands for replace the mark next to them.
        self._last_am: tuple[tuple[int, int], _State] | None = None
        self._last_ex: tuple[int, int] | None = None
        self._deletion_end: OpenElement | None = None
        self._last_foreign: Omission | None = None

    def found(self, what: str) -> str:
        """The `title` or `author` of the file, or "": of a corpus of one text, the text's."""
        (*_, last) = self.texts or [self._part]
        return (last if len(self.texts) < 2 else self._part).found(what)

    def opened(self, codec: str) -> None:
        """Take the encoding, which tells how many bytes each character has."""
        self.builder = TextBuilder(_width(codec), self.elements.current)

    def begin(self, name: str, attributes: Attributes, start: int, line: int) -> None:
        """Decide whether an element's words are read, and tell the collectors."""
        local, prefix = self._resolve(name, attributes, line)
        parent = self.elements.stack[-1] if self.elements.stack else None
        if parent is None:
            self._check_root(local, prefix, name, line)
        around = parent.language if parent else ""
        # `lang` without a prefix belongs to older TEI, but many P5 files still have it.
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
        self.annotations.reserve(attributes)
        element = self.elements.push(
            local, prefix, start, self._raw, out=hidden or foreign, block=block
        )
        element.hidden, element.language, element.line = hidden, language, line
        if local in _ROOTS:
            self._begin_part(local, attributes, line)
        if local == "teiHeader":
            self._headers += 1
        if self._headers:
            if local == "prefixDef":
                self.prefixes.add(attributes.get("ident", ""))
            self._part.header.begin([each.name for each in self.elements.stack])
            self._part.citations.declared.begin(local, attributes)
            return
        if not hidden:
            self._part.citations.begin(element, attributes, line, self.builder.length)
        if element.out:
            cause: Cause = "language"
            if variant:
                hidden_as, cause = local, "variant"
            elif hidden_as:
                is_part = local in PARTS or local.startswith("div")
                cause = "part" if is_part else "element"
            self._leave_out(element, parent, hidden_as, cause, line)
        self._begin_text(element, attributes, line)

    def _begin_part(self, local: str, attributes: Attributes, line: int) -> None:
        """Begin a text of the file, or a corpus in a corpus."""
        depth = len(self.elements.stack)
        if depth > 1:
            self._part = part = _Part(depth, around=self._part)
            # It is cited as the corpus says, if it does not say so itself.
            assert part.around is not None
            part.citations.declared.inherit(part.around.citations.declared)
        self._part.name = attributes.get("xml:id", "")
        self._part.line, self._part.start = line, self.builder.length
        if local == "TEI":
            self.texts.append(self._part)

    def _end_part(self) -> None:
        """Go on with the corpus around the text that ends."""
        self._part.end = self.builder.length
        if self._part.around is not None:
            self._part = self._part.around

    def _leave_out(
        self,
        element: OpenElement,
        parent: OpenElement | None,
        hidden_as: str,
        cause: Cause,
        line: int,
    ) -> None:
        """Leave out an element's words, in a new omission or as part of the one around it."""
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
            has_option = cause in ("element", "part") and element.name[0] != "{"
            option = f"--keep {element.name}" if has_option else ""
            if element.name in BORDERS:
                self.builder.word_border()
        element.omission = self._omission(hidden_as, cause, line, option)

    def _omission(self, what: str, cause: Cause, line: int, option: str = "") -> Omission:
        xpath = self.elements.path(self.namespaced)
        omission = Omission(what, cause, self.builder.length, line, xpath, option)
        self.omissions.append(omission)
        if cause in ("language", "deletion"):
            self._last_foreign = omission
        return omission

    def _begin_text(self, element: OpenElement, attributes: Attributes, line: int) -> None:
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
            self.annotations.identify(element, attributes, place)
            if local == "delSpan":
                self._begin_deletion(attributes, line)
        elif local == "pb" and element.omission is not None and element.omission.cause == "part":
            # The last page of a preface may also be the first page of the text.
            self.labels.page(attributes, place)
        if local in ANNOTATED and (
            local not in ("said", "seg") or "source" in attributes or "corresp" in attributes
        ):
            xpath = self.elements.path(self.namespaced)
            around = self._hidden_around()
            before = self._last_foreign
            follows = before.what if before and before.words and before.start == place else ""
            self.annotations.begin(element, attributes, place, xpath, line, around, follows)

    def _hidden_around(self) -> str:
        """The name of the part or language that is left out around the innermost element, or ""."""
        if self.deletions:
            return "delSpan"
        for element in reversed(self.elements.stack):
            if element.omission is None:
                break
            if element.omission.cause in ("part", "language"):
                return element.omission.what
        return ""

    def end(self, name: str, start: int, stop: int) -> None:
        """Close an element, and undo or finish what its start tag began."""
        depth = len(self.elements.stack)
        element = self.elements.pop(stop)
        self._spaces.pop()
        if self._headers:
            self._part.header.end(depth)
            self._part.citations.declared.end(element.name)
            if element.name == "fileDesc" and self.describe_at < 0:
                self.describe_at = stop
            if element.name == "teiHeader":
                self._headers -= 1
                if self.insert_at < 0:
                    self.insert_at = stop
            return
        self.annotations.end(element)
        self._part.citations.end(element)
        if element.name in _ROOTS and depth == self._part.depth:
            self._end_part()
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
            # An `app` without readings: some editions print such a note at the foot of the page.
            self.annotations.leave_out_last(element)
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

    def _end_state(self, element: OpenElement, state: _State) -> None:
        """Decide at the end of a `ref`, `am` or `g`, from its words, how they count."""
        if element.name == "ref":
            self._drop_reference(element, state)
        elif element.name == "am":
            self._last_am = self.builder.position, state
        elif element.name == "g" and self.builder.length == state[0].length and not self._words:
            # An ornament or a mark between words; a letter would be written out.
            self.builder.word_border()

    def text(self, pieces: Sequence[str], starts: Sequence[int], stop: int) -> None:
        """Add characters to the text, the header or an omission."""
        top, data = self.elements.stack[-1], "".join(pieces)
        if self._headers:
            self._part.header.text([each.name for each in self.elements.stack], data)
        else:
            self.annotations.text(data)
            omission = self._omission_of(top, data)
            if omission is None:
                self.builder.text(data, pieces, starts, stop, self._raw)
            else:
                omission.add(data)
                if not self._words and _takes_blanks(omission, data):
                    self.builder.word_border()
        self._raw += len(data)

    def _omission_of(self, top: OpenElement, data: str) -> Omission | None:
        """The omission that characters belong to, or None if they are read."""
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
        """Treat a CDATA section as an element (`#cdata`) into which no tag can be put."""
        if begins:
            top = self.elements.stack[-1]
            element = self.elements.push("#cdata", "", start, self._raw, out=top.out, block=False)
            element.hidden, element.language = top.hidden, top.language
            # Characters between the readings of an `app` are never text, not even in CDATA.
            element.omission = self._nothing if top.name in ELEMENTS_ONLY else top.omission
        else:
            self.elements.pop(stop)

    def _resolve(self, name: str, attributes: Attributes, line: int) -> tuple[str, str]:
        """Return an element's local name and its prefix with a colon.

        The name of an element of another namespace begins with `{}`, so that it equals no TEI name.
        """
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
        if not self.elements.stack:
            self.namespaced = space == TEI
        # A file whose first element has no namespace is read as if it were of TEI's.
        is_tei = space == (TEI if self.namespaced else "")
        return local if is_tei else "{}" + local, prefix + colon

    def _check_root(self, local: str, prefix: str, name: str, line: int) -> None:
        if local not in _ROOTS:
            older = "; TEI P4 is not read, convert it to P5" if name == "TEI.2" else ""
            raise InputError(
                f"{self._path}:{line}: the file's first element is <{name[:40]}>, not TEI's <TEI>"
                + (older or "; give a file in TEI P5, or plain text")
            )
        self.prefix = prefix

    def _is_chosen(self, local: str, attributes: Attributes, line: int) -> bool:
        """Whether a child of a `choice` or `app` is read; it may replace the one read so far."""
        # The mark (`am`) and the letters for it (`ex`) may both be there without a `choice`.
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
            # An empty `reg` or `expan` is no reading: the next child replaces it.
            empty = self.builder.length == state[0].length and before.name in _MAY_BE_EMPTY
            if rank <= before.rank and not empty:
                return False
            self._leave_out_since(state, before.name, before.line)
        self._chosen[holder] = _Reading(local, rank, line)
        return True

    def _holder(self) -> OpenElement | None:
        """The `choice` or `app` of which the next element is a child, directly or in a `rdgGrp`."""
        for element in reversed(self.elements.stack):
            if element.name in _CHOICES:
                return element if element in self._states else None
            if element.name != "rdgGrp":
                return None
        return None

    def _am_is_written_out(self) -> bool:
        """Whether the letters for an abbreviation mark (`am`) are in the text already."""
        if any(each.name == "expan" for each in self.elements.stack):
            return True
        in_choice = self.elements.stack[-1].name == "choice"
        return not in_choice and self._last_ex == self.builder.position

    def _give_way_to_ex(self) -> None:
        """Take back an `am` that stands right before the `ex` that begins."""
        if self._last_am is not None and self.elements.stack[-2].name != "choice":
            position, state = self._last_am
            if position == self.builder.position:
                self._leave_out_since(state, "am", self.elements.stack[-1].line)
        self._last_am = None

    def _leave_out_since(
        self, state: _State, what: str, line: int, cause: Cause = "variant"
    ) -> None:
        """Take the words since a state out of the text again, and record them as left out."""
        if words := self.builder.since(state[0]).strip():
            xpath = self.elements.path(self.namespaced)
            omission = Omission(what, cause, state[0].length, line, xpath)
            omission.add(words)
            self.omissions.append(omission)
        self._go_back(state)

    def _count(self, element: OpenElement, attributes: Attributes, place: int) -> None:
        """Count pages, lines and sections, and note line ends."""
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
        """Note a break; within a `w` it separates words only if it says so."""
        joins = joins_words(attributes)
        if not joins and self._words and attributes.get("break") != "yes":
            began, _ = next(iter(self._words.values()))
            if self.builder.length > began:
                joins, self._soft_joint = True, self.builder.length
        self.builder.line_break(joins)

    def _border(self, element: OpenElement, attributes: Attributes) -> None:
        """End the word before an element that separates words even without a blank."""
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

    def _begin_word(self, element: OpenElement, attributes: Attributes) -> None:
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

    def _end_word(self, element: OpenElement) -> None:
        _, unfinished = self._words.pop(element)
        if self._words:
            return
        if self._soft_joint == self.builder.length:
            self.builder.break_off()
        self._soft_joint = -1
        self._unfinished = self.builder.length if unfinished else -1
        self.builder.word_border()

    def _begin_deletion(self, attributes: Attributes, line: int) -> None:
        """Leave out words from a `delSpan` up to the element whose id it names."""
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
            self._deletion_end = self.elements.stack[-1]

    def _drop_reference(self, element: OpenElement, state: _State) -> None:
        """Take back a `ref` whose words are a printed reference or the mark of a note."""
        words = self.builder.since(state[0])
        quoted = any(each.name in _QUOTES for each in self.elements.stack)
        if not words.strip() or is_printed_reference(words, quoted=quoted):
            self.annotations.leave_out_last(element)
            self._leave_out_since(state, "ref", element.line, "element")

    def _state(self) -> _State:
        return self.builder.mark(), self.labels.mark()

    def _go_back(self, state: _State) -> None:
        self.builder.back_to(state[0])
        self.labels.back_to(state[1])


def _takes_blanks(omission: Omission, data: str) -> bool:
    """Whether the words before and after an omission are separate words."""
    if omission.cause == "language":
        return not data.isspace()
    spaced = data[0].isspace() or data[-1].isspace()
    return spaced and (omission.cause == "deletion" or omission.what in ("del", "surplus"))


def _width(codec: str) -> Callable[[str], int]:
    """Return a function that counts the bytes of a text in an encoding."""
    if codec == "utf-8":
        return lambda text: len(text) if text.isascii() else len(text.encode())
    if codec.startswith("utf-"):
        return lambda text: len(text.encode(codec))
    return len
