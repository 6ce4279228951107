"""`allusion-es scan`: where does a text allude, and to what?"""

import contextlib
import functools
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allusion_es.cli.options import Name, ServerOptions, open_candidate_index, takes_server
from allusion_es.cli.partial import AllowPartial, missing, missing_note, partial_of, tell_missing
from allusion_es.cli.progress import progress
from allusion_es.cli.read import Languages, tell_left_out
from allusion_es.core.errors import AllusionError, InputError, StorageError, UsageError
from allusion_es.core.files import writing
from allusion_es.core.locks import scratch_folder
from allusion_es.corpora.findings import Finding
from allusion_es.corpora.source import SourceKind, SourceText
from allusion_es.scanning.model import ScanOptions

if TYPE_CHECKING:
    from allusion_es.corpora.source import SourceKind as Kind
    from allusion_es.es.partial import Partial
    from allusion_es.retrieval.index import CandidateIndex
    from allusion_es.scanning.journal import Journal
    from allusion_es.scanning.scanner import Block, Scanned

# Doing what `allusion-es scan` asks for, one text after the other.


_ALONE = 4
"""Blocks from which more than one process is worth its start."""


class ScanJob:
    """Scans texts with the same options.

    Args:
        name: Name of the index.
        server: Where it is.
        options: What to look for.
        workers: Processes.
        resume: Go on where a scan was stopped.
        partial: See `es.index.open_index`.

    Attributes:
        index: The index, opened.
        options: What to look for.
        scanner: What scans in this process.
        partial: As given.
    """

    def __init__(
        self,
        name: str,
        server: ServerOptions,
        options: ScanOptions,
        workers: int,
        *,
        resume: bool,
        partial: "Partial | None" = None,
    ) -> None:
        from allusion_es.scanning.scanner import Scanner

        self._open = functools.partial(open_candidate_index, name, server, partial)
        self.index: CandidateIndex = self._open()
        self.options = options
        self.partial = partial
        self.scanner: Scanner = Scanner(self.index, options)
        self._workers = workers
        self._resume = resume
        self._journal: Journal | None = None
        self._kept: list[Path] = []

    def scan(self, source: SourceText, journal: Path | None) -> list[Finding]:
        """All findings of a text, in its order.

        Args:
            source: The text.
            journal: Where what is done is kept meanwhile, or None.
        """
        from allusion_es.scanning.scanner import cut, seamless

        self._warn(source)
        blocks = list(cut(source.text))
        if self.partial is not None:
            journal = None  # what lacks something must not be taken up later
        kept = self._journal = None if journal is None else self._open_journal(source, journal)
        done = dict(kept.done) if kept else {}
        missing = [block for block in blocks if block.number not in done]
        scanned = progress(self._scanned(missing), f"Scanning {source.path.name}", len(missing))
        for block, findings in scanned:
            done[block.number] = findings
            if kept is not None:
                kept.add(block.number, findings)
        self._put_aside()
        return list(seamless(done[number] for number in sorted(done)))

    def _open_journal(self, source: SourceText, path: Path) -> "Journal":
        from allusion_es.scanning.journal import Journal, scan_key

        was_there = path.exists()
        key = scan_key(source, self.options, self.index.fingerprint)
        journal = Journal(path, key, resume=self._resume)
        if self._resume and was_there and not journal.done:
            print(
                f"{path}: nothing in it can be used for this text, index, version and options; "
                "begun anew",
                file=sys.stderr,
            )
        return journal

    def _put_aside(self) -> None:
        """Close the journal; one in which something was done stays until all files are written."""
        journal, self._journal = self._journal, None
        if journal is None:
            return
        journal.close()
        if journal.done:
            self._kept.append(journal.path)
        else:
            journal.path.unlink(missing_ok=True)

    def _scanned(self, blocks: "Sequence[Block]") -> "Iterable[Scanned]":
        from allusion_es.scanning.scanner import scan_in_processes

        workers = min(self._workers, len(blocks) // _ALONE)
        if workers > 1:
            return scan_in_processes(self._open, self.options, blocks, workers)
        return self.scanner.blocks(blocks)

    def finish(self) -> None:
        """All files are written: nothing is left to go on from."""
        for path in self._kept:
            path.unlink(missing_ok=True)

    def leave(self) -> str:
        """Stop before all is written; gives what to tell of what is kept, or ""."""
        self._put_aside()
        if not self._kept:
            return ""
        return f"what was done is kept in {', '.join(map(str, self._kept))}; --resume goes on"

    def tell(self, source: SourceText, count: int) -> None:
        """Say on stderr how many findings there are, and how far to trust them."""
        noun = "finding" if count == 1 else "findings"
        threshold = self.scanner.threshold
        print(
            f"{source.path}: {count} {noun} of probability {threshold:g} or more ({self._trust()})",
            file=sys.stderr,
        )

    def _trust(self) -> str:
        """What was measured of such a scan, or why nothing was."""
        if self.scanner.unmeasured:
            wanted = self.options.precision
            asked = f"; nor is the precision of {wanted:g}" if wanted is not None else ""
            return f"{self.scanner.unmeasured}{asked}"
        if self.partial is not None and self.partial.worst is not None:
            return "not calibrated for a part of the collection, only for the whole"
        threshold, point = self.scanner.threshold, self.scanner.measured
        if point is None:
            return f"nothing was measured at {threshold:g}"
        where = "" if point.threshold == threshold else f" at {point.threshold:g}"
        return f"measured{where}: precision {point.precision:.2f}, recall {point.recall:.2f}"

    def _warn(self, source: SourceText) -> None:
        """Say on stderr if a text is hardly one in the language of the index."""
        from allusion_es.retrieval.latin import text_doubt
        from allusion_es.retrieval.pipeline import index_analyser

        if doubt := text_doubt(source.text, self.index, index_analyser(self.index)):
            print(f"{source.path}: {doubt}", file=sys.stderr)


# What `allusion-es scan` writes: a table, or a file for each text.


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

    def write(self, source: SourceText, found: Sequence[Finding], job: "ScanJob") -> None:
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
        from allusion_es.corpora.tei.standoff import standoff_lines
        from allusion_es.corpora.web_annotation import annotation_lines

        if self.format == "json":
            return (json_line(source, finding, partial) for finding in found)
        if self.format == "jsonld":
            return annotation_lines(source, found)
        if self.format == "tei":
            return standoff_lines(source, found)
        return table_lines(source, found)

    def _marked(self, source: SourceText, found: Sequence[Finding]) -> Iterator[bytes]:
        from allusion_es.corpora.tei.standoff import standoff_markup
        from allusion_es.corpora.tei.write import inline_markup, with_insertions

        markup = inline_markup if self.tei == "inline" else standoff_markup
        return with_insertions(source, markup(source, found))

    def _report(
        self, target: Path, source: SourceText, found: Sequence[Finding], job: "ScanJob"
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


_STDIN = Path("-")


class FindingFormat(StrEnum):
    """How findings are written."""

    table = "table"
    tsv = "tsv"
    json = "json"
    jsonld = "jsonld"
    tei = "tei"
    html = "html"


class TeiStyle(StrEnum):
    """How findings stand in TEI."""

    inline = "inline"
    standoff = "standoff"
    separate = "separate"


class SourceFormat(StrEnum):
    """What a source file is."""

    text = "text"
    tei = "tei"
    html = "html"
    docx = "docx"


@takes_server
def scan(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…|-",
            help="Plain texts, TEI, HTML or DOCX files; or - for stdin.",
            show_default=False,
        ),
    ],
    name: Name = "vulgate",
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Probability that findings need; the measured default otherwise.",
            show_default=False,
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            help="Instead: the threshold at which this precision was measured, such as 0.8.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", "-k", help="Passages a finding, with alternatives: 1 to 6.")
    ] = 6,
    fast: Annotated[
        bool, typer.Option("--fast", help="Only what is clear: several times as fast.")
    ] = False,
    book: Annotated[
        list[str] | None, typer.Option(help="Only this book, by any of its names; repeatable.")
    ] = None,
    testament: Annotated[
        list[str] | None, typer.Option(help="Only this testament: ot or nt.")
    ] = None,
    work: Annotated[list[str] | None, typer.Option(help="Only this work; repeatable.")] = None,
    format: Annotated[
        FindingFormat,
        typer.Option(
            help="json: a finding a line; jsonld: W3C Web Annotations; tei: the file with markup; "
            "html: a report for a browser."
        ),
    ] = FindingFormat.table,
    tei: Annotated[
        TeiStyle, typer.Option(help="With --format tei: in the text, in its standOff, or apart.")
    ] = TeiStyle.inline,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Write a file for each FILE.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files in DIR.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --out: go on where a scan was stopped.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; one a processor by default.", show_default=False),
    ] = None,
    input_format: Annotated[
        SourceFormat | None,
        typer.Option(help="What the files are; by their names by default.", show_default=False),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ELEMENT",
            help="Read these TEI elements too, such as note; repeatable.",
            show_default=False,
        ),
    ] = None,
    language: Languages = None,
    allow_partial: AllowPartial = False,
    *,
    server: ServerOptions,
) -> None:
    """Find every stretch of a text that alludes to a passage, and to which.

    The text is read whole, with its quotations, paraphrases and allusions; each finding says how
    likely it is. Notes, apparatus, front and back matter and other languages of TEI files are left
    out; what is read of a file is what `allusion-es read` prints.
    """
    from allusion_es.cli.scan import Output, ScanJob
    from allusion_es.corpora.source import SOURCE_KINDS
    from allusion_es.retrieval.options import search_filter_of
    from allusion_es.scanning.model import ScanOptions

    options = ScanOptions(
        threshold=threshold,
        precision=precision,
        fast=fast,
        top=top,
        search_filter=search_filter_of(book, testament, work),
    )
    kind = next((each for each in SOURCE_KINDS if each == input_format), None)
    output = Output(format.value, tei.value, out, force=force)
    if allow_partial and resume:
        raise UsageError("--allow-partial keeps nothing to go on with; leave out --resume")
    with with_stdin(files) as (paths, names):
        output.check(paths, kind, resume=resume)
        partial = partial_of(allow_partial, server)
        # What other processes miss cannot be told here.
        processes = 1 if allow_partial else workers or os.cpu_count() or 1
        job = ScanJob(name, server, options, processes, resume=resume, partial=partial)
        try:
            _scan(paths, names, kind, frozenset(keep or ()), frozenset(language or ()), job, output)
        except AllusionError as error:
            kept = job.leave()
            raise type(error)(f"{error}; {kept}" if kept else str(error)) from error
        except KeyboardInterrupt as error:
            kept = job.leave()
            raise KeyboardInterrupt(f"interrupted; {kept}" if kept else "") from error


