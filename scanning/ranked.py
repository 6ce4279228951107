"""Reading a block of a text by the ranker, for collections of which no citations are known.

Parallels of poets often share a word or two, too few for `reading.read`, which looks for stretches
of several. So each line or clause is a query, as for `allusion-es query`, with those beside it as
context. Each of its best passages is given the words of the text that it has; what the model weighs
is its score by the ranker.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.language.latin.analysis import Analysis
from allusion_es.retrieval.analysed import analyse_query
from allusion_es.retrieval.coded_texts import code_texts
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import QueryOptions, Ranked, Ranker, index_analyser
from allusion_es.retrieval.reranking import Collection
from allusion_es.retrieval.types import FIELDS, Query, SearchFilter
from allusion_es.retrieval.unanswered import Unanswered
from allusion_es.retrieval.weighting import idf
from allusion_es.scanning.alignment import PRICE, Aligner
from allusion_es.scanning.features import equal_forms
from allusion_es.scanning.reading import Reading
from allusion_es.scanning.segments import (
    CandidateTexts,
    Segments,
    find_matches,
    find_segments,
    match_weights,
)

KEPT = 40
"""Passages of a piece that are looked at; those below are hardly ever right."""

LONGEST = 12
"""Words of a piece at most: a verse line has 5 to 9."""

_AROUND = 6
"""Words on each side of a piece that a passage may match too: an allusion may go over the end."""

_CLAUSE = re.compile(r"[.,;:!?()\u2014\u2013]")
"""Signs between two words that end a clause."""


def pieces(text: str, analysis: Analysis) -> list[tuple[int, int]]:
    r"""First word and end (exclusive) of the pieces of a text, which together hold all its words.

    A line is a piece; one of more than `LONGEST` words is cut into clauses, which are joined as
    long as they are short, and clauses that are too long into equal parts.

    Example:
        >>> from allusion_es.language.latin.analysis import Analyser
        >>> text = "arma cano\nTroiae, qui primus"
        >>> pieces(text, Analyser().analyse(text))
        [(0, 2), (2, 5)]
    """
    words = len(analysis.spans)
    between = [
        text[one[1] : other[0]] for one, other in pairwise(analysis.spans)
    ]  # of an enclitic and its word nothing
    lines = _cut(0, words, [at + 1 for at, gap in enumerate(between) if "\n" in gap])
    found: list[tuple[int, int]] = []
    for first, end in lines:
        if end - first <= LONGEST:
            found.append((first, end))
            continue
        ends = [at + 1 for at in range(first, end - 1) if _CLAUSE.search(between[at])]
        start = first
        for clause, until in _cut(first, end, ends):
            if until - start > LONGEST and clause > start:
                found.append((start, clause))
                start = clause
            if until - start > LONGEST:
                parts = -(-(until - start) // LONGEST)
                borders = np.linspace(start, until, parts + 1).round().astype(int).tolist()
                found += pairwise(borders)
                start = until
        if start < end:
            found.append((start, end))
    return found


def _cut(first: int, end: int, borders: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The parts of a range between borders inside it."""
    return pairwise([first, *borders, end]) if end > first else iter(())


class RankedReader:
    """Reads blocks by the ranker of an index.

    Args:
        index: The passages.
        search_filter: Which of them may be found.
    """

    def __init__(self, index: CandidateIndex, search_filter: SearchFilter) -> None:
        self._ranker = Ranker(index, QueryOptions(search_filter=search_filter, top=KEPT))
        self._index = index
        self._analyser = index_analyser(index)
        self._collection = Collection(index)

    def read(self, text: str, analysis: Analysis) -> Reading:
        """The segments of a block.

        Args:
            text: Its characters.
            analysis: Its words.

        Raises:
            AllusionError: The ranker fails for a piece.
        """
        found = pieces(text, analysis)
        words = [text[analysis.spans[a][0] : analysis.spans[b - 1][1]] for a, b in found]
        around = ["", *words, ""]
        queries = [
            Query(words[number], str(number), around[number], around[number + 2])
            for number in range(len(words))
        ]
        asked = [analyse_query(query, self._analyser) for query in queries]
        best = [_best(ranked) for ranked in self._ranker.rank(asked, self._collection)]
        return ranked_reading(self._index, analysis, found, best)


