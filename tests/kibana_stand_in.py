"""A stand-in for Kibana that answers as its documented API does; it keeps what it imports."""

import email
import email.policy
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

JSON = "application/json; charset=utf-8"


@dataclass
class StandIn:
    """What it holds, and how it behaves.

    Attributes:
        url: Its address, without its base path.
        version: What it says its version is; None: it does not say.
        level: What it says of its state.
        base: Its base path.
        spaces: Its spaces, besides the default one.
        authorization: The header that logs in, or "" where nobody has to.
        errors: What an import answers as errors, instead of importing.
        replies: Whole answers by path, that come first: status, media type, body.
        not_ready: How many requests it answers by 503 before it is ready.
        delay: Seconds before each answer.
        objects: What is in each space, by type and id.
        seen: Each request: method, path, headers.
    """

    url: str = ""
    version: str | None = "9.5.3"
    level: str = "available"
    base: str = ""
    spaces: tuple[str, ...] = ()
    authorization: str = ""
    errors: list[dict[str, Any]] = field(default_factory=list)
    replies: dict[str, tuple[int, str, bytes]] = field(default_factory=dict)
    not_ready: int = 0
    delay: float = 0.0
    objects: dict[str, dict[tuple[str, str], dict[str, Any]]] = field(default_factory=dict)
    seen: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def answer(
        self, method: str, target: str, headers: dict[str, str], data: bytes
    ) -> tuple[int, str, bytes]:
        self.seen.append((method, target, headers))
        time.sleep(self.delay)
        parts = urlsplit(target)
        if parts.path in self.replies:
            return self.replies[parts.path]
        if self.not_ready:
            self.not_ready -= 1
            return 503, "text/plain", b"Kibana server is not ready yet"
        if not parts.path.startswith(f"{self.base}/"):
            return 302, "text/html", b""
        path, space = parts.path.removeprefix(self.base), "default"
        if path.startswith("/s/"):
            space, _, path = path.removeprefix("/s/").partition("/")
            path = f"/{path}"
        logged_in = headers.get("authorization", "") == self.authorization
        if (method, path) == ("GET", "/api/status"):
            return self._status(logged_in)
        if not logged_in:
            return _problem(401, "Unauthorized", "unable to authenticate user [x]")
        if method == "GET" and path.startswith("/api/spaces/space/"):
            name = path.rpartition("/")[2]
            if name not in ("default", *self.spaces):
                return _problem(404, "Not Found", "Not Found")
            return _json(200, {"id": name})
        if (method, path) == ("POST", "/api/saved_objects/_import"):
            return self._import(space, parse_qs(parts.query), headers, data)
        return _problem(404, "Not Found", "Not Found")

    def _status(self, logged_in: bool) -> tuple[int, str, bytes]:
        body: dict[str, Any] = {"status": {"overall": {"level": self.level}}}
        if logged_in and self.version is not None:
            body["version"] = {"number": self.version, "build_flavor": "traditional"}
        return _json(200 if self.level in ("available", "degraded") else 503, body)

    def _import(
        self, space: str, query: dict[str, list[str]], headers: dict[str, str], data: bytes
    ) -> tuple[int, str, bytes]:
        if "kbn-xsrf" not in headers:
            return _problem(400, "Bad Request", "Request must contain a kbn-xsrf header.")
        head = f"content-type: {headers['content-type']}\r\n\r\n".encode()
        form = email.message_from_bytes(head + data, policy=email.policy.HTTP)
        (part,) = form.iter_parts()
        if part.get_param("name", header="content-disposition") != "file":
            return _problem(400, "Bad Request", "[request body.file]: expected value")
        if not str(part.get_filename()).endswith(".ndjson"):
            return _problem(400, "Bad Request", "Invalid file extension")
        objects = [json.loads(line) for line in part.get_content().splitlines() if line.strip()]
        keys = [(each["type"], each["id"]) for each in objects]
        if len(set(keys)) < len(keys):
            return _problem(400, "Bad Request", "Non-unique import objects detected: []")
        held = self.objects.setdefault(space, {})
        errors = list(self.errors)
        if query.get("overwrite") != ["true"]:
            errors += [
                {"type": kind, "id": name, "error": {"type": "conflict"}}
                for kind, name in keys
                if (kind, name) in held
            ]
        bad = {(error["type"], error["id"]) for error in errors}
        writes_none = {"conflict", "ambiguous_conflict", "missing_references"}
        if not writes_none & {error["error"]["type"] for error in errors}:
            good = (item for item in zip(keys, objects, strict=True) if item[0] not in bad)
            held.update(good)
        body: dict[str, Any] = {
            "success": not errors,
            # As Kibana does, this counts what would have been written.
            "successCount": len(objects) - len(errors),
            "warnings": [],
            "successResults": [
                {"type": kind, "id": name, "managed": False, **self._elsewhere(space, name)}
                for kind, name in keys
                if (kind, name) not in bad
            ],
        }
        return _json(200, body | ({"errors": errors} if errors else {}))

    def _elsewhere(self, space: str, name: str) -> dict[str, str]:
        """Ids are isolated: what another space has gets another id here."""
        others = (ids for other, ids in self.objects.items() if other != space)
        taken = any(name == identifier for ids in others for _, identifier in ids)
        return {"destinationId": f"new-{name}"} if taken else {}


@contextmanager
def running(stand_in: StandIn, context: ssl.SSLContext | None = None) -> Iterator[StandIn]:
    """Run it on a free loopback port, with TLS where there is a context."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, media, body = stand_in.answer(self.command, self.path, headers, data)
            self.send_response(status)
            self.send_header("content-type", media)
            self.send_header("content-length", str(len(body)))
            if status == 302:
                self.send_header("location", f"{stand_in.base}/login")
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # clients that hang up are part of the tests

    with Server(("127.0.0.1", 0), Handler) as server:
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        stand_in.url = f"http{'s' if context else ''}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield stand_in
        finally:
            server.shutdown()
            thread.join()


def _json(status: int, body: dict[str, Any]) -> tuple[int, str, bytes]:
    return status, JSON, json.dumps(body).encode()


def _problem(status: int, error: str, message: str) -> tuple[int, str, bytes]:
    return _json(status, {"statusCode": status, "error": error, "message": message})
