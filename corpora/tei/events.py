"""XML as a stream of events with their byte offsets, safe for files that nobody trusts.

The parser is expat. It opens nothing but the file, and expands nothing but character references
and the five entities of XML (`&amp;` and so on): a file that declares or uses others is refused,
so that neither other files nor expanding entities can come in. The depth, the length of
a tag and the size of the file are limited.
"""

import codecs
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol
from xml.parsers import expat

from allusion_es.core.errors import InputError
from allusion_es.corpora.source_text import LARGEST_FILE, FileFacts

LONGEST_TOKEN = 4 << 20
"""Most bytes of one tag or comment, since the parser holds it in memory."""

DEEPEST = 200
"""Most elements inside each other; real editions have a few dozen."""

_CHUNK = 1 << 16
_DECLARED = re.compile(rb"""^<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)""")

Attributes = dict[str, str]


class Events(Protocol):
    """A receiver of the content of a file, piece by piece, with the bytes of each."""

    def opened(self, codec: str) -> None:
        """Receive the file's encoding, before anything else."""
        ...

    def begin(self, name: str, attributes: Attributes, start: int, line: int) -> None:
        """Receive a start tag, its first byte and its line, from 1."""
        ...

    def end(self, name: str, start: int, stop: int) -> None:
        """Receive an end tag and its bytes; for `<lb/>` `start` is the start of the tag."""
        ...

    def text(self, pieces: Sequence[str], starts: Sequence[int], stop: int) -> None:
        """Receive characters in pieces that follow each other, each with its first byte.

        A character reference, an entity or a line end (a newline) is a piece of its own.
        """
        ...

    def cdata(self, begins: bool, start: int, stop: int) -> None:
        """Receive the begin or end of a CDATA section."""
        ...


def read_events(path: Path, events: Events) -> FileFacts:
    """Read an XML file and pass its content on to a receiver.

    Returns:
        Encoding, size and checksum of the file, taken in the same pass.

    Raises:
        InputError: The file cannot be read, is empty, too large, binary, in another encoding
            than it says, not well-formed, or declares entities; the message says where.
    """
    try:
        with path.open("rb") as file:
            first = file.read(_CHUNK)
            codec = _codec(first, path)
            events.opened(codec)
            stream = _Stream(path, events)
            size, crc, chunk = 0, 0, first
            while chunk:
                size += len(chunk)
                crc = zlib.crc32(chunk, crc)
                stream.feed(chunk, size)
                chunk = file.read(_CHUNK)
            stream.finish(size)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except expat.ExpatError as error:
        raise _malformed(error, path, codec) from error
    return FileFacts(codec, size, crc)


def _codec(first: bytes, path: Path) -> str:
    """The encoding of a file, by its byte-order mark, its first bytes or its declaration."""
    if not first.strip():
        raise InputError(f"{path}: the file is empty; give it a text")
    if first.startswith(codecs.BOM_UTF16_LE) or first.startswith(b"<\0"):
        return "utf-16-le"
    if first.startswith(codecs.BOM_UTF16_BE) or first.startswith(b"\0<"):
        return "utf-16-be"
    if b"\0" in first:
        raise InputError(f"{path}: NUL byte at byte {first.index(0)}: it is no text file")
    declared = _DECLARED.match(first.removeprefix(codecs.BOM_UTF8))
    name = declared[1].decode() if declared else "utf-8"
    try:
        codec = codecs.lookup(name).name
        # Besides Unicode, expat knows only encodings of one byte a character.
        known = codec == "utf-8" or codec.startswith(("utf-16", "utf-32"))
        known = known or len(bytes(range(256)).decode(name, "replace")) == 256
    except (LookupError, UnicodeError):  # the latter from codecs that are for names, such as IDNA
        known = False
    if known and codec.startswith(("utf-16", "utf-32")):
        raise InputError(
            f"{path}:1: the file says that it is {codec.upper()}, but it is not; name the right "
            "encoding in its first line, or save the file as UTF-8"
        )
    if not known:
        raise InputError(
            f"{path}:1: the encoding {name[:40]!r} is not read; save the file as UTF-8, and say so "
            "in its first line"
        )
    return codec


