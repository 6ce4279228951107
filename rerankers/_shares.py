"""A score divided among word pairs in the proportion of another score's parts."""

from allusion_es.retrieval.explain import Parts
from allusion_es.retrieval.reranking import Explanation


def shares(explanation: Explanation, score: float, otherwise: tuple[str, str]) -> Parts:
    """`score` divided among the pairs of `explanation`; the parts sum to it.

    Pairs that add something share in proportion; those that take something away get nothing.
    Where all take something away, those that take least get most: `1 - part / sum` each.

    Args:
        explanation: Pairs with contributions of either sign, or None.
        score: What is divided.
        otherwise: The pair that gets all where there are no pairs.
    """
    parts = {(part.query_word, part.passage_word): part.contribution for part in explanation or ()}
    kept = {pair: part for pair, part in parts.items() if part > 0}
    if not kept and len(parts) > 1:
        total = sum(parts.values())
        kept = {pair: 1 - part / total for pair, part in parts.items()} if total < 0 else {}
    total = sum(kept.values())
    if total <= 0:
        kept, total = dict.fromkeys(parts or (otherwise,), 1.0), float(len(parts) or 1)
    return {pair: score * part / total for pair, part in kept.items()}
