"""Answers of servers that are slow, have no end, or are not what was asked for."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from allusion_es.core.errors import ServerRefusedError, ServerUnavailableError, UsageError
from allusion_es.core.records import Count
from allusion_es.es.answers import Score, check_answer, shape_of
from allusion_es.es.connection import StrictJson, TooLargeError, read_whole
from allusion_es.es.kibana import client
from allusion_es.es.kibana.client import Kibana
from allusion_es.es.queries import tfidf_query
from allusion_es.retrieval.types import SearchRequest


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_what_has_an_end_is_read_whole(size: int) -> None:
    left = [b"x" * (size % 10)] * (size % 10 > 0) + [b"y" * 10] * (size // 10)
    whole = b"".join(left)
    assert read_whole(lambda _: left.pop(0) if left else b"", 1.0, 100) == whole


def test_what_has_no_end_is_not() -> None:
    with pytest.raises(TooLargeError):
        read_whole(lambda most: b"x" * most, 60.0, 1 << 20)


@contextmanager
def sending(*, part: bytes, pause: float) -> Iterator[str]:
    """A server that sends the same again and again, without an end."""
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            try:
                while not ended.wait(pause):
                    self.wfile.write(part)
            except OSError:  # the client has had enough
                pass

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


def test_kibana_sends_byte_by_byte() -> None:
    with (
        sending(part=b" ", pause=0.01) as url,
        pytest.raises(ServerUnavailableError, match=r"did not answer within 0.2 s"),
    ):
        Kibana(url, environment={}, timeout=0.2).version()


def test_kibana_sends_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_MOST_BYTES", 1 << 20)
    with (
        sending(part=b" " * 10_000, pause=0) as url,
        pytest.raises(ServerRefusedError, match="sends more than any answer can have"),
    ):
        Kibana(url, environment={}, timeout=60).version()


@pytest.mark.parametrize("number", [-1, 2**53 + 1, 0.5, True, "1", None])
def test_what_is_no_count(number: object) -> None:
    with pytest.raises(ServerRefusedError, match=r"\(field 'count' must be a whole number from 0"):
        check_answer({"count": number}, shape_of({"count": Count}), "http://es:9200")


@pytest.mark.parametrize("score", [1e39, -1e39, "1", None, True])
def test_what_is_no_score(score: object) -> None:
    with pytest.raises(ServerRefusedError, match=r"\(field 'sort\[0\]' must be a number"):
        check_answer({"sort": [score]}, shape_of({"sort": (Score,)}), "http://es:9200")


@pytest.mark.parametrize(
    "data",
    [b"NaN", b"-Infinity", b"[1e400]", b'"\\ud800"', b'{"\\uDFFF": 1}', b'"\xff"'],
)
def test_what_is_no_json(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        StrictJson().json_loads(data)


def test_characters_beyond_the_first_plane_are_json() -> None:
    assert StrictJson().json_loads(b'"\\ud835\\udd6f"') == "\U0001d56f"


def test_words_that_need_too_many_parts_are_not_asked_for() -> None:
    request = SearchRequest("tfidf", "lemma", size=1, words={"deus": 1, "homo": 1})
    with pytest.raises(UsageError, match=r"so often in one passage .* has 100001 parts"):
        tfidf_query(request, {"deus": (1, 9, 100_000), "homo": (1, 1, 1)}, 5)
    assert tfidf_query(request, {"deus": (1, 9, 9), "homo": (1, 1, 1)}, 5)
