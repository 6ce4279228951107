"""A third party's reranker: the package of docs/write-a-reranker.md, built and installed."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from processes import Run

DOCUMENT = Path(__file__).parents[1] / "docs" / "write-a-reranker.md"

# Builds a wheel without setuptools, which a Python need not have, and without a network.
BACKEND = """
import pathlib, tomllib, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]
    stem = project["name"].replace("-", "_") + "-" + project["version"]
    info = f"{stem}.dist-info/"
    groups = project["entry-points"].items()
    files = {path.name: path.read_text() for path in pathlib.Path().glob("long_words.py")}
    files[info + "METADATA"] = (
        f"Metadata-Version: 2.1\\nName: {project['name']}\\nVersion: {project['version']}\\n"
    )
    files[info + "WHEEL"] = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    files[info + "entry_points.txt"] = "".join(
        f"[{group}]\\n" + "".join(f"{name} = {value}\\n" for name, value in entries.items())
        for group, entries in groups
    )
    files[info + "RECORD"] = "".join(f"{name},,\\n" for name in [*files, info + "RECORD"])
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    return name
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder that the package was installed into."""
    source = tmp_path_factory.mktemp("long-words")
    target = tmp_path_factory.mktemp("site")
    (source / "long_words.py").write_text(blocks("python")[0])
    project = blocks("toml")[0]
    tomllib.loads(project)
    project = project.replace('["setuptools>=77"]', "[]").replace(
        '"setuptools.build_meta"', '"backend"\nbackend-path = ["."]'
    )
    (source / "pyproject.toml").write_text(project)
    (source / "backend.py").write_text(BACKEND)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    pip += ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([*pip, str(source)], check=True, capture_output=True, timeout=120)
    return str(target)


def test_its_reranker_is_listed_and_ranks(run_process: Run, installed: str) -> None:
    path = os.pathsep.join(filter(None, [installed, os.environ.get("PYTHONPATH")]))
    listed = run_process("list", "rerankers", "--format", "tsv", PYTHONPATH=path)
    assert listed.returncode == 0, listed.stderr
    assert "long-words" in listed.stdout
    assert "allusion-long-words" in listed.stdout
    for name in ("long-words", "fuse:long-words+soft-cosine"):
        asked = ("query", "gustate et videte quoniam suavis est dominus", "--rerank", name)
        found = run_process(*asked, "--explain", PYTHONPATH=path)
        assert found.returncode == 0, found.stderr
        assert "Ps 33,9" in found.stdout


def test_without_the_package_there_is_no_such_reranker(run: Run) -> None:
    found = run("query", "gustate", "--rerank", "long-words")
    assert found.returncode == 11
    assert "no rerankers plug-in 'long-words'" in found.stderr


def test_the_document_is_one_page_and_its_examples_run() -> None:
    import doctest

    assert len(DOCUMENT.read_text().splitlines()) < 120
    assert doctest.testfile(str(DOCUMENT), module_relative=False).failed == 0
