"""Queries that cannot be answered: each is named, and the others are answered all the same."""

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from allusion_es.core.errors import (
    AllusionError,
    DownloadError,
    IndexDamagedError,
    IndexMissingError,
    InputError,
    LeftOutError,
    PluginError,
    ServerRefusedError,
    ServerUnavailableError,
    SettingsMismatchError,
    StorageError,
    UsageError,
    VectorError,
)
from allusion_es.retrieval.types import Query

T = TypeVar("T")

_EVERY_QUERY = (
    UsageError,
    ServerUnavailableError,
    InputError,
    DownloadError,
    IndexMissingError,
    IndexDamagedError,
    SettingsMismatchError,
    ServerRefusedError,
    StorageError,
)
"""Options, files, indexes and servers: what is wrong with them is wrong for every query."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A query that cannot be answered, though others may be.

    Attributes:
        query: The query.
        error: Why.
    """

    query: Query
    error: AllusionError


def attempt(query: Query, what: str, compute: Callable[[], T]) -> T | Unanswered:
    """The result of `compute`, or an `Unanswered` if it fails for this query only.

    Whatever a plug-in raises counts as such. What is wrong for every query alike (an option, a
    file, an index, a server) is raised, since asking on would only say it again.

    Args:
        query: What is asked.
        what: Who computes, for the message, such as `reranker 'wmd'`.
        compute: The computation.

    Raises:
        AllusionError: It concerns every query.

    Example:
        >>> attempt(Query("lux", "q1"), "reranker 'x'", lambda: 1 // 1)
        1
        >>> failed = attempt(Query("lux", "q1"), "reranker 'x'", lambda: 1 // 0)
        >>> failed.query.query_id, type(failed.error).__name__, failed.error.exit_code
        ('q1', 'PluginError', 11)
    """
    try:
        return compute()
    except AllusionError as error:
        is_common = isinstance(error, _EVERY_QUERY) and not isinstance(error, VectorError)
        # Of a plug-in it is what it says of this one query; a UsageError is of all.
        if is_common and (not isinstance(error, InputError) or _is_ours(error)):
            raise
        return Unanswered(query, error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # plug-ins call sys.exit, or panic in another language
        return Unanswered(query, fault(what, error))


def _is_ours(error: AllusionError) -> bool:
    """Whether the program itself raised an error, and no plug-in of another package."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    module = "" if frame is None else frame.tb_frame.f_globals.get("__name__", "")
    return str(module).partition(".")[0] == "allusion_es"


def fault(what: str, error: BaseException) -> PluginError:
    """The error in one line for whatever was raised where nothing should be.

    Args:
        what: Who raised it, as for `attempt`.
        error: What was raised; the message says where.
    """
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f", {Path(frame.filename).name}:{frame.lineno}" for frame in last)
    return PluginError(
        f"{what} failed ({type(error).__name__}: {error}{place}); this is a fault in the program "
        "or plug-in"
    )


def left_out(unanswered: Iterable[Unanswered], total: int) -> LeftOutError:
    """The error that ends a batch in which some queries were not answered.

    Args:
        unanswered: Those, at least one.
        total: How many were asked.

    Example:
        >>> print(left_out([Unanswered(Query("lux", "q7"), PluginError("broken"))], 300))
        1 of 300 queries could not be answered and was left out: q7
    """
    names = list(dict.fromkeys(each.query.query_id for each in unanswered))
    were = "was" if len(names) == 1 else "were"
    return LeftOutError(
        f"{len(names)} of {total} queries could not be answered and {were} left out: "
        f"{', '.join(names)}"
    )
