"""Building an index on a server again, with other citation vectors."""

from dataclasses import replace

from allusion_es.core.progress import Progress, silent
from allusion_es.es.build import build_es_index
from allusion_es.es.catalogue import find_current
from allusion_es.es.connection import Server
from allusion_es.es.index import ElasticsearchIndex
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.retrieval.analysed import reread


def give_citations(
    server: Server,
    index: ElasticsearchIndex,
    citations: CitationVectors | None,
    progress: Progress = silent,
) -> None:
    """Build an index again with other citation vectors, or none; all else stays as it was.

    Its words are those that it has. It stays in use until the new one is complete.

    Args:
        server: Where it is.
        index: The index.
        citations: The vectors.
        progress: Told of the passages that are indexed.

    Raises:
        SettingsMismatchError: The vectors do not fit the index's analysis.
        AllusionError: As `build_es_index`; the index that was there is there still.
    """
    if citations is not None:
        citations.check(index.settings.analysis)
    found = find_current(server, index.name)
    build_es_index(
        server,
        index.name,
        reread(index),
        replace(index.settings, citations=citations.name if citations else ""),
        index.vectors,
        citations,
        shards=found.setting("number_of_shards", 1),
        replicas=found.setting("number_of_replicas", 0),
        knn="hnsw" if found.meta().knn == "hnsw" else "flat",
        progress=progress,
    )
