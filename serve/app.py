"""The search page and its JSON API: what their server answers."""

import inspect
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
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
from allusion_es.retrieval.options import STAGES
from allusion_es.scanning.model import MODELS, calibration
from allusion_es.serve.downloads import download
from allusion_es.serve.index_pool import IndexPool, IndexSource, index_details
from allusion_es.serve.jobs import Jobs, SearchJob, Work
from allusion_es.serve.requests import read_query_request, read_scan_request
from allusion_es.serve.stream import JobStream, report_id
from allusion_es.serve.texts import LARGEST_TEXT, StoredText, TextStore
from allusion_es.serve.work import Scan, query_work, scan_work
from allusion_es.web.guard import Guard, RefusedError, bounded_body, json_record

# The methods that there are, with what people should know of each.


@cache
def method_rows() -> dict[str, Any]:
    """First stages and rerankers: name, description, parameters with their defaults.

    Of scans: what each of their models does at which threshold, as it was measured.

    Example:
        >>> [row["name"] for row in method_rows()["first_stages"]][:2]
        ['all', 'bm25']
    """
    stages = _rows(generators.GROUP)
    several = [
        {"name": name, "description": f"{', '.join(parts)}, fused by reciprocal rank."}
        for name, parts in STAGES.items()
    ]
    return {
        "first_stages": [*stages, *several],
        "rerankers": [
            {"name": "none", "description": "The order of the first stage."},
            *_rows(reranking.GROUP),
        ],
        "scans": [_scan_row(name) for name in MODELS],
    }


def _scan_row(name: str) -> dict[str, Any]:
    model = calibration(name)
    return {
        "name": name,
        "threshold": model.threshold,
        "measured_on": "the Vulgate",
        "measured": [asdict(point) for point in model.points],
    }


def _rows(group: str) -> list[dict[str, Any]]:
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


# The search page's files: its own, and those of the report that it fills.


def page_file(name: str) -> tuple[bytes, str] | None:
    """A file of the page and its media type, or None where there is none of that name.

    Example:
        >>> data, media = page_file("")
        >>> media, b"<form" in data, page_file("../app.py")
        ('text/html', True, None)
    """
    match name:
        case "":
            return filled(_own("search.html"), {"findings": findings_part()}).encode(), "text/html"
        case "search.css":
            return f"{page_style()}\n{_own('search.css')}".encode(), "text/css"
        case "report.js":
            return page_script("report").encode(), "text/javascript"
        case "search.js":
            return _own("search.js").encode(), "text/javascript"
    return None


def _own(name: str) -> str:
    return (files(__package__) / "pages" / name).read_text(encoding="utf-8")


LARGEST_REQUEST = 4 * 2**20
"""Most bytes of a request to search, with the text that it may bring."""

_LONGEST_CLIENT = 64
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


@dataclass(frozen=True, slots=True)
class Served:
    """What a server serves.

    Attributes:
        place: Where the indexes are.
        index: The index that is chosen first.
        folder: A folder of its own, for texts.
        scan: What reads a text for allusions.
        token: What URLs begin with.
        jobs: The searches; close them when the server ends.
    """

    place: IndexSource
    index: str
    folder: Path
    scan: Scan
    token: str
    jobs: Jobs = field(default_factory=Jobs)


def application(served: Served) -> ASGIApp:
    """The page and the API as an ASGI application.

    Args:
        served: What is served.
    """
    api = _Api(served)
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
    return Guard(app, {served.token: None})


