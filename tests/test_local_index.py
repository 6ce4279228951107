"""The in-process index, on collections small enough to check by hand."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from little_vectors import LittleVectors

from allusion_es.core.errors import (
    IndexDamagedError,
    IndexMissingError,
    InputError,
    UsageError,
    VerseError,
)
from allusion_es.corpora.passage import Passage
from allusion_es.language.latin.analysis import Analyser, Analysis
from allusion_es.local.build import build_local
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.analysed import AnalysedPassage, analyse_passages
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.types import SearchFilter, SearchRequest

SETTINGS = IndexSettings(Analyser().settings)


def build(path: Path, texts: dict[str, str], **properties: str) -> LocalIndex:
    """An index whose tokens and lemmas are the blank-separated words of the texts."""
    passages = []
    for order, (identifier, text) in enumerate(texts.items()):
        words = tuple(text.split())
        analysis = Analysis(words, words, ((0, 0),) * len(words))
        passages.append(
            AnalysedPassage(Passage(identifier, text, order=order, **properties), analysis)  # type: ignore[arg-type]
        )
    build_local(path, passages, SETTINGS, LittleVectors())
    return LocalIndex(path, LittleVectors)


@pytest.fixture
def index(tmp_path: Path) -> LocalIndex:
    return build(
        tmp_path / "little.idx", {"b": "x x y", "a": "x x y", "c": "y z", "e": "", "d": "z"}
    )


def search(index: LocalIndex, kind: str, words: dict[str, int], size: int = 10) -> dict[str, float]:
    request = SearchRequest(kind, "token", size, words=words)  # type: ignore[arg-type]
    ranking = index.search([request])[0]
    assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
    return dict(zip(ranking.ids, ranking.scores.tolist(), strict=True))


def test_nothing_is_near_zeros(index: LocalIndex) -> None:
    zeros, some = (
        SearchRequest("knn", "token", 5, vector=np.array(vector, dtype=np.float32))
        for vector in ([0, 0], [1, 0])
    )
    assert [len(ranking) > 0 for ranking in index.search([zeros, some])] == [False, True]


def test_bm25_by_hand(index: LocalIndex) -> None:
    """N = 4 (the empty passage does not count), mean length 9 / 4."""

    def bm25(df: int, frequency: int, length: int) -> float:
        inverse = math.log(1 + (4 - df + 0.5) / (df + 0.5))
        ratio = length / (9 / 4)
        return 2.2 * inverse * frequency / (frequency + 1.2 * (0.25 + 0.75 * ratio))

    found = search(index, "bm25", {"x": 1, "z": 2})
    assert list(found) == ["d", "c", "a", "b"]  # a before b: equal scores, order of ids
    assert found["d"] == pytest.approx(2 * bm25(2, 1, 1), rel=1e-6)
    assert found["c"] == pytest.approx(2 * bm25(2, 1, 2), rel=1e-6)
    assert found["a"] == found["b"] == pytest.approx(bm25(2, 2, 3), rel=1e-6)


def test_tfidf_by_hand(index: LocalIndex) -> None:
    """idf(x) = idf(z) = log(4/3), idf(y) = log(4/4) = 0."""
    found = search(index, "tfidf", {"x": 1, "y": 1, "z": 1})
    assert found == pytest.approx(
        {"a": 1 / math.sqrt(2), "b": 1 / math.sqrt(2), "c": 1 / math.sqrt(2), "d": 1 / math.sqrt(2)}
    )
    assert list(found) == ["a", "b", "c", "d"]


def test_nearest_neighbours_by_hand(index: LocalIndex) -> None:
    """x = (1, 0), y = (0, 1), z = (0.6, 0.8); the empty passage has no vector."""
    vector = np.array([1.0, 0.0], np.float32)
    ranking = index.search([SearchRequest("knn", "token", 10, vector=vector)])[0]
    assert ranking.ids == ("a", "b", "d", "c")
    assert ranking.scores == pytest.approx(
        [2 / 5**0.5, 2 / 5**0.5, 0.6, 0.6 / (0.6**2 + 1.8**2) ** 0.5]
    )


def test_unknown_words_find_nothing(index: LocalIndex) -> None:
    for kind in ("bm25", "tfidf"):
        assert search(index, kind, {"q": 1}) == {}
        assert search(index, kind, {}) == {}


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_size_cuts_the_same_ranking(index: LocalIndex, size: int) -> None:
    whole = list(search(index, "bm25", {"x": 1, "z": 1, "y": 1}))
    assert list(search(index, "bm25", {"x": 1, "z": 1, "y": 1}, size)) == whole[:size]


def test_statistics(index: LocalIndex) -> None:
    found = index.statistics("token", ["x", "q", "y"])
    assert found.df.tolist() == [2, 0, 3]
    assert found.cf.tolist() == [4, 0, 3]
    assert (found.passages, found.mean_length) == (4, 9 / 4)


def test_texts_and_passages_come_back(index: LocalIndex) -> None:
    texts = index.texts("token", ["c", "e", "b"])
    assert [texts.text(number) for number in range(3)] == [("y", "z"), (), ("x", "x", "y")]
    assert [passage.text for passage in index.passages(["c", "e", "b"])] == ["y z", "", "x x y"]
    with pytest.raises(VerseError, match="'little' has no passage 'q'"):
        index.passages(["a", "q"])


def test_filters(tmp_path: Path) -> None:
    analyser = Analyser()
    passages = [
        Passage("1", "deus", work="w", book="Gen", testament="ot"),
        Passage("2", "deus", work="w", book="Matt", testament="nt"),
        Passage("3", "deus", work="v", book="Gen", testament="ot"),
    ]
    path = tmp_path / "f.idx"
    build_local(path, analyse_passages(passages, analyser), SETTINGS)
    index = LocalIndex(path)

    def ids(**search_filter: Any) -> tuple[str, ...]:  # noqa: ANN401 - any of its fields
        request = SearchRequest(
            "bm25", "lemma", 9, words={"deus": 1}, search_filter=SearchFilter(**search_filter)
        )
        return index.search([request])[0].ids

    assert ids() == ("1", "2", "3")
    assert ids(books=frozenset({"Gen"})) == ("1", "3")
    assert ids(books=frozenset({"Gen"}), works=frozenset({"v"})) == ("3",)
    assert ids(testaments=frozenset({"nt"})) == ("2",)
    assert ids(books=frozenset({"Ps"})) == ()
    assert index.ids() == ("1", "2", "3")
    assert index.ids(SearchFilter(works=frozenset({"w"}))) == ("1", "2")
    assert index.ids(SearchFilter(books=frozenset({"Ps"}))) == ()
    with pytest.raises(UsageError, match="no word vectors"):
        index.search([SearchRequest("knn", "token", 1, vector=np.ones(2, np.float32))])


def test_bad_collections_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no passage to index"):
        build(tmp_path / "x.idx", {})
    twice = [AnalysedPassage(Passage("1", "a"), Analysis(("a",), ("a",), ((0, 1),)))] * 2
    with pytest.raises(InputError, match="'1' occurs twice"):
        build_local(tmp_path / "x.idx", twice, SETTINGS)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_build_leaves_the_old_index(tmp_path: Path) -> None:
    path = tmp_path / "x.idx"
    build(path, {"old": "x"})

    def interrupted() -> object:
        yield AnalysedPassage(Passage("1", "a"), Analysis(("a",), ("a",), ((0, 1),)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_local(path, interrupted(), SETTINGS)  # type: ignore[arg-type]
    assert len(LocalIndex(path)) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["x.idx"]


def test_missing_and_old_indexes_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(IndexMissingError, match=r"no index 'gone'.*allusion-es index"):
        LocalIndex(tmp_path / "gone.idx")
    build(tmp_path / "x.idx", {"a": "x"})
    from allusion_es.core.arrays import save_arrays

    save_arrays(tmp_path / "old.idx", {"format": 0}, {})
    with pytest.raises(IndexDamagedError, match="format 0 instead of 5; rebuild"):
        LocalIndex(tmp_path / "old.idx")


def test_building_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.idx", "two.idx"):
        build(tmp_path / name, {"b": "x x y", "a": "z", "ü": "y"})
    assert (tmp_path / "one.idx").read_bytes() == (tmp_path / "two.idx").read_bytes()


WORDS = st.lists(st.sampled_from("xyzuv"), max_size=8).map(" ".join)
IDS = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=5)


@given(st.dictionaries(IDS, WORDS, min_size=1, max_size=8), WORDS)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_round_trip_and_plain_bm25(tmp_path: Path, texts: dict[str, str], query: str) -> None:
    """Ids, words and texts survive, and scores are what double precision gives."""
    index = build(tmp_path / "p.idx", texts)
    ids = list(texts)
    assert [p.id for p in index.passages(ids)] == ids
    coded = index.texts("lemma", ids)
    assert [" ".join(coded.text(n)) for n in range(len(ids))] == list(texts.values())
    words = {w: query.split().count(w) for w in query.split()}
    full = [text.split() for text in texts.values() if text]
    mean = sum(map(len, full)) / len(full) if full else 1
    expected = {}
    for identifier, text in texts.items():
        score = 0.0
        for word, count in words.items():
            df = sum(word in other for other in full)
            f = text.split().count(word)
            ratio = len(text.split()) / mean
            if f:
                inverse = math.log(1 + (len(full) - df + 0.5) / (df + 0.5))
                score += count * 2.2 * inverse * f / (f + 1.2 * (0.25 + 0.75 * ratio))
        if score:
            expected[identifier] = score
    found = search(index, "bm25", words)
    assert found == pytest.approx(expected, rel=1e-5)
    pairs = [(-score, identifier) for identifier, score in found.items()]
    assert pairs == sorted(pairs)


def test_index_texts_analyses(tmp_path: Path) -> None:
    index = index_texts({"1": "Dixitque Deus"})
    assert index.texts("lemma", ["1"]).text(0) == ("dico", "que", "deus")
