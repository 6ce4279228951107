"""The life of an index on a real server: built, asked, replaced, deleted, never half there."""

import time
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
import pytest
from es_fixtures import delete_index
from little_vectors import LittleVectors

from allusion_es.core.errors import (
    AllusionError,
    IndexDamagedError,
    IndexMissingError,
    InputError,
    ServerRefusedError,
    ServerUnavailableError,
    UsageError,
    VerseError,
)
from allusion_es.corpora.passage import Passage
from allusion_es.es import alias_swap, build, queries, requests
from allusion_es.es.build import build_es_index
from allusion_es.es.bulk import index_documents
from allusion_es.es.catalogue import (
    IndexSummary,
    list_indexes,
)
from allusion_es.es.connection import Server
from allusion_es.es.index import ElasticsearchIndex, open_index
from allusion_es.es.meta import KEY
from allusion_es.language.latin.analysis import Analysis, AnalysisSettings
from allusion_es.retrieval.analysed import AnalysedPassage
from allusion_es.retrieval.index import CandidateIndex, IndexSettings
from allusion_es.retrieval.types import SearchFilter, SearchRequest

SETTINGS = IndexSettings(AnalysisSettings())
ANYWHERE = SearchFilter()
WITH_VECTORS = IndexSettings(AnalysisSettings(), "little")


def passage(identifier: str, words: str, **properties: str | int) -> AnalysedPassage:
    tokens = tuple(words.split())
    lemmas = tuple(f"{token}-lemma" for token in tokens)
    found = Passage(identifier, words.capitalize(), **properties)  # type: ignore[arg-type]
    return AnalysedPassage(found, Analysis(tokens, lemmas, ((0, 0),) * len(tokens)))


TEXTS = [
    passage("Gen.1.1", "in principio creauit deus", book="Gen", testament="ot", work="V"),
    passage("Gen.1.2", "", book="Gen", testament="ot", work="V"),
    passage("Ps.33.9", "gustate et uidete", book="Ps", chapter=33, verse=9, testament="ot"),
    passage("John.1.1", "in principio erat uerbum", book="John", testament="nt", reference="Io"),
    passage("John.1.2", "deus deus deus erat", book="John", testament="nt", order=4),
]


def words(server: Server, *asked: str, search_filter: SearchFilter = ANYWHERE) -> tuple[str, ...]:
    """Ids that BM25 finds for some tokens in the index `little`."""
    request = SearchRequest(
        "bm25", "token", 10, dict.fromkeys(asked, 1), search_filter=search_filter
    )
    return open_index(server, "little").search([request])[0].ids


def indexes(server: Server) -> set[str]:
    return set(server.request("GET", "/_all/_settings"))


@pytest.fixture
def index(server: Server) -> ElasticsearchIndex:
    build_es_index(server, "little", TEXTS, SETTINGS)
    return open_index(server, "little")


def test_what_was_indexed_is_found_at_once(server: Server) -> None:
    assert build_es_index(server, "little", iter(TEXTS), SETTINGS) == 5
    assert words(server, "gustate") == ("Ps.33.9",)
    assert list_indexes(server) == [IndexSummary("little", 5)]


def test_an_index_knows_itself(server: Server) -> None:
    settings = IndexSettings(AnalysisSettings(stop_words=True), "little", 0.9, 0.4)
    build_es_index(server, "little", TEXTS, settings, LittleVectors())
    index: CandidateIndex = open_index(server, "little", LittleVectors)
    assert (index.name, len(index), index.settings) == ("little", 5, settings)
    assert index.max_candidates == 10_000
    assert index.vectors is not None
    assert index.vectors.vectors(["x"]).tolist() == [[1, 0]]
    without = open_index(server, "little").vectors
    assert without is not None
    assert not without.vectors(["x"]).any()


def test_passages_come_back_as_they_were(index: ElasticsearchIndex) -> None:
    ids = ["John.1.1", "Gen.1.2", "John.1.1"]
    known = {analysed.passage.id: analysed.passage for analysed in TEXTS}
    assert index.passages(ids) == [known[identifier] for identifier in ids]
    assert index.passages([]) == []
    with pytest.raises(VerseError, match=r"Gen\.9\.9"):
        index.passages(["Gen.1.1", "Gen.9.9"])


