"""Jaccard, BOW, TfIdf, BM25: by hand, and against plain loops."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allusion_es.core.errors import UsageError
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.rerankers.bm25 import Bm25
from allusion_es.rerankers.bow import BagOfWords
from allusion_es.rerankers.jaccard import Jaccard
from allusion_es.rerankers.tfidf import TfIdf
from allusion_es.rerankers.trial import TrialCollection, trial_candidates, trial_query
from allusion_es.retrieval.reranking import Candidates, Collection, Reranker
from allusion_es.retrieval.types import Ranking, SearchRequest

TEXT = st.lists(st.sampled_from("abcdefg"), max_size=10).map(" ".join)
TEXTS = st.lists(TEXT, min_size=1, max_size=8)
FEW = settings(max_examples=60, deadline=None)


def scores(reranker: Reranker, query: str, texts: list[str]) -> list[float]:
    found = reranker.score(trial_query(query), trial_candidates(texts), TrialCollection(texts))
    return [float(value) for value in found]


def test_jaccard_by_hand() -> None:
    """{a, b} and {b, c, d}: one of four."""
    assert scores(Jaccard(), "a b b", ["b c d d", "a b", "c", ""]) == [0.25, 1.0, 0.0, 0.0]


def test_bow_by_hand() -> None:
    """(3, 4) and (4, 3): 24 / 25."""
    assert scores(BagOfWords(), "a a a b b b b", ["a a a a b b b"]) == pytest.approx([0.96])


def test_tfidf_by_hand() -> None:
    """Four texts; idf(a) = ln(4/3), idf(b) = ln 2; (idf a, 0) and (idf a, 2 idf b)."""
    a, b = math.log(4 / 3), math.log(2)
    expected = a * a / (a * math.hypot(a, 2 * b))
    assert scores(TfIdf(), "a", ["a b b", "a", "c", "d"])[0] == pytest.approx(expected)


def test_bm25_by_hand() -> None:
    """idf(a) = ln(1 + 3.5 / 1.5), f = 2, length 3, mean length 1.5, twice in the query."""
    inverse = math.log(1 + (4 - 1 + 0.5) / 1.5)
    expected = 2 * 2.2 * inverse * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 1.5))
    found = scores(Bm25(), "a a", ["a a b", "c", "d", "e"])
    assert found == pytest.approx([expected, 0, 0, 0], rel=1e-6)


@FEW
@given(TEXT, TEXTS)
def test_plain_loops_give_the_same(query: str, texts: list[str]) -> None:
    collection = TrialCollection(texts)
    words = sorted({word for text in [query, *texts] for word in text.split()})
    known = collection.statistics("lemma", words)
    weight = {
        word: max(0.0, math.log(known.passages / (1 + df))) if known.passages else 0.0
        for word, df in zip(words, known.df.tolist(), strict=True)
    }
    found = {r: scores(r(), query, texts) for r in (Jaccard, BagOfWords, TfIdf)}
    for number, text in enumerate(texts):
        q, p = Counter(query.split()), Counter(text.split())
        union = len(q.keys() | p.keys())
        assert found[Jaccard][number] == pytest.approx(len(q.keys() & p.keys()) / (union or 1))
        for reranker, idf in ((BagOfWords, dict.fromkeys(words, 1.0)), (TfIdf, weight)):
            product = sum(q[w] * p[w] * idf[w] ** 2 for w in words)
            length = math.sqrt(sum((q[w] * idf[w]) ** 2 for w in words)) * math.sqrt(
                sum((p[w] * idf[w]) ** 2 for w in words)
            )
            expected = product / length if length else 0.0
            assert found[reranker][number] == pytest.approx(expected, abs=1e-12)


@FEW
@given(TEXT, TEXT)
def test_cosines_and_jaccard_are_symmetric_and_greatest_for_the_text_itself(
    left: str, right: str
) -> None:
    texts = [left, right, "x y z"]
    collection = TrialCollection(texts)
    for reranker in (Jaccard(), BagOfWords(), TfIdf()):
        both = [
            reranker.score(trial_query(text), trial_candidates(texts), collection)
            for text in (left, right)
        ]
        assert both[0][1] == pytest.approx(both[1][0], abs=1e-12)
        assert both[0].max() <= both[0][0] + 1e-12
        assert both[0][0] == pytest.approx(1.0) or both[0][0] == 0


def everything(index: LocalIndex, ids: tuple[str, ...]) -> Candidates:
    return Candidates(Ranking(ids, np.zeros(len(ids))), "token", index.texts("token", ids))


def test_the_first_stage_gives_the_same_bm25_and_tfidf() -> None:
    texts = {f"Ps.1.{n}": f"deus {'lux ' * n} nox {'uir ' * (40 * (n % 2))}" for n in range(1, 7)}
    index = index_texts({**texts, **{f"Gen.1.{n}": "terra" for n in range(1, 7)}})
    candidates, collection = everything(index, tuple(texts)), Collection(index)
    query = trial_query("lux lux deus nihil")
    requests = [
        SearchRequest(kind, "token", 10, words={"lux": 2, "deus": 1, "nihil": 1})
        for kind in ("bm25", "tfidf")
    ]
    for ranking, reranker in zip(index.search(requests), (Bm25(), TfIdf()), strict=True):
        expected = dict(zip(ranking.ids, ranking.scores.tolist(), strict=True))
        found = reranker.score(query, candidates, collection).tolist()
        assert found == pytest.approx([expected[i] for i in candidates.ranking.ids], rel=1e-6)


@pytest.mark.parametrize(
    ("k1", "b", "message"),
    [
        (0.0, 0.5, r"bm25\.k1 must be from 0.01 to 100, not 0.0"),
        (math.nan, 0.5, r"bm25\.k1 must be from 0.01 to 100, not nan"),
        (1.2, 1.5, r"bm25\.b must be from 0 to 1, not 1.5"),
    ],
)
def test_parameters_out_of_range_are_refused(k1: float, b: float, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Bm25(k1, b)
