"""Answers that are bounded in size and time, and JSON if they say so, whatever a server sends."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import urllib3
from elastic_transport import JsonSerializer, NodeConfig, Urllib3HttpNode

LARGEST_ANSWER = 256 * 2**20
"""Most bytes of an answer; those to this program's own requests are some megabytes."""

_CHUNK = 1 << 16


class TooLargeError(RuntimeError):
    """A server sends more than any answer can have."""


class BoundedNode(Urllib3HttpNode):
    """A node whose answers end: they come whole, within the timeout once they have begun."""

    def __init__(self, config: NodeConfig) -> None:
        """As its parent."""
        super().__init__(config)
        # The parent reads no more of an answer than `_Answer` has.
        pool: Any = self.pool
        pool.urlopen = partial(_bounded, self.pool.urlopen)


class StrictJson(JsonSerializer):
    """JSON as it is defined, without the numbers that are none."""

    def json_loads(self, data: bytes) -> Any:  # noqa: ANN401 - what JSON can hold
        """As its parent, but NaN and Infinity are refused."""
        return json.loads(data, parse_constant=_refuse)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number")


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the parent reads of an answer."""

    status: int
    headers: urllib3.HTTPHeaderDict
    data: bytes


def _bounded(
    urlopen: Callable[..., urllib3.BaseHTTPResponse],
    method: str,
    url: str,
    timeout: float,
    **options: Any,  # noqa: ANN401 - passed on
) -> _Answer:
    answer = urlopen(method, url, timeout=timeout, preload_content=False, **options)
    try:
        data = _read(answer, time.monotonic() + timeout)
    except BaseException:
        answer.close()
        raise
    answer.release_conn()
    return _Answer(answer.status, answer.headers, data)


def _read(answer: urllib3.BaseHTTPResponse, give_up: float) -> bytes:
    # A whole read would wait anew for each byte of a server that sends them one by one.
    read = getattr(answer, "read1", answer.read)  # the oldest urllib3 has no other
    parts: list[bytes] = []
    size = 0
    while part := read(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER:
            raise TooLargeError
        if time.monotonic() > give_up:
            message = "the answer did not end"
            raise urllib3.exceptions.ReadTimeoutError(None, "", message)  # type: ignore[arg-type]
    return b"".join(parts)
