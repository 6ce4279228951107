"""Averaged vectors, LSI, and soft cosine with each S: by hand, and against plain loops."""

import math
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from allusion_es.core.errors import InputError, UsageError
from allusion_es.corpora.passage import Passage
from allusion_es.language.wordnet import LatinWordNet
from allusion_es.local.index import LocalIndex
from allusion_es.rerankers.bow_emb import AveragedEmbeddings
from allusion_es.rerankers.lsi import LatentSemanticIndexing
from allusion_es.rerankers.soft_cosine import SoftCosine
from allusion_es.rerankers.soft_cosine_identity import SoftCosineIdentity
from allusion_es.rerankers.soft_cosine_random import SoftCosineRandom
from allusion_es.rerankers.soft_cosine_wordnet import SoftCosineWordNet
from allusion_es.rerankers.tfidf import TfIdf
from allusion_es.rerankers.tfidf_emb import WeightedEmbeddings
from allusion_es.rerankers.trial import (
    TrialCollection,
    TrialVectors,
    trial,
    trial_candidates,
    trial_query,
)
from allusion_es.retrieval.reranking import Candidates, Collection, Reranker, load_reranker
from allusion_es.retrieval.types import Ranking

VECTORS = TrialVectors(
    {"a": (1, 0), "b": (0, 1), "c": (0.6, 0.8), "minus": (-1, 0), "d": (0.8, -0.6)}
)
WORDS = ["a", "b", "c", "d", "minus", "nemo"]
TEXT = st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join)
TEXTS = st.lists(TEXT, min_size=1, max_size=10)
FEW = settings(max_examples=60, deadline=None)


class LittleWordNet:
    """a and b share three synonyms, a and c one; other words are unknown."""

    T = {  # noqa: RUF012
        "a": {"a", "b", "x", "y"},
        "b": {"a", "b", "x"},
        "c": {"c", "y"},
        "d": {"d"},
    }

    def __contains__(self, lemma: str) -> bool:
        return lemma in self.T

    def similarity(self, one: list[str], other: list[str]) -> NDArray[np.float32]:
        table = [[self.plain(i, j) for j in other] for i in one]
        return np.array(table, np.float32).reshape(len(one), len(other))

    def plain(self, i: str, j: str) -> float:
        shared = len(self.T.get(i, set()) & self.T.get(j, set()))
        return 1.0 if i == j else 1 / shared if shared else 0.0

    def relatedness(self, one: list[str], other: list[str]) -> NDArray[np.float32]:
        return np.sqrt(self.similarity(one, other))


def wordnet(power: int = 5, graded: bool = False) -> SoftCosineWordNet:
    little: LatinWordNet = LittleWordNet()  # type: ignore[assignment]
    return SoftCosineWordNet(power, graded, little)


def weights(texts: list[str], idf: bool) -> Callable[[str], dict[str, float]]:
    documents = [text.split() for text in texts if text.split()]

    def weigh(text: str) -> dict[str, float]:
        counts = Counter(text.split())
        if not idf:
            return {word: float(count) for word, count in counts.items()}
        df = {word: sum(word in document for document in documents) for word in counts}
        size = len(documents)
        return {
            word: count * (max(0.0, math.log(size / (1 + df[word]))) if size else 0.0)
            for word, count in counts.items()
        }

    return weigh


def cosine(
    q: dict[str, float], p: dict[str, float], similarity: Callable[[str, str], float]
) -> float:
    """Soft cosine by loops over pairs of words."""

    def product(one: dict[str, float], other: dict[str, float]) -> float:
        return sum(similarity(i, j) * one[i] * other[j] for i in one for j in other)

    length = math.sqrt(max(0.0, product(q, q))) * math.sqrt(max(0.0, product(p, p)))
    return product(q, p) / length if length > 1e-9 else 0.0


def dot(i: str, j: str) -> float:
    left, right = VECTORS.vectors([i, j]).astype(float)
    return float(left @ right)


def soft(i: str, j: str) -> float:
    return 1.0 if i == j else max(0.0, dot(i, j)) ** 5


def random(i: str, j: str) -> float:
    one, other = (
        SoftCosineRandom().features([word], "lemma", TrialCollection([])) for word in (i, j)
    )
    return 1.0 if i == j else float(SoftCosineRandom().compare(one, other)[0, 0]) ** 5


def synonyms(i: str, j: str) -> float:
    return LittleWordNet().plain(i, j) ** 5


def related(i: str, j: str) -> float:
    return math.sqrt(LittleWordNet().plain(i, j)) ** 5


def identity(i: str, j: str) -> float:
    return float(i == j)


