"""Fusion of several rerankers, by their ranks or their scores."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import UsageError
from allusion_es.core.plugins import check_choice, check_range
from allusion_es.rerankers._shared.word_pairs import shares
from allusion_es.retrieval.explanations import Parts, as_contributions
from allusion_es.retrieval.reranking import (
    UNDEFINED,
    Candidates,
    Collection,
    Explanation,
    Reranker,
    load_reranker,
    reranker_notes,
)
from allusion_es.retrieval.types import AnalysedQuery

DEFAULT_PARTS = ("bm25", "tesserae", "soft-cosine")
"""The rerankers that are fused where no parts are named."""

_METHODS = ("rrf", "sum")
"""Reciprocal rank fusion, and the sum of scaled scores."""


class Fusion:
    """Reciprocal rank fusion, or a weighted sum of scaled scores, of other rerankers.

    `rrf`: `sum over parts r of w_r / (k + rank_r)`, rank 1 the best; equal scores rank in the
    order of their ids. Source: Cormack, Clarke and Büttcher 2009, there with all w_r = 1.
    `sum`: `sum over r of w_r (s_r - min s_r) / (max s_r - min s_r) / sum over r of w_r`, 0 for a
    part whose scores are all equal. Source: Fox and Shaw 1994, CombSUM.

    A part adds nothing to a candidate for which it is undefined. Ranks, minimum and maximum are
    those among all candidates, so that a score depends on which they are. What a part adds is
    explained by its own word pairs, in their proportion, and by a pair such as
    (`‹bm25›`, `‹rank 7›`) where it has none.

    Args:
        parts: The rerankers by name; `load_reranker("fuse:bm25+wmd")` fills it.
        method: `rrf` or `sum`.
        k: Damps the difference between high ranks, from 0; only for `rrf`.
        weights: One number above 0 a part, with commas, as in `1,2,1`; "" weighs all alike.

    Example:
        >>> from allusion_es.rerankers.trial import trial
        >>> trial(load_reranker("fuse:bow+jaccard"), "rex", ["rex", "regina"])
        [0.0328, 0.0323]
        >>> sum_ = load_reranker("fuse:bow+jaccard", {"fuse": {"method": "sum", "weights": "2,1"}})
        >>> trial(sum_, "rex", ["rex", "regina"])
        [1.0, 0.0]
    """

    name = "fuse"
    composite = True

    def __init__(
        self,
        parts: Mapping[str, Reranker] = MappingProxyType({}),
        method: str = "rrf",
        k: int = 60,
        weights: str = "",
    ) -> None:
        check_choice(self.name, "method", method, _METHODS)
        check_range(self.name, "k", k, 0)
        self._parts = dict(parts) or {name: load_reranker(name) for name in DEFAULT_PARTS}
        self.needs_fused = any(getattr(part, "needs_fused", False) for part in self._parts.values())
        self._method = method
        self._k = k
        self._weights = _weights(weights, list(self._parts))

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        _, added, numbers = self._added(query, candidates, collection)
        return np.asarray(added.sum(axis=0)[numbers])

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """For each candidate, its score divided among word pairs as the class docstring says."""
        ranks, added, numbers = self._added(query, candidates, collection)
        totals: list[Parts] = [{} for _ in range(len(candidates))]
        for row, (name, part) in enumerate(self._parts.items()):
            reasons = part.explain(query, candidates, collection)
            for total, number, reason in zip(totals, numbers.tolist(), reasons, strict=True):
                value = float(added[row, number])
                if value != 0:
                    otherwise = (f"‹{name}›", f"‹rank {ranks[row, number]}›")
                    for pair, share in shares(reason, value, otherwise).items():
                        total[pair] = total.get(pair, 0.0) + share
        return [as_contributions(total) for total in totals]

    def notes(self, collection: Collection) -> Sequence[str]:
        """Notes on the method and weights of the fusion, and those of the parts."""
        weights = ", ".join(
            f"{name} {weight:g}" for name, weight in zip(self._parts, self._weights, strict=True)
        )
        how = f"reciprocal rank, k {self._k}" if self._method == "rrf" else "sum of scaled scores"
        own = [note for part in self._parts.values() for note in reranker_notes(part, collection)]
        return (f"fuse: {how}; weights: {weights}", *own)

    def _added(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
        """Each part's ranks and addends over all candidates, and the numbers of those asked for.

        Returns:
            Ranks and addends, shapes (parts, pool), and the numbers of `candidates` in the pool.
        """
        pool, numbers = candidates.pool
        pool = pool.want(None)  # ranks and the minimum need exact scores of all
        ranks = np.zeros((len(self._parts), len(pool)), dtype=np.int64)
        added = np.zeros(ranks.shape)
        ids = np.array(pool.ranking.ids, dtype=str)
        for row, part in enumerate(self._parts.values()):
            scores = part.score(query, pool, collection)
            ranks[row, np.lexsort((ids, -scores))] = np.arange(1, len(pool) + 1)
            values = 1 / (self._k + ranks[row]) if self._method == "rrf" else _scaled(scores)
            added[row] = self._weights[row] * np.where(scores == UNDEFINED, 0.0, values)
        if self._method == "sum":
            added /= self._weights.sum()
        return ranks, added, numbers


def _scaled(scores: Floats) -> Floats:
    """Defined scores scaled to 0 to 1; all 0 where they are equal."""
    defined = scores[scores != UNDEFINED]
    if not len(defined) or defined.max() == defined.min():
        return np.zeros(len(scores))
    return np.asarray((scores - defined.min()) / (defined.max() - defined.min()))


def _weights(text: str, names: Sequence[str]) -> Floats:
    """The weight of each part from a setting such as `1,2,1`.

    Raises:
        UsageError: There is not one number above 0 for each part.
    """
    if not text:
        return np.ones(len(names))
    try:
        weights = np.array([float(part) for part in text.split(",")])
    except ValueError:
        weights = np.zeros(0)
    if len(weights) != len(names) or not np.isfinite(weights).all() or (weights <= 0).any():
        raise UsageError(
            f"fuse.weights must be {len(names)} numbers above 0, one for each of "
            f"{', '.join(names)}, not {text!r}"
        )
    return weights
