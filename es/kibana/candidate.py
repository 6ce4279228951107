"""A candidate of a query, and the document that stands for it on a server.

One document holds all that people want to filter and sort by in Kibana: the query, the passage, its
rank and score in every stage, and whether a gold link names it.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allusion_es.core.characters import shorten
from allusion_es.core.errors import InputError, UsageError
from allusion_es.es.bulk import Document
from allusion_es.es.connection import encode
from allusion_es.es.documents import MAX_ID_BYTES
from allusion_es.retrieval.reranking import UNDEFINED
from allusion_es.retrieval.types import Contribution

# Folders lie side by side in the checkout and where they are installed.
_MAPPING = Path(__file__).parents[2] / "mappings" / "candidates.json"

_SHOWN_BYTES = 60
"""Bytes that stay of an id that is too long, so that people see whose it is."""

_LABEL = 120
"""Characters of a query's words that its label has; a list in Kibana shows about 60."""

# Dots would nest fields, and other characters are awkward in Kibana's query language.
_NOT_IN_FIELDS = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class StageRank:
    """The rank and score of a candidate in one stage.

    Attributes:
        rank: Rank, from 1.
        score: A finite score; None if the stage's formula has no value for the candidate.
    """

    rank: int
    score: float | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that was found for a query, or a gold passage that was not.

    Attributes:
        query_id: The query's id.
        verse_id: The passage's id; for verses the OSIS id.
        query_text: The query's words, or "" where they are not known.
        query_lemmas: Its lemmas.
        author: Who wrote the query's words, or "".
        title: In which work they stand, or "".
        type: Kind of the gold link (`allusion`, `quotation`, …), or "".
        gold: True if a gold link says that the query alludes to the passage; None if the query
            has no gold links.
        loss: The stage that lost a gold passage: `first stage`, `reranking`, or "" if none did;
            None for passages that are not gold.
        reference: The reference for people (`Ps 33,9`).
        book: The book's name as people write it (`1 Reg`), or "".
        testament: `ot`, `nt`, or "".
        order: Position in the collection, or None.
        text: The passage's text.
        first: Rank and score among all candidates before reranking, or None.
        final: Rank and score in the final ranking, or None.
        first_stages: Rank and score in each first stage that found it, by name.
        rerankers: Rank and score in each reranker, by name.
        contributions: Word pairs behind the final score, largest first; perhaps not all.
        other_contributions: Sum of the word pairs that are not in `contributions`.
        beyond_words: Sum of what adds to the score without being a pair of words.
    """

    query_id: str
    verse_id: str
    query_text: str = ""
    query_lemmas: tuple[str, ...] = ()
    author: str = ""
    title: str = ""
    type: str = ""
    gold: bool | None = None
    loss: str | None = None
    reference: str = ""
    book: str = ""
    testament: str = ""
    order: int | None = None
    text: str = ""
    first: StageRank | None = None
    final: StageRank | None = None
    first_stages: Mapping[str, StageRank] = field(default_factory=dict)
    rerankers: Mapping[str, StageRank] = field(default_factory=dict)
    contributions: tuple[Contribution, ...] = ()
    other_contributions: float = 0.0
    beyond_words: float = 0.0


@dataclass(frozen=True, slots=True)
class StageNames:
    """The names of the stages of a run; each stage has fields of its own in the documents.

    Attributes:
        first_stages: Names of candidate generators.
        rerankers: Names of rerankers.

    Raises:
        UsageError: Two names become the same name of a field.
    """

    first_stages: tuple[str, ...] = ()
    rerankers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that each name has a field of its own."""
        for names in (self.first_stages, self.rerankers):
            fields: dict[str, str] = {}
            for name in names:
                other = fields.setdefault(stage_field(name), name)
                if other != name:
                    raise UsageError(
                        f"{other!r} and {name!r} cannot be told apart in an index; push them as "
                        "two runs"
                    )


def stage_field(name: str) -> str:
    """The part of a field's name that stands for a stage.

    Example:
        >>> stage_field("fuse:bm25+soft-cosine")
        'fuse_bm25_soft-cosine'
    """
    return _NOT_IN_FIELDS.sub("_", name)


