"""Requests to an index on a server, with an LRU cache for the answers.

A reranker needs the words and the statistics of all candidates of a query, and candidates of one
query return in the next. So most of them are asked for once only.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from msgspec import Struct

from allusion_es.core.caches import LruCache
from allusion_es.core.errors import IndexMissingError, ServerRefusedError, VerseError
from allusion_es.corpora.passage import Work
from allusion_es.es.answers import (
    AUTHORED,
    BUCKETS,
    DOCUMENTS,
    FOUND,
    GROUPED,
    NAMED,
    NOTHING,
    PASSAGE,
    PASSAGE_WORDS,
    SCORED,
    SEARCHES,
    SOURCE,
    TERM,
    WORDS,
    WORKS,
    check_answer,
    strange_answer,
)
from allusion_es.es.connection import Server, encode
from allusion_es.es.documents import MAX_WORD, term_id, unpack_words
from allusion_es.es.errors import reason_of, search_failure
from allusion_es.es.meta import AUTHOR, PARALLELS
from allusion_es.es.partial import Partial, find_shortfall
from allusion_es.retrieval.types import Field

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut items into lists of `size`; the last one may be shorter.

    Example:
        >>> list(batches("abc", 2))
        [['a', 'b'], ['c']]
    """
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


Term = tuple[int, int, int]
"""A word's document frequency, collection frequency, and highest frequency in one passage."""

# Documents of one request: some hundred kilobytes.
_TOGETHER = 1_000

_OF_WORK = ("author", "work")
"""The fields that name the work of a passage."""

# Sizes of the caches: the whole Vulgate (35,809 verses) and its words, some tens of megabytes.
_KEPT_PASSAGES = 50_000
_KEPT_TERMS = 200_000


