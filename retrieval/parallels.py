"""Passages that say nearly the same: synoptic parallels, psalms that stand twice, formulas."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers
from allusion_es.retrieval.spool import Spool, SpooledWords

LIKE = 0.5
"""From this likeness on, two passages count as parallel."""

MOST = 50
"""Of larger groups, formulas that stand everywhere, so many passages are named."""

MEMBERS, GROUPS = "parallels.passages", "parallels.groups"
"""The arrays that an index with parallels has."""

_RARE = 100
"""Words of more passages lead to no comparison: it would take time, and they prove little."""

LARGEST = 1_000_000
"""In larger collections parallels are not looked for: all sets of words must be in memory."""

_SLACK = 1e-9
"""Sums in another order may differ by less."""

# Sizes of the batches in which passages are multiplied and ordered, and pairs compared: they
# decide how much memory is used, not what is found.
_MULTIPLIED = 1_000
_ORDERED = 50_000
_COMPARED = 200_000

Pairs = tuple[Integers, Integers]
"""First and second passages of pairs."""


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
        """The other passages of a passage's group, ascending, at most `MOST`.

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


class ParallelFinder:
    """Finds the groups of parallel passages.

    Two passages are alike as far as their sets of lemmas are: the sum of the idf of those that
    both have, divided by that of all that one or the other has (a weighted Jaccard index), idf =
    `ln(N / df)`. The first passage of a group speaks for it: a passage joins the group whose
    first it is most like, if it is at least `like`, and starts its own otherwise. So all of a
    group are like its first, and no chain joins what is not alike.

    Only passages with the same set, or that share a word of at most `_RARE` passages, are
    compared; and of each passage only the rarest words, without which two cannot be so alike
    (prefix filtering: Chaudhuri, Ganti and Kaushik 2006).

    Args:
        df: In how many passages each lemma is, shape (lemmas,).
        passages: N, how many have lemmas at all.

    Example:
        >>> finder = ParallelFinder(np.array([2, 2, 2, 1, 1]), 3)
        >>> finder.add(SpooledWords(np.array([0, 1, 2, 0, 1, 2, 3, 4]), np.array([3, 3, 2])))
        >>> found = finder.parallels()
        >>> found.passages.tolist(), found.groups.tolist()
        ([0, 1], [0, 0])
    """

    def __init__(self, df: Integers, passages: int) -> None:
        self._df = df
        self._passages = passages
        self._codes = [np.zeros(0, dtype=np.int32)]
        self._sizes = [np.zeros(1, dtype=np.int64)]

    def add(self, lemmas: SpooledWords) -> None:
        """Take the lemmas of the next passages."""
        owners, distinct, _ = lemmas.counts(max(len(self._df), 1))
        self._codes.append(distinct.astype(np.int32))
        self._sizes.append(np.bincount(owners, minlength=len(lemmas.lengths)))

    def parallels(self, like: float = LIKE) -> Parallels:
        """The groups of all passages that were added.

        Args:
            like: The likeness from which on two passages are parallel, above 0.
        """
        codes, starts = np.concatenate(self._codes), np.cumsum(np.concatenate(self._sizes))
        sets = _WeightedSets(codes, starts, self._df, self._passages)
        likeness: dict[int, list[tuple[float, int]]] = {}
        for first, second in _candidates(sets, like):
            values = sets.likeness(first, second)
            found = values >= like - _SLACK
            for one, other, value in zip(
                first[found].tolist(), second[found].tolist(), values[found].tolist(), strict=True
            ):
                # Rounded, so that rounding errors do not decide between equals, but the order.
                likeness.setdefault(other, []).append((-round(value, 9), one))
        groups: dict[int, int] = {}
        for passage in sorted(likeness):
            leading = [
                pair for pair in likeness[passage] if groups.get(pair[1], pair[1]) == pair[1]
            ]
            if leading:
                leader = min(leading)[1]
                groups[leader] = groups[passage] = leader
        members = sorted(groups)
        return Parallels(
            np.array(members, dtype=np.int32),
            np.array([groups[member] for member in members], dtype=np.int32),
        )


