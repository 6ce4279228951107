"""What an answer must look like: its shape is checked before anything is read from it."""

from collections.abc import Iterable
from types import UnionType

from allusion_es.core.errors import ServerRefusedError

_MOST = 2**53
"""Up to here every reader of JSON knows whole numbers exactly."""

_MOST_SCORE = 3.4e38
"""Scores are numbers of single precision."""


class Count(int):
    """Stands in shapes for a whole number that is not below 0."""


Shape = object
"""A type; a list with the shape of each of its values; a tuple with those of all its values; or a
dictionary with the shapes of some of its values, or under `...` that of every one."""

ACKNOWLEDGED = {"acknowledged": bool}
NODES = {"nodes": {...: {"version": str}}}
INDEXES = {...: {"aliases": dict, "mappings": dict, "settings": {"index": dict}}}
RESOLVED = {"indices": [{"name": str}]}
SHARDS = {"_shards": {"total": Count, "successful": Count}}
COUNT = {"count": Count, **SHARDS}
BULK = {"errors": bool, "items": [{"index": {"_id": str, "status": int}}]}
SEARCHES = {"responses": [dict]}
SCORED = {"hits": {"hits": [{"sort": (float, str)}]}, **SHARDS}
NAMED = {"hits": {"hits": [{"sort": (str,)}]}, **SHARDS}
BUCKETS = {"aggregations": {"books": {"buckets": [{"key": str}]}}, **SHARDS}
WORDS = {"fields": {"words": (str,)}}
DOCUMENTS = {"docs": [{"_id": str}]}


def check_answer(answer: object, shape: Shape, url: str) -> None:
    """Make sure that an answer has a shape; numbers must be finite.

    Args:
        answer: The answer, or a part of it.
        shape: What it must have; more may be there.
        url: Who answers, for messages.

    Raises:
        ServerRefusedError: It has not; the message says where.

    Example:
        >>> check_answer({"docs": [{"_id": 1}]}, DOCUMENTS, "http://es:9200")
        Traceback (most recent call last):
        ...
        allusion_es.core.errors.ServerRefusedError: what http://es:9200 answers cannot be \
understood (docs.0._id); see whether something between changes it
    """
    place = _misfit(answer, shape)
    if place is not None:
        raise strange_answer(url, ".".join(place) or "all of it")


def strange_answer(url: str, what: str) -> ServerRefusedError:
    """The error for an answer that is none to what was asked.

    Args:
        url: Who answers.
        what: Which part of the answer.
    """
    return ServerRefusedError(
        f"what {url} answers cannot be understood ({what[:60]}); see whether something between "
        "changes it"
    )


def _misfit(value: object, shape: Shape) -> tuple[str, ...] | None:
    """The path to the first value that is not what it must be, or None."""
    parts: Iterable[tuple[str, object, Shape]]
    match shape:
        case list():
            if not isinstance(value, list):
                return ()
            parts = ((str(place), each, shape[0]) for place, each in enumerate(value))
        case tuple():
            if not isinstance(value, list) or len(value) != len(shape):
                return ()
            pairs = enumerate(zip(value, shape, strict=True))
            parts = ((str(place), each, part) for place, (each, part) in pairs)
        case dict():
            if not isinstance(value, dict):
                return ()
            every = dict.fromkeys(value, shape[...]) if ... in shape else shape
            parts = ((str(name), value.get(name), part) for name, part in every.items())
        case _:
            return None if _is(value, shape) else ()
    for name, each, part in parts:
        if (place := _misfit(each, part)) is not None:
            return (name, *place)
    return None


def _is(value: object, kind: object) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, int | float) and abs(value) <= _MOST_SCORE
    if kind is Count:
        return isinstance(value, int) and 0 <= value <= _MOST
    if kind is int and isinstance(value, int):
        return abs(value) <= _MOST
    assert isinstance(kind, type | UnionType)
    return isinstance(value, kind)
