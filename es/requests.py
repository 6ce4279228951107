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
    BUCKETS,
    DOCUMENTS,
    FOUND,
    MORE,
    NAMED,
    PACKED,
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
from allusion_es.es.documents import MAX_WORD, Term, term_id, unpack_statistics, unpack_words
from allusion_es.es.errors import reason_of, search_failure
from allusion_es.es.meta import AUTHOR, PARALLELS, STATISTICS
from allusion_es.es.partial import Partial, find_shortfall
from allusion_es.es.queries import words_body
from allusion_es.retrieval.types import FIELDS, Field

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


# Documents of one request: some hundred kilobytes.
_TOGETHER = 1_000

_OF_WORK = ("author", "work")
"""The fields that name the work of a passage."""

# Sizes of the caches: the whole Vulgate (35,809 verses) and its words, some tens of megabytes.
_KEPT_PASSAGES = 50_000
_KEPT_TERMS = 200_000

_KEPT_RECORDS = 2_000
"""Passages whose text and place are kept: those that are shown, and looked up again at once."""

_KEPT_FREQUENCIES = 200_000
"""Words of a field whose frequencies are kept."""


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
        # Plain dictionaries: a query looks up thousands, and puts in as many.
        self._frequencies: dict[Field, dict[str, tuple[int, int]]] = {f: {} for f in FIELDS}
        self._records: LruCache[str, dict[str, Any]] = LruCache(_KEPT_RECORDS)

    def search(self, bodies: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
        """The hits of several searches, sent in one request.

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
        check_answer(answer, SCORED if len(body["sort"]) > 1 else NAMED, url)
        self._check_shards(answer)
        hits: list[dict[str, Any]] = answer["hits"]["hits"]
        if len(hits) > body["size"]:
            raise strange_answer(url, f"{len(hits)} hits instead of {body['size']}")
        return hits

    def _check_shards(self, answer: dict[str, Any]) -> None:
        """Raise an error for a partial answer, or record it where that is permitted."""
        if shortfall := find_shortfall(answer):
            if self._partial is None:
                raise shortfall.error(self._server.url)
            self._partial.note(shortfall)

    def _fetch_words(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """The words of those passages that there are; they go into the caches, with frequencies."""
        found = {}
        (hits,) = self.search([words_body(ids)])
        for hit in hits:
            check_answer(hit, WORDS, self._server.url)
            fields = hit["fields"]
            try:
                words = unpack_words(fields["words"][0])
                found[hit["sort"][0]] = words
                self._words.put(hit["sort"][0], words)
                if STATISTICS in fields:
                    check_answer(fields[STATISTICS], PACKED, self._server.url)
                    self._keep_frequencies(words, fields[STATISTICS][0])
            except ValueError:
                raise strange_answer(self._server.url, "words") from None
        return found

    def _keep_frequencies(self, words: tuple[str, str], packed: str) -> None:
        """Put the frequencies of a passage's words into the cache."""
        texts = [text.split() for text in words]
        both = zip(*unpack_statistics(packed, sum(map(len, texts))), strict=True)
        for field, text in zip(FIELDS, texts, strict=True):
            # Not strict: the second field's frequencies follow those of the first.
            self._frequencies_of(field).update(zip(text, both, strict=False))

    def _frequencies_of(self, field: Field) -> dict[str, tuple[int, int]]:
        """The frequencies that are kept of a field, none of them when there would be too many."""
        known = self._frequencies[field]
        if len(known) > _KEPT_FREQUENCIES:
            known.clear()
        return known

    def words(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """For each passage its tokens and its lemmas, with blanks between words.

        Raises:
            VerseError: The index has no passage of an id; the message names it.
        """
        wanted = list(dict.fromkeys(ids))
        found = {name: words for name in wanted if (words := self._words.get(name)) is not None}
        for batch in batches([name for name in wanted if name not in found], _TOGETHER):
            found |= self._fetch_words(batch)
        # Says which id there is not, or that its shard does not answer.
        missing = [name for name in wanted if name not in found]
        for name, source in self._sources(missing, PASSAGE_WORDS):
            found[name] = (source["token"], source["lemma"])
        return found

    def frequencies(self, field: Field, words: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Document and collection frequencies of words, zeros for those that are nowhere."""
        known = self._frequencies[field]
        found = {word: known[word] for word in words if word in known}
        keys = {term_id(field, word): word for word in words if word not in found and _fits(word)}
        for key, (df, cf, _) in self._fetch_terms(list(keys)).items():
            found[keys[key]] = df, cf
        self._frequencies_of(field).update((word, found[word]) for word in keys.values())
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
        records = self._records_of(ids)
        return {name: {k: v for k, v in one.items() if k != PARALLELS} for name, one in records}

    def parallels(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """For each passage the ids of its parallels; raises the errors of `words`."""
        return {name: tuple(one[PARALLELS]) for name, one in self._records_of(ids)}

    def _records_of(self, ids: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
        """Each passage once, with its properties and the ids of its parallels."""
        wanted = list(dict.fromkeys(ids))
        found = {name: one for name in wanted if (one := self._records.get(name)) is not None}
        missing = [name for name in wanted if name not in found]
        for name, source in self._sources(missing, PASSAGE, (AUTHOR, PARALLELS)):
            more = {AUTHOR: source.setdefault(AUTHOR, "")}
            more[PARALLELS] = source.setdefault(PARALLELS, [])
            check_answer(more, MORE, self._server.url)
            self._records.put(name, source)
            found[name] = source
        return [(name, found[name]) for name in wanted]

    def terms(self, field: Field, words: Sequence[str]) -> dict[str, Term]:
        """The statistics of those words that the collection has."""
        keys = {term_id(field, word): word for word in words if _fits(word)}
        found = self._fetch_terms(list(keys))
        return {keys[key]: term for key, term in found.items() if term[0]}

    def _fetch_terms(self, keys: Sequence[str]) -> dict[str, Term]:
        """The statistics of words by `term_id`, zeros for those that the collection lacks."""
        found = {key: term for key in keys if (term := self._terms.get(key)) is not None}
        for batch in batches([key for key in keys if key not in found], _TOGETHER):
            documents = self._documents(self._terms_index, batch, TERM)
            for key, source in zip(batch, documents, strict=True):
                # Unknown words are kept too: queries are full of them.
                term = (source["df"], source["cf"], source["max_tf"]) if source else (0, 0, 0)
                self._terms.put(key, term)
                found[key] = term
        return found

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


def _fits(word: str) -> bool:
    """Whether a word is short enough to be in an index."""
    return len(word) <= MAX_WORD


def _header(body: dict[str, Any], allowed: bool) -> dict[str, Any]:
    """The header of one search of an `_msearch`.

    Scores of BM25 depend on document frequencies. `dfs_query_then_fetch` takes these from all
    shards, so that scores do not depend on how passages are spread; a kNN search has none, nor has
    one that is sorted by id alone.

    Args:
        body: The search.
        allowed: Whether its answer may be partial.
    """
    # The setting overrides one of the cluster. Without it, `_check_shards` refuses partial answers,
    # with a message that says which shards are missing.
    header: dict[str, Any] = {"allow_partial_search_results": True} if allowed else {}
    scored = "knn" not in body and len(body["sort"]) > 1
    return {**header, "search_type": "dfs_query_then_fetch"} if scored else header
