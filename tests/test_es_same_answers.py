"""The in-process index and a real server give the same answers over the whole Vulgate."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from es_fixtures import StartServer
from numpy.typing import NDArray

from allusion_es.corpora.passage import Passage
from allusion_es.es.build import build_es_index
from allusion_es.es.connection import Server
from allusion_es.es.index import ElasticsearchIndex, open_index
from allusion_es.language.latin.analysis import Analysis
from allusion_es.language.vectors.types import mean_vector
from allusion_es.local.index import LocalIndex
from allusion_es.retrieval.analysed import AnalysedPassage
from allusion_es.retrieval.fusion import FusedSearch
from allusion_es.retrieval.generators import StemSearch, searched_grams
from allusion_es.retrieval.types import (
    FIELDS,
    AnalysedQuery,
    Field,
    Query,
    Ranking,
    SearchFilter,
    SearchRequest,
)
from allusion_es.scanning.measured import unmeasured
from allusion_es.scanning.model import ScanOptions

QUERIES = 320
FEWER = 100  # where each query costs a scan of all vectors, or of hundreds of n-grams
TOP = 100

# A tie on one side may be a difference in the last bit on the other.
TIE = 1e-6


@pytest.fixture(scope="module")
def queries(vulgate_index: LocalIndex, vulgate_passages: Sequence[Passage]) -> list[Analysis]:
    """Fragments of verses, some of them of two verses, some with a verse twice."""
    chance = random.Random(20190601)
    ids = [passage.id for passage in vulgate_passages]
    found: list[Analysis] = []
    while len(found) < QUERIES:
        some = chance.sample(ids, chance.choice((1, 1, 2)))
        tokens, lemmas = (_joined(vulgate_index, field, some) for field in FIELDS)
        start = chance.randrange(len(tokens))
        end = start + chance.randint(3, 25)
        again = chance.choice((1, 1, 1, 2))
        chosen = tokens[start:end] * again
        if chosen:
            found.append(Analysis(chosen, lemmas[start:end] * again, ((0, 0),) * len(chosen)))
    return found


@pytest.fixture(scope="module", params=[(8, 1), (9, 3)], ids=["es8-1-shard", "es9-3-shards"])
def remote(
    request: pytest.FixtureRequest,
    start_server: StartServer,
    vulgate_index: LocalIndex,
    vulgate_passages: Sequence[Passage],
) -> Iterator[ElasticsearchIndex]:
    major, shards = request.param
    with Server.connect(start_server(major)) as server:
        analysed = _analysed(vulgate_index, vulgate_passages)
        settings, vectors = vulgate_index.settings, vulgate_index.vectors
        citations = vulgate_index.citations
        assert citations is not None
        count = build_es_index(
            server, "same", analysed, settings, vectors, citations, shards=shards
        )
        assert count == len(vulgate_index) == 35_809
        yield open_index(
            server, "same", lambda: vectors or pytest.fail("no vectors"), lambda _: citations
        )


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("kind", ["bm25", "tfidf"])
def test_words(
    remote: ElasticsearchIndex,
    vulgate_index: LocalIndex,
    queries: list[Analysis],
    kind: str,
    field: Field,
) -> None:
    requests = [
        SearchRequest(kind, field, TOP, Counter(_words(query, field)))  # type: ignore[arg-type]
        for query in queries
    ]
    found = 0
    for there, here in _both(remote, vulgate_index, requests):
        assert_same(there, here, relative=1e-5, tie=TIE)
        found += len(there)
    assert found > QUERIES * TOP * 0.9


def test_beginnings_of_lemmas(
    remote: ElasticsearchIndex, vulgate_index: LocalIndex, queries: list[Analysis]
) -> None:
    asked = [
        request
        for query in queries[:FEWER]
        for request in StemSearch().requests(
            AnalysedQuery(Query(""), query), vulgate_index, "lemma"
        )
    ]
    requests = [replace(request, size=TOP) for request in asked]
    for there, here in _both(remote, vulgate_index, requests):
        assert_same(there, here, relative=1e-5, tie=TIE)
        assert len(there)


@pytest.mark.parametrize("field", FIELDS)
def test_neighbours(
    remote: ElasticsearchIndex, vulgate_index: LocalIndex, queries: list[Analysis], field: Field
) -> None:
    assert vulgate_index.vectors is not None
    requests = [
        SearchRequest(
            "knn", field, TOP, vector=mean_vector(_words(query, field), vulgate_index.vectors)
        )
        for query in queries[:FEWER]
    ]
    for there, here in _both(remote, vulgate_index, requests):
        assert len(there) == TOP
        assert_same(there, here, relative=1e-4, tie=1e-5)


@pytest.fixture(scope="module")
def exact(vulgate_index: LocalIndex) -> NDArray[np.float32]:
    """The citation vectors of all passages, before each number became one byte."""
    assert vulgate_index.citations is not None
    ids = vulgate_index.ids()
    tokens, lemmas = (vulgate_index.texts(field, ids) for field in FIELDS)
    return vulgate_index.citations.text_vectors(
        [list(zip(tokens.text(n), lemmas.text(n), strict=True)) for n in range(len(ids))]
    )


def test_citations(
    remote: ElasticsearchIndex,
    vulgate_index: LocalIndex,
    queries: list[Analysis],
    exact: NDArray[np.float32],
) -> None:
    vectors = vulgate_index.citations
    assert vectors is not None
    words = [list(zip(q.tokens, q.lemmas, strict=True)) for q in queries[:FEWER]]
    asked = [vectors.query_vector(each) for each in words]
    requests = [SearchRequest("citations", "lemma", TOP, vector=vector) for vector in asked]
    ids = vulgate_index.ids()
    shared = []
    for (there, here), vector in zip(_both(remote, vulgate_index, requests), asked, strict=True):
        assert len(there) == TOP
        assert_same(there, here, relative=1e-6, tie=1e-6)
        best = np.argsort(-(exact @ vector))[:TOP]
        shared.append(len(set(there.ids) & {ids[place] for place in best}) / TOP)
    # One byte a number, in passages and queries, hardly changes what is near.
    assert np.mean(shared) >= 0.95


def test_books(remote: ElasticsearchIndex, vulgate_index: LocalIndex) -> None:
    books = remote.books()
    assert books == vulgate_index.books()
    assert books == {name.partition(".")[0] for name in vulgate_index.ids()}


def test_parallels(
    remote: ElasticsearchIndex, vulgate_index: LocalIndex, vulgate_passages: Sequence[Passage]
) -> None:
    ids = [passage.id for passage in vulgate_passages]
    here = vulgate_index.parallels(ids)
    assert remote.parallels(ids) == here
    assert sum(map(bool, here)) > 2000


def test_ngrams(
    remote: ElasticsearchIndex, vulgate_index: LocalIndex, queries: list[Analysis]
) -> None:
    requests = [
        SearchRequest("ngrams", "token", TOP, searched_grams(query.tokens))
        for query in queries[:FEWER]
    ]
    for there, here in _both(remote, vulgate_index, requests):
        assert len(there) == TOP
        assert_same(there, here, relative=1e-5, tie=TIE)


def test_expansion(
    remote: ElasticsearchIndex, vulgate_index: LocalIndex, queries: list[Analysis]
) -> None:
    requests = [
        SearchRequest("expansion", "lemma", TOP, {"zzz": 1.0, **dict.fromkeys(q.lemmas, 0.2)})
        for q in queries
    ]
    found = 0
    for there, here in _both(remote, vulgate_index, requests):
        assert_same(there, here, relative=1e-6, tie=TIE)
        found += len(there)
    assert found > QUERIES * TOP * 0.9


def test_the_fused_first_stage(
    remote: ElasticsearchIndex, vulgate_index: LocalIndex, queries: list[Analysis]
) -> None:
    """Ranks are fused, so that a tie that falls out otherwise moves what is near."""
    asked = [AnalysedQuery(Query("q"), query, query) for query in queries[:60]]
    there, here = (
        FusedSearch().rank(asked, index, "lemma", TOP, SearchFilter())
        for index in (remote, vulgate_index)
    )
    same = [
        len(set(one.ids) & set(other.ids)) / TOP for one, other in zip(there, here, strict=True)
    ]
    assert np.mean(same) > 0.995
    tops = [one.ids[:10] == other.ids[:10] for one, other in zip(there, here, strict=True)]
    assert np.mean(tops) > 0.9


@pytest.mark.parametrize(
    "search_filter",
    [SearchFilter(books=frozenset({"Ps", "Eph"})), SearchFilter(testaments=frozenset({"nt"}))],
)
def test_parts_of_the_bible(
    remote: ElasticsearchIndex,
    vulgate_index: LocalIndex,
    queries: list[Analysis],
    search_filter: SearchFilter,
) -> None:
    requests = [
        SearchRequest("tfidf", "lemma", TOP, Counter(query.lemmas), search_filter=search_filter)
        for query in queries[:40]
    ]
    for there, here in _both(remote, vulgate_index, requests):
        assert_same(there, here, relative=1e-5, tie=TIE)


def test_statistics_words_and_passages(
    remote: ElasticsearchIndex, vulgate_index: LocalIndex, queries: list[Analysis]
) -> None:
    ids = ["Gen.1.1", "Ps.33.9", "Rev.22.21", "Ps.33.9"]
    assert remote.passages(ids) == vulgate_index.passages(ids)
    for field in FIELDS:
        words = [*sorted({w for query in queries for w in _words(query, field)}), "xyz"]
        there, here = remote.statistics(field, words), vulgate_index.statistics(field, words)
        assert there.df.tolist() == here.df.tolist()
        assert there.cf.tolist() == here.cf.tolist()
        assert (there.passages, there.mean_length) == (here.passages, here.mean_length)
        texts = (index.texts(field, ids) for index in (remote, vulgate_index))
        one, other = ([text.text(number) for number in range(len(ids))] for text in texts)
        assert one == other


def test_the_servers_own_match_query_scores_the_same(
    remote: ElasticsearchIndex, vulgate_index: LocalIndex, queries: list[Analysis]
) -> None:
    """What `_explain` says of a match query, repeated words and long verses included."""
    server, concrete = remote._requests._server, remote._requests._concrete
    for query in queries[:25]:
        request = SearchRequest("bm25", "lemma", 5, Counter(query.lemmas))
        (ranking,) = vulgate_index.search([request])
        match = {"query": {"match": {"lemma": " ".join(query.lemmas)}}}
        search = f"/{concrete}/_search?search_type=dfs_query_then_fetch"
        hits = server.request("POST", search, {**match, "size": 50})["hits"]["hits"]
        scores = {hit["_id"]: hit["_score"] for hit in hits}
        for identifier, score in zip(ranking.ids, ranking.scores, strict=True):
            assert scores[identifier] == pytest.approx(score, rel=1e-5)


def assert_same(there: Ranking, here: Ranking, relative: float, tie: float) -> None:
    """Scores agree, and ids too, save where neighbours have practically the same score.

    `here` may be longer than `there`, to know the scores of what was just cut off.
    """
    count = len(there)
    assert count == min(len(here), TOP)
    assert there.scores == pytest.approx(here.scores[:count], rel=relative, abs=1e-9)
    assert len(set(there.ids)) == count
    known = dict(zip(here.ids, here.scores.tolist(), strict=True))
    for place in np.flatnonzero([a != b for a, b in zip(there.ids, here.ids, strict=False)]):
        score = float(here.scores[place])
        assert abs(known[there.ids[place]] - score) <= tie * abs(score), place


def _both(
    remote: ElasticsearchIndex, local: LocalIndex, requests: Sequence[SearchRequest]
) -> Iterator[tuple[Ranking, Ranking]]:
    """Rankings of both indexes; those of the local one go on for another hundred passages."""
    more = [
        SearchRequest(r.kind, r.field, r.size + 100, r.words, r.vector, r.search_filter)
        for r in requests
    ]
    return zip(remote.search(requests), local.search(more), strict=True)


def _analysed(index: LocalIndex, passages: Sequence[Passage]) -> Iterator[AnalysedPassage]:
    """Passages with the words that they have in the index, which saves analysing them again."""
    ids = [passage.id for passage in passages]
    tokens, lemmas = (index.texts(field, ids) for field in FIELDS)
    for number, passage in enumerate(passages):
        words = tokens.text(number)
        analysis = Analysis(words, lemmas.text(number), ((0, 0),) * len(words))
        yield AnalysedPassage(passage, analysis)


def _joined(index: LocalIndex, field: Field, ids: Sequence[str]) -> tuple[str, ...]:
    texts = index.texts(field, ids)
    return tuple(word for number in range(len(ids)) for word in texts.text(number))


def _words(query: Analysis, field: Field) -> tuple[str, ...]:
    return query.tokens if field == "token" else query.lemmas


def test_the_same_ids(remote: ElasticsearchIndex, vulgate_index: LocalIndex) -> None:
    assert remote.ids() == vulgate_index.ids()
    search_filter = SearchFilter(testaments=frozenset({"nt"}), books=frozenset({"Matt", "Gen"}))
    assert remote.ids(search_filter) == vulgate_index.ids(search_filter)


def test_figures_of_the_vulgate_hold_for_it_on_a_server(remote: ElasticsearchIndex) -> None:
    assert unmeasured(remote, ScanOptions()) == ""
