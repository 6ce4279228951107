"""Soft cosine of all queries with all passages, exact: for whole books against whole books."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Singles
from allusion_es.core.errors import UsageError
from allusion_es.language.latin.analysis import Analysis
from allusion_es.rerankers._shared.soft_cosines import (
    SoftCosineReranker,
    WordFeatures,
)
from allusion_es.rerankers._shared.word_pairs import by_tfidf, equal_words
from allusion_es.rerankers.soft_cosine import SoftCosine
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import AnalysedQuery, Query, Ranking

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_QUERIES = 96
"""Queries that are compared at once; their sums over passages stay in the processor's cache."""

_ROWS = 64
"""Rows of S that are computed at once, for the same reason."""

_THREADS = 4
"""At most so many work side by side, each with sums of some 10 MB."""

_GROUP = 64
"""Passages of which the best is looked at first, when the best of all are chosen."""

_NO_QUERY = AnalysedQuery(Query(""), Analysis((), (), ()))
"""Stands in where only the weights of passages are asked for."""


def rank_all(
    queries: Candidates,
    passages: Candidates,
    collection: Collection,
    *,
    top: int = 100,
    model: SoftCosineReranker | None = None,
) -> list[Ranking]:
    """The best passages for each query by soft cosine, of all passages, without a first stage.

    Computes what the reranker computes for one query, in single precision and for all at once:
    numerators are `(Q S) P^T`, Q and P sparse matrices of TfIdf vectors, S the similarities of
    the query words and the passage words; each text's length is computed once.

    Args:
        queries: Ids and words of the queries, as of passages.
        passages: Ids and words of the passages; of the same field.
        collection: Statistics and word vectors.
        top: How many passages to keep for each query, at least 1.
        model: Which soft cosine; by default `SoftCosine()`.

    Returns:
        A ranking for each query; passages with score 0 are left out.

    Raises:
        UsageError: `top` is below 1, or the fields differ.

    Example:
        >>> from allusion_es.rerankers.trial import TrialCollection, trial_candidates
        >>> texts = ["deus lux", "lux", "dies", "dies"]
        >>> queries, passages = trial_candidates(["lux"]), trial_candidates(texts)
        >>> rank_all(queries, passages, TrialCollection(texts))[0].ids
        ('1', '0')
    """
    if top < 1:
        raise UsageError(f"top must be at least 1, not {top}")
    if queries.field != passages.field:
        raise UsageError(f"queries have {queries.field}s, but passages have {passages.field}s")
    model = model or SoftCosine()
    left = _side(queries, collection, model)
    right = _side(passages, collection, model)
    order = np.argsort(np.argsort(np.array(passages.ranking.ids, dtype=str), kind="stable"))

    def ranked(first: int) -> list[Ranking]:
        block = left.weights[first : first + _QUERIES]
        # Column by column is row by row for the passages' sparse matrix, which goes over rows.
        scores = right.weights @ np.ascontiguousarray((block @ similarity).T)
        ids = passages.ranking.ids
        return [
            Ranking(tuple([ids[place] for place in places.tolist()]), values.astype(np.float64))
            for places, values in _best(scores, order, top)
        ]

    # The products leave Python's lock, so that threads work side by side.
    with ThreadPoolExecutor(min(os.cpu_count() or 1, _THREADS)) as threads:
        similarity = _similarity(left, right, model, threads)
        blocks = threads.map(ranked, range(0, len(queries), _QUERIES))
        return [ranking for rankings in blocks for ranking in rankings]


@dataclass(frozen=True, slots=True)
class _Side:
    """Texts of one side.

    Attributes:
        words: Their distinct words.
        features: What their similarities are computed from.
        weights: TfIdf vectors divided by their soft lengths, shape (texts, words).
    """

    words: Sequence[str]
    features: WordFeatures
    weights: "csr_array"


def _side(texts: Candidates, collection: Collection, model: SoftCosineReranker) -> _Side:
    from scipy.sparse import csr_array

    weighted = by_tfidf(_NO_QUERY, texts, collection)
    features = model.features(list(weighted.words), texts.field, collection)
    entries = weighted.entries
    lengths = np.sqrt(model.squares(weighted.entries, weighted.weights, features))
    scales = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    values = (weighted.weights * scales[entries.texts]).astype(np.float32)
    starts = np.searchsorted(entries.texts, np.arange(entries.size + 1))
    shape = (entries.size, len(weighted.words))
    codes, starts = entries.codes.astype(np.int32), starts.astype(np.int32)
    return _Side(weighted.words, features, csr_array((values, codes, starts), shape=shape))


def _similarity(
    left: _Side, right: _Side, model: SoftCosineReranker, threads: ThreadPoolExecutor
) -> Singles:
    """S of all query words and all passage words, shape (query words, passage words)."""
    similarity = np.empty((len(left.words), len(right.words)), dtype=np.float32)

    def fill(first: int) -> None:
        rows = slice(first, first + _ROWS)
        similarity[rows] = model.similarity(left.features[rows], right.features)

    list(threads.map(fill, range(0, len(left.words), _ROWS)))
    similarity[equal_words(left.words, right.words)] = 1.0
    return similarity


def _best(
    scores: Singles, order: NDArray[np.int64], top: int
) -> Iterator[tuple[NDArray[np.int64], Singles]]:
    """Best first, the places and scores of each column's `top` passages above 0."""
    size, columns = scores.shape
    above_0 = np.nextafter(np.float32(0), np.float32(1))
    least = np.full(columns, above_0)
    groups = size // _GROUP
    if groups > top:
        # The best of each group of passages are so many passages, so the top-th best among them
        # is not above the top-th best of all.
        maxima = scores[: groups * _GROUP].reshape(groups, _GROUP, columns).max(axis=1)
        least = np.maximum(np.partition(maxima, groups - top, axis=0)[groups - top], above_0)
    places, owners = np.divmod(np.flatnonzero(scores >= least), columns)
    values = scores[places, owners]
    ranked = np.lexsort((order[places], -values, owners))
    ends = np.cumsum(np.bincount(owners, minlength=columns))
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        chosen = ranked[start : min(end, start + top)]
        yield places[chosen], values[chosen]
