"""Which words of a text match words of which passages."""

from allusion_es.core.arrays import Floats, Integers
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.retrieval.texts import CodedTexts



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
        >>> from allusion_es.retrieval.texts import code_texts
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
