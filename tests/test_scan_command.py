"""`allusion-es scan` as users run it: formats, files, options, processes, stops."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from processes import Run, StartProcess, program
from tei_fixtures import document, without_prefixes

NAME = "scan-command"
TABLE = "id\ttext\n" + "".join(f"f{n}\taliud{n} uerbum{n} nouum{n} factum{n}\n" for n in range(300))
VERSES = """\
Ps.33.9\tGustate et videte quoniam suavis est Dominus
Ps.33.10\tTimete Dominum omnes sancti eius
1Pet.2.3\tsi tamen gustastis quoniam dulcis est Dominus
Arma.1\tArma virumque cano Troiae qui primus ab oris
"""
QUOTE = "gustate et videte quoniam suavis est dominus"
FILLER = " ".join(["caseus", "rusticus", "uenditur", "oppido"] * 30)
PLAIN = f"De caseo.\n{FILLER}\nIdeo: {QUOTE}! Et poeta: arma virumque cano, Troiae qui primus.\n"
BODY = f"""<pb n="12"/><div n="4"><p n="1">{FILLER}<lb n="7"/>ideo <hi>gustate et</hi>
vide<lb break="no" n="8"/>te quoniam <choice><sic>suauus</sic><corr>suavis</corr></choice> est
dominus.<note>arma virumque cano Troiae qui primus ab oris</note> Vale.</p></div>"""
NAMES = ["start", "end", "text", "passages", "reference", "score", "probability", "calibrated",
         "kind", "words", "alternatives"]  # fmt: skip


@pytest.fixture(scope="module")
def scan(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a scan against a small collection of the user's own, without citation vectors."""
    table = tmp_path_factory.mktemp("table") / "table.tsv"
    table.write_text(TABLE + VERSES, "utf-8")
    done = run("index", str(table), "--name", NAME, "--no-vectors", "--no-learned-links")
    assert done.returncode == 0, done.stderr

    def scan(*arguments: str | Path, **environment: str) -> "subprocess.CompletedProcess[str]":
        done = run("scan", *map(str, arguments), "--name", NAME, **environment)
        assert "Traceback" not in done.stderr
        return done

    return scan


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "sermo.txt"
    path.write_text(PLAIN, "utf-8")
    return path


@pytest.fixture
def tei(tmp_path: Path) -> Path:
    path = tmp_path / "sermo.xml"
    path.write_text(document(BODY), "utf-8")
    return path


def records(done: "subprocess.CompletedProcess[str]") -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_json_names_all_that_a_finding_is(scan: Run, plain: Path) -> None:
    done = scan(plain, "--format", "json")
    psalm, poem = records(done)
    assert list(psalm) == [*NAMES, "line"]
    for record in (psalm, poem):
        assert PLAIN[record["start"] : record["end"]] == record["text"]
    assert (psalm["text"], psalm["passages"], psalm["reference"]) == (QUOTE, ["Ps.33.9"], "Ps 33,9")
    assert (psalm["kind"], psalm["line"]) == ("quotation", "3")
    assert set(psalm["words"]) >= {"gustate", "suavis"}
    assert (poem["passages"], poem["reference"]) == (["Arma.1"], "Arma.1")
    assert 0 < psalm["probability"] <= 1
    assert re.fullmatch(
        rf"{re.escape(str(plain))}: 2 findings of probability 0\.\d+ or more "
        r"\(not calibrated for this collection, only for the Vulgate\)\n",
        done.stderr,
    )


def test_the_table_says_where(scan: Run, plain: Path, tei: Path) -> None:
    done = scan(plain, tei)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "sermo"
    assert any(line.startswith("l. 3") and "Ps 33,9" in line for line in lines)
    assert any(line.startswith("4, p. 12, l. 7") for line in lines)
    told, left_out, also_told = done.stderr.splitlines()
    assert f"{plain}: 2 findings" in told
    assert left_out == (f"{tei}: left out: note (8 words, line 4); --keep note reads it")
    assert f"{tei}: 1 finding of" in also_told


def test_tei_gives_page_line_and_path_and_leaves_notes_out(scan: Run, tei: Path) -> None:
    [record] = records(scan(tei, "--format", "json"))
    assert list(record) == [*NAMES, "xpath", "page", "line", "section"]
    assert record["text"].split() == QUOTE.split()
    assert (record["page"], record["line"], record["section"]) == ("12", "7", "4")
    assert record["xpath"] == "/tei:TEI[1]/tei:text[1]/tei:body[1]/tei:div[1]/tei:p[1]"
    kept = records(scan(tei, "--format", "json", "--keep", "note"))
    assert {p for each in kept for p in each["passages"]} == {"Ps.33.9", "Arma.1"}


