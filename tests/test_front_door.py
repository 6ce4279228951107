"""`import allusion_es`: what it gives, and that one question has one answer however it is asked."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import Run
from serve_fixtures import TOKEN, Serving

import allusion_es as ae
from allusion_es.cli.options import ServerOptions
from allusion_es.cli.serve import _IndexSource
from allusion_es.corpora.passage import Passage
from allusion_es.es.build import build_es_index
from allusion_es.es.connection import Server
from allusion_es.es.index import open_index as open_es_index
from allusion_es.evaluation.trec import read_run
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.analysed import analyse_passages
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.pipeline import Retriever
from allusion_es.serve.app import application

QUESTIONS = ["retia sua relinquentes secuti sunt piscatores", "lapidem quem reprobaverunt"]

Found = list[tuple[str, float]]


def same(found: Found, expected: Found) -> None:
    assert [one for one, _ in found] == [one for one, _ in expected]
    assert [score for _, score in found] == pytest.approx([s for _, s in expected], rel=1e-5)


@pytest.mark.parametrize("text", QUESTIONS)
def test_one_question_has_one_answer(
    text: str, run: Run, vulgate_index: LocalIndex, tmp_path: Path
) -> None:
    expected = [(hit.id, hit.score) for hit in Retriever(vulgate_index).answer(text).hits]
    assert len(expected) == 10
    printed = json.loads(run("query", text, "--format", "json").stdout)
    same([(hit["id"], hit["score"]) for hit in printed["hits"]], expected)
    same([(hit.id, hit.score) for hit in ae.find(text, index="vulgate")], expected)
    page = Serving(application(_IndexSource(ServerOptions(None)), "vulgate", tmp_path, TOKEN))
    page.start()
    try:
        answer, _ = page.post("api/query", {"text": text}).lines
        shown = page.post("api/query", {"text": text, "view": "report"}).lines
    finally:
        page.end()
    same([(hit["id"], hit["score"]) for hit in answer["hits"]], expected)
    (finding,) = (each for line in shown for each in line.get("findings", ()))
    scores = [match["score"] for match in finding["matches"]]
    assert scores == pytest.approx([score for _, score in expected], rel=1e-4)
    # An evaluation ranks every passage by itself, so groups are not joined in what it ranks.
    gold, saved = tmp_path / "gold.jsonl", tmp_path / "saved.run"
    gold.write_text(json.dumps({"query_id": "1", "text": text, "relevant": ["Matt.4.20"]}))
    done = run("evaluate", str(gold), "--save-run", str(saved), "--resamples", "0")
    assert done.returncode == 0, done.stderr
    alone = [(hit.id, hit.score) for hit in ae.find(text, group=False)]
    ranking = read_run(saved)["1"]
    same(list(zip(ranking.ids, ranking.scores.tolist(), strict=True))[:10], alone)
    measured = ae.evaluate(gold, resamples=0, cache=False)
    kept = measured.runs["learned lemma"]["1"].ranking
    same(list(zip(kept.ids, kept.scores.tolist(), strict=True))[:10], alone)


def test_answers_scans_and_indexes(vulgate_index: LocalIndex, tmp_path: Path) -> None:
    answers = ae.find(["Dominus regit me", "vinea mea electa"], top=2)
    assert [answer[0].id for answer in answers] == ["Ps.22.1", "Jer.2.21"]
    assert answers.to_pandas().shape == (4, 9)
    assert "Ps 22,1" in answers._repr_html_()
    assert repr(answers) == "<Answers to 2 queries>"
    assert json.loads(json.dumps(answers.to_dict()))[0]["hits"][0]["id"] == "Ps.22.1"
    answers.to_html(tmp_path / "report.html")
    assert "Dominus regit me" in (tmp_path / "report.html").read_text()
    found = ae.scan("Sed gustate, inquit, et videte quam suavis est Dominus.")
    assert [each.reference for each in found] == ["Ps 33,9"]
    assert list(found.to_pandas()["passages"]) == ["Ps.33.9"]
    assert "Ps 33,9" in found._repr_html_()
    index = ae.open_index("vulgate")
    assert repr(index) == "<Index 'vulgate': 35,809 passages, in this process>"
    assert index["Ps 22,1"] == index["Ps.22.1"]


@pytest.mark.parametrize(
    ("ask", "error", "says"),
    [
        (lambda: ae.find(""), ae.InputError, "the query is empty"),
        (lambda: ae.find("sermo.txt"), ae.InputError, "looks like a file"),
        (lambda: ae.find(Path("nix.txt")), ae.InputError, "nix.txt"),
        (lambda: ae.find([]), ae.InputError, "no query"),
        (lambda: ae.find(None), ae.UsageError, "not NoneType"),  # type: ignore[call-overload]
        (lambda: ae.find([1]), ae.UsageError, "not int"),  # type: ignore[list-item]
        (lambda: ae.find("vir " * 300_000), ae.InputError, "characters"),
        (lambda: ae.find("vir", field="x"), ae.UsageError, "there is no field 'x'"),
        (lambda: ae.find("vir", index="nix"), ae.IndexMissingError, "there are: "),
        (lambda: ae.find("vir", book="nix"), ae.VerseError, "nix"),
        (lambda: ae.open_index("http://127.0.0.1:9"), ae.ServerUnavailableError, "127.0.0.1:9"),
        (lambda: ae.scan("nix.xml"), ae.InputError, "nix.xml"),
        (lambda: ae.scan("  "), ae.InputError, "no text"),
        (lambda: ae.evaluate("nix.jsonl"), ae.InputError, "nix.jsonl"),
        (lambda: ae.build_index([("1", "")], "x"), ae.InputError, "no text"),
        (lambda: ae.parse_reference("Ps 22,1; Is 7,14"), ae.VerseError, "2 references"),
    ],
)
def test_bad_input_is_one_error(
    ask: Any,  # noqa: ANN401
    error: type[ae.AllusionError],
    says: str,
    vulgate_index: LocalIndex,
) -> None:
    with pytest.raises(error) as caught:
        ask()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.process
def test_a_passage_is_looked_up_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index on a server may have millions, and listing their ids would take minutes."""
    plain = index_texts({"Ps.22.1": "Dominus regit me", "sermo 1": "vinea mea"})
    index = ae.Index(plain)
    monkeypatch.setattr(plain, "ids", lambda *_: pytest.fail("all ids were asked for"))
    assert index["Ps.22.1"].text == "Dominus regit me"
    assert "sermo 1" in index
    monkeypatch.undo()
    assert index["Ps 22,1"].id == "Ps.22.1"
    for name in ("", "\ud800", "nemo", "Ps 22,9"):
        assert name not in index


