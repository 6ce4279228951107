"""Whatever a text is made of, no score, feature or reason is anything but a finite number."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import little_models
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from learning_fixtures import code_links, collection

from allusion_es.core.plugins import plugins
from allusion_es.language.citations.citing_texts import SUFFIX, CitingText, save_citing_texts
from allusion_es.language.citations.translations import Translations, save_translations
from allusion_es.language.citations.vectors import CitationVectors, save_citation_vectors
from allusion_es.language.citations.word_parts import grams
from allusion_es.language.encoders.sentences import choose_encoder
from allusion_es.language.encoders.settings import EncoderChoice
from allusion_es.language.latin.analysis import Analyser
from allusion_es.learning.train import CitationTraining, train
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.rerankers._shared.features import FeatureMaker
from allusion_es.rerankers._shared.spelling import Spelling
from allusion_es.rerankers.translation import TranslationLikelihood
from allusion_es.rerankers.trial import (
    TrialCollection,
    TrialVectors,
    trial_candidates,
    trial_query,
)
from allusion_es.retrieval import generators
from allusion_es.retrieval.analysed import analyse_query
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.reranking import (
    GROUP,
    UNDEFINED,
    Candidates,
    Collection,
    load_reranker,
)
from allusion_es.retrieval.types import Query, SearchFilter
from allusion_es.scanning.features import NAMES
from allusion_es.scanning.model import MODELS, calibration
from allusion_es.scanning.reading import read

ODD = (
    "h", "H.", "hh", "hhh", "ʰ", "ħ", "a", "x", "q", "3", "12", "٣", "Ⅳ", "½", "&", "†", "∞", "℞",
    "β", "ᾳ", "ϗ", "Ω", "θεός", "я", "א", "中", "ª", "ſ", "ﬁ", "\U0001d51e", "e\u0301",
    "q\u0303", "\u0301", "\u0345", "æ", "ǽ", "ye", "ph", "hy", "h" * 120, "aeiou" * 30, "et",
    "rex", "mare", "dies",
)  # fmt: skip
"""Letters alone, numbers, signs, marks, other alphabets, words that fold to nothing or are long."""

WORD = st.one_of(
    st.sampled_from(ODD),
    st.text(
        st.characters(categories=("L", "M", "N", "S", "P")), min_size=1, max_size=3
    ),
    st.text("hHʰ ", min_size=1, max_size=3).filter(str.strip),
)  # fmt: skip
TEXT = st.lists(WORD, max_size=7).map(" ".join)
TEXTS = st.lists(TEXT, max_size=6)
VECTORS = TrialVectors({"rex": (1, 0, 0), "mare": (0.6, 0.8, 0), "h": (-1, 0.1, 0), "β": (0, 0, 1)})
OURS = [name for name, entry in plugins(GROUP).items() if entry.value.startswith("allusion_es.")]
CITING = ("citation-cosine", "translation")
PASSAGES = {
    "p.1": "rex h. magnus et mare",
    "p.2": "h",
    "p.3": "β a x 3",
    "p.4": "in diebus illis rex panem dedit",
    "p.5": "& et ph hy ye",
    "p.6": "12 †",
    "p.7": "lux in tenebris lucet et tenebrae",
}


@pytest.fixture(scope="module", autouse=True)
def _index(tmp_path_factory: pytest.TempPathFactory) -> None:
    """An index with everything that rerankers may ask for, for tests with made-up examples."""
    path = tmp_path_factory.mktemp("model") / "little.citations"
    trained = train(code_links(40), collection(), None, CitationTraining(dimension=8, batch=16))
    name = save_citation_vectors(path, trained, Analyser().settings, {"links": 40})
    citing = [CitingText.of([each], ["in"], ["rex", "h"], ["mare"]) for each in ("p.1", "p.4")]
    facts = {"vectors": name}
    save_citing_texts(path.with_suffix(SUFFIX), citing, Analyser().settings, facts)
    table = {"rex": {"h": 0.5, "rex": 0.5}, "h": {"rex": 1.0}}
    save_translations(path.with_suffix(".translations"), table, Analyser().settings, {})
    words = {"h": (1.0, 0.0), "rex": (0.6, 0.8), "β": (0.0, -1.0), "&": (-1.0, 0.0)}
    PARAMETERS.update(little_models.parameters(path.parent, words))
    model = EncoderChoice(PARAMETERS["encoder-cosine"]["model"])
    encoder = choose_encoder(model, path.parent)
    INDEX[True] = index_texts(PASSAGES, VECTORS, CitationVectors(path), encoder)
    INDEX[False] = index_texts(PASSAGES)
    TABLE.append(Translations(path.with_suffix(".translations")))


INDEX: dict[bool, LocalIndex] = {}
TABLE: list[Translations] = []
PARAMETERS: dict[str, Mapping[str, str]] = {}


def check_reasons(score: float, reason: Sequence[object] | None) -> None:
    """A reason sums to its score, or is None where there is no score."""
    assert np.isfinite(score)
    assert (reason is None) == (score == UNDEFINED)
    if reason is not None:
        parts = [part.contribution for part in reason]  # type: ignore[attr-defined]
        assert np.isfinite(parts).all()
        assert sum(parts) == pytest.approx(score, abs=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [name for name in OURS if name not in CITING])
@settings(max_examples=60)
@given(TEXT, TEXTS)
@example("h", ["h", "hh", "h a", ""])
@example("", ["h", ""])
def test_every_score_of_any_words_is_finite(name: str, query: str, texts: list[str]) -> None:
    reranker = load_reranker(name, {name: PARAMETERS[name]} if name in PARAMETERS else {})
    asked, candidates = trial_query(query), trial_candidates(texts)
    found = TrialCollection(texts, VECTORS)
    scores = reranker.score(asked, candidates, found)
    assert scores.shape == (len(texts),)
    for score, reason in zip(
        scores.tolist(), reranker.explain(asked, candidates, found), strict=True
    ):
        check_reasons(score, reason)


@pytest.mark.filterwarnings("error")
@settings(max_examples=200)
@given(TEXT, TEXTS, st.booleans())
@example("h", ["h", "h"], True)
def test_every_feature_of_any_words_is_finite(
    query: str, texts: list[str], with_vectors: bool
) -> None:
    """Each scorer's own feature, and what is made of it."""
    found = TrialCollection(texts, VECTORS if with_vectors else None)
    made = FeatureMaker().features(trial_query(query), trial_candidates(texts), found)
    assert made.values.shape == (len(texts), len(made.names))
    assert np.isfinite(made.values).all()


