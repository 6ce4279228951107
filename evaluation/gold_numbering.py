"""Links that seem to count verses in another way: a neighbour of the verse fits far better.

Psalms are off by one where a link was taken over from the Hebrew or an English Bible, and their
verses by one or two where titles are not counted; verses anywhere by one where the editions
divide a chapter otherwise, or where somebody slipped.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from allusion_es.corpora.references import VerseId, is_verse_id, parse_verse_id
from allusion_es.evaluation.gold import GoldLink
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import AnalysedQuery
from allusion_es.retrieval.weighting import idf

_TIMES = 2.0
"""How many times the linked verse's weight a neighbour must share."""

_MORE = 10.0
"""How much more weight it must share: two words that are each in one verse of 150."""


def better_neighbours(
    links: Sequence[GoldLink],
    queries: Mapping[str, AnalysedQuery],
    index: CandidateIndex,
    ids: Collection[str],
) -> Iterator[tuple[GoldLink, str, str]]:
    """Links whose query shares far more with a neighbour of their verses than with them.

    Neighbours are the verses before and after, and in the psalm before and after the verse of
    the same number and the two after it. What is shared is weighed by inverse document
    frequency, each lemma once, and has to be twice as much and `_MORE` more than with any
    relevant passage.

    Args:
        links: With ids of the collection.
        queries: Each link's query with its words, by query id.
        index: Of the collection.
        ids: The ids of its passages.

    Yields:
        The link, its passage whose neighbour it is, and what was found.
    """
    known = frozenset(ids)
    near = {
        passage: [name for name in _neighbours(passage) if name in known]
        for link in links
        for passage in link.relevant
        if is_verse_id(passage)
    }
    wanted = {name for passage, names in near.items() for name in (passage, *names)}
    words = _lemmas(index, sorted(wanted))
    weights = _weights(index, {word for query in queries.values() for word in query.words("lemma")})
    for link in links:
        lemmas = frozenset(queries[link.query.query_id].words("lemma"))
        verses = [passage for passage in link.relevant if passage in near]
        shared = {
            name: sum(weights[word] for word in sorted(lemmas & words[name]))
            for passage in verses
            for name in (passage, *near[passage])
        }
        best = max((shared[passage] for passage in verses), default=0.0)
        found = [
            (shared[name], passage, name)
            for passage in verses
            for name in near[passage]
            if name not in link.relevant and shared[name] >= max(_TIMES * best, best + _MORE)
        ]
        if found:
            weight, passage, name = max(found, key=lambda each: (each[0], each[2]))
            common = ", ".join(sorted(lemmas & words[name], key=lambda w: (-weights[w], w))[:5])
            yield link, passage, f"{name} shares more: {common} ({weight:.1f} against {best:.1f})"


def _neighbours(passage: str) -> list[str]:
    verse = parse_verse_id(passage)
    book, chapter, number = verse.book, verse.chapter, verse.verse
    places = [(chapter, number - 1), (chapter, number + 1)]
    if book.osis == "Ps":
        places += [(chapter + step, number + more) for step in (-1, 1) for more in (0, 1, 2)]
    return [str(VerseId(book, *place)) for place in places]


def _lemmas(index: CandidateIndex, ids: Sequence[str]) -> dict[str, frozenset[str]]:
    texts = index.texts("lemma", ids)
    return {name: frozenset(texts.text(number)) for number, name in enumerate(ids)}


def _weights(index: CandidateIndex, words: Collection[str]) -> dict[str, float]:
    listed = sorted(words)
    statistics = index.statistics("lemma", listed)
    weights = idf(np.maximum(statistics.df, 1), max(statistics.passages, 1))
    return dict(zip(listed, weights.tolist(), strict=True))
