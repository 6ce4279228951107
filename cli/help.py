"""The help of commands: options under headings, those of a server last, then examples.

`--help` shows what daily use needs, and `--help-all` every option.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from typer.core import TyperCommand

from allusion_es.core.errors import AllusionError, one_line

WIDTH = 100
"""Columns that help uses at most; a terminal may have fewer."""

_OTHERS = "Options"
"""The heading of options that no other heading has."""

_ELASTICSEARCH = "Elasticsearch"

_HEADINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "What to search",
        (
            "name", "book", "testament", "work", "author", "exclude_work", "exclude_author",
            "own_work",
        ),
    ),
    (
        "How to rank",
        (
            "first_stage", "field", "candidates", "rerank", "methods", "set_", "group", "threshold",
            "precision", "fast",
        ),
    ),
    (
        "Input",
        (
            "from_query", "gold", "topics", "run", "input", "type", "numbering", "skip_unknown",
            "kind", "input_format", "keep", "language", "text_column", "id_column",
            "relevant_column",
        ),
    ),
    (
        "Output",
        (
            "top", "explain", "html", "format", "out", "tag", "tei", "to", "force", "resume",
            "errors", "figure", "save_run", "svg",
        ),
    ),
    (_OTHERS, ()),
    (
        _ELASTICSEARCH,
        (
            "es", "kibana", "space", "ca_certs", "fingerprint", "api_key", "user", "password",
            "wait", "timeout", "allow_partial", "local",
        ),
    ),
)  # fmt: skip
"""The headings in their order, and the names of the parameters under each."""

_RARE = frozenset(
    {
        "ca_certs", "fingerprint", "api_key", "user", "password", "wait", "timeout",
        "allow_partial", "data_dir", "exclude_work", "exclude_author", "own_work", "text_column",
        "id_column", "relevant_column",
    }
)  # fmt: skip
"""Parameters that only `--help-all` shows; a configuration file may hold most of them."""

_ALL = "--help-all"

EXAMPLES: dict[str, tuple[str, ...]] = {
    "query": (
        'allusion-es query "retia sua relinquentes secuti sunt piscatores"',
        "allusion-es query clauses.txt --html report.html",
    ),
    "scan": (
        "allusion-es scan sermo.xml",
        "allusion-es scan sermo.xml --format tei --out found",
    ),
    "compare": (
        "allusion-es compare aeneis.xml pharsalia.xml",
        "allusion-es compare vergil.aeneid.tess lucan.bellum_civile.tess --format csv",
    ),
    "read": ("allusion-es read sermo.xml",),
    "serve": ("allusion-es serve",),
    "index": ("allusion-es index", "allusion-es index letters.tsv --window 3"),
    "evaluate": (
        "allusion-es evaluate links.jsonl --methods none,soft-cosine,learned",
        "allusion-es evaluate table2 --gold links.jsonl --format latex",
    ),
    "agreement": ("allusion-es agreement spans.sqlite --html agreement.html",),
    "learn": ("allusion-es learn links.jsonl",),
    "gold check": ("allusion-es gold check links.tsv",),
    "gold convert": ("allusion-es gold convert links.tsv --to trec --out links.qrels",),
    "gold from-tei": ("allusion-es gold from-tei edition.xml --out links.jsonl",),
    "candidates push": (
        "allusion-es candidates push --from-query links.jsonl --es http://localhost:9200",
    ),
    "kibana install": ("allusion-es kibana install --kibana http://localhost:5601",),
    "annotate split": (
        "allusion-es annotate split links.jsonl --annotators anna,berta --out work",
    ),
    "annotate page": ("allusion-es annotate work --annotator anna",),
    "embeddings nearest": ("allusion-es embeddings nearest botrus",),
}
"""Examples at the end of a command's help, by the command's words."""


class GroupedCommand(TyperCommand):
    """A command whose help has its options under headings, and whose errors name its options."""

    # Click's own types: some versions of typer bring their own click, so they have no one name.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Take `--help-all` for `--help` with all options."""
        before, dashes, after = _parted(args)
        if _ALL in before:
            ctx.meta[_ALL] = True
            before = ["--help"]
        return super().parse_args(ctx, [*before, *dashes, *after])

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run the command; what it says of an argument, it says of the option of that name."""
        try:
            return super().invoke(ctx)
        except AllusionError as error:
            if name := _shown_name(ctx, error.argument):
                error.args = (one_line(f"{name}: {error.reason}"),)
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the options of the command into its help."""
        heading_of = {name: heading for heading, names in _HEADINGS for name in names}
        rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading, _ in _HEADINGS}
        arguments: list[tuple[str, str]] = []
        is_whole = _ALL in ctx.meta
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is None or (parameter.name in _RARE and not is_whole):
                continue
            row = (re.sub(r"<list\[(\w+)\]>", lambda kind: f"<{kind[1].lower()}>", row[0]), row[1])
            if parameter.param_type_name == "option":
                rows[heading_of.get(parameter.name or "", _OTHERS)].append(row)
            else:
                arguments.append(row)
        if not is_whole and any(each.name in _RARE for each in self.get_params(ctx)):
            rows[_OTHERS].append((_ALL, "Show rarer options, too."))
        _write(formatter, "Arguments", arguments)
        is_of_kibana = any(each.name == "kibana" for each in self.params)
        for heading, some in rows.items():
            is_renamed = heading == _ELASTICSEARCH and is_of_kibana
            _write(formatter, "Kibana" if is_renamed else heading, some)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the examples after the options."""
        super().format_epilog(ctx, formatter)
        words = ctx.command_path.split()[1:]
        if examples := EXAMPLES.get(" ".join(words)):
            with formatter.section("Examples"):
                for line in examples:
                    # Not wrapped: what is copied from here must be one line.
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def _parted(args: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Arguments before `--`, that, and those after it, which are no options."""
    place = list(args).index("--") if "--" in args else len(args)
    return list(args[:place]), list(args[place : place + 1]), list(args[place + 1 :])


def _shown_name(ctx: Any, argument: str) -> str:  # noqa: ANN401 - click's
    """What the command line calls an argument, such as `--first-stage`; "" if it has none such."""
    for name in _names(argument):
        for parameter in ctx.command.params:
            if not parameter.name or parameter.name.strip("_") != name:
                continue
            if parameter.param_type_name != "option":
                return str(parameter.human_readable_name)
            source = ctx.get_parameter_source(parameter.name)
            is_configured = source is not None and source.name == "DEFAULT_MAP"
            where = " in the configuration file" if is_configured else ""
            return f"{max(parameter.opts, key=len)}{where}"
    return ""


def _names(argument: str) -> Iterator[str]:
    """Names that a command may have for an argument: its own first."""
    if argument:
        yield argument
        yield f"{argument}s"
        yield from _OTHER_NAMES.get(argument, ())


_OTHER_NAMES = {"rerank": ("methods",), "field": ("input",), "vectors": ("set",)}
"""Options of commands that call an argument otherwise."""


def _write(formatter: Any, heading: str, rows: Sequence[tuple[str, str]]) -> None:  # noqa: ANN401
    """Write a heading and the options under it, if there are any."""
    if rows:
        with formatter.section(heading):
            formatter.write_dl(rows)
