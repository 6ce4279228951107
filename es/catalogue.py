"""The indexes on a server: how they are named, listed and deleted.

An index has a name (`vulgate`). Users of the server find it under an alias (`allusion-vulgate`)
that leads to the index concrete (`allusion-vulgate-20260131120000-1a2b3c4d`); beside that lies
one with its term statistics (`…-terms`). A rebuilt index is a new one, to which the alias moves.
"""

import re
import secrets
import time
from dataclasses import dataclass
from typing import Any

from allusion_es.core.errors import IndexDamagedError, IndexMissingError, ServerRefusedError
from allusion_es.es.answers import INDEXES, RESOLVED, Count, check_answer, strange_answer
from allusion_es.es.connection import Server
from allusion_es.es.meta import KEY, Meta
from allusion_es.retrieval.index import check_name

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
class ConcreteIndex:
    """An index as the server describes it.

    Attributes:
        name: The name that the user gave it.
        concrete: The index that the alias leads to.
        description: Its aliases, mappings and settings.
    """

    name: str
    concrete: str
    description: dict[str, Any]

    def meta(self) -> Meta:
        """What it says of itself; see `Meta.from_json`."""
        meta = self.description["mappings"].get("_meta")
        return Meta.from_json(meta if isinstance(meta, dict) else {}, self.name)

    def setting(self, name: str, default: int) -> int:
        """One of its `index.` settings that are numbers; servers write them as strings."""
        try:
            return int(self.description["settings"]["index"].get(name, default))
        except (TypeError, ValueError):
            raise IndexDamagedError(
                f"index {self.name!r} on the server has no number as its setting {name}"
            ) from None


def alias_of(name: str) -> str:
    """The alias of the index `name`.

    Example:
        >>> alias_of("vulgate")
        'allusion-vulgate'
    """
    return _PREFIX + name


def new_concrete_name(name: str) -> str:
    """A name for a new index concrete; no two are the same."""
    stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime())
    return f"{alias_of(name)}-{stamp}-{secrets.token_hex(4)}"


def terms_of(concrete: str) -> str:
    """The index with the term statistics of an index concrete."""
    return concrete + _TERMS


def find_all(server: Server, name: str | None = None) -> list[ConcreteIndex]:
    """All indexes, or all of one name, finished or not, term statistics included."""
    found = []
    pattern = f"{alias_of(name)}-*" if name else f"{_PREFIX}*"
    for concrete, description in sorted(describe_indexes(server, pattern).items()):
        match = _PROPER.fullmatch(concrete)
        if match and name in (None, match["name"]):
            found.append(_found(server, match["name"], concrete, description))
    return found


def _found(server: Server, name: str, concrete: str, description: dict[str, Any]) -> ConcreteIndex:
    """An index, unless its format is no number: that is no other format, but no true answer."""
    meta = description["mappings"].get("_meta")
    content = meta.get(KEY) if isinstance(meta, dict) else None
    if isinstance(content, dict) and "format" in content:
        check_answer(content, {"format": Count}, server.url)
    return ConcreteIndex(name, concrete, description)


def describe_indexes(server: Server, pattern: str) -> dict[str, Any]:
    """The description of each index whose name fits a pattern with `*`.

    Raises:
        ServerRefusedError: What the server answers cannot be understood.
    """
    answer = server.request("GET", f"/{pattern}")
    check_answer(answer, INDEXES, server.url)
    if not answer:
        # So short an answer could be anything's; this one is longer.
        check = server.request("GET", f"/_resolve/index/{pattern}")
        check_answer(check, RESOLVED, server.url)
        if check["indices"]:
            raise strange_answer(server.url, pattern)
    return answer


def is_current(found: ConcreteIndex) -> bool:
    """Whether the alias leads to this index."""
    return alias_of(found.name) in found.description["aliases"]


def find_current(server: Server, name: str) -> ConcreteIndex:
    """The index that the alias of `name` leads to.

    Raises:
        UsageError: No index can have that name.
        IndexMissingError: There is none; the message lists those that there are.
    """
    check_name(name)
    try:
        answer = server.request("GET", f"/{alias_of(name)}")
        if not answer:
            raise strange_answer(server.url, alias_of(name))
    except IndexMissingError:
        answer = {}
    check_answer(answer, INDEXES, server.url)
    for concrete, description in answer.items():
        if alias_of(name) in description["aliases"]:
            return _found(server, name, concrete, description)
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


def create_index(server: Server, concrete: str, body: dict[str, Any]) -> None:
    """Create an index with a name that no other has.

    Raises:
        AllusionError: The server refuses, or does not answer.
    """
    try:
        server.change("PUT", f"/{concrete}", body)
    except ServerRefusedError as error:
        # Then the answer to the first of two attempts was lost.
        if "resource_already_exists_exception" not in str(error):
            raise


def delete_concrete(server: Server, names: list[str]) -> None:
    """Delete indexes concrete, if they are there."""
    if names:
        server.change("DELETE", f"/{','.join(names)}?ignore_unavailable=true")
