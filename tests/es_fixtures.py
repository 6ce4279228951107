"""A real Elasticsearch of each major for the tests."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from elasticsearch_server import VERSIONS, CannotRunError, Cluster, installed, running_cluster

from allusion_es.es.catalogue import delete_concrete, find_current, terms_of
from allusion_es.es.connection import Server

REQUIRED = os.environ.get("ALLUSION_REQUIRE_ES") == "1"
"""Whether a test that needs a server fails, instead of being skipped, where none can run."""

StartServer = Callable[[int], str]


def _missing(why: CannotRunError) -> None:
    if REQUIRED:
        pytest.fail(f"ALLUSION_REQUIRE_ES=1, but {why}")
    pytest.skip(str(why))


@pytest.fixture(scope="session")
def servers_run() -> None:
    """Skips tests that start servers themselves, unless this machine can run one."""
    try:
        installed(min(VERSIONS))
    except CannotRunError as reason:
        _missing(reason)


@pytest.fixture(scope="session")
def start_server(request: pytest.FixtureRequest) -> Iterator[StartServer]:
    """Gives the URL of a server of a major, which is started once and kept for all tests."""
    clusters: dict[int, Cluster] = {}
    with ExitStack() as stack:

        def start(major: int) -> str:
            if major not in clusters:
                try:
                    clusters[major] = stack.enter_context(running_cluster(major, 1))
                except CannotRunError as reason:
                    _missing(reason)
            return clusters[major].urls[0]

        yield start
        if request.session.testsfailed:
            for cluster in clusters.values():
                cluster.keep_logs = True
            reporter = request.config.pluginmanager.get_plugin("terminalreporter")
            if reporter:
                logs = [str(node.log) for cluster in clusters.values() for node in cluster.nodes]
                reporter.write_line(f"\nElasticsearch logs: {', '.join(logs)}")


@pytest.fixture(scope="session", params=sorted(VERSIONS), ids="es{}".format)
def elasticsearch_url(request: pytest.FixtureRequest, start_server: StartServer) -> str:
    """The URL of a server, once for each major."""
    return start_server(request.param)


@pytest.fixture(scope="session")
def elasticsearch_url_any(start_server: StartServer) -> str:
    """The URL of a server of one major, for tests that take long."""
    return start_server(min(VERSIONS))


@pytest.fixture
def server(elasticsearch_url: str) -> Iterator[Server]:
    """A connection to a server of each major, which starts out empty."""
    with Server.connect(elasticsearch_url) as server:
        delete_all(server)
        yield server


def delete_all(server: Server) -> None:
    """Delete every index."""
    for name in server.request("GET", "/_all/_settings"):
        server.request("DELETE", f"/{name}")


def delete_index(server: Server, name: str) -> None:
    """Delete the index `name` and its term statistics.

    Raises:
        IndexMissingError: There is none; the message lists those that there are.
    """
    concrete = find_current(server, name).concrete
    delete_concrete(server, [concrete, terms_of(concrete)])
