"""The search page and its JSON API as a web application.

`application` lists the routes. A search runs as a job in a thread (`jobs`, `work`); its answer is a
stream of JSON lines that grows while it runs, and its findings can be saved as files (`results`).
"""

import hashlib
import inspect
import json
import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args
from urllib.parse import quote

from msgspec import Meta, Struct, to_builtins
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from allusion_es.core import errors
from allusion_es.core.errors import AllusionError, PluginError
from allusion_es.core.plugins import load_plugin, parameters_of, plugins
from allusion_es.core.records import checked
from allusion_es.corpora.findings import text_key
from allusion_es.reports.page import filled, findings_part, page_script, page_style
from allusion_es.retrieval import generators, reranking
from allusion_es.retrieval.defaults import DEFAULTS
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.latin import text_doubt
from allusion_es.retrieval.options import STAGES
from allusion_es.retrieval.pipeline import index_analyser
from allusion_es.scanning.model import MODELS, calibration
from allusion_es.serve.history import Entry, History, now
from allusion_es.serve.index_pool import IndexPool, IndexSource, index_details
from allusion_es.serve.jobs import JobItem, Jobs, SearchJob, Work
from allusion_es.serve.judgements import Judgement, JudgementStore, is_text_key
from allusion_es.serve.requests import (
    QueryRequest,
    ScanRequest,
    read_query_request,
    read_scan_request,
)
from allusion_es.serve.results import JobStream, What, download, report_judgements
from allusion_es.serve.texts import LARGEST_TEXT, StoredText, TextStore
from allusion_es.serve.work import Scan, query_work, scan_text, scan_work, use_once
from allusion_es.web.guard import Guard, RefusedError, bounded_body, json_record

LARGEST_REQUEST = 4 * 2**20
"""Most bytes of a request to search, with the text that it may bring."""

_LONGEST_CLIENT = 64
"""Most characters of the header Allusion-Client, in which each open page has a random name."""

_NAME_WORDS = 5
"""Words by which a pasted text is named: there is no title."""

_NAME_CHARACTERS = 200

_TITLE_WORDS = 9
"""Words by which the history names a phrase."""

