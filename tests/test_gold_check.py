"""What is said of gold links that are not as they should be."""

from dataclasses import replace
from pathlib import Path

import pytest

from allusion_es.core.errors import InputError
from allusion_es.evaluation.gold.check import TypeCounts, check
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.evaluation.gold.ids import resolve_known
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.types import Query

SHARED = Path(__file__).parents[2] / "shared" / "data" / "gold"
COLLECTION = {
    "Ps.1.1": "Beatus vir qui non abiit in consilio",
    "Ps.1.2": "sed in lege Domini voluntas eius",
    "Ps.22.1": "Dominus regit me et nihil mihi deerit",
}


def link(query_id: str, text: str, *relevant: str, type: str = "", anchor: str = "") -> GoldLink:
    query = Query(text, query_id, anchor=anchor)
    return GoldLink(query, relevant, type, line=int(query_id[1:]))


def test_counts_and_findings_by_hand() -> None:
    links = [
        link("q1", "beati viri", "Ps.1.1", type="allusion"),  # beatus, uir: lemmas only
        link("q2", "Dominus me regit", "Ps.22.1", "Ps.1.2", type="allusion"),  # dominus, domini
        link("q3", "gustate et videte", "Ps.1.1"),
        link("q4", "dominus ME regit.", "Ps.1.2", "Ps.22.1"),
        link("q5", "Beati viri!", "Ps.22.1", anchor="vir"),
        link("q6", "nihil deerit", "Ps.22.1", "Ps.22.9", anchor="deerit"),
        link("q7", "unus", "Ps.151.1"),
    ]
    report = check(links, index_texts(COLLECTION), Analyser())
    assert report.types == (
        TypeCounts("", queries=4, links=5, several=1, no_token=3, no_lemma=2),
        TypeCounts("allusion", queries=2, links=3, several=1, no_token=2, no_lemma=0),
    )
    found = [(each.kind, each.line, each.query_id, each.passage) for each in report.findings]
    assert found == [
        ("unknown", 6, "q6", "Ps.22.9"),
        ("unknown", 7, "q7", "Ps.151.1"),
        ("duplicate", 4, "q4", ""),
        ("repeated", 5, "q5", ""),
        ("anchor", 5, "q5", ""),
        ("no-overlap", 3, "q3", "Ps.1.1"),
        ("no-overlap", 5, "q5", "Ps.22.1"),
    ]
    notes = {each.kind: each.note for each in report.findings}
    assert notes["duplicate"] == "the same words and passages as query 'q2' on line 2"
    assert notes["repeated"] == "the same words as query 'q1' on line 1"
    assert notes["anchor"] == "the anchor 'vir' is not among the query's words"


def test_a_link_that_is_given_twice_in_other_words_is_refused() -> None:
    with pytest.raises(InputError, match=r"f:1: query 'q1': .* both mean Ps.1.1"):
        check(
            [link("q1", "beatus", "Ps.1.1", "Ps 1,1-2")],
            index_texts(COLLECTION),
            Analyser(),
            source="f",
        )


@pytest.mark.parametrize(
    ("text", "linked", "better"),
    [
        # A Hebrew psalm number; an English one, which counts no title; a slip of one verse.
        ("Dominus regit me, et nihil mihi deerit", "Ps.23.1", "Ps.22.1"),
        ("Miserere mei Deus secundum magnam misericordiam tuam", "Ps.51.1", "Ps.50.3"),
        ("ecce virgo concipiet et pariet filium", "Isa.7.13", "Isa.7.14"),
    ],
)
def test_a_number_that_is_off_by_one_is_noticed(
    text: str, linked: str, better: str, vulgate_index: LocalIndex
) -> None:
    report = check([link("q1", text, linked), link("q2", text, better)], vulgate_index, Analyser())
    numbering = [each for each in report.findings if each.kind == "numbering"]
    assert [(each.query_id, each.passage) for each in numbering] == [("q1", linked)]
    assert numbering[0].note.startswith(f"{better} shares more: ")


def test_both_verses_linked_are_no_suspicion(vulgate_index: LocalIndex) -> None:
    both = link("q1", "ecce virgo concipiet et pariet filium", "Isa.7.13", "Isa.7.14")
    assert check([both], vulgate_index, Analyser()).findings == ()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the development gold is not here")
def test_psalms_in_hebrew_numbers_stand_out(vulgate_index: LocalIndex) -> None:
    """Real quotations: few suspicions as they are, most once their psalm is one further."""
    ids = vulgate_index.ids()
    links, _ = resolve_known(read_gold(SHARED / "csel_quotations.jsonl"), ids)
    psalms = [each for each in links if each.relevant[0].startswith("Ps.")]

    def suspected(links: list[GoldLink]) -> int:
        findings = check(links, vulgate_index, Analyser()).findings
        return len({each.query_id for each in findings if each.kind == "numbering"})

    def moved(passage: str) -> str:
        book, psalm, verse = passage.split(".")
        return f"{book}.{int(psalm) + 1}.{verse}"

    moved_links = [replace(each, relevant=tuple(map(moved, each.relevant))) for each in psalms]
    wrong, _ = resolve_known(moved_links, ids)  # without verses that the next psalm lacks
    assert len(wrong) > 30
    assert suspected(psalms) <= 2
    assert suspected(wrong) >= 0.7 * len(wrong)
