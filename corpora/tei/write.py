"""Findings written as TEI: inline, as tags in the text, or beside it, as a `standOff`.

`inline_markup` and `standoff_markup` give the tags, `with_insertions` the bytes of the file with
them: everything else stays byte for byte as it was. `standoff_lines` writes a file of its own.

A stretch of text that begins in one element and ends in another is cut at their borders: into as
few and long pieces as possible, none across the border of a paragraph, a verse line or another
block, and none inside an element in which TEI allows no `seg`. Stretches that overlap are cut where
the earlier one ends, so that they nest.
"""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from allusion_es.core.errors import InputError, UsageError
from allusion_es.corpora.findings import Finding, check_findings, passage_uri
from allusion_es.corpora.source_text import SourceText, TextMap
from allusion_es.corpora.tei.rules import ATOMS, CONTAINERS, NO_QUOTE, TEI


@dataclass(frozen=True, slots=True)
class TextStretch:
    """A piece of a stretch that can be put between a start tag and an end tag.

    Attributes:
        stretch: The index of the stretch that it is part of.
        start: The offset of its first character in the plain text.
        end: The offset after its last.
        byte: The byte of the file before which the start tag goes.
        stop: The byte before which the end tag goes.
        node: The element that both tags are put into.
    """

    stretch: int
    start: int
    end: int
    byte: int
    stop: int
    node: int


def cut(text: str, text_map: TextMap, stretches: Sequence[tuple[int, int]]) -> list[TextStretch]:
    """Cut stretches of a text into pieces that nest.

    Args:
        text: The plain text.
        text_map: The places of its characters in the file.
        stretches: Start and end of each stretch.

    Returns:
        The pieces in the order of the text; a piece comes before those inside it. Pieces without
        a letter or figure are left out, and so are blanks at both ends of each.
    """
    cutter = _Cutter(text, text_map)
    wide = [cutter.widened(*stretch) for stretch in stretches]
    order = sorted(range(len(wide)), key=lambda n: (wide[n][0], -wide[n][1], n))
    pieces: list[TextStretch] = []
    ends: list[int] = []
    for number in order:
        start, end = wide[number]
        ends = [each for each in ends if each > start]
        inner = sorted(each for each in ends if each < end)
        for first, last in zip([start, *inner], [*inner, end], strict=True):
            pieces += cutter.pieces(number, first, last)
        ends.append(end)
    return sorted(pieces, key=lambda piece: (piece.byte, -piece.stop))


