"""The pool of open indexes that a server searches, each used by one search at a time."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from allusion_es.corpora.bible.books import BOOKS
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.scanning.measured import unmeasured
from allusion_es.scanning.model import ScanOptions

_MOST_IDLE = 4
"""Open indexes that wait for the next search; twice as many as searches run at a time."""


@dataclass(frozen=True, slots=True)
class IndexRow:
    """An index in the list of indexes.

    Attributes:
        name: Its name.
        where: `in process`, or the server's URL.
        passages: How many passages it holds.
        problem: Why it cannot be used, or "".
    """

    name: str
    where: str
    passages: int
    problem: str = ""


class IndexSource(Protocol):
    """A place that holds indexes: the data folder, or an Elasticsearch server."""

    def rows(self) -> list[IndexRow]:
        """The indexes, in the order of their names."""
        ...

    def open(self, name: str) -> CandidateIndex:
        """Open the index of a name.

        Raises:
            AllusionError: There is none, or it cannot be used.
        """
        ...

    def stamp(self, name: str) -> object:
        """A value that changes whenever the index of that name is rebuilt."""
        ...


class IndexPool:
    """Opens indexes for searches, and keeps the last few open for the next search.

    An index caches parts of its last query and is not safe for two threads, so two searches never
    share one.

    Args:
        source: Where the indexes are.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> class Memory:
        ...     def rows(self): return [IndexRow("texts", "in process", 1)]
        ...     def open(self, name): return index_texts({"Ps.1.1": "Beatus vir"})
        ...     def stamp(self, name): return 0
        >>> pool = IndexPool(Memory())
        >>> with pool.acquire("texts") as one, pool.acquire("texts") as other:
        ...     one is other
        False
        >>> with pool.acquire("texts") as again:
        ...     again is other or again is one
        True
    """

    def __init__(self, source: IndexSource) -> None:
        self.source = source
        # Name, stamp when it was opened, and index; the longest idle first.
        self._idle: list[tuple[str, object, CandidateIndex]] = []
        self._lock = threading.Lock()
        # Of the indexes that were warmed: their stamps, and what tells that it is done.
        self._warmed: dict[str, tuple[object, threading.Event]] = {}

    @contextmanager
    def acquire(self, name: str) -> Iterator[CandidateIndex]:
        """An index that no other search uses until the block is left.

        Raises:
            AllusionError: There is none of that name, or it cannot be used.
        """
        stamp = self.source.stamp(name)
        with self._lock:
            _, is_warm = self._warmed.get(name, (None, None))
        if is_warm is not None:
            # To open it a second time would take as long, and twice the memory.
            is_warm.wait()
        yield from self._lent(name, stamp)

    def warm(self, name: str, use: Callable[[CandidateIndex], object]) -> None:
        """Use an index once, so that the next search finds read what it needs.

        Does nothing where that was done since the index was built. What goes wrong is not told: the
        next search will meet it too.

        Args:
            name: The name of the index.
            use: Uses it.
        """
        with suppress(Exception):
            stamp = self.source.stamp(name)
            is_warm = threading.Event()
            with self._lock:
                if self._warmed.get(name, (None,))[0] == stamp:
                    return
                self._warmed[name] = stamp, is_warm
            try:
                with contextmanager(self._lent)(name, stamp) as index:
                    use(index)
            finally:
                is_warm.set()

    def _lent(self, name: str, stamp: object) -> Iterator[CandidateIndex]:
        index = self._take_idle(name, stamp) or self.source.open(name)
        yield index
        # Not in a `finally`: after an error the next search opens the index anew.
        with self._lock:
            self._idle.append((name, stamp, index))
            del self._idle[:-_MOST_IDLE]

    def _take_idle(self, name: str, stamp: object) -> CandidateIndex | None:
        with self._lock:
            for number, (idle_name, idle_stamp, index) in enumerate(self._idle):
                if idle_name == name:
                    del self._idle[number]
                    return index if idle_stamp == stamp else None
        return None


def index_details(index: CandidateIndex) -> dict[str, object]:
    """An index's size, books, works and capabilities, for clients that choose what to search.

    Books are those that its passages name; collections outside the Bible have none. Works and
    authors are those with a name. `unmeasured`
    tells for a thorough and for a fast scan why the measured precision does not hold for this
    index; it is "" where it holds.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> details = index_details(index_texts({"Ps.1.1": "Beatus vir"}))
        >>> details["passages"], details["books"]
        (1, [])
    """
    present = index.books()
    books = [
        {"id": b.osis, "label": b.abbreviation, "name": b.names[0], "testament": b.testament}
        for b in BOOKS
        if b.osis in present
    ]
    works = sorted(work for work in index.works() if work.title)
    return {
        "name": index.name,
        "passages": len(index),
        "books": books,
        "works": [{"title": work.title, "author": work.author} for work in works],
        "authors": sorted({work.author for work in index.works() if work.author}),
        "testaments": sorted({book["testament"] for book in books}, reverse=True),
        "vectors": index.settings.vectors,
        "citations": index.settings.citations,
        "unmeasured": {
            "scan": unmeasured(index, ScanOptions()),
            "fast": unmeasured(index, ScanOptions(fast=True)),
        },
    }
