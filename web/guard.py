"""Access to a page's server: each request's origin and token are checked, its size is limited."""

import asyncio
import hmac
import ipaddress
import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 65_536
"""Most bytes of a request's body unless a route allows more."""

# A body that is too large is read and thrown away before the refusal is sent: a client that is
# still sending would otherwise see a broken connection. These bound how much, and how long.
_LARGEST_DRAIN = 64 * 2**20
_DRAIN_SECONDS = 10.0

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class RefusedError(Exception):
    """Raised to refuse a request; becomes an answer with its status and message.

    Attributes:
        status: HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Guard:
    """Passes requests to an application if they come from its own page and have a valid token.

    The path must begin with a token. The Host must be an address, `localhost` or the server's
    own name, so that no foreign name that is made to point here (DNS rebinding) gets through;
    the Origin, where there is one, must be the page's. Every answer forbids the page to load or
    send anything elsewhere.

    Args:
        app: Gets requests with the path after the token; `scope["state"]["holder"]` is the
            token's holder.
        holders: The holder of each token: any object, such as the work of a user.
        names: Host names of the server, besides `localhost`.
    """

    def __init__(
        self, app: ASGIApp, holders: Mapping[str, object], names: Iterable[str] = ()
    ) -> None:
        self._app = app
        self._holders = holders
        self._names = frozenset({"localhost", *(name.lower() for name in names)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        try:
            self._check_source(Headers(scope=scope), scope["method"])
            token, slash, path = scope["path"].removeprefix("/").partition("/")
            scope["state"] = {"holder": self._holder(token)}
            scope["path"] = f"/{path}"
            app = self._app if slash else RedirectResponse(f"/{token}/")
        except RefusedError as refused:
            await discard(receive, scope)
            answer = JSONResponse({"error": str(refused)}, refused.status)
            await answer(scope, receive, guarded)
        else:
            await app(scope, receive, guarded)

    def _check_source(self, headers: Headers, method: str) -> None:
        host = headers.get("host", "")
        name = _host_name(host)
        if name not in self._names and not _is_address(name):
            raise RefusedError(
                421, "this server does not go by that name; open the URL that it printed"
            )
        site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode")
        # Someone may have sent the URL, and a click on it in a mail is no attack.
        is_click = method == "GET" and mode == "navigate"
        is_own = site in {"none", "same-origin"} or is_click
        if headers.get("origin", f"http://{host}") != f"http://{host}" or not is_own:
            raise RefusedError(403, "requests from other pages are refused")

    def _holder(self, token: str) -> object:
        for known, holder in self._holders.items():
            # In constant time, so that answers do not tell how much of a token is right.
            if hmac.compare_digest(known.encode(), token.encode("utf-8", "replace")):
                return holder
        raise RefusedError(
            403, "the URL's token is missing or wrong; open the URL that was printed"
        )


async def bounded_body(receive: Receive, scope: Scope, most: int = LARGEST_BODY) -> bytes:
    """Read the body of a request, keeping no more than `most` bytes in memory.

    Raises:
        RefusedError: It is larger, or the client has gone.
    """
    body = await _read(receive, scope, most)
    if body is None:
        raise RefusedError(413, f"the request has more than {most} bytes; send less")
    return body


async def json_record(request: Request, most: int = LARGEST_BODY) -> dict[str, Any]:
    """Read the JSON object in a request's body.

    Raises:
        RefusedError: The body is something else, or has more than `most` bytes.
    """
    body = await bounded_body(request.receive, request.scope, most)
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RefusedError(415, "send JSON, with Content-Type: application/json")
    try:
        record = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, "the request is no JSON") from error
    if not isinstance(record, dict):
        raise RefusedError(400, "send a JSON object")
    return record


async def discard(receive: Receive, scope: Scope) -> None:
    """Read and throw away a body, so that the client comes to read the answer."""
    await _read(receive, scope, 0)


async def _read(receive: Receive, scope: Scope, most: int) -> bytes | None:
    """The body, or None if it is longer than `most`; then it is read and thrown away."""
    declared = Headers(scope=scope).get("content-length", "0")
    if declared.isdecimal() and int(declared) > _LARGEST_DRAIN:
        return None
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            # Counted while reading: a chunked body declares no length.
            more = True
            while more and size <= _LARGEST_DRAIN:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RefusedError(400, "the request broke off")
                part = message.get("body", b"")
                size += len(part)
                if size <= most:
                    parts.append(part)
                more = message.get("more_body", False)
    except TimeoutError:
        return None
    return b"".join(parts) if size <= most else None


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        # After % stands the zone of a link-local address (fe80::1%eth0).
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True
