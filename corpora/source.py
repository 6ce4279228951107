"""Readers of source texts: plain text, TEI, web pages and DOCX files, each as a `SourceText`.

`read_source` chooses the reader. The whole file is read into memory once (TEI is streamed), since
the same bytes give the text and the checksum by which a change of the file is noticed later.
"""

import zlib
from codecs import BOM_UTF8
from dataclasses import replace
from pathlib import Path
from typing import Literal

from allusion_es.core.errors import InputError, UsageError
from allusion_es.core.files import decode
from allusion_es.corpora.documents import document_of
from allusion_es.corpora.formats import check_plain, kind_of
from allusion_es.corpora.passage import Work
from allusion_es.corpora.passage_files import read_passages
from allusion_es.corpora.source_text import (
    LARGEST_FILE,
    SOURCE_KINDS,
    FileFacts,
    Labels,
    Nodes,
    Runs,
    SourceKind,
    SourceText,
    TextMap,
    check_latin,
)
from allusion_es.corpora.tables import LINE_END
from allusion_es.corpora.tei.reader import read_tei


def read_source(
    path: Path,
    *,
    kind: SourceKind | None = None,
    keep: frozenset[str] = frozenset(),
    languages: frozenset[str] = frozenset(),
) -> SourceText:
    """Return the text of a file that is to be searched for allusions.

    Args:
        path: A UTF-8 text, DOCX, TEI P5 or HTML in the encoding that it declares, or a file of
            passages (`.tess`, `.jsonl`, `.csv`, `.tsv`).
        kind: The kind of file; by default `formats.kind_of` tells it by name and first bytes.
        keep: TEI elements that are left out by default and shall be read, such as `note`.
        languages: Values of `xml:lang` that are read besides Latin; `all` means every language.

    Raises:
        InputError: The file cannot be read as that kind; the message says where and why.
        UsageError: There is no such kind.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.txt")
        ...     _ = path.write_text("Gustate et videte.")
        ...     read_source(path).place(8, 10)
        Place(page='', line='1', section='', xpath='', offset=8, length=2)
    """
    if kind is not None and kind not in SOURCE_KINDS:
        known = ", ".join(SOURCE_KINDS)
        raise UsageError(f"there is no kind of source {kind!r}; use one of {known}")
    found = kind or kind_of(path)
    if found == "tei":
        return read_tei(path, keep=keep, languages=languages)
    if found == "html" or found == "docx":
        return read_document(path, found)
    if found == "passages":
        return read_passage_source(path)
    return read_plain(path, check=kind is None)


def read_passage_source(path: Path) -> SourceText:
    r"""Return the text of a file of passages: a table, JSON lines or a text of Tesserae.

    Returns:
        A text with a line for each passage, whose reference is its section. Offsets count in this
        text, not in the file: nothing can be written back into the file.

    Raises:
        InputError: The file cannot be read as its name says, or has no Latin letters.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "lucan.bellum_civile.tess")
        ...     _ = path.write_text("<luc. 1.1>\tBella per\n<luc. 1.2>\tIusque datum")
        ...     source = read_passage_source(path)
        ...     source.text, source.sections.at(12), source.work
        ('Bella per\nIusque datum', 'luc. 1.2', 'lucan, bellum civile')
    """
    data = _read_bytes(path)
    texts: list[str] = []
    starts: list[int] = []
    references: list[str] = []
    works: dict[Work, None] = {}
    length = 0
    for passage in read_passages(path):
        texts.append(" ".join(passage.text.split()))
        starts.append(length)
        references.append(passage.reference or passage.id)
        works[Work(passage.author, passage.work)] = None
        length += len(texts[-1]) + 1
    text = "\n".join(texts)
    check_latin(text, path)
    # Several works in a file have no title in common.
    work = next(iter(works)) if len(works) == 1 else Work(title=path.stem)
    return replace(
        _source(path, text, FileFacts("utf-8", len(data), zlib.crc32(data))),
        kind="passages",
        title=work.title,
        author=work.author,
        lines=Labels(),
        sections=Labels(starts, references),
    )


def read_document(path: Path, kind: Literal["html", "docx"]) -> SourceText:
    """Return the text of a web page or a DOCX file.

    Args:
        path: The file.
        kind: Whether it is a page (`html`) or a document (`docx`).

    Returns:
        A text with a line for each paragraph and a section for each heading. Offsets and line
        numbers count in this text, not in the file: nothing can be written back into the file.

    Raises:
        InputError: The file cannot be read as that kind, or has no Latin letters.
    """
    data = _read_bytes(path)
    document = document_of(path, kind, data)
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
    r"""Return the text of a plain text file.

    Args:
        path: A UTF-8 file, with or without a byte-order mark.
        check: Whether to refuse a text that is really markup (`formats.check_plain`).

    Returns:
        The text, unchanged except for the byte-order mark; its lines are those of the file.

    Raises:
        InputError: The file cannot be read, is too large, binary, empty, not UTF-8, markup, or
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
    """The content of a file; its size is checked first, so that nothing huge is read."""
    try:
        if (size := path.stat().st_size) > LARGEST_FILE:
            raise InputError(f"{path}: the file has {size:,} bytes, more than {LARGEST_FILE:,}")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def _source(path: Path, text: str, facts: FileFacts, byte: int = 0) -> SourceText:
    """The source text of a file whose characters follow each other from a byte on."""
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
