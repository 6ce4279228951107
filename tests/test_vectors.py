"""Vectors at hand and vectors from elsewhere, and means of them."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from little_vectors import LittleVectors
from numpy.typing import NDArray

from allusion_es.language.vectors.types import (
    KnownVectors,
    WordNumbers,
    kept_vectors,
    mean_vector,
    mean_vectors,
)

WORDS = st.lists(st.sampled_from(["x", "y", "z", "minus", "unknown"]), max_size=8)


class Counting(LittleVectors):
    def __init__(self) -> None:
        self.asked: list[str] = []

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        self.asked += words
        return super().vectors(words)


@given(st.lists(WORDS, max_size=6), st.sets(st.sampled_from(["x", "y", "z"])), st.integers(1, 9))
def test_it_makes_no_difference_where_vectors_come_from(
    texts: list[list[str]], at_hand: set[str], limit: int
) -> None:
    rows = WordNumbers(sorted(at_hand))
    table = LittleVectors().vectors(sorted(at_hand))
    known = KnownVectors(rows, table, LittleVectors, "little", limit)
    for words in texts:
        for asked in (words, tuple(words)):
            np.testing.assert_array_equal(known.vectors(asked), LittleVectors().vectors(asked))


def test_elsewhere_is_asked_once_for_each_word() -> None:
    source = Counting()
    kept = kept_vectors(source)
    for words in (["x", "y"], ["y", "x", "z"], [], ["z"]):
        kept.vectors(words)
    assert source.asked == ["x", "y", "z"]
    assert (kept.name, kept.dimension) == ("little", 2)


def test_means_by_hand() -> None:
    """(1, 0) + (1, 0) + (0, 1) is (2, 1); words without a vector add nothing."""
    mean = mean_vector(["x", "x", "y", "unknown"], LittleVectors())
    np.testing.assert_allclose(mean, np.array([2, 1]) / 5**0.5, rtol=1e-6)
    means = mean_vectors([[], ["unknown"], ["x", "minus"], ["z"]], LittleVectors())
    expected = np.array([[0, 0], [0, 0], [0, 0], [0.6, 0.8]])
    np.testing.assert_allclose(means, expected, rtol=1e-6)
