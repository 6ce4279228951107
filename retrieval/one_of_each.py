"""Rankings in which passages that say nearly the same count as one."""

from collections.abc import Sequence
from dataclasses import replace

from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.ranker import Ranked

DEEPER = 4
"""The best of each group are looked for among so many times the hits that are wanted."""

Others = Sequence[tuple[str, ...]]


def one_of_each(ranked: Ranked, index: CandidateIndex, top: int) -> tuple[Ranked, Others]:
    """The best passage of each group, up to `top`, and for each the ids of the others.

    Args:
        ranked: More passages than are wanted, best first.
        index: Where the passages are.
        top: How many to return.
    """
    kept: list[int] = []
    others: list[tuple[str, ...]] = []
    seen: set[str] = set()
    ids = [ranked.first.ids[place] for place in ranked.places.tolist()]
    for start in range(0, len(ids), max(top, 1)):
        part = ids[start : start + top]
        for number, (identifier, group) in enumerate(zip(part, index.parallels(part), strict=True)):
            # Of a large group not all are named, but any two of it have some in common.
            if identifier in seen or not seen.isdisjoint(group):
                continue
            seen.update(group, (identifier,))
            kept.append(start + number)
            others.append(group)
            if len(kept) == top:
                break
        if len(kept) == top:
            break
    return replace(ranked, places=ranked.places[kept], scores=ranked.scores[kept]), others
