"""Reading a stretch of text: its segments, the passages they may allude to, and the features."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.latin.analysis import Analysis
from allusion_es.retrieval.generators import searched_words
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import FIELDS, SearchFilter, SearchRequest
from allusion_es.retrieval.weighting import idf
from allusion_es.scanning.evidence import PRICE, CandidateTexts, damped, ordered
from allusion_es.scanning.features import MeasuredSegments, alike, equal_forms, measure, rivalry
from allusion_es.scanning.segments import Segments, find_matches, find_segments

# Which passages the words of a block may allude to at all: the first stage of a scan.


WINDOW = 20
"""Words of a window."""

STEP = 10
"""Words from the start of one window to that of the next."""

EACH = 30
"""Passages that a window proposes by its lemmas, and by its citation vector."""


def windows(words: int, size: int = WINDOW, step: int = STEP) -> Iterator[tuple[int, int]]:
    """First word and end (exclusive) of windows that together hold all words.

    Example:
        >>> list(windows(45))
        [(0, 20), (10, 30), (20, 40), (25, 45)]
    """
    last = max(words - size, 0)
    for start in range(0, last, step):
        yield start, start + size
    if words:
        yield last, words


def candidates(
    index: CandidateIndex,
    analysis: Analysis,
    search_filter: SearchFilter,
    citations: CitationVectors | None,
    *,
    fast: bool = False,
) -> tuple[str, ...]:
    """Ids of the passages that the windows of a text propose, sorted.

    Args:
        index: Where to look.
        analysis: The words of the text.
        search_filter: Which passages may be proposed.
        citations: What gives windows vectors; without them only lemmas propose.
        fast: Windows do not overlap.
    """
    step = WINDOW if fast else STEP
    found = list(windows(len(analysis.tokens), step=step))
    requests = []
    for start, end in found:
        words = searched_words(analysis.lemmas[start:end], index, "lemma")
        requests.append(
            SearchRequest("bm25", "lemma", EACH, words=words, search_filter=search_filter)
        )
    if citations is not None:
        words_of = list(zip(analysis.tokens, analysis.lemmas, strict=True))
        vectors = citations.text_vectors([words_of[start:end] for start, end in found])
        requests += [
            SearchRequest("citations", "lemma", EACH, vector=vector, search_filter=search_filter)
            for vector in vectors
            if vector.any()
        ]
    return tuple(sorted({each for ranking in index.search(requests) for each in ranking.ids}))


def read_texts(index: CandidateIndex, ids: tuple[str, ...]) -> CandidateTexts:
    """The words of passages and their weights."""
    tokens, lemmas = (index.texts(field, ids) for field in FIELDS)
    known = index.statistics("lemma", lemmas.words)
    return CandidateTexts(ids, tokens, lemmas, idf(known.df, known.passages))


LEAST = 6.0
"""Score of a segment worth looking at; below it lie a word or two that anybody uses."""

FAST_LEAST = 9.0
"""The same where only the clearest are wanted."""

RIVALS = 0.4
"""Share of its rivals' score that a segment needs to be looked at."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read.

    Attributes:
        analysis: The words of the text.
        texts: The passages that its segments may allude to.
        found: The segments.
        features: Theirs, shape (n, len(NAMES)).
        weights: idf of each word of the text, shape (words,).
    """

    analysis: Analysis
    texts: CandidateTexts
    found: MeasuredSegments
    features: Floats
    weights: Floats


def read(
    index: CandidateIndex,
    analysis: Analysis,
    search_filter: SearchFilter,
    citations: CitationVectors | None,
    *,
    fast: bool = False,
) -> Reading:
    """All segments of a text that may allude, and what speaks for them.

    Args:
        index: The passages.
        analysis: The words of the text, analysed as the index was.
        search_filter: Which passages may be found.
        citations: What gives words and texts vectors; without them words are equal or not.
        fast: Look less often, and only at what is clear.
    """
    texts = read_texts(index, candidates(index, analysis, search_filter, citations, fast=fast))
    known = index.statistics("lemma", analysis.lemmas)
    # A word that the passages lack is as rare as one that a single passage has.
    weights = idf(np.maximum(known.df, 1), known.passages)
    pairs = [] if citations is None else alike(analysis, texts, weights, citations)
    matches = find_matches(analysis.lemmas, texts.lemmas, pairs)
    worth = damped(matches, texts)
    segments = find_segments(matches.passages, matches.places, worth, PRICE)
    segments = _promising(segments, len(analysis.tokens), FAST_LEAST if fast else LEAST)
    alignments, starts = ordered(analysis, texts, segments)
    forms = equal_forms(analysis, texts, matches)
    found = MeasuredSegments(segments, matches, worth, forms, alignments, starts)
    features = measure(found, analysis, texts, weights, citations)
    return Reading(analysis, texts, found, features, weights)


def _promising(segments: Segments, words: int, least: float) -> Segments:
    segments = segments.take(segments.scores >= least)
    return segments.take(segments.scores >= RIVALS * rivalry(segments, words))