class _Cutter:
    """Cuts one stretch after the other; text and map are the same for all."""

    def __init__(self, text: str, text_map: TextMap) -> None:
        self._text = text
        self._map = text_map
        self._nodes = text_map.nodes

    def widened(self, start: int, end: int) -> tuple[int, int]:
        """The stretch, widened over elements into which no tag can be put (`rules.ATOMS`)."""
        for node in self._atoms(start):
            start = min(start, self._nodes.start[node])
        for node in self._atoms(end - 1):
            end = max(end, self._nodes.end[node])
        return start, end

    def _atoms(self, place: int) -> Iterator[int]:
        around = self._nodes.around(self._map.node_of(place))
        return takewhile(lambda node: self._nodes.name[node] in ATOMS, around)

    def pieces(self, stretch: int, start: int, end: int) -> Iterator[TextStretch]:
        """Yield the pieces of a stretch, each as long as the elements allow."""
        while True:
            start, last = self._trimmed(start, end)
            if start >= last:
                return
            node, stop = self._longest(start, self._block_end(start, last))
            if stop <= start:
                # Blocks inside an element into which no tag can be put: nothing can be marked here.
                start += 1
                continue
            first, last = self._trimmed(start, stop)
            if any(map(str.isalnum, self._text[first:last])):
                yield self._piece(stretch, first, last, node)
            start = stop

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        while start < end and self._text[start].isspace():
            start += 1
        while start < end and self._text[end - 1].isspace():
            end -= 1
        return start, end

    def _block(self, node: int) -> int:
        return next(n for n in self._nodes.around(node) if self._nodes.block[n])

    def _block_end(self, start: int, end: int) -> int:
        """The offset at which the text leaves the innermost block that it starts in."""
        runs = self._map.runs
        run = self._map.run_of(start)
        block = self._block(runs.node[run])
        while run < len(runs.plain) and runs.plain[run] < end:
            node = runs.node[run]
            if node >= 0 and self._block(node) != block:
                return runs.plain[run]
            run += 1
        return end

    def _longest(self, start: int, end: int) -> tuple[int, int]:
        """The element that can hold the longest piece from `start` on, and where it ends."""
        nodes = self._nodes
        innermost = self._map.node_of(start)
        best, best_stop = innermost, start
        for node in nodes.around(innermost):
            name = nodes.name[node]
            if name not in ATOMS and (name not in CONTAINERS or node == innermost):
                stop = self._trimmed(start, self._reach(node, end))[1]
                if stop > best_stop:
                    best, best_stop = node, stop
            if nodes.block[node] or not self._blank(nodes.start[node], start):
                break
        return best, best_stop

    def _reach(self, node: int, end: int) -> int:
        """The furthest end for a piece in an element that is not inside one of its children."""
        nodes = self._nodes
        end = min(end, nodes.end[node])
        last = self._trimmed(0, end)[1]
        for inner in nodes.around(self._map.node_of(last - 1)):
            if inner == node:
                break
            if not self._blank(last, nodes.end[inner]):
                end = nodes.start[inner]
        return end

    def _blank(self, start: int, end: int) -> bool:
        return start >= end or self._text[start:end].isspace()

    def _piece(self, stretch: int, start: int, end: int, node: int) -> TextStretch:
        byte, stop = self._map.byte_range(start, end)
        for inner in self._nodes.around(self._map.node_of(start)):
            if inner == node:
                break
            byte = self._nodes.byte[inner]
        for inner in self._nodes.around(self._map.node_of(end - 1)):
            if inner == node:
                break
            stop = self._nodes.stop[inner]
        return TextStretch(stretch, start, end, byte, stop, node)


_CHUNK = 1 << 20
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Insertion:
    """Markup to be added to a file.

    Attributes:
        byte: The byte before which it goes.
        markup: The markup; characters that the file's encoding lacks become references.
    """

    byte: int
    markup: str


