"""The indexes on a server: their names, and how they are found, listed, created and deleted.

The user gives an index a name (`vulgate`). On the server, the alias `allusion-vulgate` points to a
concrete index, `allusion-vulgate-20260131120000-1a2b3c4d`, and the term statistics lie in a second
concrete index, with `-terms` at the end of its name. Rebuilding makes new concrete indexes; then
the alias is moved to them.
"""

import re
import secrets
import time
from dataclasses import dataclass
from typing import Any

from allusion_es.core.errors import IndexDamagedError, IndexMissingError, ServerRefusedError
from allusion_es.es.answers import FORMAT, INDEXES, RESOLVED, check_answer, strange_answer
from allusion_es.es.connection import Server
from allusion_es.es.meta import KEY, Meta
from allusion_es.retrieval.index import check_name

_PREFIX = "allusion-"
_TERMS = "-terms"
_STAMP = r"-\d{14}-[0-9a-f]{8}"
_CONCRETE_NAME = re.compile(rf"{_PREFIX}(?P<name>[a-z0-9][a-z0-9_-]*){_STAMP}({_TERMS})?")


@dataclass(frozen=True, slots=True)
class IndexSummary:
    """An index in a list of indexes.

    Attributes:
        name: The name that the user gave to the index.
        passages: Number of passages; 0 if the index is damaged.
        problem: Why the index cannot be used, or "".
        encoder: The name of its sentence encoder, or "".
    """

    name: str
    passages: int
    problem: str = ""
    encoder: str = ""


@dataclass(frozen=True, slots=True)
class ConcreteIndex:
    """A concrete index, as the server describes it.

    Attributes:
        name: The name that the user gave to the index.
        concrete: The name on the server, with the time of its creation.
        description: Aliases, mappings and settings, as `GET /index` answers.
    """

    name: str
    concrete: str
    description: dict[str, Any]

    def meta(self) -> Meta:
        """The description in the mapping.

        Raises:
            IndexDamagedError: There is none that can be read.
        """
        meta = self.description["mappings"].get("_meta")
        return Meta.from_json(meta if isinstance(meta, dict) else {}, self.name)

    def setting(self, name: str, default: int) -> int:
        """A setting below `index.` that is a number, which servers write as a string."""
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
    """A name for a new concrete index; random digits keep two of the same second apart."""
    stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime())
    return f"{alias_of(name)}-{stamp}-{secrets.token_hex(4)}"


def terms_of(concrete: str) -> str:
    """The name of the index with the term statistics of a concrete index."""
    return concrete + _TERMS


def find_all(server: Server, name: str | None = None) -> list[ConcreteIndex]:
    """All concrete indexes, or those of one name, including half-built ones and term statistics."""
    found = []
    pattern = f"{alias_of(name)}-*" if name else f"{_PREFIX}*"
    for concrete, description in sorted(describe_indexes(server, pattern).items()):
        match = _CONCRETE_NAME.fullmatch(concrete)
        if match and name in (None, match["name"]):
            found.append(_concrete_index(server, match["name"], concrete, description))
    return found


def _concrete_index(
    server: Server, name: str, concrete: str, description: dict[str, Any]
) -> ConcreteIndex:
    """A concrete index; raises an error if its format is no number.

    Another number means that another version of this program built the index. Something else than a
    number means that the answer was garbled, which must not lead to advice to rebuild the index.
    """
    meta = description["mappings"].get("_meta")
    content = meta.get(KEY) if isinstance(meta, dict) else None
    if isinstance(content, dict) and "format" in content:
        check_answer(content, FORMAT, server.url)
    return ConcreteIndex(name, concrete, description)


def describe_indexes(server: Server, pattern: str) -> dict[str, Any]:
    """The description of each index whose name fits a pattern with `*`, by name.

    Raises:
        ServerRefusedError: The answer cannot be understood.
    """
    answer = server.request("GET", f"/{pattern}")
    check_answer(answer, INDEXES, server.url)
    if not answer:
        # Any server could answer `{}`, and stale indexes are deleted on the strength of it. So the
        # same is asked by a request whose answer has more structure.
        check = server.request("GET", f"/_resolve/index/{pattern}")
        check_answer(check, RESOLVED, server.url)
        if check["indices"]:
            raise strange_answer(server.url, pattern)
    return answer


def is_current(found: ConcreteIndex) -> bool:
    """True if the alias points to this concrete index."""
    return alias_of(found.name) in found.description["aliases"]


def find_current(server: Server, name: str) -> ConcreteIndex:
    """The concrete index that the alias of `name` points to.

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
            return _concrete_index(server, name, concrete, description)
    names = [found.name for found in find_all(server) if is_current(found)]
    known = f"it has {', '.join(names)}" if names else "it has none"
    raise IndexMissingError(
        f"{server.url} has no index {name!r} ({known}); "
        f"build it with 'allusion-es index … --name {name} --es URL'"
    )


def list_indexes(server: Server) -> list[IndexSummary]:
    """The indexes that an alias points to, sorted by name; damaged ones too."""
    summaries = []
    for found in find_all(server):
        if is_current(found):
            try:
                meta = found.meta()
                encoder = meta.settings.encoder.name if meta.settings.encoder else ""
                summaries.append(IndexSummary(found.name, meta.passages, encoder=encoder))
            except IndexDamagedError as error:
                summaries.append(IndexSummary(found.name, 0, str(error)))
    return summaries


def create_index(server: Server, concrete: str, body: dict[str, Any]) -> None:
    """Create an index; its name must be new.

    Raises:
        AllusionError: The server refuses, or does not answer.
    """
    try:
        server.change("PUT", f"/{concrete}", body)
    except ServerRefusedError as error:
        # Names are random, so the index is our own: the answer to a first attempt was lost.
        if "resource_already_exists_exception" not in str(error):
            raise


def delete_concrete(server: Server, names: list[str]) -> None:
    """Delete those of some concrete indexes that exist."""
    if names:
        server.change("DELETE", f"/{','.join(names)}?ignore_unavailable=true")


def delete_index(server: Server, name: str) -> None:
    """Delete the index of a name, if there is one, with its term statistics and its alias."""
    try:
        found = find_current(server, name)
    except IndexMissingError:
        return
    delete_concrete(server, [found.concrete, terms_of(found.concrete)])
