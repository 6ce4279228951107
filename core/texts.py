"""What texts from elsewhere may not be made of."""


def half_character(text: str) -> str:
    r"""The first half of a character in a text, as `U+D800`; "" where there is none.

    JSON can say one (`"\ud800"`); it cannot be printed, saved or sent.

    Example:
        >>> half_character("deus"), half_character("de\ud800us")
        ('', 'U+D800')
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"U+{ord(text[error.start]):04X}"
    return ""


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
