"""Reports for a browser."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allusion_es.retrieval.index import CandidateIndex
    from allusion_es.retrieval.pipeline import Answer, Retriever


def write_answers(
    path: Path,
    answers: "Iterable[Answer]",
    retriever: "Retriever",
    index: "CandidateIndex",
    method: str,
    note: Callable[[], str] = str,
) -> None:
    """Write a report of a retriever's answers, and say on stderr what is in it.

    Args:
        path: Where to.
        answers: The answers.
        retriever: Who gives them.
        index: Where they are from.
        method: How they were found, for people to read.
        note: Asked once all answers are there; "" or what else the report must say.

    Raises:
        StorageError: The file cannot be written.
    """
    from allusion_es.reports.answers import findings_of
    from allusion_es.reports.finding import ReportMeta
    from allusion_es.reports.report import write_report

    failed: list[str] = []

    def noted() -> "Iterator[Answer]":
        for answer in answers:
            if answer.failure is not None:
                failed.append(answer.query.query.query_id)
            yield answer

    found = list(findings_of(noted(), index, retriever.analyser, retriever.compared, method))
    lack = f"Queries that could not be answered: {', '.join(failed)}." if failed else ""
    meta = ReportMeta(
        title=f"Allusions to {index.name}",
        method=f"Method {method}, index {index.name}",
        notes=(*retriever.notes, *filter(None, (note(), lack))),
    )
    write_report(path, found, meta)
    matches = sum(len(finding.matches) for finding in found)
    print(f"{path}: {len(found)} queries, {matches} passages", file=sys.stderr)
