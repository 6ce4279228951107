"""What `allusion-es scan` writes: a table, or a file for each text."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allusion_es.cli.partial import missing, missing_note
from allusion_es.core.errors import InputError, StorageError, UsageError
from allusion_es.corpora.findings import Finding
from allusion_es.corpora.source import SourceKind, SourceText

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

    def check(self, files: Sequence[Path], kind: SourceKind | None, *, resume: bool) -> None:
        """Refuse what cannot be written, or would overwrite something, before anything is done.

        Args:
            files: What will be scanned.
            kind: What they are; by default each as it looks.
            resume: Whether a stopped scan goes on.

        Raises:
            InputError: A file cannot be read.
            UsageError: See the message.
        """
        for path in files:
            _check_readable(path)
        if self.format == "tei":
            self._check_tei(files, kind)
        if self.folder is None:
            if resume:
                raise UsageError("--resume needs --out DIR, where what was done is kept")
            if self.format == "html":
                raise UsageError("--format html needs --out DIR, where the report goes")
            if len(files) > 1 and self.format != "table":
                raise UsageError(f"{len(files)} files in one {self.format} output: give --out DIR")
            return
        if self.format == "table":
            raise UsageError("--out needs a --format for files: tsv, json, jsonld, tei or html")
        self._check_targets(files, resume=resume)

    def _check_tei(self, files: Sequence[Path], kind: SourceKind | None) -> None:
        from allusion_es.corpora.formats import kind_of

        for path in files:
            found = kind or kind_of(path)
            if found in ("html", "docx"):
                raise UsageError(
                    f"{path} is {found.upper()}, to whose characters TEI cannot point; use "
                    "another --format"
                )
            if found != "tei" and self.tei != "separate":
                raise UsageError(
                    f"{path} is no TEI file, so no markup can go into it; use --tei separate"
                )

    def _check_targets(self, files: Sequence[Path], *, resume: bool) -> None:
        targets: dict[Path, Path] = {}
        for path in files:
            target = self._path(path)
            if target in targets:
                raise UsageError(
                    f"{targets[target]} and {path} would both be written to {target}; scan them "
                    "into two folders"
                )
            targets[target] = path
            if any(target.exists() and target.samefile(each) for each in files):
                raise UsageError(f"{target} is a file that is read; give another --out")
            left = self.journal(path)
            is_left = left is not None and left.exists()
            if is_left and not (resume or self.force):
                raise UsageError(
                    f"{left} is left of a scan that was stopped; give --resume to go on with it, "
                    "or --force to begin anew"
                )
            # A stopped scan of several files has written some of them.
            if target.exists() and not (self.force or (resume and is_left)):
                raise UsageError(f"{target} exists; give --force to overwrite it")

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
            InputError: The file has changed since it was read.
            StorageError: A file cannot be written.
        """
        from allusion_es.core.files import write_lines, writing

        target = None if self.folder is None else self._path(source.path)
        if self.format == "table":
            print_table(source, found, job.index)
        elif self.format == "html":
            assert target is not None
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
            write_lines(target or sys.stdout, self._lines(source, found, missing(job.partial)))

    def _path(self, path: Path) -> Path:
        assert self.folder is not None
        return self.folder / f"{path.stem}{_SUFFIXES[self.format]}"

    def _lines(
        self, source: SourceText, found: Sequence[Finding], partial: Mapping[str, Any] | None
    ) -> Iterator[str]:
        from allusion_es.corpora.finding_table import table_lines
        from allusion_es.corpora.findings import json_line
        from allusion_es.corpora.tei_standoff import standoff_lines
        from allusion_es.corpora.web_annotation import annotation_lines

        if self.format == "json":
            return (json_line(source, finding, partial) for finding in found)
        if self.format == "jsonld":
            return annotation_lines(source, found)
        if self.format == "tei":
            return standoff_lines(source, found)
        return table_lines(source, found)

    def _marked(self, source: SourceText, found: Sequence[Finding]) -> Iterator[bytes]:
        from allusion_es.corpora.tei_standoff import standoff_markup
        from allusion_es.corpora.tei_write import inline_markup, with_insertions

        markup = inline_markup if self.tei == "inline" else standoff_markup
        return with_insertions(source, markup(source, found))

    def _report(
        self, target: Path, source: SourceText, found: Sequence[Finding], job: "Job"
    ) -> None:
        from allusion_es.reports.report import write_report
        from allusion_es.reports.scanned import calibration_note, scan_meta, scanned_findings
        from allusion_es.retrieval.pipeline import index_analyser

        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{target.parent}: cannot be made ({error.strerror})") from error
        index = job.index
        note = missing_note(job.partial)
        method = "Scan, fast" if job.options.fast else "Scan"
        write_report(
            target,
            list(scanned_findings(source, found, index, index_analyser(index))),
            scan_meta(
                source,
                index.name,
                method,
                tuple(filter(None, [note, calibration_note(job.scanner.unmeasured)])),
            ),
        )


def _check_readable(path: Path) -> None:
    """Of many files a wrong name should be told before the first is scanned, not hours later."""
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def print_table(source: SourceText, found: Sequence[Finding], index: "CandidateIndex") -> None:
    """Print the findings of a text for people."""
    from rich.table import Table
    from rich.text import Text

    from allusion_es.cli.output import console

    to = console()
    to.print(Text(source.title or source.path.name, style="bold"))
    if not found:
        return
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("place")
    table.add_column("words", ratio=3)
    table.add_column("passage")
    table.add_column("prob.", justify="right")
    table.add_column("kind")
    table.add_column("text of the passage", ratio=3)
    for finding in found:
        passage = " ".join(one.text for one in index.passages(finding.passages))
        table.add_row(
            Text(_place(source, finding)),
            Text(" ".join(finding.text.split())),
            Text(finding.reference),
            f"{finding.probability:.2f}",
            finding.kind,
            Text(passage),
        )
    to.print(table)


def _place(source: SourceText, finding: Finding) -> str:
    """Section, page and line, as far as the text has them; else the first character."""
    place = source.place(finding.start, finding.end)
    parts = (place.section, place.page and f"p. {place.page}", place.line and f"l. {place.line}")
    return ", ".join(filter(None, parts)) or str(finding.start)
