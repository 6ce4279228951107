"""The passages around a passage in its book, and its words; each is looked up once."""

from allusion_es.corpora.passage import Passage
from allusion_es.language.latin.analysis import Analyser, Analysis
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import SearchFilter

NEIGHBOURS = 3
"""Passages that are shown before and after each passage."""


class Surroundings:
    """Looks up the neighbours of passages, and analyses their texts; keeps both.

    A report names the same passages again and again, and a book is one request to the index.

    Args:
        index: Where the passages are.
        analyser: The analyser of the index.
    """

    def __init__(self, index: CandidateIndex, analyser: Analyser) -> None:
        self._index, self._analyser = index, analyser
        self._analyses: dict[str, Analysis] = {}
        # By book, or by work outside the Bible: the passages in order, and the place of each.
        self._books: dict[tuple[str, str, str], tuple[list[Passage], dict[str, int]]] = {}

    def analysis(self, passage: Passage) -> Analysis:
        """The words of a passage's text."""
        if passage.id not in self._analyses:
            self._analyses[passage.id] = self._analyser.analyse(passage.text)
        return self._analyses[passage.id]

    def neighbours(
        self, first: Passage, last: Passage | None = None
    ) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
        """The passages before `first` and those after `last`, by default `first` too."""
        last = last or first
        passages, places = self._book(first)
        place = places[first.id]
        before = passages[max(0, place - NEIGHBOURS) : place]
        passages, places = self._book(last)
        end = places[last.id] + 1
        return tuple(before), tuple(passages[end : end + NEIGHBOURS])

    def _book(self, passage: Passage) -> tuple[list[Passage], dict[str, int]]:
        key = (passage.book, "", "") if passage.book else ("", passage.work, passage.author)
        if key not in self._books:
            search_filter = SearchFilter(books=frozenset({passage.book}))
            if not passage.book:
                search_filter = SearchFilter(works=frozenset({passage.work}))
            found = self._index.passages(self._index.ids(search_filter))
            # A work may have passages with a book and without one: these are not neighbours. Nor
            # are those of another work of the same title.
            passages = [each for each in found if each.book == passage.book]
            if not passage.book:
                passages = [each for each in passages if each.author == passage.author]
            passages.sort(key=lambda each: (each.order, each.id))
            places = {each.id: place for place, each in enumerate(passages)}
            self._books[key] = passages, places
        return self._books[key]
