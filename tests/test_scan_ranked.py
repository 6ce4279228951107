"""Scans of collections other than the Bible, which are read by the ranker."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import Run

from allusion_es.core.errors import InputError
from allusion_es.corpora.source import read_source
from allusion_es.evaluation.gold.files import make_link
from allusion_es.language.latin.analysis import Analyser
from allusion_es.learning.collection_ranker import RankerLearner, parts_of
from allusion_es.learning.collection_scan import learn_scan, scan_file, scan_pieces
from allusion_es.learning.links import known_links, read_collection
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.pipeline import index_analyser
from allusion_es.scanning.measured import is_ranked, scan_model, unmeasured
from allusion_es.scanning.model import RANKED, SCORE, ScanOptions, calibration, ranked_calibration
from allusion_es.scanning.ranked import LONGEST, pieces, ranked_reading
from allusion_es.scanning.scanner import Scanner

VERGIL = {
    "aen.1.1": "Arma virumque cano, Troiae qui primus ab oris",
    "aen.1.2": "Italiam fato profugus Laviniaque venit",
    "aen.2.337": "in flammas et in arma feror, quo tristis Erinys",
    "aen.6.816": "nunc quoque iam nimium gaudens popularibus auris",
    "aen.9.97": "Aeneas? cui tanta deo permissa potestas",
    "aen.12.6": "tum demum movet arma leo gaudetque comantis",
}
# With lines between, of which none is like those of Lucan.
AENEID = {
    name: text
    for number, (verse, line) in enumerate(VERGIL.items())
    for name, text in [
        *((f"x.{number}.{n}", f"uerbum{number}x{n} quam rusticus") for n in range(40)),
        (verse, line),
    ]
}
LUCAN = (
    "Bella per Emathios plus quam civilia campos\n"
    "multa dare in vulgus, totus popularibus auris\n"
    "pontifices, sacri quibus est permissa potestas"
)


@given(
    st.lists(
        st.sampled_from(["arma", "virumque", "cano,", "et", "Troiae;", "oris.", "\n", "12"]),
        max_size=80,
    )
)
def test_pieces_hold_every_word_once_and_are_short(words: list[str]) -> None:
    text = " ".join(words)
    analysis = Analyser().analyse(text)
    found = pieces(text, analysis)
    assert [n for first, end in found for n in range(first, end)] == list(
        range(len(analysis.tokens))
    )
    assert all(0 < end - first <= LONGEST for first, end in found)
    lines = [len(Analyser().analyse(line).tokens) for line in text.split("\n")]
    if max(lines) <= LONGEST:
        assert [end - first for first, end in found] == [count for count in lines if count]


def test_long_lines_are_cut_at_the_ends_of_clauses() -> None:
    text = (
        "Gallia est omnis divisa in partes tres, quarum unam incolunt Belgae, aliam Aquitani, " * 2
    )
    analysis = Analyser().analyse(text)
    shown = [" ".join(analysis.tokens[a:b]) for a, b in pieces(text, analysis)]
    assert shown[:2] == [
        "gallia est omnis diuisa in partes tres quarum unam incolunt belgae",
        "aliam aquitani gallia est omnis diuisa in partes tres",
    ]


def test_a_passage_gets_the_words_that_it_has_or_the_whole_piece() -> None:
    index = index_texts(VERGIL)
    analysis = Analyser().analyse("multa dare in vulgus totus popularibus auris sacra")
    best = [{"aen.6.816": 3.0, "aen.1.2": 1.0}]
    reading = ranked_reading(index, analysis, [(0, len(analysis.tokens))], best)
    found = {
        reading.texts.ids[passage]: (first, last, score)
        for passage, first, last, (score,) in zip(
            reading.segments.passages.tolist(),
            reading.segments.firsts.tolist(),
            reading.segments.lasts.tolist(),
            reading.features.tolist(),
            strict=True,
        )
    }
    assert found == {"aen.6.816": (5, 6, 3.0), "aen.1.2": (0, 7, 1.0)}


def test_a_scan_reads_by_the_ranker_and_says_that_nothing_was_measured(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "lucan.txt"
    path.write_text(LUCAN)
    index = index_texts(AENEID)
    scanner = Scanner(index, ScanOptions(threshold=0.3))
    found = {one.passages: one for one in scanner.scan(read_source(path))}
    assert found["aen.6.816",].text == "popularibus auris"
    assert found["aen.9.97",].text == "permissa potestas"
    assert not any(one.calibrated for one in found.values())
    assert "not calibrated for this collection, which 'allusion-es learn'" in scanner.unmeasured
    assert scanner.points == ()
    again = Scanner(index, ScanOptions(threshold=0.3)).scan(read_source(path))
    assert list(again) == list(found.values())
    table = tmp_path / "aeneid.tsv"
    table.write_text("id\ttext\n" + "".join(f"{n}\t{text}\n" for n, text in AENEID.items()))
    assert run("index", str(table), "--name", "ranked", "--no-vectors").returncode == 0
    done = run("scan", str(path), "--name", "ranked", "--format", "json")
    assert done.returncode == 0
    assert "(not calibrated for this collection, which 'allusion-es learn' does" in done.stderr


def test_findings_of_two_authors_are_not_joined(run: Run, tmp_path: Path) -> None:
    """Two authors may each have `Carmina`, the last line of one before the first of the other."""
    lines = [
        *((f"c{n}", f"uerbum{n} quam rusticus", "Catullus") for n in range(20)),
        ("c20", "uiuamus mea Lesbia atque amemus", "Catullus"),
        ("h1", "carpe diem quam minimum credula postero", "Horatius"),
        ("h2", "exegi monumentum aere perennius", "Horatius"),
    ]
    table, path = tmp_path / "carmina.tsv", tmp_path / "sermo.txt"
    rows = (f"{name}\t{text}\tCarmina\t{author}\n" for name, text, author in lines)
    table.write_text("id\ttext\twork\tauthor\n" + "".join(rows))
    path.write_text(" ".join(text for _, text, _ in lines[-3:]))
    assert run("index", str(table), "--name", "carmina", "--no-vectors").returncode == 0
    done = run("scan", str(path), "--name", "carmina", "--format", "json")
    found = [json.loads(line)["passages"] for line in done.stdout.splitlines()]
    assert found == [["c20"], ["h1", "h2"]]


def test_the_bible_and_fast_scans_are_read_as_before(vulgate_index: LocalIndex) -> None:
    epic, bible = index_texts(VERGIL), vulgate_index
    assert not is_ranked(bible, ScanOptions())
    assert not is_ranked(epic, ScanOptions(fast=True))
    assert is_ranked(epic, ScanOptions())
    model = scan_model(epic, ScanOptions())
    assert model == calibration(RANKED)
    assert len(model.weights) == len(SCORE)
    # A higher score is likelier, and never sure.
    low, high = model.probabilities(np.array([[1.0], [6.0]])).tolist()
    assert 0 < low < high < 1
    assert unmeasured(bible, ScanOptions()) == ""


def test_a_damaged_model_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_texts(VERGIL)
    ranker = tmp_path / "0123456789abcdef.ranker"
    monkeypatch.setattr(type(index), "ranker", ranker)
    for content in ("", "{}", "[]", '{"measured_on": {}}'):
        ranker.with_suffix(".scan-model").write_text(content)

        with pytest.raises(InputError, match="not the model of a scan"):
            scan_model(index, ScanOptions())


WORDS = ("arma", "bellum", "cano", "deus", "ensis", "fatum", "genus", "hora", "ignis", "nox")


def line(number: int) -> str:
    return f"{WORDS[number % 10]} {WORDS[number // 10]} et {WORDS[(3 * number + 1) % 10]} mare"


def test_probabilities_are_learned_from_links_and_measured_on_others() -> None:
    """Links whose every finding is right, in one of two parts: their order must stay."""
    index = index_texts({f"aen.{number}": line(number) for number in range(60)})
    gold = [
        make_link(
            {
                "query_id": f"{number}",
                "text": line(number),
                "relevant": [f"aen.{number}"],
                "title": f"opus {number % 2}",
            },
            Path("gold.jsonl"),
            number,
        )
        for number in range(60)
    ]
    links, _ = known_links(gold, read_collection(index), index_analyser(index))
    learner = RankerLearner(index)
    examples = learner.examples(links)
    pieces = scan_pieces(index, learner, examples, parts_of(examples, 2))
    assert len(pieces) == 60
    model = learn_scan(pieces)
    assert model is not None
    assert model.weights[0] > 0
    point = model.measured(model.threshold)
    assert point is not None
    assert point.recall > 0.9
    # The same links give the same file, which is read as it was written.
    again = learn_scan(scan_pieces(index, learner, examples, parts_of(examples, 2)))
    assert scan_file(index, model) == scan_file(index, again or model)
    assert ranked_calibration(json.loads(scan_file(index, model))) == model
    # Of one part alone nothing can be measured.
    assert learn_scan(scan_pieces(index, learner, examples, [[*range(60)]])) is None
    assert learn_scan(scan_pieces(index, learner, examples, [[*range(60)], []])) is None


def test_a_server_has_the_same_findings(
    run: Run, tmp_path: Path, elasticsearch_url_any: str
) -> None:
    table, path = tmp_path / "aeneid.tsv", tmp_path / "lucan.txt"
    table.write_text("id\ttext\n" + "".join(f"{n}\t{text}\n" for n, text in AENEID.items()))
    path.write_text(LUCAN)
    found = []
    for there in ((), ("--es", elasticsearch_url_any)):
        done = run("index", str(table), "--name", "ranked-both", *there)
        assert done.returncode == 0, done.stderr
        done = run("scan", str(path), "--name", "ranked-both", "--format", "json", *there)
        assert done.returncode == 0, done.stderr
        found.append([json.loads(row) for row in done.stdout.splitlines()])
    here, there_ = found
    assert len(here) >= 2
    for one, other in zip(here, there_, strict=True):
        assert one["passages"] == other["passages"]
        assert (one["start"], one["end"]) == (other["start"], other["end"])
        assert one["probability"] == pytest.approx(other["probability"], abs=1e-4)
