"""The search page's server in a thread of the tests' own, over a few verses."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.types import ASGIApp

from allusion_es.core.errors import IndexMissingError
from allusion_es.corpora.findings import Alternative, Finding
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.source_text import SourceText
from allusion_es.local.library import BuildOptions, Library
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.serve.app import application
from allusion_es.serve.index_pool import IndexRow
from allusion_es.serve.requests import ScanRequest
from allusion_es.web.server import listen

TOKEN = "0123456789abcdef0123456789abcdef"
NAME = "psalmi"

VERSES = {
    "Gen.1.1": "In principio creavit Deus caelum et terram.",
    "Ps.33.9": "Gustate et videte quoniam suavis est Dominus; beatus vir qui sperat in eo.",
    "Ps.33.10": "Timete Dominum, omnes sancti ejus.",
    "Ps.33.11": "Divites eguerunt et esurierunt.",
    "John.1.1": "In principio erat Verbum, et Verbum erat apud Deum.",
}
KNOWN = {
    "gustate et videte": (("Ps.33.9",), "Ps 33,9", "quotation", 0.95),
    "in principio": (("Gen.1.1",), "Gen 1,1", "allusion", 0.4),
    "timete dominum. divites": (("Ps.33.10", "Ps.33.11"), "Ps 33,10-11", "paraphrase", 0.7),
}
WAIT = "exspecta"
"""A word at which the stand-in waits until it is told to stop."""

BREAK = "frange"
"""A word at which the stand-in fails."""


def stand_in(
    source: SourceText,
    index: CandidateIndex,
    request: ScanRequest,
    stop: Callable[[], bool],
    progress: Callable[[float], None],
) -> Iterator[Finding]:
    """Finds what it knows, in the order of the text."""
    text = source.text.lower()
    least = request.threshold or 0.0
    places = [(text.find(words, at), words) for at in range(len(text)) for words in KNOWN]
    known = sorted({(at, words) for at, words in places if at >= 0})
    for at, words in [*known, *((text.find(word), word) for word in (WAIT, BREAK) if word in text)]:
        if words == BREAK:
            raise RuntimeError("as the test asked for")
        while words == WAIT and not stop():
            time.sleep(0.005)
        if stop() or words == WAIT:
            return
        passages, reference, kind, probability = KNOWN[words]
        end = at + len(words)
        progress(end / len(text))
        others = (
            (Alternative(("John.1.1",), "Joh 1,1", 0.5, 0.3),) if words == "in principio" else ()
        )
        if probability >= least:
            yield Finding(
                at, end, source.text[at:end], passages, reference, 2 * probability, probability,
                kind, tuple(source.text[at:end].replace(".", "").split()), others,
            )  # fmt: skip


@dataclass
class Reply:
    """What the server answered."""

    status: int
    data: bytes
    headers: http.client.HTTPMessage

    @property
    def json(self) -> Any:  # noqa: ANN401 - what JSON can hold
        return json.loads(self.data)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.data.splitlines()]


class Place:
    """The little index, opened anew each time."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def rows(self) -> list[IndexRow]:
        return [IndexRow(NAME, "in process", len(VERSES)), IndexRow("odd", "in process", 0, "bad")]

    def open(self, name: str) -> CandidateIndex:
        if name != NAME:
            raise IndexMissingError(f"there is no index {name!r}")
        return self._library.open(name)

    def stamp(self, name: str) -> object:
        return 0


@dataclass
class Serving:
    """The server, and requests to it."""

    app: ASGIApp
    port: int = 0
    server: uvicorn.Server | None = None
    folder: Path = field(default_factory=Path)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        listener = listen("127.0.0.1", 0)
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self.app, http="h11", ws="none", lifespan="off", loop="asyncio",
            log_level="critical", timeout_graceful_shutdown=1,
        )  # fmt: skip
        self.server = uvicorn.Server(config)
        thread = threading.Thread(target=self.server.run, args=([listener],), daemon=True)
        thread.start()
        self._threads.append(thread)
        deadline = time.monotonic() + 20
        while not self.server.started and time.monotonic() < deadline:
            time.sleep(0.01)

    def end(self) -> None:
        assert self.server is not None
        self.server.should_exit = True
        for thread in self._threads:
            thread.join(20)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{TOKEN}/"

    def ask(
        self, method: str, path: str, body: bytes | None = None, token: str = TOKEN, **headers: str
    ) -> Reply:
        """One request; blanks in header names are written as `_`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = {key.replace("_", "-"): value for key, value in headers.items()}
            connection.request(method, f"/{token}/{path}", body, sent)
            answer = connection.getresponse()
            return Reply(answer.status, answer.read(), answer.headers)
        finally:
            connection.close()

    def post(self, path: str, record: object, **headers: str) -> Reply:
        """Send JSON."""
        sent = {"Content_Type": "application/json", **headers}
        return self.ask("POST", path, json.dumps(record).encode(), **sent)

    def begin(
        self, path: str, record: object, client: str, token: str = TOKEN
    ) -> tuple[socket.socket, str]:
        """Send JSON, and read no more than the beginning of the answer: the job's id."""
        body = json.dumps(record).encode()
        head = (
            f"POST /{token}/{path} HTTP/1.1\r\nHost: localhost\r\nAllusion-Client: {client}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        connection.sendall(head.encode() + body)
        read = b""
        while b"\r\n\r\n" not in read:
            read += connection.recv(4096)
        (line,) = (line for line in read.split(b"\r\n") if line.startswith(b"allusion-job"))
        return connection, line.partition(b": ")[2].decode()

    def wait_status(self, job: str, *wanted: str) -> Any:  # noqa: ANN401 - what JSON can hold
        """Wait until a job has one of some statuses."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            row = self.ask("GET", f"api/jobs/{job}").json
            if row["status"] in wanted:
                return row
            time.sleep(0.01)
        raise AssertionError(f"{row}, not {wanted}")


@pytest.fixture(scope="module")
def psalm_index(library: Library) -> str:
    """Name of an index of a few verses."""
    from allusion_es.corpora.passage_files import verse_passage

    passages: list[Passage] = [
        verse_passage(name, text, "Vulgata", order)
        for order, (name, text) in enumerate(VERSES.items())
    ]
    library.build(NAME, passages, BuildOptions(vectors=False))
    return NAME


@pytest.fixture(scope="module")
def serving(
    library: Library, psalm_index: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Serving]:
    """The server, with a stand-in for the scanner."""
    folder: Path = tmp_path_factory.mktemp("texts")
    app = application(Place(library), psalm_index, folder, TOKEN, scan=stand_in)
    running = Serving(app, folder=folder)
    running.start()
    yield running
    running.end()