_KEEP_SECONDS = 5.0
_POLL_SECONDS = 0.05
_NUMBER = re.compile(r"0(\.\d{1,6})?|1(\.0{1,6})?")

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
    kept: Path | None = None,
) -> ASGIApp:
    """The page and the API as an ASGI application.

    Args:
        source: Where the indexes are.
        index: Name of the index that is searched where a request names none.
        folder: An empty folder for the texts that people paste or open.
        token: First part of every URL's path; requests without it are refused.
        jobs: The searches. The caller closes them when the server ends.
        scan: The scanner; tests give another one.
        kept: The folder in which judgements and the history are kept; by default below `folder`.
    """
    api = _Api(source, index, folder, jobs or Jobs(), scan, kept or folder / "kept")
    routes = [
        Route("/api/indexes", api.indexes),
        Route("/api/indexes/{name}", api.index),
        Route("/api/methods", api.methods),
        Route("/api/texts", api.text, methods=["POST"]),
        Route("/api/check", api.check, methods=["POST"]),
        Route("/api/judgements/{key}", api.judgements),
        Route("/api/judgements/{key}", api.judge, methods=["POST"]),
        Route("/api/history", api.history),
        Route("/api/history", api.forget_all, methods=["DELETE"]),
        Route("/api/history/{entry}", api.reopen),
        Route("/api/history/{entry}", api.forget, methods=["DELETE"]),
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
        self, source: IndexSource, index: str, folder: Path, jobs: Jobs, scan: Scan, kept: Path
    ) -> None:
        self._pool = IndexPool(source)
        self._default_index = index
        self._texts = TextStore(folder)
        self._jobs = jobs
        self._scan = scan
        self._judgements = JudgementStore(kept / "judgements")
        self._history = History(kept / "history")

    def indexes(self, request: Request) -> Response:
        rows = [asdict(row) for row in self._pool.source.rows()]
        return JSONResponse({"default": self._default_index, "indexes": rows})

    def index(self, request: Request) -> Response:
        name = request.path_params["name"]
        with self._pool.acquire(name) as index:
            details = index_details(index)
        # While people look for their text, what the first search needs is read.
        return JSONResponse(details, background=BackgroundTask(self._pool.warm, name, use_once))

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
            search = _Search("query", wanted)
            return self._start(request, search, query_work(wanted))

        return await self._stream(start, wanted.view)

    async def scan(self, request: Request) -> JobStream:
        record = await json_record(request, LARGEST_REQUEST)
        wanted = read_scan_request(record, self._default_index)

        def start() -> SearchJob:
            text = self._text(wanted.text_id, wanted.text)
            return self._start(
                request, _Search("scan", wanted, text), scan_work(wanted, text, self._scan)
            )

        return await self._stream(start, wanted.view)

    async def check(self, request: Request) -> Response:
        """What is told of a text before it is searched: how long it is, whether it is Latin."""
        wanted = read_scan_request(await json_record(request, LARGEST_REQUEST), self._default_index)

        def told() -> dict[str, Any]:
            text = self._text(wanted.text_id, wanted.text).source.text
            with self._pool.acquire(wanted.index) as index:
                doubt = text_doubt(text, index, index_analyser(index))
            return {"words": len(text.split()), "doubt": doubt}

        return JSONResponse(await run_in_threadpool(told))

    def judgements(self, request: Request) -> Response:
        return self._judged(_text_key(request))

    async def judge(self, request: Request) -> Response:
        key = _text_key(request)
        record = checked(
            await json_record(request, LARGEST_REQUEST), _Judged, "", partial(RefusedError, 422)
        )
        await run_in_threadpool(self._judgements.add, key, record.judgements)
        return await run_in_threadpool(self._judged, key)

    def _judged(self, key: str) -> Response:
        found = report_judgements(self._judgements, [key])
        return JSONResponse({"judgements": [asdict(each) for each in found]})

    def history(self, request: Request) -> Response:
        rows = [to_builtins(each) for each in self._history.entries()]
        return JSONResponse({"entries": [_history_row(row) for row in rows]})

    async def reopen(self, request: Request) -> JobStream:
        """What a search of the history found, as the search itself answered."""
        identifier = request.path_params["entry"]

        def start() -> SearchJob:
            self._wait_kept(identifier)
            entry = self._history.entry(identifier)
            if entry.kind == "query":
                asked = {**entry.request, "text": entry.text}
                query = read_query_request(asked, self._default_index)
                return self._start(request, _Search("query", query), query_work(query))
            scan = read_scan_request({**entry.request, "text": ""}, self._default_index)
            text = StoredText(entry.id, self._history.source(entry))
            search = _Search("scan", scan, text, status=entry.status)
            work = scan_work(scan, text, self._history.scan(entry))
            return self._start(request, search, work if entry.status == "done" else _part(work))

        return await self._stream(start, "report")

    def forget(self, request: Request) -> Response:
        entry = self._history.entry(request.path_params["entry"])
        self._history.forget(entry.id)
        if all(other.text_key != entry.text_key for other in self._history.entries()):
            self._judgements.forget(entry.text_key)
        return self.history(request)

    def forget_all(self, request: Request) -> Response:
        for entry in self._history.entries():
            self._history.forget(entry.id)
            self._judgements.forget(entry.text_key)
        return self.history(request)

    def _wait_kept(self, identifier: str) -> None:
        """Wait for a search that was just stopped, as by loading the page again, to be kept."""
        deadline = time.monotonic() + _KEEP_SECONDS
        while self._jobs.keeping(identifier) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)

    def job(self, request: Request) -> Response:
        return JSONResponse(self._jobs.get(request.path_params["job"]).row())

    def stop(self, request: Request) -> Response:
        job = self._jobs.get(request.path_params["job"])
        job.stop()
        return JSONResponse(job.row())

    def report(self, request: Request) -> Response:
        job = self._jobs.get(request.path_params["job"])
        asked = request.query_params
        what, least = asked.get("what", "found"), asked.get("least", "0")
        if what not in get_args(What) or not _NUMBER.fullmatch(least):
            raise RefusedError(
                422, f"give 'what' as one of {', '.join(get_args(What))}, 'least' from 0 to 1"
            )
        file = download(
            job, asked.get("format", "json"), self._judgements, cast("What", what), float(least)
        )
        # RFC 6266: the encoded form of the name holds letters beyond ASCII.
        disposition = f"attachment; filename*=UTF-8''{quote(file.name)}"
        return Response(
            file.data, media_type=file.media_type, headers={"Content-Disposition": disposition}
        )

    def _start(self, request: Request, search: "_Search", work: Work) -> SearchJob:
        """Start a search in the name of the client that the request's header tells."""
        client = request.headers.get("allusion-client", "")
        if len(client) > _LONGEST_CLIENT:
            raise RefusedError(400, f"Allusion-Client: at most {_LONGEST_CLIENT} characters")
        is_kept = search.request.view == "report" and search.status == ""
        return self._jobs.start(
            client,
            search.kind,
            work,
            lambda: self._pool.acquire(search.request.index),
            search.text,
            search.key,
            search.id,
            (lambda job: self._keep(search, job)) if is_kept else None,
        )

    def _keep(self, search: "_Search", job: SearchJob) -> None:
        """Keep in the history what was found from the page; that it cannot be is only noted."""
        found = [each.finding for each in job.found if each.finding is not None]
        hits = sum(len(each.shown.matches) for each in job.found)
        entry = search.entry(
            found=len(found) if search.kind == "scan" else hits,
            status="stopped" if job.stopping else "done",
        )
        try:
            self._history.add(entry, search.text.source if search.text else None, found)
        except (AllusionError, OSError) as error:
            note = f"This search was not kept for later: {error}"
            job.meta = replace(job.meta, notes=(note, *job.meta.notes))

    async def _stream(self, start: Callable[[], SearchJob], view: str) -> JobStream:
        """Start a search and return its growing answer; if it fails at once, raise the failure.

        An answer that has begun has the status 200 for good, so that what is wrong with a search
        from the beginning must be known before.
        """
        job = await run_in_threadpool(start)
        await run_in_threadpool(job.wait_begun)
        if job.failure is not None and not job.found:
            raise job.failure
        return JobStream(job, self._jobs, view, self._judgements)

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
            name = " ".join(re.findall(r"\w+", pasted[:_NAME_CHARACTERS])[:_NAME_WORDS])
            return self._add_text(f"{name or 'text'}.txt", pasted.encode("utf-8", "replace"))
        text = self._texts.get(identifier)
        if text is None:
            raise RefusedError(404, "this text is not kept any more; open it again")
        return text


