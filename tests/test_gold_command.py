"""`allusion-es gold`, run as users run it, in this process and on a real server."""

import json
from pathlib import Path

import pytest
from processes import Run

from allusion_es.evaluation.gold.files import read_gold
from allusion_es.local.index import LocalIndex

LINKS = (
    '{"query_id": "a", "text": "gustate et videte", "relevant": ["Ps 33,9"], "type": "quotation"}\n'
    '{"query_id": "b", "text": "Dominus regit me et nihil mihi deerit", "relevant": ["Ps.23.1"]}\n'
    '{"query_id": "c", "text": "Gustate, et videte", "relevant": ["Ps.33.9"]}\n'
    '{"query_id": "d", "text": "unus", "relevant": ["Gen.1.1", "Gen.99.1"]}\n'
)


@pytest.fixture(autouse=True)
def _built(vulgate_index: LocalIndex) -> None:
    """The default index is there."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "links.jsonl"
    path.write_text(LINKS)
    return path


def test_check_reports_and_exits_with_0(run: Run, file: Path) -> None:
    done = run("gold", "check", str(file), "--format", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["types"] == [
        {"type": "", "queries": 3, "links": 3, "several": 0, "no_token": 1, "no_lemma": 1},
        {"type": "quotation", "queries": 1, "links": 1, "several": 0, "no_token": 0, "no_lemma": 0},
    ]
    found = [(each["kind"], each["line"], each["passage"]) for each in report["findings"]]
    assert found == [
        ("unknown", 4, "Gen.99.1"),
        ("duplicate", 3, ""),
        ("numbering", 2, "Ps.23.1"),
        ("no-overlap", 4, "Gen.1.1"),
    ]
    assert done.stderr.endswith("4 queries; 1 unknown, 1 duplicate, 1 numbering, 1 no-overlap\n")
    tsv = run("gold", "check", str(file), "--format", "tsv").stdout.splitlines()
    assert tsv[0] == "kind\tline\tquery_id\tpassage\tnote"
    assert tsv[1] == "unknown\t4\td\tGen.99.1\tGen has no chapter 99; it has 1 to 50"
    table = run("gold", "check", str(file)).stdout
    assert "Links by type" in table
    assert "Ps.22.1 shares more" in table


def test_a_table_shows_some_of_each_kind_and_says_how_many_more(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "links.tsv"
    rows = "".join(f"xyzzy{'x' * number}\tGen.1.{number}\n" for number in range(1, 26))
    file.write_text("text\trelevant\n" + rows)
    table = run("gold", "check", str(file)).stdout
    assert table.count("no shared word") == 20
    assert "5 more; --format tsv lists all" in table
    assert run("gold", "check", str(file), "--format", "tsv").stdout.count("no shared word") == 25


def test_other_numbering(run: Run, file: Path) -> None:
    file.write_text('{"text": "miserere mei Deus", "relevant": ["Ps 51,1"]}\n')
    done = run("gold", "convert", str(file), "--to", "jsonl", "--numbering", "kjv")
    assert json.loads(done.stdout)["relevant"] == ["Ps.50.3"]
    done = run("gold", "check", str(file), "--numbering", "kjv", "--format", "json")
    assert json.loads(done.stdout)["findings"] == []


def test_convert_writes_all_forms(run: Run, file: Path, tmp_path: Path) -> None:
    file.write_text(LINKS.replace(', "Gen.99.1"', ""))
    expected = [("Ps.33.9",), ("Ps.23.1",), ("Ps.33.9",), ("Gen.1.1",)]
    for to, name in (("jsonl", "out.jsonl"), ("tsv", "out.tsv"), ("trec", "out.qrels")):
        out = tmp_path / name
        done = run("gold", "convert", str(file), "--to", to, "--out", str(out))
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert "4 queries, 4 links" in done.stderr
        assert [link.relevant for link in read_gold(out)] == expected
    assert (tmp_path / "out.topics").read_text().startswith("a\tgustate et videte\n")
    done = run("gold", "convert", str(tmp_path / "out.qrels"), "--to", "tsv")
    assert done.stdout.splitlines()[1].split("\t")[5] == "Ps.33.9"


def test_unknown_passages_fail_or_are_left_out(run: Run, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = run("gold", "convert", str(file), "--to", "jsonl", "--out", str(out))
    assert (done.returncode, done.stdout) == (5, "")
    assert f"{file}:4: query 'd', 'Gen.99.1': Gen has no chapter 99" in done.stderr
    assert not out.exists()
    done = run("gold", "convert", str(file), "--to", "jsonl", "--skip-unknown")
    assert done.returncode == 0
    assert f"{file}: 1 unknown passages, 0 queries left out" in done.stderr
    assert json.loads(done.stdout.splitlines()[3])["relevant"] == ["Gen.1.1"]


@pytest.mark.parametrize(
    ("text", "arguments", "status", "told"),
    [
        ("{", [], 4, ":1: not JSON"),
        ("", [], 4, "there is no gold link in it"),
        (LINKS * 2, [], 4, ":5: query_id 'a' is also on line 1"),
        ('{"text": "", "relevant": ["Ps.1.1"]}', [], 4, ":1: field 'text' of query '1' is empty"),
        ('{"text": "a", "relevant": ["Ps 1,1", "Ps.1.1"]}', [], 4, "both mean Ps.1.1"),
        (LINKS, ["--kind", "xml"], 2, "xml"),
        (LINKS, ["--numbering", "greek"], 2, "greek"),
        (LINKS, ["--topics", "t"], 2, "topics go with TREC qrels"),
        (LINKS, ["--name", "none"], 7, "there is no index 'none'"),
    ],
)
def test_bad_input_is_one_line(
    run: Run, file: Path, text: str, arguments: list[str], status: int, told: str
) -> None:
    file.write_text(text)
    done = run("gold", "check", str(file), *arguments)
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_trec_needs_a_name(run: Run, file: Path) -> None:
    done = run("gold", "convert", str(file), "--to", "trec")
    assert (done.returncode, done.stdout) == (2, "")
    assert "name the qrels with --out" in done.stderr


def test_fetched_links_are_the_same_every_time(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "openbible.jsonl"
    done = run("gold", "fetch", "openbible", "--votes", "50", "--out", str(out))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "openbible: 213 queries, 802 links (OpenBible.info, CC BY 4.0" in done.stderr
    assert run("gold", "fetch", "openbible", "--votes", "50").stdout == out.read_text()
    done = run("gold", "check", str(out), "--format", "json")
    kinds = {each["kind"] for each in json.loads(done.stdout)["findings"]}
    assert kinds <= {"no-overlap", "numbering"}


def test_a_server_gives_the_same_report(
    run: Run, file: Path, elasticsearch_url_any: str, tmp_path: Path
) -> None:
    url, name = elasticsearch_url_any, "gold"
    table = tmp_path / "psalms.tsv"
    verses = (
        "Ps.22.1\tPsalmus David. Dominus regit me, et nihil mihi deerit\n"
        "Ps.23.1\tPrima sabbati. Psalmus David. Domini est terra\n"
        "Ps.33.9\tGustate et videte quoniam suavis est Dominus\nGen.1.1\tIn principio\n"
    )
    table.write_text("id\ttext\n" + verses)
    assert run("index", str(table), "--name", name, "--no-vectors").returncode == 0
    more = ("--name", name, "--es", url)
    assert run("index", str(table), "--no-vectors", *more).returncode == 0
    here = run("gold", "check", str(file), "--format", "json", "--name", name)
    there = run("gold", "check", str(file), "--format", "json", *more)
    assert (there.returncode, there.stdout) == (0, here.stdout), there.stderr
    kinds = [each["kind"] for each in json.loads(here.stdout)["findings"]]
    assert kinds == ["unknown", "duplicate", "no-overlap"]
    done = run("gold", "convert", str(file), "--to", "jsonl", *more)
    assert done.returncode == 5
    assert "Gen has no chapter 99; it has only 1" in done.stderr
