"""The search page and its JSON API as a web application.

`application` lists the routes. A search runs as a job in a thread (`jobs`, `work`); its answer is a
stream of JSON lines that grows while it runs, and its findings can be saved as files (`results`).
"""

import inspect
import secrets
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from allusion_es.core import errors
from allusion_es.core.errors import AllusionError, PluginError
from allusion_es.core.plugins import load_plugin, parameters_of, plugins
from allusion_es.reports.page import filled, findings_part, page_script, page_style
from allusion_es.retrieval import generators, reranking
from allusion_es.retrieval.defaults import DEFAULTS
from allusion_es.retrieval.options import STAGES
from allusion_es.scanning.model import MODELS, calibration
from allusion_es.serve.index_pool import IndexPool, IndexSource, index_details
from allusion_es.serve.jobs import Jobs, SearchJob, Work
from allusion_es.serve.requests import read_query_request, read_scan_request
from allusion_es.serve.results import JobStream, download, report_id
from allusion_es.serve.texts import LARGEST_TEXT, StoredText, TextStore
from allusion_es.serve.work import Scan, query_work, scan_text, scan_work
from allusion_es.web.guard import Guard, RefusedError, bounded_body, json_record

LARGEST_REQUEST = 4 * 2**20
"""Most bytes of a request to search, with the text that it may bring."""

_LONGEST_CLIENT = 64
"""Most characters of the header Allusion-Client, in which each open page has a random name."""

_STATUS = {
    errors.IndexMissingError: 404,
    errors.UsageError: 422,
    errors.InputError: 422,
    errors.VerseError: 422,
    errors.PluginError: 422,
    errors.SettingsMismatchError: 409,
    errors.ServerUnavailableError: 502,
    errors.ServerRefusedError: 502,
}
"""HTTP status of each kind of error; the first that fits, and 503 for others."""


def application(
    source: IndexSource,
    index: str,
    folder: Path,
    token: str,
    jobs: Jobs | None = None,
    scan: Scan = scan_text,
) -> ASGIApp:
    """The page and the API as an ASGI application.

    Args:
        source: Where the indexes are.
        index: Name of the index that is searched where a request names none.
        folder: An empty folder for the texts that people paste or open.
        token: First part of every URL's path; requests without it are refused.
        jobs: The searches. The caller closes them when the server ends.
        scan: The scanner; tests give another one.
    """
    api = _Api(source, index, folder, jobs or Jobs(), scan)
    routes = [
        Route("/api/indexes", api.indexes),
        Route("/api/indexes/{name}", api.index),
        Route("/api/methods", api.methods),
        Route("/api/texts", api.text, methods=["POST"]),
        Route("/api/query", api.query, methods=["POST"]),
        Route("/api/scan", api.scan, methods=["POST"]),
        Route("/api/jobs/{job}", api.job),
        Route("/api/jobs/{job}/stop", api.stop, methods=["POST"]),
        Route("/api/jobs/{job}/report", api.report),
        Route("/{name}", _file),
        Route("/", _file),
    ]
    handled = (RefusedError, AllusionError, HTTPException)
    app = Starlette(routes=routes, exception_handlers=dict.fromkeys(handled, _refused))
    return Guard(app, {token: None})


class _Api:
    """The API's answers, a method for each route."""

    def __init__(
        self, source: IndexSource, index: str, folder: Path, jobs: Jobs, scan: Scan
    ) -> None:
        self._pool = IndexPool(source)
        self._default_index = index
        self._texts = TextStore(folder)
        self._jobs = jobs
        self._scan = scan

    def indexes(self, request: Request) -> Response:
        rows = [asdict(row) for row in self._pool.source.rows()]
        return JSONResponse({"default": self._default_index, "indexes": rows})

    def index(self, request: Request) -> Response:
        with self._pool.acquire(request.path_params["name"]) as index:
            return JSONResponse(index_details(index))

    def methods(self, request: Request) -> Response:
        return JSONResponse(method_rows())

    async def text(self, request: Request) -> Response:
        data = await bounded_body(request.receive, request.scope, LARGEST_TEXT)
        name = request.query_params.get("name", "text.txt")
        return JSONResponse(_text_row(await run_in_threadpool(self._add_text, name, data)))

    async def query(self, request: Request) -> JobStream:
        record = self._with_text(await json_record(request, LARGEST_REQUEST))
        wanted = read_query_request(record, self._default_index)

        def start() -> SearchJob:
            return self._start(request, "query", query_work(wanted), wanted.index)

        return await self._stream(start, wanted.view, report_id(wanted))

    async def scan(self, request: Request) -> JobStream:
        record = await json_record(request, LARGEST_REQUEST)
        wanted = read_scan_request(record, self._default_index)

        def start() -> SearchJob:
            text = self._text(wanted.text_id, wanted.text)
            work = scan_work(wanted, text, self._scan)
            return self._start(request, "scan", work, wanted.index, text)

        return await self._stream(start, wanted.view, report_id(wanted))

    def job(self, request: Request) -> Response:
        return JSONResponse(self._jobs.get(request.path_params["job"]).row())

    def stop(self, request: Request) -> Response:
        job = self._jobs.get(request.path_params["job"])
        job.stop()
        return JSONResponse(job.row())

    def report(self, request: Request) -> Response:
        job = self._jobs.get(request.path_params["job"])
        file = download(job, request.query_params.get("format", "json"))
        # RFC 6266: the encoded form of the name holds letters beyond ASCII.
        disposition = f"attachment; filename*=UTF-8''{quote(file.name)}"
        return Response(
            file.data, media_type=file.media_type, headers={"Content-Disposition": disposition}
        )

    def _start(
        self,
        request: Request,
        kind: Literal["query", "scan"],
        work: Work,
        index: str,
        text: StoredText | None = None,
    ) -> SearchJob:
        """Start a search in the name of the client that the request's header tells."""
        client = request.headers.get("allusion-client", "")
        if len(client) > _LONGEST_CLIENT:
            raise RefusedError(400, f"Allusion-Client: at most {_LONGEST_CLIENT} characters")
        return self._jobs.start(client, kind, work, lambda: self._pool.acquire(index), text)

    async def _stream(self, start: Callable[[], SearchJob], view: str, key: str) -> JobStream:
        """Start a search and return its growing answer; if it fails at once, raise the failure.

        An answer that has begun has the status 200 for good, so that what is wrong with a search
        from the beginning must be known before.
        """
        job = await run_in_threadpool(start)
        await run_in_threadpool(job.wait_begun)
        if job.failure is not None and not job.found:
            raise job.failure
        return JobStream(job, self._jobs, view, key)

    def _add_text(self, name: str, data: bytes) -> StoredText:
        return self._texts.add(secrets.token_hex(8), name, data)

    def _with_text(self, record: dict[str, Any]) -> dict[str, Any]:
        """The request to query, with the words of a stored text in place of its id."""
        identifier = record.get("text_id")
        if not isinstance(identifier, str) or "text" in record:
            return record
        rest = {name: value for name, value in record.items() if name != "text_id"}
        return {**rest, "text": self._text(identifier, "").source.text}

    def _text(self, identifier: str, pasted: str) -> StoredText:
        """The stored text of an id, or the pasted text, stored now."""
        if not identifier:
            return self._add_text("pasted-text.txt", pasted.encode("utf-8", "replace"))
        text = self._texts.get(identifier)
        if text is None:
            raise RefusedError(404, "this text is not kept any more; open it again")
        return text


