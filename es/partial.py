"""Answers that not all shards of an index took part in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allusion_es.core.errors import ServerRefusedError
from allusion_es.es.errors import reason_of


@dataclass(frozen=True, slots=True)
class Shortfall:
    """How much of an index an answer lacks.

    Attributes:
        searched: Shards that were searched to the end.
        shards: Shards that the index has.
        reason: What the server says of the others.
    """

    searched: int
    shards: int
    reason: str

    def error(self, url: str) -> ServerRefusedError:
        """What to say where answers must be whole."""
        return ServerRefusedError(
            f"{url} searched only {self.searched} of {self.shards} shards ({self.reason}); see "
            "to the cluster's health and try again"
        )


class Partial:
    """Allows answers that lack some shards, and remembers the worst of them.

    Attributes:
        worst: What the answer that lacked most lacked; None while all were whole.

    Example:
        >>> partial = Partial()
        >>> partial.note(Shortfall(2, 3, "node left"))
        >>> partial.note(Shortfall(3, 4, "node left"))
        >>> partial.worst.searched
        2
    """

    def __init__(self) -> None:
        """Nothing is missing yet."""
        self.worst: Shortfall | None = None

    def note(self, shortfall: Shortfall) -> None:
        """Remember that something was missing."""
        if self.worst is None or shortfall.searched < self.worst.searched:
            self.worst = shortfall


def find_shortfall(answer: Mapping[str, Any]) -> Shortfall | None:
    """What an answer to a search or a count lacks; None where it is whole.

    Example:
        >>> find_shortfall({"_shards": {"total": 2, "successful": 2, "skipped": 1, "failed": 0}})
        >>> find_shortfall({"_shards": {"total": 2, "successful": 1}})
        Shortfall(searched=1, shards=2, reason='no reason given')
    """
    shards = answer["_shards"]
    searched, total = int(shards["successful"]), int(shards["total"])
    if answer.get("timed_out"):
        # It does not say which shards were too slow.
        return Shortfall(0, total, "it broke a search off for want of time")
    if searched == total and not shards.get("failed"):
        return None
    failures = shards.get("failures")
    first = failures[0] if isinstance(failures, list) and failures else {}
    kind, reason = reason_of({"error": first.get("reason")} if isinstance(first, dict) else {})
    return Shortfall(searched, total, reason or kind or "no reason given")
