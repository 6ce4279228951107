"""The indexes on a server: how they are named, listed and deleted.

An index has a name (`vulgate`). Users of the server find it under an alias (`allusion-vulgate`)
that leads to the index proper (`allusion-vulgate-20260131120000-1a2b3c4d`); beside that lies
one with its term statistics (`…-terms`). A rebuilt index is a new one, to which the alias moves.
"""

import re
import secrets
import time
from dataclasses import dataclass
from typing import Any

from allusion_es.core.errors import IndexDamagedError, IndexMissingError
from allusion_es.es.connection import Server
from allusion_es.es.meta import Meta
from allusion_es.retrieval.names import check_name

_PREFIX = "allusion-"
_TERMS = "-terms"
_STAMP = r"-\d{14}-[0-9a-f]{8}"
_PROPER = re.compile(rf"{_PREFIX}(?P<name>[a-z0-9][a-z0-9_-]*){_STAMP}(?P<terms>{_TERMS})?")


@dataclass(frozen=True, slots=True)
class IndexSummary:
    """One line of a list of indexes.

    Attributes:
        name: The name that the user gave it.
        passages: How many passages it holds; 0 where it is damaged.
        problem: Why it cannot be used, or "".
    """

    name: str
    passages: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """An index as the server describes it.

    Attributes:
        name: The name that the user gave it.
        proper: The index that the alias leads to.
        description: Its aliases, mappings and settings.
    """

    name: str
    proper: str
    description: dict[str, Any]

    def meta(self) -> Meta:
        """What it says of itself; see `Meta.from_json`."""
        return Meta.from_json(self.description["mappings"].get("_meta", {}), self.name)

    def setting(self, name: str, default: str) -> str:
        """One of its `index.` settings."""
        value: str = self.description["settings"]["index"].get(name, default)
        return value


def alias_of(name: str) -> str:
    """The alias of the index `name`.

    Example:
        >>> alias_of("vulgate")
        'allusion-vulgate'
    """
    return _PREFIX + name


def new_proper_name(name: str) -> str:
    """A name for a new index proper; no two are the same."""
    stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime())
    return f"{alias_of(name)}-{stamp}-{secrets.token_hex(4)}"


def terms_of(proper: str) -> str:
    """The index with the term statistics of an index proper."""
    return proper + _TERMS


def find_all(server: Server, name: str | None = None) -> list[Found]:
    """All indexes, or all of one name, finished or not, term statistics included."""
    pattern = f"{alias_of(name)}-*" if name else f"{_PREFIX}*"
    answer = server.request("GET", f"/{pattern}")
    found = []
    for proper, description in sorted(answer.items()):
        match = _PROPER.fullmatch(proper)
        if match and name in (None, match["name"]):
            found.append(Found(match["name"], proper, description))
    return found


def is_current(found: Found) -> bool:
    """Whether the alias leads to this index."""
    return alias_of(found.name) in found.description["aliases"]


def find_current(server: Server, name: str) -> Found:
    """The index that the alias of `name` leads to.

    Raises:
        UsageError: No index can have that name.
        IndexMissingError: There is none; the message lists those that there are.
    """
    check_name(name)
    try:
        answer = server.request("GET", f"/{alias_of(name)}")
    except IndexMissingError:
        answer = {}
    for proper, description in answer.items():
        if alias_of(name) in description["aliases"]:
            return Found(name, proper, description)
    names = [found.name for found in find_all(server) if is_current(found)]
    known = f"it has {', '.join(names)}" if names else "it has none"
    raise IndexMissingError(
        f"{server.url} has no index {name!r} ({known}); "
        f"build it with 'allusion-es index … --name {name} --es URL'"
    )


def list_indices(server: Server) -> list[IndexSummary]:
    """The indexes that can be asked, by name."""
    summaries = []
    for found in find_all(server):
        if is_current(found):
            try:
                summaries.append(IndexSummary(found.name, found.meta().passages))
            except IndexDamagedError as error:
                summaries.append(IndexSummary(found.name, 0, str(error)))
    return summaries


def delete_index(server: Server, name: str) -> None:
    """Delete the index `name` and its term statistics.

    Raises:
        IndexMissingError: There is none; the message lists those that there are.
    """
    current = find_current(server, name)
    delete_proper(server, [current.proper, terms_of(current.proper)])


def delete_proper(server: Server, names: list[str]) -> None:
    """Delete indexes proper, if they are there."""
    if names:
        server.request("DELETE", f"/{','.join(names)}?ignore_unavailable=true")
