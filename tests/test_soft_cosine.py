"""Soft cosine: by hand, against gensim, and what holds for all texts."""

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from little_vectors import LittleVectors
from numpy.typing import NDArray

from allusion_es.core.errors import UsageError
from allusion_es.language.latin.analysis import Analysis
from allusion_es.language.vectors.types import WordVectors
from allusion_es.rerankers.soft_cosine import SoftCosine
from allusion_es.retrieval.coded_texts import code_texts
from allusion_es.retrieval.reranking import Candidates
from allusion_es.retrieval.types import AnalysedQuery, Query, Ranking, TermStatistics


class LittleCollection:
    """100 passages; x, y and z with df 9, 19 and 0, so that idf is log 10, log 5, log 100."""

    DF: ClassVar = {"x": 9, "y": 19, "z": 0, "everywhere": 100}

    def __init__(self, vectors: WordVectors | None) -> None:
        self.vectors = vectors

    def memory(self, name: str) -> dict[str, float]:
        return {}

    def kept(
        self, compute: Callable[[], NDArray[np.float32]], *objects: object
    ) -> NDArray[np.float32]:
        return compute()

    def statistics(self, field: str, words: list[str]) -> TermStatistics:
        df = np.array([self.DF.get(word, 4) for word in words], np.int64)
        return TermStatistics(df, df, 100, 10.0)


def query_of(text: str) -> AnalysedQuery:
    words = tuple(text.split())
    return AnalysedQuery(Query(text), Analysis(words, words, ((0, 0),) * len(words)))


def candidates_of(*texts: str) -> Candidates:
    ids = tuple(str(number) for number in range(len(texts)))
    coded = code_texts([text.split() for text in texts])
    return Candidates(Ranking(ids, np.ones(len(ids))), "lemma", coded)


def score(
    query: str,
    *texts: str,
    power: int = 5,
    vectors: WordVectors | None = LittleVectors(),  # noqa: B008
) -> list[float]:
    collection = LittleCollection(vectors)
    found = SoftCosine(power).score(query_of(query), candidates_of(*texts), collection)  # type: ignore[arg-type]
    assert np.isfinite(found).all()
    return list(found.tolist())


def test_by_hand() -> None:
    """q = x, p = y z: S(x, y) = 0, S(x, z) = .6^5, S(y, z) = .8^5."""
    y, z = math.log(5), math.log(100)
    norm = math.sqrt(y * y + z * z + 2 * 0.8**5 * y * z)
    assert score("x", "y z") == pytest.approx([0.6**5 * z / norm], rel=1e-6)


def test_power_one_by_hand() -> None:
    assert score("x", "z", power=1) == pytest.approx([0.6], rel=1e-6)


def test_opposite_words_count_as_unlike() -> None:
    assert score("x", "minus") == [0.0]


def test_without_vectors_it_is_the_tfidf_cosine() -> None:
    x, y, z = math.log(10), math.log(5), math.log(100)
    expected = 2 * x * x / (math.hypot(2 * x, y) * math.hypot(x, z))
    assert score("x x y", "x z", vectors=None) == pytest.approx([expected], abs=1e-12)


def test_texts_without_weight_score_nothing() -> None:
    assert score("x", "", "everywhere", "x") == [0.0, 0.0, 1.0]
    assert score("everywhere", "x", "") == [0.0, 0.0]
    assert score("x") == []


@pytest.mark.parametrize("power", [0, -1])
def test_a_power_below_one_is_refused(power: int) -> None:
    with pytest.raises(UsageError, match="power must be from 1 to 100"):
        SoftCosine(power)


TEXT = st.lists(st.sampled_from(["x", "y", "z", "minus", "w", "everywhere"]), max_size=12).map(
    " ".join
)


@given(TEXT, st.lists(TEXT, min_size=1, max_size=12), st.randoms())
@settings(deadline=None)
def test_what_holds_for_all_texts(query: str, texts: list[str], random: object) -> None:
    found = score(query, *texts)
    assert all(-1e-9 <= value <= 1 + 1e-5 for value in found)
    order = list(range(len(texts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert score(query, *(texts[n] for n in order)) == pytest.approx(
        [found[n] for n in order], abs=1e-6
    )
    for text, value in zip(texts, found, strict=True):
        assert score(text, query)[0] == pytest.approx(value, abs=1e-6)
    own = score(query, query)[0]
    assert own == pytest.approx(1.0, abs=1e-6) or own == 0.0
    collection = LittleCollection(LittleVectors())
    reasons = SoftCosine().explain(query_of(query), candidates_of(*texts), collection)  # type: ignore[arg-type]
    for value, parts in zip(found, reasons, strict=True):
        assert sum(part.contribution for part in parts) == pytest.approx(value, abs=1e-6)


def test_gensim_gives_the_same() -> None:
    """gensim's SoftCosineSimilarity on random texts, with our weights and similarities."""
    from gensim.corpora import Dictionary
    from gensim.similarities import SparseTermSimilarityMatrix
    from scipy.sparse import csc_matrix

    generator = np.random.default_rng(1)
    names = [f"w{number}" for number in range(30)]
    table = generator.normal(size=(30, 8)).astype(np.float32)
    table /= np.linalg.norm(table, axis=1, keepdims=True)

    class Random:
        name, dimension = "random", 8

        def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
            return table[[names.index(word) for word in words]].reshape(-1, 8)

    texts = [" ".join(generator.choice(names, size=generator.integers(1, 20))) for _ in range(40)]
    dictionary = Dictionary([names])
    matrix = np.zeros((30, 30))
    places = [names.index(dictionary[number]) for number in range(30)]
    matrix[:] = np.maximum(0, table[places] @ table[places].T) ** 5
    np.fill_diagonal(matrix, 1)
    similarity = SparseTermSimilarityMatrix(csc_matrix(matrix))
    inverse = LittleCollection(None).statistics("lemma", names)
    weight = dict(zip(names, np.log(100 / (1 + inverse.df)), strict=True))

    def vector(text: str) -> list[tuple[int, float]]:
        return [(n, c * weight[dictionary[n]]) for n, c in dictionary.doc2bow(text.split())]

    for query in texts[:5]:
        expected = [
            similarity.inner_product(vector(query), vector(text), normalized=(True, True))
            for text in texts
        ]
        assert score(query, *texts, vectors=Random()) == pytest.approx(expected, abs=1e-5)
