"""Bodies of answers that end, however slowly or endlessly a server sends them."""

import time
from collections.abc import Callable

_CHUNK = 1 << 16


class TooLargeError(RuntimeError):
    """A server sends more than any answer can have."""


def read_whole(read: Callable[[int], bytes], seconds: float, most: int) -> bytes:
    """All of a body, in as many reads as it takes.

    Args:
        read: Gives what has come, at most so many bytes, and nothing at the end.
        seconds: How long it may take; a read that hangs is not ended here.
        most: Bytes that it may have.

    Raises:
        TooLargeError: It has more.
        TimeoutError: It takes longer.

    Example:
        >>> import io
        >>> read_whole(io.BytesIO(b"{}").read, seconds=1, most=10)
        b'{}'
    """
    # A single read would wait anew for each byte of a server that sends them one by one.
    give_up = time.monotonic() + seconds
    parts: list[bytes] = []
    size = 0
    while part := read(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > most:
            raise TooLargeError
        if time.monotonic() > give_up:
            raise TimeoutError
    return b"".join(parts)
