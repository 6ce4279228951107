"""Counting which words texts use that cite a passage."""

from collections.abc import Sequence

from allusion_es.learning.links import KnownLink, LearningCollection


def count_citing_words(
    links: Sequence[KnownLink], collection: LearningCollection
) -> dict[str, dict[str, int]]:
    """For each cited passage its citing texts' lemmas: in how many of them each stands.

    Args:
        links: Texts and what they cite; a text that cites several passages counts for each.
        collection: The passages.
    """
    counts: dict[str, dict[str, int]] = {}
    for link in links:
        lemmas = dict.fromkeys(lemma for _, lemma in link.own_words)
        for place in link.places:
            row = counts.setdefault(collection.ids[place], {})
            for lemma in lemmas:
                row[lemma] = row.get(lemma, 0) + 1
    return counts
