"""What in an answer says that it would be whole if it were asked for again."""

from collections.abc import Iterator
from typing import Any

_PASSING = frozenset(
    {
        "connect_transport_exception",
        "es_rejected_execution_exception",
        "node_closed_exception",
        "node_disconnected_exception",
        "node_not_connected_exception",
    }
)


def is_transient(answer: object) -> bool:
    """Whether a node left, or was too busy, in the middle of answering.

    Elasticsearch then answers (200) that shards failed: once it has chosen a copy of a shard to
    fetch from, it asks no other. A moment later it knows that the node is gone, and asks another
    copy, or says that there is none.

    Args:
        answer: To a search, to several (`responses`), for documents (`docs`), or something else.

    Example:
        >>> failed = {"reason": {"type": "node_disconnected_exception"}}
        >>> is_transient({"_shards": {"total": 3, "successful": 2, "failures": [failed]}})
        True
        >>> is_transient({"_shards": {"total": 3, "successful": 3}})
        False
    """
    if not isinstance(answer, dict):
        return False
    parts = [answer, *_objects(answer.get("responses")), *_objects(answer.get("docs"))]
    return any(kind in _PASSING for part in parts for kind in _kinds(part))


def _kinds(part: dict[str, Any]) -> Iterator[str]:
    shards, error = part.get("_shards"), part.get("error")
    if isinstance(shards, dict):
        for failed in _objects(shards.get("failures")):
            yield from _types(failed.get("reason"))
    if isinstance(error, dict):
        yield from _types(error)
        for cause in _objects(error.get("root_cause")):
            yield from _types(cause)
        for failed in _objects(error.get("failed_shards")):
            yield from _types(failed.get("reason"))


def _types(error: object) -> Iterator[str]:
    if isinstance(error, dict) and isinstance(error.get("type"), str):
        yield error["type"]


def _objects(values: object) -> Iterator[dict[str, Any]]:
    """The objects in a list; none where it is something else."""
    for value in values if isinstance(values, list) else ():
        if isinstance(value, dict):
            yield value
