"""What `allusion-es scan` cannot read, write or do: one clear line, and nothing half done."""

import os
import subprocess
from pathlib import Path

import pytest
from processes import Run, program
from tei_fixtures import document

NAME = "scan-input"
TEXT = "Ideo dicit: gustate et videte quoniam suavis est dominus.\n"
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha "}">' for n in range(10))


@pytest.fixture(scope="module")
def index(run: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    table = tmp_path_factory.mktemp("table") / "table.tsv"
    verses = "".join(f"f{n}\taliud{n} uerbum{n} nouum{n}\n" for n in range(300))
    table.write_text(
        f"id\ttext\n{verses}Ps.33.9\tGustate et videte quoniam suavis est Dominus\n", "utf-8"
    )
    done = run("index", str(table), "--name", NAME, "--no-vectors", "--no-learned-links")
    assert done.returncode == 0, done.stderr
    return NAME


def refused(done: "subprocess.CompletedProcess[str]", status: int, said: str) -> None:
    assert said in done.stderr
    assert (done.returncode, done.stdout) == (status, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("allusion-es: error: ")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.txt", b"", "there is no text in it"),
        ("a.txt", b" \n\t ", "there is no text in it"),
        ("a.txt", b"\x7fELF\x00\x00", "NUL byte at byte 4"),
        ("a.txt", "cæna".encode("latin-1"), "a.txt:1: byte 1 (0xe6) is not UTF-8"),
        ("a.txt", "Deus\ncæna".encode("utf-16"), "is no UTF-8 text"),
        ("a.txt", "Ἐν ἀρχῇ ἦν ὁ λόγος 12".encode(), "there is no Latin letter in it"),
        ("a.xml", b"", "the file is empty"),
        ("a.xml", b"<TEI><text><p>Deus</text></TEI>", "not well-formed XML (mismatched tag)"),
        ("a.xml", b"gustate et videte", "not well-formed XML"),
        ("a.xml", b"<html><body>Deus</body></html>", "the file's first element is <html>"),
        ("a.xml", b"<TEI>" + b"<p>" * 5000, "more than 200 elements inside each other"),
        ("a.xml", b"\x89PNG\r\n\x1a\n\xff", "byte 0 is not UTF-8"),
        (
            "a.xml",
            f"<!DOCTYPE TEI [{LAUGHS}]><TEI><text><body><p>&l9;</p></body></text></TEI>".encode(),
            "the file declares the entity 'l0'",
        ),
        (
            "a.xml",
            b'<!DOCTYPE TEI [<!ENTITY x SYSTEM "file:///etc/passwd">]><TEI><text>&x;</text></TEI>',
            "the file declares the entity 'x'; entities are not read",
        ),
        (
            "a.xml",
            b'<!DOCTYPE TEI [<!ENTITY % p SYSTEM "http://localhost:1/p">%p;]><TEI><text/></TEI>',
            "the file declares the entity 'p'",
        ),
    ],
)
def test_files_that_cannot_be_read(
    run: Run, index: str, tmp_path: Path, name: str, data: bytes, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    out = tmp_path / "out"
    done = run("scan", str(path), "--name", index, "--format", "json", "--out", str(out))
    refused(done, 4, said)
    assert str(path) in done.stderr
    assert not out.exists()


def test_missing_files_and_folders_are_told_before_anything_is_scanned(
    run: Run, index: str, tmp_path: Path
) -> None:
    good = tmp_path / "a.txt"
    good.write_text(TEXT)
    for bad, why in ((tmp_path / "b.txt", "No such file"), (tmp_path, "Is a directory")):
        done = run("scan", str(good), str(bad), "--name", index)
        refused(done, 4, f"{bad}: cannot be read ({why}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission(run: Run, index: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    path.chmod(0)
    refused(run("scan", str(path), "--name", index), 4, "cannot be read (Permission denied)")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--format", "tei"], 2, "a.txt is no TEI file, so no markup can go into it"),
        (["--format", "tei", "--out", "out"], 2, "is no TEI file"),
        (["--format", "tei", "--tei", "standoff", "--out", "out"], 2, "use --tei separate"),
        (["--html", "a.txt"], 2, "--html: a.txt: the name of a report must end in .html"),
        (
            ["--html", "r.html", "--format", "tsv"],
            2,
            "--html: a report is written instead of printing",
        ),
        (["--html", "no/such/a.txt/r.html", "--out", "out"], 2, "--out needs a --format"),
        (["--resume"], 2, "--resume needs --out DIR or --html FILE"),
        (["--out", "out"], 2, "--out needs a --format for files"),
        (["--format", "json", "--out", "a.txt"], 12, "cannot be written"),
        (["--html", "a.txt/r.html"], 12, "cannot be"),
        (["--threshold", "0"], 2, "--threshold: give a number from 0 to 1, not 0"),
        (["--threshold", "nan"], 2, "--threshold: give a number from 0 to 1, not nan"),
        (["--threshold", "much"], 2, "Invalid value for '--threshold'"),
        (["--precision", "0.9999"], 2, "no threshold has a measured precision of 0.9999"),
        (["--precision", "2"], 2, "--precision: give a number between 0 and 1, not 2"),
        (["--precision", "0.8", "--threshold", "0.3"], 2, "say the same thing"),
        (["--top", "0"], 2, "--top: give a number from 1 to 6, not 0"),
        (["--top", "7"], 2, "--top: give a number from 1 to 6, not 7"),
        (["--workers", "0"], 2, "--workers"),
        (["--format", "xml"], 2, "'xml' is not one of"),
        (["--book", "Nullus"], 5, "Nullus"),
        (["--testament", "third"], 2, "third"),
        (["--input-format", "pdf"], 2, "'pdf' is not one of"),
        (["--input-format", "tei"], 4, "not well-formed XML"),
        (["--name", "gone"], 7, "gone"),
        (["b.txt", "--format", "json"], 2, "2 files in one json output: give --out DIR"),
        (["sub/a.txt", "--format", "json", "--out", "o"], 2, "would both be written to o/a.jsonl"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_done(
    run: Run, index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], status: int, said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "b.txt", "sub/a.txt"):
        (tmp_path / name).write_text(TEXT)
    before = sorted(tmp_path.rglob("*"))
    refused(run("scan", "a.txt", "--name", index, *arguments), status, said)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "a.txt").read_text() == TEXT


def test_no_file_at_all(run: Run) -> None:
    refused(run("scan"), 2, "Missing argument")


def test_what_is_read_is_never_overwritten(run: Run, index: str, tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(document(f"<p>{TEXT}</p>"), "utf-8")
    before = path.read_bytes()
    more = ("--name", index, "--format", "tei", "--out", str(tmp_path))
    for force in ((), ("--force",)):
        refused(run("scan", str(path), *more, *force), 2, "is a file that is read; give another")
    assert path.read_bytes() == before


def test_another_language_is_told(run: Run, vulgate_index: object, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Der Bauer geht heute mit seinem Knecht auf das Feld und pflügt. " * 20)
    done = run("scan", str(path), "--format", "json")
    assert (done.returncode, done.stdout) == (0, "")
    assert "occur in 'vulgate'; is it Latin?" in done.stderr
    path.write_text("Rusticus hodie cum servo suo in agrum exit et terram arat. " * 20)
    assert "is it Latin?" not in run("scan", str(path), "--format", "json").stderr


@pytest.mark.process
@pytest.mark.parametrize(
    "kind",
    [
        "--format json --out {}",
        "--format tsv --out {}",
        "--format jsonld --out {}",
        "--html {}/r.html",
    ],
)
def test_a_disk_that_is_full(run: Run, index: str, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXT * 3000)
    out = tmp_path / "out"
    # No file may grow beyond a kilobyte or two: the journal is the first that does.
    command = f'ulimit -f 2; exec "$0" scan "{path}" --name {index} {kind.format(out)}'
    done = subprocess.run(
        ["bash", "-c", f"{command} --fast", program()], capture_output=True, text=True
    )
    assert done.returncode == 12, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "cannot be written (File too large)" in done.stderr
    left = [each.name for each in out.iterdir()]
    assert all(name.endswith(".scan") for name in left)
    assert ("--resume goes on" in done.stderr) is bool(left)
    options = kind.format(out).split()
    done = run("scan", str(path), "--name", index, *options, "--fast", "--resume")
    assert done.returncode == 0, done.stderr
    assert len(list(out.iterdir())) == 1


@pytest.mark.process
def test_stdout_on_a_full_disk(index: str, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    for kind in ("json", "table"):
        done = subprocess.run(
            f"{program()} scan {path} --name {index} --format {kind} > /dev/full",
            shell=True, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 12
        assert "the output cannot be written (No space left on device)" in done.stderr
        assert "Traceback" not in done.stderr
