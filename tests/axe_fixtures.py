"""axe-core, which looks for faults that shut out users of screen readers, keyboards and the like.

It is fetched from npm once into the user's cache, and used only if it is the pinned archive.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest
from browser_fixtures import REQUIRED, Browser
from platformdirs import user_cache_path

_VERSION = "4.14.1"
_SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
_RUN = "const done = arguments[0]; axe.run(document).then(done, (error) => done(String(error)));"


@pytest.fixture(scope="session")
def axe() -> str:
    """The script."""
    path = user_cache_path("allusion-es-tests") / f"axe-core-{_VERSION}.tgz"
    if not path.exists():
        _fetch(path)
    found = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    assert found == _SHA512, f"{path} is not axe-core {_VERSION}; delete it"
    with tarfile.open(path) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


def _fetch(path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        _missing("npm is not installed, which fetches axe-core")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(npm), "pack", f"axe-core@{_VERSION}", "--pack-destination", folder],
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=120,
        )
        if done.returncode:
            _missing(f"npm could not fetch axe-core: {done.stderr[-300:]}")
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_suffix(f".{os.getpid()}.part")
        shutil.copy(next(Path(folder).glob("*.tgz")), made)
        made.replace(path)


def _missing(why: str) -> None:
    if REQUIRED:
        pytest.fail(f"ALLUSION_REQUIRE_BROWSER=1, but {why}")
    pytest.skip(why)


def violations(browser: Browser, axe: str) -> list[str]:
    """The serious and critical faults of the page that the browser shows, a line each."""
    # Through the debugger, since the page's policy lets in no script but its own.
    browser.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
    browser.driver.set_script_timeout(60)
    result: dict[str, Any] = browser.driver.execute_async_script(_RUN)
    assert isinstance(result, dict), result
    assert len(result["passes"]) > 10
    return [
        f"{fault['id']}: {node['html'][:200]}"
        for fault in result["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
