"""Building an index on a server: it is complete, or the server is left as it was.

`build_es_index` goes through the passages twice. The first pass writes them to a temporary file and
counts words; the second makes the documents, whose weights depend on the counts of all passages.
"""

import contextlib
import json
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from allusion_es.core.errors import AllusionError, ServerRefusedError, UsageError
from allusion_es.core.files import data_dir
from allusion_es.core.progress import Progress, silent
from allusion_es.core.temporary_files import TemporaryFiles
from allusion_es.es.alias_swap import (
    at_work_on,
    delete_stale,
    discard,
    make_current,
    points_to,
)
from allusion_es.es.bulk import count_documents, index_documents
from allusion_es.es.catalogue import create_index, find_current, new_concrete_name, terms_of
from allusion_es.es.connection import Server
from allusion_es.es.document_builder import passage_documents, term_documents
from allusion_es.es.documents import describe
from allusion_es.es.index import ElasticsearchIndex
from allusion_es.es.meta import CITATION_VECTOR, ENCODER_VECTOR, EXPANSION, Extent, Meta
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.vectors.types import WordVectors
from allusion_es.retrieval.analysed import AnalysedPassage, Unanalysed, reread
from allusion_es.retrieval.byte_vectors import common_length
from allusion_es.retrieval.encoder_vectors import (
    EncodedPassages,
    PassageVectors,
    spooled_vectors,
)
from allusion_es.retrieval.index import Capability, IndexSettings, check_name
from allusion_es.retrieval.parallels import Parallels, spooled_parallels
from allusion_es.retrieval.spool import Spool
from allusion_es.retrieval.types import FIELDS

Knn = Literal["flat", "hnsw", "int8_hnsw"]
"""How a server searches vectors."""

_SEGMENTS = 5
"""Most segments of a new index in each shard. Fewer take long to make, and gain little."""

# Folders lie side by side in the checkout and where they are installed.
_MAPPINGS = Path(__file__).parents[1] / "mappings"


def index_body(kind: Literal["passages", "terms"], shards: int, replicas: int) -> dict[str, Any]:
    """Settings and mappings of a new index, from `mappings/KIND.json`."""
    body: dict[str, Any] = json.loads((_MAPPINGS / f"{kind}.json").read_text(encoding="utf-8"))
    body["settings"]["index"] |= {"number_of_shards": shards, "number_of_replicas": replicas}
    return body


def passages_body(meta: Meta, shards: int, replicas: int) -> dict[str, Any]:
    """Settings and mappings of a new index of passages, without the fields that it lacks.

    Fields of vectors are left out of an index without vectors, since their length is not known.
    """
    body = index_body("passages", shards, replicas)
    similarity = body["settings"]["index"]["similarity"]["words"]
    similarity |= {"k1": meta.settings.k1, "b": meta.settings.b}
    properties = body["mappings"]["properties"]
    for field in FIELDS:
        if meta.dimension:
            options = {"dims": meta.dimension, "index_options": {"type": meta.knn}}
            properties[f"{field}_vector"] |= options
        else:
            del properties[f"{field}_vector"]
    # `int8_hnsw` makes bytes of other numbers; what is bytes already is searched by `hnsw`.
    of_bytes = {"index_options": {"type": meta.knn.removeprefix("int8_")}}
    if meta.citation_dimension:
        properties[CITATION_VECTOR] |= {"dims": meta.citation_dimension, **of_bytes}
    else:
        del properties[CITATION_VECTOR]
    if meta.settings.encoder:
        options = {"dims": meta.settings.encoder.dimension, "index_options": {"type": meta.knn}}
        if meta.settings.encoder.store == "int8":
            options |= {"element_type": "byte", **of_bytes}
        properties[ENCODER_VECTOR] |= options
    else:
        del properties[ENCODER_VECTOR]
    if "expansion" not in meta.capabilities:
        del properties[EXPANSION]
    body["mappings"]["_meta"] = meta.to_json()
    return body


