"""Adam, for rows of which each step touches some."""

from allusion_es.core.arrays import Singles
import numpy as np
from numpy.typing import NDArray


_MEAN, _SQUARE, _LEAST = 0.9, 0.999, 1e-8


class Adam:
    """Moves rows against their gradients, by steps of about one size.

    `m = .9 m + .1 g; v = .999 v + .001 g^2; x -= rate m' / (sqrt(v') + 1e-8)`, with m' and v'
    corrected for their start at zero. Source: Kingma and Ba 2015. Rows that a step does not touch
    stay, with their m and v (lazy Adam).

    Args:
        rows: What is learned, changed in place, shape (n,) or (n, dimension).
        mean: m, if training goes on.
        square: v, if training goes on.

    Example:
        >>> rows = np.array([1.0, 1.0], dtype=np.float32)
        >>> Adam(rows).step(np.array([1]), np.array([5.0], dtype=np.float32), rate=0.1, number=1)
        >>> rows.round(4).tolist()
        [1.0, 0.8999999761581421]
    """

    def __init__(
        self, rows: Singles, mean: Singles | None = None, square: Singles | None = None
    ) -> None:
        self.rows = rows
        self.mean = np.zeros_like(rows) if mean is None else mean
        self.square = np.zeros_like(rows) if square is None else square

    def step(
        self, touched: NDArray[np.int64], gradient: Singles, *, rate: float, number: int
    ) -> None:
        """Move some rows.

        Args:
            touched: Which, each once.
            gradient: Theirs, one a row.
            rate: How far to go.
            number: Which step this is, from 1.
        """
        mean, square = self.mean[touched], self.square[touched]
        mean *= np.float32(_MEAN)
        mean += np.float32(1 - _MEAN) * gradient
        square *= np.float32(_SQUARE)
        square += np.float32(1 - _SQUARE) * gradient * gradient
        self.mean[touched], self.square[touched] = mean, square
        np.sqrt(square, out=square)
        square /= np.float32(np.sqrt(1 - _SQUARE**number))
        square += np.float32(_LEAST)
        mean *= np.float32(rate / (1 - _MEAN**number))
        mean /= square
        self.rows[touched] -= mean
