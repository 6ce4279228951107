"""Words of a text that match words of passages, and the segments where they lie close together.

In the order of a scan: `similar_words` and `find_matches` pair words of the text with words of
the candidate passages, `match_weights` says how much each match counts, and `find_segments` finds
the best stretch of the text for each run of matches with one passage.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.latin.analysis import Analysis
from allusion_es.retrieval.coded_texts import CodedTexts


@dataclass(frozen=True, slots=True)
class CandidateTexts:
    """The candidate passages of a block with their words.

    Attributes:
        ids: Their ids.
        tokens: Their tokens.
        lemmas: Their lemmas.
        weights: idf of each of `lemmas.words`, shape (words,).
    """

    ids: tuple[str, ...]
    tokens: CodedTexts
    lemmas: CodedTexts
    weights: Floats


# Matches: pairs of a word of the text and a passage that has it, or a similar word.

CLOSE = 0.45
"""Cosine of citation vectors from which two lemmas count as similar."""

SHARE = 0.7
"""Likeness of similar words is this share of their cosine, so that equal words count more."""

_RARE = 2.5
"""idf above which words are compared: function words are similar to each other and say little."""


def similar_words(
    analysis: Analysis, texts: CandidateTexts, weights: Floats, citations: CitationVectors
) -> list[tuple[str, int, float]]:
    """Pairs of a lemma of the text and a similar lemma of the passages, as `find_matches` takes.

    Lemmas are similar where citations of the same passages use them for each other.

    Args:
        analysis: The words of the text.
        texts: The passages.
        weights: idf of each word of the text, shape (words,).
        citations: The vectors by which lemmas are compared.
    """
    idf_of = dict(zip(analysis.lemmas, weights.tolist(), strict=True))
    asked = [lemma for lemma, weight in idf_of.items() if weight > _RARE]
    codes = np.flatnonzero(texts.weights > _RARE)
    found = [texts.lemmas.words[code] for code in codes.tolist()]
    if not asked or not found:
        return []
    cosines = _unit_vectors(asked, citations) @ _unit_vectors(found, citations).T
    rows, columns = np.nonzero(cosines >= CLOSE)
    return [
        (asked[row], int(codes[column]), SHARE * float(cosines[row, column]))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        if asked[row] != found[column]
    ]


def _unit_vectors(lemmas: Sequence[str], citations: CitationVectors) -> NDArray[np.float32]:
    vectors = citations.known_word_vectors([(lemma, lemma) for lemma in lemmas])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return np.asarray(units)


@dataclass(frozen=True, slots=True)
class Matches:
    """Words of a text that passages have too, ordered by passage, then place; shape (n,).

    Attributes:
        passages: Numbers of the passages.
        places: Numbers of the words of the text.
        codes: The matching word of the passage, as a number in `CodedTexts.words`.
        likeness: 1 where the lemmas are equal, else their similarity, from 0 to 1.
    """

    passages: Integers
    places: Integers
    codes: Integers
    likeness: Floats


def find_matches(
    lemmas: Sequence[str],
    texts: CodedTexts,
    similar: Sequence[tuple[str, int, float]] = (),
    near: NDArray[np.bool_] | None = None,
) -> Matches:
    """All matches between a text and passages, one for each word and passage.

    Args:
        lemmas: The text's words, in order.
        texts: The lemmas of the passages.
        similar: Words of the text that match other words of the passages: the word, the
            other's number in `texts.words`, and their likeness. Of several matches of one
            word of the text with one passage only the one of greatest likeness is kept.
        near: Which word of the text may match which passage, shape (words, passages); all may
            where it is None.

    Example:
        >>> from allusion_es.retrieval.coded_texts import code_texts
        >>> found = find_matches(["lux", "et", "lux"], code_texts([("nox",), ("et", "lux")]))
        >>> found.passages.tolist(), found.places.tolist()
        ([1, 1, 1], [0, 1, 2])
    """
    places_of: dict[str, list[int]] = {}
    for place, lemma in enumerate(lemmas):
        places_of.setdefault(lemma, []).append(place)
    numbers = {word: number for number, word in enumerate(texts.words)}
    pairs = [(word, numbers[word], 1.0) for word in places_of if word in numbers]
    pairs += [pair for pair in similar if pair[0] in places_of]
    # For each word of the passages, the places of the text where it or a similar word stands.
    pairs.sort(key=lambda pair: pair[1])
    sizes = [len(places_of[word]) for word, _, _ in pairs]
    codes = np.repeat(np.array([code for _, code, _ in pairs], dtype=np.int64), sizes)
    likeness = np.repeat(np.array([each for _, _, each in pairs], dtype=np.float64), sizes)
    places = np.array([p for word, _, _ in pairs for p in places_of[word]], dtype=np.int64)
    # A join of both sides on the word: each entry (a word that a passage has) is repeated once for
    # each place where the text has that word.
    first = np.searchsorted(codes, np.arange(len(texts.words) + 1))
    entries = texts.counts
    found = np.diff(first)[entries.codes]
    owners = np.repeat(entries.texts, found)
    shift = np.arange(len(owners)) - np.repeat(np.cumsum(found) - found, found)
    rows = np.repeat(first[entries.codes], found) + shift
    if near is not None:
        kept = near[places[rows], owners]
        owners, rows = owners[kept], rows[kept]
    return _closest(owners, places[rows], codes[rows], likeness[rows])


def _closest(passages: Integers, places: Integers, codes: Integers, likeness: Floats) -> Matches:
    """The matches in order, of each word and passage only that of greatest likeness."""
    order = np.lexsort((codes, -likeness, places, passages))
    passages, places = passages[order], places[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (np.diff(passages) != 0) | (np.diff(places) != 0)
    return Matches(
        passages[is_first],
        places[is_first],
        codes[order][is_first],
        likeness[order][is_first],
    )


REPEAT_GAP = 25
"""Words within which a word of the text counts as repeated."""

REPEAT_SHARE = 0.1
"""Share of its weight that a repeated word keeps."""


def match_weights(matches: Matches, texts: CandidateTexts) -> Floats:
    """Weight of each match: the idf of the passage's word times the likeness, shape (matches,).

    A word that the text has again within `REPEAT_GAP` words, and the passage only once, counts a
    tenth: otherwise a text that turns a word over and over would allude to every passage with it.
    """
    counts = texts.lemmas.counts
    # One number for a passage and a word, ascending in `counts`, so that a search finds the count.
    width = max(len(texts.lemmas.words), 1)
    keys = counts.texts * width + counts.codes
    match_keys = matches.passages * width + matches.codes
    is_single = counts.counts[np.searchsorted(keys, match_keys)] < 2
    order = np.lexsort((matches.places, match_keys))
    is_repeat = np.zeros(len(match_keys), dtype=bool)
    if len(match_keys):
        same = np.diff(match_keys[order]) == 0
        near = np.diff(matches.places[order]) <= REPEAT_GAP
        is_repeat[order[1:]] = same & near
    weights = texts.weights[matches.codes] * matches.likeness
    return np.where(is_repeat & is_single, REPEAT_SHARE * weights, weights)


# Segments: stretches of the text where matches with one passage lie close together.


@dataclass(frozen=True, slots=True)
class Segments:
    """Stretches of a text, each with the passage whose words it has; all arrays of shape (n,).

    Attributes:
        passages: Numbers of the passages.
        firsts: The first matching word of the text.
        lasts: The last one.
        scores: Sum of the weights of the matches, less the price of the words between them.
        begins: Where the segment's matches begin among all matches.
        ends: Where they end, exclusive.
    """

    passages: Integers
    firsts: Integers
    lasts: Integers
    scores: Floats
    begins: Integers
    ends: Integers

    def __len__(self) -> int:
        """Number of segments."""
        return len(self.scores)

    def take(self, chosen: NDArray[np.bool_] | Integers) -> "Segments":
        """The chosen segments, by a mask or by their numbers."""
        return Segments(
            self.passages[chosen],
            self.firsts[chosen],
            self.lasts[chosen],
            self.scores[chosen],
            self.begins[chosen],
            self.ends[chosen],
        )


def find_segments(passages: Integers, places: Integers, weights: Floats, price: float) -> Segments:
    """The best segment of each run of matches.

    Between a text and a passage, `S_k = w_k + max(0, S_(k-1) - price (words between))` over the
    matches k in the order of the text; a run ends where the maximum is 0, and its segment at its
    highest S. So a segment's score is that of the best stretch of a sequence of gains and losses
    (Kadane's maximum subarray), and no stretch inside or around it in its run scores more.

    Args:
        passages: The passage of each match, ascending, shape (n,).
        places: The word of the text, ascending within a passage, shape (n,).
        weights: The weight of the match, above 0, shape (n,).
        price: Taken off for each word between two matches.

    Returns:
        The segments, in the order of the matches.

    Example:
        >>> passages, places = np.array([0, 0, 0, 1]), np.array([3, 5, 40, 5])
        >>> found = find_segments(passages, places, np.array([2.0, 3.0, 1.0, 4.0]), 1.0)
        >>> found.firsts.tolist(), found.lasts.tolist(), found.scores.tolist()
        ([3, 40, 5], [5, 40, 5], [4.0, 1.0, 4.0])
    """
    n = len(places)
    if n == 0:
        none = np.zeros(0, dtype=np.int64)
        return Segments(none, none, none, np.zeros(0), none, none)
    group = np.concatenate(([0], np.cumsum(np.diff(passages) != 0)))
    before = np.cumsum(weights) - weights
    # S_k = (height_k - lowest height in the group up to k) + w_k, so that one running minimum
    # solves the recursion for all passages at once. Each group is lowered by more than heights
    # differ anywhere: then no minimum of an earlier passage reaches into a later one.
    height = before - price * (places - np.arange(n))
    drop = float(np.ptp(height)) + 1.0
    lowered = height - group * drop
    lowest = np.minimum.accumulate(lowered)
    starts = np.maximum.accumulate(np.where(lowered == lowest, np.arange(n), 0))
    sums = lowered - lowest + weights
    begins = np.flatnonzero(np.diff(starts, prepend=-1))
    ends = np.append(begins[1:], n)
    best = np.maximum.reduceat(sums, begins)
    is_best = sums >= np.repeat(best, ends - begins)
    peaks = np.minimum.reduceat(np.where(is_best, np.arange(n), n), begins)
    return Segments(passages[begins], places[begins], places[peaks], best, begins, peaks + 1)
