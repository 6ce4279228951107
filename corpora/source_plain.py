"""Plain texts as sources, character by character, and the text of pages and documents."""

import re
import zlib
from codecs import BOM_UTF8
from dataclasses import replace
from pathlib import Path
from typing import Literal

from allusion_es.core.errors import InputError
from allusion_es.core.files import decode
from allusion_es.corpora.documents import document_of
from allusion_es.corpora.formats import check_plain, kind_of
from allusion_es.corpora.lines import LINE_END
from allusion_es.corpora.source import SourceText
from allusion_es.corpora.source_map import Labels, Nodes, Runs, TextMap
from allusion_es.corpora.tei.events import LARGEST_FILE, FileFacts

_LATIN = re.compile("[A-Za-zÀ-ɏ]")


def looks_like_tei(path: Path) -> bool:
    """Whether a file's name or first bytes say that it is TEI; what cannot be read is not."""
    try:
        return kind_of(path) == "tei"
    except InputError:
        return False


def read_document(path: Path, kind: Literal["html", "docx"]) -> SourceText:
    """Read a web page, or a document of a word processor.

    Args:
        path: The file.
        kind: What it is.

    Returns:
        Its paragraphs, a line each. Characters are counted in that text, and so are lines; sections
        are its headings.

    Raises:
        InputError: It cannot be read as that, or has no Latin letters.
    """
    data = _read_bytes(path)
    document = document_of(path, kind)
    check_latin(document.text, path)
    found = _source(path, document.text, FileFacts("utf-8", len(data), zlib.crc32(data)))
    return replace(
        found,
        kind=kind,
        title=document.title or path.stem,
        author=document.author,
        sections=document.sections,
    )


def read_plain(path: Path, *, check: bool = True) -> SourceText:
    r"""Read a plain text.

    Args:
        path: A UTF-8 file, with or without a byte-order mark.
        check: Refuse what is markup (`formats.check_plain`).

    Returns:
        Its text, unchanged but for the byte-order mark; lines are those of the file.

    Raises:
        InputError: It cannot be read, is too large, binary, empty, not UTF-8, markup, or
            has no Latin letters.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.txt")
        ...     _ = path.write_text("Gustate\net videte.")
        ...     read_plain(path).lines.at(8)
        '2'
    """
    data = _read_bytes(path)
    if b"\0" in data:
        raise InputError(
            f"{path}: NUL byte at byte {data.index(0)}: it is no UTF-8 text; save it as one"
        )
    text = decode(data, str(path))
    if check:
        check_plain(text, str(path))
    check_latin(text, path)
    byte = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
    return _source(path, text, FileFacts("utf-8", len(data), zlib.crc32(data)), byte)


def _read_bytes(path: Path) -> bytes:
    try:
        if (size := path.stat().st_size) > LARGEST_FILE:
            raise InputError(f"{path}: the file has {size:,} bytes, more than {LARGEST_FILE:,}")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def _source(path: Path, text: str, facts: FileFacts, byte: int = 0) -> SourceText:
    """A text in one piece that begins at a byte of its file."""
    runs = Runs()
    for column, value in zip(runs.columns(), (0, byte, facts.size - byte, 0, -1), strict=True):
        column.append(value)
    starts = [0, *(match.end() for match in LINE_END.finditer(text))]
    return SourceText(
        path=path,
        kind="text",
        text=text,
        map=TextMap(text, "utf-8", runs, Nodes()),
        facts=facts,
        title=path.stem,
        lines=Labels(starts, [str(number) for number in range(1, len(starts) + 1)]),
    )


def check_latin(text: str, path: Path) -> None:
    """Refuse a text in which there can be no Latin.

    Raises:
        InputError: It is empty, or has no letter of the Latin alphabet.
    """
    if not text.strip():
        raise InputError(f"{path}: there is no text in it; give it some words")
    if not _LATIN.search(text):
        raise InputError(f"{path}: there is no Latin letter in it; give it a Latin text")
