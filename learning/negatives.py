"""Passages that share words with a text and yet are not what it cites."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.learning.texts import Codes, Lemmas, count_matrix
from allusion_es.retrieval.weighting import bm25_saturation, lucene_idf

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
