# The tasks of a working day; `make` lists them. They use the environment in .venv.
BIN := $(CURDIR)/.venv/bin
PYTEST := $(BIN)/python -m pytest -n 2

.PHONY: help test test-es test-all lint format docs site

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

test:  ## the quick tests: five minutes, neither Java nor a browser
	$(PYTEST) -m quick

test-es:  ## the tests on a real Elasticsearch; they fail where none can run
	ALLUSION_REQUIRE_ES=1 $(PYTEST) -m es

test-all:  ## every test, with the more examples of CI
	HYPOTHESIS_PROFILE=fixed $(PYTEST)

lint:  ## style, format, types, and which folder imports which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	cd .typing && $(BIN)/lint-imports ../pyproject.toml

format:  ## put right what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs:  ## run what README, docs and docstrings show
	$(PYTEST) tests/test_readme.py tests/test_doctests.py tests/test_plugins.py

site:  ## the documentation site, into build/site; dead links fail
	$(BIN)/mkdocs build --strict
