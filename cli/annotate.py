"""`allusion-es annotate`: the annotation page, and its two companions.

`annotate split` deals gold links out before the page is used, `annotate export` makes gold links of
the annotations afterwards. `annotate LINKS` without the name of a command opens the page.
"""

import contextlib
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from allusion_es.cli.help import GroupedCommand
from allusion_es.cli.options import (
    Name,
    ServerOptions,
    TableFormat,
    library,
    open_candidate_index,
    takes_server,
)
from allusion_es.cli.web import check_extra
from allusion_es.core.errors import InputError, UsageError
from allusion_es.retrieval.defaults import DEFAULTS

if TYPE_CHECKING:
    from allusion_es.annotation.app import Assignment
    from allusion_es.annotation.store import Store

STORE = Path("spans.sqlite")
"""The default store, in the current folder."""

StorePath = Annotated[
    Path, typer.Option("--store", metavar="FILE", help="The store of annotations.")
]


class ExportFormat(StrEnum):
    """The content of an export: gold links, or every annotation."""

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
    from allusion_es.evaluation.gold.files import read_gold, write_gold

    names = [name.strip() for name in annotators.split(",")]
    # All files are made in memory first, so that none is written if one is in the way.
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
    from allusion_es.evaluation.gold.files import write_gold

    opened = Store(store)
    if format is ExportFormat.tsv:
        print_rows(annotation_rows(opened, annotator or (), doubts=doubts), TableFormat.tsv)
        return
    done = export_links(opened, annotator or (), doubts=doubts)
    write_gold(sys.stdout, done.links)
    print(
        f"{len(done.links)} links ({done.merged} of them where spans differ, "
        f"{done.without_anchor} without an anchor); left out: {done.doubted} in doubt, "
        f"{done.unmarked} without a span, {done.apart} where no run of words was marked by more "
        "than half",
        file=sys.stderr,
    )


_PAGE = "page"
_PORT = 8733
"""Next to the search page's 8734, so that both can run."""


class PageByDefault(typer.core.TyperGroup):
    """A group of commands in which `annotate LINKS …` means `annotate page LINKS …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Insert the command `page` where the first argument names no command."""
        args = args or ["--help"]
        if args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_PAGE, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=PageByDefault,
    help="Mark spans on a local page: annotate LINKS --annotator NAME. Divide the work, export.",
    epilog="'annotate LINKS ...' is short for 'annotate page LINKS ...'.",
    rich_markup_mode=None,
)
app.command("split", cls=GroupedCommand)(split)
app.command("export", cls=GroupedCommand)(export)


@app.command(_PAGE, cls=GroupedCommand)
@takes_server
def page(
    links: Annotated[
        Path,
        typer.Argument(
            metavar="LINKS",
            help="Gold links (JSON lines, a table), or a folder that 'annotate split' made.",
            show_default=False,
        ),
    ],
    annotator: Annotated[
        list[str],
        typer.Option(
            "--annotator",
            "-a",
            help="Who annotates; may be repeated, and each gets a URL.",
            show_default=False,
        ),
    ],
    store: StorePath = STORE,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")] = _PORT,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others can only reach it if you change it.")
    ] = "127.0.0.1",
    name: Name = DEFAULTS.name,
    *,
    server: ServerOptions,
) -> None:
    """Show the annotation page, until Ctrl+C.

    Prints a URL for each annotator; whoever has it can annotate under that name. It stays the
    same when the command is run again.
    """
    check_extra()
    from allusion_es.annotation.app import application
    from allusion_es.annotation.store import Store
    from allusion_es.web.server import address_of, is_loopback, listen, serve

    index = open_candidate_index(name, server)
    assignments = _assignments(links, annotator, index.ids())
    instances = [instance for each in assignments for instance in each.instances]
    ids = sorted({name for instance in instances for name in instance.link.relevant})
    verses = dict(zip(ids, index.passages(ids), strict=True))
    opened = Store(store, create_missing=True)
    opened.add(instances)
    _print_progress(assignments, opened)
    with listen(host, port) as listener:
        address = address_of(listener, host)
        if not is_loopback(listener):
            print(
                f"others can reach {address}: whoever has a URL can annotate, and nothing is "
                "encrypted",
                file=sys.stderr,
            )
        tokens = {_token(each, opened): each for each in assignments}
        page_app = application(opened, tokens, verses, [host])
        with contextlib.suppress(KeyboardInterrupt):
            for token, each in tokens.items():
                print(f"{each.annotator}\thttp://{address}/{token}/", flush=True)
            serve(page_app, listener)
        print(f"stopped; all that was acknowledged is in {store}", file=sys.stderr)


def _assignments(path: Path, annotators: Sequence[str], ids: Sequence[str]) -> "list[Assignment]":
    """The instances of each annotator.

    Args:
        path: A file of gold links for all, or a folder with a file for each.
        annotators: Their names.
        ids: Ids of the passages of the collection, which the links' references are resolved to.
    """
    from allusion_es.annotation.app import Assignment
    from allusion_es.annotation.split import check_annotator
    from allusion_es.annotation.tasks import instances_of
    from allusion_es.evaluation.gold.files import read_gold
    from allusion_es.evaluation.gold.ids import resolve

    assignments = []
    for name in dict.fromkeys(check_annotator(name) for name in annotators):
        file = path / f"{name}.jsonl" if path.is_dir() else path
        if path.is_dir() and not file.exists():
            raise InputError(f"{file}: missing; 'allusion-es annotate split' makes such files")
        links = resolve(read_gold(file), ids, source=str(file))
        assignments.append(Assignment(name, tuple(instances_of(links, str(file)))))
    return assignments


def _token(assignment: "Assignment", store: "Store") -> str:
    from allusion_es.web.server import read_secret, token_for

    return token_for(assignment.annotator, store.identifier, read_secret(library().folder))


def _print_progress(assignments: "Iterable[Assignment]", store: "Store") -> None:
    """Print how many instances each annotator has, and how many of them are done."""
    for assignment in assignments:
        name, instances = assignment.annotator, assignment.instances
        saved = store.saved(name)
        done = sum(each.id in saved for each in instances)
        print(f"{name}: {len(instances)} instances, {done} seen", file=sys.stderr)
        without = sum(each.anchor is None for each in instances)
        if without:
            print(f"{name}: {without} without an anchor: any words may be marked", file=sys.stderr)
    print(f"annotations go to {store.path}; Ctrl+C stops", file=sys.stderr)
