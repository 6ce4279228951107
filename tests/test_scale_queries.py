"""What is asked of a server does not grow with the collection; the benchmark runs."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from allusion_es.core.files import DATA_DIR_VARIABLE
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.source import read_source
from allusion_es.es.build import build_es_index
from allusion_es.es.connection import Server
from allusion_es.es.index import open_index
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.library import BuildOptions, Library
from allusion_es.reports.surroundings import Surroundings
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.scanning.scanner import Scanner

FEW, MANY = 200, 2_000
BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "scale.py"
CURVES = BENCHMARK.with_name("scale_curves.py")


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The bytes of each answer that the server gives meanwhile."""
    sizes: list[int] = []
    send = Server._send

    def counting(
        self: Server, method: str, path: str, data: bytes | None, media: str
    ) -> dict[str, Any]:
        answer = send(self, method, path, data, media)
        sizes.append(len(json.dumps(answer)))
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(Server, "_send", counting)
        yield sizes


def collection(verses: Sequence[Passage], count: int) -> list[Passage]:
    """Passages with the words of verses, in works of a hundred."""
    words = [word for verse in verses for word in verse.text.split()]
    draw = random.Random(1)
    return [
        Passage(f"p{n:05d}", " ".join(draw.choices(words, k=15)), work=f"opus {n // 100}", order=n)
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def server(elasticsearch_url_any: str) -> Iterator[Server]:
    with Server.connect(elasticsearch_url_any) as server:
        yield server


@pytest.fixture(scope="module")
def names(server: Server, library: Library, vulgate_passages: tuple[Passage, ...]) -> list[str]:
    """A small collection, and one that is ten times as large."""
    found = []
    for count in (FEW, MANY):
        found.append(f"scale-{count}")
        passages = collection(vulgate_passages[:2_000], count)
        build_es_index(server, found[-1], *library.prepare(passages, BuildOptions()))
    return found


def asked(index: CandidateIndex, method: str) -> None:
    """Two queries, the second after the first has been answered."""
    options: dict[str, Any] = {"candidates": 50}
    if method == "bm25":
        options |= {"generators": ("bm25",), "reranker": "soft-cosine"}
    else:
        options |= {"generators": ("fused",), "reranker": "learned"}
    retriever = Retriever(index, QueryOptions(**options))
    for text in ("in principio creavit Deus caelum et terram", "dixitque Deus fiat lux"):
        assert len(retriever.answer(text).hits) == 10


@pytest.mark.parametrize("method", ["bm25", "default"])
def test_queries_cost_the_same_in_a_larger_collection(
    names: list[str],
    method: str,
    server: Server,
    library: Library,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for name in names:
        with counted(monkeypatch) as sizes:
            asked(open_index(server, name, library.vectors, library.citations), method)
        found.append(sizes)
    few, many = found
    # In the small one, a second query may find all that it asks for in the memory of the first.
    assert len(many) <= len(few) + 2
    assert sum(many) < 1.5 * sum(few)
    assert max(many) < 1.5 * max(few)


def test_scans_and_reports_cost_the_same_in_a_larger_collection(
    names: list[str],
    server: Server,
    library: Library,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    path = tmp_path / "sermo.txt"
    path.write_text("In principio creavit Deus caelum et terram, dixitque Deus: fiat lux. " * 5)
    found = []
    for name in names:
        index = open_index(server, name, library.vectors, library.citations)
        with counted(monkeypatch) as sizes:
            list(Scanner(index).scan(read_source(path)))
            before, after = Surroundings(index, Analyser()).neighbours(
                index.passages(["p00150"])[0]
            )
        assert [passage.id for passage in (*before, *after)] == [
            f"p00{number}" for number in (147, 148, 149, 151, 152, 153)
        ]
        found.append(sizes)
    few, many = found
    assert len(many) <= len(few) + 3
    assert sum(many) < 2 * sum(few)


@pytest.mark.usefixtures("servers_run")
def test_the_benchmark_of_scale_runs(tmp_path: Path, data_folder: Path) -> None:
    figures = tmp_path / "figures.jsonl"
    command = [sys.executable, str(BENCHMARK), "--passages", "500", "--places"]
    command += ["local+links", "es:1", "es:1+links"]
    command += ["--methods", "fused+learned", "--queries", "4", "--clients", "2"]
    done = subprocess.run(
        [*command, "--json", str(figures)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, DATA_DIR_VARIABLE: str(data_folder)},
    )
    assert done.returncode == 0, done.stderr
    assert "the same answers everywhere+links: yes" in done.stdout
    rows = [json.loads(line) for line in figures.read_text().splitlines()]
    assert {row["place"] for row in rows} == {"local+links", "es:1", "es:1+links"}
    assert all(row["value"] > 0 for row in rows)
    assert {"size on disk", "fused+learned: 2 clients"} <= {row["what"] for row in rows}
    drawn = draw_curves(figures, tmp_path / "curves.svg")
    for text in ("Building", "A query by the default", "Elasticsearch, citations known", ">500<"):
        assert text in drawn
    tables = [sys.executable, str(CURVES), str(figures), "--tables"]
    printed = subprocess.run(tables, capture_output=True, text=True, check=True).stdout
    assert "| | 500, Elasticsearch | 500, Elasticsearch, citations known |" in printed


def test_the_measured_figures_are_drawn_the_same(tmp_path: Path) -> None:
    figures = BENCHMARK.parents[1] / "docs" / "scaling.jsonl"
    one, other = (draw_curves(figures, tmp_path / f"{name}.svg") for name in "ab")
    assert one == other
    assert {f">{size}<" in one for size in ("36,000", "360,000", "1,000,000")} == {True}


def draw_curves(figures: Path, svg: Path) -> str:
    command = [sys.executable, str(CURVES), str(figures)]
    subprocess.run([*command, "--svg", str(svg)], check=True)
    return svg.read_text()
