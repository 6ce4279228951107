"""The expansion of the passages of an index in this process."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array
from allusion_es.language.word_parts import Word
from allusion_es.retrieval.expansion import ExpansionMaker, bit_weights
from allusion_es.retrieval.local_grams import small

WEIGHTS = "expansion.weights"
"""The array that an index with an expansion has."""

_TOGETHER = 1_000


def expansion_arrays(
    maker: ExpansionMaker,
    ids: Sequence[str],
    texts: Sequence[Sequence[Word]],
    vectors: NDArray[np.int8],
) -> dict[str, Array]:
    """The arrays that `LocalExpansion` reads.

    Args:
        maker: Made for these passages.
        ids: Ids of all passages.
        texts: Their words.
        vectors: Their citation vectors, shape (len(ids), dimension).
    """
    codes, owners, bits = [], [], []
    for start in range(0, len(ids), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        found = maker.expand(ids[part], texts[part], vectors[part])
        codes.append(found.codes)
        bits.append(found.bits)
        owners.append(np.repeat(np.arange(start, start + len(ids[part])), np.diff(found.offsets)))
    of_words = np.concatenate(codes)
    order = np.argsort(of_words, kind="stable")
    sizes = np.bincount(of_words, minlength=len(maker.words))
    return {
        "expansion.words": np.frombuffer("\n".join(maker.words).encode(), np.uint8),
        "expansion.posting_offsets": np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        "expansion.posting_passages": small(np.concatenate(owners)[order], len(ids)),
        WEIGHTS: np.concatenate(bits)[order],
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