def _scan(
    files: list[Path],
    names: dict[Path, Path],
    kind: "Kind | None",
    keep: frozenset[str],
    languages: frozenset[str],
    job: "ScanJob",
    output: "Output",
) -> None:
    from allusion_es.corpora.source import read_source

    for path in files:
        source = read_source(path, kind=kind, keep=keep, languages=languages)
        shown = replace(source, path=names.get(path, path))
        tell_left_out(shown)
        found = job.scan(shown, output.journal(path))
        output.write(source, found, job)
        sys.stdout.flush()
        job.tell(shown, len(found))
    job.finish()
    tell_missing(job.partial)


@contextlib.contextmanager
def with_stdin(files: list[Path]) -> Iterator[tuple[list[Path], dict[Path, Path]]]:
    """The files, with a copy of stdin for `-`, and what that copy is called in messages.

    What it is shows in its first bytes, and some formats must be read from a file.
    """
    if _STDIN not in files:
        yield files, {}
        return
    if files.count(_STDIN) > 1:
        raise UsageError("'-' is there twice, but stdin can be read once only")
    with scratch_folder() as folder:
        copy = folder / "stdin"
        with writing(copy) as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield [copy if path == _STDIN else path for path in files], {copy: Path(copy.name)}
        except AllusionError as error:
            raise type(error)(str(error).replace(str(copy), copy.name)) from error
