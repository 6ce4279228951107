"""Search requests in Elasticsearch's query language, without scripts."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import UsageError
from allusion_es.es.documents import MAX_WORD, feature_name, frequency_words
from allusion_es.es.meta import CITATION_VECTOR, EXPANSION, NGRAM
from allusion_es.es.requests import Term
from allusion_es.retrieval.byte_vectors import byte_vector
from allusion_es.retrieval.types import (
    Field,
    SearchFilter,
    SearchRequest,
)
from allusion_es.retrieval.weighting import idf, tfidf_query_weights

_TIES = 100
"""Neighbours asked for beyond those wanted: ties at the end are broken by id, not by chance."""

_MOST_CLAUSES = 100_000
"""No server takes more in one query, and only hostile ones have words that need as many."""

_LEAST_EXAMINED = 1_000
"""Neighbours that an approximate search looks at in each shard, to miss few."""


def search_body(request: SearchRequest, query: Mapping[str, Any]) -> dict[str, Any]:
    """A search for the best passages, with their words; `query` comes from one of the below."""
    return {
        **query,
        "size": request.size,
        "track_total_hits": False,
        "sort": [{"_score": "desc"}, {"id": "asc"}],
        # Ids and words come from columns: documents themselves are several times slower to read.
        "stored_fields": "_none_",
        "docvalue_fields": ["words"],
    }


def ids_body(search_filter: SearchFilter, size: int, after: list[str]) -> dict[str, Any]:
    """A search for the ids of the next `size` passages, sorted.

    Args:
        search_filter: Which passages.
        size: How many at most.
        after: The last id that is known, if any.
    """
    body: dict[str, Any] = {
        "query": {"bool": {"filter": _filters(search_filter)}},
        "size": size,
        "track_total_hits": False,
        "sort": [{"id": "asc"}],
        "stored_fields": "_none_",
    }
    return {**body, "search_after": after} if after else body


def bm25_query(request: SearchRequest) -> dict[str, Any] | None:
    """BM25, the server's own; a word's weight counts as often as the word is asked for.

    None where there is no word that an index can have.
    """
    field = NGRAM if request.kind == "ngrams" else request.field
    clauses = [
        _term(field, word, count) for word, count in request.words.items() if len(word) <= MAX_WORD
    ]
    return {"query": _any_of(clauses, request.search_filter)} if clauses else None


def expansion_query(request: SearchRequest) -> dict[str, Any] | None:
    """Sum of the weights of lemmas in expansions; None where there is none to search for."""
    clauses = [
        _term(EXPANSION, feature_name(word), weight)
        for word, weight in request.words.items()
        if word and len(word) <= MAX_WORD
    ]
    return {"query": _any_of(clauses, request.search_filter)} if clauses else None


def tfidf_query(
    request: SearchRequest, terms: Mapping[str, Term], passages: int
) -> dict[str, Any] | None:
    """The cosine of TfIdf vectors; None where no word of the query has any weight.

    Args:
        request: What is searched.
        terms: Statistics of the collection's words among the query's.
        passages: Passages that have at least one word in the field.

    Raises:
        UsageError: Words occur too often in some passage.
    """
    words = list(request.words)
    if (parts := sum(terms[word][2] for word in words if word in terms)) > _MOST_CLAUSES:
        raise UsageError(
            f"some of the {len(words)} words occur so often in one passage that a search by TfIdf "
            f"has {parts} parts, more than a server takes; ask for fewer words, or by BM25"
        )
    df = np.array([terms.get(word, (0, 0, 0))[0] for word in words], dtype=np.int64)
    weights = tfidf_query_weights(request.words, words, idf(df, passages))
    clauses = [
        _term(f"{request.field}_frequencies", part, weight)
        for word, weight in zip(words, weights.tolist(), strict=True)
        if weight > 0 and word in terms
        for part in frequency_words(word, terms[word][2])
    ]
    if not clauses:
        return None
    divided = {
        "query": _any_of(clauses, request.search_filter),
        "field_value_factor": {"field": f"{request.field}_norm", "modifier": "reciprocal"},
    }
    return {"query": {"function_score": divided}}


def knn_query(request: SearchRequest, max_candidates: int) -> dict[str, Any] | None:
    """The nearest neighbours of a vector; None for a vector of zeros, which has none."""
    vector = request.direction
    if vector is None:
        return None
    wanted = min(request.size + _TIES, max_candidates)
    of_citations = request.kind == "citations"
    numbers = byte_vector(vector) if of_citations else vector.astype(np.float64)
    knn: dict[str, Any] = {
        "field": CITATION_VECTOR if of_citations else f"{request.field}_vector",
        "query_vector": numbers.tolist(),
        "k": wanted,
        "num_candidates": min(max(wanted, _LEAST_EXAMINED), max_candidates),
    }
    if filters := _filters(request.search_filter):
        knn["filter"] = filters
    return {"knn": knn}


def cosines(scores: Floats) -> Floats:
    """The cosines behind the scores that servers give, which keep those above 0; same shape.

    Example:
        >>> cosines(np.array([0.75])).tolist()
        [0.5]
    """
    return 2 * scores - 1


def _term(field: Field | str, word: str, boost: float) -> dict[str, Any]:
    return {"term": {field: {"value": word, "boost": boost}}}


def _any_of(clauses: list[dict[str, Any]], search_filter: SearchFilter) -> dict[str, Any]:
    query: dict[str, Any] = {"should": clauses, "minimum_should_match": 1}
    if filters := _filters(search_filter):
        query["filter"] = filters
    return {"bool": query}


def _filters(search_filter: SearchFilter) -> list[dict[str, Any]]:
    chosen = {
        "book": search_filter.books,
        "testament": search_filter.testaments,
        "work": search_filter.works,
    }
    return [{"terms": {name: sorted(values)}} for name, values in chosen.items() if values]