def test_words_with_and_without_a_search(server: Server, index: ElasticsearchIndex) -> None:
    ids = ["Ps.33.9", "Gen.1.2", "John.1.2"]
    for _ in range(2):
        texts = index.texts("lemma", ids)
        assert [" ".join(texts.text(number)) for number in range(3)] == [
            "gustate-lemma et-lemma uidete-lemma",
            "",
            "deus-lemma deus-lemma deus-lemma erat-lemma",
        ]
    with pytest.raises(VerseError, match=r"Gen\.9\.9"):
        index.texts("token", ["Gen.9.9"])
    searching = open_index(server, "little")
    ids = list(searching.search([SearchRequest("bm25", "token", 9, {"deus": 1})])[0].ids)
    assert searching.texts("token", ids).text(0) == ("deus", "deus", "deus", "erat")
    server.close()  # so what follows can only come from memory
    assert searching.texts("lemma", ids).text(0)[-1] == "erat-lemma"
    # The frequencies of a passage's words come with them.
    words = sorted(
        {word for number in range(len(ids)) for word in searching.texts("token", ids).text(number)}
    )
    assert searching.statistics("token", words).cf.tolist()[words.index("deus")] == 4
    assert searching.statistics("lemma", [f"{word}-lemma" for word in words]).df.min() >= 1


