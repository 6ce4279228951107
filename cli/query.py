"""`allusion-es query`: which passages do these words allude to?"""

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allusion_es.cli.notes import print_note
from allusion_es.cli.options import (
    Author,
    ExcludeAuthor,
    ExcludeWork,
    Html,
    IdColumn,
    InputFormat,
    Name,
    OwnWork,
    ServerOptions,
    TextColumn,
    column_names,
    open_candidate_index,
    takes_html,
    takes_server,
)
from allusion_es.cli.partial import AllowPartial, missing, missing_note, partial_of, tell_missing
from allusion_es.core.plugins import parse_settings
from allusion_es.retrieval.defaults import DEFAULTS

if TYPE_CHECKING:
    from allusion_es.es.partial import Partial
    from allusion_es.front.many_answers import ManyAnswers
    from allusion_es.retrieval.pipeline import Answer, Retriever
    from allusion_es.retrieval.unanswered import Unanswered

# Reports for a browser.


def write_answers(
    path: Path,
    answers: "Iterable[Answer]",
    retriever: "Retriever",
    method: str,
    found: "ManyAnswers",
    note: Callable[[], str] = str,
) -> None:
    """Write a report of a retriever's answers, and say on stderr what is in it.

    Args:
        path: Where to.
        answers: The answers.
        retriever: Knows the index, and how words are analysed and compared.
        method: How they were found, for people to read.
        found: Has the notes and warnings once all answers are there.
        note: Asked then; "" or what else the report must say.

    Raises:
        StorageError: The file cannot be written.
    """
    from allusion_es.reports.answers import findings_of
    from allusion_es.reports.report import ReportMeta, write_report

    failed: list[str] = []

    def noted() -> "Iterator[Answer]":
        for answer in answers:
            if answer.failure is not None:
                failed.append(answer.query.query.query_id)
            yield answer

    index = retriever.index
    findings = list(findings_of(noted(), index, retriever.analyser, retriever.compared, method))
    lack = f"Queries that could not be answered: {', '.join(failed)}." if failed else ""
    meta = ReportMeta(
        title=f"Allusions to {index.name}",
        method=f"Method {method}, index {index.name}",
        notes=(*found.notes, *found.warnings, *filter(None, (note(), lack))),
    )
    write_report(path, findings, meta)
    matches = sum(len(finding.matches) for finding in findings)
    print(f"{path}: {len(findings)} queries, {matches} passages", file=sys.stderr)


class QueryFields(StrEnum):
    """Which words the first stage compares."""

    token = "token"
    lemma = "lemma"
    both = "both"


DEFAULT_FIELD = QueryFields(DEFAULTS.field)


class AnswerFormat(StrEnum):
    """How answers are printed."""

    table = "table"
    json = "json"
    tsv = "tsv"
    trec = "trec"


