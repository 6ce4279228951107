"""Gold links held against a collection."""

from pathlib import Path

import pytest

from allusion_es.core.errors import InputError, UsageError, VerseError
from allusion_es.corpora.passage import Passage
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.evaluation.gold.ids import canonical, resolve, resolve_known
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.retrieval.types import Query

SHARED = Path(__file__).parents[2] / "shared" / "data" / "gold"


@pytest.fixture(scope="module")
def vulgate_ids(vulgate_passages: tuple[Passage, ...]) -> list[str]:
    """Sorted as text, as an index gives them."""
    return sorted(passage.id for passage in vulgate_passages)


def link(*relevant: str, line: int = 7) -> GoldLink:
    return GoldLink(Query("gustate", "q"), relevant, line=line)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Ps.22.1", ["Ps.22.1"]),
        ("Ps 22,1-3", ["Ps.22.1", "Ps.22.2", "Ps.22.3"]),
        ("Matt.5.3-Matt.5.5", ["Matt.5.3", "Matt.5.4", "Matt.5.5"]),
        ("Ps 22,1.3; 132,1", ["Ps.22.1", "Ps.22.3", "Ps.132.1"]),
        ("Gen 1,31-2,2", ["Gen.1.31", "Gen.2.1", "Gen.2.2"]),
        ("Ps 116", ["Ps.116.1", "Ps.116.2"]),
        ("Ps 116,1ff", ["Ps.116.1", "Ps.116.2"]),
        ("Ps.115.11", ["Ps.115.2"]),
        ("Ps.147.12", ["Ps.147.1"]),
    ],
)
def test_references_become_ids(written: str, meant: list[str], vulgate_ids: list[str]) -> None:
    (found,) = resolve([link(written)], vulgate_ids)
    assert list(found.relevant) == meant
    assert (found.line, found.query) == (7, Query("gustate", "q"))


@pytest.mark.parametrize(
    ("numbering", "written", "meant"),
    [
        ("kjv", "Ps 51,1-2", ["Ps.50.3", "Ps.50.4"]),
        ("kjv", "Rev.13.1", ["Rev.12.18", "Rev.13.1"]),
        ("hebrew", "Ezek 2,9-10", ["Ezek.2.9"]),  # two of the Hebrew are one of the Latin
        ("hebrew", "Hos.2.25", ["Hos.2.23", "Hos.2.24"]),  # and one is two
        ("hebrew", "Mal.3.20", ["Mal.4.2"]),
        ("hebrew", "Lev.5.26", ["Lev.6.7"]),
        ("hebrew", "Zech 2,14-15", ["Zech.2.10", "Zech.2.11"]),
        ("kjv", "Ps 147,12", ["Ps.147.1"]),
    ],
)
def test_other_numberings_are_mapped(
    numbering: str, written: str, meant: list[str], vulgate_ids: list[str]
) -> None:
    (found,) = resolve([link(written)], vulgate_ids, numbering)  # type: ignore[arg-type]
    assert list(found.relevant) == meant


def test_ids_of_other_collections_are_ids_in_any_numbering() -> None:
    ids = ["b-1", "Ps.51.1", "Ps 51"]
    assert resolve([link("b-1", "Ps 51")], ids)[0].relevant == ("b-1", "Ps 51")
    assert resolve([link("b-1")], ids, "kjv")[0].relevant == ("b-1",)


@pytest.mark.parametrize(
    ("numbering", "written", "told"),
    [
        ("vulgate", "Ps.151.1", r"f.tsv:7: query 'q', 'Ps.151.1': Ps has no chapter 151"),
        ("vulgate", "Ps 22,5-9", r"'Ps 22,5-9': Ps 22 has no verse 7; it has 1 to 6"),
        ("vulgate", "b-1", r"'b-1': .*no book"),
        ("hebrew", "Ps 22", r"chapters, and ranges over their ends, cannot be mapped from hebrew"),
        ("kjv", "Gen 1,31-2,2", r"cannot be mapped from kjv numbering"),
        ("kjv", "Ps 150,7", r"Ps 150 has no verse 7"),
    ],
)
def test_unknown_passages_are_named(
    numbering: str, written: str, told: str, vulgate_ids: list[str]
) -> None:
    with pytest.raises(VerseError, match=told):
        resolve([link(written)], vulgate_ids, numbering, source="f.tsv")  # type: ignore[arg-type]


def test_unknown_passages_can_be_left_out_and_are_counted(vulgate_ids: list[str]) -> None:
    links = [link("Ps.22.1", "Ps.22.99", line=1), link("Ps.151.1", line=2), link("Gen.1.1")]
    found, unknown = resolve_known(links, vulgate_ids)
    assert [each.relevant for each in found] == [("Ps.22.1",), ("Gen.1.1",)]
    assert [(each.line, each.written) for each in unknown] == [(1, "Ps.22.99"), (2, "Ps.151.1")]
    with pytest.raises(VerseError, match=r"'Ps.22.99': .*; 1 more are unknown; .*gold check"):
        resolve(links, vulgate_ids)


def test_two_names_for_one_verse_are_a_duplicate_link(vulgate_ids: list[str]) -> None:
    with pytest.raises(InputError, match=r"f:7: query 'q': 'Ps 22,1-3' and 'Ps.22.2' both mean"):
        resolve([link("Ps 22,1-3", "Ps.22.2")], vulgate_ids, source="f")
    with pytest.raises(InputError, match=r"'Ps.115.2' and 'Ps.115.11' both mean Ps.115.2"):
        resolve([link("Ps.115.2", "Ps.115.11")], vulgate_ids)


def test_a_numbering_must_be_known() -> None:
    with pytest.raises(UsageError, match="use one of vulgate, hebrew, kjv"):
        resolve([], [], "greek")  # type: ignore[arg-type]


def test_the_order_of_the_bible(vulgate_passages: tuple[Passage, ...]) -> None:
    ids = [passage.id for passage in vulgate_passages]
    assert canonical(sorted(ids)) == ids


@pytest.mark.skipif(not SHARED.is_dir(), reason="the development gold is not here")
def test_the_development_gold_is_known_but_for_hebrew_numbers(vulgate_ids: list[str]) -> None:
    unknown = set()
    for path in SHARED.glob("*.jsonl"):
        unknown |= {each.written for each in resolve_known(read_gold(path), vulgate_ids)[1]}
    assert unknown == {"Ezek.2.10", "Hos.2.25", "Lev.5.26", "Mal.3.20", "Zech.2.14", "Zech.2.15"}
