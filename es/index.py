"""An index on Elasticsearch as a `CandidateIndex`.

Its answers are those of the index in this process: the same ids in the same order, and scores that
agree to single precision.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from allusion_es.core.arrays import Floats, Singles
from allusion_es.core.errors import IndexDamagedError, UsageError
from allusion_es.corpora.bible.books import BOOKS
from allusion_es.corpora.passage import Passage, Work
from allusion_es.es.bulk import count_documents
from allusion_es.es.catalogue import ConcreteIndex, find_current
from allusion_es.es.connection import Server
from allusion_es.es.documents import Term
from allusion_es.es.meta import rebuild_advice
from allusion_es.es.partial import Partial
from allusion_es.es.queries import (
    BY_VECTOR,
    bm25_query,
    cosines,
    expansion_query,
    ids_body,
    knn_query,
    named_body,
    search_body,
    similarity_query,
    stems_query,
    tfidf_query,
)
from allusion_es.es.requests import CachedRequests, batches
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.encoders.sentences import SentenceEncoder
from allusion_es.language.encoders.settings import EncoderSettings
from allusion_es.language.vectors.types import NoVectors, WordVectors, kept_vectors
from allusion_es.retrieval.byte_vectors import byte_vector, product_cosines, server_products
from allusion_es.retrieval.coded_texts import CodedTexts, code_texts
from allusion_es.retrieval.index import Capability, require_capability
from allusion_es.retrieval.types import (
    FIELDS,
    Field,
    Ranking,
    SearchFilter,
    SearchRequest,
    TermStatistics,
)

MAX_WORDS = 1024
"""Most distinct words of one search. A server's limit of clauses depends on its memory, but it is
never less than this."""

# Elasticsearch's own value of `max_result_window` where an index does not set it.
_DEFAULT_WINDOW = 10_000

# Searches go to the server together, but their answers must stay far below `LARGEST_ANSWER`.
_HITS_TOGETHER = 10_000
_SEARCHES_TOGETHER = 64


def open_index(
    server: Server,
    name: str,
    vectors: Callable[[], WordVectors] | None = None,
    models: Callable[[str], CitationVectors] | None = None,
    partial: Partial | None = None,
    encoders: Callable[[EncoderSettings], SentenceEncoder] | None = None,
    rankers: Callable[[str], Path] | None = None,
) -> "ElasticsearchIndex":
    """Open the index of a name.

    Args:
        server: The server.
        name: The name that the user gave to the index.
        vectors: Returns the word vectors that the index was built with; called when they are
            needed. Without it, no word has a vector.
        models: Returns the citation vectors of a name; called when they are needed.
        partial: Permission to accept partial answers, which records what was missing; without it
            they are refused. Scores then come from the statistics of the shards that answered.
        encoders: Returns the sentence encoder of an index's settings; called when it is needed.
        rankers: Returns the file of the learned ranker of a name; called when it is needed.

    Raises:
        IndexMissingError: There is no such index; the message lists those that there are.
        IndexDamagedError: The index has another format, or has lost passages; the message says
            how to rebuild it.
        ServerRefusedError: A shard is missing, and partial answers are not accepted.
    """
    found = find_current(server, name)
    if partial is None:
        _check_count(server, found)
    return ElasticsearchIndex(server, found, vectors, models, partial, encoders, rankers)


def _check_count(server: Server, found: ConcreteIndex) -> None:
    """Raise an error if some passages of an index were lost with a shard, or deleted."""
    count, expected = count_documents(server, found.concrete), found.meta().passages
    if count != expected:
        raise IndexDamagedError(
            f"index {found.name!r} at {server.url} has {count} passages instead of {expected}; "
            f"{rebuild_advice(found.name)}"
        )


class ElasticsearchIndex:
    """An index that `build_es_index` built on a server; `open_index` opens it.

    It is bound to the concrete index that it found when it was opened. If the index is rebuilt
    meanwhile, the next request fails instead of mixing two collections. Words and statistics are
    kept in an LRU cache. One index must not be used by several threads at once.
    """

    def __init__(
        self,
        server: Server,
        found: ConcreteIndex,
        vectors: Callable[[], WordVectors] | None,
        models: Callable[[str], CitationVectors] | None,
        partial: Partial | None = None,
        encoders: Callable[[EncoderSettings], SentenceEncoder] | None = None,
        rankers: Callable[[str], Path] | None = None,
    ) -> None:
        """Wrap a concrete index without checking it; `open_index` checks it too."""
        meta = found.meta()
        self.name = found.name
        self.fingerprint = found.concrete
        self.settings = meta.settings
        self.max_candidates = found.setting("max_result_window", _DEFAULT_WINDOW)
        self._meta = meta
        self._load_vectors = vectors
        self._books: frozenset[str] | None = None
        self._load_citations = models
        self._load_encoder = encoders
        self._rankers = rankers
        self._requests = CachedRequests(
            server, self.name, found.concrete, meta.terms_index, partial
        )

    def __len__(self) -> int:
        """The number of passages."""
        return self._meta.passages

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The optional kinds of search that it supports, as in `CandidateIndex`."""
        return self._meta.capabilities

    @cached_property
    def vectors(self) -> WordVectors | None:
        """The word vectors that it was built with, or None if it has none."""
        if not self._meta.dimension:
            return None
        if self._load_vectors is None:
            return NoVectors(self.settings.vectors, self._meta.dimension)
        return kept_vectors(self._load_vectors())

    @property
    def ranker(self) -> Path | None:
        """The file of the ranker that was learned for it, as in `CandidateIndex`."""
        name = self.settings.ranker
        return self._rankers(name) if name and self._rankers else None

    @cached_property
    def citations(self) -> CitationVectors | None:
        """The citation vectors that it was built with, or None, as in `CandidateIndex`."""
        if not self._meta.citation_dimension or self._load_citations is None:
            return None
        return self._load_citations(self.settings.citations)

    @cached_property
    def encoder(self) -> SentenceEncoder | None:
        """The sentence encoder that it was built with, or None, as in `CandidateIndex`."""
        if self.settings.encoder is None or self._load_encoder is None:
            return None
        return self._load_encoder(self.settings.encoder)

    def encoder_cosines(self, vector: Singles, ids: Sequence[str]) -> Floats:
        """Cosines with the passages' encoder vectors, as in `CandidateIndex`."""
        require_capability("dense", self.capabilities, self.name)
        assert self.settings.encoder is not None
        found: dict[str, float] = {}
        for batch in batches(dict.fromkeys(ids), min(_HITS_TOGETHER, self.max_candidates)):
            if vector.any():
                query = similarity_query(vector, batch, self.settings.encoder)
                request = SearchRequest("dense", "token", size=len(batch), vector=vector)
                (hits,) = self._requests.search([search_body(request, query)])
                ranking = self._ranking(request, hits)
                found.update(zip(ranking.ids, ranking.scores.tolist(), strict=True))
        # Also tells of ids that the index does not have.
        self._requests.words([identifier for identifier in ids if identifier not in found])
        return np.array([found.get(identifier, np.nan) for identifier in ids])

    def ids(self, search_filter: SearchFilter = SearchFilter()) -> tuple[str, ...]:  # noqa: B008 - frozen
        """The ids of passages, sorted, as in `CandidateIndex`; read page by page."""
        found: list[str] = []
        while hits := self._requests.search(
            [ids_body(search_filter, self.max_candidates, found[-1:])]
        )[0]:
            found.extend(hit["sort"][0] for hit in hits)
        return tuple(found)

    def books(self) -> frozenset[str]:
        """The books of all passages, as in `CandidateIndex`."""
        if self._books is None:
            self._books = self._requests.books(most=len(BOOKS))
        return self._books

    def works(self) -> frozenset[Work]:
        """The works of all passages, as in `CandidateIndex`."""
        return self._works

    @cached_property
    def _works(self) -> frozenset[Work]:
        return self._requests.works()

    def search(self, requests: Sequence[SearchRequest]) -> list[Ranking]:
        """The rankings of several searches, as in `CandidateIndex`; sent together.

        Raises:
            UsageError: A request asks for too many passages or words, or for a kind of search
                that the index does not support.
            ServerRefusedError: The server refuses, or could not search the whole index.
        """
        for request in requests:
            self._check(request)
        bodies = self._bodies(requests)
        rankings = [Ranking.empty()] * len(requests)
        # Requests whose words nobody has keep their empty ranking, and are not sent.
        sent = [number for number, body in enumerate(bodies) if body is not None]
        together = max(1, _HITS_TOGETHER // max((r.size for r in requests), default=1))
        for batch in batches(sent, min(together, _SEARCHES_TOGETHER)):
            answers = self._requests.search([bodies[number] or {} for number in batch])
            for number, hits in zip(batch, answers, strict=True):
                rankings[number] = self._ranking(requests[number], hits)
        return rankings

    def texts(self, field: Field, ids: Sequence[str]) -> CodedTexts:
        """The words of passages as numbers, as in `CandidateIndex`."""
        words = self._requests.words(ids)
        place = FIELDS.index(field)
        return code_texts([words[identifier][place].split() for identifier in ids])

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """Passages with text and place, as in `CandidateIndex`."""
        sources = self._requests.passages(ids)
        return [Passage(**sources[identifier]) for identifier in ids]

    def parallels(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        """For each passage the ids of its parallels, as in `CandidateIndex`."""
        if "parallels" not in self.capabilities:
            return [()] * len(ids)
        found = self._requests.parallels(ids)
        return [found[identifier] for identifier in ids]

    def statistics(self, field: Field, words: Sequence[str]) -> TermStatistics:
        """Document and collection frequencies of words, as in `CandidateIndex`."""
        known = self._requests.frequencies(field, words)
        found = [known.get(word, (0, 0)) for word in words]
        both = np.array(found, dtype=np.int64).reshape(-1, 2)
        extent = self._meta.extents[field]
        return TermStatistics(both[:, 0], both[:, 1], extent.passages, extent.mean_length)

    def _check(self, request: SearchRequest) -> None:
        """Raise an error here for what the server would refuse in less clear words."""
        if request.size > self.max_candidates:
            raise UsageError(
                f"{request.size} candidates are more than the {self.max_candidates} that index "
                f"{self.name!r} returns in one search; ask for fewer"
            )
        if len(request.words) > MAX_WORDS:
            raise UsageError(
                f"{len(request.words)} distinct words are more than the {MAX_WORDS} that one "
                "search takes; ask for fewer"
            )
        require_capability(request.kind, self.capabilities, self.name)

    def _bodies(self, requests: Sequence[SearchRequest]) -> list[dict[str, Any] | None]:
        """The body of each request's search, or None where nothing can be found."""
        terms: dict[Field, Mapping[str, Term]] = {}
        for field in FIELDS:
            # All words of all requests are looked up at once.
            weighed = [r.words for r in requests if r.kind == "tfidf" and r.field == field]
            terms[field] = self._requests.terms(
                field, [word for words in weighed for word in words]
            )
        bodies = []
        for request in requests:
            is_sent = request.size > 0
            bodies.append(self._body(request, terms[request.field]) if is_sent else None)
        return bodies

    def _body(self, request: SearchRequest, terms: Mapping[str, Term]) -> dict[str, Any] | None:
        if request.kind == "named":
            return named_body(request)
        query = self._query(request, terms)
        return None if query is None else search_body(request, query)

    def _query(self, request: SearchRequest, terms: Mapping[str, Term]) -> dict[str, Any] | None:
        if request.kind in BY_VECTOR:
            exact = self._meta.knn == "flat"
            return knn_query(request, self.max_candidates, self.settings.encoder, exact=exact)
        if request.kind == "stems":
            return stems_query(request)
        if request.kind == "tfidf":
            return tfidf_query(request, terms, self._meta.extents[request.field].passages)
        return expansion_query(request) if request.kind == "expansion" else bm25_query(request)

    def _ranking(self, request: SearchRequest, hits: Sequence[dict[str, Any]]) -> Ranking:
        if request.kind == "named":
            return _named(request, [hit["sort"][0] for hit in hits])
        # Servers compute scores in single precision and print the shortest digits that identify
        # them. Read as doubles, these digits would be other numbers than the ones computed.
        singles = np.array([hit["sort"][0] for hit in hits], dtype=np.float32)
        scores = singles.astype(np.float64)
        if (
            request.kind == "citations"
            and self._meta.citation_length
            and request.vector is not None
        ):
            query = byte_vector(request.vector)
            products = server_products(scores)
            scores = product_cosines(products, query, self._meta.citation_length).astype(np.float64)
        elif request.kind in BY_VECTOR:
            scores = cosines(scores)
        return Ranking(tuple(hit["sort"][1] for hit in hits), scores)


def _named(request: SearchRequest, ids: Sequence[str]) -> Ranking:
    """The ranking of the named passages that the server has, by the request's own scores."""
    scores = {name: float(np.float32(request.words[name])) for name in ids if name in request.words}
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[: request.size]
    return Ranking(tuple(name for name, _ in best), np.array([score for _, score in best]))