@takes_server
def query(
    context: typer.Context,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT|-|FILE",
            help="The words; or - for stdin, or a file: one query a line (HTML, DOCX: a "
            "paragraph), JSON lines, or a CSV or TSV with a column text.",
            show_default=False,
        ),
    ],
    name: Name = DEFAULTS.name,
    first_stage: Annotated[
        str,
        typer.Option(
            help="Candidates: fused (all), bm25, tfidf, knn, rrf (these three), ngrams, "
            "citations, expansion, or a plug-in."
        ),
    ] = DEFAULTS.first_stage,
    field: Annotated[
        QueryFields, typer.Option(help="Words that candidates share; fused has both.")
    ] = DEFAULT_FIELD,
    candidates: Annotated[
        int, typer.Option(help="How many candidates to rescore.")
    ] = DEFAULTS.candidates,
    rerank: Annotated[
        str, typer.Option(help="Reranker (allusion-es list rerankers), or none.")
    ] = DEFAULTS.rerank,
    top: Annotated[
        int, typer.Option("--top", "-k", help="How many passages to show.")
    ] = DEFAULTS.top,
    book: Annotated[
        list[str] | None,
        typer.Option(help="Only this book, by any of its names; may be repeated."),
    ] = None,
    testament: Annotated[
        list[str] | None, typer.Option(help="Only this testament: ot or nt.")
    ] = None,
    work: Annotated[list[str] | None, typer.Option(help="Only this work; may be repeated.")] = None,
    author: Author = None,
    exclude_work: ExcludeWork = None,
    exclude_author: ExcludeAuthor = None,
    own_work: OwnWork = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="RERANKER.PARAMETER=VALUE",
            help="Set a parameter ('allusion-es list rerankers'); may be repeated.",
            show_default=False,
        ),
    ] = None,
    group: Annotated[
        bool,
        typer.Option(help="Show near-duplicates as one; never in TREC output."),
    ] = DEFAULTS.group,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Shade words by what they add to the score; list the pairs."
        ),
    ] = False,
    html: Html = None,
    format: Annotated[
        AnswerFormat | None,
        typer.Option(help="How to print; a table by default.", show_default=False),
    ] = None,
    input_format: Annotated[
        InputFormat | None,
        typer.Option(help="How a file or stdin is read; by its name by default."),
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    tag: Annotated[str, typer.Option(help="Name of the run in TREC output.")] = "",
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes for a file of many queries; one a processor by default.",
            show_default=False,
        ),
    ] = None,
    allow_partial: AllowPartial = False,
    *,
    server: ServerOptions,
) -> None:
    """Find the passages that a text alludes to.

    Without an index, the first query fetches the Vulgate and builds it.
    """
    from allusion_es.front.many_answers import ManyAnswers
    from allusion_es.front.queries import read_queries
    from allusion_es.retrieval.options import search_filter_of
    from allusion_es.retrieval.pipeline import QueryOptions, Retriever
    from allusion_es.retrieval.unanswered import left_out

    takes_html(context, html, "format", "tag")
    queries = read_queries(text, input_format, column_names(text=text_column, query_id=id_column))
    partial = partial_of(allow_partial, server)
    open_index = functools.partial(open_candidate_index, name, server, partial)
    retriever = Retriever(
        open_index(),
        QueryOptions.chosen(
            first_stage=first_stage,
            field=field,
            candidates=candidates,
            rerank=rerank,
            top=top,
            settings=parse_settings(set_ or ()),
            search_filter=search_filter_of(
                book,
                testament,
                work,
                authors=author,
                excluded_works=exclude_work,
                excluded_authors=exclude_author,
                own_work=own_work,
            ),
            explain=explain or html is not None,
            group=group and format is not AnswerFormat.trec,
        ),
    )
    unanswered: list[Unanswered] = []
    # Other processes could not tell this one which shards they missed.
    processes = 1 if allow_partial else workers or os.cpu_count() or 1
    found = ManyAnswers(retriever, open_index, queries, processes)
    told = _told(found, len(queries), html is not None, unanswered)
    method = f"{first_stage}.{field}.{rerank}"
    if html is not None:
        write_answers(html, told, retriever, method, found, lambda: missing_note(partial))
    else:
        _print(told, retriever, format or AnswerFormat.table, tag or method, explain, partial)
        for note in found.notes if explain else ():
            print_note(note)
    tell_missing(partial)
    for warning in found.warnings:
        print_note(warning)
    if unanswered:
        raise left_out(unanswered, len(queries))


def _print(
    answers: "Iterable[Answer]",
    retriever: "Retriever",
    format: AnswerFormat,
    tag: str,
    explain: bool,
    partial: "Partial | None",
) -> None:
    from allusion_es.cli import output
    from allusion_es.reports.answers import tsv_header

    if format is AnswerFormat.table:
        output.print_answers(answers, retriever, explain)
    else:
        if format is AnswerFormat.tsv:
            print(tsv_header())
        lines = (
            line
            for answer in answers
            for line in output.answer_lines(answer, format, tag, missing(partial))
        )
        for line in output.noting_escapes(lines) if format is AnswerFormat.trec else lines:
            print(line)


def _told(
    answers: "Iterable[Answer]", total: int, is_written: bool, unanswered: "list[Unanswered]"
) -> "Iterator[Answer]":
    """The answers, with a bar where none of them goes to the terminal, and what to say of each.

    Args:
        answers: The answers.
        total: How many queries there are; if there is but one, its failure is raised.
        is_written: Whether they go to a file.
        unanswered: Takes the queries that have none.
    """
    from allusion_es.cli.progress import progress
    from allusion_es.retrieval.unanswered import Unanswered

    if total > 1 and (is_written or not sys.stdout.isatty()):
        answers = progress(answers, "Querying", total)
    for answer in answers:
        if answer.failure is not None:
            if total == 1:
                raise answer.failure
            unanswered.append(Unanswered(answer.query.query, answer.failure))
        yield answer
        _tell(answer)


def _tell(answer: "Answer") -> None:
    """Say on stderr what a reader of the hits would not guess."""
    identifier = answer.query.query.query_id
    if answer.failure is not None:
        print(f"query {identifier}: not answered: {answer.failure}", file=sys.stderr)
        return
    if not answer.hits:
        words = ", ".join(answer.unknown) or "none"
        print(f"query {identifier}: no passage found; unknown words: {words}", file=sys.stderr)
    if answer.doubt:
        print(f"query {identifier}: {answer.doubt}", file=sys.stderr)
    if answer.cut:
        print(f"query {identifier}: {answer.cut_note}", file=sys.stderr)
