"""What texts from elsewhere may not be made of."""

import json


def lone_surrogate(text: str) -> str:
    r"""The first half of a character in a text, as `U+D800`; "" where there is none.

    JSON can say one (`"\ud800"`); it cannot be printed, saved or sent.

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
    r"""See that no text in a value, as JSON has them, holds half a character.

    Raises:
        ValueError: One does.

    Example:
        >>> check_characters({"text": ["de\ud800us"]})
        Traceback (most recent call last):
        ...
        ValueError: half a character (U+D800)
    """
    if half := lone_surrogate(json.dumps(value, ensure_ascii=False)):
        raise ValueError(f"half a character ({half})")


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
"""Blanks that act on a terminal or a line."""
