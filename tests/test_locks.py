"""What killed processes leave is deleted by the next one; what living ones use is not."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import ending_processes

from allusion_es.core.files import writing
from allusion_es.core.locks import PREFIX, is_abandoned, scratch_folder
from allusion_es.es import alias_swap

_HOLD = """
import sys
from pathlib import Path
from allusion_es.core.files import writing
from allusion_es.core.locks import scratch_folder
from allusion_es.es.alias_swap import at_work_on

with writing(Path(sys.argv[1])) as file, scratch_folder() as folder, at_work_on(sys.argv[2]):
    file.write(b"half")
    file.flush()
    print(folder, flush=True)
    sys.stdin.read()
"""
CONCRETE = "allusion-little-20260101000000-00000000"


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()


@contextmanager
def holding(path: Path) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """Another process that is writing a file, and its scratch folder."""
    with ending_processes() as start:
        process = start(
            [sys.executable, "-c", _HOLD, str(path), CONCRETE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        yield process, Path(process.stdout.readline().strip())


def test_what_a_living_process_uses_stays_and_what_a_killed_one_used_goes(tmp_path: Path) -> None:
    path = tmp_path / "some.idx"
    path.write_bytes(b"old")
    with holding(path) as (process, folder):
        (part,) = tmp_path.glob(".some.idx.*.part")
        assert not is_abandoned(part)
        assert not alias_swap.is_left_behind(CONCRETE, 5.0)
        with writing(path) as file, scratch_folder() as own:
            file.write(b"new")
        assert (part.exists(), folder.is_dir(), own.exists()) == (True, True, False)
        process.kill()
        process.wait()
        assert path.read_bytes() == b"new"
        assert is_abandoned(part)
        assert alias_swap.is_left_behind(CONCRETE, 5.0)
        assert alias_swap.is_left_behind(f"{CONCRETE}-terms", 5.0)
        assert folder.name.startswith(PREFIX)
        with writing(tmp_path / "other.idx") as file:
            file.write(b"x")
        assert part.exists()
        with writing(path) as file, scratch_folder():
            file.write(b"newer")
        assert (part.exists(), folder.exists()) == (False, False)
    assert path.read_bytes() == b"newer"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.idx", "some.idx", "tmp"]


def test_an_index_of_another_machine_is_left_behind_once_it_is_old() -> None:
    assert not alias_swap.is_left_behind(CONCRETE, alias_swap.STALE_SECONDS - 1)
    assert alias_swap.is_left_behind(CONCRETE, alias_swap.STALE_SECONDS + 1)
    # A clock that was set back makes indexes that come from the future.
    assert not alias_swap.is_left_behind(CONCRETE, -86_400.0)


def test_names_with_signs_that_globs_know(tmp_path: Path) -> None:
    path = tmp_path / "a[b]*.jsonl"
    with holding(path) as (process, _):
        process.kill()
        process.wait()
        with writing(path) as file:
            file.write(b"x")
    assert [each.name for each in tmp_path.iterdir() if each.name != "tmp"] == [path.name]
