"""Soft cosine in which no two words are similar: the TfIdf cosine."""

from collections.abc import Sequence

import numpy as np

from allusion_es.core.arrays import Singles
from allusion_es.rerankers._shared.soft_cosines import (
    SoftCosineReranker,
    WordFeatures,
)
from allusion_es.retrieval.reranking import Collection
from allusion_es.retrieval.types import Field


class SoftCosineIdentity(SoftCosineReranker):
    """Soft cosine with the identity for S, which makes it the TfIdf cosine.

    A control: what soft cosine adds to TfIdf is the difference to this. Source: Manjavacas et
    al. 2019, section 5.3.

    Example:
        >>> from allusion_es.rerankers.trial import trial
        >>> trial(SoftCosineIdentity(), "deus lux", ["deus", "deus lux", "nox", "nox"])
        [0.3833, 1.0, 0.0, 0.0]
    """

    name = "soft-cosine-identity"

    def __init__(self) -> None:
        super().__init__(power=1)

    def features(self, words: Sequence[str], field: Field, collection: Collection) -> WordFeatures:
        """Empty rows: no features are needed, shape (len(words), 0)."""
        return np.zeros((len(words), 0), dtype=np.float32)

    def compare(self, left: WordFeatures, right: WordFeatures) -> Singles:
        """0 everywhere."""
        return np.zeros((*left.shape[:-1], right.shape[-2]), dtype=np.float32)
