"""Fixtures that many tests share: the real Vulgate, its index, the command line."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from allusion_es.core.files import DATA_DIR_VARIABLE, data_dir
from allusion_es.corpora.bible.vulgate import read_vulgate
from allusion_es.corpora.packages import DATA_FILES, VULGATE, fetch
from allusion_es.corpora.passage import Passage
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import VULGATE_NAME, Library

# The same examples every time; `HYPOTHESIS_PROFILE=random` looks for new ones.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("random", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

pytest_plugins = [
    "annotation_fixtures",
    "browser_fixtures",
    "axe_fixtures",
    "compose_fixtures",
    "es_fixtures",
    "serve_fixtures",
]

# Several processes end at about the same time if what takes long is begun first.
LONGEST = (
    "test_es_same_answers.py",
    "test_fuzz.py",
    "test_readme.py",
    "test_cli.py",
    "test_es_cluster.py",
    "test_faults.py",
    "test_scan_command.py",
    "test_cli_es.py",
    "test_evaluate_command.py",
    "test_scale_queries.py",
    "test_learn_command.py",
    "test_scan_input.py",
    "test_es_index.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONGEST)))


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder of the tests' own, with the fetched data of the user's."""
    cache = data_dir()
    for data in DATA_FILES:
        fetch(data, cache)
    folder = tmp_path_factory.mktemp("allusion-es")
    (folder / "data").symlink_to(cache / "data")
    before = os.environ.get(DATA_DIR_VARIABLE)
    os.environ[DATA_DIR_VARIABLE] = str(folder)
    yield folder
    if before is None:
        del os.environ[DATA_DIR_VARIABLE]
    else:
        os.environ[DATA_DIR_VARIABLE] = before


@pytest.fixture(scope="session")
def library(data_folder: Path) -> Library:
    return Library(data_folder)


@pytest.fixture(scope="session")
def vulgate_passages(data_folder: Path) -> tuple[Passage, ...]:
    return tuple(read_vulgate(VULGATE.path(data_folder)))


@pytest.fixture(scope="session")
def vulgate_index(library: Library, tmp_path_factory: pytest.TempPathFactory) -> LocalIndex:
    """The Vulgate's index, as the program builds it; once for all processes of the tests."""
    built = library.path(VULGATE_NAME)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return library.open()
    shared = tmp_path_factory.getbasetemp().parent / built.name
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists() and shared.exists():
            built.parent.mkdir(exist_ok=True)
            built.hardlink_to(shared)
        index = library.open()
        if not shared.exists():
            shared.hardlink_to(built)
    return index


@pytest.fixture(scope="session")
def run() -> Run:
    """Runs `allusion-es` as users do, in a process of its own."""
    command = shutil.which("allusion-es", path=str(Path(sys.executable).parent))
    assert command, "allusion-es is not installed beside this Python"

    def run(
        *arguments: str, stdin: str | bytes = "", **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [command, *arguments],
            input=data,
            capture_output=True,
            env={**os.environ, **environment},
            timeout=300,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    return run
