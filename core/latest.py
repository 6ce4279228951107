"""A memory of the last values, for what is asked for again and again with the same objects."""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Latest(Generic[Value]):
    """Keeps the last values, and gives them again for the same objects.

    Objects are the same if they are identical, not equal: comparing long texts would cost more
    than it saves. They must not change.

    Args:
        values: How many values are kept.

    Example:
        >>> latest, texts = Latest[int](), ("deus", "dixit")
        >>> latest.get(lambda: 1, texts), latest.get(lambda: 2, texts), latest.get(lambda: 3, ())
        (1, 1, 3)
    """

    def __init__(self, values: int = 1) -> None:
        self._kept: deque[tuple[tuple[object, ...], Value]] = deque(maxlen=values)

    def get(self, compute: Callable[[], Value], *objects: object) -> Value:
        """The value for `objects`, computed unless it is among those that are kept."""
        for known, value in tuple(self._kept):
            if len(known) == len(objects) and all(
                a is b for a, b in zip(known, objects, strict=True)
            ):
                return value
        value = compute()
        self._kept.append((objects, value))
        return value
