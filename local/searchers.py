"""Searches of an index in this process: one class for each kind of array that is searched.

Each is given `load`, which gives an array of the index by its name; arrays are read when a search
first needs them. Scores are those of Elasticsearch, in its precision (`retrieval.weighting`).
"""

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array
from allusion_es.language.citations.word_parts import find_rows, gram_key
from allusion_es.language.vectors.types import WordNumbers
from allusion_es.local.format import ENCODER_VECTORS
from allusion_es.retrieval.byte_vectors import ByteVectors
from allusion_es.retrieval.encoder_vectors import HalfVectors, compared
from allusion_es.retrieval.expansion import bit_weights
from allusion_es.retrieval.types import STEM, Field, SearchRequest, TermStatistics
from allusion_es.retrieval.weighting import (
    bm25,
    bm25_saturation,
    idf,
    lucene_idf,
    lucene_lengths,
    tfidf_query_weights,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Load = Callable[[str], Array]

_BEFORE_A_MATRIX = 32
"""Queries for n-grams before a matrix of all is worth its making."""

Scored = tuple[NDArray[np.float32], NDArray[np.int64]]
"""A cosine for each passage, and the places of those that have one."""

_LAST = chr(sys.maxunicode)
"""The last of all characters, which no word has."""

BY_VECTOR = ("knn", "citations", "dense")
"""Kinds of search that compare vectors."""

_ARRAYS = {"citations": "citation_vectors", "dense": ENCODER_VECTORS}
"""The arrays of those whose vectors lie in one array, whatever the field."""

_REQUESTS_TOGETHER = 16
"""Requests that are compared at once: one product of matrices, and 2 MB for 36,000 passages."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The posting lists of some words, one after the other.

    Attributes:
        lengths: How many postings each word has, shape (words,).
        passages: The passage of each posting, shape (postings,).
        values: What the passage has of the word, such as how often, shape (postings,).
    """

    lengths: NDArray[np.int64]
    passages: NDArray[np.int64]
    values: Array

    def spread(self, of_words: Array) -> Array:
        """The value of each word, once for each of its postings; shape (postings,)."""
        return np.repeat(of_words, self.lengths)

    def sums(self, added: Array, size: int) -> NDArray[np.float32]:
        """The sum of what each posting adds to its passage, shape (size,).

        They are added in double precision word by word, and rounded once, as a server does.
        """
        return np.bincount(self.passages, weights=added, minlength=size).astype(np.float32)


def gather(load: Load, kind: str, words: NDArray[np.int64], values: str) -> Gathered:
    """The posting lists of words in their order.

    Args:
        load: Gives an array of the index.
        kind: `token`, `lemma`, `ngram` or `expansion`.
        words: Their rows among the posting lists.
        values: The name of the array of values.
    """
    offsets, every = load(f"{kind}.posting_offsets"), load(f"{kind}.{values}")
    starts, ends = offsets[words], offsets[words + 1]
    parts = list(map(slice, starts.tolist(), ends.tolist())) or [slice(0)]
    passages = load(f"{kind}.posting_passages")
    return Gathered(
        ends - starts,
        np.concatenate([passages[part] for part in parts], dtype=np.int64),
        np.concatenate([every[part] for part in parts]),
    )


class WordSearcher:
    """BM25 and TfIdf of tokens and lemmas, and their statistics.

    Args:
        load: Gives an array of the index.
        words: All words of the index, sorted.
        numbers: The place of each word among all words of the index.
        k1: BM25's term-frequency saturation.
        b: BM25's length normalisation.
    """

    def __init__(
        self, load: Load, words: Sequence[str], numbers: WordNumbers, k1: float, b: float
    ) -> None:
        self._load = load
        self._all = words
        self._numbers = numbers
        self._k1 = k1
        self._b = b
        self._size = len(load("offsets")) - 1

    def scores(self, request: SearchRequest) -> NDArray[np.float32]:
        """The score of each passage for `bm25` or `tfidf`, shape (passages,)."""
        return self._bm25(request) if request.kind == "bm25" else self._tfidf(request)

    def statistics(self, field: Field, words: Sequence[str]) -> TermStatistics:
        """Document and collection frequencies, as `CandidateIndex.statistics` gives them."""
        codes = self._numbers.of(words)
        known = codes >= 0
        df = np.zeros(len(words), dtype=np.int64)
        cf = np.zeros(len(words), dtype=np.int64)
        postings = self._load(f"{field}.posting_offsets")
        df[known] = postings[codes[known] + 1] - postings[codes[known]]
        cf[known] = self._load(f"{field}.cf")[codes[known]]
        passages, mean_length = self._extent
        return TermStatistics(df, cf, passages, mean_length)

    def of_stems(self, stems: Mapping[str, float]) -> NDArray[np.float32]:
        """The sum of what each beginning adds to passages with such a lemma, shape (passages,)."""
        offsets, passages = (self._load(f"lemma.posting_{x}") for x in ("offsets", "passages"))
        sums = np.zeros(self._size)
        for stem, weight in stems.items():
            first = bisect_left(self._all, stem)
            # Words that begin alike stand together.
            beyond = stem + (_LAST if len(stem) >= STEM else "\0")
            last = bisect_left(self._all, beyond, lo=first)
            found = np.unique(passages[int(offsets[first]) : int(offsets[last])])
            sums[found] += np.float32(weight)
        return sums.astype(np.float32)

    def _bm25(self, request: SearchRequest) -> NDArray[np.float32]:
        passages, _ = self._extent
        codes = self._numbers.of(list(request.words))
        known = codes >= 0
        boosts = np.array(list(request.words.values()), dtype=np.float64)[known]
        found = gather(self._load, request.field, codes[known], "posting_counts")
        weights = found.spread(lucene_idf(found.lengths, passages))
        boosts = found.spread(boosts)
        saturation = self._saturation[found.passages]
        return found.sums(bm25(found.values, saturation, weights, self._k1, boosts), self._size)

    def _tfidf(self, request: SearchRequest) -> NDArray[np.float32]:
        words = list(request.words)
        statistics = self.statistics(request.field, words)
        idfs = idf(statistics.df, statistics.passages)
        sums = np.zeros(self._size)
        weights = tfidf_query_weights(request.words, words, idfs)
        for word, weight in zip(words, weights.astype(np.float32), strict=True):
            places, counts = self._postings(request.field, word)
            sums[places] += counts.astype(np.float64) * weight
        norms = self._load(f"{request.field}.norms")
        singles = sums.astype(np.float32)  # as a server adds before it divides
        scores = np.divide(singles, norms, out=np.zeros(self._size), where=norms > 0)
        return scores.astype(np.float32)

    def _postings(self, field: Field, word: str) -> tuple[Array, Array]:
        """Places of the passages that have a word, and how often they have it."""
        code = self._numbers.get(word)
        if code is None:
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        offsets = self._load(f"{field}.posting_offsets")
        part = slice(int(offsets[code]), int(offsets[code + 1]))
        return (
            self._load(f"{field}.posting_passages")[part],
            self._load(f"{field}.posting_counts")[part],
        )

    @cached_property
    def _saturation(self) -> NDArray[np.float32]:
        """For both fields, since a passage has as many lemmas as tokens."""
        lengths = lucene_lengths(np.diff(self._load("offsets")))
        return bm25_saturation(lengths, self._extent[1], self._k1, self._b)

    @cached_property
    def _extent(self) -> tuple[int, float]:
        """Passages with at least one word, and their mean length."""
        return _extent(np.diff(self._load("offsets")))


class NgramSearcher:
    """BM25 of character n-grams, which are known by their hashes.

    The first queries read their posting lists from the file. A process that asks more of them makes
    a sparse matrix of all, which takes as long as many queries and answers each in half the time;
    both give the same bits.

    Args:
        load: Gives an array of the index.
        k1: BM25's term-frequency saturation.
        b: BM25's length normalisation.
    """

    def __init__(self, load: Load, k1: float, b: float) -> None:
        self._load = load
        self._k1 = k1
        self._b = b
        self._asked = 0

    def scores(self, boosts: Mapping[str, float]) -> NDArray[np.float32]:
        """BM25 of each passage for n-grams that count so much, shape (passages,)."""
        rows = find_rows(self._load("ngram.keys"), [gram_key(gram) for gram in boosts])
        known = rows >= 0
        rows = rows[known]
        counted = np.array(list(boosts.values()), dtype=np.float32)[known]
        df = np.diff(self._load("ngram.posting_offsets"))[rows]
        weights = counted * np.float32(1 + self._k1) * lucene_idf(df, self._extent[0])
        self._asked += 1
        if self._asked > _BEFORE_A_MATRIX:
            sums = weights.astype(np.float64) @ self._saturated[rows]
            return np.asarray(sums, dtype=np.float32)
        found = gather(self._load, "ngram", rows, "posting_counts")
        values = _saturated(found.values, self._saturation[found.passages])
        return found.sums(found.spread(weights.astype(np.float64)) * values, len(self._saturation))

    @cached_property
    def _extent(self) -> tuple[int, float]:
        """Passages with at least one n-gram, and their mean length in n-grams."""
        return _extent(self._load("ngram.lengths"))

    @cached_property
    def _saturation(self) -> NDArray[np.float32]:
        """`1 / (k1 (1 - b + b length / mean length))` of each passage, shape (passages,)."""
        lengths = lucene_lengths(self._load("ngram.lengths").astype(np.int64))
        return bm25_saturation(lengths, self._extent[1], self._k1, self._b)

    @cached_property
    def _saturated(self) -> "csr_array":
        """BM25's `f / (f + k1 (1 - b + b length / mean length))`, shape (n-grams, passages).

        It is the same for every query, so it is computed once.
        """
        from scipy.sparse import csr_array  # takes long to import

        passages = self._load("ngram.posting_passages").astype(np.int32)
        values = _saturated(self._load("ngram.posting_counts"), self._saturation[passages])
        offsets = self._load("ngram.posting_offsets")
        shape = (len(offsets) - 1, len(self._saturation))
        return csr_array((values, passages, offsets.astype(np.int32)), shape=shape)


def _saturated(counts: Array, saturation: NDArray[np.float32]) -> NDArray[np.float32]:
    """BM25's part of each posting without its weight, shape of `counts`."""
    values = counts.astype(np.float32)
    values *= saturation
    values /= 1 + values
    return values


class ExpansionSearcher:
    """Sums of expansion weights.

    Args:
        load: Gives an array of the index.
        words: All words of expansions, in the order of their posting lists.
        size: How many passages there are.
    """

    def __init__(self, load: Load, words: Sequence[str], size: int) -> None:
        self._load = load
        self._places = {word: place for place, word in enumerate(words)}
        self._size = size

    def scores(self, boosts: Mapping[str, float]) -> NDArray[np.float32]:
        """Sum of the weights of lemmas that count so much, shape (passages,)."""
        known = self._places
        places = [known[word] for word in boosts if word in known]
        weights = [boost for word, boost in boosts.items() if word in known]
        found = gather(self._load, "expansion", np.array(places, dtype=np.int64), "weights")
        spread = found.spread(np.array(weights, dtype=np.float32))
        return found.sums(spread * bit_weights(found.values), self._size)


class VectorSearcher:
    """Cosines of mean word vectors, of citation vectors and of encoder vectors.

    Args:
        load: Gives an array of the index.
        citation_length: The length of all citation vectors, or 0 if each has its own.
    """

    def __init__(self, load: Load, citation_length: float = 0.0) -> None:
        self._load = load
        self._citation_length = citation_length
        self._placed: dict[Field, NDArray[np.int64]] = {}
        self._kept: dict[str, ByteVectors | HalfVectors] = {}

    def search(self, requests: Sequence[SearchRequest]) -> Iterator[Scored]:
        """The cosines with each request of the kinds `BY_VECTOR`, in their order."""
        remaining = iter(requests)
        while batch := list(islice(remaining, _REQUESTS_TOGETHER)):
            found = {kind: self._compared(kind, batch) for kind in _ARRAYS}
            for request in batch:
                vector = request.direction
                if vector is None:
                    yield np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.int64)
                elif request.kind in found:
                    yield next(found[request.kind])
                else:
                    yield self._knn(vector, request.field)

    def _compared(self, kind: str, batch: Sequence[SearchRequest]) -> Iterator[Scored]:
        """The cosines with those requests of a batch that are of one kind and have a direction."""
        vectors = [each.direction for each in batch if each.kind == kind]
        queries = [vector for vector in vectors if vector is not None]
        if not queries:
            return
        kept = self._kept.get(kind)
        if kept is None:
            length = self._citation_length if kind == "citations" else 0.0
            kept = self._kept[kind] = compared(self._load(_ARRAYS[kind]), length)
        for cosines in kept.cosines(np.array(queries)):
            yield cosines, kept.places

    def _knn(self, vector: NDArray[np.float32], field: Field) -> Scored:
        vectors = self._load(f"{field}.mean_vectors")
        placed = self._placed.get(field)
        if placed is None:
            placed = self._placed[field] = np.flatnonzero(vectors.any(axis=1))
        return vectors @ vector, placed


def _extent(lengths: Array) -> tuple[int, float]:
    """How many passages are not empty, and their mean length."""
    passages = int(np.count_nonzero(lengths))
    return passages, float(lengths.sum(dtype=np.int64)) / passages if passages else 0.0
