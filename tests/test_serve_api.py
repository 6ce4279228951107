"""The JSON API of the search page, spoken to as a program would, with good and bad intent."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from processes import Run, StartProcess, program
from serve_fixtures import BREAK, NAME, WAIT, Reply, Serving, stand_in
from tei_fixtures import without_prefixes

from allusion_es.cli.options import ServerOptions
from allusion_es.cli.serve import _IndexSource
from allusion_es.core.errors import InputError
from allusion_es.corpora.findings import json_line, text_key
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.source import read_source
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import BuildOptions, Library
from allusion_es.local.memory import index_texts
from allusion_es.reports.answers import answer_json
from allusion_es.reports.report import ReportFinding
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.serve import jobs
from allusion_es.serve.index_pool import IndexPool, IndexRow
from allusion_es.serve.jobs import JobItem, Jobs, SearchJob
from allusion_es.serve.judgements import Judgement, JudgementStore
from allusion_es.serve.requests import read_scan_request
from allusion_es.serve.work import use_once
from allusion_es.web.guard import RefusedError

SERMON = "Audite: gustate et videte. Scriptum est: In principio. Timete Dominum. Divites."
TEI = (
    "<TEI xmlns='http://www.tei-c.org/ns/1.0'><teiHeader><fileDesc><titleStmt><title>Sermo</title>"
    "</titleStmt></fileDesc></teiHeader><text><body><p>Dixit:\n<hi>gustate</hi> et videte "
    "<ref cRef='Ps 33,9'/>.</p></body></text></TEI>"
)


def told(reply: Reply, status: int) -> str:
    """The one line that a refusal says."""
    assert reply.status == status, reply.data
    assert set(reply.json) == {"error"}
    error = reply.json["error"]
    assert isinstance(error, str)
    assert "\n" not in error
    assert "Traceback" not in error
    return error


def scan(serving: Serving, text: str = SERMON, **more: object) -> list[object]:
    reply = serving.post("api/scan", {"text": text, **more})
    assert reply.status == 200, reply.data
    return reply.lines


def opened(serving: Serving, name: str, data: str | bytes) -> Reply:
    body = data.encode() if isinstance(data, str) else data
    return serving.ask("POST", f"api/texts?name={name}", body)


def test_what_there_is(serving: Serving) -> None:
    reply = serving.ask("GET", "api/indexes")
    assert reply.json["default"] == NAME
    assert [row["name"] for row in reply.json["indexes"]] == [NAME, "odd"]
    assert not [name for name in reply.headers if name.lower().startswith("access-control")]
    details = serving.ask("GET", f"api/indexes/{NAME}").json
    assert [book["id"] for book in details["books"]] == ["Gen", "Ps", "John"]
    assert (details["testaments"], details["passages"]) == (["ot", "nt"], 5)
    assert (details["works"], details["authors"]) == ([{"title": "Vulgata", "author": ""}], [])
    methods = serving.ask("GET", "api/methods").json
    assert {"bm25", "rrf"} <= {row["name"] for row in methods["first_stages"]}
    rows = {row["name"]: row for row in methods["rerankers"]}
    assert rows["none"]["description"]
    assert rows["soft-cosine"]["parameters"]["power"] == 5
    for row in methods["scans"]:
        assert row["threshold"] in {point["threshold"] for point in row["measured"]}
    assert told(serving.ask("GET", "api/indexes/nix"), 404).startswith("there is no index 'nix'")


def test_a_query_gives_the_objects_of_the_command_line(serving: Serving, library: Library) -> None:
    index = library.open(NAME)
    for explain in (False, True):
        asked = {"text": "gustate videte", "rerank": "tfidf", "top": 2, "explain": explain}
        reply = serving.post("api/query", asked)
        retriever = Retriever(
            index, QueryOptions(generators=("fused",), reranker="tfidf", top=2, explain=explain)
        )
        line, end = reply.data.decode().splitlines()
        assert line == answer_json(retriever.answer("gustate videte"))
        assert json.loads(end)["status"] == "done"
        assert reply.headers["Content-Type"] == "application/x-ndjson"
        assert json.loads(end)["job"] == reply.headers["Allusion-Job"]


def test_several_queries_and_filters(serving: Serving) -> None:
    queries = [{"text": "in principio", "query_id": "a", "work": "Sermo"}, {"text": "dominus"}]
    asked = {"queries": queries, "rerank": "none", "testaments": ["nt"], "view": "report"}
    lines = serving.post("api/query", asked).lines
    assert lines[0]["report"]["title"] == "Allusions of 2 phrases"
    found = [each for line in lines for each in line.get("findings", ())]
    assert [(each["id"], each.get("work", "")) for each in found] == [("a", "Sermo"), ("2", "")]
    assert lines[-1]["found"] == 2
    passages = [each["id"] for line in lines for each in line.get("passages", ())]
    assert passages == ["John.1.1"]
    asked = {"text": "in principio", "rerank": "none", "books": ["Genesis"]}
    (line, _) = serving.post("api/query", asked).lines
    assert [hit["id"] for hit in line["hits"]] == ["Gen.1.1"]


def test_a_scan_gives_the_objects_of_the_command_line(
    serving: Serving, library: Library, tmp_path: Path
) -> None:
    reply = serving.post("api/scan", {"text": SERMON})
    *lines, last = reply.data.decode().splitlines()
    end = json.loads(last)
    assert (end["status"], end["found"], end["progress"]) == ("done", 3, 1.0)
    path = tmp_path / "pasted-text.txt"
    path.write_text(SERMON)
    source, asked = read_source(path), read_scan_request({"text": SERMON}, NAME)
    found = stand_in(source, library.open(NAME), asked, lambda: False, lambda share: None)
    assert lines == [json_line(source, each) for each in found]
    *few, _ = scan(serving, threshold=0.9)
    assert len(few) == 1


def test_what_was_found_can_be_saved(serving: Serving) -> None:
    text = opened(serving, "Sermo%20I.xml", TEI).json
    assert (text["name"], text["kind"], text["title"]) == ("Sermo I.xml", "tei", "Sermo")
    reply = serving.post("api/scan", {"text_id": text["text_id"]})
    job = reply.headers["Allusion-Job"]
    saved = {
        name: serving.ask("GET", f"api/jobs/{job}/report?format={name}")
        for name in ("html", "tsv", "json", "tei", "annotations")
    }
    names = [each.headers["Content-Disposition"] for each in saved.values()]
    assert names[0] == "attachment; filename*=UTF-8''Sermo%20I.html"
    assert names[3] == "attachment; filename*=UTF-8''Sermo%20I.allusions.xml"
    assert saved["json"].data.splitlines() == reply.data.splitlines()[:-1]
    assert saved["tsv"].data.startswith("\ufeffstart\tend\t".encode())
    assert len(saved["tsv"].data.splitlines()) == 2
    marked = saved["tei"].data.decode()
    assert re.sub("</?(quote|seg)[^>]*>", "", without_prefixes(marked)) == TEI
    assert 'source="bible:Ps.33.9"' in marked
    assert saved["annotations"].json["items"][0]["type"] == "Annotation"
    html = saved["html"].data.decode()
    assert html.startswith("<!doctype html>")
    assert "Allusions in Sermo" in html
    assert "The edition has here: Ps 33,9" in html
    assert "This is not all" not in html
    error = told(serving.ask("GET", f"api/jobs/{job}/report?format=docx"), 404)
    assert error.endswith("use one of html, tsv, json, csv, annotations, tei")
    assert "no such search" in told(serving.ask("GET", "api/jobs/nix/report"), 404)


def test_a_query_can_be_saved_too(serving: Serving) -> None:
    reply = serving.post("api/query", {"text": "gustate", "rerank": "none"})
    job = reply.headers["Allusion-Job"]
    table = serving.ask("GET", f"api/jobs/{job}/report?format=tsv").data.decode()
    assert table.splitlines()[1].split("\t")[:4] == ["1", "1", "Ps.33.9", "Ps 33,9"]
    told(serving.ask("GET", f"api/jobs/{job}/report?format=tei"), 404)


def test_an_opened_text_as_a_query(serving: Serving) -> None:
    text = opened(serving, "a.txt", "gustate et videte").json
    (line, _) = serving.post("api/query", {"text_id": text["text_id"], "rerank": "none"}).lines
    assert line["query"]["text"] == "gustate et videte"
    error = told(serving.post("api/query", {"text_id": "nix"}), 404)
    assert error == "this text is not kept any more; open it again"


def test_an_opened_page_is_read(serving: Serving) -> None:
    row = opened(serving, "a.html", f"<title>T</title><nav>x</nav><p>{SERMON}<p>c&aelig;li").json
    assert (row["kind"], row["title"], row["characters"]) == ("html", "T", len(SERMON) + 5)
    reply = serving.post("api/scan", {"text_id": row["text_id"]})
    assert reply.lines[-1]["status"] == "done"


def test_other_languages_are_told(serving: Serving) -> None:
    text = "the Lord is my shepherd"
    *lines, end = serving.post("api/query", {"text": text, "rerank": "none"}).lines
    (note,) = lines[0]["notes"]
    assert note.endswith(f"in '{NAME}'; is it Latin?")
    assert end["notes"] == [f"Query 1: {note}"]
    end = scan(serving, text)[-1]
    assert isinstance(end, dict)
    assert f"The text: {note}".replace("its 5", "its first 5") in end["notes"]
    *lines, end = serving.post("api/query", {"text": "gustate", "rerank": "none"}).lines
    assert ("notes" in lines[0], end["notes"]) == (False, [])


def test_stopping_keeps_what_was_found(serving: Serving) -> None:
    connection, job = serving.begin("api/scan", {"text": f"{SERMON} {WAIT}"}, "stop")
    row = serving.wait_status(job, "running")
    assert serving.post(f"api/jobs/{job}/stop", {}).json["job"] == job
    row = serving.wait_status(job, "stopped")
    assert 0 < row["progress"] < 1
    assert row["found"] == 3
    data = b""
    while part := connection.recv(65536):
        data += part
        if b'"status"' in data:
            break
    connection.close()
    assert b'"status":"stopped"' in data
    html = serving.ask("GET", f"api/jobs/{job}/report?format=html").data.decode()
    assert "This is not all: the search had gone through" in html


def test_whoever_breaks_off_stops_the_search(serving: Serving) -> None:
    connection, job = serving.begin("api/scan", {"text": f"{SERMON} {WAIT}"}, "broken")
    while serving.wait_status(job, "running")["found"] < 3:
        time.sleep(0.01)
    connection.close()
    assert serving.wait_status(job, "stopped")["found"] == 3


def test_one_search_at_a_time_for_each_and_two_for_all(serving: Serving) -> None:
    waiting = {"text": f"verbum {WAIT}"}
    begun = [serving.begin("api/scan", waiting, client) for client in ("anna", "berta")]
    error = told(serving.post("api/scan", waiting, Allusion_Client="anna"), 409)
    assert error.startswith("a search of yours still goes on")
    error = told(serving.post("api/query", {"text": "deus"}, Allusion_Client="carla"), 429)
    assert error.startswith("2 searches go on already")
    for connection, job in begun:
        serving.post(f"api/jobs/{job}/stop", {})
        serving.wait_status(job, "stopped")
        connection.close()
    assert serving.post("api/query", {"text": "deus"}, Allusion_Client="carla").status == 200


@pytest.mark.parametrize(
    ("path", "record", "message"),
    [
        ("query", {}, "give either field 'text' or field 'queries'"),
        ("query", {"text": "a", "queries": []}, "give either"),
        ("query", {"text": "  "}, "query 1 is empty"),
        ("query", {"text": 7}, "query 1: field 'text' must be a string"),
        ("query", {"text": "a" * 100_001}, "scan longer texts"),
        ("query", {"queries": []}, "a list of 1 to 1000"),
        ("query", {"queries": [{"text": "a"}] * 1001}, "a list of 1 to 1000"),
        ("query", {"queries": ["a"]}, "query 1: it must be an object, not 'a'"),
        ("query", {"queries": [{"text": "a", "query_id": "x"}] * 2}, "give each query another"),
        ("query", {"queries": [{"text": "a"}] * 501}, "501 queries with 10 passages each"),
        ("query", {"text": "a", "colour": 1}, "there is no field 'colour'"),
        ("query", {"text": "a", "top": 0}, "field 'top' must be a whole number from 1 to 100"),
        ("query", {"text": "a", "top": True}, "field 'top'"),
        ("query", {"text": "a", "candidates": 1e3}, "field 'candidates'"),
        ("query", {"text": "a", "field": "stem"}, "one of both, lemma, token, not 'stem'"),
        ("query", {"text": "a", "first_stage": "nix"}, "no generators plug-in 'nix'"),
        ("query", {"text": "a", "first_stage": "knn"}, "has no word vectors"),
        ("query", {"text": "a", "rerank": "nix"}, "no rerankers plug-in 'nix'"),
        ("query", {"text": "a", "view": "x"}, "field 'view'"),
        ("query", {"text": "a", "explain": 1}, "field 'explain' must be true or false"),
        (
            "query",
            {"text": "a", "books": "Ps"},
            "field 'books' must be a list of at most 200 names",
        ),
        ("query", {"text": "a", "books": ["Harry Potter"]}, "is not a book of the Bible"),
        ("query", {"text": "a", "testaments": ["old"]}, "no testament 'old'; use ot or nt"),
        ("query", {"text": "a", "set": {"soft-cosine": 3}}, "field 'set' must be an object"),
        (
            "query",
            {"text": "a", "rerank": "soft-cosine", "set": {"soft-cosine": {"power": "x"}}},
            "must be a whole number",
        ),
        ("query", {"text": "a", "set": {"learned": {"model": "/etc/passwd"}}}, "command line"),
        ("scan", {}, "give either field 'text' or field 'text_id'"),
        ("scan", {"text": ""}, "text.txt: there is no text in it"),
        ("scan", {"text": "λόγος"}, "no Latin letter"),
        ("scan", {"text": "a\0b"}, "NUL byte"),
        ("scan", {"text": "a", "threshold": 0}, "field 'threshold'"),
        ("scan", {"text": "a", "threshold": "0.5"}, "field 'threshold'"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(
    serving: Serving, path: str, record: object, message: str
) -> None:
    assert message in told(serving.post(f"api/{path}", record), 422)


def test_what_is_no_request(serving: Serving) -> None:
    assert told(serving.ask("POST", "api/query", b"{}"), 415).startswith("send JSON")
    json_type = {"Content_Type": "application/json"}
    assert "no JSON" in told(serving.ask("POST", "api/query", b"{", **json_type), 400)
    assert "object" in told(serving.ask("POST", "api/query", b"[]", **json_type), 400)
    nan = b'{"text": "a", "threshold": NaN}'
    told(serving.ask("POST", "api/scan", nan, **json_type), 422)
    assert "not kept" in told(serving.post("api/scan", {"text_id": "nix"}), 404)
    assert told(serving.post("api/scan", {"text": "a", "index": "nix"}), 404)
    told(serving.post("api/query", {"text": "a"}, Allusion_Client="x" * 65), 400)
    told(serving.ask("GET", "api/query"), 405)
    for name in ("nothing", "search.html", "app.py", "..%2fapp.py", "api"):
        told(serving.ask("GET", name), 404)


@pytest.mark.parametrize("path", ["", "api/indexes", "report.js"])
def test_strangers_are_told_nothing(serving: Serving, path: str) -> None:
    assert "token is missing or wrong" in told(serving.ask("GET", path, token="0" * 32), 403)
    assert "by that name" in told(serving.ask("GET", path, Host="evil.example"), 421)
    told(serving.ask("GET", path, Origin="http://evil.example"), 403)
    told(serving.ask("GET", path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors"), 403)


def test_a_page_from_elsewhere_cannot_ask(serving: Serving) -> None:
    for name, value in (("Origin", "null"), ("Sec_Fetch_Site", "cross-site")):
        told(serving.post("api/query", {"text": "deus"}, **{name: value}), 403)
    reply = serving.ask("OPTIONS", "api/query", Access_Control_Request_Method="POST")
    told(reply, 405)
    assert not [name for name in reply.headers if name.lower().startswith("access-control")]


def test_the_page_forbids_what_it_does_not_need(serving: Serving) -> None:
    reply = serving.ask("GET", "")
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    # The only inline script is data.
    assert re.findall(r"<script(?![^>]*src=)[^>]*>", reply.data.decode()) == [
        '<script type="application/json" id="data" data-id="">'
    ]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.xml", b"<TEI><text><body><p>a</body></text></TEI>", "a.xml:1: column 24: not well"),
        ("a.xml", b'<!DOCTYPE TEI [<!ENTITY x SYSTEM "file:///etc/passwd">]><TEI>&x;</TEI>',
         "declares the entity 'x'"),
        ("a.txt", b"", "a.txt: there is no text in it"),
        ("a.txt", b"PK\x03\x04\0\0", "a.txt: a damaged ZIP or DOCX file"),
        ("a.txt", b"%PDF-1.5", "a.txt: the file is a PDF, which is not read; save it as"),
        ("a.txt", b"gustate <p>et</p>", "a.txt:1: '</p>' is markup"),
        ("a.csv", b"id,text", "a.csv: the table has a header but no rows"),
        ("a.txt", b"caf\xe9", "is not UTF-8"),
        ("..%2F..%2Fa.txt", b"", "a.txt: there"),
    ],
)  # fmt: skip
def test_texts_that_cannot_be_read(serving: Serving, name: str, data: bytes, message: str) -> None:
    error = told(opened(serving, name, data), 422)
    assert message in error
    assert str(serving.folder) not in error


def test_what_is_too_large_is_refused(serving: Serving) -> None:
    large = b"a" * (16 * 2**20 + 1)
    assert "more than 16777216 bytes" in told(opened(serving, "a.txt", large), 413)
    body = json.dumps({"text": "a" * (4 * 2**20)}).encode()
    reply = serving.ask("POST", "api/scan", body, Content_Type="application/json")
    assert "more than 4194304 bytes" in told(reply, 413)


def test_few_texts_are_kept(serving: Serving) -> None:
    ids = [opened(serving, "a.txt", f"verbum {n}").json["text_id"] for n in range(8)]
    there = {path.name for path in serving.folder.iterdir()}
    assert there.isdisjoint(ids[:2])
    assert set(ids[2:]) <= there
    assert "not kept any more" in told(serving.post("api/scan", {"text_id": ids[0]}), 404)


def test_a_fault_of_the_program_is_one_line(serving: Serving) -> None:
    error = told(serving.post("api/scan", {"text": f"verbum {BREAK}"}), 500)
    assert error == "a fault of the program; the terminal says more"
    *found, end = scan(serving, f"{SERMON} {BREAK}")
    assert isinstance(end, dict)
    assert (len(found), end["status"], end["error"]) == (3, "failed", error)
    assert scan(serving)


def finished(all_jobs: Jobs, client: str, number: int) -> SearchJob:
    """A job that has found some things."""

    def work(job: SearchJob, index: object) -> "list[JobItem]":
        return [JobItem("{}", ReportFinding(str(n), "x")) for n in range(number)]

    class Lent:
        def __enter__(self) -> object:
            return None

        def __exit__(self, *_: object) -> None:
            return None

    job = all_jobs.start(client, "query", lambda j, i: iter(work(j, i)), Lent)  # type: ignore[arg-type]
    while job.is_running:
        threading.Event().wait(0.001)
    return job


def test_jobs_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    all_jobs = Jobs()
    many = [finished(all_jobs, str(n), 1) for n in range(14)]
    with pytest.raises(RefusedError):
        all_jobs.get(many[0].id)
    assert all_jobs.get(many[-1].id) is many[-1]
    monkeypatch.setattr(jobs, "KEPT_SECONDS", -1.0)
    with pytest.raises(RefusedError, match="no such search any more"):
        all_jobs.get(many[-1].id)


def test_no_job_grows_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_FOUND", 5)
    job = finished(Jobs(), "a", 9)
    assert (job.status, len(job.found)) == ("failed", 5)
    assert "raise the threshold" in str(job.failure)
    monkeypatch.setattr(jobs, "LARGEST_JOB", 3)
    assert len(finished(Jobs(), "a", 5).found) == 1


def test_an_index_that_is_built_again_is_opened_again(library: Library) -> None:
    pool = IndexPool(_IndexSource(ServerOptions(None)))

    def build(text: str) -> None:
        passages = [Passage("a", text), Passage("b", "verbum")]
        library.build("again", passages, BuildOptions(vectors=False, learned_links=False))

    build("Pater noster")
    with pool.acquire("again") as first, pool.acquire("again") as other:
        assert first is not other
    with pool.acquire("again") as same:
        assert same is first or same is other
        assert same.passages(["a"])[0].text == "Pater noster"
    build("panem nostrum")
    with pool.acquire("again") as new:
        assert new.passages(["a"])[0].text == "panem nostrum"
    # What failed is not lent again.
    with pytest.raises(InputError), pool.acquire("again") as failed:
        raise InputError("as the test asked for")
    with pool.acquire("again") as fresh:
        assert fresh is not failed
    assert [row.name for row in pool.source.rows() if row.name == "again"] == ["again"]
    (library.folder / "indexes" / "broken.idx").write_bytes(b"x")
    (row,) = (row for row in pool.source.rows() if row.name == "broken")
    (library.folder / "indexes" / "broken.idx").unlink()
    assert "broken" in row.problem


class OneIndex:
    """A source of one small index, which counts how often it is opened."""

    def __init__(self) -> None:
        self.opened = 0
        self.built = 0

    def rows(self) -> list[IndexRow]:
        return [IndexRow("texts", "in process", 1)]

    def open(self, name: str) -> LocalIndex:
        self.opened += 1
        return index_texts({"Ps.1.1": "Beatus vir", "Ps.1.2": "in lege Domini"})

    def stamp(self, name: str) -> object:
        return self.built


def test_an_index_is_warmed_once_and_others_wait_for_it() -> None:
    source = OneIndex()
    pool = IndexPool(source)
    used: list[object] = []
    begun, go_on = threading.Event(), threading.Event()

    def use(index: object) -> None:
        used.append(index)
        begun.set()
        assert go_on.wait(20)

    warming = threading.Thread(target=pool.warm, args=("texts", use))
    warming.start()
    assert begun.wait(20)
    lent: list[object] = []

    def search() -> None:
        with pool.acquire("texts") as index:
            lent.append(index)

    searching = threading.Thread(target=search)
    searching.start()
    assert lent == []
    go_on.set()
    searching.join(20)
    warming.join(20)
    assert lent == used
    assert source.opened == 1
    pool.warm("texts", use)
    assert len(used) == 1
    source.built = 1
    pool.warm("texts", use)
    assert (len(used), source.opened) == (2, 2)


def test_what_fails_while_warming_is_left_to_the_search() -> None:
    pool = IndexPool(OneIndex())

    def fail(index: object) -> None:
        raise ZeroDivisionError

    pool.warm("texts", fail)
    with pool.acquire("texts") as index:
        use_once(index)
        assert len(index) == 2


class Served:
    """One process of `allusion-es serve`."""

    def __init__(self, start: StartProcess, *more: str) -> None:
        arguments = [program(), "serve", "--port", "0", "--no-browser", *more]
        self.process = start(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def stop(self) -> str:
        """End it as Ctrl+C does; what it said on stderr."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=20)
        assert self.process.returncode == 0, said
        return said


