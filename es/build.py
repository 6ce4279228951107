"""Building an index on a server: whole, or not at all."""

import contextlib
import time
from collections.abc import Iterable
from typing import Any, Literal

from allusion_es.core.errors import AllusionError, InputError, ServerRefusedError, UsageError
from allusion_es.core.progress import Progress, silent
from allusion_es.es.bulk import Document, index_documents
from allusion_es.es.catalogue import (
    Found,
    alias_of,
    delete_proper,
    find_all,
    find_current,
    is_current,
    new_proper_name,
    terms_of,
)
from allusion_es.es.connection import Server
from allusion_es.es.mapping import index_body, passages_body
from allusion_es.es.meta import Meta
from allusion_es.es.spool import Spool
from allusion_es.es.weights import passage_documents, term_documents
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.language.vectors import WordVectors
from allusion_es.retrieval.analysed import AnalysedPassage
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.names import check_name

STALE_SECONDS = 3600
"""A half-built index this old was left behind by a process that was killed."""


def build_es_index(
    server: Server,
    name: str,
    passages: Iterable[AnalysedPassage],
    settings: IndexSettings,
    vectors: WordVectors | None = None,
    citations: CitationVectors | None = None,
    *,
    shards: int = 1,
    replicas: int = 0,
    knn: Literal["flat", "hnsw"] = "flat",
    progress: Progress = silent,
) -> int:
    """Build an index; one of that name that is there is replaced once the new one is complete.

    Whatever goes wrong, and if the program is interrupted, the server is left as it was.

    Args:
        server: Where to build it.
        name: Its name, see `check_name`.
        passages: In canonical order; read once, and kept on disk meanwhile.
        settings: How the passages were analysed; saved with the index.
        vectors: Word vectors for nearest neighbours, or None.
        citations: What gives each passage a vector of its own, or None.
        shards: Parts that the index is spread over.
        replicas: Further copies of each part.
        knn: How vectors are searched: `flat` compares all of them and is exact, `hnsw` is
            faster in collections of millions, and approximate.
        progress: Told of the passages that are indexed.

    Returns:
        How many passages the index holds.

    Raises:
        UsageError: The name or a number cannot be used.
        InputError: Two passages have the same id, there is no passage, or one cannot be indexed.
        StorageError: There is no room for the passages on this machine's disk.
        ServerRefusedError: The server is read-only, full or overloaded, or lost passages.
        ServerUnavailableError: The server no longer answers.
    """
    check_name(name)
    if shards < 1 or replicas < 0:
        raise UsageError(f"{shards} shards and {replicas} replicas: give at least 1 and 0")
    with Spool() as spool:
        spool.fill(passages)
        if not len(spool):
            raise InputError("there is no passage to index; give a text with at least one")
        _delete_stale(server, name)
        proper = new_proper_name(name)
        meta = Meta(
            name,
            settings,
            len(spool),
            {field: terms.extent() for field, terms in spool.fields.items()},
            terms_of(proper),
            vectors.dimension if vectors else 0,
            knn if vectors or citations else "",
            citations.dimension if citations else 0,
            frozenset({"ngrams", "expansion"} if citations else {"ngrams"}),
        )
        try:
            _create(server, proper, meta, shards, replicas)
            documents = passage_documents(spool, vectors, citations)
            _fill(server, proper, spool, progress(documents, "Indexing", len(spool)))
            _check_counts(server, proper, spool)
            _make_current(server, name, proper)
        except BaseException:
            _give_up(server, name, proper)
            raise
    return meta.passages


def _create(server: Server, proper: str, meta: Meta, shards: int, replicas: int) -> None:
    server.request("PUT", f"/{terms_of(proper)}", index_body("terms", 1, replicas))
    server.request("PUT", f"/{proper}", passages_body(meta, shards, replicas))


def _fill(server: Server, proper: str, spool: Spool, documents: Iterable[Document]) -> None:
    index_documents(server, proper, documents)
    index_documents(server, terms_of(proper), term_documents(spool.fields))
    server.request("POST", f"/{proper},{terms_of(proper)}/_refresh")


def _check_counts(server: Server, proper: str, spool: Spool) -> None:
    terms = sum(len(field.numbers) for field in spool.fields.values())
    for index, expected in ((proper, len(spool)), (terms_of(proper), terms)):
        counted = _count(server, index)
        if counted != expected:
            raise ServerRefusedError(
                f"{server.url} holds {counted} of {expected} documents of {index}; the new "
                "index was discarded, try again"
            )


def _count(server: Server, index: str) -> int:
    count: int = server.request("GET", f"/{index}/_count")["count"]
    return count


def _make_current(server: Server, name: str, proper: str) -> None:
    """Let the alias lead to the new index and delete the old one, in a single step."""
    there = find_all(server, name)
    old = {found.proper for found in there if is_current(found)}
    old |= {terms_of(index) for index in old}
    actions: list[dict[str, Any]] = [
        {"remove_index": {"index": found.proper}} for found in there if found.proper in old
    ]
    actions.append({"add": {"index": proper, "alias": alias_of(name)}})
    server.request("POST", "/_aliases", {"actions": actions})


def _give_up(server: Server, name: str, proper: str) -> None:
    """Delete a half-built index, without hiding the error that led to this."""
    with contextlib.suppress(AllusionError):
        # The alias may have moved although the answer to that was lost.
        with contextlib.suppress(AllusionError):
            if find_current(server, name).proper == proper:
                return
        delete_proper(server, [proper, terms_of(proper)])


def _delete_stale(server: Server, name: str) -> None:
    """Delete what processes that were killed left behind; a younger one may still be at work."""
    found = find_all(server, name)
    current = {one.proper for one in found if is_current(one)}
    kept = current | {terms_of(proper) for proper in current}
    stale = [one.proper for one in found if one.proper not in kept and _age(one) > STALE_SECONDS]
    delete_proper(server, stale)


def _age(found: Found) -> float:
    """Seconds since an index was created."""
    return time.time() - int(found.setting("creation_date", "0")) / 1000
