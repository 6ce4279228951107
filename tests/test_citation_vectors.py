"""Citation vectors: their file, what they give texts, candidates and scores."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_fixtures import NAMES, code_links, collection
from numpy.typing import NDArray

from allusion_es.core.arrays import save_arrays
from allusion_es.core.errors import (
    IndexDamagedError,
    InputError,
    SettingsMismatchError,
    UsageError,
)
from allusion_es.language.citations.vectors import (
    CitationTable,
    CitationVectors,
    save_citation_vectors,
    to_bytes,
    unit,
)
from allusion_es.language.citations.word_parts import Word, lemma_key, token_key
from allusion_es.language.latin.analysis import Analyser
from allusion_es.learning.learn import prune, row_uses
from allusion_es.learning.train import CitationTraining, train
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.rerankers.citation_cosine import CitationCosine
from allusion_es.rerankers.trial import trial
from allusion_es.retrieval import byte_vectors
from allusion_es.retrieval.byte_vectors import (
    ByteVectors,
    byte_vector,
    common_length,
    product_cosines,
    server_products,
    unit_bytes,
)
from allusion_es.retrieval.citation_models import CitationModels
from allusion_es.retrieval.generators import CitationSearch
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import Query, SearchFilter, SearchRequest

TEXTS = {
    f"p.{number}": f"{name} magnum est et bonum {other}"
    for number, (name, other) in enumerate(zip(NAMES, reversed(NAMES), strict=True))
}
VERSES = collection()
TRAINED = train(code_links(120), VERSES, None, CitationTraining(dimension=16, batch=32))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> CitationVectors:
    path = tmp_path_factory.mktemp("model") / "little.citations"
    save_citation_vectors(path, TRAINED, Analyser().settings, {"links": 120})
    return CitationVectors(path)


@pytest.fixture(scope="module")
def index(model: CitationVectors) -> LocalIndex:
    return index_texts(TEXTS, citations=model)


@pytest.fixture(scope="module", autouse=True)
def _kept(model: CitationVectors, index: LocalIndex) -> None:
    """For tests with made-up examples, which are not given fixtures of a module."""
    KEPT.append(model)
    RETRIEVER.append(Retriever(index, QueryOptions(reranker="citation-cosine", explain=True)))


KEPT: list[CitationVectors] = []
RETRIEVER: list[Retriever] = []


def _words(texts: Sequence[str]) -> list[list[Word]]:
    return [[(word, word) for word in text.split()] for text in texts]


def test_a_word_by_hand(tmp_path: Path) -> None:
    keys = np.array(sorted([token_key("rex"), lemma_key("rex")]), dtype=np.int64)
    rows = np.array([[127, 0], [0, 127]], dtype=np.float32)
    weight = np.array([3], dtype=np.float32)
    table = CitationTable(keys, rows, np.array([lemma_key("rex")]), weight, 9.0)
    save_citation_vectors(tmp_path / "m", table, Analyser().settings, {})
    vectors = CitationVectors(tmp_path / "m")
    expected = np.zeros(2)
    expected[keys.tolist().index(token_key("rex"))] = 3 * 0.8 * 127
    expected[keys.tolist().index(lemma_key("rex"))] = 3 * 127
    np.testing.assert_allclose(vectors.word_vectors([("rex", "rex")])[0], expected, rtol=1e-6)
    # Two of one word and one of another that shares its lemma: roots of the counts.
    lemma = np.array([0.0, 3 * 127.0])[:: 1 if keys[1] == lemma_key("rex") else -1]
    found = vectors.text_vectors([[("rex", "rex"), ("regem", "rex"), ("rex", "rex")]])[0]
    np.testing.assert_allclose(found, unit((np.sqrt(2) * expected + lemma)[None])[0], rtol=1e-6)
    assert not vectors.text_vectors([[("mare", "mare")], []]).any()


@given(
    st.lists(st.lists(st.floats(-10, 10, width=32), min_size=4, max_size=4), max_size=5).map(
        lambda rows: np.array(rows, dtype=np.float32).reshape(-1, 4)
    )
)
def test_bytes_are_as_near_as_can_be(rows: NDArray[np.float32]) -> None:
    numbers, scales = to_bytes(rows)
    assert np.abs(numbers.astype(int)).max(initial=0) <= 127
    error = np.abs(numbers * scales[:, None] - rows)
    assert (error <= np.maximum(scales[:, None] * 0.501, 1e-30)).all()


def test_hardly_anything_is_nothing() -> None:
    numbers, scales = to_bytes(np.array([[1e-38, 1e-39]], dtype=np.float32))
    assert not numbers.any()
    assert scales.tolist() == [0.0]


@settings(max_examples=10)
@given(st.lists(st.text("rexmaunis ", max_size=30), max_size=6))
def test_texts_have_unit_vectors_however_many_there_are(texts: list[str]) -> None:
    vectors = KEPT[0]
    found = vectors.text_vectors(_words(texts))
    lengths = np.linalg.norm(found, axis=1)
    assert ((np.abs(lengths - 1) < 1e-5) | (lengths == 0)).all()
    many = vectors.text_vectors(_words(texts * 500))
    # To the last digit: else the two kinds of index would round some bytes differently.
    np.testing.assert_array_equal(many, np.tile(found, (500, 1)))


def test_context_is_half_the_window(model: CitationVectors) -> None:
    own, window = _words(["rex secretummare", "rex secretummare nox dies"])
    one, other = model.text_vectors([own, window])
    np.testing.assert_allclose(model.query_vector(own, window), unit(one + 0.5 * other), atol=1e-6)
    np.testing.assert_allclose(model.query_vector(own), one, atol=1e-6)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "x.citations"
    with pytest.raises(InputError, match=r"x\.citations: cannot be read"):
        CitationVectors(path)
    path.write_bytes(b"something else")
    with pytest.raises(IndexDamagedError, match="damaged"):
        CitationVectors(path)
    save_arrays(path, {"kind": "citation vectors", "format": 0}, {})
    with pytest.raises(InputError, match="not citation vectors of format 1"):
        CitationVectors(path)
    save_citation_vectors(path, TRAINED, Analyser().settings, {})
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)
    with pytest.raises(IndexDamagedError, match="has changed since"):
        CitationVectors(path)


def test_another_analysis_is_refused(model: CitationVectors) -> None:
    other = replace(Analyser().settings, stop_words=True)
    with pytest.raises(SettingsMismatchError, match=r"stop_words False \(here True\); learn"):
        model.check(other)
    model.check(Analyser().settings)


def test_models_are_found_by_name(tmp_path: Path, model: CitationVectors) -> None:
    models = CitationModels(tmp_path)
    with pytest.raises(InputError, match=f"citation vectors '{model.name}', which are not in"):
        models.open(model.name)
    models.folder.mkdir()
    models.path(model.name).write_bytes(model.path.read_bytes())
    assert models.open(model.name).name == model.name
    models.path("0" * 16).write_bytes(model.path.read_bytes())
    with pytest.raises(InputError, match=f"holds citation vectors {model.name}, not 0000"):
        models.open("0" * 16)


def test_pruning_keeps_the_rows_that_are_used_most() -> None:
    links = code_links(120)
    uses = row_uses(TRAINED.keys, [*VERSES.texts, *(link.words for link in links)])
    kept = prune(TRAINED, 50, links, VERSES)
    assert len(kept.keys) == 50
    assert (np.diff(kept.keys) > 0).all()
    least = min(uses[np.isin(TRAINED.keys, kept.keys)])
    assert (uses[~np.isin(TRAINED.keys, kept.keys)] <= least).all()
    assert prune(TRAINED, 10**6, links, VERSES) is TRAINED


def test_candidates_are_the_nearest_passages(index: LocalIndex, model: CitationVectors) -> None:
    options = QueryOptions(generators=["citations"], reranker=None, top=100, grouped=False)
    retriever = Retriever(index, options)
    query = Query("secretummare bonum", before="est", after="rex et")
    answer = retriever.answer(query)
    texts = [
        list(zip(index.texts("token", [i]).text(0), index.texts("lemma", [i]).text(0), strict=True))
        for i in TEXTS
    ]
    asked = answer.query
    assert asked.window is not None
    assert asked.window.tokens == ("est", "secretummare", "bonum", "rex", "et")
    own, window = (
        list(zip(part.tokens, part.lemmas, strict=True)) for part in (asked.analysis, asked.window)
    )
    vector, rows = model.query_vector(own, window), unit_bytes(model.text_vectors(texts))
    exact = model.text_vectors(texts) @ vector
    scores = {hit.id: hit.score for hit in answer.hits}
    np.testing.assert_allclose([scores[i] for i in TEXTS], exact, atol=0.02)
    bytes_ = ByteVectors(rows, common_length(rows.shape[1])).cosines(vector[None])[0]
    assert [scores[i] for i in TEXTS] == bytes_.tolist()
    assert [hit.score for hit in answer.hits] == sorted(bytes_.tolist(), reverse=True)


@given(st.integers(0, 9), st.integers(1, 5), st.integers(1, 4), st.integers(0, 99), st.booleans())
def test_blocks_of_vectors_give_what_all_at_once_give(
    rows: int, queries: int, step: int, seed: int, fast: bool
) -> None:
    """With the extra `fast` and without it; where it is missing, only that is tried."""
    random = np.random.default_rng(seed)
    some = random.integers(-127, 128, (rows, 6)).astype(np.int8)
    asked = random.standard_normal((queries, 6)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_vectors, "_TOGETHER", step * 6)
        if not fast:
            patch.setattr(byte_vectors, "_products_of_bytes", lambda: None)
        found = ByteVectors(some).cosines(asked)
    whole, bytes_ = some.astype(np.int64), to_bytes(asked)[0].astype(np.int64)
    lengths = np.sqrt((bytes_**2).sum(axis=1))[:, None] * np.sqrt((whole**2).sum(axis=1))
    products = (bytes_ @ whole.T).astype(np.float64)
    exact = np.divide(products, lengths, out=np.zeros(products.shape), where=lengths > 0)
    assert (found == byte_vectors.server_cosines(exact)).all()


@given(st.integers(1, 600), st.integers(0, 99))
def test_vectors_of_one_length(dimension: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).standard_normal((20, dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows, length = unit_bytes(vectors), common_length(dimension)
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    np.testing.assert_allclose(lengths, length, rtol=0.02)
    found = ByteVectors(rows, length).cosines(vectors)
    np.testing.assert_allclose(found, vectors @ vectors.T, atol=0.02)
    # As a server computes them: scores from whole numbers, then cosines from scores.
    for vector, cosines in zip(vectors, found, strict=True):
        query = byte_vector(vector)
        products = (rows.astype(np.int64) @ query.astype(np.int64)).astype(np.float32)
        with np.errstate(divide="ignore"):
            scores = np.where(products < 0, 1 / (1 - products), products + 1).astype(np.float64)
        assert (product_cosines(server_products(scores), query, length) == cosines).all()


def test_an_index_whose_vectors_have_lengths_of_their_own(
    tmp_path: Path, index: LocalIndex, model: CitationVectors
) -> None:
    """As in format 4."""
    saved = index._saved
    arrays = {name: np.array(saved.file.load(name)) for name in saved.file._table}
    ids = [str(name) for name in saved.ids]
    texts = [
        list(zip(index.texts("token", [i]).text(0), index.texts("lemma", [i]).text(0), strict=True))
        for i in ids
    ]
    rows = arrays["citation_vectors"] = to_bytes(model.text_vectors(texts))[0]
    meta = {name: value for name, value in saved.file.meta.items() if name != "citation_length"}
    save_arrays(tmp_path / "old.idx", {**meta, "format": 4}, arrays)
    old = LocalIndex(tmp_path / "old.idx", models=lambda _: model)
    vector = model.query_vector([("rex", "rex")])
    (found,) = old.search([SearchRequest("citations", "lemma", len(ids), vector=vector)])
    expected = dict(zip(ids, ByteVectors(rows).cosines(vector[None])[0].tolist(), strict=True))
    assert dict(zip(found.ids, found.scores.tolist(), strict=True)) == expected


def test_garbled_scores_of_a_server_stay_finite() -> None:
    scores = np.array([-3.4e38, -1.0, 0.0, 1e-45, 3.4e38])
    assert np.isfinite(server_products(scores)).all()


def test_nothing_known_finds_nothing(index: LocalIndex) -> None:
    assert (
        Retriever(index, QueryOptions(generators=["citations"], reranker=None)).answer("12 ??").hits
        == ()
    )


@given(
    st.lists(st.sampled_from([*NAMES, "est", "bonum", "ignotum"]), min_size=1, max_size=8),
    st.lists(st.sampled_from([*NAMES, "magnum"]), max_size=4),
)
def test_contributions_sum_to_the_score(own: list[str], before: list[str]) -> None:
    for hit in RETRIEVER[0].answer(Query(" ".join(own), before=" ".join(before))).hits:
        assert hit.contributions is not None
        total = sum(part.contribution for part in hit.contributions)
        assert total == pytest.approx(hit.score, abs=1e-5)
        assert -1.0001 <= hit.score <= 1.0001
        lemmas = RETRIEVER[0].analyser.analyse(hit.text).lemmas
        assert {part.passage_word for part in hit.contributions} <= set(lemmas)


def test_context_can_be_left_out(index: LocalIndex) -> None:
    alone = {"citation-cosine": {"context": "0"}}
    first = Retriever(
        index, QueryOptions(reranker="citation-cosine", settings=alone, candidates=100)
    )
    query = Query("rex magnum", before="secretumnox")
    bare = [hit.score for hit in first.answer(Query("rex magnum")).hits]
    assert [hit.score for hit in first.answer(query).hits] == bare
    second = Retriever(index, QueryOptions(reranker="citation-cosine", candidates=100))
    assert [hit.score for hit in second.answer(query).hits] != bare


def test_without_citation_vectors_all_else_works() -> None:
    plain = index_texts(TEXTS)
    assert plain.citations is None
    answer = Retriever(plain, QueryOptions(reranker=None)).answer("rex")
    assert answer.hits
    with pytest.raises(UsageError, match="no citation vectors, which citations needs"):
        CitationSearch().rank([answer.query], plain, "lemma", 10, SearchFilter())
    with pytest.raises(UsageError, match="no citation vectors, which citation-cosine needs"):
        trial(CitationCosine(), "rex", ["rex"])
