"""A query that cannot be answered is named, and costs no other query its answer."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from conftest import Run
from faulty_package import EXPLAINING, FIRST_STAGE, RERANKING, write_package
from hypothesis import given, settings
from hypothesis import strategies as st
from serve_fixtures import NAME, Serving

from allusion_es.cli import main
from allusion_es.core.arrays import Floats
from allusion_es.core.errors import (
    AllusionError,
    PluginError,
    ServerUnavailableError,
    UsageError,
)
from allusion_es.corpora.passage import Passage
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.methods import ORACLE, Method
from allusion_es.evaluation.paper.experiments import MANUAL, Experiment, TableLine, line_runs
from allusion_es.evaluation.runner import QuerySet, Task, compute_runs
from allusion_es.language.latin.analysis import Analyser, Analysis
from allusion_es.local.build import build_local
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.reports.answers import answer_json
from allusion_es.retrieval import pipeline
from allusion_es.retrieval.analysed import analyse_passages
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.pipeline import QueryOptions, Ranker, Retriever
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.traces import Trace, Tracer
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Query,
)
from allusion_es.retrieval.unanswered import Unanswered

VERSES = {
    "Gen.1.1": "In principio creavit Deus caelum et terram",
    "John.1.1": "In principio erat Verbum",
    "Ps.22.1": "Dominus regit me in loco",
    "Ps.33.9": "Gustate et videte quoniam suavis est Dominus",
}
GOOD = ("in principio", "dominus suavis", "gustate")
EVERY = (*RERANKING, *EXPLAINING, *FIRST_STAGE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_package(tmp_path_factory.mktemp("faulty"))


@pytest.fixture(autouse=True)
def _importable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For this process, and for those that it starts."""
    monkeypatch.syspath_prepend(str(folder))
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)


@pytest.fixture(scope="module")
def index() -> LocalIndex:
    return index_texts(VERSES)


def queries(words: Sequence[str]) -> list[Query]:
    """Good queries, and after each of them one with a word that fails."""
    found = [Query(GOOD[0], "good-0")]
    for number, word in enumerate(words, start=1):
        found.append(Query(f"dominus {word}", f"bad-{word}"))
        found.append(Query(GOOD[number % 3], f"good-{number}"))
    return found


def is_bad(query: Query) -> bool:
    return query.query_id.startswith("bad-")


def faulty(index: LocalIndex, grouped: bool = False) -> Retriever:
    return Retriever(
        index,
        QueryOptions(
            generators=("faulty-stage",), reranker="faulty", explain=True, grouped=grouped
        ),
    )


@pytest.mark.parametrize("is_list", [True, False])
@pytest.mark.parametrize("grouped", [True, False])
def test_each_answer_is_that_of_the_query_alone(
    index: LocalIndex, is_list: bool, grouped: bool
) -> None:
    asked = queries(EVERY) * 5  # more than are searched for at once
    retriever = faulty(index, grouped=grouped)
    answers = list(retriever.answers(asked if is_list else iter(asked)))
    assert [answer.query.query for answer in answers] == asked
    alone = {query.text: retriever.answer(query).hits for query in asked if not is_bad(query)}
    for answer in answers:
        query = answer.query.query
        assert (answer.failure is not None) == is_bad(query)
        assert answer.hits == (() if is_bad(query) else alone[query.text])
        if answer.failure is not None:
            assert str(answer.failure).isprintable()
            assert json.loads(answer_json(answer))["error"] == str(answer.failure)


@pytest.mark.parametrize("word", EVERY)
def test_one_query_alone_raises(index: LocalIndex, word: str) -> None:
    with pytest.raises(AllusionError) as raised:
        faulty(index).answer(f"dominus {word}")
    assert raised.value.exit_code == (4 if word in ("vector", "input") else 11)


def test_the_message_says_who_failed_how_and_where(index: LocalIndex) -> None:
    with pytest.raises(
        PluginError,
        match=r"reranker 'faulty' failed \(ValueError: no such \\x1b\[31mword, "
        r"faulty_plugins.py:\d+\); this is a fault",
    ):
        faulty(index).answer("dominus raise")
    with pytest.raises(PluginError, match="first stage 'faulty-stage' failed"):
        faulty(index).answer("dominus stage")


def test_what_is_wrong_for_every_query_is_raised_at_once(index: LocalIndex) -> None:
    answers = faulty(index).answers([Query("deus", "1"), Query("dominus option", "2")])
    with pytest.raises(UsageError, match="an option is wrong"):
        list(answers)