def build_es_index(
    server: Server,
    name: str,
    passages: Iterable[AnalysedPassage] | Unanalysed,
    settings: IndexSettings,
    vectors: WordVectors | None = None,
    citations: CitationVectors | None = None,
    encoded: PassageVectors | None = None,
    *,
    shards: int = 1,
    replicas: int = 0,
    knn: Knn = "flat",
    progress: Progress = silent,
    workers: int = 1,
) -> int:
    """Build an index, which replaces one of the same name once it is complete.

    If anything fails or the program is interrupted, the server is left as it was.

    Args:
        server: The server.
        name: The name of the index: lower-case letters, digits, `-` and `_`.
        passages: In canonical order; read once, and kept in a temporary file meanwhile.
        settings: How the passages were analysed; saved with the index.
        vectors: Word vectors for nearest neighbours, or None.
        citations: Citation vectors, which also give the expansions; or None.
        encoded: The encoder vectors of passages, or None.
        shards: Number of shards.
        replicas: Number of copies of each shard besides the first.
        knn: How vectors are searched: `flat` compares all of them and is exact, `hnsw` is
            faster in collections of millions, and approximate; `int8_hnsw` also keeps a byte a
            number in memory.
        progress: Told of passages that are encoded, then of those that are indexed.
        workers: Number of processes that make documents; the index does not depend on it.

    Returns:
        The number of passages in the index.

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
        concrete = new_concrete_name(name)
        parallels = spooled_parallels(spool)
        rows = spooled_vectors(files, spool, encoded, _text_of, progress) if encoded else None
        meta = Meta(
            name,
            settings,
            len(spool),
            {
                field: Extent(terms.passages, int(terms.cf.sum()))
                for field, terms in spool.fields.items()
            },
            terms_of(concrete),
            vectors.dimension if vectors else 0,
            knn if vectors or citations or encoded else "",
            citations.dimension if citations else 0,
            _parts(citations, parallels),
            common_length(citations.dimension) if citations else 0,
        )
        with at_work_on(concrete):
            try:
                # Before: a full server may have room only without what killed builds left there.
                delete_stale(server, name, concrete)
                create_index(server, terms_of(concrete), index_body("terms", 1, replicas))
                create_index(server, concrete, passages_body(meta, shards, replicas))
                # After: the new index tells the server's time, so ages can be known.
                delete_stale(server, name, concrete)
                documents = passage_documents(spool, vectors, citations, workers, parallels, rows)
                index_documents(server, concrete, progress(documents, "Indexing", len(spool)))
                index_documents(server, terms_of(concrete), term_documents(spool.fields))
                _merge(server, concrete)
                server.request("POST", f"/{concrete},{terms_of(concrete)}/_refresh")
                _check_counts(server, concrete, spool)
                make_current(server, name, concrete)
            except BaseException:
                discard(
                    server,
                    [concrete, terms_of(concrete)],
                    lambda: points_to(server, name, concrete),
                )
                raise
    return meta.passages


def _text_of(record: bytes) -> str:
    return str(json.loads(record)["text"])


def _parts(citations: CitationVectors | None, parallels: Parallels | None) -> frozenset[Capability]:
    there: dict[Capability, bool] = {
        "ngrams": True,
        "expansion": citations is not None,
        "parallels": parallels is not None,
    }
    return frozenset(part for part, is_there in there.items() if is_there)


def _merge(server: Server, concrete: str) -> None:
    """Have the server join the many small segments of a new index, which a query asks one by one.

    The Vulgate's has no more than are wanted. Of 400,000 passages, 37 segments became 5 in four
    seconds, and the searches of a query took 70 ms instead of 125.
    """
    # The index is whole without it, and a server goes on where the answer takes too long.
    with contextlib.suppress(AllusionError):
        server.request("POST", f"/{concrete}/_forcemerge?max_num_segments={_SEGMENTS}")


def _check_counts(server: Server, concrete: str, spool: Spool) -> None:
    """Raise an error unless the server holds every document, after the last refresh."""
    terms = sum(len(field.numbers) for field in spool.fields.values())
    for index, expected in ((concrete, len(spool)), (terms_of(concrete), terms)):
        counted = count_documents(server, index)
        if counted != expected:
            raise ServerRefusedError(
                f"{server.url} holds {counted} of {expected} documents of {index}; the new "
                "index was discarded, try again"
            )


def give_learned(
    server: Server,
    index: ElasticsearchIndex,
    citations: CitationVectors | None,
    ranker: str = "",
    progress: Progress = silent,
    folder: Path | None = None,
) -> None:
    """Build an index again with other citation vectors and another ranker; the rest stays the same.

    The words are read from the index itself, so its source texts are not needed. The index stays in
    use until the new one is complete.

    Args:
        server: The server.
        index: The index.
        citations: The new citation vectors, or None for an index without.
        ranker: Name of a learned ranker, or "" for one that comes along.
        progress: Told of the passages that are indexed.
        folder: The data folder, where encoder vectors may be kept: a server does not return them.

    Raises:
        SettingsMismatchError: The vectors do not fit the index's analysis.
        AllusionError: As `build_es_index` raises; then the index is as it was.
    """
    if citations is not None:
        citations.check(index.settings.analysis)
    found = find_current(server, index.name)
    build_es_index(
        server,
        index.name,
        reread(index),
        replace(index.settings, citations=citations.name if citations else "", ranker=ranker),
        index.vectors,
        citations,
        EncodedPassages(index.encoder, data_dir(folder)) if index.encoder else None,
        shards=found.setting("number_of_shards", 1),
        replicas=found.setting("number_of_replicas", 0),
        knn=_knn_of(found.meta()),
        progress=progress,
    )


def _knn_of(meta: Meta) -> Knn:
    for knn in get_args(Knn):
        if knn == meta.knn:
            return cast(Knn, knn)
    return "flat"
