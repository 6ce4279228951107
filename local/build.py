"""Building the in-process index: passages in, one file out."""

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, Floats, save_arrays
from allusion_es.core.processes import in_order
from allusion_es.core.progress import Progress, silent
from allusion_es.core.temporary_files import SpilledArray, TemporaryFiles
from allusion_es.corpora.passage import Passage
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.vectors.types import WordVectors
from allusion_es.local.expansion import expansion_arrays
from allusion_es.local.grams import WordGrams, gram_arrays
from allusion_es.retrieval.analysed import AnalysedPassage, Unanalysed
from allusion_es.retrieval.expansion import CitedPassages, Citing, expansion_words, text_words
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.parallels import GROUPS, MEMBERS, spooled_parallels
from allusion_es.retrieval.posting_lists import PostingListBuilder
from allusion_es.retrieval.spool import ADVICE, FieldTerms, Spool, SpooledWords
from allusion_es.retrieval.types import (
    FIELDS,
    Field,
)
from allusion_es.retrieval.weighting import idf

# What the passages of an in-process index have, computed piece by piece, in any process.


Entries = tuple[Array, Array, Array]
"""What passages have, as `Inversion.add` takes it: how many, of what, and values."""


@dataclass(frozen=True, slots=True)
class PassageBatch:
    """What n passages have.

    Attributes:
        counts: How often each of them has its words.
        norms: The lengths of their TfIdf vectors, shape (n,).
        grams: How often each of them has its grams.
        gram_lengths: How many grams each has, shape (n,).
        vectors: Their citation vectors, shape (n, dimension), or None.
        expanded: Their expansions, or None.
    """

    counts: dict[Field, Entries]
    norms: dict[Field, Floats]
    grams: Entries
    gram_lengths: NDArray[np.int32]
    vectors: NDArray[np.int8] | None
    expanded: Entries | None


@dataclass(frozen=True, slots=True)
class BuildStatistics:
    """What is known of the whole collection once all its words are.

    Attributes:
        words: All words.
        idfs: The paper's idf of each word in each field.
        grams: The grams of all words.
        citing: For citation vectors and expansions, or None.
    """

    words: Sequence[str]
    idfs: dict[Field, Floats]
    grams: WordGrams
    citing: Citing | None


class PassageBatchBuilder:
    """Makes pieces.

    Args:
        known: Of the collection.
    """

    def __init__(self, known: BuildStatistics) -> None:
        self._idfs = known.idfs
        self._grams = known.grams
        self._words = {field: known.words for field in FIELDS}
        self._cited = CitedPassages(known.citing) if known.citing else None

    def __call__(
        self, passages: tuple[Sequence[str], Mapping[Field, SpooledWords]]
    ) -> PassageBatch:
        """What passages have of which the ids and the words are given."""
        ids, words = passages
        counts, norms = {}, {}
        for field in FIELDS:
            counts[field], norms[field] = _weighed(words[field], self._idfs[field])
        tokens = words["token"]
        grams = self._grams.counts(tokens.codes, tokens.lengths)
        vectors = expanded = None
        if self._cited:
            vectors, found = self._cited.of(ids, text_words(self._words, words))
            lengths = np.diff(found.offsets)
            expanded = (lengths, found.codes.astype(np.int32), found.bits)
        return PassageBatch(
            counts,
            norms,
            (np.diff(grams.indptr), grams.indices, grams.data),
            np.asarray(grams.sum(axis=1), dtype=np.int32),
            vectors,
            expanded,
        )


def _weighed(words: SpooledWords, idfs: Floats) -> tuple[Entries, Floats]:
    """How often passages have their words, and the lengths of their TfIdf vectors."""
    size = len(words.lengths)
    owners, codes, counts = words.counts(max(len(idfs), 1))
    squares = (counts * idfs[codes]) ** 2
    norms = np.sqrt(np.bincount(owners, weights=squares, minlength=size))
    lengths = np.bincount(owners, minlength=size)
    return (lengths, codes.astype(np.int32), counts.astype(np.int32)), norms


# Gathering the arrays of the in-process index from what its passages have, most of it on disk.


Arrays = dict[str, Array | SpilledArray]
"""Arrays of an index by their names, each in memory or on disk."""

_WORDS = 10_000

Coded = tuple[Sequence[str], Mapping[Field, SpooledWords]]
"""Ids of some passages, and their words as places in all words."""


def word_arrays(
    files: TemporaryFiles,
    spool: Spool,
    vectors: WordVectors | None,
    citations: CitationVectors | None,
    workers: int,
    progress: Progress,
) -> Arrays:
    """The words in order of alphabet, and the arrays that are computed from them.

    Args:
        files: Where arrays lie until they are saved.
        spool: The passages.
        vectors: Word vectors, or None.
        citations: Citation vectors, or None.
        workers: Processes that share the work.
        progress: Told of the batches that are done.
    """
    words = sorted({word for terms in spool.fields.values() for word in terms.numbers})
    numbers = {word: number for number, word in enumerate(words)}
    table = _word_vectors(files, words, vectors) if vectors else None
    fields = {
        name: _FieldArrays(files, name, spool.fields[name], numbers, table) for name in FIELDS
    }
    grams = _Grams(files, WordGrams.of(words, fields["token"].df > 0))
    citing = Citing.of(spool, citations, workers) if citations else None
    learned = _LearnedArrays(files, citations, citing) if citations and citing else None
    idfs = {name: field.idfs for name, field in fields.items()}
    start = partial(PassageBatchBuilder, BuildStatistics(words, idfs, grams.of_words, citing))
    pieces = in_order(start, _coded(spool, fields), workers, ADVICE)
    for (_, coded), piece in progress(pieces, "Weighing", spool.batches):
        for name, field in fields.items():
            field.add(coded[name], piece)
        grams.add(piece)
        if learned:
            learned.add(piece)
    arrays: Arrays = {"words": blob(words)}
    if table is not None:
        arrays["word_vectors"] = table
    arrays |= grams.arrays()
    for field in fields.values():
        arrays |= field.arrays()
    return arrays | (learned.arrays() if learned else {})


