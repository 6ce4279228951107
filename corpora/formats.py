"""Kinds of files, recognised by name and first bytes; a file without readable text is refused.

Each refusal names the kind of file and says how to save its text instead: people try PDF, old Word
files and packed archives first.
"""

import json
import re
import zipfile
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from html.entities import html5
from pathlib import Path

from allusion_es.core.errors import InputError
from allusion_es.corpora.source_text import SourceKind

_FIRST = 1 << 14  # bytes that are looked at; signatures need 12, comments before <html> more
_TEI_SUFFIXES = frozenset({".xml", ".tei"})
_TEI_BEGINNINGS = ("<?xml", "<TEI", "<tei:TEI", "<!DOCTYPE TEI")
_HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml", ".xht"})
_HTML = re.compile(
    r"(?>\s+|<\?xml[^>]*>|<!--(?:(?!-->).)*+-->)*+(?:<!doctype\s+html|<html[\s>]|<head[\s>]|<body[\s>])",
    re.IGNORECASE | re.DOTALL,
)
TABLE_SUFFIXES = frozenset({".csv", ".tsv", ".tab"})
"""The suffixes of file names by which tables are recognised."""

JSON_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json"})
"""The suffixes of file names by which JSON lines are recognised."""

TESS_SUFFIX = ".tess"
"""The suffix of the texts of Tesserae."""

PASSAGE_SUFFIXES = TABLE_SUFFIXES | JSON_SUFFIXES | {TESS_SUFFIX}
"""The suffixes of files that have passages with ids, and not one text."""

_WORD = "word/document.xml"

_SAVE = "save it as plain text in UTF-8, HTML or DOCX"
_UNPACK = "unpack it first"
_OCR = "have its text recognised (OCR), and save that as plain text in UTF-8"
_JSON = "save its texts as plain text, or as JSON lines (.jsonl) with 'id' and 'text'"
_TEX = "convert it to plain text or HTML, as 'pandoc' and 'detex' do"

_SIGNATURES = (
    (b"%PDF-", "a PDF", _SAVE),
    (b"{\\rtf", "RTF", _SAVE),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Word or Excel file", _SAVE),
    (b"\xffWPC", "a WordPerfect file", _SAVE),
    (b"%!PS", "PostScript", _SAVE),
    (b"\x1f\x8b", "packed (gzip)", _UNPACK),
    (b"BZh", "packed (bzip2)", _UNPACK),
    (b"\xfd7zXZ\x00", "packed (xz)", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "packed (zstd)", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "packed (7z)", _UNPACK),
    (b"Rar!\x1a\x07", "packed (RAR)", _UNPACK),
    (b"\x89PNG\r\n", "an image", _OCR),
    (b"\xff\xd8\xff", "an image", _OCR),
    (b"GIF8", "an image", _OCR),
    (b"II*\x00", "an image", _OCR),
    (b"MM\x00*", "an image", _OCR),
    (b"RIFF", "an image or a recording", _OCR),
    (b"\x00\x00\x00\x0cjP  ", "an image", _OCR),
    (b"AT&TFORM", "DjVu", _OCR),
    (b"SQLite format 3\x00", "a database", _JSON),
)
_OF_LETTERS = (b"%PDF-", b"{\\rtf", b"%!PS")
_NAMES = {
    ".pdf": ("a PDF", _SAVE),
    ".rtf": ("RTF", _SAVE),
    **dict.fromkeys((".doc", ".dot"), ("an old Word file", _SAVE)),
    **dict.fromkeys((".odt", ".ott", ".fodt"), ("an OpenDocument text", _SAVE)),
    **dict.fromkeys((".pages", ".wpd", ".wps"), ("a file of a word processor", _SAVE)),
    **dict.fromkeys((".epub", ".mobi", ".azw3"), ("an e-book", _SAVE)),
    **dict.fromkeys((".tex", ".latex", ".ltx"), ("LaTeX", _TEX)),
    ".jsonld": ("JSON-LD", _JSON),
    **dict.fromkeys((".xls", ".xlsx", ".ods"), ("a spreadsheet", "save the sheet as CSV")),
    **dict.fromkeys((".ppt", ".pptx", ".odp"), ("a presentation", _SAVE)),
    **dict.fromkeys((".gz", ".bz2", ".xz", ".zst", ".zip", ".7z", ".rar", ".tar", ".tgz"),
                    ("packed", _UNPACK)),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".webp", ".bmp", ".jp2"),
                    ("an image", _OCR)),
    **dict.fromkeys((".djvu", ".djv"), ("DjVu", _OCR)),
    **dict.fromkeys((".ps", ".eps"), ("PostScript", _SAVE)),
}  # fmt: skip
_PACKED = (
    ("xl/", "an Excel sheet", "save the sheet as CSV"),
    ("ppt/", "a presentation", _SAVE),
    ("META-INF/container.xml", "an e-book (EPUB)", "unpack it, and give the XHTML files in it"),
    ("mimetype", "an OpenDocument file", _SAVE),
    ("Index/", "a Pages file", _SAVE),
)

