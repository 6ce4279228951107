"""Word vectors that a file gives: a row for each word, or rows for words and n-grams."""

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
"""What else is known of vectors, such as how they were trained."""

_NOTHING: Details = MappingProxyType({})


def folded(word: str) -> str:
    """The word as `fold` spells it, or "" where it is no word.

    Files hold more than words: ends of sentences, numbers, phrases. What has anything but
    letters and accents in it is left out, since folding would make another word of it.

    Example:
        >>> [folded(word) for word in ("Verbum", "</s>", "in_principio", "12", "ămō")]
        ['uerbum', '', '', '', 'amo']
    """
    if word.isalpha() or all(c.isalpha() or unicodedata.combining(c) for c in word):
        return fold(word)
    return ""


def folded_rows(words: Iterable[str]) -> dict[str, int]:
    """For each word, folded, its row: the first where several fold to the same.

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
    """Divide each row by its length, in place; rows of zeros stay."""
    # In double precision, since squares of large or small numbers do not fit into single.
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, None]
    np.divide(rows, lengths, out=rows, where=lengths > 0, casting="same_kind")


class TableVectors:
    """Vectors of the words of a file; any other word has zeros, so it is similar to nothing.

    Args:
        name: Names the vectors and their version.
        kind: What the file is, for people.
        rows: For each word, folded, its row.
        table: Shape (rows, dimension), finite, float32, of any length.
        details: How they were made, as far as it is known.

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
        """How many words have a vector."""
        return len(self._rows)

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """See `WordVectors.vectors`."""
        result = np.zeros((len(words), self.dimension), np.float32)
        known = [number for number, word in enumerate(words) if word in self._rows]
        result[known] = self._table[[self._rows[words[number]] for number in known]]
        scale_to_unit_length(result)
        return result


class NgramVectors:
    """fastText's vectors: a word's is the mean of its own row and those of its n-grams.

    Source: Bojanowski et al. (2017), Enriching Word Vectors with Subword Information, in the
    form of the fastText program. A word is padded as `<word>`; its n-grams are the runs of
    `sizes` characters, boundary signs alone left out; each picks a row by 32-bit FNV-1a. A word
    that is not in the file has the mean of its n-grams' rows; zeros if it has none.

    Where the file's words have v, words that it lacks are respelled with v by
    `likely_spelling`.

    Args:
        name: Names the vectors and their version.
        kind: What the file is, for people.
        words: The words as the file spells them.
        table: First one row for each word, then the rows that n-grams share.
        sizes: Least and greatest length of n-grams; (0, 0) for none.
        details: How they were made, as far as it is known.
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
        """What becomes of words that are not in the file."""
        if self._has_ngrams:
            return "made of their n-grams"
        return TableVectors.unknown_words

    def __len__(self) -> int:
        """How many words have a row of their own."""
        return len(self._rows)

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """See `WordVectors.vectors`."""
        result = np.zeros((len(words), self.dimension), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
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
    """The bucket of each n-gram of a word, as fastText reckons it.

    Args:
        word: Without boundary signs.
        least: Characters of the shortest n-grams.
        greatest: Characters of the longest.
        buckets: How many buckets there are.

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
                # fastText takes bytes as signed numbers, which fills the high bits.
                code = (code ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619 & 0xFFFFFFFF
            sign_alone = size == 1 and start in (0, len(letters) - 1)
            if size >= least and not sign_alone:
                found.append(code % buckets)
    return found


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
