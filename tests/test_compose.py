"""What must hold in `docker-compose.yml`, read as text: no engine and no YAML reader is needed."""

import re
from pathlib import Path

import pytest
from elasticsearch_server import VERSIONS

TEXT = (Path(__file__).parents[1] / "docker-compose.yml").read_text(encoding="utf-8")
SERVICES = dict(
    re.findall(r"^  (elasticsearch|kibana):\n((?:(?:    .*)?\n)+)", TEXT, flags=re.MULTILINE)
)


def test_both_services_have_the_version_that_is_tested() -> None:
    assert re.findall(r"image: (\w+):(\S+)", TEXT) == [
        ("elasticsearch", VERSIONS[9]),
        ("kibana", VERSIONS[9]),
    ]


@pytest.mark.parametrize("name", ["elasticsearch", "kibana"])
def test_each_service_is_bounded_and_watched(name: str) -> None:
    service = SERVICES[name]
    assert "healthcheck:" in service
    assert re.search(r"mem_limit: \d+[gm]\n", service)


def test_nothing_listens_beyond_this_machine() -> None:
    ports = re.findall(r'^      - "([^"]*:\d+)"$', TEXT, flags=re.MULTILINE)
    assert ports == ["127.0.0.1:9200:9200", "127.0.0.1:5601:5601"]
    assert TEXT.count("ports:") == 2


def test_kibana_waits_for_elasticsearch() -> None:
    assert re.search(
        r"depends_on:\s+elasticsearch:\s+condition: service_healthy", SERVICES["kibana"]
    )


def test_the_heap_leaves_half_of_the_memory() -> None:
    assert "-Xms1g -Xmx1g" in SERVICES["elasticsearch"]
    assert "mem_limit: 2g" in SERVICES["elasticsearch"]


def test_data_outlive_the_container() -> None:
    assert "elasticsearch-data:/usr/share/elasticsearch/data" in SERVICES["elasticsearch"]
    assert re.search(r"^volumes:\n  elasticsearch-data:$", TEXT, flags=re.MULTILINE)


def test_no_tab_and_even_indentation() -> None:
    assert "\t" not in TEXT
    for line in TEXT.splitlines():
        assert (len(line) - len(line.lstrip(" "))) % 2 == 0, line
