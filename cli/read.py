"""`allusion-es read`: print the text that a scan would read of a file, and what it leaves out."""

import contextlib
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allusion_es.core.errors import AllusionError, UsageError
from allusion_es.core.files import writing
from allusion_es.core.locks import scratch_folder

if TYPE_CHECKING:
    from allusion_es.corpora.left_out import Cause, LeftOut
    from allusion_es.corpora.source_listing import Stretch
    from allusion_es.corpora.source_text import SourceText


class ReadFormat(StrEnum):
    """The format in which the text is printed."""

    text = "text"
    tsv = "tsv"
    json = "json"


STDIN = Path("-")
"""The name that stands for stdin among files."""


class SourceFormat(StrEnum):
    """The format of a source file."""

    text = "text"
    tei = "tei"
    html = "html"
    docx = "docx"


SourceFormatOption = Annotated[
    SourceFormat | None,
    typer.Option(help="What the files are; by their names by default.", show_default=False),
]
KeptElements = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ELEMENT",
        help="Read these TEI elements too, such as note; repeatable.",
        show_default=False,
    ),
]
Languages = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CODE",
        help="Read the words of this xml:lang of TEI files too, such as grc; all: of every one. "
        "Repeatable.",
        show_default=False,
    ),
]

COLUMNS = (
    "file", "kind", "start", "end", "page", "line", "section", "text", "left_out", "words",
    "file_line", "option", "xpath",
)  # fmt: skip
"""The columns of the table, in their order."""


def read(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE\u2026|-", help="Files as for scan; or - for stdin.", show_default=False
        ),
    ],
    format: Annotated[
        ReadFormat,
        typer.Option(help="text: a line a place; json: an object a line; tsv: for spreadsheets."),
    ] = ReadFormat.text,
    input_format: SourceFormatOption = None,
    keep: KeptElements = None,
    language: Languages = None,
) -> None:
    """Print the text that a file yields, with its places, and what is left out of it.

    It is read as scan reads it, so that an editor can see what is searched. Each line is a stretch
    on one page, line and section; after it comes what is left out of the file there.
    """
    from allusion_es.corpora.source import read_source
    from allusion_es.corpora.source_text import SOURCE_KINDS

    kind = next((each for each in SOURCE_KINDS if each == input_format), None)
    if format is ReadFormat.tsv:
        print("\t".join(COLUMNS))
    with with_stdin(files) as (paths, names):
        for path in paths:
            source = read_source(
                path, kind=kind, keep=frozenset(keep or ()), languages=frozenset(language or ())
            )
            source = replace(source, path=names.get(path, path))
            if format is ReadFormat.text and len(files) > 1:
                print(source.path)
            for line in _lines(source, format):
                print(line)
            sys.stdout.flush()
            words = len(source.text.split())
            print(f"{source.path}: {words:,} word{'s' * (words != 1)} read", file=sys.stderr)
            print_left_out(source)


@contextlib.contextmanager
def with_stdin(files: list[Path]) -> Iterator[tuple[list[Path], dict[Path, Path]]]:
    """The files, with copies in place of `-` and of pipes, and the copies' names in messages.

    Copies, since the kind of a file shows in its first bytes, and a stream can be read once only: a
    shell's `<(zcat sermo.xml.gz)` is a pipe with a name.
    """
    if files.count(STDIN) > 1:
        raise UsageError("'-' is there twice, but stdin can be read once only")
    streams = [path for path in files if path == STDIN or path.is_fifo()]
    if not streams:
        yield files, {}
        return
    with scratch_folder() as folder, contextlib.ExitStack() as opened:
        copies: dict[Path, Path] = {}
        for path in streams:
            copy = copies[path] = folder / ("stdin" if path == STDIN else path.name)
            stream = sys.stdin.buffer if path == STDIN else opened.enter_context(path.open("rb"))
            with writing(copy) as file:
                shutil.copyfileobj(stream, file)
        names = {copy: Path(copy.name) if path == STDIN else path for path, copy in copies.items()}
        try:
            yield [copies.get(path, path) for path in files], names
        except AllusionError as error:
            told = str(error)
            for copy, name in names.items():
                told = told.replace(str(copy), str(name))
            raise type(error)(told) from error


def print_left_out(source: "SourceText", causes: "frozenset[Cause] | None" = None) -> None:
    """Print on stderr what was left out of a text, how much and where, and how to read it.

    Args:
        source: The text.
        causes: The reasons that are printed; by default all but other readings of words.
    """
    from allusion_es.corpora.left_out import left_out_note

    notes = list(source.remarks)
    if causes is None:
        notes.append(left_out_note(source.left_out))
    else:
        notes.append(left_out_note(source.left_out, causes))
    for note in filter(None, notes):
        print(f"{source.path}: {note}", file=sys.stderr)


def _lines(source: "SourceText", format: ReadFormat) -> Iterator[str]:
    from allusion_es.corpora.source_listing import listing

    for item in listing(source):
        if format is ReadFormat.text:
            yield _text_line(item)
        elif format is ReadFormat.json:
            import json

            filled = {key: value for key, value in _row(source, item).items() if value != ""}
            yield json.dumps(filled, ensure_ascii=False)
        else:
            yield _table_line(_row(source, item))


def _text_line(item: "Stretch | LeftOut") -> str:
    from allusion_es.core.characters import visible
    from allusion_es.corpora.source_listing import Stretch, place_label

    if isinstance(item, Stretch):
        return f"{visible(place_label(item.place, item.start))}: {visible(item.text)}"
    words = f"{item.words:,} word{'s' * (item.words != 1)}"
    return visible(f"  [left out: {item.what}, {words}, line {item.line} of the file: {item.text}]")


def _row(source: "SourceText", item: "Stretch | LeftOut") -> dict[str, Any]:
    from allusion_es.corpora.source_listing import Stretch

    row: dict[str, Any] = dict.fromkeys(COLUMNS, "")
    row |= {"file": str(source.path), "text": item.text, "start": item.start}
    if isinstance(item, Stretch):
        place = item.place
        row |= {
            "kind": "text", "end": item.end, "page": place.page, "line": place.line,
            "section": place.section, "xpath": place.xpath,
        }  # fmt: skip
    else:
        row |= {
            "kind": "left out", "end": item.start, "left_out": item.what, "words": item.words,
            "file_line": item.line, "option": item.option, "xpath": item.xpath,
        }  # fmt: skip
    return row


def _table_line(row: dict[str, Any]) -> str:
    import csv
    import io

    from allusion_es.corpora.findings import spreadsheet_cell

    line = io.StringIO()
    cells = (spreadsheet_cell(str(value)) for value in row.values())
    csv.writer(line, "excel-tab", lineterminator="").writerow(cells)
    return line.getvalue()
