"""`allusion-es evaluate`: the options of the command."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from allusion_es.cli.gold import VerseNumbering
from allusion_es.cli.options import (
    SERVER_OPTIONS,
    Author,
    ExcludeAuthor,
    ExcludeWork,
    Html,
    Name,
    OwnWork,
    ServerOptions,
    takes_html,
    takes_server,
)
from allusion_es.core.errors import UsageError
from allusion_es.core.plugins import parse_settings
from allusion_es.retrieval.defaults import DEFAULTS, PAPER

_BESIDE_MANIFEST = frozenset({"manifest", "workers", "data_dir", *SERVER_OPTIONS})
"""Options that may be given where a manifest is repeated; it has all others itself."""


def _default(choice: str) -> str:
    """A sentence of the help: what a choice of a query is where it is not given."""
    usual, paper = getattr(DEFAULTS, choice), getattr(PAPER, choice)
    return f"By default {usual}, as for 'query'; {paper} for the paper's tables."


class ExperimentName(StrEnum):
    """The paper's tables and its Figure 2."""

    table1 = "table1"
    table2 = "table2"
    table3 = "table3"
    table4 = "table4"
    fig2 = "fig2"


class FigureFormat(StrEnum):
    """The format in which figures are printed."""

    table = "table"
    json = "json"
    tsv = "tsv"
    latex = "latex"


@takes_server
def evaluate(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="GOLD|table1|table2|table3|table4|fig2",
            help="A file of gold links, or an experiment of the paper, with --gold; nothing to "
            "repeat a manifest.",
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
    run: Annotated[
        Path | None,
        typer.Option(help="Score this TREC run instead of a method.", show_default=False),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Rerankers, with commas; none is the first stage alone, none:dense another one. "
            f"{_default('rerank')}",
            show_default=False,
        ),
    ] = None,
    input: Annotated[
        str, typer.Option(help="token, lemma, or both with a comma.")
    ] = DEFAULTS.field,
    first_stage: Annotated[
        str | None,
        typer.Option(
            help=f"As for 'query', or all: no first stage. {_default('first_stage')}",
            show_default=False,
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            help=f"How many candidates to rescore. {_default('candidates')}", show_default=False
        ),
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="How much of each ranking to keep.")] = 1000,
    measures: Annotated[
        str,
        typer.Option(
            help="mrr, p10 (as the paper's P@10), success@k, precision@k, recall@k, ndcg@k, map, "
            "rprec; with commas."
        ),
    ] = "mrr,p10,p20",
    type: Annotated[
        list[str] | None,
        typer.Option(help="Only links of this type; may be repeated.", show_default=False),
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
    numbering: Annotated[
        VerseNumbering, typer.Option(help="Whose verse numbers the links have.")
    ] = VerseNumbering.vulgate,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out passages that the index lacks.")
    ] = False,
    windows: Annotated[
        str, typer.Option(help="Table 4: words on each side of the anchor, with commas.")
    ] = "3,10",
    word2vec: Annotated[
        Path | None,
        typer.Option(
            help="Table 3: word2vec vectors; by default they are trained on the index.",
            show_default=False,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="RERANKER.PARAMETER=VALUE", help="Set a parameter."),
    ] = None,
    parallels: Annotated[
        bool,
        typer.Option("--parallels", help="Count parallels of a relevant passage as relevant."),
    ] = False,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="Compare methods by one of the measures: adds the difference of each to the best, "
            "its interval, test and effect.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="With --compare: write the comparison of every pair (.tsv).", show_default=False
        ),
    ] = None,
    paper_column: Annotated[
        bool,
        typer.Option(
            "--paper-column/--no-paper-column", help="Show the paper's own figures beside yours."
        ),
    ] = True,
    errors: Annotated[
        Path | None,
        typer.Option(help="Write what went wrong for which query (.tsv).", show_default=False),
    ] = None,
    save_run: Annotated[
        Path | None,
        typer.Option(help="Write the run of the only method for TREC tools.", show_default=False),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="fig2: draw it (.svg, .pdf or .png).", show_default=False)
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=0, help="Draws for confidence intervals; 0 for none.")
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Of draws and tests.")] = 0,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; one a processor by default.", show_default=False),
    ] = None,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Keep runs, and use those kept.")
    ] = True,
    manifest: Annotated[
        Path | None,
        typer.Option(
            help="Write down all that the figures depend on; without gold links, repeat what is "
            "written there.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the manifest.")] = False,
    html: Html = None,
    format: Annotated[
        FigureFormat | None,
        typer.Option(help="How to print; a table by default.", show_default=False),
    ] = None,
    name: Name = DEFAULTS.name,
    *,
    server: ServerOptions,
) -> None:
    """Evaluate methods on gold links, or repeat a table of the paper.

    Figures go from 0 to 100. P@k is, as in the paper, the share of queries with a relevant
    passage among the first k; a query without one counts 0.
    """
    from allusion_es.cli.evaluate.manifest import evaluate_gold
    from allusion_es.cli.evaluate.run import EvaluateOptions

    _check_fitting(target, word2vec=word2vec, figure=figure)
    if target is None and manifest is not None:
        return _repeat(context, manifest, server, workers)
    takes_html(context, html, "format")
    experiment, links = _gold(target, gold)
    defaults = PAPER if experiment else DEFAULTS
    choices = EvaluateOptions(
        experiment=experiment,
        gold=links,
        topics=topics,
        run=run,
        methods=_list(defaults.rerank if methods is None else methods, "--methods"),
        inputs=_list(input, "--input"),
        first_stage=first_stage or defaults.first_stage,
        candidates=defaults.candidates if candidates is None else candidates,
        depth=depth,
        measures=_list(measures, "--measures"),
        types=frozenset(type or ()),
        books=tuple(book or ()),
        testaments=tuple(testament or ()),
        works=tuple(work or ()),
        numbering=numbering.value,
        skip_unknown=skip_unknown,
        windows=_numbers(windows),
        word2vec=word2vec,
        settings=parse_settings(set_ or ()),
        parallels=parallels,
        compare=compare,
        errors=errors,
        save_run=save_run,
        figure=figure,
        resamples=resamples,
        seed=seed,
        workers=workers or os.cpu_count() or 1,
        cache=cache,
        format=(format or FigureFormat.table).value,
        index=name,
        server=server,
        html=html,
        paper_column=paper_column,
        pairs=pairs,
        authors=tuple(author or ()),
        excluded_works=tuple(exclude_work or ()),
        excluded_authors=tuple(exclude_author or ()),
        own_work=own_work,
    )
    evaluate_gold(choices, manifest, force=force)