def _word_vectors(
    files: TemporaryFiles, words: Sequence[str], vectors: WordVectors
) -> SpilledArray:
    table = files.array(np.float32, vectors.dimension)
    for start in range(0, len(words), _WORDS):
        table.append(vectors.vectors(words[start : start + _WORDS]))
    return table


def _coded(spool: Spool, fields: Mapping[Field, "_FieldArrays"]) -> Iterator[Coded]:
    for batch in spool.read():
        yield batch.ids, {name: field.coded(batch.fields[name]) for name, field in fields.items()}


class _FieldArrays:
    """The arrays of one field."""

    def __init__(
        self,
        files: TemporaryFiles,
        name: Field,
        terms: FieldTerms,
        numbers: Mapping[str, int],
        table: SpilledArray | None,
    ) -> None:
        self._name = name
        self._places = np.array([numbers[word] for word in terms.numbers], dtype=np.int64)
        self.df, self._cf = np.zeros((2, len(numbers)), dtype=np.int64)
        self.df[self._places], self._cf[self._places] = terms.df, terms.cf
        self.idfs = idf(self.df, terms.passages)
        self.codes = files.array(np.int32)
        self._norms = files.array(np.float64)
        self._counts = PostingListBuilder(files, len(numbers), np.int32)
        self._table = table.mapped() if table is not None else None
        self._means = files.array(np.float32, table.shape[1]) if table is not None else None

    def coded(self, words: SpooledWords) -> SpooledWords:
        """Words in the numbering of the index."""
        return SpooledWords(self._places[words.codes], words.lengths)

    def add(self, words: SpooledWords, piece: PassageBatch) -> None:
        """Take the next passages."""
        self.codes.append(words.codes)
        self._norms.append(piece.norms[self._name])
        self._counts.add(*piece.counts[self._name])
        if self._means is not None and self._table is not None:
            self._means.append(_mean_vectors(words, self._table))

    def arrays(self) -> Arrays:
        """All of them."""
        found = self._counts.postings(np.int32, np.float32)
        arrays: Arrays = {
            "codes": self.codes,
            "posting_offsets": found.offsets,
            "posting_passages": found.passages,
            "posting_counts": found.values,
            "cf": self._cf,
            "norms": self._norms,
        }
        if self._means is not None:
            arrays["mean_vectors"] = self._means
        return {f"{self._name}.{part}": array for part, array in arrays.items()}


class _Grams:
    """The arrays of grams."""

    def __init__(self, files: TemporaryFiles, of_words: WordGrams) -> None:
        self.of_words = of_words
        self._counts = PostingListBuilder(files, len(of_words.keys), np.int32)
        self._lengths = files.array(np.int32)

    def add(self, piece: PassageBatch) -> None:
        """Take the next passages."""
        self._counts.add(*piece.grams)
        self._lengths.append(piece.gram_lengths)

    def arrays(self) -> Arrays:
        """All of them."""
        return gram_arrays(self.of_words, self._counts, self._lengths)


class _LearnedArrays:
    """The arrays of citation vectors and expansions."""

    def __init__(self, files: TemporaryFiles, citations: CitationVectors, citing: Citing) -> None:
        self._words = expansion_words(citations, citing.cited, citing.counts)
        self._vectors = files.array(np.int8, citations.dimension)
        self._entries = PostingListBuilder(files, len(self._words), np.uint16)

    def add(self, piece: PassageBatch) -> None:
        """Take the next passages."""
        if piece.vectors is not None and piece.expanded is not None:
            self._vectors.append(piece.vectors)
            self._entries.add(*piece.expanded)

    def arrays(self) -> Arrays:
        """All of them."""
        expanded = expansion_arrays(self._words, self._entries.postings())
        return {"citation_vectors": self._vectors} | expanded


def _mean_vectors(words: SpooledWords, table: NDArray[np.float32]) -> NDArray[np.float32]:
    """Unit-length mean of the word vectors of each passage, zeros where it has no words."""
    means = np.zeros((len(words.lengths), table.shape[1]), dtype=np.float32)
    starts = np.cumsum(words.lengths) - words.lengths
    for number in range(int(words.lengths.max(initial=0))):
        rows = np.flatnonzero(words.lengths > number)
        means[rows] += table[words.codes[starts[rows] + number]]
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    np.divide(means, lengths, out=means, where=lengths > 0)
    return means


def blob(texts: Iterable[str]) -> NDArray[np.uint8]:
    """Texts without line breaks as bytes, one a line."""
    return np.frombuffer("\n".join(texts).encode(), np.uint8)


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
