"""Values of queries that belong to groups, checked and summed."""

from allusion_es.core.arrays import Floats
from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.errors import UsageError

Groups = Sequence[Hashable] | None
"""To which group each query belongs; None where each stands alone."""

_CELLS = 1 << 20
"""Most numbers drawn at once, so that memory does not grow with what is asked for."""


def finite(values: Sequence[float]) -> Floats:
    """The values as an array, shape (n,).

    Raises:
        UsageError: One is not finite; the message says which.
    """
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise UsageError(f"value {place + 1} of {len(array)} is {array[place]}; give finite ones")
    return array


def differences(a: Sequence[float], b: Sequence[float]) -> Floats:
    """What each query has more in `a` than in `b`, shape (n,).

    Raises:
        UsageError: There are not as many, or one is not finite.
    """
    if len(a) != len(b):
        raise UsageError(f"{len(a)} values against {len(b)}; give both methods the same queries")
    return finite(a) - finite(b)


def grouped(values: Floats, groups: Groups) -> tuple[Floats, Floats]:
    """Sum and number of the values of each group, both of shape (groups,).

    Raises:
        UsageError: There is not one group for each value.

    Example:
        >>> sums, sizes = grouped(np.array([1.0, 2.0, 4.0]), ["Gen", "Isa", "Gen"])
        >>> sums.tolist(), sizes.tolist()
        ([5.0, 2.0], [2.0, 1.0])
    """
    if groups is None:
        return values, np.ones(len(values))
    if len(groups) != len(values):
        raise UsageError(f"{len(groups)} groups for {len(values)} values; give one for each")
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=np.int64)
    sums = np.bincount(codes, weights=values).astype(np.float64)
    return sums, np.bincount(codes).astype(np.float64)


def parts(rows: int, columns: int) -> Iterator[slice]:
    """Slices of the rows of a table, each of about a million cells at most."""
    size = max(1, _CELLS // max(columns, 1))
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))
