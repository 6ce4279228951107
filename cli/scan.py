"""`allusion-es scan`: where does a text allude, and to what?

The command checks that everything can be written, then takes one file after the other: it reads
the text, finds allusions block by block (`_find`), writes them (`_Output.write`) and says on
stderr how far their probabilities can be trusted. With `--out` or `--html`, journals keep what is
done until all files are written.
"""

import functools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allusion_es.cli.options import (
    Author,
    ExcludeAuthor,
    ExcludeWork,
    Html,
    Name,
    OwnWork,
    ServerOptions,
    open_candidate_index,
    takes_html,
    takes_server,
)
from allusion_es.cli.partial import AllowPartial, missing, missing_note, partial_of, tell_missing
from allusion_es.cli.progress import progress
from allusion_es.cli.read import (
    KeptElements,
    Languages,
    SourceFormatOption,
    print_left_out,
    with_stdin,
)
from allusion_es.core.errors import AllusionError, InputError, UsageError
from allusion_es.core.files import write_lines, writing
from allusion_es.retrieval.defaults import DEFAULTS

if TYPE_CHECKING:
    from allusion_es.corpora.findings import Finding
    from allusion_es.corpora.source_text import SourceKind, SourceText
    from allusion_es.es.partial import Partial
    from allusion_es.reports.report import ReportFinding, ReportMeta
    from allusion_es.retrieval.index import CandidateIndex
    from allusion_es.scanning.journal import Journal
    from allusion_es.scanning.scanner import OpenIndex, Scanner

_BLOCKS_A_PROCESS = 4
"""Blocks that make a process worth its start: each must start and open the index."""

_SUFFIXES = {
    "table": ".txt", "tsv": ".tsv", "json": ".jsonl", "jsonld": ".jsonld", "tei": ".xml",
}  # fmt: skip
"""Suffixes of output files, by format."""


class FindingFormat(StrEnum):
    """The formats of findings."""

    table = "table"
    tsv = "tsv"
    json = "json"
    jsonld = "jsonld"
    tei = "tei"


class TeiStyle(StrEnum):
    """Places of findings in TEI: in the text, in its standOff, or in a file of their own."""

    inline = "inline"
    standoff = "standoff"
    separate = "separate"


@takes_server
def scan(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…|-",
            help="Plain texts, TEI, HTML or DOCX files; or - for stdin.",
            show_default=False,
        ),
    ],
    name: Name = DEFAULTS.name,
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
    author: Author = None,
    exclude_work: ExcludeWork = None,
    exclude_author: ExcludeAuthor = None,
    own_work: OwnWork = False,
    html: Html = None,
    format: Annotated[
        FindingFormat | None,
        typer.Option(
            help="json: a finding a line; jsonld: W3C Web Annotations; tei: the file with markup; "
            "a table by default.",
            show_default=False,
        ),
    ] = None,
    tei: Annotated[
        TeiStyle, typer.Option(help="With --format tei: in the text, in its standOff, or apart.")
    ] = TeiStyle.inline,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Write a file for each FILE.", show_default=False
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files in DIR; begin a stopped scan anew.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --out or --html: go on where a scan was stopped.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; one a processor by default.", show_default=False),
    ] = None,
    input_format: SourceFormatOption = None,
    keep: KeptElements = None,
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
    from allusion_es.corpora.source import read_source
    from allusion_es.corpora.source_text import SOURCE_KINDS
    from allusion_es.retrieval.options import search_filter_of
    from allusion_es.scanning.model import ScanOptions
    from allusion_es.scanning.scanner import Scanner

    options = ScanOptions(
        threshold=threshold,
        precision=precision,
        fast=fast,
        top=top,
        search_filter=search_filter_of(
            book,
            testament,
            work,
            authors=author,
            excluded_works=exclude_work,
            excluded_authors=exclude_author,
            own_work=own_work,
        ),
    )
    kind = next((each for each in SOURCE_KINDS if each == input_format), None)
    if out is None and takes_html(context, html, "format"):
        format = None
    output = _Output(format, tei, out, html, force=force)
    if allow_partial and resume:
        raise UsageError("--allow-partial keeps nothing to go on with; leave out --resume")
    with with_stdin(files) as (paths, names):
        output.check(paths, kind, resume=resume)
        partial = partial_of(allow_partial, server)
        # Other processes could not tell this one which shards they missed.
        processes = 1 if allow_partial else workers or os.cpu_count() or 1
        open_index = functools.partial(open_candidate_index, name, server, partial)
        scanner = Scanner(open_index(), options)
        report = None if html is None else _Report(html, partial)
        journals = _Journals(resume=resume)
        try:
            for number, path in enumerate(paths, start=1):
                source = read_source(
                    path, kind=kind, keep=frozenset(keep or ()), languages=frozenset(language or ())
                )
                shown = replace(source, path=names.get(path, path))
                print_left_out(shown)
                _tell_doubt(shown, scanner.index)
                own = scanner.of_text(source)
                if own.own_note:
                    print(f"{shown.path}: {own.own_note}", file=sys.stderr)
                # With shards missing, what is found is not whole, and must not be gone on from.
                kept = output.journal(path, number) if partial is None else None
                journal = journals.open(shown, own, kept)
                found = _find(shown, own, open_index, processes, journal)
                journals.close()
                output.write(source, found, scanner.index, partial)
                if report is not None:
                    report.add(shown, found, own)
                sys.stdout.flush()
                _tell_count(shown, len(found), own, partial)
            if report is not None:
                report.write()
            journals.delete()
            tell_missing(partial)
        except AllusionError as error:
            left = journals.leave()
            raise type(error)(f"{error}; {left}" if left else str(error)) from error
        except KeyboardInterrupt as error:
            left = journals.leave()
            raise KeyboardInterrupt(f"interrupted; {left}" if left else "") from error