def test_a_server_that_is_gone_is_raised_at_once(
    index: LocalIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> object:
        raise ServerUnavailableError("nothing answers")

    monkeypatch.setattr(LocalIndex, "search", gone)
    with pytest.raises(ServerUnavailableError):
        list(
            Retriever(index, QueryOptions(reranker=None)).answers(
                [Query("deus", "1"), Query("lux", "2")]
            )
        )


def test_a_plug_in_that_does_not_start_is_one_line(index: LocalIndex) -> None:
    said = r"plug-in 'unstartable' cannot be started \(OSError: no licence\)"
    with pytest.raises(PluginError, match=said):
        Retriever(index, QueryOptions(reranker="unstartable"))
    with pytest.raises(PluginError, match=said):
        Retriever(index, QueryOptions(generators=("unstartable",), reranker=None))


def test_notes_that_fail_cost_no_answer(index: LocalIndex) -> None:
    retriever = Retriever(
        index, QueryOptions(reranker="faulty", settings={"faulty": {"even_notes": "true"}})
    )
    assert retriever.answer("dominus").hits
    (note,) = retriever.notes
    assert "reranker's notes failed (KeyError" in note


class BrokenAnalyser(Analyser):
    """Cannot read one word."""

    def analyse(self, text: str) -> Analysis:
        if "fractum" in text:
            raise LookupError("fractum")
        return super().analyse(text)


@pytest.fixture
def broken_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "Analyser", BrokenAnalyser)


@pytest.mark.usefixtures("broken_words")
@pytest.mark.parametrize("is_list", [True, False])
def test_words_that_cannot_be_analysed_cost_one_query(index: LocalIndex, is_list: bool) -> None:
    asked = [Query("fractum", "1"), Query("dominus", "2"), Query("deus fractum", "3")]
    retriever = Retriever(index, QueryOptions(reranker="tesserae"))
    answers = list(retriever.answers(asked if is_list else iter(asked)))
    assert [answer.failure is None for answer in answers] == [False, True, False]
    assert [answer.query.query for answer in answers] == asked
    assert "lemmatiser 'simplemma' failed (LookupError: fractum" in str(answers[0].failure)
    traces = list(Tracer(index, rerankers=("bow",)).traces(asked))
    assert [isinstance(trace, Trace) for trace in traces] == [False, True, False]


@settings(max_examples=25)
@given(st.lists(st.sampled_from((*EVERY, "", "deus", "h", "xyzzy")), max_size=9))
def test_any_mixture_is_answered_in_order(words: list[str]) -> None:
    asked = [Query(f"dominus {word}", str(number)) for number, word in enumerate(words)]
    answers = list(faulty(index_texts(VERSES)).answers(asked))
    assert [answer.query.query for answer in answers] == asked
    assert [answer.failure is not None for answer in answers] == [word in EVERY for word in words]


@pytest.mark.parametrize("rerankers", [("faulty", "bow"), ("bow", "faulty")])
def test_traces_leave_out_what_any_stage_cannot_answer(
    index: LocalIndex, rerankers: tuple[str, ...]
) -> None:
    words = EVERY if rerankers[0] == "faulty" else (*RERANKING, *FIRST_STAGE)
    tracer = Tracer(index, generators=("bm25", "faulty-stage"), rerankers=rerankers)
    asked = queries(words)
    traces = list(tracer.traces(asked))
    for query, trace in zip(asked, traces, strict=True):
        assert isinstance(trace, Unanswered) == is_bad(query)
        assert (trace.query if isinstance(trace, Unanswered) else trace.query.query) == query


# Evaluations.


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("left-out") / "little.idx"
    analyser = Analyser()
    verses = (Passage(name, text) for name, text in VERSES.items())
    build_local(path, analyse_passages(verses, analyser), IndexSettings(analyser.settings))
    return path


METHOD = Method("faulty", first_stage=("faulty-stage",))


def faulty_task(path: Path, words: Sequence[str] = (*RERANKING, *FIRST_STAGE)) -> Task:
    asked = [replace(q, query_id=f"{q.query_id}-{n}") for n in range(5) for q in queries(words)]
    return Task(partial(LocalIndex, path), (QuerySet("spans", tuple(asked)),), depth=3)


