"""A cluster of three nodes, of which one dies: the whole answer, or an error."""

import time

import pytest
from elasticsearch_server import CannotRunError, Cluster, running_cluster
from es_fixtures import REQUIRED

from allusion_es.core.errors import ServerRefusedError, ServerUnavailableError
from allusion_es.corpora.passage import Passage
from allusion_es.es.build import build_es_index
from allusion_es.es.connection import Server
from allusion_es.es.index import open_index
from allusion_es.language.analysis import Analysis, AnalysisSettings
from allusion_es.retrieval.analysed import AnalysedPassage
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.types import SearchRequest


def passages() -> list[AnalysedPassage]:
    words = [("deus", f"w{number}", *["uerbum"] * (number % 7)) for number in range(500)]
    return [
        AnalysedPassage(Passage(f"p{number}", ""), Analysis(some, some, ((0, 0),) * len(some)))
        for number, some in enumerate(words)
    ]


def test_a_node_dies() -> None:
    try:
        with running_cluster(8, 3) as cluster, Server.connect(",".join(cluster.urls)) as server:
            _kill_one(cluster, server)
    except CannotRunError as reason:
        if REQUIRED:
            raise
        pytest.skip(str(reason))


def _kill_one(cluster: Cluster, server: Server) -> None:
    settings = IndexSettings(AnalysisSettings())
    build_es_index(server, "single", passages(), settings, shards=3)
    build_es_index(server, "copied", passages(), settings, shards=3, replicas=1)
    server.request("GET", "/_cluster/health?wait_for_status=green&timeout=60s")
    single, copied = open_index(server, "single"), open_index(server, "copied")
    request = SearchRequest("bm25", "token", 500, {"deus": 1, "uerbum": 1})
    before = [index.search([request])[0] for index in (single, copied)]
    assert before[0].ids == before[1].ids
    assert before[0].scores.tolist() == before[1].scores.tolist()
    assert len(before[0]) == 500

    cluster.nodes[-1].kill()
    _wait_for_nodes(server, 2)
    assert copied.search([request])[0].ids == before[1].ids
    assert copied.passages(["p7"])[0].id == "p7"
    with pytest.raises((ServerRefusedError, ServerUnavailableError), match="shard"):
        single.search([request])
    build_es_index(server, "copied", passages()[:9], settings, shards=3, replicas=1)
    assert len(open_index(server, "copied")) == 9


def _wait_for_nodes(server: Server, count: int) -> None:
    """Until the cluster has noticed that a node is gone."""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        health = server.request("GET", "/_cluster/health")
        if health["number_of_nodes"] == count:
            return
        time.sleep(0.2)
    pytest.fail("the cluster did not notice that a node died")
