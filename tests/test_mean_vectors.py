"""Tests of cosines with mean word vectors of which only the lengths are kept."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from little_vectors import LittleVectors

from allusion_es.core.arrays import save_arrays
from allusion_es.local import mean_vectors as module
from allusion_es.local.index import LocalIndex
from allusion_es.local.mean_vectors import MeanVectors, lengths_of_sums
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.types import SearchRequest

_WORDS = 5
_NUMBERS = st.floats(-1, 1, width=32)


@given(
    st.lists(st.lists(st.integers(0, _WORDS - 1), max_size=6), min_size=1, max_size=8),
    arrays(np.float32, (_WORDS, 3), elements=_NUMBERS),
    arrays(np.float32, 3, elements=_NUMBERS),
    st.integers(1, 9),
)
def test_it_is_the_cosine_with_the_sum(
    texts: list[list[int]], table: np.ndarray, vector: np.ndarray, together: int
) -> None:
    """As by adding up the vectors of each passage, however many words are looked up at once."""
    codes = np.array([code for text in texts for code in text], dtype=np.int32)
    counts = np.array([len(text) for text in texts])
    offsets = np.concatenate(([0], np.cumsum(counts)))
    lengths = lengths_of_sums(codes, counts, table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TOGETHER", together)
        found = MeanVectors(codes, offsets, table, lengths).cosines(vector)
        computed = MeanVectors(codes, offsets, table, None).cosines(vector)
    sums = [table[text].sum(axis=0, dtype=np.float64) for text in texts]
    filled = [n for n, each in enumerate(sums) if np.linalg.norm(each) >= 1e-6]
    assert found.places.tolist() == computed.places.tolist() == filled
    right = [float(sums[n] @ vector) / float(np.linalg.norm(sums[n])) for n in filled]
    assert found.scores == pytest.approx(right, abs=1e-4, rel=1e-4)
    assert (found.scores == computed.scores).all()


def test_an_index_of_an_earlier_format_gives_the_same(tmp_path: Path) -> None:
    """It has no lengths."""
    index = index_texts({"1": "x minus", "2": "x x z", "3": "unknown", "4": ""}, LittleVectors())
    file = index._saved.file
    kept = {name: file.load(name) for name in file._table if "vector_lengths" not in name}
    save_arrays(tmp_path / "old.idx", {**file.meta, "format": 4}, kept)
    vector = LittleVectors().vectors(["x"])[0]
    asked = [SearchRequest("knn", field, 5, vector=vector) for field in ("token", "lemma")]
    mine, old = index.search(asked), LocalIndex(tmp_path / "old.idx").search(asked)
    for one, other in zip(mine, old, strict=True):
        assert one.ids == other.ids
        assert one.scores.tolist() == other.scores.tolist()
    assert mine[0].ids