def inline_markup(source: SourceText, findings: Iterable[Finding]) -> list[Insertion]:
    """Return the tags that mark findings in their text.

    Each finding becomes a `seg`, a quotation a `quote` where TEI allows one and none of the file's
    own `quote`s or `q`s has these words already, with the passages as
    `source`, the kind as `type`, the reference as `n` and the probability as `cert`; its `subtype`
    is `accepted` or `rejected` where a reader judged it, else `uncalibrated` where `cert` only
    ranks. A finding that crosses the borders of elements becomes several, linked by `next` and
    `prev`. The header, if there is one, defines the prefix of the pointers.

    Args:
        source: A TEI file.
        findings: The findings in it.

    Returns:
        The tags in the order of the file.

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
    insertions = prefix_markup(source, ordered)
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


# The pointers to passages, explained as TEI asks for: what `bible:Ps.33.9` stands for.
_PREFIXES = {
    "bible": (
        r"([1-4]?[A-Za-z]+)\.([0-9]+)\.([0-9]+)",
        "urn:osis:Vulg:$1.$2.$3",
        "A verse of the Vulgate: OSIS code of the book, chapter, verse.",
    ),
    "passage": (
        "(.+)",
        "urn:passage:$1",
        "A passage of the collection, by its id.",
    ),
}


def prefix_markup(source: SourceText, findings: Iterable[Finding]) -> list[Insertion]:
    """Return the `prefixDef`s of the pointers that findings need, as markup for the file's header.

    None where the header defines them already, or the file has no header.
    """
    missing = [name for name in _schemes(findings) if name not in source.prefixes]
    if source.describe_at < 0 or not missing:
        return []
    return [Insertion(source.describe_at, _prefixes(missing, source.prefix))]


def _schemes(findings: Iterable[Finding]) -> list[str]:
    """The prefixes of all passages that findings name, as in `bible:Ps.33.9`."""
    passages = {
        passage
        for found in findings
        for ids in (found.passages, *(other.passages for other in found.alternatives))
        for passage in ids
    }
    return sorted({passage_uri(passage).partition(":")[0] for passage in passages})


def _prefixes(names: Iterable[str], prefix: str) -> str:
    """The `encodingDesc` that defines prefixes of URIs; "" for none."""
    rows = []
    for name in names:
        pattern, replacement, meaning = _PREFIXES[name]
        attributes = attribute("matchPattern", pattern) + attribute(
            "replacementPattern", replacement
        )
        rows.append(
            f"<{prefix}prefixDef{attribute('ident', name)}{attributes}>"
            f"<{prefix}p>{meaning}</{prefix}p></{prefix}prefixDef>"
        )
    if not rows:
        return ""
    return (
        f"<{prefix}encodingDesc><{prefix}listPrefixDef>{''.join(rows)}"
        f"</{prefix}listPrefixDef></{prefix}encodingDesc>"
    )


def piece_ids(source: SourceText, pieces: Sequence[TextStretch]) -> list[str]:
    """Return the ids of pieces as attributes; `next` and `prev` link those of one finding."""
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
    """Return the first of `allusion`, `allusion2`, … with which no id of the file begins."""
    number = 1
    while True:
        prefix = "allusion" if number == 1 else f"allusion{number}"
        if not any(name.startswith(f"{prefix}-") for name in source.reserved):
            return prefix
        number += 1


def with_insertions(source: SourceText, insertions: Iterable[Insertion]) -> Iterator[bytes]:
    """Yield the bytes of a source file in chunks, with markup added.

    Args:
        source: The file as it was read.
        insertions: The markup, in the order of the file.

    Raises:
        InputError: The file cannot be read, or has changed since it was read.
    """
    # The byte offsets of the insertions fit only the file that was read. It is checked first and
    # not while copying, since the output may be a pipe.
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
    """Return an attribute with a blank before it, without characters that XML does not allow.

    Example:
        >>> attribute("n", "Ps 33 & 34")
        ' n="Ps 33 &amp; 34"'
    """
    return f" {name}={quoteattr(without_controls(value))}"


def without_controls(text: str) -> str:
    """Return a text without the characters that XML does not allow."""
    return _NOT_XML.sub("", text)


def sources(passages: Sequence[str]) -> str:
    """Return the URIs of passages, with blanks between them."""
    return " ".join(map(passage_uri, passages))


def _attributes(found: Finding) -> str:
    return (
        attribute("type", found.kind)
        + _subtype(found)
        + attribute("source", sources(found.passages))
        + attribute("n", found.reference)
        + attribute("cert", f"{found.probability:.2f}")
    )


def _subtype(found: Finding) -> str:
    # One word: what a reader said counts for more than how the number came about.
    value = found.judgement or ("" if found.calibrated else "uncalibrated")
    return attribute("subtype", value) if value else ""


def _tag(source: SourceText, found: Finding, piece: TextStretch) -> str:
    inside = source.map.nodes.name[piece.node]
    is_quote = found.kind == "quotation" and inside not in NO_QUOTE
    is_quote = is_quote and not _fills_quote(source, piece)
    return source.map.nodes.prefix[piece.node] + ("quote" if is_quote else "seg")


def _fills_quote(source: SourceText, piece: TextStretch) -> bool:
    """True if a piece has all words of a `quote` or `q`, which says already that it is quoted."""
    nodes = source.map.nodes
    for node in nodes.around(piece.node):
        outside = source.text[nodes.start[node] : piece.start]
        outside += source.text[piece.end : nodes.end[node]]
        if any(map(str.isalnum, outside)):
            return False
        if nodes.name[node] in ("quote", "q"):
            return True
    return False


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


# Findings beside the text: a `standOff`


def pointer(source: SourceText, start: int, end: int, *, inside: bool = False) -> str:
    """Return a URI that points to a stretch of a text.

    In TEI it is a `string-range` of the innermost element around the stretch: offset and length in
    the element's whole text, notes and blanks included. In plain files it is `char=` (RFC 5147),
    counted from 0.

    Args:
        source: The text.
        start: The offset of the first character.
        end: The offset after the last.
        inside: Whether the pointer stands in the file itself.

    Raises:
        UsageError: The text has no such characters, or the file is a page or a DOCX file, for whose
            characters there is no pointer.
    """
    if source.kind in ("html", "docx", "passages"):
        what = "a file of passages" if source.kind == "passages" else source.kind.upper()
        raise UsageError(
            f"{source.path} is {what}, to whose characters TEI cannot point; use another format"
        )
    file = "" if inside else quote(source.path.name)
    if source.kind == "text":
        return f"{file}#char={start},{end}"
    place = source.place(start, end)
    return f"{file}#string-range(xpath({place.xpath}),{place.offset},{place.length})"


def standoff_lines(source: SourceText, findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the lines of a separate TEI file that annotates a source with findings.

    Args:
        source: The file that it points to by name, so that both belong in one folder.
        findings: The findings in it.

    Raises:
        UsageError: A finding is not of this text.
    """
    title = escape(without_controls(source.title or source.path.name))
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<TEI xmlns="{TEI}">'
    yield "  <teiHeader><fileDesc>"
    yield f"    <titleStmt><title>Allusions in: {title}</title></titleStmt>"
    yield "    <publicationStmt><p>Made by allusion-es.</p></publicationStmt>"
    yield f"    <sourceDesc><p>{escape(without_controls(source.path.name))}</p></sourceDesc>"
    ordered = check_findings(source, findings)
    yield f"  </fileDesc>{_prefixes(_schemes(ordered), '')}</teiHeader>"
    for line in _standoff(source, ordered, inside=False, prefix=""):
        yield f"  {line}"
    yield "</TEI>"


