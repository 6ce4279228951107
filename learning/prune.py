"""Fewer rows: those that texts hardly use are left out."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.language.citation_file import CitationTable
from allusion_es.language.word_parts import Word, WordParts
from allusion_es.learning.links import KnownLink, LearningCollection


def prune(
    table: CitationTable,
    rows: int,
    links: Sequence[KnownLink],
    collection: LearningCollection,
) -> CitationTable:
    """The table with the rows alone that are used most often; equal ones by their keys.

    Args:
        table: What was learned.
        rows: How many rows to keep at most.
        links: What it was learned from.
        collection: What they cite.
    """
    if len(table.keys) <= rows:
        return table
    texts = [*collection.texts, *(link.words for link in links)]
    uses = row_uses(table.keys, texts)
    kept = np.sort(np.lexsort((table.keys, -uses))[:rows])
    return CitationTable(
        table.keys[kept],
        table.rows[kept],
        table.lemma_keys,
        table.lemma_weights,
        table.unknown_weight,
    )


def row_uses(keys: NDArray[np.int64], texts: Sequence[Sequence[Word]]) -> NDArray[np.int64]:
    """How many words of all texts have each token, lemma or gram, shape (len(keys),)."""
    counts = Counter(word for text in texts for word in text)
    parts = WordParts(counts, keys)
    times = np.repeat(np.array(list(counts.values())), np.diff(parts.offsets))
    return np.bincount(parts.rows, weights=times, minlength=len(keys)).astype(np.int64)
