"""A file of named arrays: versioned, checksummed, memory-mapped, and never a pickle.

Layout: 8 bytes magic; the header's length (8 bytes, little-endian) and CRC-32 (4 bytes); the
header (JSON); then the arrays, each at a multiple of 64 bytes. The header says where each
array lies, its type, shape and CRC-32.
"""

import hashlib
import json
import mmap
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.errors import IndexDamagedError
from allusion_es.core.files import writing

Array = NDArray[Any]

_MAGIC = b"ALLUSION"
_PREFIX = struct.Struct("<8sQI")
_ALIGN = 64
_TYPES = frozenset({"|i1", "|u1", "<u2", "<i4", "<i8", "<f4", "<f8"})
_MAX_HEADER = 1 << 24


def save_arrays(path: Path, meta: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
    """Write `arrays` and `meta` to `path`, whole or not at all.

    Args:
        path: The file; an older one is replaced once the new one is complete.
        meta: Anything that JSON holds; `load` gives it back.
        arrays: Numbers of any shape.

    Raises:
        StorageError: The file cannot be written.
        ValueError: An array holds something else than numbers.
    """
    table: dict[str, dict[str, Any]] = {}
    offset = 0
    data = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in data.items():
        if array.dtype.str not in _TYPES:
            raise ValueError(f"array {name} has type {array.dtype}, which is not stored")
        table[name] = {
            "type": array.dtype.str,
            "shape": array.shape,
            "offset": offset,
            "crc": zlib.crc32(array.data),
        }
        offset += -(-array.nbytes // _ALIGN) * _ALIGN
    header = json.dumps({"meta": meta, "arrays": table, "size": offset}).encode()
    start = _start(len(header))
    with writing(path) as file:
        file.write(_PREFIX.pack(_MAGIC, len(header), zlib.crc32(header)))
        file.write(header)
        for name, array in data.items():
            file.seek(start + table[name]["offset"])
            file.write(array.data if array.nbytes else b"")
        file.truncate(start + offset)


def _start(header_length: int) -> int:
    return -(-(_PREFIX.size + header_length) // _ALIGN) * _ALIGN


class ArrayFile:
    """The arrays of a file, checked against their checksums when first asked for.

    Args:
        path: The file.
        rebuild: What to tell the user to do where the file is damaged.

    Attributes:
        meta: What was saved with the arrays.
        fingerprint: The same for files with the same content, and for no other.

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
                raise self._damaged("it does not begin as an index does")
            _, length, crc = _PREFIX.unpack(prefix)
            header = file.read(length) if length <= _MAX_HEADER else b""
            if len(header) != length or zlib.crc32(header) != crc:
                raise self._damaged("its header is incomplete or changed")
            self._buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.fingerprint = hashlib.sha256(header).hexdigest()[:16]
        content = json.loads(header)
        self.meta: dict[str, Any] = content["meta"]
        self._table: dict[str, dict[str, Any]] = content["arrays"]
        self._start = _start(length)
        if len(self._buffer) != self._start + content.get("size", -1):
            raise self._damaged("it is cut off")

    def __contains__(self, name: str) -> bool:
        """Whether there is an array of that name."""
        return name in self._table

    def load(self, name: str) -> Array:
        """The array `name`, memory-mapped and read-only.

        Raises:
            IndexDamagedError: It is missing, cut off or changed.
        """
        entry = self._table.get(name)
        if entry is None or entry["type"] not in _TYPES:
            raise self._damaged(f"it lacks {name}")
        count = int(np.prod(entry["shape"], dtype=np.int64))
        start = self._start + entry["offset"]
        flat: Array = np.frombuffer(self._buffer, entry["type"], count, start)
        if zlib.crc32(flat.data) != entry["crc"]:
            raise self._damaged(f"{name} has changed since it was written")
        return flat.reshape(entry["shape"])

    def check(self) -> None:
        """Read every array and compare its checksum.

        Raises:
            IndexDamagedError: One of them is damaged.
        """
        for name in self._table:
            self.load(name)

    def _damaged(self, what: str) -> IndexDamagedError:
        return IndexDamagedError(f"{self._path}: damaged index, {what}; {self._rebuild}")
