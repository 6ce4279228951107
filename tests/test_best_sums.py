"""Tests of the best sums from posting lists: block by block as by hand."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.arrays import save_arrays
from allusion_es.core.errors import IndexDamagedError
from allusion_es.local import best_sums as module
from allusion_es.local.best_sums import Best, PostingLists, best_sums
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.types import SearchRequest

_SIZE = 40

lists = st.lists(
    st.dictionaries(st.integers(0, _SIZE - 1), st.integers(1, 9), max_size=_SIZE), max_size=6
)


@given(
    lists,
    st.lists(st.sampled_from((0.0, 0.25, 1.0, 3.0)), min_size=6, max_size=6),
    st.integers(1, 12),
    st.integers(1, 50),
    st.none() | st.sets(st.integers(0, _SIZE - 1)),
)
def test_blocks_make_no_difference(
    given_lists: list[dict[int, int]],
    weights: list[float],
    size: int,
    block: int,
    allowed: set[int] | None,
) -> None:
    """Compared with sums in a dictionary, with blocks of any length and any filter."""
    sums: dict[int, float] = defaultdict(float)
    for each, weight in zip(given_lists, weights, strict=False):
        for passage, value in each.items():
            sums[passage] += weight * value
    right = {
        passage: total
        for passage, total in sums.items()
        if total > 0 and (allowed is None or passage in allowed)
    }
    ordered = [sorted(each.items()) for each in given_lists]
    coded = PostingLists(
        [np.array([passage for passage, _ in each], dtype=np.int32) for each in ordered],
        [np.array([value for _, value in each], dtype=np.uint8) for each in ordered],
    )
    mask = None if allowed is None else np.isin(np.arange(_SIZE), sorted(allowed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        found = best_sums(
            coded,
            lambda postings: postings.values * postings.spread(np.array(weights[: len(ordered)])),
            size,
            _SIZE,
            mask,
        )
    best = sorted(right.values(), reverse=True)[:size]
    assert dict(zip(found.places.tolist(), found.scores.tolist(), strict=True)) == {
        passage: total for passage, total in right.items() if total >= best[-1]
    }


def test_all_as_good_as_the_last_are_kept() -> None:
    best = Best(2)
    best.add(np.array([4, 7]), np.array([1.0, 2.0], dtype=np.float32))
    assert best.least == 1
    best.add(np.array([9, 8]), np.array([1.0, 0.5], dtype=np.float32))
    assert best.found().places.tolist() == [4, 7, 9]


def test_no_word_finds_nothing() -> None:
    found = best_sums(PostingLists([], []), lambda each: each.values, 5, 3)
    assert len(found.places) == len(found.scores) == 0


def test_lists_that_do_not_ascend_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large collection's lists are cut where its blocks end, which needs their order."""
    file = index_texts({"1": "rex magnus", "2": "rex", "3": "magnus dies"})._saved.file
    arrays = {name: file.load(name) for name in file._table}
    asked = [SearchRequest("bm25", "lemma", 2, words={"rex": 1.0})]
    monkeypatch.setattr("allusion_es.local.format.BLOCK", 1)
    save_arrays(tmp_path / "good.idx", file.meta, arrays)
    good = LocalIndex(tmp_path / "good.idx").search(asked)[0]
    assert set(good.ids) == {"1", "2"}
    passages = np.sort(arrays["lemma.posting_passages"])[::-1]
    arrays["lemma.posting_passages"] = np.ascontiguousarray(passages)
    save_arrays(tmp_path / "bad.idx", file.meta, arrays)
    with pytest.raises(IndexDamagedError, match=r"posting_passages is not what it must be"):
        LocalIndex(tmp_path / "bad.idx").search(asked)
