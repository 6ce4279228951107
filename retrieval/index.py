"""What a candidate index is, in this process or on a server."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from allusion_es.corpora.passage import Passage
from allusion_es.language.analysis import AnalysisSettings
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.language.vectors import WordVectors
from allusion_es.retrieval.parts import Part
from allusion_es.retrieval.texts import CodedTexts
from allusion_es.retrieval.types import Field, Ranking, SearchRequest, TermStatistics, Within

_LARGEST_K1 = 100.0


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How an index was built; saved with it, and what a query must agree with.

    Attributes:
        analysis: How text became tokens and lemmas.
        vectors: Name of the word vectors behind the `knn` fields, or "" for none.
        citations: Name of the citation vectors behind the passages' own, or "" for none.
        k1: BM25's term-frequency saturation.
        b: BM25's length normalisation, from 0 to 1.
    """

    analysis: AnalysisSettings
    vectors: str = ""
    k1: float = 1.2
    b: float = 0.75
    citations: str = ""

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
        settings = IndexSettings(analysis, **rest)
        if not isinstance(settings.vectors, str) or not isinstance(settings.citations, str):
            raise TypeError("names must be text")
        if not (0 < settings.k1 <= _LARGEST_K1 and 0 <= settings.b <= 1):
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
        """Another one for each content: what is kept of an index goes by it."""
        ...

    @property
    def settings(self) -> IndexSettings:
        """How it was built."""
        ...

    @property
    def parts(self) -> frozenset[Part]:
        """What it has of all that an index may have or not."""
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
    def max_candidates(self) -> int:
        """The most passages that one search returns."""
        ...

    def __len__(self) -> int:
        """How many passages it holds."""
        ...

    def ids(self, within: Within = Within()) -> tuple[str, ...]:  # noqa: B008 - frozen
        """Ids of all passages, or of those within some books, sorted."""
        ...

    def books(self) -> frozenset[str]:
        """OSIS codes of the books that its passages are of; none outside the Bible."""
        ...

    def search(self, requests: Sequence[SearchRequest]) -> list[Ranking]:
        """Answer several requests at once, in their order; a passage with score 0 is no hit.

        Raises:
            UsageError: A request asks for more than `max_candidates`.
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

        At most `parallels.MOST`, and none where the index does not know.

        Raises:
            VerseError: An id is not in the index; the message names it.
        """
        ...

    def statistics(self, field: Field, words: Sequence[str]) -> TermStatistics:
        """Document and collection frequencies of `words`, shape (len(words),)."""
        ...
