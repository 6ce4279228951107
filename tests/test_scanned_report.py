"""What a report shows of a scan."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.corpora.findings import Alternative, Finding
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.passage_files import verse_passage
from allusion_es.corpora.source import read_source
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.build import build_local
from allusion_es.local.index import LocalIndex
from allusion_es.reports.report import report_data
from allusion_es.reports.scanned import context, order_heat, scan_meta, scanned_findings
from allusion_es.retrieval.analysed import analyse_passages
from allusion_es.retrieval.index import IndexSettings

VERSES = {
    "Gen.1.1": "In principio creavit Deus caelum et terram.",
    "Ps.33.8": "Immittet angelus Domini.",
    "Ps.33.9": "Gustate et videte quoniam suavis est Dominus.",
    "Ps.33.10": "Timete Dominum, omnes sancti ejus.",
    "Ps.33.11": "Divites eguerunt et esurierunt.",
    "John.1.1": "In principio erat Verbum.",
}
ANALYSER = Analyser()
WORDS = ("deus", "dixit", "fiat", "lux", "gustate", "et", "uidete")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> LocalIndex:
    path = tmp_path_factory.mktemp("index") / "few.idx"
    passages: list[Passage] = [
        verse_passage(name, text, "Vulgata", n) for n, (name, text) in enumerate(VERSES.items())
    ]
    analysed = analyse_passages(passages, ANALYSER)
    build_local(path, analysed, IndexSettings(ANALYSER.settings), None, None)
    return LocalIndex(path)


def finding(text: str, found: str, passages: str, **more: object) -> Finding:
    """A finding of some words of a text."""
    start = text.index(found)
    ids = tuple(passages.split())
    values = {"score": 2.0, "probability": 0.8, "kind": "quotation", "words": tuple(found.split())}
    return Finding(start, start + len(found), found, ids, f"ref {passages}", **{**values, **more})  # type: ignore[arg-type]


def test_words_stand_in_their_context_and_verses_beside_their_neighbours(
    index: LocalIndex, tmp_path: Path
) -> None:
    text = f"Prima linea.\n{'ante ' * 100}gustate et videte{' post' * 100}\n"
    (tmp_path / "sermo.txt").write_text(text)
    source = read_source(tmp_path / "sermo.txt")
    found = finding(text, "gustate et videte", "Ps.33.9")
    (shown,) = scanned_findings(source, [found], index, ANALYSER)
    assert (shown.id, shown.label, shown.place) == ("sermo:513-530", "line 2", 513)
    assert shown.before.startswith("…ante ante")
    assert shown.before.endswith("ante ")
    assert shown.after.startswith(" post")
    assert shown.after.endswith("post…")
    (match,) = shown.matches
    assert (match.kind, match.probability, match.score) == ("quotation", 0.8, 2.0)
    assert [p.id for p in match.before] == ["Ps.33.8"]
    assert [p.id for p in match.after] == ["Ps.33.10", "Ps.33.11"]
    assert (match.candidate_rank, match.ids) == (0, ())


def test_verses_in_a_row_are_one_passage_and_several_gold_ids(
    index: LocalIndex, tmp_path: Path
) -> None:
    text = "timete dominum divites in principio"
    (tmp_path / "sermo.txt").write_text(text)
    source = read_source(tmp_path / "sermo.txt")
    others = (
        Alternative(("John.1.1",), "Joh 1,1", 1.0, 0.3),
        Alternative(("Gen.1.1",), "Gen 1,1", 2.0, 0.8),
    )
    findings = [
        finding(text, "timete dominum divites", "Ps.33.10 Ps.33.11"),
        finding(text, "in principio", "Gen.1.1", alternatives=others),
    ]
    shown = list(scanned_findings(source, findings, index, ANALYSER))
    (row,) = shown[0].matches
    assert row.ids == ("Ps.33.10", "Ps.33.11")
    assert row.passage.text == f"{VERSES['Ps.33.10']} {VERSES['Ps.33.11']}"
    assert row.passage.reference == "ref Ps.33.10 Ps.33.11"
    assert [p.id for p in row.before] == ["Ps.33.8", "Ps.33.9"]
    assert row.after == ()
    # The alternative that is the finding itself is not named twice.
    assert [m.passage.id for m in shown[1].matches] == ["Gen.1.1", "John.1.1"]
    assert [m.probability for m in shown[1].matches] == [0.8, 0.3]
    data = report_data(shown, scan_meta(source, "few", "Scan"))
    assert data["extent"] == len(text)
    joined = data["passages"][data["findings"][0]["matches"][0]["passage"]]
    assert joined["ids"] == ["Ps.33.10", "Ps.33.11"]
    assert [book["id"] for book in data["books"]] == ["Gen", "Ps", "John"]
    assert "candidateRank" not in data["findings"][0]["matches"][0]


def test_shades_follow_the_order_of_the_words(index: LocalIndex, tmp_path: Path) -> None:
    text = "videte gustate fratres"
    (tmp_path / "sermo.txt").write_text(text)
    source = read_source(tmp_path / "sermo.txt")
    found = finding(text, text, "Ps.33.9", words=("gustate", "videte"))
    shown = list(scanned_findings(source, [found], index, ANALYSER))
    data = report_data(shown, scan_meta(source, "few", "Scan"))
    (match,) = data["findings"][0]["matches"]
    assert match["query"] == [[0, 6, None, 0.65], [7, 14, None, 1.0]]
    assert match["words"] == [[0, 7, None, 1.0], [11, 17, None, 0.65]]
    assert match["pairs"] == [
        ["gustate", "gustate", None, [1], [0]],
        ["uidete", "uidete", None, [0], [1]],
    ]
    assert "does not say how much" in data["notes"][-1]


@given(
    st.lists(
        st.sampled_from(["deus", "dixit", "fiat", "lux", "gustate", "et", "uidete"]), max_size=9
    )
)
def test_only_words_that_carry_are_shaded(words: list[str]) -> None:
    text = "Deus dixit: gustate, gustate!"
    verse = "Dixit Deus: Gustate et videte."
    heat = order_heat(text, ANALYSER.analyse(text), words, ANALYSER.analyse(verse))
    shaded = {text[word.start : word.end].lower() for word in heat.query}
    assert shaded == {"deus", "dixit", "gustate"} & set(words)
    assert all(0 < word.shade <= 1 for word in (*heat.query, *heat.passage))
    for pair in heat.pairs:
        assert all(0 <= n < len(heat.query) for n in pair.query_places)
        assert all(0 <= n < len(heat.passage) for n in pair.passage_places)
    order = [words.index(text[w.start : w.end].lower()) for w in heat.query]
    ranked = sorted(zip(order, (-w.shade for w in heat.query), strict=True))
    assert [shade for _, shade in ranked] == sorted(shade for _, shade in ranked)


@given(st.text("ab \n", max_size=80), st.data())
def test_context_is_what_stands_there(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    before, after = context(text, start, end, 10)
    assert len(before) <= 11
    assert len(after) <= 11
    assert text[:start].endswith(before.removeprefix("…"))
    assert text[end:].startswith(after.removesuffix("…"))


def test_what_the_edition_says_is_said(index: LocalIndex, tmp_path: Path) -> None:
    (tmp_path / "sermo.xml").write_text(
        "<TEI><text><body><p>Ait: gustate et videte <ref cRef='Ps 33,9'>Ps 33</ref>. "
        f"{'alia uerba ' * 20} in principio.</p></body></text></TEI>"
    )
    source = read_source(tmp_path / "sermo.xml")
    findings = [
        finding(source.text, "gustate et videte", "Ps.33.9"),
        finding(source.text, "in principio", "Gen.1.1"),
    ]
    one, other = scanned_findings(source, findings, index, ANALYSER)
    assert (one.note, other.note) == ("The edition has here: Ps 33,9", "")
