"""Files read line by line, with errors that say where."""

import contextlib
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from allusion_es.core.errors import InputError

LONGEST_LINE = 4_000_000
"""Most bytes of a line; a longer one is no passage, and must not fill the memory."""

LONGEST_CELL = 100_000
"""Most characters of a cell or a passage."""

LONGEST_ID = 512
"""Most bytes of an id: Elasticsearch refuses longer ones."""

LINE_END = re.compile("\r\n|[\n\r\u2028\u2029]")
"""Where a line ends: also as old Macs end lines, and as Pages and InDesign do inside paragraphs."""

_AT_ONCE = 1 << 20


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file (byte-order mark accepted), each with its line end.

    Raises:
        InputError: The file cannot be read, is not UTF-8, holds a NUL byte, or a line is too
            long; the message says where.
    """
    number, offset, has_more = 0, 0, True
    try:
        with contextlib.ExitStack() as opened:
            file = opened.enter_context(path.open("rb"))
            while has_more:
                lines, has_more = _some_lines(file)
                if not has_more:
                    # Not while the caller may break off: nobody could say when it would be closed.
                    opened.close()
                for line in lines:
                    number += 1
                    yield _decoded(line, f"{path}:{number}", offset)
                    offset += len(line)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def split_lines(text: str) -> list[str]:
    r"""The lines of a text without their ends, whatever program wrote it.

    Example:
        >>> split_lines("Gustate\ret videte\r\nquoniam")
        ['Gustate', 'et videte', 'quoniam']
    """
    return LINE_END.split(text)


def _some_lines(file: BinaryIO) -> tuple[list[bytes], bool]:
    """About a megabyte of lines, and whether there may be more."""
    lines: list[bytes] = []
    size = 0
    while size < _AT_ONCE:
        line = file.readline(LONGEST_LINE + 1)
        if not line:
            return lines, False
        lines.append(line)
        size += len(line)
    return lines, True


def _decoded(line: bytes, where: str, offset: int) -> str:
    if len(line) > LONGEST_LINE:
        raise InputError(f"{where}: the line is longer than {LONGEST_LINE:,} bytes; split it")
    if (nul := line.find(b"\0")) >= 0:
        raise InputError(
            f"{where}: NUL byte at byte {offset + nul}; save the file as UTF-8 text without it"
        )
    if not offset and line.startswith(BOM_UTF8):
        line, offset = line[len(BOM_UTF8) :], len(BOM_UTF8)
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where}: not UTF-8 at byte {offset + error.start} (0x{line[error.start]:02x}); "
            "save the file as UTF-8"
        ) from error


class SeenIds:
    """The ids read so far, which must be usable and differ."""

    def __init__(self) -> None:
        """Start with none."""
        self._lines: dict[str, int] = {}

    def add(self, identifier: str, line: int, where: str) -> None:
        """Take in an id that stands on a line.

        Raises:
            InputError: It is empty, repeated, too long, or has control characters.
        """
        if not identifier:
            raise InputError(f"{where} is empty; give each passage an id")
        if not identifier.isprintable():
            raise InputError(
                f"{where} is {shortened(identifier)}, with a control character or line break; "
                "use printable characters only"
            )
        if len(identifier.encode()) > LONGEST_ID:
            raise InputError(
                f"{where} is {shortened(identifier)}, longer than {LONGEST_ID} bytes; shorten it"
            )
        if (first := self._lines.setdefault(identifier, line)) != line:
            raise InputError(
                f"{where} is {shortened(identifier)}, as on line {first}; "
                "give each passage an id of its own"
            )


def check_length(text: str, where: str) -> None:
    """Refuse a text that is too long for a passage.

    Raises:
        InputError: It has more than `LONGEST_CELL` characters.
    """
    if len(text) > LONGEST_CELL:
        raise InputError(
            f"{where} has {len(text):,} characters, more than {LONGEST_CELL:,}; "
            "split it into shorter passages"
        )


def shortened(value: str) -> str:
    """A value as an error shows it: quoted, control characters escaped, cut at 40."""
    return repr(value if len(value) <= 40 else value[:39] + "…")
