"""A file of named arrays: checksummed, memory-mapped, and never a pickle.

`save_arrays` writes it, `ArrayFile` reads it, and `CheckedArrays` refuses arrays that are not what
they must be.

Layout: 8 bytes magic; the header's length (8 bytes, little-endian) and CRC-32 (4 bytes); the
header (JSON); then the arrays, each at a multiple of 64 bytes. The header says where each
array lies, its type, shape and checksum: XXH3, which takes a tenth of the time of the CRC-32 that
older files have.
"""

import hashlib
import json
import math
import mmap
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import xxhash
from numpy.typing import NDArray

from allusion_es.core.errors import IndexDamagedError
from allusion_es.core.files import writing
from allusion_es.core.records import checked
from allusion_es.core.temporary_files import SpilledArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
"""Double precision: scores, weights."""
Singles = NDArray[np.float32]
"""Single precision: vectors, and scores as the server computes them."""
Integers = NDArray[np.int64]
"""Positions, counts, word numbers."""
Bytes = NDArray[np.int8]
"""Vectors with one byte a number."""


def ranges(starts: Integers, lengths: Integers) -> Integers:
    """The numbers of ranges, one range after the other, shape (sum of the lengths,).

    Args:
        starts: Where each begins, shape (n,).
        lengths: How many numbers each has, shape (n,).

    Example:
        >>> ranges(np.array([5, 0, 2]), np.array([2, 0, 3])).tolist()
        [5, 6, 2, 3, 4]
    """
    behind = np.cumsum(lengths)
    every = np.arange(int(lengths.sum()))
    return np.asarray(every + np.repeat(starts - (behind - lengths), lengths), dtype=np.int64)


