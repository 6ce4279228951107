"""Every example in a docstring is run, under the name that users import."""

import doctest
import importlib
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
MODULES = sorted(
    f"{package}.{path.stem}"
    for package in PACKAGES
    for path in (ROOT / package.removeprefix("allusion_es.")).glob("*.py")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    extra = {}
    if name.startswith(("allusion_es.retrieval", "allusion_es.rerankers")):
        import numpy

        extra["np"] = numpy
    assert doctest.testmod(module, extraglobs=extra).failed == 0