def _part(work: Work) -> Work:
    """The work, with a note that its search was stopped."""

    def noting(job: SearchJob, index: CandidateIndex) -> Iterator[JobItem]:
        items = work(job, index)
        note = "This is not all: the search was stopped before the end of the text."
        job.meta = replace(job.meta, notes=(note, *job.meta.notes))
        return items

    return noting


class _Judged(Struct, forbid_unknown_fields=True):
    """A request that judges."""

    judgements: Annotated[list[Judgement], Meta(min_length=1, max_length=10_000)]


def _text_key(request: Request) -> str:
    key: str = request.path_params["key"]
    if not is_text_key(key):
        raise RefusedError(404, "there is no such text")
    return key


@dataclass(frozen=True, slots=True)
class _Search:
    """A search: its request, its text, and under which id the history keeps it.

    Attributes:
        kind: `query` or `scan`.
        request: The request.
        text: The text of a scan.
        status: How it ended when it was kept; "" for a new one.
    """

    kind: Literal["query", "scan"]
    request: QueryRequest | ScanRequest
    text: StoredText | None = None
    status: str = ""

    @property
    def words(self) -> str:
        """The words that are searched."""
        if self.text is not None:
            return self.text.source.text
        assert isinstance(self.request, QueryRequest)
        return "\n".join(query.text for query in self.request.queries)

    @property
    def key(self) -> str:
        """Key of the text, by which judgements are kept; "" where there are several queries."""
        if isinstance(self.request, QueryRequest) and len(self.request.queries) > 1:
            return ""
        return text_key(self.words)

    @property
    def id(self) -> str:
        """Id of its entry in the history: a hash of the text and of the choices."""
        told = json.dumps([self.kind, text_key(self.words), self._choices()], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def entry(self, *, found: int, status: str) -> Entry:
        """The search as the history keeps it."""
        source = self.text.source if self.text is not None else None
        named = ", ".join(filter(None, (source.author, source.title))) if source else ""
        return Entry(
            id=self.id,
            kind=self.kind,
            title=named or " ".join(self.words.split()[:_TITLE_WORDS]),
            when=now(),
            words=len(self.words.split()),
            found=found,
            status=status,
            text_key=text_key(self.words),
            request=self._choices(),
            text="" if source else self.words,
        )

    def _choices(self) -> dict[str, Any]:
        """The request without its text."""
        record: dict[str, Any] = to_builtins(self.request)
        for name in ("text", "text_id", "queries"):
            record.pop(name, None)
        return record


def _history_row(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("text", "request")}


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
            return f"{page_style('report')}\n{_asset('search.css')}".encode(), "text/css"
        case "report.js":
            return page_script("report").encode(), "text/javascript"
        case "search.js":
            return _asset("search.js").encode(), "text/javascript"
    return None


def _asset(name: str) -> str:
    return (files(__package__) / "pages" / name).read_text(encoding="utf-8")
