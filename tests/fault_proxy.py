"""A proxy on loopback that stands before a server and breaks what it is told to break."""

import contextlib
import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

LONGEST = 60.0
"""Seconds after which even what never ends is given up, so that no thread is left."""

_PRODUCT = {"X-elastic-product": "Elasticsearch", "Content-Type": "application/json"}
_HTML = b"<html><body><h1>It works!</h1>\nSee <a>below</a></body></html>"


@dataclass
class Exchange:
    """A request, and the means to answer it.

    Attributes:
        handler: Whose it is.
        method: HTTP method.
        path: With its query.
        body: Its bytes.
        ended: Set when nobody waits for an answer any more.
    """

    handler: BaseHTTPRequestHandler
    upstream: str
    method: str
    path: str
    body: bytes
    ended: threading.Event

    def forward(self) -> tuple[int, dict[str, str], bytes]:
        """What the server answers: status, headers, body."""
        parts = urlsplit(self.upstream)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=LONGEST)
        kept = {"content-type", "accept", "authorization"}
        headers = {k: v for k, v in self.handler.headers.items() if k.lower() in kept}
        try:
            connection.request(self.method, self.path, self.body or None, headers)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        left_out = {"content-length", "transfer-encoding", "connection"}
        return (
            answer.status,
            {k: v for k, v in answer.getheaders() if k.lower() not in left_out},
            data,
        )

    def send(
        self, status: int, headers: dict[str, str], body: bytes, length: int | None = None
    ) -> None:
        """Answer, with another content length than the body's if that is wanted."""
        self.handler.send_response(status)
        for name, value in headers.items():
            self.handler.send_header(name, value)
        self.handler.send_header("Content-Length", str(len(body) if length is None else length))
        self.handler.end_headers()
        self.handler.wfile.write(body)
        if length is not None and length != len(body):
            self.handler.close_connection = True

    def reset(self) -> None:
        """Break the connection off, as a crash does."""
        option = struct.pack("ii", 1, 0)
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
        self.handler.connection.close()
        self.handler.close_connection = True


Fault = Callable[[Exchange], None]
"""Answers a request in its own way."""


def _stall(exchange: Exchange) -> None:
    exchange.ended.wait(LONGEST)
    exchange.reset()


def _slow(exchange: Exchange) -> None:
    time.sleep(0.2)
    exchange.send(*exchange.forward())


def _drip(exchange: Exchange) -> None:
    exchange.handler.send_response(200)
    exchange.handler.send_header("Content-Length", "100000")
    exchange.handler.end_headers()
    give_up = time.monotonic() + LONGEST
    while time.monotonic() < give_up and not exchange.ended.wait(0.05):
        exchange.handler.wfile.write(b" ")
    exchange.reset()


def _reset(exchange: Exchange) -> None:
    exchange.reset()


def _lost(exchange: Exchange) -> None:
    exchange.forward()
    exchange.reset()