def standoff_markup(source: SourceText, findings: Iterable[Finding]) -> list[Insertion]:
    """Return the `standOff` as markup for the source itself, after its header.

    Raises:
        UsageError: The source is no TEI file, has no header, or a finding is not of its text.
    """
    if source.insert_at < 0:
        raise UsageError(
            f"{source.path}: there is no teiHeader after which a standOff could go; write it into "
            "a file of its own"
        )
    ordered = check_findings(source, findings)
    lines = list(_standoff(source, ordered, inside=True, prefix=source.prefix))
    beside = [Insertion(source.insert_at, "\n".join(["", *lines]))] if lines else []
    return [*prefix_markup(source, ordered), *beside]


def _standoff(
    source: SourceText, findings: Iterable[Finding], *, inside: bool, prefix: str
) -> Iterator[str]:
    """Yield the lines of the `standOff` element, in the source itself or in another file."""
    ordered = check_findings(source, findings)
    name = free_prefix(source)
    if not ordered:
        # An empty `listAnnotation` is not valid TEI.
        if not inside:
            yield f"<{prefix}standOff><{prefix}note>No allusion was found.</{prefix}note>" + (
                f"</{prefix}standOff>"
            )
        return
    yield f'<{prefix}standOff><{prefix}listAnnotation type="allusions">'
    if not all(found.calibrated for found in ordered):
        yield "  <!-- cert is not calibrated for this scan: it only ranks the findings -->"
    for number, found in enumerate(ordered, start=1):
        target = pointer(source, found.start, found.end, inside=inside)
        yield f'  <{prefix}annotation xml:id="{name}-{number}"' + (
            attribute("target", target)
            + attribute("motivation", "linking")
            + attribute("n", found.reference)
            + attribute("cert", f"{found.probability:.2f}")
            + ">"
        )
        yield from (f"    {line}" for line in _body(found, prefix))
        yield f"  </{prefix}annotation>"
    yield f"</{prefix}listAnnotation></{prefix}standOff>"


def _body(found: Finding, prefix: str) -> Iterator[str]:
    yield _reference(prefix, found.kind, found.passages, found.reference)
    for other in found.alternatives:
        yield _reference(prefix, "alternative", other.passages, other.reference)
    words = escape(without_controls(" ".join(found.text.split())))
    yield f'<{prefix}note type="text">{words}</{prefix}note>'


def _reference(prefix: str, kind: str, passages: tuple[str, ...], reference: str) -> str:
    target = " ".join(map(passage_uri, passages))
    start = f"<{prefix}ref{attribute('type', kind)}{attribute('target', target)}>"
    return f"{start}{escape(without_controls(reference))}</{prefix}ref>"
