"""The work of a search: answers to queries, and what is found in a text."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from allusion_es.corpora.findings import Finding, json_line
from allusion_es.corpora.source_text import SourceText
from allusion_es.reports.answers import answer_json, answer_tsv, findings_of
from allusion_es.reports.finding import ReportMeta
from allusion_es.reports.scanned import calibration_note, scan_meta, scanned_findings
from allusion_es.retrieval.defaults import FIELD_CHOICES, generators_of
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.latin import text_doubt
from allusion_es.retrieval.pipeline import Answer, Retriever, index_analyser
from allusion_es.scanning.measured import unmeasured
from allusion_es.scanning.model import ScanOptions
from allusion_es.scanning.scanner import Scanner, cut, seamless
from allusion_es.serve.jobs import JobItem, SearchJob, Work
from allusion_es.serve.requests import QueryRequest, ScanRequest
from allusion_es.serve.texts import StoredText


class Scan(Protocol):
    """Reads a text for allusions; the scanner of this package, or one that a test stands in."""

    def __call__(
        self,
        source: SourceText,
        index: CandidateIndex,
        asked: ScanRequest,
        stop: Callable[[], bool],
        progress: Callable[[float], None],
    ) -> Iterator[Finding]:
        """What is found, in the order of the text; the options are checked before the first."""
        ...


def scan_text(
    source: SourceText,
    index: CandidateIndex,
    asked: ScanRequest,
    stop: Callable[[], bool],
    progress: Callable[[float], None],
) -> Iterator[Finding]:
    """The `Scan` of this package's scanner."""
    scanner = Scanner(index, scan_options(asked))

    def by_block() -> Iterator[list[Finding]]:
        for block, found in scanner.blocks(cut(source.text), stop):
            yield found
            progress(block.end / len(source.text))

    return seamless(by_block())


def scan_options(asked: ScanRequest) -> ScanOptions:
    """The options of the scan that is asked for."""
    return ScanOptions(threshold=asked.threshold, fast=asked.fast, within=asked.where.within)


def query_work(asked: QueryRequest) -> Work:
    """The work of answering queries."""

    def work(job: SearchJob, index: CandidateIndex) -> Iterator[JobItem]:
        reranker = None if asked.rerank == "none" else asked.rerank
        retriever = Retriever(
            index,
            generators=generators_of(asked.first_stage),
            fields=FIELD_CHOICES[asked.field],
            candidates=min(asked.candidates, index.max_candidates),
            reranker=reranker,
            top=asked.top,
            within=asked.where.within,
            explain=True,
            settings=asked.settings,
            grouped=asked.group,
        )
        method = f"{asked.first_stage}.{asked.field}.{asked.rerank}"
        job.meta = ReportMeta(f"Allusions to {index.name}", f"Method {method}, index {index.name}")
        return _answers(job, index, retriever, asked, method)

    return work


def _answers(
    job: SearchJob, index: CandidateIndex, retriever: Retriever, asked: QueryRequest, method: str
) -> Iterator[JobItem]:
    last: list[Answer] = []

    def remembered() -> Iterator[Answer]:
        for answer in retriever.answers(asked.queries):
            last[:] = [answer]
            yield answer

    shown = findings_of(remembered(), index, retriever.analyser, retriever.compared, method)
    for number, finding in enumerate(shown, start=1):
        failure = last[0].failure
        if failure is not None:
            if len(asked.queries) == 1:
                raise failure
            job.left_out.append((finding.id, str(failure)))
        job.meta = replace(job.meta, notes=(*retriever.notes, *_told(last[0], job.meta.notes)))
        job.progress = number / len(asked.queries)
        answer = last[0] if asked.explain else _without_reasons(last[0])
        yield JobItem(answer_json(answer), finding, tuple(answer_tsv(answer)))


def _told(answer: Answer, known: tuple[str, ...]) -> list[str]:
    """What to say of each query: unanswered, hardly Latin, or too long to be searched whole."""
    told = [note for note in known if note.startswith("Query ")]
    query = f"Query {answer.query.query.query_id}"
    if answer.failure is not None:
        told.append(f"{query} was not answered: {answer.failure}")
    if answer.doubt:
        told.append(f"{query}: {answer.doubt}")
    if answer.cut:
        told.append(
            f"{query}: {answer.cut} of its most frequent words were not searched for; a shorter "
            "text finds more."
        )
    return told


def _without_reasons(answer: Answer) -> Answer:
    return replace(answer, hits=tuple(replace(hit, contributions=()) for hit in answer.hits))


def scan_work(asked: ScanRequest, text: StoredText, scan: Scan) -> Work:
    """The work of reading a text."""
    source = text.source

    def work(job: SearchJob, index: CandidateIndex) -> Iterator[JobItem]:
        method = "Scan, fast" if asked.fast else "Scan"
        if asked.threshold is not None:
            method = f"{method}, probability from {asked.threshold:g}"
        doubt = text_doubt(source.text, index, index_analyser(index))
        note = calibration_note(unmeasured(index, scan_options(asked)))
        notes = [f"The text: {doubt}"] if doubt else []
        job.meta = scan_meta(source, index.name, method, [*notes, *([note] if note else [])])

        def progress(share: float) -> None:
            job.progress = max(job.progress, min(1.0, share))

        found = scan(source, index, asked, lambda: job.stopping, progress)
        return _scanned(source, index, found, progress)

    return work


def _scanned(
    source: SourceText,
    index: CandidateIndex,
    findings: Iterator[Finding],
    progress: Callable[[float], None],
) -> Iterator[JobItem]:
    last: list[Finding] = []

    def remembered() -> Iterator[Finding]:
        for finding in findings:
            last[:] = [finding]
            yield finding

    for shown in scanned_findings(source, remembered(), index, index_analyser(index)):
        finding = last[0]
        progress(finding.end / len(source.text))
        yield JobItem(json_line(source, finding), shown, finding=finding)
