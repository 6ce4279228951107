"""Learning the weights of the features of candidates, for the reranker `learned`."""

from collections.abc import Sequence
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
    return np.asarray(found.x, dtype=np.float64)
