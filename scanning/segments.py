"""Stretches of a text where the words of a passage lie close together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers
from allusion_es.retrieval.coded_texts import CodedTexts

# Which words of a text match words of which passages.


@dataclass(frozen=True, slots=True)
class Matches:
    """Words of a text that passages have too, ordered by passage, then place; shape (n,).

    Attributes:
        passages: Numbers of the passages.
        places: Numbers of the words of the text.
        codes: What word of the passages it is, as a number in `CodedTexts.words`.
        likeness: 1 where the lemmas are equal, else how alike the words are, from 0 to 1.
    """

    passages: Integers
    places: Integers
    codes: Integers
    likeness: Floats


def find_matches(
    lemmas: Sequence[str], texts: CodedTexts, alike: Sequence[tuple[str, int, float]] = ()
) -> Matches:
    """All matches between a text and passages.

    Args:
        lemmas: The text's words, in order.
        texts: The lemmas of the passages.
        alike: Words of the text that stand for other words of the passages: the word, the
            other's number in `texts.words`, and how alike they are. Of several matches of one
            word in one passage the closest counts.

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
    pairs += [pair for pair in alike if pair[0] in places_of]
    # For each word of the passages, the places of the text where it or something like it stands.
    pairs.sort(key=lambda pair: pair[1])
    sizes = [len(places_of[word]) for word, _, _ in pairs]
    codes = np.repeat(np.array([code for _, code, _ in pairs], dtype=np.int64), sizes)
    likeness = np.repeat(np.array([each for _, _, each in pairs], dtype=np.float64), sizes)
    places = np.array([p for word, _, _ in pairs for p in places_of[word]], dtype=np.int64)
    first = np.searchsorted(codes, np.arange(len(texts.words) + 1))
    entries = texts.counts
    found = np.diff(first)[entries.codes]
    owners = np.repeat(entries.texts, found)
    shift = np.arange(len(owners)) - np.repeat(np.cumsum(found) - found, found)
    rows = np.repeat(first[entries.codes], found) + shift
    return _closest(owners, places[rows], codes[rows], likeness[rows])


def _closest(passages: Integers, places: Integers, codes: Integers, likeness: Floats) -> Matches:
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


@dataclass(frozen=True, slots=True)
class Segments:
    """Stretches of a text, each with the passage whose words it has; all arrays of shape (n,).

    Attributes:
        passages: Numbers of the passages.
        firsts: The first matching word of the text.
        lasts: The last one.
        scores: Sum of the weights of the matching words, less the price of the others.
        begins: Where the matches of the segment begin among all matches.
        ends: Where they end, exclusive.
    """

    passages: Integers
    firsts: Integers
    lasts: Integers
    scores: Floats
    begins: Integers
    ends: Integers

    def __len__(self) -> int:
        """How many there are."""
        return len(self.scores)

    def take(self, chosen: NDArray[np.bool_] | Integers) -> "Segments":
        """Some of them."""
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
        weights: What the match is worth, above 0, shape (n,).
        price: What each word between two matches costs.

    Returns:
        In the order of the matches.

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
    # What is lost up to each place is a line, so that only differences within a group count.
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
