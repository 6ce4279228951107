"""Characters in texts from outside that cannot be saved or shown: surrogates and controls."""

import json


def lone_surrogate(text: str) -> str:
    r"""The first lone surrogate in a text, as `U+D800`; "" where there is none.

    It is half of a character. JSON can hold one (`"\ud800"`), but UTF-8 cannot, so the text could
    not be printed, saved or sent.

    Example:
        >>> lone_surrogate("deus"), lone_surrogate("de\ud800us")
        ('', 'U+D800')
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"U+{ord(text[error.start]):04X}"
    return ""


def check_characters(value: object) -> None:
    r"""Refuse a value, as JSON has them, that holds a text with a lone surrogate.

    Raises:
        ValueError: It holds one.

    Example:
        >>> check_characters({"text": ["de\ud800us"]})
        Traceback (most recent call last):
        ...
        ValueError: half a character (U+D800)
    """
    if found := lone_surrogate(json.dumps(value, ensure_ascii=False)):
        raise ValueError(f"half a character ({found})")


def shorten(text: str, most: int) -> str:
    """The text, its end left out and marked with … where it has more than `most` characters.

    Example:
        >>> shorten("Dominus regit me", 9), shorten("Dominus", 9)
        ('Dominus …', 'Dominus')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def visible(text: str) -> str:
    r"""The text with control characters, and those that turn its direction, shown as one sign.

    Line ends, tabs and blanks of any kind stay.

    Example:
        >>> visible("de\x1b[31mus\n\u202e") == "de\ufffd[31mus\n\ufffd"
        True
    """
    if text.isprintable():
        return text
    return "".join(c if _is_visible(c) else "\ufffd" for c in text)


def _is_visible(character: str) -> bool:
    return character.isprintable() or (character.isspace() and character not in _LINES)


_LINES = frozenset("\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029")
"""Blanks that begin a line of their own, or move a terminal's cursor."""
