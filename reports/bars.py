"""Bars of characters, for a terminal."""

from collections.abc import Sequence

_PARTS = " ▏▎▍▌▋▊▉"


def bar(share: float, width: int) -> str:
    """A bar whose length is a share of `width` columns, to an eighth of a column.

    Example:
        >>> bar(0.5, 5)
        '██▌'
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return ("█" * (eighths // 8) + _PARTS[eighths % 8]).rstrip()


def bars(
    labels: Sequence[str], values: Sequence[float], figures: Sequence[str], width: int = 40
) -> list[str]:
    """One line for each value: label, figure, and a bar; the largest is as long as `width`.

    Args:
        labels: What each value is of.
        values: Not negative.
        figures: The values as they are to be printed.
        width: Columns of the longest bar.

    Example:
        >>> bars(["0.0", "0.5"], [1, 4], ["1", "4"], width=4)
        ['0.0  1  █', '0.5  4  ████']
    """
    largest = max(values, default=0) or 1
    first = max(map(len, labels), default=0)
    second = max(map(len, figures), default=0)
    return [
        f"{label:<{first}}  {figure:>{second}}  {bar(value / largest, width)}".rstrip()
        for label, value, figure in zip(labels, values, figures, strict=True)
    ]
