"""What holds for every reranker, on little texts and on the Vulgate."""

import inspect
from collections.abc import Mapping

import little_models
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allusion_es.core.plugins import load_plugin, plugins
from allusion_es.local.index import LocalIndex
from allusion_es.rerankers.trial import (
    TrialCollection,
    TrialVectors,
    trial_candidates,
    trial_query,
)
from allusion_es.retrieval.generators import load_generator
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.reranking import (
    GROUP,
    UNDEFINED,
    Candidates,
    Collection,
    Reranker,
    load_reranker,
    reranker_notes,
)
from allusion_es.retrieval.types import AnalysedQuery, Field, Query, Ranking, SearchFilter

NAMES = sorted(plugins(GROUP))
VECTORS = TrialVectors({"amor": (1, 0, 0), "caritas": (0.6, 0.8, 0), "odium": (-1, 0.1, 0)})
TEXT = st.lists(st.sampled_from(["amor", "caritas", "odium", "ignotum", "et"]), max_size=9).map(
    " ".join
)

NEED_CITATIONS = {"citation-cosine", "translation"}
"""Rerankers that need an index with citation vectors have tests of their own."""

OURS = [
    name
    for name in NAMES
    if plugins(GROUP)[name].value.startswith("allusion_es.") and name not in NEED_CITATIONS
]


LANGUAGE_MODELS = {"encoder-cosine", "cross-encoder"}
"""Rerankers that have to be given a model."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, str]]:
    """The parameters of those that have to be given a model: little ones, which know some words."""
    vectors = {word: (*vector, 0.0) for word, vector in little_models.VECTORS.items()}
    vectors |= {"et": (0.3, -0.5, 0.0), "Gustate": (0.0, 0.0, 1.0)}
    return little_models.parameters(tmp_path_factory.mktemp("models"), vectors)


def loaded(name: str, models: Mapping[str, Mapping[str, str]]) -> Reranker:
    return load_reranker(name, {name: models[name]} if name in models else {})


def test_all_models_of_the_paper_are_there() -> None:
    paper = {"bow", "tfidf", "tesserae", "bow-emb", "tfidf-emb", "wmd", "lsi", "soft-cosine"}
    others = {
        "jaccard",
        "bm25",
        "tesserae-original",
        "tesserae-wmd",
        "fuse",
        "local-alignment",
        "learned",
    }
    kinds = {f"soft-cosine-{kind}" for kind in ("wordnet", "random", "identity")}
    assert set(OURS) == paper | others | kinds | LANGUAGE_MODELS


@pytest.mark.parametrize("name", OURS)
@settings(max_examples=25, deadline=None)
@given(TEXT, st.lists(TEXT, max_size=8), st.randoms())
def test_scores_are_finite_and_explained_in_any_order(
    name: str,
    models: Mapping[str, Mapping[str, str]],
    query: str,
    texts: list[str],
    random: object,
) -> None:
    reranker = loaded(name, models)
    asked, candidates = trial_query(query), trial_candidates(texts)
    collection = TrialCollection(texts, VECTORS)
    scores = reranker.score(asked, candidates, collection)
    assert scores.shape == (len(texts),)
    assert np.isfinite(scores).all()
    reasons = reranker.explain(asked, candidates, collection)
    for score, reason in zip(scores.tolist(), reasons, strict=True):
        assert (reason is None) == (score == UNDEFINED)
        if reason is not None:
            parts = [part.contribution for part in reason]
            assert np.isfinite(parts).all()
            assert sum(parts) == pytest.approx(score, abs=1e-6)
            # Which of two equal ones is larger in the last digits depends on the processor.
            digits = [float(f"{part:.8e}") for part in parts]
            assert digits == sorted(digits, reverse=True)
    order = list(range(len(texts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = Candidates(
        Ranking(tuple(candidates.ranking.ids[n] for n in order), candidates.ranking.scores),
        "lemma",
        candidates.texts.take(order),
    )
    again = reranker.score(asked, shuffled, collection)
    assert again == pytest.approx(scores[order], abs=1e-5)


@pytest.mark.parametrize("name", OURS)
def test_the_class_says_formula_and_source(name: str) -> None:
    text = inspect.getdoc(load_plugin(GROUP, name)) or ""
    assert "Source:" in text
    assert "Example:" in text


def asked_of(
    index: LocalIndex, text: str, size: int, field: Field, stage: str = "bm25"
) -> tuple[AnalysedQuery, Candidates]:
    query = AnalysedQuery(
        Query(text), Retriever(index, QueryOptions(reranker=None)).analyser.analyse(text)
    )
    ranking = load_generator(stage).rank([query], index, field, size, SearchFilter())[0]
    return query, Candidates(ranking, field, index.texts(field, ranking.ids))


@pytest.mark.parametrize("field", ["token", "lemma"])
# What a cross-encoder gives a verse and itself is its own affair.
@pytest.mark.parametrize("name", [name for name in OURS if name != "cross-encoder"])
def test_a_verse_finds_itself_in_the_vulgate(
    name: str,
    field: Field,
    vulgate_index: LocalIndex,
    models: Mapping[str, Mapping[str, str]],
) -> None:
    text = vulgate_index.passages(["Ps.33.9"])[0].text
    # The ranker compares the scores of this first stage, which others are given by the pipeline.
    stage = "fused" if name == "learned" else "bm25"
    query, candidates = asked_of(vulgate_index, text, 200, field, stage)
    scores = loaded(name, models).score(query, candidates, Collection(vulgate_index))
    place = candidates.ranking.ids.index("Ps.33.9")
    # Tesserae looks at two words' distance and not at a text's length, so others may pass.
    most = 25 if name.startswith("tesserae") else 1
    assert 1 + np.count_nonzero(scores > scores[place] + 1e-9) <= most


@pytest.mark.parametrize("name", OURS)
def test_notes_are_lines(name: str, models: Mapping[str, Mapping[str, str]]) -> None:
    for note in reranker_notes(loaded(name, models), TrialCollection(["amor"], VECTORS)):
        assert note
        assert "\n" not in note
