"""Expansion: the words of citing texts, the weights by hand, the searches."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_fixtures import NAMES, code_links, collection

from allusion_es.core.errors import UsageError
from allusion_es.language.citations.citing_texts import (
    SUFFIX,
    CitingText,
    save_citing_texts,
)
from allusion_es.language.citations.vectors import CitationVectors, save_citation_vectors
from allusion_es.language.latin.analysis import Analyser
from allusion_es.learning.train import CitationTraining, train
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.expansion import SUGGESTED_WEIGHT, bit_weights, weight_bits
from allusion_es.retrieval.generators import AROUND, ExpansionSearch, words_around
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import FIELDS, Query, SearchFilter, SearchRequest

TEXTS = {f"p.{number}": f"{name} est magnum et bonum" for number, name in enumerate(NAMES)}
SETTINGS = Analyser().settings
CITING = [
    CitingText(("p.1",), ("mare", "sagena"), ()),
    CitingText(("p.1",), ("sagena",), ()),
    CitingText(("p.1", "p.2"), ("sagena",), ()),
    *[CitingText(("elsewhere",), ("pharetra",), ())] * 9,
]
"""Of `p.1` three texts, which have `sagena` three times, `mare` once; one of them has p.2 too."""


@pytest.fixture
def model(tmp_path: Path) -> CitationVectors:
    path = tmp_path / "little.citations"
    table = train(code_links(60), collection(), None, CitationTraining(dimension=16, batch=32))
    name = save_citation_vectors(path, table, SETTINGS, {})
    save_citing_texts(path.with_suffix(SUFFIX), CITING, SETTINGS, {"vectors": name})
    return CitationVectors(path)


def test_weights_by_hand(model: CitationVectors) -> None:
    """Of `sagena`, which no passage has: df 2, 3 uses in p.1, 50 + 5 words in 10 passages.

    It is used four times in all, often enough for its vector to count too.
    """
    index = index_texts(TEXTS, citations=model)
    (found,) = index.search([SearchRequest("expansion", "lemma", 10, {"sagena": 1.0})])
    scores = dict(zip(found.ids, found.scores.tolist(), strict=True))
    tokens, lemmas = (index.texts(field, list(TEXTS)) for field in FIELDS)
    texts = [list(zip(tokens.text(n), lemmas.text(n), strict=True)) for n in range(len(TEXTS))]
    shared = lemmas.text(0)[1:]  # in all ten passages, where names are in one each
    vectors = model.word_vectors([(w, w) for w in ("sagena", *shared)]).astype(np.float64)
    mean = np.linalg.norm(vectors, axis=1).mean()
    liked = SUGGESTED_WEIGHT * (model.text_vectors(texts) @ vectors[0]) / mean
    expected = dict(zip(TEXTS, np.maximum(liked, 0), strict=True))
    idf = math.log(1 + (10 - 2 + 0.5) / 2.5)
    for name, uses, length in (("p.1", 3, 9), ("p.2", 1, 6)):
        k = 1.2 * (0.25 + 0.75 * length / 5.5)
        expected[name] += idf * uses / (uses + k)
    assert found.ids[0] == "p.1"
    for name in TEXTS:
        assert scores.get(name, 0.0) == pytest.approx(expected[name], rel=0.02, abs=0.02)


@given(st.lists(st.floats(0, 2.0**40, width=32, allow_subnormal=False), max_size=20))
def test_weights_lose_one_part_in_256(values: list[float]) -> None:
    weights = np.array(values, dtype=np.float32)
    kept = bit_weights(weight_bits(weights))
    assert (kept <= weights).all()
    normal = weights > 1e-30
    assert (kept[normal] >= weights[normal] * (1 - 2**-8)).all()


def test_words_around_count_a_fifth(model: CitationVectors) -> None:
    index = index_texts(TEXTS, citations=model)
    retriever = Retriever(index, QueryOptions(generators=["expansion"], reranker=None))
    query = retriever.answer(Query("sagena", before="magnum")).query
    assert words_around(query, index, "lemma") == {"sagena": 1.0, "magnus": AROUND}
    alone = retriever.answer("sagena").hits[0]
    around = retriever.answer("magnum").hits
    whole = {hit.id: hit.score for hit in retriever.answer(Query("sagena", before="magnum")).hits}
    magnum = {hit.id: hit.score for hit in around}
    assert whole["p.1"] == pytest.approx(alone.score + AROUND * magnum["p.1"], rel=1e-6)


def test_fused_takes_what_the_index_has(model: CitationVectors) -> None:
    whole, plain = index_texts(TEXTS, citations=model), index_texts(TEXTS)
    assert {"ngrams", "citations", "expansion"} <= whole.capabilities
    assert not {"citations", "expansion"} & plain.capabilities
    for index in (whole, plain):
        answer = Retriever(index, QueryOptions(generators=["fused"], reranker=None)).answer(
            "rex magnus"
        )
        assert answer.hits[0].id == "p.0"
    found = (
        Retriever(whole, QueryOptions(generators=["fused"], reranker=None)).answer("sagena").hits
    )
    assert found[0].id == "p.1"  # shares no word with it
    assert (
        not Retriever(plain, QueryOptions(generators=["fused"], reranker=None))
        .answer("sagena")
        .hits
    )
    for index in (whole, plain):  # letters alone find nothing
        assert (
            not Retriever(index, QueryOptions(generators=["fused"], reranker=None))
            .answer("xxgnum")
            .hits
        )
        assert (
            Retriever(index, QueryOptions(generators=["ngrams"], reranker=None))
            .answer("xxgnum")
            .hits
        )
    asked = Retriever(plain, QueryOptions(reranker=None)).answer("rex").query
    with pytest.raises(UsageError, match="has no expansion; rebuild it without --no-learned"):
        ExpansionSearch().rank([asked], plain, "lemma", 3, SearchFilter())


def test_fused_by_hand() -> None:
    """The words' list counts 1, that of lemmas that begin alike, which agrees, a half."""
    index = index_texts({"a": "rex rex", "b": "rex mare lux", "c": "nox"})
    answer = Retriever(
        index, QueryOptions(generators=["fused"], fields=("token", "lemma"), reranker=None)
    )
    hits = answer.answer("rex").hits
    assert [hit.id for hit in hits] == ["a", "b"]
    assert [hit.score for hit in hits] == pytest.approx([1.5 / 11, 1.5 / 12])