def test_the_command_answers_as_the_other_commands(
    run: Run, start_process: StartProcess, vulgate_index: LocalIndex
) -> None:
    served = Served(start_process)
    match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", served.url)
    assert match, served.url
    serving = Serving(None, int(match[1]))  # type: ignore[arg-type]

    def post(path: str, record: object) -> Reply:
        sent = {"token": match[2], "Content_Type": "application/json"}
        return serving.ask("POST", path, json.dumps(record).encode(), **sent)

    paper = "sed dilectio illa supereminet omni scientiae"
    answer = post("api/query", {"text": paper, "top": 3}).data.splitlines()[0].decode()
    assert f"{answer}\n" == run("query", paper, "--top", "3", "--format", "json").stdout
    text = "Audite quid dicat: gustate et videte quoniam suavis est Dominus."
    found = post("api/scan", {"text": text}).lines
    assert found[0]["passages"] == ["Ps.33.9"]
    assert found[-1]["status"] == "done"
    # A search that goes on does not hold up the end.
    connection, _ = serving.begin("api/scan", {"text": f"{text} " * 20_000}, "long", match[2])
    said = served.stop()
    connection.close()
    assert said.splitlines()[-1] == "stopped"
    assert match[2] not in said
    assert "Traceback" not in said


def test_the_indexes_of_a_server(
    run: Run, start_process: StartProcess, tmp_path: Path, elasticsearch_url_any: str
) -> None:
    table = tmp_path / "oratio.tsv"
    table.write_text("id\ttext\na\tPater noster\nb\tpanem nostrum da nobis\nc\tfiat voluntas\n")
    place = ("--es", elasticsearch_url_any)
    done = run("index", str(table), "--no-vectors", "--no-learned-links", *place)
    assert done.returncode == 0, done.stderr
    served = Served(start_process, "--name", "oratio", *place)
    _, _, host, token, _ = served.url.split("/")
    serving = Serving(None, int(host.rpartition(":")[2]))  # type: ignore[arg-type]
    rows = serving.ask("GET", "api/indexes", token=token).json["indexes"]
    assert ("oratio", 3) in {(row["name"], row["passages"]) for row in rows}
    assert {row["where"] for row in rows} == {elasticsearch_url_any}
    details = serving.ask("GET", "api/indexes/oratio", token=token).json
    assert (details["books"], details["testaments"]) == ([], [])
    asked = json.dumps({"text": "da panem", "rerank": "tfidf"}).encode()
    sent = {"token": token, "Content_Type": "application/json"}
    answer = serving.ask("POST", "api/query", asked, **sent).data.decode().splitlines()[0]
    asked_there = ("--name", "oratio", "--rerank", "tfidf", "--format", "json", *place)
    assert f"{answer}\n" == run("query", "da panem", *asked_there).stdout
    served.stop()


