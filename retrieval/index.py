"""The candidate index: its protocol, its settings and its capabilities, local or on a server."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from allusion_es.core.arrays import Floats, Singles
from allusion_es.core.errors import UsageError
from allusion_es.corpora.passage import Passage, Work
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.encoders.sentences import SentenceEncoder
from allusion_es.language.encoders.settings import EncoderSettings
from allusion_es.language.latin.analysis import AnalysisSettings
from allusion_es.language.vectors.types import WordVectors
from allusion_es.retrieval.coded_texts import CodedTexts
from allusion_es.retrieval.types import Field, Ranking, SearchFilter, SearchRequest, TermStatistics

# The same rules on disk and on a server, whose own rules for names are the strictest.
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")


def check_name(name: str) -> str:
    """The name itself, if an index can have it.

    Raises:
        UsageError: It has other characters than lower-case letters, digits, - and _, begins
            with - or _, or is longer than 100 characters.

    Example:
        >>> check_name("vulgate")
        'vulgate'
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"index name {name[:100]!r}: use up to 100 lower-case letters, digits, - and _, "
            "and begin with a letter or digit",
            argument="name",
        )
    return name


Capability = Literal["knn", "citations", "ngrams", "expansion", "dense", "parallels"]
"""A kind of search that an index may be built without; or groups of parallel passages."""

_MISSING = {
    "knn": "no word vectors; rebuild it without --no-vectors",
    "citations": "no citation vectors; rebuild it without --no-learned-links",
    "ngrams": "no n-grams; rebuild it with 'allusion-es index'",
    "expansion": "no expansion; rebuild it without --no-learned-links",
    "dense": "no encoder vectors; rebuild it with 'allusion-es index --encoder MODEL'",
}


def is_bible(index: "CandidateIndex") -> bool:
    """Whether passages of an index are verses of the Bible: what is known of its citations fits."""
    return bool(index.books())


def require_capability(kind: str, capabilities: Collection[Capability], name: str) -> None:
    """Refuse a kind of search that an index was built without.

    Args:
        kind: The kind, as in `SearchRequest.kind`; every index has `bm25` and `tfidf`.
        capabilities: Those of the index.
        name: The index's name.

    Raises:
        UsageError: The index lacks the capability; the message says how to rebuild it.

    Example:
        >>> require_capability("bm25", (), "vulgate")
        >>> require_capability("ngrams", (), "vulgate")
        Traceback (most recent call last):
        ...
        allusion_es.core.errors.UsageError: index 'vulgate' has no n-grams; rebuild it with \
'allusion-es index'
    """
    if kind in _MISSING and kind not in capabilities:
        raise UsageError(f"index {name!r} has {_MISSING[kind]}")


MAX_K1 = 100
"""Far above any that is used (1.2 to 2); an infinite one would make scores that are no numbers."""


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How an index was built; saved with it, and what a query must agree with.

    Attributes:
        analysis: How text became tokens and lemmas.
        vectors: Name of the word vectors behind the `knn` fields, or "" for none.
        citations: Name of the citation vectors behind the passages' own, or "" for none.
        k1: BM25's term-frequency saturation.
        b: BM25's length normalisation, from 0 to 1.
        encoder: The sentence encoder behind the passages' vectors, or None.
        ranker: Name of the ranker that was learned for it, or "" for one that comes along.
    """

    analysis: AnalysisSettings
    vectors: str = ""
    k1: float = 1.2
    b: float = 0.75
    citations: str = ""
    encoder: EncoderSettings | None = None
    ranker: str = ""

    def to_json(self) -> dict[str, object]:
        """As plain values, for `from_json`."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, object]) -> "IndexSettings":
        """The settings that `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: `data` is not what `to_json` writes.
        """
        if not isinstance(data, Mapping) or not isinstance(data["analysis"], Mapping):
            raise TypeError("settings and their analysis must be objects")
        analysis = AnalysisSettings.from_json(data["analysis"])
        rest: dict[str, Any] = {key: value for key, value in data.items() if key != "analysis"}
        # Indexes of earlier formats have none.
        if rest.get("encoder") is not None:
            rest["encoder"] = EncoderSettings.from_json(rest["encoder"])
        settings = IndexSettings(analysis, **rest)
        names = (settings.vectors, settings.citations, settings.ranker)
        if not all(isinstance(name, str) for name in names):
            raise TypeError("names must be text")
        if not (0 < settings.k1 <= MAX_K1 and 0 <= settings.b <= 1):
            raise ValueError("k1 or b")
        return settings


