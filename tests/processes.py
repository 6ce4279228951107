"""Commands run in the tests' own process, and real processes that end when their test does."""

import io
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from allusion_es.cli.main import run as run_command

Run = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs `allusion-es` with some arguments; gives its exit status and what it printed.

Besides the arguments, it takes `stdin` (text or bytes) and environment variables by name.
"""

StartProcess = Callable[..., "subprocess.Popen[str]"]
"""Starts a command as `subprocess.Popen` does, by `start`; it is ended when the test ends."""

# What Python and its libraries read once, when they start, cannot be changed later.
_READ_AT_START = ("PYTHON", "LC_", "LANG", "OMP_", "OPENBLAS_", "MKL_")


def program() -> str:
    """The path of the command `allusion-es` that is installed beside this Python."""
    command = shutil.which("allusion-es", path=str(Path(sys.executable).parent))
    assert command, "allusion-es is not installed beside this Python"
    return command


def run_here(
    *arguments: str, stdin: str | bytes = "", **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run `allusion-es` in this process, which saves the second that a new one takes to start.

    Streams and environment are put back afterwards. An error that the program does not know of
    is raised, so that the test shows where it comes from.
    """
    late = [name for name in environment if name.startswith(_READ_AT_START)]
    assert not late, f"{late} only matter to a new process: use the fixture `run_process`"
    data = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace", write_through=True)
        for _ in range(2)
    )
    streams = sys.stdin, sys.stdout, sys.stderr
    variables = dict(os.environ)
    # Without pytest's handlers, warnings that libraries log go to stderr as they do elsewhere.
    log = logging.getLogger()
    handlers, log.handlers = log.handlers, []
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(data), "utf-8"), out, err
    os.environ.update(environment)
    try:
        status = run_command(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        log.handlers = handlers
        os.environ.clear()
        os.environ.update(variables)
    printed, told = (each.buffer.getvalue().decode() for each in (out, err))
    return subprocess.CompletedProcess(["allusion-es", *arguments], status, printed, told)


def run_there(
    *arguments: str, stdin: str | bytes = "", **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run `allusion-es` as users do, in a process of its own."""
    with interruptible():
        done = subprocess.run(
            [program(), *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env={**os.environ, **environment},
            timeout=300,
        )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


@contextmanager
def interruptible() -> Iterator[None]:
    """Processes that are started meanwhile can be interrupted, however the tests were started.

    A shell lets what it starts in the background ignore SIGINT, and so do all children of that;
    Python then never raises `KeyboardInterrupt`.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def start(command: Sequence[str | Path], **options: Any) -> "subprocess.Popen[Any]":  # noqa: ANN401
    """Start a process that Ctrl+C reaches; `options` are those of `subprocess.Popen`."""
    with interruptible():
        return subprocess.Popen(command, **options)


def end(process: "subprocess.Popen[Any]") -> None:
    """Kill a process that still runs, and close the pipes to it."""
    if process.poll() is None:
        process.kill()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    process.wait(20)


@contextmanager
def ending_processes() -> Iterator[StartProcess]:
    """Starts processes, and ends those that are left, also where a test fails."""
    started: list[subprocess.Popen[Any]] = []

    def begin(command: Sequence[str | Path], **options: Any) -> "subprocess.Popen[Any]":  # noqa: ANN401
        started.append(start(command, **options))
        return started[-1]

    try:
        yield begin
    finally:
        for process in started:
            end(process)
