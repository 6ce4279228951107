"""The arrays of a file, checked before anything is computed from them.

Checksums tell accidents. They do not tell a file that was made to do harm, whose places lead
outside of other arrays or whose numbers are none; these checks do.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from allusion_es.core.arrays import Array, ArrayFile

Shape = tuple[int | None, ...]
"""The length in each dimension; None for any."""

_INTEGERS = frozenset({"|i1", "|u1", "<u2", "<i4", "<i8"})
_FLOATS = frozenset({"<f4", "<f8"})


class CheckedArrays:
    """Gives arrays that are what they must be.

    Args:
        file: The file.

    Attributes:
        file: The file.
        meta: What was saved with the arrays.

    Every method raises `IndexDamagedError` where the array is missing, damaged or unfit.
    """

    def __init__(self, file: ArrayFile) -> None:
        self.file = file
        self.meta = file.meta

    def integers(
        self, name: str, shape: Shape, below: int | None = None, *, least: int = 0
    ) -> Array:
        """Whole numbers from `least` to `below`, exclusive; without `below`, any."""
        array = self._array(name, shape, _INTEGERS)
        if (
            below is not None
            and array.size
            and not (least <= int(array.min()) and int(array.max()) < below)
        ):
            raise self._unfit(name)
        return array

    def offsets(self, name: str, parts: int | None, total: int) -> Array:
        """Where parts begin and end: from 0 to `total`, never descending, shape (parts + 1,)."""
        array = self._array(name, (None if parts is None else parts + 1,), frozenset({"<i8"}))
        if not len(array) or array[0] != 0 or array[-1] != total or (np.diff(array) < 0).any():
            raise self._unfit(name)
        return array

    def floats(self, name: str, shape: Shape, most: float, *, least: float | None = None) -> Array:
        """Finite numbers from `least` (by default `-most`) to `most`."""
        array = self._array(name, shape, _FLOATS)
        lowest = -most if least is None else least
        # Written so that NaN, which is in no order with anything, is refused.
        if array.size and not (float(array.min()) >= lowest and float(array.max()) <= most):
            raise self._unfit(name)
        return array

    def singles(self, name: str) -> Array:
        """Finite numbers in single precision, of any shape."""
        array = self.file.load(name)
        if array.dtype.str != "<f4" or not np.isfinite(array).all():
            raise self._unfit(name)
        return array

    def lines(self, name: str, count: int | None = None) -> list[str]:
        """Texts, one a line."""
        data = self._array(name, (None,), frozenset({"|u1"}))
        try:
            text = data.tobytes().decode()
        except UnicodeDecodeError:
            raise self._unfit(name) from None
        lines = text.split("\n") if text else []
        if not lines and count == 1:
            lines = [""]
        if count is not None and len(lines) != count:
            raise self._unfit(name)
        return lines

    def told(self, read: Callable[[Mapping[str, Any]], Any]) -> Any:  # noqa: ANN401 - as `read`
        """What `read` makes of the header; what it raises means that the header is unfit."""
        try:
            return read(self.meta)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self.file.damaged("its header is not one of an index") from error

    def _array(self, name: str, shape: Shape, types: frozenset[str]) -> Array:
        array = self.file.load(name)
        fits = len(array.shape) == len(shape) and all(
            wanted in (None, given) for wanted, given in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype.str not in types:
            raise self._unfit(name)
        return array

    def _unfit(self, name: str) -> Exception:
        return self.file.damaged(f"{name} is not what it must be")
