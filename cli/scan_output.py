"""What `allusion-es scan` writes: a table, or a file for each text."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from allusion_es.core.errors import StorageError, UsageError
from allusion_es.corpora.findings import Finding
from allusion_es.corpora.source import SourceText

if TYPE_CHECKING:
    from allusion_es.cli.scanning import Job
    from allusion_es.retrieval.index import CandidateIndex

_SUFFIXES = {
    "table": ".txt", "tsv": ".tsv", "json": ".jsonl", "jsonld": ".jsonld", "tei": ".xml",
    "html": ".html",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Output:
    """Where findings go, and how.

    Attributes:
        format: A key of the formats of `allusion-es scan`.
        tei: `inline`, `standoff` or `separate`.
        folder: Where files go, or None for stdout.
        force: Overwrite them.
    """

    format: str
    tei: str
    folder: Path | None
    force: bool = False

    def check(self, files: Sequence[Path], *, resume: bool) -> None:
        """Refuse what would overwrite something or mix up files, before anything is done.

        Raises:
            UsageError: See the message.
        """
        if self.folder is None:
            if resume:
                raise UsageError("--resume needs --out DIR, where what was done is kept")
            if len(files) > 1 and self.format != "table":
                raise UsageError(f"{len(files)} files in one {self.format} output: give --out DIR")
            return
        if self.format == "table":
            raise UsageError("--out needs a --format for files: tsv, json, jsonld, tei or html")
        targets: dict[Path, Path] = {}
        for path in files:
            target = self._path(path)
            if target in targets:
                raise UsageError(
                    f"{targets[target]} and {path} would both be written to {target}; scan them "
                    "into two folders"
                )
            targets[target] = path
            if target.exists() and not self.force:
                raise UsageError(f"{target} exists; give --force to overwrite it")
            if target.exists() and target.samefile(path):
                raise UsageError(f"{target} is the file that is read; give another --out")

    def journal(self, path: Path) -> Path | None:
        """Where what is done is kept until a text is finished."""
        from allusion_es.scanning.journal import SUFFIX

        if self.folder is None:
            return None
        target = self._path(path)
        return target.with_name(target.name + SUFFIX)

    def write(self, source: SourceText, found: Sequence[Finding], job: "Job") -> None:
        """Write the findings of a text, whole or not at all.

        Raises:
            UsageError: Findings of a plain text cannot be written as TEI into it.
            StorageError: A file cannot be written.
        """
        from allusion_es.core.files import write_lines, writing

        target = None if self.folder is None else self._path(source.path)
        if self.format == "html":
            self._report(target, source, found, job)
        elif self.format == "tei" and self.tei != "separate":
            chunks = self._marked(source, found)
            if target is None:
                for chunk in chunks:
                    sys.stdout.buffer.write(chunk)
                return
            with writing(target) as file:
                for chunk in chunks:
                    file.write(chunk)
        elif target is not None and self.format == "tsv":
            from allusion_es.corpora.finding_table import write_table

            write_table(target, source, found)
        else:
            write_lines(target or sys.stdout, self._lines(source, found))

    def _path(self, path: Path) -> Path:
        assert self.folder is not None
        return self.folder / f"{path.stem}{_SUFFIXES[self.format]}"

    def _lines(self, source: SourceText, found: Sequence[Finding]) -> Iterator[str]:
        from allusion_es.corpora.finding_table import table_lines
        from allusion_es.corpora.findings import json_line
        from allusion_es.corpora.tei_standoff import standoff_lines
        from allusion_es.corpora.web_annotation import annotation_lines

        if self.format == "json":
            return (json_line(source, finding) for finding in found)
        if self.format == "jsonld":
            return annotation_lines(source, found)
        if self.format == "tei":
            return standoff_lines(source, found)
        return table_lines(source, found)

    def _marked(self, source: SourceText, found: Sequence[Finding]) -> Iterator[bytes]:
        from allusion_es.corpora.tei_standoff import standoff_markup
        from allusion_es.corpora.tei_write import inline_markup, with_insertions

        if source.kind != "tei":
            raise UsageError(
                f"{source.path} is no TEI file, so no markup can go into it; use --tei separate"
            )
        markup = inline_markup if self.tei == "inline" else standoff_markup
        return with_insertions(source, markup(source, found))

    def _report(
        self, target: Path | None, source: SourceText, found: Sequence[Finding], job: "Job"
    ) -> None:
        from allusion_es.reports.report import write_report
        from allusion_es.reports.scanned import scan_meta, scanned_findings
        from allusion_es.retrieval.pipeline import index_analyser

        if target is None:
            raise UsageError("--format html needs --out DIR, where the report goes")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{target.parent}: cannot be made ({error.strerror})") from error
        index = job.index
        method = "Scan, fast" if job.options.fast else "Scan"
        write_report(
            target,
            list(scanned_findings(source, found, index, index_analyser(index))),
            scan_meta(source, index.name, method),
        )


def print_tables(source: SourceText, found: Sequence[Finding], index: "CandidateIndex") -> None:
    """Print the findings of a text for people."""
    from rich.table import Table
    from rich.text import Text

    from allusion_es.cli.output import console

    to = console()
    to.print(Text(source.title or source.path.name, style="bold"))
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("place")
    table.add_column("words", ratio=3)
    table.add_column("passage")
    table.add_column("prob.", justify="right")
    table.add_column("kind")
    table.add_column("text of the passage", ratio=3)
    for finding in found:
        place = source.place(finding.start, finding.end)
        where = ", ".join(filter(None, (place.section, place.page and f"p. {place.page}")))
        passage = " ".join(one.text for one in index.passages(finding.passages))
        table.add_row(
            where or f"l. {place.line}" if place.line or where else str(finding.start),
            Text(" ".join(finding.text.split())),
            finding.reference,
            f"{finding.probability:.2f}",
            finding.kind,
            Text(passage),
        )
    to.print(table)
