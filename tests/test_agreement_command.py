"""`allusion-es agreement` from the command line."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from allusion_es.cli.main import run

WORKED = """instance\tannotator\tstart\tend\ttype\ttokens
b-1\tanna\t2\t6\tallusion\t20
b-1\tberta\t4\t9\tallusion\t20
b-1\tclara\t2\t6\tallusion\t20
b-2\tanna\t0\t3\tquotation\t20
b-2\tberta\t0\t3\tquotation\t20
b-2\tclara\t0\t3\tquotation\t20
b-3\tanna\t5\t6\tallusion\t
b-3\tberta\t5\t8\tallusion\t
b-3\tclara\t4\t8\tallusion\t
b-4\tanna\t0\t2\t\t20
b-4\tberta\t3\t5\t\t20
b-4\tclara\t1\t4\t\t20
"""


@pytest.fixture
def worked(tmp_path: Path) -> Path:
    path = tmp_path / "spans.tsv"
    path.write_text(WORKED)
    return path


def test_json_has_the_numbers_of_the_worked_example(
    worked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same data as in test_agreement, where the numbers are worked out."""
    assert run(["agreement", str(worked), "--format", "json", "--resamples", "50"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["instances"], found["annotators"], found["pairs"]) == (4, 3, 12)
    assert found["observed_overlap"] == pytest.approx(269 / 504)
    assert found["expected_overlap"] == pytest.approx(0.48)
    assert found["kappa"] == pytest.approx(677 / 6552)
    assert found["perfect_share"] == pytest.approx(1 / 3)
    assert [row["annotators"] for row in found["by_pair"]] == [
        ["anna", "berta"],
        ["anna", "clara"],
        ["berta", "clara"],
    ]
    assert [row["type"] for row in found["by_type"]] == ["", "allusion", "quotation"]
    assert [part["pairs"] for part in found["histogram"]] == [1, 0, 5, 1, 0, 0, 0, 1, 0, 4]
    assert found["cumulative"][-1] == {"overlap": 1.0, "share": 1.0}
    assert found["assumed_lengths"] == 1
    low, high = found["intervals"]["kappa"]
    assert low <= found["kappa"] <= high
    # anna marked 4 + 3 + 1 + 2 tokens.
    assert found["by_annotator"][0] == {
        "annotator": "anna",
        "annotations": 4,
        "spans": 4,
        "doubts": 0,
        "mean_length": 2.5,
    }


def test_the_same_seed_prints_the_same(worked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for seed in ("3", "3", "4"):
        assert run(["agreement", str(worked), "--format", "json", "--seed", seed]) == 0
        printed.append(capsys.readouterr().out.replace(f'"seed": {seed}', ""))
    assert printed[0] == printed[1] != printed[2]


def test_table_and_tsv(worked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["agreement", str(worked)]) == 0
    table = capsys.readouterr().out
    assert "anna / berta" in table
    assert "0.2–0.3  5  ████" in table
    assert "12 annotations of 4 instances by 3 annotators" in table
    assert "1 instances do not tell how long" in table
    assert run(["agreement", str(worked), "--format", "tsv", "--resamples", "0"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 3 + 3
    row = dict(zip(header.split("\t"), lines[0].split("\t"), strict=True))
    assert float(row["kappa"]) == pytest.approx(677 / 6552)
    assert row["kappa_low"] == ""


def test_csv_says_the_same_as_tsv(
    worked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for name, divider in (("a.tsv", "\t"), ("a.csv", ","), ("b.csv", ";")):
        path = tmp_path / "tables" / name[0] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\ufeff" * (divider == ";") + WORKED.replace("\t", divider))
        assert run(["agreement", str(path), "--format", "json"]) == 0
        printed.append(capsys.readouterr().out)
        path.unlink()
    assert printed[0] == printed[1] == printed[2]
    path.write_text(WORKED.replace("\t", ",").replace("annotator", "who", 1))
    assert run(["agreement", str(path.parent)]) == 4  # a folder's tables are read, too
    assert capsys.readouterr().err.endswith(
        "b.csv:1: there is no column 'annotator'; found 'instance', 'who', 'start', 'end', "
        "'type', 'tokens'; name each of instance, annotator, start, end, or give JSON lines, brat "
        "or WebAnno TSV 3 files\n"
    )


def test_links_without_an_anchor_have_rows_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spans.csv"
    path.write_text(
        "instance,annotator,start,end,anchor\n"
        "i,anna,0,4,omni\ni,berta,2,6,omni\n"
        'j,anna,0,2,\nj,berta,7,9,""\n'
    )
    assert run(["agreement", str(path), "--resamples", "0"]) == 0
    out = capsys.readouterr().out
    assert "1 instances have no anchor, so that their spans could lie anywhere" in out
    rows = [line.split("│") for line in out.splitlines() if " an anchor " in line]
    assert [[cell.strip() for cell in row[1:5]] for row in rows[:2]] == [
        ["without an anchor", "1", "1", "0.000"],
        ["with an anchor", "1", "1", "0.333"],
    ]
    assert run(["agreement", str(path), "--resamples", "0", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["without_anchor"] == 1
    assert [row["anchor"] for row in found["by_anchor"]] == [False, True]
    path.write_text(path.read_text().replace('""', "omni"))
    assert run(["agreement", str(path)]) == 4
    assert "spans.csv:5: instance 'j' has an anchor, but none at" in capsys.readouterr().err


def test_names_with_brackets_are_no_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spans.tsv"
    path.write_text("instance\tannotator\tstart\tend\ni\t[red]a\t0\t1\ni\tb[/]\t0\t1\n")
    assert run(["agreement", str(path)]) == 0
    assert "[red]a / b[/]" in capsys.readouterr().out


def test_svg(worked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "a" / "first.svg", tmp_path / "second.svg"
    for path in (first, second):
        assert run(["agreement", str(worked), "--svg", str(path), "--resamples", "0"]) == 0
    capsys.readouterr()
    assert first.read_bytes() == second.read_bytes()
    root = ElementTree.fromstring(first.read_text())
    told = [element.text for element in root.iter() if element.tag.endswith("title")]
    assert told[0] == "Overlap of annotated spans"
    assert "0.2 to 0.3: 5" in told
    assert "at most 0.75: 0.666667" in told


def test_html(worked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "a" / "first.html", tmp_path / "second.html"
    for path in (first, second):
        assert run(["agreement", str(worked), "--html", str(path)]) == 0
        out, err = capsys.readouterr()
        assert (out, err) == ("", f"{path}: 3 annotators\n")
    assert first.read_bytes() == second.read_bytes()
    page = first.read_text()
    for told in (
        "anna / berta",
        "95 % interval",
        "data:image/svg+xml;base64",
        "12 annotations of 4",
    ):
        assert told in page
    assert run(["agreement", str(worked), "--html", "r.html", "--format", "json"]) == 2
    assert "leave out --format" in capsys.readouterr().err


def test_the_tools_own_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from allusion_es.annotation.marks import Mark
    from allusion_es.annotation.store import Store
    from allusion_es.annotation.tasks import instance_of
    from allusion_es.evaluation.gold.link import GoldLink
    from allusion_es.retrieval.types import Query

    text = "Supereminet omni scientiae dilectio illa"
    links = [GoldLink(Query(text, name, anchor="omni"), ("Eph.3.19",)) for name in ("i", "j")]
    store = Store(tmp_path / "spans.sqlite", create_missing=True)
    store.add([instance_of(link) for link in links])
    store.save("i", "anna", Mark(0, 4), "1")
    store.save("i", "berta", Mark(1, 5), "2")
    store.save("j", "anna", Mark(1, 2), "3")
    store.save("j", "berta", Mark(doubt=True), "4")
    arguments = ["agreement", str(tmp_path / "spans.sqlite"), "--format", "json"]
    assert run([*arguments, "--resamples", "0"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["instances"], found["pairs"], found["observed_overlap"]) == (1, 1, 0.6)
    assert (found["doubts"], found["alone"], found["assumed_lengths"]) == (1, 1, 0)


def test_a_store_that_is_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.db"
    path.write_bytes(b"SQLite format 3\0" + bytes(200))
    assert run(["agreement", str(path)]) == 4
    assert "broken.db" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("instance\tannotator\tstart\tend\n", "0 annotations, 0 of them with a span"),
        (
            "instance\tannotator\tstart\tend\ni\ta\t0\tx\n",
            "spans.tsv:2: field 'end' must be a whole number, not 'x'",
        ),
        ("instance\tannotator\tstart\tend\ni\ta\t0\t2\ni\ta\t0\t1\n", "spans.tsv:3: instance 'i'"),
    ],
)
def test_what_cannot_be_measured_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path, figure = tmp_path / "spans.tsv", tmp_path / "figure.svg"
    path.write_text(text)
    assert run(["agreement", str(path), "--svg", str(figure)]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert message in err
    assert not figure.exists()


def test_ten_thousand_instances_of_five_annotators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["instance\tannotator\tstart\tend\n"]
    for number in range(10_000):
        for who in range(5):
            start = (number * 7 + who * who) % 11
            lines.append(f"i{number}\ta{who}\t{start}\t{start + 1 + (number + who) % 5}\n")
    path = tmp_path / "spans.tsv"
    path.write_text("".join(lines))
    assert run(["agreement", str(path), "--format", "json", "--resamples", "20"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["instances"], found["pairs"], len(found["by_pair"])) == (10_000, 100_000, 10)


def test_a_curation_is_left_out_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two annotators and their curation are one pair: 2 of the 4 words that either marked."""
    head = "#FORMAT=WebAnno TSV 3.3\n#T_SP=webanno.custom.Allusion|kind\n\n#Text=a b c d\n"

    def mark(folder: str, annotator: str, marked: str) -> None:
        path = tmp_path / folder / "sermo.txt" / f"{annotator}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = (
            f"1-{n + 1}\t{2 * n}-{2 * n + 1}\t{word}\t{'*[1]' if word in marked else '_'}\t\n"
            for n, word in enumerate("abcd")
        )
        path.write_text(head + "".join(rows))

    mark("annotation", "anna", "abc")
    mark("annotation", "berta", "bcd")
    mark("curation", "CURATION_USER", "abc")
    assert run(["agreement", str(tmp_path), "--format", "json", "--resamples", "0"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert (found["annotators"], found["pairs"], found["observed_overlap"]) == (2, 1, 0.5)
    curated = str(tmp_path / "curation" / "sermo.txt" / "CURATION_USER.tsv")
    (left_out,) = found["no_annotators"]
    assert (left_out["where"], left_out["name"]) == (curated, "CURATION_USER")
    assert printed.err == (
        f"{curated}: left out (CURATION_USER): the curation, which is made from the annotations\n"
    )


def test_it_says_why_kappa_is_low_where_people_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spans.tsv"
    rows = [
        f"i{n}\t{name}\t{start}\t{start + 9}\t45"
        for n in range(20)
        for name, start in (("anna", 10), ("berta", 11))
    ]
    path.write_text("\n".join(["instance\tannotator\tstart\tend\ttokens", *rows]))
    assert run(["agreement", str(path), "--resamples", "0"]) == 0
    out = capsys.readouterr().out
    assert "kappa is 0 where long and short spans overlap alike, however well (here 0.80" in out
