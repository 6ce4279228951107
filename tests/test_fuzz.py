"""Thousands of hostile inputs for every reader; what breaks a promise is a crash.

`ALLUSION_FUZZ_INPUTS=10000` tries as many as docs/reliability.md tells of.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import LONGEST_MESSAGE, AllusionError, InputError
from allusion_es.corpora.bible.references import parse_references
from allusion_es.serve.requests import read_query_request, read_scan_request
from allusion_es.web.guard import RefusedError

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
INPUTS = int(os.environ.get("ALLUSION_FUZZ_INPUTS", 2_000))
READERS = (
    "passages", "editions", "source", "tei", "html", "docx", "vulgate", "gold", "qrels", "run",
    "references", "spans", "queries", "ranker", "index", "citations", "translations",
    "citing", "run-cache", "dictionary", "checkpoint", "vectors", "wordnet", "store",
    "journal", "cross-references", "archive", "manifest", "query", "server",
)  # fmt: skip
Rows = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def fuzzed(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, str]:
    """The figures of each reader, and what was said of crashes."""
    crashes = tmp_path_factory.mktemp("crashes")
    command = [sys.executable, str(BENCHMARKS / "fuzz.py"), "--inputs", str(INPUTS)]
    command += ["--workers", "2", "--crashes", str(crashes)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    header, *lines = (line.split("\t") for line in done.stdout.splitlines())
    return {line[0]: dict(zip(header, line, strict=True)) for line in lines}, done.stderr


@pytest.mark.parametrize("name", READERS)
def test_no_hostile_input_breaks_a_promise(fuzzed: tuple[Rows, str], name: str) -> None:
    rows, said = fuzzed
    row = rows[name]
    assert (row["inputs"], row["crashes"]) == (str(INPUTS), "0"), said
    # Inputs are neither so broken that all are refused at once, nor hardly broken.
    assert int(row["accepted"]) > 0
    assert int(row["refused"]) > 0 or name in ("checkpoint", "journal")
    assert float(row["memory MB"]) < 48


def test_every_reader_is_tried() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "fuzz.py"), "--list"], capture_output=True, text=True
    )
    assert done.stdout.split() == list(READERS)


BREACHES = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import fuzz_guard
from fuzz import fuzz
from fuzz_reader import Reader

outside = Path(sys.argv[2])
kept = []

def write(path): (outside / "x").write_text("x")
def remove(path): outside.rmdir()
def read(path): Path("/etc/hostname").read_text()
def run(path): __import__("os").system("true")
def connect(path): __import__("socket").create_connection(("127.0.0.1", 9))
def unpickle(path): __import__("pickle").loads(b"cos\\ngetcwd\\n.")
def grow(path): kept.append(bytearray(80 << 20))
def demand(path): __import__("numpy").zeros(1 << 40, "u1")
def loop(path):
    while True: pass
def raise_it(path): raise ValueError
def say_nothing(path): pass

fuzz_guard.SECONDS = 0.3
BREACHES = (write, remove, read, run, connect, unpickle, grow, demand, loop, raise_it, say_nothing)
for breach in BREACHES:
    def once(path, breach=breach):
        if path.read_bytes() != b"seed": breach(path)
    tally = fuzz(Reader(breach.__name__, ({"a": b"seed"},), once), 3, 0, outside / "crashes")
    print(breach.__name__, tally.crashes > 0)
"""


def test_the_guard_notices_every_breach(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BREACHES, str(BENCHMARKS), str(tmp_path)],
        capture_output=True,
        text=True,
    )
    noticed = dict(line.split() for line in done.stdout.splitlines())
    assert noticed.pop("say_nothing") == "False", done.stderr
    assert noticed == dict.fromkeys(noticed, "True")
    assert len(noticed) == 10


def test_inputs_are_the_same_for_the_same_seed() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import hashlib, fuzz\n"
        "digest = hashlib.sha256()\n"
        "for name in ('tei', 'citations', 'gold'):\n"
        "    for number, files in fuzz.hostile(fuzz._readers()[name](), 200, int(sys.argv[2])):\n"
        "        digest.update(repr((number, sorted(files.items()))).encode())\n"
        "print(digest.hexdigest())\n"
    )
    digests = [
        subprocess.run(
            [sys.executable, "-c", script, str(BENCHMARKS), seed],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        ).stdout
        for seed, hash_seed in (("0", "1"), ("0", "2"), ("1", "1"))
    ]
    assert digests[0] == digests[1] != digests[2]
    assert len(digests[0]) == 65


@given(st.text(max_size=3_000))
def test_every_message_is_one_line(text: str) -> None:
    message = str(AllusionError(text))
    assert message.isprintable()
    assert len(message) <= LONGEST_MESSAGE
    assert str(InputError(message)) == message


@given(st.text(st.sampled_from("PsGen1 2,:.-;fqIVx²\u0661\u2013\n"), max_size=60))
def test_references_are_read_or_refused(text: str) -> None:
    try:
        for reference in parse_references(text):
            assert 0 <= reference.chapter <= 999
            assert 0 <= reference.verse <= 999
    except AllusionError as error:
        assert error.exit_code == 5  # noqa: PT017 - either is right


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
names = st.sampled_from([
    "text", "queries", "index", "books", "works", "top", "candidates", "set", "field", "rerank",
    "explain", "threshold", "fast", "text_id", "view", "first_stage",
])  # fmt: skip


@given(st.dictionaries(names, json_values, max_size=5))
def test_requests_are_checked_or_refused(record: dict[str, Any]) -> None:
    for read in (read_query_request, read_scan_request):
        try:
            read(record, "vulgate")
        except (RefusedError, AllusionError) as error:
            assert str(error)  # noqa: PT017 - either is right
