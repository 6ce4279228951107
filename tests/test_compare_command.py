"""`allusion-es compare`: a later text with an earlier one, in one command."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

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


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["{source}", "missing.tess"], 4, "missing.tess: cannot be read"),
        (["missing.tess", "{target}"], 4, "missing.tess: there is no such file, and no index of"),
        (["no-such-index", "{target}"], 4, "no-such-index: there is no such file, and no index"),
        (["{source}", "{target}", "--top", "0"], 2, "--top"),
        (["{source}", "{target}", "--rerank", "nil"], 11, "no rerankers plug-in 'nil'"),
        (["{source}", "{target}", "--author", "Ovid"], 2, "--author: index 'vergil-aeneid-"),
        (["{source}", "{target}", "--html", "a.txt"], 2, "must end in .html"),
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
