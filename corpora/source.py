"""Source texts: what is read for allusions, with the place of every character."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from allusion_es.core.errors import UsageError
from allusion_es.corpora.left_out import LeftOut
from allusion_es.corpora.source_map import Labels, TextMap
from allusion_es.corpora.tei.events import FileFacts

SourceKind = Literal["text", "tei", "html", "docx"]
"""What a source file is: plain text, TEI P5, a web page, or a document of a word processor."""

SOURCE_KINDS: tuple[SourceKind, ...] = get_args(SourceKind)


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a TEI file already says of a stretch of its text.

    Attributes:
        element: `quote`, `q`, `cit`, `ref`, `bibl`, `note`, `seg` or `app`.
        start: Where its words start in the plain text; where it stands, if they are left out.
        end: Where they end, exclusive; `start`, if they are left out.
        text: Its own words, blanks put together, if they are left out; else "". Of a very long
            note the first hundred thousand characters.
        target: What it refers to: its `cRef`, `target`, `source`, `corresp`, or a `bibl`'s `n`.
        type: Its `type`, or "".
        id: Its `xml:id`, or "".
        xpath: The path to it.
        line: The line of the file on which it begins, from 1.
        parent: The annotation around it, its number among all, or -1.
        next: The id of the element that goes on with its words, or "".
        left_out: What it stands in, or is, if that is no part of the text: a `front`, words of
            another language; else "".
        follows: What is left out directly before it, if that is words of another language or
            deleted ones, so that it may go to them; else "".
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
    """Where a stretch of a source text stands.

    Attributes:
        page: Page (`pb`), or "".
        line: Line (`lb`, `l`; of a plain file the line of the file), or "".
        section: The numbers of the sections around it (`1.4`), or "".
        xpath: The path to the innermost element around it, or "".
        offset: Its first character, counted from the start of that element's whole text (of a
            plain file: of the text), notes and blanks included.
        length: Its characters, counted likewise.
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
        kind: What it is.
        text: Its words for analysis. Of a plain file the whole text, character by character; of
            TEI what `tei.read_tei` makes of it; of a page or document its paragraphs, a line each.
        map: Where each character of `text` stands in the file.
        facts: What the file was when it was read.
        title: The work's title, or "".
        author: Its author, or "".
        pages: Where pages begin.
        lines: Where lines begin.
        sections: Where sections begin.
        annotations: What the file itself says, in the order of the start tags.
        ids: Where the elements with an `xml:id` stand: start and end in `text`.
        pointers: Where the first `ref` or `ptr` stands that points to an id.
        insert_at: The byte after the file's header, where a `standOff` may go; -1 without one.
        prefix: What stands before element names of TEI (`tei:`), or "".
        reserved: The ids of the whole file that begin with `allusion`.
        left_out: What the file has besides the text, in the order of the file.
        remarks: What an editor should know of how it was read, a line each.
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
    prefix: str = ""
    reserved: frozenset[str] = frozenset()
    left_out: tuple[LeftOut, ...] = ()
    remarks: tuple[str, ...] = ()

    def place(self, start: int, end: int) -> Place:
        """Where the characters from `start` to `end` of the text stand.

        Raises:
            UsageError: There are no such characters.
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


def read_source(
    path: Path,
    *,
    kind: SourceKind | None = None,
    keep: frozenset[str] = frozenset(),
    languages: frozenset[str] = frozenset(),
) -> SourceText:
    """Read a file to look for allusions in.

    Args:
        path: A UTF-8 text, DOCX, or TEI P5 or HTML in the encoding that it declares.
        kind: What it is; by default as its name and first bytes say (`formats.kind_of`).
        keep: Elements of TEI whose words are read although they are left out by default, such as
            `note`.
        languages: Values of `xml:lang` that are read besides Latin; `all` is every one.

    Raises:
        InputError: It cannot be read as that; the message says where and why.
        UsageError: There is no such kind.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.txt")
        ...     _ = path.write_text("Gustate et videte.")
        ...     read_source(path).place(8, 10)
        Place(page='', line='1', section='', xpath='', offset=8, length=2)
    """
    from allusion_es.corpora.formats import kind_of
    from allusion_es.corpora.source_plain import read_document, read_plain
    from allusion_es.corpora.tei.reader import read_tei

    if kind is not None and kind not in SOURCE_KINDS:
        known = ", ".join(SOURCE_KINDS)
        raise UsageError(f"there is no kind of source {kind!r}; use one of {known}")
    found = kind or kind_of(path)
    if found == "tei":
        return read_tei(path, keep=keep, languages=languages)
    if found == "html" or found == "docx":
        return read_document(path, found)
    return read_plain(path, check=kind is None)
