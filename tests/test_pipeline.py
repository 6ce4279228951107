"""Two stages: fusion, reranking, hits, and what goes wrong between them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import PluginError, SettingsMismatchError, UsageError
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.retrieval import pipeline
from allusion_es.retrieval.fusion import RRF_K, reciprocal_rank_fusion
from allusion_es.retrieval.generators import SearchGenerator
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Contribution,
    Field,
    Query,
    Ranking,
    SearchFilter,
    SearchRequest,
)

TEXTS = {
    "Gen.1.1": "In principio creavit Deus caelum et terram",
    "John.1.1": "In principio erat Verbum",
    "Ps.22.1": "Dominus regit me",
    "Ps.33.9": "Gustate et videte quoniam suavis est Dominus",
}


@pytest.fixture(scope="module")
def index() -> LocalIndex:
    return index_texts(TEXTS)


class Backwards:
    """The later in the first stage, the better."""

    def score(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> np.ndarray:
        return np.arange(len(candidates), dtype=np.float64)

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> Sequence[tuple[Contribution, ...]]:
        return [()] * len(candidates)


class NotANumber(Backwards):
    def score(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> np.ndarray:
        return np.full(len(candidates), np.nan)


def test_a_hit_holds_all_that_is_known_of_it(
    index: LocalIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "load_reranker", lambda *_: Backwards())
    answer = Retriever(index, QueryOptions(reranker="backwards")).answer(
        "in principio erat caelum dominus"
    )
    plain = Retriever(index, QueryOptions(reranker=None)).answer("in principio erat caelum dominus")
    assert [hit.id for hit in answer.hits] == [hit.id for hit in reversed(plain.hits)]
    for hit, other in zip(answer.hits, reversed(plain.hits), strict=True):
        assert hit.candidate_rank == other.rank == other.candidate_rank
        assert hit.candidate_score == other.score == other.candidate_score
        assert hit.score == hit.candidate_rank - 1
        assert hit.text == TEXTS[hit.id]


def test_a_reranker_that_gives_no_number_is_at_fault(
    index: LocalIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "load_reranker", lambda *_: NotANumber())
    with pytest.raises(PluginError, match="gave no finite score for each of 4 candidates"):
        Retriever(index, QueryOptions(reranker="nan")).answer("in principio dominus caelum")


def test_unknown_words_are_named_once(index: LocalIndex) -> None:
    answer = Retriever(index, QueryOptions(reranker=None)).answer("xyzzy deus xyzzy plugh")
    assert answer.unknown == ("xyzzy", "plugh")
    assert Retriever(index, QueryOptions(reranker=None)).answer("xyzzy").hits == ()


@pytest.mark.parametrize("candidates", [1, 2, 3, 4, 1000])
def test_candidates_cut_the_same_ranking(index: LocalIndex, candidates: int) -> None:
    query = "in principio dominus deus"
    whole = Retriever(index, QueryOptions(reranker=None, top=9)).answer(query).hits
    cut = (
        Retriever(index, QueryOptions(reranker=None, top=9, candidates=candidates))
        .answer(query)
        .hits
    )
    assert cut == whole[:candidates]


def test_queries_of_an_iterator_and_of_a_list_get_the_same_answers(index: LocalIndex) -> None:
    queries = [Query("deus", "a"), Query("", "b"), Query("dominus", "c")] * 30
    retriever = Retriever(index)
    assert list(retriever.answers(queries)) == list(retriever.answers(iter(queries)))


def test_numbers_out_of_range_are_refused(index: LocalIndex) -> None:
    with pytest.raises(UsageError, match=r"^top: must be at least 1, not 0"):
        Retriever(index, QueryOptions(top=0))
    with pytest.raises(UsageError, match=r"^top: must be at least 1, not -3"):
        Retriever(index, QueryOptions(top=-3))
    with pytest.raises(UsageError, match=r"^candidates: must be at least 1, not -1"):
        Retriever(index, QueryOptions(candidates=-1))


def test_an_index_of_another_analysis_is_refused(
    index: LocalIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = replace(index.settings.analysis, lemmatiser_version="0.1")
    monkeypatch.setattr(index, "settings", replace(index.settings, analysis=old))
    with pytest.raises(SettingsMismatchError, match=r"built with lemmatiser_version '0\.1' \(now "):
        Retriever(index)


RANKINGS = st.lists(
    st.lists(st.sampled_from("abcdefg"), unique=True).map(
        lambda ids: Ranking(tuple(ids), np.arange(len(ids), 0.0, -1.0))
    ),
    min_size=1,
    max_size=4,
)


@given(RANKINGS, st.integers(1, 9))
def test_fusion(rankings: list[Ranking], size: int) -> None:
    fused = reciprocal_rank_fusion(rankings, size)
    expected: dict[str, float] = {}
    for ranking in rankings:
        for identifier in ranking.ids:
            part = 1 / (RRF_K + ranking.ids.index(identifier) + 1)
            expected[identifier] = expected.get(identifier, 0) + part
    order = sorted(expected, key=lambda identifier: (-expected[identifier], identifier))
    assert list(fused.ids) == order[:size]
    assert fused.scores == pytest.approx([expected[identifier] for identifier in order[:size]])


def test_five_lines_of_python(library: object, vulgate_index: LocalIndex, tmp_path: Path) -> None:
    hits = (
        Retriever(vulgate_index, QueryOptions(top=1))
        .answer("gustate et videte quoniam suavis est")
        .hits
    )
    assert [(hit.reference, hit.rank) for hit in hits] == [("Ps 33,9", 1)]


def test_all_passages_are_candidates(index: LocalIndex) -> None:
    retriever = Retriever(index, QueryOptions(generators=("all",), reranker="bow", top=9))
    answers = list(retriever.answers([Query("in dominus"), Query("verbum"), Query("nemo")]))
    found = [[(hit.id, round(hit.score, 4)) for hit in answer.hits] for answer in answers]
    assert found[0] == [
        ("Ps.22.1", 0.4082),
        ("John.1.1", 0.3536),
        ("Gen.1.1", 0.2673),
        ("Ps.33.9", 0.2673),
    ]
    # What shares nothing is no hit, though it was a candidate.
    assert found[1:] == [[("John.1.1", 0.5)], []]
    assert [hit.candidate_rank for hit in answers[0].hits] == [3, 2, 1, 4]
    without = Retriever(index, QueryOptions(generators=("all",), reranker="tesserae")).answer(
        "in principio"
    )
    assert {hit.id for hit in without.hits} == {"Gen.1.1", "John.1.1"}


class FirstWord(SearchGenerator):
    """As in docs/write-a-first-stage.md: a generator that only says what is searched for."""

    def requests(
        self, query: AnalysedQuery, index: CandidateIndex, field: Field
    ) -> list[SearchRequest]:
        return [SearchRequest("bm25", field, words={word: 1}) for word in query.words(field)[:2]]

    def fuse(
        self, requests: Sequence[SearchRequest], rankings: Sequence[Ranking], size: int
    ) -> Ranking:
        assert [request.size for request in requests] == [size] * len(rankings)
        return rankings[0]


class Fixed:
    """A generator with a `rank` of its own, and its own name for the filter."""

    def rank(
        self,
        queries: Sequence[AnalysedQuery],
        index: CandidateIndex,
        field: Field,
        size: int,
        within: SearchFilter,
    ) -> list[Ranking]:
        ids = index.ids(within)[:size]
        return [Ranking(ids, np.ones(len(ids)))] * len(queries)


def test_generators_of_others(index: LocalIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    others: dict[str, object] = {"first": FirstWord(), "fixed": Fixed()}
    monkeypatch.setattr(pipeline, "load_generator", others.__getitem__)
    options = QueryOptions(generators=("first",), reranker=None)
    queries = [Query("caelum principio", "1"), Query("dominus caelum", "2")]
    answers = Retriever(index, options).answers(queries)
    alone = [first_of(index, text) for text in ("caelum", "dominus")]
    assert [[hit.id for hit in answer.hits] for answer in answers] == alone
    options = QueryOptions(generators=("fixed",), reranker=None, candidates=3)
    answer = Retriever(index, options).answer("beatus")
    assert tuple(hit.id for hit in answer.hits) == index.ids()[:3]


def first_of(index: LocalIndex, word: str) -> list[str]:
    request = SearchRequest("bm25", "lemma", 10, Counter([word]))
    return list(index.search([request])[0].ids)
