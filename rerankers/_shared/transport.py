"""Optimal transport between small histograms, solved exactly."""

from collections.abc import Callable

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import AllusionError

Solve = Callable[[Floats, Floats, Floats], tuple[float, Floats]]
"""A solver of one transport problem.

It takes two histograms that sum to 1, shapes (n,) and (m,), and the cost of moving from each bin of
the one to each of the other, shape (n, m), C-contiguous; it returns the cost of the cheapest flow,
and the flow, shape (n, m).
"""

SOLVERS = ("pot", "pyemd")
"""Names of the solvers, for `load_solver`."""

_STEPS = 10_000_000
"""Iterations of the network simplex at most, far more than histograms of verses need."""

_OPTIMAL = 1
"""The state that POT returns for a problem that it solved."""


def load_solver(name: str) -> Solve:
    """The solver of that name, one of `SOLVERS`.

    `pot` is the network simplex of Python Optimal Transport (Bonneel et al. 2011); it is called
    below `ot.emd`, whose checks and conversions take ten times as long as the solution for
    histograms of a dozen words. Where this POT has it in another place, `ot.emd` is called.
    `pyemd` is that of Pele and Werman (2009), which rounds costs to six digits.
    """
    if name == "pyemd":
        return _pyemd
    try:
        from ot.lp.emd_wrap import emd_c

        emd_c(np.ones(1), np.ones(1), np.zeros((1, 1)), _STEPS, 1)
    except (ImportError, TypeError, AttributeError):
        return _ot
    return _network_simplex(emd_c)


def _network_simplex(emd_c: Callable[..., tuple[Floats, float, Floats, Floats, int]]) -> Solve:
    """The solver that calls POT's compiled function, and `ot.emd` where that finds no optimum."""

    def solve(left: Floats, right: Floats, cost: Floats) -> tuple[float, Floats]:
        flow, total, _, _, state = emd_c(left, right, cost, _STEPS, 1)
        return (total, flow) if state == _OPTIMAL else _ot(left, right, cost)

    return solve


def _ot(left: Floats, right: Floats, cost: Floats) -> tuple[float, Floats]:
    """The solution of `ot.emd`, which is slower but checks its input and says why it fails."""
    import ot

    flow, log = ot.emd(left, right, cost, numItermax=_STEPS, log=True)
    if log["warning"] is not None:
        raise AllusionError(f"optimal transport has no solution: {log['warning']}")
    return float(log["cost"]), np.asarray(flow, dtype=np.float64)


def _pyemd(left: Floats, right: Floats, cost: Floats) -> tuple[float, Floats]:
    """The solution of pyemd."""
    from pyemd import emd_with_flow

    # pyemd takes one set of bins and a square cost, so the two histograms stand side by side.
    n, m = cost.shape
    square = np.zeros((n + m, n + m))
    square[:n, n:], square[n:, :n] = cost, cost.T
    first = np.concatenate([left, np.zeros(m)])
    second = np.concatenate([np.zeros(n), right])
    _, whole = emd_with_flow(first, second, square)
    flow = np.array(whole, dtype=np.float64)[:n, n:]
    return float((flow * cost).sum()), flow
