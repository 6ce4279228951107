"""Answers that grow: what a search finds, a line of JSON each, as it is found."""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from starlette.types import Receive, Scope, Send

from allusion_es.reports.report import ReportRows, meta_row
from allusion_es.serve.downloads import formats_of, report_meta
from allusion_es.serve.jobs import Jobs, SearchJob

_POLL_SECONDS = 0.05
_PROGRESS_SECONDS = 0.5


class JobStream:
    """An ASGI response: the lines of a search until it ends.

    Each line is an object of the command line (view `lines`), or a part of a report (view
    `report`); the last one says how the search ended. Whoever breaks off stops the search.

    Args:
        job: The search.
        jobs: All searches; the answer breaks off when they are closed.
        view: `lines` or `report`.
        report_id: What readers' marks go by, in the view `report`.
    """

    def __init__(self, job: SearchJob, jobs: Jobs, view: str, report_id: str = "") -> None:
        self._job, self._jobs = job, jobs
        self._lines = _ReportLines(job, report_id) if view == "report" else _PlainLines(job)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        headers = [
            (b"content-type", b"application/x-ndjson"),
            (b"allusion-job", self._job.id.encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        watcher = asyncio.create_task(self._watch(receive))
        try:
            await self._send_all(send)
        finally:
            watcher.cancel()
            self._job.stop()

    async def _send_all(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        last = 0.0
        while True:
            # Looked at first, so that nothing is found between the last line and the end.
            is_running = self._job.is_running
            is_time = loop.time() >= last + _PROGRESS_SECONDS
            lines = list(self._lines.new(is_time or not is_running))
            if not is_running:
                lines.append(self._job.row())
            if lines:
                last = loop.time()
                body = "".join(f"{_line(line)}\n" for line in lines).encode()
                await send({"type": "http.response.body", "body": body, "more_body": is_running})
            if not is_running:
                return
            if self._jobs.closed:
                await send({"type": "http.response.body", "body": b""})
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._job.stop()


class _PlainLines:
    """The command line's objects, one a line."""

    def __init__(self, job: SearchJob) -> None:
        self._job, self._sent = job, 0

    def new(self, is_time: bool) -> Iterator[str | dict[str, Any]]:
        found = self._job.found[self._sent :]
        self._sent += len(found)
        return (each.json for each in found)


class _ReportLines:
    """Parts of a report, and how far the search is."""

    def __init__(self, job: SearchJob, report_id: str) -> None:
        self._job, self._id = job, report_id
        self._sent = 0
        self._rows = ReportRows()
        self._has_begun = False

    def new(self, is_time: bool) -> Iterator[str | dict[str, Any]]:
        if not is_time and self._has_begun:
            return
        if not self._has_begun:
            self._has_begun = True
            told = {**meta_row(report_meta(self._job)), "notes": [], "id": self._id}
            yield {"job": self._job.id, "formats": formats_of(self._job), "report": told}
        found = self._job.found[self._sent :]
        self._sent += len(found)
        if found:
            yield self._rows.chunk(each.shown for each in found)
        yield {"progress": round(self._job.progress, 4), "found": self._sent}


def report_id(*parts: object) -> str:
    """What marks go by: the same for the same search only.

    Example:
        >>> report_id("vinea", 1) == report_id("vinea", 1) != report_id("vinea", 2)
        True
    """
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _line(value: str | dict[str, Any]) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
