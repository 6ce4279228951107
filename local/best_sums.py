"""The best sums of what a query's words add to passages, from posting lists.

The lists are gone through in blocks of passages that stand together: so the sums of a block stay in
the processor's cache however large the collection is, memory is used again, and only passages that
may still be among the best are kept.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, Integers, Singles

BLOCK = 1 << 16
"""Passages whose sums are computed at once: half a megabyte in double precision."""


Allowed = NDArray[np.bool_] | None
"""Whether each passage may be found, shape (passages,); None for all."""


class Scored(NamedTuple):
    """Passages with their scores.

    Attributes:
        places: The passages by their places in the collection, shape (n,).
        scores: The score of each, shape (n,), float32.
    """

    places: Integers
    scores: Singles


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of some words, those of one word after the other.

    Attributes:
        lengths: How many postings each word has, shape (words,).
        passages: The passage of each posting, shape (postings,).
        values: What the passage has of the word, such as how often, shape (postings,).
    """

    lengths: Integers
    passages: Integers
    values: Array

    def spread(self, of_words: Array) -> Array:
        """The value of each word, once for each of its postings; shape (postings,)."""
        return np.repeat(of_words, self.lengths)


@dataclass(frozen=True, slots=True)
class PostingLists:
    """The posting lists of some words.

    Attributes:
        passages: For each word the passages that have it, ascending, each once.
        values: What they have of it, in the same order.
    """

    passages: Sequence[Array]
    values: Sequence[Array]

    def blocks(self, size: int) -> Iterator[tuple[range, Postings]]:
        """The postings block by block, each with the places of its passages.

        Args:
            size: How many passages there are.
        """
        if size <= BLOCK:
            yield range(size), _joined(self.passages, self.values)
            return
        borders = range(0, size + BLOCK, BLOCK)
        cuts = [np.searchsorted(each, borders).tolist() for each in self.passages]
        for block, first in enumerate(borders[:-1]):
            parts = [slice(cut[block], cut[block + 1]) for cut in cuts]
            yield (
                range(first, min(first + BLOCK, size)),
                _joined(
                    [each[part] for each, part in zip(self.passages, parts, strict=True)],
                    [each[part] for each, part in zip(self.values, parts, strict=True)],
                ),
            )


def _joined(passages: Sequence[Array], values: Sequence[Array]) -> Postings:
    none = np.zeros(0, dtype=np.int64)
    return Postings(
        np.fromiter(map(len, passages), np.int64, len(passages)),
        np.concatenate(passages, dtype=np.int64) if passages else none,
        np.concatenate(values) if values else none,
    )


def best_sums(
    lists: PostingLists,
    added: Callable[[Postings], Array],
    size: int,
    passages: int,
    allowed: Allowed = None,
) -> Scored:
    """The passages with the largest sums of what their postings add, and their sums.

    They are added in double precision word by word, and rounded once, as a server does.

    Args:
        lists: The posting lists of the query's words.
        added: What each posting adds, shape (postings,), never below 0.
        size: How many passages are wanted.
        passages: How many there are.
        allowed: Which passages may be found.

    Returns:
        At least `size` passages with a sum above 0, if there are so many, and with them all that
        are as good as the last, in no order.

    Example:
        >>> lists = PostingLists([np.array([0, 2]), np.array([2, 3])], [np.ones(2), np.ones(2)])
        >>> found = best_sums(lists, lambda each: each.spread(np.array([1.0, 3.0])), 2, 4)
        >>> found.places.tolist(), found.scores.tolist()
        ([2, 3], [4.0, 3.0])
    """
    best = Best(size, allowed)
    for places, postings in lists.blocks(passages):
        inside = postings.passages - places.start if places.start else postings.passages
        sums = np.bincount(inside, weights=added(postings), minlength=len(places))
        best.add_positive(places.start, sums.astype(np.float32))
    return best.found()


class Best:
    """The best of passages that come block by block.

    Args:
        size: How many are wanted; 0 for all.
        allowed: Which passages may be found.

    Attributes:
        least: A score below which none is wanted any more; below all scores as long as there are
            not enough.

    Example:
        >>> best = Best(1)
        >>> best.add(np.array([0, 1]), np.array([0.5, 0.25], dtype=np.float32))
        >>> best.least
        0.5
        >>> best.found().places.tolist()
        [0]
    """

    def __init__(self, size: int, allowed: Allowed = None) -> None:
        self._size = size
        self._allowed = allowed
        self._places: list[Integers] = []
        self._scores: list[Singles] = []
        self._kept = 0
        self.least = -np.inf

    def add(self, places: Integers, scores: Singles) -> None:
        """Take in passages with their scores, none of which was there before."""
        wanted = scores >= self.least
        if self._allowed is not None:
            wanted &= self._allowed[places]
        self._places.append(places[wanted])
        self._scores.append(scores[wanted])
        self._kept += len(self._places[-1])
        if self._kept >= self._size > 0:
            found = self.found()
            # All that are as good as the last are kept, since ids decide between equal scores.
            self.least = float(np.partition(found.scores, -self._size)[-self._size])
            kept = found.scores >= self.least
            self._places, self._scores = [found.places[kept]], [found.scores[kept]]
            self._kept = len(self._places[0])

    def add_positive(self, first: int, scores: Singles) -> None:
        """Take in those of the passages from `first` on that have a score above 0."""
        if not self._places and 0 < self._size < len(scores) and self._allowed is None:
            # The first block is usually the only one: its least wanted score is known at once.
            least = float(np.partition(scores, -self._size)[-self._size])
            found = np.flatnonzero(scores >= least if least > 0 else scores > 0)
            self._places, self._scores = [found + first], [scores[found]]
            self._kept, self.least = len(found), least if least > 0 else -np.inf
            return
        found = np.flatnonzero(scores >= self.least if self.least > 0 else scores > 0)
        self.add(found + first, scores[found])

    def found(self) -> Scored:
        """The passages that are kept, in no order."""
        if len(self._places) == 1:
            return Scored(self._places[0], self._scores[0])
        none = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        return Scored(
            np.concatenate([none[0], *self._places]), np.concatenate([none[1], *self._scores])
        )
