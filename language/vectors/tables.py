"""Word vectors computed from a table of rows, in the ways of word2vec, fastText and floret.

`TableVectors` has a row for each word, `NgramVectors` rows for words and for n-grams (fastText),
`Floret` rows for n-grams only (floret). Rows are looked up when words are asked for, so that
a memory-mapped table is never read whole.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import mmh3
import numpy as np
from numpy.typing import NDArray

from allusion_es.core.errors import InputError
from allusion_es.language.latin.fold import fold
from allusion_es.language.latin.spelling import likely_spelling

Details = Mapping[str, object]
"""Facts about vectors, such as how they were trained."""

_NOTHING: Details = MappingProxyType({})


def folded(word: str) -> str:
    """Return a file's word as `fold` spells it, or "" if it is not a word.

    Files also list ends of sentences, numbers and phrases. An entry with anything but letters and
    accents in it is left out, since folding would turn it into another word.

    Example:
        >>> [folded(word) for word in ("Verbum", "</s>", "in_principio", "12", "ămō")]
        ['uerbum', '', '', '', 'amo']
    """
    if word.isalpha() or all(c.isalpha() or unicodedata.combining(c) for c in word):
        return fold(word)
    return ""


def folded_rows(words: Iterable[str]) -> dict[str, int]:
    """Return the row of each folded word, the first where several words fold to the same.

    Files list the most frequent words first, so the most frequent spelling wins.

    Example:
        >>> folded_rows(["uerbum", "</s>", "Verbum", "deus"])
        {'uerbum': 0, 'deus': 3}
    """
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        if form := folded(word):
            rows.setdefault(form, row)
    return rows


def scale_to_unit_length(rows: NDArray[np.float32]) -> None:
    """Scale each row to unit length, in place; rows of zeros stay."""
    # In double precision, since squares of large or small numbers overflow single precision.
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, None]
    np.divide(rows, lengths, out=rows, where=lengths > 0, casting="same_kind")


class TableVectors:
    """Word vectors with a row for each word; other words get zeros, so they are similar to nothing.

    Args:
        name: The name of the vectors and their version.
        kind: The kind of file, for people.
        rows: For each folded word its row.
        table: Vectors of any length, shape (rows, dimension), finite, float32.
        details: How they were made, as far as known.

    Example:
        >>> table = np.array([[3, 4], [0, 2]], np.float32)
        >>> vectors = TableVectors("little", "by hand", {"deus": 0, "homo": 1}, table)
        >>> vectors.vectors(["homo", "deus", "xyzzy"]).round(2).tolist()
        [[0.0, 1.0], [0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """

    unknown_words = "no vector: similar to nothing"

    def __init__(
        self,
        name: str,
        kind: str,
        rows: Mapping[str, int],
        table: NDArray[np.float32],
        details: Details = _NOTHING,
    ) -> None:
        self.name = name
        self.kind = kind
        self.details = details
        self.dimension: int = table.shape[1]
        self._rows = rows
        self._table = table

    def __len__(self) -> int:
        """Return the number of words with a vector."""
        return len(self._rows)

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(words), dimension), as `WordVectors.vectors` does."""
        result = np.zeros((len(words), self.dimension), np.float32)
        known = [number for number, word in enumerate(words) if word in self._rows]
        result[known] = self._table[[self._rows[words[number]] for number in known]]
        scale_to_unit_length(result)
        return result


class NgramVectors:
    """fastText's word vectors: the mean of a word's own row and those of its n-grams.

    Source: Bojanowski et al. (2017), Enriching Word Vectors with Subword Information, in the
    form of the fastText program. A word is padded as `<word>`; its n-grams are the runs of
    `sizes` characters, boundary signs alone left out; each picks a row by 32-bit FNV-1a. A word
    that is not in the file has the mean of its n-grams' rows; zeros if it has none.

    Where the file's words have v, words that it lacks are respelled with v by
    `likely_spelling`, so that they get the n-grams of the training text.

    Args:
        name: The name of the vectors and their version.
        kind: The kind of file, for people.
        words: The words as the file spells them.
        table: One row for each word, then the rows that n-grams share.
        sizes: Least and greatest length of n-grams; (0, 0) for none.
        details: How they were made, as far as known.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        words: Sequence[str],
        table: NDArray[np.float32],
        sizes: tuple[int, int],
        details: Details = _NOTHING,
    ) -> None:
        self.name = name
        self.kind = kind
        self.details = details
        self.dimension: int = table.shape[1]
        self._words = words
        self._rows = folded_rows(words)
        self._table = table
        self._sizes = sizes
        self._respell = any("v" in word.lower() for word in words)

    @property
    def unknown_words(self) -> str:
        """A note on words that are not in the file, for people."""
        if self._has_ngrams:
            return "made of their n-grams"
        return TableVectors.unknown_words

    def __len__(self) -> int:
        """Return the number of words with a row of their own."""
        return len(self._rows)

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(words), dimension), as `WordVectors.vectors` does."""
        result = np.zeros((len(words), self.dimension), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            for number, word in enumerate(words):
                self._table[self._rows_of(word)].sum(axis=0, out=result[number])
        finite = np.isfinite(result).all(axis=1)
        if not finite.all():
            bad = words[int(np.argmin(finite))]
            raise InputError(f"word vectors {self.name}: the vector of {bad!r} is not finite")
        scale_to_unit_length(result)
        return result

    @property
    def _has_ngrams(self) -> bool:
        return self._sizes[1] > 0 and len(self._table) > len(self._words)

    def _rows_of(self, word: str) -> list[int]:
        own = self._rows.get(word)
        if own is None:
            rows, spelled = [], likely_spelling(word) if self._respell else word
        else:
            rows, spelled = [own], self._words[own]
        if self._has_ngrams:
            first = len(self._words)
            buckets = ngram_buckets(spelled, *self._sizes, len(self._table) - first)
            rows += [first + bucket for bucket in buckets]
        return rows


def ngram_buckets(word: str, least: int, greatest: int, buckets: int) -> list[int]:
    """Return the bucket of each n-gram of a word, by fastText's hash.

    Args:
        word: The word without boundary signs.
        least: The length of the shortest n-grams, in characters.
        greatest: The length of the longest.
        buckets: The number of buckets.

    Example:
        >>> len(ngram_buckets("rex", 3, 4, 100))  # <re rex ex> <rex rex>
        5
    """
    letters = [letter.encode() for letter in f"<{word}>"]
    found = []
    for start in range(len(letters)):
        code = 2166136261
        for size, letter in enumerate(letters[start : start + greatest], start=1):
            for byte in letter:
                # FNV-1a as fastText computes it: bytes are signed there, so those above 127 set the
                # high bits too.
                code = (code ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619 & 0xFFFFFFFF
            sign_alone = size == 1 and start in (0, len(letters) - 1)
            if size >= least and not sign_alone:
                found.append(code % buckets)
    return found


# The settings with which the vectors of vulgata-pipeline were trained; a `.npy` file does not
# record them.
_MIN_GRAM, _MAX_GRAM = 2, 6
_SEED = 2166136261


class Floret:
    """Word vectors in floret's format: the mean of hashed rows of the word and its n-grams.

    Source: floret (explosion.ai; fastText with Bloom embeddings). A word is padded as `<word>`;
    it and each of its n-grams of 2 to 6 characters pick two rows, the first two little-endian
    32-bit words of MurmurHash3 x64 128 modulo the number of rows.

    The table was trained on editions that print v; folded words are respelled for it.

    Args:
        path: A `.npy` file of shape (rows, dimension), float32; it is memory-mapped.
        name: The name of the vectors and their version.

    Raises:
        InputError: The file is not such a table.
    """

    def __init__(self, path: Path, name: str) -> None:
        try:
            table = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # numpy evaluates the header as Python, which raises anything
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
        """Return unit vectors, shape (len(words), dimension), as `WordVectors.vectors` does."""
        sums = np.empty((len(words), self.dimension), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
            for number, word in enumerate(words):
                rows = _rows(likely_spelling(word), len(self._table))
                # Half the time of indexing and `sum`, with the same digits.
                np.add.reduce(self._table.take(rows, axis=0), axis=0, out=sums[number])
            norms = np.linalg.norm(sums, axis=1, keepdims=True)
        if not np.isfinite(norms).all():
            bad = words[int(np.flatnonzero(~np.isfinite(norms))[0])]
            raise InputError(f"word vectors {self.name}: the vector of {bad!r} is not finite")
        np.divide(sums, norms, out=sums, where=norms > 0)
        return sums


def _rows(word: str, rows: int) -> NDArray[np.int64]:
    """The rows of a padded word and of its n-grams, two each."""
    padded = f"<{word}>"
    grams = [padded]
    for size in range(_MIN_GRAM, _MAX_GRAM + 1):
        grams += [padded[place : place + size] for place in range(len(padded) - size + 1)]
    hashes = np.fromiter(map(_hash, grams), dtype=np.uint64, count=len(grams))
    both = np.stack([hashes & np.uint64(0xFFFFFFFF), hashes >> np.uint64(32)], axis=1)
    return (both % np.uint64(rows)).ravel().astype(np.int64)


@lru_cache(maxsize=1 << 17)  # words share most of their n-grams
def _hash(gram: str) -> int:
    """The first 64 bits of a gram's hash."""
    first: int = mmh3.hash64(gram, _SEED, signed=False)[0]
    return first
