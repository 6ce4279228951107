"""Commands that are killed (SIGKILL) at random moments: what is left of them, and going on."""

import contextlib
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fault_commands import Tried
from processes import program, start

from allusion_es.core.files import DATA_DIR_VARIABLE, data_dir
from allusion_es.corpora.bible.vulgate import read_vulgate
from allusion_es.es.catalogue import find_all, is_current
from allusion_es.es.connection import Server

COMMANDS = ("index", "scan", "evaluate")

_NAME = "killed"
_LATEST = 0.8
_EARLIEST = 0.25
"""Share of a run's time before which hardly more than Python's start could be killed."""


@dataclass
class Place:
    """Where a command that is to be killed does its work.

    Attributes:
        folder: For the data folder, temporary files and output.
        url: The server; "" for an index in process.
        verses: How many verses the index holds.
    """

    folder: Path
    url: str
    verses: int
    _files: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write the files and build the index."""
        home, temporary = self.folder / "data-folder", self.folder / "tmp"
        home.mkdir()
        temporary.mkdir()
        (home / "data").symlink_to(data_dir().resolve() / "data")
        passages = list(read_vulgate(home / "data" / "clem_vulgate.csv"))
        chosen = passages[: self.verses]
        for name, step in (("a", 1), ("b", -1)):
            texts = [passage.text for passage in chosen[::step]]
            lines = [f"{each.id}\t{text}\n" for each, text in zip(chosen, texts, strict=True)]
            self._write(name, f"{name}.tsv", "id\ttext\n" + "".join(lines))
        self._first = chosen[0]
        quoted = chosen[:: max(1, self.verses // 150)]
        text = "\n\n".join(f"Audistis, fratres, quid dicat: {each.text}" for each in quoted)
        self._write("text", "sermo.txt", text * max(1, 8000 // (len(text.split()) + 1)))
        links = [
            {"query_id": str(number), "text": each.text, "relevant": [each.id]}
            for number, each in enumerate(quoted)
        ]
        self._write("gold", "gold.jsonl", "".join(json.dumps(link) + "\n" for link in links))

    def _write(self, name: str, file: str, text: str) -> None:
        self._files[name] = self.folder / file
        self._files[name].write_text(text, "utf-8")

    def start(self, *arguments: str, before: str = "", data: str = "") -> subprocess.Popen[str]:
        """A command, in a process of its own.

        Args:
            arguments: What is called.
            before: What the shell does first, such as `ulimit -n 20`.
            data: Another data folder.
        """
        server = ["--es", self.url] if self.url else []
        environment = {
            **os.environ,
            DATA_DIR_VARIABLE: data or str(self.folder / "data-folder"),
            "TMPDIR": str(self.folder / "tmp"),
        }
        shell = ["bash", "-c", f'{before}\nexec "$0" "$@"'] if before else []
        return start(
            [*shell, program(), *arguments, *server],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> str:
        """What a command that must do well prints."""
        process = self.start(*arguments)
        out, err = process.communicate()
        assert process.returncode == 0, (arguments, err)
        return out

    def index(self, version: str) -> tuple[str, ...]:
        """The arguments that build the index of version `a` or `b`."""
        return ("index", str(self._files[version]), "--name", _NAME)

    def scan(self, *more: str) -> tuple[str, ...]:
        """The arguments that scan the text."""
        where = ("--out", str(self.output.parent), "--format", "json", "--workers", "2")
        return ("scan", str(self._files["text"]), "--name", _NAME, "--fast", *where, *more)

    def evaluate(self) -> tuple[str, ...]:
        """The arguments that evaluate."""
        method = ("--methods", "none,soft-cosine", "--workers", "2", "--resamples", "50")
        return ("evaluate", str(self._files["gold"]), "--name", _NAME, *method)

    @property
    def home(self) -> Path:
        """The data folder."""
        return self.folder / "data-folder"

    @property
    def output(self) -> Path:
        """Where a scan writes."""
        return self.folder / "out" / "sermo.jsonl"

    def version(self) -> str:
        """Which version of the index answers."""
        more = ("--first-stage", "bm25", "--rerank", "none", "--top", "1", "--format", "json")
        asked = ("query", self._first.text, "--name", _NAME, *more)
        (hit,) = json.loads(self.run(*asked))["hits"]
        return "a" if hit["id"] == self._first.id else "b"

    def left(self) -> list[str]:
        """What killed processes have left, beside the index that is in use."""
        found = [path.name for path in self.folder.rglob(".*.part")]
        found += [path.name for path in (self.folder / "tmp").iterdir()]
        if self.url:
            with Server.connect(self.url) as server:
                found += [
                    each.concrete
                    for each in find_all(server, _NAME)
                    if not is_current(each) and not each.concrete.endswith("-terms")
                ]
        return found

    def forget(self) -> None:
        """Remove what scans and evaluations keep."""
        shutil.rmtree(self.folder / "data-folder" / "evaluations", ignore_errors=True)
        shutil.rmtree(self.output.parent, ignore_errors=True)


def killed(
    place: Place, arguments: tuple[str, ...], longest: float, chance: random.Random
) -> tuple[bool, float]:
    """Start a command and kill it at a random moment; whether it lived then, and when it was."""
    process = place.start(*arguments)
    moment = longest * chance.uniform(_EARLIEST, _LATEST)
    try:
        process.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        # Its workers end with it, though not at the same moment.
        give_up = time.monotonic() + 30
        while _group_lives(process.pid) and time.monotonic() < give_up:
            time.sleep(0.05)
        return True, moment
    return False, moment


def _group_lives(group: int) -> bool:
    with contextlib.suppress(OSError):
        os.killpg(group, 0)
        return True
    return False


def kills(folder: Path, url: str, points: int, verses: int, seed: int) -> Iterator[Tried]:
    """Kill each command at so many random moments, and judge what is left.

    Args:
        folder: An empty folder.
        url: A server, or "" for indexes in process.
        points: How often each command is killed.
        verses: How many verses the index holds.
        seed: Of the moments.
    """
    place = Place(folder, url, verses)
    place.run(*place.index("a"))
    where = "Elasticsearch" if url else "in process"
    for command in COMMANDS:
        chance = random.Random(f"{seed} {command} {where}")
        judge = {"index": _indexes, "scan": _scans, "evaluate": _evaluations}[command]
        for verdict, moment, lived in judge(place, points, chance):
            yield Tried("kill -9" if lived else "(was done)", command, where, verdict, moment)


Judged = Iterator[tuple[str, float, bool]]


def _indexes(place: Place, points: int, chance: random.Random) -> Judged:
    now = place.version()
    start = time.monotonic()
    place.run(*place.index(now))
    longest = time.monotonic() - start
    for _ in range(points):
        wanted = "b" if now == "a" else "a"
        lived, moment = killed(place, place.index(wanted), longest, chance)
        found, left = place.version(), place.left()
        right = {now, wanted} if lived else {wanted}
        verdict = "right" if found in right else f"wrong: {found} answers"
        # What a killed build leaves is cleared away by the next one.
        yield verdict if len(left) <= _FEW else f"wrong: {left} are left", moment, lived
        now = found
    place.run(*place.index(now))
    if left := place.left():
        yield f"wrong: {left} are left for good", 0.0, True


_FEW = 2
"""A killed build can have left a temporary file, or an index, and its lock."""


def _scans(place: Place, points: int, chance: random.Random) -> Judged:
    place.forget()
    start = time.monotonic()
    place.run(*place.scan())
    longest = time.monotonic() - start
    right = place.output.read_bytes()
    assert right.count(b"\n") > 10, "the text has too few findings"
    for _ in range(points):
        place.forget()
        lived, moment = killed(place, place.scan(), longest, chance)
        journal = place.output.with_name(place.output.name + ".scan")
        if journal.exists() or not place.output.exists():
            place.run(*place.scan("--resume"))
        same = place.output.read_bytes() == right
        rest = [path.name for path in place.output.parent.iterdir() if path != place.output]
        verdict = "right" if same and not rest else f"wrong: same {same}, left {rest}"
        yield verdict, moment, lived


def _evaluations(place: Place, points: int, chance: random.Random) -> Judged:
    if place.version() != "a":
        place.run(*place.index("a"))
    place.forget()
    start = time.monotonic()
    right = place.run(*place.evaluate())
    longest = time.monotonic() - start
    for _ in range(points):
        place.forget()
        lived, moment = killed(place, place.evaluate(), longest, chance)
        again = place.run(*place.evaluate())
        left = place.left()
        same = again == right and not left
        yield "right" if same else f"wrong: {again!r}, not {right!r}; left {left}", moment, lived


@contextlib.contextmanager
def emptied_folder() -> Iterator[Path]:
    """A folder for one place, deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as name:
        yield Path(name)
