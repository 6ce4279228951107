"""Searches of an index in this process: one class for each kind of array that is searched.

Each is given `load`, which gives an array of the index by its name; arrays are read when a search
first needs them. Scores are those of Elasticsearch, in its precision (`retrieval.weighting`).
"""

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, Integers, Singles
from allusion_es.language.citations.word_parts import find_rows, gram_key
from allusion_es.language.vectors.types import WordNumbers
from allusion_es.local.best_sums import (
    BLOCK,
    Allowed,
    Best,
    PostingLists,
    Postings,
    Scored,
    best_sums,
)
from allusion_es.local.format import ENCODER_VECTORS, VECTOR_LENGTHS
from allusion_es.local.mean_vectors import MeanVectors
from allusion_es.retrieval.byte_vectors import ByteVectors
from allusion_es.retrieval.encoder_vectors import HalfVectors, compared
from allusion_es.retrieval.expansion import bit_weights
from allusion_es.retrieval.types import FIELDS, STEM, Field, SearchRequest, TermStatistics
from allusion_es.retrieval.weighting import (
    bm25_of_saturated,
    bm25_saturation,
    bm25_weights,
    idf,
    lucene_idf,
    lucene_lengths,
    tfidf_query_weights,
)

Load = Callable[[str], Array]

_BEFORE_KEEPING = 32
"""Searches before it is worth to compute what each posting has, and keep it."""

_LAST = chr(sys.maxunicode)
"""The last of all characters, which no word has."""

BY_VECTOR = ("knn", "citations", "dense")
"""Kinds of search that compare vectors."""

_ARRAYS = {"citations": "citation_vectors", "dense": ENCODER_VECTORS}
"""The arrays of those whose vectors lie in one array, whatever the field."""

_REQUESTS_TOGETHER = 16
"""Requests that are compared at once: one product of matrices, and 2 MB for 36,000 passages."""

_MOST_KEPT = 1 << 23
"""Postings of which it is kept: 32 MB. Of more it is computed for the words of each query."""


def posting_lists(load: Load, kind: str, words: Integers, values: Array) -> PostingLists:
    """The posting lists of words in their order.

    Args:
        load: Gives an array of the index.
        kind: `token`, `lemma`, `ngram` or `expansion`.
        words: Their rows among the posting lists.
        values: What passages have of the words, one for each posting of the kind.
    """
    offsets, passages = (load(f"{kind}.posting_{name}") for name in ("offsets", "passages"))
    parts = list(map(slice, offsets[words].tolist(), offsets[words + 1].tolist()))
    return PostingLists([passages[part] for part in parts], [values[part] for part in parts])


