"""Progress bars: on a terminal only, and on stderr."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """The items, with a bar that shows how far they have come.

    Args:
        items: Passed through.
        description: What is being done.
        total: How many there will be; by default the length of `items`, if it has one.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total=total, description=description)
