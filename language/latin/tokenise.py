"""The tokeniser: words of a Latin text and their spans, with the marks that editors print."""

import re
from collections.abc import Callable
from typing import NamedTuple

from allusion_es.language.latin.fold import fold, kept_by_word

# A letter with the combining marks on it: accents, and letters and signs of scribes.
_LETTER = (
    r"[^\W\d_][\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe00-\ufe0f\ufe20-\ufe2f]*"
)
# Editors' marks inside a word (supplements, deletions, cruces), invisible characters (soft
# hyphens, joiners, zero-width blanks), or a hyphen with the line break after it.
_INSIDE = (
    r"(?:[\[\]<>(){}⟨⟩‹›†‡*\u00ad\u200b-\u200d\u2060\ufeff]+"
    r"|[-\u2010\u00ac\u00ad\u2e17=][^\S\n]*\n[^\S\n]*)"
)
_WORD = re.compile(f"{_LETTER}(?:{_INSIDE}?{_LETTER})*|[&⁊⹒]")

_AND = frozenset("&⁊⹒")
ENCLITICS = ("que", "ne", "ue")
_WHOLE = frozenset({"chalane", "siccine"})
"""Words that are missing in dictionaries and whose end only looks like an enclitic."""


class WordSpan(NamedTuple):
    """A word of a text.

    Attributes:
        form: The word as `fold` spells it.
        start: The offset of its first character in the text.
        end: The offset after its last character.
    """

    form: str
    start: int
    end: int


class Tokeniser:
    r"""Splits texts into words; enclitics become words of their own.

    -que, -ne and -ve are split off where the rest is a word and the whole is not, so that
    `itaque`, `neque` and `quisque` stay whole. Words broken by a hyphen at the end of a line
    and words with editors' marks inside are one word; `&` and `⁊` are `et`; numbers are left out.

    Args:
        is_word: Returns whether a folded form is a known word.

    Example:
        >>> known = {"dixit", "neque", "uerbum"}.__contains__
        >>> words = Tokeniser(known).words("Dixitque: neque ver-\nbum [e]st 3")
        >>> [word.form for word in words]
        ['dixit', 'que', 'neque', 'uerbum', 'est']
    """

    def __init__(self, is_word: Callable[[str], bool]) -> None:
        self._is_word = is_word
        # Texts repeat their words, so each distinct word is folded and looked up once.
        self._split = kept_by_word(self._split_printed)

    def words(self, text: str) -> list[WordSpan]:
        """Return the words of a text in order."""
        words: list[WordSpan] = []
        split = self._split
        for match in _WORD.finditer(text):
            form, enclitic = split(match[0])
            start, end = match.span()
            cut = _enclitic_start(text, start, end, enclitic) if enclitic else start
            if cut > start:
                words += (WordSpan(form, start, cut), WordSpan(enclitic, cut, end))
            elif form:
                words.append(WordSpan(form + enclitic, start, end))
        return words

    def _split_printed(self, printed: str) -> tuple[str, str]:
        """The folded word without its enclitic, and the enclitic or ""."""
        form = "et" if printed in _AND else fold(printed)
        for enclitic in ENCLITICS:
            rest = form.removesuffix(enclitic)
            if 2 <= len(rest) < len(form):
                whole = form in _WHOLE or self._is_word(form)
                split = not whole and self._is_word(rest)
                return (rest, enclitic) if split else (form, "")
        return form, ""


def _enclitic_start(text: str, start: int, end: int, enclitic: str) -> int:
    """The offset at which a word's enclitic starts; `start` if a sign spans its border.

    A sign such as ꝯ stands for several letters, so letters are folded rather than counted.
    """
    for place in range(end - 1, start, -1):
        folded = fold(text[place:end]) if text[place].isalpha() else ""
        if folded == enclitic and fold(text[start:place]) + enclitic == fold(text[start:end]):
            return place
        if len(folded) > len(enclitic):
            break
    return start


def printed_words(text: str) -> list[WordSpan]:
    """Return the words of a text as printed, without splitting off enclitics.

    Example:
        >>> [word.form for word in printed_words("Dixitque: 3 [e]st")]
        ['dixitque', 'est']
    """
    return _PRINTED.words(text)


_PRINTED = Tokeniser(lambda form: True)
