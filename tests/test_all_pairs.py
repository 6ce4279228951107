"""All queries against all passages: the same as the reranker gives one by one."""

import doctest
import sys
from pathlib import Path

import numpy as np
import pytest

from allusion_es.core.errors import UsageError
from allusion_es.local.index import LocalIndex
from allusion_es.rerankers._shared.soft_cosines import SoftCosineReranker
from allusion_es.rerankers.soft_cosine import SoftCosine
from allusion_es.rerankers.soft_cosine_random import SoftCosineRandom
from allusion_es.rerankers.trial import TrialCollection, trial_candidates, trial_query
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import Ranking

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import all_pairs
from all_pairs import rank_all


def one_by_one(
    query: str, passages: Candidates, collection: Collection, model: SoftCosineReranker, top: int
) -> Ranking:
    scores = model.score(trial_query(query), passages, collection)
    order = np.lexsort((np.array(passages.ranking.ids), -scores))[:top]
    order = order[scores[order] > 0]
    return Ranking(tuple(passages.ranking.ids[n] for n in order), scores[order])


@pytest.mark.parametrize("model", [SoftCosine(), SoftCosine(2), SoftCosineRandom()])
def test_the_vulgate_gives_what_the_reranker_gives(
    model: SoftCosineReranker, vulgate_index: LocalIndex, vulgate_passages: tuple[object, ...]
) -> None:
    ids = [passage.id for passage in vulgate_passages]  # type: ignore[attr-defined]
    chosen = tuple(ids[::5] if isinstance(model, SoftCosine) else ids[::40])
    asked = tuple(ids[-300::2])
    collection = Collection(vulgate_index)
    sides = [
        Candidates(Ranking(some, np.zeros(len(some))), "lemma", vulgate_index.texts("lemma", some))
        for some in (asked, chosen)
    ]
    found = rank_all(sides[0], sides[1], collection, top=20, model=model)
    assert len(found) == len(asked)
    for number in range(0, len(asked), 7):
        query = " ".join(sides[0].texts.text(number))
        expected = one_by_one(query, sides[1], collection, model, 20)
        ranking = found[number]
        assert ranking.scores == pytest.approx(expected.scores, abs=1e-5)
        scores = dict(zip(expected.ids, expected.scores.tolist(), strict=True))
        for identifier, score in zip(ranking.ids, ranking.scores.tolist(), strict=True):
            # Only passages that score the same to five digits may have changed places.
            assert scores.get(identifier, expected.scores[-1]) == pytest.approx(score, abs=1e-5)


def test_empty_texts_and_few_passages() -> None:
    passages = trial_candidates(["a b", "", "c", "d"])
    queries = trial_candidates(["a", "", "nemo"])
    found = rank_all(queries, passages, TrialCollection(["a b", "c", "d"]), top=100)
    assert [ranking.ids for ranking in found] == [("0",), (), ()]
    assert rank_all(trial_candidates([]), passages, TrialCollection(["a"])) == []
    none = rank_all(queries, trial_candidates([]), TrialCollection(["a"]))
    assert [len(ranking) for ranking in none] == [0, 0, 0]


def test_equal_scores_come_in_the_order_of_their_ids() -> None:
    texts = ["a x"] * 300 + ["b"] * 400
    found = rank_all(
        trial_candidates(["a"]), trial_candidates(texts), TrialCollection(texts), top=3
    )
    assert found[0].ids == ("0", "1", "10")


def test_what_makes_no_sense_is_refused() -> None:
    some, collection = trial_candidates(["a"]), TrialCollection(["a"])
    with pytest.raises(UsageError, match="top must be at least 1, not 0"):
        rank_all(some, some, collection, top=0)
    other = Candidates(some.ranking, "token", some.texts)
    with pytest.raises(UsageError, match="queries have tokens, but passages have lemmas"):
        rank_all(other, some, collection)


def test_its_example_holds() -> None:
    assert doctest.testmod(all_pairs).failed == 0
