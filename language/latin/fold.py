"""One spelling for Latin words, whatever edition they come from."""

import unicodedata
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

T = TypeVar("T")

MAX_WORD = 100
"""Longer words are cut: no Latin word is longer, and servers split words above 255."""

_LIGATURES = str.maketrans({"æ": "ae", "œ": "oe", "ę": "ae", "ø": "o", "ß": "ss"})
_LETTERS = str.maketrans({"v": "u", "j": "i"})


def kept_by_word(function: Callable[[str], T]) -> Callable[[str], T]:
    """The function, which remembers what it gave for the last 200,000 words.

    Words that are longer than any of Latin are not kept, or whoever asks a server could fill its
    memory with them.

    Example:
        >>> kept_by_word(str.upper)("deus")
        'DEUS'
    """
    kept = lru_cache(maxsize=200_000)(function)

    @wraps(function)
    def of(word: str) -> T:
        return kept(word) if len(word) <= MAX_WORD else function(word)

    return of


@kept_by_word
def fold(word: str) -> str:
    """The word in lower case, without accents, with u for v and i for j.

    Compatibility forms (long s, Roman numeral signs) become letters, ligatures are written
    out (e caudata as `ae`), and macrons, accents, diaereses and everything that is not a
    letter fall away. Never longer than `MAX_WORD` characters; empty where no letter is left.

    Example:
        >>> [fold(word) for word in ("Jūdæa", "VERBVM", "Israël", "signi[fi]cat", "12")]
        ['iudaea', 'uerbum', 'israel', 'significat', '']
    """
    lower = unicodedata.normalize("NFKC", word).lower().translate(_LIGATURES)
    bare = unicodedata.normalize("NFKD", lower).translate(_LETTERS)
    return "".join(filter(str.isalpha, bare))[:MAX_WORD]
