"""`--allow-partial`: answers from a part of an index, and what is said of them."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allusion_es.cli.options import ServerOptions
from allusion_es.core.errors import UsageError

if TYPE_CHECKING:
    from allusion_es.es.partial import Partial

AllowPartial = Annotated[
    bool,
    typer.Option(
        "--allow-partial",
        help="With --es: answer from the shards that are there, and say what is missing; "
        "otherwise nothing is answered.",
    ),
]


def partial_of(allowed: bool, server: ServerOptions) -> "Partial | None":
    """What is told of missing shards where that is allowed.

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
    """What answers lack, for JSON; None while they are whole."""
    return asdict(partial.worst) if partial and partial.worst else None


def missing_note(partial: "Partial | None") -> str:
    """What answers lack, for people; "" while they are whole."""
    lack = partial.worst if partial else None
    if lack is None:
        return ""
    return (
        f"only {lack.searched} of {lack.shards} shards were searched ({lack.reason}): passages are "
        "missing, and scores are those of what is there"
    )


def tell_missing(partial: "Partial | None") -> None:
    """Say on stderr what answers lack, if anything."""
    if note := missing_note(partial):
        print(f"partial: {note}", file=sys.stderr)
