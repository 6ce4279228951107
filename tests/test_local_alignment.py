"""Local alignment: by hand, against a plain table, and what holds for all texts."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from little_vectors import TABLE, LittleVectors

from allusion_es.core.errors import UsageError
from allusion_es.rerankers import local_alignment
from allusion_es.rerankers.local_alignment import LocalAlignment, alignment_scores
from allusion_es.rerankers.trial import TrialCollection, trial_candidates, trial_query

TEXTS = ["x y z", "x y", "x w", "y", "y minus", "z"]
"""Six texts, in which x has df 3, y 4, z and w 2 and 1: idf ln(6/4), ln(6/5), ln(6/3), ln(6/2)."""
X, Y, Z, W = (math.log(6 / (1 + df)) for df in (3, 4, 2, 1))

WORDS = st.lists(st.sampled_from(["x", "y", "z", "w", "minus", "new"]), max_size=8)


class LittleCollection(TrialCollection):
    """The six texts, whatever the candidates."""

    def __init__(self) -> None:
        super().__init__(TEXTS, LittleVectors())


def score(query: str, text: str, gap: float = 0.1, power: int = 5) -> float:
    asked, candidates = trial_query(query), trial_candidates([text])
    return float(LocalAlignment(gap, power).score(asked, candidates, LittleCollection())[0])


def test_equal_words_in_a_row_add_their_weights() -> None:
    assert score("x y", "x y") == pytest.approx(X + Y)
    assert score("w x y w", "y x y z") == pytest.approx(X + Y)


def test_a_skipped_word_costs_a_gap_on_either_side() -> None:
    assert score("x y", "x w y") == pytest.approx(X + Y - 0.1)
    assert score("z w w x", "z x") == pytest.approx(Z + X - 0.2)


def test_unlike_words_in_one_place_cost_a_gap_together() -> None:
    assert score("x w y", "x minus y") == pytest.approx(X + Y - 0.1)


def test_a_stretch_ends_where_going_on_costs_more() -> None:
    assert score("x y", "x w w w y", gap=0.1) == pytest.approx(X)
    assert score("w y", "w x x x x y", gap=0.1) == pytest.approx(W)


def test_words_in_another_order_do_not_count_together() -> None:
    assert score("x y", "y x") == pytest.approx(X)


def test_like_words_count_by_likeness() -> None:
    """cos(x, z) = 0.6; the lighter word's weight counts."""
    alike = 0.6**2
    assert score("x", "z", power=2) == pytest.approx(alike * min(X, Z) - 0.1 * (1 - alike))


def test_nothing_in_common_is_nothing() -> None:
    assert score("x", "w") == score("x", "minus") == score("", "x") == score("x", "") == 0.0


def plain(query: list[str], text: list[str], gap: float, power: int) -> float:
    """The recurrence cell by cell."""
    weights = {"x": X, "y": Y, "z": Z, "w": W, "minus": W, "new": math.log(6)}
    none = (0.0, 0.0)

    def gain(one: str, other: str) -> float:
        products = zip(TABLE.get(one, none), TABLE.get(other, none), strict=True)
        cosine = sum(a * b for a, b in products)
        alike = 1.0 if one == other else max(0.0, cosine) ** power
        return alike * min(weights[one], weights[other]) - gap * (1 - alike)

    heights = {(i, j): 0.0 for i in range(len(query) + 1) for j in range(len(text) + 1)}
    for i, j in itertools.product(range(1, len(query) + 1), range(1, len(text) + 1)):
        heights[i, j] = max(
            0.0,
            heights[i - 1, j - 1] + gain(query[i - 1], text[j - 1]),
            heights[i - 1, j] - gap,
            heights[i, j - 1] - gap,
        )
    return max(heights.values())