_MARKUP = re.compile(
    r"(?P<tag></[A-Za-z][\w:.-]*\s*>|<br\s*/>|<[A-Za-z][\w:.-]*\s+[\w:.-]+\s*=\s*[\"'][^<>]*>"
    r"|<!--|<!\[CDATA\[|<!doctype\b|<(?:br|span|strong|table|h[1-6]|html|body|lb|pb)>"
    r"|(?P<bare><(?:p|li|td|i|b|em|div|hr)>)(?-i:(?=\s*[A-ZÆŒ])))"
    r"|(?P<entity>&(?:[A-Za-z][A-Za-z0-9]{1,30}|\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6});)"
    # Letters between a backslash and a stroke are added above the line (Leiden).
    r"|(?P<command>\\[A-Za-z]{2,}\*?(?:\s*[{\[]|(?![A-Za-z])(?!\\?[^\\/\n]{0,200}/)(?=[\s\\}]|$)))",
    re.IGNORECASE,
)
_JSON_BEGINNING = re.compile(
    r'\s*(?:\{\s*"(?:[^"\\]|\\.)*"\s*:|\[\s*(?:[{\[]|"(?:[^"\\]|\\.)*"\s*[,\]]))'
)


def kind_of(path: Path, *, tables: bool = False) -> SourceKind:
    """Return the kind of a file, by its name or else by its first bytes.

    Args:
        path: The file.
        tables: Whether the caller tells files of passages apart itself; they then count as text.

    Raises:
        InputError: The file cannot be opened, or is of a kind that is not read; the message says
            how to save it instead.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo")
        ...     _ = path.write_text("<!DOCTYPE html><p>Gustate")
        ...     kind_of(path)
        'html'
    """
    first = _first_bytes(path)
    suffix = path.suffix.lower()
    if suffix in _TEI_SUFFIXES:
        return "tei"
    check_signature(first, str(path))
    if first.startswith(b"PK\x03\x04") or first.startswith(b"PK\x05\x06"):
        return _packed_kind(path)
    if suffix in (".docx", ".docm", ".dotx"):
        raise InputError(f"{path}: no DOCX file, though its name says so; {_SAVE}")
    if suffix in _HTML_SUFFIXES:
        return "html"
    if suffix in PASSAGE_SUFFIXES:
        return "text" if tables else "passages"
    if suffix in _NAMES:
        raise _refusal(str(path), *_NAMES[suffix])
    text = _decoded(first)
    if _HTML.match(text):
        return "html"
    if not tables and looks_like_json(text):
        raise _refusal(str(path), "JSON", _JSON)
    return "tei" if text.lstrip().startswith(_TEI_BEGINNINGS) else "text"


