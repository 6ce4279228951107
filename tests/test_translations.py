"""Translations: learned by hand-worked rounds, kept in a file, and a score that they explain."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_fixtures import collection, link

from allusion_es.core.arrays import save_arrays
from allusion_es.core.errors import InputError, UsageError
from allusion_es.language.citations.translations import Translations, save_translations
from allusion_es.language.latin.analysis import Analyser
from allusion_es.learning.translation_model import learn_translations
from allusion_es.rerankers.translation import TranslationLikelihood
from allusion_es.rerankers.trial import TrialCollection, trial, trial_candidates, trial_query

SETTINGS = Analyser().settings


def _with_table(
    path: Path, entries: dict[str, dict[str, float]], **numbers: float
) -> TranslationLikelihood:
    save_translations(path, entries, SETTINGS, {"links": 2})
    reranker = TranslationLikelihood(**numbers)
    reranker._table = Translations(path)
    return reranker


def test_one_round_by_hand() -> None:
    verses = collection(["rete", "mare"])
    links = [link("sagena piscis", 0), link("piscis", 1)]
    found = learn_translations(links, verses, rounds=1, least=0.0)
    # Each word is aligned by half with the passage's one word and by half with nothing.
    assert found == {"rete": {"sagena": 0.5, "piscis": 0.5}, "mare": {"piscis": 1.0}}
    # Nothing: 1/2 of sagena, 1/2 + 1/2 of piscis; so t(sagena | nothing) = 1/3, piscis 2/3.
    second = learn_translations(links, verses, rounds=2, least=0.0)
    sagena, piscis = 0.5 / (0.5 + 1 / 3), 0.5 / (0.5 + 2 / 3)
    assert second["rete"]["sagena"] == pytest.approx(sagena / (sagena + piscis))


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abcde"), min_size=1, max_size=5), st.integers(0, 2)),
        max_size=8,
    )
)
def test_translations_of_a_word_are_probabilities(texts: list[tuple[list[str], int]]) -> None:
    links = [link(" ".join(words), place) for words, place in texts]
    found = learn_translations(links, collection(["x y", "y z", "z"]), least=0.0)
    assert all(sum(row.values()) == pytest.approx(1) for row in found.values())
    assert "" not in found


def test_a_score_by_hand(tmp_path: Path) -> None:
    reranker = _with_table(tmp_path / "t", {"rete": {"sagena": 0.5}}, itself=0.5, chance=0.5)
    query, texts = trial_query("sagena rete"), ["rete mare", "sagena"]
    scores = reranker.score(query, trial_candidates(texts), TrialCollection(texts))
    # Three words in all; each of the two occurs once. P(u | p) is 1/2 in the first, 1 in the other.
    first = np.log(1 + 3 * 0.5 * 0.5 * 0.5) + np.log(1 + 3 * 0.5 * 0.5)
    assert scores.tolist() == pytest.approx([first, np.log(1 + 3 * 0.5)])
    pairs = reranker.explain(query, trial_candidates(texts), TrialCollection(texts))[0]
    assert pairs is not None
    found = {(part.query_word, part.passage_word): part.contribution for part in pairs}
    assert found == pytest.approx(
        {("sagena", "rete"): np.log(1 + 3 / 8), ("rete", "rete"): np.log(1.75)}
    )


@given(
    st.lists(st.sampled_from("abcde"), max_size=6),
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=4),
)
def test_contributions_sum_to_the_score(words: list[str], passages: list[list[str]]) -> None:
    texts, query = [" ".join(one) for one in passages], trial_query(" ".join(words))
    candidates, whole = trial_candidates(texts), TrialCollection([*texts, "a b c d e f"])
    scores = KEPT[0].score(query, candidates, whole)
    assert (scores >= 0).all()
    for score, pairs in zip(scores, KEPT[0].explain(query, candidates, whole), strict=True):
        assert pairs is not None
        assert sum(part.contribution for part in pairs) == pytest.approx(score)


KEPT: list[TranslationLikelihood] = []


@pytest.fixture(scope="module", autouse=True)
def _kept(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("translations") / "t"
    KEPT.append(_with_table(path, {"a": {"b": 0.7, "c": 0.3}, "f": {"a": 1.0}}))


def test_the_file_gives_back_what_was_saved(tmp_path: Path) -> None:
    entries = {"rete": {"sagena": 0.5, "rete": 0.25}, "mare": {"aqua": 1.0}}
    save_translations(tmp_path / "t", entries, SETTINGS, {"links": 7})
    table = Translations(tmp_path / "t")
    assert (len(table), table.about["links"]) == (3, 7)
    found = table.matrix(["rete", "ignotum", "mare"], ["sagena", "aqua", "rete", "nihil"])
    assert found.tolist() == [[0.5, 0, 0.25, 0], [0, 0, 0, 0], [0, 1, 0, 0]]


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Translations(tmp_path / "none")
    save_arrays(tmp_path / "t", {"kind": "citation vectors", "format": 1}, {})
    with pytest.raises(InputError, match="not translations of format 1 but citation vectors"):
        Translations(tmp_path / "t")


def test_without_a_table_it_says_what_to_do() -> None:
    with pytest.raises(UsageError, match="has learned no translations"):
        trial(TranslationLikelihood(), "rex", ["rex"])
    with pytest.raises(UsageError, match="itself must be from 0 to 1"):
        TranslationLikelihood(itself=2)
