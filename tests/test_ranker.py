"""Learning weights of features: by hand, against the definition, and what cannot be learned."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import InputError
from allusion_es.learning.ranker import Example, feature_scales, learn_weights
from allusion_es.rerankers._shared.trees import MOST_LEAVES, Tree, Trees


def example(values: list[list[float]], *relevant: int) -> Example:
    mask = np.zeros(len(values), dtype=np.bool_)
    mask[list(relevant)] = True
    return Example(np.array(values, dtype=np.float32), mask)


def test_the_slope_vanishes_by_hand() -> None:
    """Of two candidates with values 1 and 0: 1 - p = penalty w, p = 1 / (1 + exp(-w))."""
    weight = float(learn_weights([example([[1], [0]], 0)], np.ones(1), 0.2)[0])
    assert 1 - 1 / (1 + math.exp(-weight)) == pytest.approx(0.2 * weight, abs=1e-12)


def test_scales_are_spreads_within_queries() -> None:
    """What differs between queries only does not spread: 1 stands for no spread."""
    first, second = example([[0, 5], [2, 5]], 0), example([[0, 9], [4, 9]], 0)
    assert feature_scales([first, second]).tolist() == pytest.approx([math.sqrt((1 + 4) / 2), 1.0])


def test_a_feature_that_tells_nothing_gets_no_weight() -> None:
    examples = [example([[1, 3], [0, 3], [0, 3]], 0), example([[0, 7], [2, 7]], 1)]
    weights = learn_weights(examples, feature_scales(examples), 0.1)
    assert weights[0] > 0.5
    assert weights[1] == pytest.approx(0.0, abs=1e-6)


def loss(weights: Floats, examples: list[Example], scales: Floats, penalty: float) -> float:
    """The definition, query by query."""
    total = 0.0
    for one in examples:
        chances = np.exp(one.values.astype(np.float64) / scales @ weights)
        total -= math.log(chances[one.relevant].sum() / chances.sum())
    return total / len(examples) + penalty / 2 * float(weights @ weights)


@given(st.integers(0, 1_000), st.floats(0.05, 1.0))
def test_no_other_weights_are_better(seed: int, penalty: float) -> None:
    numbers = np.random.default_rng(seed)
    examples = [
        example(numbers.normal(size=(5, 3)).tolist(), *numbers.choice(5, 2, replace=False).tolist())
        for _ in range(4)
    ]
    scales = feature_scales(examples)
    weights = learn_weights(examples, scales, penalty)
    best = loss(weights, examples, scales, penalty)
    for _ in range(20):
        other = weights + numbers.normal(scale=0.3, size=3)
        assert loss(other, examples, scales, penalty) >= best - 1e-9


@given(st.integers(0, 1_000), st.floats(0.003, 1.0))
def test_weights_do_not_depend_on_the_order_of_sums(seed: int, penalty: float) -> None:
    numbers = np.random.default_rng(seed)
    examples = [
        example(numbers.normal(size=(6, 4)).tolist(), int(numbers.integers(6))) for _ in range(9)
    ]
    scales = feature_scales(examples)
    weights = learn_weights(examples, scales, penalty)
    assert learn_weights(examples[::-1], scales, penalty) == pytest.approx(weights, abs=1e-9)


def test_queries_without_both_kinds_teach_nothing() -> None:
    useful = example([[1], [0]], 0)
    alone = learn_weights([useful], np.ones(1), 0.1)
    with_others = [example([[3], [4]]), useful, example([[5]], 0)]
    assert learn_weights(with_others, np.ones(1), 0.1) == pytest.approx(alone)
    with pytest.raises(InputError, match="nothing is learned"):
        learn_weights(with_others[::2], np.ones(1), 0.1)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """A tree of 1 to 31 nodes, in which every child stands behind its parent."""
    nodes = draw(st.integers(1, MOST_LEAVES - 1))
    lefts, rights = [0] * nodes, [0] * nodes
    places: list[tuple[int, int]] = [(0, 0), (0, 1)]
    for node in range(1, nodes):
        parent, side = places.pop(draw(st.integers(0, len(places) - 1)))
        (lefts, rights)[side][parent] = node
        places += [(node, 0), (node, 1)]
    for leaf, (parent, side) in enumerate(places):
        (lefts, rights)[side][parent] = -leaf - 1
    numbers = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
    return Tree(
        tuple(draw(st.lists(st.sampled_from("xyz"), min_size=nodes, max_size=nodes))),
        tuple(draw(st.lists(numbers, min_size=nodes, max_size=nodes))),
        tuple(lefts),
        tuple(rights),
        tuple(float(leaf) for leaf in range(nodes + 1)),
    )


@given(st.lists(trees(), max_size=4), st.integers(0, 5), st.integers(0, 99))
def test_sums_of_trees_are_those_of_walking_down(
    some: list[Tree], candidates: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    values = random.choice([-2.0, -1.0, 0.0, 0.25, 0.5, 2.0, 3.0], (candidates, 3))

    def leaf(tree: Tree, row: Floats) -> float:
        node = 0
        while node >= 0:
            value = row["xyz".index(tree.features[node])]
            node = (tree.lefts if value <= tree.thresholds[node] else tree.rights)[node]
        return tree.leaves[-node - 1]

    assert all(not tree.fault() for tree in some)
    expected = [sum(leaf(tree, row) for tree in some) for row in values]
    assert Trees(some, "xyz").sums(values).tolist() == expected
