"""One spelling for Latin words, whatever edition they come from."""

import unicodedata
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

from allusion_es.language.letters import spelled

T = TypeVar("T")

MAX_WORD = 100
"""Longer words are cut: no Latin word is longer, and servers split words above 255."""

_LETTERS = str.maketrans({"v": "u", "j": "i"})
_US = str.maketrans({"\ua770": "us"})
"""Unicode takes the sign for -us apart as if it were the one for con-."""


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
    out (e caudata as `ae`), with accents or without, and so are the signs of medieval scribes
    that `letters` knows. Macrons, accents, diaereses and everything that is not a letter fall
    away. Never longer than `MAX_WORD` characters; empty where no letter is left.

    Example:
        >>> [fold(word) for word in ("Jūdæa", "VERBVM", "Israël", "sǽculum", "signi[fi]cat", "12")]
        ['iudaea', 'uerbum', 'israel', 'saeculum', 'significat', '']
    """
    lower = unicodedata.normalize("NFKC", word.translate(_US)).lower()
    bare = spelled(unicodedata.normalize("NFKD", lower))
    return bare.translate(_LETTERS)[:MAX_WORD]
