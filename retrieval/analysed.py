"""Analysed passages and queries, which have their tokens and lemmas."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from allusion_es.core.errors import InputError
from allusion_es.corpora.passage import Passage
from allusion_es.language.latin.analysis import Analyser, Analysis, AnalysisSettings
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import FIELDS, AnalysedQuery, Query

WINDOW = 20
"""Words before and after a query that say what it speaks of; further ones mislead."""

_TOGETHER = 1_000
"""Passages that are read from an index at once."""


@dataclass(frozen=True, slots=True)
class AnalysedPassage:
    """A passage and its words."""

    passage: Passage
    analysis: Analysis


@dataclass(frozen=True, slots=True)
class Unanalysed:
    """Passages that are still to be analysed, in this process or in others.

    Attributes:
        passages: The passages, read once.
        settings: How their words are found.
    """

    passages: Iterable[Passage]
    settings: AnalysisSettings


def analyse_passages(passages: Iterable[Passage], analyser: Analyser) -> Iterator[AnalysedPassage]:
    """Each passage with its words; words that the user brought are used as they are.

    Raises:
        InputError: A passage brings more or fewer lemmas than tokens; the message names it.
    """
    for passage in passages:
        if passage.tokens is None and passage.lemmas is not None:
            raise InputError(f"passage {passage.id}: lemmas without tokens; give both")
        if passage.tokens is None:
            analysis = analyser.analyse(passage.text)
        else:
            try:
                analysis = analyser.adopt(passage.tokens, passage.lemmas)
            except InputError as error:
                raise InputError(f"passage {passage.id}: {error}") from error
        yield AnalysedPassage(passage, analysis)


def reread(index: CandidateIndex) -> Iterator[AnalysedPassage]:
    """The passages of an index in canonical order, with the words that it has for them.

    With them, an index can be built anew where its source is no longer at hand.
    """
    places = [
        (passage.order, passage.id)
        for ids in _slices(index.ids())
        for passage in index.passages(ids)
    ]
    for some in _slices([identifier for _, identifier in sorted(places)]):
        tokens, lemmas = (index.texts(field, some) for field in FIELDS)
        for number, passage in enumerate(index.passages(some)):
            words = tokens.text(number)
            spans = ((0, 0),) * len(words)  # an index does not know where words stood
            yield AnalysedPassage(passage, Analysis(words, lemmas.text(number), spans))


def _slices(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _TOGETHER):
        yield ids[start : start + _TOGETHER]


def analyse_query(query: Query, analyser: Analyser) -> AnalysedQuery:
    """A query with its words, and those of its window if there are words around it.

    Example:
        >>> analyse_query(Query("dixit", before="Deus"), Analyser()).window.tokens
        ('deus', 'dixit')
    """
    own = analyser.analyse(query.text)
    if not (query.before.strip() or query.after.strip()):
        return AnalysedQuery(query, own)
    before, after = analyser.analyse(query.before), analyser.analyse(query.after)
    parts = ((before, slice(-WINDOW, None)), (own, slice(None)), (after, slice(WINDOW)))
    window = Analysis(
        tuple(word for analysis, part in parts for word in analysis.tokens[part]),
        tuple(word for analysis, part in parts for word in analysis.lemmas[part]),
        (),
    )
    return AnalysedQuery(query, own, window)
