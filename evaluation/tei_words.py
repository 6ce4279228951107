"""Which words of a text an encoded reference goes to."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from allusion_es.corpora.source import Annotation, SourceText
from allusion_es.language.tokenise import Word, printed_words

_QUOTES = frozenset({"quote", "q"})
_FEWEST = 3
"""Words that a clause has at least; a shorter one is taken with what is before it."""

_ITALIC = 3
"""Words in italics before a note that are at least taken for a quotation."""

_LONGEST_WORD = 40
_SENTENCE_ENDS = frozenset(".?!;:")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Words that a reference goes to.

    Attributes:
        start: Where they start in the text.
        end: Where they end, exclusive.
        quoted: Whether they are marked as a quotation.
        anchor: The word at which the reference stands, if nothing else marks the words, or "".
    """

    start: int
    end: int
    quoted: bool = False
    anchor: str = ""


class WordChooser:
    """Finds the words that the references of a source go to.

    Args:
        source: The text.
        most: Most words taken before a mere mark.
    """

    def __init__(self, source: SourceText, most: int) -> None:
        self._source = source
        self._text = source.text
        self._most = most
        self._quotes = sorted(
            (each.end, each.start)
            for each in source.annotations
            if each.element in _QUOTES and each.end > each.start
        )
        self._marks = sorted({a.start for a in source.annotations if a.start == a.end})
        # Up to where the words of a quotation belong to references before.
        self._used: dict[tuple[int, int], int] = {}

    def around(self, annotation: Annotation) -> Chosen | None:
        """The quotation that an annotation stands in or is joined to by a `cit`."""
        parent = annotation.parent
        while parent >= 0:
            other = self._source.annotations[parent]
            if other.element in _QUOTES and other.end > other.start:
                return self._part(other.start, other.end, annotation.start)
            if other.element == "cit":
                inner = [each for each in self._quotes if other.start <= each[1] < other.end]
                if inner:
                    return Chosen(min(start for _, start in inner), inner[-1][0], quoted=True)
            parent = other.parent
        return None

    def at(self, point: int) -> Chosen | None:
        """The words before a mark: a quotation that ends there, or the clause."""
        last = point
        while last and not self._text[last - 1].isalnum():
            last -= 1
        if not last:
            return None
        return self._quote_before(last, point) or self._italics(last, point) or self._clause(last)

    def line(self, number: int, point: int) -> Chosen | None:
        """A printed line and the next one, on the page that a note stands on."""
        pages, lines = self._source.pages, self._source.lines
        # A note at the foot of a page stands where the next one begins.
        page = bisect_right(pages.starts, point - 1) - 1
        first = pages.starts[page] if page >= 0 else 0
        for index in range(bisect_left(lines.starts, first), bisect_right(lines.starts, point)):
            if lines.labels[index] == str(number):
                end = min([*lines.starts[index + 2 : index + 3], point])
                chosen = Chosen(lines.starts[index], end)
                return chosen if self._words(chosen.start, chosen.end) else None
        return None

    def before(self, place: int, count: int) -> str:
        """So many words before a place, as they stand."""
        words = self._words(max(0, place - _LONGEST_WORD * count), place)[-count:] if count else []
        return self.clean(words[0].start, place) if words else ""

    def after(self, place: int, count: int) -> str:
        """So many words after a place."""
        words = self._words(place, place + _LONGEST_WORD * count)[:count] if count else []
        return self.clean(place, words[-1].end) if words else ""

    def clean(self, start: int, end: int) -> str:
        """A stretch of the text on one line."""
        return " ".join(self._text[start:end].split())

    def _words(self, start: int, end: int) -> list[Word]:
        words = printed_words(self._text[start:end])
        return [Word(word.form, word.start + start, word.end + start) for word in words]

    def _part(self, start: int, end: int, point: int) -> Chosen:
        """What a quotation has up to a reference in it; all of it where that is the only one."""
        inner = bisect_right(self._marks, end) - bisect_right(self._marks, start)
        if inner < 2:
            return Chosen(start, end, quoted=True)
        used = self._used.get((start, end), start)
        stop = point if used < point < end else end
        self._used[start, end] = stop
        return Chosen(used if used < stop else start, stop, quoted=True)

    def _quote_before(self, last: int, point: int) -> Chosen | None:
        place = bisect_left(self._quotes, (last, -1))
        if place < len(self._quotes) and self._quotes[place][0] <= point:
            end, start = self._quotes[place]
            return Chosen(start, end, quoted=True)
        return None

    def _italics(self, last: int, point: int) -> Chosen | None:
        text_map = self._source.map
        for node in text_map.nodes.around(text_map.node_of(last - 1)):
            if text_map.nodes.name[node] == "hi":
                start, end = text_map.nodes.start[node], text_map.nodes.end[node]
                used = self._used.get((start, end), start)
                self._used[start, end] = point
                if len(self._words(used, last)) >= _ITALIC:
                    return Chosen(used, last, quoted=True)
        return None

    def _clause(self, last: int) -> Chosen | None:
        words = self._words(max(0, last - _LONGEST_WORD * self._most), last)[-self._most :]
        if not words:
            return None
        start = words[0].start
        for index in range(len(words) - 1, 0, -1):
            last_before, first = words[index - 1].end - 1, words[index].start
            between = self._text[last_before + 1 : first]
            ends = len(words) - index >= _FEWEST and _SENTENCE_ENDS.intersection(between)
            verse = self._in_verse(last_before) and self._in_verse(first)
            if ends or ("\n" in between and not verse):
                start = first
                break
        anchor = self._text[words[-1].start : words[-1].end]
        return Chosen(start, words[-1].end, anchor=" ".join(anchor.split()))

    def _in_verse(self, place: int) -> bool:
        """Whether a character stands in a line of verse, over whose end a clause may go."""
        text_map = self._source.map
        names = (text_map.nodes.name[n] for n in text_map.nodes.around(text_map.node_of(place)))
        return "l" in names
