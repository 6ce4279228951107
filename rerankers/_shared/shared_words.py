"""The words that texts share with a query, and how far apart the rarest of them lie."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allusion_es.core.arrays import Floats, Integers
from allusion_es.retrieval.coded_texts import CodedTexts


@dataclass(frozen=True, slots=True)
class SharedTypes:
    """Types that each text shares with the query; only texts that share two or more.

    Attributes:
        query_words: The query's types.
        texts: Which text, shape (n,), ascending.
        types: Which type, as a position in `query_words`, shape (n,).
        query_counts: How often it occurs in the query, shape (n,).
        text_counts: How often it occurs in the text, shape (n,).
        size: The number of texts.
    """

    query_words: list[str]
    texts: Integers
    types: Integers
    query_counts: Floats
    text_counts: Floats
    size: int


def shared_types(query: Sequence[str], texts: CodedTexts) -> SharedTypes:
    """The types that each text shares with the query."""
    words = list(dict.fromkeys(query))
    rows = _rows(words, texts)
    counts = texts.counts
    shared = rows[counts.codes] >= 0
    owners, types = counts.texts[shared], rows[counts.codes[shared]]
    enough = np.bincount(owners, minlength=len(texts))[owners] > 1
    in_query = np.array([query.count(word) for word in words], dtype=np.float64)
    return SharedTypes(
        words,
        owners[enough],
        types[enough],
        in_query[types[enough]],
        counts.counts[shared][enough],
        len(texts),
    )


def query_distances(shared: SharedTypes, frequencies: Floats, query: Sequence[str]) -> Integers:
    """Distance of the two rarest shared words in the query, for each text, shape (size,).

    Ties and repeated words are settled as in `text_distances`.

    Args:
        shared: The shared types.
        frequencies: Of each of them on the query's side, shape (n,).
        query: The query's words in order.
    """
    numbers = {word: number for number, word in enumerate(shared.query_words)}
    tokens = np.array([numbers[word] for word in query], dtype=np.int64)
    # The places of each shared type in the query, listed again for each text that shares it.
    by_type = np.argsort(tokens, kind="stable")
    starts = np.searchsorted(tokens[by_type], shared.types)
    repeats = shared.query_counts.astype(np.int64)
    entries = np.repeat(np.arange(len(repeats)), repeats)
    within = np.arange(len(entries)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    places = by_type[starts[entries] + within]
    order = np.lexsort((places, shared.texts[entries]))
    return _distances(shared, frequencies, entries[order], places[order])


def text_distances(shared: SharedTypes, frequencies: Floats, texts: CodedTexts) -> Integers:
    """Distance of the two rarest shared words in each text, in tokens, shape (size,).

    The distance of adjacent words is 1. A word that occurs more than once counts where it lies
    nearest to the other. Where several words are equally rare, so that it is open which are the
    two rarest, the pair that lies nearest counts. 0 for texts that share fewer than two.

    Args:
        shared: The shared types.
        frequencies: Of each of them on the texts' side, shape (n,).
        texts: The texts.
    """
    width = max(len(shared.query_words), 1)
    types = _rows(shared.query_words, texts)[texts.codes]
    owners = np.repeat(np.arange(len(texts)), np.diff(texts.offsets))
    # For each occurrence in a text, the entry of its text and type in `shared`; occurrences in
    # texts that share fewer than two types have none.
    keys = shared.texts * width + shared.types
    order = np.argsort(keys)
    places = np.flatnonzero(types >= 0)
    wanted = owners[places] * width + types[places]
    found = np.searchsorted(keys, wanted, sorter=order)
    is_shared = found < len(keys)
    is_shared[is_shared] = keys[order[found[is_shared]]] == wanted[is_shared]
    return _distances(shared, frequencies, order[found[is_shared]], places[is_shared])


def _rows(words: list[str], texts: CodedTexts) -> Integers:
    """The position in `words` of each word of `texts`, or -1; shape (len(texts.words),)."""
    rows = np.full(len(texts.words), -1, dtype=np.int64)
    numbers, places = texts.find(words)
    rows[places] = numbers
    return rows


def _distances(
    shared: SharedTypes, frequencies: Floats, entries: Integers, places: Integers
) -> Integers:
    """`text_distances` from the occurrences of shared types, by text, then by place."""
    least, second = _two_lowest(shared, frequencies)
    kept = frequencies[entries] <= second[shared.texts[entries]]
    entries, places = entries[kept], places[kept]  # of the rarest words alone
    texts = shared.texts[entries]
    # One word is rarest: it pairs with any of the second frequency, and those do not pair among
    # themselves. Or several are equally rare: any two different ones of them pair.
    single = (least < second)[texts]
    kinds = np.where(single, frequencies[entries] == least[texts], shared.types[entries])
    # The nearest occurrences of different kinds have no kept occurrence between them.
    pairs = np.flatnonzero((texts[1:] == texts[:-1]) & (kinds[1:] != kinds[:-1]))
    far = np.iinfo(np.int64).max
    distances = np.full(shared.size, far)
    np.minimum.at(distances, texts[pairs], places[pairs + 1] - places[pairs])
    return np.where(distances == far, 0, distances)


def _two_lowest(shared: SharedTypes, frequencies: Floats) -> tuple[Floats, Floats]:
    """The two lowest frequencies of shared types of each text, shape (size,), or infinity."""
    order = np.lexsort((frequencies, shared.texts))
    texts, first = np.unique(shared.texts[order], return_index=True)
    lowest = np.full((2, shared.size), np.inf)
    lowest[0, texts] = frequencies[order[first]]
    lowest[1, texts] = frequencies[order[first + 1]]
    return lowest[0], lowest[1]
