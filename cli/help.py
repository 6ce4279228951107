"""The help of commands: options under headings, those of a server last."""

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

WIDTH = 100
"""Columns that help uses at most; a terminal may have fewer."""

_OTHERS = "Options"
"""The heading of options that no other heading has."""

_HEADINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("What to search", ("name", "book", "testament", "work")),
    (
        "How to rank",
        ("first_stage", "field", "candidates", "rerank", "set_", "group", "threshold", "precision"),
    ),
    ("Input", ("input_format", "text_column", "id_column", "relevant_column")),
    ("Output", ("top", "explain", "html", "format", "out", "tag", "tei")),
    (_OTHERS, ()),
    (
        "Elasticsearch",
        (
            "es", "ca_certs", "fingerprint", "api_key", "user", "password", "wait", "timeout",
            "allow_partial",
        ),
    ),
)  # fmt: skip
"""The headings in their order, and the names of the parameters under each."""


class GroupedCommand(TyperCommand):
    """A command whose help has its options under headings, where it has options of several."""

    # Click's own types: some versions of typer bring their own click, so they have no one name.
    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the options of the command into its help."""
        heading_of = {name: heading for heading, names in _HEADINGS for name in names}
        rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading, _ in _HEADINGS}
        arguments: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is None:
                continue
            if parameter.param_type_name == "option":
                rows[heading_of.get(parameter.name or "", _OTHERS)].append(row)
            else:
                arguments.append(row)
        _write(formatter, "Arguments", arguments)
        for heading, some in rows.items():
            _write(formatter, heading, some)


def _write(formatter: Any, heading: str, rows: Sequence[tuple[str, str]]) -> None:  # noqa: ANN401
    """Write a heading and the options under it, if there are any."""
    if rows:
        with formatter.section(heading):
            formatter.write_dl(rows)
