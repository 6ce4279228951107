"""Regression trees: sums of the leaves that candidates fall into, computed for all at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allusion_es.core.arrays import Floats, Singles

MOST_LEAVES = 32
"""Leaves of a tree at most: each has a bit of a number of 32."""

_TOGETHER = 1 << 17
"""Trees times candidates that are compared at once, so that they stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A regression tree: a candidate goes left where `feature <= threshold`, and else right.

    Attributes:
        features: The name of the feature that each inner node asks for, the root first.
        thresholds: What it is compared with.
        lefts: The node that comes next if it is not above that; a leaf n is written -n - 1.
        rights: The node that comes next if it is above that.
        leaves: The value of each leaf.
    """

    features: tuple[str, ...]
    thresholds: tuple[float, ...]
    lefts: tuple[int, ...]
    rights: tuple[int, ...]
    leaves: tuple[float, ...]

    def fault(self) -> str:
        """What makes this no tree, or "" if it is one.

        Example:
            >>> Tree(("length",), (2.5,), (-1,), (-2,), (0.5, -0.5)).fault()
            ''
            >>> Tree(("length",), (2.5,), (0,), (-2,), (0.5, -0.5)).fault()
            'a node is reached twice, or never'
        """
        nodes = len(self.features)
        if not len(self.leaves) == nodes + 1 <= MOST_LEAVES:
            return f"not 2 to {MOST_LEAVES} leaves, one more than its nodes"
        reached = sorted((*self.lefts, *self.rights))
        if reached != [*range(-nodes - 1, 0), *range(1, nodes)]:
            return "a node is reached twice, or never"
        # With each child behind its parent there is no circle.
        children = zip(range(nodes), self.lefts, self.rights, strict=True)
        if any(0 <= child <= node for node, *both in children for child in both):
            return "a node comes before the one that leads to it"
        return ""

    def from_left(self) -> list[int]:
        """The numbers of the leaves from left to right."""
        found: list[int] = []
        waiting = [0]
        while waiting:
            node = waiting.pop()
            if node < 0:
                found.append(-node - 1)
            else:
                waiting += [self.rights[node], self.lefts[node]]
        return found

    def left_leaves(self) -> list[int]:
        """For each inner node the leaves below it on the left, as bits, the leftmost first."""
        below = {-leaf - 1: 1 << place for place, leaf in enumerate(self.from_left())}
        for node in range(len(self.features) - 1, -1, -1):
            below[node] = below[self.lefts[node]] | below[self.rights[node]]
        return [below[left] for left in self.lefts]


class Trees:
    """Sums of trees for many candidates.

    Every question of every tree is asked of every candidate; a candidate that must go right rules
    out the leaves on the left; the leftmost that remains is its own. Without a branch, this
    is what numpy does fast. Source: QuickScorer (Lucchese et al., SIGIR 2015), without its order
    of questions.

    Args:
        trees: The trees.
        names: Names of the features of candidates, in the order of their columns.

    Raises:
        KeyError: A tree asks for another feature.

    Example:
        >>> tree = Tree(("x", "y"), (0.5, 0.5), (-1, -2), (1, -3), (1.0, 2.0, 3.0))
        >>> Trees([tree], ["x", "y"]).sums(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])).tolist()
        [1.0, 2.0, 3.0]
    """

    def __init__(self, trees: Sequence[Tree], names: Sequence[str]) -> None:
        columns = {name: column for column, name in enumerate(names)}
        most = max((len(tree.features) for tree in trees), default=0)
        # Row p has node p of each tree; a tree without one asks what is always true.
        self._columns = np.zeros((most, len(trees)), dtype=np.int64)
        self._thresholds: Singles = np.full((most, len(trees), 1), np.inf, dtype=np.float32)
        self._lost = np.zeros((most, len(trees), 1), dtype=np.uint32)
        self._leaves = np.zeros((len(trees), MOST_LEAVES))
        for number, tree in enumerate(trees):
            size = len(tree.features)
            self._columns[:size, number] = [columns[name] for name in tree.features]
            self._thresholds[:size, number, 0] = tree.thresholds
            self._lost[:size, number, 0] = tree.left_leaves()
            leaves = [tree.leaves[leaf] for leaf in tree.from_left()]
            self._leaves[number, : len(leaves)] = leaves

    def sums(self, values: Floats) -> Floats:
        """The sum of all trees for each candidate, shape (n,).

        Args:
            values: Features, shape (n, len(names)); compared in single precision.
        """
        sums = np.zeros(len(values))
        if not len(self._leaves):
            return sums
        together = max(1, _TOGETHER // len(self._leaves))
        for first in range(0, len(values), together):
            part = slice(first, first + together)
            sums[part] = self._sums(np.ascontiguousarray(values[part].T, dtype=np.float32))
        return sums

    def _sums(self, features: Singles) -> Floats:
        """The sums for some candidates, whose features have shape (len(names), n)."""
        lost = np.zeros((len(self._leaves), features.shape[1]), dtype=np.uint32)
        for columns, thresholds, leaves in zip(
            self._columns, self._thresholds, self._lost, strict=True
        ):
            # To multiply is three times as fast as to choose.
            lost |= (features[columns] > thresholds) * leaves
        # The lowest bit that is left, as its exponent.
        lowest = ~lost & (lost + np.uint32(1))
        leaf = np.frexp(lowest.astype(np.float32))[1] - 1
        return np.asarray(np.take_along_axis(self._leaves, leaf, axis=1).sum(axis=0))
