"""Spellings with v for consonantal u, as dictionaries and most editions print folded words.

`fold` writes u for both, so that editions agree; dictionaries and word vectors tell them apart.
"""

import itertools
import re

_VOWELS = "aeiouy"
# In `uua` and `iuuenis` the first u is a vowel and the second the consonant.
_CONSONANT_U = re.compile(r"u(?!u[aeiouy])(?=[aeiouy])")
# Letters and prefixes after which a u in doubt is likely a v: `servus`, `invisibilis`.
_LIKELY_CONSONANT = re.compile(r"[lr]$|^(?:ad|con|circum|dis|in|ob|prae|re|sub|super|trans)$")
_MAX_DOUBTS = 3  # each doubles the spellings; with more, all doubtful letters stay u


def spellings(form: str) -> list[str]:
    """Return the possible dictionary spellings of a folded form, the one to try first in front.

    u before a vowel is a consonant at the start of a word and between vowels, a vowel after
    q and ng, and in doubt after any other consonant (`seruus`, but `mortuus`): there both
    spellings are tried, the consonant first, since it is the rarer one to be a word by chance.

    Example:
        >>> spellings("uideo"), spellings("lingua"), spellings("mortuus")
        (['video'], ['lingua'], ['mortvus', 'mortuus'])
    """
    letters, doubts = _settled(form)
    found = []
    for choice in itertools.product("vu", repeat=len(doubts)):
        for place, letter in zip(doubts, choice, strict=True):
            letters[place] = letter
        found.append("".join(letters))
    return found


def likely_spelling(form: str) -> str:
    """Return the likeliest spelling of a folded form without the help of a dictionary.

    A u in doubt counts as a consonant after l, r and most prefixes.

    Example:
        >>> [likely_spelling(form) for form in ("inuisibilis", "seruus", "genuit", "uoluit")]
        ['invisibilis', 'servus', 'genuit', 'voluit']
    """
    letters, doubts = _settled(form)
    for place in doubts:
        if _LIKELY_CONSONANT.search(form[:place]):
            letters[place] = "v"
    return "".join(letters)


def _settled(form: str) -> tuple[list[str], list[int]]:
    """The letters with every certain v, and the indices of each u in doubt."""
    letters = list(form)
    doubts = []
    for match in _CONSONANT_U.finditer(form):
        place = match.start()
        before = form[:place]
        if not before or before[-1] in _VOWELS:
            letters[place] = "v"
        elif not before.endswith(("q", "ng")):
            doubts.append(place)
    if form.startswith("uolu") or len(doubts) > _MAX_DOUBTS:
        doubts = []  # `volui` and not `volvi`
    return letters, doubts
