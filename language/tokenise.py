"""Words and their places in a text as editors print it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from allusion_es.language.normalise import fold

_LETTER = r"[^\W\d_][\u0300-\u036f]*"
# Editors' marks inside a word (supplements, deletions, cruces, soft hyphens), or a hyphen
# with the line break that it causes.
_INSIDE = r"(?:[\[\]<>(){}⟨⟩‹›†‡*\u00ad]+|[-\u2010\u00ac\u00ad][^\S\n]*\n[^\S\n]*)"
_WORD = re.compile(f"{_LETTER}(?:{_INSIDE}?{_LETTER})*|&")

_ENCLITICS = ("que", "ne", "ue")
_WHOLE = frozenset({"chalane", "siccine"})
"""Words that no dictionary has and whose end only looks like an enclitic."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text.

    Attributes:
        form: The word as `fold` spells it.
        start: Where it starts, in characters of the text.
        end: Where it ends, exclusive.
    """

    form: str
    start: int
    end: int


def tokenise(text: str, is_word: Callable[[str], bool]) -> Iterator[Word]:
    """The words of `text` in order, enclitics as words of their own.

    -que, -ne and -ve are split off where the rest is a word and the whole is not, so that
    `itaque`, `neque` and `quisque` stay whole. Words broken by a hyphen at the end of a line
    and words with editors' marks inside are one word; `&` is `et`; numbers are left out.

    Args:
        text: Any text.
        is_word: Tells whether a folded form is a known word.

    Example:
        >>> known = {"dixit", "neque", "uerbum"}.__contains__
        >>> [word.form for word in tokenise("Dixitque: neque ver-\\nbum [e]st 3", known)]
        ['dixit', 'que', 'neque', 'uerbum', 'est']
    """
    for match in _WORD.finditer(text):
        start, end = match.span()
        form = "et" if match[0] == "&" else fold(match[0])
        if not form:
            continue
        enclitic = _enclitic(form, is_word)
        if not enclitic:
            yield Word(form, start, end)
            continue
        cut = _before_letters(text, end, len(enclitic))
        yield Word(form[: -len(enclitic)], start, cut)
        yield Word(enclitic, cut, end)


def _enclitic(form: str, is_word: Callable[[str], bool]) -> str:
    for enclitic in _ENCLITICS:
        rest = form.removesuffix(enclitic)
        if 2 <= len(rest) < len(form):
            whole = form in _WHOLE or is_word(form)
            return "" if whole or not is_word(rest) else enclitic
    return ""


def _before_letters(text: str, end: int, count: int) -> int:
    """Where the last `count` letters before `end` begin; marks between them are skipped."""
    while count:
        end -= 1
        count -= text[end].isalpha()
    return end
