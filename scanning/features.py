"""What speaks for a segment of a text alluding to its passage, as numbers that can be weighed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.citations.word_parts import Word
from allusion_es.language.latin.analysis import Analysis
from allusion_es.scanning.evidence import Alignments, CandidateTexts
from allusion_es.scanning.segments import Matches, Segments, find_matches

# Words that are not the same but stand for each other, as citations of passages use them.


CLOSE = 0.45
"""Cosine from which words stand for each other."""

SHARE = 0.7
"""What such a word counts beside the same word, times the cosine."""

_RARE = 2.5
"""idf from which words are compared at all: function words are like each other and say little."""


def alike(
    analysis: Analysis, texts: CandidateTexts, weights: Floats, citations: CitationVectors
) -> list[tuple[str, int, float]]:
    """Lemmas of a text that stand for other lemmas of passages, as `find_matches` takes them.

    Args:
        analysis: The words of the text.
        texts: The passages.
        weights: idf of each word of the text, shape (words,).
        citations: What gives words their vectors.
    """
    idf_of = dict(zip(analysis.lemmas, weights.tolist(), strict=True))
    mine = [lemma for lemma, weight in idf_of.items() if weight > _RARE]
    places = np.flatnonzero(texts.weights > _RARE)
    theirs = [texts.lemmas.words[place] for place in places.tolist()]
    if not mine or not theirs:
        return []
    cosines = _vectors(mine, citations) @ _vectors(theirs, citations).T
    rows, columns = np.nonzero(cosines >= CLOSE)
    return [
        (mine[row], int(places[column]), SHARE * float(cosines[row, column]))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        if mine[row] != theirs[column]
    ]


def _vectors(
    lemmas: list[str], citations: CitationVectors
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    vectors = citations.known_word_vectors([(lemma, lemma) for lemma in lemmas])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return np.asarray(units)


CONTEXT = 10
"""Words before and after a segment that say what it speaks of."""

NAMES = (
    "matched", "same-form", "rarest", "passage-share", "text-share", "in-order", "order-share",
    "cosine", "cosine-context", "cosine-lead", "among-rivals", "words", "passage-words",
)  # fmt: skip
"""The features, in the order of the columns of `measure`."""


@dataclass(frozen=True, slots=True)
class MeasuredSegments:
    """Segments and all that is known of them.

    Attributes:
        segments: n of them.
        matches: All matches; `segments.begins` and `ends` point into them.
        worth: What each match is worth.
        same_form: Whether a match is one of forms, not of lemmas only.
        alignments: Of each segment.
        starts: The word of the text from which each alignment is counted.
    """

    segments: Segments
    matches: Matches
    worth: Floats
    same_form: NDArray[np.bool_]
    alignments: Alignments
    starts: Integers


def equal_forms(analysis: Analysis, texts: CandidateTexts, matches: Matches) -> NDArray[np.bool_]:
    """Which matches are words whose form the passage has as well, shape (matches,)."""
    size = max(len(analysis.tokens), 1)
    forms = find_matches(analysis.tokens, texts.tokens)
    keys = matches.passages * size + matches.places
    # Both are in order, so that a search does, many times as fast as `np.isin`.
    known = np.append(forms.passages * size + forms.places, -1)
    return np.asarray(known[np.searchsorted(known[:-1], keys)] == keys)


def measure(
    found: MeasuredSegments,
    analysis: Analysis,
    texts: CandidateTexts,
    weights: Floats,
    citations: CitationVectors | None,
) -> Floats:
    """The features of segments, shape (n, len(NAMES)).

    Args:
        found: The segments.
        analysis: The words of the text.
        texts: The passages.
        weights: idf of each word of the text, shape (words,).
        citations: Vectors of texts; without them the cosines are 0.
    """
    segments, worth = found.segments, found.worth
    matched = _sums(worth, segments)
    whole = texts.lemmas.counts
    of_passage = whole.sums(texts.weights[whole.codes] * whole.counts)[segments.passages]
    of_text = _ranges(weights, segments)
    lengths = np.diff(texts.lemmas.offsets)[segments.passages]
    cosine, context = _cosines(segments, analysis, texts, citations)
    rivals = rivalry(segments, len(analysis.tokens))
    in_order = found.alignments.scores.astype(np.float64)
    columns = (
        np.log1p(matched),
        np.log1p(_sums(np.where(found.same_form, worth, 0.0), segments)),
        np.log1p(_greatest(worth, segments)),
        _share(matched, of_passage),
        _share(matched, of_text),
        np.log1p(in_order),
        _share(in_order, matched),
        cosine,
        context,
        cosine - best_rival(segments, cosine, len(analysis.tokens)),
        _share(segments.scores, rivals),
        np.log(segments.lasts - segments.firsts + 1.0),
        np.log1p(lengths.astype(np.float64)),
    )
    return np.column_stack(columns)


def rivalry(segments: Segments, words: int) -> Floats:
    """The best score of any segment at each word of a segment, on average; shape (n,)."""
    best = np.zeros(words)
    order = np.argsort(segments.scores, kind="stable")
    for number in order.tolist():
        best[segments.firsts[number] : segments.lasts[number] + 1] = segments.scores[number]
    return np.asarray(_ranges(best, segments) / (segments.lasts - segments.firsts + 1))


def best_rival(segments: Segments, values: Floats, words: int) -> Floats:
    """The greatest value of any other segment at the middle word of each, shape (n,); 0 if none.

    Args:
        segments: n segments.
        values: One for each; below 0 counts as 0.
        words: Words of the text.
    """
    best, second = np.zeros(words), np.zeros(words)
    owner = np.full(words, -1)
    for number in np.argsort(values, kind="stable").tolist():
        if values[number] > 0:
            covered = slice(segments.firsts[number], segments.lasts[number] + 1)
            second[covered] = best[covered]
            best[covered] = values[number]
            owner[covered] = number
    middles = (segments.firsts + segments.lasts) // 2
    is_own = owner[middles] == np.arange(len(segments))
    return np.asarray(np.where(is_own, second[middles], best[middles]))


def _cosines(
    segments: Segments, analysis: Analysis, texts: CandidateTexts, citations: CitationVectors | None
) -> tuple[Floats, Floats]:
    """Cosines of the segments and of their contexts with their passages."""
    if citations is None or not len(segments):
        return np.zeros(len(segments)), np.zeros(len(segments))
    numbers, where = np.unique(segments.passages, return_inverse=True)
    passages = citations.text_vectors([_words(texts, number) for number in numbers.tolist()])
    words: list[Word] = list(zip(analysis.tokens, analysis.lemmas, strict=True))
    bounds = list(zip(segments.firsts.tolist(), segments.lasts.tolist(), strict=True))
    own = citations.text_vectors([words[first : last + 1] for first, last in bounds])
    around = citations.text_vectors(
        [words[max(0, first - CONTEXT) : last + 1 + CONTEXT] for first, last in bounds]
    )
    theirs = passages[where]
    both = (np.einsum("ij,ij->i", each, theirs).astype(np.float64) for each in (own, around))
    cosine, context = both
    return cosine, context


def _words(texts: CandidateTexts, number: int) -> list[Word]:
    return list(zip(texts.tokens.text(number), texts.lemmas.text(number), strict=True))


def _share(part: Floats, whole: Floats) -> Floats:
    shares = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return np.asarray(np.minimum(shares, 1.0))


def _sums(values: Floats, segments: Segments) -> Floats:
    total = np.concatenate(([0.0], np.cumsum(values)))
    return np.asarray(total[segments.ends] - total[segments.begins])


def _ranges(values: Floats, segments: Segments) -> Floats:
    """Sums over the words of the text that each segment covers."""
    total = np.concatenate(([0.0], np.cumsum(values)))
    return np.asarray(total[segments.lasts + 1] - total[segments.firsts])


def _greatest(values: Floats, segments: Segments) -> Floats:
    if not len(segments):
        return np.zeros(0)
    ends = np.column_stack((segments.begins, segments.ends)).ravel()
    return np.asarray(np.maximum.reduceat(np.append(values, 0.0), ends)[::2])
