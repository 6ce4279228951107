"""Other citation vectors for an index on a server: whole, or not at all."""

import json
from collections.abc import Iterable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from learning_fixtures import NAMES, code_links, collection

from allusion_es.core.errors import SettingsMismatchError, UsageError
from allusion_es.corpora.passage import Passage
from allusion_es.es import build
from allusion_es.es.build import build_es_index, give_learned, passages_body
from allusion_es.es.catalogue import find_all, find_current
from allusion_es.es.connection import Server
from allusion_es.es.index import ElasticsearchIndex, open_index
from allusion_es.es.meta import CITATION_VECTOR
from allusion_es.language.citations.vectors import (
    CitationVectors,
    save_citation_vectors,
    to_bytes,
)
from allusion_es.language.latin.analysis import Analyser
from allusion_es.learning.train import CitationTraining, train
from allusion_es.local.memory import index_texts
from allusion_es.retrieval import expansion
from allusion_es.retrieval.analysed import analyse_passages
from allusion_es.retrieval.byte_vectors import ByteVectors
from allusion_es.retrieval.index import IndexSettings, is_bible
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import STEM, Query, SearchFilter, SearchRequest

TEXTS = {f"X.{number}": f"{name} est magnum et bonum" for number, name in enumerate(NAMES)}
ANALYSER = Analyser()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> CitationVectors:
    path = tmp_path_factory.mktemp("model") / "little.citations"
    table = train(code_links(60), collection(), None, CitationTraining(dimension=16, batch=32))
    save_citation_vectors(path, table, ANALYSER.settings, {})
    return CitationVectors(path)


def _build(server: Server) -> None:
    passages = [
        Passage(name, text, order=order, book="X" if order % 2 else "Y")
        for order, (name, text) in enumerate([*TEXTS.items(), ("X.empty", "…")])
    ]
    analysed = analyse_passages(passages, ANALYSER)
    build_es_index(server, "little", analysed, IndexSettings(ANALYSER.settings), shards=2)


def _open(server: Server, model: CitationVectors) -> ElasticsearchIndex:
    return open_index(server, "little", None, lambda _: model)


def test_given_found_and_taken_back(server: Server, model: CitationVectors) -> None:
    _build(server)
    plain = _open(server, model)
    assert plain.citations is None
    vector = model.query_vector([("rex", "rex")])
    request = SearchRequest("citations", "lemma", 20, vector=vector)
    with pytest.raises(UsageError, match="'little' has no citation vectors"):
        plain.search([request])
    words = plain.texts("lemma", list(TEXTS)).text(3)
    give_learned(server, plain, model)
    given = _open(server, model)
    assert given.settings == replace(plain.settings, citations=model.name)
    assert find_current(server, "little").setting("number_of_shards", 0) == 2
    assert given.texts("lemma", list(TEXTS)).text(3) == words
    here = index_texts(TEXTS, citations=model)
    (there,), (expected,) = given.search([request]), here.search([request])
    assert there.ids == expected.ids  # the empty passage has no vector
    assert there.scores == pytest.approx(expected.scores, abs=1e-6)
    some = replace(request, search_filter=SearchFilter(books=frozenset("X")))
    assert set(given.search([some])[0].ids) == {f"X.{n}" for n in range(1, len(NAMES), 2)}
    asked = Query("secretummare est", before="rex")
    one, other = (
        [
            (hit.id, round(hit.score, 6))
            for hit in Retriever(
                index,
                QueryOptions(generators=["citations"], reranker="citation-cosine", candidates=20),
            )
            .answer(asked)
            .hits
        ]
        for index in (given, here)
    )
    assert one == other
    give_learned(server, given, None)
    assert _open(server, model).citations is None


