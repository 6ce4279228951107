"""Passages that say nearly the same are found as a comparison of all pairs finds them."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.retrieval.parallels import LIKE, MOST, Parallels, find_parallels

WORDS = st.lists(st.integers(0, 9), max_size=6)


def found(texts: list[list[int]], like: float = LIKE) -> dict[int, int]:
    codes = np.array([word for text in texts for word in text], dtype=np.int32)
    offsets = np.cumsum([0, *(len(text) for text in texts)])
    groups = find_parallels(codes, offsets, 10, like)
    return dict(zip(groups.passages.tolist(), groups.groups.tolist(), strict=True))


def weights(texts: list[list[int]]) -> list[float]:
    passages = sum(bool(text) for text in texts)
    df = [sum(word in text for text in texts) for word in range(10)]
    return [math.log(passages / n) if n else 0.0 for n in df]


def naive(texts: list[list[int]], like: float) -> tuple[dict[int, int], bool]:
    """Each passage is compared with all that lead a group; and whether that was clear."""
    weight, leaders, groups, clear = weights(texts), list[int](), dict[int, int](), True
    for number, text in enumerate(texts):
        best = []
        for leader in leaders:
            shared = sum(weight[word] for word in {*text} & {*texts[leader]})
            union = sum(weight[word] for word in {*text} | {*texts[leader]})
            value = shared / union if union else 0.0
            clear = clear and abs(value - like) > 1e-6
            if value >= like:
                best.append((-value, leader))
        close = sorted(best)
        clear = clear and all(abs(one[0] - two[0]) > 1e-6 for one, two in pairwise(close))
        if close:
            leader = close[0][1]
            groups[leader] = groups[number] = leader
        else:
            leaders.append(number)
    return groups, clear


def test_by_hand() -> None:
    # N = 4: idf ln 4, ln 2, ln 2 and, of the last three words, ln 4.
    texts = [[0, 1], [1, 2], [2, 3], [4, 5]]
    assert found(texts) == {}
    assert found(texts, 0.2) == {0: 0, 1: 0}  # ln 2 / (ln 4 + ln 2 + ln 2) = 1/4; not 2, of 1


def test_what_has_no_weight_is_in_no_group() -> None:
    assert found([]) == {}
    assert found([[], [], [1]]) == {}
    assert found([[1, 2], [1, 2]]) == {}
    assert found([[1, 2], [2, 1, 1], [3]]) == {0: 0, 1: 0}


@given(st.lists(WORDS, max_size=8), st.sampled_from([0.3, 0.5, 0.7, 1.0]))
def test_as_all_pairs(texts: list[list[int]], like: float) -> None:
    expected, clear = naive(texts, like)
    if clear:
        assert found(texts, like) == expected


@given(st.lists(WORDS, max_size=8))
def test_a_group_has_two_or_more_and_is_named_by_its_first(texts: list[list[int]]) -> None:
    groups = found(texts)
    for passage, group in groups.items():
        assert groups[group] == group <= passage
        assert list(groups.values()).count(group) > 1


def test_the_others_of_a_group() -> None:
    many = Parallels(np.arange(3, 100, dtype=np.int32), np.full(97, 3, dtype=np.int32))
    assert many.others(3) == list(range(4, 4 + MOST))
    assert many.others(50) == [*range(3, 50), 51, 52, 53]
    assert many.others(2) == many.others(100) == []


@pytest.mark.parametrize("copies", [2, 300])
def test_passages_with_the_same_words_are_found_however_many_they_are(copies: int) -> None:
    texts = [[0, 1, 2]] * copies + [[number % 7 + 3] for number in range(400)]
    groups = found(texts)
    assert [groups.get(number) for number in range(copies)] == [0] * copies
