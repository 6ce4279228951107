"""Sequences of letters in the index of this process: against the definition, one by one."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allusion_es.core.arrays import ArrayFile, save_arrays
from allusion_es.core.errors import UsageError
from allusion_es.language.citations.word_parts import (
    SEARCHED_SIZES,
    all_grams,
    distinct_gram_keys,
    gram_key,
    gram_keys,
    grams,
    searched_gram_keys,
)
from allusion_es.local import searchers
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.generators import MAX_WORDS, NgramSearch, searched_grams
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import SearchFilter, SearchRequest
from allusion_es.retrieval.weighting import lucene_lengths

K1, B = 1.2, 0.75


def plain_bm25(texts: dict[str, list[str]], asked: dict[str, float]) -> dict[str, float]:
    """BM25 in double precision over lists of grams; lengths as Lucene keeps them."""
    full = [found for found in texts.values() if found]
    mean = sum(map(len, full)) / len(full) if full else 1.0
    scores = {}
    for name, found in texts.items():
        length = int(lucene_lengths(np.array([len(found)]))[0])
        score = 0.0
        for gram, boost in asked.items():
            df, tf = sum(gram in one for one in full), found.count(gram)
            idf = math.log(1 + (len(full) - df + 0.5) / (df + 0.5))
            if tf:
                score += boost * (K1 + 1) * idf * tf / (tf + K1 * (1 - B + B * length / mean))
        if score:
            scores[name] = score
    return scores


FORMS = st.text("aehitmnpx", min_size=1, max_size=9)


@given(
    st.lists(st.lists(FORMS, max_size=9), min_size=1, max_size=6),
    st.lists(FORMS, min_size=1, max_size=4),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scores_are_bm25_of_grams(texts: list[list[str]], query: list[str]) -> None:
    named = {f"p{number}": " ".join(words) for number, words in enumerate(texts)}
    index = index_texts(named)
    ids = list(named)
    tokens = index.texts("token", ids)
    held = {
        name: [gram for token in tokens.text(number) for gram in all_grams(token, SEARCHED_SIZES)]
        for number, name in enumerate(ids)
    }
    asked = searched_grams(query)
    (ranking,) = index.search([SearchRequest("ngrams", "token", 9, asked)])
    found = dict(zip(ranking.ids, ranking.scores.tolist(), strict=True))
    assert found == pytest.approx(plain_bm25(held, asked), rel=1e-5)


def test_spellings_and_stems_are_found() -> None:
    texts = {"1": "celum et terra", "2": "mare magnum", "3": "gratiam caelestem", "4": ""}
    retriever = Retriever(index_texts(texts), QueryOptions(generators=["ngrams"], reranker=None))
    assert retriever.answer("caeli").hits[0].id == "1"
    assert retriever.answer("gracia").hits[0].id == "3"
    assert not retriever.answer("zz").hits


def test_all_grams_and_distinct_ones() -> None:
    assert Counter(all_grams("papapa"))["apa"] == 2
    assert grams("papapa") == sorted(set(all_grams("papapa")))
    assert all_grams("h") == []  # nothing is left of it in one spelling


ANY = st.text(st.sampled_from("aehipt<>αæ\0 ·"), max_size=7)
"""Forms of letters of one byte and of several, and what tokens hardly have."""


@given(st.lists(st.one_of(FORMS, ANY), max_size=8))
def test_keys_of_many_forms_are_those_of_each(forms: list[str]) -> None:
    keys, counts = distinct_gram_keys(forms)
    assert keys.tolist() == [key for form in forms for key in gram_keys(form)]
    assert counts.tolist() == [len(gram_keys(form)) for form in forms]
    searched = [all_grams(form, SEARCHED_SIZES) for form in forms]
    keys, counts = searched_gram_keys(forms)
    assert counts.tolist() == [len(found) for found in searched]
    parts = np.split(keys, np.cumsum(counts)[:-1]) if forms else []
    for found, part in zip(searched, parts, strict=True):
        assert sorted(part.tolist()) == sorted(map(gram_key, found))


def test_who_asks_often_gets_the_same_bits(vulgate_index: LocalIndex) -> None:
    searcher = searchers.NgramSearcher(vulgate_index._array, K1, B)
    asked = [searched_grams(text.split()) for text in ("gustate et uidete", "caeli", "zzz")]
    once = [searcher.best(each, 100) for each in asked]
    searcher._parts._asked = searchers._BEFORE_KEEPING
    again = [searcher.best(each, 100) for each in asked]
    for one, other in zip(once, again, strict=True):
        assert (one.places == other.places).all()
        assert (one.scores == other.scores).all()
    assert len(once[0].places) >= 100
    assert not len(once[2].places)


def test_of_very_many_grams_the_longest_are_searched_for() -> None:
    tokens = [f"{a}{b}{c}xyz" for a in "abcdefghik" for b in "ilmnopqrs" for c in "qrstuvw"]
    found = searched_grams(tokens)
    assert len(found) == MAX_WORDS
    assert {len(gram) for gram in found} == {5}


def test_an_index_without_them_says_so(tmp_path: Path) -> None:
    """As indexes of format 2 are, which can be searched for words still."""
    index = index_texts({"1": "rex magnus"})
    file = index._saved.file
    arrays = {name: file.load(name) for name in file._table if not name.startswith("ngram.")}
    save_arrays(tmp_path / "old.idx", {**file.meta, "format": 2}, arrays)
    old = LocalIndex(tmp_path / "old.idx")
    assert "ngrams" in index.capabilities
    assert "ngrams" not in old.capabilities
    assert [hit.id for hit in Retriever(old, QueryOptions(reranker=None)).answer("rex").hits] == [
        "1"
    ]
    analysed = Retriever(old, QueryOptions(reranker=None)).answer("rex").query
    with pytest.raises(UsageError, match="index 'old' has no n-grams; rebuild it"):
        NgramSearch().rank([analysed], old, "token", 5, SearchFilter())
    assert isinstance(file, ArrayFile)
