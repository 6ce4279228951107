"""Files of word vectors: which format one has, and word vectors from any of them.

Words are folded as `fold` does; where several words of a file fold to the same form (uerbum,
Verbum), the first one counts, which is the most frequent one. No format that can hold code is
read.
"""

import gzip
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import ArrayFile, CheckedArrays, save_arrays
from allusion_es.core.errors import InputError
from allusion_es.core.files import read_text
from allusion_es.core.plugins import plugins, start_plugin
from allusion_es.language.vectors.fasttext import MAGIC as FASTTEXT_MAGIC
from allusion_es.language.vectors.fasttext import read_fasttext
from allusion_es.language.vectors.floret import Floret
from allusion_es.language.vectors.tables import Details, NgramVectors, TableVectors, folded_rows
from allusion_es.language.vectors.types import WordVectors
from allusion_es.language.vectors.word2vec import read_word2vec

FileVectors = TableVectors | NgramVectors | Floret
"""Word vectors of a file; each says what becomes of words that the file lacks."""

_KIND = "word vectors"
_FORMAT = 1
_SAVED_MAGIC, _NPY_MAGIC, _GZIP_MAGIC, _ZIP_MAGIC = b"ALLUSION", b"\x93NUMPY", b"\x1f\x8b", b"PK"
_PICKLE_START = b"\x80"
_EDGE = 1 << 20
_LARGEST = float(np.finfo(np.float32).max)
_LONGEST_GRAM = 100


def read_vectors(path: Path) -> FileVectors:
    """The word vectors of a file, whose first bytes tell its format.

    - word2vec's text and binary formats, also as `.gz`; fastText's `.vec` is such a text.
      Other words have zeros: similar to nothing.
    - fastText's `.bin` (memory-mapped). Other words are made of their n-grams.
    - What `save_vectors` wrote, such as `allusion-es embeddings train` does.
    - A `.npy` table with its words beside it in a `.txt`, one a line. Other words have zeros.
    - A `.npy` table alone: floret's hashed rows. All words are made of n-grams.

    Raises:
        InputError: The file cannot be read, has another format, or holds a vector that is not
            finite, a wrong dimension, a word twice or no word; the message says where.
        IndexDamagedError: What `save_vectors` wrote has been damaged.
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
            if head.startswith(FASTTEXT_MAGIC):
                return read_fasttext(path, name)
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
            if head.startswith((FASTTEXT_MAGIC, _SAVED_MAGIC, _NPY_MAGIC)):
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
    return TableVectors(name, "word2vec", *read_word2vec(path, file))


def _read_npy(path: Path, name: str) -> TableVectors | Floret:
    floret = Floret(path, name)  # checks type and shape
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
        details: How they were made; anything that JSON holds.

    Raises:
        InputError: There is no word, or a vector is not finite.
        StorageError: The file cannot be written.
    """
    if not words:
        raise InputError(f"{path}: there is no word to save; give more text")
    if not np.isfinite(table).all():
        raise InputError(f"{path}: a vector is not finite; train with fewer epochs or more text")
    meta = {"kind": _KIND, "format": _FORMAT, "sizes": list(sizes), "details": dict(details or {})}
    names = np.frombuffer("\n".join(words).encode(), np.uint8)
    save_arrays(path, meta, {"words": names, "table": table})


def _read_saved(path: Path, name: str) -> TableVectors | NgramVectors:
    file = CheckedArrays(ArrayFile(path, "train the vectors again"))
    if file.meta.get("kind") != _KIND or file.meta.get("format") != _FORMAT:
        raise InputError(
            f"{path}: not word vectors, or of another version; train them with "
            "'allusion-es embeddings train'"
        )
    kind, details, sizes = file.read_header(_told)
    words, table = file.lines("words"), file.floats("table", (None, None), _LARGEST)
    if not words or len(table) < len(words) or not table.shape[1]:
        raise file.file.damaged("words and vectors do not fit")
    if len(table) > len(words):
        return NgramVectors(name, kind, words, table, sizes, details)
    return TableVectors(name, kind, folded_rows(words), table, details)


def _told(meta: Mapping[str, Any]) -> tuple[str, Details, tuple[int, int]]:
    """What a header says: how they were made, in one word and in many, and sizes of n-grams."""
    details = dict(meta["details"].items())
    least, greatest = meta["sizes"]
    if not all(type(size) is int and 0 <= size <= _LONGEST_GRAM for size in (least, greatest)):
        raise ValueError("sizes")
    return str(details.get("method", "trained")), details, (least, greatest)


def _fingerprint(file: BinaryIO) -> int:
    """Tells files apart by length, beginning and end, without reading a large one whole."""
    size = file.seek(0, 2)
    file.seek(0)
    code = zlib.crc32(file.read(_EDGE), size & 0xFFFFFFFF)
    file.seek(max(0, size - _EDGE))
    return zlib.crc32(file.read(_EDGE), code)


# Word vectors by name or path, each file read once.


GROUP = "allusion_es.vectors"
"""The entry-point group that word vectors with a name register in: callables that open them."""


def load_vectors(
    name_or_path: str | Path, named: Mapping[str, Callable[[], WordVectors]] | None = None
) -> WordVectors:
    """The word vectors of that name or file.

    A file is read once for as long as it stays the same; names go before files (write `./floret`
    for a file of that name).

    Args:
        name_or_path: A name, or the path of a file.
        named: What opens the vectors of some names; it goes before plug-ins of the same name.

    Raises:
        InputError: It is neither, or the file cannot be read as word vectors.
        PluginError: The plug-in of that name cannot be loaded.

    Example:
        >>> load_vectors("nihil")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        allusion_es.core.errors.InputError: there are no word vectors 'nihil'; give a file...
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
            f"there are no word vectors {name!r}; give a file" + (f" or {names}" if names else "")
        ) from None
    return _read(path.resolve(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _read(path: Path, changed: int, size: int) -> FileVectors:
    """The vectors of a file in the state that time and size tell."""
    return read_vectors(path)
