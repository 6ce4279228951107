"""The index in this process: opened from a file, searched with numpy."""

import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, ArrayFile
from allusion_es.core.errors import IndexDamagedError, IndexMissingError, VerseError
from allusion_es.corpora.passage import Passage
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.language.vectors import KnownVectors, NoVectors, WordVectors
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.local_build import FORMAT, READABLE, decode_record
from allusion_es.retrieval.local_vectors import LocalVectors
from allusion_es.retrieval.texts import CodedTexts
from allusion_es.retrieval.types import Field, Ranking, SearchRequest, TermStatistics, Within
from allusion_es.retrieval.weighting import (
    bm25,
    bm25_saturation,
    idf,
    lucene_idf,
    lucene_lengths,
    tfidf_query_weights,
)


class LocalIndex:
    """An index that `build_local` wrote; a `CandidateIndex`.

    Args:
        path: The file.
        vectors: Gives the vectors of words that the index has not seen; called when needed.
            Without it, such words have none.
        models: Gives the citation vectors of a name; called when needed.

    Raises:
        IndexMissingError: There is no such file.
        IndexDamagedError: It is damaged, or of another format; the message says how to rebuild.
    """

    def __init__(
        self,
        path: Path,
        vectors: Callable[[], WordVectors] | None = None,
        models: Callable[[str], CitationVectors] | None = None,
    ) -> None:
        self.name = path.stem
        self._rebuild = f"rebuild it with 'allusion-es index … --name {self.name}'"
        try:
            self._file = ArrayFile(path, self._rebuild)
        except FileNotFoundError as error:
            raise IndexMissingError(
                f"there is no index {self.name!r} ({path}); build it with 'allusion-es index'"
            ) from error
        meta = self._file.meta
        self.fingerprint = self._file.fingerprint
        if meta.get("format") not in READABLE:
            raise IndexDamagedError(
                f"{path}: index format {meta.get('format')} instead of {FORMAT}; {self._rebuild}"
            )
        self.settings = IndexSettings.from_json(meta["settings"])
        self._size = int(meta["passages"])
        self._facets: dict[str, list[str]] = meta["facets"]
        self._elsewhere = vectors
        self._models = models
        self._arrays: dict[str, Array] = {}
        self._saturations: dict[Field, NDArray[np.float32]] = {}
        self._vectors = LocalVectors(self._file, self._array, self.name, self._rebuild)

    def __len__(self) -> int:
        """How many passages it holds."""
        return self._size

    @property
    def max_candidates(self) -> int:
        """There is no limit in this process."""
        return sys.maxsize

    @cached_property
    def vectors(self) -> WordVectors | None:
        """The word vectors that it was built with, if any."""
        if "word_vectors" not in self._file:
            return None
        elsewhere = self._elsewhere or (lambda: NoVectors(self.settings.vectors, table.shape[1]))
        table = self._array("word_vectors")
        return KnownVectors(self._numbers, table, elsewhere, self.settings.vectors)

    @cached_property
    def citations(self) -> CitationVectors | None:
        """See `CandidateIndex.citations`."""
        if "citation_vectors" not in self._file or self._models is None:
            return None
        return self._models(self.settings.citations)

    def check(self) -> None:
        """Compare every checksum.

        Raises:
            IndexDamagedError: One does not agree.
        """
        self._file.check()

    def ids(self, within: Within = Within()) -> tuple[str, ...]:  # noqa: B008 - frozen
        """See `CandidateIndex.ids`."""
        allowed = self._allowed(within)
        places = range(len(self)) if allowed is None else np.flatnonzero(allowed).tolist()
        return tuple(sorted(self._ids[place] for place in places))

    def search(self, requests: Sequence[SearchRequest]) -> list[Ranking]:
        """See `CandidateIndex.search`."""
        return [self._search(request) for request in requests]

    def texts(self, field: Field, ids: Sequence[str]) -> CodedTexts:
        """See `CandidateIndex.texts`."""
        offsets = self._array("offsets")
        places = self._places(ids)
        starts, lengths = offsets[places], offsets[places + 1] - offsets[places]
        ends = np.concatenate(([0], np.cumsum(lengths)))
        at = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)
        distinct, codes = np.unique(self._array(f"{field}.codes")[at], return_inverse=True)
        words = self.words
        return CodedTexts(tuple([words[code] for code in distinct.tolist()]), codes, ends)

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """See `CandidateIndex.passages`."""
        records, offsets = self._array("records"), self._array("record_offsets")
        return [
            decode_record(records[offsets[place] : offsets[place + 1]].tobytes())
            for place in self._places(ids)
        ]

    def statistics(self, field: Field, words: Sequence[str]) -> TermStatistics:
        """See `CandidateIndex.statistics`."""
        numbers = self._numbers
        codes = np.array([numbers.get(word, -1) for word in words], dtype=np.int64)
        known = codes >= 0
        df = np.zeros(len(words), dtype=np.int64)
        cf = np.zeros(len(words), dtype=np.int64)
        postings = self._array(f"{field}.posting_offsets")
        df[known] = postings[codes[known] + 1] - postings[codes[known]]
        cf[known] = self._array(f"{field}.cf")[codes[known]]
        passages, mean_length = self._extent
        return TermStatistics(df, cf, passages, mean_length)

    def _search(self, request: SearchRequest) -> Ranking:
        if request.kind in ("knn", "citations"):
            scores, found = self._vectors.search(request)
        else:
            scores = self._bm25(request) if request.kind == "bm25" else self._tfidf(request)
            found = np.flatnonzero(scores > 0)
        allowed = self._allowed(request.within)
        if allowed is not None:
            found = found[allowed[found]]
        return self._best(found, scores[found], request.size)

    def _bm25(self, request: SearchRequest) -> NDArray[np.float32]:
        k1, b = self.settings.k1, self.settings.b
        passages, mean_length = self._extent
        saturation = self._saturations.get(request.field)
        if saturation is None:
            lengths = lucene_lengths(np.diff(self._array("offsets")))
            saturation = bm25_saturation(lengths, mean_length, k1, b)
            self._saturations[request.field] = saturation
        sums = np.zeros(self._size)
        for word, count in request.words.items():
            places, counts = self._postings(request.field, word)
            if len(places):
                weight = lucene_idf(np.array([len(places)]), passages)[0]
                sums[places] += bm25(counts, saturation[places], weight, k1, count)
        return sums.astype(np.float32)

    def _tfidf(self, request: SearchRequest) -> NDArray[np.float32]:
        words = list(request.words)
        statistics = self.statistics(request.field, words)
        idfs = idf(statistics.df, statistics.passages)
        sums = np.zeros(self._size)
        weights = tfidf_query_weights(request.words, words, idfs)
        for word, weight in zip(words, weights.astype(np.float32), strict=True):
            places, counts = self._postings(request.field, word)
            sums[places] += counts.astype(np.float64) * weight
        norms = self._array(f"{request.field}.norms")
        singles = sums.astype(np.float32)  # as a server adds before it divides
        scores = np.divide(singles, norms, out=np.zeros(self._size), where=norms > 0)
        return scores.astype(np.float32)

    def _postings(self, field: Field, word: str) -> tuple[Array, Array]:
        code = self._numbers.get(word)
        if code is None:
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        offsets = self._array(f"{field}.posting_offsets")
        part = slice(int(offsets[code]), int(offsets[code + 1]))
        return (
            self._array(f"{field}.posting_passages")[part],
            self._array(f"{field}.posting_counts")[part],
        )

    def _allowed(self, within: Within) -> NDArray[np.bool_] | None:
        """Which passages may be returned; None for all."""
        allowed = None
        chosen = (("book", within.books), ("testament", within.testaments), ("work", within.works))
        for facet, values in chosen:
            if values:
                codes = [code for code, v in enumerate(self._facets[facet]) if v in values]
                fits = np.isin(self._array(f"facet.{facet}"), codes)
                allowed = fits if allowed is None else allowed & fits
        return allowed

    def _best(self, places: NDArray[Any], scores: NDArray[np.float32], size: int) -> Ranking:
        if len(places) > size > 0:
            least = np.partition(scores, len(scores) - size)[len(scores) - size]
            kept = scores >= least
            places, scores = places[kept], scores[kept]
        order = np.lexsort((self._array("id_order")[places], -scores))[:size]
        ids = self._ids
        return Ranking(
            tuple(ids[place] for place in places[order].tolist()),
            scores[order].astype(np.float64),
        )

    def _array(self, name: str) -> Array:
        array = self._arrays.get(name)
        if array is None:
            array = self._arrays[name] = self._file.load(name)
        return array

    def _places(self, ids: Sequence[str]) -> NDArray[np.int64]:
        places = self._places_of_ids
        try:
            return np.array([places[identifier] for identifier in ids], dtype=np.int64)
        except KeyError as error:
            raise VerseError(f"index {self.name!r} has no passage {error.args[0]!r}") from None

    @cached_property
    def _extent(self) -> tuple[int, float]:
        """Passages with at least one word, and their mean length."""
        lengths = np.diff(self._array("offsets"))
        passages = int(np.count_nonzero(lengths))
        return passages, float(lengths.sum()) / passages if passages else 0.0

    @cached_property
    def words(self) -> list[str]:
        """All words that occur as token or lemma, sorted."""
        return _lines(self._array("words"))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _ids(self) -> list[str]:
        return _lines(self._array("ids"))

    @cached_property
    def _places_of_ids(self) -> dict[str, int]:
        return {identifier: place for place, identifier in enumerate(self._ids)}


def _lines(data: Array) -> list[str]:
    text = data.tobytes().decode()
    return text.split("\n") if text else []
