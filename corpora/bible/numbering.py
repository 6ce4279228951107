"""Conversion of Hebrew and English (KJV) verse numbers to those of the Vulgate used here.

The Vulgate is the Clementine text of vulgata-spacy. It counts psalms as the Greek Bible does
and gives their titles verse numbers; in most other books it keeps the English chapters where
the Hebrew ones differ (Joel has three, Malachi four), and in some the Hebrew (Jonah 2, Hosea
14). `numbering.tsv` lists the differences: each stretch of verses and its verses in the Vulgate.

Sources: the divisions between Hebrew and English chapters, the psalm numbers and the titles
are common knowledge of versification. The rest is our own comparison: the chapters of the
Hebrew text (Leningrad codex) and of the King James Version were counted, their verses were
aligned with the Latin ones by the words they share, and every stretch that differs was read in
Latin at both ends. Where the Latin text ends a verse at another clause, both its verses are
given. Less certain, since Jerome's text is shorter or freer there: Exodus 38:25-27 and
39:16-21, Leviticus 15:19-23, Numbers 15:11-18. Genesis 49:32 and the title Song 1:1 are not in
this Latin; they are mapped to the verse beside them.

Only what the Hebrew canon and the English Bible share is mapped: Tobit, the additions to
Esther and the like keep the Vulgate's numbers, and so does the New Testament from `hebrew`.
"""

from functools import cache
from pathlib import Path
from typing import Literal, get_args

from allusion_es.core.errors import UsageError
from allusion_es.corpora.bible.references import parse_verse_id

Numbering = Literal["vulgate", "hebrew", "kjv"]
"""The Bible whose chapters and verses a reference counts."""

NUMBERINGS: tuple[Numbering, ...] = get_args(Numbering)

_Place = tuple[str, int, int]  # book, chapter, verse

# Psalms (in Hebrew numbers) whose title is the first verse, or the first two, in Hebrew;
# the KJV prints titles without a number. Psalm 13 is in the table.
# fmt: off
_TITLED_ONCE = frozenset({
    *range(3, 10), 12, *range(18, 23), 30, 31, 34, 36, *range(38, 43), *range(44, 50), 53,
    *range(55, 60), *range(61, 66), *range(67, 71), 75, 76, 77, 80, 81, 83, 84, 85, 88, 89,
    92, 102, 108, 140, 142,
})
# fmt: on
_TITLED_TWICE = frozenset([51, 52, 54, 60])


def to_vulgate(osis_id: str, numbering: Numbering) -> tuple[str, ...]:
    """Return the verses of the Vulgate for a verse in another numbering.

    Args:
        osis_id: A verse in that numbering; whether it exists is not checked.
        numbering: `hebrew`, `kjv`, or `vulgate`, which changes nothing.

    Raises:
        VerseError: It is not an OSIS id of a verse.
        UsageError: There is no such numbering.

    Example:
        >>> to_vulgate("Ps.51.1", "kjv"), to_vulgate("Ps.51.1", "hebrew")
        (('Ps.50.3',), ('Ps.50.1',))
        >>> to_vulgate("Ps.2.12", "kjv")
        ('Ps.2.12', 'Ps.2.13')
    """
    if numbering not in NUMBERINGS:
        known = ", ".join(NUMBERINGS)
        raise UsageError(f"there is no numbering {numbering!r}; use one of {known}")
    verse = parse_verse_id(osis_id)
    place = (verse.book.osis, verse.chapter, verse.verse)
    if numbering == "vulgate":
        return (osis_id,)
    targets = _shifts(numbering).get(place)
    if targets is None and verse.book.osis == "Ps":
        targets = _psalm(place, numbering)
    return tuple(".".join(map(str, target)) for target in targets or (place,))


def _psalm(place: _Place, numbering: Numbering) -> tuple[_Place, ...]:
    book, psalm, verse = place
    if numbering == "kjv":
        verse += (psalm in _TITLED_ONCE) + 2 * (psalm in _TITLED_TWICE)
        if listed := _shifts("hebrew").get((book, psalm, verse)):
            return listed
    # 9 and 10 are one psalm, 114 and 115 are one; 116 and 147 are two each (see the table).
    return ((book, psalm - 1 if 11 <= psalm <= 146 else psalm, verse),)


@cache
def _shifts(numbering: Numbering) -> dict[_Place, tuple[_Place, ...]]:
    """For each verse that the table lists for a numbering its verses in the Vulgate."""
    shifts: dict[_Place, tuple[_Place, ...]] = {}
    path = Path(__file__).with_name("numbering.tsv")
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    for line in lines[1:]:
        listed, book, source, target = line.split("\t")
        # Psalms of both are listed in Hebrew numbers; `_psalm` finds the KJV's.
        if listed == numbering or (listed == "both" and (numbering, book) != ("kjv", "Ps")):
            verses = _stretch(book, source)
            targets = [place for span in target.split() for place in _stretch(book, span)]
            one_to_one = len(verses) == len(targets)
            for index, verse in enumerate(verses):
                shifts[verse] = (targets[index],) if one_to_one else tuple(targets)
    return shifts


def _stretch(book: str, span: str) -> list[_Place]:
    chapter, _, verses = span.partition(":")
    first, _, last = verses.partition("-")
    return [(book, int(chapter), verse) for verse in range(int(first), int(last or first) + 1)]
