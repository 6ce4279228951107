"""Runs of methods: kept, resumed, the same in several processes."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from allusion_es.core.errors import AllusionError, UsageError
from allusion_es.corpora.passage import Passage
from allusion_es.evaluation import runner
from allusion_es.evaluation.methods import Method
from allusion_es.evaluation.runner import QuerySet, Task, compute_runs, run_folder
from allusion_es.evaluation.runs import QueryRanking, load_run, save_run
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.build import build_local
from allusion_es.local.index import LocalIndex
from allusion_es.retrieval.analysed import analyse_passages
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.types import Query, SearchFilter

T = TypeVar("T")

VERSES = [
    Passage("Gen.1.1", "In principio creavit Deus caelum et terram", book="Gen", testament="ot"),
    Passage("John.1.1", "In principio erat Verbum", book="John", testament="nt"),
    Passage("Ps.22.1", "Dominus regit me", book="Ps", testament="ot"),
    Passage("Ps.33.9", "Gustate et videte quoniam suavis Dominus", book="Ps", testament="ot"),
]
WORDS = ["principio", "deus", "caelum", "verbum", "dominus", "regit", "suavis", "nemo"]
QUERIES = tuple(
    Query(f"{WORDS[n % 8]} {WORDS[n // 8 % 8]} {WORDS[n // 3 % 8]}", f"q{n}") for n in range(150)
)
METHODS = [Method("bow"), Method("tesserae"), Method("tfidf", "token", ("bm25",))]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runner") / "little.idx"
    analyser = Analyser()
    build_local(path, analyse_passages(VERSES, analyser), IndexSettings(analyser.settings))
    return path


@pytest.fixture
def task(path: Path) -> Task:
    return Task(partial(LocalIndex, path), (QuerySet("spans", QUERIES),), depth=3)


def wanted(methods: Iterable[Method] = METHODS) -> list[tuple[Method, int]]:
    return [(method, 0) for method in methods]


def plain(runs: Iterable[dict[str, QueryRanking]]) -> list[dict[str, tuple[object, ...]]]:
    return [
        {
            name: (
                found.ranking.ids,
                tuple(found.ranking.scores.tolist()),
                tuple(found.stage_ranks.tolist()),
            )
            for name, found in run.items()
        }
        for run in runs
    ]


def test_every_query_has_its_ranking(task: Task) -> None:
    bow, tesserae, tfidf = plain(compute_runs(task, wanted()))
    assert list(bow) == list(tesserae) == list(tfidf) == [query.query_id for query in QUERIES]
    # "principio principio principio": in two verses, one of them shorter.
    assert bow["q0"] == (("John.1.1", "Gen.1.1"), pytest.approx((0.5, 7**-0.5)), (2, 1))
    # Two words of Psalm 22; no verse has all three, and only one has two of them.
    assert QUERIES[37].text == "regit dominus dominus"
    assert tesserae["q37"][0] == ("Ps.22.1",)
    # A first stage of BM25 that found one verse.
    assert tfidf["q37"] == (("Ps.22.1", "Ps.33.9"), pytest.approx(tfidf["q37"][1]), (1, 2))


def test_processes_change_nothing(task: Task) -> None:
    alone = plain(compute_runs(task, wanted()))
    assert plain(compute_runs(task, wanted(), workers=2)) == alone


def test_what_is_kept_is_not_computed_again(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = plain(compute_runs(task, wanted(), folder=tmp_path))
    assert len(list(tmp_path.glob("*/*.run"))) == 3 * 3  # 150 queries: 64, 64, 22
    monkeypatch.setattr(runner, "Worker", None)
    assert plain(compute_runs(task, wanted(), folder=tmp_path)) == first
    # What a method is called does not matter.
    named = [replace(method, label="other") for method in METHODS]
    assert plain(compute_runs(task, wanted(named), folder=tmp_path)) == first


def test_an_interrupted_run_goes_on(task: Task, tmp_path: Path) -> None:
    whole = plain(compute_runs(task, wanted()))
    counts = []

    def interrupted(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
        counts.append(total)
        for number, item in enumerate(items):
            if number == 4:
                raise KeyboardInterrupt
            yield item

    with pytest.raises(KeyboardInterrupt):
        list(compute_runs(task, wanted(), folder=tmp_path, progress=interrupted))
    assert len(list(tmp_path.glob("*/*.run"))) == 4
    assert plain(compute_runs(task, wanted(), folder=tmp_path, progress=counted(counts))) == whole
    assert counts == [9, 5]


def counted(counts: list[int | None]) -> Callable[..., Iterable[T]]:
    def progress(items: Iterable[T], description: str, total: int | None = None) -> Iterable[T]:
        counts.append(total)
        return items

    return progress


@pytest.mark.parametrize("data", [b"", b"ALLUSION", b"x" * 5000])
def test_a_damaged_piece_is_made_again(task: Task, tmp_path: Path, data: bytes) -> None:
    whole = plain(compute_runs(task, wanted(), folder=tmp_path))
    for piece in tmp_path.glob("*/000001.run"):
        piece.write_bytes(data)
    for piece in tmp_path.glob("*/000002.run"):
        changed = bytearray(piece.read_bytes())
        changed[-70] ^= 1
        piece.write_bytes(changed)
    assert plain(compute_runs(task, wanted(), folder=tmp_path)) == whole


def test_all_that_matters_has_a_folder_of_its_own(task: Task, tmp_path: Path) -> None:
    method = METHODS[0]
    vectors = tmp_path / "vectors"
    vectors.write_text("one")
    named = replace(method, settings={"bow": {"vectors": str(vectors)}})
    folders = [
        run_folder(tmp_path, task, "index", method, 0),
        run_folder(tmp_path, task, "other", method, 0),
        run_folder(tmp_path, replace(task, depth=4), "index", method, 0),
        run_folder(
            tmp_path,
            replace(task, search_filter=SearchFilter(frozenset({"Ps"}))),
            "index",
            method,
            0,
        ),
        run_folder(tmp_path, task, "index", replace(method, field="token"), 0),
        run_folder(tmp_path, task, "index", replace(method, reranker="tfidf"), 0),
        run_folder(tmp_path, task, "index", replace(method, reranker=None), 0),
        run_folder(tmp_path, task, "index", replace(method, first_stage=("bm25",)), 0),
        run_folder(tmp_path, task, "index", named, 0),
    ]
    vectors.write_text("two words")
    folders.append(run_folder(tmp_path, task, "index", named, 0))
    fewer = replace(task, sets=(QuerySet("spans", QUERIES[:-1]),))
    folders.append(run_folder(tmp_path, fewer, "index", method, 0))
    assert len(set(folders)) == len(folders)
    # The whole collection is ranked whatever the number of candidates.
    same = run_folder(tmp_path, task, "index", replace(method, candidates=7), 0)
    assert same == folders[0]


def test_within_some_books(task: Task) -> None:
    psalms = replace(task, search_filter=SearchFilter(books=frozenset({"Ps"})))
    (run,) = compute_runs(psalms, wanted(METHODS[:1]))
    assert {name for found in run.values() for name in found.ranking.ids} <= {"Ps.22.1", "Ps.33.9"}


def _dies_elsewhere(path: Path) -> LocalIndex:
    if multiprocessing.parent_process() is not None:
        os._exit(9)
    return LocalIndex(path)


def test_a_process_that_dies_is_told(path: Path, tmp_path: Path) -> None:
    task = Task(partial(_dies_elsewhere, path), (QuerySet("spans", QUERIES),))
    with pytest.raises(AllusionError, match="ended before its work was done"):
        list(compute_runs(task, wanted(), workers=2, folder=tmp_path))
    assert not list(tmp_path.glob("**/*"))


def test_wrong_numbers(task: Task) -> None:
    with pytest.raises(UsageError, match="workers must be at least 1"):
        list(compute_runs(task, wanted(), workers=0))
    with pytest.raises(UsageError, match="candidates: must be at least 1"):
        list(compute_runs(task, wanted([replace(METHODS[2], candidates=0)])))
    assert list(compute_runs(task, [])) == []


def test_runs_come_back(tmp_path: Path, task: Task) -> None:
    (run,) = compute_runs(task, wanted(METHODS[:1]))
    save_run(tmp_path / "a.run", run)
    assert plain([load_run(tmp_path / "a.run")]) == plain([run])
    save_run(tmp_path / "none.run", {})
    assert load_run(tmp_path / "none.run") == {}
