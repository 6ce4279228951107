"""What an index on a server is asked, and a memory for the answers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from allusion_es.core.errors import IndexMissingError, ServerRefusedError, VerseError
from allusion_es.es.batches import batches
from allusion_es.es.connection import Server, encode
from allusion_es.es.documents import term_id, unpack_words
from allusion_es.es.failures import partial_failure, reason_of
from allusion_es.es.meta import PASSAGE_FIELDS
from allusion_es.es.recent import Recent
from allusion_es.es.spool import MAX_WORD
from allusion_es.retrieval.types import FIELDS, Field

Term = tuple[int, int, int]
"""Document frequency, collection frequency, most occurrences in one passage."""

_TOGETHER = 1_000
_KEPT_PASSAGES = 50_000
_KEPT_TERMS = 200_000


class Lookups:
    """Searches, words, passages and term statistics of one index.

    Args:
        server: Where it is.
        name: Its name, for messages.
        proper: The index that holds the passages.
        terms_index: The index that holds the term statistics.
    """

    def __init__(self, server: Server, name: str, proper: str, terms_index: str) -> None:
        """Nothing asked yet."""
        self._server = server
        self._name = name
        self._proper = proper
        self._terms_index = terms_index
        self._words: Recent[str, tuple[str, str]] = Recent(_KEPT_PASSAGES)
        self._terms: Recent[str, Term] = Recent(_KEPT_TERMS)

    def search(self, bodies: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
        """The hits of several searches; the words that come with them are remembered.

        Raises:
            IndexMissingError: The index was deleted or rebuilt meanwhile.
            ServerRefusedError: The server refuses, or could not search the whole index.
        """
        lines = [encode(line) for body in bodies for line in (_header(body), body)]
        found = []
        with self._open():
            answers = self._server.send_lines(f"/{self._proper}/_msearch", lines)["responses"]
            for answer in answers:
                if failure := partial_failure(answer, self._server.url):
                    raise failure
                found.append(answer["hits"]["hits"])
        for hits in found:
            for hit in hits:
                if "fields" in hit:
                    self._words.put(hit["sort"][1], unpack_words(hit["fields"]["words"][0]))
        return found

    def words(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """The tokens and the lemmas of passages, with blanks between them.

        Raises:
            VerseError: An id is not in the index; the message names it.
        """
        found: dict[str, tuple[str, str]] = {}
        missing = []
        for identifier in dict.fromkeys(ids):
            words = self._words.get(identifier)
            if words is None:
                missing.append(identifier)
            else:
                found[identifier] = words
        for identifier, source in self._sources(missing, FIELDS):
            found[identifier] = (source["token"], source["lemma"])
            self._words.put(identifier, found[identifier])
        return found

    def passages(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """All properties of passages but their words; raises as `words` does."""
        return dict(self._sources(list(dict.fromkeys(ids)), PASSAGE_FIELDS))

    def terms(self, field: Field, words: Sequence[str]) -> dict[str, Term]:
        """Statistics of those of `words` that the collection has."""
        distinct = [word for word in dict.fromkeys(words) if len(word) <= MAX_WORD]
        terms = {word: self._terms.get(term_id(field, word)) for word in distinct}
        missing = [word for word, term in terms.items() if term is None]
        for batch in batches(missing, _TOGETHER):
            ids = [term_id(field, word) for word in batch]
            documents = self._documents(self._terms_index, ids, ("df", "cf", "max_tf"))
            for word, identifier, source in zip(batch, ids, documents, strict=True):
                # That a word is unknown is worth remembering too.
                term = (source["df"], source["cf"], source["max_tf"]) if source else (0, 0, 0)
                self._terms.put(identifier, term)
                terms[word] = term
        return {word: term for word, term in terms.items() if term is not None and term[0]}

    def _sources(
        self, ids: Sequence[str], fields: Sequence[str]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        for batch in batches(ids, _TOGETHER):
            documents = self._documents(self._proper, batch, fields)
            for identifier, source in zip(batch, documents, strict=True):
                if source is None:
                    raise VerseError(f"index {self._name!r} has no passage {identifier!r}")
                yield identifier, source

    def _documents(
        self, index: str, ids: Sequence[str], fields: Sequence[str]
    ) -> list[dict[str, Any] | None]:
        """Some fields of documents, None for those that do not exist."""
        path = f"/{index}/_mget?_source_includes={','.join(fields)}"
        with self._open():
            documents = self._server.request("POST", path, {"ids": list(ids)})["docs"]
            for document in documents:
                if "error" in document:
                    kind, reason = reason_of(document)
                    if kind == "index_not_found_exception":
                        raise IndexMissingError(reason)
                    raise ServerRefusedError(f"{self._server.url} ({kind}): {reason}")
        return [document["_source"] if document["found"] else None for document in documents]

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Tell what it means if the index that was there is there no more."""
        try:
            yield
        except IndexMissingError as error:
            raise IndexMissingError(
                f"index {self._name!r} at {self._server.url} was deleted or rebuilt meanwhile; "
                "open it again"
            ) from error


def _header(body: dict[str, Any]) -> dict[str, str]:
    """How a search goes over several shards: word statistics are those of all of them."""
    return {} if "knn" in body else {"search_type": "dfs_query_then_fetch"}
