"""The document builder: the second pass of a build, which completes the documents.

The first pass has encoded each passage (`describe`) and counted all words. Norms, mean vectors,
citation vectors and expansions depend on these counts; here they are computed, a batch of passages
at a time, in several processes.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers
from allusion_es.core.processes import in_order
from allusion_es.core.temporary_files import SpilledArray
from allusion_es.es.bulk import Document
from allusion_es.es.connection import encode
from allusion_es.es.documents import feature_name, pack_statistics, term_id
from allusion_es.es.meta import (
    CITATION_VECTOR,
    ENCODER_VECTOR,
    EXPANSION,
    PARALLELS,
    STATISTICS,
)
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.vectors.types import WordVectors
from allusion_es.retrieval.expansion import (
    ExpansionInputs,
    PassageExpander,
    bit_weights,
    text_words,
)
from allusion_es.retrieval.parallels import Parallels
from allusion_es.retrieval.spool import (
    ADVICE,
    FieldTerms,
    Spool,
    SpooledBatch,
    SpooledWords,
)
from allusion_es.retrieval.types import (
    FIELDS,
    Field,
)
from allusion_es.retrieval.weighting import idf

_SCALE = 10_000_000
"""Length of the vectors that are sent. Vectors are rounded to whole numbers, which are much faster
to write and read as JSON than fractions. Single precision holds whole numbers of this size exactly,
and a cosine does not depend on the length."""


_HALF_SCALE = 1 << 24
"""Makes whole numbers of all numbers in half precision, none too large for single precision."""


def passage_documents(
    spool: Spool,
    vectors: WordVectors | None,
    citations: CitationVectors | None,
    workers: int,
    parallels: Parallels | None = None,
    encoded: SpilledArray | None = None,
) -> Iterator[Document]:
    """Make one document for each passage, in several processes, in the order of the passages.

    The fields are those of `mappings/passages.json`.

    Args:
        spool: The passages and their words, from the first pass.
        vectors: Word vectors, or None.
        citations: Citation vectors, or None.
        workers: Number of processes.
        parallels: Groups of passages that say nearly the same, or None.
        encoded: The encoder vector of each passage, or None.
    """
    fields = spool.fields
    citing = ExpansionInputs.of(spool, citations, workers) if citations else None
    builder = partial(
        DocumentBuilder,
        {field: list(terms.numbers) for field, terms in fields.items()},
        {field: np.stack([terms.df, terms.cf]) for field, terms in fields.items()},
        {field: idf(terms.df, terms.passages) for field, terms in fields.items()},
        citing,
        _others(spool, parallels) if parallels else {},
    )
    table = _VectorTable(fields, vectors)

    def pieces() -> Iterator[tuple[SpooledBatch, dict[Field, NDArray[np.int32]], Integers]]:
        start = 0
        for batch in spool.read():
            end = start + len(batch.ids)
            means = {field: table.means(field, words) for field, words in batch.fields.items()}
            yield batch, means, _whole_numbers(encoded, start, end)
            start = end

    # Mean vectors are made here: each process would need its own copy of all word vectors.
    for _, documents in in_order(builder, pieces(), workers, ADVICE):
        yield from documents


class DocumentBuilder:
    """Builds the documents of passages, from statistics of the whole collection.

    Args:
        words: The distinct words of each field, in the order of their numbers.
        counted: Document and collection frequency of each of these words, shape (2, words).
        idfs: The idf of each of these words.
        citing: Statistics for citation vectors and expansions, or None.
        parallels: For each passage that is in a group of parallels, the ids of the others.
    """

    def __init__(
        self,
        words: dict[Field, list[str]],
        counted: dict[Field, Integers],
        idfs: dict[Field, Floats],
        citing: ExpansionInputs | None,
        parallels: Mapping[str, Sequence[str]],
    ) -> None:
        self._words = words
        self._counted = counted
        self._idfs = idfs
        self._parallels = parallels
        self._cited = PassageExpander(citing) if citing else None
        self._names = [feature_name(word) for word in self._cited.words] if self._cited else []

    def __call__(
        self, piece: tuple[SpooledBatch, dict[Field, NDArray[np.int32]], Integers]
    ) -> list[Document]:
        """Build the documents of a batch of passages.

        Args:
            piece: The passages, for each field their mean vectors, shape (passages, dimension), and
                their encoder vectors, (passages, 0) where there are none.
        """
        batch, vectors, encoded = piece
        idfs = self._idfs
        norms = {field: _norms(batch.fields[field], idfs[field]).tolist() for field in FIELDS}
        means = {field: vectors[field].tolist() for field in FIELDS}
        cited = self._cited_fields(batch)
        statistics = self._statistics(batch)
        rows = encoded.tolist()
        documents = []
        for number, identifier in enumerate(batch.ids):
            added = cited[number]
            if statistics[number]:
                added[STATISTICS] = statistics[number]
            if identifier in self._parallels:
                added[PARALLELS] = self._parallels[identifier]
            if any(rows[number]):
                added[ENCODER_VECTOR] = rows[number]
            for field in FIELDS:
                added[f"{field}_norm"] = norms[field][number]
                mean = means[field][number]
                # A vector of zeros has no cosine, and servers refuse it.
                if any(mean):
                    added[f"{field}_vector"] = mean
            # Two JSON objects become one: `…}` and `{…` are joined by a comma.
            document = batch.records[number][:-1] + b"," + encode(added)[1:]
            documents.append((identifier, document))
        return documents

    def _statistics(self, batch: SpooledBatch) -> list[str]:
        """For each passage the frequencies of its words, packed; "" for one without words."""
        parts = [
            np.split(self._counted[field][:, words.codes], np.cumsum(words.lengths)[:-1], axis=1)
            for field, words in batch.fields.items()
        ]
        both = (np.concatenate(pair, axis=1) for pair in zip(*parts, strict=True))
        return [pack_statistics(df, cf) for df, cf in both]

    def _cited_fields(self, batch: SpooledBatch) -> list[dict[str, object]]:
        """For each passage the fields of its citation vector and its expansion, if it has them."""
        if self._cited is None:
            return [{} for _ in batch.ids]
        vectors, expanded = self._cited.expand(batch.ids, text_words(self._words, batch.fields))
        words = [self._names[code] for code in expanded.codes.tolist()]
        entries = list(zip(words, bit_weights(expanded.bits).tolist(), strict=True))
        found: list[dict[str, object]] = []
        # Entries of all passages lie one after another; offsets tell where each passage's begin.
        for vector, (start, end) in zip(
            vectors.tolist(), pairwise(expanded.offsets.tolist()), strict=True
        ):
            both = (
                (CITATION_VECTOR, vector if any(vector) else None),
                (EXPANSION, dict(entries[start:end])),
            )
            found.append({name: value for name, value in both if value})
        return found


def _whole_numbers(encoded: SpilledArray | None, start: int, end: int) -> Integers:
    """The encoder vectors of some passages, as whole numbers in the same proportions."""
    if encoded is None:
        return np.zeros((end - start, 0), dtype=np.int64)
    rows = encoded.read(start, end)
    scale = 1 if rows.dtype == np.int8 else _HALF_SCALE
    return (rows.astype(np.float64) * scale).astype(np.int64)


def _others(spool: Spool, parallels: Parallels) -> dict[str, list[str]]:
    """For each passage that is in a group of parallels, the ids of the other passages."""
    ids = list(spool.ids)
    return {
        ids[passage]: [ids[other] for other in parallels.others(passage)]
        for passage in parallels.passages.tolist()
    }


def term_documents(fields: Mapping[Field, FieldTerms]) -> Iterator[Document]:
    """Make one document for each word of each field, with its statistics.

    The fields are those of `mappings/terms.json`.
    """
    for field, terms in fields.items():
        numbers = (terms.df.tolist(), terms.cf.tolist(), terms.max_tf.tolist())
        for word, df, cf, max_tf in zip(terms.numbers, *numbers, strict=True):
            content = {"field": field, "word": word, "df": df, "cf": cf, "max_tf": max_tf}
            yield term_id(field, word), encode(content)


def _norms(words: SpooledWords, idfs: Floats) -> Floats:
    """The lengths of the passages' TfIdf vectors, shape (passages,)."""
    owners, codes, counts = words.counts(max(len(idfs), 1))
    squares = (counts * idfs[codes]) ** 2
    return np.sqrt(np.bincount(owners, weights=squares, minlength=len(words.lengths)))


