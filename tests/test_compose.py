"""What must hold in `docker-compose.yml`, also as the real Docker Compose reads it.

No engine runs here: the containers themselves were not started.
"""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from elasticsearch_server import VERSIONS
from kibana_stand_in import StandIn, running
from processes import Run

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docker-compose.yml"
TEXT = FILE.read_text(encoding="utf-8")
_NAMES = "elasticsearch|kibana-password|kibana"
SERVICES = dict(re.findall(rf"^  ({_NAMES}):\n((?:(?:    .*)?\n)+)", TEXT, flags=re.MULTILINE))
_VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)([^}]*)\}")


def test_all_services_have_the_version_that_is_tested() -> None:
    registry = "docker.elastic.co"
    assert re.findall(r"image: (\S+):(\S+)", TEXT) == [
        (f"{registry}/elasticsearch/elasticsearch", VERSIONS[9]),
        (f"{registry}/elasticsearch/elasticsearch", VERSIONS[9]),
        (f"{registry}/kibana/kibana", VERSIONS[9]),
    ]


@pytest.mark.parametrize("name", ["elasticsearch", "kibana"])
def test_each_server_is_watched(name: str) -> None:
    assert "healthcheck:" in SERVICES[name]


@pytest.mark.parametrize("name", _NAMES.split("|"))
def test_each_service_is_bounded(name: str) -> None:
    assert re.search(r"mem_limit: \d+[gm]\n", SERVICES[name])


def test_nothing_listens_beyond_this_machine() -> None:
    ports = re.findall(r'^      - "([^"]*:\d+)"$', TEXT, flags=re.MULTILINE)
    assert ports == ["127.0.0.1:9200:9200", "127.0.0.1:5601:5601"]
    assert TEXT.count("ports:") == 2


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


def test_the_file_of_passwords_is_kept_out_of_git() -> None:
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()


