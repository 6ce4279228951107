"""Word matrices: texts over numbered words, and words over the rows of a table, both sparse."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.language.citations.word_parts import Word, WordParts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Codes = NDArray[np.int32]
"""Words of one text, as numbers."""


class WordNumbering:
    """Numbers words in the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[Word, int] = {}

    def __len__(self) -> int:
        """Number of words."""
        return len(self._numbers)

    @property
    def words(self) -> list[Word]:
        """The words by their numbers."""
        return list(self._numbers)

    def encode(self, text: Iterable[Word]) -> Codes:
        """The numbers of the words of a text; new words get new ones."""
        numbers = self._numbers
        return np.array([numbers.setdefault(word, len(numbers)) for word in text], dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Lemmas:
    """The lemmas of numbered words.

    Attributes:
        names: Distinct lemmas.
        of_words: For each word its lemma, shape (words,).
    """

    names: list[str]
    of_words: NDArray[np.int64]

    @staticmethod
    def of(words: Sequence[Word]) -> "Lemmas":
        """The lemmas of `words`."""
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(lemma, len(numbers)) for _, lemma in words]
        return Lemmas(list(numbers), np.array(codes, dtype=np.int64))


def count_matrix(texts: Sequence[Codes], columns: int) -> "csr_array":
    """Counts of each word in each text, shape (len(texts), columns), float32.

    Example:
        >>> count_matrix([np.array([1, 0, 1]), np.array([], dtype=np.int32)], 3).toarray().tolist()
        [[1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
    """
    from scipy.sparse import csr_array

    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    codes = np.concatenate([np.zeros(0, dtype=np.int32), *texts])
    ones = np.ones(len(codes), dtype=np.float32)
    matrix = csr_array((ones, codes, offsets), shape=(len(texts), columns))
    matrix.sum_duplicates()
    return matrix


def root_matrix(texts: Sequence[Codes], columns: int) -> "csr_array":
    """The square roots of `count_matrix`."""
    matrix = count_matrix(texts, columns)
    np.sqrt(matrix.data, out=matrix.data)
    return matrix


def part_matrix(words: Sequence[Word], keys: NDArray[np.int64]) -> "csr_array":
    """Weights of the token, lemma and grams of each word, as `WordParts` gives them.

    Shape (len(words), len(keys)), float32.
    """
    from scipy.sparse import csr_array

    parts = WordParts(words, keys)
    shape = (len(words), len(keys))
    return csr_array((parts.weights, parts.rows, parts.offsets), shape=shape)


def lemma_idf(passages: "csr_array", lemmas: Lemmas) -> NDArray[np.float32]:
    """`ln((n + 1) / (df + 1))` of each lemma, df counted over n passages, shape (lemmas,).

    Args:
        passages: Root counts of words, shape (n, words).
        lemmas: The lemmas of the words.
    """
    count = passages.shape[0]
    owners = np.repeat(np.arange(count, dtype=np.int64), np.diff(passages.indptr))
    of_entries = lemmas.of_words[passages.indices]
    distinct = np.unique(of_entries * count + owners)
    df = np.bincount(distinct // max(count, 1), minlength=len(lemmas.names))
    return np.asarray(np.log((count + 1.0) / (df + 1.0)), dtype=np.float32)
