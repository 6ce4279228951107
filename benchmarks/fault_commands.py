"""Commands that speak to a server through a proxy that breaks what it passes on."""

import contextlib
import io
import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fault_proxy import FAULTS, HARMLESS, FaultProxy
from serve_fixtures import Serving

from allusion_es.cli.main import run
from allusion_es.cli.options import ServerOptions
from allusion_es.cli.serve import _IndexSource
from allusion_es.core.errors import (
    IndexDamagedError,
    ServerRefusedError,
    ServerUnavailableError,
)
from allusion_es.es import bulk, connection
from allusion_es.serve.app import application

WHENS = ("first", "n-th", "every")
"""Which of a command's requests are broken."""

TIMEOUT = 2.0
NAME = "little"

_TOKEN = "0123456789abcdef0123456789abcdef"
_STATUSES = frozenset(
    each.exit_code for each in (ServerUnavailableError, ServerRefusedError, IndexDamagedError)
)
_VERSES = {
    "Gen.1.1": "In principio creavit Deus caelum et terram.",
    "Ps.33.9": "Gustate et videte quoniam suavis est Dominus; beatus vir qui sperat in eo.",
    "Ps.33.10": "Timete Dominum, omnes sancti ejus, quoniam non est inopia timentibus eum.",
    "Ps.33.11": "Divites eguerunt et esurierunt; inquirentes autem Dominum non minuentur.",
    "John.1.1": "In principio erat Verbum, et Verbum erat apud Deum, et Deus erat Verbum.",
    "Matt.5.3": "Beati pauperes spiritu quoniam ipsorum est regnum caelorum.",
}
_NEW = {"Ps.22.1": "Dominus regit me, et nihil mihi deerit; gustate et videte."}
_QUERIES = "gustate et videte quoniam suavis\nin principio erat verbum\npauperes spiritu\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did.

    Attributes:
        status: Its exit status.
        stdout: What it printed.
        stderr: What else it said.
        seconds: How long it took.
    """

    status: int
    stdout: str
    stderr: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Tried:
    """A fault and what came of it.

    Attributes:
        fault: Its name.
        command: What was called.
        when: A member of `WHENS`.
        verdict: `right`, `clear` (one line and nothing changed), or what is wrong.
        seconds: How long the command took.
    """

    fault: str
    command: str
    when: str
    verdict: str
    seconds: float


def call(arguments: list[str]) -> Outcome:
    """A command line, in this process."""
    printed = io.BytesIO()
    out, err = io.TextIOWrapper(printed, "utf-8"), io.StringIO()
    start = time.perf_counter()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = run(arguments)
        except Exception as error:  # what would be a traceback
            status = -1
            err.write(f"Traceback: {error!r}")
        out.flush()
    return Outcome(status, printed.getvalue().decode(), err.getvalue(), time.perf_counter() - start)


@dataclass
class Bench:
    """A server, a proxy before it, and files.

    Attributes:
        url: The server.
        proxy: The proxy.
        folder: For files.
    """

    url: str
    proxy: FaultProxy
    folder: Path
    _serving: Serving | None = None
    _right: dict[str, tuple[Outcome, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write the files."""
        for name, verses in (("old", _VERSES), ("new", _NEW)):
            lines = "".join(f"{key}\t{text}\n" for key, text in verses.items())
            self._file(f"{name}.tsv").write_text(f"id\ttext\n{lines}", "utf-8")
        self._file("queries.txt").write_text(_QUERIES, "utf-8")
        sermon = "Ideo dicit: gustate et videte, fratres, quoniam suavis est Dominus. " * 3
        self._file("sermo.txt").write_text(sermon, "utf-8")
        links = [
            {"query_id": "1", "text": "gustate et videte", "relevant": ["Ps.33.9"]},
            {"query_id": "2", "text": "pauperes spiritu sunt", "relevant": ["Matt.5.3"]},
        ]
        lines = "".join(json.dumps(link) + "\n" for link in links)
        self._file("gold.jsonl").write_text(lines, "utf-8")

    def _file(self, name: str) -> Path:
        return self.folder / name

    @property
    def commands(self) -> dict[str, list[str]]:
        """Each command's arguments, without the server's."""
        queries, gold = str(self._file("queries.txt")), str(self._file("gold.jsonl"))
        more = ["--name", NAME]
        push = ["candidates", "push", "--from-query", queries, "--run-id", "r", *more]
        return {
            "index": ["index", str(self._file("new.tsv")), *more],
            "query": ["query", queries, "--format", "json", *more],
            "query tfidf": [
                "query", queries, "--format", "tsv", "--first-stage", "tfidf", "--rerank",
                "soft-cosine", *more,
            ],
            "list": ["list", "indexes", "--format", "json"],
            "scan": ["scan", str(self._file("sermo.txt")), "--format", "json", *more],
            "evaluate": [
                "evaluate", gold, "--no-cache", "--workers", "1", "--resamples", "0",
                "--format", "json", *more,
            ],
            "candidates push": [*push, "--rerank", "none", "--explain", "0"],
            "candidates list": ["candidates", "list", "--format", "tsv"],
            "candidates delete": ["candidates", "delete", "r"],
            "serve": [],
        }  # fmt: skip

    def restore(self, after: str = "") -> None:
        """Bring the server into the state that every try begins with.

        Args:
            after: The command that changed it; "" for any.
        """
        changing = {
            "index": ["index", str(self._file("old.tsv")), "--name", NAME],
            "candidates": self.commands["candidates push"],
        }
        for kind, arguments in changing.items():
            if not after or after.split()[0] == kind:
                done = call([*arguments, "--es", self.url])
                assert done.status == 0, done.stderr

    def call(self, command: str, url: str) -> Outcome:
        """A command on the server, or through the proxy."""
        if command == "serve":
            return self._served()
        done = call([*self.commands[command], "--es", url, "--timeout", str(TIMEOUT)])
        # When a run was pushed is another time each time.
        printed = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", done.stdout.replace(url, "URL"))
        return Outcome(done.status, printed, done.stderr, done.seconds)

    def right(self, command: str) -> tuple[Outcome, int]:
        """What a command does undisturbed, and with how many requests."""
        if command not in self._right:
            self.proxy.arm()
            self._right[command] = (self.call(command, self.proxy.url), self.proxy.seen)
            assert self._right[command][0].status == 0, self._right[command]
            self.restore(command)
        return self._right[command]

    def _served(self) -> Outcome:
        if self._serving is None:
            place = _IndexSource(ServerOptions(self.proxy.url, timeout=TIMEOUT))
            self._serving = Serving(application(place, NAME, self.folder, _TOKEN))
            self._serving.start()
        start = time.perf_counter()
        reply = self._serving.post("api/query", {"text": "gustate et videte"})
        seconds = time.perf_counter() - start
        *lines, end = reply.data.decode().splitlines(keepends=True)
        last = json.loads(end)  # which names the job, another one each time
        if reply.status == 200 and "error" not in last:
            return Outcome(0, "".join(lines), "", seconds)
        return Outcome(3, "", f"allusion-es: error: {last['error']}\n", seconds)

    def close(self) -> None:
        """End what was started."""
        if self._serving is not None:
            self._serving.end()

    def attempt(self, fault: str, command: str, when: str, number: int) -> Tried:
        """Break some requests of a command, and judge what it does and what is left.

        Args:
            fault: A key of `FAULTS`.
            command: A key of `commands`.
            when: A member of `WHENS`.
            number: Chooses the n-th request.
        """
        right, requests = self.right(command)
        nth = 1 if when == "first" else 2 + number % max(1, requests - 1)
        self.proxy.arm(fault, lambda seen: when == "every" or seen == nth)
        done = self.call(command, self.proxy.url)
        self.proxy.arm()
        verdict = _judge(done, right, certain=fault in HARMLESS) or self._look_after(command, done)
        return Tried(fault, command, when, verdict, done.seconds)

    def _look_after(self, command: str, done: Outcome) -> str:
        """The verdict on a command that did as it should, once the server is seen to."""
        good = "clear" if done.status else "right"
        plain = ["--first-stage", "bm25", "--rerank", "none", "--format", "json"]
        asked = call(["query", "gustate", "--es", self.url, "--name", NAME, *plain])
        found = "Ps.22.1" if command == "index" and not done.status else "Ps.33.9"
        hits = json.loads(asked.stdout)["hits"] if asked.status == 0 else []
        if [hit["id"] for hit in hits] != [found]:
            return f"wrong: {done}; afterwards a query finds {asked}"
        listed = call(["candidates", "list", "--es", self.url, "--format", "json"])
        runs = {row["run_id"]: row["documents"] for row in json.loads(listed.stdout)}
        # A run that was to be deleted may be gone although the answer to that was lost.
        gone = command == "candidates delete" and not runs
        if not gone and list(runs) != ["r"]:
            return f"wrong: afterwards there are the runs {runs}"
        if command in ("index", "candidates push", "candidates delete"):
            self.restore(command)
        return good


