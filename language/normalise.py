"""One spelling for Latin words, whatever edition they come from."""

import unicodedata
from functools import lru_cache

MAX_WORD = 100
"""Longer words are cut: no Latin word is longer, and servers split words above 255."""

_LIGATURES = str.maketrans({"æ": "ae", "œ": "oe", "ę": "ae", "ø": "o", "ß": "ss"})
_LETTERS = str.maketrans({"v": "u", "j": "i"})


def fold(word: str) -> str:
    """The word in lower case, without accents, with u for v and i for j.

    Compatibility forms (long s, Roman numeral signs) become letters, ligatures are written
    out (e caudata as `ae`), and macrons, accents, diaereses and everything that is not a
    letter fall away. Never longer than `MAX_WORD` characters; empty where no letter is left.

    Example:
        >>> [fold(word) for word in ("Jūdæa", "VERBVM", "Israël", "signi[fi]cat", "12")]
        ['iudaea', 'uerbum', 'israel', 'significat', '']
    """
    return _kept_fold(word) if len(word) <= MAX_WORD else _fold(word)


def _fold(word: str) -> str:
    lower = unicodedata.normalize("NFKC", word).lower().translate(_LIGATURES)
    bare = unicodedata.normalize("NFKD", lower).translate(_LETTERS)
    return "".join(filter(str.isalpha, bare))[:MAX_WORD]


# Whoever asks a server could fill its memory with words of any length.
_kept_fold = lru_cache(maxsize=200_000)(_fold)
