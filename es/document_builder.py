"""The documents that are sent to the server: descriptions completed with weights and vectors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.core.processes import in_order
from allusion_es.es.bulk import Document
from allusion_es.es.connection import encode
from allusion_es.es.documents import feature_name, term_id
from allusion_es.es.meta import CITATION_VECTOR, EXPANSION, PARALLELS
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
"""Vectors are sent as whole numbers, which are quick to write and read. A single-precision
number holds those up to this exactly, and their scale means nothing to a cosine."""


def passage_documents(
    spool: Spool,
    vectors: WordVectors | None,
    citations: CitationVectors | None,
    workers: int,
    parallels: Parallels | None = None,
) -> Iterator[Document]:
    """One document for each passage, made in several processes; see `mappings/passages.json`."""
    fields = spool.fields
    citing = ExpansionInputs.of(spool, citations, workers) if citations else None
    known = DocumentStatistics(
        {field: list(terms.numbers) for field, terms in fields.items()},
        {field: idf(terms.df, terms.passages) for field, terms in fields.items()},
        citing,
        _others(spool, parallels) if parallels else {},
    )
    table = _Table(fields, vectors)
    pieces = (
        (batch, {field: table.means(field, words) for field, words in batch.fields.items()})
        for batch in spool.read()
    )
    for _, documents in in_order(partial(DocumentBuilder, known), pieces, workers, ADVICE):
        yield from documents


@dataclass(frozen=True, slots=True)
class DocumentStatistics:
    """What is known of the whole collection once all its words are.

    Attributes:
        words: All words of each field.
        idfs: Their idf.
        citing: For citation vectors and expansions, or None.
        parallels: The ids of passages that say nearly the same, for each that has such.
    """

    words: dict[Field, list[str]]
    idfs: dict[Field, Floats]
    citing: ExpansionInputs | None
    parallels: Mapping[str, Sequence[str]]


class DocumentBuilder:
    """Makes the documents of passages.

    Args:
        known: Of the collection.
    """

    def __init__(self, known: DocumentStatistics) -> None:
        self._known = known
        self._cited = PassageExpander(known.citing) if known.citing else None
        self._names = [feature_name(word) for word in self._cited.words] if self._cited else []

    def __call__(
        self, piece: tuple[SpooledBatch, dict[Field, NDArray[np.int32]]]
    ) -> list[Document]:
        """The documents of passages of which the mean vectors are given."""
        batch, vectors = piece
        idfs = self._known.idfs
        norms = {field: _norms(batch.fields[field], idfs[field]).tolist() for field in FIELDS}
        means = {field: vectors[field].tolist() for field in FIELDS}
        learned = self._learned(batch)
        documents = []
        for number, identifier in enumerate(batch.ids):
            added = learned[number]
            if identifier in self._known.parallels:
                added[PARALLELS] = self._known.parallels[identifier]
            for field in FIELDS:
                added[f"{field}_norm"] = norms[field][number]
                mean = means[field][number]
                # A cosine with a vector of zeros has no meaning, and servers refuse it.
                if any(mean):
                    added[f"{field}_vector"] = mean
            # Both are encoded objects: the end of one and the begin of the other make a comma.
            document = batch.records[number][:-1] + b"," + encode(added)[1:]
            documents.append((identifier, document))
        return documents

    def _learned(self, batch: SpooledBatch) -> list[dict[str, object]]:
        """What each passage's document has of citation vectors and expansions."""
        if self._cited is None:
            return [{} for _ in batch.ids]
        vectors, expanded = self._cited.expand(
            batch.ids, text_words(self._known.words, batch.fields)
        )
        words = [self._names[code] for code in expanded.codes.tolist()]
        entries = list(zip(words, bit_weights(expanded.bits).tolist(), strict=True))
        found: list[dict[str, object]] = []
        for vector, (start, end) in zip(
            vectors.tolist(), pairwise(expanded.offsets.tolist()), strict=True
        ):
            both = (
                (CITATION_VECTOR, vector if any(vector) else None),
                (EXPANSION, dict(entries[start:end])),
            )
            found.append({name: value for name, value in both if value})
        return found


def _others(spool: Spool, parallels: Parallels) -> dict[str, list[str]]:
    """For each passage that is in a group the ids of the others."""
    ids = list(spool.ids)
    return {
        ids[passage]: [ids[other] for other in parallels.others(passage)]
        for passage in parallels.passages.tolist()
    }


def term_documents(fields: Mapping[Field, FieldTerms]) -> Iterator[Document]:
    """One document for each word of each field; see `mappings/terms.json`."""
    for field, terms in fields.items():
        numbers = (terms.df.tolist(), terms.cf.tolist(), terms.max_tf.tolist())
        for word, df, cf, max_tf in zip(terms.numbers, *numbers, strict=True):
            content = {"field": field, "word": word, "df": df, "cf": cf, "max_tf": max_tf}
            yield term_id(field, word), encode(content)


def _norms(words: SpooledWords, idfs: Floats) -> Floats:
    """Lengths of the passages' TfIdf vectors, shape (n,)."""
    owners, codes, counts = words.counts(max(len(idfs), 1))
    squares = (counts * idfs[codes]) ** 2
    return np.sqrt(np.bincount(owners, weights=squares, minlength=len(words.lengths)))


class _Table:
    """The vectors of all words, each asked for once and no sooner than a batch needs it.

    So the work on the vectors of one batch goes on while the server indexes another.
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
        """Mean vectors in whole numbers; empty or all zeros where there is none."""
        means = np.zeros((len(words.lengths), self._vectors.shape[1]), dtype=np.float32)
        if means.size and len(words.codes):
            rows = self._rows[field][words.codes]
            self._learn(rows)
            filled = words.lengths > 0
            starts = (np.cumsum(words.lengths) - words.lengths)[filled]
            means[filled] = np.add.reduceat(self._vectors[rows], starts)
            lengths = np.linalg.norm(means, axis=1, keepdims=True)
            np.divide(means * np.float32(_SCALE), lengths, out=means, where=lengths > 0)
        return np.rint(means).astype(np.int32)

    def _learn(self, rows: NDArray[np.int64]) -> None:
        new = np.unique(rows[~self._known[rows]])
        if len(new) and self._source is not None:
            self._vectors[new] = self._source.vectors([self._words[row] for row in new])
            self._known[new] = True