def test_what_is_added_to_tei_is_all_that_changes(scan: Run, tei: Path, tmp_path: Path) -> None:
    before = tei.read_bytes()
    for style in ("inline", "standoff"):
        out = tmp_path / style
        done = scan(tei, "--format", "tei", "--tei", style, "--out", out)
        assert done.returncode == 0, done.stderr
        after = (out / "sermo.xml").read_bytes()
        added = rb"</?(quote|seg)( [^>]*)?>" if style == "inline" else rb"\n<standOff>.*</standOff>"
        plain = re.sub(added, b"", after, flags=re.DOTALL).decode()
        assert without_prefixes(plain).encode() == before
        assert len(after) > len(before)
        ElementTree.fromstring(after)
    assert tei.read_bytes() == before
    done = scan(tei, "--format", "tei")
    assert done.stdout.encode() == (tmp_path / "inline" / "sermo.xml").read_bytes()
    apart = scan(tei, "--format", "tei", "--tei", "separate")
    assert ElementTree.fromstring(apart.stdout).tag == "{http://www.tei-c.org/ns/1.0}TEI"
    assert "bible:Ps.33.9" in apart.stdout


def test_a_report_has_all_texts(scan: Run, plain: Path, tei: Path, tmp_path: Path) -> None:
    report = tmp_path / "reports" / "r.html"
    alone = scan(plain, "--html", report)
    assert (alone.returncode, alone.stdout) == (0, "")
    assert alone.stderr.splitlines()[-1] == f"{report}: 1 text, 2 findings"
    assert "<title>Allusions in sermo</title>" in report.read_text("utf-8")
    again = tmp_path / "again" / "sermo.txt"
    again.parent.mkdir()
    again.write_bytes(plain.read_bytes())
    done = scan(plain, again, tei, "--html", report, "--format", "json", "--out", tmp_path / "x")
    assert done.returncode == 2
    assert "would both be written to" in done.stderr
    done = scan(plain, tei, again, "--html", report)
    assert done.stderr.splitlines()[-1] == f"{report}: 3 texts, 5 findings"
    page = report.read_text("utf-8")
    assert "<title>Allusions in 3 texts</title>" in page
    assert "left out: note" in page.lower()
    both = scan(plain, "--html", report, "--format", "json", "--out", tmp_path / "x")
    assert (both.returncode, both.stdout) == (0, "")
    assert (tmp_path / "x" / "sermo.jsonl").read_text("utf-8").count("\n") == 2
    assert [path.name for path in report.parent.iterdir()] == ["r.html"]
    read = again.with_name("read.html")
    read.write_text("<p>Gustate et videte quoniam suavis est Dominus")
    done = scan(read, "--html", read)
    assert done.returncode == 2
    assert "is a file that is read; give another --html" in done.stderr


def test_every_format_has_its_file(scan: Run, plain: Path, tei: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for kind in ("tsv", "json", "jsonld"):
        assert scan(plain, "--format", kind, "--out", out).returncode == 0
    names = ["sermo.jsonl", "sermo.jsonld", "sermo.tsv"]
    assert sorted(path.name for path in out.iterdir()) == names
    data = (out / "sermo.tsv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbfstart\tend")
    rows = list(csv.DictReader(data.decode("utf-8-sig").splitlines(), delimiter="\t"))
    found = [json.loads(line) for line in (out / "sermo.jsonl").read_text("utf-8").splitlines()]
    assert [(row["start"], row["text"]) for row in rows] == [
        (str(each["start"]), each["text"]) for each in found
    ]
    page = json.loads((out / "sermo.jsonld").read_text("utf-8"))
    assert len(page["items"]) == len(found) == 2
    for kind, name in (("json", "sermo.jsonl"), ("jsonld", "sermo.jsonld")):
        assert scan(plain, "--format", kind).stdout == (out / name).read_text("utf-8")
    assert scan(plain, "--format", "tsv").stdout == data.decode("utf-8-sig")
    other = tmp_path / "epistula.txt"
    shutil.copy(plain, other)
    assert scan(plain, other, "--format", "json", "--out", tmp_path / "two").returncode == 0
    assert sorted(p.name for p in (tmp_path / "two").iterdir()) == [
        "epistula.jsonl",
        "sermo.jsonl",
    ]


def test_nothing_is_overwritten_unless_forced(scan: Run, plain: Path, tmp_path: Path) -> None:
    more = (plain, "--format", "json", "--out", tmp_path / "out")
    assert scan(*more).returncode == 0
    target = tmp_path / "out" / "sermo.jsonl"
    content = target.read_bytes()
    target.write_text("mine")
    done = scan(*more)
    assert done.returncode == 2
    assert f"{target} exists; give --force to overwrite it" in done.stderr
    assert target.read_text() == "mine"
    assert scan(*more, "--force").returncode == 0
    assert target.read_bytes() == content


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--threshold", "1"], 0),
        (["--threshold", "0.05"], 2),
        (["--precision", "0.8"], 2),
        (["--fast"], 2),
        (["--top", "1", "--threshold", "0.05"], 2),
        (["--work", "TABLE", "--threshold", "0.05"], 2),
    ],
)
def test_options(scan: Run, plain: Path, options: list[str], found: int) -> None:
    got = records(scan(plain, "--format", "json", *options))
    assert len(got) == found
    if "--top" in options:
        assert all(each["alternatives"] == [] for each in got)


