"""Results of a search as clients get them: a stream of lines that grows, and files to save."""

import asyncio
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from starlette.types import Receive, Scope, Send

from allusion_es.corpora.findings import Finding, annotation_lines, json_line, table_lines
from allusion_es.corpora.source_text import SourceText
from allusion_es.corpora.tei.plain import as_tei
from allusion_es.corpora.tei.write import inline_markup, with_insertions
from allusion_es.reports.answers import tsv_header
from allusion_es.reports.report import (
    Match,
    ReportJudgement,
    ReportMeta,
    ReportRows,
    meta_row,
    write_report,
)
from allusion_es.serve.jobs import JobItem, Jobs, SearchJob
from allusion_es.serve.judgements import JudgementStore
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
        judgements: What readers said of texts, sent with the view `report`.
    """

    def __init__(self, job: SearchJob, jobs: Jobs, view: str, judgements: JudgementStore) -> None:
        self._job, self._jobs = job, jobs
        is_report = view == "report"
        self._lines = _ReportLines(job, judgements) if is_report else _PlainLines(job)

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

    def __init__(self, job: SearchJob, judgements: JudgementStore) -> None:
        self._job, self._judgements = job, judgements
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
            meta = {**meta_row(report_meta(self._job)), "notes": []}
            judged = report_judgements(self._judgements, [self._job.key])
            yield {
                "job": self._job.id,
                "formats": formats_of(self._job),
                "history": self._job.history,
                "report": {**meta, "judgements": [asdict(each) for each in judged]},
            }
        found = self._job.found[self._sent :]
        self._sent += len(found)
        if found:
            yield self._rows.chunk(each.shown for each in found)
        yield {"progress": round(self._job.progress, 4), "found": self._sent}


def report_judgements(store: JudgementStore, keys: Iterable[str]) -> list[ReportJudgement]:
    """What readers said of the texts of these keys, as a report has it; "" is no key."""
    return [
        ReportJudgement(key, each.start, each.end, each.passage, each.decision, each.comment)
        for key in dict.fromkeys(keys)
        if key
        for each in store.of(key)
    ]


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
        formats += ["csv", "annotations", "tei"]
    return formats


What = Literal["found", "accepted", "all"]
"""What of a search is saved: all as found, only what a reader accepted, or all as judged."""


def download(
    job: SearchJob,
    format: str,
    store: JudgementStore | None = None,
    what: What = "found",
    least: float = 0.0,
) -> Download:
    """The findings of a search so far as a file in one of `formats_of`.

    Args:
        job: The search.
        format: The format.
        store: The judgements, without which `what` must be `found`.
        what: What of it is saved. Of accepted findings only the accepted passages are.
        least: Least probability of the findings of a scan that were not accepted.

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
    judgements: list[ReportJudgement] = []
    if what != "found":
        assert store is not None
        keys = [job.key] if job.key else [each.shown.key for each in found]
        judgements = report_judgements(store, keys)
        found = list(_judged(job, found, judgements, what))
    found = [each for each in found if _is_likely(each, least)]
    suffix, media_type, encode = _FORMATS[format]
    stem = job.text.source.path.stem if job.text is not None else "allusions"
    # The TEI file is the text itself, marked up: its name must not be that of the original.
    infix = ".allusions" if format == "tei" else ""
    data = encode(_Saved(job, found, judgements, what != "found"))
    return Download(f"{stem}{infix}.{suffix}", media_type, data)


def _is_likely(item: JobItem, least: float) -> bool:
    found = item.finding
    return found is None or found.probability >= least or found.judgement == "accepted"


def _judged(
    job: SearchJob, found: Iterable[JobItem], judgements: Iterable[ReportJudgement], what: What
) -> Iterator[JobItem]:
    """Items as a reader judged them; what was accepted has the accepted passages only."""
    known = {(each.key, each.start, each.end, each.passage): each for each in judgements}
    for item in found:
        key = job.key or item.shown.key
        start = item.finding.start if item.finding else 0
        end = item.finding.end if item.finding else len(item.shown.text)
        of = {
            match.passage.id: judgement
            for match in item.shown.matches
            if (judgement := known.get((key, start, end, match.passage.id)))
        }
        accepted = [m for m in item.shown.matches if _decision(of, m) == "accept"]
        if accepted or what == "all":
            yield _judged_item(job, item, of, accepted, only=what == "accepted")


