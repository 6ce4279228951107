"""The verses of a collection, against which references are checked."""

from collections.abc import Iterable, Iterator

from allusion_es.core.errors import VerseError
from allusion_es.corpora.bible.books import book_by_osis
from allusion_es.corpora.bible.references import Reference, is_verse_id, parse_verse_id

# The number that editions with continued counting add to the verses of these psalms.
_CONTINUED = {("Ps", 115): 9, ("Ps", 147): 11}


class VerseTable:
    """The verses of a collection, which turns references into the ids of existing verses.

    Where an edition goes on counting over two psalms that the Clementine text here starts
    anew (Psalm 115 as 115,10-19 and Psalm 147 as 147,12-20), those numbers are read too, as
    far as the collection itself has no such verse: 115,11 is `Ps.115.2` and 147,12 is
    `Ps.147.1`. (115,10 exists here, so it means this edition's last verse of the psalm.)

    Example:
        >>> from allusion_es.corpora.bible.references import parse_references
        >>> VerseTable(["Ps.22.1", "Ps.22.2"]).expand(parse_references("Ps 22")[0])
        ('Ps.22.1', 'Ps.22.2')
    """

    def __init__(self, osis_ids: Iterable[str]) -> None:
        """Index verses.

        Args:
            osis_ids: Verses in canonical order; other ids (of windows, say) are ignored.
        """
        self._verses: dict[str, dict[int, list[int]]] = {}
        for osis_id in osis_ids:
            if not is_verse_id(osis_id):
                continue
            verse = parse_verse_id(osis_id)
            chapters = self._verses.setdefault(verse.book.osis, {})
            chapters.setdefault(verse.chapter, []).append(verse.verse)

    def expand(self, reference: Reference) -> tuple[str, ...]:
        """Return the OSIS ids of the verses that a reference means, in order.

        Raises:
            VerseError: A book, chapter or verse does not exist; the message lists those that do.

        Example:
            >>> from allusion_es.corpora.bible.references import parse_references
            >>> table = VerseTable(["Ps.22.1", "Ps.22.2", "Ps.23.1"])
            >>> table.expand(parse_references("Ps 22,2-23,1")[0])
            ('Ps.22.2', 'Ps.23.1')
        """
        book = reference.book
        if book not in self._verses:
            raise VerseError(
                f"{book_by_osis(book).abbreviation} is not in this collection; it has "
                + _shortened(list(self._verses))
            )
        if not reference.chapter:
            return tuple(
                f"{book}.{chapter}.{verse}"
                for chapter, verses in self._verses[book].items()
                for verse in verses
            )
        return tuple(self._expand_chapters(reference))

    def _expand_chapters(self, reference: Reference) -> Iterator[str]:
        book = reference.book
        for chapter in range(reference.chapter, reference.last_chapter + 1):
            existing = self._chapter(book, chapter)
            first = reference.verse if chapter == reference.chapter else 0
            last = reference.last_verse if chapter == reference.last_chapter else 0
            if not first and not last:
                yield from (f"{book}.{chapter}.{verse}" for verse in existing)
                continue
            if reference.open:
                last = max(first, min(last, existing[-1]))
            for verse in range(first or existing[0], (last or existing[-1]) + 1):
                yield self._verse(book, chapter, verse)

    def _chapter(self, book: str, chapter: int) -> list[int]:
        chapters = self._verses[book]
        if chapter not in chapters:
            name = book_by_osis(book).abbreviation
            raise VerseError(f"{name} has no chapter {chapter}; it has {_span(list(chapters))}")
        return chapters[chapter]

    def _verse(self, book: str, chapter: int, verse: int) -> str:
        existing = self._chapter(book, chapter)
        for number in (verse, verse - _CONTINUED.get((book, chapter), verse)):
            if number in existing:
                return f"{book}.{chapter}.{number}"
        name = f"{book_by_osis(book).abbreviation} {chapter}"
        raise VerseError(f"{name} has no verse {verse}; it has {_span(existing)}")


def _span(numbers: list[int]) -> str:
    first, last = min(numbers), max(numbers)
    if last - first + 1 == len(numbers):
        return f"{first} to {last}" if first != last else f"only {first}"
    return ", ".join(str(number) for number in numbers)


def _shortened(names: list[str]) -> str:
    if not names:
        return "no verses"
    return ", ".join(names) if len(names) <= 6 else f"{names[0]} to {names[-1]}"
