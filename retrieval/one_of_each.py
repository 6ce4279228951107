"""Rankings in which passages that say nearly the same count as one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

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
    ids = [ranked.first.ids[place] for place in ranked.places.tolist()]
    found = list(islice(_first_of_each(ids, index, top), top))
    kept = [number for number, _ in found]
    return (
        replace(ranked, places=ranked.places[kept], scores=ranked.scores[kept]),
        [group for _, group in found],
    )


def _first_of_each(
    ids: Sequence[str], index: CandidateIndex, together: int
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The place in `ids` of the first of each group, and the others; few are asked for at once."""
    seen: set[str] = set()
    for start in range(0, len(ids), together):
        part = ids[start : start + together]
        for number, (identifier, group) in enumerate(zip(part, index.parallels(part), strict=True)):
            # Of a large group not all are named, but any two of it have some in common.
            if identifier not in seen and seen.isdisjoint(group):
                seen.update(group, (identifier,))
                yield start + number, group