CASES: dict[str, tuple[Reranker, Callable[[str, str], float], bool]] = {
    "bow-emb": (AveragedEmbeddings(), dot, False),
    "tfidf-emb": (WeightedEmbeddings(), dot, True),
    "soft-cosine": (SoftCosine(), soft, True),
    "soft-cosine-random": (SoftCosineRandom(), random, True),
    "soft-cosine-wordnet": (wordnet(), synonyms, True),
    "soft-cosine-wordnet graded": (wordnet(graded=True), related, True),
    "soft-cosine-identity": (SoftCosineIdentity(), identity, True),
}


@pytest.mark.parametrize("name", CASES)
@FEW
@given(TEXT, TEXTS)
def test_plain_loops_give_the_same(name: str, query: str, texts: list[str]) -> None:
    reranker, similarity, idf = CASES[name]
    weigh, collection = weights(texts, idf), TrialCollection(texts, VECTORS)
    found = reranker.score(trial_query(query), trial_candidates(texts), collection)
    for text, value in zip(texts, found.tolist(), strict=True):
        expected = cosine(weigh(query), weigh(text), similarity)
        assert value == pytest.approx(expected, abs=1e-5)
        back = reranker.score(trial_query(text), trial_candidates([query]), collection)
        assert float(back[0]) == pytest.approx(value, abs=1e-5)
    own = float(reranker.score(trial_query(query), trial_candidates([query]), collection)[0])
    assert own == pytest.approx(1.0, abs=1e-6) or own == 0.0


def test_bow_emb_by_hand() -> None:
    """a a b is (2, 1), c is (3, 4) / 5: 10 / (5 sqrt 5)."""
    found = trial(AveragedEmbeddings(), "a a b", ["c", "minus", "nemo", ""], VECTORS)
    assert found == pytest.approx([10 / (5 * math.sqrt(5)), -2 / math.sqrt(5), 0, 0], abs=1e-4)


def test_tfidf_emb_by_hand() -> None:
    """Weights ln 2 of a and b, ln(4/3) of c: the direction of a b is (1, 1), that of c (3, 4)."""
    found = trial(WeightedEmbeddings(), "a b", ["c", "c", "a", "b"], VECTORS)
    assert found[0] == pytest.approx(7 / (5 * math.sqrt(2)), abs=1e-4)


def test_vectors_that_cancel_out_have_no_direction() -> None:
    assert trial(AveragedEmbeddings(), "a minus", ["a", "a minus"], VECTORS) == [0.0, 0.0]


def test_wordnet_by_hand() -> None:
    """|T_a & T_b| = 3, so S_ab = 1/3 and 3 ** -5; |T_a & T_c| = 1, so that both count alike."""
    assert trial(wordnet(power=1), "a", ["b", "c", "d"]) == pytest.approx([1 / 3, 1, 0], abs=1e-4)
    assert trial(wordnet(power=5), "a", ["b", "c", "d"])[0] == pytest.approx(3**-5, abs=1e-4)


@FEW
@given(TEXT, TEXTS)
def test_identity_is_the_tfidf_cosine(query: str, texts: list[str]) -> None:
    arguments = trial_query(query), trial_candidates(texts), TrialCollection(texts)
    expected = TfIdf().score(*arguments)
    assert SoftCosineIdentity().score(*arguments) == pytest.approx(expected, abs=1e-9)


def test_what_is_remembered_of_passages_is_each_models_own(vulgate_index: LocalIndex) -> None:
    ids = ("Ps.33.9", "Gen.1.1", "John.1.1")
    texts = vulgate_index.texts("lemma", ids)
    candidates = Candidates(Ranking(ids, np.zeros(3)), "lemma", texts)
    shared, query = Collection(vulgate_index), trial_query("deus lux principium")
    for model in (SoftCosine(5), SoftCosine(1), SoftCosineRandom(), SoftCosineRandom(seed=1)):
        for _ in range(2):
            found = model.score(query, candidates, shared)
            fresh = model.score(query, candidates, Collection(vulgate_index))
            assert found.tolist() == fresh.tolist()


def test_random_numbers_are_normal_and_the_words_own() -> None:
    words = [f"w{number}" for number in range(300)]
    reranker = SoftCosineRandom()
    features = reranker.features(words, "lemma", TrialCollection([]))
    drawn = reranker.compare(features, features)
    assert (drawn == drawn.T).all()
    upper = drawn[np.triu_indices(300, 1)].astype(float)
    assert upper.mean() == pytest.approx(0.5, abs=0.001)
    assert upper.std() == pytest.approx(0.05, abs=0.001)
    assert len(np.unique(upper)) > 40_000
    some = reranker.features(words[7:9], "lemma", TrialCollection([]))
    assert (reranker.compare(some, features) == drawn[7:9]).all()
    other = SoftCosineRandom(seed=1)
    assert (
        abs(other.compare(*[other.features(words, "lemma", TrialCollection([]))] * 2) - drawn).max()
        > 0.1
    )
    other_draw = other.compare(features, features)
    assert (other_draw == drawn).all(), "the seed acts through the features alone"