def test_frequencies_of_an_index_that_has_none_beside_its_words(
    server: Server, index: ElasticsearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those have that were built before."""
    for module in (queries, requests):
        monkeypatch.setattr(module, "STATISTICS", "unmapped")
    old = open_index(server, "little")
    ids = ["Ps.33.9", "Gen.1.2", "John.1.2"]
    assert old.texts("token", ids).words == index.texts("token", ids).words
    words = ["deus", "erat", "nemo"]
    for found in (old.statistics("token", words), index.statistics("token", words)):
        assert (found.df.tolist(), found.cf.tolist()) == ([2, 2, 0], [4, 2, 0])


def test_statistics(index: ElasticsearchIndex) -> None:
    for _ in range(2):
        found = index.statistics("token", ["deus", "nemo", "in", "deus", "x" * 2000])
        assert found.df.tolist() == [2, 0, 2, 2, 0]
        assert found.cf.tolist() == [4, 0, 2, 4, 0]
        assert found.passages == 4
        assert found.mean_length == 15 / 4
    assert index.statistics("lemma", ["deus"]).df.tolist() == [0]


def test_statistics_are_asked_for_once(
    index: ElasticsearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.statistics("token", ["deus", "nemo"])
    monkeypatch.setattr(Server, "request", None)
    assert index.statistics("token", ["nemo", "deus"]).df.tolist() == [0, 2]


def test_filters(server: Server, index: ElasticsearchIndex) -> None:
    ask = ("in", "deus", "gustate")
    assert words(server, *ask, search_filter=SearchFilter(books=frozenset({"Gen"}))) == ("Gen.1.1",)
    assert set(words(server, *ask, search_filter=SearchFilter(testaments=frozenset({"nt"})))) == {
        "John.1.1",
        "John.1.2",
    }
    assert words(server, *ask, search_filter=SearchFilter(works=frozenset({"V"}))) == ("Gen.1.1",)
    both = SearchFilter(books=frozenset({"Gen", "Ps"}), testaments=frozenset({"ot"}))
    assert set(words(server, *ask, search_filter=both)) == {"Gen.1.1", "Ps.33.9"}
    assert words(server, *ask, search_filter=SearchFilter(books=frozenset({"Apc"}))) == ()
    request = SearchRequest("tfidf", "token", 9, {"deus": 1}, search_filter=both)
    assert index.search([request])[0].ids == ("Gen.1.1",)
    assert index.ids(both) == ("Gen.1.1", "Gen.1.2", "Ps.33.9")
    assert index.ids(SearchFilter(books=frozenset({"Apc"}))) == ()


def test_nothing_is_found_for_unknown_words_or_none(index: ElasticsearchIndex) -> None:
    for kind in ("bm25", "tfidf"):
        for asked in ({}, {"nemo": 1}, {"x" * 40_000: 2}):
            (ranking,) = index.search([SearchRequest(kind, "token", 9, asked)])
            assert len(ranking) == 0
    assert index.search([]) == []


def test_more_are_asked_for_than_there_are(index: ElasticsearchIndex) -> None:
    (ranking,) = index.search([SearchRequest("bm25", "token", 10_000, {"deus": 1})])
    assert ranking.ids == ("John.1.2", "Gen.1.1")
    with pytest.raises(UsageError, match=r"10001 candidates .* 10000"):
        index.search([SearchRequest("bm25", "token", 10_001, {"deus": 1})])
    with pytest.raises(UsageError, match="1024"):
        index.search([SearchRequest("bm25", "token", 1, {str(n): 1 for n in range(1025)})])


def test_many_searches_and_words_at_once(index: ElasticsearchIndex) -> None:
    many = {f"w{number}": 1 for number in range(1023)} | {"gustate": 1}
    requests = [SearchRequest("bm25", "token", 100, many)] * 150
    requests[7] = SearchRequest("tfidf", "token", 100, {"erat": 1, "uerbum": 1})
    rankings = index.search(requests)
    assert [ranking.ids for ranking in rankings] == [
        ("John.1.1", "John.1.2") if number == 7 else ("Ps.33.9",) for number in range(150)
    ]


def test_ties_are_in_the_order_of_ids(server: Server) -> None:
    ids = [f"x.{number}" for number in range(300)]
    texts = [passage(identifier, "x y") for identifier in reversed(ids)]
    build_es_index(server, "little", texts, WITH_VECTORS, LittleVectors(), shards=2)
    index = open_index(server, "little")
    vector = np.array([1, 0], dtype=np.float32)
    (ranking,) = index.search([SearchRequest("bm25", "token", 40, {"x": 1})])
    assert ranking.ids == tuple(sorted(ids)[:40])
    few = SearchRequest("knn", "token", 250, vector=vector)
    assert index.search([few])[0].ids == tuple(sorted(ids)[:250])
    whole = SearchRequest("knn", "token", 300, vector=vector)
    assert index.search([whole])[0].ids == tuple(sorted(ids))


@pytest.mark.parametrize("knn", ["flat", "hnsw"])
def test_nearest_neighbours(server: Server, knn: Literal["flat", "hnsw"]) -> None:
    texts = [passage("x", "x"), passage("minus", "minus"), passage("xy", "x y y"), passage("-", "")]
    texts += [passage("none", "unknown"), passage("z", "z", book="Ps")]
    build_es_index(server, "little", texts, WITH_VECTORS, LittleVectors(), knn=knn)
    index = open_index(server, "little", LittleVectors)
    vector = np.array([1, 0], dtype=np.float32)
    (ranking,) = index.search([SearchRequest("knn", "token", 10, vector=vector)])
    assert ranking.ids == ("x", "z", "xy", "minus")
    assert ranking.scores == pytest.approx([1, 0.6, 5**-0.5, -1], abs=1e-6)
    search_filter = SearchFilter(books=frozenset({"Ps"}))
    (ranking,) = index.search(
        [SearchRequest("knn", "token", 1, vector=vector, search_filter=search_filter)]
    )
    assert ranking.ids == ("z",)
    zeros = SearchRequest("knn", "token", 1, vector=np.zeros(2, dtype=np.float32))
    assert len(index.search([zeros])[0]) == 0


def test_nearest_neighbours_need_vectors(index: ElasticsearchIndex) -> None:
    assert index.vectors is None
    with pytest.raises(UsageError, match="no word vectors"):
        index.search([SearchRequest("knn", "token", 1, vector=np.ones(2, dtype=np.float32))])


def test_bm25_and_tfidf_by_hand(index: ElasticsearchIndex) -> None:
    (ranking,) = index.search([SearchRequest("bm25", "token", 9, {"deus": 2})])
    # idf ln(1 + (4 - 2 + .5) / (2 + .5)); lengths 4 and 4, mean 3.75; boost 2
    norm = 1.2 * (0.25 + 0.75 * 4 / 3.75)
    expected = [2 * np.log(2) * 2.2 * tf / (tf + norm) for tf in (3, 1)]
    assert ranking.scores == pytest.approx(expected, rel=1e-6)
    (ranking,) = index.search([SearchRequest("tfidf", "token", 9, {"deus": 1})])
    # idf ln(4 / 3) for words in two passages, ln(4 / 2) for words in one
    two, one = np.log(4 / 3), np.log(2)
    expected = [3 * two / np.hypot(3 * two, two), two / np.sqrt(3 * two**2 + one**2)]
    assert ranking.ids == ("John.1.2", "Gen.1.1")
    assert ranking.scores == pytest.approx(expected, rel=1e-6)


def test_the_server_explains_the_same_score(server: Server, index: ElasticsearchIndex) -> None:
    (ranking,) = index.search([SearchRequest("bm25", "token", 9, {"deus": 1, "in": 1})])
    query = {"match": {"token": "deus in"}}
    for identifier, score in zip(ranking.ids, ranking.scores, strict=True):
        path = f"/allusion-little/_explain/{identifier}"
        told = server.request("POST", path, {"query": query})["explanation"]
        assert told["value"] == pytest.approx(score, rel=1e-6)


def test_a_rebuilt_index_replaces_the_old_one(server: Server, index: ElasticsearchIndex) -> None:
    before = indexes(server)
    build_es_index(server, "little", TEXTS[:3], SETTINGS)
    assert words(server, "deus") == ("Gen.1.1",)
    assert len(indexes(server)) == 2
    assert not indexes(server) & before
    with pytest.raises(IndexMissingError, match="rebuilt meanwhile"):
        index.search([SearchRequest("bm25", "token", 9, {"deus": 1})])
    with pytest.raises(IndexMissingError, match="rebuilt meanwhile"):
        index.passages(["Gen.1.1"])


def test_deleting(server: Server, index: ElasticsearchIndex) -> None:
    build_es_index(server, "little-2", TEXTS, SETTINGS)
    delete_index(server, "little")
    assert [summary.name for summary in list_indexes(server)] == ["little-2"]
    assert len(indexes(server)) == 2
    with pytest.raises(IndexMissingError, match=r"no index 'little' \(it has little-2\)"):
        open_index(server, "little")
    delete_index(server, "little-2")
    assert indexes(server) == set()
    with pytest.raises(IndexMissingError, match="it has none"):
        delete_index(server, "little-2")


def test_others_indexes_are_let_be(server: Server) -> None:
    for name in ("allusion-notes", "allusion-little-20260101000000-0000000g", "other"):
        server.request("PUT", f"/{name}")
    others = indexes(server)
    build_es_index(server, "little", TEXTS, SETTINGS)
    assert [summary.name for summary in list_indexes(server)] == ["little"]
    delete_index(server, "little")
    assert indexes(server) == others
    with pytest.raises(IndexMissingError):
        open_index(server, "notes")


def fails_and_leaves_the_old_one(
    server: Server,
    texts: Iterable[AnalysedPassage],
    kind: type[BaseException],
    text: str | None = None,
) -> None:
    before = indexes(server)
    with pytest.raises(kind, match=text) as caught:
        build_es_index(server, "little", texts, WITH_VECTORS, LittleVectors(), progress=progress)
    assert "\n" not in str(caught.value)
    assert indexes(server) == before
    assert words(server, "gustate") == ("Ps.33.9",)


def progress(items: Iterable[Any], description: str, total: int | None = None) -> Iterator[Any]:
    """Breaks off at the passage `stop`, as Ctrl-C does."""
    for item in items:
        if item[0] == "stop":
            raise KeyboardInterrupt
        yield item


def test_a_refused_passage_is_named(server: Server, index: ElasticsearchIndex) -> None:
    bad = [passage(f"bad.{number}", "x", chapter=2**40) for number in range(3)]
    reason = r"'bad\.0' .*out of range of int.*, and 2 others"
    fails_and_leaves_the_old_one(server, [*TEXTS, *bad], InputError, reason)


def test_interruption(server: Server, index: ElasticsearchIndex) -> None:
    many = [passage(f"x.{number}", "x y") for number in range(3000)]
    texts = [*many, passage("stop", "x")]
    fails_and_leaves_the_old_one(server, texts, KeyboardInterrupt)


def test_a_reader_that_fails(server: Server, index: ElasticsearchIndex) -> None:
    def texts() -> Iterator[AnalysedPassage]:
        yield from TEXTS
        raise InputError("line 7 is broken")

    fails_and_leaves_the_old_one(server, texts(), InputError, "line 7 is broken")


def test_lost_passages(
    server: Server, index: ElasticsearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def losing(server: Server, index: str, documents: Iterable[Any]) -> int:
        return index_documents(server, index, list(documents)[1:])

    monkeypatch.setattr(build, "index_documents", losing)
    fails_and_leaves_the_old_one(server, TEXTS, ServerRefusedError, "holds 4 of 5 documents")


def test_an_alias_that_cannot_be_moved(
    server: Server, index: ElasticsearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(*_: object) -> None:
        raise ServerUnavailableError("gone")

    monkeypatch.setattr(build, "make_current", unavailable)
    fails_and_leaves_the_old_one(server, TEXTS, ServerUnavailableError, "gone")


def test_an_alias_that_moved_although_the_answer_was_lost(
    server: Server, index: ElasticsearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    move = alias_swap.make_current

    def losing(server: Server, name: str, concrete: str) -> None:
        move(server, name, concrete)
        raise ServerUnavailableError("no answer")

    monkeypatch.setattr(build, "make_current", losing)
    with pytest.raises(ServerUnavailableError):
        build_es_index(server, "little", TEXTS[:3], SETTINGS)
    assert len(open_index(server, "little")) == 3


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        ([], "no passage"),
        ([passage("a", "x"), passage("a", "y")], "'a' occurs twice"),
        ([passage("", "x")], "1 to 512 bytes"),
        ([passage("ä" * 300, "x")], "1 to 512 bytes"),
        ([passage("a", "deus|2")], r"passage a: word 'deus\|2'"),
        ([passage("a", "x" * 256)], "256 characters"),
        (
            [AnalysedPassage(Passage("a", ""), Analysis(("x y",), ("x",), ((0, 0),)))],
            "word 'x y'",
        ),
    ],
    ids=["none", "twice", "no-id", "long-id", "bar", "long-word", "blank"],
)
def test_what_cannot_be_indexed(server: Server, texts: list[AnalysedPassage], text: str) -> None:
    with pytest.raises(InputError, match=text):
        build_es_index(server, "little", texts, SETTINGS)
    assert indexes(server) == set()


def test_options_that_cannot_be_used(server: Server) -> None:
    for name in ("", "Little", "a b", "x" * 101, "../a", "-a"):
        with pytest.raises(UsageError, match="index name"):
            build_es_index(server, name, TEXTS, SETTINGS)
        with pytest.raises(UsageError, match="index name"):
            open_index(server, name)
    with pytest.raises(UsageError, match="0 shards"):
        build_es_index(server, "little", TEXTS, SETTINGS, shards=0)


def test_the_longest_name_and_odd_ids(server: Server) -> None:
    name = "x" * 100
    ids = ['Ps "33",9', "ä/ö?#%", "x" * 512, "a\nb"]
    texts = [passage(identifier, "deus") for identifier in ids]
    build_es_index(server, name, texts, SETTINGS)
    index = open_index(server, name)
    (ranking,) = index.search([SearchRequest("bm25", "token", 9, {"deus": 1})])
    assert ranking.ids == tuple(sorted(ids))
    assert [found.id for found in index.passages(ranking.ids)] == sorted(ids)


def test_a_long_passage(server: Server) -> None:
    long = passage("long", "deus " * 3_000 + " ".join(f"w{n}" for n in range(4_000)))
    build_es_index(server, "little", [long, *TEXTS], SETTINGS)
    index = open_index(server, "little")
    (ranking,) = index.search([SearchRequest("bm25", "token", 9, {"w7": 1})])
    assert ranking.ids == ("long",)
    assert len(index.texts("token", ["long"]).text(0)) == 7_000


def test_a_server_that_is_read_only(server: Server, index: ElasticsearchIndex) -> None:
    blocks = "cluster.blocks.read_only_allow_delete"
    server.request("PUT", "/_cluster/settings", {"persistent": {blocks: True}})
    try:
        fails_and_leaves_the_old_one(server, TEXTS, ServerRefusedError, "lift the block")
    finally:
        server.request("PUT", "/_cluster/settings", {"persistent": {blocks: None}})


def test_an_index_that_becomes_read_only(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def blocking(items: Iterable[Any], description: str, total: int | None = None) -> Iterable[Any]:
        for name in indexes(server):
            settings = {"index.blocks.read_only_allow_delete": True}
            server.request("PUT", f"/{name}/_settings", settings)
        return items

    with pytest.raises(ServerRefusedError, match=r"'Gen\.1\.1' .*and 4 others.*free disk space"):
        build_es_index(server, "little", TEXTS, SETTINGS, progress=blocking)
    assert indexes(server) == set()


def test_what_killed_processes_left_behind(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    half = "allusion-little-20260101000000-00000000"
    other = "allusion-little-2-20260101000000-00000000"
    for name in (half, f"{half}-terms", other):
        server.request("PUT", f"/{name}")
    build_es_index(server, "little", TEXTS, SETTINGS)
    assert half in indexes(server)  # another process may be building it right now
    monkeypatch.setattr(alias_swap, "STALE_SECONDS", -1)
    build_es_index(server, "little", TEXTS, SETTINGS)
    assert indexes(server) & {half, f"{half}-terms", other} == {other}
    assert words(server, "gustate") == ("Ps.33.9",)


@pytest.mark.parametrize("now", [0.0, 4e9])
def test_a_clock_that_is_wrong(
    server: Server, index: ElasticsearchIndex, monkeypatch: pytest.MonkeyPatch, now: float
) -> None:
    half = "allusion-little-20260101000000-00000000"
    server.request("PUT", f"/{half}")
    wrong = time.gmtime(now)
    monkeypatch.setattr(time, "time", lambda: now)
    monkeypatch.setattr(time, "gmtime", lambda *_: wrong)
    build_es_index(server, "little", TEXTS[:3], SETTINGS)
    assert len(open_index(server, "little")) == 3
    assert half in indexes(server)  # it is young, whatever this machine's clock says
    build_es_index(server, "little", TEXTS, SETTINGS)
    assert len(open_index(server, "little")) == len(TEXTS)


def test_an_index_is_whole_where_its_segments_cannot_be_joined(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    request = Server.request

    def refusing(self: Server, method: str, path: str, *body: Any) -> dict[str, Any]:  # noqa: ANN401
        if "_forcemerge" in path:
            asked.append(path)
            raise ServerUnavailableError("no answer in time")
        return request(self, method, path, *body)

    monkeypatch.setattr(Server, "request", refusing)
    build_es_index(server, "little", TEXTS, SETTINGS)
    assert len(asked) == 1
    assert len(open_index(server, "little")) == len(TEXTS)
    assert words(server, "gustate") == ("Ps.33.9",)


@pytest.mark.parametrize(
    ("content", "text"),
    [({"format": 0}, "format 0 instead of 5"), ({"format": 1}, "damaged"), (None, "description")],
)
def test_an_index_of_another_format(
    server: Server, index: ElasticsearchIndex, content: object, text: str
) -> None:
    server.request("PUT", "/allusion-little/_mapping", {"_meta": {KEY: content}})
    with pytest.raises(IndexDamagedError, match=rf"{text}.*rebuild it"):
        open_index(server, "little")
    (summary,) = list_indexes(server)
    assert text in summary.problem
    build_es_index(server, "little", TEXTS, SETTINGS)
    assert words(server, "gustate") == ("Ps.33.9",)


def test_a_lost_shard_is_not_passed_over(
    index: ElasticsearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Server.send_lines

    def losing(self: Server, path: str, lines: Iterable[bytes]) -> dict[str, Any]:
        answer = send(self, path, lines)
        answer["responses"][0]["_shards"] = {"total": 3, "successful": 2, "failed": 1}
        return answer

    monkeypatch.setattr(Server, "send_lines", losing)
    with pytest.raises(AllusionError, match="only 2 of 3 shards"):
        index.search([SearchRequest("bm25", "token", 9, {"deus": 1})])


def test_memory_is_bounded(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_KEPT_PASSAGES", 2)
    monkeypatch.setattr(requests, "_KEPT_TERMS", 1)
    build_es_index(server, "little", TEXTS, SETTINGS)
    index = open_index(server, "little")
    ids = [analysed.passage.id for analysed in TEXTS]
    for _ in range(2):
        assert index.texts("token", ids).text(4) == ("deus", "deus", "deus", "erat")
        assert index.statistics("token", ["deus", "in", "et"]).df.tolist() == [2, 2, 1]


def test_a_closed_mapping(server: Server, index: ElasticsearchIndex) -> None:
    with pytest.raises(AllusionError, match="strict_dynamic_mapping_exception"):
        server.request("PUT", "/allusion-little/_doc/1", {"unforeseen": 1})
