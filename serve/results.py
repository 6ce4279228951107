"""Results of a search as clients get them: a stream of lines that grows, and files to save."""

import asyncio
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from starlette.types import Receive, Scope, Send

from allusion_es.corpora.findings import Finding, annotation_lines, table_lines
from allusion_es.corpora.source_text import SourceText
from allusion_es.corpora.tei.write import inline_markup, with_insertions
from allusion_es.reports.answers import tsv_header
from allusion_es.reports.report import ReportMeta, ReportRows, meta_row, write_report
from allusion_es.serve.jobs import JobItem, Jobs, SearchJob
from allusion_es.web.guard import RefusedError

_POLL_SECONDS = 0.05
"""Pause between two looks at a running search."""

_PROGRESS_SECONDS = 0.5
"""Least time between two parts of a report in a stream, so that the page is not redrawn often."""


class JobStream:
    """The ASGI response that sends a search's lines until it ends.

    Each line is an object of the command line (view `lines`), or a part of a report (view
    `report`); the last one says how the search ended. If the client closes the connection,
    the search stops.

    Args:
        job: The search.
        jobs: All searches; the answer breaks off when they are closed.
        view: `lines` or `report`.
        report_id: In the view `report`, the id under which the browser keeps a reader's marks.
    """

    def __init__(self, job: SearchJob, jobs: Jobs, view: str, report_id: str = "") -> None:
        self._job, self._jobs = job, jobs
        self._lines = _ReportLines(job, report_id) if view == "report" else _PlainLines(job)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        headers = [
            (b"content-type", b"application/x-ndjson"),
            (b"allusion-job", self._job.id.encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        watcher = asyncio.create_task(self._stop_at_disconnect(receive))
        try:
            await self._send_all(send)
        finally:
            watcher.cancel()
            self._job.stop()

    async def _send_all(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        last = 0.0
        while True:
            # Read before the findings: once it is False, nothing can be added to them.
            is_running = self._job.is_running
            is_time = loop.time() >= last + _PROGRESS_SECONDS
            lines = list(self._lines.take(is_time or not is_running))
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
            # Polled, since the search runs in a thread and knows nothing of the event loop.
            await asyncio.sleep(_POLL_SECONDS)

    async def _stop_at_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._job.stop()


class _PlainLines:
    """The findings as the objects that the command line prints."""

    def __init__(self, job: SearchJob) -> None:
        self._job, self._sent = job, 0

    def take(self, is_time: bool) -> Iterator[str | dict[str, Any]]:
        """The lines since the last call."""
        found = self._job.found[self._sent :]
        self._sent += len(found)
        return (each.json for each in found)


class _ReportLines:
    """The findings as parts of a report, and the progress of the search."""

    def __init__(self, job: SearchJob, report_id: str) -> None:
        self._job, self._id = job, report_id
        self._sent = 0
        self._rows = ReportRows()
        self._has_begun = False

    def take(self, is_time: bool) -> Iterator[str | dict[str, Any]]:
        """The lines since the last call; none if it is not yet time for another part."""
        if not is_time and self._has_begun:
            return
        if not self._has_begun:
            self._has_begun = True
            # No notes yet: the last line of the stream has them all.
            meta = {**meta_row(report_meta(self._job)), "notes": [], "id": self._id}
            yield {"job": self._job.id, "formats": formats_of(self._job), "report": meta}
        found = self._job.found[self._sent :]
        self._sent += len(found)
        if found:
            yield self._rows.chunk(each.shown for each in found)
        yield {"progress": round(self._job.progress, 4), "found": self._sent}


def report_id(*parts: object) -> str:
    """An id of a search, the same for the same search only; readers' marks are kept under it.

    Example:
        >>> report_id("vinea", 1) == report_id("vinea", 1) != report_id("vinea", 2)
        True
    """
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _line(value: str | dict[str, Any]) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


# Files to save.

_BOM = "\ufeff"
"""Byte-order mark, by which spreadsheets know that a table is UTF-8."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file to be saved.

    Attributes:
        name: Its name.
        media_type: Its media type.
        data: Its content.
    """

    name: str
    media_type: str
    data: bytes


def formats_of(job: SearchJob) -> list[str]:
    """The formats in which a search's results can be saved.

    Example:
        >>> formats_of(SearchJob("1", "anna", "query"))
        ['html', 'tsv', 'json']
    """
    formats = ["html", "tsv", "json"]
    if job.text is not None:
        formats.append("annotations")
        if job.text.source.kind == "tei":
            formats.append("tei")
    return formats


def download(job: SearchJob, format: str) -> Download:
    """The findings of a search so far as a file in one of `formats_of`.

    Raises:
        RefusedError: There is no such format of it.
        AllusionError: The file that was read is not there any more.

    Example:
        >>> download(SearchJob("1", "anna", "query"), "json")
        Download(name='allusions.jsonl', media_type='application/jsonl', data=b'')
    """
    if format not in formats_of(job):
        raise RefusedError(404, f"format {format[:20]!r}: use one of {', '.join(formats_of(job))}")
    found = list(job.found)
    suffix, media_type, encode = _FORMATS[format]
    stem = job.text.source.path.stem if job.text is not None else "allusions"
    # The TEI file is the text itself, marked up: its name must not be that of the original.
    infix = ".allusions" if format == "tei" else ""
    return Download(f"{stem}{infix}.{suffix}", media_type, encode(job, found))


def report_meta(job: SearchJob) -> ReportMeta:
    """Title and notes of a search's report; the first note says so if the search did not end."""
    if job.status == "done":
        return job.meta
    warning = f"This is not all: the search had gone through {job.progress:.0%} of the text."
    return replace(job.meta, notes=(warning, *job.meta.notes))


def _html(job: SearchJob, found: list[JobItem]) -> bytes:
    stream = io.StringIO()
    write_report(stream, [each.shown for each in found], report_meta(job))
    return stream.getvalue().encode()


def _json(job: SearchJob, found: list[JobItem]) -> bytes:
    return _lines(each.json for each in found)


def _tsv(job: SearchJob, found: list[JobItem]) -> bytes:
    if job.text is None:
        return _lines([tsv_header(), *(line for each in found for line in each.table)])
    return _BOM.encode() + _lines(table_lines(*_source_and_findings(job, found)))


def _tei(job: SearchJob, found: list[JobItem]) -> bytes:
    source, findings = _source_and_findings(job, found)
    return b"".join(with_insertions(source, inline_markup(source, findings)))


def _annotations(job: SearchJob, found: list[JobItem]) -> bytes:
    return _lines(annotation_lines(*_source_and_findings(job, found)))


def _source_and_findings(
    job: SearchJob, found: list[JobItem]
) -> tuple[SourceText, Iterator[Finding]]:
    assert job.text is not None  # `formats_of` has no such format otherwise
    return job.text.source, (each.finding for each in found if each.finding is not None)


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


_FORMATS: dict[str, tuple[str, str, Callable[[SearchJob, list[JobItem]], bytes]]] = {
    "html": ("html", "text/html", _html),
    "tsv": ("tsv", "text/tab-separated-values", _tsv),
    "json": ("jsonl", "application/jsonl", _json),
    "tei": ("xml", "application/tei+xml", _tei),
    "annotations": ("jsonld", "application/ld+json", _annotations),
}
"""Suffix, media type and encoder of each format."""
