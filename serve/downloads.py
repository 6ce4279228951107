"""What a search has found, as files."""

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from allusion_es.corpora.findings import Finding, annotation_lines, table_lines
from allusion_es.corpora.source_text import SourceText
from allusion_es.corpora.tei.write import inline_markup, with_insertions
from allusion_es.reports.answers import tsv_header
from allusion_es.reports.finding import ReportMeta
from allusion_es.reports.report import write_report
from allusion_es.serve.jobs import JobItem, SearchJob
from allusion_es.web.guard import RefusedError

_BOM = "\ufeff"
"""What spreadsheets look for at the beginning of a table."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file to be saved.

    Attributes:
        name: Its name.
        media: Its media type.
        data: Its bytes.
    """

    name: str
    media: str
    data: bytes


def formats_of(job: SearchJob) -> list[str]:
    """The formats that there are of a search's results.

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
    """What a search has found so far, in one of `formats_of`.

    Raises:
        RefusedError: There is no such format of it.
        AllusionError: The file that was read is not there any more.

    Example:
        >>> download(SearchJob("1", "anna", "query"), "json")
        Download(name='allusions.jsonl', media='application/jsonl', data=b'')
    """
    if format not in formats_of(job):
        raise RefusedError(404, f"format {format[:20]!r}: use one of {', '.join(formats_of(job))}")
    found = list(job.found)
    suffix, media, make = _FORMATS[format]
    stem = job.text.source.path.stem if job.text is not None else "allusions"
    mark = ".allusions" if format == "tei" else ""
    return Download(f"{stem}{mark}.{suffix}", media, make(job, found))


def report_meta(job: SearchJob) -> ReportMeta:
    """What a report of a search says of itself; also whether it went through."""
    if job.status == "done":
        return job.meta
    told = f"This is not all: the search had gone through {job.progress:.0%} of the text."
    return replace(job.meta, notes=(told, *job.meta.notes))


def _html(job: SearchJob, found: list[JobItem]) -> bytes:
    stream = io.StringIO()
    write_report(stream, [each.shown for each in found], report_meta(job))
    return stream.getvalue().encode()


def _json(job: SearchJob, found: list[JobItem]) -> bytes:
    return _lines(each.json for each in found)


def _tsv(job: SearchJob, found: list[JobItem]) -> bytes:
    if job.text is None:
        return _lines([tsv_header(), *(line for each in found for line in each.table)])
    return _BOM.encode() + _lines(table_lines(*_scanned(job, found)))


def _tei(job: SearchJob, found: list[JobItem]) -> bytes:
    source, findings = _scanned(job, found)
    return b"".join(with_insertions(source, inline_markup(source, findings)))


def _annotations(job: SearchJob, found: list[JobItem]) -> bytes:
    return _lines(annotation_lines(*_scanned(job, found)))


def _scanned(job: SearchJob, found: list[JobItem]) -> tuple[SourceText, Iterator[Finding]]:
    assert job.text is not None
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
