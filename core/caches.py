"""Two small caches: by key for answers of a server, by identity for values of large objects."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
Value = TypeVar("Value")


class LruCache(Generic[K, V]):
    """A dictionary that forgets what was not used for longest once it is full.

    Args:
        limit: How many entries it keeps.

    Example:
        >>> cache = LruCache(2)
        >>> for number in 1, 2, 3:
        ...     cache.put(number, str(number))
        >>> cache.get(1), cache.get(3)
        (None, '3')
    """

    def __init__(self, limit: int) -> None:
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


class IdentityCache(Generic[Value]):
    """Keeps the last values, and gives them again for the same objects.

    Objects are the same if they are identical, not equal: comparing long texts would cost more
    than it saves. They must not change.

    Args:
        values: How many values are kept.

    Example:
        >>> cache, texts = IdentityCache[int](), ("deus", "dixit")
        >>> cache.get(lambda: 1, texts), cache.get(lambda: 2, texts), cache.get(lambda: 3, ())
        (1, 1, 3)
    """

    def __init__(self, values: int = 1) -> None:
        self._limit = values
        self._kept: dict[tuple[int, ...], tuple[tuple[object, ...], Value]] = {}

    def get(self, compute: Callable[[], Value], *objects: object) -> Value:
        """The value for `objects`, computed unless it is among those that are kept."""
        # The objects are kept too: were they not, others could come to lie at the same address.
        key = tuple(map(id, objects))
        kept = self._kept.get(key)
        if kept is not None:
            return kept[1]
        value = compute()
        self._kept[key] = objects, value
        # A copy, since another thread may add a value meanwhile.
        for oldest in tuple(self._kept)[: -self._limit]:
            self._kept.pop(oldest, None)
        return value
