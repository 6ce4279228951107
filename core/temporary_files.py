"""Temporary files for data larger than memory; they vanish with the process, however it ends."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from allusion_es.core.errors import StorageError

Array = NDArray[Any]

_PIECE = 1 << 22
"""Bytes that are copied at a time."""


class TemporaryFiles:
    """Files without a name in one folder, closed at the end of `with`.

    Args:
        folder: Made where it is missing.

    Raises:
        StorageError: Nothing can be written there; so does all that writes to the files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open = ExitStack()

    def __enter__(self) -> "TemporaryFiles":
        """Begin the `with` block at whose end the files are closed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close and so delete all."""
        self._open.close()

    def file(self) -> BinaryIO:
        """A new file."""
        with self.writing():
            self._folder.mkdir(parents=True, exist_ok=True)
            return self._open.enter_context(
                tempfile.TemporaryFile(prefix=".allusion-es-", dir=self._folder)
            )

    def array(self, kind: DTypeLike, width: int | None = None) -> "SpilledArray":
        """A new array without rows; with `width`, each row has so many numbers."""
        return SpilledArray(self, kind, () if width is None else (width,))

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Turn errors of the system into a `StorageError` that names the folder."""
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"{self._folder}: temporary files cannot be written ({error.strerror or error}); "
                "make room there"
            ) from error


class SpilledArray:
    """An array that grows row by row in a file.

    Args:
        files: Where the file lies.
        kind: The type of its numbers.
        row: The shape of a row.

    Example:
        >>> with TemporaryFiles(Path(tempfile.gettempdir())) as files:
        ...     array = files.array(np.int32, 2)
        ...     array.append(np.array([[1, 2], [3, 4]]))
        ...     array.shape, array.read(1, 2).tolist(), array.mapped()[0].tolist()
        ((2, 2), [[3, 4]], [1, 2])
    """

    def __init__(self, files: TemporaryFiles, kind: DTypeLike, row: tuple[int, ...] = ()) -> None:
        self.dtype: np.dtype[Any] = np.dtype(kind)
        self._files = files
        self._file = files.file()
        self._row = row
        self._bytes = self.dtype.itemsize * int(np.prod(row, dtype=np.int64))
        self._rows = 0

    def __len__(self) -> int:
        """The number of rows."""
        return self._rows

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, and the shape of a row."""
        return (self._rows, *self._row)

    @property
    def nbytes(self) -> int:
        """The number of bytes of all rows."""
        return self._rows * self._bytes

    def append(self, rows: Array) -> None:
        """Add rows at the end; shape (n, *row)."""
        data = np.ascontiguousarray(rows, dtype=self.dtype)
        if data.shape[1:] != self._row:
            raise ValueError(f"rows of shape {data.shape[1:]} instead of {self._row}")
        if data.size:
            with self._files.writing():
                self._file.seek(0, os.SEEK_END)
                self._file.write(data.data)
            self._rows += len(data)

    def read(self, start: int, end: int) -> Array:
        """The rows from `start` to `end`, exclusive."""
        with self._files.writing():
            self._file.seek(start * self._bytes)
            data = self._file.read((end - start) * self._bytes)
        return np.frombuffer(data, self.dtype).reshape((end - start, *self._row))

    def pieces(self) -> Iterator[memoryview]:
        """All bytes in order, a few MB at a time."""
        step = max(1, _PIECE // max(self._bytes, 1))
        for start in range(0, self._rows, step):
            yield self.read(start, min(start + step, self._rows)).data.cast("B")

    def mapped(self) -> Array:
        """All rows, memory-mapped; later ones are not seen."""
        with self._files.writing():
            self._file.flush()
        if not self.nbytes:
            return np.zeros(self.shape, self.dtype)
        return np.asarray(np.memmap(self._file, self.dtype, "r", shape=self.shape))