class _Stream:
    """Delays each event until the next one begins, since expat reports only where events start."""

    def __init__(self, path: Path, events: Events) -> None:
        self._path = path
        self._depth = 0
        self._events = events
        self._held: Callable[[int], None] | None = None
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self._parser = expat.ParserCreate()
        self._connect()
        self._guard()

    def feed(self, chunk: bytes, size: int) -> None:
        """Parse a chunk of the file, of which `size` bytes have now been read."""
        if size > LARGEST_FILE:
            raise self._error(f"the file has more than {LARGEST_FILE:,} bytes; split it")
        self._parser.Parse(chunk, False)
        if size - self._parser.CurrentByteIndex > LONGEST_TOKEN + _CHUNK:
            raise self._error(f"a tag or comment has more than {LONGEST_TOKEN:,} bytes")

    def finish(self, size: int) -> None:
        """End the file after `size` bytes, and pass on the last event."""
        self._parser.Parse(b"", True)
        self._release(size)

    def _release(self, stop: int) -> None:
        if self._pieces:
            pieces, starts = self._pieces, self._starts
            self._pieces, self._starts = [], []
            self._events.text(pieces, starts, stop)
        elif self._held is not None:
            held, self._held = self._held, None
            held(stop)

    def _connect(self) -> None:
        parser, release, events = self._parser, self._release, self._events

        def begin(name: str, attributes: Attributes) -> None:
            start = parser.CurrentByteIndex
            release(start)
            self._depth += 1
            if self._depth > DEEPEST:
                raise self._error(f"more than {DEEPEST} elements inside each other")
            events.begin(name, attributes, start, parser.CurrentLineNumber)

        def end(name: str) -> None:
            start = parser.CurrentByteIndex
            release(start)
            self._depth -= 1
            self._held = lambda stop: events.end(name, start, stop)

        def text(data: str) -> None:
            start = parser.CurrentByteIndex
            if self._held is not None:
                release(start)
            self._pieces.append(data)
            self._starts.append(start)

        def cdata(begins: bool) -> Callable[[], None]:
            def hold() -> None:
                start = parser.CurrentByteIndex
                release(start)
                self._held = lambda stop: events.cdata(begins, start, stop)

            return hold

        parser.StartElementHandler, parser.EndElementHandler = begin, end
        parser.CharacterDataHandler = text
        parser.StartCdataSectionHandler, parser.EndCdataSectionHandler = cdata(True), cdata(False)

    def _guard(self) -> None:
        """Refuse entities, and let comments and processing instructions end a piece of text."""
        parser = self._parser

        def other(*ignored: object) -> None:
            self._release(parser.CurrentByteIndex)

        parser.CommentHandler = parser.ProcessingInstructionHandler = other
        parser.EntityDeclHandler = self._refuse_declaration
        parser.SkippedEntityHandler = self._refuse_entity
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def _refuse_declaration(self, name: str, *ignored: object) -> None:
        raise self._error(
            f"the file declares the entity {name[:40]!r}; entities are not read, write the "
            "characters themselves"
        )

    def _refuse_entity(self, name: str, *ignored: object) -> None:
        raise self._error(f"the entity &{name[:40]}; is not read; write the character itself")

    def _error(self, message: str) -> InputError:
        return InputError(f"{self._path}:{self._parser.CurrentLineNumber}: {message}")


def _malformed(error: expat.ExpatError, path: Path, codec: str) -> InputError:
    fault = _decoding_fault(path, codec)
    if fault is not None:
        return InputError(
            f"{path}:{error.lineno}: byte {fault} is not {codec.upper()}, the file's encoding; "
            "name the right one in its first line, or save the file as UTF-8"
        )
    where = f"{path}:{error.lineno}: column {error.offset + 1}"
    return InputError(f"{where}: not well-formed XML ({expat.ErrorString(error.code)})")


def _decoding_fault(path: Path, codec: str) -> int | None:
    """The offset of the first byte that the encoding does not allow, or None."""
    decoder = codecs.getincrementaldecoder(codec)()
    before = 0
    with path.open("rb") as file:
        while True:
            chunk = file.read(_CHUNK)
            waiting = len(decoder.getstate()[0])
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                return before - waiting + error.start
            if not chunk:
                return None
            before += len(chunk)
