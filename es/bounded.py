"""Answers that are bounded in size and time, and JSON if they say so, whatever a server sends."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import urllib3
from elastic_transport import JsonSerializer, NodeConfig, Urllib3HttpNode

from allusion_es.core.texts import check_characters
from allusion_es.es.reading import read_whole

LARGEST_ANSWER = 256 * 2**20
"""Most bytes of an answer; those to this program's own requests are some megabytes."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class BoundedNode(Urllib3HttpNode):
    """A node whose answers end: they come whole, within the timeout once they have begun."""

    def __init__(self, config: NodeConfig) -> None:
        """As its parent."""
        super().__init__(config)
        # The parent reads no more of an answer than `_Answer` has.
        pool: Any = self.pool
        pool.urlopen = partial(_bounded, self.pool.urlopen)


class StrictJson(JsonSerializer):
    """JSON as it is defined, without numbers that are none and characters that are half."""

    def json_loads(self, data: bytes) -> Any:  # noqa: ANN401 - what JSON can hold
        """As its parent, but NaN, Infinity and lone surrogates are refused."""
        value = json.loads(data, parse_constant=_refuse)
        if _SURROGATE.search(data):
            check_characters(value)
        return value


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
        # The oldest urllib3 has no `read1`.
        data = read_whole(getattr(answer, "read1", answer.read), timeout, LARGEST_ANSWER)
    except TimeoutError:
        answer.close()
        message = "the answer did not end"
        raise urllib3.exceptions.ReadTimeoutError(None, "", message) from None  # type: ignore[arg-type]
    except BaseException:
        answer.close()
        raise
    answer.release_conn()
    return _Answer(answer.status, answer.headers, data)
