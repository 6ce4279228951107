"""A memory for what a server was asked lately."""

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A dictionary that forgets what was not used for longest once it is full.

    Args:
        limit: How many entries it keeps.

    Example:
        >>> recent = Recent(2)
        >>> for number in 1, 2, 3:
        ...     recent.put(number, str(number))
        >>> recent.get(1), recent.get(3)
        (None, '3')
    """

    def __init__(self, limit: int) -> None:
        """An empty one."""
        self._limit = limit
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value of `key`, or None."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Keep a value, which must not be None."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)
