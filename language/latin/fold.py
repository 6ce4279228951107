"""One spelling for Latin words, whatever edition they come from.

Unicode has some 1,400 Latin letters. Most are a letter with an accent, which Unicode itself takes
apart. The name of others says which letter they are: `LATIN SMALL LETTER P WITH STROKE` is a p.
Signs of medieval scribes stand for several letters (ꝓ is `pro`), some of them by where they stand.
A letter of which nothing is known stays as it is: no text has such a word, so it is reported as
unknown, and no half of it is searched for. `docs/letters.md` lists what becomes of each letter.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

T = TypeVar("T")

MAX_WORD = 100
"""Characters at which words are cut: no Latin word is longer, and Elasticsearch's `whitespace`
tokenizer splits words above 255."""

_LETTERS = str.maketrans({"v": "u", "j": "i"})
_US = str.maketrans({"\ua770": "us"})
"""The sign for -us, which NFKD would replace by the sign for con-."""


def kept_by_word(function: Callable[[str], T]) -> Callable[[str], T]:
    """Decorate a function of a word with an LRU cache of 200,000 words.

    That is more than the distinct words of a large collection. Words longer than `MAX_WORD` are not
    cached: otherwise queries could fill a server's memory.

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
    """Return a word in lower case, without accents, with u for v and i for j.

    Compatibility forms (long s, Roman numeral signs) become letters; ligatures (e caudata as `ae`)
    and the signs of medieval scribes that `spelled` knows are written out. Macrons, accents,
    diaereses and everything that is not a letter are dropped. The result has at most `MAX_WORD`
    characters, and is empty if no letter is left.

    Example:
        >>> [fold(word) for word in ("Jūdæa", "VERBVM", "Israël", "sǽculum", "signi[fi]cat", "12")]
        ['iudaea', 'uerbum', 'israel', 'saeculum', 'significat', '']
    """
    lower = unicodedata.normalize("NFKC", word.translate(_US)).lower()
    bare = spelled(unicodedata.normalize("NFKD", lower))
    return bare.translate(_LETTERS)[:MAX_WORD]


# Letters outside the alphabet

_SPELLED = {
    "ß": "ss", "ꝸ": "um", "ꝝ": "rum", "ꝶ": "rum", "ꝱ": "dum", "ꝲ": "lum", "ꝳ": "mum",
    "ꝴ": "num", "ꝵ": "rum", "ꝷ": "tum", "ꝑ": "per", "ꝓ": "pro", "ꝕ": "prae", "ꝙ": "quod",
    "ꝟ": "uer", "ꝭ": "is", "ꝰ": "us", "ð": "d", "þ": "th", "ꝥ": "th", "ꝧ": "th", "ŋ": "n",
    "ĸ": "k", "ƿ": "w", "ꝩ": "u", "ꝣ": "z", "ꝺ": "d", "ᵹ": "g", "ꝛ": "r", "ſ": "s", "ı": "i",
    "ȷ": "i", "ẟ": "d", "ɡ": "g", "ɑ": "a", "ɩ": "i", "ɵ": "o", "ᴆ": "d",
    "ᵻ": "i", "ᵼ": "i", "ᵾ": "u", "ꟾ": "i", "ꟿ": "m", "ꬲ": "e", "ꬽ": "o",
    # Above another letter:
    "\u1dd1": "ur", "\u1dd2": "us", "\u035b": "er", "\u1dd7": "c", "\u1dd9": "d", "\u1de7": "a",
}  # fmt: skip
"""Letters and scribes' signs that stand for the same letters everywhere."""

_BY_PLACE = frozenset("ꝫȝʒꝗꝯↄɔꝉ")
"""Scribes' signs whose reading depends on their place (`_in_place`), and letters for them."""

_LETTER_NAME = re.compile(
    r"(?:LATIN|MODIFIER|COMBINING LATIN|LATIN SUBSCRIPT|LATIN SUPERSCRIPT)"
    r"(?: SMALL| CAPITAL)?(?: LETTER| LIGATURE)(?: SMALL)?(?: CAPITAL)?"
    r"(?: INSULAR| MIDDLE-WELSH| ANGLICANA| BROKEN| SHARP| LONG| DOTLESS| BLACKLETTER| STIRRUP"
    r"| FLATTENED OPEN)?"
    r" ([A-Z]{1,2})(?: ROTUNDA| DIGRAPH)?(?: WITH(?:OUT)? .*| ABOVE| BELOW)?"
)
_SHORT_NAMES = frozenset({"OU", "OI", "ET", "IS", "US"})
"""Two-letter names in Unicode that do not spell the letters they name."""

_CAUDA = frozenset("\u0327\u0328\u1dce")
"""Marks that turn an e into an e caudata: cedilla, ogonek, and ogonek above."""


def spelled(word: str) -> str:
    """Return a word written with the letters of the Latin alphabet.

    Args:
        word: The word, in lower case and decomposed (NFKD).

    Returns:
        Its letters, without accents and other characters. Letters of other alphabets, and phonetic
        letters such as `ə`, stay as they are.

    Example:
        >>> [spelled(word) for word in ("sæculum", "ꝓpter", "omnibꝫ", "q\u0365", "atꝗ", "ꝯmunis")]
        ['saeculum', 'propter', 'omnibus', 'qi', 'atque', 'communis']
    """
    if word.isascii():
        return "".join(filter(str.isalpha, word))
    letters: list[str] = []
    for place, character in enumerate(word):
        if character in _BY_PLACE:
            letters.append(_in_place(word, place))
        elif character in _CAUDA:
            if letters and letters[-1] == "e":
                letters[-1] = "ae"
        else:
            letters.append(_letter(character))
    return "".join(letters)


@lru_cache(maxsize=10_000)
def _letter(character: str) -> str:
    """The letters for a character whose reading does not depend on its place; "" for no letter."""
    if character.isascii():
        return character if character.isalpha() else ""
    if (found := _SPELLED.get(character)) is not None:
        return found
    name = unicodedata.name(character, "")
    if (match := _LETTER_NAME.fullmatch(name)) and match[1] not in _SHORT_NAMES:
        return match[1].lower()
    # Unicode counts modifier letters (phoneticians' apostrophes) as letters; Latin does not.
    is_letter = character.isalpha() and not name.startswith("MODIFIER LETTER")
    return character if is_letter else ""


def _in_place(word: str, place: int) -> str:
    """The letters for a scribe's sign at a place of a word; the sign itself if in doubt."""
    sign, before, follows = word[place], word[:place], word[place + 1 :]
    if sign in "ꝫȝʒ":
        if before.endswith("q"):
            return "ue"
        if before.endswith("ib") and not follows:
            return "us"
        return "et" if sign + follows + before == "ꝫ" else sign
    if sign == "ꝗ":
        return "que" if before and not follows else sign
    if sign == "ꝉ":
        return sign if before or follows else "uel"
    if before:
        return "us" if sign == "ꝯ" and not follows else sign
    if not follows:
        return sign
    return "com" if follows[0] in "bmp" else "con"
