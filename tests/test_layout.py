"""The lists that name each folder stay in step, and the house rules hold."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from allusion_es.core.code import code_hash

ROOT = Path(__file__).parents[1]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = sorted(path.parent.name for path in ROOT.glob("*/py.typed"))
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def _package(folder: Path) -> str:
    parts = folder.relative_to(ROOT).parts
    return ".".join(parts if parts[0] == "allusion_es" else ("allusion_es", *parts))


def test_every_folder_is_in_every_list() -> None:
    setuptools = CONFIG["tool"]["setuptools"]
    packages = sorted({_package(path.parent) for path in SOURCES})
    assert sorted(setuptools["packages"]) == packages
    assert setuptools["package-dir"] == {_package(ROOT / f): f for f in FOLDERS}
    assert sorted(CONFIG["tool"]["coverage"]["run"]["source"]) == FOLDERS
    banned = CONFIG["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]
    inner = [folder for folder in FOLDERS if folder != "allusion_es"]
    assert sorted(banned) == inner
    links = {link.name: link for link in (ROOT / ".typing" / "allusion_es").iterdir()}
    front = links.pop("__init__.py", None)
    assert front is None or front.resolve() == ROOT / "allusion_es" / "__init__.py"
    assert sorted(links) == inner
    assert all(link.resolve() == ROOT / link.name for link in links.values())


def test_a_checkout_is_found_before_the_installed_package() -> None:
    """Python started in a checkout imports its `allusion_es`, whose other folders lie beside it."""
    code = (
        "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'Editable' not in str(f)]\n"
        "import allusion_es, allusion_es.evaluation.gold.link as link\n"
        "print(allusion_es.parse_reference('Ps 22,1'), link.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["Ps.22.1", str(ROOT / "evaluation" / "gold" / "link.py")]


def test_every_folder_of_modules_is_a_package() -> None:
    assert all((path.parent / "__init__.py").is_file() for path in SOURCES)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_only_the_command_line_prints(path: Path) -> None:
    names = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert path.relative_to(ROOT).parts[0] == "cli" or not names & {"print", "exit", "input"}


def test_no_module_unpickles_or_evaluates() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & {"pickle", "marshal", "shelve"}
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec"}


WALKS = (ROOT / "docs" / "architecture.md").read_text().partition("## Five walks")[2]
STEPS = sorted(
    {
        name
        for name in re.findall(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`", WALKS.partition("## Data flow")[0])
        if name.partition(".")[0] in FOLDERS
    }
)


def test_the_walks_name_enough_to_be_followed() -> None:
    assert len(STEPS) > 50


@pytest.mark.parametrize("name", STEPS)
def test_every_step_of_a_walk_exists(name: str) -> None:
    parts = name.split(".")
    length = next(n for n in range(len(parts), 0, -1) if _is_module(".".join(parts[:n])))
    found: object = importlib.import_module(f"allusion_es.{'.'.join(parts[:length])}")
    for part in parts[length:]:
        found = getattr(found, part)
    assert callable(found)


def _is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_changed_code_in_a_nested_package_changes_the_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = tmp_path / "allusion_es_sample"
    inner = outer / "inner"
    inner.mkdir(parents=True)
    (outer / "__init__.py").write_text("")
    (inner / "__init__.py").write_text("")
    (inner / "weights.tsv").write_text("1")
    monkeypatch.syspath_prepend(tmp_path)
    sample = importlib.import_module("allusion_es_sample")
    monkeypatch.setitem(sys.modules, "allusion_es.sample", sample)

    def hashed() -> str:
        code_hash.cache_clear()
        return code_hash("sample")

    first = hashed()
    assert hashed() == first
    (inner / "weights.tsv").write_text("2")
    second = hashed()
    (inner / "more.py").write_text("")
    third = hashed()
    (inner / "more.py").rename(inner / "other.py")
    assert len({first, second, third, hashed()}) == 4
    code_hash.cache_clear()


def test_what_newcomers_are_told_of_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    quoted = re.findall(r"`([^`\s]+)`", text)
    paths = [each for each in quoted if re.fullmatch(r"[\w.-]+(/[\w.-]*)+|[\w-]+\.(md|toml)", each)]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []
    tasks = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", text)) == tasks - {"help"}
    markers = {
        line.partition(":")[0] for line in CONFIG["tool"]["pytest"]["ini_options"]["markers"]
    }
    assert {
        line[3:].partition("`")[0] for line in text.splitlines() if line[:3] == "| `"
    } >= markers


def test_the_version_to_cite_is_that_of_the_package() -> None:
    cited = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited == [CONFIG["project"]["version"]]