@given(WORDS, st.lists(WORDS, max_size=6), st.floats(0, 2), st.integers(1, 6))
def test_a_plain_table_gives_the_same(
    query: list[str], texts: list[list[str]], gap: float, power: int
) -> None:
    found = LocalAlignment(gap, power).score(
        trial_query(" ".join(query)),
        trial_candidates([" ".join(text) for text in texts]),
        LittleCollection(),
    )
    expected = [plain(query, text, gap, power) for text in texts]
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


@given(WORDS, WORDS, WORDS, WORDS, st.floats(0, 2))
def test_what_holds_for_all_texts(
    query: list[str], text: list[str], before: list[str], after: list[str], gap: float
) -> None:
    asked, found = " ".join(query), " ".join(text)
    value = score(asked, found, gap)
    assert 0 <= value <= score(asked, asked, gap) + 1e-6
    assert score(found, asked, gap) == pytest.approx(value, abs=1e-6)
    assert score(asked, " ".join([*before, *text, *after]), gap) >= value - 1e-6


@given(WORDS, WORDS, st.floats(0, 2))
def test_aligned_words_explain_the_score_in_order(
    query: list[str], text: list[str], gap: float
) -> None:
    asked, candidates = trial_query(" ".join(query)), trial_candidates([" ".join(text)])
    reranker, collection = LocalAlignment(gap), LittleCollection()
    value = reranker.score(asked, candidates, collection)[0]
    reason = reranker.explain(asked, candidates, collection)[0]
    assert reason is not None
    assert sum(part.contribution for part in reason) == pytest.approx(value, abs=1e-9)
    for part in reason:
        assert part.query_word in {*query, "‹gap›"}
        assert part.passage_word in {*text, "‹gap›"}


def test_the_aligned_words_and_gaps_are_named() -> None:
    reranker = LocalAlignment(0.1)
    found = reranker.explain(trial_query("x y"), trial_candidates(["z x w y"]), LittleCollection())
    parts = found[0] or ()
    pairs = [(one.query_word, one.passage_word) for one in parts]
    assert pairs == [("x", "x"), ("y", "y"), ("‹gap›", "w")]
    assert [one.contribution for one in parts] == pytest.approx([X, Y, -0.1])


def test_texts_of_any_length_stand_together() -> None:
    """More texts than are aligned at once, the longest far longer than the others."""
    texts = ["x y"] * 150 + ["w " * 300 + "x y", "", "y x"]
    found = LocalAlignment(0.1).score(
        trial_query("x y"), trial_candidates(texts), LittleCollection()
    )
    assert found == pytest.approx(np.array([X + Y] * 151 + [0.0, X]))


@pytest.mark.parametrize("values", [(-0.1, 5), (0.1, 0), (float("nan"), 5)])
def test_parameters_out_of_range_are_refused(values: tuple[float, int]) -> None:
    with pytest.raises(UsageError, match="must be"):
        LocalAlignment(*values)


@given(WORDS.filter(bool), st.lists(WORDS, min_size=1, max_size=9), st.integers(1, 4))
def test_several_alignments_of_many_texts_are_those_of_each(
    query: list[str], texts: list[list[str]], together: int
) -> None:
    """Gaps of three kinds, one of which no stretch is worth; texts that are cut into batches."""
    asked, collection = trial_query(" ".join(query)), LittleCollection()
    # Each text stands twice: equal texts score the same to the last bit, wherever they are.
    every = trial_candidates([" ".join(text) for text in [*texts, *texts]])
    rerankers = [LocalAlignment(gap) for gap in (0.1, 1.0, 50.0)]
    aligned = [each.alignment(asked, every, collection) for each in rerankers]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_alignment, "_TOGETHER", together)
        found = alignment_scores(aligned, every.texts.offsets)
    for reranker, scores in zip(rerankers, found, strict=True):
        for number, text in enumerate(texts):
            alone = reranker.score(asked, trial_candidates([" ".join(text)]), collection)[0]
            assert scores[number] == scores[number + len(texts)] == alone
