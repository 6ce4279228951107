"""The index in this process: opened from a file, searched with numpy."""

import sys
from collections.abc import Callable, Sequence, Set
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, Floats, Singles, ranges
from allusion_es.core.errors import VerseError
from allusion_es.corpora.passage import Passage, Work
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.encoders.sentences import SentenceEncoder
from allusion_es.language.encoders.settings import EncoderSettings
from allusion_es.language.vectors.types import KnownVectors, NoVectors, WordNumbers, WordVectors
from allusion_es.local.best_sums import Allowed, Best, Scored
from allusion_es.local.format import ENCODER_VECTORS, SavedIndex, decode_record
from allusion_es.local.searchers import (
    BY_VECTOR,
    ExpansionSearcher,
    NgramSearcher,
    VectorSearcher,
    WordSearcher,
)
from allusion_es.retrieval.coded_texts import CodedTexts
from allusion_es.retrieval.encoder_vectors import cosines_of
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
        encoders: Gives the sentence encoder of an index's settings; called when needed.
        rankers: Gives the file of the learned ranker of a name; called when needed.

    Raises:
        IndexMissingError: There is no such file.
        IndexDamagedError: It is damaged, or of another format; the message says how to rebuild.
    """

    def __init__(
        self,
        path: Path,
        vectors: Callable[[], WordVectors] | None = None,
        models: Callable[[str], CitationVectors] | None = None,
        encoders: Callable[[EncoderSettings], SentenceEncoder] | None = None,
        rankers: Callable[[str], Path] | None = None,
    ) -> None:
        self._saved = SavedIndex(path)
        self._array = self._saved.load
        self.name = self._saved.name
        self.fingerprint = self._saved.file.fingerprint
        self.settings: IndexSettings = self._saved.settings
        self._elsewhere = vectors
        self._models = models
        self._encoders = encoders
        self._rankers = rankers
        self._vectors = VectorSearcher(self._array, self._saved.find, self._saved.citation_length)
        self._ngrams = NgramSearcher(self._array, self.settings.k1, self.settings.b)

    def __len__(self) -> int:
        """How many passages it holds."""
        return self._saved.passages

    @property
    def max_candidates(self) -> int:
        """The most passages that one search returns: in this process there is no limit."""
        return sys.maxsize

    @cached_property
    def capabilities(self) -> frozenset[Capability]:
        """The kinds of searches that it was built for, and whether it knows parallels."""
        arrays: dict[Capability, str] = {
            "knn": "word_vectors",
            "citations": "citation_vectors",
            "ngrams": "ngram.keys",
            "expansion": "expansion.weights",
            "dense": ENCODER_VECTORS,
            "parallels": GROUPS,
        }
        return frozenset(name for name, array in arrays.items() if array in self._saved)

    @cached_property
    def vectors(self) -> WordVectors | None:
        """The word vectors that it was built with, if any."""
        if "knn" not in self.capabilities:
            return None
        elsewhere = self._elsewhere or (lambda: NoVectors(self.settings.vectors, table.shape[1]))
        table = self._array("word_vectors")
        return KnownVectors(self._numbers, table, elsewhere, self.settings.vectors)

    @cached_property
    def citations(self) -> CitationVectors | None:
        """The citation vectors that its passages were given, if any.

        Raises:
            InputError: They are not on this machine, or their file cannot be used.
            IndexDamagedError: Its passages have vectors of another length.
        """
        if "citations" not in self.capabilities or self._models is None:
            return None
        citations = self._models(self.settings.citations)
        if self._array("citation_vectors").shape[1] != citations.dimension:
            raise self._saved.file.damaged("its citation vectors are of another length")
        return citations

    @cached_property
    def encoder(self) -> SentenceEncoder | None:
        """The sentence encoder that its passages were encoded with, as in `CandidateIndex`."""
        if "dense" not in self.capabilities or self._encoders is None:
            return None
        if self.settings.encoder is None:
            raise self._saved.file.damaged("it has encoder vectors of no encoder")
        return self._encoders(self.settings.encoder)

    @property
    def ranker(self) -> Path | None:
        """The file of the ranker that was learned for it, as in `CandidateIndex`."""
        name = self.settings.ranker
        return self._rankers(name) if name and self._rankers else None

    def encoder_cosines(self, vector: Singles, ids: Sequence[str]) -> Floats:
        """Cosines with the passages' encoder vectors, as in `CandidateIndex`."""
        return cosines_of(self.encoder_rows(ids), vector)

    def encoder_rows(self, ids: Sequence[str]) -> Array:
        """The passages' encoder vectors as they are kept, shape (len(ids), dimension).

        Raises:
            UsageError: The index has none.
            VerseError: An id is not in the index; the message names it.
        """
        require_capability("dense", self.capabilities, self.name)
        return np.asarray(self._array(ENCODER_VECTORS)[self._places(ids)])

    def check(self) -> None:
        """Compare the checksum of every array.

        Raises:
            IndexDamagedError: An array has changed since it was written.
        """
        self._saved.file.check()

    def ids(self, search_filter: SearchFilter = SearchFilter()) -> tuple[str, ...]:  # noqa: B008 - frozen
        """Ids of the passages that the filter lets pass, sorted; all by default."""
        allowed = self._allowed(search_filter)
        places = range(len(self)) if allowed is None else np.flatnonzero(allowed).tolist()
        return tuple(sorted(self._ids[place] for place in places))

    def books(self) -> frozenset[str]:
        """OSIS codes of its passages' books; empty where none is of the Bible."""
        return frozenset(self._saved.facets["book"]) - {""}

    def works(self) -> frozenset[Work]:
        """The works of its passages, each with its author."""
        return frozenset(self._works)

    def search(self, requests: Sequence[SearchRequest]) -> list[Ranking]:
        """Answer several requests, in their order; a passage with score 0 is no hit.

        Raises:
            UsageError: The index was built without what a request needs.
        """
        for request in requests:
            require_capability(request.kind, self.capabilities, self.name)
        # Those of one query have the same filter.
        filters = {request.search_filter for request in requests}
        allowed = {each: self._allowed(each) for each in filters}
        asked = [(request, allowed[request.search_filter]) for request in requests]
        # Vectors of several requests are compared at once, one product of matrices for all.
        near = self._vectors.search([each for each in asked if each[0].kind in BY_VECTOR])
        return [
            self._ranking(
                next(near) if request.kind in BY_VECTOR else self._by_words(request, mask),
                request.size,
            )
            for request, mask in asked
        ]

    def texts(self, field: Field, ids: Sequence[str]) -> CodedTexts:
        """The words of each passage, in order, repetitions kept.

        Raises:
            VerseError: An id is not in the index; the message names it.
        """
        offsets = self._array("offsets")
        places = self._places(ids)
        starts, lengths = offsets[places], offsets[places + 1] - offsets[places]
        ends = np.concatenate(([0], np.cumsum(lengths)))
        codes, known = self._array(f"{field}.codes")[ranges(starts, lengths)], self.words
        # Marking the words takes less time than sorting their numbers.
        is_there = np.zeros(len(known), dtype=bool)
        is_there[codes] = True
        distinct = np.flatnonzero(is_there)
        place_of = np.zeros(len(known), dtype=np.int64)
        place_of[distinct] = np.arange(len(distinct))
        codes = place_of[codes]
        words = tuple([known[code] for code in distinct.tolist()])
        self._numbers.remember(words, distinct.astype(np.int64))
        return CodedTexts(words, codes, ends)

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """The passages with these ids, in this order (without their words).

        Raises:
            VerseError: An id is not in the index; the message names it.
        """
        records, offsets = self._array("records"), self._array("record_offsets")
        try:
            return [
                decode_record(records[offsets[place] : offsets[place + 1]].tobytes())
                for place in self._places(ids)
            ]
        except (ValueError, TypeError, RecursionError) as error:
            raise self._saved.file.damaged("a passage cannot be read") from error

    def parallels(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        """For each passage the ids of those that say nearly the same, in their order.

        Raises:
            VerseError: An id is not in the index; the message names it.
        """
        if "parallels" not in self.capabilities:
            return [()] * len(ids)
        known, names = self._parallels, self._ids
        return [
            tuple(names[other] for other in known.others(place))
            for place in self._places(ids).tolist()
        ]

    def statistics(self, field: Field, words: Sequence[str]) -> TermStatistics:
        """Document and collection frequencies of `words`, shape (len(words),)."""
        return self._words.statistics(field, words)

    def _by_words(self, request: SearchRequest, allowed: Allowed) -> Scored:
        if request.kind == "ngrams":
            return self._ngrams.best(request.words, request.size, allowed)
        if request.kind == "expansion":
            return self._expansion.best(request.words, request.size, allowed)
        if request.kind == "named":
            return self._named(request, allowed)
        return self._words.best(request, allowed)

    def _named(self, request: SearchRequest, allowed: Allowed) -> Scored:
        """The best of the passages that are given a score above 0."""
        places, given = self._places_of_ids, request.words
        known = [name for name, score in given.items() if score > 0 and name in places]
        best = Best(request.size, allowed)
        best.add(
            np.array([places[name] for name in known], dtype=np.int64),
            np.array([given[name] for name in known], dtype=np.float32),
        )
        return best.found()

    def _allowed(self, search_filter: SearchFilter) -> Allowed:
        """True for each passage that the filter lets pass, shape (passages,); None for all."""
        chosen = (
            ("book", search_filter.books, True),
            ("testament", search_filter.testaments, True),
            ("work", search_filter.works, True),
            ("author", search_filter.authors, True),
            ("work", search_filter.excluded_works, False),
            ("author", search_filter.excluded_authors, False),
        )
        found = [self._have(name, values) == only for name, values, only in chosen if values]
        if search_filter.left_out:
            works = [n for n, work in enumerate(self._works) if work in search_filter.left_out]
            found.append(~np.isin(self._work_of_each, works))
        return np.logical_and.reduce(found) if found else None

    def _have(self, facet: str, values: Set[str]) -> NDArray[np.bool_]:
        """Whether each passage has one of the values of a property, shape (passages,)."""
        known = self._saved.facets.get(facet)
        if known is None:  # an index of an earlier format, whose passages have no such property
            return np.full(len(self), "" in values)
        codes = [code for code, value in enumerate(known) if value in values]
        return np.isin(self._array(f"facet.{facet}"), codes)

    @cached_property
    def _works(self) -> list[Work]:
        """All works, each once."""
        authors, titles = (self._saved.facets.get(name, [""]) for name in ("author", "work"))
        pairs = np.unique(self._pairs_of_works).tolist()
        return [Work(authors[pair // len(titles)], titles[pair % len(titles)]) for pair in pairs]

    @cached_property
    def _work_of_each(self) -> NDArray[np.int64]:
        """The place in `_works` of each passage's work, shape (passages,)."""
        return np.unique(self._pairs_of_works, return_inverse=True)[1]

    @property
    def _pairs_of_works(self) -> NDArray[np.int64]:
        """Author and title of each passage as one number, shape (passages,)."""
        titles = self._array("facet.work").astype(np.int64)
        if "author" not in self._saved.facets:
            return titles
        authors = self._array("facet.author").astype(np.int64)
        return authors * len(self._saved.facets["work"]) + titles

    def _ranking(self, best: Scored, size: int) -> Ranking:
        """The best `size` of some passages, in order."""
        places, scores = best
        order = np.lexsort((self._array("id_order")[places], -scores))[:size]
        ids = tuple(map(self._ids.__getitem__, places[order].tolist()))
        return Ranking(ids, scores[order].astype(np.float64))

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
    def _expansion(self) -> ExpansionSearcher:
        return ExpansionSearcher(self._array, self._saved.expansion_words, len(self))

    @cached_property
    def _words(self) -> WordSearcher:
        return WordSearcher(
            self._array, self.words, self._numbers, self.settings.k1, self.settings.b
        )

    @property
    def words(self) -> list[str]:
        """All words that occur as token or lemma, sorted."""
        return self._saved.words

    @cached_property
    def _numbers(self) -> WordNumbers:
        return WordNumbers(self.words)

    @property
    def _ids(self) -> list[str]:
        return self._saved.ids

    @cached_property
    def _places_of_ids(self) -> dict[str, int]:
        return {identifier: place for place, identifier in enumerate(self._ids)}


class KeptVectors:
    """The encoder vectors that an index has, for the same passages in a new index.

    Args:
        index: The index.

    Attributes:
        settings: Those of its encoder.

    Raises:
        UsageError: It has none.
    """

    def __init__(self, index: LocalIndex) -> None:
        require_capability("dense", index.capabilities, index.name)
        assert index.settings.encoder is not None
        self._index = index
        self.settings = index.settings.encoder

    def rows(self, ids: Sequence[str], texts: Sequence[str]) -> Array:
        """The vectors of some passages, as `PassageVectors.rows` gives them."""
        return self._index.encoder_rows(ids)
