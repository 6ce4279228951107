"""Floret word vectors: every word form has one, made of its character n-grams."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import mmh3
import numpy as np
from numpy.typing import NDArray

from allusion_es.core.errors import InputError
from allusion_es.language.latin.spelling import likely_spelling

_MIN_GRAM, _MAX_GRAM = 2, 6
_SEED = 2166136261


class Floret:
    """Vectors in floret's format: the mean of hashed rows for the word and its n-grams.

    Source: floret (explosion.ai; fastText with Bloom embeddings). A word is padded as `<word>`;
    it and each of its n-grams of 2 to 6 characters pick two rows, the first two little-endian
    32-bit words of MurmurHash3 x64 128 modulo the number of rows.

    The table was trained on editions that print v; folded words are respelled for it.

    Args:
        path: A `.npy` file of shape (rows, dimension), float32; it is memory-mapped.
        name: Names the vectors and their version.

    Raises:
        InputError: The file is not such a table.
    """

    def __init__(self, path: Path, name: str) -> None:
        try:
            table = np.load(path, mmap_mode="r", allow_pickle=False)
        except (
            Exception
        ) as error:  # numpy reads the header as Python does, and raises what that does
            raise InputError(f"{path}: not a table of word vectors ({error})") from error
        if table.ndim != 2 or table.dtype != np.float32 or not table.size:
            raise InputError(
                f"{path}: word vectors must be a float32 matrix, not {table.dtype} {table.shape}"
            )
        # A plain view: numpy's memmap class makes every access several times slower.
        self._table: NDArray[np.float32] = np.asarray(table)
        self.name = name
        self.dimension: int = table.shape[1]

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(words), dimension); see `WordVectors`."""
        sums = np.empty((len(words), self.dimension), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
            for number, word in enumerate(words):
                rows = _rows(likely_spelling(word), len(self._table))
                self._table[rows].sum(axis=0, out=sums[number])
            norms = np.linalg.norm(sums, axis=1, keepdims=True)
        if not np.isfinite(norms).all():
            bad = words[int(np.flatnonzero(~np.isfinite(norms))[0])]
            raise InputError(f"word vectors {self.name}: the vector of {bad!r} is not finite")
        np.divide(sums, norms, out=sums, where=norms > 0)
        return sums


def _rows(word: str, rows: int) -> list[int]:
    padded = f"<{word}>"
    found = [*_two_rows(padded, rows)]
    for size in range(_MIN_GRAM, _MAX_GRAM + 1):
        for place in range(len(padded) - size + 1):
            found += _two_rows(padded[place : place + size], rows)
    return found


@lru_cache(maxsize=1 << 17)  # words share most of their n-grams
def _two_rows(gram: str, rows: int) -> tuple[int, int]:
    first = mmh3.hash64(gram, _SEED, signed=False)[0]
    return (first & 0xFFFFFFFF) % rows, (first >> 32) % rows