class _Parts:
    """The parts of postings without the weights of their words, as BM25's saturated frequencies.

    It is the same for every query. The first ones compute it for the postings of their words; a
    process that asks more of them computes it once for all. Both give the same bits.

    Args:
        load: Gives an array of the index.
        kind: The kind of posting lists, as in `posting_lists`.
        part: Computes it of counts and passages of postings.
    """

    def __init__(
        self, load: Load, kind: str, part: Callable[[Array, Integers], NDArray[np.float32]]
    ) -> None:
        self._load = load
        self._kind = kind
        self._part = part
        self._asked = 0

    def lists(
        self, words: Integers
    ) -> tuple[PostingLists, Callable[[Postings], NDArray[np.float32]]]:
        """The posting lists of words, and what gives the part of each of some of their postings."""
        self._asked += 1
        if self._asked > _BEFORE_KEEPING and len(self._counts) <= _MOST_KEPT:
            return posting_lists(
                self._load, self._kind, words, self._kept
            ), lambda each: each.values
        lists = posting_lists(self._load, self._kind, words, self._counts)
        return lists, lambda each: self._part(each.values, each.passages)

    @cached_property
    def _counts(self) -> Array:
        return self._load(f"{self._kind}.posting_counts")

    @cached_property
    def _kept(self) -> NDArray[np.float32]:
        return self._part(self._counts, self._load(f"{self._kind}.posting_passages"))


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
        self._parts = {field: _Parts(load, field, self._saturated) for field in FIELDS}

    def best(self, request: SearchRequest, allowed: Allowed) -> Scored:
        """The best passages for `bm25`, `tfidf` or `stems`, as `best_sums` gives them."""
        if request.kind == "stems":
            return self._of_stems(request, allowed)
        return (self._bm25 if request.kind == "bm25" else self._tfidf)(request, allowed)

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

    def _bm25(self, request: SearchRequest, allowed: Allowed) -> Scored:
        codes, boosts = self._known(request)
        lists, saturated = self._parts[request.field].lists(codes)
        df = np.fromiter(map(len, lists.passages), np.int64, len(codes))
        weights = bm25_weights(lucene_idf(df, self._extent[0]), self._k1, boosts)
        return best_sums(
            lists,
            lambda each: bm25_of_saturated(each.spread(weights), saturated(each)),
            request.size,
            self._size,
            allowed,
        )

    def _tfidf(self, request: SearchRequest, allowed: Allowed) -> Scored:
        words = list(request.words)
        statistics = self.statistics(request.field, words)
        idfs = idf(statistics.df, statistics.passages)
        # Words that the index lacks make the query longer, too.
        every = tfidf_query_weights(request.words, words, idfs).astype(np.float32)
        codes = self._numbers.of(words)
        weights, codes = every[codes >= 0], codes[codes >= 0]
        every_count = self._load(f"{request.field}.posting_counts")
        lists = posting_lists(self._load, request.field, codes, every_count)
        sums = best_sums(
            lists,
            lambda each: each.values.astype(np.float64) * each.spread(weights),
            sys.maxsize,  # all, since they are still divided, as a server does
            self._size,
            allowed,
        )
        norms = self._load(f"{request.field}.norms")[sums.places]
        scores = np.divide(sums.scores, norms, out=np.zeros(len(norms)), where=norms > 0)
        found = np.flatnonzero(scores)
        return Scored(sums.places[found], scores[found].astype(np.float32))

    def _of_stems(self, request: SearchRequest, allowed: Allowed) -> Scored:
        """The sums of what each beginning adds to passages with such a lemma."""
        lists = [self._having(stem) for stem in request.words]
        weights = np.array(list(request.words.values()), dtype=np.float32)
        return best_sums(
            PostingLists(lists, lists),
            lambda each: each.spread(weights),
            request.size,
            self._size,
            allowed,
        )

    def _having(self, stem: str) -> Array:
        """The passages that have a lemma with this beginning, ascending, each once."""
        offsets, passages = (self._load(f"lemma.posting_{x}") for x in ("offsets", "passages"))
        first = bisect_left(self._all, stem)
        # Words that begin alike stand together.
        beyond = stem + (_LAST if len(stem) >= STEM else "\0")
        last = bisect_left(self._all, beyond, lo=first)
        found = np.sort(passages[int(offsets[first]) : int(offsets[last])])
        return found[np.concatenate(([True], found[1:] != found[:-1]))[: len(found)]]

    def _known(self, request: SearchRequest) -> tuple[Integers, NDArray[np.float64]]:
        """The words of a request that the index has, by place, and how often each counts."""
        codes = self._numbers.of(list(request.words))
        counts = np.array(list(request.words.values()), dtype=np.float64)
        known = codes >= 0
        return codes[known], counts[known]

    def _saturated(self, counts: Array, passages: Integers) -> NDArray[np.float32]:
        return np.float32(1) + counts * self._saturation[passages]

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

    Args:
        load: Gives an array of the index.
        k1: BM25's term-frequency saturation.
        b: BM25's length normalisation.
    """

    def __init__(self, load: Load, k1: float, b: float) -> None:
        self._load = load
        self._k1 = k1
        self._b = b
        self._parts = _Parts(load, "ngram", self._saturated)

    def best(self, boosts: Mapping[str, float], size: int, allowed: Allowed = None) -> Scored:
        """The best passages by BM25 for n-grams that count so much, as `best_sums` gives them."""
        rows = find_rows(self._load("ngram.keys"), [gram_key(gram) for gram in boosts])
        known = rows >= 0
        counted = np.array(list(boosts.values()), dtype=np.float32)[known]
        lists, saturated = self._parts.lists(rows[known])
        df = np.fromiter(map(len, lists.passages), np.int64, len(lists.passages))
        weights = counted * np.float32(1 + self._k1) * lucene_idf(df, self._extent[0])
        doubles = weights.astype(np.float64)
        return best_sums(
            lists,
            lambda each: each.spread(doubles) * saturated(each),
            size,
            len(self._saturation),
            allowed,
        )

    @cached_property
    def _extent(self) -> tuple[int, float]:
        """Passages with at least one n-gram, and their mean length in n-grams."""
        return _extent(self._load("ngram.lengths"))

    @cached_property
    def _saturation(self) -> NDArray[np.float32]:
        """`1 / (k1 (1 - b + b length / mean length))` of each passage, shape (passages,)."""
        lengths = lucene_lengths(self._load("ngram.lengths").astype(np.int64))
        return bm25_saturation(lengths, self._extent[1], self._k1, self._b)

    def _saturated(self, counts: Array, passages: Integers) -> NDArray[np.float32]:
        """BM25's part of each posting without its weight, shape of `counts`."""
        values = counts.astype(np.float32)
        values *= self._saturation[passages]
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

    def best(self, boosts: Mapping[str, float], size: int, allowed: Allowed = None) -> Scored:
        """The best passages by weights of lemmas that count so much, as `best_sums` gives them."""
        known = self._places
        places = [known[word] for word in boosts if word in known]
        counted = [boost for word, boost in boosts.items() if word in known]
        rows, weights = np.array(places, dtype=np.int64), np.array(counted, dtype=np.float32)
        return best_sums(
            posting_lists(self._load, "expansion", rows, self._load("expansion.weights")),
            lambda each: each.spread(weights) * bit_weights(each.values),
            size,
            self._size,
            allowed,
        )


