"""Rerankers: their plug-in protocol, what they are given, and how they are loaded by name."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Singles
from allusion_es.core.caches import IdentityCache
from allusion_es.core.errors import UsageError
from allusion_es.core.plugins import Settings, load_plugin, make_plugin
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.encoders.sentences import SentenceEncoder
from allusion_es.language.vectors.types import WordVectors
from allusion_es.retrieval.coded_texts import CodedTexts
from allusion_es.retrieval.index import CandidateIndex, is_bible
from allusion_es.retrieval.types import (
    FIELDS,
    AnalysedQuery,
    Contribution,
    Field,
    Ranking,
    TermStatistics,
)

N = TypeVar("N", bound=np.generic)

GROUP = "allusion_es.rerankers"
"""The entry-point group that rerankers register in."""

UNDEFINED = -1000.0
"""The score of a candidate for which a reranker's formula has no value: it ranks last.

Every score that a formula does give lies above it.
"""

_KEPT = 8
"""Arrays that `Collection.kept` keeps: those of a reranker of several parts, for both fields."""

Explanation = tuple[Contribution, ...] | None
"""Word pairs whose contributions sum to a score, largest first; None where it is undefined."""


class QueryFrequencies:
    """Frequencies of words in all queries of a run together: the query side's collection.

    They are counted when a reranker first asks for them, which few do.

    Args:
        queries: All of them, read once; a formula that compares two collections wants more than
            one.
    """

    def __init__(self, queries: Iterable[AnalysedQuery]) -> None:
        self._all = queries

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return self._counted[0]

    def of(self, field: Field, words: Sequence[str]) -> NDArray[np.int64]:
        """The frequency of each word, shape (len(words),)."""
        counts = self._counted[1][field]
        return np.array([counts[word] for word in words], dtype=np.int64)

    @cached_property
    def _counted(self) -> tuple[int, dict[Field, Counter[str]]]:
        counts: dict[Field, Counter[str]] = {field: Counter() for field in FIELDS}
        total = 0
        for query in self._all:
            total += 1
            for field in FIELDS:
                counts[field].update(query.words(field))
        return total, counts


class Collection:
    """The collection as rerankers may know it: statistics and vectors, but no other passages.

    Args:
        index: Where the statistics come from.
        queries: Frequencies in the query side's collection, where there are several queries.
        memories: The dictionaries that `memory` gives; pass the same for all queries to one index.
    """

    def __init__(
        self,
        index: CandidateIndex,
        queries: QueryFrequencies | None = None,
        memories: dict[str, dict[str, float]] | None = None,
    ) -> None:
        self._index = index
        self._memories = {} if memories is None else memories
        self._queries = queries
        self._latest: dict[Field, IdentityCache[TermStatistics]] = {
            f: IdentityCache() for f in FIELDS
        }
        self._arrays: IdentityCache[NDArray[Any]] = IdentityCache(_KEPT)

    @property
    def vectors(self) -> WordVectors | None:
        """The word vectors that the index was built with, if any."""
        return self._index.vectors

    @property
    def citations(self) -> CitationVectors | None:
        """The citation vectors that the passages were given, if any."""
        return self._index.citations

    @property
    def encoder(self) -> SentenceEncoder | None:
        """The sentence encoder that the passages were encoded with, as `CandidateIndex.encoder`."""
        return self._index.encoder

    @property
    def ranker(self) -> Path | None:
        """The file of the ranker that was learned for the collection, if any."""
        return self._index.ranker

    @property
    def is_bible(self) -> bool:
        """Whether passages are verses of the Bible."""
        return is_bible(self._index)

    def texts(self, field: Field, ids: Sequence[str]) -> CodedTexts:
        """The words of candidates in the field that `Candidates.texts` does not show."""
        return self._index.texts(field, ids)

    def written(self, ids: Sequence[str]) -> list[str]:
        """The texts of candidates as they are written, for models that read them so."""
        return [passage.text for passage in self._index.passages(ids)]

    def encoder_cosines(self, vector: Singles, ids: Sequence[str]) -> Floats:
        """Cosines of a query with candidates, as `CandidateIndex.encoder_cosines` gives them."""
        return self._index.encoder_cosines(vector, ids)

    def statistics(self, field: Field, words: Sequence[str]) -> TermStatistics:
        """Document and collection frequencies of `words`, shape (len(words),)."""
        if not isinstance(words, tuple):
            return self._index.statistics(field, words)
        # Where all passages are candidates, they are the same for every query.
        return self._latest[field].get(lambda: self._index.statistics(field, words), words)

    def kept(self, compute: Callable[[], NDArray[N]], *objects: object) -> NDArray[N]:
        """The array that `compute` gives, or gave a moment ago, to any reranker, for `objects`.

        Args:
            compute: Called unless its array is still kept.
            objects: All that the array depends on, and what tells it from other arrays of the same
                objects, such as the function that computes it; compared by identity as
                `IdentityCache` does.
        """
        return self._arrays.get(compute, *objects)

    def query_frequencies(self, field: Field, words: Sequence[str]) -> NDArray[np.int64]:
        """Frequency of each word in the query side's collection, shape (len(words),).

        That is all queries of the run where there are several, else the collection itself;
        `query_side` says which.
        """
        if self._queries is None or self._queries.queries < 2:
            return self.statistics(field, words).cf
        return self._queries.of(field, words)

    def memory(self, name: str) -> dict[str, float]:
        """A number for each passage id, for rerankers to keep what no query changes.

        Args:
            name: Whose numbers, and of which field; each name has a memory of its own.
        """
        return self._memories.setdefault(name, {})

    @property
    def query_side(self) -> str:
        """The source of `query_frequencies`, for people to read."""
        if self._queries is None or self._queries.queries < 2:
            return "the collection"
        return f"the {self._queries.queries} queries"


@dataclass(frozen=True, slots=True)
class Candidates:
    """The passages to rescore.

    Attributes:
        ranking: Their ids and first-stage scores, best first.
        field: Which words of theirs the rerankers see, tokens or lemmas.
        texts: Those words, one text a candidate, in the order of `ranking`.
        wanted: How many of the best must have their exact scores; None for all. A reranker may
            give each of the others any lower score, which it can prove to be out of reach.
        origin: Where these are some of several candidates: all of them, and which these are.
            A score that depends on the other candidates, as a rank does, depends on all.
    """

    ranking: Ranking
    field: Field
    texts: CodedTexts
    wanted: int | None = None
    origin: "tuple[Candidates, NDArray[np.int64]] | None" = None

    def __len__(self) -> int:
        """The number of candidates."""
        return len(self.ranking)

    def take(self, numbers: Sequence[int]) -> "Candidates":
        """Some of the candidates, in the order of `numbers`; all are wanted."""
        whole, places = self.pool
        return Candidates(
            self.ranking.take(numbers),
            self.field,
            self.texts.take(numbers),
            origin=(whole, places[list(numbers)]),
        )

    def want(self, wanted: int | None) -> "Candidates":
        """A copy of the candidates, of which the best `wanted` need exact scores."""
        return replace(self, wanted=wanted)

    @property
    def pool(self) -> "tuple[Candidates, NDArray[np.int64]]":
        """All candidates that these were taken from, and which of them these are."""
        if self.origin is None:
            return self, np.arange(len(self))
        return self.origin


class Reranker(Protocol):
    """The plug-in protocol: gives candidates new scores, and explains them.

    A reranker may also have a method `notes(collection) -> Sequence[str]`, which
    `reranker_notes` calls, a method `warnings() -> Sequence[str]`, whose lines people are told once
    all is answered, and a number `nothing`: the score of passages that have nothing to do
    with the query, 0 where it has none; `UNDEFINED` means the same. A class with the attribute
    `composite = True` takes a mapping of names to rerankers as its first argument;
    `load_reranker("fuse:bm25+wmd")` fills it.
    """

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """A finite score for each candidate, higher is better, shape (len(candidates),).

        `UNDEFINED` where the formula has no value.
        """
        ...

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> Sequence[Explanation]:
        """For each candidate the contribution of each pair of words; they sum to the score."""
        ...


def reranker_notes(reranker: Reranker, collection: Collection) -> tuple[str, ...]:
    """Notes for readers of the scores: their scale, the vectors, the frequencies."""
    notes = getattr(reranker, "notes", None)
    return tuple(notes(collection)) if notes is not None else ()


def reranker_names(name: str) -> tuple[str, ...]:
    """The plug-ins behind a name, each of which settings may be meant for.

    Example:
        >>> reranker_names("fuse:bm25+soft-cosine")
        ('fuse', 'bm25', 'soft-cosine')
    """
    base, colon, parts = name.partition(":")
    return (base, *(parts.split("+") if colon else ()))


def load_reranker(name: str, settings: Settings = MappingProxyType({})) -> Reranker:
    """The reranker that is registered under `name`, with the parameters that the user set.

    Args:
        name: A plug-in's name; behind a composite one, its parts: `fuse:bm25+soft-cosine`.
        settings: For each plug-in its parameters as text; those of others are ignored.

    Raises:
        PluginError: There is none of that name, or it cannot be loaded.
        UsageError: A parameter is unknown or its value is not allowed; or a name has parts that
            takes none, or names a part twice.
    """
    base, *parts = reranker_names(name)
    plugin = load_plugin(GROUP, base)
    arguments: list[Mapping[str, Reranker]] = []
    if parts:
        if not getattr(plugin, "composite", False):
            raise UsageError(f"reranker {base!r} has no parts, so write {base} for {name}")
        if len(set(parts)) < len(parts):
            raise UsageError(f"reranker {name!r}: a part is named twice")
        arguments.append({part: load_reranker(part, settings) for part in parts})
    reranker: Reranker = make_plugin(plugin, base, settings.get(base, {}), *arguments)
    return reranker