def _half(exchange: Exchange) -> None:
    status, headers, body = exchange.forward()
    exchange.send(status, headers, body[: len(body) // 2], len(body))


def _short(exchange: Exchange) -> None:
    status, headers, body = exchange.forward()
    exchange.send(status, headers, body, max(1, len(body) // 2))


def _endless(exchange: Exchange) -> None:
    exchange.handler.send_response(200)
    exchange.handler.send_header("X-elastic-product", "Elasticsearch")
    exchange.handler.send_header("Content-Type", "application/json")
    exchange.handler.send_header("Connection", "close")
    exchange.handler.end_headers()
    exchange.handler.close_connection = True
    give_up = time.monotonic() + LONGEST
    while time.monotonic() < give_up and not exchange.ended.is_set():
        exchange.handler.wfile.write(b"[" * 2**18)


def _garbage(exchange: Exchange) -> None:
    exchange.handler.wfile.write(b"220 smtp.example.org ESMTP\r\n\r\n")
    exchange.handler.close_connection = True


def _answering(status: int, body: bytes = _HTML, **headers: str) -> Fault:
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    def fault(exchange: Exchange) -> None:
        exchange.send(status, named or {"Content-Type": "text/html"}, body)

    return fault


def _refusing(status: int, kind: str, **headers: str) -> Fault:
    body = {"error": {"type": kind, "reason": "as a test asked for"}, "status": status}
    return _answering(status, json.dumps(body).encode(), **_PRODUCT, **headers)


def _changed(change: Callable[[Any], Any], *, perform: bool = True) -> Fault:
    """The server's answer with each number or the whole of it changed."""

    def fault(exchange: Exchange) -> None:
        status, headers, body = exchange.forward()
        exchange.send(status, headers, json.dumps(change(json.loads(body))).encode())

    return fault


def _numbers(value: Any, change: Callable[[float], Any]) -> Any:  # noqa: ANN401 - what JSON can hold
    match value:
        case bool():
            return value
        case int() | float():
            return change(value)
        case list():
            return [_numbers(each, change) for each in value]
        case dict():
            return {name: _numbers(each, change) for name, each in value.items()}
    return value


FAULTS: dict[str, Fault] = {
    "stalls": _stall,
    "answers slowly": _slow,
    "sends byte by byte": _drip,
    "resets": _reset,
    "does it, then resets": _lost,
    "429": _refusing(429, "es_rejected_execution_exception"),
    "429 Retry-After": _refusing(429, "circuit_breaking_exception", Retry_After="0"),
    "503": _refusing(503, "unavailable_shards_exception"),
    "503 HTML": _answering(503),
    "413": _answering(413),
    "401": _refusing(401, "security_exception"),
    "403": _refusing(403, "security_exception"),
    "404 HTML": _answering(404),
    "500": _refusing(500, "null_pointer_exception"),
    "redirects": _answering(302, b"", Location="http://127.0.0.1:9/", Content_Type="text/html"),
    "HTML": _answering(200),
    "no HTTP": _garbage,
    "half a body": _half,
    "wrong length": _short,
    "no body": _answering(200, b"", **_PRODUCT),
    "no JSON": _answering(200, b'{"took": 1, "errors": fal', **_PRODUCT),
    "no UTF-8": _answering(200, b'{"took": "\xff\xfe"}', **_PRODUCT),
    "deep JSON": _answering(200, b"[" * 100_000 + b"]" * 100_000, **_PRODUCT),
    "a list": _changed(lambda _: []),
    "an empty object": _changed(lambda _: {}),
    "null": _changed(lambda _: None),
    "strings for numbers": _changed(lambda body: _numbers(body, str)),
    "NaN": _changed(lambda body: _numbers(body, lambda _: float("nan"))),
    "nothing in lists": _changed(lambda body: _emptied(body)),
    "has no end": _endless,
}
"""What can go wrong, by name."""

HARMLESS = frozenset({"answers slowly"})
"""Faults that change nothing."""


def _emptied(value: Any) -> Any:  # noqa: ANN401 - what JSON can hold
    if isinstance(value, dict):
        return {name: _emptied(each) for name, each in value.items()}
    return [None for _ in value] if isinstance(value, list) else value


@dataclass
class FaultProxy:
    """Passes requests on; breaks those that it is told to.

    Attributes:
        upstream: URL of the server behind it.
        url: Its own URL.
        seen: Requests since the last `arm`.
        broken: Those of them that were broken.
    """

    upstream: str
    url: str = ""
    seen: int = 0
    broken: int = 0
    _fault: Fault | None = None
    _which: Callable[[int], bool] = field(default=lambda _: False)
    _ended: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def arm(self, fault: str = "", which: Callable[[int], bool] = lambda _: True) -> None:
        """Break requests from now on; what still stalls is let go.

        Args:
            fault: A key of `FAULTS`, or "" to pass everything on.
            which: Whether the n-th request from now, from 1, is to be broken.
        """
        self._ended.set()
        with self._lock:
            self._ended = threading.Event()
            self.seen = self.broken = 0
            self._fault, self._which = FAULTS.get(fault), which

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a request, or break it."""
        with self._lock:
            self.seen += 1
            fault = self._fault if self._fault and self._which(self.seen) else None
            self.broken += fault is not None
            ended = self._ended
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        exchange = Exchange(handler, self.upstream, handler.command, handler.path, body, ended)
        with contextlib.suppress(OSError):
            if fault is None:
                exchange.send(*exchange.forward())
            else:
                fault(exchange)


@contextlib.contextmanager
def fault_proxy(upstream: str) -> Iterator[FaultProxy]:
    """A proxy before the server at `upstream`; it breaks nothing until it is armed."""
    proxy = FaultProxy(upstream)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _answer(self) -> None:
            proxy.answer(self)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # the client has gone

    server = Server(("127.0.0.1", 0), Handler)
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.arm()
        server.shutdown()
        thread.join()
        server.server_close()
