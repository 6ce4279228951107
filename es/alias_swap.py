"""How a new index takes the place of an old one, whoever else builds, and whoever dies."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allusion_es.core.errors import AllusionError, ServerUnavailableError
from allusion_es.core.locks import is_abandoned, locked_file
from allusion_es.es.catalogue import (
    ConcreteIndex,
    alias_of,
    delete_concrete,
    find_all,
    find_current,
    is_current,
    terms_of,
)
from allusion_es.es.connection import Server

STALE_SECONDS = 3600
"""A half-built index this old was left behind by a process that was killed, on any machine."""

_TRIES = 5
_SUFFIX = ".building"


def make_current(server: Server, name: str, concrete: str) -> None:
    """Let the alias lead to the new index and delete the old one, in a single step.

    Raises:
        AllusionError: That failed, and the alias leads where it did.
    """
    for left in reversed(range(_TRIES)):
        try:
            server.change("POST", "/_aliases", {"actions": _actions(server, name, concrete)})
        except AllusionError as error:
            # The answer may have been lost, or another process may have changed the alias since
            # its old index was looked up.
            if _leads_to(server, name, concrete):
                return
            if not left or isinstance(error, ServerUnavailableError):
                raise
        else:
            return


def give_up(server: Server, name: str, concrete: str) -> None:
    """Delete a half-built index, without hiding the error that led to this."""
    with contextlib.suppress(AllusionError):
        # The alias may have moved although the answer to that was lost.
        if not _leads_to(server, name, concrete):
            delete_concrete(server, [concrete, terms_of(concrete)])


def delete_stale(server: Server, name: str, concrete: str) -> None:
    """Delete what processes that were killed left behind.

    Args:
        server: Where.
        name: The name of the index.
        concrete: The index that this process is building, which tells the server's time, once it
            is there: clocks of two machines may differ by more than a build takes.
    """
    found = find_all(server, name)
    now = next((created(one) for one in found if one.concrete == concrete), 0.0)
    current = {one.concrete for one in found if is_current(one)} | {concrete}
    kept = current | {terms_of(one) for one in current}
    stale = [
        one.concrete
        for one in found
        if one.concrete not in kept and is_left_behind(one.concrete, now - created(one))
    ]
    delete_concrete(server, stale)
    delete_locks(alias_of(name))


def created(found: ConcreteIndex) -> float:
    """When an index was created, in seconds of the server's clock."""
    return found.setting("creation_date", 0) / 1000


@contextlib.contextmanager
def at_work_on(concrete: str) -> Iterator[None]:
    """Let other processes on this machine see that an index is still being built."""
    path = _lock(concrete)
    try:
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # then its age must tell
                stack.enter_context(locked_file(path))
            yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def is_left_behind(concrete: str, age: float) -> bool:
    """Whether nobody is building a half-built index any more.

    Args:
        concrete: Its name.
        age: How long ago it was created, in seconds.
    """
    return age > STALE_SECONDS or is_abandoned(_lock(concrete.removesuffix(terms_of(""))))


def delete_locks(prefix: str) -> None:
    """Delete what tells that dead processes were at work, once what they left is deleted.

    Args:
        prefix: How the names of what they built begin, before the time.
    """
    times = f"{prefix}-{'[0-9]' * 14}-{'?' * 8}{_SUFFIX}"
    for path in Path(tempfile.gettempdir()).glob(times):
        if is_abandoned(path):
            path.unlink(missing_ok=True)


def _lock(concrete: str) -> Path:
    return Path(tempfile.gettempdir(), f"{concrete}{_SUFFIX}")


def _leads_to(server: Server, name: str, concrete: str) -> bool:
    with contextlib.suppress(AllusionError):
        return find_current(server, name).concrete == concrete
    return False


def _actions(server: Server, name: str, concrete: str) -> list[dict[str, Any]]:
    there = find_all(server, name)
    old = {found.concrete for found in there if is_current(found)} - {concrete}
    old |= {terms_of(index) for index in old}
    actions: list[dict[str, Any]] = [
        {"remove_index": {"index": found.concrete}} for found in there if found.concrete in old
    ]
    # An alias has one index for writing at most: of two processes that found none to replace,
    # the second is refused, and looks again.
    added = {"index": concrete, "alias": alias_of(name), "is_write_index": True}
    return [*actions, {"add": added}]
