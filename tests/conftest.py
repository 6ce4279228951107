"""Fixtures that many tests share: the real Vulgate, its index, the command line."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

# As the program does (`core.threads.use_one_thread`); numpy reads them when it is loaded.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import pytest
from hypothesis import settings
from platformdirs import user_cache_path
from processes import Run as Run
from processes import StartProcess, ending_processes, run_here, run_there

from allusion_es.core.code import code_hash
from allusion_es.core.files import DATA_DIR_VARIABLE, data_dir, writing
from allusion_es.corpora.bible.vulgate import read_vulgate
from allusion_es.corpora.packages import DATA_FILES, VULGATE, fetch
from allusion_es.corpora.passage import Passage
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import VULGATE_NAME, Library

USERS_DATA = data_dir()
"""The user's own data folder, in which what tests fetch is kept for the next time."""

KEPT = user_cache_path("allusion-es-tests")
"""What only tests need and takes long to get, kept for the next time."""

# The same examples every time; `HYPOTHESIS_PROFILE=random` looks for new ones.
# CI has more of them (`fixed`).
settings.register_profile("quick", max_examples=20, derandomize=True, deadline=None)
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("random", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

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
    "test_es_cluster.py",
    "test_faults.py",
    "test_readme.py",
    "test_evaluate_command.py",
    "test_cli_es.py",
    "test_cli.py",
    "test_scale_queries.py",
    "test_reproducible.py",
    "test_scan_command.py",
    "test_learn_command.py",
    "test_es_index.py",
)


# Which fixture, asked for by a test or by another fixture, gives a test which marker. What has no
# such fixture is marked where it stands.
MARKERS = {
    "es": {"start_server", "servers_run"},
    "browser": {"chromium"},
    "process": {"run_process", "start_process"},
    # They fetch tools that need Java, Go or pip, or take minutes.
    "slow": {"compose_tools", "compose_schema", "validator", "fuzzed", "real_model"},
}


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they use, and begin with the files that take longest."""
    for item in items:
        used = set(getattr(item, "fixturenames", ()))
        for marker, fixtures in MARKERS.items():
            if used & fixtures:
                item.add_marker(marker)
        if not any(map(item.get_closest_marker, ("es", "browser", "slow"))):
            item.add_marker("quick")
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONGEST)))


@pytest.fixture(scope="session", autouse=True)
def _own_data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder of the tests' own, so that none reads or changes the user's indexes.

    Fetched data and the unpacked dictionary are the user's, since they take long to get.
    """
    folder = tmp_path_factory.mktemp("allusion-es")
    (USERS_DATA / "data").mkdir(parents=True, exist_ok=True)
    (folder / "data").symlink_to(USERS_DATA / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DATA_DIR_VARIABLE, str(folder))
        yield folder


@contextmanager
def _one_process_at_a_time(name: str) -> Iterator[None]:
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def data_folder(_own_data_folder: Path) -> Path:
    """The tests' data folder, with the fetched data of the user's (the Vulgate and others)."""
    with _one_process_at_a_time("data"):
        for data in DATA_FILES:
            fetch(data, USERS_DATA)
    return _own_data_folder


@pytest.fixture(scope="session")
def library(data_folder: Path) -> Library:
    return Library(data_folder)


@pytest.fixture(scope="session")
def vulgate_passages(data_folder: Path) -> tuple[Passage, ...]:
    return tuple(read_vulgate(VULGATE.path(data_folder)))


@pytest.fixture(scope="session")
def vulgate_index(library: Library) -> LocalIndex:
    """The Vulgate's index, as the program builds it.

    Building takes 20 s, so that it is kept for other processes of the tests and for the next
    time, until anything changes that its bytes could depend on.
    """
    code = code_hash("core", "language", "corpora", "retrieval", "mappings", "local")
    name = f"vulgate-{code[:16]}-{version('simplemma')}-{version('numpy')}"
    built, kept = library.path(VULGATE_NAME), KEPT / f"{name}.idx"
    with _one_process_at_a_time(name):
        if kept.exists() and not built.exists():
            built.parent.mkdir(exist_ok=True)
            shutil.copyfile(kept, built)
        index = library.open()
        if not kept.exists():
            # Each has 120 MB.
            for old in sorted(KEPT.glob("vulgate-*.idx"), key=os.path.getmtime)[:-2]:
                old.unlink(missing_ok=True)
                old.with_suffix(".lock").unlink(missing_ok=True)
            with writing(kept) as file:
                file.write(built.read_bytes())
    return index


@pytest.fixture(scope="session")
def run(data_folder: Path) -> Run:
    """Runs `allusion-es` in this process."""
    return run_here


@pytest.fixture(scope="session")
def run_process(data_folder: Path) -> Run:
    """Runs `allusion-es` in a process of its own, as users do: takes a second longer than `run`."""
    return run_there


@pytest.fixture
def start_process(data_folder: Path) -> Iterator[StartProcess]:
    """Starts a process that a test speaks to, interrupts or kills; ended when the test ends."""
    with ending_processes() as start:
        yield start