def check_signature(first: bytes, where: str) -> None:
    """Refuse a file whose first bytes are the signature of another format, such as PDF.

    Args:
        first: The first bytes of the file.
        where: The start of the message, such as the file's path.

    Raises:
        InputError: It is such a file; the message says how to save it instead.
    """
    text = first.removeprefix(BOM_UTF8).lstrip()
    for signature, what, advice in _SIGNATURES:
        # An editor may have put a byte-order mark or a blank line before.
        if first.startswith(signature) or (signature in _OF_LETTERS and text.startswith(signature)):
            raise _refusal(where, what, advice)


def looks_like_json(text: str) -> bool:
    """Whether a text is JSON: an object or a list of objects, or one object a line.

    Example:
        >>> looks_like_json('{"text": "vir"}'), looks_like_json("[1] Beatus {vir}")
        (True, False)
    """
    return bool(_JSON_BEGINNING.match(text)) and _is_json(text)


def check_plain(text: str, where: str, *, is_line: bool = False) -> None:
    r"""Refuse markup in a file of plain text, which would be read as words.

    Refused are HTML, XML, LaTeX and JSON.
    Editors' brackets (`<est>`, `[sic]`) are allowed; closing tags, attributes, character references
    and commands with arguments are markup.

    Args:
        text: The text, or one of its lines.
        where: The start of the message.
        is_line: Whether the text is one line, whose number `where` already has.

    Raises:
        InputError: The text holds markup; the message says where, and what to do.

    Example:
        >>> check_plain("Gust<a>te [et] videte & audite", "sermo.txt")
        >>> check_plain("Gustate\n<p>et videte</p>", "sermo.txt")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        allusion_es.core.errors.InputError: sermo.txt:2: '</p>' is markup...
    """
    if looks_like_json(text):
        raise InputError(f"{where}: the file is JSON, not plain text; {_JSON}")
    if not ("<" in text or "&" in text or "\\" in text):
        return
    for match in _MARKUP.finditer(text):
        if match["entity"] and match["entity"][1] != "#" and match["entity"][1:] not in html5:
            continue
        # Editors supply letters in the same way, in the middle of a line (`<p>rincipium`).
        if match["bare"] and text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip():
            continue
        place = where if is_line else f"{where}:{text.count(chr(10), 0, match.start()) + 1}"
        advice = (
            _TEX
            if match["command"]
            else "if the file is HTML or TEI, name it .html or .xml; if not, take the markup out"
        )
        raise InputError(
            f"{place}: {match[0][:40]!r} is markup, which would be read as words; {advice}"
        )


def _is_json(text: str) -> bool:
    """Whether a text that begins as JSON is JSON: whole, in its first line, or cut off."""
    for part in (text, text.lstrip().split("\n", 1)[0]):
        try:
            json.loads(part)
        except json.JSONDecodeError as error:
            # An error at the very end means that the text was cut off, as the first bytes of a
            # file are: all before it was JSON.
            if error.pos >= len(part.rstrip()) - 1 or error.msg.startswith("Unterminated string"):
                return True
        except (ValueError, RecursionError):  # a number too long, lists too deep
            return True
        else:
            return True
    return False


def _first_bytes(path: Path) -> bytes:
    """The first bytes of a file; none of a pipe or device, which would not give them again."""
    if path.exists() and not path.is_file() and not path.is_dir():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(_FIRST)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def _decoded(first: bytes) -> str:
    codec = "utf-16" if first[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8"
    return first.removeprefix(BOM_UTF8).decode(codec, "ignore")


def _packed_kind(path: Path) -> SourceKind:
    """The kind of a ZIP archive; all but DOCX files are refused by name."""
    try:
        with zipfile.ZipFile(path) as packed:
            names = packed.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"{path}: a damaged ZIP or DOCX file; save it anew") from error
    if _WORD in names:
        return "docx"
    for beginning, what, advice in _PACKED:
        if any(name.startswith(beginning) for name in names):
            raise _refusal(str(path), what, advice)
    raise _refusal(str(path), "packed (ZIP)", _UNPACK)


def _refusal(where: str, what: str, advice: str) -> InputError:
    return InputError(f"{where}: the file is {what}, which is not read; {advice}")
