"""Shapes of a server's answers, checked before anything is read from an answer.

Something else than Elasticsearch may answer, or a proxy may change what it answers. A check at the
border gives one clear message instead of a `KeyError` somewhere inside.
"""

from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from allusion_es.core.errors import ServerRefusedError
from allusion_es.core.records import Count, checked
from allusion_es.es.meta import AUTHOR, PARALLELS, PASSAGE_FIELDS

_Number = Annotated[int, Meta(ge=-(2**53), le=2**53)]
"""A whole number that every reader of JSON keeps exactly."""

Score = Annotated[float, Meta(ge=-3.4e38, le=3.4e38, description="a number of single precision")]
"""A score; servers compute them in single precision."""


def shape_of(pattern: object) -> Any:  # noqa: ANN401 - a type made at run time
    """The type of the values that a pattern shows, for `check_answer`.

    Args:
        pattern: A type; a list of one pattern, for a list whose values all fit it; a tuple, for a
            list of as many values, one pattern each; a dictionary, for an object with at least
            these keys, or with `...` as its only key, for an object all of whose values fit.
    """
    match pattern:
        case list():
            return list[shape_of(pattern[0])]  # type: ignore[misc]
        case tuple():
            return tuple[tuple(map(shape_of, pattern))]  # type: ignore[misc]
        case dict() if ... in pattern:
            return dict[str, shape_of(pattern[...])]  # type: ignore[misc]
        case dict():
            fields = [(name, shape_of(part)) for name, part in pattern.items()]
            return msgspec.defstruct("Answer", fields)
    return pattern


# Answers to requests, or the parts of them that are read.
ACKNOWLEDGED = shape_of({"acknowledged": bool})
NODES = shape_of({"nodes": {...: {"version": str}}})
INDEXES = shape_of({...: {"aliases": dict, "mappings": dict, "settings": {"index": dict}}})
RESOLVED = shape_of({"indices": [{"name": str}]})
_SHARDS = {"_shards": {"total": Count, "successful": Count}}
COUNT = shape_of({"count": Count, **_SHARDS})
BULK = shape_of({"errors": bool, "items": [{"index": {"_id": str, "status": _Number}}]})
SEARCHES = shape_of({"responses": [dict]})
SCORED = shape_of({"hits": {"hits": [{"sort": (Score, str)}]}, **_SHARDS})
NAMED = shape_of({"hits": {"hits": [{"sort": (str,)}]}, **_SHARDS})
BUCKETS = shape_of({"aggregations": {"books": {"buckets": [{"key": str}]}}, **_SHARDS})
_WORK = {"key": {"author": str | None, "work": str | None}}
WORKS = shape_of({"aggregations": {"works": {"buckets": [_WORK]}}, **_SHARDS})
WORDS = shape_of({"fields": {"words": (str,)}})
PACKED = shape_of((str,))
DOCUMENTS = shape_of({"docs": [{"_id": str}]})
FOUND = shape_of({"found": bool})
SOURCE = shape_of({"_source": dict})

# Sources of documents, and the description of a run in its index's mapping.
_NUMBERS = frozenset({"chapter", "verse", "order"})
PASSAGE = shape_of({name: _Number if name in _NUMBERS else str for name in PASSAGE_FIELDS})
MORE = shape_of({AUTHOR: str, PARALLELS: [str]})
PASSAGE_WORDS = shape_of({"token": str, "lemma": str})
TERM = shape_of({"df": Count, "cf": Count, "max_tf": Count})
RUN = shape_of({"run_id": str, "time": str, "queries": Count, "documents": Count, "method": str})
FORMAT = shape_of({"format": Count})


def check_answer(answer: object, shape: Any, url: str) -> None:  # noqa: ANN401
    """Raise an error unless an answer has the given shape and finite numbers.

    Args:
        answer: The answer, or a part of it.
        shape: The shape, from `shape_of`; objects may have further keys.
        url: The server's URL, for the message.

    Raises:
        ServerRefusedError: The answer has another shape; the message says where.

    Example:
        >>> check_answer({"docs": [{"_id": 1}]}, DOCUMENTS, "http://es:9200")
        Traceback (most recent call last):
        ...
        allusion_es.core.errors.ServerRefusedError: what http://es:9200 answers cannot be \
understood (field 'docs[0]._id' must be a string, not 1); see whether something between changes it
    """
    # The serializer of requests, `StrictJson`, has refused lone surrogates.
    checked(answer, shape, error=partial(strange_answer, url), characters=False)


def strange_answer(url: str, what: str) -> ServerRefusedError:
    """The error for an answer that does not fit the request.

    Args:
        url: The server's URL.
        what: The part of the answer that does not fit.
    """
    return ServerRefusedError(
        f"what {url} answers cannot be understood ({what[:150]}); see whether something between "
        "changes it"
    )
