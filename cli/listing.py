"""`allusion-es list`: list indexes and plug-ins."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allusion_es.cli.options import (
    ServerOptions,
    TableFormat,
    library,
    takes_server,
)
from allusion_es.core.errors import AllusionError

if TYPE_CHECKING:
    from allusion_es.core.plugins import Parameter


class What(StrEnum):
    """Kinds of things that can be listed."""

    indexes = "indexes"
    generators = "generators"
    lemmatisers = "lemmatisers"
    rerankers = "rerankers"


@takes_server
def list_(
    what: Annotated[
        What | None, typer.Argument(help="All of them by default.", show_default=False)
    ] = None,
    format: Annotated[TableFormat, typer.Option(help="How to print.")] = TableFormat.table,
    *,
    server: ServerOptions,
) -> None:
    """List indexes (in this process, and with --es on the server) and plug-ins."""
    from allusion_es.cli.output import print_rows

    rows: list[dict[str, Any]] = []
    if what in (None, What.indexes):
        rows += _local_indexes()
        if server.url is not None:
            rows += _server_indexes(server)
    for kind in (What.generators, What.lemmatisers, What.rerankers):
        if what in (None, kind):
            rows += _plugins(kind)
    print_rows(rows, format)


def _local_indexes() -> Iterator[dict[str, Any]]:
    indexes = library()
    for name in indexes.names():
        try:
            index = indexes.open(name)
            encoder = index.settings.encoder
            detail = _index_detail(len(index), encoder.name if encoder else "")
        except AllusionError as error:
            detail = str(error)
        yield {"kind": "index", "name": name, "where": "in process", "detail": detail}


def _server_indexes(server: ServerOptions) -> Iterator[dict[str, Any]]:
    from allusion_es.es.catalogue import list_indexes

    with server.connect() as connected:
        indexes, where = list_indexes(connected), connected.url
    for index in indexes:
        detail = index.problem or _index_detail(index.passages, index.encoder)
        yield {"kind": "index", "name": index.name, "where": where, "detail": detail}


def _index_detail(passages: int, encoder: str) -> str:
    return f"{passages} passages" + (f", encoder {encoder}" if encoder else "")


def _plugins(kind: What) -> Iterator[dict[str, Any]]:
    from allusion_es.core.plugins import plugins

    for name, entry in plugins(f"allusion_es.{kind}").items():
        package = entry.dist.name if entry.dist else "?"
        parameters = ", ".join(f"{p.name}={p.default!r}" for p in _parameters(kind, name))
        yield {"kind": kind.removesuffix("s"), "name": name, "where": package, "detail": parameters}


def _parameters(kind: What, name: str) -> "list[Parameter]":
    """The parameters that can be set; none if the plug-in cannot be loaded.

    A broken plug-in must not hide the others from the list; `query` tells what is wrong with it.
    """
    from allusion_es.core.plugins import load_plugin, parameters_of

    try:
        return parameters_of(load_plugin(f"allusion_es.{kind}", name))
    except AllusionError:
        return []
