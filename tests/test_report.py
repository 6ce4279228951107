"""What a report holds, and how it is written."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from processes import Run

from allusion_es.core.errors import StorageError
from allusion_es.corpora.passage import Passage
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.reports.answers import PAIRS, findings_of
from allusion_es.reports.heat import Heat, HeatedWord
from allusion_es.reports.report import Match, ReportFinding, ReportMeta, report_data, write_report
from allusion_es.reports.surroundings import NEIGHBOURS
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import Query

PAPER = "sed dilectio illa supereminet omni scientiae"


def data_of(html: str) -> dict[str, Any]:
    """What a page holds."""
    found = re.search(
        r'<script type="application/json" id="data" data-id="(\w+)">(.*?)</script>', html, re.DOTALL
    )
    assert found
    data = {"id": found[1], **json.loads(found[2])}
    return data


def written(*findings: ReportFinding, meta: ReportMeta | None = None) -> str:
    stream = io.StringIO()
    write_report(stream, findings, meta)
    return stream.getvalue()


def test_passages_are_listed_once_and_books_stand_in_order() -> None:
    rev, gen = (Passage(f"{b}.1.1", "x", book=b, reference=b) for b in ("Rev", "Gen"))
    other = Passage("s1", "y", work="Sermo")
    match = Match(rev, 1, 0.5, 2, 3.0, before=(gen,), after=(other,))
    data = report_data(
        [ReportFinding("a", "q", (match,)), ReportFinding("b", "q", (match,))], ReportMeta()
    )
    assert [passage["id"] for passage in data["passages"]] == ["Rev.1.1", "Gen.1.1", "s1"]
    assert [book["label"] for book in data["books"]] == ["Gen", "Apc", "Sermo"]
    assert [f["matches"][0]["passage"] for f in data["findings"]] == [0, 0]
    assert data["findings"][0]["matches"][0]["before"] == [1]


def test_kind_and_probability_are_there_only_if_given() -> None:
    passage = Passage("Ps.1.1", "x", book="Ps")
    plain = Match(passage, 1, 0.5, 2, 3.0)
    known = Match(passage, 1, 0.5, 2, 3.0, kind="allusion", probability=0.25)
    one, other = report_data(
        [ReportFinding("a", "q", (plain,)), ReportFinding("b", "q", (known,))], ReportMeta()
    )["findings"]
    assert {"kind", "probability"} & set(one["matches"][0]) == set()
    assert other["matches"][0]["kind"] == "allusion"
    assert other["matches"][0]["probability"] == 0.25


def test_the_same_findings_give_the_same_page_and_others_another_id() -> None:
    finding = ReportFinding("a", "q")
    assert written(finding) == written(finding)
    ids = {data_of(written(ReportFinding("a", text)))["id"] for text in ("q", "r")}
    assert len(ids) == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_score_that_is_not_finite_is_refused(value: float) -> None:
    match = Match(Passage("p", "x"), 1, value, 1, 1.0)
    with pytest.raises(ValueError, match="JSON compliant"):
        written(ReportFinding("a", "q", (match,)))


def test_an_id_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="2 findings have the id 'a'"):
        written(ReportFinding("a", "q"), ReportFinding("a", "r"))


def test_text_cannot_leave_its_element() -> None:
    nasty = '</script><script>alert(1)</script><!-- {{style}} & "quotes" \u2028 \ud800'
    html = written(ReportFinding("a", nasty), meta=ReportMeta(title=nasty))
    assert html.count("<script") == 2
    assert html.count("</script>") == 2
    assert data_of(html)["findings"][0]["text"] == nasty


def test_nothing_is_left_of_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file" / "report.html"
    blocked.parent.write_text("")
    with pytest.raises(StorageError):
        write_report(blocked, [])
    whole = tmp_path / "report.html"
    whole.write_text("before")
    bad = ReportFinding("a", "q", (Match(Passage("p", "x"), 1, float("nan"), 1, 1.0),))
    with pytest.raises(ValueError, match="JSON compliant"):
        write_report(whole, [bad])
    assert whole.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "report.html"]


def test_findings_hold_what_the_answers_say(vulgate_index: LocalIndex) -> None:
    retriever = Retriever(vulgate_index, QueryOptions(explain=True, top=5))
    queries = [Query(PAPER, "p", before="ante", after="post"), Query("xyzzy", "none")]
    answers = list(retriever.answers(queries))
    found, nothing = findings_of(answers, vulgate_index, retriever.analyser, retriever.compared)
    assert (found.before, found.after, found.place) == ("ante", "post", 0)
    assert (nothing.matches, nothing.place, nothing.note) == (
        (),
        1,
        "Unknown words: xyzzy. Its one word does not occur in 'vulgate'; is it Latin?",
    )
    for hit, match in zip(answers[0].hits, found.matches, strict=True):
        assert (match.passage.id, match.score) == (hit.id, hit.score)
        assert (match.candidate_rank, match.rank) == (hit.candidate_rank, hit.rank)
        assert len(match.heat.pairs) == PAIRS
        told = sum(pair.contribution for pair in (*match.heat.pairs, *match.heat.apart))
        assert told + match.heat.others_sum == pytest.approx(hit.score, rel=1e-6)
        orders = [p.order for p in (*match.before, match.passage, *match.after)]
        assert orders == list(range(orders[0], orders[0] + len(orders)))
        assert {p.book for p in (*match.before, *match.after)} == {match.passage.book}
    assert [p.id for p in found.matches[0].before] == ["Eph.3.16", "Eph.3.17", "Eph.3.18"]
    assert [p.id for p in found.matches[0].after] == ["Eph.3.20", "Eph.3.21", "Eph.4.1"]


def test_passages_without_books_have_neighbours_too() -> None:
    texts = {f"s{number}": f"sermo {number} uerbum" for number in range(9)}
    index = index_texts({**texts, "s4": "Deus"})
    retriever = Retriever(index, QueryOptions(reranker=None, explain=True))
    (finding,) = findings_of(
        [retriever.answer("Deus")], index, retriever.analyser, retriever.compared
    )
    (match,) = finding.matches
    assert [passage.id for passage in match.before] == ["s1", "s2", "s3"]
    assert len(match.after) == NEIGHBOURS


def test_query_writes_a_report(run: Run, vulgate_index: LocalIndex, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    soft = ("--rerank", "soft-cosine")
    done = run("query", "-", *soft, "--html", str(target), stdin=f"{PAPER}\nDeus dixit\n")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.splitlines()[-1] == f"{target}: 2 queries, 20 passages"
    data = data_of(target.read_text())
    done = run("query", PAPER, *soft, "--format", "json", "--explain")
    answer = json.loads(done.stdout.splitlines()[0])
    matches = data["findings"][0]["matches"]
    assert len(matches) == len(answer["hits"])
    for match, hit in zip(matches, answer["hits"], strict=True):
        assert data["passages"][match["passage"]]["id"] == hit["id"]
        assert match["score"] == pytest.approx(hit["score"], rel=1e-5)
        assert match["candidateRank"] == hit["candidate_rank"]
        first = hit["contributions"][0]
        assert match["pairs"][0][:2] == [first["query_word"], first["passage_word"]]
        assert match["pairs"][0][2] == pytest.approx(first["contribution"], rel=1e-3)
    again = tmp_path / "again.html"
    run("query", "-", *soft, "--html", str(again), stdin=f"{PAPER}\nDeus dixit\n")
    assert again.read_bytes() == target.read_bytes()


def test_a_server_gives_the_same_report(
    run: Run, tmp_path: Path, elasticsearch_url_any: str
) -> None:
    table = tmp_path / "sermo.tsv"
    verses = ("Beatus vir", "sed in lege Domini", "et erit", "tamquam lignum", "Deus dixit")
    rows = [f"s{number}\t{text}" for number, text in enumerate(verses)]
    table.write_text("\n".join(["id\ttext", *rows]) + "\n")
    pages: list[dict[str, Any]] = []
    for place in ([], ["--es", elasticsearch_url_any]):
        done = run("index", str(table), *place)
        assert done.returncode == 0, done.stderr
        target = tmp_path / f"{len(pages)}.html"
        asked = ("query", "in lege dixit", "--first-stage", "bm25", "--name", "sermo")
        done = run(*asked, "--html", str(target), *place)
        assert done.returncode == 0, done.stderr
        pages.append(data_of(target.read_text()))
    assert len(pages[0]["findings"][0]["matches"]) == 2
    assert pages[0] == pages[1]


def test_a_report_that_cannot_be_written_is_said(
    run: Run, vulgate_index: LocalIndex, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    done = run("query", PAPER, "--html", str(tmp_path / "file" / "report.html"))
    assert done.returncode == 12
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("more", [("--format", "json"), ("--tag", "mine")])
def test_a_report_and_something_printed_are_not_asked_for_together(
    run: Run, tmp_path: Path, more: tuple[str, str]
) -> None:
    target = tmp_path / "report.html"
    done = run("query", PAPER, "--html", str(target), *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"instead of printing; leave out {more[0]}" in done.stderr
    assert not target.exists()


def test_works_come_with_the_queries(run: Run, vulgate_index: LocalIndex, tmp_path: Path) -> None:
    lines = [
        {"text": "Deus dixit", "query_id": "a", "title": "Sermo 1", "author": "Bernardus"},
        {"text": "Deus dixit", "query_id": "b", "work": "Sermo 2", "title": "not this"},
        {"text": "Deus dixit", "query_id": "c"},
    ]
    asked = tmp_path / "queries.jsonl"
    asked.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("query", str(asked), "--html", str(tmp_path / "report.html"), "--rerank", "none")
    assert done.returncode == 0, done.stderr
    found = data_of((tmp_path / "report.html").read_text())["findings"]
    assert [each.get("work", "") for each in found] == ["Bernardus, Sermo 1", "Sermo 2", ""]


def test_heat_is_rounded_but_not_lost() -> None:
    heat = Heat((HeatedWord(0, 1, 1 / 3e6, 1.0),), (HeatedWord(0, 1, -2 / 3, 0.0),))
    match = Match(Passage("p", "x"), 1, 2 / 3, 1, 12345.678, heat=heat)
    (finding,) = report_data([ReportFinding("a", "q", (match,))], ReportMeta())["findings"]
    (row,) = finding["matches"]
    assert row["query"] == [[0, 1, 3.333e-07, 1.0]]
    assert row["words"] == [[0, 1, -0.6667, 0.0]]
    assert (row["score"], row["candidateScore"]) == (0.666667, 12345.7)
