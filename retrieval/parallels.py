"""Passages that say nearly the same: synoptic parallels, psalms that stand twice, formulas."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.retrieval.types import Floats

LIKE = 0.5
"""From this likeness on, two passages count as parallel."""

MOST = 50
"""Of larger groups, formulas that stand everywhere, so many are named."""

_RARE = 100
"""Words that more passages have do not lead from one to another."""

_TOGETHER = 1_000
_PAIRS = 200_000

Integers = NDArray[np.int64]
Pairs = tuple[Integers, Integers]


@dataclass(frozen=True, slots=True)
class Parallels:
    """Groups of passages, of two or more each.

    Attributes:
        passages: All that are in a group, as numbers, ascending, shape (n,).
        groups: The group of each, as the number of its first passage, shape (n,).
    """

    passages: NDArray[np.int32]
    groups: NDArray[np.int32]

    def others(self, passage: int) -> list[int]:
        """The rest of a passage's group, ascending, the first `MOST` of it.

        Example:
            >>> found = Parallels(np.array([1, 4, 7], np.int32), np.array([1, 1, 1], np.int32))
            >>> found.others(4), found.others(5)
            ([1, 7], [])
        """
        place = int(np.searchsorted(self.passages, passage))
        if place == len(self.passages) or self.passages[place] != passage:
            return []
        members = self.passages[self.groups == self.groups[place]]
        return [int(other) for other in members[members != passage][:MOST]]


def find_parallels(
    codes: NDArray[np.integer], offsets: NDArray[np.integer], size: int, like: float = LIKE
) -> Parallels:
    """The groups of parallel passages.

    Two passages are alike as far as their sets of lemmas are: the sum of the idf of those that
    both have, divided by that of all that one or the other has (a weighted Jaccard index), idf =
    `ln(N / df)`. The first passage of a group speaks for it: a passage joins the group whose
    first it is most like, if it is at least `like`, and starts its own otherwise. So all of a
    group are like its first, and no chain joins what is not alike.

    Only passages with the same set, or that share a word of at most `_RARE` passages, are
    compared; and of each passage only the rarest words, without which two cannot be so alike
    (prefix filtering: Chaudhuri, Ganti and Kaushik 2006).

    Args:
        codes: The lemmas of all passages in order, from 0, shape (words,).
        offsets: Passage i has `codes[offsets[i]:offsets[i + 1]]`; shape (passages + 1,).
        size: How many lemmas there are.
        like: Above 0.

    Example:
        >>> found = find_parallels(np.array([0, 1, 2, 0, 1, 2, 3, 4]), np.array([0, 3, 6, 8]), 5)
        >>> found.passages.tolist(), found.groups.tolist()
        ([0, 1], [0, 0])
    """
    sets = _Sets.of(codes, offsets, size)
    likeness: dict[int, list[tuple[float, int]]] = {}
    for first, second in _candidates(sets, like):
        values = sets.likeness(first, second)
        found = values >= like
        for one, other, value in zip(
            first[found].tolist(), second[found].tolist(), values[found].tolist(), strict=True
        ):
            likeness.setdefault(other, []).append((-value, one))
    groups: dict[int, int] = {}
    for passage in sorted(likeness):
        leading = [pair for pair in likeness[passage] if groups.get(pair[1], pair[1]) == pair[1]]
        if leading:
            leader = min(leading)[1]
            groups[leader] = groups[passage] = leader
    members = sorted(groups)
    return Parallels(
        np.array(members, dtype=np.int32),
        np.array([groups[member] for member in members], dtype=np.int32),
    )


@dataclass(frozen=True, slots=True)
class _Sets:
    """Sets of words of n passages, as sparse matrices of shape (n, words).

    Attributes:
        weighted: The weight of each word of each passage.
        totals: The sum of weights of each passage, shape (n,).
        weights: Of each word.
        df: In how many passages each word is.
    """

    weighted: Any
    totals: Floats
    weights: Floats
    df: Integers

    @staticmethod
    def of(codes: NDArray[np.integer], offsets: NDArray[np.integer], size: int) -> "_Sets":
        from scipy.sparse import csr_array  # takes long to import

        passages = len(offsets) - 1
        owners = np.repeat(np.arange(passages), np.diff(offsets))
        keys = np.unique(owners * max(size, 1) + codes)
        owners, words = np.divmod(keys, max(size, 1))
        df = np.bincount(words, minlength=size)
        weights = np.log(max(int(np.count_nonzero(np.diff(offsets))), 1) / np.maximum(df, 1))
        starts = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=passages))))
        weighted = csr_array((weights[words], words, starts), shape=(passages, max(size, 1)))
        totals = np.bincount(owners, weights=weights[words], minlength=passages)
        return _Sets(weighted, totals, weights, df)

    def likeness(self, first: Integers, second: Integers) -> Floats:
        """The weighted Jaccard index of pairs of passages, shape (pairs,)."""
        there = self.weighted[second]
        there.data = np.ones(len(there.data))
        shared = np.asarray(self.weighted[first].multiply(there).sum(axis=1)).ravel()
        union = self.totals[first] + self.totals[second] - shared
        return np.divide(shared, union, out=np.zeros(len(shared)), where=union > 0)

    def prefixes(self, like: float) -> Any:  # noqa: ANN401 - scipy has no types
        """Which of its rarest words each passage needs to share, a matrix of ones."""
        from scipy.sparse import csr_array

        matrix = self.weighted
        owners = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        order = np.lexsort((matrix.indices, -matrix.data, owners))
        sums = np.cumsum(matrix.data[order])
        before = np.concatenate(([0.0], sums))[matrix.indptr[:-1]]
        # What is left from a word on; without it the rest is too little to be alike.
        left = self.totals[owners] - (sums - matrix.data[order] - before[owners])
        words = matrix.indices[order]
        kept = (left >= like * self.totals[owners] - 1e-9) & (self.df[words] <= _RARE)
        places = (owners[kept], words[kept])
        return csr_array((np.ones(int(kept.sum()), np.int8), places), shape=matrix.shape)


def _candidates(sets: _Sets, like: float) -> Iterator[Pairs]:
    """Pairs of passages that may be alike, the earlier first, each once but for same sets."""
    yield from _chunks(_same(sets))
    prefixes = sets.prefixes(like)
    turned = prefixes.T.tocsr()
    for start in range(0, prefixes.shape[0], _TOGETHER):
        shared = (prefixes[start : start + _TOGETHER] @ turned).tocoo()
        first, second = (side.astype(np.int64) for side in shared.coords)
        first += start
        least = like * np.maximum(sets.totals[first], sets.totals[second])
        near = (first < second) & (np.minimum(sets.totals[first], sets.totals[second]) >= least)
        yield from _chunks((first[near], second[near]))


def _same(sets: _Sets) -> Pairs:
    """Each passage with the first of the same words, if it is not that itself."""
    rows, starts = sets.weighted.indices, sets.weighted.indptr
    seen: dict[bytes, int] = {}
    pairs = []
    for number in np.flatnonzero(sets.totals > 0).tolist():
        first = seen.setdefault(rows[starts[number] : starts[number + 1]].tobytes(), number)
        if first != number:
            pairs.append((first, number))
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _chunks(pairs: Pairs) -> Iterator[Pairs]:
    for start in range(0, len(pairs[0]), _PAIRS):
        yield pairs[0][start : start + _PAIRS], pairs[1][start : start + _PAIRS]
