"""Inputs of users that once gave a wrong answer without a word, through the command line."""

import json
from pathlib import Path

import pytest
from processes import Run
from tei_fixtures import document

from allusion_es.local.index import LocalIndex

WEBANNO = """\
#FORMAT=WebAnno TSV 3.3
#T_SP=webanno.custom.Allusion|doubt|kind


#Text=gustate et videte quoniam suavis
"""
WORDS = ("gustate", "et", "videte", "quoniam", "suavis")


def relevant(run: Run, path: Path, *command: str) -> list[str]:
    done = run(*command, str(path))
    return [name for line in done.stdout.splitlines() for name in json.loads(line)["relevant"]]


def test_roman_numerals_that_are_names_of_books(
    run: Run, vulgate_index: LocalIndex, tmp_path: Path
) -> None:
    path = tmp_path / "roman.tsv"
    path.write_text(
        "query_id\ttext\trelevant\nq1\tomnes sitientes venite ad aquas\tIs. LV, 1\n"
        "q2\tquoniam conculcavit me homo\tPs. LV, 2\n"
    )
    assert relevant(run, path, "gold", "convert", "--to", "jsonl") == ["Isa.55.1", "Ps.55.2"]


@pytest.mark.parametrize(
    ("notes", "verses", "told"),
    [
        (("Ps. XXII, v. 4", "Gen. 1, v. 26"), ["Ps.22.4", "Gen.1.26"], ()),
        (("Iud. 16, 3",), [], ("'Iud. 16, 3'",)),
        (("III Esdr. 4, 4", "IV Esdr. 2, 34"), [], ("'III Esdr. 4, 4'", "'IV Esdr. 2, 34'")),
    ],
)
def test_references_of_an_edition(
    run: Run,
    vulgate_index: LocalIndex,
    tmp_path: Path,
    notes: tuple[str, ...],
    verses: list[str],
    told: tuple[str, ...],
) -> None:
    path = tmp_path / "edition.xml"
    body = "".join(
        f"<p>Ait: <quote>virga tua et baculus tuus</quote><note>{note}</note> inquit.</p>"
        for note in notes
    )
    path.write_text(document(body))
    assert relevant(run, path, "gold", "from-tei") == verses
    done = run("gold", "from-tei", str(path))
    assert all(each in done.stderr for each in told)


def test_words_that_are_marked_up_one_by_one(
    run: Run, vulgate_index: LocalIndex, tmp_path: Path
) -> None:
    path = tmp_path / "words.xml"
    text = "Audite fratres gustate et videte quoniam suavis est Dominus beatus vir qui sperat in eo"
    path.write_text(document(f"<p>{''.join(f'<w>{word}</w>' for word in text.split())}</p>"))
    done = run("scan", str(path), "--format", "json")
    assert [json.loads(line)["reference"] for line in done.stdout.splitlines()] == ["Ps 33,9"]


def test_abbreviations_are_read_written_out(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "abbreviations.xml"
    path.write_text(
        document(
            "<p>Gustate et videte <choice><am>qm</am><ex>quoniam</ex></choice> suavis est "
            "<choice><am>dns</am><ex>dominus</ex></choice>.</p>"
        )
    )
    rows = run("read", str(path), "--format", "json").stdout.splitlines()
    texts = [json.loads(row) for row in rows]
    assert any("Gustate et videte quoniam suavis est dominus." in str(row) for row in texts)


def test_accents_on_ligatures(run: Run, vulgate_index: LocalIndex, tmp_path: Path) -> None:
    accents = "manet in sǽculum sǽculi\nmúnera quæ étiam excǽcant\ngládio cǽdet et státuæ\n"
    plain = "manet in sæculum sæculi\nmunera quæ etiam excæcant\ngladio cædet et statuæ\n"
    path, found = tmp_path / "accents.txt", []
    for text in (accents, plain):
        path.write_text(text, "utf-8")
        done = run("query", str(path), "--top", "1", "--format", "json")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert [answer["query"]["unknown"] for answer in answers] == [[], [], []]
        found.append([answer["hits"][0]["reference"] for answer in answers])
    first, as_plain = found
    assert first == as_plain == ["Ps 111,9", "Exod 23,8", "Ezech 26,11"]


def test_the_curation_is_no_annotator(run: Run, tmp_path: Path) -> None:
    for folder, name, marked in (
        ("annotation", "anna", (0, 1, 2)),
        ("annotation", "berta", (1, 2, 3)),
        ("curation", "CURATION_USER", (0, 1, 2)),
    ):
        lines, start = [], 0
        for number, word in enumerate(WORDS):
            mark = "*[1]" if number in marked else "_"
            lines.append(f"1-{number + 1}\t{start}-{start + len(word)}\t{word}\t{mark}\t{mark}\t\n")
            start += len(word) + 1
        path = tmp_path / folder / "sermo.txt" / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(WEBANNO + "".join(lines))
    done = run("agreement", str(tmp_path), "--format", "json", "--resamples", "0")
    found = json.loads(done.stdout)
    assert (found["observed_overlap"], found["pairs"]) == (0.5, 1)
    assert "CURATION_USER" in done.stderr


def test_a_page_is_read_without_its_markup(
    run: Run, vulgate_index: LocalIndex, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_text(
        "<html><head><title>Sermo</title></head><body><h1>Sermo</h1><p>Gustate et videte quoniam "
        "suavis est Dominus<br/>Beatus vir qui sperat in eo; c&aelig;li enarrant gloriam Dei, et "
        "opera manuum ejus annuntiat firmamentum</p></body></html>"
    )
    done = run("scan", str(path), "--format", "json")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [finding["reference"] for finding in found] == ["Ps 33,9", "Ps 18,2"]
    assert "<" not in done.stdout