_ONLY_FOR = {"word2vec": "table3", "figure": "fig2"}
"""Options that only one experiment has a use for."""


def _check_fitting(target: str | None, **options: Path | None) -> None:
    """Refuse an option that would do nothing."""
    for name, value in options.items():
        if value is not None and target != _ONLY_FOR[name]:
            raise UsageError(f"it is for 'evaluate {_ONLY_FOR[name]}' alone", argument=name)


def _repeat(
    context: typer.Context, manifest: Path, server: ServerOptions, workers: int | None
) -> None:
    """Repeat a manifest; an option that the manifest has is refused."""
    from allusion_es.cli.evaluate.manifest import repeat

    for name in context.params:
        source = context.get_parameter_source(name)
        given = source is not None and source.name == "COMMANDLINE"
        if given and name not in _BESIDE_MANIFEST:
            option = name.strip("_").replace("_", "-")
            raise UsageError(
                f"a manifest that is repeated gives all options; leave --{option} out, or name "
                "gold links to evaluate anew"
            )
    repeat(manifest, server, workers or os.cpu_count() or 1)


def _gold(target: str | None, gold: Path | None) -> tuple[str | None, Path]:
    """The experiment that is asked for, or None, and the file of gold links."""
    if target is None:
        raise UsageError("name a file of gold links, an experiment with --gold, or --manifest FILE")
    if target in {each.value for each in ExperimentName}:
        if gold is None:
            raise UsageError(f"{target} needs gold links: give them with --gold FILE")
        return target, gold
    if gold is not None:
        raise UsageError(f"--gold and {target!r} both name gold links; give one of them")
    return None, Path(target)


def _list(text: str, option: str) -> tuple[str, ...]:
    values = tuple(dict.fromkeys(value.strip() for value in text.split(",") if value.strip()))
    if not values:
        raise UsageError(f"{option} names nothing; give names with commas between them")
    return values


def _numbers(text: str) -> tuple[int, ...]:
    values = _list(text, "--windows")
    for value in values:
        if not value.isdecimal() or len(value) > 4:
            raise UsageError(f"--windows: {value!r} is not a number of words from 0 to 9999")
    return tuple(int(value) for value in values)
