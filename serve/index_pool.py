"""The indexes that a server answers from, each lent to one search at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from allusion_es.corpora.bible.books import BOOKS
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.scanning.measured import unmeasured
from allusion_es.scanning.model import ScanOptions

_IDLE = 4
"""Open indexes that wait for the next search, at most."""


@dataclass(frozen=True, slots=True)
class IndexRow:
    """An index in a list.

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
    """Where indexes are: a data folder or a server."""

    def rows(self) -> list[IndexRow]:
        """The indexes that are there, by name."""
        ...

    def open(self, name: str) -> CandidateIndex:
        """The index of a name, opened anew.

        Raises:
            AllusionError: There is none, or it cannot be used.
        """
        ...

    def stamp(self, name: str) -> object:
        """Another one whenever the index of that name is built again."""
        ...


class IndexPool:
    """Opens indexes and lends them; what comes back is lent again.

    Indexes remember what they were last asked, so two searches never share one.

    Args:
        place: Where they are.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> class Memory:
        ...     def rows(self): return [IndexRow("texts", "in process", 1)]
        ...     def open(self, name): return index_texts({"Ps.1.1": "Beatus vir"})
        ...     def stamp(self, name): return 0
        >>> shelf = IndexPool(Memory())
        >>> with shelf.lend("texts") as one, shelf.lend("texts") as other:
        ...     one is other
        False
        >>> with shelf.lend("texts") as again:
        ...     again is other or again is one
        True
    """

    def __init__(self, place: IndexSource) -> None:
        self.place = place
        self._idle: list[tuple[str, object, CandidateIndex]] = []
        self._lock = threading.Lock()

    @contextmanager
    def lend(self, name: str) -> Iterator[CandidateIndex]:
        """An index that nobody else has meanwhile.

        Raises:
            AllusionError: There is none of that name, or it cannot be used.
        """
        stamp = self.place.stamp(name)
        index = self._take(name, stamp) or self.place.open(name)
        yield index
        # After an error it is not lent again: the next search opens the index anew.
        with self._lock:
            self._idle.append((name, stamp, index))
            del self._idle[:-_IDLE]

    def _take(self, name: str, stamp: object) -> CandidateIndex | None:
        with self._lock:
            for number, (known, then, index) in enumerate(self._idle):
                if known == name:
                    del self._idle[number]
                    return index if then == stamp else None
        return None


def index_details(index: CandidateIndex) -> dict[str, object]:
    """What a search in an index can be restricted to, with what it can do.

    Books are those that its passages name; collections outside the Bible have none. `unmeasured`
    says of a scan of the whole, and of a fast one, why figures measured elsewhere do not hold
    for it, or nothing.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> details = index_details(index_texts({"Ps.1.1": "Beatus vir"}))
        >>> details["passages"], details["books"]
        (1, [])
    """
    there = index.books()
    books = [
        {"id": b.osis, "label": b.abbreviation, "name": b.names[0], "testament": b.testament}
        for b in BOOKS
        if b.osis in there
    ]
    return {
        "name": index.name,
        "passages": len(index),
        "books": books,
        "testaments": sorted({book["testament"] for book in books}, reverse=True),
        "vectors": index.settings.vectors,
        "citations": index.settings.citations,
        "unmeasured": {
            "scan": unmeasured(index, ScanOptions()),
            "fast": unmeasured(index, ScanOptions(fast=True)),
        },
    }
