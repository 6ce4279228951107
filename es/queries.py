"""Search requests in Elasticsearch's query language.

No query needs a script: clusters may forbid them, and they are slow. Each function states the score
that it asks for, which must agree with the score of the index in this process.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from allusion_es.core.arrays import Floats, Singles
from allusion_es.core.errors import UsageError
from allusion_es.es.documents import MAX_WORD, Term, feature_name, frequency_words
from allusion_es.es.meta import (
    AUTHOR,
    CITATION_VECTOR,
    ENCODER_VECTOR,
    EXPANSION,
    NGRAM,
    STATISTICS,
)
from allusion_es.language.encoders.settings import EncoderSettings
from allusion_es.retrieval.byte_vectors import byte_vector
from allusion_es.retrieval.types import (
    STEM,
    Field,
    SearchFilter,
    SearchRequest,
)
from allusion_es.retrieval.weighting import idf, tfidf_query_weights

BY_VECTOR = ("knn", "citations", "dense")
"""Kinds of search that compare vectors."""

_TIES = 100
"""Number of neighbours that are asked for beyond the wanted ones. A server cuts off neighbours of
the same score at random; with some to spare, they can be sorted by id first."""

_MOST_CLAUSES = 100_000
"""Most clauses of a query. A word needs one for each time that it may occur in a passage; only a
garbled or hostile answer names words that need more than this."""

_LEAST_EXAMINED = 1_000
"""Least number of neighbours that an approximate search examines in each shard. More take longer,
and miss fewer of the true neighbours."""


def search_body(request: SearchRequest, query: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a search for the ids and scores of the best passages.

    Args:
        request: The search.
        query: The result of one of the functions below.
    """
    return {
        **query,
        "size": request.size,
        # A query has a hundred n-grams. To leave out what cannot be among the best takes servers
        # longer then than to add up everything; that they do only where they count.
        "track_total_hits": request.kind == "ngrams",
        "sort": [{"_score": "desc"}, {"id": "asc"}],
        "stored_fields": "_none_",
    }


def named_body(request: SearchRequest) -> dict[str, Any] | None:
    """The body of a search for those of the named passages that there are, or None for no name.

    They come in the order of their ids, without scores: the request itself has these.
    """
    if not request.words:
        return None
    named = {"terms": {"id": sorted(request.words)}}
    return _by_id([named, *_filters(request.search_filter)], len(request.words))


def words_body(ids: Sequence[str]) -> dict[str, Any]:
    """The body of a search for the words of some passages, and the statistics of these words.

    They come from columns; to read sources takes several times as long.

    Args:
        ids: The passages, each once.
    """
    body = _by_id([{"terms": {"id": list(ids)}}], len(ids))
    return {**body, "docvalue_fields": ["words", STATISTICS]}


def ids_body(search_filter: SearchFilter, size: int, after: list[str]) -> dict[str, Any]:
    """The body of a search for the ids of the next passages in order of their ids.

    Args:
        search_filter: Which passages.
        size: Most passages of the answer.
        after: The last id of the page before, in a list; empty for the first page.
    """
    body = _by_id(_filters(search_filter), size)
    return {**body, "search_after": after} if after else body


def _by_id(filters: list[dict[str, Any]], size: int) -> dict[str, Any]:
    """The body of a search for passages that fulfil some clauses, in the order of their ids."""
    return {
        "query": {"bool": {"filter": filters}},
        "size": size,
        "track_total_hits": False,
        "sort": [{"id": "asc"}],
        "stored_fields": "_none_",
    }


def bm25_query(request: SearchRequest) -> dict[str, Any] | None:
    """A query for the server's own BM25, or None if no word can be in an index.

    A word that occurs twice in the request has a boost of 2.
    """
    field = NGRAM if request.kind == "ngrams" else request.field
    clauses = [
        _term(field, word, count) for word, count in request.words.items() if len(word) <= MAX_WORD
    ]
    return {"query": _any_of(clauses, request.search_filter)} if clauses else None


def expansion_query(request: SearchRequest) -> dict[str, Any] | None:
    """A query for the sum of weights of lemmas in expansions, or None if there is no lemma.

    The score is the sum over lemmas of the request's weight × the weight in the expansion.
    """
    clauses = [
        _term(EXPANSION, feature_name(word), weight)
        for word, weight in request.words.items()
        if word and len(word) <= MAX_WORD
    ]
    return {"query": _any_of(clauses, request.search_filter)} if clauses else None


