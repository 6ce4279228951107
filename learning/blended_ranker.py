"""Learning the whole ranker: linear weights and trees, from kept examples."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.learning.boosting import learn_trees
from allusion_es.learning.examples import best_rank, thinned
from allusion_es.learning.kept_examples import KeptExample
from allusion_es.learning.ranker import feature_scales, learn_weights
from allusion_es.rerankers._shared.trees import Trees
from allusion_es.rerankers.learned import RankerSet, blended

PENALTY = 0.003
"""Of the squared weights of the linear ranker; not tuned."""

_GOLD, _QUOTATION = 2.0, 0.4
"""How much a gold link counts for the trees beside another, and a quotation beside an allusion."""


def learn_ranker(
    names: tuple[str, ...], examples: Sequence[KeptExample], *, trees: bool
) -> RankerSet:
    """The linear ranker, and trees, that are learned from examples.

    Args:
        names: Names of the features.
        examples: What to learn from; those without a relevant candidate teach nothing.
        trees: Learn trees too.
    """
    used = [one for one in examples if one.example.relevant.any()]
    short = [thinned(one.example, one.text) if one.file else one.example for one in used]
    scales = feature_scales(short)
    linear = learn_weights(short, scales, PENALTY)
    if not trees:
        return RankerSet(names, scales, linear)
    weights = [
        (_GOLD if one.file else 1.0) * (_QUOTATION if one.type == "quotation" else 1.0)
        for one in used
    ]
    return RankerSet(names, scales, linear, tuple(learn_trees(short, weights, names)))


def ranks_of(ranker: RankerSet, examples: Sequence[KeptExample]) -> NDArray[np.float64]:
    """The best rank of a relevant candidate of each example, infinite where there is none."""
    weights = ranker.linear / ranker.scales
    trees = Trees(ranker.trees, ranker.features) if ranker.trees else None
    found = []
    for one in examples:
        values = one.example.values.astype(np.float64)
        scores = blended(values @ weights, trees.sums(values) if trees else None)
        found.append(best_rank(scores, one.example.relevant))
    return np.array(found, dtype=np.float64)
