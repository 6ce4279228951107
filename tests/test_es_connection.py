"""Servers that are missing, wrong or unwilling: one line each, and never a secret."""

import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from allusion_es.core.errors import (
    AllusionError,
    IndexMissingError,
    ServerRefusedError,
    ServerUnavailableError,
    UsageError,
)
from allusion_es.es import connection
from allusion_es.es.bulk import index_documents
from allusion_es.es.connection import Server, encode
from allusion_es.es.errors import RequestTooLargeError, is_transient
from allusion_es.es.partial import Shortfall, find_shortfall

SECRET = "geheim-4711"
ELASTIC = {"X-elastic-product": "Elasticsearch", "Content-Type": "application/json"}
JSON = {"Content-Type": "application/json"}

Answer = tuple[int, dict[str, str], str]
Start = Callable[..., str]


def nodes(version: str) -> Answer:
    return 200, ELASTIC, json.dumps({"nodes": {"a": {"version": version}}})


def refusal(status: int, kind: str, reason: str) -> Answer:
    return status, ELASTIC, json.dumps({"error": {"type": kind, "reason": reason}})


@contextmanager
def pretending(answers: list[Answer], context: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server that gives these answers in turn, and the last one for ever; yields host:port."""
    waiting = list(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, body = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_POST = do_PUT = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_RETRY_SECONDS", (0.01,))
    monkeypatch.setattr(connection, "_POLL_SECONDS", 0.05)
    for name in ("URL", "API_KEY", "USER", "PASSWORD", "CA_CERTS", "FINGERPRINT"):
        monkeypatch.delenv(f"ALLUSION_ES_{name}", raising=False)


def failure(url: str, *answers: Answer) -> AllusionError:
    """What connecting fails with, checked for what holds of every message."""
    options: dict[str, Any] = {"timeout": 5.0}
    if answers:
        with pretending(list(answers)) as address:
            return failure(f"http://me:{SECRET}@{address}")
    with pytest.raises(AllusionError) as caught:
        Server.connect(url, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert SECRET not in message
    assert SECRET not in repr(caught.value.__cause__)
    assert url.rpartition("@")[2] in message
    return caught.value


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_nothing_listens() -> None:
    error = failure(f"http://me:{SECRET}@127.0.0.1:{free_port()}")
    assert isinstance(error, ServerUnavailableError)
    assert error.exit_code == 3
    assert "docker compose up --wait" in str(error)
    assert "refused" in str(error)


def test_no_such_host() -> None:
    assert isinstance(failure("http://nowhere.invalid:9200"), ServerUnavailableError)


def test_no_answer_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ServerUnavailableError, match=r"did not answer within 0\.2 s"):
            Server.connect(url, timeout=0.2)


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"Content-Type": "text/html"}, "<html>Hello</html>"),
        (404, {"Content-Type": "text/html"}, "<html>Not found</html>"),
        (200, JSON, '{"nodes": {}}'),
        (200, JSON, '{"nodes": '),
        (200, {"Content-Type": "image/png"}, "x"),
        (200, JSON, "[]"),
        (200, {}, ""),
        (200, ELASTIC, '{"nodes": NaN}'),
    ],
    ids=["html", "html-404", "json", "broken-json", "image", "list", "nothing", "nan"],
)
def test_what_answers_is_not_elasticsearch(answer: Answer) -> None:
    error = failure("", answer)
    assert isinstance(error, ServerRefusedError)
    assert "is not Elasticsearch" in str(error)


def test_wrong_password() -> None:
    error = failure("", refusal(401, "security_exception", f"no user with {SECRET}"))
    assert isinstance(error, ServerRefusedError)
    assert "ALLUSION_ES_PASSWORD" in str(error)
    assert "ALLUSION_ES_API_KEY" in str(error)


@pytest.mark.parametrize("version", ["7.17.29", "8.12.2", "10.0.0", "6.8.0", "nonsense"])
def test_wrong_version(version: str) -> None:
    error = failure("", nodes(version))
    assert isinstance(error, ServerRefusedError)
    assert version in str(error)
    assert "8.13 to 9.x" in str(error)
    assert "docker compose up --wait" in str(error)


def test_a_cluster_with_one_wrong_version() -> None:
    body = {"nodes": {"a": {"version": "9.1.0"}, "b": {"version": "7.17.0"}}}
    assert "7.17.0" in str(failure("", (200, ELASTIC, json.dumps(body))))


def test_fitting_versions() -> None:
    for version in ("8.13.0", "8.19.20", "9.0.0", "9.5.3-SNAPSHOT"):
        with pretending([nodes(version)]) as address, Server.connect(address) as server:
            assert server.version == version


def test_a_login_that_may_not_ask_for_the_version_is_not_stopped() -> None:
    answer = refusal(403, "security_exception", "action [cluster:monitor/nodes/info] denied")
    with pretending([answer]) as address, Server.connect(address) as server:
        assert server.version == ""
        with pytest.raises(ServerRefusedError, match=r"does not permit this .*denied"):
            server.request("GET", "/x")


def test_a_server_that_is_not_ready() -> None:
    error = failure("", (503, {"Content-Type": "text/html"}, "<html>Later</html>"))
    assert isinstance(error, ServerUnavailableError)
    assert "not ready" in str(error)


def test_waiting_until_the_server_is_ready() -> None:
    later = [(503, ELASTIC, "{}")] * 6
    with (
        pretending([*later, nodes("9.0.0")]) as address,
        Server.connect(address, wait=20) as server,
    ):
        assert server.version == "9.0.0"


def test_waiting_in_vain() -> None:
    before = time.monotonic()
    with pytest.raises(ServerUnavailableError):
        Server.connect(f"http://127.0.0.1:{free_port()}", wait=0.3)
    assert 0.3 <= time.monotonic() - before < 5


def test_waiting_does_not_help_against_a_wrong_product() -> None:
    with (
        pretending([(200, JSON, "{}")]) as address,
        pytest.raises(ServerRefusedError, match="not Elasticsearch"),
    ):
        Server.connect(address, wait=60)


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (refusal(404, "index_not_found_exception", "no such index [x]"), IndexMissingError, "x"),
        (
            refusal(403, "cluster_block_exception", "index [x] blocked by: [FORBIDDEN/5/..."),
            ServerRefusedError,
            "lift the block",
        ),
        (
            refusal(429, "cluster_block_exception", "flood-stage watermark"),
            ServerRefusedError,
            "free disk space",
        ),
        (refusal(429, "circuit_breaking_exception", "too large"), ServerRefusedError, "later"),
        ((413, {}, ""), ServerRefusedError, "413"),
        (refusal(500, "x_exception", f"\n {SECRET} \n"), ServerRefusedError, r"x_exception\): \*"),
    ],
)
def test_requests_that_fail(answer: Answer, kind: type[AllusionError], text: str) -> None:
    with (
        pretending([nodes("9.0.0"), answer]) as address,
        Server.connect(address, api_key=SECRET) as server,
        pytest.raises(kind, match=text) as caught,
    ):
        server.request("POST", "/x", {"a": 1})
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_overloaded_server_is_asked_again() -> None:
    busy = refusal(429, "circuit_breaking_exception", "too large")
    with (
        pretending([nodes("9.0.0"), busy, (200, ELASTIC, '{"a": 1}')]) as address,
        Server.connect(address) as server,
    ):
        assert server.request("GET", "/x") == {"a": 1}


LOST = {"type": "node_disconnected_exception", "reason": "disconnected"}
ALL_LOST = {"type": "search_phase_execution_exception", "failed_shards": [{"reason": LOST}]}
SHARDS = {"_shards": {"total": 2, "successful": 1, "failures": [{"reason": LOST}]}}


@pytest.mark.parametrize(
    "broken",
    [
        SHARDS,
        {"responses": [{}, SHARDS]},
        {"responses": [{"error": ALL_LOST, "status": 503}]},
        {"docs": [{"_id": "a", "found": True}, {"_id": "b", "error": {"root_cause": [LOST]}}]},
        {"responses": [{"error": {"type": "es_rejected_execution_exception"}, "status": 429}]},
    ],
)
def test_what_a_node_that_left_was_to_give_is_asked_for_again(broken: dict[str, Any]) -> None:
    answers = [nodes("9.0.0"), (200, ELASTIC, json.dumps(broken)), (200, ELASTIC, '{"a": 1}')]
    with pretending(answers) as address, Server.connect(address) as server:
        assert server.request("POST", "/_search") == {"a": 1}
    with pretending(answers[:2]) as address, Server.connect(address) as server:
        assert server.request("POST", "/_search") == broken  # whoever asked tells what is missing


@pytest.mark.parametrize(
    "answer",
    [
        {"_shards": {"total": 2, "successful": 1, "failures": [{"reason": {"type": "x"}}]}},
        {"_shards": {"failures": 1}, "error": ["x"], "responses": [1, {"error": "x"}], "docs": {}},
        {"_shards": {"failures": [None, {"reason": {"type": ["node_disconnected_exception"]}}]}},
        [],
        None,
    ],
)
def test_nothing_else_is_passing(answer: object) -> None:
    assert not is_transient(answer)


def test_searches_that_did_not_reach_the_whole_index() -> None:
    whole = {"_shards": {"total": 2, "successful": 2, "failed": 0}, "timed_out": False}
    assert find_shortfall(whole) is None
    slow = find_shortfall({**whole, "timed_out": True})
    assert slow
    assert "want of time" in str(slow.error("URL"))
    failures = [{"reason": {"type": "x", "reason": "node left"}}]
    lost = {"_shards": {"total": 2, "successful": 1, "failed": 1, "failures": failures}}
    found = find_shortfall(lost)
    assert found == Shortfall(1, 2, "node left")
    assert "URL searched only 1 of 2 shards (node left)" in str(found.error("URL"))
    unassigned = {"_shards": {"total": 2, "successful": 1, "failed": 0}}
    assert find_shortfall(unassigned) == Shortfall(1, 2, "no reason given")


def test_certificates_need_https(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="https"):
        Server.connect("http://localhost:9200", fingerprint="ab" * 32)


def test_https_to_a_server_without_it() -> None:
    with pretending([nodes("9.0.0")]) as address:
        error = failure(f"https://{address}")
    assert "http://" in str(error)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A self-signed certificate for loopback: its file, its key's and its fingerprint."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    file, key = folder / "cert.pem", folder / "key.pem"
    command = f"{openssl} req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    places = ["-keyout", str(key), "-out", str(file)]
    subprocess.run(
        [*command.split(), "-addext", "subjectAltName=IP:127.0.0.1", *places],
        check=True,
        capture_output=True,
    )
    printed = subprocess.run(
        [openssl, "x509", "-in", str(file), "-noout", "-fingerprint", "-sha256"],
        check=True,
        capture_output=True,
        text=True,
    )
    return file, key, printed.stdout.strip().partition("=")[2]


def test_tls(certificate: tuple[Path, Path, str], tmp_path: Path) -> None:
    file, key, fingerprint = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    with pretending([nodes("9.0.0")], context) as address:
        url = f"https://{address}"
        error = failure(url)
        assert isinstance(error, ServerRefusedError)
        assert "ALLUSION_ES_CA_CERTS" in str(error)
        with Server.connect(url, ca_certs=str(file)) as server:
            assert server.version == "9.0.0"
        with Server.connect(url, fingerprint=fingerprint) as server:
            assert server.version == "9.0.0"
        with pytest.raises(ServerRefusedError, match="not trusted"):
            Server.connect(url, fingerprint="ab" * 32)
        nonsense = tmp_path / "ca.pem"
        nonsense.write_text("no certificate")
        with pytest.raises(AllusionError, match="cert"):
            Server.connect(url, ca_certs=str(nonsense))


def test_importing_the_connection_does_not_import_the_client() -> None:
    code = "import sys, allusion_es.es.connection; print('elasticsearch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_server_that_says_when_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    later = [
        (status, {**ELASTIC, "Retry-After": after}, "{}")
        for status, after in ((503, "3"), (429, "86400"), (503, "Fri, 31 Dec 1999 23:59:59 GMT"))
    ]
    monkeypatch.setattr(connection, "_RETRY_SECONDS", (0.01, 0.01, 0.01))
    with (
        pretending([nodes("9.0.0"), *later, (200, ELASTIC, '{"a": 1}')]) as address,
        Server.connect(address) as server,
    ):
        assert server.request("GET", "/x") == {"a": 1}
    assert waited == [3.0, 20.0, 0.01]


def test_a_missing_master_is_waited_for_and_a_lock_is_not() -> None:
    body = refusal(503, "cluster_block_exception", "blocked by: [no master]")
    with (
        pretending([nodes("9.0.0"), body, (200, ELASTIC, '{"a": 1}')]) as address,
        Server.connect(address) as server,
    ):
        assert server.request("PUT", "/x") == {"a": 1}
    locked = refusal(429, "cluster_block_exception", "blocked by: [disk usage exceeded]")
    with (
        pretending([nodes("9.0.0"), locked, (200, ELASTIC, '{"a": 1}')]) as address,
        Server.connect(address) as server,
        pytest.raises(ServerRefusedError, match="free disk space or lift the block"),
    ):
        server.request("PUT", "/x")


def test_a_change_that_not_all_nodes_know() -> None:
    with (
        pretending([nodes("9.0.0"), (200, ELASTIC, '{"acknowledged": false}')]) as address,
        Server.connect(address) as server,
        pytest.raises(ServerUnavailableError, match="not all nodes"),
    ):
        server.change("PUT", "/x")


def test_a_redirection_is_not_followed() -> None:
    error = failure("", (307, {"Location": "http://127.0.0.1:9/", **ELASTIC}, "{}"))
    assert "sends requests elsewhere (HTTP 307)" in str(error)


def test_a_bulk_request_that_is_too_large_goes_in_halves() -> None:
    sizes: list[int] = []

    class Small:
        url = "URL"

        def send_lines(self, path: str, lines: Iterator[bytes]) -> dict[str, Any]:
            ids = [json.loads(line)["index"]["_id"] for line in list(lines)[::2]]
            sizes.append(len(ids))
            if len(ids) > 3:
                raise RequestTooLargeError("URL refuses so large a request (413)")
            items = [{"index": {"_id": each, "status": 201}} for each in ids]
            return {"errors": False, "items": items}

    server: Any = Small()
    assert index_documents(server, "x", [(str(n), b"{}") for n in range(10)]) == 10
    assert sizes == [10, 5, 2, 3, 5, 2, 3]


def test_documents_that_a_server_loses() -> None:
    class Losing:
        url = "URL"

        def send_lines(self, path: str, lines: Iterator[bytes]) -> dict[str, Any]:
            return {"errors": False, "items": [{"index": {"_id": "0", "status": 201}}]}

    server: Any = Losing()
    with pytest.raises(ServerRefusedError, match="other documents than were sent"):
        index_documents(server, "x", [("0", b"{}"), ("1", b"{}")])


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_never_sent(number: float) -> None:
    for value in ({"a": number}, {"a": [number]}, {"a": [1.5, number]}, {"a": {"b": number}}):
        with pytest.raises(ValueError, match="not JSON compliant"):
            encode(value)


def test_words_that_look_like_no_number_are_sent() -> None:
    value = {"a": ["nullus", ",nullus", None], "b": None, "c": np.float32(0.5), "d": np.int64(3)}
    assert json.loads(encode(value)) == {**value, "c": 0.5, "d": 3}
