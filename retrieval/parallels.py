"""Passages that say nearly the same: synoptic parallels, psalms that stand twice, formulas."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers
from allusion_es.retrieval.spool import Spool, SpooledWords

LIKE = 0.5
"""From this likeness on, two passages count as parallel."""

MOST = 50
"""Of larger groups, formulas that stand everywhere, so many are named."""

MEMBERS, GROUPS = "parallels.passages", "parallels.groups"
"""The arrays that an index with parallels has."""

_RARE = 100
"""Words that more passages have do not lead from one to another."""

LARGEST = 1_000_000
"""In larger collections parallels are not looked for: all sets of words must be in memory."""

_SLACK = 1e-9
"""Sums in another order may differ by less."""

_TOGETHER = 1_000
_ORDERED = 50_000
_PAIRS = 200_000

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


def spooled_parallels(spool: Spool) -> Parallels | None:
    """The groups of spooled passages by their lemmas, where they are not too many."""
    if len(spool) > LARGEST:
        return None
    terms = spool.fields["lemma"]
    return find_parallels((b.fields["lemma"] for b in spool.read()), terms.df, terms.passages)


def find_parallels(
    texts: Iterable[SpooledWords], df: Integers, passages: int, like: float = LIKE
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
        texts: The lemmas of all passages, in order and in any pieces.
        df: In how many passages each lemma is, shape (lemmas,).
        passages: N, how many have lemmas at all.
        like: Above 0.

    Example:
        >>> words = SpooledWords(np.array([0, 1, 2, 0, 1, 2, 3, 4]), np.array([3, 3, 2]))
        >>> found = find_parallels([words], np.array([2, 2, 2, 1, 1]), 3)
        >>> found.passages.tolist(), found.groups.tolist()
        ([0, 1], [0, 0])
    """
    sets = _Sets.of(texts, df, passages)
    likeness: dict[int, list[tuple[float, int]]] = {}
    for first, second in _candidates(sets, like):
        values = sets.likeness(first, second)
        found = values >= like - _SLACK
        for one, other, value in zip(
            first[found].tolist(), second[found].tolist(), values[found].tolist(), strict=True
        ):
            likeness.setdefault(other, []).append((-round(value, 9), one))
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
        df: In how many passages each word is.
    """

    weighted: Any
    totals: Floats
    df: Integers

    @staticmethod
    def of(texts: Iterable[SpooledWords], df: Integers, passages: int) -> "_Sets":
        from scipy.sparse import csr_array  # takes long to import

        weights = np.log(max(passages, 1) / np.maximum(df, 1))
        codes, sizes = [np.zeros(0, dtype=np.int32)], [np.zeros(1, dtype=np.int64)]
        for words in texts:
            owners, distinct, _ = words.counts(max(len(df), 1))
            codes.append(distinct.astype(np.int32))
            sizes.append(np.bincount(owners, minlength=len(words.lengths)))
        indices, starts = np.concatenate(codes), np.cumsum(np.concatenate(sizes))
        shape = (len(starts) - 1, max(len(df), 1))
        weighted = csr_array((weights[indices], indices, starts), shape=shape)
        return _Sets(weighted, np.asarray(weighted.sum(axis=1)).ravel(), df)

    def likeness(self, first: Integers, second: Integers) -> Floats:
        """The weighted Jaccard index of pairs of passages, shape (pairs,)."""
        there = self.weighted[second]
        there.data = np.ones(len(there.data))
        shared = np.asarray(self.weighted[first].multiply(there).sum(axis=1)).ravel()
        union = self.totals[first] + self.totals[second] - shared
        return np.asarray(np.divide(shared, union, out=np.zeros(len(shared)), where=union > 0))

    def prefixes(self, like: float) -> Any:  # noqa: ANN401 - scipy has no types
        """Which of its rarest words each passage needs to share, a matrix of ones."""
        from scipy.sparse import csr_array

        count = self.weighted.shape[0]
        rows, columns = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int32)]
        for start in range(0, count, _ORDERED):
            owners, words = self._prefixes(self.weighted[start : start + _ORDERED], start, like)
            rows.append(owners.astype(np.int32))
            columns.append(words.astype(np.int32))
        places = np.concatenate(rows), np.concatenate(columns)
        return csr_array((np.ones(len(places[0]), np.int8), places), shape=self.weighted.shape)

    def _prefixes(self, matrix: Any, first: int, like: float) -> Pairs:  # noqa: ANN401
        owners = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        order = np.lexsort((matrix.indices, -matrix.data, owners))
        words, weights = matrix.indices[order], matrix.data[order]
        sums = np.concatenate(([0.0], np.cumsum(weights)))
        totals = self.totals[first + owners]
        # What is left from a word on; without it the rest is too little to be alike.
        left = totals - (sums[:-1] - sums[matrix.indptr[owners]])
        kept = (left >= like * totals - _SLACK) & (self.df[words] <= _RARE)
        return first + owners[kept], words[kept]


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
