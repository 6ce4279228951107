"""What stands around passages in their books."""

from collections.abc import Iterable

from allusion_es.corpora.passage import Passage
from allusion_es.language.latin.analysis import Analyser, Analysis
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import SearchFilter

NEIGHBOURS = 3
"""Passages that are shown before and after each passage."""


class Surroundings:
    """What stands around passages, and their words; both are looked up once.

    Args:
        index: Where the passages are.
        analyser: That of the index.
    """

    def __init__(self, index: CandidateIndex, analyser: Analyser) -> None:
        self._index, self._analyser = index, analyser
        self._analyses: dict[str, Analysis] = {}
        self._rows: dict[tuple[str, str], _Row] = {}

    def analysis(self, passage: Passage) -> Analysis:
        """The words of a passage's text."""
        if passage.id not in self._analyses:
            self._analyses[passage.id] = self._analyser.analyse(passage.text)
        return self._analyses[passage.id]

    def neighbours(
        self, first: Passage, last: Passage | None = None
    ) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
        """The passages before `first` and those after `last`, by default `first` too."""
        return self._row(first).before(first), self._row(last or first).after(last or first)

    def _row(self, passage: Passage) -> "_Row":
        key = (passage.book, "" if passage.book else passage.work)
        if key not in self._rows:
            search_filter = SearchFilter(books=frozenset({passage.book}))
            if not passage.book:
                search_filter = SearchFilter(works=frozenset({passage.work}))
            found = self._index.passages(self._index.ids(search_filter))
            self._rows[key] = _Row(each for each in found if each.book == passage.book)
        return self._rows[key]


class _Row:
    """Passages one after the other."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._passages = sorted(passages, key=lambda passage: (passage.order, passage.id))
        self._places = {passage.id: place for place, passage in enumerate(self._passages)}

    def before(self, passage: Passage) -> tuple[Passage, ...]:
        place = self._places[passage.id]
        return tuple(self._passages[max(0, place - NEIGHBOURS) : place])

    def after(self, passage: Passage) -> tuple[Passage, ...]:
        place = self._places[passage.id] + 1
        return tuple(self._passages[place : place + NEIGHBOURS])