def _best(ranked: Ranked | Unanswered) -> dict[str, float]:
    """The best passages of a piece by id, with their scores."""
    if isinstance(ranked, Unanswered):
        raise ranked.error
    ids = [ranked.first.ids[place] for place in ranked.places.tolist()]
    return dict(zip(ids, ranked.scores.tolist(), strict=True))


def ranked_reading(
    index: CandidateIndex,
    analysis: Analysis,
    found: Sequence[tuple[int, int]],
    best: Sequence[Mapping[str, float]],
) -> Reading:
    """The segments of a text whose pieces were ranked: one for each of a piece's best passages.

    It is the stretch of words in or beside the piece that the passage has, worth most for its
    length; where it has none of them, the whole piece.

    Args:
        index: The passages.
        analysis: The words of the text.
        found: First word and end (exclusive) of each piece.
        best: For each piece its best passages by id, with their scores.
    """
    ids = tuple(sorted({each for some in best for each in some}))
    numbers = {identifier: number for number, identifier in enumerate(ids)}
    words = len(analysis.tokens)
    near = np.zeros((words, len(ids)), dtype=bool)
    for (first, end), some in zip(found, best, strict=True):
        row = [numbers[each] for each in some]
        near[max(first - _AROUND, 0) : end + _AROUND, row] = True
    if ids:
        tokens, lemmas = (index.texts(field, ids) for field in FIELDS)
    else:
        tokens = lemmas = code_texts([])
    known = index.statistics("lemma", lemmas.words)
    texts = CandidateTexts(ids, tokens, lemmas, idf(known.df, known.passages))
    known = index.statistics("lemma", analysis.lemmas)
    weights = idf(np.maximum(known.df, 1), known.passages)
    matches = find_matches(analysis.lemmas, lemmas, near=near)
    worth = match_weights(matches, texts)
    every = find_segments(matches.passages, matches.places, worth, PRICE)
    segments, features = _best_segments(every, found, best, numbers)
    aligner = Aligner(analysis, texts)
    return Reading(
        analysis,
        texts,
        weights,
        matches,
        worth,
        worth,
        equal_forms(analysis, texts, matches),
        segments,
        aligner.align(aligner.stretches(segments)),
        features,
    )


def _best_segments(
    every: Segments,
    found: Sequence[tuple[int, int]],
    best: Sequence[Mapping[str, float]],
    numbers: Mapping[str, int],
) -> tuple[Segments, Floats]:
    """Of a passage's segments at a piece the best one, or the whole piece; and their scores."""
    of_passage: dict[int, list[int]] = {}
    for number, passage in enumerate(every.passages.tolist()):
        of_passage.setdefault(passage, []).append(number)
    rows: list[tuple[int, int, int, float, int, int]] = []
    values: list[float] = []
    taken: dict[int, int] = {}
    for (first, end), some in zip(found, best, strict=True):
        for identifier, value in some.items():
            passage = numbers[identifier]
            at = [
                number
                for number in of_passage.get(passage, ())
                if every.firsts[number] < end and every.lasts[number] >= first
            ]
            chosen = max(at, key=lambda number: (every.scores[number], -number), default=-1)
            if chosen in taken:
                # It goes over two pieces, and is as good as the better of them says.
                values[taken[chosen]] = max(value, values[taken[chosen]])
                continue
            if chosen >= 0:
                taken[chosen] = len(rows)
                rows.append(
                    (
                        passage,
                        int(every.firsts[chosen]),
                        int(every.lasts[chosen]),
                        float(every.scores[chosen]),
                        int(every.begins[chosen]),
                        int(every.ends[chosen]),
                    )
                )
            else:
                rows.append((passage, first, end - 1, 0.0, 0, 0))
            values.append(value)
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    whole: list[NDArray[np.int64]] = [
        np.array(columns[number], dtype=np.int64) for number in (0, 1, 2, 4, 5)
    ]
    scores = np.array(columns[3], dtype=np.float64)
    segments = Segments(whole[0], whole[1], whole[2], scores, whole[3], whole[4])
    return segments, np.array(values).reshape(-1, 1)
