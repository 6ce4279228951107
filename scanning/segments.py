"""Words of a text that match words of passages, and the segments where they lie close together.

In the order of a scan: `similar_words` and `find_matches` pair words of the text with words of
the candidate passages, `match_weights` says how much each match counts, and `find_segments` finds
the best stretch of the text for each run of matches with one passage.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers, Singles, ranges
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.latin.analysis import Analysis
from allusion_es.retrieval.coded_texts import CodedTexts, code_texts


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


@dataclass(frozen=True, slots=True)
class LemmaCosines:
    """Cosines of the lemmas of a text with those of passages, by their citation vectors.

    Lemmas are similar where citations of the same passages use them for each other.

    Attributes:
        lemmas: The distinct lemmas of the text, in the order in which they first occur.
        rows: The row of each word of the text, shape (words,).
        equal: The row of each lemma of the passages that the text has too, else -1; shape
            (lemmas of the passages,).
        cosines: At least 0, and 1 where lemmas are equal; shape (lemmas of the text, lemmas of the
            passages).
    """

    lemmas: tuple[str, ...]
    rows: Integers
    equal: Integers
    cosines: Singles


def compare_lemmas(
    analysis: Analysis, texts: CandidateTexts, citations: CitationVectors
) -> LemmaCosines:
    """The cosines of all lemmas of a text with all of some passages, which all features share."""
    text = code_texts((analysis.lemmas,))
    mine, theirs = map(citations.lemma_directions, (text.words, texts.lemmas.words))
    cosines = mine @ theirs.T
    rows, columns = texts.lemmas.find(text.words)
    equal = np.full(len(texts.lemmas.words), -1)
    equal[columns] = rows
    np.clip(cosines, 0, 1, out=cosines)
    cosines[rows, columns] = 1
    return LemmaCosines(text.words, text.codes, equal, cosines)


@dataclass(frozen=True, slots=True)
class Similar:
    """Pairs of a lemma of a text and another one of passages that is similar; shape (n,) each.

    Attributes:
        lemmas: Numbers among the distinct lemmas of the text, in the order in which they first
            occur.
        codes: Numbers among the distinct lemmas of the passages.
        likeness: How similar they are, above 0 and below 1.
    """

    lemmas: Integers
    codes: Integers
    likeness: Floats


NO_SIMILAR = Similar(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
"""No pairs."""


def similar_words(texts: CandidateTexts, weights: Floats, compared: LemmaCosines) -> Similar:
    """The pairs of a lemma of the text and a similar lemma of the passages.

    Args:
        texts: The passages.
        weights: idf of each word of the text, shape (words,).
        compared: The cosines of the lemmas.
    """
    of_lemma = np.zeros(len(compared.lemmas))
    of_lemma[compared.rows] = weights
    # By places in the flat array, which are found in half the time.
    close = np.flatnonzero(compared.cosines.ravel() >= CLOSE)
    lemmas, codes = np.divmod(close, max(len(texts.weights), 1))
    kept = (of_lemma > _RARE)[lemmas] & (texts.weights > _RARE)[codes]
    kept &= compared.equal[codes] != lemmas
    lemmas, codes = lemmas[kept], codes[kept]
    likeness = SHARE * compared.cosines[lemmas, codes].astype(np.float64)
    return Similar(lemmas, codes, likeness)


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
    similar: Similar = NO_SIMILAR,
    near: NDArray[np.bool_] | None = None,
) -> Matches:
    """All matches between a text and passages, one for each word and passage.

    Args:
        lemmas: The text's words, in order.
        texts: The lemmas of the passages.
        similar: Words of the text that match other words of the passages. Of several matches of
            one word of the text with one passage only the one of greatest likeness is kept.
        near: Which word of the text may match which passage, shape (words, passages); all may
            where it is None.

    Example:
        >>> from allusion_es.retrieval.coded_texts import code_texts
        >>> found = find_matches(["lux", "et", "lux"], code_texts([("nox",), ("et", "lux")]))
        >>> found.passages.tolist(), found.places.tolist()
        ([1, 1, 1], [0, 1, 2])
    """
    text = code_texts((lemmas,))
    words, codes = texts.find(text.words)
    words = np.concatenate((words, similar.lemmas))
    codes = np.concatenate((codes, similar.codes))
    likeness = np.concatenate((np.ones(len(words) - len(similar.lemmas)), similar.likeness))
    # For each word of the passages, the places of the text where it or a similar word stands.
    order = np.argsort(codes, kind="stable")
    words, codes, likeness = words[order], codes[order], likeness[order]
    counts = np.bincount(text.codes, minlength=len(text.words))
    by_word, sizes = np.argsort(text.codes, kind="stable"), counts[words]
    places = by_word[ranges((np.cumsum(counts) - counts)[words], sizes)]
    codes, likeness = np.repeat(codes, sizes), np.repeat(likeness, sizes)
    # A join of both sides on the word: each entry (a word that a passage has) is repeated once for
    # each place where the text has that word.
    first = np.searchsorted(codes, np.arange(len(texts.words) + 1))
    entries = texts.counts
    found = np.diff(first)[entries.codes]
    owners, rows = np.repeat(entries.texts, found), ranges(first[entries.codes], found)
    if near is not None:
        kept = near[places[rows], owners]
        owners, rows = owners[kept], rows[kept]
    return _closest(owners, places[rows], codes[rows], likeness[rows], len(lemmas))


def _closest(
    passages: Integers, places: Integers, codes: Integers, likeness: Floats, words: int
) -> Matches:
    """The matches in order, of each word and passage only that of greatest likeness.

    Args:
        passages: The passage of each match, ascending; of each passage `codes` ascends.
        places: The word of the text.
        codes: The word of the passage.
        likeness: Of both.
        words: How many words the text has.
    """
    keys = passages * words + places
    # Both sorts leave equals as they are, so that of equally like words the first code stays.
    order = np.argsort(-likeness, kind="stable")
    order = order[np.argsort(keys[order], kind="stable")]
    is_first = np.diff(keys[order], prepend=-1) != 0
    chosen = order[is_first]
    return Matches(passages[chosen], places[chosen], codes[chosen], likeness[chosen])


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
    # Matches with one passage stand in the order of the text, in which equal keys are left.
    order = np.argsort(match_keys, kind="stable")
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
