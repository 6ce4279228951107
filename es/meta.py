"""The description of an index that is kept on the server, in the `_meta` of its mapping."""

from dataclasses import dataclass
from typing import Any

from allusion_es.core.errors import IndexDamagedError
from allusion_es.retrieval.byte_vectors import MOST_LENGTH
from allusion_es.retrieval.index import Capability, IndexSettings
from allusion_es.retrieval.types import FIELDS, Field

FORMAT = 5
"""Version of the format; raised when indexes change so that older programs cannot read them."""

READABLE = (1, 2, 3, 4, FORMAT)
"""Formats that this program reads: 1 lacks citation vectors, 2 lacks n-grams and parallels, 3 lacks
encoder vectors; in 4 each citation vector has a length of its own."""

CITATION_VECTOR = "citation_vector"
"""The field that holds a passage's citation vector."""

ENCODER_VECTOR = "encoder_vector"
"""The field that holds a passage's encoder vector."""

EXPANSION = "expansion"
"""The field that holds a passage's expansion: lemmas of texts that cite it, with weights."""

NGRAM = "ngram"
"""The field that holds the n-grams of letters of a passage's tokens."""

STATISTICS = "statistics"
"""The field that holds document and collection frequencies of a passage's words, for those who read
its words; older indexes lack it, and are asked for the frequencies of each word."""

PARALLELS = "parallels"
"""The field that holds the ids of passages that say nearly the same."""

_MOST = 1 << 53
"""Upper limit of counts, which only a damaged description exceeds."""

KEY = "allusion_es"
"""Key in `_meta` that holds the description, so that others can keep notes there too."""

AUTHOR = "author"
"""The field that holds the author of a passage's work; older indexes lack it."""

PASSAGE_FIELDS = (
    "id",
    "work",
    "book",
    "chapter",
    "verse",
    "order",
    "testament",
    "reference",
    "text",
)
"""The properties of a passage that an index keeps, besides its words."""


def rebuild_advice(name: str) -> str:
    """The advice to rebuild an index, as the end of an error message."""
    return f"rebuild it with 'allusion-es index … --name {name} --es URL'"


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of one field of a collection.

    Attributes:
        passages: Number of passages that have at least one word.
        words: Number of words of all passages, repetitions counted.
    """

    passages: int
    words: int

    @property
    def mean_length(self) -> float:
        """Mean number of words of a passage, without the passages that have none."""
        return self.words / self.passages if self.passages else 0.0


@dataclass(frozen=True, slots=True)
class Meta:
    """The description of an index.

    Attributes:
        name: The name that the user gave to the index.
        settings: How the index was built.
        passages: Number of passages, those without words included.
        extents: The size of each field.
        terms_index: Name of the index that holds the term statistics.
        dimension: Length of the word vectors, 0 if there are none.
        knn: How vectors are searched: `flat` exactly, `hnsw` and `int8_hnsw` approximately.
        citation_dimension: Length of the citation vectors, 0 if there are none.
        more: Capabilities besides those that follow from the dimensions and from the settings.
        citation_length: The length of all citation vectors; 0 in older indexes, where each has its
            own.
    """

    name: str
    settings: IndexSettings
    passages: int
    extents: dict[Field, Extent]
    terms_index: str
    dimension: int
    knn: str
    citation_dimension: int = 0
    more: frozenset[Capability] = frozenset()
    citation_length: int = 0

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The optional kinds of search that the index supports."""
        vectors: dict[Capability, int] = {
            "knn": self.dimension,
            "citations": self.citation_dimension,
            "dense": self.settings.encoder.dimension if self.settings.encoder else 0,
        }
        return self.more | {part for part, dimension in vectors.items() if dimension}

    def to_json(self) -> dict[str, Any]:
        """The description as the value of a mapping's `_meta`."""
        extents = {
            field: {"passages": extent.passages, "words": extent.words}
            for field, extent in self.extents.items()
        }
        content = {
            "format": FORMAT,
            "name": self.name,
            "settings": self.settings.to_json(),
            "passages": self.passages,
            "fields": extents,
            "terms_index": self.terms_index,
            "dimension": self.dimension,
            "knn": self.knn,
            "citation_dimension": self.citation_dimension,
            "more": sorted(self.more),
            "citation_length": self.citation_length,
        }
        return {KEY: content}

    @staticmethod
    def from_json(meta: dict[str, Any], name: str) -> "Meta":
        """Read the description in a mapping's `_meta`.

        Args:
            meta: The `_meta`.
            name: The name of the index, for messages.

        Raises:
            IndexDamagedError: The format is not readable, or the description is damaged.
        """
        rebuild = rebuild_advice(name)
        content = meta.get(KEY)
        if not isinstance(content, dict):
            raise IndexDamagedError(f"index {name!r} on the server has no description; {rebuild}")
        if content.get("format") not in READABLE:
            raise IndexDamagedError(
                f"index {name!r} on the server has format {content.get('format')} instead of "
                f"{FORMAT}; {rebuild}"
            )
        try:
            sizes = {field: content["fields"][field] for field in FIELDS}
            extents = {
                field: Extent(_count(size["passages"]), _count(size["words"]))
                for field, size in sizes.items()
            }
            # Formats 1 and 2 lack the last three entries, 3 and 4 the last.
            return Meta(
                str(content["name"]),
                IndexSettings.from_json(content["settings"]),
                _count(content["passages"]),
                extents,
                str(content["terms_index"]),
                _count(content["dimension"]),
                str(content["knn"]),
                _count(content.get("citation_dimension", 0)),
                frozenset(content.get("more", ())),
                _count(content.get("citation_length", 0), MOST_LENGTH),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise IndexDamagedError(
                f"the description of index {name!r} on the server is damaged; {rebuild}"
            ) from error


def _count(value: object, limit: int = _MOST) -> int:
    if type(value) is not int or not 0 <= value < limit:
        raise ValueError("no count")
    return value