def _judge(done: Outcome, right: Outcome, *, certain: bool) -> str:
    """What is wrong with an outcome, or ""."""
    if done.status == 0:
        return "" if done.stdout == right.stdout else f"wrong: {done}, not {right}"
    lines = [line for line in done.stderr.splitlines() if line not in right.stderr.splitlines()]
    clear = len(lines) == 1 and lines[0].startswith("allusion-es: error: ")
    whole = right.stdout.startswith(done.stdout) and done.stdout[-1:] in ("", "\n")
    if certain or not clear or not whole or done.status not in _STATUSES:
        return f"wrong: {done}"
    return ""


@contextlib.contextmanager
def impatient() -> Iterator[None]:
    """Let the program wait less between its tries than it does for users."""
    with (
        patch.object(connection, "_RETRY_SECONDS", (0.01, 0.02)),
        patch.object(bulk, "_RETRY_SECONDS", (0.01, 0.02)),
        patch.object(connection, "LARGEST_ANSWER", 2**22),
    ):
        yield


def attempts(
    bench: Bench, share: float, seed: int, tell: Callable[[Tried], None] = lambda _: None
) -> Iterator[Tried]:
    """Each fault with each command at each time, or a random share of them.

    Args:
        bench: Where.
        share: Above 0, at most 1; each fault and each command is in it.
        seed: Of the choice.
        tell: Told of each as it is done.
    """
    chance = random.Random(seed)
    with impatient():
        bench.restore()
        names = list(bench.commands)
        for place, fault in enumerate(FAULTS):
            for order, command in enumerate(names):
                for turn, when in enumerate(WHENS):
                    certain = order == place % len(names) and turn == place % len(WHENS)
                    if certain or chance.random() < share:
                        tried = bench.attempt(fault, command, when, chance.randrange(1000))
                        tell(tried)
                        yield tried
