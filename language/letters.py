"""Latin letters outside the alphabet: how each is written with the 26 letters.

Unicode has some 1,400 Latin letters. Most are a letter with an accent, which Unicode itself takes
apart. Of the others the name says what they are: `LATIN SMALL LETTER P WITH STROKE` is a p. Signs
of medieval scribes stand for several letters (ꝓ is `pro`), some of them by where they stand. A
letter of which nothing is known stays as it is. No text has such a word, so it is told as unknown,
and no half of it is searched for. `docs/letters.md` lists what becomes of them.
"""

import re
import unicodedata
from functools import lru_cache

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
"""Scribes' signs that are read by where they stand (`_in_place`), and letters printed for them."""

_LETTER_NAME = re.compile(
    r"(?:LATIN|MODIFIER|COMBINING LATIN|LATIN SUBSCRIPT|LATIN SUPERSCRIPT)"
    r"(?: SMALL| CAPITAL)?(?: LETTER| LIGATURE)(?: SMALL)?(?: CAPITAL)?"
    r"(?: INSULAR| MIDDLE-WELSH| ANGLICANA| BROKEN| SHARP| LONG| DOTLESS| BLACKLETTER| STIRRUP"
    r"| FLATTENED OPEN)?"
    r" ([A-Z]{1,2})(?: ROTUNDA| DIGRAPH)?(?: WITH(?:OUT)? .*| ABOVE| BELOW)?"
)
_SHORT_NAMES = frozenset({"OU", "OI", "ET", "IS", "US"})
"""Names of two letters that are not the letters themselves."""

_CAUDA = frozenset("\u0327\u0328\u1dce")
"""What makes an e an e caudata: cedilla, ogonek, and the ogonek above."""


def spelled(word: str) -> str:
    """A lower-case word with the letters of the Latin alphabet.

    Args:
        word: In lower case and taken apart (NFKD).

    Returns:
        Its letters; accents and what is no letter are left out. Letters of other alphabets, and
        those of phonetic ones such as `ə`, stay.

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
    """What one character stands for, wherever it stands; "" for what is no letter."""
    if character.isascii():
        return character if character.isalpha() else ""
    if (found := _SPELLED.get(character)) is not None:
        return found
    name = unicodedata.name(character, "")
    if (match := _LETTER_NAME.fullmatch(name)) and match[1] not in _SHORT_NAMES:
        return match[1].lower()
    # Apostrophes and the like of phoneticians are letters to Unicode, but to no reader of Latin.
    is_letter = character.isalpha() and not name.startswith("MODIFIER LETTER")
    return character if is_letter else ""


def _in_place(word: str, place: int) -> str:
    """A scribe's sign as its place in the word decides; itself, where that is in doubt."""
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
