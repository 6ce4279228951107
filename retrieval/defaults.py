"""How queries are answered where nothing else is said.

These are values alone, and this module imports nothing: the command line shows them in its help,
which must not wait for numpy. The measurements behind them are in `docs/quality.md`.
"""

FIRST_STAGE = "fused"
"""A generator, or one of `options.STAGES`."""

RERANKER = "learned"

CANDIDATES = 250
"""How many candidates are reranked: with more, the default reranker finds no more."""
