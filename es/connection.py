"""A connection to an Elasticsearch server of major 8 or 9.

`Server` sends every request of this package. It uses the transport of the official client (pool of
nodes, TLS, retries when a connection breaks) but not the API above it: that speaks only to servers
of the client's own major, and raises errors that name no URL.

Answers are bounded: they end within a time and a size, and are valid JSON.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import urllib3
from elastic_transport import JsonSerializer, NodeConfig, TransportError, Urllib3HttpNode

from allusion_es.core.errors import ServerUnavailableError, UsageError
from allusion_es.es.address import Address, find_address
from allusion_es.es.answers import ACKNOWLEDGED, NODES, check_answer, strange_answer
from allusion_es.es.errors import (
    answer_failure,
    is_lock,
    is_transient,
    network_failure,
    too_large_failure,
    version_failure,
)
from allusion_es.es.tls import needs_tls

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

T = TypeVar("T")

# --- Answers that end ---

LARGEST_ANSWER = 256 * 2**20
"""Most bytes of an answer. The largest true ones, to requests for words of thousands of passages,
have some megabytes; a server that sends more than this is broken or hostile."""

# Small enough that the time is looked at often, large enough to cost nothing.
_CHUNK = 1 << 16


class TooLargeError(RuntimeError):
    """An answer has more bytes than are accepted."""


def read_whole(read: Callable[[int], bytes], seconds: float, most: int) -> bytes:
    """Read a body to its end, within limits of time and size.

    Args:
        read: Returns the bytes that have arrived, at most as many as it is given, and `b""` at the
            end.
        seconds: How long all reads together may take. A single read that hangs is not ended here;
            the socket's own timeout does that.
        most: How many bytes the body may have.

    Raises:
        TooLargeError: The body has more bytes.
        TimeoutError: The body takes longer.

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


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """An HTTP answer that was read to its end.

    It has the three attributes of urllib3's answers that the client's transport uses.

    Attributes:
        status: HTTP status.
        headers: The headers; their names in any case.
        data: The body.
    """

    status: int
    headers: urllib3.HTTPHeaderDict
    data: bytes


def bounded_urlopen(
    urlopen: Callable[..., urllib3.BaseHTTPResponse],
    method: str,
    url: str,
    timeout: float,
    *,
    most: int = LARGEST_ANSWER,
    **options: Any,  # noqa: ANN401 - passed on
) -> WholeAnswer:
    """Send a request by a pool's `urlopen`, and read the answer within limits of time and size.

    Args:
        urlopen: The method of a urllib3 pool.
        method: HTTP method.
        url: Path of the request.
        timeout: Seconds for the answer to begin, and as many for it to end.
        most: How many bytes the answer may have.
        options: Further arguments of `urlopen`.

    Raises:
        TooLargeError: The answer has more bytes.
        urllib3.exceptions.HTTPError: Nothing answers, or not in time.
    """
    answer = urlopen(method, url, timeout=timeout, preload_content=False, **options)
    try:
        # The oldest urllib3 that the client allows has no `read1`.
        data = read_whole(getattr(answer, "read1", answer.read), timeout, most)
    except TimeoutError:
        answer.close()
        message = "the answer did not end"
        raise urllib3.exceptions.ReadTimeoutError(None, "", message) from None  # type: ignore[arg-type]
    except BaseException:
        # The rest of the answer is still to come, so this connection cannot be used again.
        answer.close()
        raise
    answer.release_conn()
    return WholeAnswer(answer.status, answer.headers, data)


class BoundedNode(Urllib3HttpNode):
    """A node of the client's transport whose answers are bounded in time and size."""

    def __init__(self, config: NodeConfig) -> None:
        """Make the node, and replace how its pool sends requests."""
        super().__init__(config)
        # The transport has no hook between sending a request and reading the whole answer.
        pool: Any = self.pool
        pool.urlopen = partial(bounded_urlopen, self.pool.urlopen)


