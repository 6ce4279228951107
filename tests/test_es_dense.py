"""Encoder vectors on a real server: the same answers as in this process."""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import little_models
import numpy as np
import pytest

from allusion_es.core.errors import UsageError, VerseError
from allusion_es.corpora.passage import Passage
from allusion_es.es.build import build_es_index, give_learned
from allusion_es.es.catalogue import list_indexes
from allusion_es.es.connection import Server
from allusion_es.es.index import ElasticsearchIndex, open_index
from allusion_es.language.encoders.settings import EncoderChoice
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import BuildOptions, Library
from allusion_es.retrieval.generators import load_generator
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import Ranking, SearchFilter, SearchRequest

VERSES = 1_500
QUERIES = 100
TOP = 50


@pytest.fixture(scope="module")
def verses(vulgate_passages: Sequence[Passage]) -> list[Passage]:
    """Some verses of all books."""
    return list(vulgate_passages[:: len(vulgate_passages) // VERSES])


@pytest.fixture(scope="module")
def model(verses: Sequence[Passage], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with vectors, drawn by chance, for the most frequent words of the verses."""
    chance = np.random.default_rng(7)
    words = Counter(chain.from_iterable(verse.text.split() for verse in verses))
    vectors = {
        word: tuple(chance.normal(size=32).tolist())
        for word, _ in words.most_common(2_000)
        if word.isalpha()
    }
    folder = tmp_path_factory.mktemp("model") / "chance"
    return little_models.encoder(folder, vectors=vectors, most=128)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, data_folder: Path) -> Library:
    return Library(tmp_path_factory.mktemp("library"))


def options(model: Path, store: str) -> BuildOptions:
    return BuildOptions(vectors=False, encoder=EncoderChoice(str(model), store=store))


@pytest.fixture(scope="module", params=["int8", "float16"])
def here(
    request: pytest.FixtureRequest, library: Library, verses: Sequence[Passage], model: Path
) -> LocalIndex:
    library.build(request.param, verses, options(model, request.param))
    return library.open(request.param)


@pytest.fixture
def there(
    server: Server, here: LocalIndex, library: Library, verses: Sequence[Passage], model: Path
) -> ElasticsearchIndex:
    prepared = library.prepare(verses, options(model, here.name))
    assert build_es_index(server, "dense", *prepared, shards=2) == len(here)
    return open_index(server, "dense", models=library.citations, encoders=library.encoder)


def requests(here: LocalIndex, verses: Sequence[Passage]) -> list[SearchRequest]:
    """Halves of verses, some of them within a testament."""
    chance = random.Random(3)
    assert here.encoder is not None
    found = []
    for verse in chance.sample(list(verses), QUERIES):
        words = verse.text.split()
        vector = here.encoder.query(" ".join(words[: max(1, len(words) // 2)]))
        within = SearchFilter(testaments=frozenset(chance.choice(([], ["nt"]))))
        found.append(SearchRequest("dense", "token", TOP, vector=vector, search_filter=within))
    return found


def assert_same(here: Ranking, there: Ranking, *, exactly: bool) -> None:
    assert there.scores == pytest.approx(here.scores, abs=1e-7 if exactly else 2e-6)
    if exactly:
        assert there.ids == here.ids
    else:
        # Sums of numbers that are not whole may differ in the last digit, and so may near ties.
        for one, other, score in zip(here.ids, there.ids, here.scores, strict=True):
            assert one == other or np.count_nonzero(abs(here.scores - score) < 4e-6) > 1


def test_rankings_are_the_same(
    here: LocalIndex, there: ElasticsearchIndex, verses: Sequence[Passage]
) -> None:
    assert there.capabilities == here.capabilities
    assert there.settings == here.settings
    asked = requests(here, verses)
    found = 0
    for one, other in zip(here.search(asked), there.search(asked), strict=True):
        assert_same(one, other, exactly=here.name == "int8")
        found += len(one)
    assert found > QUERIES * TOP * 0.9
    (nothing,) = there.search([SearchRequest("dense", "token", 5, vector=np.zeros(32, np.float32))])
    assert len(nothing) == 0


def test_cosines_are_those_of_searches(
    here: LocalIndex, there: ElasticsearchIndex, verses: Sequence[Passage]
) -> None:
    (request, *_) = requests(here, verses)
    assert request.vector is not None
    ids = [verse.id for verse in verses[::7]]
    one, other = (
        here.encoder_cosines(request.vector, ids),
        there.encoder_cosines(request.vector, ids),
    )
    assert np.isfinite(one).sum() > len(ids) * 0.9
    assert other == pytest.approx(one, abs=2e-6, nan_ok=True)
    (searched,) = there.search([request])
    again = there.encoder_cosines(request.vector, searched.ids)
    assert again == pytest.approx(searched.scores, abs=2e-6)
    for index in (here, there):
        with pytest.raises(VerseError, match=r"Nemo\.1\.1"):
            index.encoder_cosines(request.vector, [*ids, "Nemo.1.1"])
        assert np.isnan(index.encoder_cosines(np.zeros(32, np.float32), ids)).all()


def test_answers_are_the_same(
    here: LocalIndex, there: ElasticsearchIndex, verses: Sequence[Passage], server: Server
) -> None:
    choice = QueryOptions(generators=("fused",), reranker="encoder-cosine", candidates=100, top=5)
    for verse in verses[:: VERSES // 20]:
        one, other = (Retriever(index, choice).answer(verse.text) for index in (here, there))
        assert [hit.score for hit in other.hits] == pytest.approx(
            [hit.score for hit in one.hits], abs=2e-6
        )
        if here.name == "int8":
            assert [hit.id for hit in other.hits] == [hit.id for hit in one.hits]
    (summary,) = list_indexes(server)
    assert here.settings.encoder is not None
    assert summary.encoder == here.settings.encoder.name


def test_other_citations_leave_the_encoder_as_it_is(
    here: LocalIndex, there: ElasticsearchIndex, verses: Sequence[Passage], server: Server,
    library: Library,
) -> None:  # fmt: skip
    give_learned(server, there, None, folder=library.folder)
    after = open_index(server, "dense", models=library.citations, encoders=library.encoder)
    assert after.citations is None
    assert after.settings.encoder == here.settings.encoder
    asked = requests(here, verses)[:10]
    for one, other in zip(here.search(asked), after.search(asked), strict=True):
        assert_same(one, other, exactly=here.name == "int8")


# Measured: `hnsw` loses no neighbour, nor does either of vectors that are bytes already. Of
# half-precision numbers, which the server rounds to a byte each, Elasticsearch 8 loses a twelfth, 9
# a hundredth; as these are drawn by chance, many lie at nearly the same distance.
@pytest.mark.parametrize(("knn", "least"), [("hnsw", 0.97), ("int8_hnsw", 0.88)])
def test_approximate_search_finds_nearly_the_same(
    knn: str, least: float, server: Server, library: Library, verses: Sequence[Passage],
    model: Path, here: LocalIndex,
) -> None:  # fmt: skip
    prepared = library.prepare(verses, options(model, here.name))
    build_es_index(server, "fast", *prepared, knn=knn)  # type: ignore[arg-type]
    fast = open_index(server, "fast", models=library.citations, encoders=library.encoder)
    asked = requests(here, verses)
    shared = [
        len(set(one.ids) & set(other.ids)) / len(one)
        for one, other in zip(here.search(asked), fast.search(asked), strict=True)
        if len(one)
    ]
    assert len(shared) > QUERIES * 0.9
    assert np.mean(shared) > (0.97 if here.name == "int8" else least)


def test_an_index_without_an_encoder(
    server: Server, library: Library, verses: Sequence[Passage]
) -> None:
    build_es_index(server, "plain", *library.prepare(verses[:9], BuildOptions(vectors=False)))
    plain = open_index(server, "plain", models=library.citations, encoders=library.encoder)
    assert plain.encoder is None
    assert "dense" not in plain.capabilities
    with pytest.raises(UsageError, match="has no encoder vectors"):
        plain.encoder_cosines(np.zeros(2, np.float32), ["Gen.1.1"])
    with pytest.raises(UsageError, match="has no encoder vectors"):
        load_generator("dense").rank([], plain, "token", 5, SearchFilter()) or plain.search(
            [SearchRequest("dense", "token", 5, vector=np.ones(2, np.float32))]
        )
