"""Texts as sparse matrices over numbered words, and words over the rows of a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.language.citations.word_parts import Word, WordParts
from allusion_es.retrieval.weighting import bm25_saturation, lucene_idf

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Codes = NDArray[np.int32]
"""Words of one text, as numbers."""


class WordNumbering:
    """Numbers words in the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[Word, int] = {}

    def __len__(self) -> int:
        """How many words are numbered."""
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
    """How often each word occurs in each text, shape (len(texts), columns), float32.

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
    """What each word is made of, shape (len(words), len(keys)), float32; see `WordParts`."""
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


# Passages that share words with a text and yet are not what it cites.


NEAR = 2
"""So near to a passage that is cited, another may be meant as well."""

_K1, _B = 1.2, 0.75
_LARGEST_SHARE = 0.07
"""A lemma that more of the passages have tells nothing, and costs most of the time."""
_TOGETHER = 1_000


def hard_negatives(
    queries: Sequence[Codes],
    cited: Sequence[Sequence[int]],
    passages: Sequence[Codes],
    lemmas: Lemmas,
    count: int = 20,
) -> NDArray[np.int32]:
    """For each query the passages that BM25 ranks highest, but for those cited and near ones.

    Args:
        queries: Words of each query.
        cited: Places of the passages that each cites.
        passages: Words of each passage.
        lemmas: The lemmas of all words.
        count: How many to look at for each query.

    Returns:
        Places of passages, -1 where there are no more, shape (len(queries), count).
    """
    weights = _passage_weights(passages, lemmas)
    found = np.full((len(queries), count), -1, dtype=np.int32)
    for start in range(0, len(queries), _TOGETHER):
        asked = _by_lemma(
            count_matrix(queries[start : start + _TOGETHER], len(lemmas.of_words)), lemmas
        )
        asked.data[:] = 1.0
        scores = (asked @ weights).tocsr()
        for number in range(scores.shape[0]):
            part = slice(scores.indptr[number], scores.indptr[number + 1])
            best = _best(scores.indices[part], scores.data[part], count)
            distances = np.abs(best[:, None] - np.array(cited[start + number])[None, :])
            kept = best[(distances > NEAR).all(axis=1)]
            found[start + number, : len(kept)] = kept
    return found


def _passage_weights(passages: Sequence[Codes], lemmas: Lemmas) -> "csr_array":
    """BM25 of each lemma in each passage, shape (lemmas, passages)."""
    counts = _by_lemma(count_matrix(passages, len(lemmas.of_words)), lemmas)
    lengths = np.array([len(passage) for passage in passages], dtype=np.int64)
    df = np.bincount(counts.indices, minlength=len(lemmas.names))
    idf = lucene_idf(df, len(passages))
    idf[df > max(_LARGEST_SHARE * len(passages), 1)] = 0.0
    saturation = bm25_saturation(lengths, float(lengths.mean()), _K1, _B)
    owners = np.repeat(np.arange(len(passages)), np.diff(counts.indptr))
    factor = counts.data * saturation[owners]
    counts.data = (idf[counts.indices] * factor / (1 + factor)).astype(np.float32)
    counts.eliminate_zeros()
    return counts.T.tocsr()


def _by_lemma(words: "csr_array", lemmas: Lemmas) -> "csr_array":
    """Counts of lemmas from counts of words."""
    from scipy.sparse import csr_array

    shape = (words.shape[0], len(lemmas.names))
    matrix = csr_array((words.data, lemmas.of_words[words.indices], words.indptr), shape=shape)
    matrix.sum_duplicates()
    return matrix


def _best(places: NDArray[np.int32], scores: NDArray[np.float32], count: int) -> NDArray[np.int32]:
    """The places with the highest scores, best first, equal ones by place."""
    if len(places) > count:
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        places, scores = places[scores >= least], scores[scores >= least]
    return places[np.lexsort((places, -scores))][:count]