class StrictJson(JsonSerializer):
    """A serializer that refuses NaN, Infinity and lone surrogates, which JSON does not have.

    Python's own reader accepts them. Further on, NaN would disturb every order by score, and a lone
    surrogate could not be printed.
    """

    def json_loads(self, data: bytes) -> Any:  # noqa: ANN401 - what JSON can hold
        """The value that JSON text stands for.

        Raises:
            ValueError: It is not JSON, or has a number that no double can hold.
        """
        return msgspec.json.decode(data)


# --- Requests ---

# Major 8 speaks this, and major 9 still does; so one installed client serves both.
_JSON = "application/vnd.elasticsearch+json; compatible-with=8"
_LINES = "application/vnd.elasticsearch+x-ndjson; compatible-with=8"
# Servers of every major understand this, so it serves to ask for the version.
_ANY_VERSION = "application/json"

_RETRY_STATUS = frozenset({429, 502, 503, 504})

_RETRY_SECONDS = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Pauses before a request is sent again. Together they are about as long as a cluster takes to see
that a node is gone. The transport's own retries on a status have no pause between them."""

_MOST_SECONDS = 20.0
"""Longest pause that a server may ask for (`Retry-After`)."""

_POLL_SECONDS = 0.5
"""Pause between two attempts to reach a server that is starting."""

_ENCODER = msgspec.json.Encoder(enc_hook=float)
"""Its hook takes numpy's numbers, as Python's own encoder does."""

_NULLS = (b":null", b",null", b"[null")
"""How a null begins in an object or a list."""


