"""What each stage makes of the candidates: the same as if it were asked alone."""

from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from allusion_es.core.errors import PluginError, UsageError
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.inspection import run_candidates, traced_candidates
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.traces import Trace, Tracer
from allusion_es.retrieval.types import Query, Ranking
from allusion_es.retrieval.unanswered import Unanswered

WORDS = [
    "arma",
    "uirum",
    "cano",
    "troiae",
    "qui",
    "primus",
    "ab",
    "oris",
    "italiam",
    "fato",
    "profugus",
]
# More than are searched for at once.
QUERIES = [Query(" ".join(WORDS[n % 7 : n % 7 + 2 + n % 3]) or "arma", f"q{n}") for n in range(70)]


@pytest.fixture(scope="module")
def index() -> LocalIndex:
    texts = {f"p.{n:02}": " ".join(WORDS[n % 9 : n % 9 + 3 + n % 4]) for n in range(40)}
    return index_texts(texts)


def whole(traces: Iterable[Trace | Unanswered]) -> Iterator[Trace]:
    """The traces of queries that are all answered."""
    for trace in traces:
        assert isinstance(trace, Trace)
        yield trace


@pytest.mark.parametrize("generators", [("bm25",), ("bm25", "tfidf")])
@pytest.mark.parametrize("fields", [("lemma",), ("token", "lemma")])
def test_each_stage_gives_what_it_gives_alone(
    index: LocalIndex, generators: tuple[str, ...], fields: tuple[str, ...]
) -> None:
    rerankers = ("jaccard", "tfidf", "fuse:bm25+bow")
    common = {"fields": fields, "candidates": 12}
    tracer = Tracer(index, generators=generators, rerankers=rerankers, **common)  # type: ignore[arg-type]
    traces = list(whole(tracer.traces(QUERIES, explain=3)))
    assert [trace.query.query for trace in traces] == QUERIES

    def alone(reranker: str | None, generators: tuple[str, ...]) -> list[Ranking]:
        retriever = Retriever(
            index,
            QueryOptions(
                generators=generators,
                reranker=reranker,
                top=12,
                grouped=False,
                **common,  # type: ignore[arg-type]
            ),
        )
        return [
            Ranking(tuple(hit.id for hit in a.hits), np.array([hit.score for hit in a.hits]))
            for a in retriever.answers(QUERIES)
        ]

    def assert_same(found: list[Ranking], expected: list[Ranking]) -> None:
        assert [one.ids for one in found] == [one.ids for one in expected]
        for one, other in zip(found, expected, strict=True):
            assert one.scores.tolist() == other.scores.tolist()

    assert_same([trace.final for trace in traces], alone("jaccard", generators))
    assert_same([trace.first for trace in traces], alone(None, generators))
    for name in rerankers:
        assert_same([trace.rerankers[name] for trace in traces], alone(name, generators))
    for name in generators:
        assert_same([trace.first_stages[name] for trace in traces], alone(None, (name,)))


@pytest.mark.parametrize("rerankers", [(), ("tfidf",), ("fuse:jaccard+bow",)])
def test_some_are_explained_and_the_parts_sum_to_the_score(
    index: LocalIndex, rerankers: tuple[str, ...]
) -> None:
    tracer = Tracer(index, candidates=12, rerankers=rerankers)
    query = QUERIES[3]
    plain = next(whole(tracer.traces([query], explain=0)))
    assert plain.explanations == {}
    last = plain.final.ids[-1]
    trace = next(whole(tracer.traces([query], explain=2, also={query.query_id: (last, "nowhere")})))
    assert trace.explanations.keys() == {*trace.final.ids[:2], last}
    scores = dict(zip(trace.final.ids, trace.final.scores.tolist(), strict=True))
    for name, parts in trace.explanations.items():
        assert sum(each.contribution for each in parts or ()) == pytest.approx(scores[name])


def test_pairs_that_are_left_out_are_summed(index: LocalIndex) -> None:
    tracer = Tracer(index, candidates=12, rerankers=("tfidf",))
    for pairs in (0, 1, 50):
        for candidate in traced_candidates(
            whole(tracer.traces(QUERIES[:3], explain=12)), {}, index, pairs
        ):
            kept = [pair.contribution for pair in candidate.contributions]
            assert len(kept) <= pairs
            assert candidate.final is not None
            total = sum(kept) + candidate.other_contributions
            assert total == pytest.approx(candidate.final.score)


def test_gold_passages_are_judged_by_their_final_rank() -> None:
    texts = {f"p.{n:02}": "arma " * (n + 1) + "uirum" for n in range(30)} | {"p.x": "musa"}
    index = index_texts(texts)
    ids = next(whole(Tracer(index, candidates=25).traces([Query("arma")]))).final.ids
    gold = {"1": GoldLink(Query("arma"), (ids[19], ids[20], "p.x"))}
    traces = whole(Tracer(index, candidates=25).traces([Query("arma"), Query("uirum", "2")]))
    found = list(traced_candidates(traces, gold, index))
    judged = {(c.query_id, c.verse_id): c for c in found if c.gold}
    assert {name: (c.loss, c.final and c.final.rank) for name, c in judged.items()} == {
        ("1", ids[19]): ("", 20),
        ("1", ids[20]): ("reranking", 21),
        ("1", "p.x"): ("first stage", None),
    }
    others = [c for c in found if not c.gold]
    assert {c.loss for c in others} == {None}
    assert {c.gold for c in others if c.query_id == "1"} == {False}
    assert {c.gold for c in others if c.query_id == "2"} == {None}


def test_a_run_has_final_ranks_only(index: LocalIndex) -> None:
    run = {"q": Ranking(("p.01", "p.00"), np.array([-1500.0, -1600.0]))}
    gold = {"lost": GoldLink(Query("arma", "lost"), ("p.02",))}
    found = list(run_candidates(run, gold, {"q": "arma uirum"}, index))
    assert [(c.query_id, c.verse_id, c.first, c.query_text) for c in found] == [
        ("q", "p.01", None, "arma uirum"),
        ("q", "p.00", None, "arma uirum"),
        ("lost", "p.02", None, ""),
    ]
    assert [c.final.score if c.final else None for c in found] == [-1500.0, -1600.0, None]
    assert [c.loss for c in found] == [None, None, "first stage"]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"rerankers": ("bow", "bow")}, UsageError, "reranker is named twice"),
        ({"generators": ("bm25", "bm25")}, UsageError, "first stage is named twice"),
        ({"generators": ()}, UsageError, "no first stage"),
        ({"rerankers": ("nix",)}, PluginError, "'nix'"),
        ({"candidates": 0}, UsageError, "at least 1"),
        ({"settings": {"wmd": {"x": "1"}}, "rerankers": ("bow",)}, UsageError, "wmd are set"),
    ],
)
def test_what_cannot_be_used(
    index: LocalIndex, options: dict[str, object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        Tracer(index, **options)  # type: ignore[arg-type]