class _Api:
    def __init__(self, served: Served) -> None:
        self._served = served
        self._shelf = IndexPool(served.place)
        self._texts = TextStore(served.folder)
        self._jobs = served.jobs

    def indexes(self, request: Request) -> Response:
        rows = [asdict(row) for row in self._served.place.rows()]
        return JSONResponse({"default": self._served.index, "indexes": rows})

    def index(self, request: Request) -> Response:
        with self._shelf.lend(request.path_params["name"]) as index:
            return JSONResponse(index_details(index))

    def methods(self, request: Request) -> Response:
        return JSONResponse(method_rows())

    async def text(self, request: Request) -> Response:
        data = await bounded_body(request.receive, request.scope, LARGEST_TEXT)
        name = request.query_params.get("name", "text.txt")
        return JSONResponse(_text_row(await run_in_threadpool(self._add_text, name, data)))

    async def query(self, request: Request) -> JobStream:
        record = await json_record(request, LARGEST_REQUEST)
        asked = read_query_request(self._with_text(record), self._served.index)
        key = report_id(asked)

        def start() -> SearchJob:
            return self._start(request, "query", query_work(asked), asked.where.index)

        return await self._streamed(start, asked.where.view, key)

    async def scan(self, request: Request) -> JobStream:
        record = await json_record(request, LARGEST_REQUEST)
        asked = read_scan_request(record, self._served.index)

        def start() -> SearchJob:
            text = self._text(asked.text_id, asked.text)
            work = scan_work(asked, text, self._served.scan)
            return self._start(request, "scan", work, asked.where.index, text)

        what = (asked.where, asked.text, asked.text_id, asked.threshold, asked.fast)
        return await self._streamed(start, asked.where.view, report_id(*what))

    def job(self, request: Request) -> Response:
        return JSONResponse(self._jobs.get(request.path_params["job"]).row())

    def stop(self, request: Request) -> Response:
        job = self._jobs.get(request.path_params["job"])
        job.stop()
        return JSONResponse(job.row())

    def report(self, request: Request) -> Response:
        job = self._jobs.get(request.path_params["job"])
        made = download(job, request.query_params.get("format", "json"))
        disposition = f"attachment; filename*=UTF-8''{quote(made.name)}"
        return Response(
            made.data, media_type=made.media, headers={"Content-Disposition": disposition}
        )

    def _start(
        self,
        request: Request,
        kind: Literal["query", "scan"],
        work: Work,
        index: str,
        text: StoredText | None = None,
    ) -> SearchJob:
        client = request.headers.get("allusion-client", "")
        if len(client) > _LONGEST_CLIENT:
            raise RefusedError(400, f"Allusion-Client: at most {_LONGEST_CLIENT} characters")
        return self._jobs.start(client, kind, work, lambda: self._shelf.lend(index), text)

    async def _streamed(self, start: Callable[[], SearchJob], view: str, key: str) -> JobStream:
        """A search's growing answer; what is wrong with it from the beginning is said instead."""
        job = await run_in_threadpool(start)
        await run_in_threadpool(job.wait_begun)
        if job.failure is not None and not job.found:
            raise job.failure
        return JobStream(job, self._jobs, view, key)

    def _add_text(self, name: str, data: bytes) -> StoredText:
        return self._texts.add(secrets.token_hex(8), name, data)

    def _with_text(self, record: dict[str, Any]) -> dict[str, Any]:
        """The request with the words of the text that it names."""
        identifier = record.get("text_id")
        if not isinstance(identifier, str) or "text" in record:
            return record
        rest = {name: value for name, value in record.items() if name != "text_id"}
        return {**rest, "text": self._text(identifier, "").source.text}

    def _text(self, identifier: str, pasted: str) -> StoredText:
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


def _file(request: Request) -> Response:
    found = page_file(request.path_params.get("name", ""))
    if found is None:
        raise HTTPException(404, "there is no such page")
    data, media = found
    return Response(data, media_type=media)


def _refused(request: Request, error: Exception) -> Response:
    match error:
        case RefusedError():
            status, message = error.status, str(error)
        case HTTPException():
            status, message = error.status_code, error.detail
        case _:
            known = (code for kind, code in _STATUS.items() if isinstance(error, kind))
            status, message = next(known, 503), str(error)
    return JSONResponse({"error": " ".join(message.split())}, status)
