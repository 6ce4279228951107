"""Samples for training: batches of queries, cited passages and hard negatives.

A query is a piece of a citing text; its hard negatives are passages that BM25 ranks high for it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Integers, Singles
from allusion_es.learning.links import KnownLink
from allusion_es.learning.optimisation import Batch
from allusion_es.learning.word_matrices import Codes, Lemmas, count_matrix, root_matrix
from allusion_es.retrieval.weighting import bm25_saturation, lucene_idf

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Sampler:
    """Makes batches of links: for each a query, a passage that it cites, and hard negatives.

    Args:
        links: All links.
        texts: Words of each link with those before and after, as numbers.
        passages: Root counts of the collection's passages, shape (passages, words).
        negatives: Hard negatives of each link, from `hard_negatives`.
        popularity: Taken from the similarities with each passage, shape (passages,).
        crop: Share of queries that are a piece of the words before, in and after the link.
        lengths: Fewest and most words of such a piece.
        dropout: Share of a query's words that are left out.
        count: Number of negatives that each link adds to a batch.
    """

    def __init__(
        self,
        links: Sequence[KnownLink],
        texts: Sequence[Codes],
        passages: "csr_array",
        negatives: NDArray[np.int32],
        popularity: Singles,
        *,
        crop: float,
        lengths: tuple[int, int],
        dropout: float,
        count: int,
    ) -> None:
        self._links = links
        self._texts = texts
        self._passages = passages
        self._negatives = negatives
        self._popularity = popularity
        self._crop = crop
        self._lengths = lengths
        self._dropout = dropout
        self._count = count

    def batch(self, chosen: Integers, rng: np.random.Generator) -> Batch:
        """The batch of some links: a query each, and the passages to compare them with.

        Args:
            chosen: Numbers of the links.
            rng: The source of randomness.
        """
        queries = root_matrix(
            [self._piece(link, rng) for link in chosen.tolist()], self._passages.shape[1]
        )
        cited = np.array([self._one_of(link, rng) for link in chosen.tolist()])
        others = [self._some_negatives(link, rng) for link in chosen.tolist()]
        passages, places = np.unique(np.concatenate([cited, *others]), return_inverse=True)
        targets = places[: len(cited)]
        return Batch(
            queries,
            self._passages[passages],
            targets,
            self._ignored(chosen, passages, targets),
            self._popularity[passages],
        )

    def _piece(self, number: int, rng: np.random.Generator) -> Codes:
        """The query of a link: its own words, or a random piece around them, with dropout.

        Pieces teach that words near a citation speak of it too; dropout, not to rely on one word.
        """
        link, text = self._links[number], self._texts[number]
        if rng.random() < self._crop:
            length = int(rng.integers(self._lengths[0], self._lengths[1] + 1))
            start = int(rng.integers(0, max(len(text) - length, 0) + 1))
            text = text[start : start + length]
        else:
            text = text[link.start : link.end]
        return text[rng.random(len(text)) >= self._dropout]

    def _one_of(self, number: int, rng: np.random.Generator) -> int:
        places = self._links[number].places
        return places[int(rng.integers(len(places)))]

    def _some_negatives(self, number: int, rng: np.random.Generator) -> Integers:
        there = self._negatives[number]
        there = there[there >= 0]
        return rng.choice(there, min(self._count, len(there)), replace=False).astype(np.int64)

    def _ignored(
        self, chosen: Integers, passages: Integers, targets: Integers
    ) -> NDArray[np.bool_]:
        """True for passages that are no negatives of a query: those it cites, and those near."""
        ignored = np.zeros((len(chosen), len(passages)), dtype=np.bool_)
        for row, number in enumerate(chosen.tolist()):
            for place in self._links[number].places:
                first, last = np.searchsorted(passages, [place - NEAR, place + NEAR + 1])
                ignored[row, first:last] = True
        ignored[np.arange(len(chosen)), targets] = False
        return ignored


def log_shares(cited: Sequence[Sequence[int]], passages: int) -> NDArray[np.float32]:
    """Logarithm of each passage's share of all citations, half a citation added to each.

    Args:
        cited: The passages that each link cites; several passages share one citation.
        passages: Number of passages.

    Example:
        >>> [round(share, 3) for share in log_shares([(0,), (0, 1)], 2).tolist()]
        [-0.405, -1.099]
    """
    counts = np.full(passages, 0.5)
    for places in cited:
        counts[list(places)] += 1 / len(places)
    return np.asarray(np.log(counts / counts.sum()), dtype=np.float32)


# Hard negatives: passages that share words with a text, but that it does not cite.

NEAR = 2
"""Passages up to this distance from a cited one may be meant as well, and are no negatives."""

_K1, _B = 1.2, 0.75
"""BM25's usual parameters, as the index has them by default."""

_LARGEST_SHARE = 0.07
"""Share of the passages above which a lemma is left out: it tells nothing and takes most time."""

_TOGETHER = 1_000
"""Queries that are scored at once, so that memory stays bounded."""


def hard_negatives(
    queries: Sequence[Codes],
    cited: Sequence[Sequence[int]],
    passages: Sequence[Codes],
    lemmas: Lemmas,
    count: int = 20,
) -> NDArray[np.int32]:
    """The passages that BM25 ranks highest for each query, without those cited and near them.

    Args:
        queries: Words of each query.
        cited: Places of the passages that each query cites.
        passages: Words of each passage.
        lemmas: The lemmas of all words.
        count: How many passages to look at for each query, before cited and near ones are dropped.

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
