"""LSI: cosine in the space of the candidates' main directions; a weak baseline."""

from typing import TYPE_CHECKING

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.core.plugins import check_range
from allusion_es.rerankers._shared.averaged_vectors import AveragedVectors
from allusion_es.rerankers._shared.word_pairs import WeightedWords, by_tfidf
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import AnalysedQuery

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_DENSE = 1000
"""Up to so many candidates or words an eigensolver finds all directions; beyond, iteration finds k.

The dense solution of a matrix of this size takes a fraction of a second, and grows with the cube.
"""


class LatentSemanticIndexing(AveragedVectors):
    """Cosine after projection on the main directions of the candidates' TfIdf vectors.

    `A = U S V^T`, A the matrix of the candidates' TfIdf vectors; `cos(q V_k, p V_k)`, V_k the k
    directions with the largest singular values; directions that tie with the last of them are
    kept too. Source: Deerwester et al. 1990.

    This is not LSI of the whole collection, which a reranker does not see: the directions are
    those of the candidates at hand, so that a score depends on which they are. The paper found
    LSI poor on texts as short as verses; it is here as a baseline. From -1 to 1; a word of the
    query that no candidate has is left out; a text without weight scores 0.

    Args:
        dimensions: k, at least 1.

    Example:
        >>> from allusion_es.rerankers.trial import trial
        >>> texts = ["rex regina", "rex regina", "nauis mare", "nauis", "nox", "dies"]
        >>> trial(LatentSemanticIndexing(2), "rex", texts)
        [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """

    whole = True

    def __init__(self, dimensions: int = 100) -> None:
        super().__init__()
        check_range("lsi", "dimensions", dimensions, 1, 10_000)
        self._dimensions = dimensions

    def weights(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> WeightedWords:
        """TfIdf weights."""
        return by_tfidf(query, candidates, collection)

    def passage_vectors(self, weighted: WeightedWords, collection: Collection) -> Floats:
        """Rows of V_k."""
        return self._directions(weighted)

    def query_vectors(
        self, weighted: WeightedWords, found: Floats, collection: Collection
    ) -> Floats:
        """Rows of V_k of the query's words, zeros for words that no candidate has."""
        asked = np.zeros((len(weighted.query_words), found.shape[1]))
        rows, columns = weighted.texts.find(weighted.query_words)
        asked[rows] = found[columns]
        return asked

    def _directions(self, weighted: WeightedWords) -> Floats:
        """V_k, shape (len(weighted.words), k or more)."""
        entries = weighted.entries
        matrix = entries.matrix(weighted.weights, len(weighted.words))
        if entries.size <= _DENSE:
            squares, left = _largest((matrix @ matrix.T).toarray(), self._dimensions)
            return np.asarray(matrix.T @ (left / np.sqrt(squares)))
        if len(weighted.words) <= _DENSE:
            return _largest((matrix.T @ matrix).toarray(), self._dimensions)[1]
        return _first_directions(matrix, self._dimensions)


def _largest(square: Floats, count: int) -> tuple[Floats, Floats]:
    """The `count` largest eigenvalues above 0, and those that tie with the last, with vectors."""
    values, vectors = np.linalg.eigh(square)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > 1e-9 * max(float(values[0]), 1e-300) if len(values) else values > 0
    if count < len(values):
        kept &= values >= values[count - 1] * (1 - 1e-9)
    return values[kept], vectors[:, kept]


def _first_directions(matrix: "csr_array", count: int) -> Floats:
    """V_k of a large matrix, found by iteration from a fixed start."""
    from scipy.sparse.linalg import svds

    if not matrix.data.any():  # no word has weight, and iteration would start from zeros
        return np.zeros((matrix.shape[1], 0))
    size = min(matrix.shape)
    start = np.random.default_rng(0).normal(size=size)
    _, values, right = svds(matrix, k=min(count, size - 1), v0=start)
    directions: Floats = right[values > 1e-6 * values.max()].T
    return directions
