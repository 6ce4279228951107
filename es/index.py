"""An index on Elasticsearch as a `CandidateIndex`: the same answers as in this process."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from allusion_es.core.errors import IndexDamagedError, UsageError
from allusion_es.corpora.bible.books import BOOKS
from allusion_es.corpora.passage import Passage
from allusion_es.es.bulk import count_documents
from allusion_es.es.catalogue import ConcreteIndex, find_current
from allusion_es.es.connection import Server
from allusion_es.es.meta import rebuild_advice
from allusion_es.es.partial import Partial
from allusion_es.es.queries import (
    bm25_query,
    cosines,
    expansion_query,
    ids_body,
    knn_query,
    search_body,
    tfidf_query,
)
from allusion_es.es.requests import CachedRequests, Term, batches
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.vectors.types import NoVectors, WordVectors, kept_vectors
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
"""Distinct words that one search takes."""

_DEFAULT_WINDOW = 10_000
_HITS_TOGETHER = 10_000
_SEARCHES_TOGETHER = 64
_UNKNOWN = (0, 0, 0)


def open_index(
    server: Server,
    name: str,
    vectors: Callable[[], WordVectors] | None = None,
    models: Callable[[str], CitationVectors] | None = None,
    partial: Partial | None = None,
) -> "ElasticsearchIndex":
    """Open the index `name`.

    Args:
        server: Where it is.
        name: Its name.
        vectors: Gives the word vectors that the index was built with; called when needed.
            Without it, no word has a vector.
        models: Gives the citation vectors of a name; called when needed.
        partial: Allows searches that not all shards took part in, and is told of them; without
            it they are refused. Scores then are those of the shards that did.

    Raises:
        IndexMissingError: There is none; the message lists those that there are.
        IndexDamagedError: It is of another format, or has lost passages; the message says how
            to rebuild it.
        ServerRefusedError: A shard is missing, and that is not allowed.
    """
    found = find_current(server, name)
    if partial is None:
        _check_count(server, found)
    return ElasticsearchIndex(server, found, vectors, models, partial)


def _check_count(server: Server, found: ConcreteIndex) -> None:
    """Refuse an index some of whose passages were lost with a shard, or deleted."""
    count, expected = count_documents(server, found.concrete), found.meta().passages
    if count != expected:
        raise IndexDamagedError(
            f"index {found.name!r} at {server.url} has {count} passages instead of {expected}; "
            f"{rebuild_advice(found.name)}"
        )


class ElasticsearchIndex:
    """An index that `build_es_index` built; see `open_index`.

    It stays with the passages that it found when it was opened: if the index is rebuilt
    meanwhile, the next request fails instead of mixing two collections. What was asked lately
    is kept in memory, up to a limit. It is not made for several threads at once.
    """

    def __init__(
        self,
        server: Server,
        found: ConcreteIndex,
        vectors: Callable[[], WordVectors] | None,
        models: Callable[[str], CitationVectors] | None,
        partial: Partial | None = None,
    ) -> None:
        """Use `open_index`."""
        meta = found.meta()
        self.name = found.name
        self.fingerprint = found.concrete
        self.settings = meta.settings
        self.max_candidates = found.setting("max_result_window", _DEFAULT_WINDOW)
        self._meta = meta
        self._elsewhere = vectors
        self._models = models
        self._lookups = CachedRequests(server, self.name, found.concrete, meta.terms_index, partial)

    def __len__(self) -> int:
        """How many passages it holds."""
        return self._meta.passages

    @property
    def capabilities(self) -> frozenset[Capability]:
        """See `CandidateIndex.capabilities`."""
        return self._meta.capabilities

    @cached_property
    def vectors(self) -> WordVectors | None:
        """The word vectors that it was built with, if any."""
        if not self._meta.dimension:
            return None
        if self._elsewhere is None:
            return NoVectors(self.settings.vectors, self._meta.dimension)
        return kept_vectors(self._elsewhere())

    @cached_property
    def citations(self) -> CitationVectors | None:
        """See `CandidateIndex.citations`."""
        if not self._meta.citation_dimension or self._models is None:
            return None
        return self._models(self.settings.citations)

    def ids(self, search_filter: SearchFilter = SearchFilter()) -> tuple[str, ...]:  # noqa: B008 - frozen
        """See `CandidateIndex.ids`; asked for page by page."""
        found: list[str] = []
        while hits := self._lookups.search(
            [ids_body(search_filter, self.max_candidates, found[-1:])]
        )[0]:
            found.extend(hit["sort"][0] for hit in hits)
        return tuple(found)

    def books(self) -> frozenset[str]:
        """See `CandidateIndex.books`."""
        return self._lookups.books(most=len(BOOKS))

    def search(self, requests: Sequence[SearchRequest]) -> list[Ranking]:
        """See `CandidateIndex.search`.

        Raises:
            UsageError: A request asks for more passages or words than a search takes, or for
                neighbours where there are no vectors.
            ServerRefusedError: The server refuses, or could not search the whole index.
        """
        for request in requests:
            self._check(request)
        bodies = self._bodies(requests)
        rankings = [Ranking.empty()] * len(requests)
        asked = [number for number, body in enumerate(bodies) if body is not None]
        together = max(1, _HITS_TOGETHER // max((r.size for r in requests), default=1))
        for batch in batches(asked, min(together, _SEARCHES_TOGETHER)):
            answers = self._lookups.search([bodies[number] or {} for number in batch])
            for number, hits in zip(batch, answers, strict=True):
                rankings[number] = _ranking(requests[number], hits)
        return rankings

    def texts(self, field: Field, ids: Sequence[str]) -> CodedTexts:
        """See `CandidateIndex.texts`."""
        words = self._lookups.words(ids)
        place = FIELDS.index(field)
        return code_texts([words[identifier][place].split() for identifier in ids])

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """See `CandidateIndex.passages`."""
        sources = self._lookups.passages(ids)
        return [Passage(**sources[identifier]) for identifier in ids]

    def parallels(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        """See `CandidateIndex.parallels`."""
        if "parallels" not in self.capabilities:
            return [()] * len(ids)
        found = self._lookups.parallels(ids)
        return [found[identifier] for identifier in ids]

    def statistics(self, field: Field, words: Sequence[str]) -> TermStatistics:
        """See `CandidateIndex.statistics`."""
        terms = self._lookups.terms(field, words)
        found = [terms.get(word, _UNKNOWN) for word in words]
        extent = self._meta.extents[field]
        return TermStatistics(
            np.array([df for df, _, _ in found], dtype=np.int64),
            np.array([cf for _, cf, _ in found], dtype=np.int64),
            extent.passages,
            extent.mean_length,
        )

    def _check(self, request: SearchRequest) -> None:
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
        """One search body a request, None where nothing can be found."""
        terms: dict[Field, Mapping[str, Term]] = {}
        for field in FIELDS:
            weighed = [r.words for r in requests if r.kind == "tfidf" and r.field == field]
            terms[field] = self._lookups.terms(field, [word for words in weighed for word in words])
        bodies = []
        for request in requests:
            query = self._query(request, terms[request.field]) if request.size > 0 else None
            bodies.append(None if query is None else search_body(request, query))
        return bodies

    def _query(self, request: SearchRequest, terms: Mapping[str, Term]) -> dict[str, Any] | None:
        if request.kind in ("knn", "citations"):
            return knn_query(request, self.max_candidates)
        if request.kind == "tfidf":
            return tfidf_query(request, terms, self._meta.extents[request.field].passages)
        return expansion_query(request) if request.kind == "expansion" else bm25_query(request)


def _ranking(request: SearchRequest, hits: Sequence[dict[str, Any]]) -> Ranking:
    # The server computes in single precision and prints the shortest digits that mean the same.
    singles = np.array([hit["sort"][0] for hit in hits], dtype=np.float32)
    scores = singles.astype(np.float64)
    if request.kind in ("knn", "citations"):
        scores = cosines(scores)
    return Ranking(tuple(hit["sort"][1] for hit in hits), scores)
