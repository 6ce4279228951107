"""Word Mover's Distance: by hand, three solvers, gensim, and what holds for all texts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from allusion_es.core.errors import InputError, UsageError
from allusion_es.evaluation.methods import Method
from allusion_es.rerankers._shared.transport import load_solver
from allusion_es.rerankers.trial import (
    TrialCollection,
    TrialVectors,
    trial_candidates,
    trial_query,
)
from allusion_es.rerankers.wmd import WordMoversDistance
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import Retriever
from allusion_es.retrieval.reranking import UNDEFINED, reranker_notes
from allusion_es.retrieval.types import Query, SearchFilter

LITTLE = TrialVectors({"x": (1, 0), "y": (0, 1), "z": (0.6, 0.8), "minus": (-1, 0)})

_RANDOM = np.random.default_rng(1)
WORDS = [f"w{number}" for number in range(40)]
VECTORS = TrialVectors({word: _RANDOM.normal(size=6).tolist() for word in WORDS})


def score(
    query: str,
    texts: Sequence[str],
    vectors: TrialVectors = LITTLE,
    solver: str = "pot",
    wanted: int | None = None,
) -> NDArray[np.float64]:
    reranker = WordMoversDistance(solver)
    candidates = trial_candidates(texts).want(wanted)
    found = reranker.score(trial_query(query), candidates, TrialCollection(texts, vectors))
    assert np.isfinite(found).all()
    return found


def test_by_hand() -> None:
    """x x y to z y: y stays (1/3), x goes to z (1/2 of 2/3), the rest of x to y (1/6)."""
    distance = 1 / 2 * (1 - 0.6) + 1 / 6 * 1
    assert score("x x y", ["z y"]) == pytest.approx([1 - distance], abs=1e-6)


def test_the_flow_is_the_explanation() -> None:
    texts = ["z y"]
    reasons = WordMoversDistance().explain(
        trial_query("x x y"), trial_candidates(texts), TrialCollection(texts, LITTLE)
    )
    assert reasons[0] is not None
    parts = {(part.query_word, part.passage_word): part.contribution for part in reasons[0]}
    expected = {("y", "y"): 1 / 3, ("x", "z"): 0.3, ("x", "y"): 0.0}
    assert parts == pytest.approx(expected, abs=1e-6)


def test_opposite_words_cost_two() -> None:
    assert score("x", ["minus"]) == pytest.approx([-1.0])


def test_words_without_a_vector_are_like_themselves_alone() -> None:
    assert score("nemo", ["nemo", "x", "alius"]) == pytest.approx([1.0, 0.0, 0.0])


def test_texts_without_words_are_undefined() -> None:
    assert score("x", ["", "x", ""]).tolist() == [UNDEFINED, 1.0, UNDEFINED]
    assert score("", ["x", ""]).tolist() == [UNDEFINED, UNDEFINED]
    assert score("x", []).tolist() == []
    texts = ["", "x"]
    for query, empty in (("x", [True, False]), ("", [True, True])):
        reasons = WordMoversDistance().explain(
            trial_query(query), trial_candidates(texts), TrialCollection(texts, LITTLE)
        )
        assert [reason is None for reason in reasons] == empty


def plain_relaxed(query: str, text: str, vectors: TrialVectors) -> float:
    """The greater of both relaxed distances, word by word."""
    asked, found = query.split(), text.split()

    def cost(one: str, other: str) -> float:
        product = vectors.vectors([one])[0].astype(float) @ vectors.vectors([other])[0]
        return 0.0 if one == other else max(0.0, 1 - float(product))

    forth = sum(min(cost(a, b) for b in found) for a in asked) / len(asked)
    back = sum(min(cost(a, b) for a in asked) for b in found) / len(found)
    return max(forth, back)


TEXT = st.lists(st.sampled_from([*WORDS[:8], "nemo"]), min_size=1, max_size=8).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(TEXT, TEXT)
def test_what_holds_for_all_texts(left: str, right: str) -> None:
    one, other = score(left, [left, right], VECTORS), score(right, [left, right], VECTORS)
    assert one[0] == pytest.approx(1.0, abs=1e-9)
    assert one[1] == pytest.approx(other[0], abs=1e-6)
    assert 1 - one[1] >= plain_relaxed(left, right, VECTORS) - 1e-6
    assert -1 - 1e-6 <= one[1] <= 1


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 10**6))
def test_three_solvers_agree(n: int, m: int, seed: int) -> None:
    """POT, pyemd and a linear programme."""
    from scipy.optimize import linprog

    random = np.random.default_rng(seed)
    left, right = random.integers(1, 5, n).astype(float), random.integers(1, 5, m).astype(float)
    left, right = left / left.sum(), right / right.sum()
    cost = random.uniform(0, 2, (n, m))
    sums = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    programme = linprog(cost.ravel(), A_eq=sums[:-1], b_eq=np.concatenate([left, right])[:-1])
    for name in ("pot", "pyemd"):
        total, flow = load_solver(name)(left, right, cost)
        assert total == pytest.approx(programme.fun, abs=1e-5)
        assert float((flow * cost).sum()) == pytest.approx(total, abs=1e-9)
        assert flow.sum(axis=1) == pytest.approx(left, abs=1e-5)
        assert flow.sum(axis=0) == pytest.approx(right, abs=1e-5)


def test_where_pot_hides_its_simplex_its_own_function_serves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import ot.lp.emd_wrap

    texts = ["x y z z", "minus x"]
    expected = score("x x y", texts)
    monkeypatch.delattr(ot.lp.emd_wrap, "emd_c")
    assert score("x x y", texts) == pytest.approx(expected, abs=1e-12)


def random_texts(count: int) -> list[str]:
    return [" ".join(_RANDOM.choice(WORDS, size=_RANDOM.integers(1, 15))) for _ in range(count)]


def test_gensim_gives_the_same() -> None:
    """gensim's Euclidean distance of unit vectors is sqrt(2 (1 - cos)), so costs are compared
    through vectors whose Euclidean distances are the costs: a line."""
    from gensim.models import KeyedVectors
    from gensim.similarities import WmdSimilarity

    table = np.array([[_RANDOM.uniform(0, np.pi / 2)] for _ in WORDS])
    vectors = TrialVectors(
        {w: (np.cos(a), np.sin(a)) for w, a in zip(WORDS, table[:, 0], strict=True)}
    )
    keyed = KeyedVectors(2)
    keyed.add_vectors(WORDS, vectors.vectors(WORDS))
    texts = random_texts(15)
    corpus = [text.split() for text in texts]
    similarity = WmdSimilarity(corpus, keyed)
    for query in texts[:5]:
        # 1 / (1 + distance), where the distance moves along Euclidean costs
        expected = 1 / similarity[query.split()] - 1
        assert euclidean(query, texts, vectors) == pytest.approx(expected, abs=1e-4)
        assert [keyed.wmdistance(query.split(), text) for text in corpus] == pytest.approx(
            expected, abs=1e-4
        )


def euclidean(query: str, texts: list[str], vectors: TrialVectors) -> list[float]:
    """Our histograms and solver with gensim's cost."""
    solve, found = load_solver("pot"), []
    for text in texts:
        (a, p), (b, q) = (histogram(words.split()) for words in (query, text))
        left, right = vectors.vectors(a).astype(float), vectors.vectors(b).astype(float)
        cost = np.linalg.norm(left[:, None] - right[None], axis=2)
        found.append(solve(p, q, cost)[0])
    return found


