"""Reading a block of text: candidate passages, matches, segments and their features.

`read` is the walk: windows of the block propose passages, words are matched with theirs, matches
that lie close together make segments, and each promising segment is aligned and measured.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Singles
from allusion_es.language.citations.citing_texts import CitingTexts
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.latin.analysis import Analysis
from allusion_es.retrieval.citing_evidence import citing_evidence
from allusion_es.retrieval.generators import searched_words
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import FIELDS, SearchFilter, SearchRequest
from allusion_es.retrieval.weighting import idf
from allusion_es.scanning.alignment import PRICE, Aligner, Alignments
from allusion_es.scanning.evidence import (
    cited_matches,
    citing_features,
    compared_features,
    joined_matches,
)
from allusion_es.scanning.features import (
    ORDER,
    RANKS,
    PassageVectors,
    equal_forms,
    measure,
    order_columns,
    rivalry,
    sums,
)
from allusion_es.scanning.segments import (
    NO_SIMILAR,
    CandidateTexts,
    Matches,
    Segments,
    compare_lemmas,
    find_matches,
    find_segments,
    match_weights,
    similar_words,
)

LEAST = 5.0
"""Score of a segment worth looking at; below it lie a word or two that anybody uses."""

FAST_LEAST = 9.0
"""Score that a segment needs in a fast scan, which wants only the clearest."""

RIVALS = 0.3
"""Share of the best score at the same words that a segment needs to be looked at."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The segments of a block and all that is known of them.

    Attributes:
        analysis: The words of the text.
        texts: The passages that its segments may allude to.
        weights: idf of each word of the text, shape (words,).
        matches: Words of the text that passages have; `segments.begins` and `ends` point into
            them.
        match_weights: The weight of each match, shape (matches,); 0 for words that only texts
            have that cite the passage.
        match_worth: The same, where these words count too.
        same_form: Whether each match is in the same form, not only of the same lemma.
        segments: n stretches of the text, each with a passage.
        alignments: Of each segment with its passage.
        features: Of each segment, shape (n, features): `features.NAMES`, or `model.SCORE`.
    """

    analysis: Analysis
    texts: CandidateTexts
    weights: Floats
    matches: Matches
    match_weights: Floats
    match_worth: Floats
    same_form: NDArray[np.bool_]
    segments: Segments
    alignments: Alignments
    features: Floats


def read(
    index: CandidateIndex,
    analysis: Analysis,
    search_filter: SearchFilter,
    citations: CitationVectors | None,
    *,
    fast: bool = False,
    promising: Callable[[Floats], NDArray[np.bool_]] | None = None,
    passage_vectors: PassageVectors | None = None,
) -> Reading:
    """The segments of a text that may allude, with their features.

    Args:
        index: The passages.
        analysis: The words of the text, analysed as the index was.
        search_filter: Which passages may be found.
        citations: Vectors of words and texts; without them words are equal or not.
        fast: Look less often, and only at what is clear.
        promising: Says of rows of features, of which the columns `ORDER` are the highest that they
            may be, which are of segments that are wanted; all are by default.
        passage_vectors: Those that are kept of other blocks; none by default.
    """
    if passage_vectors is None and citations is not None:
        passage_vectors = PassageVectors(citations)
    known_citing = citing_evidence(citations) if citations is not None else None
    citing = known_citing.texts if known_citing is not None else None
    proposals = propose(index, analysis, search_filter, citations, citing, fast=fast)
    ids = proposals.ids
    tokens, lemmas = (index.texts(field, ids) for field in FIELDS)
    known = index.statistics("lemma", lemmas.words)
    texts = CandidateTexts(ids, tokens, lemmas, idf(known.df, known.passages))
    known = index.statistics("lemma", analysis.lemmas)
    # A word that the passages lack is as rare as one that a single passage has.
    weights = idf(np.maximum(known.df, 1), known.passages)
    compared = None if citations is None else compare_lemmas(analysis, texts, citations)
    similar = NO_SIMILAR if compared is None else similar_words(texts, weights, compared)
    near = proposals.near(len(analysis.tokens))
    matches = find_matches(analysis.lemmas, texts.lemmas, similar, near)
    of_matches = match_weights(matches, texts)
    worth = of_matches
    if citing is not None:
        more, worth_of_more = cited_matches(analysis, texts, weights, citing, matches, near)
        matches, order = joined_matches(matches, more)
        worth = np.concatenate((of_matches, worth_of_more))[order]
        of_matches = np.concatenate((of_matches, np.zeros(len(worth_of_more))))[order]
    segments = find_segments(matches.passages, matches.places, worth, PRICE)
    segments = segments.take(segments.scores >= (FAST_LEAST if fast else LEAST))
    ranks = proposals.ranks_at(segments)
    is_near = np.asarray(ranks.any(axis=1))
    segments, ranks = segments.take(is_near), ranks[is_near]
    best = rivalry(segments, len(analysis.tokens))
    is_rival = segments.scores >= RIVALS * best
    segments, ranks = segments.take(is_rival), ranks[is_rival]
    aligner = Aligner(analysis, texts)
    stretches = aligner.stretches(segments)
    forms = equal_forms(analysis, texts, matches)
    features = np.column_stack(
        (
            measure(
                segments,
                of_matches,
                forms,
                stretches.most,
                analysis,
                texts,
                weights,
                passage_vectors,
            ),
            ranks,
            np.log1p(sums(worth - of_matches, segments)),
            citing_features(segments, analysis, texts, citing),
            compared_features(segments, texts, weights, compared),
        )
    )
    # Aligning costs most of the time, so that only those are aligned that may still make a finding.
    if promising is not None:
        is_promising = promising(features)
        segments, stretches = segments.take(is_promising), stretches.take(is_promising)
        features = features[is_promising]
    alignments = aligner.align(stretches)
    in_order = alignments.scores.astype(np.float64)
    features[:, ORDER] = np.column_stack(order_columns(in_order, sums(of_matches, segments)))
    return Reading(
        analysis, texts, weights, matches, of_matches, worth, forms, segments, alignments, features
    )


WINDOW = 20
"""Words of a window, about as many as a verse has."""

STEP = 10
"""Words from the start of one window to that of the next: each word is in two windows."""

EACH = 30
"""Passages that a window proposes by its lemmas, and again by its citation vector and by the texts
that are known to cite them."""

RANK_OFFSET = 10
"""A rank r counts as `RANK_OFFSET / (RANK_OFFSET + r)`, so that the first ten differ most."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """The passages that the windows of a text propose.

    Attributes:
        ids: Their ids, sorted.
        windows: First word and end (exclusive) of each window.
        ranks: For each way of searching, window and passage `RANK_OFFSET / (RANK_OFFSET + rank)`,
            0 where it is not proposed; shape (len(RANKS), windows, passages).
    """

    ids: tuple[str, ...]
    windows: tuple[tuple[int, int], ...]
    ranks: Singles

    def near(self, words: int) -> NDArray[np.bool_]:
        """Which word of the text is in or near a window that proposes which passage.

        A passage that another part of the text proposes shares words with this part by chance.

        Args:
            words: Words of the text.

        Returns:
            Shape (words, passages).
        """
        near = np.zeros((words, len(self.ids)), dtype=bool)
        proposed = np.asarray(self.ranks.any(axis=0))
        for (start, end), row in zip(self.windows, list(proposed), strict=True):
            near[max(start - STEP, 0) : end + STEP, row] = True
        return near

    def ranks_at(self, segments: Segments) -> Floats:
        """The best ranks that windows with a word of a segment give its passage.

        Returns:
            Shape (n, len(RANKS)); all 0 where no such window proposes it.
        """
        found = np.zeros((len(segments), len(RANKS)))
        if not len(segments):
            return found
        starts, ends = np.array(self.windows).T
        window = np.searchsorted(ends, segments.firsts, side="right")
        until = np.searchsorted(starts, segments.lasts, side="right")
        while True:
            window = np.minimum(window, until - 1)
            np.maximum(found, self.ranks[:, window, segments.passages].T, out=found)
            if (window == until - 1).all():
                return found
            window = window + 1


def propose(
    index: CandidateIndex,
    analysis: Analysis,
    search_filter: SearchFilter,
    citations: CitationVectors | None,
    citing: CitingTexts | None,
    *,
    fast: bool = False,
) -> Proposals:
    """The passages that the windows of a text propose.

    Args:
        index: Where to look.
        analysis: The words of the text.
        search_filter: Which passages may be proposed.
        citations: Vectors of windows; without them only lemmas propose.
        citing: Texts that are known to cite passages; None if none are known.
        fast: Windows do not overlap.
    """
    found = tuple(windows(len(analysis.tokens), step=WINDOW if fast else STEP))
    request = partial(SearchRequest, field="lemma", size=EACH, search_filter=search_filter)
    requests: list[tuple[int, int, SearchRequest]] = []  # which of RANKS, window, what to search
    for number, (start, end) in enumerate(found):
        words = searched_words(analysis.lemmas[start:end], index, "lemma")
        requests.append((0, number, request("bm25", words=words)))
        if citing is not None:
            named = citing.nearest(dict.fromkeys(words, 1.0), EACH)
            requests.append((2, number, request("named", words=named)))
    if citations is not None:
        words_of = list(zip(analysis.tokens, analysis.lemmas, strict=True))
        vectors = citations.text_vectors([words_of[start:end] for start, end in found])
        for number, vector in enumerate(vectors):
            if vector.any():
                requests.append((1, number, request("citations", vector=vector)))
    rankings = index.search([request for _, _, request in requests])
    ids = tuple(sorted({each for ranking in rankings for each in ranking.ids}))
    places = {identifier: place for place, identifier in enumerate(ids)}
    ranks = np.zeros((len(RANKS), len(found), len(ids)), dtype=np.float32)
    for (kind, window, _), ranking in zip(requests, rankings, strict=True):
        damped = RANK_OFFSET / (RANK_OFFSET + 1.0 + np.arange(len(ranking)))
        ranks[kind, window, [places[identifier] for identifier in ranking.ids]] = damped
    return Proposals(ids, found, ranks)


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
