"""A connection to an Elasticsearch server of major 8 or 9."""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import urllib3
from elastic_transport import JsonSerializer, NodeConfig, Urllib3HttpNode

from allusion_es.core.characters import check_characters
from allusion_es.core.errors import AllusionError, ServerUnavailableError, UsageError
from allusion_es.es.address import Address, find_address
from allusion_es.es.answers import ACKNOWLEDGED, NODES, check_answer, strange_answer
from allusion_es.es.errors import (
    answer_failure,
    is_lock,
    network_failure,
    too_large_failure,
    version_failure,
)
from allusion_es.es.readiness import until_ready
from allusion_es.es.tls import needs_tls
from allusion_es.es.transient import is_transient

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

# Bodies of answers that end, however slowly or endlessly a server sends them.


_CHUNK = 1 << 16


class TooLargeError(RuntimeError):
    """A server sends more than any answer can have."""


def read_whole(read: Callable[[int], bytes], seconds: float, most: int) -> bytes:
    """All of a body, in as many reads as it takes.

    Args:
        read: Gives what has come, at most so many bytes, and nothing at the end.
        seconds: How long it may take; a read that hangs is not ended here.
        most: Bytes that it may have.

    Raises:
        TooLargeError: It has more.
        TimeoutError: It takes longer.

    Example:
        >>> import io
        >>> read_whole(io.BytesIO(b"{}").read, seconds=1, most=10)
        b'{}'
    """
    # A single read would wait anew for each byte of a server that sends them one by one.
    give_up = time.monotonic() + seconds
    parts: list[bytes] = []
    size = 0
    while part := read(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > most:
            raise TooLargeError
        if time.monotonic() > give_up:
            raise TimeoutError
    return b"".join(parts)


# Answers that are bounded in size and time, and JSON if they say so, whatever a server sends.


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


# Major 8 speaks this, and major 9 still does; so one installed client serves both.
_JSON = "application/vnd.elasticsearch+json; compatible-with=8"
_LINES = "application/vnd.elasticsearch+x-ndjson; compatible-with=8"
# Servers of every major understand this, so it serves to ask for the version.
_ANY_VERSION = "application/json"

_RETRY_STATUS = frozenset({429, 502, 503, 504})
_RETRY_SECONDS = (0.2, 0.5, 1.0, 2.0, 4.0)
_MOST_SECONDS = 20.0
"""What a server that says when to try again can ask for, at most."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class Server:
    """An Elasticsearch server, or a cluster of them; close it, or use it in `with`.

    Every failure is an `AllusionError` of one line that names the URL and holds no secret.

    Attributes:
        url: The URLs, fit for messages.
        version: The lowest version among its nodes, "" where the login may not ask for it.

    Example:
        >>> with Server.connect("http://localhost:9200") as server:  # doctest: +SKIP
        ...     server.request("GET", "/_cluster/health")["status"]
        'green'
    """

    def __init__(self, address: Address, timeout: float = 30.0) -> None:
        """Use `connect`, which also asks whether the server can be used."""
        self.url = address.shown
        self.version = ""
        self._timeout = timeout
        self._urls, self._ca_certs = address.urls, address.ca_certs
        self._several = len(address.urls) > 1
        self._authorization = address.login.header()
        self._secrets = address.login.secrets()
        self._client = _client(address)

    @staticmethod
    def connect(
        url: str | None = None,
        *,
        ca_certs: str | None = None,
        fingerprint: str | None = None,
        api_key: str | None = None,
        user: str | None = None,
        password: str | None = None,
        timeout: float = 30.0,
        wait: float = 0.0,
    ) -> "Server":
        """Connect, and make sure that an Elasticsearch of a fitting version answers.

        Args:
            url: One URL, or several with commas between, of nodes of one cluster; this and the
                next five can come from the environment, see `find_address`.
            ca_certs: File with the certificates of the authorities to trust.
            fingerprint: SHA-256 of the certificate to trust.
            api_key: An API key, as Elasticsearch shows it.
            user: A user's name.
            password: The user's password.
            timeout: Seconds to wait for each answer to begin, and then to end.
            wait: Seconds to go on trying while nothing answers or the server is not ready.

        Raises:
            UsageError: One of the arguments cannot be used.
            ServerUnavailableError: Nothing answers, or not in time.
            ServerRefusedError: Wrong login, product or version.
        """
        server = Server(
            find_address(
                url,
                ca_certs=ca_certs,
                fingerprint=fingerprint,
                api_key=api_key,
                user=user,
                password=password,
            ),
            timeout,
        )
        try:
            until_ready(server._check_version, wait)
        except BaseException:
            server.close()
            raise
        return server

    def __enter__(self) -> "Server":
        """The server itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send a request, with a JSON body if one is given; the answer as plain values.

        Raises:
            IndexMissingError: What is asked for does not exist (404).
            ServerUnavailableError: Nothing answers, or not in time.
            ServerRefusedError: The server refuses.
        """
        data = None if body is None else encode(body)
        return self._send(method, path, data, _JSON)

    def change(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> None:
        """Send a request that changes indexes; the whole cluster knows when it returns.

        Raises:
            ServerUnavailableError: Not all nodes could be told in time; or as `request` raises.
        """
        answer = self.request(method, path, body)
        check_answer(answer, ACKNOWLEDGED, self.url)
        if not answer["acknowledged"]:
            raise ServerUnavailableError(
                f"not all nodes of {self.url} could be told of a change in time; see to the "
                "cluster's health and try again"
            )

    def send_lines(self, path: str, lines: Iterable[bytes]) -> dict[str, Any]:
        """Post JSON objects, one a line (`_bulk`, `_msearch`); raises as `request` does."""
        return self._send("POST", path, b"\n".join(lines) + b"\n", _LINES)

    def _check_version(self) -> None:
        from importlib.metadata import version as version_of

        # A bare server has no `GET /`, so the nodes are asked.
        status, headers, body = self._try("GET", "/_nodes?filter_path=nodes.*.version", None, "")
        if status == 403 and headers.get("x-elastic-product") == "Elasticsearch":
            return  # a login for nothing but the indexes; what follows will show
        if failure := answer_failure(status, headers, body, self.url):
            # Some servers with TLS answer what comes without it.
            plain = (needs_tls(url) for url in self._urls if status == 400)
            raise self._scrubbed(next(filter(None, plain), failure))
        check_answer(body, NODES, self.url)
        versions = [str(node["version"]) for node in body["nodes"].values()]
        client = version_of("elasticsearch")
        for version in versions or ["of unknown version"]:
            if failure := version_failure(version, client, self.url):
                raise failure
        self.version = min(versions)

    def _send(self, method: str, path: str, data: bytes | None, media: str) -> dict[str, Any]:
        delays = list(_RETRY_SECONDS)
        while True:
            status, headers, body = self._try(method, path, data, media)
            failure = answer_failure(status, headers, body, self.url)
            busy = status in _RETRY_STATUS and not is_lock(status, body)
            again = is_transient(body) if failure is None else busy
            if not (again and delays):
                if failure is not None:
                    raise self._scrubbed(failure)
                answer: dict[str, Any] = body
                return answer
            time.sleep(max(delays.pop(0), _asked_delay(headers)))

    def _try(
        self, method: str, path: str, data: bytes | None, media: str
    ) -> tuple[int, Mapping[str, str], Any]:
        from elastic_transport import TransportError

        accept = _JSON if media else _ANY_VERSION
        headers = {"accept": accept, **self._authorization}
        if data is not None:
            headers["content-type"] = media
        try:
            # The client's own `perform_request` raises errors that name no URL; its transport
            # keeps the pool of nodes and connections, TLS and retries.
            meta, body = self._client.transport.perform_request(
                method,
                path,
                body=data,
                headers=headers,
                request_timeout=self._timeout,
                max_retries=3,
                retry_on_status=(),
                retry_on_timeout=self._several,
            )
        except TransportError as error:
            failure = network_failure(error, self.url, self._timeout, self._urls, self._ca_certs)
            # The library's error holds the request's headers, and with them the login.
            raise self._scrubbed(failure) from None
        except TooLargeError:
            raise too_large_failure(self.url) from None
        except RecursionError:
            raise strange_answer(self.url, "nested too deeply") from None
        return meta.status, meta.headers, body

    def _scrubbed(self, failure: AllusionError) -> AllusionError:
        text = str(failure)
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return type(failure)(text)


def encode(value: Mapping[str, Any]) -> bytes:
    """JSON in its shortest form, on one line.

    Example:
        >>> encode({"a": [1, 2]})
        b'{"a":[1,2]}'
    """
    return _ENCODER.encode(value).encode("utf-8", "replace")


def _client(address: Address) -> "Elasticsearch":
    from elasticsearch import Elasticsearch

    from allusion_es.es.connection import BoundedNode, StrictJson

    serializers = dict.fromkeys((_ANY_VERSION, _JSON.partition(";")[0]), StrictJson())
    options: dict[str, Any] = {"node_class": BoundedNode, "serializers": serializers}
    if any(url.startswith("https:") for url in address.urls):
        if address.ca_certs:
            options["ca_certs"] = address.ca_certs
        if address.fingerprint:
            options["ssl_assert_fingerprint"] = address.fingerprint
    elif address.ca_certs or address.fingerprint:
        raise UsageError(f"{address.shown}: certificates need a URL with https://")
    try:
        return Elasticsearch(list(address.urls), **options)
    except (ValueError, OSError) as error:
        raise UsageError(f"{address.shown}: {' '.join(str(error).split())}") from None


def _asked_delay(headers: Mapping[str, str]) -> float:
    """Seconds after which a server says that it can be asked again; 0 where it does not."""
    text = headers.get("retry-after", "")
    return min(float(text), _MOST_SECONDS) if text.isdecimal() else 0.0
