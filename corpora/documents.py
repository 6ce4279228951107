"""The words of web pages and DOCX files, a line for each paragraph.

`document_of` reads either kind. A page is parsed by lxml, a DOCX file (Word, LibreOffice, Google
Docs) is streamed through expat, since its XML may be large when unpacked: memory holds the words
only. Both leave out what a reader does not see: scripts, navigation, hidden text, words that a
tracked change deleted, field codes. Footnotes, headers and comments of a DOCX file are separate
parts of the archive and are not opened.
"""

import re
import zipfile
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, lookup
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Literal
from xml.parsers import expat

from allusion_es.core.errors import InputError
from allusion_es.corpora.source_text import Labels

_LONGEST_HEADING = 80  # characters of a section's label; longer ones fill a table's column
_LONGEST_TITLE = 10_000  # characters that are gathered, blanks included; a tenth of it is shown
_BLANKS = re.compile(r"[ \t\r\n\f]+")


@dataclass(frozen=True, slots=True)
class Document:
    """The words of a web page or a DOCX file.

    Attributes:
        text: The paragraphs, a line each.
        title: The document's title, or "".
        author: The author, or "".
        sections: The headings, each with its offset in `text`.
    """

    text: str
    title: str = ""
    author: str = ""
    sections: Labels = field(default_factory=Labels)


class Paragraphs:
    """Collects the pieces of text that a parser reports into paragraphs.

    Attributes:
        is_heading: Whether the paragraph that is open is a heading.
        is_preformatted: Whether its blanks and line ends are kept, as in `<pre>`.

    Example:
        >>> paragraphs = Paragraphs()
        >>> for piece in ("Gus", "tate  et", " videte"):
        ...     paragraphs.add(piece)
        >>> paragraphs.close()
        >>> paragraphs.document().text
        'Gustate et videte'
    """

    def __init__(self) -> None:
        """Start without a paragraph."""
        self.is_heading = False
        self.is_preformatted = False
        self._pieces: list[str] = []
        self._lines: list[str] = []
        self._size = 0
        self._starts: list[int] = []
        self._labels: list[str] = []

    def add(self, text: str) -> None:
        """Add a piece of text to the open paragraph."""
        self._pieces.append(text if self.is_preformatted else _BLANKS.sub(" ", text))

    def close(self) -> None:
        """End the open paragraph; one without words is dropped."""
        if not self._pieces:
            return
        text = "".join(self._pieces)
        self._pieces.clear()
        text = text.strip("\n") if self.is_preformatted else _BLANKS.sub(" ", text).strip(" ")
        if not text.strip():
            return
        if self.is_heading:
            self._starts.append(self._size)
            self._labels.append(" ".join(text.split())[:_LONGEST_HEADING])
        self._lines.append(text)
        self._size += len(text) + 1

    def document(self, title: str = "", author: str = "") -> Document:
        """The document made of all closed paragraphs."""
        sections = Labels(self._starts, self._labels)
        return Document("\n".join(self._lines), title, author, sections)


def document_of(path: Path, kind: Literal["html", "docx"], data: bytes | None = None) -> Document:
    """Return the words of a web page or a DOCX file, a line for each paragraph.

    Args:
        path: The file.
        kind: Which of the two it is.
        data: The file's content, where the caller has read it already.

    Raises:
        InputError: The file cannot be read as that kind; the message says why.
    """
    if kind == "docx":
        return read_docx(path, data)
    if data is None:
        try:
            with path.open("rb") as file:
                data = file.read(LARGEST_PAGE + 1)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    return read_html(data, str(path))


# Web pages

LARGEST_PAGE = 64 << 20
"""Most bytes of a web page; the largest real ones (whole books) have a few megabytes."""

DEEPEST_PAGE = 1000
"""Most elements inside each other. An end tag is searched for among all open elements, so that
without a limit a hostile page would take time quadratic in its size."""

_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]+)", re.IGNORECASE
)
_XML_DECLARED = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)")
# The encodings that the web uses. Python knows others, some of which take very long to decode.
_KNOWN_ENCODINGS = re.compile(
    r"utf-8(-sig)?|utf-16|cp\d+|iso8859-\d+|mac-\w+|koi8-\w|gb\w+|big5|euc_\w+|shift_jis"
)
# XHTML may close these as `<script/>`. An HTML parser takes that for a start tag and would read
# the rest of the page as script or title, so they are written out as a start and an end tag.
_SELF_CLOSED = re.compile(
    r"<(script|style|title|iframe|textarea|noscript|template)\b([^<>]*)/>", re.IGNORECASE
)

