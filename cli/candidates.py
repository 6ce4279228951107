"""`allusion-es candidates`: put the candidates of a run on a server, to look at in Kibana."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from allusion_es.cli.options import Name, ServerOptions, TableFormat, takes_server
from allusion_es.cli.query import Fields, InputFormat
from allusion_es.core.errors import UsageError

app = typer.Typer(
    help="Put candidates of queries on a server, to look at in Kibana ('allusion-es kibana').",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("push")
@takes_server
def push(
    server: ServerOptions,
    run: Annotated[
        Path | None, typer.Argument(help="A TREC run.", metavar="RUN", show_default=False)
    ] = None,
    from_query: Annotated[
        str | None,
        typer.Option(
            metavar="-|FILE",
            help="Ask these queries instead: one a line, or JSON lines, as for 'query'; gold "
            "links too, whose passages are then known.",
            show_default=False,
        ),
    ] = None,
    run_id: Annotated[
        str | None,
        typer.Option(
            help="Names the run; a run of that name is replaced. By default what it consists of.",
            show_default=False,
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(help="Gold links: JSON lines, TSV, or TREC qrels.", show_default=False),
    ] = None,
    topics: Annotated[
        Path | None, typer.Option(help="Topics of TREC qrels.", show_default=False)
    ] = None,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out gold passages that the index lacks.")
    ] = False,
    first_stage: Annotated[
        str,
        typer.Option(help="Where candidates come from, as for 'query'; several with commas."),
    ] = "bm25",
    field: Annotated[Fields, typer.Option(help="Words that candidates share.")] = Fields.lemma,
    candidates: Annotated[int, typer.Option(help="How many candidates to keep of a query.")] = 100,
    rerank: Annotated[
        str,
        typer.Option(
            help="Rerankers, with commas, or none; the first decides the final rank.",
        ),
    ] = "soft-cosine",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="RERANKER.PARAMETER=VALUE",
            help="Set a parameter ('allusion-es list rerankers'); may be repeated.",
            show_default=False,
        ),
    ] = None,
    book: Annotated[
        list[str] | None, typer.Option(help="Search only this book; may be repeated.")
    ] = None,
    testament: Annotated[
        list[str] | None, typer.Option(help="Search only this testament: ot or nt.")
    ] = None,
    work: Annotated[
        list[str] | None, typer.Option(help="Search only this work; may be repeated.")
    ] = None,
    explain: Annotated[
        int,
        typer.Option(
            min=0, help="Keep the word pairs of so many hits of a query, and of its gold passages."
        ),
    ] = 10,
    input_format: Annotated[
        InputFormat | None,
        typer.Option(help="How queries are read; by the file's name by default."),
    ] = None,
    local: Annotated[
        bool,
        typer.Option("--local", help="Search the index in this process, not that on the server."),
    ] = False,
    name: Name = "vulgate",
) -> None:
    """Write a run's candidates to the server, each with its place in every stage.

    Either RUN or --from-query says which. Gold passages that no stage found are written too. A
    run of the same id takes the place of the old one once it is complete.
    """
    from allusion_es.cli.candidates_push import Choices, push_run
    from allusion_es.core.parameters import parse_settings

    push_run(
        Choices(
            run=run,
            queries=from_query,
            run_id=run_id,
            gold=gold,
            topics=topics,
            skip_unknown=skip_unknown,
            first_stages=_list(first_stage, "--first-stage"),
            field=field,
            candidates=candidates,
            rerankers=() if rerank == "none" else _list(rerank, "--rerank"),
            settings=parse_settings(set_ or ()),
            books=tuple(book or ()),
            testaments=tuple(testament or ()),
            works=tuple(work or ()),
            explain=explain,
            input_format=input_format,
            index=name,
            local=local,
            server=server,
        )
    )


@app.command("list")
@takes_server
def list_(
    server: ServerOptions,
    format: Annotated[TableFormat, typer.Option(help="How to print.")] = TableFormat.table,
) -> None:
    """List the runs whose candidates are on the server."""
    from dataclasses import asdict

    from allusion_es.cli.output import print_rows
    from allusion_es.es.candidates import list_runs

    with server.connect() as connection:
        print_rows([asdict(summary) for summary in list_runs(connection)], format, "Runs")


@app.command("delete")
@takes_server
def delete(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", show_default=False)],
    server: ServerOptions,
) -> None:
    """Delete the candidates of a run from the server."""
    from allusion_es.es.candidates import delete_run

    with server.connect() as connection:
        deleted = delete_run(connection, run_id)
        print(
            f"run {deleted.run_id!r}: {deleted.documents} candidates deleted from {connection.url}",
            file=sys.stderr,
        )


def _list(text: str, option: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise UsageError(f"{option} names nothing; give names with commas between them")
    return names