class CandidateIndex(Protocol):
    """Finds candidates, and knows the words, the texts and the statistics of its passages.

    The in-process index and the one on Elasticsearch give the same answers.
    """

    @property
    def name(self) -> str:
        """The name that the user gave it."""
        ...

    @property
    def fingerprint(self) -> str:
        """Differs wherever the content differs; results that are kept of an index go by it."""
        ...

    @property
    def settings(self) -> IndexSettings:
        """How it was built."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The kinds of searches that it was built for, and whether it knows parallels."""
        ...

    @property
    def vectors(self) -> WordVectors | None:
        """The word vectors that it was built with, if any."""
        ...

    @property
    def citations(self) -> CitationVectors | None:
        """The citation vectors that its passages were given, if any.

        Raises:
            InputError: They are not on this machine, or their file cannot be used.
        """
        ...

    @property
    def encoder(self) -> SentenceEncoder | None:
        """The sentence encoder that its passages were encoded with, if any; opened when asked for.

        Raises:
            UsageError: A package that it needs is not installed.
            InputError: It is not on this machine, or a file of it is broken.
            SettingsMismatchError: It has changed since the index was built.
        """
        ...

    @property
    def ranker(self) -> Path | None:
        """The file of the ranker that was learned for it, if any.

        Raises:
            InputError: It is not on this machine.
        """
        ...

    @property
    def max_candidates(self) -> int:
        """The most passages that one search returns."""
        ...

    def __len__(self) -> int:
        """How many passages it holds."""
        ...

    def ids(self, search_filter: SearchFilter = SearchFilter()) -> tuple[str, ...]:  # noqa: B008 - frozen
        """Ids of the passages that the filter lets pass, sorted; all by default."""
        ...

    def books(self) -> frozenset[str]:
        """OSIS codes of its passages' books; empty where none is of the Bible."""
        ...

    def works(self) -> frozenset[Work]:
        """The works of its passages, each with its author."""
        ...

    def search(self, requests: Sequence[SearchRequest]) -> list[Ranking]:
        """Answer several requests at once, in their order; a passage with score 0 is no hit.

        Raises:
            UsageError: A request asks for more than `max_candidates`.
        """
        ...

    def encoder_cosines(self, vector: Singles, ids: Sequence[str]) -> Floats:
        """The cosine of a query's vector with each passage's encoder vector, shape (len(ids),).

        NaN where a passage has none. They are the scores of a search of the kind `dense`.

        Args:
            vector: The query's unit vector, shape (dimension,).
            ids: Passages.

        Raises:
            UsageError: The index has no encoder vectors.
            VerseError: An id is not in the index; the message names it.
        """
        ...

    def texts(self, field: Field, ids: Sequence[str]) -> CodedTexts:
        """The words of each passage, in order, repetitions kept.

        Raises:
            VerseError: An id is not in the index; the message names it.
        """
        ...

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """The passages with these ids, in this order (without their words).

        Raises:
            VerseError: An id is not in the index; the message names it.
        """
        ...

    def parallels(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        """For each passage the ids of those that say nearly the same, in their order.

        At most `parallels.MOST`, and none where the index lacks that capability.

        Raises:
            VerseError: An id is not in the index; the message names it.
        """
        ...

    def statistics(self, field: Field, words: Sequence[str]) -> TermStatistics:
        """Document and collection frequencies of `words`, shape (len(words),)."""
        ...