def _find(
    source: "SourceText",
    scanner: "Scanner",
    open_index: "OpenIndex",
    processes: int,
    journal: "Journal | None",
) -> "list[Finding]":
    """All findings of a text, in its order.

    Args:
        source: The text.
        scanner: Scans in this process, if the text is short or only one process is wanted.
        open_index: Opens the index in other processes.
        processes: How many to use at most.
        journal: Has the blocks that are done, and gets those that are scanned now; or None.
    """
    from allusion_es.scanning.scanner import cut, scan_in_processes, seamless

    done = dict(journal.done) if journal is not None else {}
    blocks = [block for block in cut(source.text) if block.number not in done]
    workers = min(processes, len(blocks) // _BLOCKS_A_PROCESS)
    if workers > 1:
        scanned = scan_in_processes(open_index, scanner.options, blocks, workers)
    else:
        scanned = scanner.blocks(blocks)
    for block, findings in progress(scanned, f"Scanning {source.path.name}", len(blocks)):
        done[block.number] = findings
        if journal is not None:
            journal.add(block.number, findings)
    return list(seamless(done[number] for number in sorted(done)))


class _Journals:
    """The journals of a command: each has the blocks of one text that are done.

    They stay until all output is written, so that a command that was stopped can go on.

    Args:
        resume: Go on from journals that are there.
    """

    def __init__(self, *, resume: bool) -> None:
        self._resume = resume
        self._open: Journal | None = None
        self._kept: list[Path] = []

    def open(self, source: "SourceText", scanner: "Scanner", path: Path | None) -> "Journal | None":
        """The journal of a text in this file; None where there is none.

        Args:
            source: The text.
            scanner: What scans it; a journal of another index, version or options is begun anew.
            path: The file, or None.
        """
        from allusion_es.scanning.journal import Journal, scan_key

        if path is None:
            return None
        was_there = path.exists()
        key = scan_key(source, scanner.options, scanner.index.fingerprint)
        self._open = journal = Journal(path, key, resume=self._resume)
        if self._resume and was_there and not journal.done:
            print(
                f"{path}: nothing in it can be used for this text, index, version and options; "
                "begun anew",
                file=sys.stderr,
            )
        return journal

    def close(self) -> None:
        """Close the open journal and keep its file, if anything was done."""
        journal, self._open = self._open, None
        if journal is None:
            return
        journal.close()
        if journal.done:
            self._kept.append(journal.path)
        else:
            journal.path.unlink(missing_ok=True)

    def delete(self) -> None:
        """Delete all journals: every file is written, and there is nothing to go on with."""
        for path in self._kept:
            path.unlink(missing_ok=True)

    def leave(self) -> str:
        """Close the open journal when the command stops early; says what is kept, or ""."""
        self.close()
        if not self._kept:
            return ""
        return f"what was done is kept in {', '.join(map(str, self._kept))}; --resume goes on"


def _tell_doubt(source: "SourceText", index: "CandidateIndex") -> None:
    """Say on stderr if a text is hardly in the language of the index."""
    from allusion_es.retrieval.latin import text_doubt
    from allusion_es.retrieval.pipeline import index_analyser

    if doubt := text_doubt(source.text, index, index_analyser(index)):
        print(f"{source.path}: {doubt}", file=sys.stderr)


def _tell_count(
    source: "SourceText", count: int, scanner: "Scanner", partial: "Partial | None"
) -> None:
    """Say on stderr how many findings there are, and how far to trust them."""
    noun = "finding" if count == 1 else "findings"
    print(
        f"{source.path}: {count} {noun} of probability {scanner.threshold:g} or more "
        f"({_trust(scanner, partial)})",
        file=sys.stderr,
    )


def _trust(scanner: "Scanner", partial: "Partial | None") -> str:
    """The precision and recall that were measured for such a scan, or why none were."""
    if scanner.unmeasured:
        wanted = scanner.options.precision
        asked = f"; nor is the precision of {wanted:g}" if wanted is not None else ""
        return f"{scanner.unmeasured}{asked}"
    if partial is not None and partial.worst is not None:
        return "not calibrated for a part of the collection, only for the whole"
    threshold, point = scanner.threshold, scanner.measured
    if point is None:
        return f"nothing was measured at {threshold:g}"
    where = "" if point.threshold == threshold else f" at {point.threshold:g}"
    return f"measured{where}: precision {point.precision:.2f}, recall {point.recall:.2f}"


@dataclass(frozen=True, slots=True)
class _Output:
    """The output of a scan: format and place.

    Attributes:
        chosen: The format that was asked for, if any was.
        tei: Where findings stand in TEI.
        folder: Where files go, or None for stdout.
        html: Where a report goes, or None; without a folder, nothing but it is written.
        force: Overwrite files in the folder.
    """

    chosen: FindingFormat | None
    tei: TeiStyle
    folder: Path | None
    html: Path | None = None
    force: bool = False

    @property
    def format(self) -> FindingFormat:
        """The format of what is printed, or of the files."""
        return self.chosen or FindingFormat.table

    def check(self, files: Sequence[Path], kind: "SourceKind | None", *, resume: bool) -> None:
        """Refuse output that cannot be written, or would overwrite a file, before any work.

        Args:
            files: The files that will be scanned.
            kind: Their kind; by default each as it looks.
            resume: Whether a stopped scan goes on.

        Raises:
            InputError: A file cannot be read.
            UsageError: Options do not go together, or a file would be overwritten.
        """
        for path in files:
            _check_readable(path)
        if self.format == "tei":
            self._check_tei(files, kind)
        if self.folder is None and self.html is None:
            if resume:
                raise UsageError(
                    "--resume needs --out DIR or --html FILE, beside which what was done is kept"
                )
            if len(files) > 1 and self.format != "table":
                raise UsageError(f"{len(files)} files in one {self.format} output: give --out DIR")
            return
        if self.folder is not None and self.format == "table":
            raise UsageError("--out needs a --format for files: tsv, json, jsonld or tei")
        self._check_targets(files, resume=resume)

    def _check_tei(self, files: Sequence[Path], kind: "SourceKind | None") -> None:
        from allusion_es.corpora.formats import kind_of

        for path in files:
            found = kind or kind_of(path)
            if found in ("html", "docx", "passages"):
                what = "a file of passages" if found == "passages" else found.upper()
                raise UsageError(
                    f"{path} is {what}, to whose characters TEI cannot point; use another --format"
                )
            if found != "tei" and self.tei != "separate":
                raise UsageError(
                    f"{path} is no TEI file, so no markup can go into it; use --tei separate"
                )

    def _check_targets(self, files: Sequence[Path], *, resume: bool) -> None:
        if self.html is not None:
            _check_not_read(self.html, files, "--html")
        targets: dict[Path, Path] = {}
        for number, path in enumerate(files, start=1):
            left = self.journal(path, number)
            is_left = left is not None and left.exists()
            if is_left and not (resume or self.force):
                raise UsageError(
                    f"{left} is left of a scan that was stopped; give --resume to go on with it, "
                    "or --force to begin anew"
                )
            if self.folder is None:
                continue
            target = self._path(path)
            if target in targets:
                raise UsageError(
                    f"{targets[target]} and {path} would both be written to {target}; scan them "
                    "into two folders"
                )
            targets[target] = path
            _check_not_read(target, files, "--out")
            # A stopped scan of several files has written some of them.
            if target.exists() and not (self.force or (resume and is_left)):
                raise UsageError(f"{target} exists; give --force to overwrite it")

    def journal(self, path: Path, number: int) -> Path | None:
        """The file of the journal of a text, beside its output; None if nothing is written.

        Args:
            path: The text.
            number: Its place among the files, from 1; for a report, which is one for all of them.
        """
        from allusion_es.scanning.journal import SUFFIX

        if self.folder is not None:
            target = self._path(path)
            return target.with_name(target.name + SUFFIX)
        if self.html is not None:
            return self.html.with_name(f"{self.html.name}.{number}{SUFFIX}")
        return None

    def write(
        self,
        source: "SourceText",
        found: "Sequence[Finding]",
        index: "CandidateIndex",
        partial: "Partial | None",
    ) -> None:
        """Write the findings of a text, whole or not at all; nothing if there is only a report.

        Args:
            source: The text, as read from its file.
            found: Its findings, in order.
            index: Where their passages are.
            partial: Says which shards were missing, or None.

        Raises:
            InputError: The file has changed since it was read.
            StorageError: A file cannot be written.
        """
        if self.folder is None and self.html is not None:
            return
        target = None if self.folder is None else self._path(source.path)
        if self.format == "table":
            _print_table(source, found, index)
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
            from allusion_es.corpora.findings import write_table

            write_table(target, source, found)
        else:
            write_lines(target or sys.stdout, self._lines(source, found, missing(partial)))

    def _path(self, path: Path) -> Path:
        assert self.folder is not None
        return self.folder / f"{path.stem}{_SUFFIXES[self.format]}"

    def _lines(
        self, source: "SourceText", found: "Sequence[Finding]", partial: Mapping[str, Any] | None
    ) -> Iterator[str]:
        """The lines of a file in a format of lines; `partial` is told in each JSON finding."""
        from allusion_es.corpora.findings import annotation_lines, json_line, table_lines
        from allusion_es.corpora.tei.write import standoff_lines

        if self.format == "json":
            return (json_line(source, finding, partial) for finding in found)
        if self.format == "jsonld":
            return annotation_lines(source, found)
        if self.format == "tei":
            return standoff_lines(source, found)
        return table_lines(source, found)

    def _marked(self, source: "SourceText", found: "Sequence[Finding]") -> Iterator[bytes]:
        """The TEI file with its findings as markup, in pieces."""
        from allusion_es.corpora.tei.write import inline_markup, standoff_markup, with_insertions

        markup = inline_markup if self.tei == "inline" else standoff_markup
        return with_insertions(source, markup(source, found))


class _Report:
    """The report for a browser on the findings of all texts.

    Args:
        path: Where it goes.
        partial: Says which shards were missing, or None.
    """

    def __init__(self, path: Path, partial: "Partial | None") -> None:
        self._path = path
        self._partial = partial
        self._findings: list[ReportFinding] = []
        self._metas: list[ReportMeta] = []

    def add(self, source: "SourceText", found: "Sequence[Finding]", scanner: "Scanner") -> None:
        """Add the findings of a text, and say what found them."""
        from allusion_es.reports.scanned import calibration_note, scan_meta, scanned_findings
        from allusion_es.retrieval.latin import text_doubt
        from allusion_es.retrieval.pipeline import index_analyser

        index = scanner.index
        method = "Scan, fast" if scanner.options.fast else "Scan"
        notes = (
            missing_note(self._partial),
            calibration_note(scanner.unmeasured),
            scanner.own_note,
        )
        self._metas.append(
            scan_meta(
                source,
                index.name,
                method,
                tuple(filter(None, notes)),
                measured=[astuple(point) for point in scanner.points],
                doubt=text_doubt(source.text, index, index_analyser(index)),
            )
        )
        known = {finding.id for finding in self._findings}
        for finding in scanned_findings(source, found, index, index_analyser(index)):
            # Files of two folders may have the same name.
            again = finding.id in known
            name = f"{finding.id}, file {len(self._metas)}" if again else finding.id
            self._findings.append(replace(finding, id=name, key=self._metas[-1].key))

    def write(self) -> None:
        """Write it, and say on stderr what is in it.

        Raises:
            StorageError: The file cannot be written.
        """
        from allusion_es.reports.report import write_report
        from allusion_es.reports.scanned import joined_meta

        write_report(self._path, self._findings, joined_meta(self._metas))
        texts, count = len(self._metas), len(self._findings)
        print(
            f"{self._path}: {texts} {'text' if texts == 1 else 'texts'}, "
            f"{count} {'finding' if count == 1 else 'findings'}",
            file=sys.stderr,
        )


def _check_not_read(target: Path, files: Sequence[Path], option: str) -> None:
    """Refuse to write over one of the texts."""
    if any(target.exists() and target.samefile(each) for each in files):
        raise UsageError(f"{target} is a file that is read; give another {option}")


def _check_readable(path: Path) -> None:
    """Refuse a file that cannot be read, before the first is scanned and not hours later.

    Raises:
        InputError: It cannot be read.
    """
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def _print_table(source: "SourceText", found: "Sequence[Finding]", index: "CandidateIndex") -> None:
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


def _place(source: "SourceText", finding: "Finding") -> str:
    """The section, page and line of a finding, or its first character in a text without any."""
    place = source.place(finding.start, finding.end)
    parts = (place.section, place.page and f"p. {place.page}", place.line and f"l. {place.line}")
    return ", ".join(filter(None, parts)) or str(finding.start)