@pytest.mark.filterwarnings("error")
@given(st.lists(WORD, max_size=8), st.lists(WORD, max_size=8))
def test_spelling_is_a_cosine_and_nothing_is_like_nothing(
    asked: list[str], found: list[str]
) -> None:
    likeness = Spelling().likeness(asked, found)
    assert likeness.shape == (len(asked), len(found))
    for one, row in zip(asked, likeness.tolist(), strict=True):
        for other, value in zip(found, row, strict=True):
            mine, others = set(grams(one)), set(grams(other))
            product = len(mine) * len(others)
            assert value == pytest.approx(len(mine & others) ** 2 / product if product else 0.0)


@given(TEXT, st.lists(TEXT, min_size=1, max_size=6), st.sampled_from(["h", "hh", "h h"]))
def test_a_word_that_is_spelled_as_nothing_adds_nothing(
    query: str, texts: list[str], nothing: str
) -> None:
    collection_ = TrialCollection([*texts, "h hh"])
    candidates = trial_candidates(texts)
    scores = [
        Spelling().score(trial_query(text), candidates, collection_)
        for text in (query, f"{query} {nothing}")
    ]
    assert scores[1] == pytest.approx(scores[0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("has_vectors", [True, False])
@settings(max_examples=60)
@given(TEXT, TEXT, TEXT)
@example("h", "", "")
@example("h", "h h.", "12")
def test_rerankers_with_citation_vectors_too(
    has_vectors: bool, text: str, before: str, after: str
) -> None:
    index = INDEX[has_vectors]
    query = analyse_query(Query(text, before=before, after=after), Analyser())
    assert all(query.words("token")), "no token is empty"
    assert all(query.words("lemma")), "no lemma is empty"
    known = Collection(index)
    ranking = generators.AllPassages().rank([query], index, "lemma", 10, SearchFilter())[0]
    names = ["learned", *(CITING if has_vectors else ())]
    for field in ("token", "lemma"):
        candidates = Candidates(ranking, field, index.texts(field, ranking.ids))
        for name in names:
            reranker = load_reranker(name)
            if isinstance(reranker, TranslationLikelihood):
                reranker._table = TABLE[0]
            scores = reranker.score(query, candidates, known)
            reasons = reranker.explain(query, candidates, known)
            for score, reason in zip(scores.tolist(), reasons, strict=True):
                check_reasons(score, reason)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", sorted({*plugins(generators.GROUP)} - {"rrf"}))
@settings(max_examples=40)
@given(TEXT, TEXT)
@example("h", "")
@example("", "h")
def test_every_first_stage_answers_any_words(name: str, text: str, before: str) -> None:
    index = INDEX[True]
    query = analyse_query(Query(text, before=before), Analyser())
    found = generators.load_generator(name).rank([query, query], index, "lemma", 10, SearchFilter())
    assert [each.ids for each in found] == [found[0].ids] * 2
    assert np.isfinite(found[0].scores).all()


@pytest.mark.filterwarnings("error")
@settings(max_examples=100)
@given(st.lists(st.one_of(WORD, st.sampled_from(list(PASSAGES.values()))), max_size=20), st.data())
def test_every_feature_of_a_scan_is_finite(words: list[str], data: st.DataObject) -> None:
    has_vectors, fast = data.draw(st.booleans()), data.draw(st.booleans())
    index = INDEX[has_vectors]
    citations = index.citations if has_vectors else None
    analysis = Analyser().analyse(" ".join(words))
    if not analysis.tokens:
        return
    reading = read(index, analysis, SearchFilter(), citations, fast=fast)
    assert reading.features.shape == (len(reading.segments), len(NAMES))
    assert np.isfinite(reading.features).all()
    assert np.isfinite(reading.weights).all()
    for model in MODELS:
        assert np.isfinite(calibration(model).probabilities(reading.features)).all()


@pytest.mark.parametrize("reranker", [None, "learned", "soft-cosine", "wmd", "lsi"])
@pytest.mark.parametrize("text", ["h", "h.", "H h 3", "β", "†", "12", "\u0301", "gustate h rex"])
def test_odd_queries_are_answered(reranker: str | None, text: str) -> None:
    retriever = Retriever(
        INDEX[True], QueryOptions(generators=("fused",), reranker=reranker, explain=True)
    )
    for hit in retriever.answer(text).hits:
        if reranker is None:  # BM25 stands for all of a fused first stage, where it has a part
            parts = [part.contribution for part in hit.contributions or ()]
            assert np.isfinite([hit.score, *parts]).all()
        else:
            check_reasons(hit.score, hit.contributions)


BOUNDS = [
    ("bm25", {"k1": "0.01", "b": "1"}),
    ("bm25", {"k1": "100", "b": "0"}),
    ("local-alignment", {"gap": "0", "power": "100"}),
    ("local-alignment", {"gap": "100", "power": "1"}),
    ("soft-cosine", {"power": "100"}),
    ("soft-cosine-random", {"power": "100", "seed": "4294967295"}),
    ("soft-cosine-wordnet", {"power": "100", "graded": "true"}),
    ("lsi", {"dimensions": "1"}),
    ("lsi", {"dimensions": "10000"}),
    ("fuse", {"method": "sum", "weights": "1e-300,1,1e300"}),
    ("fuse", {"k": "0"}),
    ("wmd", {"solver": "pyemd"}),
    ("tesserae", {"query_side": "collection"}),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "values"), BOUNDS, ids=str)
@settings(max_examples=25)
@given(TEXT, TEXTS)
def test_scores_are_finite_whatever_is_set(
    name: str, values: dict[str, str], query: str, texts: list[str]
) -> None:
    reranker = load_reranker(name, {name: values})
    asked, candidates = trial_query(query), trial_candidates(texts)
    found = TrialCollection(texts, VECTORS)
    for score, reason in zip(
        reranker.score(asked, candidates, found).tolist(),
        reranker.explain(asked, candidates, found),
        strict=True,
    ):
        check_reasons(score, reason)


@pytest.mark.filterwarnings("error")
def test_lsi_of_many_texts_in_which_no_word_has_weight() -> None:
    words = " ".join(f"uerbum{number}" for number in range(1001))
    texts = [words] * 1001
    scores = load_reranker("lsi").score(
        trial_query("uerbum1 h"), trial_candidates(texts), TrialCollection(texts)
    )
    assert scores.tolist() == [0.0] * 1001


def test_the_abbreviation_of_the_issue(vulgate_index: LocalIndex, tmp_path: Path) -> None:
    """`h` made every score of its query NaN."""
    retriever = Retriever(
        vulgate_index, QueryOptions(generators=("fused",), reranker="learned", top=1)
    )
    for text in ("gustate et videte h quoniam suavis", "gustate et videte h. quoniam suavis"):
        (hit,) = retriever.answer(text).hits
        assert hit.id == "Ps.33.9"
