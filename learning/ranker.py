"""Learning the weights of the features of candidates, for the reranker `learned`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Example:
    """The candidates of a query.

    Attributes:
        values: Their features, finite, shape (n, features).
        relevant: Which of them are relevant, shape (n,).
    """

    values: NDArray[np.float32]
    relevant: NDArray[np.bool_]


def feature_scales(examples: Sequence[Example]) -> Floats:
    """Spread of each feature among the candidates of a query, shape (features,).

    The root of the mean variance within queries; 1 for features that never vary there.
    """
    variances = np.mean([example.values.var(axis=0, dtype=np.float64) for example in examples], 0)
    scales = np.sqrt(variances)
    return np.where(scales > 1e-9, scales, 1.0)


def learn_weights(examples: Sequence[Example], scales: Floats, penalty: float) -> Floats:
    """Weights of scaled features under which relevant candidates are likely, shape (features,).

    Maximises the mean over queries of the logarithm of the probability that a relevant candidate
    is chosen, with probabilities in proportion to `exp(sum over f of weight_f value_f / scale_f)`,
    less `penalty` times half the sum of squared weights, by L-BFGS. Queries without a relevant
    candidate, or with no other, teach nothing. Source: ListNet's top one (Cao et al. 2007) for
    binary relevance; a conditional logit (McFadden 1974) where one passage is relevant.

    Args:
        examples: The queries.
        scales: What values are divided by, above 0, shape (features,).
        penalty: Above 0, so that the maximum is one point.

    Raises:
        InputError: No query has both relevant and other candidates.

    Example:
        >>> values = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], dtype=np.float32)
        >>> example = Example(values, np.array([True, False, False]))
        >>> learn_weights([example], np.ones(2), 0.1).round(2).tolist()
        [1.88, -0.65]
    """
    from scipy.optimize import minimize

    useful = [one for one in examples if one.relevant.any() and not one.relevant.all()]
    if not useful:
        raise InputError("no query has a relevant passage among its candidates; nothing is learned")
    values = np.concatenate([one.values / scales.astype(np.float32) for one in useful])
    relevant = np.concatenate([one.relevant for one in useful])
    starts = np.cumsum([0, *(len(one.relevant) for one in useful)])[:-1]
    sizes = np.diff([*starts.tolist(), len(relevant)])

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = (values @ weights.astype(np.float32)).astype(np.float64)
        scores -= np.repeat(np.maximum.reduceat(scores, starts), sizes)
        each = np.exp(scores)
        hits = np.where(relevant, each, 0.0)
        totals, found = np.add.reduceat(each, starts), np.add.reduceat(hits, starts)
        pull = each / np.repeat(totals, sizes)
        pull -= hits / np.repeat(np.maximum(found, 1e-300), sizes)
        slope = (pull.astype(np.float32) @ values).astype(np.float64) / len(useful)
        value = float(np.mean(np.log(totals) - np.log(np.maximum(found, 1e-300))))
        return value + penalty / 2 * float(weights @ weights), slope + penalty * weights

    start = np.zeros(len(scales))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    near = np.asarray(found.x, dtype=np.float64)
    return _settled(
        near, lambda weights: _slope_and_curve(weights, values, relevant, starts), penalty
    )


_STEPS = 12
"""Steps of Newton's method at most; three or four are enough."""

_SETTLED = 1e-11
"""The largest change of a weight that counts as none."""

_TOGETHER = 1_000
"""Queries whose values are held in double precision at once."""


def _settled(
    near: Floats, slope_and_curve: Callable[[Floats], tuple[Floats, Floats]], penalty: float
) -> Floats:
    """The weights at the maximum itself, from weights near it, by Newton's method.

    L-BFGS stops near it, at a place that depends on the order in which a processor adds numbers up;
    so the same examples would give other weights with more threads.
    """
    weights, size = near, np.inf
    for _ in range(_STEPS):
        slope, curve = slope_and_curve(weights)
        slope = slope + penalty * weights
        smaller = float(np.abs(slope).max())
        if not smaller < size:
            break  # as near as double precision allows
        best, size = weights, smaller
        step = np.linalg.solve(curve + penalty * np.eye(len(weights)), slope)
        weights = weights - step
        if np.abs(step).max() <= _SETTLED:
            return weights
    return best


def _slope_and_curve(
    weights: Floats,
    values: NDArray[np.float32],
    relevant: NDArray[np.bool_],
    starts: NDArray[np.int64],
) -> tuple[Floats, Floats]:
    """First and second derivatives of the mean loss of queries, without the penalty.

    The first is the mean over queries of the mean value among all candidates less that among the
    relevant ones; the second, the covariance among all less that among the relevant ones. Both
    means are weighted by the chances of the candidates.

    Args:
        weights: Shape (features,).
        values: Scaled values of all candidates, query by query, shape (n, features).
        relevant: Which are relevant, shape (n,).
        starts: Where each query's candidates begin, shape (queries,).
    """
    slope, curve = np.zeros(len(weights)), np.zeros((len(weights), len(weights)))
    ends = np.append(starts[1:], len(values))
    for first in range(0, len(starts), _TOGETHER):
        some = slice(first, first + _TOGETHER)
        begin, end = int(starts[some][0]), int(ends[some][-1])
        own, sizes = starts[some] - begin, ends[some] - starts[some]
        rows = values[begin:end].astype(np.float64)
        scores = rows @ weights
        each = np.exp(scores - np.repeat(np.maximum.reduceat(scores, own), sizes))
        for sign, chosen in ((1.0, each), (-1.0, np.where(relevant[begin:end], each, 0.0))):
            totals = np.maximum(np.add.reduceat(chosen, own), 1e-300)
            weighted = rows * (chosen / np.repeat(totals, sizes))[:, None]
            means = np.add.reduceat(weighted, own, axis=0)
            slope += sign * means.sum(axis=0)
            curve += sign * (weighted.T @ rows - means.T @ means)
    return slope / len(starts), curve / len(starts)
