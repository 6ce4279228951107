"""The expansion of the passages of an index in this process."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array
from allusion_es.core.temporary_files import SpilledArray
from allusion_es.retrieval.expansion import bit_weights
from allusion_es.retrieval.posting_lists import Postings

WEIGHTS = "expansion.weights"
"""The array that an index with an expansion has."""


def expansion_arrays(words: Sequence[str], postings: Postings) -> dict[str, Array | SpilledArray]:
    """The arrays that `LocalExpansion` reads.

    Args:
        words: All words of expansions, `ExpansionMaker.words`.
        postings: What `ExpansionMaker.expand` gives for all passages.
    """
    return {
        "expansion.words": np.frombuffer("\n".join(words).encode(), np.uint8),
        "expansion.posting_offsets": postings.offsets,
        "expansion.posting_passages": postings.passages,
        WEIGHTS: postings.values,
    }


class LocalExpansion:
    """Searches expansions.

    Args:
        load: Gives an array of the saved index.
        size: How many passages there are.
    """

    def __init__(self, load: Callable[[str], Array], size: int) -> None:
        self._load = load
        self._size = size

    def scores(self, weights: Mapping[str, float]) -> NDArray[np.float32]:
        """Sum of the weights of lemmas that count so much, shape (passages,)."""
        offsets = self._load("expansion.posting_offsets")
        passages, bits = self._load("expansion.posting_passages"), self._load(WEIGHTS)
        sums = np.zeros(self._size)
        for word, boost in weights.items():
            place = self._places.get(word)
            if place is not None:
                part = slice(int(offsets[place]), int(offsets[place + 1]))
                sums[passages[part]] += np.float32(boost) * bit_weights(bits[part])
        return sums.astype(np.float32)

    @cached_property
    def _places(self) -> dict[str, int]:
        text = self._load("expansion.words").tobytes().decode()
        return {word: place for place, word in enumerate(text.split("\n"))}
