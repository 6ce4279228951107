"""The alias swap: a new index takes the place of an old one in a single request, or not at all.

A build writes a new concrete index while the old one stays in use. Several processes may build the
same index at once, and any of them may be killed. So the swap is atomic and decides which of them
wins, and every build first deletes the half-built indexes of dead processes. To tell these from
the ones of living processes, a process holds a lock file while it builds; on other machines, where
locks cannot be seen, the age of the index decides.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
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
"""Age from which a half-built index counts as left behind by a killed process of any machine. The
largest builds take minutes; a build that takes longer than this could be deleted by another."""

# Each failed try means that another process has won a race; so many never build one index at once.
_TRIES = 5
_SUFFIX = ".building"


def make_current(server: Server, name: str, concrete: str) -> None:
    """Point the alias of an index to a new concrete index, and delete the old one.

    Args:
        server: The server.
        name: The name that the user gave to the index.
        concrete: The new concrete index.

    Raises:
        AllusionError: The swap failed, and the alias points to the same index as before.
    """
    swap_alias(
        server,
        lambda: _actions(server, name, concrete),
        lambda: points_to(server, name, concrete),
    )


def swap_alias(
    server: Server, actions: Callable[[], list[dict[str, Any]]], is_done: Callable[[], bool]
) -> None:
    """Change an alias by a request of several actions, which the server does all or not at all.

    Args:
        server: The server.
        actions: Looks up what is there and returns the actions; called again for each try, since
            another process may have changed the alias in between.
        is_done: Whether the alias has been changed as wanted; asked when a request fails, since
            only the answer to it may have been lost.

    Raises:
        AllusionError: The alias could not be changed.
    """
    for left in reversed(range(_TRIES)):
        try:
            server.change("POST", "/_aliases", {"actions": actions()})
        except AllusionError as error:
            if is_done():
                return
            if not left or isinstance(error, ServerUnavailableError):
                raise
        else:
            return


def discard(server: Server, indexes: Sequence[str], is_current: Callable[[], bool]) -> None:
    """Delete half-built indexes, without hiding the error that led to this.

    Args:
        server: The server.
        indexes: Their concrete names.
        is_current: Whether the alias points to them all the same: it may have been moved although
            the answer to that request was lost.
    """
    with contextlib.suppress(AllusionError):
        if not is_current():
            delete_concrete(server, list(indexes))


def points_to(server: Server, name: str, concrete: str) -> bool:
    """True if the alias of an index points to this concrete index; False if that is unknown."""
    with contextlib.suppress(AllusionError):
        return find_current(server, name).concrete == concrete
    return False


def delete_stale(server: Server, name: str, concrete: str) -> None:
    """Delete the half-built indexes that killed processes left behind.

    Args:
        server: The server.
        name: The name that the user gave to the index.
        concrete: The index that this process builds. Once it exists, its time of creation serves as
            the present time: the clocks of two machines may differ by more than a build takes.
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


def created(index: ConcreteIndex) -> float:
    """The time when an index was created, in seconds of the server's clock."""
    return index.setting("creation_date", 0) / 1000


@contextlib.contextmanager
def at_work_on(concrete: str) -> Iterator[None]:
    """Hold a lock file that shows other processes on this machine that an index is being built."""
    path = _lock(concrete)
    try:
        with contextlib.ExitStack() as stack:
            # Without a lock file (a full disk) a build still works; then its age must tell.
            with contextlib.suppress(OSError):
                stack.enter_context(locked_file(path))
            yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def is_left_behind(concrete: str, age: float) -> bool:
    """True if nobody is building a half-built index any more.

    Args:
        concrete: Its name.
        age: Seconds since it was created.
    """
    return age > STALE_SECONDS or is_abandoned(_lock(concrete.removesuffix(terms_of(""))))


def delete_locks(prefix: str) -> None:
    """Delete the lock files of dead processes; their half-built indexes must be deleted before.

    Args:
        prefix: The part of the names of concrete indexes before the time.
    """
    times = f"{prefix}-{'[0-9]' * 14}-{'?' * 8}{_SUFFIX}"
    for path in Path(tempfile.gettempdir()).glob(times):
        if is_abandoned(path):
            path.unlink(missing_ok=True)


def _lock(concrete: str) -> Path:
    return Path(tempfile.gettempdir(), f"{concrete}{_SUFFIX}")


def _actions(server: Server, name: str, concrete: str) -> list[dict[str, Any]]:
    """The actions that delete the current index and point its alias to a new one."""
    there = find_all(server, name)
    old = {found.concrete for found in there if is_current(found)} - {concrete}
    old |= {terms_of(index) for index in old}
    actions: list[dict[str, Any]] = [
        {"remove_index": {"index": found.concrete}} for found in there if found.concrete in old
    ]
    # `is_write_index` serves as a compare-and-swap: an alias has at most one index for writing. Of
    # two processes that both found no index to replace, the server refuses the second, which then
    # looks again.
    added = {"index": concrete, "alias": alias_of(name), "is_write_index": True}
    return [*actions, {"add": added}]
