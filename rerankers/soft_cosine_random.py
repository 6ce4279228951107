"""Soft cosine by random similarities: the control of the paper."""

import zlib
from collections.abc import Sequence

import numpy as np

from allusion_es.core.arrays import Singles
from allusion_es.core.plugins import check_range
from allusion_es.rerankers._shared.soft_cosines import (
    SoftCosineReranker,
    WordFeatures,
)
from allusion_es.retrieval.reranking import Collection
from allusion_es.retrieval.types import Field


class SoftCosineRandom(SoftCosineReranker):
    """Soft cosine with random similarities.

    `S_ij = S_ji = max(0, x_ij) ** power` with x_ij drawn from N(0.5, 0.05), and `S_ii = 1`. A
    control: what word vectors add is the difference to this. Source: Manjavacas et al. 2019,
    section 5.3 and its table of results.

    The draw depends on the two words and the seed alone, so that it is the same in every query,
    order and run.

    Args:
        power: Raises S; the paper's 5. At least 1.
        seed: Chooses the draw, from 0.

    Example:
        >>> from allusion_es.rerankers.trial import trial
        >>> trial(SoftCosineRandom(), "rex", ["rex", "regina", "nemo"])
        [1.0, 0.0299, 0.0384]
    """

    name = "soft-cosine-random"

    def __init__(self, power: int = 5, seed: int = 0) -> None:
        super().__init__(power)
        check_range(self.name, "seed", seed, 0, 2**32 - 1)
        self._seed = seed

    def features(self, words: Sequence[str], field: Field, collection: Collection) -> WordFeatures:
        """A number of 64 bits for each word and seed."""
        crcs = [
            (zlib.crc32(word.encode(), self._seed) << 32) | zlib.crc32(word[::-1].encode())
            for word in words
        ]
        return _mixed(np.array(crcs, dtype=np.uint64) + np.uint64(self._seed))[:, None]

    def compare(self, left: WordFeatures, right: WordFeatures) -> Singles:
        """Draws from N(0.5, 0.05), negative ones set to 0."""
        # A sum is the same in both orders; two uniform numbers of it make a normal one.
        sums = _mixed(left + np.swapaxes(right, -1, -2))
        first = ((sums >> np.uint64(32)).astype(np.float64) + 0.5) / 2**32
        second = (sums & np.uint64(0xFFFFFFFF)).astype(np.float64) / 2**32
        normal = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
        return np.asarray(np.maximum(0.5 + 0.05 * normal, 0.0), dtype=np.float32)


def _mixed(numbers: WordFeatures) -> WordFeatures:
    """The numbers with their bits mixed, shape of `numbers`. Source: SplitMix64, Steele 2014."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
