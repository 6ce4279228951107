"""`allusion-es candidates`: put the candidates of a run on a server, to look at in Kibana."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from allusion_es.cli.options import (
    Name,
    ServerOptions,
    TableFormat,
    open_candidate_index,
    takes_server,
)
from allusion_es.cli.progress import progress
from allusion_es.cli.queries import InputFormat, read_queries
from allusion_es.cli.query import QueryFields
from allusion_es.core.errors import UsageError, VerseError
from allusion_es.core.plugins import Settings
from allusion_es.es.kibana.candidates import MAX_RUN_ID, check_run_id, push_candidates
from allusion_es.es.kibana.documents import Candidate, StageNames
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.evaluation.gold.ids import resolve, resolve_known
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.inspected import run_candidates, traced_candidates
from allusion_es.evaluation.trec import read_run, read_topics
from allusion_es.retrieval.defaults import generators_of, search_filter_of
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.traces import Trace, Tracer
from allusion_es.retrieval.types import FIELDS, Field, Query
from allusion_es.retrieval.unanswered import Unanswered, left_out

# What `allusion-es candidates push` does once its options are read.


@dataclass(frozen=True, slots=True)
class PushOptions:
    """The options of the command; see there."""

    run: Path | None
    queries: str | None
    run_id: str | None
    gold: Path | None
    topics: Path | None
    skip_unknown: bool
    first_stages: tuple[str, ...]
    field: QueryFields
    candidates: int
    rerankers: tuple[str, ...]
    settings: Settings
    books: tuple[str, ...]
    testaments: tuple[str, ...]
    works: tuple[str, ...]
    explain: int
    input_format: InputFormat | None
    index: str
    local: bool
    server: ServerOptions


@dataclass(frozen=True, slots=True)
class _Push:
    """What is to be pushed; `unanswered` grows while `candidates` is read."""

    run_id: str
    method: str
    stages: StageNames
    candidates: Iterator[Candidate]
    queries: int = 0
    unanswered: list[Unanswered] = field(default_factory=list)


def push_run(choices: PushOptions) -> None:
    """Push the run, and tell what was pushed."""
    if (choices.run is None) == (choices.queries is None):
        raise UsageError("give either a TREC run or --from-query FILE, and not both")
    if choices.server.url is None:
        raise UsageError("candidates are kept on a server; name it with --es URL")
    if choices.run_id is not None:
        check_run_id(choices.run_id)
    index = open_candidate_index(
        choices.index, ServerOptions(None) if choices.local else choices.server
    )
    job = _from_run(choices, index) if choices.run else _from_queries(choices, index)
    with choices.server.connect() as server:
        summary = push_candidates(server, job.run_id, job.candidates, job.stages, method=job.method)
        print(
            f"run {summary.run_id!r}: {summary.documents} candidates of {summary.queries} queries "
            f"in {server.url}",
            file=sys.stderr,
        )
    if job.unanswered:
        raise left_out(job.unanswered, job.queries)


def _from_run(choices: PushOptions, index: CandidateIndex) -> _Push:
    assert choices.run is not None
    run = read_run(choices.run)
    links = _gold(choices, index, choices.gold)
    texts = {name: link.query.text for name, link in links.items()}
    if choices.topics:
        texts |= read_topics(choices.topics)
    return _Push(
        choices.run_id or check_run_id(choices.run.stem[:MAX_RUN_ID]),
        f"TREC run {choices.run.name}",
        StageNames(),
        _placed(progress(run_candidates(run, links, texts, index), "Pushing"), str(choices.run)),
    )


def _from_queries(choices: PushOptions, index: CandidateIndex) -> _Push:
    assert choices.queries is not None
    queries = read_queries(choices.queries, choices.input_format)
    links = _gold(choices, index, choices.gold or _gold_in(choices, queries))
    generators = tuple(name for stage in choices.first_stages for name in generators_of(stage))
    fields: tuple[Field, ...] = FIELDS
    if choices.field is not QueryFields.both:
        fields = ("token",) if choices.field is QueryFields.token else ("lemma",)
    tracer = Tracer(
        index,
        generators=generators,
        fields=fields,
        candidates=choices.candidates,
        rerankers=choices.rerankers,
        within=search_filter_of(choices.books, choices.testaments, choices.works),
        settings=choices.settings,
    )
    relevant = {name: link.relevant for name, link in links.items()}
    unanswered: list[Unanswered] = []
    traces = progress(tracer.traces(queries, choices.explain, relevant), "Querying", len(queries))
    source = "stdin" if choices.queries == "-" else Path(choices.queries).stem
    method = _method(choices)
    return _Push(
        choices.run_id or check_run_id(f"{source}.{method}"[:MAX_RUN_ID]),
        f"{method}, {choices.candidates} candidates, index {choices.index}",
        StageNames(generators, choices.rerankers),
        traced_candidates(_answered(traces, unanswered, len(queries)), links, index),
        len(queries),
        unanswered,
    )


def _answered(
    traces: Iterable[Trace | Unanswered], unanswered: list[Unanswered], total: int
) -> Iterator[Trace]:
    """The traces; queries without one are told of and added to `unanswered`.

    Their gold passages are not pushed: no stage has lost them.
    """
    for trace in traces:
        if isinstance(trace, Unanswered):
            if total == 1:
                raise trace.error
            query_id = trace.query.query_id
            print(f"query {query_id}: left out: {trace.error}", file=sys.stderr)
            unanswered.append(trace)
        else:
            yield trace
    if len(unanswered) == total:  # and so nothing takes the place of an earlier run
        raise left_out(unanswered, total)


def _method(choices: PushOptions) -> str:
    """What distinguishes runs of the same queries, as far as it is not the default."""
    parts = ["+".join(choices.first_stages), choices.field.value, "+".join(choices.rerankers)]
    parts += [
        f"{plugin}.{name}={value}"
        for plugin, values in sorted(choices.settings.items())
        for name, value in sorted(values.items())
    ]
    parts += [*choices.books, *choices.testaments, *choices.works]
    return ".".join(part or "none" for part in parts)


def _gold_in(choices: PushOptions, queries: list[Query]) -> Path | None:
    """The file of the queries, if it tells what they allude to."""
    path = Path(choices.queries or "")
    if choices.queries == "-" or path.suffix != ".jsonl" or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8-sig")
    return path if '"relevant"' in text else None


def _gold(choices: PushOptions, index: CandidateIndex, path: Path | None) -> Mapping[str, GoldLink]:
    if path is None:
        return {}
    topics = choices.topics if path.suffix in (".qrels", ".qrel") else None
    links = read_gold(path, topics=topics)
    if choices.skip_unknown:
        links, unknown = resolve_known(links, index.ids(), source=str(path))
        if unknown:
            print(f"left out {len(unknown)} passages that the index lacks", file=sys.stderr)
    else:
        links = resolve(links, index.ids(), source=str(path))
    return {link.query.query_id: link for link in links}


def _placed(candidates: Iterator[Candidate], source: str) -> Iterator[Candidate]:
    try:
        yield from candidates
    except VerseError as error:
        raise VerseError(f"{source}: {error}; push it with the index that it is a run of") from None


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
    field: Annotated[
        QueryFields, typer.Option(help="Words that candidates share.")
    ] = QueryFields.lemma,
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
    from allusion_es.cli.candidates import PushOptions, push_run
    from allusion_es.core.plugins import parse_settings

    push_run(
        PushOptions(
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
    from allusion_es.es.kibana.candidates import list_runs

    with server.connect() as connection:
        print_rows([asdict(summary) for summary in list_runs(connection)], format, "Runs")


@app.command("delete")
@takes_server
def delete(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", show_default=False)],
    server: ServerOptions,
) -> None:
    """Delete the candidates of a run from the server."""
    from allusion_es.es.kibana.candidates import delete_run

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
