"""BM25 and TfIdf weights, by hand and against plain double precision."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.retrieval.weighting import (
    bm25,
    bm25_saturation,
    idf,
    lucene_idf,
    lucene_lengths,
    tfidf_query_weights,
)


def small_float(length: int) -> int:
    """Lucene's SmallFloat.intToByte4 and back, after its description, digit by digit."""
    if length < 24 + 16:
        return length
    bits = bin(length - 24)[2:]
    return 24 + int(bits[:4] + "0" * (len(bits) - 4), 2)


@given(st.lists(st.integers(0, 10**7), min_size=1))
def test_lucene_lengths(lengths: list[int]) -> None:
    expected = [small_float(length) for length in lengths]
    assert lucene_lengths(np.array(lengths)).tolist() == expected


def test_bm25_by_hand() -> None:
    """N = 4, df = 2, f = 2, length 3, mean length 2, k1 = 1.2, b = 0.75, once in the query."""
    inverse = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    expected = 2.2 * inverse * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    saturation = bm25_saturation(np.array([3]), 2.0, 1.2, 0.75)
    weight = lucene_idf(np.array([2]), 4)[0]
    found = bm25(np.array([2], np.float32), saturation, weight, 1.2, 1)
    assert found[0] == pytest.approx(expected, rel=1e-6)
    assert found[0] == pytest.approx(0.8356, abs=1e-4)


@given(
    st.integers(0, 1000),
    st.integers(1, 50),
    st.integers(1, 400),
    st.floats(0.1, 5),
    st.floats(0, 1),
)
def test_bm25_is_finite_and_never_negative(
    df: int, frequency: int, length: int, k1: float, b: float
) -> None:
    saturation = bm25_saturation(np.array([length]), 20.0, k1, b)
    weight = lucene_idf(np.array([df]), 1000)[0]
    score = bm25(np.array([frequency], np.float32), saturation, weight, k1, 3)[0]
    assert np.isfinite(score)
    assert score >= 0
    plain = 3 * (k1 + 1) * math.log(1 + (1000 - df + 0.5) / (df + 0.5))
    plain *= frequency / (frequency + k1 * (1 - b + b * length / 20.0))
    assert score == pytest.approx(plain, rel=1e-4, abs=1e-6)


def test_an_empty_collection_has_no_weights() -> None:
    assert idf(np.array([0, 0]), 0).tolist() == [0, 0]
    assert bm25_saturation(np.array([0]), 0.0, 1.2, 0.75).tolist() == [0]


def test_idf_by_hand() -> None:
    assert idf(np.array([1, 9]), 10) == pytest.approx([math.log(5), 0.0])


def test_query_weights_by_hand() -> None:
    """tf 2 and 1, idf 1 and 2: |q| = sqrt(4 + 4)."""
    weights = tfidf_query_weights({"a": 2, "b": 1}, ["a", "b"], np.array([1.0, 2.0]))
    assert weights == pytest.approx([2 / math.sqrt(8), 4 / math.sqrt(8)])
    assert tfidf_query_weights({"a": 1}, ["a"], np.array([0.0])).tolist() == [0.0]
