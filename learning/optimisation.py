"""Optimisation of citation vectors: the loss (InfoNCE), its gradient, and Adam.

The loss falls as texts come nearer to the passages that they cite than to others.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Integers, Singles

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_MEAN, _SQUARE, _LEAST = 0.9, 0.999, 1e-8
"""Adam's usual decay of mean and square, and the number that keeps it from dividing by 0."""


class Adam:
    """The Adam optimiser, for rows of which each step touches some.

    `m = .9 m + .1 g; v = .999 v + .001 g^2; x -= rate m' / (sqrt(v') + 1e-8)`, with m' and v'
    corrected for their start at zero. Source: Kingma and Ba 2015. Rows that a step does not touch
    stay, with their m and v (lazy Adam).

    Args:
        rows: The learned numbers, changed in place, shape (n,) or (n, dimension).
        mean: m, if training goes on.
        square: v, if training goes on.

    Example:
        >>> rows = np.array([1.0, 1.0], dtype=np.float32)
        >>> Adam(rows).step(np.array([1]), np.array([5.0], dtype=np.float32), rate=0.1, number=1)
        >>> rows.round(4).tolist()
        [1.0, 0.8999999761581421]
    """

    def __init__(
        self, rows: Singles, mean: Singles | None = None, square: Singles | None = None
    ) -> None:
        self.rows = rows
        self.mean = np.zeros_like(rows) if mean is None else mean
        self.square = np.zeros_like(rows) if square is None else square

    def step(
        self, touched: NDArray[np.int64], gradient: Singles, *, rate: float, number: int
    ) -> None:
        """Move some rows against their gradient.

        Args:
            touched: Numbers of the rows, each once.
            gradient: Their gradient, one a row.
            rate: The learning rate.
            number: Number of this step, from 1.
        """
        mean, square = self.mean[touched], self.square[touched]
        mean *= np.float32(_MEAN)
        mean += np.float32(1 - _MEAN) * gradient
        square *= np.float32(_SQUARE)
        square += np.float32(1 - _SQUARE) * gradient * gradient
        self.mean[touched], self.square[touched] = mean, square
        np.sqrt(square, out=square)
        square /= np.float32(np.sqrt(1 - _SQUARE**number))
        square += np.float32(_LEAST)
        mean *= np.float32(rate / (1 - _MEAN**number))
        mean /= square
        self.rows[touched] -= mean


@dataclass(frozen=True, slots=True)
class Batch:
    """Queries, and the passages that they are compared with.

    Attributes:
        queries: Root counts of words, shape (queries, words).
        passages: Root counts of words, shape (passages, words).
        targets: The passage that each query cites, shape (queries,).
        ignored: True for passages that are no negatives of a query, shape (queries, passages).
        popularity: Taken from all similarities with a passage, shape (passages,).
    """

    queries: "csr_array"
    passages: "csr_array"
    targets: Integers
    ignored: NDArray[np.bool_]
    popularity: Singles


@dataclass(frozen=True, slots=True)
class Gradient:
    """The gradient of the loss; zero for all rows and lemmas that are not named.

    Attributes:
        loss: Mean over the queries.
        rows: Rows of the table that the batch's words have, shape (n,).
        of_rows: Shape (n, dimension).
        lemmas: Lemmas that the batch's words have, shape (m,).
        of_biases: Shape (m,).
    """

    loss: float
    rows: Integers
    of_rows: Singles
    lemmas: Integers
    of_biases: Singles


@dataclass(frozen=True, slots=True)
class Parameters:
    """The learned numbers (table and biases), and the fixed ones.

    Attributes:
        table: Vectors of tokens, lemmas and grams, shape (rows, dimension).
        biases: b of each lemma, shape (lemmas,).
        idf: Of each lemma, shape (lemmas,).
        parts: Weights of the rows that each word is made of, shape (words, rows).
        lemma_of: The lemma of each word, shape (words,).
    """

    table: Singles
    biases: Singles
    idf: Singles
    parts: "csr_array"
    lemma_of: Integers


def gradient(batch: Batch, parameters: Parameters, temperature: float) -> Gradient:
    """InfoNCE and its gradient for one batch.

    `-log(exp(s_q+ / T) / sum over passages p of exp(s_qp / T))`, s the cosine of query and
    passage, averaged over the queries. Source: van den Oord et al. 2018; the correction for
    passages that are often cited: Yi et al. 2019.
    """
    from scipy.sparse import vstack

    # Only words and rows that the batch has, so that a step does not depend on the vocabulary.
    texts, words = _own_columns(vstack([batch.queries, batch.passages]).tocsr())
    parts, rows = _own_columns(parameters.parts[words])
    of_words = parameters.lemma_of[words]
    weights = (np.exp(parameters.biases[of_words]) * parameters.idf[of_words])[:, None]
    plain = parts @ parameters.table[rows]
    vectors = plain * weights
    sums = texts @ vectors
    lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.float32(1e-6))
    units = sums / lengths
    size = batch.queries.shape[0]
    asked, found = units[:size], units[size:]
    loss, pull = _softmax(asked @ found.T, batch, temperature)
    # Backwards: from cosines to unit vectors, sums of words, word vectors, rows and biases.
    to_units = np.concatenate([pull @ found, pull.T @ asked])
    to_sums = (to_units - units * (to_units * units).sum(axis=1, keepdims=True)) / lengths
    to_vectors = texts.T @ to_sums
    lemmas, places = np.unique(of_words, return_inverse=True)
    to_biases = np.bincount(places, weights=(to_vectors * vectors).sum(axis=1))
    to_vectors *= weights
    return Gradient(loss, rows, parts.T @ to_vectors, lemmas, to_biases.astype(np.float32))


def _softmax(cosines: Singles, batch: Batch, temperature: float) -> tuple[float, Singles]:
    """The loss, and its derivative by each cosine."""
    size = len(cosines)
    at = (np.arange(size), batch.targets)
    scores = cosines / np.float32(temperature) - batch.popularity
    scores[batch.ignored] = -np.inf
    scores -= scores.max(axis=1, keepdims=True)
    shares: Singles = np.exp(scores)
    shares /= shares.sum(axis=1, keepdims=True)
    loss = float(-np.log(np.maximum(shares[at], 1e-30)).mean())
    shares[at] -= 1.0
    shares /= np.float32(size * temperature)
    return loss, shares


def _own_columns(matrix: "csr_array") -> tuple["csr_array", Integers]:
    """The matrix without its empty columns, and the numbers of those that stay."""
    from scipy.sparse import csr_array

    used, codes = np.unique(matrix.indices, return_inverse=True)
    shape = (matrix.shape[0], len(used))
    return csr_array((matrix.data, codes, matrix.indptr), shape=shape), used.astype(np.int64)
