"""`allusion-es candidates`: put the candidates of a run on a server, to look at in Kibana."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allusion_es.cli.help import GroupedCommand
from allusion_es.cli.notes import print_note
from allusion_es.cli.options import (
    Author,
    ExcludeAuthor,
    ExcludeWork,
    InputFormat,
    Name,
    OwnWork,
    ServerOptions,
    TableFormat,
    open_candidate_index,
    takes_server,
)
from allusion_es.cli.query import DEFAULT_FIELD, QueryFields
from allusion_es.core.errors import UsageError, VerseError
from allusion_es.retrieval.defaults import DEFAULTS

if TYPE_CHECKING:
    from allusion_es.es.kibana.candidate import Candidate
    from allusion_es.evaluation.gold.link import GoldLink
    from allusion_es.retrieval.index import CandidateIndex
    from allusion_es.retrieval.traces import Trace
    from allusion_es.retrieval.unanswered import Unanswered

app = typer.Typer(
    help="Put candidates of queries on a server, to look at in Kibana ('allusion-es kibana').",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("push", cls=GroupedCommand)
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
    ] = DEFAULTS.first_stage,
    field: Annotated[
        QueryFields, typer.Option(help="Words that candidates share.")
    ] = DEFAULT_FIELD,
    candidates: Annotated[
        int, typer.Option(help="How many candidates to rescore and keep of a query.")
    ] = DEFAULTS.candidates,
    rerank: Annotated[
        str,
        typer.Option(
            help="Rerankers, with commas, or none; the first decides the final rank.",
        ),
    ] = DEFAULTS.rerank,
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
    author: Author = None,
    exclude_work: ExcludeWork = None,
    exclude_author: ExcludeAuthor = None,
    own_work: OwnWork = False,
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
    name: Name = DEFAULTS.name,
) -> None:
    """Write a run's candidates to the server, each with its place in every stage.

    Either RUN or --from-query says which. Gold passages that no stage found are written too. A
    run of the same id takes the place of the old one once it is complete.
    """
    from allusion_es.cli.progress import progress
    from allusion_es.core.plugins import parse_settings
    from allusion_es.es.kibana.candidate import StageNames
    from allusion_es.es.kibana.pushed_runs import MAX_RUN_ID, check_run_id, push_candidates
    from allusion_es.evaluation.inspection import traced_candidates
    from allusion_es.front.queries import read_queries
    from allusion_es.retrieval.options import generators_of, search_filter_of
    from allusion_es.retrieval.traces import Tracer
    from allusion_es.retrieval.types import FIELDS
    from allusion_es.retrieval.unanswered import left_out

    first_stages = _list(first_stage, "--first-stage")
    rerankers = () if rerank == "none" else _list(rerank, "--rerank")
    settings = parse_settings(set_ or ())
    if (run is None) == (from_query is None):
        raise UsageError("give either a TREC run or --from-query FILE, and not both")
    if server.url is None:
        raise UsageError("candidates are kept on a server; name it with --es URL")
    if run_id is not None:
        check_run_id(run_id)
    index = open_candidate_index(name, ServerOptions(None) if local else server)
    found: Iterator[Candidate]
    unanswered: list[Unanswered] = []
    asked = 0
    if run is not None:
        links = _gold_links(gold, topics, index, skip_unknown)
        found = _candidates_of_run(run, topics, links, index)
        stages, method, default_id = StageNames(), f"TREC run {run.name}", run.stem
    else:
        assert from_query is not None
        queries = read_queries(from_query, input_format)
        asked = len(queries)
        links = _gold_links(gold or _gold_in(from_query), topics, index, skip_unknown)
        generators = tuple(each for stage in first_stages for each in generators_of(stage))
        tracer = Tracer(
            index,
            generators=generators,
            fields=[each for each in FIELDS if field.value in (each, "both")],
            candidates=candidates,
            rerankers=rerankers,
            search_filter=search_filter_of(
                book,
                testament,
                work,
                authors=author,
                excluded_works=exclude_work,
                excluded_authors=exclude_author,
                own_work=own_work,
            ),
            settings=settings,
        )
        filters = [each or () for each in (book, testament, work, author)]
        filters += [[f"-{name}" for name in each or ()] for each in (exclude_work, exclude_author)]
        relevant = {query_id: link.relevant for query_id, link in links.items()}
        traces = progress(tracer.traces(queries, explain, relevant), "Querying", asked)
        found = traced_candidates(_answered(traces, unanswered, asked), links, index)
        stages = StageNames(generators, rerankers)
        # Runs of the same queries by other methods must not replace each other.
        parts = ["+".join(first_stages), field.value, "+".join(rerankers)]
        parts += [
            f"{plugin}.{parameter}={value}"
            for plugin, values in sorted(settings.items())
            for parameter, value in sorted(values.items())
        ]
        chosen = ".".join(part or "none" for part in (*parts, *chain(*filters)))
        method = f"{chosen}, {candidates} candidates, index {name}"
        default_id = f"{'stdin' if from_query == '-' else Path(from_query).stem}.{chosen}"
    run_id = run_id or check_run_id(default_id[:MAX_RUN_ID])
    with server.connect() as connection:
        summary = push_candidates(connection, run_id, found, stages, method=method)
    print(
        f"run {summary.run_id!r}: {summary.documents} candidates of {summary.queries} queries "
        f"in {connection.url}",
        file=sys.stderr,
    )
    if unanswered:
        raise left_out(unanswered, asked)


def _answered(
    traces: "Iterable[Trace | Unanswered]", unanswered: "list[Unanswered]", total: int
) -> "Iterator[Trace]":
    """The traces; queries without one are named on stderr and added to `unanswered`.

    Their gold passages are not pushed: no stage has lost them.
    """
    from allusion_es.retrieval.unanswered import Unanswered, left_out

    for trace in traces:
        if isinstance(trace, Unanswered):
            if total == 1:
                raise trace.error
            query_id = trace.query.query_id
            print(f"query {query_id}: left out: {trace.error}", file=sys.stderr)
            unanswered.append(trace)
        else:
            yield trace
    if len(unanswered) == total:  # so that nothing takes the place of an earlier run
        raise left_out(unanswered, total)


def _candidates_of_run(
    run: Path, topics: Path | None, links: "Mapping[str, GoldLink]", index: "CandidateIndex"
) -> "Iterator[Candidate]":
    """Read a TREC run; its candidates, with the texts of their queries as far as they are known."""
    from allusion_es.cli.progress import progress
    from allusion_es.evaluation.inspection import run_candidates
    from allusion_es.evaluation.trec import read_run, read_topics

    lines = read_run(run)
    texts = {query_id: link.query.text for query_id, link in links.items()}
    if topics:
        texts |= read_topics(topics)
    found = run_candidates(lines, links, texts, index)
    return _naming_run(run, progress(found, "Pushing"))


def _naming_run(run: Path, candidates: "Iterator[Candidate]") -> "Iterator[Candidate]":
    """The candidates; an error for a passage that the index lacks gets the name of the run."""
    try:
        yield from candidates
    except VerseError as error:
        raise VerseError(f"{run}: {error}; push it with the index that it is a run of") from None


def _gold_in(queries: str) -> Path | None:
    """The file of the queries, if it is a gold file: one that says what they allude to."""
    path = Path(queries)
    if queries == "-" or path.suffix != ".jsonl" or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8-sig")
    return path if '"relevant"' in text else None


def _gold_links(
    path: Path | None, topics: Path | None, index: "CandidateIndex", skip_unknown: bool
) -> "dict[str, GoldLink]":
    """The gold links of a file, by query id, with ids that the index has; none without a file."""
    from allusion_es.evaluation.gold.files import read_gold
    from allusion_es.evaluation.gold.ids import chosen_links, left_out_note

    if path is None:
        return {}
    links = read_gold(path, topics=topics if path.suffix in (".qrels", ".qrel") else None)
    links, left_out = chosen_links(links, index.ids(), skip_unknown=skip_unknown, source=str(path))
    if left_out:
        print_note(left_out_note(left_out))
    return {link.query.query_id: link for link in links}


def _list(text: str, option: str) -> tuple[str, ...]:
    """The names in the value of an option, which have commas between them."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise UsageError(f"{option} names nothing; give names with commas between them")
    return names


@app.command("list", cls=GroupedCommand)
@takes_server
def list_(
    server: ServerOptions,
    format: Annotated[TableFormat, typer.Option(help="How to print.")] = TableFormat.table,
) -> None:
    """List the runs whose candidates are on the server."""
    from dataclasses import asdict

    from allusion_es.cli.output import print_rows
    from allusion_es.es.kibana.pushed_runs import list_runs

    with server.connect() as connection:
        print_rows([asdict(summary) for summary in list_runs(connection)], format, "Runs")


@app.command("delete", cls=GroupedCommand)
@takes_server
def delete(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", show_default=False)],
    server: ServerOptions,
) -> None:
    """Delete the candidates of a run from the server."""
    from allusion_es.es.kibana.pushed_runs import delete_run

    with server.connect() as connection:
        deleted = delete_run(connection, run_id)
        print(
            f"run {deleted.run_id!r}: {deleted.documents} candidates deleted from {connection.url}",
            file=sys.stderr,
        )
