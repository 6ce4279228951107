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