def _text_row(text: StoredText) -> dict[str, Any]:
    source = text.source
    return {
        "text_id": text.id,
        "name": source.path.name,
        "kind": source.kind,
        "title": source.title,
        "author": source.author,
        "characters": len(source.text),
        "words": len(source.text.split()),
    }


def _refused(request: Request, error: Exception) -> Response:
    """The answer to a request that failed: its status, and the error in one line."""
    match error:
        case RefusedError():
            status, message = error.status, str(error)
        case HTTPException():
            status, message = error.status_code, error.detail
        case _:
            codes = (code for kind, code in _STATUS.items() if isinstance(error, kind))
            status, message = next(codes, 503), str(error)
    return JSONResponse({"error": " ".join(message.split())}, status)


# The methods that a search can use.


@cache
def method_rows() -> dict[str, Any]:
    """First stages, rerankers and scans: names, descriptions, parameters with their defaults.

    `defaults` says which of them, and how many candidates and passages, a query gets that names
    none; each scan has the precision and recall that were measured at several thresholds.

    Example:
        >>> [row["name"] for row in method_rows()["first_stages"]][:2]
        ['all', 'bm25']
    """
    single = _plugin_rows(generators.GROUP)
    several = [
        {"name": name, "description": f"{', '.join(parts)}, fused by reciprocal rank."}
        for name, parts in STAGES.items()
    ]
    return {
        "first_stages": [*single, *several],
        "rerankers": [
            {"name": "none", "description": "The order of the first stage."},
            *_plugin_rows(reranking.GROUP),
        ],
        "scans": [_scan_row(name) for name in MODELS],
        # The index is told by `indexes`, since the server may have been started for another one.
        "defaults": {k: v for k, v in DEFAULTS._asdict().items() if k != "name"},
    }


def _scan_row(name: str) -> dict[str, Any]:
    model = calibration(name)
    return {
        "name": name,
        "threshold": model.threshold,
        "measured_on": "the Vulgate",
        "measured": [asdict(point) for point in model.points],
    }


def _plugin_rows(group: str) -> list[dict[str, Any]]:
    """The plug-ins of an entry point group that can be loaded."""
    rows = []
    for name in plugins(group):
        try:
            plugin = load_plugin(group, name)
        except PluginError:
            continue  # what cannot be loaded cannot be chosen; a search that names it says why
        described = (inspect.getdoc(plugin) or "").partition("\n\n")[0]
        rows.append(
            {
                "name": name,
                "description": " ".join(described.split()),
                "parameters": {p.name: p.default for p in parameters_of(plugin)},
                "parts": bool(getattr(plugin, "composite", False)),
            }
        )
    return rows


# The files of the page.


def _file(request: Request) -> Response:
    file = page_file(request.path_params.get("name", ""))
    if file is None:
        raise HTTPException(404, "there is no such page")
    data, media_type = file
    return Response(data, media_type=media_type)


def page_file(name: str) -> tuple[bytes, str] | None:
    """A file of the page and its media type, or None if there is no file of that name.

    The page reuses the style, script and markup of a report, and adds its own.

    Example:
        >>> data, media_type = page_file("")
        >>> media_type, b"<form" in data, page_file("../app.py")
        ('text/html', True, None)
    """
    match name:
        case "":
            return filled(
                _asset("search.html"), {"findings": findings_part()}
            ).encode(), "text/html"
        case "search.css":
            return f"{page_style()}\n{_asset('search.css')}".encode(), "text/css"
        case "report.js":
            return page_script("report").encode(), "text/javascript"
        case "search.js":
            return _asset("search.js").encode(), "text/javascript"
    return None


def _asset(name: str) -> str:
    return (files(__package__) / "pages" / name).read_text(encoding="utf-8")
