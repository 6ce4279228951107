"""`allusion-es scan`: where does a text allude, and to what?"""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from allusion_es.cli.options import Name, ServerOptions, takes_server
from allusion_es.core.errors import UsageError


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


@takes_server
def scan(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Plain texts or TEI files.", show_default=False),
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
        int, typer.Option("--top", "-k", help="Passages a finding, with alternatives.")
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
    *,
    server: ServerOptions,
) -> None:
    """Find every stretch of a text that alludes to a passage, and to which.

    The text is read whole, with its quotations, paraphrases and allusions; each finding says how
    likely it is. Notes and apparatus of TEI files are left out.
    """
    from allusion_es.cli.scan_output import Output, print_tables
    from allusion_es.cli.scanning import Job, source_texts
    from allusion_es.retrieval.choices import within_of
    from allusion_es.scanning.options import ScanOptions

    options = ScanOptions(
        threshold=threshold,
        precision=precision,
        fast=fast,
        top=top,
        within=within_of(book, testament, work),
    )
    output = Output(format.value, tei.value, out, force=force)
    output.check(files, resume=resume)
    job = Job(name, server, options, workers or os.cpu_count() or 1, resume=resume)
    kind: Literal["text", "tei"] | None = None
    if input_format is not None:
        kind = "tei" if input_format is SourceKind.tei else "text"
    for source in source_texts(files, kind, frozenset(keep or ())):
        found = job.scan(source, output.journal(source.path))
        if format is Format.table and out is None:
            print_tables(source, found, job.index)
        else:
            output.write(source, found, job)
        job.tell(source, len(found))
        job.finish()
    if not files:
        raise UsageError("no file to scan; give at least one")
    sys.stdout.flush()