def test_vectors_of_several_lengths_are_compared_by_cosine(
    server: Server, model: CitationVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in indexes up to format 4."""

    _build(server)

    def older(*options: Any) -> dict[str, Any]:  # noqa: ANN401
        body = passages_body(*options)
        body["mappings"]["properties"][CITATION_VECTOR]["similarity"] = "cosine"
        return body

    monkeypatch.setattr(build, "passages_body", older)
    monkeypatch.setattr(build, "common_length", lambda _: 0)
    monkeypatch.setattr(expansion, "unit_bytes", lambda vectors: to_bytes(vectors)[0])
    give_learned(server, _open(server, model), model)
    vector = model.query_vector([("rex", "rex")])
    request = SearchRequest("citations", "lemma", 20, vector=vector)
    (found,) = _open(server, model).search([request])
    analysed = [ANALYSER.analyse(text) for text in TEXTS.values()]
    texts = [list(zip(each.tokens, each.lemmas, strict=True)) for each in analysed]
    rows = to_bytes(model.text_vectors(texts))[0]
    expected = dict(zip(TEXTS, ByteVectors(rows).cosines(vector[None])[0].tolist(), strict=True))
    assert found.ids == tuple(sorted(TEXTS, key=lambda name: (-expected[name], name)))
    assert found.scores.tolist() == pytest.approx([expected[name] for name in found.ids], abs=1e-6)


def test_interrupted_it_changes_nothing(server: Server, model: CitationVectors) -> None:
    _build(server)
    index = _open(server, model)

    def failing(items: Iterable[Any], description: str, total: int | None = None) -> Any:  # noqa: ANN401
        yield next(iter(items))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        give_learned(server, index, model, progress=failing)
    assert _open(server, model).fingerprint == index.fingerprint
    assert len(find_all(server, "little")) == 2


def test_vectors_of_another_analysis_are_refused(server: Server, model: CitationVectors) -> None:
    stop = Analyser(stop_words=True)
    passages = analyse_passages([Passage("X.1", "rex magnus")], stop)
    build_es_index(server, "little", passages, IndexSettings(stop.settings))
    with pytest.raises(SettingsMismatchError, match="were learned with stop_words False"):
        give_learned(server, _open(server, model), model)


def test_a_model_in_a_file_is_what_the_index_names(model: CitationVectors, tmp_path: Path) -> None:
    copy = tmp_path / "copy.citations"
    copy.write_bytes(model.path.read_bytes())
    assert CitationVectors(copy).name == model.name


def test_passages_of_no_book_are_not_the_bible_and_a_ranker_is_remembered(server: Server) -> None:
    analyser = Analyser()
    for books in (("", ""), ("", "Gen")):
        passages = [Passage(f"aen.{n}", "arma cano", book=book) for n, book in enumerate(books)]
        analysed = analyse_passages(passages, analyser)
        build_es_index(server, "little", analysed, IndexSettings(analyser.settings))
        index = open_index(server, "little", rankers=lambda name: Path(f"{name}.ranker"))
        assert index.books() == set(books) - {""}
        assert is_bible(index) == ("Gen" in books)
        assert index.ranker is None
        give_learned(server, index, None, "0f3a")
        given = open_index(server, "little", rankers=lambda name: Path(f"{name}.ranker"))
        assert given.ranker == Path("0f3a.ranker")
        assert given.fingerprint != index.fingerprint


def test_beginnings_are_found_where_a_cluster_forbids_expensive_queries(server: Server) -> None:
    analyser = Analyser()
    texts = {"a": "bellum", "b": "bellicus ensis", "c": "belua", "d": "nox"}
    passages = [Passage(name, text) for name, text in texts.items()]
    build_es_index(
        server, "little", analyse_passages(passages, analyser), IndexSettings(analyser.settings)
    )
    forbidden = "search.allow_expensive_queries"
    server.request("PUT", "/_cluster/settings", {"persistent": {forbidden: False}})
    try:
        index = open_index(server, "little")
        request = SearchRequest("stems", "lemma", 10, {"bell": 2.0, "nox": 1.0, "no": 5.0})
        (there,), (here,) = index.search([request]), index_texts(texts).search([request])
    finally:
        server.request("PUT", "/_cluster/settings", {"persistent": {forbidden: None}})
    assert (there.ids, there.scores.tolist()) == (here.ids, here.scores.tolist())
    assert dict(zip(here.ids, here.scores.tolist(), strict=True)) == {"a": 2.0, "b": 2.0, "d": 1.0}


def test_the_mapping_keeps_beginnings_as_long_as_they_are_asked_for() -> None:
    mapping = json.loads(files("allusion_es.mappings").joinpath("passages.json").read_text())
    kept = mapping["mappings"]["properties"]["lemma"]["index_prefixes"]
    assert kept == {"min_chars": STEM, "max_chars": STEM}
