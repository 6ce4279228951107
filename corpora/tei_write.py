"""Findings written into a TEI file: its bytes unchanged but for the tags that are added."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from allusion_es.core.errors import InputError, UsageError
from allusion_es.corpora.findings import Finding, check_findings, passage_uri
from allusion_es.corpora.source import SourceText
from allusion_es.corpora.tei_pieces import Piece, cut
from allusion_es.corpora.tei_rules import NO_QUOTE

_CHUNK = 1 << 20
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Insertion:
    """Markup to be added to a file.

    Attributes:
        byte: Before which byte.
        markup: What; without characters beyond ASCII it can be written in any encoding.
    """

    byte: int
    markup: str


def inline_markup(source: SourceText, findings: Iterable[Finding]) -> list[Insertion]:
    """The tags that mark findings in their text.

    Each is a `seg`, a quotation a `quote` where TEI allows one, with the passages as `source`,
    the kind as `type`, the reference as `n` and the probability as `cert`; its `subtype` is
    `uncalibrated` where `cert` only ranks. One that goes over the borders of elements is several,
    joined by `next` and `prev`.

    Args:
        source: A TEI file.
        findings: What was found in it.

    Returns:
        In the order of the file.

    Raises:
        UsageError: The source is no TEI file, or a finding is not of its text.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from allusion_es.corpora.source import read_source
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.xml")
        ...     _ = path.write_text("<TEI><text><body><p>Et gustate.</p></body></text></TEI>")
        ...     source = read_source(path)
        ...     found = Finding(3, 10, "gustate", ("Ps.33.9",), "Ps 33,9", 2.5, 0.9, "allusion")
        ...     marked = b"".join(with_insertions(source, inline_markup(source, [found])))
        >>> marked.decode().split(">")[4]
        'Et <seg type="allusion" source="bible:Ps.33.9" n="Ps 33,9" cert="0.90" xml:id="allusion-1"'
    """
    _check_tei(source)
    ordered = check_findings(source, findings)
    pieces = cut(source.text, source.map, [(found.start, found.end) for found in ordered])
    names = piece_ids(source, pieces)
    insertions: list[Insertion] = []
    closing: list[tuple[int, str]] = []
    for piece, attributes in zip(pieces, names, strict=True):
        while closing and closing[-1][0] <= piece.byte:
            insertions.append(Insertion(*closing.pop()))
        found = ordered[piece.stretch]
        name = _tag(source, found, piece)
        insertions.append(Insertion(piece.byte, f"<{name}{_attributes(found)}{attributes}>"))
        closing.append((piece.stop, f"</{name}>"))
    insertions += (Insertion(*closed) for closed in reversed(closing))
    return insertions


def piece_ids(source: SourceText, pieces: Sequence[Piece]) -> list[str]:
    """The ids of pieces as attributes, those of one finding joined by `next` and `prev`."""
    prefix = free_prefix(source)
    totals: dict[int, int] = {}
    for piece in pieces:
        totals[piece.stretch] = totals.get(piece.stretch, 0) + 1
    written: dict[int, int] = {}
    names = []
    for piece in pieces:
        number = written[piece.stretch] = written.get(piece.stretch, 0) + 1
        name, total = f"{prefix}-{piece.stretch + 1}", totals[piece.stretch]
        if total == 1:
            names.append(f' xml:id="{name}"')
            continue
        following = f' next="#{name}.{number + 1}"' if number < total else ""
        before = f' prev="#{name}.{number - 1}"' if number > 1 else ""
        names.append(f' xml:id="{name}.{number}"{following}{before}')
    return names


def free_prefix(source: SourceText) -> str:
    """The first of `allusion`, `allusion2`, … with which no id of the file begins."""
    number = 1
    while True:
        prefix = "allusion" if number == 1 else f"allusion{number}"
        if not any(name.startswith(f"{prefix}-") for name in source.reserved):
            return prefix
        number += 1


def with_insertions(source: SourceText, insertions: Iterable[Insertion]) -> Iterator[bytes]:
    """The bytes of a source file, with markup added.

    Args:
        source: The file as it was read.
        insertions: In the order of the file.

    Yields:
        The bytes, in chunks.

    Raises:
        InputError: The file cannot be read, or is not what it was.
    """
    _check_unchanged(source)
    codec = source.facts.codec
    try:
        with source.path.open("rb") as file:
            for insertion in insertions:
                yield from _copied(file.read, insertion.byte - file.tell())
                yield insertion.markup.encode(codec, "xmlcharrefreplace")
            yield from _copied(file.read, source.facts.size - file.tell())
    except OSError as error:
        raise InputError(f"{source.path}: cannot be read ({error.strerror or error})") from error


def attribute(name: str, value: str) -> str:
    """An attribute with a blank before it; characters that XML may not have are left out.

    Example:
        >>> attribute("n", "Ps 33 & 34")
        ' n="Ps 33 &amp; 34"'
    """
    return f" {name}={quoteattr(without_controls(value))}"


def without_controls(text: str) -> str:
    """A text without the characters that XML may not have."""
    return _NOT_XML.sub("", text)


def sources(passages: Sequence[str]) -> str:
    """The URIs of passages, with blanks between them."""
    return " ".join(map(passage_uri, passages))


def _attributes(found: Finding) -> str:
    return (
        attribute("type", found.kind)
        + ("" if found.calibrated else attribute("subtype", "uncalibrated"))
        + attribute("source", sources(found.passages))
        + attribute("n", found.reference)
        + attribute("cert", f"{found.probability:.2f}")
    )


def _tag(source: SourceText, found: Finding, piece: Piece) -> str:
    inside = source.map.nodes.name[piece.node]
    is_quote = found.kind == "quotation" and inside not in NO_QUOTE
    return source.map.nodes.prefix[piece.node] + ("quote" if is_quote else "seg")


def _check_tei(source: SourceText) -> None:
    if source.kind != "tei":
        raise UsageError(f"{source.path}: no TEI file; markup can be added to TEI only")


def _check_unchanged(source: SourceText) -> None:
    crc, size = 0, 0
    try:
        with source.path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                crc, size = zlib.crc32(chunk, crc), size + len(chunk)
    except OSError as error:
        raise InputError(f"{source.path}: cannot be read ({error.strerror or error})") from error
    if (crc, size) != (source.facts.crc, source.facts.size):
        raise InputError(f"{source.path}: the file has changed since it was read; read it again")


def _copied(read: Callable[[int], bytes], size: int) -> Iterator[bytes]:
    while size > 0 and (chunk := read(min(size, _CHUNK))):
        size -= len(chunk)
        yield chunk
