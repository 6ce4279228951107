"""The annotation page's server, spoken to as a program would, with good and bad intent."""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from annotation_server import INDEX, WORDS, AnnotationServer, Reply, links
from processes import Run

from allusion_es.annotation.marks import Mark
from allusion_es.annotation.store import Store

pytestmark = pytest.mark.process

MEBIBYTE = 2**20


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(place: Path, little_index: str) -> Iterator[AnnotationServer]:
    work = links(place / "links.jsonl")
    with AnnotationServer(work, ["anna", "berta"], place / "spans.sqlite") as running:
        yield running
        assert running.stop() == 0
    log = running.log.read_text()
    assert "all that was acknowledged is in" in log
    assert "Traceback" not in log
    for name in running.urls:
        assert running.path(name).strip("/") not in log


@pytest.fixture
def store(server: AnnotationServer, place: Path) -> Store:
    return Store(place / "spans.sqlite")


@pytest.fixture
def untouched(store: Store) -> Iterator[None]:
    """Whatever the test does, nothing is stored."""
    before = store.history()
    yield
    assert store.history() == before


def assert_refused(reply: Reply, status: int, message: str) -> None:
    assert reply.status == status
    assert set(reply.body) <= {"error", "saved"}
    assert message in reply.body["error"]


def test_the_page_and_its_work(server: AnnotationServer) -> None:
    for name in ("", "annotate.css", "annotate.js", "saving.js"):
        reply = server.ask("GET", server.path("anna", name))
        assert reply.status == 200
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Referrer-Policy"] == "no-referrer"
        policy = reply.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    reply = server.ask("GET", server.path("berta", "api/work"))
    assert reply.status == 200
    assert reply.body["annotator"] == "berta"
    first = reply.body["instances"][0]
    assert "".join(first["pieces"]) == " ".join(WORDS) + "."
    assert (first["id"], first["own"], first["anchor"]) == ("b-0", [3, 9], [5, 6])
    assert [verse["reference"] for verse in first["verses"]] == ["Ps 33,9"]
    assert first["verses"][0]["text"].startswith("Gustate et videte")
    assert first["saved"]["mark"]["start"] is None
    without_slash = server.ask("GET", server.path("anna").rstrip("/"))
    assert (without_slash.status, without_slash.headers["Location"]) == (307, server.path("anna"))


def test_a_save_is_in_the_store_when_it_is_acknowledged(
    server: AnnotationServer, store: Store
) -> None:
    comment = "'); DROP TABLE annotation; --\n<script>alert(1)</script>"
    reply = server.save("anna", (4, 7), "k1", comment=comment)
    assert (reply.status, reply.body["saved"]["revision"]) == (200, 1)
    mark = Mark(4, 7, comment=comment)
    assert store.saved("anna")["b-0"].mark == mark
    assert store.saved("berta") == {}
    again = server.save("anna", (4, 7), "k1", comment=comment)
    assert again.body == reply.body
    record = {"instance": "b-0", "key": "k2", "revision": 1}
    assert server.post("anna", "undo", record).body["saved"]["mark"]["start"] is None
    assert [change.after for change in store.history()] == [mark, Mark()]


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    "path", ["/", "/api/work", "/wrong/api/work", "/%00/", "/annotate.js", "/../"]
)
def test_without_the_token_nothing_is_told(server: AnnotationServer, path: str) -> None:
    assert_refused(server.ask("GET", path), 403, "token is missing or wrong")
    body = json.dumps({"instance": "b-0", "key": "x", "revision": 0}).encode()
    sent = {"Content-Type": "application/json"}
    assert_refused(server.ask("POST", path, body, sent), 403, "token is missing or wrong")


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://127.0.0.1:1", 403),
        ("Sec_Fetch_Site", "cross-site", 403),
        ("Sec_Fetch_Site", "same-site", 403),
        ("Host", "evil.example", 421),
        ("Host", "127.0.0.1.evil.example:80", 421),
        ("Host", "[", 421),
        ("Host", "", 421),
    ],
)
def test_other_origins_and_names_are_refused(
    server: AnnotationServer, header: str, value: str, status: int
) -> None:
    record = {"instance": "b-0", "key": "evil", "revision": 0, "mark": {"start": 5, "end": 6}}
    reply = server.post("anna", "save", record, **{header: value})
    assert_refused(reply, status, "refused" if status == 403 else "does not go by that name")


