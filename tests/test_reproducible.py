"""The same input gives the same bytes: whatever the hash seed, however many processes."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from processes import Run

from allusion_es.corpora.passage import Passage

pytestmark = pytest.mark.slow

TABLE = (
    "id\ttext\n"
    "Gen.1.1\tIn principio creavit Deus caelum et terram.\n"
    "Ps.22.1\tDominus regit me et nihil mihi deerit.\n"
    "Ps.33.9\tGustate et videte quoniam suavis est Dominus; beatus vir qui sperat in eo.\n"
    "Ps.33.10\tTimete Dominum, omnes sancti ejus.\n"
    "John.1.1\tIn principio erat Verbum, et Verbum erat apud Deum.\n"
) + "".join(f"f{n}\taliud{n} uerbum{n} nouum{n} factum{n}\n" for n in range(300))
SERMON = (
    "Fratres, gustate et videte quoniam suavis est Dominus, dixit propheta.\n"
    "Et in principio erat Verbum, quod nihil mihi deerit si me regit Dominus.\n"
) * 3
WAYS = (("1", "1"), ("2", "1"), ("3", "4"))
"""Hash seeds, and numbers of processes."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, data_folder: Path, run: Run) -> Path:
    """Texts, and a data folder of their own with an index in it."""
    folder = tmp_path_factory.mktemp("reproducible")
    (folder / "home").mkdir()
    (folder / "home" / "data").symlink_to(data_folder / "data")
    (folder / "verses.tsv").write_text(TABLE)
    (folder / "sermo.txt").write_text(SERMON)
    (folder / "gold.jsonl").write_text(
        '{"query_id": "a", "text": "gustate et videte", "relevant": ["Ps.33.9"]}\n'
        '{"query_id": "b", "text": "in principio Verbum", "relevant": ["John.1.1", "Gen.1.1"]}\n'
    )
    done = run("index", str(folder / "verses.tsv"), "--name", "v", "--data-dir", _home(folder))
    assert done.returncode == 0, done.stderr
    return folder


def _home(folder: Path) -> str:
    return str(folder / "home")


def test_indexes_are_the_same_to_the_byte(run_process: Run, folder: Path) -> None:
    contents = set()
    for seed, workers in WAYS:
        name = f"again{seed}"
        done = run_process(
            "index", str(folder / "verses.tsv"), "--name", name, "--data-dir", _home(folder),
            "--workers", workers, PYTHONHASHSEED=seed,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        contents.add((folder / "home" / "indexes" / f"{name}.idx").read_bytes())
    contents.add((folder / "home" / "indexes" / "v.idx").read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize(
    "command",
    [
        "evaluate {folder}/gold.jsonl --methods learned,tesserae --first-stage fused --no-cache "
        "--resamples 50 --workers {workers} --html {out}/page.html",
        "scan {folder}/sermo.txt --threshold 0.01 --workers {workers} --html {out}/page.html",
        "scan {folder}/sermo.txt --threshold 0.01 --workers {workers} --format json",
        "query {folder}/gold.jsonl --html {out}/page.html",
        "query {folder}/gold.jsonl --format json --explain",
    ],
    ids=lambda command: " ".join(command.split()[:1] + command.split()[-2:-1]),
)
def test_results_are_the_same_to_the_byte(run_process: Run, folder: Path, command: str) -> None:
    outputs = set()
    for seed, workers in WAYS:
        out = folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        words = command.format(folder=folder, workers=workers, out=out).split()
        done = run_process(*words, "--name", "v", "--data-dir", _home(folder), PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
        outputs.add((done.stdout, *(each.read_bytes() for each in sorted(out.rglob("*.html")))))
    assert len(outputs) == 1
    assert sum(map(len, next(iter(outputs)))) > 100


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux counts so")
def test_the_number_of_processors_changes_no_digit(
    run_process: Run, vulgate_index: object, vulgate_passages: Sequence[Passage]
) -> None:
    stdin = "\n".join(passage.text for passage in vulgate_passages[11::2000])
    every = os.sched_getaffinity(0)
    many = run_process("query", "-", "--format", "json", stdin=stdin)
    assert many.returncode == 0, many.stderr
    os.sched_setaffinity(0, {min(every)})
    try:
        one = run_process("query", "-", "--format", "json", stdin=stdin)
    finally:
        os.sched_setaffinity(0, every)
    assert one.stdout == many.stdout