@pytest.fixture
def environment_file(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / ".env"
    done = run("compose-env", "--out", str(path))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return path


def variables(path: Path) -> dict[str, str]:
    pairs = (line.partition("=") for line in path.read_text().splitlines() if line[0] != "#")
    return {name: value for name, _, value in pairs}


def test_every_variable_is_made_by_the_command(environment_file: Path) -> None:
    used = _VARIABLE.findall(TEXT)
    assert {name for name, _ in used} == {
        *("ELASTIC_PASSWORD", "KIBANA_PASSWORD", "KIBANA_ENCRYPTION_KEY")
    }
    made = variables(environment_file)
    for name, otherwise in used:
        assert made[name]
        assert otherwise.startswith(":?")  # without it, no empty password
        assert "allusion-es compose-env" in otherwise


def test_passwords_are_new_and_for_the_owner_only(run: Run, tmp_path: Path) -> None:
    made = []
    for name in ("one.env", "other.env"):
        path = tmp_path / name
        run("compose-env", "--out", str(path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        made.append(variables(path))
    for name in ("ELASTIC_PASSWORD", "KIBANA_PASSWORD", "KIBANA_ENCRYPTION_KEY"):
        assert made[0][name] != made[1][name]
        assert re.fullmatch(r"[0-9a-f]{32,}", made[0][name])
    assert made[0]["KIBANA_PASSWORD"] != made[0]["ELASTIC_PASSWORD"]
    assert made[0]["ALLUSION_ES_PASSWORD"] == made[0]["ELASTIC_PASSWORD"]


def test_passwords_are_replaced_only_by_force(run: Run, environment_file: Path) -> None:
    before = environment_file.read_text()
    done = run("compose-env", "--out", str(environment_file))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "--force" in done.stderr
    assert environment_file.read_text() == before
    done = run("compose-env", "--out", str(environment_file), "--force")
    assert done.returncode == 0
    assert "down --volumes" in done.stderr
    assert environment_file.read_text() != before
    assert stat.S_IMODE(environment_file.stat().st_mode) == 0o600
    for value in variables(environment_file).values():
        assert value.startswith("http") or value == "elastic" or value not in done.stderr
    dangling = environment_file.with_name("link.env")
    dangling.symlink_to("nowhere")
    assert run("compose-env", "--out", str(dangling)).returncode == 2
    assert run("compose-env", "--out", str(environment_file.parent), "--force").returncode == 12


def test_the_command_line_reads_them_from_the_environment(environment_file: Path) -> None:
    bash = shutil.which("bash")
    assert bash
    done = subprocess.run(
        [bash, "-c", "set -a; . ./.env; set +a; env"],
        cwd=environment_file.parent,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"]},
        check=True,
    )
    found = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert found["ALLUSION_ES_URL"] == "http://localhost:9200"
    assert found["ALLUSION_KIBANA_URL"] == "http://localhost:5601"
    assert found["ALLUSION_ES_USER"] == "elastic"
    assert found["ALLUSION_ES_PASSWORD"] == found["ELASTIC_PASSWORD"]


def config(tools: Path, environment: Path) -> "subprocess.CompletedProcess[str]":
    command = [str(tools / "bin" / "docker-compose"), "--file", str(FILE)]
    command += ["--env-file", str(environment), "config", "--format", "json"]
    clean = {"PATH": os.environ["PATH"], "HOME": str(environment.parent)}
    return subprocess.run(command, capture_output=True, text=True, env=clean, timeout=120)


@pytest.fixture
def services(compose_tools: Path, environment_file: Path) -> dict[str, Any]:
    """The services as the real Compose reads them."""
    done = config(compose_tools, environment_file)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)["services"]
    return found


def test_compose_reads_the_file(services: dict[str, Any], environment_file: Path) -> None:
    made = variables(environment_file)
    elasticsearch, kibana = services["elasticsearch"], services["kibana"]
    assert elasticsearch["environment"]["ELASTIC_PASSWORD"] == made["ELASTIC_PASSWORD"]
    assert elasticsearch["environment"]["xpack.security.enabled"] == "true"
    assert kibana["environment"]["ELASTICSEARCH_USERNAME"] == "kibana_system"
    assert kibana["environment"]["ELASTICSEARCH_PASSWORD"] == made["KIBANA_PASSWORD"]
    assert len(kibana["environment"]["XPACK_ENCRYPTEDSAVEDOBJECTS_ENCRYPTIONKEY"]) >= 32
    assert {name: int(service["mem_limit"]) for name, service in services.items()} == {
        "elasticsearch": 2 << 30,
        "kibana-password": 128 << 20,
        "kibana": 1536 << 20,
    }
    for service in services.values():
        assert all(port["host_ip"] == "127.0.0.1" for port in service.get("ports", []))


def test_services_wait_for_each_other(services: dict[str, Any]) -> None:
    """Compose waits for a service to end only if another one depends on its end."""
    waits = {
        name: {other: each["condition"] for other, each in service.get("depends_on", {}).items()}
        for name, service in services.items()
    }
    assert waits == {
        "elasticsearch": {},
        "kibana-password": {"elasticsearch": "service_healthy"},
        "kibana": {
            "elasticsearch": "service_healthy",
            "kibana-password": "service_completed_successfully",
        },
    }
    assert services["kibana-password"]["restart"] == "no"


def test_without_passwords_compose_says_what_to_do(compose_tools: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.env"
    empty.write_text("")
    done = config(compose_tools, empty)
    assert done.returncode == 1
    assert "run 'allusion-es compose-env' first" in done.stderr


def test_the_file_fits_the_schema_of_the_specification(
    compose_tools: Path, compose_schema: Path
) -> None:
    check = (
        "import json, sys, yaml, jsonschema\n"
        "schema = json.load(open(sys.argv[1]))\n"
        "kind = jsonschema.validators.validator_for(schema)\n"
        "kind.check_schema(schema)\n"
        "for text in sys.stdin.read().split('\\0'):\n"
        "    print([error.message for error in kind(schema).iter_errors(yaml.safe_load(text))])\n"
    )
    wrong = TEXT.replace("mem_limit: 2g", "memory_limit: 2g")
    done = subprocess.run(
        [sys.executable, "-c", check, str(compose_schema)],
        input=f"{TEXT}\0{wrong}",
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(compose_tools)},
    )
    assert done.returncode == 0, done.stderr
    good, bad = done.stdout.splitlines()
    assert good == "[]"
    assert "memory_limit" in bad


Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Runs a command of a container here, with other programs in place of some."""

    def run(
        command: str, programs: dict[str, str], **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        folder = tmp_path / "programs"
        folder.mkdir(exist_ok=True)
        for name, script in programs.items():
            path = folder / name
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
        return subprocess.run(
            ["bash", "-c", command.replace("$$", "$")],
            capture_output=True,
            text=True,
            env={"PATH": f"{folder}:{os.environ['PATH']}", **environment},
            timeout=60,
        )

    return run


PASSWORDS = {"ELASTIC_PASSWORD": "of-elastic", "KIBANA_PASSWORD": "of-kibana"}


def test_kibanas_password_is_set(services: dict[str, Any], shell: Shell, tmp_path: Path) -> None:
    (command,) = services["kibana-password"]["command"]
    log = tmp_path / "log"
    curl = f'printf "%s\\n" "$@" > {log}; echo "{{}}"'
    done = shell(command, {"curl": curl}, **PASSWORDS)
    assert (done.returncode, done.stderr) == (0, "")
    asked = log.read_text().splitlines()
    assert asked[-1] == "http://elasticsearch:9200/_security/user/kibana_system/_password"
    assert asked[asked.index("--user") + 1] == "elastic:of-elastic"
    assert json.loads(asked[asked.index("--data") + 1]) == {"password": "of-kibana"}


def test_a_password_that_is_not_taken_is_told(services: dict[str, Any], shell: Shell) -> None:
    (command,) = services["kibana-password"]["command"]
    programs = {"curl": 'echo \'{"error":"security_exception"}\'', "sleep": "exit 0"}
    done = shell(command, programs, **PASSWORDS)
    assert done.returncode == 1
    assert 'did not take Kibana\'s password: {"error":"security_exception"}' in done.stderr
    done = shell(command, {"curl": "exit 7", "sleep": "exit 0"}, **PASSWORDS)
    assert done.returncode == 1


def health(services: dict[str, Any], name: str) -> str:
    kind, command = services[name]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    return str(command)


def test_elasticsearch_is_healthy_once_it_answers(
    services: dict[str, Any], shell: Shell, elasticsearch_url_any: str
) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    command = health(services, "elasticsearch")
    here = command.replace("http://localhost:9200", elasticsearch_url_any)
    assert shell(here, {}, **PASSWORDS).returncode == 0
    nowhere = command.replace("http://localhost:9200", "http://127.0.0.1:1")
    assert shell(nowhere, {}, **PASSWORDS).returncode != 0


def test_kibana_is_healthy_once_it_is_available(services: dict[str, Any], shell: Shell) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    command = health(services, "kibana")
    body = b'{"status":{"overall":{"level":"%s","summary":"x"}}}'
    with running(StandIn()) as kibana:
        here = command.replace("http://localhost:5601", kibana.url)
        for level, healthy in ((b"available", True), (b"degraded", False)):
            kibana.replies["/api/status"] = (200, "application/json", body % level)
            assert (shell(here, {}).returncode == 0) is healthy
        kibana.replies["/api/status"] = (503, "text/plain", b"Kibana server is not ready yet")
        assert shell(here, {}).returncode != 0