def test_a_link_elsewhere_opens_the_page_and_does_no_more(server: AnnotationServer) -> None:
    click = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert server.ask("GET", server.path("anna"), headers=click).status == 200
    assert server.ask("POST", server.path("anna", "api/save"), b"{}", click).status == 403
    load = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert server.ask("GET", server.path("anna", "annotate.js"), headers=load).status == 403


def test_the_page_itself_may_ask_under_any_address(server: AnnotationServer) -> None:
    for host in (f"localhost:{server.port}", f"127.0.0.1:{server.port}", "[::1]:9"):
        sent = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
        assert server.ask("GET", server.path("anna", "api/work"), headers=sent).status == 200


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    ("span", "status", "message"),
    [
        ((-1, 6), 422, "does not lie in the text"),
        ((5, 13), 422, "does not lie in the text"),
        ((5, 10**30), 422, "does not lie in the text"),
        ((6, 9), 422, "does not include the anchor"),
        ((0, 5), 422, "does not include the anchor"),
        ((9, 2), 422, "does not lie in the text"),
        ((None, 6), 422, "both start and end"),
        ((None, None), 422, "mark a span, or doubt, or skip"),
        ((True, 6), 400, "field 'start' must be a whole number or null, not True"),
        ((5.0, 6), 400, "field 'start' must be a whole number or null, not 5.0"),
        (("5", 6), 400, "field 'start' must be a whole number or null, not '5'"),
        ((float("nan"), 6), 400, "field 'start' must be a whole number or null, not nan"),
        (([5], 6), 400, "field 'start' must be a whole number or null, not [5]"),
    ],
)
def test_spans_that_cannot_be_are_refused(
    server: AnnotationServer, span: tuple[int, int], status: int, message: str
) -> None:
    assert_refused(server.save("anna", span, "bad", "b-1"), status, message)


@pytest.mark.usefixtures("untouched")
def test_other_nonsense_is_refused(server: AnnotationServer) -> None:
    assert_refused(server.save("anna", (5, 6), "bad", "b-99"), 404, "not among your instances")
    assert_refused(server.save("anna", (5, 6), "", "b-1"), 422, "1 to 64 characters")
    assert_refused(server.save("anna", (5, 6), "k", "b-1", comment="\0"), 422, "control")
    assert_refused(server.save("anna", (5, 6), "k", "b-1", comment="x" * 2001), 422, "at most 2000")
    assert_refused(server.save("anna", (5, 6), "k", "b-1", colour="red"), 400, "field 'mark'")
    assert_refused(server.post("anna", "save", ["b-1"]), 400, "JSON object")
    assert_refused(server.post("anna", "undo", {"instance": 1}), 400, "must be strings")
    assert_refused(
        server.post("anna", "undo", {"instance": "b-1", "key": "k", "revision": "0"}), 400, "number"
    )
    path, sent = server.path("anna", "api/save"), {"Content-Type": "application/json"}
    assert_refused(server.ask("POST", path, b"{}", {"Content-Type": "text/plain"}), 415, "JSON")
    for body in (b"", b"{", b"\xff", b"[" * 60_000):
        assert_refused(server.ask("POST", path, body, sent), 400, "no JSON")
    assert_refused(server.ask("GET", path), 405, "Method Not Allowed")
    for name in ("nothing", "annotate.py", "..%2fapp.py", "pages/annotate.js"):
        reply = server.ask("GET", server.path("anna", name))
        assert reply.status == 404


def _peak_memory(server: AnnotationServer) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