def padded_ranges(starts: Integers, lengths: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """The numbers of ranges, one range a row, and where they are inside; shape (n, longest) each.

    Behind the end of a range there are zeros.

    Example:
        >>> numbers, inside = padded_ranges(np.array([5, 2]), np.array([2, 3]))
        >>> numbers.tolist(), inside.tolist()
        ([[5, 6, 0], [2, 3, 4]], [[True, True, False], [True, True, True]])
    """
    steps = np.arange(int(lengths.max(initial=1)))
    inside = steps < lengths[:, None]
    return np.where(inside, starts[:, None] + steps, 0), inside


Shape = tuple[int | None, ...]
"""The length in each dimension; None for any."""

Header = TypeVar("Header")

_MAGIC = b"ALLUSION"
_PREFIX = struct.Struct("<8sQI")
_ALIGN = 64
"""A cache line: numpy is fastest where arrays begin at its start."""

_INTEGERS = frozenset({"|i1", "|u1", "<u2", "<i4", "<i8"})
_FLOATS = frozenset({"<f2", "<f4", "<f8"})
_TYPES = _INTEGERS | _FLOATS
"""The types that are stored, as numpy writes them; others could hold objects."""

_MAX_HEADER = 1 << 24
"""Bytes of the longest header that is read; those of real files have a few thousand."""

_MOST_DIMENSIONS = 4
"""More than any array has; numpy itself refuses more than 64."""


def save_arrays(
    path: Path, meta: Mapping[str, object], arrays: Mapping[str, Array | SpilledArray]
) -> None:
    """Write `arrays` and `meta` to `path`, whole or not at all.

    Args:
        path: The file; an older one is replaced once the new one is complete.
        meta: Anything that JSON holds; `load` gives it back.
        arrays: Numbers of any shape.

    Raises:
        StorageError: The file cannot be written.
        ValueError: An array holds something else than numbers, or `meta` a number that is none.
    """
    table: dict[str, dict[str, Any]] = {}
    offset = 0
    for name, array in arrays.items():
        if array.dtype.str not in _TYPES:
            raise ValueError(f"array {name} has type {array.dtype}, which is not stored")
        table[name] = {
            "type": array.dtype.str,
            "shape": array.shape,
            "offset": offset,
            "xxh3": checksum(_pieces(array)),
        }
        offset += -(-array.nbytes // _ALIGN) * _ALIGN
    header = json.dumps({"meta": meta, "arrays": table, "size": offset}, allow_nan=False).encode()
    start = _start(len(header))
    with writing(path) as file:
        file.write(_PREFIX.pack(_MAGIC, len(header), zlib.crc32(header)))
        file.write(header)
        for name, array in arrays.items():
            file.seek(start + table[name]["offset"])
            for piece in _pieces(array):
                file.write(piece)
        file.truncate(start + offset)


def checksum(pieces: Iterable[memoryview | bytes]) -> int:
    """The XXH3 of bytes that come in pieces, 64 bits.

    Example:
        >>> checksum([b"rex", b" magnus"]) == checksum([b"rex magnus"])
        True
    """
    found = xxhash.xxh3_64()
    for piece in pieces:
        found.update(piece)
    return found.intdigest()


def lines_array(texts: Iterable[str]) -> NDArray[np.uint8]:
    r"""Texts without line breaks as bytes, one a line, for `CheckedArrays.lines`.

    Example:
        >>> lines_array(["rex", "lux"]).tobytes()
        b'rex\nlux'
    """
    return np.frombuffer("\n".join(texts).encode(), np.uint8)


def _pieces(array: Array | SpilledArray) -> Iterable[memoryview]:
    """The bytes of an array, in order."""
    if isinstance(array, SpilledArray):
        return array.pieces()
    return [np.ascontiguousarray(array).data] if array.nbytes else []


def _start(header_length: int) -> int:
    """The place of the first array: after the header, at the next multiple of `_ALIGN`."""
    return -(-(_PREFIX.size + header_length) // _ALIGN) * _ALIGN


class ArrayFile:
    """The arrays of a file, checked against their checksums when first asked for.

    Args:
        path: The file.
        rebuild: What to tell the user to do where the file is damaged.

    Attributes:
        meta: What was saved with the arrays.
        fingerprint: A hash of the header, with all checksums: equal for files with equal content.

    Raises:
        IndexDamagedError: The file is damaged, cut off, or something else.
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path, rebuild: str) -> None:
        self._path = path
        self._rebuild = rebuild
        with path.open("rb") as file:
            prefix = file.read(_PREFIX.size)
            if len(prefix) < _PREFIX.size or prefix[:8] != _MAGIC:
                raise self.damaged("it does not begin as an index does")
            _, length, crc = _PREFIX.unpack(prefix)
            header = file.read(length) if length <= _MAX_HEADER else b""
            if len(header) != length or zlib.crc32(header) != crc:
                raise self.damaged("its header is incomplete or changed")
            self._buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.fingerprint = hashlib.sha256(header).hexdigest()[:16]
        self._start = _start(length)
        size = len(self._buffer) - self._start
        try:
            # Whoever can write a file can write checksums too, so nothing in it is trusted.
            content = json.loads(header, parse_constant=_refuse, parse_float=_finite)
            if size != content["size"]:
                raise self.damaged("it is cut off")
            self.meta: dict[str, Any] = dict(content["meta"].items())
            self._table = {name: _entry(each, size) for name, each in content["arrays"].items()}
            _check_places(self._table.values())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self.damaged("its header is not one of an index") from error

    def __contains__(self, name: str) -> bool:
        """Whether there is an array of that name."""
        return name in self._table

    def load(self, name: str) -> Array:
        """The array `name`, memory-mapped and read-only.

        Raises:
            IndexDamagedError: It is missing, cut off or changed.
        """
        entry = self._table.get(name)
        if entry is None:
            raise self.damaged(f"it lacks {name}")
        if not entry.count:
            return np.zeros(entry.shape, entry.type)
        flat: Array = np.frombuffer(
            self._buffer, entry.type, entry.count, self._start + entry.offset
        )
        if entry.checksum != (zlib.crc32(flat.data) if entry.is_crc else checksum([flat.data])):
            raise self.damaged(f"{name} has changed since it was written")
        return flat.reshape(entry.shape)

    def length(self, name: str) -> int:
        """The length of the array `name`, known without reading it.

        Raises:
            IndexDamagedError: It is missing.
        """
        entry = self._table.get(name)
        if entry is None:
            raise self.damaged(f"it lacks {name}")
        return entry.shape[0]

    def check(self) -> None:
        """Read every array and compare its checksum.

        Raises:
            IndexDamagedError: An array is damaged.
        """
        for name in self._table:
            self.load(name)

    def damaged(self, what: str) -> IndexDamagedError:
        """The error to raise where the file cannot be right; `what` says what is wrong."""
        return IndexDamagedError(f"{self._path}: damaged index, {what}; {self._rebuild}")


@dataclass(frozen=True, slots=True)
class _Entry:
    """The place of an array, from the start of all arrays, its type, its shape and checksum."""

    type: str
    shape: tuple[int, ...]
    count: int
    offset: int
    end: int
    checksum: int
    is_crc: bool


def _entry(record: Mapping[str, Any], size: int) -> _Entry:
    """An array's entry in a header.

    Raises:
        ValueError, KeyError, TypeError: It is not one, or the array lies outside of the file.
    """
    shape, offset, is_crc = tuple(record["shape"]), record["offset"], "crc" in record
    number = record["crc" if is_crc else "xxh3"]
    if record["type"] not in _TYPES or not 0 < len(shape) <= _MOST_DIMENSIONS:
        raise ValueError("type or shape")
    if not all(type(each) is int and each >= 0 for each in (*shape, offset, number)):
        raise ValueError("numbers")
    count = math.prod(shape)
    end = offset + count * np.dtype(record["type"]).itemsize
    # No length may be more than any array could have, even where another one is 0.
    if offset % _ALIGN or end > size or max(shape, default=0) > max(size, _ALIGN):
        raise ValueError("place")
    return _Entry(record["type"], shape, count, offset, end, number, is_crc)


def _check_places(entries: Iterable[_Entry]) -> None:
    """Refuse arrays that overlap: with them, a small file could stand for a large one."""
    place = 0
    for entry in sorted((each for each in entries if each.count), key=lambda each: each.offset):
        if entry.offset < place:
            raise ValueError("overlap")
        place = entry.end


def _refuse(constant: str) -> float:
    """Refuse NaN and infinities, which Python's JSON reads though JSON has none."""
    raise ValueError(constant)


def _finite(digits: str) -> float:
    """A number of the header; `1e999` would be infinite."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(digits)
    return number


class CheckedArrays:
    """The arrays of a file, each checked before anything is computed from it.

    Checksums tell accidents. They do not tell a file that was made to do harm, whose places lead
    outside of other arrays or whose numbers are none; these checks do.

    Args:
        file: The file.

    Attributes:
        file: The file.
        meta: What was saved with the arrays.

    Every method raises `IndexDamagedError` where the array is missing, damaged or unfit.
    """

    def __init__(self, file: ArrayFile) -> None:
        self.file = file
        self.meta = file.meta

    def integers(
        self, name: str, shape: Shape, below: int | None = None, *, least: int = 0
    ) -> Array:
        """An array of whole numbers from `least` to `below`, exclusive; without `below`, any."""
        array = self._array(name, shape, _INTEGERS)
        if (
            below is not None
            and array.size
            and not (least <= int(array.min()) and int(array.max()) < below)
        ):
            raise self._unfit(name)
        return array

    def offsets(self, name: str, parts: int | None, total: int) -> Array:
        """Offsets of parts: from 0 to `total`, never descending, shape (parts + 1,)."""
        array = self._array(name, (None if parts is None else parts + 1,), frozenset({"<i8"}))
        if not len(array) or array[0] != 0 or array[-1] != total or (np.diff(array) < 0).any():
            raise self._unfit(name)
        return array

    def floats(self, name: str, shape: Shape, most: float, *, least: float | None = None) -> Array:
        """An array of finite numbers from `least` (by default `-most`) to `most`."""
        array = self._array(name, shape, _FLOATS)
        lowest = -most if least is None else least
        # Written so that NaN, which is in no order with anything, is refused.
        if array.size and not (float(array.min()) >= lowest and float(array.max()) <= most):
            raise self._unfit(name)
        return array

    def singles(self, name: str) -> Array:
        """An array of finite numbers in single precision, of any shape."""
        array = self.file.load(name)
        if array.dtype.str != "<f4" or not np.isfinite(array).all():
            raise self._unfit(name)
        return array

    def lines(self, name: str, count: int | None = None) -> list[str]:
        """The texts of an array that `lines_array` made; with `count`, so many."""
        data = self._array(name, (None,), frozenset({"|u1"}))
        try:
            text = data.tobytes().decode()
        except UnicodeDecodeError:
            raise self._unfit(name) from None
        lines = text.split("\n") if text else []
        if not lines and count == 1:
            lines = [""]  # no bytes: no text, or one that is empty
        if count is not None and len(lines) != count:
            raise self._unfit(name)
        return lines

    def read_header(self, read: Callable[[Mapping[str, Any]], Any]) -> Any:  # noqa: ANN401 - as `read`
        """The value that `read` gives for the header; what it raises means the header is unfit."""
        try:
            return read(self.meta)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self.file.damaged("its header is not one of an index") from error

    def header(self, shape: type[Header]) -> Header:
        """The header, checked against a shape as `core.records` has them."""
        return checked(self.meta, shape, error=self._unfit_header)

    def _unfit_header(self, fault: str) -> IndexDamagedError:
        return self.file.damaged(f"its header is not one of an index ({fault})")

    def _array(self, name: str, shape: Shape, types: frozenset[str]) -> Array:
        array = self.file.load(name)
        fits = len(array.shape) == len(shape) and all(
            wanted in (None, given) for wanted, given in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype.str not in types:
            raise self._unfit(name)
        return array

    def _unfit(self, name: str) -> Exception:
        return self.file.damaged(f"{name} is not what it must be")


def offsets_array(lengths: Iterable[int]) -> Array:
    """Return the borders of parts of these lengths, shape (parts + 1,); the first is 0.

    Example:
        >>> offsets_array([2, 0, 3]).tolist()
        [0, 2, 2, 5]
    """
    return np.cumsum([0, *lengths], dtype=np.int64)
