"""From runs to figures: groups, intervals, works, parallels, errors."""

from collections.abc import Sequence

import numpy as np
import pytest

from allusion_es.evaluation.errors import ErrorAnalysis, parallels, with_parallels
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.measures import Judged, parse_measure
from allusion_es.evaluation.overlap import overlaps
from allusion_es.evaluation.runs import QueryRanking, found_in
from allusion_es.evaluation.scoring import (
    MACRO,
    ScoredRun,
    Scoring,
    compare_methods,
    link_groups,
    query_groups,
    score_rows,
    score_run,
)
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.types import AnalysedQuery, Query, Ranking

MEASURES = (parse_measure("mrr"), parse_measure("p10"))
VERSES = {
    "Matt.3.2": "paenitentiam agite appropinquavit enim regnum caelorum",
    "Matt.4.17": "paenitentiam agite appropinquavit regnum caelorum",
    "Gen.1.1": "in principio creavit Deus caelum et terram",
    "Ps.22.1": "Dominus regit me",
    "Ps.33.9": "gustate et videte",
}


def link(name: str, *relevant: str, text: str = "lux", type: str = "", work: str = "") -> GoldLink:
    return GoldLink(Query(text, name), relevant, type, title=work)


def ranked(*ids: str) -> QueryRanking:
    return found_in(Ranking(ids, np.arange(len(ids), 0, -1, dtype=np.float64)))


@pytest.fixture(scope="module")
def index() -> LocalIndex:
    return index_texts(VERSES)


def test_a_query_that_is_missing_from_a_run_counts_0() -> None:
    links = [link("a", "x"), link("b", "x", "y"), link("c", "z")]
    scored = score_run({"a": ranked("y", "x"), "b": ranked("y", "q", "x")}, links, {"method": "m"})
    assert scored.judged == (Judged((2,), 1), Judged((1, 3), 2), Judged((), 1))
    (row,) = score_rows([scored], links, Scoring(MEASURES, resamples=0))
    assert row == {
        "method": "m",
        "group": "all",
        "queries": 3,
        "mrr": 50.0,
        "p10": round(200 / 3, 4),
        "candidate_recall": round(200 / 3, 4),
    }


def test_groups_are_types_all_and_works() -> None:
    links = [
        link("a", "x", type="allusion", work="De fide"),
        link("b", "x", type="quotation", work="De fide"),
        link("c", "x", type="allusion", work="De spe"),
    ]
    judged = tuple(Judged(ranks, 1) for ranks in ((1,), (2,), ()))
    rows = score_rows([ScoredRun({"method": "m"}, judged)], links, Scoring(MEASURES, resamples=50))
    assert [(row["group"], row["queries"], row["mrr"]) for row in rows] == [
        ("allusion", 2, 50.0),
        ("quotation", 1, 50.0),
        ("all", 3, 50.0),
        (MACRO, 3, 37.5),  # ((1 + 1/2) / 2 + 0) / 2
    ]
    assert len({tuple(row) for row in rows}) == 1
    for row in rows[:3]:
        assert 0 <= row["mrr_low"] <= row["mrr"] <= row["mrr_high"] <= 100
    assert rows[3]["mrr_low"] is None
    assert link_groups(links[::2]) == {"all": [0, 1]}


def test_queries_are_drawn_by_verse_or_work() -> None:
    verse = GoldLink(Query("lux", "a"), ("x",), title="w", source_ids=("Matt.1.23", "Matt.1.24"))
    links = [verse, link("b", "x", work="w"), link("c", "x")]
    assert query_groups(links) == ["verse Matt.1.23", "work w", "query c"]


def test_methods_are_compared_in_pairs() -> None:
    links = [link(str(number), "x") for number in range(6)]

    def scored(name: str, ranks: Sequence[int]) -> ScoredRun:
        judged = tuple(Judged((rank,), 1) for rank in ranks)
        return ScoredRun({"method": name, "input": "lemma"}, judged)

    three = [scored("a", [1] * 6), scored("b", [2] * 6), scored("c", [2] * 6)]
    compared = compare_methods(three, links, parse_measure("mrr"), Scoring(MEASURES))
    assert [(pair.first, pair.second, pair.difference) for pair in compared] == [
        ("a lemma", "b lemma", 0.5),
        ("a lemma", "c lemma", 0.5),
        ("b lemma", "c lemma", 0.0),
    ]
    # Of 2^6 ways to turn six equal differences, two are as extreme; Holm multiplies by 3, then 2.
    assert [pair.p for pair in compared] == [2 / 64, 2 / 64, 1.0]
    assert [pair.adjusted_p for pair in compared] == [3 * 2 / 64, 3 * 2 / 64, 1.0]


def test_parallels(index: LocalIndex) -> None:
    near = parallels(["Matt.3.2", "Gen.1.1", "Matt.3.2"], index)
    assert near == {"Matt.3.2": ("Matt.4.17",), "Gen.1.1": ()}
    assert parallels(["Matt.3.2"], index, least=1.0) == {"Matt.3.2": ()}
    (extended,) = with_parallels([link("a", "Gen.1.1", "Matt.4.17")], index)
    assert extended.relevant == ("Gen.1.1", "Matt.4.17", "Matt.3.2")


def test_errors_tell_what_was_lost_where(index: LocalIndex) -> None:
    links = [
        link("a", "Matt.3.2", "Ps.22.1", text="agite regnum", type="allusion"),
        link("b", "Gen.1.1", text="nemo"),
        link("c", "Ps.33.9", text="gustate"),
    ]
    analyser = Analyser()
    queries = {
        each.query.query_id: AnalysedQuery(each.query, analyser.analyse(each.query.text))
        for each in links
    }
    low = [f"Gen.2.{verse}" for verse in range(1, 21)]
    run = {
        "a": QueryRanking(
            Ranking(("Matt.4.17", "Matt.3.2"), np.ones(2)), np.array([7, 3], np.int32)
        ),
        "c": ranked(*low, "Ps.33.9"),
    }
    method = {"method": "bow", "input": "lemma"}
    analysis = ErrorAnalysis(links, index, overlaps(links, queries, index))
    analysis.add(method, {**run, "c": ranked("Gen.1.1", *low, "Ps.33.9")})
    first, second, third, fourth = analysis.rows()
    assert first == {
        "query_id": "a",
        "method": "bow",
        "input": "lemma",
        "type": "allusion",
        "relevant": "Matt.3.2",
        "rank": 2,
        "candidate_rank": 3,
        "loss": "",
        "shared_tokens": 2,
        "shared_lemmas": 2,
        "top": "Matt.4.17",
        "top_is_parallel": True,
        "rank_with_parallels": 1,
        "text": "agite regnum",
        "relevant_text": VERSES["Matt.3.2"],
        "top_text": VERSES["Matt.4.17"],
    }
    assert (second["relevant"], second["rank"], second["loss"]) == ("Ps.22.1", None, "first stage")
    assert (third["top"], third["top_text"], third["rank_with_parallels"]) == ("", "", None)
    assert (fourth["rank"], fourth["loss"], fourth["top"]) == (22, "reranking", "Gen.1.1")
    assert analysis.losses() == [
        {
            "method": "bow",
            "input": "lemma",
            "links": 4,
            "in_first_20": 1,
            "lost_in_first_stage": 2,
            "ranked_low": 1,
            "top_is_parallel": 2,
        }
    ]
