"""Tesserae: by hand, against plain loops over pairs, and where it is undefined."""

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allusion_es.core.errors import UsageError
from allusion_es.local.memory import index_texts
from allusion_es.rerankers.tesserae import Tesserae
from allusion_es.rerankers.tesserae_original import TesseraeOriginal
from allusion_es.rerankers.trial import TrialCollection, trial_candidates, trial_query
from allusion_es.retrieval.reranking import (
    UNDEFINED,
    Collection,
    QueryFrequencies,
    reranker_notes,
)


def test_by_hand() -> None:
    """f(a) = 3, f(b) = 2 in the texts: ln((2/3 + 2/2) / (2 + 3))."""
    texts = ["b x x a", "a a b"]
    found = Tesserae().score(
        trial_query("a c b"), trial_candidates(texts[:1]), TrialCollection(texts)
    )
    assert found.tolist() == pytest.approx([math.log((2 / 3 + 2 / 2) / (2 + 3))])


def test_original_by_hand() -> None:
    """a twice in the query, where the nearer one counts: ln((1/2 + 1 + 1/1 + 1/1) / (1 + 2))."""
    texts = ["b x a"]
    query = trial_query("a c a b")
    found = TesseraeOriginal().score(query, trial_candidates(texts), TrialCollection(texts))
    assert found.tolist() == pytest.approx([math.log((1 / 2 + 1 + 1 + 1) / (1 + 2))])


def test_only_the_two_rarest_words_make_the_distance() -> None:
    """c is frequent, so that its nearness to a does not count."""
    texts = ["a c x b", "c c c c"]
    query = trial_query("a c c b")
    found = Tesserae().score(query, trial_candidates(texts[:1]), TrialCollection(texts))
    assert found.tolist() == pytest.approx([math.log((2 + 2 + 2 / 5) / (3 + 3))])


def test_of_equally_rare_words_the_nearest_pair_counts() -> None:
    texts = ["a x x b c"]
    found = Tesserae().score(trial_query("a b c"), trial_candidates(texts), TrialCollection(texts))
    assert found.tolist() == pytest.approx([math.log(6 / (1 + 1))])


def plain(query: list[str], text: list[str], f_q: Counter[str], f_t: Counter[str]) -> float:
    """The formula word by word; ties and repetitions as the docstring says."""
    shared = set(query) & set(text)
    if len(shared) < 2:
        return UNDEFINED

    def distance(words: list[str], f: Counter[str]) -> int:
        first, second = sorted(f[w] for w in shared)[:2]
        return min(
            abs(i - j)
            for i, j in itertools.permutations(range(len(words)), 2)
            if words[i] in shared
            and words[j] in shared
            and words[i] != words[j]
            and (f[words[i]], f[words[j]]) == (first, second)
        )

    total = sum(1 / f_q[w] + 1 / f_t[w] for w in shared)
    return math.log(total / (distance(query, f_q) + distance(text, f_t)))


TEXT = st.lists(st.sampled_from("abcde"), max_size=12).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(TEXT, st.lists(TEXT, min_size=1, max_size=8), st.lists(TEXT, min_size=1, max_size=4))
def test_plain_loops_give_the_same(query: str, texts: list[str], others: list[str]) -> None:
    collection = TrialCollection(texts)
    cf = Counter(word for text in texts for word in text.split())
    asked, candidates = trial_query(query), trial_candidates(texts)
    known = cf + Counter(dict.fromkeys(set(query.split()) - cf.keys(), 1))
    found = Tesserae().score(asked, candidates, collection).tolist()
    original = TesseraeOriginal().score(asked, candidates, collection).tolist()
    collection._queries = QueryFrequencies([asked, *(trial_query(text) for text in others)])
    run = Counter(word for text in [query, *others] for word in text.split())
    of_run = Tesserae().score(asked, candidates, collection).tolist()
    same = Tesserae(query_side="collection").score(asked, candidates, collection).tolist()
    assert same == found
    for number, text in enumerate(texts):
        q, t = query.split(), text.split()
        assert found[number] == pytest.approx(plain(q, t, known, known))
        assert original[number] == pytest.approx(plain(q, t, Counter(q), Counter(t)))
        assert of_run[number] == pytest.approx(plain(q, t, run, known))


def test_below_two_shared_words_it_is_undefined() -> None:
    texts = ["a x", "a b", "a a", "", "x"]
    query, candidates, collection = (
        trial_query("a b"),
        trial_candidates(texts),
        TrialCollection(texts),
    )
    for reranker in (Tesserae(), TesseraeOriginal()):
        scores = reranker.score(query, candidates, collection)
        assert [score == UNDEFINED for score in scores] == [True, False, True, True, True]
        assert scores[1] > UNDEFINED
        values = reranker.values(query, candidates, collection)
        assert [value is None for value in values] == [True, False, True, True, True]
        reasons = reranker.explain(query, candidates, collection)
        assert [reason is None for reason in reasons] == [True, False, True, True, True]


def test_the_explanation_shows_rarities_and_distances() -> None:
    texts = ["a b x c", "a a a c"]
    query, candidates = trial_query("c x b x a"), trial_candidates(texts)
    collection = TrialCollection(texts)
    score = Tesserae().score(query, candidates, collection)[0]
    reason = Tesserae().explain(query, candidates, collection)[0]
    assert reason is not None
    parts = {(part.query_word, part.passage_word): part.contribution for part in reason}
    assert sum(parts.values()) == pytest.approx(score, abs=1e-12)
    assert parts["‹distance 1›", "‹distance 1›"] == pytest.approx(-math.log(2))
    assert parts["b", "b"] > parts["c", "c"] > parts["a", "a"]


def test_frequencies_of_the_query_side_are_those_of_the_run() -> None:
    index = index_texts({"Gen.1.1": "terra caelum", "Gen.1.2": "terra"})
    queries = [trial_query("terra caelum"), trial_query("terra terra")]
    alone = Collection(index, QueryFrequencies(queries[:1]))
    run = Collection(index, QueryFrequencies(queries))
    assert alone.query_frequencies("token", ["terra", "nox"]).tolist() == [2, 0]
    assert run.query_frequencies("token", ["terra", "nox"]).tolist() == [3, 0]
    assert "query words from the collection" in reranker_notes(Tesserae(), alone)[0]
    assert "query words from the 2 queries" in reranker_notes(Tesserae(), run)[0]


def test_a_wrong_side_is_refused() -> None:
    with pytest.raises(UsageError, match="query_side must be run or collection, not 'both'"):
        Tesserae("both")