class VectorSearcher:
    """Cosines of mean word vectors, of citation vectors and of encoder vectors.

    Args:
        load: Gives an array of the index.
        find: The same, or None where the index has no such array.
        citation_length: The length of all citation vectors, or 0 if each has its own.
    """

    def __init__(
        self, load: Load, find: Callable[[str], Array | None], citation_length: float = 0.0
    ) -> None:
        self._load = load
        self._find = find
        self._citation_length = citation_length
        self._means: dict[Field, MeanVectors] = {}
        self._kept: dict[str, ByteVectors | HalfVectors] = {}

    def search(self, requests: Sequence[tuple[SearchRequest, Allowed]]) -> Iterator[Scored]:
        """The best passages by each request of the kinds `BY_VECTOR`, in their order.

        Args:
            requests: Each with the passages that it may find.
        """
        remaining = iter(requests)
        while batch := list(islice(remaining, _REQUESTS_TOGETHER)):
            found = {kind: self._compared(kind, batch) for kind in _ARRAYS}
            for request, allowed in batch:
                vector = request.direction
                if vector is None:
                    yield Best(request.size).found()
                elif request.kind in found:
                    yield next(found[request.kind])
                else:
                    best = Best(request.size, allowed)
                    best.add(*self._knn(vector, request.field))
                    yield best.found()

    def _compared(
        self, kind: str, batch: Sequence[tuple[SearchRequest, Allowed]]
    ) -> Iterator[Scored]:
        """The best by those requests of a batch that are of one kind and have a direction."""
        vectors, best = list[Singles](), list[Best]()
        for request, allowed in batch:
            vector = request.direction
            if request.kind == kind and vector is not None:
                vectors.append(vector)
                best.append(Best(request.size, allowed))
        if not vectors:
            return
        kept = self._kept.get(kind)
        if kept is None:
            length = self._citation_length if kind == "citations" else 0.0
            kept = self._kept[kind] = compared(self._load(_ARRAYS[kind]), length)
        queries = np.array(vectors)
        for first in range(0, len(kept), BLOCK):
            start, end = np.searchsorted(kept.places, (first, first + BLOCK))
            places = kept.places[start:end]
            cosines = kept.cosines(queries, slice(first, first + BLOCK))
            for each, row in zip(best, cosines, strict=True):
                each.add(places, row[places - first])
        yield from (each.found() for each in best)

    def _knn(self, vector: NDArray[np.float32], field: Field) -> Scored:
        means = self._means.get(field)
        if means is None:
            arrays = [self._load(name) for name in (f"{field}.codes", "offsets", "word_vectors")]
            lengths = self._find(f"{field}.{VECTOR_LENGTHS}")
            means = MeanVectors(arrays[0], arrays[1], arrays[2], lengths)
            self._means[field] = means
        return means.cosines(vector)


def _extent(lengths: Array) -> tuple[int, float]:
    """How many passages are not empty, and their mean length."""
    passages = int(np.count_nonzero(lengths))
    return passages, float(lengths.sum(dtype=np.int64)) / passages if passages else 0.0