def document_id(run_id: str, query_id: str, verse_id: str) -> str:
    """The id of a candidate's document, unique for each run, query and passage.

    `/` joins the parts, so `/` within them is escaped. Ids that are too long end in their hash.

    Raises:
        InputError: An id has a lone surrogate, which cannot be written in UTF-8.

    Example:
        >>> document_id("bm25", "sermo 3/1", "Ps.33.9")
        'bm25/sermo 3%2F1/Ps.33.9'
    """
    parts = [part.replace("%", "%25").replace("/", "%2F") for part in (run_id, query_id, verse_id)]
    whole = "/".join(parts)
    try:
        encoded = whole.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"query {query_id[:60]!r}, passage {verse_id[:60]!r}: the ids cannot be written in "
            "UTF-8; use other ids"
        ) from None
    if len(encoded) <= MAX_ID_BYTES:
        return whole
    start = encoded[:_SHOWN_BYTES].decode(errors="ignore")
    return f"{start}%%{hashlib.sha256(encoded).hexdigest()}"


def query_label(query_id: str, text: str) -> str:
    """A query's first words and its id, by which people pick it from a list.

    The words come first, since a list of Kibana's is searched by how its values begin; the id
    keeps queries apart that begin alike.

    Example:
        >>> query_label("serm-1", "gustate et videte"), query_label("serm-2", "")
        ('gustate et videte (serm-1)', 'serm-2')
    """
    words = shorten(" ".join(text.split()), _LABEL)
    return f"{words} ({query_id})" if words else query_id


def describe_candidate(run_id: str, time: str, candidate: Candidate) -> Document:
    """The id and the JSON of a candidate's document; fields without a value are left out.

    Args:
        run_id: The run's id.
        time: When the run was pushed, ISO 8601.
        candidate: The candidate.

    Raises:
        InputError: An id or a number cannot be written.
    """
    first, final = candidate.first, candidate.final
    content: dict[str, Any] = {
        "run_id": run_id,
        "time": time,
        "query_id": candidate.query_id,
        "query": query_label(candidate.query_id, candidate.query_text),
        "query_text": candidate.query_text or None,
        "query_lemmas": " ".join(candidate.query_lemmas) or None,
        "author": candidate.author or None,
        "title": candidate.title or None,
        "type": candidate.type or None,
        "gold": candidate.gold,
        "loss": candidate.loss,
        "verse_id": candidate.verse_id,
        "reference": candidate.reference or None,
        "book": candidate.book or None,
        "testament": candidate.testament or None,
        "order": candidate.order,
        "text": candidate.text or None,
        **_ranked("candidate", first),
        "first_stage": _stages(candidate.first_stages),
        "rerank": _stages(candidate.rerankers),
        **_ranked("final", final),
        "rank_gain": first.rank - final.rank if first and final else None,
        "contributions": [str(pair) for pair in candidate.contributions] or None,
        "other_contributions": candidate.other_contributions or None,
        "beyond_words": candidate.beyond_words or None,
    }
    identifier = document_id(run_id, candidate.query_id, candidate.verse_id)
    try:
        return identifier, encode({k: v for k, v in content.items() if v is not None})
    except ValueError:
        raise InputError(f"candidate {identifier!r}: a score is not a finite number") from None


def _ranked(name: str, place: StageRank | None) -> dict[str, Any]:
    if place is None:
        return {}
    return {f"{name}_rank": place.rank, f"{name}_score": place.score}


def _stages(places: Mapping[str, StageRank]) -> dict[str, dict[str, Any]] | None:
    return {
        stage_field(name): {
            "rank": place.rank,
            **({} if place.score is None else {"score": place.score}),
        }
        for name, place in places.items()
    } or None


def score_of(score: float | None) -> float | None:
    """A reranker's score for `StageRank`: None if its formula has no value.

    Rerankers mark such a score by a number far below all others, which would spoil averages and
    charts in Kibana.

    Example:
        >>> score_of(-1000.0), score_of(0.5)
        (None, 0.5)
    """
    return None if score is None or score <= UNDEFINED else score


def candidates_body(stages: StageNames) -> dict[str, Any]:
    """Settings and mappings of an index of candidates, with fields for each stage.

    Example:
        >>> body = candidates_body(StageNames(rerankers=("soft-cosine",)))
        >>> body["mappings"]["properties"]["rerank"]["properties"]["soft-cosine"]["properties"]
        {'rank': {'type': 'integer'}, 'score': {'type': 'double'}}
    """
    body: dict[str, Any] = json.loads(_MAPPING.read_text(encoding="utf-8"))
    properties = body["mappings"]["properties"]
    for group, names in (("first_stage", stages.first_stages), ("rerank", stages.rerankers)):
        fields = {"rank": properties["final_rank"], "score": properties["final_score"]}
        properties[group]["properties"] = {
            stage_field(name): {"properties": fields} for name in names
        }
    return body
