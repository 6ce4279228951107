"""Reports for a browser."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allusion_es.corpora.findings import Finding as ScanFinding
    from allusion_es.corpora.source import SourceText
    from allusion_es.reports.finding import Finding
    from allusion_es.retrieval.index import CandidateIndex
    from allusion_es.retrieval.pipeline import Answer, Retriever


def write_answers(
    path: Path,
    answers: "Iterable[Answer]",
    retriever: "Retriever",
    index: "CandidateIndex",
    method: str,
) -> None:
    """Write a report of a retriever's answers, and say on stderr what is in it.

    Raises:
        StorageError: The file cannot be written.
    """
    from allusion_es.reports.answers import findings_of
    from allusion_es.reports.finding import ReportMeta
    from allusion_es.reports.report import write_report

    found = list(findings_of(answers, index, retriever.analyser, retriever.compared, method))
    meta = ReportMeta(
        title=f"Allusions to {index.name}",
        method=f"Method {method}, index {index.name}",
        notes=retriever.notes,
    )
    write_report(path, found, meta)
    matches = sum(len(finding.matches) for finding in found)
    print(f"{path}: {len(found)} queries, {matches} passages", file=sys.stderr)


def write_scans(
    path: Path,
    scanned: "Iterable[tuple[SourceText, Iterable[ScanFinding]]]",
    index: "CandidateIndex",
    method: str,
) -> None:
    """Write a report of what was found in texts, and say on stderr what is in it.

    Args:
        path: The file.
        scanned: Texts, each with what was found in it.
        index: Where it was found.
        method: How.

    Raises:
        StorageError: The file cannot be written.
    """
    from dataclasses import replace

    from allusion_es.reports.report import write_report
    from allusion_es.reports.scanned import scan_meta, scanned_findings
    from allusion_es.retrieval.pipeline import index_analyser

    analyser = index_analyser(index)
    found: list[Finding] = []
    sources: list[SourceText] = []
    stems: set[str] = set()
    for source, findings in scanned:
        stem = source.path.stem
        # Marks go by a finding's id, which files of one name in two folders must not share.
        name = f"{stem}.{len(sources) + 1}" if stem in stems else stem
        stems.add(name)
        sources.append(source)
        found += scanned_findings(source, findings, index, analyser, name)
    meta = scan_meta(sources[0], index.name, method)
    if len(sources) > 1:
        meta = replace(meta, title=f"Allusions in {len(sources)} texts", extent=0)
    write_report(path, found, meta)
    texts = f" in {len(sources)} texts" if len(sources) > 1 else ""
    print(f"{path}: {len(found)} findings{texts}", file=sys.stderr)
