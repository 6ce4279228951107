"""fastText's own format (`.bin`): memory-mapped, so that only the rows in use are read.

Source: the fastText program, `args.cc`, `dictionary.cc`, `fasttext.cc`, versions 11 and 12.
"""

import mmap
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.errors import InputError
from allusion_es.language.vectors.tables import NgramVectors

MAGIC = struct.pack("<i", 793712314)
"""The first bytes of such a file."""

# magic, version; dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn,
# lrUpdateRate, t; size, nwords, nlabels, ntokens, pruneidx_size
_HEADER = struct.Struct("<2i12id3i2q")
_SHAPE = struct.Struct("<?2q")
_COUNT_AND_TYPE = 9
_SUPERVISED = 3
_ROWS_AT_ONCE = 1 << 14


def read_fasttext(path: Path, name: str) -> NgramVectors:
    """The vectors of a model that was trained without labels.

    Args:
        path: The file.
        name: Names the vectors and their version.

    Raises:
        InputError: The file is cut off, has labels, is quantised, or holds a vector that is not
            finite.
    """
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if len(data) < _HEADER.size:
        raise _cut_off(path)
    header = _HEADER.unpack_from(data)
    version, dimension, model, (least, greatest) = header[1], header[2], header[9], header[11:13]
    entries, count, labels, _, pruned = header[15:]
    if version not in (11, 12):
        raise InputError(f"{path}: fastText format {version}; 11 and 12 are read")
    if labels or model == _SUPERVISED:
        raise InputError(
            f"{path}: a fastText classifier; use a model trained with 'skipgram' or 'cbow'"
        )
    if entries != count:
        raise _unfit(path)
    words, place = _words(path, data, entries)
    if place + _SHAPE.size > len(data):
        raise _cut_off(path)
    quantised, rows, columns = _SHAPE.unpack_from(data, place)
    if pruned > 0 or quantised:
        raise InputError(f"{path}: a quantised fastText model; use the '.bin' or '.vec' file")
    place += _SHAPE.size
    if columns != dimension or columns < 1 or rows < count:
        raise _unfit(path)
    if place + 4 * rows * columns > len(data):
        raise _cut_off(path)
    table = np.frombuffer(data, "<f4", rows * columns, place).reshape(rows, columns)
    _check_finite(path, table, words)
    return NgramVectors(name, "fastText", words, table, (least, greatest))


def _words(path: Path, data: mmap.mmap, count: int) -> tuple[list[str], int]:
    """The words, and where they end; after each stand its frequency and type."""
    numbers: dict[str, int] = {}
    place = _HEADER.size
    for number in range(1, count + 1):
        end = data.find(b"\0", place)
        if end < 0:
            raise _cut_off(path)
        # Words that are not UTF-8 are no Latin words, but have to keep their place.
        word = data[place:end].decode(errors="backslashreplace")
        first = numbers.setdefault(word, number)
        if first != number:
            raise InputError(f"{path}: word {number}: {word!r} is also word {first}; train again")
        place = end + 1 + _COUNT_AND_TYPE
    if not numbers:
        raise InputError(f"{path}: there is no word in it; give at least one")
    return list(numbers), place


def _check_finite(path: Path, table: NDArray[np.float32], words: list[str]) -> None:
    for start in range(0, len(table), _ROWS_AT_ONCE):
        finite = np.isfinite(table[start : start + _ROWS_AT_ONCE]).all(axis=1)
        if not finite.all():
            row = start + int(np.argmin(finite))
            what = f"of {words[row]!r}" if row < len(words) else f"in row {row} (of n-grams)"
            raise InputError(f"{path}: the vector {what} is not finite; train again")


def _cut_off(path: Path) -> InputError:
    return InputError(f"{path}: the file is cut off; get it again")


def _unfit(path: Path) -> InputError:
    return InputError(f"{path}: its parts do not fit each other; get the file again")
