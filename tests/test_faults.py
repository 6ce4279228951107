"""Faults between the program and its server: the right answer, or one line, and nothing harmed."""

import sys
from pathlib import Path

import pytest
from es_fixtures import delete_all
from fault_proxy import FAULTS, fault_proxy

from allusion_es.es.connection import Server

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from fault_commands import Bench, Tried, attempts
from fault_kills import COMMANDS, Place, kills
from fault_machine import CASES, LOCAL_CASES, two_at_once

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.usefixtures("data_folder")]


def wrong(tried: list[Tried]) -> list[Tried]:
    return [each for each in tried if each.verdict not in ("right", "clear")]


def test_every_fault_once_and_every_command(elasticsearch_url_any: str, tmp_path: Path) -> None:
    with Server.connect(elasticsearch_url_any) as server:
        delete_all(server)
    with fault_proxy(elasticsearch_url_any) as proxy:
        bench = Bench(elasticsearch_url_any, proxy, tmp_path)
        try:
            tried = list(attempts(bench, 0.0, 7))
        finally:
            bench.close()
    assert wrong(tried) == []
    assert {each.fault for each in tried} == set(FAULTS)
    assert {each.command for each in tried} == set(bench.commands)
    # Both come about: what is broken once is done all the same, what always is cannot be.
    assert {each.verdict for each in tried} == {"right", "clear"}
    assert max(each.seconds for each in tried) < 60


@pytest.mark.parametrize("place", ["here", "there"])
def test_commands_that_are_killed(place: str, elasticsearch_url_any: str, tmp_path: Path) -> None:
    url = "" if place == "here" else elasticsearch_url_any
    tried = list(kills(tmp_path, url, points=1 if url else 2, verses=300, seed=3))
    assert wrong(tried) == []
    assert {each.command for each in tried} == set(COMMANDS)
    assert any(each.fault == "kill -9" for each in tried)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("faults-here"), "", 300)
    place.run(*place.index("a"))
    return place


@pytest.mark.parametrize(
    "name",
    [
        "SIGTERM",
        "stdout is full",
        "few open files (24)",
        "disk full: index",
        "disk full: scan",
        "read-only data folder",
    ],
)
def test_faults_of_the_machine(here: Place, name: str) -> None:
    verdict = {**CASES, **LOCAL_CASES}[name](here)
    if verdict.startswith("skipped"):
        pytest.skip(verdict)
    assert verdict in ("right", "clear")


def test_two_processes_build_the_same_index(elasticsearch_url_any: str, tmp_path: Path) -> None:
    place = Place(tmp_path, elasticsearch_url_any, 300)
    place.run(*place.index("a"))
    assert two_at_once(place) == "right"