class CachedRequests:
    """Requests for searches, words, passages and term statistics of one index.

    Args:
        server: The server.
        name: The name that the user gave to the index, for messages.
        concrete: The concrete index with the passages.
        terms_index: The concrete index with the term statistics.
        partial: Permission to accept partial answers, or None.
    """

    def __init__(
        self,
        server: Server,
        name: str,
        concrete: str,
        terms_index: str,
        partial: Partial | None = None,
    ) -> None:
        """Start with an empty cache."""
        self._server = server
        self._partial = partial
        self._name = name
        self._concrete = concrete
        self._terms_index = terms_index
        self._words: LruCache[str, tuple[str, str]] = LruCache(_KEPT_PASSAGES)
        self._terms: LruCache[str, Term] = LruCache(_KEPT_TERMS)

    def search(self, bodies: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
        """The hits of several searches, sent in one request.

        The words that come with the hits are put into the cache.

        Raises:
            IndexMissingError: The index was deleted or rebuilt meanwhile.
            ServerRefusedError: The server refuses, or could not search the whole index.
        """
        allowed = self._partial is not None
        lines = [encode(line) for body in bodies for line in (_header(body, allowed), body)]
        with self._open():
            answer = self._server.send_lines(f"/{self._concrete}/_msearch", lines)
            check_answer(answer, SEARCHES, self._server.url)
            answers = answer["responses"]
            if len(answers) != len(bodies):
                raise strange_answer(self._server.url, f"{len(answers)} of {len(bodies)} searches")
            return [self._hits(body, answer) for body, answer in zip(bodies, answers, strict=True)]

    def _hits(self, body: dict[str, Any], answer: dict[str, Any]) -> list[dict[str, Any]]:
        """The hits in the answer to one search; an error if it failed or is partial."""
        url = self._server.url
        if failure := search_failure(answer, url):
            raise failure
        check_answer(answer, SCORED if "docvalue_fields" in body else NAMED, url)
        self._check_shards(answer)
        hits: list[dict[str, Any]] = answer["hits"]["hits"]
        if len(hits) > body["size"]:
            raise strange_answer(url, f"{len(hits)} hits instead of {body['size']}")
        for hit in hits:
            if "fields" in hit:
                check_answer(hit, WORDS, url)
                self._words.put(hit["sort"][1], self._unpacked(hit["fields"]["words"][0]))
        return hits

    def _check_shards(self, answer: dict[str, Any]) -> None:
        """Raise an error for a partial answer, or record it where that is permitted."""
        if shortfall := find_shortfall(answer):
            if self._partial is None:
                raise shortfall.error(self._server.url)
            self._partial.note(shortfall)

    def _unpacked(self, packed: str) -> tuple[str, str]:
        try:
            return unpack_words(packed)
        except ValueError:
            raise strange_answer(self._server.url, "words") from None

    def words(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """For each passage its tokens and its lemmas, with blanks between words.

        Raises:
            VerseError: The index has no passage of an id; the message names it.
        """
        found: dict[str, tuple[str, str]] = {}
        missing = []
        for identifier in dict.fromkeys(ids):
            words = self._words.get(identifier)
            if words is None:
                missing.append(identifier)
            else:
                found[identifier] = words
        for identifier, source in self._sources(missing, PASSAGE_WORDS):
            found[identifier] = (source["token"], source["lemma"])
            self._words.put(identifier, found[identifier])
        return found

    def books(self, most: int) -> frozenset[str]:
        """Books of all passages that have one, at most `most`; raises the errors of `search`."""
        counted = {"books": {"terms": {"field": "book", "size": most + 1}}}
        with self._open():
            answer = self._server.request(
                "POST", f"/{self._concrete}/_search", {"size": 0, "aggs": counted}
            )
        check_answer(answer, BUCKETS, self._server.url)
        self._check_shards(answer)
        buckets = answer["aggregations"]["books"]["buckets"]
        return frozenset(each["key"] for each in buckets) - {""}

    def works(self) -> frozenset[Work]:
        """The works of all passages; raises the errors of `search`."""
        fields = [{name: {"terms": {"field": name, "missing_bucket": True}}} for name in _OF_WORK]
        found: set[Work] = set()
        after: dict[str, Any] = {}
        while True:
            composite = {"sources": fields, "size": _TOGETHER, **after}
            body = {"size": 0, "aggs": {"works": {"composite": composite}}}
            with self._open():
                answer = self._server.request("POST", f"/{self._concrete}/_search", body)
            check_answer(answer, WORKS, self._server.url)
            self._check_shards(answer)
            buckets = answer["aggregations"]["works"]["buckets"]
            keys = [bucket["key"] for bucket in buckets]
            found |= {Work(key["author"] or "", key["work"] or "") for key in keys}
            if len(buckets) < _TOGETHER:
                return frozenset(found)
            after = {"after": keys[-1]}

    def passages(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """For each passage its properties, without words; raises the errors of `words`."""
        found = dict(self._sources(list(dict.fromkeys(ids)), PASSAGE, (AUTHOR,)))
        for source in found.values():
            check_answer({AUTHOR: source.setdefault(AUTHOR, "")}, AUTHORED, self._server.url)
        return found

    def parallels(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """For each passage the ids of its parallels; raises the errors of `words`."""
        found: dict[str, tuple[str, ...]] = {}
        for identifier, source in self._sources(list(dict.fromkeys(ids)), NOTHING, (PARALLELS,)):
            others = source.get(PARALLELS, [])
            check_answer({PARALLELS: others}, GROUPED, self._server.url)
            found[identifier] = tuple(others)
        return found

    def terms(self, field: Field, words: Sequence[str]) -> dict[str, Term]:
        """The statistics of those words that the collection has."""
        distinct = [word for word in dict.fromkeys(words) if len(word) <= MAX_WORD]
        terms = {word: self._terms.get(term_id(field, word)) for word in distinct}
        missing = [word for word, term in terms.items() if term is None]
        for batch in batches(missing, _TOGETHER):
            ids = [term_id(field, word) for word in batch]
            documents = self._documents(self._terms_index, ids, TERM)
            for word, identifier, source in zip(batch, ids, documents, strict=True):
                # Unknown words are kept too: queries are full of them.
                term = (source["df"], source["cf"], source["max_tf"]) if source else (0, 0, 0)
                self._terms.put(identifier, term)
                terms[word] = term
        return {word: term for word, term in terms.items() if term is not None and term[0]}

    def _sources(
        self, ids: Sequence[str], fields: type[Struct], may_have: Sequence[str] = ()
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each id with some fields of its document.

        Args:
            ids: Passages.
            fields: The shape of the fields that each document must have.
            may_have: Fields that a document may lack.
        """
        for batch in batches(ids, _TOGETHER):
            documents = self._documents(self._concrete, batch, fields, may_have)
            for identifier, source in zip(batch, documents, strict=True):
                if source is None:
                    raise VerseError(f"index {self._name!r} has no passage {identifier!r}")
                yield identifier, source

    def _documents(
        self, index: str, ids: Sequence[str], fields: type[Struct], may_have: Sequence[str] = ()
    ) -> list[dict[str, Any] | None]:
        """Some fields of documents, in the order of the ids; None for those that do not exist."""
        names = (*fields.__struct_fields__, *may_have)
        path = f"/{index}/_mget?_source_includes={','.join(names)}"
        with self._open():
            answer = self._server.request("POST", path, {"ids": list(ids)})
            check_answer(answer, DOCUMENTS, self._server.url)
            documents = answer["docs"]
            if [document["_id"] for document in documents] != list(ids):
                raise strange_answer(self._server.url, "other documents than were asked for")
            return [self._source(document, fields, may_have) for document in documents]

    def _source(
        self, document: dict[str, Any], fields: type[Struct], may_have: Sequence[str]
    ) -> dict[str, Any] | None:
        """Some fields of one document of an `_mget`, or None if it does not exist."""
        # A document has an error of its own if its shard is missing, or its index is gone.
        if "error" in document:
            kind, reason = reason_of(document)
            if kind == "index_not_found_exception":
                raise IndexMissingError(reason)
            raise ServerRefusedError(
                f"{self._server.url} cannot give all that it has ({kind}: {reason}); see to the "
                "cluster's health and try again"
            )
        check_answer(document, FOUND, self._server.url)
        if not document["found"]:
            return None
        check_answer(document, SOURCE, self._server.url)
        source = document["_source"]
        check_answer(source, fields, self._server.url)
        names = (*fields.__struct_fields__, *may_have)
        return {name: source[name] for name in names if name in source}

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Turn the error for a missing index into one that says that it was deleted or rebuilt."""
        try:
            yield
        except IndexMissingError as error:
            raise IndexMissingError(
                f"index {self._name!r} at {self._server.url} was deleted or rebuilt meanwhile; "
                "open it again"
            ) from error


def _header(body: dict[str, Any], allowed: bool) -> dict[str, Any]:
    """The header of one search of an `_msearch`.

    Scores of BM25 depend on document frequencies. `dfs_query_then_fetch` takes these from all
    shards, so that scores do not depend on how passages are spread; a kNN search has none.

    Args:
        body: The search.
        allowed: Whether its answer may be partial.
    """
    # The setting overrides one of the cluster. Without it, `_check_shards` refuses partial answers,
    # with a message that says which shards are missing.
    header: dict[str, Any] = {"allow_partial_search_results": True} if allowed else {}
    return header if "knn" in body else {**header, "search_type": "dfs_query_then_fetch"}
