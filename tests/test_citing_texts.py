"""Citing texts: their file, the words of each passage, and the evidence, against the definition."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_fixtures import NAMES, code_links, collection, link

from allusion_es.core.errors import InputError, UsageError
from allusion_es.language.citations.citing_texts import (
    SUFFIX,
    CitingText,
    CitingTexts,
    citing_texts_of,
    save_citing_texts,
)
from allusion_es.language.citations.vectors import CitationVectors, save_citation_vectors
from allusion_es.language.latin.analysis import Analyser
from allusion_es.learning.learn import citing_texts
from allusion_es.learning.train import CitationTraining, train
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.citing_evidence import CitingEvidence
from allusion_es.retrieval.generators import CitingTextSearch, WindowSearch
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import Query, SearchFilter

SETTINGS = Analyser().settings
TEXTS = [
    CitingText(("p.1",), ("mare", "rete"), ("piscator",)),
    CitingText(("p.1", "p.2"), ("rete",), ("mare", "nauis")),
    CitingText(("p.2",), ("sagena",), ()),
    CitingText(("elsewhere",), ("pharetra",), ("arcus",)),
    *[CitingText(("p.3",), ("lux", f"uerbum{number}"), ()) for number in range(20)],
]
WORDS = ["mare", "rete", "piscator", "nauis", "sagena", "pharetra", "lux", "uerbum3", "nox"]


def saved(path: Path, texts: list[CitingText] = TEXTS) -> CitingTexts:
    save_citing_texts(path, texts, SETTINGS, {"vectors": "0f"})
    return CitingTexts(path)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> CitingTexts:
    return saved(tmp_path_factory.mktemp("citing") / "some.citing")


@pytest.fixture
def model(tmp_path: Path) -> CitationVectors:
    path = tmp_path / "little.citations"
    table = train(code_links(60), collection(), None, CitationTraining(dimension=16, batch=32))
    name = save_citation_vectors(path, table, SETTINGS, {})
    save_citing_texts(path.with_suffix(SUFFIX), TEXTS, SETTINGS, {"vectors": name})
    return CitationVectors(path)


def by_definition(texts: list[CitingText], query: dict[str, float], around: bool) -> list[float]:
    """BM25 of each text, word by word; lemmas of more than a tenth of the texts count nothing."""
    sets = [{*t.own, *t.around} if around else set(t.own) for t in texts]
    everything = [{*t.own, *t.around} for t in texts]
    n = len(texts)
    common = {w for s in everything for w in s if sum(w in one for one in everything) > n / 10}
    # Common lemmas of the words around are not even kept, so that lengths are without them.
    sets = [
        {w for w in one if w in t.own or w not in common}
        for one, t in zip(sets, texts, strict=True)
    ]
    mean = sum(map(len, sets)) / n
    scores = []
    for one in sets:
        score = 0.0
        for word, weight in query.items():
            df = sum(word in other for other in sets)
            if word in one and df <= n / 10:
                idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
                score += weight * idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * len(one) / mean))
        scores.append(score)
    return scores


@given(
    st.dictionaries(st.sampled_from(WORDS), st.sampled_from([1.0, 0.2]), max_size=5), st.booleans()
)
def test_evidence_is_as_defined(known: CitingTexts, query: dict[str, float], around: bool) -> None:
    found = known.evidence(query, around=around)
    scores = by_definition(TEXTS, query, around)
    for place, name in enumerate(known.ids):
        mine = sorted((s for t, s in zip(TEXTS, scores, strict=True) if name in t.passages))[::-1]
        assert found.best[place] == pytest.approx(mine[0], rel=1e-5)
        assert found.best_three[place] == pytest.approx(sum(mine[:3]) / 3, rel=1e-5)


def test_a_passage_that_nobody_cites_has_no_evidence(known: CitingTexts) -> None:
    taken = known.evidence({"rete": 1.0}, around=False).take(known.places(["p.1", "p.99"]))
    assert taken.best[0] > 0
    assert taken.best[1] == taken.best_three[1] == 0


def test_what_the_best_text_shares(known: CitingTexts) -> None:
    shared = known.shared({"rete": 1.0, "mare": 1.0, "nox": 1.0}, "p.1")
    assert set(shared) == {"rete", "mare"}
    best = known.evidence({"rete": 1.0, "mare": 1.0, "nox": 1.0}, around=False).best
    assert sum(shared.values()) == pytest.approx(best[known.ids.index("p.1")])
    assert known.shared({"rete": 1.0}, "p.99") == known.shared({}, "p.1") == {}


def test_the_file_gives_back_what_it_got(known: CitingTexts, tmp_path: Path) -> None:
    assert known.texts() == sorted(TEXTS)
    assert len(known) == len(TEXTS)
    again = tmp_path / "again.citing"
    save_citing_texts(again, TEXTS[::-1], SETTINGS, {"vectors": "0f"})
    other = tmp_path / "other.citing"
    save_citing_texts(other, known.texts(), SETTINGS, {"vectors": "0f"})
    assert again.read_bytes() == other.read_bytes()


def test_words_by_passage_are_counts_of_own_lemmas(known: CitingTexts) -> None:
    table = known.words_by_passage()
    found = {
        name: {
            table.words[table.lemmas[n]]: int(table.counts[n])
            for n in range(table.offsets[place], table.offsets[place + 1])
        }
        for name, place in table.places.items()
    }
    assert found["p.1"] == {"mare": 1, "rete": 2}
    assert found["p.2"] == {"rete": 1, "sagena": 1}
    assert found["p.3"]["lux"] == 20


def test_no_order_is_kept() -> None:
    first = CitingText.of(["p"], ["a", "b"], ["z", "x", "z"], ["c"])
    assert first == CitingText.of(["p"], ["c", "b"], ["x", "z"], ["a"])


def test_only_twenty_words_around_count() -> None:
    words = [f"w{number:02}" for number in range(30)]
    near = CitingText.of(["p"], words, ["own"], words)
    assert set(near.around) == {*words[:20], *words[10:]}


def test_another_file_is_refused(model: CitationVectors, tmp_path: Path) -> None:
    path = model.path.with_suffix(SUFFIX)
    save_citing_texts(path, TEXTS, SETTINGS, {"vectors": "0000"})
    with pytest.raises(InputError, match="does not belong to citation vectors"):
        citing_texts_of(model)
    stop = replace(SETTINGS, stop_words=True)
    save_citing_texts(path, TEXTS, stop, {"vectors": model.name})
    with pytest.raises(InputError, match="does not belong"):
        citing_texts_of(model)
    with pytest.raises(InputError, match="not citing texts of format 1 but citation vectors"):
        CitingTexts(model.path)
    with pytest.raises(InputError, match="cannot be read"):
        CitingTexts(tmp_path / "none.citing")
    path.unlink()
    assert citing_texts_of(model) is None


def test_texts_of_links() -> None:
    passages = collection(["rex magnus", "mare"])
    links = [link("sagena sagena rete", 0, 1), link("sagena", 1, before="lux")]
    assert citing_texts(links, passages) == [
        CitingText(("p.0", "p.1"), ("rete", "sagena"), ()),
        CitingText(("p.1",), ("sagena",), ("lux",)),
    ]


PASSAGES = {f"p.{number}": f"{name} est magnum" for number, name in enumerate(NAMES)}


def test_the_first_stage_ranks_by_the_best_three(model: CitationVectors) -> None:
    index = index_texts(PASSAGES, citations=model)
    retriever = Retriever(index, QueryOptions(generators=["citing-texts"], reranker=None))
    hits = retriever.answer("rete").hits
    evidence = CitingEvidence(citing_texts_of(model))  # type: ignore[arg-type]
    asked = retriever.answer("rete").query
    expected = evidence.named(asked, 10)
    assert {hit.id: pytest.approx(hit.score) for hit in hits} == expected
    assert [hit.id for hit in hits] == ["p.1", "p.2"]
    assert not retriever.answer("nox").hits
    (named,) = CitingTextSearch().requests(asked, index, "lemma")
    within = replace(named, size=9, search_filter=SearchFilter(books=frozenset("x")))
    assert [len(each) for each in index.search([replace(named, size=9), within])] == [2, 0]


def test_the_window_stage_looks_at_the_words_around(model: CitationVectors) -> None:
    index = index_texts(PASSAGES, citations=model)
    retriever = Retriever(index, QueryOptions(generators=["window"], reranker=None))
    assert not retriever.answer(Query("est")).hits
    assert retriever.answer(Query("est", before=f"{NAMES[2]} magnum")).hits[0].id == "p.2"


def test_an_index_without_citing_texts_says_so(model: CitationVectors) -> None:
    model.path.with_suffix(SUFFIX).unlink()
    for index in (index_texts(PASSAGES), index_texts(PASSAGES, citations=model)):
        asked = Retriever(index, QueryOptions(reranker=None)).answer("rete").query
        with pytest.raises(UsageError, match="no citing texts"):
            CitingTextSearch().rank([asked], index, "lemma", 3, SearchFilter())
    bare = index_texts(PASSAGES)
    asked = Retriever(bare, QueryOptions(reranker=None)).answer("est").query
    with pytest.raises(UsageError, match="no citation vectors"):
        WindowSearch().rank([asked], bare, "lemma", 3, SearchFilter())


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6), st.integers(0, 5))
def test_best_three_lie_between_a_third_and_the_best(texts: list[CitingText], seed: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        some = saved(Path(folder) / "x.citing", texts * 12)
        words = np.random.default_rng(seed).choice(WORDS, 3, replace=False).tolist()
        found = some.evidence(dict.fromkeys(words, 1.0), around=True)
    assert (found.best_three <= found.best * (1 + 1e-6)).all()
    assert (found.best_three >= found.best / 3 * (1 - 1e-6)).all()