class Server:
    """A connection to an Elasticsearch server or cluster; close it, or use it in `with`.

    Every failure is an `AllusionError` of one line that names the URL and holds no secret.

    Attributes:
        url: The URLs for messages, without a login.
        version: The lowest version among the nodes, or "" if the login may not ask for it.

    Example:
        >>> with Server.connect("http://localhost:9200") as server:  # doctest: +SKIP
        ...     server.request("GET", "/_cluster/health")["status"]
        'green'
    """

    def __init__(self, address: Address, timeout: float = 30.0) -> None:
        """Prepare a connection; `connect` also checks that the server can be used."""
        self.url = address.shown
        self.version = ""
        self._timeout = timeout
        self._urls, self._ca_certs = address.urls, address.ca_certs
        self._several = len(address.urls) > 1
        self._authorization = address.login.header()
        self._login = address.login
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
            timeout: Seconds to wait for each answer to begin, and as many for it to end.
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
        """Return the server itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send a request, with a JSON body if one is given, and return the answer's JSON object.

        Busy servers and transient failures are asked again for some seconds.

        Raises:
            IndexMissingError: The index or document does not exist (404).
            ServerUnavailableError: Nothing answers, or not in time.
            ServerRefusedError: The server refuses.
        """
        data = None if body is None else encode(body)
        return self._send(method, path, data, _JSON)

    def change(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> None:
        """Send a request that changes indexes or aliases, and wait until all nodes know of it.

        Raises:
            ServerUnavailableError: Not all nodes could be told in time.
            AllusionError: As `request` raises.
        """
        answer = self.request(method, path, body)
        check_answer(answer, ACKNOWLEDGED, self.url)
        if not answer["acknowledged"]:
            raise ServerUnavailableError(
                f"not all nodes of {self.url} could be told of a change in time; see to the "
                "cluster's health and try again"
            )

    def send_lines(self, path: str, lines: Iterable[bytes]) -> dict[str, Any]:
        """Post JSON objects, one a line, as `_bulk` and `_msearch` want them.

        Raises:
            AllusionError: As `request` raises.
        """
        return self._send("POST", path, b"\n".join(lines) + b"\n", _LINES)

    def _check_version(self) -> None:
        """Raise an error unless every node is an Elasticsearch of a supported version."""
        from importlib.metadata import version as version_of

        # A server without its optional modules has no `GET /`, so the nodes are asked.
        status, headers, body = self._try("GET", "/_nodes?filter_path=nodes.*.version", None, "")
        if status == 403 and headers.get("x-elastic-product") == "Elasticsearch":
            return  # a login that may use indexes only; the next request shows if it may
        if failure := answer_failure(status, headers, body, self.url):
            # Some servers with TLS answer what comes without it.
            plain = (needs_tls(url) for url in self._urls if status == 400)
            raise self._login.without_secrets(next(filter(None, plain), failure))
        check_answer(body, NODES, self.url)
        versions = [str(node["version"]) for node in body["nodes"].values()]
        client = version_of("elasticsearch")
        for version in versions or ["of unknown version"]:
            if failure := version_failure(version, client, self.url):
                raise failure
        self.version = min(versions)

    def _send(self, method: str, path: str, data: bytes | None, media: str) -> dict[str, Any]:
        """Send a request until its answer is good, its failure final, or all pauses are used up.

        An answer that still lacks shards after the last retry is returned: callers refuse it, or
        accept it where the user allows partial answers.
        """
        delays = list(_RETRY_SECONDS)
        while True:
            status, headers, body = self._try(method, path, data, media)
            failure = answer_failure(status, headers, body, self.url)
            busy = status in _RETRY_STATUS and not is_lock(status, body)
            retry = is_transient(body) if failure is None else busy
            if not (retry and delays):
                if failure is not None:
                    raise self._login.without_secrets(failure)
                answer: dict[str, Any] = body
                return answer
            time.sleep(max(delays.pop(0), _retry_after(headers)))

    def _try(
        self, method: str, path: str, data: bytes | None, media: str
    ) -> tuple[int, Mapping[str, str], Any]:
        """Status, headers and body of one answer, whatever its status."""
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
            raise self._login.without_secrets(failure) from None
        except TooLargeError:
            raise too_large_failure(self.url) from None
        except RecursionError:
            raise strange_answer(self.url, "nested too deeply") from None
        return meta.status, meta.headers, body


def until_ready(attempt: Callable[[], T], wait: float) -> T:
    """Repeat an attempt while the server is unavailable, and return its result.

    Args:
        attempt: Asks the server.
        wait: Seconds to go on trying; 0 tries once.

    Raises:
        ServerUnavailableError: The server still is unavailable after `wait` seconds.

    Example:
        >>> until_ready(lambda: "8.19.0", wait=0.0)
        '8.19.0'
    """
    give_up = time.monotonic() + wait
    while True:
        try:
            return attempt()
        except ServerUnavailableError:
            left = give_up - time.monotonic()
            if left <= 0:
                raise
        time.sleep(min(_POLL_SECONDS, left))


def encode(value: Mapping[str, Any]) -> bytes:
    """Encode an object as JSON in its shortest form, on one line.

    Lone surrogates become `?`, since servers refuse them.

    Args:
        value: The value; its numbers are finite.

    Raises:
        ValueError: A number is not.

    Example:
        >>> encode({"a": [1, 2]}), encode({"a": chr(0xD800)})
        (b'{"a":[1,2]}', b'{"a":"?"}')
    """
    try:
        found = _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _encode_slowly(value)
    # What is no number is written as null, which Latin words that begin so hardly ever look like.
    return _encode_slowly(value) if any(mark in found for mark in _NULLS) else found


def _encode_slowly(value: Mapping[str, Any]) -> bytes:
    """As `encode`, but four times as slow."""
    text = json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=float
    )
    return text.encode("utf-8", "replace")


def _client(address: Address) -> "Elasticsearch":
    """The official client for an address, with bounded answers and strict JSON."""
    # The client takes half a second to import, and commands without a server need none of it.
    from elasticsearch import Elasticsearch

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


def _retry_after(headers: Mapping[str, str]) -> float:
    """The seconds of a `Retry-After` header, within limits; 0 if there is none."""
    text = headers.get("retry-after", "")
    return min(float(text), _MOST_SECONDS) if text.isdecimal() else 0.0
