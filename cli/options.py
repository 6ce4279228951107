"""Options that several commands share, and the index or server that they name."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allusion_es.core.errors import UsageError
from allusion_es.core.files import DATA_DIR_VARIABLE

if TYPE_CHECKING:
    from allusion_es.es.connection import Server
    from allusion_es.es.partial import Partial
    from allusion_es.local.library import Library
    from allusion_es.retrieval.index import CandidateIndex


def _use_data_dir(folder: Path | None) -> Path | None:
    # Everything below reads the variable, so that one setting reaches all of it.
    if folder is not None:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is a file; give a folder", argument="--data-dir")
        os.environ[DATA_DIR_VARIABLE] = str(folder)
    return folder


DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        envvar=DATA_DIR_VARIABLE,
        callback=_use_data_dir,
        help="Folder for fetched data and indexes.",
        show_default=False,
    ),
]
Name = Annotated[str, typer.Option("--name", "-n", help="Name of the index.")]
TextColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="What a table calls the column text.", show_default=False),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="What a table calls the column with the ids.", show_default=False
    ),
]


Author = Annotated[
    list[str] | None, typer.Option("--author", help="Only works of this author; repeatable.")
]
ExcludeWork = Annotated[
    list[str] | None, typer.Option("--exclude-work", help="Not this work; repeatable.")
]
ExcludeAuthor = Annotated[
    list[str] | None, typer.Option("--exclude-author", help="No work of this author; repeatable.")
]
OwnWork = Annotated[
    bool,
    typer.Option(
        "--own-work",
        help="Search the work that a query is from, too; it is left out otherwise.",
    ),
]


class InputFormat(StrEnum):
    """The layout of a file of queries."""

    lines = "lines"
    jsonl = "jsonl"
    table = "table"


def _check_html(path: Path | None) -> Path | None:
    # A slip such as `--html sermo.txt` must not cost a text.
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{path}: the name of a report must end in .html", argument="--html")
    if path is not None and path.is_dir():
        raise UsageError(f"{path} is a folder; give a file in it", argument="--html")
    return path


def takes_html(context: typer.Context, html: Path | None, *others: str) -> bool:
    """Whether a report is written instead of printing; says so if options contradict each other.

    Args:
        context: The command's context.
        html: The report's file, or None.
        others: Options that say how to print. Those of a configuration file are but defaults.

    Raises:
        UsageError: One of these is given beside it.
    """
    for name in others if html is not None else ():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(
                f"a report is written instead of printing; leave out --{name}",
                argument="html",
            )
    return html is not None


Html = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE",
        callback=_check_html,
        help="Write a report for a browser instead of printing.",
        show_default=False,
    ),
]


def column_names(**names: str | None) -> dict[str, str]:
    """The names that options give to a table's columns, without the columns that keep theirs.

    Example:
        >>> column_names(text="content", id=None)
        {'text': 'content'}
    """
    return {column: name for column, name in names.items() if name is not None}


Es = Annotated[
    str | None,
    typer.Option(
        "--es",
        metavar="URL",
        envvar="ALLUSION_ES_URL",
        help="Use the index on this Elasticsearch (several URLs: separated by commas).",
        show_default=False,
    ),
]
CaCerts = Annotated[
    Path | None,
    typer.Option(
        "--ca-certs",
        envvar="ALLUSION_ES_CA_CERTS",
        help="CA certificates.",
        show_default=False,
    ),
]
Fingerprint = Annotated[
    str | None,
    typer.Option(
        "--fingerprint",
        envvar="ALLUSION_ES_FINGERPRINT",
        help="SHA-256 fingerprint of the server's certificate.",
        show_default=False,
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key",
        envvar="ALLUSION_ES_API_KEY",
        help="API key; better given by the environment variable.",
        show_default=False,
    ),
]
User = Annotated[
    str | None,
    typer.Option("--user", envvar="ALLUSION_ES_USER", help="User name.", show_default=False),
]
Password = Annotated[
    str | None,
    typer.Option(
        "--password",
        envvar="ALLUSION_ES_PASSWORD",
        help="Password; better given by the environment variable.",
        show_default=False,
    ),
]
Wait = Annotated[
    float,
    typer.Option("--wait", min=0, help="Seconds to wait for a starting server."),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=0.1,
        envvar="ALLUSION_ES_TIMEOUT",
        help="Seconds to wait for each answer of the server.",
    ),
]


class TableFormat(StrEnum):
    """How listings are printed."""

    table = "table"
    json = "json"
    tsv = "tsv"


@dataclass(frozen=True, slots=True, repr=False)
class ServerOptions:
    """The URL of the server and the login; without a URL, the index is in this process."""

    url: str | None
    ca_certs: Path | None = None
    fingerprint: str | None = None
    api_key: str | None = None
    user: str | None = None
    password: str | None = None
    wait: float = 0.0
    timeout: float = 30.0

    def connect(self) -> "Server":
        """The server.

        Raises:
            ServerUnavailableError, ServerRefusedError: It does not answer as it should.
        """
        from allusion_es.es.connection import Server

        return Server.connect(
            self.url,
            ca_certs=str(self.ca_certs) if self.ca_certs else None,
            fingerprint=self.fingerprint,
            api_key=self.api_key,
            user=self.user,
            password=self.password,
            wait=self.wait,
            timeout=self.timeout,
        )


SERVER_OPTIONS: dict[str, tuple[Any, object]] = {
    "es": (Es, None),
    "ca_certs": (CaCerts, None),
    "fingerprint": (Fingerprint, None),
    "api_key": (ApiKey, None),
    "user": (User, None),
    "password": (Password, None),
    "wait": (Wait, 0.0),
    "timeout": (Timeout, 30.0),
}


def takes_server(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a server and of the data folder.

    Args:
        command: A function with the keyword `server`, which becomes a `ServerOptions`.
    """

    def with_server(**values: Any) -> None:  # noqa: ANN401 - any option
        del values["data_dir"]  # its callback has made it known
        # An empty URL is none: so `--es ""` searches here, whatever a configuration file says.
        values["es"] = values["es"] or None
        server = ServerOptions(*(values.pop(name) for name in SERVER_OPTIONS))
        command(**values, server=server)

    own = inspect.signature(command).parameters.values()
    added = {**SERVER_OPTIONS, "data_dir": (DataDir, None)}
    parameters = [parameter for parameter in own if parameter.name != "server"]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in added.items()
    ]
    # What Typer reads: a function's signature is its command line.
    with_server.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_server.__annotations__ = {each.name: each.annotation for each in parameters}
    with_server.__doc__ = command.__doc__
    with_server.__name__ = command.__name__
    return with_server


def library(workers: int | None = None) -> "Library":
    """The indexes in the data folder, with progress on the terminal.

    Args:
        workers: Processes that build them; one a processor by default.
    """
    from allusion_es.cli.progress import progress
    from allusion_es.local.library import Library

    return Library(progress=progress, workers=workers or os.cpu_count() or 1)


def open_candidate_index(
    name: str, server: ServerOptions, partial: "Partial | None" = None
) -> "CandidateIndex":
    """The index of that name, on the server if there is one, else in this process.

    Args:
        name: Its name.
        server: Where it is.
        partial: See `es.index.open_index`.

    Raises:
        AllusionError: It is missing, damaged, or the server does not answer.
    """
    books = library()
    if server.url is None:
        return books.open(name)
    from allusion_es.es.index import open_index

    connected = server.connect()
    return open_index(
        connected,
        name,
        books.vectors,
        books.citations,
        partial,
        books.encoder,
        books.models.ranker,
    )
