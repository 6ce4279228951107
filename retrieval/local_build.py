"""Building the in-process index: passages in, one file out."""

import json
from array import array
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from allusion_es.core.arrays import save_arrays
from allusion_es.core.progress import Progress, silent
from allusion_es.core.spilled import TemporaryFiles
from allusion_es.corpora.passage import Passage
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.language.vectors import WordVectors
from allusion_es.retrieval.analysed import AnalysedPassage, Unanalysed
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.local_gather import Arrays, blob, word_arrays
from allusion_es.retrieval.parallels import GROUPS, MEMBERS, spooled_parallels
from allusion_es.retrieval.spool import Spool

FORMAT = 3
"""Raised whenever the saved index changes in a way that older programs cannot read."""

READABLE = (1, 2, FORMAT)
"""Formats that this program reads; 1 has no citation vectors, 2 no n-grams and parallels."""

FACETS = ("book", "testament", "work")
"""The properties of passages that searches can be restricted by."""

_RECORD = [str, str, str, str, int, int, int, str, str]
"""What a record consists of; see `encode_record`."""


def build_local(
    path: Path,
    passages: Iterable[AnalysedPassage] | Unanalysed,
    settings: IndexSettings,
    vectors: WordVectors | None = None,
    citations: CitationVectors | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> int:
    """Build an index and write it to `path`, whole or not at all.

    Memory holds the ids, the distinct words and some thousands of passages; all else waits in
    temporary files beside `path`, which need about twice as much room as the index.

    Args:
        path: The file; an index that is there is replaced once the new one is complete.
        passages: In canonical order.
        settings: How the passages were analysed; saved with the index.
        vectors: Word vectors for nearest neighbours and rerankers, or None.
        citations: What gives each passage a vector of its own, or None.
        workers: Processes that share the work; however many, the index is the same.
        progress: Told of the pieces of the second half of the work.

    Returns:
        How many passages the index holds.

    Raises:
        InputError: Two passages have the same id, or there is no passage.
        StorageError: The file cannot be written.
    """
    with TemporaryFiles(path.parent) as files:
        spool = Spool(files)
        spool.fill(passages, _describe, workers)
        facets, brought = _passage_arrays(files, spool)
        computed = word_arrays(files, spool, vectors, citations, workers, progress)
        if (known := spooled_parallels(spool)) is not None:
            computed |= {MEMBERS: known.passages, GROUPS: known.groups}
        meta = {
            "format": FORMAT,
            "settings": settings.to_json(),
            "passages": len(spool),
            "facets": {name: list(values) for name, values in facets.items()},
        }
        save_arrays(path, meta, {"words": computed.pop("words")} | brought | computed)
    return len(spool)


def _passage_arrays(
    files: TemporaryFiles, spool: Spool
) -> tuple[dict[str, dict[str, int]], Arrays]:
    """The values of each facet, and the arrays of what passages bring themselves."""
    facets: dict[str, dict[str, int]] = {name: {} for name in FACETS}
    codes = {name: files.array(np.int32) for name in FACETS}
    records = files.array(np.uint8)
    sizes, lengths = array("q", [0]), array("q", [0])
    for batch in spool.read():
        records.append(np.frombuffer(b"".join(batch.records), np.uint8))
        sizes.extend(map(len, batch.records))
        lengths.extend(batch.fields["token"].lengths.tolist())
        passages = [decode_record(record) for record in batch.records]
        for name, known in facets.items():
            values = [str(getattr(passage, name)) for passage in passages]
            codes[name].append(np.array([known.setdefault(v, len(known)) for v in values]))
    ids = list(spool.ids)
    id_order = np.empty(len(ids), dtype=np.int32)
    id_order[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids), dtype=np.int32)
    arrays: Arrays = {
        "ids": blob(ids),
        "id_order": id_order,
        "offsets": np.cumsum(lengths, dtype=np.int64),
        "records": records,
        "record_offsets": np.cumsum(sizes, dtype=np.int64),
    }
    return facets, arrays | {f"facet.{name}": each for name, each in codes.items()}


def _describe(analysed: AnalysedPassage) -> bytes:
    return encode_record(analysed.passage)


def encode_record(passage: Passage) -> bytes:
    """All of a passage but its words, for `decode_record`."""
    return json.dumps(
        [
            passage.id,
            passage.text,
            passage.work,
            passage.book,
            passage.chapter,
            passage.verse,
            passage.order,
            passage.testament,
            passage.reference,
        ],
        ensure_ascii=False,
    ).encode()


def decode_record(record: bytes) -> Passage:
    """The passage that `encode_record` wrote.

    Raises:
        ValueError, TypeError: It is something else.
    """
    values = json.loads(record)
    if [type(value) for value in values] != _RECORD:
        raise TypeError("record")
    # JSON can say half a character, which nothing could print.
    "".join(value for value in values if isinstance(value, str)).encode()
    return Passage(*values)
