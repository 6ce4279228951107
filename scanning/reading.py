"""Reading a stretch of text: its segments, the passages they may allude to, and the features."""

from allusion_es.core.arrays import Floats
from dataclasses import dataclass

import numpy as np

from allusion_es.language.analysis import Analysis
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import (
    Within,
)
from allusion_es.retrieval.weighting import idf
from allusion_es.scanning.candidates import candidates, read_texts
from allusion_es.scanning.evidence import PRICE, Texts, damped, ordered
from allusion_es.scanning.features import Found, equal_forms, measure, rivalry
from allusion_es.scanning.likeness import alike
from allusion_es.scanning.matches import find_matches
from allusion_es.scanning.segments import Segments, find_segments

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
    texts: Texts
    found: Found
    features: Floats
    weights: Floats


def read(
    index: CandidateIndex,
    analysis: Analysis,
    within: Within,
    citations: CitationVectors | None,
    *,
    fast: bool = False,
) -> Reading:
    """All segments of a text that may allude, and what speaks for them.

    Args:
        index: The passages.
        analysis: The words of the text, analysed as the index was.
        within: Which passages may be found.
        citations: What gives words and texts vectors; without them words are equal or not.
        fast: Look less often, and only at what is clear.
    """
    texts = read_texts(index, candidates(index, analysis, within, citations, fast=fast))
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
    found = Found(segments, matches, worth, forms, alignments, starts)
    features = measure(found, analysis, texts, weights, citations)
    return Reading(analysis, texts, found, features, weights)


def _promising(segments: Segments, words: int, least: float) -> Segments:
    segments = segments.take(segments.scores >= least)
    return segments.take(segments.scores >= RIVALS * rivalry(segments, words))