class _VectorTable:
    """The word vectors of a collection, each computed once, when a batch first needs it.

    So the vectors of one batch are computed while the server indexes another.
    """

    def __init__(self, fields: Mapping[Field, FieldTerms], source: WordVectors | None) -> None:
        self._words = sorted({word for terms in fields.values() for word in terms.numbers})
        places = {word: place for place, word in enumerate(self._words)}
        self._rows = {
            field: np.array([places[word] for word in terms.numbers], dtype=np.int64)
            for field, terms in fields.items()
        }
        self._source = source
        size = (len(self._words), source.dimension if source else 0)
        self._vectors = np.zeros(size, dtype=np.float32)
        self._known = np.zeros(len(self._words), dtype=np.bool_)

    def means(self, field: Field, words: SpooledWords) -> NDArray[np.int32]:
        """The mean vectors of a field of passages, scaled to a length and rounded to whole numbers.

        Returns:
            Shape (passages, dimension); zeros for a passage that has no vector.
        """
        means = np.zeros((len(words.lengths), self._vectors.shape[1]), dtype=np.float32)
        if means.size and len(words.codes):
            rows = self._rows[field][words.codes]
            self._compute(rows)
            filled = words.lengths > 0
            # `reduceat` sums from each start to the next, so passages without words must be out.
            starts = (np.cumsum(words.lengths) - words.lengths)[filled]
            means[filled] = np.add.reduceat(self._vectors[rows], starts)
            lengths = np.linalg.norm(means, axis=1, keepdims=True)
            np.divide(means * np.float32(_SCALE), lengths, out=means, where=lengths > 0)
        return np.rint(means).astype(np.int32)

    def _compute(self, rows: NDArray[np.int64]) -> None:
        new = np.unique(rows[~self._known[rows]])
        if len(new) and self._source is not None:
            self._vectors[new] = self._source.vectors([self._words[row] for row in new])
            self._known[new] = True
