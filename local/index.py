"""The index in this process: opened from a file, searched with numpy."""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import ArrayFile
from allusion_es.core.errors import IndexDamagedError, IndexMissingError, VerseError
from allusion_es.corpora.passage import Passage
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.vectors.types import KnownVectors, NoVectors, WordNumbers, WordVectors
from allusion_es.local.build import FACETS, FORMAT, READABLE, decode_record
from allusion_es.local.expansion import WEIGHTS, LocalExpansion
from allusion_es.local.grams import LocalGrams
from allusion_es.local.layout import LocalLayout
from allusion_es.local.vectors import BY_VECTOR, LocalVectors, Scored
from allusion_es.local.words import LocalWords
from allusion_es.retrieval.coded_texts import CodedTexts
from allusion_es.retrieval.index import Capability, IndexSettings, require_capability
from allusion_es.retrieval.parallels import GROUPS, MEMBERS, Parallels
from allusion_es.retrieval.types import Field, Ranking, SearchFilter, SearchRequest, TermStatistics


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
        except OSError as error:
            raise IndexDamagedError(
                f"{path}: cannot be read ({error.strerror or error}); {self._rebuild}"
            ) from error
        self.fingerprint = self._file.fingerprint
        found = self._file.meta.get("format")
        if found not in READABLE:
            raise IndexDamagedError(
                f"{path}: index format {found!r:.40} instead of {FORMAT}; {self._rebuild}"
            )
        self._layout = LocalLayout(self._file, FACETS)
        self._array = self._layout.load
        self.settings: IndexSettings = self._layout.settings
        self._elsewhere = vectors
        self._models = models
        self._vectors = LocalVectors(self._array)
        self._grams = LocalGrams(self._file, self._array, self.settings.k1, self.settings.b)

    def __len__(self) -> int:
        """How many passages it holds."""
        return self._layout.passages

    @property
    def max_candidates(self) -> int:
        """There is no limit in this process."""
        return sys.maxsize

    @cached_property
    def capabilities(self) -> frozenset[Capability]:
        """See `CandidateIndex.capabilities`."""
        there: dict[Capability, bool] = {
            "knn": "word_vectors" in self._file,
            "citations": "citation_vectors" in self._file,
            "ngrams": self._grams.known,
            "expansion": WEIGHTS in self._file,
            "parallels": GROUPS in self._file,
        }
        return frozenset(part for part, is_there in there.items() if is_there)

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
        citations = self._models(self.settings.citations)
        if self._array("citation_vectors").shape[1] != citations.dimension:
            raise self._file.damaged("its citation vectors are of another length")
        return citations

    def check(self) -> None:
        """Compare every checksum.

        Raises:
            IndexDamagedError: One does not agree.
        """
        self._file.check()

    def ids(self, search_filter: SearchFilter = SearchFilter()) -> tuple[str, ...]:  # noqa: B008 - frozen
        """See `CandidateIndex.ids`."""
        allowed = self._allowed(search_filter)
        places = range(len(self)) if allowed is None else np.flatnonzero(allowed).tolist()
        return tuple(sorted(self._ids[place] for place in places))

    def books(self) -> frozenset[str]:
        """See `CandidateIndex.books`."""
        return frozenset(self._layout.facets["book"]) - {""}

    def search(self, requests: Sequence[SearchRequest]) -> list[Ranking]:
        """See `CandidateIndex.search`."""
        for request in requests:
            require_capability(request.kind, self.capabilities, self.name)
        cosines = self._vectors.search([each for each in requests if each.kind in BY_VECTOR])
        return [self._search(request, cosines) for request in requests]

    def texts(self, field: Field, ids: Sequence[str]) -> CodedTexts:
        """See `CandidateIndex.texts`."""
        offsets = self._array("offsets")
        places = self._places(ids)
        starts, lengths = offsets[places], offsets[places + 1] - offsets[places]
        ends = np.concatenate(([0], np.cumsum(lengths)))
        at = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)
        distinct, codes = np.unique(self._array(f"{field}.codes")[at], return_inverse=True)
        known = self.words
        words = tuple([known[code] for code in distinct.tolist()])
        self._numbers.remember(words, distinct.astype(np.int64))
        return CodedTexts(words, codes, ends)

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """See `CandidateIndex.passages`."""
        records, offsets = self._array("records"), self._array("record_offsets")
        try:
            return [
                decode_record(records[offsets[place] : offsets[place + 1]].tobytes())
                for place in self._places(ids)
            ]
        except (ValueError, TypeError, RecursionError) as error:
            raise self._file.damaged("a passage cannot be read") from error

    def parallels(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        """See `CandidateIndex.parallels`."""
        if "parallels" not in self.capabilities:
            return [()] * len(ids)
        known, names = self._parallels, self._ids
        return [
            tuple(names[other] for other in known.others(place))
            for place in self._places(ids).tolist()
        ]

    def statistics(self, field: Field, words: Sequence[str]) -> TermStatistics:
        """See `CandidateIndex.statistics`."""
        return self._scorer.statistics(field, words)

    def _search(self, request: SearchRequest, cosines: Iterator[Scored]) -> Ranking:
        if request.kind in BY_VECTOR:
            scores, found = next(cosines)
        else:
            scores = self._by_words(request)
            found = np.flatnonzero(scores > 0)
        allowed = self._allowed(request.search_filter)
        if allowed is not None:
            found = found[allowed[found]]
        return self._best(found, scores[found], request.size)

    def _by_words(self, request: SearchRequest) -> NDArray[np.float32]:
        if request.kind == "ngrams":
            return self._grams.scores(request.words)
        if request.kind == "expansion":
            return self._expansion.scores(request.words)
        return self._scorer.scores(request)

    def _allowed(self, search_filter: SearchFilter) -> NDArray[np.bool_] | None:
        """Which passages may be returned; None for all."""
        allowed = None
        chosen = (
            ("book", search_filter.books),
            ("testament", search_filter.testaments),
            ("work", search_filter.works),
        )
        for facet, values in chosen:
            if values:
                codes = [code for code, v in enumerate(self._layout.facets[facet]) if v in values]
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

    def _places(self, ids: Sequence[str]) -> NDArray[np.int64]:
        places = self._places_of_ids
        try:
            return np.array([places[identifier] for identifier in ids], dtype=np.int64)
        except KeyError as error:
            raise VerseError(f"index {self.name!r} has no passage {error.args[0]!r}") from None

    @cached_property
    def _parallels(self) -> Parallels:
        return Parallels(self._array(MEMBERS), self._array(GROUPS))

    @cached_property
    def _expansion(self) -> LocalExpansion:
        return LocalExpansion(self._array, len(self))

    @cached_property
    def _scorer(self) -> LocalWords:
        return LocalWords(self._array, self._numbers, self.settings.k1, self.settings.b)

    @property
    def words(self) -> list[str]:
        """All words that occur as token or lemma, sorted."""
        return self._layout.words

    @cached_property
    def _numbers(self) -> WordNumbers:
        return WordNumbers(self.words)

    @property
    def _ids(self) -> list[str]:
        return self._layout.ids

    @cached_property
    def _places_of_ids(self) -> dict[str, int]:
        return {identifier: place for place, identifier in enumerate(self._ids)}
