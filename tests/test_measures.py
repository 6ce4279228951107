"""Measures: by hand, by their bounds, and against ir-measures."""

import random
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import InputError, UsageError
from allusion_es.evaluation.measures import Judged, judge, macro_mean, mean, parse_measure
from allusion_es.evaluation.trec import read_run, write_qrels, write_run
from allusion_es.retrieval.types import Ranking

NAMES = {
    "mrr": ir_measures.RR,
    "mrr@5": ir_measures.RR @ 5,
    "p10": ir_measures.Success @ 10,
    "success@3": ir_measures.Success @ 3,
    "precision@5": ir_measures.P @ 5,
    "precision@50": ir_measures.P @ 50,
    "recall@7": ir_measures.R @ 7,
    "ndcg": ir_measures.nDCG,
    "ndcg@5": ir_measures.nDCG @ 5,
    "ap": ir_measures.AP,
    "map@5": ir_measures.AP @ 5,
    "rprec": ir_measures.Rprec,
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mrr", 1 / 2),
        ("mrr@1", 0),
        ("p10", 1),
        ("p20", 1),
        ("success@1", 0),
        ("precision@10", 3 / 10),
        ("recall@2", 1 / 4),
        ("recall@100", 3 / 4),
        # (1/log2(3) + 1/log2(4) + 1/log2(8)) / (1 + 1/log2(3) + 1/log2(4) + 1/log2(5))
        ("ndcg", (0.6309297536 + 0.5 + 0.3333333333) / (1 + 0.6309297536 + 0.5 + 0.4306765581)),
        ("ndcg@2", 0.6309297536 / (1 + 0.6309297536)),
        ("ap", (1 / 2 + 2 / 3 + 3 / 7) / 4),
        ("ap@3", (1 / 2 + 2 / 3) / 4),
        ("rprec", 2 / 4),
    ],
)
def test_by_hand(name: str, value: float) -> None:
    """Hits at ranks 2, 3 and 7 of four relevant passages."""
    measure = parse_measure(name)
    assert measure(Judged((2, 3, 7), 4)) == pytest.approx(value, abs=1e-9)
    assert measure(Judged((), 4)) == 0
    assert measure.name == name


def test_the_best_ranking_has_1_and_nothing_goes_above() -> None:
    for name in NAMES:
        if not name.startswith(("precision", "recall")):
            assert parse_measure(name)(Judged((1, 2, 3), 3)) == 1


@given(st.sets(st.integers(1, 300)), st.integers(1, 50), st.sampled_from([*NAMES, "p20"]))
def test_values_lie_between_0_and_1(ranks: set[int], more: int, name: str) -> None:
    judged = Judged(tuple(sorted(ranks)), len(ranks) + more - 1 or 1)
    assert 0 <= parse_measure(name)(judged) <= 1


@given(st.permutations(range(12)), st.sets(st.integers(0, 15), min_size=1))
def test_judged_ranks_are_those_of_the_relevant(order: list[int], wanted: set[int]) -> None:
    ids = [str(number) for number in order]
    judged = judge(ids, {str(number) for number in wanted})
    assert [int(ids[rank - 1]) in wanted for rank in judged.ranks] == [True] * len(judged.ranks)
    assert len(judged.ranks) == len(wanted & set(order))
    assert judged.relevant == len(wanted)


def test_as_ir_measures_on_random_runs_with_ties(tmp_path: Path) -> None:
    """200 runs: ours from what we rank, theirs from the files that we write."""
    numbers = random.Random(1)
    for each in range(200):
        passages = [f"Ps.{n}.{each % 7 + 1}" for n in range(1, 41)]
        relevant, rankings = {}, {}
        for query in range(6):
            name = f"q{query}"
            relevant[name] = numbers.sample(passages, numbers.randint(1, 8))
            found = numbers.sample(passages, numbers.choice([0, 1, 5, 20, 40]))
            # Few distinct scores, so that most are tied.
            scored = {passage: numbers.randint(0, 3) / 3 for passage in found}
            order = sorted(scored, key=lambda passage: (-scored[passage], passage))
            rankings[name] = Ranking(tuple(order), np.array([scored[p] for p in order]))
        write_run(tmp_path / "run", rankings, "random")
        write_qrels(tmp_path / "qrels", relevant)
        theirs: dict[tuple[str, str], float] = {
            (row.query_id, str(row.measure)): row.value
            for row in ir_measures.iter_calc(
                list(NAMES.values()),
                list(ir_measures.read_trec_qrels(str(tmp_path / "qrels"))),  # type: ignore[no-untyped-call]
                list(ir_measures.read_trec_run(str(tmp_path / "run"))),  # type: ignore[no-untyped-call]
            )
        }
        again = read_run(tmp_path / "run")
        for query_id, passages_of in relevant.items():
            judged = judge(rankings[query_id].ids, passages_of)
            assert again.get(query_id, Ranking.empty()).ids == rankings[query_id].ids
            for name, other in NAMES.items():
                value = parse_measure(name)(judged)
                # ir-measures passes over queries without a hit; its means count them as 0.
                assert value == pytest.approx(theirs.get((query_id, str(other)), 0.0), abs=1e-9)


def test_ties_broken_elsewise_would_change_the_numbers(tmp_path: Path) -> None:
    """Why written scores must differ: trec_eval ranks tied passages from Z to A."""
    qrels = [ir_measures.Qrel("q", "Ps.1.1", 1)]
    tied = [ir_measures.ScoredDoc("q", name, 0.5) for name in ("Ps.1.1", "Ps.1.2")]
    assert ir_measures.calc_aggregate([ir_measures.AP], qrels, tied)[ir_measures.AP] == 0.5
    ranking = Ranking(("Ps.1.1", "Ps.1.2"), np.array([0.5, 0.5]))
    write_run(tmp_path / "run", {"q": ranking}, "tied")
    run = list(ir_measures.read_trec_run(str(tmp_path / "run")))  # type: ignore[no-untyped-call]
    assert ir_measures.calc_aggregate([ir_measures.AP], qrels, run)[ir_measures.AP] == 1.0


def test_means() -> None:
    assert mean([]) == macro_mean([], []) == 0
    assert mean([0.1] * 10) == 0.1
    assert macro_mean([1, 1, 1, 0], ["a", "a", "a", "b"]) == 0.5
    with pytest.raises(UsageError, match="1 groups for 2 values"):
        macro_mean([1, 2], ["a"])


def test_a_passage_twice_in_a_ranking_is_refused() -> None:
    with pytest.raises(InputError, match=r"passage 'Ps.1.1' is in the ranking twice"):
        judge(["Ps.1.1", "Ps.1.2", "Ps.1.1"], ["Ps.1.1"])
    with pytest.raises(InputError, match="no passage is relevant"):
        judge(["Ps.1.1"], [])


@pytest.mark.parametrize(
    "name", ["", "p", "p@10", "p0", "success", "precision", "recall", "rprec@5", "ndcg@0", "ndgc@5",
             "mrr@", "mrr@-1", "mrr@1e3", "mrr@9999999"]
)  # fmt: skip
def test_unknown_measures_are_named_with_the_known(name: str) -> None:
    with pytest.raises(UsageError, match=r"no measure .*mrr@k; .*p10.*success@k.*rprec"):
        parse_measure(name)
