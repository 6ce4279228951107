"""Faults of the machine: full and read-only disks, limits, signals, closed pipes, two at once."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fault_commands import Tried
from fault_kills import Place

Case = Callable[[Place], str]
"""Gives `right`, `clear`, `skipped: …`, or what is wrong."""


def _clear(done: "subprocess.CompletedProcess[str]", status: int | tuple[int, ...]) -> str:
    """`clear` if a command failed with one line and such a status."""
    lines = done.stderr.splitlines()
    one = len(lines) == 1 and lines[0].startswith("allusion-es: error: ")
    known = status if isinstance(status, tuple) else (status,)
    return "clear" if one and done.returncode in known else f"wrong: {done}"


def _done(
    place: Place, *arguments: str, before: str = "", data: str = ""
) -> "subprocess.CompletedProcess[str]":
    process = place.start(*arguments, before=before, data=data)
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@contextlib.contextmanager
def _mounted(folder: Path, options: str) -> Iterator[bool]:
    """A small disk in memory, where this user may make one."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    able = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    try:
        yield able
    finally:
        if able:
            subprocess.run(["umount", str(folder)], check=True)


def _old_answers(place: Place, verdict: str, data: str = "") -> str:
    more = ("--name", "killed", "--first-stage", "bm25", "--rerank", "none", "--format", "trec")
    asked = _done(place, "query", "deus", *more, data=data)
    return verdict if asked.returncode == 0 and asked.stdout else f"wrong: then {asked}"


def _copy_home(place: Place, disk: Path) -> None:
    """Make an empty disk a data folder with the indexes that the place has."""
    (disk / "data").symlink_to((place.home / "data").resolve())
    (disk / "indexes").mkdir()
    for path in (place.home / "indexes").iterdir():
        (disk / "indexes" / path.name).write_bytes(path.read_bytes())


def full_disk_index(place: Place) -> str:
    """Another index on a disk that has room for one and a half of them."""
    disk = place.folder / "disk"
    size = sum(path.stat().st_size for path in (place.home / "indexes").iterdir())
    with _mounted(disk, f"size={int(1.5 * size)}") as able:
        if not able:
            return "skipped: only root can mount"
        _copy_home(place, disk)
        verdict = _clear(_done(place, *place.index("b"), data=str(disk)), 12)
        left = [path.name for path in (disk / "indexes").glob(".*")]
        return _old_answers(place, verdict, str(disk)) if not left else f"wrong: left {left}"


def full_disk_scan(place: Place) -> str:
    """A scan whose journal no longer fits, which goes on once there is room."""
    place.forget()
    place.run(*place.scan())
    right = place.output.read_bytes()
    place.forget()
    with _mounted(place.output.parent, "size=4k") as able:
        if not able:
            return "skipped: only root can mount"
        verdict = _clear(_done(place, *place.scan()), 12)
        subprocess.run(["mount", "-o", "remount,size=1m", str(place.output.parent)], check=True)
        place.run(*place.scan("--resume"))
        if place.output.read_bytes() != right:
            return "wrong: other findings after --resume"
        return verdict


def full_disk_evaluate(place: Place) -> str:
    """An evaluation whose runs cannot be kept."""
    place.forget()
    with _mounted(place.home / "evaluations", "size=4k") as able:
        if not able:
            return "skipped: only root can mount"
        verdict = _clear(_done(place, *place.evaluate()), 12)
    place.forget()
    return verdict


def small_files(place: Place) -> str:
    """Files may not become large enough for an index."""
    done = _done(place, *place.index("b"), before="ulimit -f 100")
    return _old_answers(place, _clear(done, 12))


def read_only(place: Place) -> str:
    """A data folder that cannot be written is enough where nothing has to be built."""
    disk = place.folder / "disk"
    source = place.folder / "source.txt"
    source.write_text("arma virumque cano\nTroiae qui primus ab oris\n", "utf-8")
    compared = ("compare", str(source), str(source), "--format", "tsv")
    with _mounted(disk, "size=64m") as able:
        if not able:
            return "skipped: only root can mount"
        _copy_home(place, disk)
        before = _done(place, *compared, data=str(disk))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        again = _done(place, *compared, data=str(disk))
        if before.returncode or (again.returncode, again.stdout) != (0, before.stdout):
            return f"wrong: {before}, then {again}"
        source.write_text("arma virumque cano\n", "utf-8")
        for arguments in (place.index("b"), compared):
            verdict = _clear(_done(place, *arguments, data=str(disk)), 12)
            if verdict != "clear":
                return verdict
        return _old_answers(place, verdict, str(disk))


