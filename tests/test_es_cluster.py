"""A cluster of three nodes, one of which dies: the whole answer, an error, or what is asked for."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from elasticsearch_server import Cluster, Node, running_cluster
from processes import Run

from allusion_es.core.errors import (
    AllusionError,
    IndexDamagedError,
    ServerRefusedError,
    ServerUnavailableError,
)
from allusion_es.corpora.passage import Passage
from allusion_es.es import bulk
from allusion_es.es.build import build_es_index
from allusion_es.es.connection import Server
from allusion_es.es.index import open_index
from allusion_es.es.partial import Partial
from allusion_es.language.latin.analysis import Analyser, Analysis
from allusion_es.retrieval.analysed import AnalysedPassage
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.types import Ranking, SearchRequest

SETTINGS = IndexSettings(Analyser().settings)
REQUEST = SearchRequest("bm25", "token", 500, {"deus": 1, "uerbum": 1})
GONE = (ServerRefusedError, ServerUnavailableError)


def passages(count: int = 500) -> list[AnalysedPassage]:
    words = [("deus", f"w{number}", *["uerbum"] * (number % 7)) for number in range(count)]
    return [
        AnalysedPassage(Passage(f"p{number}", ""), Analysis(some, some, ((0, 0),) * len(some)))
        for number, some in enumerate(words)
    ]


@pytest.fixture(scope="module")
def cluster(servers_run: None) -> Iterator[Cluster]:
    with running_cluster(8, 3) as cluster:
        yield cluster


@pytest.fixture
def server(cluster: Cluster) -> Iterator[Server]:
    with Server.connect(",".join(cluster.urls)) as server:
        yield server


def wait_for(server: Server, nodes: int, status: str = "") -> None:
    """Until the cluster has noticed that a node is gone or back."""
    give_up = time.monotonic() + 120
    while time.monotonic() < give_up:
        health = server.request("GET", "/_cluster/health")
        if health["number_of_nodes"] == nodes and status in ("", health["status"]):
            return
        time.sleep(0.2)
    pytest.fail("the cluster did not notice that a node died, or came back")


def bring_back(cluster: Cluster, server: Server, node: Node) -> None:
    node.restart([each.transport for each in cluster.nodes if each is not node])
    wait_for(server, 3, "green")


def searched(ranking: Ranking) -> tuple[tuple[str, ...], list[float]]:
    return ranking.ids, ranking.scores.tolist()


def test_a_node_dies_while_an_index_is_built(
    cluster: Cluster, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BATCH_DOCUMENTS", 100)
    build_es_index(server, "built", passages(9), SETTINGS, shards=3, replicas=1)
    wait_for(server, 3, "green")
    node = cluster.nodes[0]

    def killing(items: Iterable[Any], description: str, total: int | None = None) -> Iterable[Any]:
        for number, item in enumerate(items):
            if number == 1200:
                assert len(open_index(server, "built")) == 9
                node.kill()
            yield item

    build_es_index(
        server, "built", passages(3000), SETTINGS, shards=3, replicas=1, progress=killing
    )
    assert node.process.poll() is not None
    index = open_index(server, "built")
    assert index.ids() == tuple(sorted(f"p{number}" for number in range(3000)))
    statistics = index.statistics("token", ["deus", "w7", "w2999"])
    assert statistics.df.tolist() == [3000, 1, 1]
    bring_back(cluster, server, node)


def test_a_node_dies_while_it_is_asked(cluster: Cluster, server: Server) -> None:
    build_es_index(server, "asked", passages(), SETTINGS, shards=3, replicas=1)
    wait_for(server, 3, "green")
    before = searched(open_index(server, "asked").search([REQUEST])[0])
    assert len(before[0]) == 500
    stop, answers, failures = threading.Event(), [0] * 3, list[BaseException]()

    def ask(number: int) -> None:
        try:
            with Server.connect(",".join(cluster.urls)) as own:
                while not stop.is_set():
                    index = open_index(own, "asked")
                    assert searched(index.search([REQUEST])[0]) == before
                    assert index.passages(["p7", "p8"])[1].id == "p8"
                    assert index.statistics("token", [f"w{number}"]).df.tolist() == [1]
                    answers[number] += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: min(answers) >= 3 or bool(failures))
    cluster.nodes[1].kill()
    wait_for(server, 2)
    after = [count + 3 for count in answers]
    until(lambda: all(a >= b for a, b in zip(answers, after, strict=True)) or bool(failures))
    stop.set()
    for thread in threads:
        thread.join()
    bring_back(cluster, server, cluster.nodes[1])
    assert failures == []


def until(done: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 120
    while not done():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_shards_that_are_missing(cluster: Cluster, server: Server, run: Run) -> None:
    build_es_index(server, "single", passages(), SETTINGS, shards=3)
    build_es_index(server, "copied", passages(), SETTINGS, shards=3, replicas=1)
    wait_for(server, 3, "green")
    single, copied = open_index(server, "single"), open_index(server, "copied")
    before = [searched(index.search([REQUEST])[0]) for index in (single, copied)]
    assert before[0] == before[1]

    # Term statistics have one shard, which is to live.
    shards = server.request("GET", "/_cluster/state/routing_table,nodes")
    node = _without(cluster, shards, f"{single.fingerprint}-terms")
    node.kill()
    wait_for(server, 2)
    assert searched(copied.search([REQUEST])[0]) == before[1]
    assert copied.passages(["p7"])[0].id == "p7"
    with pytest.raises(GONE, match="shard"):
        single.search([REQUEST])
    with pytest.raises(GONE, match="shard"):
        open_index(server, "single")
    with pytest.raises(GONE, match="shard"):
        single.passages([f"p{number}" for number in range(500)])
    with pytest.raises(GONE, match="shard"):
        single.ids()

    partial = Partial()
    rest = open_index(server, "single", partial=partial)
    assert partial.worst is None
    (ranking,) = rest.search([REQUEST])
    assert 0 < len(ranking) < 500
    assert set(ranking.ids) < set(before[0][0])
    assert partial.worst is not None
    assert (partial.worst.searched, partial.worst.shards) == (2, 3)
    with pytest.raises(GONE, match="shard"):
        rest.passages([f"p{number}" for number in range(500)])
    _asked_by_command(",".join(cluster.urls), run)

    build_es_index(server, "copied", passages(9), SETTINGS, shards=3, replicas=1)
    assert len(open_index(server, "copied")) == 9


def _without(cluster: Cluster, state: dict[str, Any], index: str) -> Node:
    """A node that no shard of an index is on."""
    (shard,) = state["routing_table"]["indices"][index]["shards"]["0"]
    name = state["nodes"][shard["node"]]["transport_address"]
    return next(node for node in cluster.nodes if node.transport != name)


def _asked_by_command(urls: str, run: Run) -> None:
    plain = ("--rerank", "none", "--first-stage", "bm25", "--field", "token", "--format", "json")
    asked = ("query", "deus", "--es", urls, "--name", "single", *plain)
    strict = run(*asked)
    assert (strict.returncode, strict.stdout) == (ServerRefusedError.exit_code, "")
    assert "searched only 2 of 3 shards" in strict.stderr
    assert len(strict.stderr.splitlines()) == 1
    allowed = run(*asked, "--allow-partial")
    assert allowed.returncode == 0, allowed.stderr
    answer = json.loads(allowed.stdout)
    assert answer["hits"]
    assert (answer["partial"]["searched"], answer["partial"]["shards"]) == (2, 3)
    assert "partial: only 2 of 3 shards were searched" in allowed.stderr


def test_an_index_that_has_lost_passages(server: Server) -> None:
    build_es_index(server, "short", passages(9), SETTINGS)
    index = open_index(server, "short")
    server.request("DELETE", f"/{index.fingerprint}/_doc/p3?refresh=true")
    with pytest.raises(IndexDamagedError, match="8 passages instead of 9; rebuild it"):
        open_index(server, "short")


def test_two_processes_build_the_same_index(server: Server) -> None:
    texts = {"one": passages(300), "two": passages(200)}
    failures: list[AllusionError] = []
    for _ in range(3):  # the first time there is none to replace
        barrier = threading.Barrier(2)

        def build(name: str, barrier: threading.Barrier = barrier) -> None:
            def together(
                items: Iterable[Any], description: str, total: int | None = None
            ) -> Iterable[Any]:
                yield from items
                barrier.wait(60)

            try:
                with Server.connect(server.url) as own:
                    build_es_index(own, "both", texts[name], SETTINGS, progress=together)
            except AllusionError as error:
                failures.append(error)

        threads = [threading.Thread(target=build, args=(name,)) for name in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        index = open_index(server, "both")
        assert failures == []
        assert len(index) == len(index.ids())
        assert len(index) in (300, 200)
        left = {name for name in server.request("GET", "/allusion-both-*")}
        assert left == {index.fingerprint, f"{index.fingerprint}-terms"}
