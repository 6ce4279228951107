"""Fusion of rerankers: by hand, its names and parameters, and what holds for all texts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import PluginError, UsageError
from allusion_es.core.plugins import Settings
from allusion_es.rerankers.fuse import Fusion
from allusion_es.rerankers.trial import (
    TrialCollection,
    TrialVectors,
    trial_candidates,
    trial_query,
)
from allusion_es.retrieval.reranking import (
    Candidates,
    Collection,
    Explanation,
    Reranker,
    load_reranker,
    reranker_names,
    reranker_notes,
)
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Contribution,
)

VECTORS = TrialVectors({"a": (1, 0), "b": (0, 1), "c": (0.6, 0.8), "d": (0.8, -0.6)})


class Fixed:
    """Gives each candidate the score that it was told, and one pair that explains it."""

    def __init__(self, *scores: float) -> None:
        self.scores = np.array(scores)

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        return self.scores[[int(identifier) for identifier in candidates.ranking.ids]]

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        scores = self.score(query, candidates, collection).tolist()
        return [(Contribution("q", "p", score),) if score > -1000 else None for score in scores]


def fused(fusion: Reranker, count: int) -> list[float]:
    texts = ["a"] * count
    found = fusion.score(trial_query("a"), trial_candidates(texts), TrialCollection(texts))
    return [float(score) for score in found]


def test_reciprocal_ranks_by_hand() -> None:
    fusion = Fusion({"x": Fixed(3, 2, 1), "y": Fixed(0.1, 0.3, 0.2)}, k=1)
    assert fused(fusion, 3) == pytest.approx([1 / 2 + 1 / 4, 1 / 3 + 1 / 2, 1 / 4 + 1 / 3])


def test_weighted_ranks_by_hand() -> None:
    fusion = Fusion({"x": Fixed(3, 2), "y": Fixed(1, 2)}, k=0, weights="2,1")
    assert fused(fusion, 2) == pytest.approx([2 / 1 + 1 / 2, 2 / 2 + 1 / 1])


def test_scaled_sum_by_hand() -> None:
    parts = {"x": Fixed(4, 3, 2), "y": Fixed(-1, -1, -1), "z": Fixed(0, 1, -1000)}
    fusion = Fusion(parts, method="sum", weights="1,2,3")
    assert fused(fusion, 3) == pytest.approx([1 / 6, (0.5 + 3) / 6, 0])


def test_an_undefined_part_adds_nothing() -> None:
    assert fused(Fusion({"x": Fixed(1, -1000), "y": Fixed(1, 2)}, k=1), 2) == pytest.approx(
        [1 / 2 + 1 / 3, 1 / 2]
    )
    assert fused(Fusion({"x": Fixed(-1000, -1000)}), 2) == [0.0, 0.0]


def test_names_and_settings_reach_the_parts() -> None:
    chosen: Settings = {
        "fuse": {"method": "sum", "weights": "3,1"},
        "soft-cosine": {"power": "1"},
        "wmd": {"solver": "pyemd"},
    }
    texts = ["c", "b", "a"]
    arguments = trial_query("a"), trial_candidates(texts), TrialCollection(texts, VECTORS)
    alone = load_reranker("soft-cosine", chosen).score(*arguments)
    assert alone == pytest.approx([0.6, 0.0, 1.0], abs=1e-6)
    found = load_reranker("fuse:soft-cosine+bow", chosen).score(*arguments)
    assert found == pytest.approx([0.75 * 0.6, 0, 1], abs=1e-6)
    assert reranker_names("fuse:soft-cosine+bow") == ("fuse", "soft-cosine", "bow")
    assert reranker_names("wmd") == ("wmd",)


def test_alone_it_has_default_parts() -> None:
    notes = reranker_notes(load_reranker("fuse"), TrialCollection(["a"], VECTORS))
    assert notes[0] == "fuse: reciprocal rank, k 60; weights: bm25 1, tesserae 1, soft-cosine 1"
    assert any(note.startswith("Tesserae:") for note in notes)


@pytest.mark.parametrize(
    ("name", "chosen", "message"),
    [
        ("bm25:tfidf", {}, "reranker 'bm25' has no parts"),
        ("fuse:bm25+bm25", {}, "a part is named twice"),
        ("fuse:bm25+tfidf", {"fuse": {"weights": "1"}}, r"fuse\.weights must be 2 numbers"),
        ("fuse:bm25", {"fuse": {"weights": "0"}}, r"fuse\.weights must be 1 numbers above 0"),
        ("fuse:bm25", {"fuse": {"weights": "inf"}}, r"one for each of bm25, not 'inf'"),
        ("fuse:bm25", {"fuse": {"weights": "x"}}, "not 'x'"),
        ("fuse:bm25", {"fuse": {"method": "max"}}, r"fuse\.method must be rrf or sum"),
        ("fuse:bm25", {"fuse": {"k": "-1"}}, r"fuse\.k must be at least 0, not -1"),
        ("fuse:bm25", {"fuse": {"parts": "x"}}, "fuse has no parameter 'parts'"),
        ("fuse:bm25", {"bm25": {"b": "2"}}, r"bm25\.b must be from 0 to 1, not 2"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, chosen: Settings, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_reranker(name, chosen)


@pytest.mark.parametrize("name", ["fuse:", "fuse:bm25+", "fuse:bm25+nihil", "nihil"])
def test_unknown_parts_are_refused(name: str) -> None:
    with pytest.raises(PluginError, match="no rerankers plug-in"):
        load_reranker(name)


TEXT = st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(TEXT, st.lists(TEXT, min_size=1, max_size=8), st.sampled_from(["rrf", "sum"]), st.randoms())
def test_the_explanation_of_some_sums_to_their_scores_among_all(
    query: str, texts: list[str], method: str, random: object
) -> None:
    reranker = load_reranker("fuse:bm25+tesserae+bow-emb+wmd", {"fuse": {"method": method}})
    asked, collection = trial_query(query), TrialCollection(texts, VECTORS)
    candidates = trial_candidates(texts)
    scores = reranker.score(asked, candidates, collection)
    chosen = list(range(len(texts)))
    random.shuffle(chosen)  # type: ignore[attr-defined]
    some = candidates.take(chosen[:3])
    assert reranker.score(asked, some, collection).tolist() == scores[chosen[:3]].tolist()
    twice = some.take([0])
    assert reranker.score(asked, twice, collection).tolist() == scores[chosen[:1]].tolist()
    for number, reason in zip(chosen, reranker.explain(asked, some, collection), strict=False):
        assert reason is not None
        total = sum(part.contribution for part in reason)
        assert total == pytest.approx(scores[number], abs=1e-9)
