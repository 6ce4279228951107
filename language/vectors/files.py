"""Files of word vectors: recognised by their first bytes, read, and written.

Words are folded as `fold` does; where several words of a file fold to the same form (uerbum,
Verbum), the first one counts, which is the most frequent one. No format that can hold code (pickle)
is read.

gensim could read word2vec's and fastText's files, but not safely: it allocates as much memory as a
file's header claims, only warns about a repeated word, and accepts vectors that are not finite; and
it loads the whole matrix of a fastText model (often several gigabytes), of which a query needs some
rows. The readers below stream or memory-map, and their errors name line or word.
"""

import gzip
import mmap
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from allusion_es.core.arrays import ArrayFile, CheckedArrays, lines_array, save_arrays
from allusion_es.core.errors import InputError
from allusion_es.core.files import read_text
from allusion_es.core.plugins import plugins, start_plugin
from allusion_es.language.vectors.tables import (
    Details,
    Floret,
    NgramVectors,
    TableVectors,
    folded,
    folded_rows,
)
from allusion_es.language.vectors.types import WordVectors

FileVectors = TableVectors | NgramVectors | Floret
"""Word vectors from a file; their `unknown_words` tells how words outside the file are treated."""

_KIND = "word vectors"
_FORMAT = 1
_SAVED_MAGIC, _NPY_MAGIC, _GZIP_MAGIC, _ZIP_MAGIC = b"ALLUSION", b"\x93NUMPY", b"\x1f\x8b", b"PK"
_PICKLE_START = b"\x80"
_EDGE = 1 << 20  # bytes at both ends of a file that its fingerprint covers
_LARGEST = float(np.finfo(np.float32).max)
_LONGEST_GRAM = 100


