"""What an index on a server says of itself, in the `_meta` of its mapping."""

from dataclasses import dataclass
from typing import Any

from allusion_es.core.errors import IndexDamagedError
from allusion_es.retrieval.index import Capability, IndexSettings
from allusion_es.retrieval.types import FIELDS, Field

FORMAT = 3
"""Raised whenever indexes change in a way that older programs cannot read."""

READABLE = (1, 2, FORMAT)
"""Formats that this program reads; 1 has no citation vectors, 2 no n-grams and parallels."""

CITATION_VECTOR = "citation_vector"
"""The field that holds a passage's citation vector."""

EXPANSION = "expansion"
"""The field that holds a passage's expansion."""

NGRAM = "ngram"
"""The field that holds the sequences of letters of a passage's tokens."""

PARALLELS = "parallels"
"""The field that holds the ids of passages that say nearly the same."""

_MOST = 1 << 53
"""More than any collection has of anything."""

KEY = "allusion_es"
"""Where in `_meta` it stands, so that others can keep notes there too."""


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
    """What to do about an index that cannot be used."""
    return f"rebuild it with 'allusion-es index … --name {name} --es URL'"


@dataclass(frozen=True, slots=True)
class Extent:
    """How large one field of a collection is.

    Attributes:
        passages: Passages that have at least one word.
        words: Words of all passages, repetitions counted.
    """

    passages: int
    words: int

    @property
    def mean_length(self) -> float:
        """Words of a passage on average, passages without words left out."""
        return self.words / self.passages if self.passages else 0.0


@dataclass(frozen=True, slots=True)
class Meta:
    """An index's description of itself.

    Attributes:
        name: The name that the user gave it.
        settings: How it was built.
        passages: How many passages it holds, those without words included.
        extents: The size of each field.
        terms_index: The index that holds its term statistics.
        dimension: Length of its vectors, 0 where it has none.
        knn: How its vectors are searched: `flat` exactly, `hnsw` approximately.
        citation_dimension: Length of its citation vectors, 0 where it has none.
        more: What else it has.
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

    @property
    def capabilities(self) -> frozenset[Capability]:
        """See `CandidateIndex.capabilities`."""
        vectors: dict[Capability, int] = {
            "knn": self.dimension,
            "citations": self.citation_dimension,
        }
        return self.more | {part for part, dimension in vectors.items() if dimension}

    def to_json(self) -> dict[str, Any]:
        """As a mapping's `_meta`."""
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
        }
        return {KEY: content}

    @staticmethod
    def from_json(meta: dict[str, Any], name: str) -> "Meta":
        """The description in a mapping's `_meta`; `name` is for messages.

        Raises:
            IndexDamagedError: It is of another format, or cannot be understood.
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
            )
        except (KeyError, TypeError, ValueError) as error:
            raise IndexDamagedError(
                f"the description of index {name!r} on the server is damaged; {rebuild}"
            ) from error


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < _MOST:
        raise ValueError("no count")
    return value
