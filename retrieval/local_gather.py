"""Gathering the arrays of the in-process index from what its passages have, most of it on disk."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array
from allusion_es.core.processes import in_order
from allusion_es.core.progress import Progress
from allusion_es.core.spilled import SpilledArray, TemporaryFiles
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.language.vectors import WordVectors
from allusion_es.retrieval.cited import Citing
from allusion_es.retrieval.expansion import expansion_words
from allusion_es.retrieval.inversion import Inversion
from allusion_es.retrieval.local_expansion import expansion_arrays
from allusion_es.retrieval.local_grams import WordGrams, gram_arrays
from allusion_es.retrieval.local_pieces import Known, Piece, PieceMaker
from allusion_es.retrieval.spool import ADVICE, FieldTerms, Spool, SpooledWords
from allusion_es.retrieval.types import FIELDS, Field
from allusion_es.retrieval.weighting import idf

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
    fields = {name: _Field(files, name, spool.fields[name], numbers, table) for name in FIELDS}
    grams = _Grams(files, WordGrams.of(words, fields["token"].df > 0))
    citing = Citing.of(spool, citations, workers) if citations else None
    learned = _Learned(files, citations, citing) if citations and citing else None
    idfs = {name: field.idfs for name, field in fields.items()}
    start = partial(PieceMaker, Known(words, idfs, grams.of_words, citing))
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


def _coded(spool: Spool, fields: Mapping[Field, "_Field"]) -> Iterator[Coded]:
    for batch in spool.read():
        yield batch.ids, {name: field.coded(batch.fields[name]) for name, field in fields.items()}


class _Field:
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
        self._counts = Inversion(files, len(numbers), np.int32)
        self._table = table.mapped() if table is not None else None
        self._means = files.array(np.float32, table.shape[1]) if table is not None else None

    def coded(self, words: SpooledWords) -> SpooledWords:
        """Words in the numbering of the index."""
        return SpooledWords(self._places[words.codes], words.lengths)

    def add(self, words: SpooledWords, piece: Piece) -> None:
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
        self._counts = Inversion(files, len(of_words.keys), np.int32)
        self._lengths = files.array(np.int32)

    def add(self, piece: Piece) -> None:
        """Take the next passages."""
        self._counts.add(*piece.grams)
        self._lengths.append(piece.gram_lengths)

    def arrays(self) -> Arrays:
        """All of them."""
        return gram_arrays(self.of_words, self._counts, self._lengths)


class _Learned:
    """The arrays of citation vectors and expansions."""

    def __init__(self, files: TemporaryFiles, citations: CitationVectors, citing: Citing) -> None:
        self._words = expansion_words(citations, citing.cited, citing.counts)
        self._vectors = files.array(np.int8, citations.dimension)
        self._entries = Inversion(files, len(self._words), np.uint16)

    def add(self, piece: Piece) -> None:
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
