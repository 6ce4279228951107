"""The lists that name each folder stay in step, and the house rules hold."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = sorted(path.parent.name for path in ROOT.glob("*/py.typed"))
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.py"))


def test_every_folder_is_in_every_list() -> None:
    setuptools = CONFIG["tool"]["setuptools"]
    names = [f"allusion_es.{folder}" for folder in FOLDERS]
    assert sorted(setuptools["packages"]) == names
    assert setuptools["package-dir"] == {f"allusion_es.{f}": f for f in FOLDERS}
    assert sorted(CONFIG["tool"]["coverage"]["run"]["source"]) == FOLDERS
    assert sorted(CONFIG["tool"]["importlinter"]["root_packages"]) == names
    banned = CONFIG["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]
    assert sorted(banned) == FOLDERS
    links = sorted((ROOT / ".typing" / "allusion_es").iterdir())
    assert [link.name for link in links] == FOLDERS
    assert all(link.resolve() == ROOT / link.name for link in links)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_modules_and_functions_stay_short(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 280
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]
            assert lines <= 40, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_only_the_command_line_prints(path: Path) -> None:
    names = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert path.parent.name == "cli" or not names & {"print", "exit", "input"}


def test_no_module_unpickles_or_evaluates() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & {"pickle", "marshal", "shelve"}
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec"}