_BLOCKS = frozenset(
    """
    address article aside blockquote body br caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li
    main menu ol p pre section summary table tbody td tfoot th thead tr ul
    """.split()  # noqa: SIM905
)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_PAGE_LEFT_OUT = frozenset(
    """
    audio button canvas datalist del embed head iframe map math nav noembed noframes
    noscript object rp rt script select style svg template textarea title video
    """.split()  # noqa: SIM905
)
_VOID = frozenset(
    """
    area base br col embed hr img input link meta param source track wbr
    """.split()  # noqa: SIM905
)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def read_html(data: bytes, source: str) -> Document:
    r"""Return the text of a web page, its title and its headings.

    Scripts, styles, the head, navigation, hidden elements and marks of notes (a link that is
    raised) are left out. Blocks, cells and line breaks are lines of their own; elements inside a
    line separate no words. Character references are decoded.

    Args:
        data: The file.
        source: What messages begin with.

    Raises:
        InputError: The page is too large or too deep, in an unknown encoding, or not in the one
            that it declares.

    Example:
        >>> page = b"<title>Sermo</title><h1>I</h1><p>Gust<b>ate</b> et<br>c&aelig;li<script>x"
        >>> read_html(page, "a.html").text
        'I\nGustate et\ncæli'
    """
    from lxml import etree  # takes 20 ms to import, and most texts are not web pages

    if len(data) > LARGEST_PAGE:
        raise InputError(
            f"{source}: the page has more than {LARGEST_PAGE:,} bytes; save its text as "
            "plain text in UTF-8"
        )
    text = _decoded(data, source)
    if text.lstrip().startswith("<?xml") or "http://www.w3.org/1999/xhtml" in text[:2000]:
        text = _SELF_CLOSED.sub(r"<\1\2></\1>", text)
        # The parser refuses texts that declare how their bytes were to be read.
        text = re.sub(r"^\s*<\?xml[^>]*>", "", text)
    reader = _PageReader(source)
    parser = etree.HTMLParser(target=reader, no_network=True, remove_comments=True)
    try:
        for start in range(0, len(text), 1 << 16):
            parser.feed(text[start : start + (1 << 16)])
        if text:
            parser.close()
    except etree.LxmlError as error:
        raise InputError(f"{source}: cannot be read as HTML ({error})") from error
    return reader.paragraphs.document(" ".join(reader.title.split())[:1000], reader.author)


def _decoded(data: bytes, source: str) -> str:
    """The characters of a page: by its byte-order mark, what it declares, or as UTF-8."""
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        name = "utf-16"
    elif data.startswith(BOM_UTF8):
        name = "utf-8-sig"
    else:
        match = _DECLARED.search(data, 0, 4096) or _XML_DECLARED.match(data)
        name = match[1].decode() if match else "utf-8"
        # As the web reads it: what says Latin-1 is Windows-1252, what says UTF-16 here is not.
        name = {"iso-8859-1": "cp1252", "latin1": "cp1252", "latin-1": "cp1252",
                "us-ascii": "cp1252", "ascii": "cp1252"}.get(name.lower(), name)  # fmt: skip
        if name.lower().startswith(("utf-16", "utf16", "ucs-2")):
            name = "utf-8"
    if b"\0" in data and name != "utf-16":
        raise InputError(f"{source}: NUL byte at byte {data.index(0)}: it is no HTML; save it anew")
    try:
        if not _KNOWN_ENCODINGS.fullmatch(lookup(name).name):
            raise LookupError(name)
        return data.decode(name, "replace" if name == "cp1252" else "strict")
    except LookupError as error:
        raise InputError(
            f"{source}: the encoding {name[:40]!r} is not read; save the page as UTF-8"
        ) from error
    except UnicodeError as error:
        at = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = data.count(b"\n", 0, at) + 1
        raise InputError(
            f"{source}:{line}: byte {at} ({data[at]:#04x}) is not {name.upper()}; name the page's "
            "encoding in a <meta charset>, or save it as UTF-8"
        ) from error


