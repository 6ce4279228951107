"""What is sent to the server for each passage and each term."""

import json
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allusion_es.es.batches import batches
from allusion_es.es.bulk import Document
from allusion_es.es.connection import encode
from allusion_es.es.meta import PASSAGE_FIELDS, Meta
from allusion_es.es.spool import FieldTerms
from allusion_es.language.vectors import WordVectors, kept_vectors
from allusion_es.retrieval.analysed import AnalysedPassage
from allusion_es.retrieval.texts import code_texts
from allusion_es.retrieval.types import FIELDS, Field
from allusion_es.retrieval.weighting import idf

# Folders lie side by side in the checkout and where they are installed.
_MAPPINGS = Path(__file__).parents[1] / "mappings"

_TOGETHER = 500
"""Passages whose vectors are computed together."""

_SCALE = 10_000_000
"""Vectors are sent as whole numbers, which are quick to write and read. A single-precision
number holds those up to this exactly, and their scale means nothing to a cosine."""


def index_body(kind: str, shards: int, replicas: int) -> dict[str, Any]:
    """Settings and mappings of a new index; `kind` is `passages` or `terms`."""
    body: dict[str, Any] = json.loads((_MAPPINGS / f"{kind}.json").read_text(encoding="utf-8"))
    body["settings"]["index"] |= {"number_of_shards": shards, "number_of_replicas": replicas}
    return body


def passages_body(meta: Meta, shards: int, replicas: int) -> dict[str, Any]:
    """Settings and mappings of the index that holds the passages."""
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
    body["mappings"]["_meta"] = meta.to_json()
    return body


def term_documents(fields: Mapping[Field, FieldTerms]) -> Iterator[Document]:
    """One document for each word of each field; see `mappings/terms.json`."""
    for field, statistics in fields.items():
        for word, (df, cf, max_tf) in statistics.terms.items():
            content = {"field": field, "word": word, "df": df, "cf": cf, "max_tf": max_tf}
            yield term_id(field, word), encode(content)


def term_id(field: Field, word: str) -> str:
    """The id of a term's document.

    Example:
        >>> term_id("lemma", "deus")
        'lemma:deus'
    """
    return f"{field}:{word}"


def passage_documents(
    passages: Iterable[AnalysedPassage],
    fields: Mapping[Field, FieldTerms],
    vectors: WordVectors | None,
) -> Iterator[Document]:
    """One document for each passage; see `mappings/passages.json`."""
    idfs = {field: _idfs(statistics) for field, statistics in fields.items()}
    kept = None if vectors is None else kept_vectors(vectors)
    for batch in batches(passages, _TOGETHER):
        means = {field: _means(batch, field, kept) for field in FIELDS}
        for number, analysed in enumerate(batch):
            content = _described(analysed)
            content["words"] = pack_words(analysed.analysis.tokens, analysed.analysis.lemmas)
            for field in FIELDS:
                content |= _weighted(_words(analysed, field), field, idfs[field])
                # A cosine with a vector of zeros has no meaning, and servers refuse it.
                if any(mean := means[field][number]):
                    content[f"{field}_vector"] = mean
            yield analysed.passage.id, encode(content)


def frequency_words(word: str, frequency: int) -> list[str]:
    """How a word that occurs so often stands in a field of frequencies.

    A query that asks for all of them, each with the same boost, finds the boost times the
    frequency, which no other way without scripts gives exactly.

    Example:
        >>> frequency_words("deus", 3)
        ['deus', 'deus|2', 'deus|3']
    """
    return [word, *(f"{word}|{number}" for number in range(2, frequency + 1))]


def pack_words(tokens: Sequence[str], lemmas: Sequence[str]) -> str:
    """The words of both fields in the form that a server hands out fastest: a binary column.

    Example:
        >>> unpack_words(pack_words(["dixit", "deus"], ["dico", "deus"]))
        ('dixit deus', 'dico deus')
    """
    return b64encode(f"{' '.join(tokens)}\n{' '.join(lemmas)}".encode()).decode("ascii")


def unpack_words(packed: str) -> tuple[str, str]:
    """Tokens and lemmas, with blanks between them, from what `pack_words` gave."""
    tokens, _, lemmas = b64decode(packed).decode().partition("\n")
    return tokens, lemmas


def _described(analysed: AnalysedPassage) -> dict[str, Any]:
    content = {name: getattr(analysed.passage, name) for name in PASSAGE_FIELDS}
    return content | {"length": len(analysed.analysis.tokens)}


def _weighted(
    words: Sequence[str], field: Field, idfs: Mapping[str, float]
) -> dict[str, str | float]:
    """The words of one field, their frequencies, and the length of their TfIdf vector."""
    counts = Counter(words)
    norm = sum((count * idfs[word]) ** 2 for word, count in counts.items()) ** 0.5
    repeated = list(counts)
    for word, count in counts.items():
        if count > 1:
            repeated += frequency_words(word, count)[1:]
    return {
        field: " ".join(words),
        f"{field}_frequencies": " ".join(repeated),
        f"{field}_norm": norm,
    }


def _idfs(statistics: FieldTerms) -> dict[str, float]:
    df = np.array([numbers[0] for numbers in statistics.terms.values()], dtype=np.int64)
    return dict(zip(statistics.terms, idf(df, statistics.passages).tolist(), strict=True))


def _means(
    batch: Sequence[AnalysedPassage], field: Field, vectors: WordVectors | None
) -> list[list[int]]:
    """Mean vectors in whole numbers; empty or all zeros where there is none."""
    means = np.zeros((len(batch), 0 if vectors is None else vectors.dimension))
    texts = code_texts([_words(analysed, field) for analysed in batch])
    if vectors is not None and texts.words:
        filled = np.diff(texts.offsets) > 0
        rows = vectors.vectors(texts.words)[texts.codes]
        means[filled] = np.add.reduceat(rows, texts.offsets[:-1][filled])
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        np.divide(means * _SCALE, lengths, out=means, where=lengths > 0)
    numbers: list[list[int]] = np.rint(means).astype(np.int64).tolist()
    return numbers


def _words(analysed: AnalysedPassage, field: Field) -> tuple[str, ...]:
    return analysed.analysis.tokens if field == "token" else analysed.analysis.lemmas
