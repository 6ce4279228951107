"""Texts cut into numbers, words and marks for the reading of references."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# Roman numerals, as editions number books and chapters.


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


_TOKEN = re.compile(r"[0-9]+|[^\W\d_]+|\S")
_LONGEST_NUMERAL = 12
# Characters that are written for another one, each for one, so that places stay.
_SAME = {
    **dict.fromkeys([*range(0x2010, 0x2016), 0x2212, 0xFE58, 0xFE63, 0xFF0D], "-"),
    **dict.fromkeys(["\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff"], "\u00ad"),
    **{chr(0x2160 + n): letter for n, letter in ((0, "I"), (4, "V"), (9, "X"), (11, "L"))},
    "\uff0c": ",", "\uff1a": ":", "\uff1b": ";", "\u2236": ":", "\ua789": ":", "¦": "|",
}  # fmt: skip
_CHARACTERS = str.maketrans(
    {ord(key) if isinstance(key, str) else key: value for key, value in _SAME.items()}
)
# Raised figures are marks of notes.
_RAISED = re.compile("[\u00b9\u00b2\u00b3\u2070-\u2079\u00aa\u00ba]")


@dataclass(frozen=True, slots=True)
class Token:
    """A number, a word or a mark.

    Attributes:
        text: As it is compared: with a plain hyphen for every dash.
        kind: What it is.
        start: Its first character in the text.
        end: The character after its last.
        glued: Whether no blank stands before it.
    """

    text: str
    kind: Literal["number", "word", "mark"]
    start: int
    end: int
    glued: bool


def tokenise(text: str) -> list[Token]:
    """The tokens of a text; raised figures are left out."""
    plain = _RAISED.sub(" ", text.translate(_CHARACTERS))
    tokens: list[Token] = []
    end = -1
    hidden = False
    for match in _TOKEN.finditer(plain):
        word = match[0]
        if word == "\u00ad":  # a break that is not seen joins what stands around it
            hidden = match.start() == end
            end = match.end()
            continue
        kind: Literal["number", "word", "mark"] = (
            "number"
            if word.isascii() and word.isdecimal()
            else "word"
            if word.isalpha()
            else "mark"
        )
        glued = match.start() == end
        if hidden and glued and tokens and tokens[-1].kind == kind != "mark":
            last = tokens.pop()
            tokens.append(Token(last.text + word, kind, last.start, match.end(), last.glued))
        else:
            tokens.append(Token(word, kind, match.start(), match.end(), glued))
        hidden, end = False, match.end()
    return tokens


def numeral(tokens: Sequence[Token], place: int) -> tuple[int, bool] | None:
    """The value of a number, and whether it is Roman, or None where there is none.

    A Roman numeral is in one case: `LV` and `lv` are 55, `Lv` is Leviticus.
    """
    if place >= len(tokens):
        return None
    token = tokens[place]
    if token.kind == "number":
        return (int(token.text[:7]), False)
    if token.kind != "word" or len(token.text) > _LONGEST_NUMERAL:
        return None
    if not (token.text.isupper() or token.text.islower() or _ends_in_j(token.text)):
        return None
    value = roman_to_int(token.text)
    return (value, True) if value else None


def _ends_in_j(word: str) -> bool:
    return word[-1] == "j" and word[:-1].isupper()
