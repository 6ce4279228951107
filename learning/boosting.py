"""Learning trees: gradient boosting for rankings, with LightGBM, which is needed here alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import UsageError
from allusion_es.learning.ranker import Example
from allusion_es.rerankers._shared.trees import Tree


@dataclass(frozen=True, slots=True)
class Boosting:
    """The settings of gradient boosting.

    Attributes:
        trees: How many trees are learned, each from what those before it got wrong.
        leaves: Leaves of a tree.
        rate: How much a tree adds.
        feature_share: Share of the features that a tree may ask for.
        row_share: Share of the candidates that a tree is learned from.
        least: Candidates in a leaf at least.
        penalty: Of squared leaf values.
        bins: Different values of a feature that are told apart.
        truncation: Ranks of which the order counts.
        seed: The same examples and seed give the same trees.
    """

    trees: int = 300
    leaves: int = 12
    rate: float = 0.05
    feature_share: float = 0.4
    row_share: float = 0.6
    least: int = 100
    penalty: float = 5.0
    bins: int = 63
    truncation: int = 20
    seed: int = 1


def learn_trees(
    examples: Sequence[Example],
    weights: Sequence[float],
    names: Sequence[str],
    boosting: Boosting = Boosting(),
) -> list[Tree]:
    """Trees whose sum puts relevant candidates first.

    LambdaMART (Burges 2010) as LightGBM learns it, in one thread, so that the same examples give
    the same trees. Queries without a relevant candidate, or with no other, teach nothing.

    Args:
        examples: The queries.
        weights: How much each query counts.
        names: Names of the features.
        boosting: The settings.

    Raises:
        UsageError: LightGBM is not installed.
    """
    lightgbm = _lightgbm()
    pairs = [
        (example, weight)
        for example, weight in zip(examples, weights, strict=True)
        if example.relevant.any() and not example.relevant.all()
    ]
    sizes = [len(example.relevant) for example, _ in pairs]
    rows = lightgbm.Dataset(
        np.concatenate([example.values for example, _ in pairs]),
        label=np.concatenate([example.relevant for example, _ in pairs]).astype(np.int32),
        weight=np.repeat([weight for _, weight in pairs], sizes),
        group=sizes,
        free_raw_data=True,
        params={"max_bin": boosting.bins, "verbose": -1},
    )
    booster = lightgbm.train(_parameters(boosting), rows, num_boost_round=boosting.trees)
    return [_tree(one["tree_structure"], names) for one in booster.dump_model()["tree_info"]]


def learn_chances(
    values: Floats,
    labels: NDArray[np.int64],
    log_odds: Floats,
    names: Sequence[str],
    boosting: Boosting = Boosting(),
) -> list[Tree]:
    """Trees whose sum, added to log odds that are known, gives better log odds.

    Args:
        values: Features, shape (n, len(names)).
        labels: 1 for what is so, 0 for what is not, shape (n,).
        log_odds: What a simpler model says, shape (n,).
        names: Names of the features.
        boosting: The settings.

    Raises:
        UsageError: LightGBM is not installed.
    """
    lightgbm = _lightgbm()
    rows = lightgbm.Dataset(
        values.astype(np.float32),
        label=labels.astype(np.int32),
        init_score=log_odds,
        params={"max_bin": boosting.bins, "verbose": -1},
    )
    parameters = {**_parameters(boosting), "objective": "binary", "boost_from_average": False}
    booster = lightgbm.train(parameters, rows, num_boost_round=boosting.trees)
    trees = [one["tree_structure"] for one in booster.dump_model()["tree_info"]]
    return [_tree(root, names) for root in trees if "split_feature" in root]


def _lightgbm() -> ModuleType:
    """LightGBM, or an error that says how to install it."""
    try:
        import lightgbm
    except ImportError as error:
        raise UsageError(
            "learning trees needs LightGBM; install it with: pip install 'allusion-es[train]'"
        ) from error
    return lightgbm


def _parameters(boosting: Boosting) -> dict[str, Any]:
    return {
        "objective": "lambdarank",
        "num_leaves": boosting.leaves,
        "learning_rate": boosting.rate,
        "feature_fraction": boosting.feature_share,
        "bagging_fraction": boosting.row_share,
        "bagging_freq": 1,
        "min_data_in_leaf": boosting.least,
        "lambda_l2": boosting.penalty,
        "max_bin": boosting.bins,
        "lambdarank_truncation_level": boosting.truncation,
        "seed": boosting.seed,
        "num_threads": 1,
        "deterministic": True,
        "force_row_wise": True,
        "verbose": -1,
    }


def _tree(root: Mapping[str, Any], names: Sequence[str]) -> Tree:
    """A tree from LightGBM's nested description of it; inner nodes are numbered as they come."""
    nodes: list[Mapping[str, Any]] = []
    leaves: list[float] = []
    children: list[list[int]] = []
    waiting: list[tuple[Mapping[str, Any], int, int]] = [(root, -1, 0)]
    while waiting:
        one, parent, side = waiting.pop()
        if "split_feature" in one:
            number = len(nodes)
            nodes.append(one)
            children.append([0, 0])
            waiting += [(one["right_child"], number, 1), (one["left_child"], number, 0)]
        else:
            leaves.append(float(one["leaf_value"]))
            number = -len(leaves)
        if parent >= 0:
            children[parent][side] = number
    return Tree(
        tuple(names[one["split_feature"]] for one in nodes),
        tuple(_single_below(float(one["threshold"])) for one in nodes),
        tuple(left for left, _ in children),
        tuple(right for _, right in children),
        tuple(leaves),
    )


def _single_below(number: float) -> float:
    """The largest number of single precision that is not above `number`.

    Features are compared in single precision: those up to the one are those up to the other.
    """
    single = np.float32(number)
    return float(single if single <= number else np.nextafter(single, np.float32(-np.inf)))
