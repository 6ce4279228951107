"""The words of a DOCX file (Word, LibreOffice, Google Docs), a line for each paragraph.

The main text is read as a stream, so that memory holds the words only. What a tracked change
deleted or moved away, field codes, hidden text, and the old copies of text boxes are left out;
footnotes, headers and comments are parts of their own, which are not opened.
"""

import re
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from allusion_es.core.errors import InputError
from allusion_es.corpora.paragraphs import Document, Paragraphs

LARGEST = 256 << 20
"""Most bytes of the unpacked text: a small file may claim to be a huge one."""

_DEEPEST = 500
_CHUNK = 1 << 16
_PART = "word/document.xml"
_LEFT_OUT = frozenset(
    {"del", "moveFrom", "Fallback", "instrText", "delText", "rt", "rPrChange", "pPrChange"}
)
_HEADING = re.compile(
    r"(?:heading|title|titre|titolo|titulo|t.?tulo|.?berschrift)\s*\d*", re.IGNORECASE
)
_OFF = ("0", "false", "off")


def read_docx(path: Path) -> Document:
    """The text of a DOCX file and its headings.

    Raises:
        InputError: It cannot be read, is encrypted, too large, damaged, or declares a document
            type, which no word processor does.
    """
    reader = _Reader(path)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.data
    parser.StartDoctypeDeclHandler = reader.doctype
    try:
        with zipfile.ZipFile(path) as packed:
            info = next((each for each in packed.infolist() if each.filename == _PART), None)
            if info is None:
                raise InputError(f"{path}: there is no {_PART} in it; save it as DOCX")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InputError(f"{path}: packed in another way than DOCX files are; save it anew")
            if info.flag_bits & 1:
                raise InputError(f"{path}: the file is encrypted; save it without a password")
            if info.file_size > LARGEST:
                raise _too_large(path, info.file_size)
            with packed.open(info) as part:
                size = 0
                while chunk := part.read(_CHUNK):
                    size += len(chunk)
                    if size > LARGEST:
                        raise _too_large(path, size)
                    parser.Parse(chunk, False)
                parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise InputError(
            f"{path}: {_PART}:{error.lineno}: not well-formed XML "
            f"({expat.ErrorString(error.code)}); save the file anew"
        ) from error
    except (
        # What the standard library raises of damaged archives, and expat of odd encodings.
        zipfile.BadZipFile, zlib.error, EOFError, LookupError, NotImplementedError, RuntimeError,
        ValueError,
    ) as error:  # fmt: skip
        raise InputError(f"{path}: a damaged DOCX file ({error}); save it anew") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    return reader.done.document()


def _too_large(path: Path, size: int) -> InputError:
    return InputError(
        f"{path}: its text has {size:,} bytes unpacked, more than {LARGEST:,}; split the file"
    )


@dataclass(slots=True)
class _Paragraph:
    words: list[str] = field(default_factory=list)
    is_heading: bool = False


class _Reader:
    """Takes the elements of the main text."""

    def __init__(self, path: Path) -> None:
        self.done = Paragraphs()
        self._path = path
        self._depth = 0
        self._left_out = 0
        self._is_text = False
        self._is_hidden = False
        # A text box is a paragraph inside a paragraph: each has its own words and style.
        self._open: list[_Paragraph] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InputError(
                f"{self._path}: more than {_DEEPEST} elements inside each other; save it anew"
            )
        local = name.rpartition(" ")[2]
        if self._left_out or local in _LEFT_OUT:
            self._left_out += 1
            return
        value = next((v for key, v in attributes.items() if key.rpartition(" ")[2] == "val"), "")
        match local:
            case "p" if _is_word(name):
                self._open.append(_Paragraph())
            case "r":
                self._is_hidden = False
            case "vanish" | "webHidden":
                self._is_hidden = value not in _OFF
            case "pStyle" if self._open and _HEADING.fullmatch(value):
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
                # A letter of a font that only its font knows: the word is not to be another one.
                self._add("\ufffd")

    def end(self, name: str) -> None:
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
        if self._is_text and not self._left_out:
            self._add(data.replace("\n", " "))

    def doctype(self, *declared: object) -> None:
        raise InputError(
            f"{self._path}: {_PART} declares a document type, which no word processor does; save "
            "it anew"
        )

    def _add(self, text: str) -> None:
        if self._open and not self._is_hidden:
            self._open[-1].words.append(text)


def _is_word(name: str) -> bool:
    """Whether an element is one of the text, and not of a drawing in it."""
    return "wordprocessingml" in name.rpartition(" ")[0]
