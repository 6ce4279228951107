"""A memory of one value, for what is asked for again and again with the same objects."""

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Latest(Generic[Value]):
    """Keeps the last value, and gives it again as long as it is asked for with the same objects.

    Objects are the same if they are identical, not equal: comparing long texts would cost more
    than it saves. They must not change.

    Example:
        >>> latest, texts = Latest[int](), ("deus", "dixit")
        >>> latest.get(lambda: 1, texts), latest.get(lambda: 2, texts), latest.get(lambda: 3, ())
        (1, 1, 3)
    """

    def __init__(self) -> None:
        self._kept: tuple[tuple[object, ...], Value] | None = None

    def get(self, compute: Callable[[], Value], *objects: object) -> Value:
        """The value for `objects`, computed unless it is the one that is kept."""
        if self._kept is not None:
            known, value = self._kept
            if len(known) == len(objects) and all(
                a is b for a, b in zip(known, objects, strict=True)
            ):
                return value
        value = compute()
        self._kept = (objects, value)
        return value