def test_the_url_stays_the_same(start_process: StartProcess, psalm_index: str) -> None:
    urls = []
    for _ in range(2):
        served = Served(start_process, "--name", NAME)
        served.stop()
        urls.append(served.url.split("/")[3])
    assert len(set(urls)) == 1


def test_what_the_command_refuses(
    run: Run, run_process: Run, psalm_index: str, tmp_path: Path
) -> None:
    done = run("serve", "--name", "nix", "--no-browser")
    assert (done.returncode, done.stdout) == (7, "")
    assert len(done.stderr.splitlines()) == 1
    (tmp_path / "uvicorn.py").write_text('raise ModuleNotFoundError("no", name="uvicorn")\n')
    done = run_process("serve", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "install it with: pip install 'allusion-es[serve]'" in done.stderr


@pytest.mark.process
def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from allusion_es.cli.main import run; run(['serve', '--help'])\n"
        "print(sorted({'numpy', 'starlette', 'uvicorn'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "[]\n")


def judge(serving: Serving, key: str, *judgements: object) -> Reply:
    return serving.post(f"api/judgements/{key}", {"judgements": list(judgements)})


def test_judgements_belong_to_the_text_and_are_saved(serving: Serving) -> None:
    key = text_key(SERMON)
    start = SERMON.index("gustate")
    first = {"start": start, "end": start + 17, "passage": "Ps.33.9", "decision": "accept"}
    assert judge(serving, key, {**first, "decision": "reject"}, first).status == 200
    start = SERMON.index("In princ")
    other = {"start": start, "end": start + 12, "passage": "Gen.1.1", "decision": "reject",
             "comment": "-<b>"}  # fmt: skip
    found = judge(serving, key, other).json["judgements"]
    assert [(each["passage"], each["decision"]) for each in found] == [
        ("Ps.33.9", "accept"), ("Gen.1.1", "reject"),
    ]  # fmt: skip
    assert serving.ask("GET", f"api/judgements/{key}").json["judgements"] == found
    # Whatever the choices, the page is told of them.
    for threshold in (0.1, 0.9):
        asked = {"text": SERMON, "threshold": threshold, "view": "report"}
        reply = serving.post("api/scan", asked)
        assert reply.lines[0]["report"]["judgements"] == found

    def saved(format: str, what: str) -> str:
        job = reply.headers["Allusion-Job"]
        path = f"api/jobs/{job}/report?format={format}&what={what}"
        return serving.ask("GET", path).data.decode()

    reply = serving.post("api/scan", {"text": SERMON})
    (line,) = map(json.loads, saved("json", "accepted").splitlines())
    assert (line["passages"], line["judgement"]) == (["Ps.33.9"], "accepted")
    both = [json.loads(line) for line in saved("json", "all").splitlines()]
    assert [each.get("judgement") for each in both] == ["accepted", "rejected", None]
    assert both[1]["comment"] == "-<b>"
    table = saved("csv", "all").splitlines()
    assert table[0].startswith("\ufeffstart,end,")
    assert table[0].endswith("judgement,comment")
    assert saved("tei", "accepted").count("source=") == 1
    assert 'subtype="rejected"' in saved("tei", "all")
    assert "accept" in saved("html", "all")
    job = reply.headers["Allusion-Job"]
    for wrong in ("what=some", "least=1e9", "least=nan"):
        told(serving.ask("GET", f"api/jobs/{job}/report?{wrong}"), 422)
    # No decision and no comment: as if nothing had been said.
    again = judge(serving, key, {**first, "decision": ""}, {**other, "decision": "", "comment": ""})
    assert again.json["judgements"] == []


@pytest.mark.parametrize(
    "judgement",
    [
        {"start": -1, "end": 2, "passage": "a"},
        {"start": 0, "end": 2, "passage": ""},
        {"start": 0, "end": 2, "passage": "a", "decision": "perhaps"},
        {"start": 0, "end": 2, "passage": "a", "comment": "x" * 2001},
        {"start": 0, "end": 2, "passage": "a", "who": "x"},
        {"start": True, "end": 2, "passage": "a"},
    ],
)
def test_what_is_no_judgement_is_refused(serving: Serving, judgement: object) -> None:
    told(judge(serving, "0" * 32, judgement), 422)
    assert serving.ask("GET", f"api/judgements/{'0' * 32}").json == {"judgements": []}


def test_a_key_is_no_path(serving: Serving) -> None:
    for key in ("..%2f..%2fsecret", "a", "g" * 32, "0" * 65):
        told(serving.ask("GET", f"api/judgements/{key}"), 404)
        told(serving.ask("GET", f"api/history/{key}"), 404)
        told(serving.ask("DELETE", f"api/history/{key}"), 404)


def test_the_history_gives_what_was_found_without_searching(serving: Serving) -> None:
    serving.ask("DELETE", "api/history")
    first = serving.post("api/scan", {"text": SERMON, "view": "report"}).lines
    query = {"text": "principio", "first_stage": "bm25", "rerank": "none", "view": "report"}
    second = serving.post("api/query", query).lines
    # A program's search is not kept.
    serving.post("api/query", {"text": "gustate"})
    rows = serving.ask("GET", "api/history").json["entries"]
    assert sorted((row["kind"], row["found"], row["status"]) for row in rows) == [
        ("query", 2, "done"), ("scan", 3, "done"),
    ]  # fmt: skip
    # The same again has no second entry.
    serving.post("api/scan", {"text": SERMON, "view": "report"})
    assert len(serving.ask("GET", "api/history").json["entries"]) == 2

    def findings(lines: list[Any]) -> list[Any]:
        return [each for line in lines for each in line.get("findings", ())]

    for lines, kind in ((first, "scan"), (second, "query")):
        (row,) = (row for row in rows if row["kind"] == kind)
        again = serving.ask("GET", f"api/history/{row['id']}").lines
        assert findings(again) == findings(lines)
        assert again[-1]["status"] == "done"
    (row,) = (row for row in rows if row["kind"] == "scan")
    judge(serving, text_key(SERMON), {"start": 8, "end": 25, "passage": "Ps.33.9",
                                      "decision": "accept"})  # fmt: skip
    left = serving.ask("DELETE", f"api/history/{row['id']}").json["entries"]
    assert [each["kind"] for each in left] == ["query"]
    told(serving.ask("GET", f"api/history/{row['id']}"), 404)
    # What was said of the text goes with it.
    assert serving.ask("GET", f"api/judgements/{text_key(SERMON)}").json == {"judgements": []}
    assert not list((serving.folder / "kept" / "history").glob(f"{row['id']}*"))
    assert serving.ask("DELETE", "api/history").json == {"entries": []}


def test_a_text_is_checked_before_it_is_searched(serving: Serving) -> None:
    english = "the Lord is my shepherd and I shall not want"
    told_of = serving.post("api/check", {"text": english}).json
    assert told_of["words"] == 10
    assert told_of["doubt"]
    told_of = serving.post("api/check", {"text": "in principio erat Verbum apud Deum"}).json
    assert told_of == {"words": 6, "doubt": ""}


def test_judgements_of_two_writers_are_both_kept(tmp_path: Path) -> None:
    key, stores = "0" * 32, [JudgementStore(tmp_path) for _ in range(4)]

    def write(store: JudgementStore, number: int) -> None:
        for n in range(50):
            store.add(key, [Judgement(100 * number + n, 100 * number + n + 1, "Ps.1.1", "accept")])

    threads = [threading.Thread(target=write, args=(store, n)) for n, store in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores[0].of(key)) == 200
    # A line that was cut off harms no other.
    path = tmp_path / f"{key}.jsonl"
    with path.open("ab") as file:
        file.write(b'\n{"start": 1, "en')
    stores[1].add(key, [Judgement(900, 901, "Ps.1.1", "reject")])
    assert len(stores[2].of(key)) == 201