class _PageReader:
    """The target of lxml's parser: receives tags and characters in the order of the page."""

    def __init__(self, source: str) -> None:
        self.paragraphs = Paragraphs()
        self.title = ""
        self.author = ""
        self._source = source
        self._open: list[tuple[str, bool]] = []
        self._left_out = 0
        self._raised: list[list[str]] = []
        self._is_note = False
        self._is_title = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open an element, which may begin a paragraph or be left out."""
        is_out = tag in _PAGE_LEFT_OUT or "hidden" in attributes
        is_out = is_out or bool(_HIDDEN.search(attributes.get("style", "")))
        if tag == "meta" and attributes.get("name", "").lower() in ("author", "dc.creator"):
            self.author = self.author or " ".join(attributes.get("content", "").split())
        if tag == "title":
            self._is_title = not self.title
        if tag in _BLOCKS:
            self.paragraphs.close()
        if tag in _VOID:
            return
        if len(self._open) >= DEEPEST_PAGE:
            raise InputError(
                f"{self._source}: more than {DEEPEST_PAGE} elements inside each other; save the "
                "text of the page as plain text in UTF-8"
            )
        # Superscript is the mark of a note if it is a link (`<sup><a>1</a></sup>`, or the other way
        # round); otherwise it is text (`<sup>o</sup>` after a numeral). Its end tells.
        if tag == "sup":
            self._is_note = any(name == "a" for name, _ in self._open)
            self._raised.append([])
        elif tag == "a" and self._raised:
            self._is_note = True
        self._open.append((tag, is_out))
        self._left_out += is_out
        self.paragraphs.is_heading = tag in _HEADINGS or self.paragraphs.is_heading
        self.paragraphs.is_preformatted = tag == "pre" or self.paragraphs.is_preformatted

    def end(self, tag: str) -> None:
        """Close an element and those inside it that have no end tag."""
        # An end tag without a start tag is ignored, as browsers do.
        if tag in _VOID or all(name != tag for name, _ in reversed(self._open)):
            return
        while self._open:
            name, is_out = self._open.pop()
            self._left_out -= is_out
            if name == "sup" and self._raised:
                self._lower(self._raised.pop())
            if name == tag:
                break
        if tag in _BLOCKS:
            self.paragraphs.close()
        if tag in _HEADINGS:
            self.paragraphs.is_heading = False
        if tag == "pre":
            self.paragraphs.is_preformatted = False
        self._is_title = self._is_title and tag != "title"

    def data(self, data: str) -> None:
        """Add characters to the title, to superscript text, or to the paragraph."""
        if self._is_title:
            # Gathered as it comes: a title with `&amp;` comes in pieces, whose blanks count.
            self.title = f"{self.title}{data}"[:_LONGEST_TITLE]
        if self._left_out:
            return
        if self._raised:
            self._raised[-1].append(data)
        else:
            self.paragraphs.add(data)

    def _lower(self, raised: list[str]) -> None:
        """Add superscript characters to the text, unless they are the mark of a footnote."""
        is_note, self._is_note = self._is_note, False
        if not is_note and not self._left_out:
            self.paragraphs.add("".join(raised))

    def comment(self, text: str) -> None:
        """Ignore comments; lxml requires the method."""

    def close(self) -> None:
        """End the last paragraph."""
        self.paragraphs.close()


# DOCX files

LARGEST_DOCX = 256 << 20
"""Most bytes of the unpacked text: a small file may claim to be a huge one."""

_DEEPEST_DOCX = 500  # nested tables reach a few dozen
_CHUNK = 1 << 16
_MAIN_PART = "word/document.xml"
_DOCX_LEFT_OUT = frozenset(
    {"del", "moveFrom", "Fallback", "instrText", "delText", "rt", "rPrChange", "pPrChange"}
)
_HEADING_STYLE = re.compile(
    r"(?:heading|title|titre|titolo|titulo|t.?tulo|.?berschrift)\s*\d*", re.IGNORECASE
)
_OFF = ("0", "false", "off")


def read_docx(path: Path, data: bytes | None = None) -> Document:
    """Return the text of a DOCX file and its headings.

    Args:
        path: The file.
        data: The file's content, where the caller has read it already.

    Raises:
        InputError: The file cannot be read, is encrypted, too large or damaged, or declares a
            document type, which no word processor does.
    """
    reader = _DocxReader(path)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.data
    parser.StartDoctypeDeclHandler = reader.doctype
    try:
        with zipfile.ZipFile(path if data is None else BytesIO(data)) as packed:
            info = next((each for each in packed.infolist() if each.filename == _MAIN_PART), None)
            if info is None:
                raise InputError(f"{path}: there is no {_MAIN_PART} in it; save it as DOCX")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InputError(f"{path}: packed in another way than DOCX files are; save it anew")
            if info.flag_bits & 1:
                raise InputError(f"{path}: the file is encrypted; save it without a password")
            if info.file_size > LARGEST_DOCX:
                raise _too_large(path, info.file_size)
            with packed.open(info) as part:
                size = 0
                while chunk := part.read(_CHUNK):
                    size += len(chunk)
                    if size > LARGEST_DOCX:
                        raise _too_large(path, size)
                    parser.Parse(chunk, False)
                parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise InputError(
            f"{path}: {_MAIN_PART}:{error.lineno}: not well-formed XML "
            f"({expat.ErrorString(error.code)}); save the file anew"
        ) from error
    except (
        # The standard library raises these for damaged archives, expat for odd encodings.
        zipfile.BadZipFile, zlib.error, EOFError, LookupError, NotImplementedError, RuntimeError,
        ValueError,
    ) as error:  # fmt: skip
        raise InputError(f"{path}: a damaged DOCX file ({error}); save it anew") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    return reader.done.document()


def _too_large(path: Path, size: int) -> InputError:
    return InputError(
        f"{path}: its text has {size:,} bytes unpacked, more than {LARGEST_DOCX:,}; split the file"
    )


@dataclass(slots=True)
class _OpenParagraph:
    words: list[str] = field(default_factory=list)
    is_heading: bool = False


class _DocxReader:
    """Receives the elements of a DOCX file's main text from expat."""

    def __init__(self, path: Path) -> None:
        self.done = Paragraphs()
        self._path = path
        self._depth = 0
        self._left_out = 0
        self._is_text = False
        self._is_hidden = False
        # Paragraphs that are open. A text box is a paragraph inside a paragraph, with words and
        # style of its own.
        self._open: list[_OpenParagraph] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element; breaks and tabs add characters to the paragraph."""
        self._depth += 1
        if self._depth > _DEEPEST_DOCX:
            raise InputError(
                f"{self._path}: more than {_DEEPEST_DOCX} elements inside each other; save it anew"
            )
        local = name.rpartition(" ")[2]
        if self._left_out or local in _DOCX_LEFT_OUT:
            self._left_out += 1
            return
        value = next((v for key, v in attributes.items() if key.rpartition(" ")[2] == "val"), "")
        match local:
            case "p" if _is_word(name):
                self._open.append(_OpenParagraph())
            case "r":
                self._is_hidden = False
            case "vanish" | "webHidden":
                self._is_hidden = value not in _OFF
            case "pStyle" if self._open and _HEADING_STYLE.fullmatch(value):
                self._open[-1].is_heading = True
            case "t":
                self._is_text = True
            case "tab" | "ptab":
                self._add(" ")
            case "br" | "cr":
                self._add("\n")
            case "noBreakHyphen":
                self._add("-")
            case "softHyphen":
                self._add("\u00ad")
            case "sym":
                # A character of a symbol font, known only to that font. Left out, it would turn the
                # word into another one, so U+FFFD stands for it.
                self._add("\ufffd")

    def end(self, name: str) -> None:
        """Close an element; the end of a `p` adds its lines as paragraphs."""
        self._depth -= 1
        if self._left_out:
            self._left_out -= 1
            return
        local = name.rpartition(" ")[2]
        if local == "t":
            self._is_text = False
        elif local == "p" and _is_word(name) and self._open:
            paragraph = self._open.pop()
            self.done.is_heading = paragraph.is_heading
            for line in "".join(paragraph.words).split("\n"):
                self.done.add(line)
                self.done.close()

    def data(self, data: str) -> None:
        """Add characters, if they stand in a `t` that is read."""
        if self._is_text and not self._left_out:
            self._add(data.replace("\n", " "))

    def doctype(self, *declared: object) -> None:
        """Refuse a document type, through which entities could come in."""
        raise InputError(
            f"{self._path}: {_MAIN_PART} declares a document type, which no word processor does; "
            "save it anew"
        )

    def _add(self, text: str) -> None:
        if self._open and not self._is_hidden:
            self._open[-1].words.append(text)


def _is_word(name: str) -> bool:
    """Whether an element belongs to the text and not to a drawing in it."""
    return "wordprocessingml" in name.rpartition(" ")[0]
