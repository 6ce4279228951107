"""word2vec's formats, text and binary: words and vectors as a stream, checked one by one."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.errors import InputError
from allusion_es.language.vectors.tables import folded

Values = NDArray[np.float32]
Records = Iterator[tuple[bytes, list[bytes] | bytes]]
"""Words with their numbers, as text or as the bytes of float32."""

_HEADER = re.compile(rb"(\d{1,12}) (\d{1,12})\s*")
_GREATEST_DIMENSION = 10_000
_LONGEST_LINE = 1 << 20
_LONGEST_WORD = 1 << 12
_CHUNK = 1 << 20
_FIRST_ROWS = 1 << 14
_TEXT_SUFFIXES = frozenset({".txt", ".vec"})


def read_word2vec(path: Path, file: BinaryIO) -> tuple[dict[str, int], Values]:
    """The words, folded, with their rows, and the rows.

    A header `WORDS DIMENSION`, then for each word the word, a blank and its numbers: in text
    with a line for each word, in binary as little-endian float32. Names that end in `.txt` or
    `.vec` are text, those in `.bin` binary; of others the first vector tells. Memory holds the
    table (single precision, once) and the words.

    Args:
        path: For messages, and for the name's end.
        file: Its content, unpacked.

    Raises:
        InputError: The file is cut off or something else, or a vector has the wrong dimension
            or is not finite, or a word is repeated; the message names line or word.
    """
    header = _HEADER.fullmatch(file.readline(_LONGEST_LINE))
    if header is None:
        raise InputError(
            f"{path}:1: not word vectors; word2vec's formats begin with a line such as '5000 100', "
            "the number of words and the dimension"
        )
    count, dimension = int(header[1]), int(header[2])
    if not 1 <= dimension <= _GREATEST_DIMENSION:
        raise InputError(
            f"{path}:1: dimension {dimension}; it must be from 1 to {_GREATEST_DIMENSION}"
        )
    start = file.read(_CHUNK)
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    text = suffix in _TEXT_SUFFIXES or (suffix != ".bin" and _is_text(start, dimension))
    rows = _Rows(path, dimension, text)
    records = _lines(start, file) if text else _binary(start, file, dimension)
    for number, (word, values) in enumerate(records, start=1):
        if number > count and not word and not values:
            continue  # an empty line at the end
        if number > count:
            raise InputError(
                f"{rows.place(number)}: the header says {count} words, but there are more; "
                "correct the header"
            )
        rows.add(number, word, values)
    if rows.read < count:
        raise InputError(
            f"{path}: the header says {count} words, but there are {rows.read}; the file is cut "
            "off, get it again"
        )
    return rows.finished()


def _is_text(start: bytes, dimension: int) -> bool:
    """Whether the first vector is printable, which four-byte numbers hardly ever are."""
    _, _, vector = start.partition(b" ")
    part = vector[: 4 * dimension].decode(errors="replace")[:-1]  # a letter may be cut in two
    return "\ufffd" not in part and all(c.isprintable() or c in "\r\n\t" for c in part)


def _lines(start: bytes, file: BinaryIO) -> Records:
    rest = file.readline(_LONGEST_LINE)  # ends the last line of the start
    for line in chain((start + rest).splitlines(), iter(lambda: file.readline(_LONGEST_LINE), b"")):
        word, *values = line.rstrip().split(b" ")
        yield word, values


def _binary(start: bytes, file: BinaryIO, dimension: int) -> Records:
    size = 4 * dimension
    buffer, place = start, 0
    while True:
        blank = buffer.find(b" ", place)
        end = blank + 1 + size
        if blank >= 0 and end <= len(buffer):
            yield buffer[place:blank].lstrip(b"\n"), buffer[blank + 1 : end]
            place = end
        elif blank < 0 and len(buffer) - place > _LONGEST_WORD:
            yield buffer[place : place + 40], b""
            return
        elif chunk := file.read(_CHUNK):
            buffer, place = buffer[place:] + chunk, 0
        else:
            word, _, values = buffer[place:].partition(b" ")
            if word.strip():
                yield word.lstrip(b"\n"), values
            return


class _Rows:
    """The words and vectors so far."""

    def __init__(self, path: Path, dimension: int, text: bool) -> None:
        self.read = 0
        self._path = path
        self._dimension = dimension
        self._text = text
        self._numbers: dict[str, int] = {}
        self._rows: dict[str, int] = {}
        self._table = np.empty((_FIRST_ROWS, dimension), np.float32)

    def place(self, number: int) -> str:
        """Where word `number` stands; in text, the header is the first line."""
        return f"{self._path}:{number + 1}" if self._text else f"{self._path}: word {number}"

    def add(self, number: int, word: bytes, values: list[bytes] | bytes) -> None:
        where = self.place(number)
        try:
            name = word.decode()
        except UnicodeDecodeError:
            raise InputError(f"{where}: the word is not UTF-8; convert the file") from None
        if not name:
            raise InputError(f"{where}: there is no word; give a word, a blank and its numbers")
        vector = self._vector(where, name, values)
        first = self._numbers.setdefault(name, number)
        if first != number:
            before = f"on line {first + 1}" if self._text else f"word {first}"
            raise InputError(f"{where}: {name!r} is also {before}; leave one of them out")
        self.read = number
        form = folded(name)
        if form and form not in self._rows:
            row = self._rows[form] = len(self._rows)
            if row == len(self._table):
                # In place, where the system can: the table is the larger part of the memory.
                self._table.resize((row + row // 2, self._dimension), refcheck=False)
            self._table[row] = vector

    def finished(self) -> tuple[dict[str, int], Values]:
        if not self._rows:
            raise InputError(f"{self._path}: there is no word in it; give at least one")
        return self._rows, self._table[: len(self._rows)]

    def _vector(self, where: str, name: str, values: list[bytes] | bytes) -> Values:
        count = len(values) if isinstance(values, list) else len(values) // 4
        if count != self._dimension:
            what = f"{count} numbers for {name[:40]!r}, but the header says {self._dimension}"
            raise InputError(f"{where}: {what}; the file is damaged or its header wrong")
        if isinstance(values, bytes):
            vector = np.frombuffer(values, "<f4")
        else:
            try:
                doubles = np.array([float(value) for value in values])
            except ValueError as error:
                raise InputError(f"{where}: the vector of {name[:40]!r}: {error}") from None
            with np.errstate(over="ignore"):  # too large for single precision: infinite, refused
                vector = doubles.astype(np.float32)
        if not np.isfinite(vector).all():
            raise InputError(
                f"{where}: the vector of {name[:40]!r} is not finite; leave the word out or train "
                "again"
            )
        return vector