def _decision(of: dict[str, ReportJudgement], match: Match) -> str:
    judgement = of.get(match.passage.id)
    return judgement.decision if judgement else ""


def _judged_item(
    job: SearchJob,
    item: JobItem,
    of: dict[str, ReportJudgement],
    accepted: list[Match],
    *,
    only: bool,
) -> JobItem:
    shown = replace(item.shown, matches=tuple(accepted)) if only else item.shown
    if item.finding is None:
        return _judged_answer(replace(item, shown=shown), of)
    first = _decision(of, item.shown.matches[0]) if item.shown.matches else ""
    finding = replace(
        item.finding,
        judgement="accepted" if accepted else {"reject": "rejected"}.get(first, ""),
        comment="; ".join(each.comment for each in of.values() if each.comment),
    )
    if accepted:
        finding = replace(
            finding,
            passages=tuple(dict.fromkeys(i for m in accepted for i in m.ids or (m.passage.id,))),
            reference="; ".join(m.passage.reference for m in accepted),
            alternatives=() if only else finding.alternatives,
        )
    assert job.text is not None
    return JobItem(json_line(job.text.source, finding), shown, (), finding)


def _judged_answer(item: JobItem, of: dict[str, ReportJudgement]) -> JobItem:
    """The answer to a query with the hits that `shown` has, each with its judgement."""
    record = json.loads(item.json)
    kept = {match.passage.id for match in item.shown.matches}
    lines = zip(record["hits"], item.table, strict=True)
    rows = [(hit, line) for hit, line in lines if hit["id"] in kept]
    for hit, _ in rows:
        if judgement := of.get(hit["id"]):
            hit["judgement"] = {"accept": "accepted", "reject": "rejected"}.get(
                judgement.decision, ""
            )
            hit["comment"] = judgement.comment
    record["hits"] = [hit for hit, _ in rows]
    return replace(
        item, json=json.dumps(record, ensure_ascii=False), table=tuple(line for _, line in rows)
    )


def report_meta(job: SearchJob) -> ReportMeta:
    """Title and notes of a search's report; the first note says so if the search did not end."""
    if job.status == "done":
        return job.meta
    warning = f"This is not all: the search had gone through {job.progress:.0%} of the text."
    return replace(job.meta, notes=(warning, *job.meta.notes))


@dataclass(frozen=True, slots=True)
class _Saved:
    """What is to be saved."""

    job: SearchJob
    found: list[JobItem]
    judgements: list[ReportJudgement]
    judged: bool

    @property
    def source(self) -> SourceText:
        assert self.job.text is not None  # `formats_of` has no such format otherwise
        return self.job.text.source

    @property
    def findings(self) -> list[Finding]:
        return [each.finding for each in self.found if each.finding is not None]


def _html(saved: _Saved) -> bytes:
    stream = io.StringIO()
    shown = [each.shown for each in saved.found]
    write_report(stream, shown, report_meta(saved.job), saved.judgements)
    return stream.getvalue().encode()


def _json(saved: _Saved) -> bytes:
    return _lines(each.json for each in saved.found)


def _table(saved: _Saved, separator: Literal["\t", ","]) -> bytes:
    if saved.job.text is None:
        return _lines([tsv_header(), *(line for each in saved.found for line in each.table)])
    rows = table_lines(saved.source, saved.findings, judged=saved.judged, separator=separator)
    return _BOM.encode() + _lines(rows)


def _tei(saved: _Saved) -> bytes:
    """The TEI file with its findings; of another text one that is made for them."""
    if saved.source.kind == "tei":
        return _marked(saved.source, saved.findings)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{saved.source.path.stem}.xml")
        return _marked(*as_tei(saved.source, saved.findings, path))


def _marked(source: SourceText, findings: Iterable[Finding]) -> bytes:
    return b"".join(with_insertions(source, inline_markup(source, findings)))


def _annotations(saved: _Saved) -> bytes:
    return _lines(annotation_lines(saved.source, saved.findings))


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


_FORMATS: dict[str, tuple[str, str, Callable[[_Saved], bytes]]] = {
    "html": ("html", "text/html", _html),
    "tsv": ("tsv", "text/tab-separated-values", partial(_table, separator="\t")),
    "csv": ("csv", "text/csv", partial(_table, separator=",")),
    "json": ("jsonl", "application/jsonl", _json),
    "tei": ("xml", "application/tei+xml", _tei),
    "annotations": ("jsonld", "application/ld+json", _annotations),
}
"""Suffix, media type and encoder of each format."""
