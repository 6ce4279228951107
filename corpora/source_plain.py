"""Plain texts as sources: the whole file, character by character."""

import re
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

from allusion_es.core.errors import InputError
from allusion_es.core.files import decode
from allusion_es.corpora.source import SourceText
from allusion_es.corpora.source_map import Labels, Nodes, Runs, TextMap
from allusion_es.corpora.tei.events import LARGEST_FILE, FileFacts

_TEI_SUFFIXES = frozenset({".xml", ".tei"})
_BEGINNINGS = ("<?xml", "<TEI", "<tei:TEI", "<!DOCTYPE TEI")
_LATIN = re.compile("[A-Za-zÀ-ɏ]")


def looks_like_tei(path: Path) -> bool:
    """Whether a file's name or first bytes say that it is XML; a missing file is not."""
    if path.suffix.lower() in _TEI_SUFFIXES:
        return True
    try:
        with path.open("rb") as file:
            first = file.read(200)
    except OSError:
        return False
    codec = {BOM_UTF16_LE: "utf-16", BOM_UTF16_BE: "utf-16"}.get(first[:2], "utf-8-sig")
    return first.decode(codec, "ignore").lstrip().startswith(_BEGINNINGS)


def read_plain(path: Path) -> SourceText:
    r"""Read a plain text.

    Args:
        path: A UTF-8 file, with or without a byte-order mark.

    Returns:
        Its text, unchanged but for the byte-order mark; lines are those of the file.

    Raises:
        InputError: It cannot be read, is too large, binary, empty, not UTF-8, or has no Latin
            letters.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.txt")
        ...     _ = path.write_text("Gustate\net videte.")
        ...     read_plain(path).lines.at(8)
        '2'
    """
    try:
        if (size := path.stat().st_size) > LARGEST_FILE:
            raise InputError(f"{path}: the file has {size:,} bytes, more than {LARGEST_FILE:,}")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    if b"\0" in data:
        raise InputError(
            f"{path}: NUL byte at byte {data.index(0)}: it is no UTF-8 text; save it as one"
        )
    text = decode(data, str(path))
    check_latin(text, path)
    runs = Runs()
    byte = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
    for column, value in zip(runs.columns(), (0, byte, len(data) - byte, 0, -1), strict=True):
        column.append(value)
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return SourceText(
        path=path,
        kind="text",
        text=text,
        map=TextMap(text, "utf-8", runs, Nodes()),
        facts=FileFacts("utf-8", len(data), zlib.crc32(data)),
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
