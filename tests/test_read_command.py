"""`allusion-es read`: what is searched of a file, and what is not."""

import csv
import json
import os
import threading
from pathlib import Path

import pytest
from conftest import Run
from tei_fixtures import document

from allusion_es.local.index import LocalIndex

BODY = (
    '<pb n="12"/><div n="4"><p>Multi clamant, <note>clamant] =clamabant A</note>fratres.\n'
    'Sed gus<lb break="no"/>tate et <foreign xml:lang="grc">ἴδετε</foreign> videte</p></div>'
)


@pytest.fixture
def tei(tmp_path: Path) -> Path:
    path = tmp_path / "sermo.xml"
    path.write_text(document(BODY), "utf-8")
    return path


@pytest.mark.parametrize(
    ("options", "data"),
    [([], "gustate et\rvidete"), (["--input-format", "html"], "gust<b>ate</b> et<br>videte")],
)
def test_stdin(run: Run, options: list[str], data: str) -> None:
    done = run("read", "-", *options, stdin=data)
    assert (done.returncode, done.stdout) == (0, "l. 1: gustate et\nl. 2: videte\n")
    assert done.stderr == "stdin: 3 words read\n"


def test_a_line_for_each_place_and_for_what_is_left_out(run: Run, tei: Path) -> None:
    done = run("read", str(tei))
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "4, p. 12, l. 1: Multi clamant, fratres. Sed gustate",
            "  [left out: note, 3 words, line 2 of the file: clamant] =clamabant A]",
            "4, p. 12, l. 2: et videte",
            '  [left out: xml:lang="grc", 1 word, line 3 of the file: ἴδετε]',
        ],
    )
    assert done.stderr.splitlines() == [
        f"{tei}: 7 words read",
        f'{tei}: left out: note (3 words, line 2), xml:lang="grc" (1 word, line 3); --keep note, '
        "--language grc read them",
    ]


def test_plain_texts_are_read_line_by_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sermo.txt"
    path.write_text("Gustate\n\n et videte\x1b[31m \n")
    done = run("read", str(path))
    assert done.stdout.splitlines() == ["l. 1: Gustate", "l. 3: et videte\ufffd[31m"]
    assert done.stderr == f"{path}: 3 words read\n"


def test_json_and_tables_have_the_same_rows(run: Run, tei: Path) -> None:
    done = run("read", str(tei), "--format", "json")
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["kind"] for each in objects] == ["text", "left out", "text", "left out"]
    first, note, *_ = objects
    assert (first["page"], first["line"], first["section"]) == ("12", "1", "4")
    assert (note["left_out"], note["words"], note["file_line"]) == ("note", 3, 2)
    assert note["option"] == "--keep note"
    assert note["xpath"].endswith("/tei:p[1]/tei:note[1]")
    done = run("read", str(tei), "--format", "tsv")
    rows = list(csv.DictReader(done.stdout.splitlines(), dialect="excel-tab"))
    assert [(row["start"], row["end"]) for row in rows] == [
        (str(each["start"]), str(each["end"])) for each in objects
    ]
    assert [row["text"] for row in rows] == [each["text"] for each in objects]


def test_what_is_asked_for_is_read(run: Run, tei: Path) -> None:
    done = run("read", str(tei), "--keep", "note", "--language", "grc", "--format", "json")
    assert {json.loads(line)["kind"] for line in done.stdout.splitlines()} == {"text"}
    assert "ἴδετε" in done.stdout
    assert done.stderr == f"{tei}: 11 words read\n"
    assert "gustate et ἴδετε" not in run("read", str(tei)).stdout


def test_scan_reads_the_same(run: Run, tei: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("id\ttext\nPs.33.9\tGustate et videte quoniam suavis est Dominus\n", "utf-8")
    built = run("index", str(table), "--name", "read", "--no-vectors", "--no-learned-links")
    assert built.returncode == 0, built.stderr
    done = run("scan", str(tei), "--name", "read", "--language", "grc")
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == (
        f"{tei}: left out: note (3 words, line 2); --keep note reads it"
    )


def test_files_that_cannot_be_read(run: Run, tmp_path: Path) -> None:
    done = run("read", str(tmp_path / "gone.xml"))
    assert (done.returncode, done.stdout) == (4, "")
    assert len(done.stderr.splitlines()) == 1
    assert "cannot be read" in done.stderr
    whole = tmp_path / "english.xml"
    whole.write_text(document("<p>Taste and see</p>").replace("<body>", '<body xml:lang="en">'))
    done = run("read", str(whole))
    assert (done.returncode, done.stdout) == (4, "")
    assert 'left out: xml:lang="en" (3 words, line 2); --language en reads it' in done.stderr


@pytest.mark.parametrize("command", ["read", "scan"])
def test_a_pipe_with_a_name_is_read_whole(
    command: str, run: Run, tmp_path: Path, vulgate_index: LocalIndex
) -> None:
    pipe = tmp_path / "sermo"
    os.mkfifo(pipe)
    text = "<!DOCTYPE html><p>Gustate et videte quoniam suavis est Dominus</p>"
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    done = run(command, str(pipe))
    writer.join()
    assert done.returncode == 0
    assert "Gustate et videte" in done.stdout
    assert str(pipe) in done.stderr