def test_lsi_by_hand() -> None:
    """Two words that occur together only make one direction, in which they are the same."""
    texts = ["a b", "a b", "c d d", "e", "f", "g"]
    found = trial(LatentSemanticIndexing(2), "a", texts)
    assert found == pytest.approx([1, 1, 0, 0, 0, 0], abs=1e-4)
    assert trial(LatentSemanticIndexing(2), "e", texts) == [0.0] * 6


@FEW
@given(TEXT, TEXTS)
def test_lsi_of_all_directions_is_the_tfidf_cosine_of_known_words(
    query: str, texts: list[str]
) -> None:
    there = {word for text in texts for word in text.split()}
    known = " ".join(word for word in query.split() if word in there)
    arguments = trial_candidates(texts), TrialCollection(texts)
    # With every direction nothing is lost of the texts; of the query, what no text has.
    expected = TfIdf().score(trial_query(known), *arguments)
    found = LatentSemanticIndexing(100).score(trial_query(known), *arguments)
    assert ((found >= expected - 1e-6) | (expected == 0)).all()
    own = LatentSemanticIndexing(100).score(trial_query(texts[0]), *arguments)[0]
    assert own == pytest.approx(1.0, abs=1e-6) or own == 0.0


def test_lsi_against_numpy_and_by_each_way(monkeypatch: pytest.MonkeyPatch) -> None:
    random_numbers = np.random.default_rng(3)
    names = [f"w{number}" for number in range(40)]
    texts = [" ".join(random_numbers.choice(names, 6)) for _ in range(60)]
    query, candidates = trial_query(texts[0] + " w1 w2"), trial_candidates(texts)
    collection = TrialCollection(texts)
    weigh = weights(texts, idf=True)
    rows = [weigh(text) for text in [*texts, texts[0] + " w1 w2"]]
    matrix = np.array([[row.get(name, 0.0) for name in names] for row in rows])
    _, _, right = np.linalg.svd(matrix[:-1])
    low = matrix @ right[:5].T
    low /= np.linalg.norm(low, axis=1, keepdims=True)
    expected = low[:-1] @ low[-1]
    reranker = LatentSemanticIndexing(5)
    assert reranker.score(query, candidates, collection) == pytest.approx(expected, abs=1e-6)
    for limit in (50, 10):  # by the words, then by iteration
        monkeypatch.setattr("allusion_es.rerankers.lsi._DENSE", limit)
        assert reranker.score(query, candidates, collection) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SoftCosine(0), r"soft-cosine\.power must be from 1 to 100, not 0"),
        (lambda: SoftCosineRandom(seed=-1), r"soft-cosine-random\.seed must be from 0 to"),
        (lambda: wordnet(power=0), r"soft-cosine-wordnet\.power must be from 1 to 100, not 0"),
        (lambda: LatentSemanticIndexing(0), r"lsi\.dimensions must be from 1 to 10000, not 0"),
    ],
)
def test_parameters_out_of_range_are_refused(make: Callable[[], Reranker], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


def test_averaging_needs_vectors() -> None:
    with pytest.raises(UsageError, match="tfidf-emb needs word vectors"):
        trial(WeightedEmbeddings(), "a", ["a"])


def test_other_vectors_are_taken_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "little.vec"
    path.write_text("3 2\na 1 0\nb 0.6 0.8\nc 0 1\n")
    texts = ["b", "c", "nemo"]
    chosen = {"soft-cosine": {"power": "1", "vectors": str(path)}, "wmd": {"vectors": str(path)}}
    for name in ("soft-cosine", "wmd"):
        # TrialVectors of the collection would make b and c alike.
        collection = TrialVectors({"b": (1, 0), "c": (1, 0)})
        found = trial(load_reranker(name, chosen), "a", texts, collection)
        assert found == pytest.approx([0.6, 0, 0], abs=1e-4)
    with pytest.raises(InputError, match="there are no word vectors 'nihil'"):
        trial(SoftCosine(vectors="nihil"), "a", texts)


def test_the_whole_vulgate_needs_little_memory(
    vulgate_index: LocalIndex, vulgate_passages: tuple[Passage, ...]
) -> None:
    ids = tuple(passage.id for passage in vulgate_passages)
    ranking = Ranking(ids, np.zeros(len(ids)))
    candidates = Candidates(ranking, "lemma", vulgate_index.texts("lemma", ids))
    query = trial_query("gusto et uideo quoniam suauis sum dominus")
    tracemalloc.start()
    scores = SoftCosine().score(query, candidates, Collection(vulgate_index))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ids[int(scores.argmax())] == "Ps.33.9"
    assert peak < 400e6
