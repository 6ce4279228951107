"""The words of a web page: what a reader sees, a line for each paragraph."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, lookup
from collections.abc import Mapping

from allusion_es.core.errors import InputError
from allusion_es.corpora.paragraphs import Document, Paragraphs

LARGEST = 64 << 20
"""Most bytes of a page."""

DEEPEST = 1000
"""Most elements inside each other: each end tag is looked for among them."""

_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]+)", re.IGNORECASE
)
_XML_DECLARED = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)")
# Others are none of the web's, and some of them cost much to read.
_KNOWN = re.compile(
    r"utf-8(-sig)?|utf-16|cp\d+|iso8859-\d+|mac-\w+|koi8-\w|gb\w+|big5|euc_\w+|shift_jis"
)
# Of these a parser of HTML reads everything that follows as script or title, whatever XHTML says.
_EMPTY = re.compile(
    r"<(script|style|title|iframe|textarea|noscript|template)\b([^<>]*)/>", re.IGNORECASE
)

_BLOCKS = frozenset(
    """
    address article aside blockquote body br caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li
    main menu ol p pre section summary table tbody td tfoot th thead tr ul
    """.split()  # noqa: SIM905
)
_LEFT_OUT = frozenset(
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
    r"""The text of a page, its title and its headings.

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
    from lxml import etree  # 20 ms, and most texts are no pages

    if len(data) > LARGEST:
        raise InputError(
            f"{source}: the page has more than {LARGEST:,} bytes; save its text as "
            "plain text in UTF-8"
        )
    text = _decoded(data, source)
    if text.lstrip().startswith("<?xml") or "http://www.w3.org/1999/xhtml" in text[:2000]:
        text = _EMPTY.sub(r"<\1\2></\1>", text)
        # The parser refuses texts that declare how their bytes were to be read.
        text = re.sub(r"^\s*<\?xml[^>]*>", "", text)
    reader = _Reader(source)
    parser = etree.HTMLParser(target=reader, no_network=True, remove_comments=True)
    try:
        for start in range(0, len(text), 1 << 16):
            parser.feed(text[start : start + (1 << 16)])
        if text:
            parser.close()
    except etree.LxmlError as error:
        raise InputError(f"{source}: cannot be read as HTML ({error})") from error
    return reader.paragraphs.document(reader.title, reader.author)


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
        if not _KNOWN.fullmatch(lookup(name).name):
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


class _Reader:
    """Takes what the parser finds, in its order."""

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
        is_out = tag in _LEFT_OUT or "hidden" in attributes
        is_out = is_out or bool(_HIDDEN.search(attributes.get("style", "")))
        if tag == "meta" and attributes.get("name", "").lower() in ("author", "dc.creator"):
            self.author = self.author or " ".join(attributes.get("content", "").split())
        if tag == "title":
            self._is_title = not self.title
        if tag in _BLOCKS:
            self.paragraphs.close()
        if tag in _VOID:
            return
        if len(self._open) >= DEEPEST:
            raise InputError(
                f"{self._source}: more than {DEEPEST} elements inside each other; save the text of "
                "the page as plain text in UTF-8"
            )
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
        if self._is_title:
            self.title = " ".join(f"{self.title}{data}".split())[:1000]
        if self._left_out:
            return
        if self._raised:
            self._raised[-1].append(data)
        else:
            self.paragraphs.add(data)

    def _lower(self, raised: list[str]) -> None:
        """What was raised goes into the text, unless it is the mark of a note."""
        is_note, self._is_note = self._is_note, False
        if not is_note and not self._left_out:
            self.paragraphs.add("".join(raised))

    def comment(self, text: str) -> None:
        """Comments are not read."""

    def close(self) -> None:
        self.paragraphs.close()


_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
