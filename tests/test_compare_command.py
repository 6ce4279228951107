"""`allusion-es compare`: a later text with an earlier one, in one command."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from conftest import Run

import allusion_es as ae
from allusion_es.front.comparison import COLUMNS

VERGIL = """<verg. aen. 1.1>\tArma virumque cano, Troiae qui primus ab oris
<verg. aen. 2.337>\tin flammas et in arma feror, quo tristis Erinys,
<verg. aen. 6.816>\tnunc quoque iam nimium gaudens popularibus auris.
<verg. aen. 9.97>\tAeneas? Cui tanta deo permissa potestas?
<verg. aen. 12.6>\ttum demum movet arma leo gaudetque comantis
"""
LUCAN = """<luc. 1.1>\tBella per Emathios plus quam civilia campos
<luc. 1.132>\tMulta dare in vulgus; totus popularibus auris
<luc. 1.595>\tPontifices, sacri quibus est permissa potestas.
<luc. 1.687>\tArentemque feror Libyen, quo tristis Erinnys
"""
EXPECTED = {
    "luc. 1.132": ("verg. aen. 6.816", ["popularibus", "auris"]),
    "luc. 1.595": ("verg. aen. 9.97", ["permissa", "potestas"]),
    "luc. 1.687": ("verg. aen. 2.337", ["feror", "tristis"]),
}


@pytest.fixture
def texts(tmp_path: Path) -> tuple[str, str]:
    """The paths of lines of Vergil and of Lucan."""
    source, target = tmp_path / "vergil.aeneid.tess", tmp_path / "lucan.bellum_civile.tess"
    source.write_text(VERGIL)
    target.write_text(LUCAN)
    return str(source), str(target)


def pairs(run: Run, *arguments: str) -> list[dict[str, Any]]:
    """The pairs that the command prints as JSON."""
    done = run("compare", *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_best_pairs_come_first_with_their_words(run: Run, texts: tuple[str, str]) -> None:
    found = pairs(run, *texts, "--top", "3")
    assert {row["target"]: (row["source"], row["matched"]) for row in found} == EXPECTED
    assert [row["rank"] for row in found] == [1, 2, 3]
    scores = [row["score"] for row in found]
    assert scores == sorted(scores, reverse=True)
    assert found[0].keys() >= {"target_text", "source_text", "target_id", "source_id"}
    assert pairs(run, *texts, "--top", "3") == found


def test_each_format_has_the_same_pairs(run: Run, texts: tuple[str, str], tmp_path: Path) -> None:
    expected = [(row["target"], row["source"]) for row in pairs(run, *texts, "--top", "3")]
    done = run("compare", *texts, "--top", "3", "--format", "csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [(row["target"], row["source"]) for row in rows] == expected
    assert "Pontifices, sacri quibus est permissa potestas." in [row["target_text"] for row in rows]
    done = run("compare", *texts, "--top", "3", "--format", "tsv")
    header, *lines = (line.split("\t") for line in done.stdout.splitlines())
    assert header == list(rows[0])
    assert [(line[1], line[3]) for line in lines] == expected
    table = run("compare", *texts, "--top", "3")
    assert all(reference in table.stdout for pair in expected for reference in pair)
    assert "3 pairs of 4 passages of lucan.bellum_civile.tess with 5 of" in table.stderr
    report = tmp_path / "report.html"
    done = run("compare", *texts, "--top", "3", "--html", str(report))
    assert (done.returncode, done.stdout) == (0, "")
    assert f"{report}: 3 queries, 3 passages" in done.stderr
    assert "popularibus auris" in report.read_text()


def test_the_index_is_kept_until_the_text_changes(
    run: Run, texts: tuple[str, str], tmp_path: Path, data_folder: Path
) -> None:
    def kept() -> set[str]:
        return {path.name for path in (data_folder / "compared").glob("vergil-aeneid-*.idx")}

    source = Path(texts[0])
    source.write_text(VERGIL + "<verg. aen. 1.2>\tItaliam fato profugus\n")
    before = kept()
    pairs(run, *texts, "--top", "1")
    (name,) = kept() - before
    time = (data_folder / "compared" / name).stat().st_ino
    pairs(run, *texts, "--top", "1")
    assert (data_folder / "compared" / name).stat().st_ino == time
    source.write_text(VERGIL + "<verg. aen. 1.2>\tItaliam fato profugus venit\n")
    pairs(run, *texts, "--top", "1")
    assert len(kept() - before) == 2
    # A damaged index is built again.
    (data_folder / "compared" / name).write_bytes(b"damaged")
    source.write_text(VERGIL + "<verg. aen. 1.2>\tItaliam fato profugus\n")
    assert len(pairs(run, *texts, "--top", "1")) == 1
    # None of them is among the indexes that have a name.
    assert name.removesuffix(".idx") not in run("list", "indexes").stdout


def test_a_poem_is_not_compared_with_itself(run: Run, texts: tuple[str, str]) -> None:
    source, target = texts
    both = str(Path(source).parent)
    found = pairs(run, both, target)
    assert found
    assert not any(str(row["source_id"]).startswith("luc.") for row in found)
    done = run("compare", both, target, "--format", "json")
    assert done.stderr.count("lucan, bellum civile") == 1
    own = pairs(run, both, target, "--own-work", "--author", "lucan", "--top", "4")
    assert all(str(row["source_id"]).startswith("luc.") for row in own)


def test_an_index_may_be_the_source(run: Run, texts: tuple[str, str]) -> None:
    done = run("index", texts[0], "--name", "compare-source", "--no-learned-links")
    assert done.returncode == 0
    found = pairs(run, "compare-source", texts[1], "--top", "3", "--rerank", "tesserae")
    assert {row["target"]: row["source"] for row in found} == {
        target: source for target, (source, _) in EXPECTED.items()
    }


def test_a_file_goes_before_an_index_of_its_name_and_it_is_said(
    run: Run, texts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(texts[0]).rename("compare-both")
    Path("other.txt").write_text("quis desiderio sit pudor\n")
    note = (
        "note: compare-both is a file or folder here, and was read; "
        "the index of that name was not used"
    )
    assert note not in run("compare", "compare-both", texts[1], "--top", "1").stderr
    assert run("index", "other.txt", "--name", "compare-both", "--no-vectors").returncode == 0
    done = run("compare", "compare-both", texts[1], "--top", "1", "--format", "json")
    assert "verg. aen." in json.loads(done.stdout)["source_text"]
    assert note in done.stderr.splitlines()


ANCHISES = """<verg. aen. 2.687>\tAt pater Anchises oculos ad sidera laetus
<verg. aen. 2.688>\textulit, et caelo palmas cum voce tetendit:
<verg. aen. 2.689>\tIuppiter omnipotens, precibus si flecteris ullis,
<verg. aen. 2.690>\taspice nos
"""
VALERIUS = """<val. arg. 1.79>\ttandem animi incertum confusaque pectora firmat
<val. arg. 1.80>\treligio tendensque pias ad sidera palmas
<val. arg. 1.81>\tomnipotens regina, inquit, quam, turbidus atro
"""


def test_an_allusion_over_several_lines_is_one_pair(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "vergil.aeneid.tess", tmp_path / "valerius.argonautica.tess"
    source.write_text(ANCHISES)
    target.write_text(VALERIUS)
    texts = str(source), str(target)
    alone = pairs(run, *texts)
    assert all("-" not in f"{row['source']}{row['target']}" for row in alone)
    for window, place in ((2, "687-688"), (3, "687-689")):
        found = pairs(run, *texts, "--window", str(window))
        assert found[0]["source"] == f"verg. aen. 2.{place}"
        assert found[0]["target"] in ("val. arg. 1.80", "val. arg. 1.80-81")
        assert len(found) < len(alone) or window == 2
        scores = [row["score"] for row in found]
        assert scores == sorted(scores, reverse=True)
        # No pair is longer, and each single pair is in one.
        for row in found:
            for side in ("source", "target"):
                first, _, last = str(row[side]).rpartition(".")[2].partition("-")
                assert int(last or first) - int(first) < window
        single = {(row["target_text"], row["source_text"]) for row in alone}
        assert all(
            any(t in f"{row['target_text']}" and s in f"{row['source_text']}" for row in found)
            for t, s in single
        )
    assert found[0]["target_id"] == "val._arg._1.80-val._arg._1.81"
    assert found[0]["matched"] == ["tendens", "sidera", "palmas", "omnipotens"]
    report = tmp_path / "report.html"
    done = run("compare", *texts, "--window", "3", "--top", "1", "--html", str(report))
    assert done.returncode == 0
    assert f"{report}: 2 queries, 3 passages" in done.stderr


def test_function_words_are_left_out_of_pairs_over_several_lines(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "source.txt", tmp_path / "target.txt"
    source.write_text("palmas ad sidera tendit\nhaec quae nos sed et in\naltae moenia Romae\n")
    target.write_text("sidera tendens palmas\net in nos sed haec quae\nleo vidit\n")
    best, *_ = pairs(run, str(source), str(target), "--window", "2")
    assert (best["target"], best["source"]) == ("1-2", "1-2")
    assert best["matched"] == ["sidera", "tendens", "palmas"]


def test_python_gives_the_same_pairs(run: Run, texts: tuple[str, str], tmp_path: Path) -> None:
    source, target = texts
    for window in (1, 3):
        printed = pairs(run, *texts, "--top", "5", "--window", str(window))
        found = ae.compare(Path(source), target, top=5, window=window, explain=True)
        assert json.loads(json.dumps(found.to_dict())) == printed
    assert len(found) == len(printed)
    assert repr(found) == f"<Comparison: {len(found)} pairs of 4 passages with 5>"
    assert found[0].matched == tuple(printed[0]["matched"])
    assert list(found.to_pandas().columns) == list(COLUMNS)
    assert "popularibus" in found._repr_html_()
    found.to_html(tmp_path / "pairs.html")
    assert "popularibus" in (tmp_path / "pairs.html").read_text()
    lines = {"luc. 1.595": "pontifices, sacri quibus est permissa potestas"}
    assert run("index", source, "--name", "compare-python").returncode == 0
    by_name = ae.compare("compare-python", lines, top=1)
    opened = ae.compare(ae.open_index("compare-python"), lines, top=1)
    assert by_name[0].source.reference == opened[0].source.reference == "verg. aen. 9.97"
    assert ae.compare("compare-python", {"1": "xyzzy"}).pairs == ()


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda path: ae.compare(path, "missing.tess"), ae.InputError, "missing.tess: cannot"),
        (lambda path: ae.compare("no-such-index", path), ae.InputError, "there is no such file"),
        (lambda path: ae.compare(path, path, window=0), ae.UsageError, "window"),
        (lambda path: ae.compare(path, path, top=0), ae.UsageError, "top"),
        (lambda path: ae.compare(path, cast(str, 7)), ae.UsageError, "not int"),
        (lambda path: ae.compare(cast(str, 7), path), ae.UsageError, "an index is a name"),
    ],
)
def test_what_python_cannot_compare(
    texts: tuple[str, str], call: Callable[[str], object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        call(texts[0])


def test_an_index_on_a_server_is_kept_there(
    run: Run, texts: tuple[str, str], elasticsearch_url_any: str
) -> None:
    source, target = texts
    there = ("--es", elasticsearch_url_any)

    def kept() -> set[str]:
        rows = json.loads(run("list", "indexes", *there, "--format", "json").stdout)
        named = {row["name"] for row in rows if row["where"] == elasticsearch_url_any}
        return {name for name in named if name.startswith("vergil-aeneid-")}

    for window in ("1", "3"):
        here = pairs(run, *texts, "--top", "5", "--window", window)
        found = pairs(run, *texts, "--top", "5", "--window", window, *there)
        scores = [row.pop("score") for row in here]
        assert [row.pop("score") for row in found] == pytest.approx(scores, rel=1e-4)
        assert found == here
    (name,) = kept()
    by_name = pairs(run, name, target, "--top", "1", *there)
    assert by_name[0]["target"] == pairs(run, *texts, "--top", "1")[0]["target"]
    done = run("compare", "no-such-index", target, *there)
    assert (done.returncode, done.stdout) == (4, "")
    assert "there is no such file, and no index of that name" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    # One that lacks a record is not kept, since it would not say so.
    Path(source).write_text(f"{VERGIL}<verg. aen. 12.7>\t\n")
    assert run("compare", source, target, *there).returncode == 13
    assert kept() == {name}


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["{source}", "missing.tess"], 4, "missing.tess: cannot be read"),
        (["missing.tess", "{target}"], 4, "missing.tess: there is no such file, and no index can"),
        (["no-such-index", "{target}"], 4, "no-such-index: there is no such file, and no index"),
        (["{source}", "{target}", "--top", "0"], 2, "--top"),
        (["{source}", "{target}", "--window", "0"], 2, "--window"),
        (
            ["Vergil", "{target}"],
            4,
            "Vergil: there is no such file, and no index can have that name",
        ),
        (["{source}", "{target}", "--rerank", "nil"], 11, "no rerankers plug-in 'nil'"),
        (["{source}", "{target}", "--author", "Ovid"], 2, "--author: index 'vergil-aeneid-"),
        (["{source}", "{target}", "--html", "a.txt"], 2, "must end in .html"),
        (["vulgate", "{target}", "--es", "http://localhost:99999"], 2, "--es: the server's URL"),
    ],
)
def test_what_cannot_be_compared_is_told_in_one_line(
    run: Run, texts: tuple[str, str], arguments: list[str], status: int, said: str
) -> None:
    source, target = texts
    done = run("compare", *(each.format(source=source, target=target) for each in arguments))
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_one_bad_line_costs_no_other(run: Run, texts: tuple[str, str]) -> None:
    source, target = texts
    Path(target).write_text(f"no tag\n{LUCAN}")
    Path(source).write_text(f"{VERGIL}<verg. aen. 12.7>\t\n")
    for _ in range(2):
        done = run("compare", source, target, "--top", "3", "--format", "json")
        assert done.returncode == 13
        assert len(done.stdout.splitlines()) == 3
        assert f"left out: {target}:1: no tag before 'no tag'" in done.stderr
        assert f"left out: {source}:6: 'verg. aen. 12.7' has no words" in done.stderr
