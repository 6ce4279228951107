"""`allusion-es annotate split` and `export`: from gold links to work, and back."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from allusion_es.cli.options import TableFormat
from allusion_es.core.errors import UsageError

STORE = Path("spans.sqlite")
"""The store where none is named."""

StorePath = Annotated[
    Path, typer.Option("--store", metavar="FILE", help="The store of annotations.")
]


class ExportFormat(StrEnum):
    """What an export holds: gold links, or every annotation."""

    jsonl = "jsonl"
    tsv = "tsv"


def split(
    links: Annotated[Path, typer.Argument(metavar="LINKS", help="Gold links.", show_default=False)],
    annotators: Annotated[
        str, typer.Option(metavar="A,B,C", help="Who annotates.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Where each one's file goes.", show_default=False
        ),
    ],
    overlap: Annotated[
        int, typer.Option(min=0, help="How many links all of them get, to measure agreement.")
    ] = 60,
    seed: Annotated[int, typer.Option(help="Same links and seed: same files.")] = 1,
    format: Annotated[TableFormat, typer.Option(help="How to print.")] = TableFormat.table,
) -> None:
    """Deal links out to annotators: even shares, and a sample that all of them get."""
    import io

    from allusion_es.annotation.split import split as deal
    from allusion_es.cli.output import print_rows
    from allusion_es.core.files import writing
    from allusion_es.evaluation.gold_files import read_gold, write_gold

    names = [name.strip() for name in annotators.split(",")]
    contents: dict[Path, bytes] = {}
    rows = []
    for name, share in deal(read_gold(links), names, overlap, seed).items():
        text = io.StringIO()
        write_gold(text, share)
        path = out / f"{name}.jsonl"
        contents[path] = text.getvalue().encode()
        rows.append({"annotator": name, "links": len(share), "shared": overlap, "file": str(path)})
    for path, content in contents.items():
        if path.exists() and path.read_bytes() != content:
            raise UsageError(f"{path}: there already, with other links; choose another --out")
    for path, content in contents.items():
        with writing(path) as file:
            file.write(content)
    print_rows(rows, format)


def export(
    store: StorePath = STORE,
    annotator: Annotated[
        list[str] | None,
        typer.Option(
            "--annotator",
            "-a",
            help="Only what this one says; may be repeated. By default, what all say.",
            show_default=False,
        ),
    ] = None,
    doubts: Annotated[
        bool, typer.Option("--doubts", help="Count the spans of those who doubt, too.")
    ] = False,
    format: Annotated[
        ExportFormat,
        typer.Option(help="jsonl: gold links, one an instance; tsv: every annotation."),
    ] = ExportFormat.jsonl,
) -> None:
    """Write gold links whose text is what annotators marked, for 'allusion-es evaluate'.

    Where several marked an instance, the words that more than half of them marked are taken;
    what one of them doubts is left out. With --format tsv: one row an instance and annotator,
    for 'allusion-es agreement' and spreadsheets.
    """
    from allusion_es.annotation.export import annotation_rows, export_links
    from allusion_es.annotation.store import Store
    from allusion_es.cli.output import print_rows
    from allusion_es.evaluation.gold_files import write_gold

    opened = Store(store)
    if format is ExportFormat.tsv:
        print_rows(annotation_rows(opened, annotator or (), doubts=doubts), TableFormat.tsv)
        return
    done = export_links(opened, annotator or (), doubts=doubts)
    write_gold(sys.stdout, done.links)
    print(
        f"{len(done.links)} links ({done.merged} of them where spans differ); left out: "
        f"{done.doubted} in doubt, {done.unmarked} without a span",
        file=sys.stderr,
    )
