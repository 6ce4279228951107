"""Building the index in this process: passages in, one file out.

`build_local` reads from top to bottom: the passages are spooled to disk, which gives the
frequencies of the whole collection; then they are read back once, and each array grows batch by
batch, most of them on disk; then all arrays are saved in one file.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, Floats, lines_array, save_arrays
from allusion_es.core.processes import in_order
from allusion_es.core.progress import Progress, silent
from allusion_es.core.temporary_files import SpilledArray, TemporaryFiles
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.citations.word_parts import searched_gram_keys
from allusion_es.language.vectors.types import WordVectors
from allusion_es.local.format import (
    ENCODER_VECTORS,
    FACETS,
    FORMAT,
    VECTOR_LENGTHS,
    decode_record,
    encode_record,
)
from allusion_es.local.mean_vectors import lengths_of_sums
from allusion_es.retrieval.analysed import AnalysedPassage, Unanalysed
from allusion_es.retrieval.byte_vectors import common_length
from allusion_es.retrieval.encoder_vectors import PassageVectors, spooled_vectors
from allusion_es.retrieval.expansion import (
    ExpansionInputs,
    PassageExpander,
    expansion_words,
    text_words,
)
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.parallels import GROUPS, MEMBERS, parallel_finder
from allusion_es.retrieval.posting_lists import PostingListBuilder, Postings
from allusion_es.retrieval.spool import ADVICE, FieldTerms, Spool, SpooledBatch, SpooledWords
from allusion_es.retrieval.types import FIELDS, Field
from allusion_es.retrieval.weighting import idf

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Arrays = dict[str, Array | SpilledArray]
"""Arrays of an index by their names, each in memory or on disk."""

Entries = tuple[Array, Array, Array]
"""Entries of passages, as `PostingListBuilder.add` takes them: lengths, words, values."""

Coded = tuple[Sequence[str], Mapping[Field, SpooledWords]]
"""Ids of some passages, and their words as places in all words of the index."""

_WORDS_TOGETHER = 10_000
"""Words whose vectors are asked for at once: 4 MB of 100 dimensions."""

_MOST_IN_BYTE = 255


def build_local(
    path: Path,
    passages: Iterable[AnalysedPassage] | Unanalysed,
    settings: IndexSettings,
    vectors: WordVectors | None = None,
    citations: CitationVectors | None = None,
    encoded: PassageVectors | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> int:
    """Build an index and write it to `path`, whole or not at all.

    Memory holds the ids, the distinct words and some thousands of passages (and the lemmas of all,
    where parallel passages are looked for); all else waits in temporary files beside `path`, which
    need about twice as much room as the index.

    Args:
        path: The file; an index that is there is replaced once the new one is complete.
        passages: In canonical order.
        settings: How the passages were analysed; saved with the index.
        vectors: Word vectors for nearest neighbours and rerankers, or None.
        citations: What gives each passage a vector of its own, or None.
        encoded: The encoder vectors of passages, or None.
        workers: Processes that share the work; however many, the index is the same.
        progress: Told of passages that are encoded, then of the batches of the second half of the
            work.

    Returns:
        How many passages the index holds.

    Raises:
        InputError: Two passages have the same id, or there is no passage.
        StorageError: The file cannot be written.
    """
    with TemporaryFiles(path.parent) as files:
        spool = Spool(files, FACETS)
        spool.fill(passages, _describe, workers)
        arrays = _arrays(files, spool, vectors, citations, workers, progress)
        if encoded:
            arrays[ENCODER_VECTORS] = spooled_vectors(files, spool, encoded, _text_of, progress)
        meta = {
            "format": FORMAT,
            "settings": settings.to_json(),
            "passages": len(spool),
            "facets": {name: list(values) for name, values in spool.facets.items()},
            "citation_length": common_length(citations.dimension) if citations else 0,
        }
        save_arrays(path, meta, arrays)
    return len(spool)


def _describe(analysed: AnalysedPassage) -> bytes:
    return encode_record(analysed.passage)


def _text_of(record: bytes) -> str:
    return decode_record(record).text


def _arrays(
    files: TemporaryFiles,
    spool: Spool,
    vectors: WordVectors | None,
    citations: CitationVectors | None,
    workers: int,
    progress: Progress,
) -> Arrays:
    """All arrays of the index of spooled passages, which are read once."""
    words = sorted({word for terms in spool.fields.values() for word in terms.numbers})
    numbers = {word: number for number, word in enumerate(words)}
    table = _word_vectors(files, words, vectors) if vectors else None
    passages = _PassageArrays(files, spool)
    fields = {
        name: _FieldArrays(files, name, spool.fields[name], numbers, table) for name in FIELDS
    }
    ngrams = _NgramArrays(files, WordNgrams.of(words, fields["token"].df > 0))
    inputs = ExpansionInputs.of(spool, citations, workers) if citations else None
    learned = _LearnedArrays(files, citations, inputs) if citations and inputs else None
    finder = parallel_finder(spool)

    def coded() -> Iterator[Coded]:
        # Arrays that need no weights are made on the way, so that the disk is read only once.
        for batch in spool.read():
            passages.add(batch)
            if finder:
                finder.add(batch.fields["lemma"])
            yield batch.ids, {name: fields[name].coded(batch.fields[name]) for name in FIELDS}

    idfs = {name: field.idfs for name, field in fields.items()}
    statistics = BuildStatistics(words, idfs, ngrams.of_words, inputs)
    weighed = in_order(partial(BatchWeigher, statistics), coded(), workers, ADVICE)
    for (_, texts), batch in progress(weighed, "Weighing", spool.batches):
        for name, field in fields.items():
            field.add(texts[name], batch)
        ngrams.add(batch)
        if learned:
            learned.add(batch)

    arrays: Arrays = {"words": lines_array(words)}
    arrays |= passages.arrays()
    if table is not None:
        arrays["word_vectors"] = table
    arrays |= ngrams.arrays()
    for field in fields.values():
        arrays |= field.arrays()
    if learned:
        arrays |= learned.arrays()
    if finder:
        found = finder.parallels()
        arrays |= {MEMBERS: found.passages, GROUPS: found.groups}
    return arrays


def _word_vectors(
    files: TemporaryFiles, words: Sequence[str], vectors: WordVectors
) -> SpilledArray:
    table = files.array(np.float32, vectors.dimension)
    for start in range(0, len(words), _WORDS_TOGETHER):
        table.append(vectors.vectors(words[start : start + _WORDS_TOGETHER]))
    return table


# Weights of a batch of passages, computed in any process: only small things are sent there.


@dataclass(frozen=True, slots=True)
class BuildStatistics:
    """Statistics of the whole collection that the weights of a passage depend on.

    Attributes:
        words: All words.
        idfs: The paper's idf of each word in each field.
        ngrams: The n-grams of all words.
        inputs: For citation vectors and expansions, or None.
    """

    words: Sequence[str]
    idfs: dict[Field, Floats]
    ngrams: "WordNgrams"
    inputs: ExpansionInputs | None


@dataclass(frozen=True, slots=True)
class WeighedBatch:
    """The entries and weights of n passages.

    Attributes:
        counts: How often each passage has its words.
        norms: The lengths of the passages' TfIdf vectors, shape (n,).
        ngrams: How often each passage has its n-grams.
        ngram_lengths: How many n-grams each passage has, shape (n,).
        vectors: The passages' citation vectors, shape (n, dimension), or None.
        expanded: The passages' expansions, or None.
    """

    counts: dict[Field, Entries]
    norms: dict[Field, Floats]
    ngrams: Entries
    ngram_lengths: NDArray[np.int32]
    vectors: NDArray[np.int8] | None
    expanded: Entries | None


class BatchWeigher:
    """Weighs batches of passages.

    Args:
        statistics: Of the collection.
    """

    def __init__(self, statistics: BuildStatistics) -> None:
        self._idfs = statistics.idfs
        self._ngrams = statistics.ngrams
        self._words = {field: statistics.words for field in FIELDS}
        self._expander = PassageExpander(statistics.inputs) if statistics.inputs else None

    def __call__(self, coded: Coded) -> WeighedBatch:
        """The entries and weights of some passages."""
        ids, words = coded
        counts, norms = {}, {}
        for field in FIELDS:
            counts[field], norms[field] = _weighed(words[field], self._idfs[field])
        tokens = words["token"]
        ngrams = self._ngrams.counts(tokens.codes, tokens.lengths)
        vectors = expanded = None
        if self._expander:
            vectors, found = self._expander.expand(ids, text_words(self._words, words))
            lengths = np.diff(found.offsets)
            expanded = (lengths, found.codes.astype(np.int32), found.bits)
        return WeighedBatch(
            counts,
            norms,
            (np.diff(ngrams.indptr), ngrams.indices, ngrams.data),
            np.asarray(ngrams.sum(axis=1), dtype=np.int32),
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


@dataclass(frozen=True, slots=True)
class WordNgrams:
    """The n-grams of all tokens of an index, as hashes, so that no text is read when it opens.

    Attributes:
        keys: The hashes of all n-grams, ascending.
        matrix: How often each word has each n-gram, shape (words, len(keys)).
    """

    keys: NDArray[np.int64]
    matrix: "csr_array"

    @staticmethod
    def of(words: Sequence[str], tokens: NDArray[np.bool_]) -> "WordNgrams":
        """The n-grams of those of `words` that are tokens, shape (len(words),)."""
        from scipy.sparse import csr_array  # takes long to import

        places = np.flatnonzero(tokens)
        found, sizes = searched_gram_keys([words[place] for place in places.tolist()])
        keys, columns = np.unique(found, return_inverse=True)
        lengths = np.zeros(len(words), dtype=np.int64)
        lengths[places] = sizes
        ends = np.concatenate(([0], np.cumsum(lengths)))
        ones = np.ones(len(columns), dtype=np.int32)
        shape = (len(words), len(keys))
        return WordNgrams(keys, csr_array((ones, columns, ends), shape=shape))

    def counts(self, codes: NDArray[np.int64], lengths: NDArray[np.int64]) -> "csr_array":
        """How often each passage has each n-gram, shape (passages, len(keys)).

        Args:
            codes: The tokens of all passages in order, as places in the words.
            lengths: How many of them each passage has.
        """
        from scipy.sparse import csr_array

        ends = np.concatenate(([0], np.cumsum(lengths)))
        shape = (len(lengths), self.matrix.shape[0])
        ones = np.ones(len(codes), dtype=np.int32)
        return csr_array((ones, codes, ends), shape=shape) @ self.matrix


# Arrays that grow batch by batch.


class _PassageArrays:
    """The arrays of what passages bring themselves: ids, records, lengths and facets."""

    def __init__(self, files: TemporaryFiles, spool: Spool) -> None:
        self._ids = spool.ids
        self._records = files.array(np.uint8)
        self._facets = {name: files.array(np.int32) for name in spool.facets}
        self._sizes, self._lengths = array("q", [0]), array("q", [0])

    def add(self, batch: SpooledBatch) -> None:
        """Take the next passages."""
        self._records.append(np.frombuffer(b"".join(batch.records), np.uint8))
        self._sizes.extend(map(len, batch.records))
        self._lengths.extend(batch.fields["token"].lengths.tolist())
        for name, codes in batch.facets.items():
            self._facets[name].append(codes)

    def arrays(self) -> Arrays:
        """All of these arrays, by name."""
        ids = list(self._ids)
        # The place of each id in their order: ids decide between equal scores.
        id_order = np.empty(len(ids), dtype=np.int32)
        id_order[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids), dtype=np.int32)
        arrays: Arrays = {
            "ids": lines_array(ids),
            "id_order": id_order,
            "offsets": np.cumsum(self._lengths, dtype=np.int64),
            "records": self._records,
            "record_offsets": np.cumsum(self._sizes, dtype=np.int64),
        }
        return arrays | {f"facet.{name}": codes for name, codes in self._facets.items()}


class _FieldArrays:
    """The arrays of one field.

    Args:
        files: Where they lie.
        name: The field.
        terms: Its statistics.
        numbers: The place of each word among all words of the index.
        table: The vector of each word of the index, or None.
    """

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
        self._codes = files.array(np.int32)
        self._norms = files.array(np.float64)
        self._counts = PostingListBuilder(files, len(numbers), np.int32)
        self._table = table.mapped() if table is not None else None
        self._vector_lengths = files.array(np.float64)

    def coded(self, words: SpooledWords) -> SpooledWords:
        """Words in the numbering of the index, which both fields share."""
        return SpooledWords(self._places[words.codes], words.lengths)

    def add(self, words: SpooledWords, batch: WeighedBatch) -> None:
        """Take the next passages."""
        self._codes.append(words.codes)
        self._norms.append(batch.norms[self._name])
        self._counts.add(*batch.counts[self._name])
        if self._table is not None:
            self._vector_lengths.append(lengths_of_sums(words.codes, words.lengths, self._table))

    def arrays(self) -> Arrays:
        """All of these arrays, by name."""
        found = self._counts.postings(np.int32, np.float32)
        arrays: Arrays = {
            "codes": self._codes,
            "posting_offsets": found.offsets,
            "posting_passages": found.passages,
            "posting_counts": found.values,
            "cf": self._cf,
            "norms": self._norms,
        }
        if self._table is not None:
            arrays[VECTOR_LENGTHS] = self._vector_lengths
        return {f"{self._name}.{part}": values for part, values in arrays.items()}


class _NgramArrays:
    """The arrays of n-grams."""

    def __init__(self, files: TemporaryFiles, of_words: WordNgrams) -> None:
        self.of_words = of_words
        self._counts = PostingListBuilder(files, len(of_words.keys), np.int32)
        self._lengths = files.array(np.int32)

    def add(self, batch: WeighedBatch) -> None:
        """Take the next passages."""
        self._counts.add(*batch.ngrams)
        self._lengths.append(batch.ngram_lengths)

    def arrays(self) -> Arrays:
        """All of these arrays, by name."""
        kind = np.uint8 if self._counts.largest <= _MOST_IN_BYTE else np.int32
        found = self._counts.postings(kind=kind)
        return {
            "ngram.keys": self.of_words.keys,
            "ngram.posting_offsets": found.offsets,
            "ngram.posting_passages": found.passages,
            "ngram.posting_counts": found.values,
            "ngram.lengths": self._lengths,
        }


class _LearnedArrays:
    """The arrays of citation vectors and expansions."""

    def __init__(
        self, files: TemporaryFiles, citations: CitationVectors, inputs: ExpansionInputs
    ) -> None:
        self._words = expansion_words(citations, inputs.cited, inputs.counts)
        self._vectors = files.array(np.int8, citations.dimension)
        self._entries = PostingListBuilder(files, len(self._words), np.uint16)

    def add(self, batch: WeighedBatch) -> None:
        """Take the next passages."""
        if batch.vectors is not None and batch.expanded is not None:
            self._vectors.append(batch.vectors)
            self._entries.add(*batch.expanded)

    def arrays(self) -> Arrays:
        """All of these arrays, by name."""
        expanded = expansion_arrays(self._words, self._entries.postings())
        return {"citation_vectors": self._vectors} | expanded


def expansion_arrays(words: Sequence[str], postings: Postings) -> Arrays:
    """The arrays that `searchers.ExpansionSearcher` reads.

    Args:
        words: All words of expansions, `ExpansionMaker.words`.
        postings: The posting lists of what `ExpansionMaker.expand` gives for all passages.
    """
    return {
        "expansion.words": lines_array(words),
        "expansion.posting_offsets": postings.offsets,
        "expansion.posting_passages": postings.passages,
        "expansion.weights": postings.values,
    }
