"""Roman numerals, as editions number books and chapters."""

import re

_NUMERAL = re.compile(
    "(?=.)(?:c{0,3})(?:xc|xl|l?x{0,4})(?:ix|iv|v?i{0,4})", re.IGNORECASE | re.ASCII
)
_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


def roman_to_int(numeral: str) -> int | None:
    """The value of a Roman numeral up to 399, or None where it is none.

    The longer forms `iiii` and `xxxx` of older prints are read too, and a last `j` (`iij`).

    Example:
        >>> roman_to_int("XXII"), roman_to_int("cxviij"), roman_to_int("vix")
        (22, 118, None)
    """
    letters = numeral.lower()
    if letters.endswith("j"):
        letters = letters[:-1] + "i"
    if not _NUMERAL.fullmatch(letters):
        return None
    values = [_VALUES[letter] for letter in letters]
    following = [*values[1:], 0]
    return sum(
        -value if value < after else value for value, after in zip(values, following, strict=True)
    )
