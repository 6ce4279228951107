"""Building the in-process index: passages in, one file out."""

import json
from array import array
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, save_arrays
from allusion_es.core.errors import InputError
from allusion_es.corpora.passage import Passage
from allusion_es.language.citation_file import to_bytes
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.language.vectors import WordVectors
from allusion_es.language.word_parts import Word
from allusion_es.retrieval.analysed import AnalysedPassage
from allusion_es.retrieval.expansion import ExpansionMaker
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.local_expansion import expansion_arrays
from allusion_es.retrieval.local_grams import gram_arrays
from allusion_es.retrieval.types import FIELDS
from allusion_es.retrieval.weighting import idf

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
    passages: Iterable[AnalysedPassage],
    settings: IndexSettings,
    vectors: WordVectors | None = None,
    citations: CitationVectors | None = None,
) -> int:
    """Build an index and write it to `path`, whole or not at all.

    Args:
        path: The file; an index that is there is replaced once the new one is complete.
        passages: In canonical order.
        settings: How the passages were analysed; saved with the index.
        vectors: Word vectors for nearest neighbours and rerankers, or None.
        citations: What gives each passage a vector of its own, or None.

    Returns:
        How many passages the index holds.

    Raises:
        InputError: Two passages have the same id, or there is no passage.
        StorageError: The file cannot be written.
    """
    texts = _Collected()
    for passage in passages:
        texts.add(passage)
    if not texts.ids:
        raise InputError("there is no passage to index; give a text with at least one")
    meta = {
        "format": FORMAT,
        "settings": settings.to_json(),
        "passages": len(texts.ids),
        "facets": {name: list(values) for name, values in texts.facets.items()},
    }
    arrays = texts.arrays(vectors)
    if citations is not None:
        arrays |= texts.citation_arrays(citations, arrays)
    save_arrays(path, meta, arrays)
    return len(texts.ids)


class _Collected:
    """What is known of the passages so far, in compact form."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.facets: dict[str, dict[str, int]] = {name: {} for name in FACETS}
        self._facet_codes = {name: array("i") for name in FACETS}
        self._numbers: dict[str, int] = {}
        self._codes = {field: array("i") for field in FIELDS}
        self._offsets = array("q", [0])
        self._records = bytearray()
        self._record_offsets = array("q", [0])

    def add(self, analysed: AnalysedPassage) -> None:
        passage, analysis = analysed.passage, analysed.analysis
        if passage.id in self.ids:
            raise InputError(f"passage id {passage.id!r} occurs twice; ids must be unique")
        self.ids[passage.id] = len(self.ids)
        numbers = self._numbers
        for field, words in (("token", analysis.tokens), ("lemma", analysis.lemmas)):
            self._codes[field].extend([numbers.setdefault(w, len(numbers)) for w in words])  # type: ignore[index]
        self._offsets.append(len(self._codes["token"]))
        for name, known in self.facets.items():
            value = str(getattr(passage, name))
            self._facet_codes[name].append(known.setdefault(value, len(known)))
        self._records += encode_record(passage)
        self._record_offsets.append(len(self._records))

    def texts(self) -> list[list[Word]]:
        """Tokens and lemmas of each passage."""
        words = list(self._numbers)
        tokens, lemmas = ([words[code] for code in self._codes[field]] for field in FIELDS)
        both = list(zip(tokens, lemmas, strict=True))
        return [both[start:end] for start, end in pairwise(self._offsets)]

    def citation_arrays(
        self, citations: CitationVectors, arrays: Mapping[str, Array]
    ) -> dict[str, Array]:
        """The passages' citation vectors and expansion; `arrays` are those of all words."""
        ids, texts = list(self.ids), self.texts()
        vectors = to_bytes(citations.text_vectors(texts))[0]
        df = np.diff(arrays["lemma.posting_offsets"]).tolist()
        both = zip(sorted(self._numbers), df, arrays["lemma.cf"].tolist(), strict=True)
        counts = {word: (n, total) for word, n, total in both if n}
        passages = int(np.count_nonzero(np.diff(arrays["offsets"])))
        maker = ExpansionMaker(citations, ids, counts, passages)
        return {"citation_vectors": vectors} | expansion_arrays(maker, ids, texts, vectors)

    def arrays(self, vectors: WordVectors | None) -> dict[str, Array]:
        """All arrays of the index; words are numbered in alphabetical order."""
        words = sorted(self._numbers)
        renumber = np.empty(len(words), dtype=np.int32)
        renumber[[self._numbers[word] for word in words]] = np.arange(len(words), dtype=np.int32)
        offsets = np.array(self._offsets, dtype=np.int64)
        ids = list(self.ids)
        order = sorted(range(len(ids)), key=ids.__getitem__)
        id_order = np.empty(len(ids), dtype=np.int32)
        id_order[order] = np.arange(len(ids), dtype=np.int32)
        arrays: dict[str, Array] = {
            "words": blob(words),
            "ids": blob(ids),
            "id_order": id_order,
            "offsets": offsets,
            "records": np.frombuffer(self._records, np.uint8),
            "record_offsets": np.array(self._record_offsets, dtype=np.int64),
        }
        for name, codes in self._facet_codes.items():
            arrays[f"facet.{name}"] = np.array(codes, dtype=np.int32)
        table = vectors.vectors(words) if vectors is not None else None
        if table is not None:
            arrays["word_vectors"] = table
        for field in FIELDS:
            numbered = renumber[np.array(self._codes[field], dtype=np.int32)]
            if field == "token":
                arrays |= gram_arrays(words, numbered, offsets)
            for name, values in _field_arrays(numbered, offsets, len(words), table).items():
                arrays[f"{field}.{name}"] = values
        return arrays


def _field_arrays(
    codes: NDArray[np.int32],
    offsets: NDArray[np.int64],
    words: int,
    table: NDArray[np.float32] | None,
) -> dict[str, Array]:
    """Sequences, postings, TfIdf norms and mean vectors of one field."""
    passages = len(offsets) - 1
    owners = np.repeat(np.arange(passages), np.diff(offsets))
    keys, counts = np.unique(codes * np.int64(passages) + owners, return_counts=True)
    of_word, of_passage = keys // passages, keys % passages
    df = np.bincount(of_word, minlength=words)
    cf = np.bincount(codes, minlength=words)
    weights = (counts * idf(df, int(np.count_nonzero(np.diff(offsets))))[of_word]) ** 2
    arrays: dict[str, Array] = {
        "codes": codes.astype(np.int32),
        "posting_offsets": np.concatenate(([0], np.cumsum(df))).astype(np.int64),
        "posting_passages": of_passage.astype(np.int32),
        "posting_counts": counts.astype(np.float32),
        "cf": cf.astype(np.int64),
        "norms": np.sqrt(np.bincount(of_passage, weights=weights, minlength=passages)),
    }
    if table is not None:
        arrays["mean_vectors"] = _mean_vectors(codes, offsets, table)
    return arrays


def _mean_vectors(
    codes: NDArray[np.int32], offsets: NDArray[np.int64], table: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Unit-length mean of the word vectors of each passage, zeros where it has no words."""
    means = np.zeros((len(offsets) - 1, table.shape[1]), dtype=np.float32)
    for number, (start, end) in enumerate(pairwise(offsets.tolist())):
        if end > start:
            table[codes[start:end]].sum(axis=0, out=means[number])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    np.divide(means, lengths, out=means, where=lengths > 0)
    return means


def blob(texts: Iterable[str]) -> NDArray[np.uint8]:
    """Texts without line breaks as bytes, one a line."""
    return np.frombuffer("\n".join(texts).encode(), np.uint8)


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
