"""`allusion-es annotate`: the annotation page."""

import contextlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from allusion_es.cli.annotate_files import STORE, StorePath, export, split
from allusion_es.cli.options import (
    Name,
    ServerOptions,
    library,
    open_candidate_index,
    takes_server,
)
from allusion_es.cli.web import check_extra
from allusion_es.core.errors import InputError

if TYPE_CHECKING:
    from allusion_es.annotation.app import Work
    from allusion_es.annotation.store import Store

_PAGE = "page"
_PORT = 8733


class PageByDefault(typer.core.TyperGroup):
    """A group of commands in which `annotate LINKS …` means `annotate page LINKS …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Put the name of the command in front where none is given."""
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
app.command("split")(split)
app.command("export")(export)


@app.command(_PAGE)
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
    name: Name = "vulgate",
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
    work = _work(links, annotator, index.ids())
    everything = [instance for mine in work for instance in mine.instances]
    ids = sorted({each for instance in everything for each in instance.link.relevant})
    verses = dict(zip(ids, index.passages(ids), strict=True))
    opened = Store(store, create_missing=True)
    opened.add(everything)
    _say_what_there_is(work, opened)
    with listen(host, port) as listener:
        address = address_of(listener, host)
        if not is_loopback(listener):
            print(
                f"others can reach {address}: whoever has a URL can annotate, and nothing is "
                "encrypted",
                file=sys.stderr,
            )
        tokens = {_token(mine, opened): mine for mine in work}
        page_app = application(opened, tokens, verses, [host])
        with contextlib.suppress(KeyboardInterrupt):
            for token, mine in tokens.items():
                print(f"{mine.annotator}\thttp://{address}/{token}/", flush=True)
            serve(page_app, listener)
        print(f"stopped; all that was acknowledged is in {store}", file=sys.stderr)


def _work(path: Path, annotators: Sequence[str], ids: Sequence[str]) -> "list[Work]":
    """What each annotator has to do, with links to passages of a collection with these ids."""
    from allusion_es.annotation.app import Work
    from allusion_es.annotation.split import check_annotator
    from allusion_es.annotation.tasks import instances_of
    from allusion_es.evaluation.gold_files import read_gold
    from allusion_es.evaluation.gold_ids import resolve

    work = []
    for name in dict.fromkeys(check_annotator(name) for name in annotators):
        file = path / f"{name}.jsonl" if path.is_dir() else path
        if path.is_dir() and not file.exists():
            raise InputError(f"{file}: missing; 'allusion-es annotate split' makes such files")
        links = resolve(read_gold(file), ids, source=str(file))
        work.append(Work(name, tuple(instances_of(links, str(file)))))
    return work


def _token(mine: "Work", store: "Store") -> str:
    from allusion_es.web.server import read_secret, token_for

    return token_for(mine.annotator, store.identifier, read_secret(library().folder))


def _say_what_there_is(work: "Iterable[Work]", store: "Store") -> None:
    for mine in work:
        saved = store.saved(mine.annotator)
        done = sum(each.id in saved for each in mine.instances)
        print(f"{mine.annotator}: {len(mine.instances)} instances, {done} seen", file=sys.stderr)
        without = sum(not each.has_anchor for each in mine.instances)
        if without:
            print(
                f"{mine.annotator}: {without} without an anchor; the middle word of their text "
                "stands in for it",
                file=sys.stderr,
            )
    print(f"annotations go to {store.path}; Ctrl+C stops", file=sys.stderr)
