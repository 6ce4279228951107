"""Several rankings made into one."""

from collections.abc import Sequence

import numpy as np

from allusion_es.retrieval.types import Ranking

RRF_K = 60
"""The constant of reciprocal rank fusion, as its authors chose it."""


def reciprocal_rank_fusion(
    rankings: Sequence[Ranking],
    size: int,
    k: int = RRF_K,
    weights: Sequence[float] | None = None,
) -> Ranking:
    """Passages by the sum of `weight / (k + rank)` over the rankings that hold them.

    Source: Cormack, Clarke and Büttcher, SIGIR 2009.

    Args:
        rankings: Each from best to worst.
        size: How many passages to keep.
        k: Damps the difference between high ranks.
        weights: How much each ranking counts; by default 1.

    Example:
        >>> first = Ranking(("a", "b"), np.array([9.0, 8.0]))
        >>> second = Ranking(("b", "c"), np.array([0.9, 0.1]))
        >>> fused = reciprocal_rank_fusion([first, second], 2)
        >>> fused.ids, fused.scores.round(4).tolist()
        (('b', 'a'), [0.0325, 0.0164])
    """
    scores: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, identifier in enumerate(ranking.ids, start=1):
            scores[identifier] = scores.get(identifier, 0.0) + weight / (k + rank)
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:size]
    return Ranking(
        tuple(identifier for identifier, _ in best), np.array([score for _, score in best])
    )
