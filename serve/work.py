"""The work of a search: answering queries, or scanning a text.

`query_work` and `scan_work` make the function that a job runs in its thread. Both turn what they
find into `JobItem`s, one at a time, so that the client sees them as they are found.
"""

from collections.abc import Callable, Iterator
from dataclasses import astuple, replace
from itertools import tee
from typing import Protocol

from allusion_es.corpora.findings import Finding, json_line
from allusion_es.corpora.source_text import SourceText
from allusion_es.reports.answers import answer_json, answer_tsv, findings_of
from allusion_es.reports.report import ReportMeta
from allusion_es.reports.scanned import calibration_note, scan_meta, scanned_findings
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.latin import text_doubt
from allusion_es.retrieval.pipeline import Answer, QueryOptions, Retriever, index_analyser
from allusion_es.retrieval.works import OwnWork
from allusion_es.scanning.measured import measured_points, unmeasured
from allusion_es.scanning.model import ScanOptions
from allusion_es.scanning.scanner import Scanner, cut, seamless
from allusion_es.serve.jobs import JobItem, SearchJob, Work
from allusion_es.serve.requests import QueryRequest, ScanRequest
from allusion_es.serve.texts import StoredText


class Scan(Protocol):
    """A function that scans a text: `scan_text`, or one that a test puts in its place."""

    def __call__(
        self,
        source: SourceText,
        index: CandidateIndex,
        request: ScanRequest,
        stop: Callable[[], bool],
        progress: Callable[[float], None],
    ) -> Iterator[Finding]:
        """The findings in the order of the text; options are checked before the first.

        Args:
            source: The text.
            index: The index.
            request: The options.
            stop: Asked between two blocks of text; ends the scan if it is True.
            progress: Called with the part of the text that is done, from 0 to 1.
        """
        ...


def scan_text(
    source: SourceText,
    index: CandidateIndex,
    request: ScanRequest,
    stop: Callable[[], bool],
    progress: Callable[[float], None],
) -> Iterator[Finding]:
    """Scan a text with the scanner of `allusion-es scan`."""
    scanner = Scanner(index, scan_options(request)).of_text(source)

    def by_block() -> Iterator[list[Finding]]:
        for block, found in scanner.blocks(cut(source.text), stop):
            yield found
            progress(block.end / len(source.text))

    return seamless(by_block())


def use_once(index: CandidateIndex) -> None:
    """Answer a query and scan a few words, which reads all that other searches need too."""
    words = "In principio erat verbum, et verbum erat apud Deum."
    Retriever(index, QueryOptions(explain=True)).answer(words)
    for _ in Scanner(index, ScanOptions()).blocks(cut(words)):
        pass


def scan_options(request: ScanRequest) -> ScanOptions:
    """The scanner's options of a request."""
    return ScanOptions(
        threshold=request.threshold, fast=request.fast, search_filter=request.search_filter
    )


def query_work(request: QueryRequest) -> Work:
    """The work of answering a request's queries."""

    def work(job: SearchJob, index: CandidateIndex) -> Iterator[JobItem]:
        retriever = Retriever(
            index,
            QueryOptions.chosen(
                first_stage=request.first_stage,
                field=request.field,
                candidates=request.candidates,
                rerank=request.rerank,
                top=request.top,
                settings=request.settings,
                search_filter=request.search_filter,
                explain=True,
                group=request.group,
            ),
        )
        method = f"{request.first_stage}.{request.field}.{request.rerank}"
        job.meta = ReportMeta(_title(request), f"Method {method}, index {index.name}")
        return _answers(job, index, retriever, request, method)

    return work


_TITLE_WORDS = 7


def _title(request: QueryRequest) -> str:
    """What the report of some queries is called."""
    if len(request.queries) > 1:
        return f"Allusions of {len(request.queries)} phrases"
    words = request.queries[0].text.split()
    more = "…" if len(words) > _TITLE_WORDS else ""
    return f"Allusions of “{' '.join(words[:_TITLE_WORDS])}{more}”"


def _answers(
    job: SearchJob,
    index: CandidateIndex,
    retriever: Retriever,
    request: QueryRequest,
    method: str,
) -> Iterator[JobItem]:
    # Two iterators over the same answers: one to report, one to print. Neither runs ahead.
    answers, reported = tee(retriever.answers(request.queries))
    findings = findings_of(reported, index, retriever.analyser, retriever.compared, method)
    for number, (answer, finding) in enumerate(zip(answers, findings, strict=True), start=1):
        if answer.failure is not None:
            # Of several queries, the others are still answered.
            if len(request.queries) == 1:
                raise answer.failure
            job.left_out.append((finding.id, str(answer.failure)))
        notes = _query_notes(answer, job.meta.notes)
        job.meta = replace(job.meta, notes=(*retriever.notes, *retriever.warnings, *notes))
        job.progress = number / len(request.queries)
        shown = answer if request.explain else _without_reasons(answer)
        yield JobItem(answer_json(shown), finding, tuple(answer_tsv(shown)))


def _query_notes(answer: Answer, known: tuple[str, ...]) -> list[str]:
    """The notes of all queries so far: unanswered, hardly Latin, too long to be searched whole.

    Args:
        answer: The latest answer.
        known: The job's notes before it; those that are not of a query are made anew.
    """
    notes = [note for note in known if note.startswith("Query ")]
    query = f"Query {answer.query.query.query_id}"
    if answer.failure is not None:
        notes.append(f"{query} was not answered: {answer.failure}")
    if answer.doubt:
        notes.append(f"{query}: {answer.doubt}")
    if answer.cut:
        notes.append(
            f"{query}: {answer.cut} of its most frequent words were not searched for; a shorter "
            "text finds more."
        )
    return notes


def _without_reasons(answer: Answer) -> Answer:
    return replace(answer, hits=tuple(replace(hit, contributions=()) for hit in answer.hits))


def scan_work(request: ScanRequest, text: StoredText, scan: Scan) -> Work:
    """The work of scanning a stored text."""
    source = text.source

    def work(job: SearchJob, index: CandidateIndex) -> Iterator[JobItem]:
        method = "Scan, fast" if request.fast else "Scan"
        if request.threshold is not None:
            method = f"{method}, probability from {request.threshold:g}"
        doubt = text_doubt(source.text, index, index_analyser(index))
        note = calibration_note(unmeasured(index, scan_options(request)))
        notes = [f"The text: {doubt}"] if doubt else []
        own = OwnWork(index, request.search_filter)
        own.filter_of(source.work)
        notes += [own.note] if own.note else []
        job.meta = scan_meta(
            source,
            index.name,
            method,
            [*notes, *([note] if note else [])],
            measured=[astuple(point) for point in measured_points(index, scan_options(request))],
            doubt=doubt,
        )

        def progress(share: float) -> None:
            job.progress = max(job.progress, min(1.0, share))

        found = scan(source, index, request, lambda: job.stopping, progress)
        return _scanned(source, index, found, progress)

    return work


def _scanned(
    source: SourceText,
    index: CandidateIndex,
    findings: Iterator[Finding],
    progress: Callable[[float], None],
) -> Iterator[JobItem]:
    findings, reported = tee(findings)
    shown = scanned_findings(source, reported, index, index_analyser(index))
    for finding, report_finding in zip(findings, shown, strict=True):
        progress(finding.end / len(source.text))
        yield JobItem(json_line(source, finding), report_finding, finding=finding)
