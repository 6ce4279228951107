"""The option `--allow-partial`: answers although shards of an index are missing.

Such answers are told apart from whole ones on stderr, in JSON and in reports.
"""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allusion_es.cli.options import ServerOptions
from allusion_es.core.characters import visible
from allusion_es.core.errors import UsageError

if TYPE_CHECKING:
    from allusion_es.es.partial import Partial

AllowPartial = Annotated[
    bool,
    typer.Option(
        "--allow-partial",
        help="Answer from the shards that are there, and say what is missing.",
    ),
]


def partial_of(allowed: bool, server: ServerOptions) -> "Partial | None":
    """A record of missing shards if answers without them are allowed, else None.

    Args:
        allowed: The option's value.
        server: The options of the server.

    Raises:
        UsageError: There is no server that could miss any.
    """
    if not allowed:
        return None
    if server.url is None:
        raise UsageError("--allow-partial is for an index on Elasticsearch; name it with --es URL")
    from allusion_es.es.partial import Partial

    return Partial()


def missing(partial: "Partial | None") -> dict[str, Any] | None:
    """The worst shortfall of all answers so far, for JSON; None while all are whole."""
    return asdict(partial.worst) if partial and partial.worst else None


def missing_note(partial: "Partial | None") -> str:
    """A note on the worst shortfall of all answers so far; "" while all are whole."""
    lack = partial.worst if partial else None
    if lack is None:
        return ""
    return (
        f"only {lack.searched} of {lack.shards} shards were searched ({lack.reason}): passages are "
        "missing, and scores are those of what is there"
    )


def tell_missing(partial: "Partial | None") -> None:
    """Print the note on missing shards to stderr, if there is one."""
    if note := missing_note(partial):
        print(f"partial: {visible(note)}", file=sys.stderr)
