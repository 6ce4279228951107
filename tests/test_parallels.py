"""Passages that say nearly the same are found as a comparison of all pairs finds them."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import VerseError
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.parallels import LIKE, MOST, ParallelFinder, Parallels
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.spool import SpooledWords
from allusion_es.retrieval.types import Parallel

WORDS = st.lists(st.integers(0, 9), max_size=6)


def found(texts: list[list[int]], like: float = LIKE, pieces: int = 3) -> dict[int, int]:
    df = np.array([sum(word in text for text in texts) for word in range(10)], dtype=np.int64)
    some = (texts[start : start + pieces] for start in range(0, len(texts), pieces))
    finder = ParallelFinder(df, sum(bool(text) for text in texts))
    for piece in some:
        words = np.array([word for text in piece for word in text], dtype=np.int64)
        finder.add(SpooledWords(words, np.array([len(text) for text in piece], dtype=np.int64)))
    groups = finder.parallels(like)
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


VERSES = {
    "Matt.26.11": "enim pauperes semper habetis vobiscum",
    "Mark.14.7": "semper enim pauperes habetis vobiscum",
    "John.12.8": "pauperes enim semper habetis vobiscum",
    "Ps.40.2": "beatus qui intelligit super egenum et pauperem",
    "Gen.1.1": "in principio creavit deus caelum et terram",
    "Gen.1.3": "dixitque deus fiat lux et facta est lux",
    "Ps.1.1": "beatus vir qui non abiit",
}


def test_one_of_each_group_is_a_hit_and_names_the_others() -> None:
    index = index_texts(VERSES)
    assert index.parallels(["John.12.8", "Gen.1.1"]) == [("Matt.26.11", "Mark.14.7"), ()]
    answer = Retriever(index, QueryOptions(reranker=None, top=2, grouped=True)).answer(
        "pauperes enim semper"
    )
    assert [(hit.rank, hit.id) for hit in answer.hits] == [(1, "John.12.8"), (2, "Ps.40.2")]
    first, second = answer.hits
    assert first.parallels == (
        Parallel("Matt.26.11", "Matt.26.11"),
        Parallel("Mark.14.7", "Mark.14.7"),
    )
    assert second.parallels == ()


def test_ranks_are_those_of_all_where_nothing_is_grouped() -> None:
    index = index_texts(VERSES)
    answer = Retriever(index, QueryOptions(reranker=None, top=4, grouped=False)).answer(
        "pauperes enim semper"
    )
    assert {hit.id for hit in answer.hits[:3]} == {"John.12.8", "Mark.14.7", "Matt.26.11"}
    assert not any(hit.parallels for hit in answer.hits)


@given(st.lists(st.sampled_from(sorted(VERSES.values())), min_size=1, max_size=30))
def test_no_two_hits_are_of_one_group(texts: list[str]) -> None:
    index = index_texts({f"v{number:02}": text for number, text in enumerate(texts)})
    query = "pauperes deus lux beatus vir principio"
    plain = Retriever(index, QueryOptions(reranker=None, top=100, grouped=False)).answer(query).hits
    grouped = (
        Retriever(index, QueryOptions(reranker=None, top=100, grouped=True)).answer(query).hits
    )
    of = dict(zip([hit.id for hit in plain], index.parallels([h.id for h in plain]), strict=True))
    best: list[str] = []
    for hit in plain:
        if not set(best) & set(of[hit.id]):
            best.append(hit.id)
    assert [hit.id for hit in grouped] == best
    assert [hit.score for hit in grouped] == [hit.score for hit in plain if hit.id in best]


def test_of_a_group_larger_than_what_is_named_one_is_a_hit() -> None:
    texts = {f"v{number:03}": "factum est verbum domini ad me" for number in range(3 * MOST)}
    texts |= {f"w{number:03}": f"aliud{number}" for number in range(3 * MOST)}
    answer = Retriever(
        index_texts(texts), QueryOptions(reranker=None, top=50, grouped=True)
    ).answer("verbum")
    assert [hit.id for hit in answer.hits] == ["v000"]
    assert len(answer.hits[0].parallels) == MOST


def test_without_groups_nothing_is_parallel(vulgate_index: LocalIndex) -> None:
    found = vulgate_index.parallels(["Ps.13.1", "Ps.52.1", "Gen.1.1", "Mark.2.16"])
    assert found == [(), (), (), ("Matt.9.11", "Luke.5.30")]
    with pytest.raises(VerseError, match=r"no passage 'Gen\.99\.1'"):
        vulgate_index.parallels(["Gen.99.1"])
