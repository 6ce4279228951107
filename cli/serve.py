"""`allusion-es serve`: the search page and its JSON API."""

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from allusion_es.cli.options import (
    Name,
    ServerOptions,
    library,
    open_candidate_index,
    takes_server,
)
from allusion_es.cli.web import check_extra
from allusion_es.core.errors import AllusionError
from allusion_es.core.locks import scratch_folder
from allusion_es.retrieval.defaults import DEFAULTS

if TYPE_CHECKING:
    from allusion_es.retrieval.index import CandidateIndex
    from allusion_es.serve.index_pool import IndexRow

_PORT = 8734
_HOST = "127.0.0.1"


@takes_server
def serve(
    name: Name = DEFAULTS.name,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")] = _PORT,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    *,
    server: ServerOptions,
) -> None:
    """Show the search page, until Ctrl+C: paste a text, or open a file, and see what it alludes to.

    Prints the page's URL, which only this machine can reach. Below it, at /api, programs find the
    same answers as JSON. Without an index, the Vulgate is fetched and built first.
    """
    check_extra()
    from allusion_es.serve.app import application
    from allusion_es.serve.jobs import Jobs
    from allusion_es.web.server import address_of, listen, read_secret, token_for
    from allusion_es.web.server import serve as run_server

    # Opened before the server starts, so that a missing index is an error of the command.
    size = len(open_candidate_index(name, server))
    with listen(_HOST, port) as listener, scratch_folder() as folder:
        token = token_for("anyone", "search page", read_secret(library().folder))
        jobs = Jobs()
        app = application(_IndexSource(server), name, folder, token, jobs)
        url = f"http://{address_of(listener, _HOST)}/{token}/"
        with contextlib.suppress(KeyboardInterrupt):
            print(url, flush=True)
            print(f"index {name!r}: {size} passages; Ctrl+C stops", file=sys.stderr)
            if browser:
                _open(url)
            run_server(app, listener, jobs.close)
        print("stopped", file=sys.stderr)


class _IndexSource:
    """The indexes of the data folder or of the server, for `serve.index_pool.IndexPool`."""

    def __init__(self, server: ServerOptions) -> None:
        self._server = server

    def rows(self) -> "list[IndexRow]":
        from allusion_es.serve.index_pool import IndexRow

        if self._server.url is None:
            return [_local_row(each) for each in library().names()]
        from allusion_es.es.catalogue import list_indexes

        with self._server.connect() as connected:
            return [
                IndexRow(each.name, connected.url, each.passages, each.problem)
                for each in list_indexes(connected)
            ]

    def open(self, name: str) -> "CandidateIndex":
        return open_candidate_index(name, self._server)

    def stamp(self, name: str) -> object:
        if self._server.url is not None:
            from allusion_es.es.catalogue import find_current

            with self._server.connect() as connected:
                return find_current(connected, name).concrete
        path = library().path(name)
        state = path.stat() if path.exists() else None
        return (state.st_ino, state.st_mtime_ns) if state else None


def _local_row(name: str) -> "IndexRow":
    from allusion_es.serve.index_pool import IndexRow

    try:
        return IndexRow(name, "in process", len(library().open(name)))
    except AllusionError as error:
        return IndexRow(name, "in process", 0, str(error))


def _open(url: str) -> None:
    """Open a page in the browser, if there is one that shows windows."""
    import webbrowser

    windows = {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    if sys.platform.startswith("linux") and not windows:
        return  # a browser in the terminal would take it over
    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(url)