def histogram(words: list[str]) -> tuple[list[str], NDArray[np.float64]]:
    counts = Counter(words)
    return list(counts), np.array(list(counts.values())) / counts.total()


def test_each_text_alone_by_pot_gives_the_same() -> None:
    import ot

    texts = random_texts(60)
    query = texts[0]
    a, p = histogram(query.split())
    left = VECTORS.vectors(a).astype(float)
    for solver in ("pot", "pyemd"):
        found = score(query, texts, VECTORS, solver)
        for text, value in zip(texts, found, strict=True):
            b, q = histogram(text.split())
            cost = np.maximum(0, 1 - left @ VECTORS.vectors(b).astype(float).T)
            cost[np.array(a)[:, None] == np.array(b)] = 0
            assert 1 - value == pytest.approx(ot.emd2(p, q, cost), abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(TEXT, st.lists(TEXT, min_size=1, max_size=30), st.integers(1, 31))
def test_the_wanted_ones_are_those_of_solving_all(
    query: str, texts: list[str], wanted: int
) -> None:
    full, some = score(query, texts, VECTORS), score(query, texts, VECTORS, wanted=wanted)
    ids = np.array([str(number) for number in range(len(texts))])
    best = np.lexsort((ids, -full))
    assert np.lexsort((ids, -some))[:wanted].tolist() == best[:wanted].tolist()
    assert some[best[:wanted]].tolist() == full[best[:wanted]].tolist()
    bounded = some != full
    assert (some[bounded] < some[best[:wanted]].min()).all()


def test_few_are_solved_where_few_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = random_texts(300)
    solved = []
    solve = WordMoversDistance._solved

    def count(self: WordMoversDistance, problems: object, place: int) -> object:
        solved.append(place)
        return solve(self, problems, place)  # type: ignore[arg-type]

    monkeypatch.setattr(WordMoversDistance, "_solved", count)
    score(texts[0], texts, VECTORS, wanted=5)
    assert len(solved) < 150


def test_those_that_are_not_solved_are_ranked_nearly_as_if_they_were(
    vulgate_index: CandidateIndex,
) -> None:
    query = Query("retia sua relinquentes secuti sunt piscatores")
    method = Method("wmd", "lemma", ("all",))
    ids = []
    for exact in (None, 20):
        options = replace(method.options(1000, SearchFilter()), exact=exact, grouped=False)
        answer = Retriever(vulgate_index, options).answer(query)
        ids.append([hit.id for hit in answer.hits])
    full, some = ids
    assert some[:20] == full[:20]
    assert len(set(full) & set(some)) > 600


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_not_finite_are_refused(value: float) -> None:
    class Broken:
        name, dimension = "broken", 2
        table: ClassVar = {"y": (value, 0.0)}

        def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
            return np.array([self.table.get(word, (1.0, 0.0)) for word in words], np.float32)

    texts = ["x", "y"]
    with pytest.raises(InputError, match="'broken': the vector of 'y' is not finite"):
        WordMoversDistance().score(
            trial_query("x"), trial_candidates(texts), TrialCollection(texts, Broken())
        )


def test_without_vectors_it_says_so() -> None:
    with pytest.raises(UsageError, match="wmd needs word vectors, and the index has none"):
        WordMoversDistance().score(
            trial_query("x"), trial_candidates(["x"]), TrialCollection(["x"])
        )


def test_a_wrong_solver_is_refused() -> None:
    with pytest.raises(UsageError, match=r"wmd\.solver must be pot or pyemd, not 'simplex'"):
        WordMoversDistance("simplex")


def test_notes_say_what_is_compared() -> None:
    note = reranker_notes(WordMoversDistance(), TrialCollection(["x"], LITTLE))[0]
    assert "word vectors trial, of unit length" in note
    assert "1 - cosine" in note