@pytest.mark.usefixtures("untouched")
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc")
@pytest.mark.parametrize(("name", "status"), [("anna", 413), (None, 403)])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_50_megabytes_is_refused_and_not_kept(
    server: AnnotationServer, name: str | None, status: int, chunked: bool
) -> None:
    before = _peak_memory(server)
    path = server.path(name, "api/save") if name else "/wrong/api/save"
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    size = 50 * MEBIBYTE
    sent = {"Content-Type": "application/json"}
    if not chunked:
        sent["Content-Length"] = str(size)
    parts = (b" " * MEBIBYTE for _ in range(size // MEBIBYTE))
    connection.request("POST", path, parts, sent, encode_chunked=chunked)
    answer = connection.getresponse()
    reply = Reply(answer.status, json.loads(answer.read()), answer.headers)
    connection.close()
    assert_refused(reply, status, "more than 65536 bytes" if status == 413 else "token")
    assert _peak_memory(server) < before + 20 * MEBIBYTE


@pytest.mark.usefixtures("untouched")
def test_a_body_that_claims_to_be_endless_is_not_waited_for(server: AnnotationServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as client:
        head = f"POST {server.path('anna', 'api/save')} HTTP/1.1\r\nHost: localhost\r\n"
        client.sendall(f"{head}Content-Length: {10**12}\r\n\r\n".encode())
        assert client.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_a_save_whose_answer_got_lost_is_made_once(server: AnnotationServer, store: Store) -> None:
    record = {"instance": "b-2", "key": "lost", "revision": 0, "mark": {"start": 3, "end": 9}}
    body = json.dumps(record).encode()
    head = (
        f"POST {server.path('berta', 'api/save')} HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(head.encode() + body)  # and gone, without reading the answer
    reply = server.save("berta", (3, 9), "lost", "b-2")
    assert (reply.status, reply.body["saved"]["revision"]) == (200, 1)
    assert [c.key for c in store.history() if c.instance == "b-2"] == ["lost"]


def test_an_older_state_does_not_overwrite_a_newer_one(
    server: AnnotationServer, store: Store
) -> None:
    assert server.save("anna", (5, 6), "tab-1", "b-3").status == 200
    reply = server.save("anna", (5, 9), "tab-2", "b-3")
    assert_refused(reply, 409, "changed elsewhere")
    assert reply.body["saved"]["mark"]["end"] == 6
    assert store.saved("anna")["b-3"].mark == Mark(5, 6)


def test_two_servers_and_many_annotators_at_once(place: Path, little_index: str) -> None:
    path, names = place / "crowd.sqlite", ["anna", "berta", "carla", "dora"]
    work = links(place / "crowd.jsonl", 12)
    with ExitStack() as stack:
        servers = [stack.enter_context(AnnotationServer(work, names, path)) for _ in range(2)]
        assert servers[0].port != servers[1].port
        assert [each.path("anna") for each in servers] == [servers[0].path("anna")] * 2

        def annotate(number: int) -> list[int]:
            name = names[number]
            return [
                servers[(number + i) % 2].save(name, (5, 6 + i % 7), f"k{i}", f"b-{i}").status
                for i in range(12)
            ]

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(annotate, range(4))) == [[200] * 12] * 4
        for each in servers:
            each.stop()
    found = Store(path).marks()
    expected = [(f"b-{i}", name, Mark(5, 6 + i % 7)) for i in range(12) for name in names]
    assert found == expected
    assert len(Store(path).history()) == 48


def test_a_server_that_is_killed_loses_nothing_that_it_acknowledged(
    place: Path, little_index: str
) -> None:
    path, names = place / "killed.sqlite", ["anna", "berta", "carla"]
    running = AnnotationServer(links(place / "killed.jsonl"), names, path)
    enough = threading.Event()
    acknowledged: dict[str, int] = dict.fromkeys(names, 0)

    def annotate(name: str) -> None:
        with suppress(OSError, http.client.HTTPException):
            for number in range(100_000):
                if (
                    running.save(name, (5, 6 + number % 7), f"k{number}", revision=number).status
                    == 200
                ):
                    acknowledged[name] = number + 1
                if min(acknowledged.values()) >= 10:
                    enough.set()

    with running, ThreadPoolExecutor(3) as pool:
        saving = [pool.submit(annotate, name) for name in names]
        assert enough.wait(60)
        running.kill()
        for each in saving:
            each.result(60)
    store = Store(path)
    for name in names:
        keys = [change.key for change in store.history() if change.annotator == name]
        # What was under way when the server died may have been made, too.
        assert len(keys) - acknowledged[name] in {0, 1}
        assert keys == [f"k{number}" for number in range(len(keys))]
        assert store.saved(name)["b-0"].revision == len(keys)


def test_a_store_that_another_process_holds_is_waited_for_and_told_of(
    server: AnnotationServer, store: Store
) -> None:
    with store._writing(), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(server.save, "berta", (5, 6), "held", "b-4")
        assert not waiting.done()
        assert_refused(waiting.result(30), 503, "cannot be written (database is locked)")
    assert server.save("berta", (5, 6), "held", "b-4").status == 200


def _told(run: Run, *arguments: str, **environment: str) -> tuple[int, str]:
    done = run("annotate", *arguments, **environment)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    return done.returncode, done.stderr.removeprefix("allusion-es: error: ")


def test_what_the_command_refuses(run: Run, tmp_path: Path, little_index: str) -> None:
    work = str(links(tmp_path / "links.jsonl", 2))
    usual = ["--name", INDEX, "--store", str(tmp_path / "spans.sqlite")]
    assert _told(run, work, "-a", "../anna", *usual)[0] == 2
    assert _told(run, str(tmp_path / "nix.jsonl"), "-a", "anna", *usual)[0] == 4
    code, message = _told(run, str(tmp_path), "-a", "anna", *usual)
    assert code == 4
    assert "anna.jsonl: missing; 'allusion-es annotate split'" in message
    code, message = _told(run, work, "-a", "anna", *usual[:2], "--store", work)
    assert code == 4
    assert "links.jsonl: not a store of annotations" in message
    odd = str(links(tmp_path / "odd.jsonl", 1, anchor="verbum"))
    code, message = _told(run, odd, "-a", "anna", *usual)
    assert code == 4
    assert "odd.jsonl:1: field 'anchor': 'verbum' does not occur in 'text'" in message
    missing = tmp_path / "missing.jsonl"
    missing.write_text('{"text": "in principio erat", "relevant": ["Gen.1.1"]}\n')
    code, message = _told(run, str(missing), "-a", "anna", *usual)
    assert code == 5
    assert "missing.jsonl" in message
    assert "Gen.1.1" in message
    assert not (tmp_path / "spans.sqlite").exists()


def test_a_port_in_use_is_told_of(
    run: Run, tmp_path: Path, server: AnnotationServer, little_index: str
) -> None:
    work = str(links(tmp_path / "links.jsonl", 2))
    store = str(tmp_path / "spans.sqlite")
    done = run(
        "annotate",
        work,
        "-a",
        "anna",
        "--name",
        INDEX,
        "--store",
        store,
        "--port",
        str(server.port),
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"port {server.port} on 127.0.0.1 cannot be used" in done.stderr.splitlines()[-1]


def test_a_missing_extra_is_told_of(run_process: Run, tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text('raise ModuleNotFoundError("no", name="uvicorn")\n')
    work = str(links(tmp_path / "links.jsonl", 2))
    code, message = _told(run_process, work, "-a", "anna", PYTHONPATH=str(tmp_path))
    assert code == 2
    assert message == (
        "the page needs uvicorn; install it with: pip install 'allusion-es[serve]'\n"
    )


def test_the_url_stays_the_same_and_is_not_in_the_store(place: Path, little_index: str) -> None:
    path = place / "again.sqlite"
    work = links(place / "again.jsonl", 2)
    with AnnotationServer(work, ["anna"], path) as first:
        first.kill()
    with AnnotationServer(work, ["anna"], path, first.port) as second:
        assert second.urls == first.urls
        second.stop()
    with AnnotationServer(work, ["anna"], place / "other.sqlite", first.port) as other:
        assert other.urls != first.urls
        other.stop()
    token = first.path("anna").strip("/").encode()
    assert len(token) == 32
    assert all(token not in file.read_bytes() for file in place.glob("again.sqlite*"))


def test_the_secret_is_the_users_own(server: AnnotationServer, data_folder: Path) -> None:
    secret = data_folder / "annotate" / "secret"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert not list(secret.parent.glob("*.part"))


def test_stopping_is_no_error(place: Path, little_index: str) -> None:
    with (
        AnnotationServer(
            links(place / "stop.jsonl", 2), ["anna"], place / "stop.sqlite"
        ) as running,
        socket.create_connection(("127.0.0.1", running.port)),
    ):
        assert running.stop() == 0


def test_help_shows_all_commands(run: Run) -> None:
    text = run("annotate", "--help").stdout
    assert run("annotate").stdout == text
    for name in ("page", "split", "export", "annotate LINKS"):
        assert name in text
    assert run("annotate", "page", "--help").stdout.startswith("Usage: allusion-es annotate page")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from allusion_es.cli.main import run\n"
        "for name in ('page', 'split', 'export'): run(['annotate', name, '--help'])\n"
        "print(sorted({'numpy', 'scipy', 'starlette', 'uvicorn', 'elasticsearch', 'sqlite3'} "
        "& set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == "[]\n"
