"""Progress of long work, reported so that only the command line knows about terminals."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Progress(Protocol):
    """Passes items through and shows how far the work has come."""

    def __call__(
        self, items: Iterable[T], description: str, total: int | None = None
    ) -> Iterable[T]:
        """Yield `items` unchanged, reporting under `description` towards `total`."""
        ...


def silent(items: Iterable[T], description: str, total: int | None = None) -> Iterable[T]:
    """Pass `items` through and show nothing, as a `Progress` that nobody watches.

    Example:
        >>> list(silent("abc", "Counting"))
        ['a', 'b', 'c']
    """
    return items
