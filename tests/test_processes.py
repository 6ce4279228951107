"""What the tests start: commands leave this process as it was, and real processes end."""

import logging
import os
import signal
import subprocess
import sys

import pytest
from processes import Run, ending_processes

WAIT = "import time; print(1, flush=True); time.sleep(60)"
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}


def test_a_command_leaves_streams_and_environment_alone(run: Run) -> None:
    before = dict(os.environ), sys.stdin, sys.stdout, sys.stderr
    done = run("list", "indexes", "--data-dir", "nowhere", ALLUSION_TESTS="1")
    assert (done.returncode, done.args[0]) == (0, "allusion-es")
    assert (dict(os.environ), sys.stdin, sys.stdout, sys.stderr) == before


def test_both_ways_to_run_a_command_give_the_same(run: Run, run_process: Run) -> None:
    for arguments in (["list", "rerankers"], ["query", ""], ["gold"], ["query", "x", "--top", "y"]):
        here, there = run(*arguments), run_process(*arguments)
        assert (here.returncode, here.stdout) == (there.returncode, there.stdout)
        assert here.stderr == there.stderr


def test_what_libraries_log_is_on_stderr_as_in_a_process(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def log(arguments: object) -> int:
        logging.getLogger("some.library").warning("careful")
        return 0

    monkeypatch.setattr("processes.run_command", log)
    assert run().stderr == "careful\n"


def test_what_python_reads_when_it_starts_needs_a_process(run: Run) -> None:
    with pytest.raises(AssertionError, match="use the fixture `run_process`"):
        run("list", PYTHONHASHSEED="1")


@pytest.mark.process
def test_processes_can_be_interrupted_where_this_one_ignores_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ending_processes() as start:
            process = start([sys.executable, "-c", WAIT], **PIPES)
            assert process.stdout
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == -signal.SIGINT
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.process
def test_processes_end_where_a_test_fails() -> None:
    started: list[subprocess.Popen[str]] = []

    def fail() -> None:
        with ending_processes() as start:
            started.append(start([sys.executable, "-c", WAIT], **PIPES))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert started[0].poll() == -signal.SIGKILL
    assert started[0].stdout
    assert started[0].stdout.closed
