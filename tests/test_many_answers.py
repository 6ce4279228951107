"""Many queries: the same answers from any number of processes."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from conftest import Run

from allusion_es.core.errors import AllusionError
from allusion_es.corpora.passage import Passage
from allusion_es.front.many_answers import ManyAnswers
from allusion_es.language.latin.analysis import Analyser, Analysis
from allusion_es.local.build import build_local
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import Library
from allusion_es.retrieval.analysed import analyse_passages
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.reranking import QueryFrequencies
from allusion_es.retrieval.types import AnalysedQuery, Query

WORDS = [
    "arma",
    "virum",
    "bella",
    "campos",
    "fato",
    "profugus",
    "oris",
    "potestas",
    "feror",
    "tristis",
    "auris",
    "vulgus",
]
TEXTS = [" ".join(WORDS[(n * k) % 12] for k in (1, 2, 5)) for n in range(300)]


@pytest.fixture(scope="module")
def path(library: Library) -> Path:
    """A small index in the tests' data folder, named `many`."""
    analyser = Analyser()
    passages = [Passage(str(n), text) for n, text in enumerate(TEXTS[:60])]
    path = library.path("many")
    build_local(path, analyse_passages(passages, analyser), IndexSettings(analyser.settings))
    return path


def test_several_processes_give_the_same_answers(path: Path) -> None:
    queries = [Query(text, f"q{n}") for n, text in enumerate(TEXTS)]
    # Its scores depend on how often words occur in all queries, and its notes say so.
    options = QueryOptions.chosen(first_stage="bm25", rerank="tesserae", top=3)
    retriever = Retriever(LocalIndex(path), options)
    found = [ManyAnswers(retriever, partial(LocalIndex, path), queries, n) for n in (1, 2)]
    one, two = (
        [
            (answer.query.query.query_id, hit.id, hit.score)
            for answer in answers
            for hit in answer.hits
        ]
        for answers in found
    )
    assert one == two
    assert len(one) > 300
    assert found[0].notes == found[1].notes
    assert "300 queries" in found[1].notes[0]


def test_few_queries_need_no_other_process(path: Path) -> None:
    def never() -> LocalIndex:
        raise AssertionError

    retriever = Retriever(LocalIndex(path), QueryOptions.chosen(first_stage="bm25", rerank="none"))
    queries = [Query(text, f"q{n}") for n, text in enumerate(TEXTS[:100])]
    assert len(list(ManyAnswers(retriever, never, queries, 8))) == 100


def test_an_error_of_another_process_ends_it(path: Path) -> None:
    retriever = Retriever(LocalIndex(path), QueryOptions.chosen(first_stage="bm25", rerank="none"))
    queries = [Query(text, f"q{n}") for n, text in enumerate(TEXTS)]
    missing: Callable[[], LocalIndex] = partial(LocalIndex, path.with_name("none.idx"))
    with pytest.raises(AllusionError):
        list(ManyAnswers(retriever, missing, queries, 2))


def test_the_command_prints_the_same(path: Path, run: Run, tmp_path: Path) -> None:
    table = tmp_path / "queries.jsonl"
    table.write_text(
        "".join(json.dumps({"query_id": f"q{n}", "text": t}) + "\n" for n, t in enumerate(TEXTS))
    )
    chosen = ["--name", "many", "--first-stage", "bm25", "--rerank", "tesserae", "--explain"]
    one, two = (
        run("query", str(table), *chosen, "--format", "json", "--workers", n) for n in ("1", "2")
    )
    assert one.returncode == two.returncode == 0
    assert one.stdout == two.stdout
    assert len(one.stdout.splitlines()) == 300
    assert "300 queries" in one.stderr
    assert [line for line in one.stderr.splitlines() if line.startswith("note")] == [
        line for line in two.stderr.splitlines() if line.startswith("note")
    ]


def test_frequencies_of_all_queries_are_counted_when_they_are_asked_for() -> None:
    read: list[str] = []

    def queries() -> Iterator[AnalysedQuery]:
        for text in ("deus dixit", "deus lux"):
            read.append(text)
            words = tuple(text.split())
            yield AnalysedQuery(Query(text), Analysis(words, words, ((0, 0),) * 2))

    frequencies = QueryFrequencies(queries())
    assert not read
    assert frequencies.of("lemma", ["deus", "lux", "nox"]).tolist() == [2, 1, 0]
    assert frequencies.queries == 2
    assert len(read) == 2