def read_vectors(path: Path) -> FileVectors:
    """Return the word vectors of a file, whose first bytes tell its format.

    - word2vec's text and binary formats, also as `.gz`; fastText's `.vec` is such a text.
      Other words have zeros: similar to nothing.
    - fastText's `.bin` (memory-mapped). Other words are made of their n-grams.
    - This project's own format (`save_vectors`, `allusion-es embeddings train`).
    - A `.npy` table with its words beside it in a `.txt`, one a line. Other words have zeros.
    - A `.npy` table alone: floret's hashed rows. All words are made of n-grams.

    Raises:
        InputError: The file cannot be read, has another format, or holds a vector that is not
            finite, a wrong dimension, a word twice or no word; the message says where.
        IndexDamagedError: A file in this project's format is damaged.
    """
    try:
        with path.open("rb") as file:
            head = file.read(8)
            file.seek(0)
            name = f"{path.name} {_fingerprint(file):08x}"
            file.seek(0)
            if head.startswith(_SAVED_MAGIC):
                return _read_saved(path, name)
            if head.startswith(_NPY_MAGIC):
                return _read_npy(path, name)
            if head.startswith(_FASTTEXT_MAGIC):
                return _read_fasttext(path, name)
            if head.startswith(_GZIP_MAGIC):
                return _read_gzip(path, name, file)
            return _read_word2vec(path, name, head, file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def _read_gzip(path: Path, name: str, packed: BinaryIO) -> TableVectors:
    try:
        with gzip.open(packed) as file:
            head = file.read(8)
            file.seek(0)
            if head.startswith((_FASTTEXT_MAGIC, _SAVED_MAGIC, _NPY_MAGIC)):
                raise InputError(f"{path}: unpack it first, with 'gunzip {path.name}'")
            return _read_word2vec(path, name, head, cast(BinaryIO, file))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: damaged ({error}); get the file again") from error


def _read_word2vec(path: Path, name: str, head: bytes, file: BinaryIO) -> TableVectors:
    if head.startswith((_PICKLE_START, _ZIP_MAGIC)):
        raise InputError(
            f"{path}: a file that gensim's save() or Python's pickle wrote; it could run any code "
            "and is not read; write the vectors with gensim's save_word2vec_format(), or as .npy "
            "with the words beside it in a .txt, one a line"
        )
    return TableVectors(name, "word2vec", *_word2vec_rows(path, file))


def _read_npy(path: Path, name: str) -> TableVectors | Floret:
    floret = Floret(path, name)  # also checks type and shape of the table
    words_path = path.with_suffix(".txt")
    if not words_path.exists():
        return floret
    words = read_text(words_path).splitlines()
    table: NDArray[np.float32] = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    if len(words) != len(table):
        raise InputError(
            f"{words_path}: {len(words)} words do not match the {len(table)} rows of {path.name}; "
            "give one word a line"
        )
    lines: dict[str, int] = {}
    for line, word in enumerate(words, start=1):
        if lines.setdefault(word, line) != line:
            raise InputError(
                f"{words_path}:{line}: {word!r} is also on line {lines[word]}; leave one of them "
                "out, and its row"
            )
        if not np.isfinite(table[line - 1]).all():
            raise InputError(
                f"{words_path}:{line}: the vector of {word!r} is not finite; leave the word out, "
                "and its row"
            )
    rows = folded_rows(words)
    if not rows:
        raise InputError(f"{words_path}: there is no word in it; give at least one")
    return TableVectors(name, "table", rows, table)


def save_vectors(
    path: Path,
    words: Sequence[str],
    table: NDArray[np.float32],
    sizes: tuple[int, int] = (0, 0),
    details: Details | None = None,
) -> None:
    """Write word vectors in this project's format: checksummed, memory-mapped when opened.

    Args:
        path: The file; an older one is replaced once the new one is complete.
        words: As analysis spells them, no word twice, most frequent first.
        table: One row for each word, then the rows that n-grams share, if there are any.
        sizes: Least and greatest length of fastText's n-grams; (0, 0) for none.
        details: How the vectors were made, as JSON.

    Raises:
        InputError: There is no word, or a vector is not finite.
        StorageError: The file cannot be written.
    """
    if not words:
        raise InputError(f"{path}: there is no word to save; give more text")
    if not np.isfinite(table).all():
        raise InputError(f"{path}: a vector is not finite; train with fewer epochs or more text")
    meta = {"kind": _KIND, "format": _FORMAT, "sizes": list(sizes), "details": dict(details or {})}
    save_arrays(path, meta, {"words": lines_array(words), "table": table})


_Size = Annotated[int, Meta(ge=0, le=_LONGEST_GRAM)]


class _Header(Struct):
    """The header of saved vectors: how they were trained, and the sizes of n-grams."""

    details: dict[str, Any]
    sizes: tuple[_Size, _Size]


def _read_saved(path: Path, name: str) -> TableVectors | NgramVectors:
    file = CheckedArrays(ArrayFile(path, "train the vectors again"))
    if file.meta.get("kind") != _KIND or file.meta.get("format") != _FORMAT:
        raise InputError(
            f"{path}: not word vectors, or of another version; train them with "
            "'allusion-es embeddings train'"
        )
    header = file.header(_Header)
    details, sizes = header.details, header.sizes
    kind = str(details.get("method", "trained"))
    words, table = file.lines("words"), file.floats("table", (None, None), _LARGEST)
    if not words or len(table) < len(words) or not table.shape[1]:
        raise file.file.damaged("words and vectors do not fit")
    if len(table) > len(words):
        return NgramVectors(name, kind, words, table, sizes, details)
    return TableVectors(name, kind, folded_rows(words), table, details)


def _fingerprint(file: BinaryIO) -> int:
    """A checksum of a file's length, beginning and end, without reading a large file whole."""
    size = file.seek(0, 2)
    file.seek(0)
    code = zlib.crc32(file.read(_EDGE), size & 0xFFFFFFFF)
    file.seek(max(0, size - _EDGE))
    return zlib.crc32(file.read(_EDGE), code)


# Word vectors by name or path

GROUP = "allusion_es.vectors"
"""The entry-point group of named word vectors: callables that open them."""


def load_vectors(
    name_or_path: str | Path, named: Mapping[str, Callable[[], WordVectors]] | None = None
) -> WordVectors:
    """Return the word vectors of a name or a file.

    A file is read once as long as it does not change. Names take precedence over files (write
    `./floret` for a file of that name).

    Args:
        name_or_path: A name, or the path of a file.
        named: Functions that open vectors by name; they take precedence over plug-ins.

    Raises:
        InputError: It is neither a name nor a file, or the file cannot be read as word vectors.
        PluginError: The plug-in of that name cannot be loaded.

    Example:
        >>> load_vectors("nihil")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        allusion_es.core.errors.InputError: vectors: there are no word vectors 'nihil'...
    """
    openers = named or {}
    name = str(name_or_path)
    if name in openers:
        return openers[name]()
    plugged = plugins(GROUP)
    if name in plugged:
        vectors: WordVectors = start_plugin(GROUP, name)
        return vectors
    path = Path(name_or_path)
    try:
        state = path.stat()
    except (OSError, ValueError):
        names = " or ".join(sorted({*openers, *plugged}))
        raise InputError(
            f"there are no word vectors {name!r}; give a file" + (f" or {names}" if names else ""),
            argument="vectors",
        ) from None
    return _read(path.resolve(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _read(path: Path, changed: int, size: int) -> FileVectors:
    """The vectors of a file; modification time and size are part of the cache's key."""
    return read_vectors(path)


# word2vec's formats

Values = NDArray[np.float32]
Records = Iterator[tuple[bytes, list[bytes] | bytes]]
"""Words with their numbers, as text or as the bytes of float32 values."""

_WORD2VEC_HEADER = re.compile(rb"(\d{1,12}) (\d{1,12})\s*")
_GREATEST_DIMENSION = 10_000
_LONGEST_LINE = 1 << 20  # bytes; 10,000 numbers of some 10 characters fit
_LONGEST_WORD = 1 << 12
_CHUNK = 1 << 20
_FIRST_ROWS = 1 << 14  # rows that are allocated first, whatever the header claims
_TEXT_SUFFIXES = frozenset({".txt", ".vec"})


def _word2vec_rows(path: Path, file: BinaryIO) -> tuple[dict[str, int], Values]:
    """Return the row of each folded word, and the table, shape (rows, dimension).

    A header `WORDS DIMENSION`, then for each word the word, a blank and its numbers: in text
    with a line for each word, in binary as little-endian float32. Names that end in `.txt` or
    `.vec` are text, those in `.bin` binary; of others the first vector tells. Memory holds the
    table (single precision, once) and the words.

    Args:
        path: The file, for messages and for its suffix.
        file: Its content, unpacked.

    Raises:
        InputError: The file is cut off or has another format, or a vector has the wrong dimension
            or is not finite, or a word is repeated; the message names line or word.
    """
    header = _WORD2VEC_HEADER.fullmatch(file.readline(_LONGEST_LINE))
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
    rows = _Word2VecRows(path, dimension, text)
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
    """Whether the first vector is printable, as float32 values hardly ever are."""
    _, _, vector = start.partition(b" ")
    part = vector[: 4 * dimension].decode(errors="replace")[:-1]  # a letter may be cut in two
    return "\ufffd" not in part and all(c.isprintable() or c in "\r\n\t" for c in part)


def _lines(start: bytes, file: BinaryIO) -> Records:
    """Yield words and numbers of the text format; `start` has been read from the file already."""
    rest = file.readline(_LONGEST_LINE)  # ends the last line of the start
    for line in chain((start + rest).splitlines(), iter(lambda: file.readline(_LONGEST_LINE), b"")):
        word, *values = line.rstrip().split(b" ")
        yield word, values


def _binary(start: bytes, file: BinaryIO, dimension: int) -> Records:
    """Yield words and bytes of the binary format, in which some writers end rows with newlines."""
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


class _Word2VecRows:
    """The words and vectors read so far, each checked before it is added."""

    def __init__(self, path: Path, dimension: int, text: bool) -> None:
        self.read = 0
        self._path = path
        self._dimension = dimension
        self._text = text
        self._numbers: dict[str, int] = {}
        self._rows: dict[str, int] = {}
        self._table = np.empty((_FIRST_ROWS, dimension), np.float32)

    def place(self, number: int) -> str:
        """The place of a word for messages; in text, line 1 is the header."""
        return f"{self._path}:{number + 1}" if self._text else f"{self._path}: word {number}"

    def add(self, number: int, word: bytes, values: list[bytes] | bytes) -> None:
        """Add word `number`, counted from 1, with its vector."""
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
                # Grown in place if the system can, since a copy would double the memory.
                self._table.resize((row + row // 2, self._dimension), refcheck=False)
            self._table[row] = vector

    def finished(self) -> tuple[dict[str, int], Values]:
        """Return the row of each folded word, and the table."""
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
            with np.errstate(over="ignore"):  # becomes infinite, refused below
                vector = doubles.astype(np.float32)
        if not np.isfinite(vector).all():
            raise InputError(
                f"{where}: the vector of {name[:40]!r} is not finite; leave the word out or train "
                "again"
            )
        return vector


# fastText's own format (`.bin`), memory-mapped, so that only the rows in use are read
#
# Source: the fastText program, `args.cc`, `dictionary.cc`, `fasttext.cc`, versions 11 and 12.

_FASTTEXT_MAGIC = struct.pack("<i", 793712314)
"""The first bytes of a fastText model."""

# magic, version; dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn,
# lrUpdateRate, t; size, nwords, nlabels, ntokens, pruneidx_size
_FASTTEXT_HEADER = struct.Struct("<2i12id3i2q")
_SHAPE = struct.Struct("<?2q")
_COUNT_AND_TYPE = 9
_SUPERVISED = 3
_ROWS_AT_ONCE = 1 << 14


def _read_fasttext(path: Path, name: str) -> NgramVectors:
    """Return the vectors of a fastText model that was trained without labels.

    Args:
        path: The file.
        name: The name of the vectors and their version.

    Raises:
        InputError: The file is cut off, has labels, is quantised, or holds a vector that is not
            finite.
    """
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if len(data) < _FASTTEXT_HEADER.size:
        raise _cut_off(path)
    header = _FASTTEXT_HEADER.unpack_from(data)
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
    words, place = _fasttext_words(path, data, entries)
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


def _fasttext_words(path: Path, data: mmap.mmap, count: int) -> tuple[list[str], int]:
    """The words, and the byte after them; each is followed by its frequency and type."""
    numbers: dict[str, int] = {}
    place = _FASTTEXT_HEADER.size
    for number in range(1, count + 1):
        end = data.find(b"\0", place)
        if end < 0:
            raise _cut_off(path)
        # A word that is not UTF-8 is no Latin word, but its row must be counted.
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