def data_folder_is_a_file(place: Place) -> str:
    """Every command that needs the data folder says so."""
    file = place.folder / "no-folder"
    file.write_text("", "utf-8")
    calls = (place.index("b"), ("query", "deus", "--name", "killed"), place.scan())
    verdicts = [_clear(_done(place, *call, data=str(file)), (7, 8, 12)) for call in calls]
    wrong = [verdict for verdict in verdicts if verdict != "clear"]
    return wrong[0] if wrong else "clear"


def full_stdout(place: Place) -> str:
    """What is printed goes to a full disk."""
    asked = ("query", "deus", "--name", "killed", "--format", "json")
    return _clear(_done(place, *asked, before="exec > /dev/full"), 12)


def closed_pipe(place: Place) -> str:
    """Who reads has seen enough: no error."""
    asked = ("query", "deus", "--name", "killed", "--format", "json", "--top", "500")
    done = _done(place, *asked, before="exec > >(exec head -c 10 > /dev/null)")
    return "right" if done.returncode == 0 and not done.stderr else f"wrong: {done}"


def _signalled(number: int, status: int) -> Case:
    def case(place: Place) -> str:
        start = time.monotonic()
        place.run(*place.index("a"))
        longest = time.monotonic() - start
        process = place.start(*place.index("b"))
        start = time.monotonic()
        # In process, most of the time goes before anything is written.
        enough = 120 if place.url else 0.7 * longest
        while process.poll() is None and time.monotonic() < start + enough and not place.left():
            time.sleep(0.01)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
        done = subprocess.CompletedProcess((), process.returncode, out, err)
        if done.returncode == 0:
            return "right"
        left = place.left()
        return _old_answers(place, _clear(done, status)) if not left else f"wrong: left {left}"

    return case


def _limited(before: str, *statuses: int) -> Case:
    def case(place: Place) -> str:
        asked = ("query", "deus", "--name", "killed", "--format", "json")
        verdicts = []
        for call in (asked, place.index("b")):
            done = _done(place, *call, before=before)
            good = "right" if done.returncode == 0 else _clear(done, statuses)
            verdicts.append(_old_answers(place, good))
        wrong = [verdict for verdict in verdicts if verdict.startswith("wrong")]
        return wrong[0] if wrong else verdicts[0]

    return case


def two_at_once(place: Place) -> str:
    """Two processes build the same index: one of the two is there, whole."""
    both = [place.start(*place.index(version)) for version in ("a", "b")]
    ends = [process.communicate(timeout=300) for process in both]
    if any(process.returncode for process in both):
        return f"wrong: {ends}"
    left = place.left()
    return _old_answers(place, "right") if not left else f"wrong: left {left}"


CASES: dict[str, Case] = {
    "two processes build it": two_at_once,
    "SIGTERM": _signalled(signal.SIGTERM, 143),
    "SIGHUP": _signalled(signal.SIGHUP, 129),
    "SIGINT": _signalled(signal.SIGINT, 130),
    "stdout is full": full_stdout,
    "stdout is closed": closed_pipe,
    "few open files (12)": _limited("ulimit -n 12", 1, 2, 3, 6, 7, 8, 11, 12),
    "few open files (24)": _limited("ulimit -n 24", 1, 2, 3, 6, 7, 8, 11, 12),
    "little memory (400 MB)": _limited("ulimit -v 400000", 1),
    "little memory (700 MB)": _limited("ulimit -v 700000", 1),
}
"""Faults of the machine, for indexes of both kinds."""

LOCAL_CASES: dict[str, Case] = {
    "disk full: index": full_disk_index,
    "disk full: scan": full_disk_scan,
    "disk full: evaluate": full_disk_evaluate,
    "files may not grow": small_files,
    "read-only data folder": read_only,
    "data folder is a file": data_folder_is_a_file,
}
"""Those that only an index in process can meet."""


def machine_faults(folder: Path, url: str, verses: int) -> Iterator[Tried]:
    """Each fault once.

    Args:
        folder: An empty folder.
        url: A server, or "" for indexes in process.
        verses: How many verses the index holds.
    """
    place = Place(folder, url, verses)
    place.run(*place.index("a"))
    for name, case in (CASES if url else {**CASES, **LOCAL_CASES}).items():
        start = time.monotonic()
        verdict = case(place)
        where = "Elasticsearch" if url else "in process"
        yield Tried(name, "index, query, scan", where, verdict, time.monotonic() - start)
