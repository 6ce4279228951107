"""Whether what answers can be used: its version, and whether it is ready yet."""

import time
from collections.abc import Callable
from typing import TypeVar

from allusion_es.core.errors import ServerUnavailableError

T = TypeVar("T")

_POLL_SECONDS = 0.5


def until_ready(attempt: Callable[[], T], wait: float) -> T:
    """What an attempt returns, once it no longer finds the server unavailable.

    Args:
        attempt: Asks the server.
        wait: Seconds to go on trying; 0 tries once.

    Raises:
        ServerUnavailableError: The last attempt's.

    Example:
        >>> until_ready(lambda: "8.19.0", wait=0.0)
        '8.19.0'
    """
    give_up = time.monotonic() + wait
    while True:
        try:
            return attempt()
        except ServerUnavailableError:
            left = give_up - time.monotonic()
            if left <= 0:
                raise
        time.sleep(min(_POLL_SECONDS, left))


def is_between(version: str, oldest: tuple[int, int], newest_major: int) -> bool:
    """Whether a version is one of those from the oldest to the last of a major.

    Example:
        >>> is_between("9.5.3", (8, 13), 9), is_between("8.9.0-SNAPSHOT", (8, 13), 9)
        (True, False)
        >>> is_between("unknown", (8, 13), 9)
        False
    """
    numbers = tuple(int(part) for part in version.split("-")[0].split(".")[:2] if part.isdigit())
    return numbers >= oldest and numbers[0] <= newest_major
