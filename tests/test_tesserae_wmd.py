"""Tesserae with WMD as backoff, on one scale."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allusion_es.rerankers.tesserae import Tesserae
from allusion_es.rerankers.tesserae_wmd import TESSERAE_SCALE, WMD_SCALE, TesseraeWithBackoff
from allusion_es.rerankers.trial import (
    TrialCollection,
    TrialVectors,
    trial_candidates,
    trial_query,
)
from allusion_es.rerankers.wmd import WordMoversDistance
from allusion_es.retrieval.reranking import UNDEFINED

VECTORS = TrialVectors({"a": (1, 0), "b": (0, 1), "c": (0.6, 0.8), "d": (0.8, -0.6)})
TEXT = st.lists(st.sampled_from(["a", "b", "c", "d", "nemo"]), max_size=7).map(" ".join)


@settings(max_examples=80, deadline=None)
@given(TEXT, st.lists(TEXT, min_size=1, max_size=12), st.integers(1, 12))
def test_each_model_where_it_is_defined(query: str, texts: list[str], wanted: int) -> None:
    candidates, collection = trial_candidates(texts), TrialCollection(texts, VECTORS)
    asked = trial_query(query)
    tesserae = Tesserae().score(asked, candidates, collection)
    wmd = WordMoversDistance().score(asked, candidates, collection)
    a, b = TESSERAE_SCALE
    backoff = np.where(wmd == UNDEFINED, UNDEFINED, WMD_SCALE * wmd)
    expected = np.where(tesserae == UNDEFINED, backoff, a + b * tesserae)
    found = TesseraeWithBackoff().score(asked, candidates, collection)
    assert found == pytest.approx(expected, abs=1e-9)
    some = TesseraeWithBackoff().score(asked, candidates.want(wanted), collection)
    ids = np.array(candidates.ranking.ids)
    best = np.lexsort((ids, -found))[:wanted]
    assert np.lexsort((ids, -some))[:wanted].tolist() == best.tolist()
    assert some[best] == pytest.approx(found[best], abs=1e-12)


def test_the_scale_keeps_both_orders_and_lets_the_two_meet() -> None:
    """More of either is better, and neither model always comes first."""
    assert TESSERAE_SCALE[1] > 0
    assert WMD_SCALE > 0
    rare, frequent = (TESSERAE_SCALE[0] + TESSERAE_SCALE[1] * t for t in (0.0, -10.0))
    assert frequent < WMD_SCALE * 0.5 < rare