def test_a_passage_of_a_server_is_looked_up_as_one_here(elasticsearch_url_any: str) -> None:
    texts = {"Ps.22.1": "Dominus regit me", "p/1 x": "vinea mea"}
    analyser = Analyser()
    with Server.connect(elasticsearch_url_any) as server:
        passages = [Passage(name, text, order=n) for n, (name, text) in enumerate(texts.items())]
        analysed = analyse_passages(passages, analyser)
        build_es_index(server, "looked-up", analysed, IndexSettings(analyser.settings))
        index = ae.Index(open_es_index(server, "looked-up"))
        assert [index[name].text for name in ("Ps.22.1", "p/1 x", "Ps 22, 1")] == [
            "Dominus regit me", "vinea mea", "Dominus regit me",
        ]  # fmt: skip
        for name in ("", "\ud800", "x\x00y", "../x", "nemo", "a" * 600):
            with pytest.raises(ae.VerseError, match=r"reference|no book"):
                index[name]


def test_too_many_candidates_are_refused_whichever_way_one_asks(
    run: Run, elasticsearch_url_any: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "few.tsv"
    table.write_text("id\ttext\nPs.22.1\tDominus regit me\nPs.22.2\tin loco pascuae\n")
    there = ("--es", elasticsearch_url_any, "--name", "few")
    assert run("index", str(table), *there, "--no-vectors", "--no-learned-links").returncode == 0
    with Server.connect(elasticsearch_url_any) as server:
        server.request("PUT", "/allusion-few/_settings", {"index.max_result_window": 100})
        index = open_es_index(server, "few")
        said = "101 candidates are more than the 100 that index 'few' returns in one search"
        choices = {"first_stage": "bm25", "candidates": 101}
        with pytest.raises(ae.UsageError, match=f"^candidates: {said}; ask for fewer$"):
            ae.find("dominus", index=ae.Index(index), first_stage="bm25", candidates=101)
        done = run("query", "dominus", "--first-stage", "bm25", "--candidates", "101", *there)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"error: --candidates: {said}" in done.stderr
        monkeypatch.setenv("ALLUSION_ES_URL", elasticsearch_url_any)
        source = _IndexSource(ServerOptions(elasticsearch_url_any))
        page = Serving(application(source, "few", tmp_path, TOKEN))
        page.start()
        try:
            refused = page.post("api/query", {"text": "dominus", **choices})
            allowed = page.post("api/query", {"text": "dominus", **choices, "candidates": 100})
        finally:
            page.end()
        assert f"candidates: {said}" in json.dumps(refused.lines)
        assert [hit["id"] for hit in allowed.lines[0]["hits"]] == ["Ps.22.1"]


def test_the_door_opens_at_once() -> None:
    code = "import sys, allusion_es; print(sorted({'numpy', 'msgspec', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert all(getattr(ae, name) is not None for name in ae.__all__)
