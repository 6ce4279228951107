"""Shapes of a server's answers, checked before anything is read from an answer.

Something else than Elasticsearch may answer, or a proxy may change what it answers. A check at the
border gives one clear message instead of a `KeyError` somewhere inside.
"""

from collections.abc import Iterable, Mapping
from types import UnionType

from allusion_es.core.errors import ServerRefusedError
from allusion_es.es.meta import PARALLELS, PASSAGE_FIELDS

_MOST = 2**53
"""Largest whole number that every reader of JSON keeps exactly."""

_MOST_SCORE = 3.4e38
"""Largest score: servers compute scores in single precision."""


class Count(int):
    """In a shape: a whole number from 0 on."""


Fields = Mapping[str, type]
"""The shape of an object whose values are no lists or objects: its keys, and the type of each."""

Shape = object
"""The shape of a JSON value, in one of four forms:

- a type: the value is of this type;
- a list of one shape: a list whose values all have it;
- a tuple of shapes: a list of as many values, one shape each;
- a dictionary: an object with at least these keys, or with `...` as its only key, an object all of
  whose values have that shape.
"""

# Answers to requests, or the parts of them that are read.
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

# Sources of documents, and the description of a run in its index's mapping.
_NUMBERS = frozenset({"chapter", "verse", "order"})
PASSAGE: Fields = {name: int if name in _NUMBERS else str for name in PASSAGE_FIELDS}
PASSAGE_WORDS: Fields = {"token": str, "lemma": str}
GROUPED = {PARALLELS: [str]}
TERM: Fields = {"df": Count, "cf": Count, "max_tf": Count}
RUN: Fields = {"run_id": str, "time": str, "queries": Count, "documents": Count, "method": str}


def check_answer(answer: object, shape: Shape, url: str) -> None:
    """Raise an error unless an answer has the given shape and finite numbers.

    Args:
        answer: The answer, or a part of it.
        shape: The shape; objects may have further keys.
        url: The server's URL, for the message.

    Raises:
        ServerRefusedError: The answer has another shape; the message says where.

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
    """The error for an answer that does not fit the request.

    Args:
        url: The server's URL.
        what: The part of the answer that does not fit.
    """
    return ServerRefusedError(
        f"what {url} answers cannot be understood ({what[:60]}); see whether something between "
        "changes it"
    )


def _misfit(value: object, shape: Shape) -> tuple[str, ...] | None:
    """The path to the first value of another shape; None if there is none, () for the whole."""
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
    """True if a value is of a type; True and False are no numbers, whole numbers are floats."""
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