def parallel_finder(spool: Spool) -> ParallelFinder | None:
    """The finder for the passages of a spool; None where there are too many."""
    if len(spool) > LARGEST:
        return None
    terms = spool.fields["lemma"]
    return ParallelFinder(terms.df, terms.passages)


def spooled_parallels(spool: Spool) -> Parallels | None:
    """The groups of spooled passages by their lemmas; None where there are too many."""
    finder = parallel_finder(spool)
    if finder is None:
        return None
    for batch in spool.read():
        finder.add(batch.fields["lemma"])
    return finder.parallels()


class _WeightedSets:
    """Sets of words of n passages, as a sparse matrix.

    Args:
        codes: The distinct words of all passages, in order.
        starts: Passage i has `codes[starts[i]:starts[i + 1]]`; shape (n + 1,).
        df: In how many passages each word is.
        passages: N in the weights `ln(N / df)`.

    Attributes:
        weighted: The weight of each word of each passage, sparse, shape (n, words).
        totals: The sum of weights of each passage, shape (n,).
    """

    def __init__(
        self, codes: NDArray[np.int32], starts: Integers, df: Integers, passages: int
    ) -> None:
        from scipy.sparse import csr_array  # takes long to import

        weights = np.log(max(passages, 1) / np.maximum(df, 1))
        shape = (len(starts) - 1, max(len(df), 1))
        self.weighted: Any = csr_array((weights[codes], codes, starts), shape=shape)
        self.totals: Floats = np.asarray(self.weighted.sum(axis=1)).ravel()
        self._df = df

    def likeness(self, first: Integers, second: Integers) -> Floats:
        """The weighted Jaccard index of pairs of passages, shape (pairs,)."""
        there = self.weighted[second]
        there.data = np.ones(len(there.data))
        shared = np.asarray(self.weighted[first].multiply(there).sum(axis=1)).ravel()
        union = self.totals[first] + self.totals[second] - shared
        return np.asarray(np.divide(shared, union, out=np.zeros(len(shared)), where=union > 0))

    def prefixes(self, like: float) -> Any:  # noqa: ANN401 - scipy has no types
        """The rarest words of each passage, one of which it must share, as a matrix of ones."""
        from scipy.sparse import csr_array

        count = self.weighted.shape[0]
        rows, columns = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int32)]
        for start in range(0, count, _ORDERED):
            owners, words = self._rarest(self.weighted[start : start + _ORDERED], start, like)
            rows.append(owners.astype(np.int32))
            columns.append(words.astype(np.int32))
        places = np.concatenate(rows), np.concatenate(columns)
        return csr_array((np.ones(len(places[0]), np.int8), places), shape=self.weighted.shape)

    def _rarest(self, matrix: Any, first: int, like: float) -> Pairs:  # noqa: ANN401
        owners = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        order = np.lexsort((matrix.indices, -matrix.data, owners))
        words, weights = matrix.indices[order], matrix.data[order]
        sums = np.concatenate(([0.0], np.cumsum(weights)))
        totals = self.totals[first + owners]
        # What is left from a word on; without it the rest is too little to be alike.
        left = totals - (sums[:-1] - sums[matrix.indptr[owners]])
        kept = (left >= like * totals - _SLACK) & (self._df[words] <= _RARE)
        return first + owners[kept], words[kept]


def _candidates(sets: _WeightedSets, like: float) -> Iterator[Pairs]:
    """Pairs of passages that may be alike, the earlier first, each once but for equal sets."""
    yield from _chunks(_equal(sets))
    prefixes = sets.prefixes(like)
    turned = prefixes.T.tocsr()
    for start in range(0, prefixes.shape[0], _MULTIPLIED):
        shared = (prefixes[start : start + _MULTIPLIED] @ turned).tocoo()
        first, second = (side.astype(np.int64) for side in shared.coords)
        first += start
        least = like * np.maximum(sets.totals[first], sets.totals[second])
        near = (first < second) & (np.minimum(sets.totals[first], sets.totals[second]) >= least)
        yield from _chunks((first[near], second[near]))


def _equal(sets: _WeightedSets) -> Pairs:
    """Pairs of each passage and the first that has the same set of words, if that is another."""
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
    for start in range(0, len(pairs[0]), _COMPARED):
        yield pairs[0][start : start + _COMPARED], pairs[1][start : start + _COMPARED]
