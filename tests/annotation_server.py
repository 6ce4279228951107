"""Runs the annotation page's server as users do, and speaks to it."""

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from processes import end, program, start

INDEX = "little"
"""Name of an index that the `little_index` fixture builds."""

WORDS = (
    *("unus", "duo", "tres", "quattuor", "quinque", "sex"),
    *("septem", "octo", "nouem", "decem", "undecim", "duodecim"),
)
"""The words of every passage in `links`; the anchor is at place 5."""

ANCHOR = (5, 6)


def links(path: Path, count: int = 10, **more: str) -> Path:
    """Write gold links: `count` passages of 12 words."""
    rows = [
        {
            "query_id": f"b-{number}",
            "before": " ".join(WORDS[:3]),
            "text": " ".join(WORDS[3:9]),
            "after": " ".join(WORDS[9:]) + ".",
            "anchor": WORDS[5],
            "relevant": ["Ps.33.9"],
            "type": "allusion",
            **more,
        }
        for number in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@dataclass
class Reply:
    """What the server answered."""

    status: int
    body: Any
    headers: http.client.HTTPMessage


class AnnotationServer:
    """One process of `allusion-es annotate`; as a context, it ends there at the latest.

    Args:
        links: The links to annotate.
        annotators: Who annotates.
        store: The store.
        port: The port; 0 for a free one.
    """

    def __init__(self, links: Path, annotators: Sequence[str], store: Path, port: int = 0) -> None:
        arguments = ["annotate", str(links), "--store", str(store), "--port", str(port)]
        for name in annotators:
            arguments += ["--annotator", name]
        self.log = store.with_suffix(f".{os.urandom(4).hex()}.log")
        with self.log.open("wb") as log:
            self.process = start(
                [program(), *arguments, "--name", INDEX], stdout=subprocess.PIPE, stderr=log
            )
        assert self.process.stdout is not None
        self.urls: dict[str, str] = {}
        for _ in annotators:
            name, _, url = self.process.stdout.readline().decode().rstrip("\n").partition("\t")
            if not url:
                end(self.process)
                raise AssertionError(self.log.read_text())
            self.urls[name] = url
        self.port = urlsplit(url).port or 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        end(self.process)

    def path(self, name: str, rest: str = "") -> str:
        """The path of an annotator's URL."""
        return urlsplit(self.urls[name]).path + rest

    def kill(self) -> None:
        """End the process without a warning."""
        self.process.send_signal(signal.SIGKILL)
        self._wait()

    def stop(self) -> int:
        """End the process as Ctrl+C does; its exit status."""
        self.process.send_signal(signal.SIGINT)
        self._wait()
        return self.process.returncode

    def _wait(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        end(self.process)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """Send one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        is_json = answer.headers.get_content_type() == "application/json"
        return Reply(answer.status, json.loads(data) if is_json else data, answer.headers)

    def post(self, name: str, action: str, record: object, **headers: str) -> Reply:
        """Send JSON as the page does; blanks in header names are written as `_`."""
        sent = {"Content-Type": "application/json"}
        sent |= {key.replace("_", "-"): value for key, value in headers.items()}
        return self.ask("POST", self.path(name, f"api/{action}"), json.dumps(record).encode(), sent)

    def save(
        self,
        name: str,
        span: tuple[int | None, int | None],
        key: str,
        instance: str = "b-0",
        revision: int = 0,
        **mark: object,
    ) -> Reply:
        """Save a judgement."""
        judgement = {"start": span[0], "end": span[1], **mark}
        return self.post(
            name,
            "save",
            {"instance": instance, "key": key, "revision": revision, "mark": judgement},
        )
