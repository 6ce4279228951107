"""How queries are answered where nothing else is said; cheap to import."""

FIRST_STAGE = "fused"
RERANKER = "learned"

CANDIDATES = 250
"""How many candidates are reranked: with more, the default reranker finds no more."""
