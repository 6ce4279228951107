"""Figures of a scan are told only where they were measured."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Run

from allusion_es.corpora.findings import Finding, annotation_lines, json_line, table_lines
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.source import read_source
from allusion_es.corpora.tei.write import inline_markup, standoff_lines, with_insertions
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import BuildOptions, Library
from allusion_es.local.memory import index_texts
from allusion_es.reports.scanned import calibration_note
from allusion_es.retrieval.citation_models import CitationModels
from allusion_es.retrieval.types import SearchFilter
from allusion_es.scanning import measured
from allusion_es.scanning.measured import measured_on, unmeasured
from allusion_es.scanning.model import ScanOptions, calibration, shipped
from allusion_es.scanning.scanner import Scanner

TEXT = "Gustate, inquit, et videte quam suavis est Dominus."
VERSES = {f"Ps.1.{n}": f"uerbum{n} dies" for n in range(1, 700)}


def test_the_figures_of_the_vulgate_hold_for_it(vulgate_index: LocalIndex) -> None:
    scanner = Scanner(vulgate_index)
    assert scanner.unmeasured == ""
    model = calibration("default")
    assert scanner.measured == model.measured(model.threshold)
    assert scanner.measured is not None
    assert scanner.measured.threshold == model.threshold
    assert Scanner(vulgate_index, ScanOptions(fast=True)).measured is not None


def test_the_vectors_that_come_with_the_program_are_those_of_the_figures(
    library: Library,
) -> None:
    vectors = CitationModels(library.folder).shipped()
    assert vectors is not None
    assert measured._shipped().citations == vectors.name


def test_another_collection_is_known_by_its_texts_not_by_its_name(
    library: Library, vulgate_passages: Sequence[Passage], vulgate_index: LocalIndex, tmp_path: Path
) -> None:
    """Neither a name nor the ids and their number make a collection the Vulgate."""
    other = Library(tmp_path)
    (tmp_path / "data").symlink_to(library.folder / "data")
    options = BuildOptions(vectors=False)
    other.build("vulgate", vulgate_passages[:500], options)
    told = "not calibrated for this collection, only for the Vulgate"
    assert unmeasured(other.open("vulgate"), ScanOptions()) == told
    changed = (replace(each, text="Gustate et videte.") for each in vulgate_passages)
    other.build("vulgate", changed, options)
    assert unmeasured(other.open("vulgate"), ScanOptions()) == told
    # The same verses under another name are the Vulgate.
    other.build("biblia", vulgate_passages, options)
    assert unmeasured(other.open("biblia"), ScanOptions()) == ""


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> LocalIndex:
    """A small index for which the figures are taken to have been measured."""
    index = index_texts(VERSES, verses=True)
    known = measured_on(index)
    monkeypatch.setattr(measured, "_shipped", lambda: known)
    return index


def test_what_is_known_of_a_collection_survives_its_file() -> None:
    index = index_texts(VERSES)
    known = measured_on(index)
    record = json.loads(json.dumps(known.to_json()))
    assert len(known.ids) == 256
    assert record["digest"] == known.digest
    assert record.keys() == json.loads(json.dumps(shipped()))["measured_on"].keys()
    assert known.is_collection(index_texts(VERSES))
    assert not known.is_collection(index_texts({**VERSES, "Ps.2.1": "dies"}))
    without = dict(list(VERSES.items())[1:])
    assert not known.is_collection(index_texts({**without, "Ps.2.1": "dies"}))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (ScanOptions(), ""),
        (ScanOptions(threshold=0.9), ""),
        (ScanOptions(precision=0.8), ""),
        (
            ScanOptions(search_filter=SearchFilter(books=frozenset({"Ps"}))),
            "a part of the collection",
        ),
        (
            ScanOptions(search_filter=SearchFilter(works=frozenset({"x"}))),
            "a part of the collection",
        ),
        (ScanOptions(top=1), "1 passages a finding, only for 6"),
    ],
)
def test_figures_hold_for_the_options_that_they_were_measured_with(
    own: LocalIndex, options: ScanOptions, told: str
) -> None:
    found = unmeasured(own, options)
    assert told in found if told else found == ""


@pytest.mark.parametrize(
    ("changes", "fast", "told"),
    [
        ({"k1": 2.0}, False, "other settings"),
        ({"b": 0.1}, True, "other settings"),
        ({"citations": "0123456789abcdef"}, False, "these citation vectors"),
        ({"citations": "0123456789abcdef"}, True, ""),
        ({"vectors": "my own"}, False, ""),
    ],
)
def test_figures_hold_for_the_index_that_they_were_measured_with(
    own: LocalIndex, changes: dict[str, object], fast: bool, told: str
) -> None:
    own.settings = replace(own.settings, **changes)  # type: ignore[arg-type]
    found = unmeasured(own, ScanOptions(fast=fast))
    assert told in found if told else found == ""


@pytest.mark.parametrize(("threshold", "at"), [(0.4, 0.4), (0.42, 0.4), (0.01, None), (1.0, None)])
def test_figures_are_told_of_measured_thresholds_only(threshold: float, at: float | None) -> None:
    point = calibration("default").measured(threshold)
    assert (point.threshold if point else None) == at


FOUND = Finding(0, 7, "Gustate", ("Ps.33.9",), "Ps 33,9", 2.5, 0.9, "quotation")


@pytest.mark.parametrize("calibrated", [True, False])
def test_every_format_says_whether_a_probability_is_one(tmp_path: Path, calibrated: bool) -> None:
    path = tmp_path / "sermo.xml"
    path.write_text(f"<TEI><teiHeader/><text><body><p>{TEXT}</p></body></text></TEI>")
    source, found = read_source(path), [replace(FOUND, calibrated=calibrated)]
    assert json.loads(json_line(source, found[0]))["calibrated"] is calibrated
    assert list(table_lines(source, found))[1].endswith("\tyes" if calibrated else "\tno")
    inline = b"".join(with_insertions(source, inline_markup(source, found))).decode()
    assert ('type="quotation" subtype="uncalibrated"' in inline) is not calibrated
    beside = "\n".join(standoff_lines(source, found))
    assert ("cert is not calibrated" in beside) is not calibrated
    page = "".join(annotation_lines(source, found))
    assert ("not calibrated" in page) is not calibrated


def test_a_report_has_a_note_where_probabilities_are_none() -> None:
    assert calibration_note("") == ""
    assert "only rank" in calibration_note("not calibrated for this collection")


def test_the_command_tells_why(run: Run, vulgate_index: LocalIndex, tmp_path: Path) -> None:
    text = tmp_path / "sermo.txt"
    text.write_text(TEXT)

    def told(*options: str) -> str:
        done = run("scan", str(text), *options)
        assert done.returncode == 0, done.stderr
        return done.stderr

    model = calibration("default")

    def figures(threshold: float) -> str:
        point = model.measured(threshold)
        assert point is not None
        return f"precision {point.precision:.2f}, recall {point.recall:.2f})"

    assert f"(measured: {figures(model.threshold)}" in told()
    assert f"(measured at 0.4: {figures(0.4)}" in told("--threshold", "0.41")
    assert "(nothing was measured at 0.01)" in told("--threshold", "0.01")
    assert "(not calibrated for a part of the collection" in told("--book", "Ps")
    path = tmp_path / "out" / "sermo.html"
    told("--html", str(path), "--book", "Ps")
    report = path.read_text("utf-8")
    assert "Probabilities are not calibrated for a part of the collection" in report
