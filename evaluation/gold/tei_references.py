"""Bible references as editors write them into notes, apparatus and attributes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from allusion_es.core.errors import VerseError
from allusion_es.corpora.bible.books import match_book
from allusion_es.corpora.bible.references import parse_references

_CONFER = r"(?:cf\.?|cfr\.?|conf\.?|confer|uide|vide|u\.|v\.|see|vgl\.?|voir)"
_LEADING = re.compile(rf"^{_CONFER}(?:\s+(?:also|etiam|et))?\s+", re.IGNORECASE)
_NUMBER = r"(?:\d{1,3}[a-e]?|[ivxlc]{1,9}|[IVXLC]{1,9})"
_BEGIN = r"(?:(?:[1-4]|I{1,3}|IV)\.?\s*)?([A-Z][a-zæœ]+)"
# A number before a book, or before `cf.` and a book, is the line that the next entry goes to.
_NEXT = rf"(?!\s*(?:{_CONFER}\s*)?(?:\b(?:[1-4]|I{{1,3}}|IV)\b\.?\s*)?[A-Z][a-z])"
_NUMBERS = re.compile(
    rf"\s*,?\s*(?:c(?:ap)?\.\s*)?({_NUMBER}\b\.?(?:\s*[,.:]\s*{_NUMBER}\b)?"
    rf"(?:\s*[,.:;\-\u2013]\s*{_NUMBER}\b{_NEXT})*(?:\s*(?:sqq?|seqq?|ss|ff|f)\b\.?)?)"
)
_START = re.compile(rf"(?<![A-Za-z]){_BEGIN}")
_MORE_NAME = re.compile(r"\.?(?:\s+[A-Za-z]+)?")
_SAME = re.compile(r"^\(?\s*(?:ibid|ibidem|ib|idem|id)\b\.?,?\s*", re.IGNORECASE)
_KEY = re.compile(rf"(\d{{1,3}})\s+(?:{_CONFER}\s*)?$", re.IGNORECASE)
_CONFERRED = re.compile(rf"(?<![A-Za-z]){_CONFER}\s*$", re.IGNORECASE)
_LOOKS = re.compile(rf"[A-Z][a-z]{{1,20}}\.?,?\s*{_NUMBER}\.?\s*[,.:]\s*(?:[a-z]+\.\s*)?{_NUMBER}")
_BIBLICAL = re.compile(r"^(?:bible|biblia|bibl|osis|vulgate|vulg)\b[:/]?", re.IGNORECASE)

_LONGEST_TARGET = 500
"""Most characters of an attribute in which references are looked for."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A reference as an editor wrote it.

    Attributes:
        written: The reference (`Ps. 33, 9`), readable by `parse_references`.
        confer: Whether `cf.` or the like stands before it.
        line: The number of the printed line that an apparatus entry goes to, or 0.
    """

    written: str
    confer: bool = False
    line: int = 0


def cited_in(text: str, book: str = "") -> list[Cited]:
    """The Bible references in a note, in its order.

    The whole note may be a reference, or references may stand among other words. What names no
    verse, only a chapter or a book, is left out.

    Args:
        text: The note's words.
        book: OSIS code of the book that `ibid.` means, or "".

    Example:
        >>> [each.written for each in cited_in("(cf. Ps. XXXIII, 9; Is 7,14)")]
        ['Ps. XXXIII, 9; Is 7,14']
        >>> [(each.line, each.written) for each in cited_in("3 Verg. ecl. 4 9 cf. Rom. 5, 12")]
        [(9, 'Rom. 5, 12')]
        >>> [each.written for each in cited_in("Ibid. III, 2", "Jas")]
        ['Jas III, 2']
    """
    bare = text.strip(" \t\n()[].,;")
    if same := _SAME.match(bare):
        if not book:
            return []
        bare = f"{book} {bare[same.end() :]}"
    whole = _LEADING.sub("", bare)
    if names_verses(whole):
        return [Cited(whole, whole != bare)]
    return list(_among_words(text))


def _among_words(text: str) -> Iterator[Cited]:
    place, confer, line = 0, False, 0
    while match := _START.search(text, place):
        # The number before a book may be the book's, or that of a printed line.
        starts = dict.fromkeys([match.start(), match.start(1)])
        start, found = next(
            ((start, at) for start in starts if (at := _at(text, start, match.end()))), (0, "")
        )
        if not found:
            place, confer, line = match.end(), False, 0
            continue
        before = text[place:start]
        # `cf.` and the line hold for all that follow, up to other words or the next line.
        follows = not any(map(str.isalnum, before))
        confer = bool(_CONFERRED.search(before)) or (confer and follows)
        if key := _KEY.search(before):
            line = int(key[1])
        elif not follows:
            line = 0
        yield Cited(found, confer, line)
        place = text.index(found, start) + len(found)


def _at(text: str, start: int, end: int) -> str | None:
    """The reference whose book begins at a place, `end` being that of its first word."""
    more = _MORE_NAME.match(text, end)
    for stop in (more.end() if more else end, end):
        name = text[start:stop]
        numbers = _NUMBERS.match(text, stop if text[stop : stop + 1] != "." else stop + 1)
        if match_book(name) is None or numbers is None:
            continue
        written = text[start : numbers.end()].rstrip(" .,;")
        if names_verses(written):
            return written
    return None


def names_verses(text: str) -> bool:
    """Whether a text is a reference, or a list of them, to verses rather than chapters.

    Example:
        >>> names_verses("Ps 33,9"), names_verses("Ps 33"), names_verses("Verg. ecl. 4, 1")
        (True, False, False)
    """
    try:
        return all(reference.verse for reference in parse_references(text))
    except VerseError:
        return False


def looks_like_reference(text: str) -> bool:
    """Whether a text has what a reference to some work has: a name, and two numbers."""
    return bool(_LOOKS.search(text))


def cited_by(target: str) -> list[Cited]:
    """The references that an attribute names, each in its own way.

    Read are references as people write them (`Ps 33,9`), OSIS ids, and either behind a scheme, a
    path or a URN: `bible:Ps.33.9`, `urn:cts:biblia:Ps.33.9`, `https://…/Ps.33.9`, `#Ps.33.9`.

    Example:
        >>> [each.written for each in cited_by("bible:Ps.33.9 bible:Ps.33.10")]
        ['Ps.33.9', 'Ps.33.10']
        >>> cited_by("https://example.org/page/12")
        []
    """
    if len(target) > _LONGEST_TARGET:
        return []
    if names_verses(plain := unquote(target).strip()):
        return [Cited(plain)]
    found = []
    for word in map(unquote, target.split()):
        tails = [word[match.end() :] for match in re.finditer(r"[:/#=]", word)]
        readable = (tail.replace("_", " ") for tail in [word, *tails])
        if written := next(filter(names_verses, readable), ""):
            found.append(Cited(written))
    return found


def is_biblical(target: str) -> bool:
    """Whether an attribute says that it names a passage of the Bible, readable or not."""
    return bool(_BIBLICAL.match(target.strip()))
