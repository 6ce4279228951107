"""Every example in a docstring is run, under the name that users import."""

import doctest
import importlib
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]


def _folder(package: str) -> Path:
    inner = package.removeprefix("allusion_es.")
    return ROOT / inner.replace(".", "/")


MODULES = sorted(
    f"{package}.{path.stem}".removesuffix(".__init__")
    for package in PACKAGES
    for path in _folder(package).glob("*.py")
)


def test_no_module_is_left_out() -> None:
    found = {
        f"{package}.{path.stem}" for package in PACKAGES for path in _folder(package).glob("*.py")
    }
    folders = {path.parent.name for path in ROOT.glob("*/py.typed")}
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert len(found) == len(files)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    extra = {}
    if name.startswith(("allusion_es.retrieval", "allusion_es.rerankers")):
        import numpy

        extra["np"] = numpy
    assert doctest.testmod(module, extraglobs=extra).failed == 0
