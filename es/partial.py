"""Partial answers: answers to which some shards of an index did not contribute.

A shard is missing when its node is down and no other node has a copy. By default such answers are
refused, since the passages of that shard would silently be absent from every result. With
`--allow-partial` they are accepted, and the user is told how much was missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allusion_es.core.errors import ServerRefusedError
from allusion_es.es.errors import reason_of


@dataclass(frozen=True, slots=True)
class Shortfall:
    """The number of shards that are missing from an answer, and the server's reason.

    Attributes:
        searched: How many shards were searched to the end.
        shards: How many shards the index has.
        reason: The server's reason why the others were not searched.
    """

    searched: int
    shards: int
    reason: str

    def error(self, url: str) -> ServerRefusedError:
        """The error to raise where partial answers are not allowed."""
        return ServerRefusedError(
            f"{url} searched only {self.searched} of {self.shards} shards ({self.reason}); see "
            "to the cluster's health and try again"
        )


class Partial:
    """Permission to accept partial answers, and a record of how partial they were.

    An index that is opened without a `Partial` refuses partial answers.

    Attributes:
        worst: The shortfall of the answer from the fewest shards; None while all were complete.

    Example:
        >>> partial = Partial()
        >>> partial.note(Shortfall(2, 3, "node left"))
        >>> partial.note(Shortfall(3, 4, "node left"))
        >>> partial.worst.searched
        2
    """

    def __init__(self) -> None:
        """Start with no shortfall."""
        self.worst: Shortfall | None = None

    def note(self, shortfall: Shortfall) -> None:
        """Record the shortfall of an answer."""
        if self.worst is None or shortfall.searched < self.worst.searched:
            self.worst = shortfall


def find_shortfall(answer: Mapping[str, Any]) -> Shortfall | None:
    """The shortfall of an answer to a search or a count, or None if it is complete.

    Example:
        >>> find_shortfall({"_shards": {"total": 2, "successful": 2, "skipped": 1, "failed": 0}})
        >>> find_shortfall({"_shards": {"total": 2, "successful": 1}})
        Shortfall(searched=1, shards=2, reason='no reason given')
    """
    shards = answer["_shards"]
    searched, total = int(shards["successful"]), int(shards["total"])
    if answer.get("timed_out"):
        # The answer does not say which shards were too slow, so none counts as searched.
        return Shortfall(0, total, "it broke a search off for want of time")
    if searched == total and not shards.get("failed"):
        return None
    failures = shards.get("failures")
    first = failures[0] if isinstance(failures, list) and failures else {}
    kind, reason = reason_of({"error": first.get("reason")} if isinstance(first, dict) else {})
    return Shortfall(searched, total, reason or kind or "no reason given")
