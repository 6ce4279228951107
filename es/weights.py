"""The documents that are sent to the server: descriptions completed with weights and vectors."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from allusion_es.es.bulk import Document
from allusion_es.es.connection import encode
from allusion_es.es.documents import feature_name, term_id
from allusion_es.es.meta import CITATION_VECTOR, EXPANSION
from allusion_es.es.spool import FieldTerms, Spool, SpooledBatch, SpooledWords
from allusion_es.language.citation_file import to_bytes
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.language.vectors import WordVectors
from allusion_es.language.word_parts import Word
from allusion_es.retrieval.expansion import ExpansionMaker, bit_weights
from allusion_es.retrieval.types import FIELDS, Field, Floats
from allusion_es.retrieval.weighting import idf

_SCALE = 10_000_000
"""Vectors are sent as whole numbers, which are quick to write and read. A single-precision
number holds those up to this exactly, and their scale means nothing to a cosine."""


def passage_documents(
    spool: Spool, vectors: WordVectors | None, citations: CitationVectors | None
) -> Iterator[Document]:
    """One document for each passage; see `mappings/passages.json`."""
    fields = spool.fields
    idfs = {field: idf(terms.df, terms.passages) for field, terms in fields.items()}
    table = _Table(fields, vectors)
    cited = _Citations(spool, citations) if citations else None
    for batch in spool.read():
        norms = {field: _norms(batch.fields[field], idfs[field]).tolist() for field in FIELDS}
        means = {field: table.means(field, batch.fields[field]) for field in FIELDS}
        learned = cited.of(batch) if cited else [{} for _ in batch.ids]
        for number, identifier in enumerate(batch.ids):
            added = learned[number]
            for field in FIELDS:
                added[f"{field}_norm"] = norms[field][number]
                mean = means[field][number]
                # A cosine with a vector of zeros has no meaning, and servers refuse it.
                if any(mean):
                    added[f"{field}_vector"] = mean
            # Both are encoded objects: the end of one and the begin of the other make a comma.
            yield identifier, batch.descriptions[number][:-1] + b"," + encode(added)[1:]


class _Citations:
    """Citation vectors and expansions of spooled passages."""

    def __init__(self, spool: Spool, vectors: CitationVectors) -> None:
        self._vectors = vectors
        self._texts = _Texts(spool.fields)
        terms = spool.fields["lemma"]
        both = zip(terms.numbers, terms.df.tolist(), terms.cf.tolist(), strict=True)
        counts = {word: (df, cf) for word, df, cf in both}
        self._maker = ExpansionMaker(vectors, spool.ids, counts, terms.passages)
        self._names = [feature_name(word) for word in self._maker.words]

    def of(self, batch: SpooledBatch) -> list[dict[str, object]]:
        """What each passage's document has of these."""
        texts = self._texts.of(batch)
        vectors = to_bytes(self._vectors.text_vectors(texts))[0]
        expanded = self._maker.expand(batch.ids, texts, vectors)
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


class _Texts:
    """The words of spooled passages, read from their numbers."""

    def __init__(self, fields: Mapping[Field, FieldTerms]) -> None:
        self._words = {field: list(terms.numbers) for field, terms in fields.items()}

    def of(self, batch: SpooledBatch) -> list[list[Word]]:
        """Tokens and lemmas of each passage."""
        tokens, lemmas = (
            [self._words[field][code] for code in batch.fields[field].codes.tolist()]
            for field in FIELDS
        )
        both = list(zip(tokens, lemmas, strict=True))
        ends = np.cumsum(batch.fields["token"].lengths).tolist()
        return [both[start:end] for start, end in pairwise([0, *ends])]


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

    def means(self, field: Field, words: SpooledWords) -> list[list[int]]:
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
        numbers: list[list[int]] = np.rint(means).astype(np.int64).tolist()
        return numbers

    def _learn(self, rows: NDArray[np.int64]) -> None:
        new = np.unique(rows[~self._known[rows]])
        if len(new) and self._source is not None:
            self._vectors[new] = self._source.vectors([self._words[row] for row in new])
            self._known[new] = True