def stems_query(request: SearchRequest) -> dict[str, Any] | None:
    """A query for the sum of what each beginning adds to passages with such a lemma.

    The field keeps beginnings of `STEM` letters as terms of their own, so that the query is cheap,
    and no cluster forbids it.
    """
    clauses = []
    for stem, weight in request.words.items():
        kind = "prefix" if len(stem) >= STEM else "term"
        chosen = {"filter": {kind: {"lemma": stem}}, "boost": weight}
        clauses.append({"constant_score": chosen})
    return {"query": _any_of(clauses, request.search_filter)} if clauses else None


def tfidf_query(
    request: SearchRequest, terms: Mapping[str, Term], passages: int
) -> dict[str, Any] | None:
    """A query for the cosine of TfIdf vectors, or None if no word of it has a weight.

    With q and d for the weights of words in the query and in a passage, the cosine is
    Σ q·d / (|q|·|d|). The weight d is frequency × idf, and each occurrence is a term of its own
    (`frequency_words`), so terms with the boost q·idf/|q| add up to the sum; dividing it by the
    norm |d|, which is stored in the document, gives the cosine.

    Args:
        request: The search.
        terms: Statistics of those words of the request that the collection has.
        passages: Number of passages that have at least one word in the field.

    Raises:
        UsageError: A word occurs too often in one passage.
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


def knn_query(
    request: SearchRequest, max_candidates: int, encoder: EncoderSettings | None, *, exact: bool
) -> dict[str, Any] | None:
    """A search for the nearest neighbours of a vector, or None for a vector of zeros.

    Args:
        request: The search.
        max_candidates: The most that a search returns.
        encoder: The index's.
        exact: Whether the server compares all vectors anyway.
    """
    vector = request.direction
    if vector is None:
        return None
    wanted = min(request.size + _TIES, max_candidates)
    knn: dict[str, Any] = {
        **_compared(request.kind, request.field, vector, encoder),
        "k": wanted,
        "num_candidates": wanted if exact else min(max(wanted, _LEAST_EXAMINED), max_candidates),
    }
    if filters := _filters(request.search_filter):
        knn["filter"] = filters
    return {"knn": knn}


def similarity_query(
    vector: Singles, ids: Sequence[str], encoder: EncoderSettings
) -> dict[str, Any]:
    """A search for all of some passages, scored by their encoder vectors.

    Servers compare all passages that a filter leaves where these are no more than the candidates
    that are asked for, so it is exact.

    Args:
        vector: The query's vector, not zero.
        ids: At most as many as a search returns.
        encoder: The index's.
    """
    size = len(ids)
    compared = _compared("dense", "token", vector, encoder)
    chosen = {"filter": [{"terms": {"id": list(ids)}}]}
    return {"knn": {**compared, "k": size, "num_candidates": size, **chosen}}


def _compared(
    kind: str, field: Field, vector: Singles, encoder: EncoderSettings | None
) -> dict[str, Any]:
    """The field of vectors that a search compares, and the query's vector in its numbers."""
    fields = {"citations": CITATION_VECTOR, "dense": ENCODER_VECTOR, "knn": f"{field}_vector"}
    of_bytes = kind == "citations" or (
        kind == "dense" and encoder is not None and encoder.store == "int8"
    )
    numbers = byte_vector(vector) if of_bytes else vector.astype(np.float64)
    return {"field": fields[kind], "query_vector": numbers.tolist()}


def cosines(scores: Floats) -> Floats:
    """The cosines from a server's scores, which are (1 + cosine) / 2 to be positive; same shape.

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
    """The clauses that a passage must fulfil; they add nothing to its score."""
    chosen = {
        "book": search_filter.books,
        "testament": search_filter.testaments,
        "work": search_filter.works,
        "author": search_filter.authors,
    }
    excluded = {"work": search_filter.excluded_works, "author": search_filter.excluded_authors}
    filters: list[dict[str, Any]] = [_one_of(name, v) for name, v in chosen.items() if v]
    unwanted = [_one_of(name, values) for name, values in excluded.items() if values]
    # By author, so that a clause has all their works: a query may not have many clauses.
    by_author: dict[str, list[str]] = {}
    for work in search_filter.left_out:
        by_author.setdefault(work.author, []).append(work.title)
    for author, titles in sorted(by_author.items()):
        unwanted.append({"bool": {"filter": [_by(author), _one_of("work", titles)]}})
    return [*filters, {"bool": {"must_not": unwanted}}] if unwanted else filters


def _one_of(name: str, values: Iterable[str]) -> dict[str, Any]:
    return {"terms": {name: sorted(values)}}


def _by(author: str) -> dict[str, Any]:
    """A clause for passages of an author; older indexes have no field for it."""
    if author:
        return {"term": {AUTHOR: author}}
    nobody = [{"term": {AUTHOR: ""}}, {"bool": {"must_not": [{"exists": {"field": AUTHOR}}]}}]
    return {"bool": {"should": nobody}}