def test_a_filter_that_lets_nothing_pass_is_refused(scan: Run, plain: Path) -> None:
    done = scan(plain, "--exclude-work", "table")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "allusion-es: error: --exclude-work: with all choices of works and authors, nothing of "
        "index 'scan-command' is left to search; leave out one of them\n"
    )


def test_books_and_testaments(run: Run, vulgate_index: object, plain: Path) -> None:
    for options, verses in (
        (["--book", "Ps"], ["Ps.33.9"]),
        (["--testament", "ot"], ["Ps.33.9"]),
        (["--book", "Genesis"], []),
    ):
        done = run("scan", str(plain), "--format", "json", "--fast", *options)
        assert [p for each in records(done) for p in each["passages"]] == verses


@pytest.fixture(scope="module")
def long_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some twenty blocks, with quotations on borders too."""
    path = tmp_path_factory.mktemp("long") / "opus.txt"
    parts = [f"{FILLER} {QUOTE} {FILLER} aliud{n} uerbum{n} nouum{n}" for n in range(90)]
    path.write_text("\n".join(parts), "utf-8")
    return path


@pytest.fixture(scope="module")
def whole(scan: Run, long_text: Path) -> str:
    done = scan(long_text, "--format", "json", "--workers", "1")
    assert len(records(done)) >= 90
    return done.stdout


def test_four_workers_find_the_same(scan: Run, long_text: Path, whole: str) -> None:
    assert scan(long_text, "--format", "json", "--workers", "4").stdout == whole


def started(
    start: StartProcess, long_text: Path, out: Path, workers: int, *more: str
) -> "subprocess.Popen[str]":
    return start(
        [program(), "scan", str(long_text), "--name", NAME, "--format", "json", "--out", str(out),
         "--workers", str(workers), *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def wait_for_blocks(journal: Path, count: int, process: "subprocess.Popen[str]") -> None:
    while process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") > count:
            return
        time.sleep(0.002)
    pytest.fail(f"it ended before {count} blocks were done: {process.communicate()}")


@pytest.mark.parametrize(("workers", "blocks"), [(1, 1), (1, 9), (2, 4)])
def test_a_killed_scan_goes_on_as_if_nothing_had_happened(
    scan: Run,
    start_process: StartProcess,
    long_text: Path,
    whole: str,
    tmp_path: Path,
    workers: int,
    blocks: int,
) -> None:
    journal = tmp_path / "opus.jsonl.scan"
    process = started(start_process, long_text, tmp_path, workers)
    wait_for_blocks(journal, blocks, process)
    process.kill()
    process.communicate()
    assert [path.name for path in tmp_path.iterdir()] == [journal.name]
    kept = journal.read_bytes()
    more = (long_text, "--format", "json", "--out", tmp_path, "--workers", str(workers))
    done = scan(*more)
    assert done.returncode == 2
    assert f"{journal} is left of a scan that was stopped; give --resume" in done.stderr
    assert journal.read_bytes() == kept
    done = scan(*more, "--resume")
    assert done.returncode == 0, done.stderr
    assert "begun anew" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["opus.jsonl"]
    assert (tmp_path / "opus.jsonl").read_text("utf-8") == whole


def test_what_is_done_is_not_done_again(
    scan: Run, start_process: StartProcess, long_text: Path, tmp_path: Path
) -> None:
    process = started(start_process, long_text, tmp_path, 1)
    journal = tmp_path / "opus.jsonl.scan"
    wait_for_blocks(journal, 3, process)
    process.kill()
    process.communicate()
    # Were the first block scanned again, its findings would be back.
    lines = journal.read_text("utf-8").splitlines(keepends=True)
    assert json.loads(lines[1])["findings"]
    lines[1] = '{"block": 0, "findings": []}\n'
    journal.write_text("".join(lines), "utf-8")
    more = (long_text, "--format", "json", "--out", tmp_path)
    assert scan(*more, "--resume").returncode == 0
    records = (tmp_path / "opus.jsonl").read_text("utf-8").splitlines()
    assert min(json.loads(line)["start"] for line in records) > 5000
    other = scan(*more, "--threshold", "0.9", "--force", "--resume")
    assert other.returncode == 0, other.stderr


def test_a_journal_for_something_else_is_told_and_not_used(
    scan: Run, plain: Path, tmp_path: Path
) -> None:
    journal = tmp_path / "out" / "sermo.jsonl.scan"
    journal.parent.mkdir()
    journal.write_text('{"key": "another"}\n{"block": 0, "findings": []}\n')
    done = scan(plain, "--format", "json", "--out", tmp_path / "out", "--resume")
    assert done.returncode == 0
    assert f"{journal}: nothing in it can be used for this text" in done.stderr
    assert len((tmp_path / "out" / "sermo.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_is_one_line_that_says_what_is_kept(
    long_text: Path, tmp_path: Path, scan: Run, start_process: StartProcess, workers: int
) -> None:
    process = started(start_process, long_text, tmp_path, workers)
    wait_for_blocks(tmp_path / "opus.jsonl.scan", 2, process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    journal = tmp_path / "opus.jsonl.scan"
    assert (process.returncode, out) == (130, "")
    assert err == (
        f"allusion-es: error: interrupted; what was done is kept in {journal}; --resume goes on\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == [journal.name]


def test_a_second_file_that_fails_leaves_the_first_to_go_on_from(
    scan: Run, plain: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "mala.xml"
    bad.write_text("<TEI><text>")
    more = ("--format", "json", "--out", tmp_path / "out")
    done = scan(plain, bad, *more)
    assert done.returncode == 4
    assert "mala.xml:1: column 12: not well-formed XML" in done.stderr
    assert "--resume goes on" in done.stderr
    bad.write_text(document(BODY), "utf-8")
    done = scan(plain, bad, *more, "--resume")
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["mala.jsonl", "sermo.jsonl"]


@pytest.mark.process
def test_a_reader_that_has_seen_enough(long_text: Path, scan: Run) -> None:
    for kind in ("json", "table", "tsv"):
        done = subprocess.run(
            f"{program()} scan {long_text} --name {NAME} --fast --format {kind} | head -n 1",
            shell=True, capture_output=True, text=True,
        )  # fmt: skip
        assert len(done.stdout.splitlines()) == 1
        assert "Traceback" not in done.stderr
        assert "Exception" not in done.stderr


def test_a_server_finds_the_same(
    run: Run, elasticsearch_url_any: str, plain: Path, tei: Path, tmp_path: Path
) -> None:
    table = tmp_path / "table.tsv"
    table.write_text(TABLE + VERSES, "utf-8")
    name = "scan-on-a-server"
    for more in ([], ["--es", elasticsearch_url_any]):
        assert run("index", str(table), "--name", name, *more).returncode == 0
    for options in ([], ["--fast"], ["--threshold", "0.1"]):
        for path in (plain, tei):
            more = ["scan", str(path), "--name", name, "--format", "json", *options]
            here, there = run(*more), run(*more, "--es", elasticsearch_url_any)
            found = zip(records(here), records(there), strict=True)
            assert here.stdout
            for one, other in found:
                for key in ("score", "probability"):
                    assert one.pop(key) == pytest.approx(other.pop(key), rel=1e-4)
                for key in ("alternatives",):
                    assert [a["passages"] for a in one.pop(key)] == [
                        a["passages"] for a in other.pop(key)
                    ]
                assert one == other
            assert here.stderr == there.stderr
