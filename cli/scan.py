"""`allusion-es scan`: where does a text allude, and to what?"""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allusion_es.cli.options import Name, ServerOptions, takes_server
from allusion_es.cli.partial import AllowPartial, partial_of, tell_missing
from allusion_es.cli.read import Languages, tell_left_out
from allusion_es.core.errors import AllusionError, UsageError
from allusion_es.core.files import writing
from allusion_es.core.locks import scratch_folder

if TYPE_CHECKING:
    from allusion_es.cli.scan_output import Output
    from allusion_es.cli.scanning import Job
    from allusion_es.corpora.source import SourceKind as Kind

_STDIN = Path("-")


class Format(StrEnum):
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


class SourceKind(StrEnum):
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
        Format,
        typer.Option(
            help="json: a finding a line; jsonld: W3C Web Annotations; tei: the file with markup; "
            "html: a report for a browser."
        ),
    ] = Format.table,
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
        SourceKind | None,
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
    from allusion_es.cli.scan_output import Output
    from allusion_es.cli.scanning import Job
    from allusion_es.corpora.source import SOURCE_KINDS
    from allusion_es.retrieval.choices import within_of
    from allusion_es.scanning.options import ScanOptions

    options = ScanOptions(
        threshold=threshold,
        precision=precision,
        fast=fast,
        top=top,
        within=within_of(book, testament, work),
    )
    kind = next((each for each in SOURCE_KINDS if each == input_format), None)
    output = Output(format.value, tei.value, out, force=force)
    if allow_partial and resume:
        raise UsageError("--allow-partial keeps nothing to go on with; leave out --resume")
    with _with_stdin(files) as (paths, names):
        output.check(paths, kind, resume=resume)
        partial = partial_of(allow_partial, server)
        # What other processes miss cannot be told here.
        processes = 1 if allow_partial else workers or os.cpu_count() or 1
        job = Job(name, server, options, processes, resume=resume, partial=partial)
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
    job: "Job",
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
def _with_stdin(files: list[Path]) -> Iterator[tuple[list[Path], dict[Path, Path]]]:
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