@pytest.mark.parametrize("workers", [1, 2])
def test_runs_lack_what_could_not_be_answered_and_ask_it_again(
    path: Path, tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = faulty_task(path)
    wanted = [(METHOD, 0), (Method("bow"), 0)]
    asked = task.sets[0].queries
    told: list[tuple[str | None, str]] = []

    def tell(method: Method, unanswered: Unanswered) -> None:
        told.append((method.reranker, unanswered.query.query_id))

    bad = sorted(query.query_id for query in asked if is_bad(query))
    for _ in range(2):  # what failed was not kept as answered
        told.clear()
        runs = compute_runs(task, wanted, workers=workers, folder=tmp_path, on_unanswered=tell)
        first, second = runs
        assert sorted(told) == [("faulty", name) for name in bad]
        assert set(first) == {query.query_id for query in asked if not is_bad(query)}
        assert set(second) == {query.query_id for query in asked}

    # Pieces in which nothing failed are not made again.
    def never(*_: object) -> None:
        raise AssertionError("it was kept")

    monkeypatch.setattr(Ranker, "rank", never)
    (kept,) = compute_runs(task, wanted[1:], folder=tmp_path, on_unanswered=tell)
    assert kept.keys() == second.keys()


def test_runs_are_refused_where_nobody_is_told(path: Path) -> None:
    with pytest.raises(PluginError, match="reranker 'faulty' failed"):
        list(compute_runs(faulty_task(path), [(METHOD, 0)]))


def test_the_oracle_lacks_what_its_model_lacks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = [GoldLink(query, ("Ps.22.1",)) for query in queries(("raise",))]
    asked = tuple(link.query for link in links)
    task = Task(partial(LocalIndex, path), (QuerySet(MANUAL, asked),))
    line = TableLine(Method(ORACLE), 0, {"method": ORACLE})
    experiment = Experiment("", task.sets, (line,))

    class Failing:
        def score(
            self, query: AnalysedQuery, candidates: Candidates, collection: Collection
        ) -> Floats:
            if "raise" in query.query.text:
                raise ValueError("no")
            return np.ones(len(candidates))

    monkeypatch.setattr("allusion_es.retrieval.pipeline.load_reranker", lambda *_: Failing())
    told: list[object] = []
    ((_, run),) = line_runs(experiment, links, task, on_unanswered=lambda *each: told.append(each))
    assert set(run) == {"good-0", "good-1"}
    assert len(told) == 2  # by each of the two models


# The command line.


@pytest.fixture(scope="module")
def little(run: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("little") / "verses.tsv"
    path.write_text("id\ttext\n" + "".join(f"{name}\t{text}\n" for name, text in VERSES.items()))
    done = run("index", str(path), "--name", "left-out", "--no-vectors", "--no-learned-links")
    assert done.returncode == 0, done.stderr
    return "left-out"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("queries") / "gold.jsonl"
    rows = [
        {"query_id": query.query_id, "text": query.text, "relevant": ["Ps.22.1"]}
        for query in queries((*RERANKING, *FIRST_STAGE))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


BAD = [f"bad-{word}" for word in (*RERANKING, *FIRST_STAGE)]
METHODS = ("--first-stage", "faulty-stage", "--rerank", "faulty")


@pytest.mark.parametrize("format", ["table", "json", "tsv", "trec"])
def test_a_file_of_queries(run: Run, little: str, file: Path, format: str) -> None:
    done = run("query", str(file), *METHODS, "--name", little, "--format", format)
    assert done.returncode == 13
    lines = done.stderr.splitlines()
    for name in BAD:
        assert sum(line.startswith(f"query {name}: not answered: ") for line in lines) == 1
    last = f"{len(BAD)} of {2 * len(BAD) + 1} queries could not be answered and were left out: "
    assert lines[-1] == f"allusion-es: error: {last}{', '.join(BAD)}"
    assert "Traceback" not in done.stderr
    good = [f"good-{number}" for number in range(len(BAD) + 1)]
    if format == "json":
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(answers) == len(BAD) + len(good)
        failed = [a["query"]["query_id"] for a in answers if "error" in a]
        assert failed == BAD
        assert all(a["hits"] for a in answers if "error" not in a)
    elif format == "table":
        assert done.stdout.count("not answered: ") == len(BAD)
    else:
        rows = [line.split()[0] for line in done.stdout.splitlines()]
        assert list(dict.fromkeys(rows[format == "tsv" :])) == good


def test_one_query_is_one_line(run: Run, little: str) -> None:
    done = run("query", "dominus nan", *METHODS, "--name", little)
    assert (done.returncode, done.stdout) == (11, "")
    assert len(done.stderr.splitlines()) == 1
    assert "reranker 'faulty' gave no finite score for each of" in done.stderr


def test_a_report_says_which_are_missing(run: Run, little: str, file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("query", str(file), *METHODS, "--name", little, "--html", str(page))
    assert done.returncode == 13
    text = page.read_text()
    assert f"Queries that could not be answered: {', '.join(BAD)}." in text
    assert text.count("Not answered: ") == len(BAD)


def test_an_option_that_is_wrong_stops_all(run: Run, little: str) -> None:
    done = run("query", "-", *METHODS, "--name", little, stdin="dominus\ndominus option\ndeus")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "allusion-es: error: faulty: an option is wrong"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_evaluation_counts_them_as_not_found_and_says_so(
    run: Run, little: str, file: Path, tmp_path: Path, workers: str
) -> None:
    errors, saved = tmp_path / "errors.tsv", tmp_path / "run.trec"
    options = ("--first-stage", "faulty-stage", "--methods", "faulty", "--input", "lemma")
    common = ("evaluate", str(file), *options, "--name", little, "--workers", workers)
    more = ("--format", "json", "--errors", str(errors), "--save-run", str(saved))
    for _ in range(2):  # also where pieces of it are kept
        done = run(*common, *more)
        assert done.returncode == 13, done.stderr
        (row,) = json.loads(done.stdout)
        assert (row["queries"], row["unanswered"]) == (2 * len(BAD) + 1, len(BAD))
        assert 0 < row["candidate_recall"] < 100 * (len(BAD) + 1) / (2 * len(BAD) + 1) + 0.01
        for name in BAD:
            said = f"note: faulty lemma: query {name} could not be answered and counts as not"
            assert done.stderr.count(said) == 1
        assert done.stderr.splitlines()[-1].endswith(f"left out: {', '.join(BAD)}")
    losses = [line.split("\t") for line in errors.read_text().splitlines()]
    loss, names = losses[0].index("loss"), losses[0].index("query_id")
    assert [row[names] for row in losses[1:] if row[loss] == "unanswered"] == BAD
    assert not {line.split()[0] for line in saved.read_text().splitlines()} & set(BAD)
    table = run(*common).stdout
    assert "unanswered" in table


@pytest.mark.usefixtures("broken_words")
@pytest.mark.parametrize("target", ["table1", "fig2", "table2", "table4", "compare"])
def test_tables_leave_out_or_count_what_cannot_be_analysed(
    little: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    gold = tmp_path / "gold.jsonl"
    texts = ("dominus", "fractum", "in principio")
    rows = [
        {"query_id": f"q{n}", "text": text, "relevant": ["Ps.22.1"]} for n, text in enumerate(texts)
    ]
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    common = ["--name", little, "--format", "json", "--workers", "1", "--resamples", "9"]
    chosen = ["evaluate", target, "--gold", str(gold)]
    if target == "table2":  # its models need vectors, which this index has not
        chosen = ["evaluate", str(gold), "--methods", "bow,tfidf,jaccard"]
    if target == "table4":
        chosen += ["--methods", "bow", "--windows", "1,2"]
    if target == "compare":
        chosen = ["evaluate", str(gold), "--methods", "bow,tfidf", "--compare", "mrr"]
    assert main.run([*chosen, *common]) == 13
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert "lemmatiser 'simplemma' failed (LookupError: fractum" in err
    assert err.splitlines()[-1].endswith(
        "1 of 3 queries could not be answered and was left out: q1"
    )
    if target == "table1":
        assert found[0]["count"] == 2
    elif target == "fig2":
        assert sum(row["links"] for row in found if row["input"] == "lemma") == 2
    elif target != "compare":
        assert {(row["queries"], row["unanswered"]) for row in found} == {(3, 1)}


def test_a_column_is_there_only_where_it_says_something(
    run: Run, little: str, tmp_path: Path
) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"query_id": "a", "text": "dominus", "relevant": ["Ps.22.1"]}\n')
    done = run("evaluate", str(gold), "--methods", "bow", "--name", little, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert "unanswered" not in json.loads(done.stdout)[0]


def test_a_manifest_of_what_was_not_whole_says_so_again(
    run: Run, little: str, file: Path, tmp_path: Path
) -> None:
    manifest = str(tmp_path / "m.json")
    options = ("--first-stage", "faulty-stage", "--methods", "faulty", "--input", "lemma")
    common = ("evaluate", str(file), *options, "--name", little, "--workers", "1")
    assert run(*common, "--manifest", manifest).returncode == 13
    again = run("evaluate", "--manifest", manifest, "--workers", "1")
    assert again.returncode == 13, again.stderr
    assert "identical to the byte" in again.stderr


# The search page.


def test_the_page_names_them_and_shows_the_others(serving: Serving) -> None:
    asked = [{"text": query.text, "query_id": query.query_id} for query in queries(EVERY)]
    common = {"queries": asked, "rerank": "faulty", "first_stage": "faulty-stage"}
    reply = serving.post("api/query", common)
    assert reply.status == 200
    *lines, end = reply.lines
    assert (end["status"], end["found"]) == ("done", len(asked))
    assert [each["query_id"] for each in end["left_out"]] == [f"bad-{word}" for word in EVERY]
    assert len([note for note in end["notes"] if "was not answered: " in note]) == len(EVERY)
    for query, line in zip(asked, lines, strict=True):
        assert ("error" in line) == query["query_id"].startswith("bad-")
        assert line["query"]["query_id"] == query["query_id"]
        assert bool(line["hits"]) == ("error" not in line)
    report = serving.post("api/query", {**common, "view": "report"}).lines
    found = [each for line in report for each in line.get("findings", ())]
    assert [each["id"] for each in found] == [query["query_id"] for query in asked]


def test_the_page_refuses_one_query_in_one_line(serving: Serving) -> None:
    reply = serving.post("api/query", {"text": "dominus nan", "rerank": "faulty"})
    assert reply.status == 422
    assert "gave no finite score" in reply.json["error"]
    assert NAME


# A server.


@pytest.fixture(scope="module")
def on_server(
    elasticsearch_url_any: str, run: Run, tmp_path_factory: pytest.TempPathFactory
) -> str:
    path = tmp_path_factory.mktemp("es") / "verses.tsv"
    path.write_text("id\ttext\n" + "".join(f"{name}\t{text}\n" for name, text in VERSES.items()))
    done = run("index", str(path), "--name", "left-out", "--es", elasticsearch_url_any)
    assert done.returncode == 0, done.stderr
    return elasticsearch_url_any


def test_the_same_on_elasticsearch(run: Run, on_server: str, file: Path) -> None:
    there = ("--es", on_server, "--name", "left-out")
    done = run("query", str(file), *METHODS, *there, "--format", "json")
    assert done.returncode == 13, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [a["query"]["query_id"] for a in answers if "error" in a] == BAD
    assert all(a["hits"] for a in answers if "error" not in a)
    options = ("--first-stage", "faulty-stage", "--methods", "faulty", "--input", "lemma")
    done = run("evaluate", str(file), *options, *there, "--format", "json", "--workers", "2")
    assert done.returncode == 13, done.stderr
    assert json.loads(done.stdout)[0]["unanswered"] == len(BAD)


def test_odd_words_on_elasticsearch(run: Run, on_server: str) -> None:
    """Every first stage, also where nothing is left to search for."""
    stdin = "\n".join(["h", "h.", "hh h", "gustate et videte h quoniam", "β", "12", "†", "é", "ʰ"])
    for stage in ("fused", "bm25", "ngrams", "tfidf", "knn", "rrf", "citations", "expansion"):
        for rerank in ("learned", "none"):
            asked = ("query", "-", "--first-stage", stage, "--rerank", rerank, "--format", "json")
            done = run(*asked, "--es", on_server, "--name", "left-out", "--explain", stdin=stdin)
            assert done.returncode == 0, (stage, rerank, done.stderr)
            assert len(done.stdout.splitlines()) == 9


def test_candidates_of_all_others_are_pushed(run: Run, on_server: str, file: Path) -> None:
    there = ("--es", on_server, "--name", "left-out")
    done = run("candidates", "push", "--from-query", str(file), *METHODS, *there, "--run-id", "f")
    assert done.returncode == 13, done.stderr
    for name in BAD:
        assert done.stderr.count(f"query {name}: left out: ") == 1
    assert f"candidates of {len(BAD) + 1} queries" in done.stderr
    listed = json.loads(run("candidates", "list", "--es", on_server, "--format", "json").stdout)
    before = next(row for row in listed if row["run_id"] == "f")
    assert before["queries"] == len(BAD) + 1
    # Where nothing can be answered, the run of before stays.
    none = "\n".join("dominus nan" for _ in range(3))
    push = ("candidates", "push", "--from-query", "-", *METHODS, *there, "--run-id", "f")
    assert run(*push, stdin=none).returncode == 13
    assert run(*push, stdin="dominus nan").returncode == 11
    listed = json.loads(run("candidates", "list", "--es", on_server, "--format", "json").stdout)
    assert next(row for row in listed if row["run_id"] == "f") == before
