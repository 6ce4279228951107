"""Building an index on a server: whole, or not at all."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from allusion_es.core.errors import ServerRefusedError, UsageError
from allusion_es.core.progress import Progress, silent
from allusion_es.core.spilled import TemporaryFiles
from allusion_es.es.bulk import Document, count_documents, index_documents
from allusion_es.es.catalogue import create_index, new_proper_name, terms_of
from allusion_es.es.connection import Server
from allusion_es.es.documents import describe
from allusion_es.es.mapping import index_body, passages_body
from allusion_es.es.meta import Extent, Meta
from allusion_es.es.switching import at_work_on, delete_stale, give_up, make_current
from allusion_es.es.weights import passage_documents, term_documents
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.language.vectors import WordVectors
from allusion_es.retrieval.analysed import AnalysedPassage, Unanalysed
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.names import check_name
from allusion_es.retrieval.parallels import Parallels, spooled_parallels
from allusion_es.retrieval.parts import Part
from allusion_es.retrieval.spool import Spool


def build_es_index(
    server: Server,
    name: str,
    passages: Iterable[AnalysedPassage] | Unanalysed,
    settings: IndexSettings,
    vectors: WordVectors | None = None,
    citations: CitationVectors | None = None,
    *,
    shards: int = 1,
    replicas: int = 0,
    knn: Literal["flat", "hnsw"] = "flat",
    progress: Progress = silent,
    workers: int = 1,
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
        workers: Processes that make documents; however many, the index is the same.

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
    with TemporaryFiles(Path(tempfile.gettempdir())) as files:
        spool = Spool(files)
        spool.fill(passages, describe, workers)
        proper = new_proper_name(name)
        parallels = spooled_parallels(spool)
        meta = Meta(
            name,
            settings,
            len(spool),
            {
                field: Extent(terms.passages, int(terms.cf.sum()))
                for field, terms in spool.fields.items()
            },
            terms_of(proper),
            vectors.dimension if vectors else 0,
            knn if vectors or citations else "",
            citations.dimension if citations else 0,
            _parts(citations, parallels),
        )
        with at_work_on(proper):
            try:
                delete_stale(server, name, proper)
                _create(server, proper, meta, shards, replicas)
                delete_stale(server, name, proper)  # by age too: the server's time is known now
                documents = passage_documents(spool, vectors, citations, workers, parallels)
                _fill(server, proper, spool, progress(documents, "Indexing", len(spool)))
                _check_counts(server, proper, spool)
                make_current(server, name, proper)
            except BaseException:
                give_up(server, name, proper)
                raise
    return meta.passages


def _parts(citations: CitationVectors | None, parallels: Parallels | None) -> frozenset[Part]:
    there: dict[Part, bool] = {
        "ngrams": True,
        "expansion": citations is not None,
        "parallels": parallels is not None,
    }
    return frozenset(part for part, is_there in there.items() if is_there)


def _create(server: Server, proper: str, meta: Meta, shards: int, replicas: int) -> None:
    create_index(server, terms_of(proper), index_body("terms", 1, replicas))
    create_index(server, proper, passages_body(meta, shards, replicas))


def _fill(server: Server, proper: str, spool: Spool, documents: Iterable[Document]) -> None:
    index_documents(server, proper, documents)
    index_documents(server, terms_of(proper), term_documents(spool.fields))
    server.request("POST", f"/{proper},{terms_of(proper)}/_refresh")


def _check_counts(server: Server, proper: str, spool: Spool) -> None:
    terms = sum(len(field.numbers) for field in spool.fields.values())
    for index, expected in ((proper, len(spool)), (terms_of(proper), terms)):
        counted = count_documents(server, index)
        if counted != expected:
            raise ServerRefusedError(
                f"{server.url} holds {counted} of {expected} documents of {index}; the new "
                "index was discarded, try again"
            )
