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
    types, entries = texts.entries_of(words)
    counts = texts.counts
    owners = counts.texts[entries]
    enough = np.bincount(owners, minlength=len(texts))[owners] > 1
    in_query = np.array([query.count(word) for word in words], dtype=np.float64)
    return SharedTypes(
        words,
        owners[enough],
        types[enough],
        in_query[types[enough]],
        counts.counts[entries][enough],
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
    rarest = _Rarest.of(shared, frequencies)
    # The places of each type in the query, listed again for each text whose rarest it is among.
    by_type = np.argsort(tokens, kind="stable")
    starts = np.searchsorted(tokens[by_type], shared.types[rarest.entries])
    repeats = shared.query_counts[rarest.entries].astype(np.int64)
    within = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    places = by_type[np.repeat(starts, repeats) + within]
    entries = np.repeat(rarest.entries, repeats)
    order = np.lexsort((places, shared.texts[entries]))
    return rarest.distances(entries[order], places[order])


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
    rarest = _Rarest.of(shared, frequencies)
    types, places = texts.occurrences_of(shared.query_words)
    owners = texts.owners[places]
    # The entry of each text and type, -1 where it is not among the rarest.
    entries = np.full(len(texts) * width, -1, dtype=np.int32)
    entries[shared.texts[rarest.entries] * width + shared.types[rarest.entries]] = rarest.entries
    found = entries[owners * width + types]
    return rarest.distances(found[found >= 0], places[found >= 0])


@dataclass(frozen=True, slots=True)
class _Rarest:
    """The rarest shared types of each text: the two rarest, and all that tie with the second.

    Attributes:
        shared: The shared types.
        entries: Numbers of the rarest among them, ascending.
        kinds: For each entry of `shared` a number; of the rarest, two pair if theirs differ.
    """

    shared: SharedTypes
    entries: Integers
    kinds: Integers

    @classmethod
    def of(cls, shared: SharedTypes, frequencies: Floats) -> "_Rarest":
        """The rarest by `frequencies`, one for each entry of `shared`."""
        sizes = np.bincount(shared.texts)
        sizes = sizes[sizes > 0]
        if not len(sizes):
            return cls(shared, np.zeros(0, np.int64), np.zeros(0, np.int64))
        starts = np.cumsum(sizes) - sizes
        least = np.repeat(np.minimum.reduceat(frequencies, starts), sizes)
        ties = np.add.reduceat((frequencies == least).astype(np.int64), starts)
        others = np.where(frequencies == least, np.inf, frequencies)
        # One word is rarest: it pairs with any of the second frequency, and those do not pair
        # among themselves. Or several are equally rare: any two different ones of them pair.
        single = np.repeat(ties == 1, sizes)
        second = np.where(single, np.repeat(np.minimum.reduceat(others, starts), sizes), least)
        kinds = np.where(single, frequencies == least, shared.types)
        return cls(shared, np.flatnonzero(frequencies <= second), kinds)

    def distances(self, entries: Integers, places: Integers) -> Integers:
        """The least distance of two rarest types of each text, 0 where there are no two.

        Args:
            entries: For each occurrence of a rarest type its entry, by text, then by place.
            places: Where each occurrence is.
        """
        texts, kinds = self.shared.texts[entries], self.kinds[entries]
        # The nearest occurrences of different kinds have no kept occurrence between them.
        pairs = np.flatnonzero((texts[1:] == texts[:-1]) & (kinds[1:] != kinds[:-1]))
        far = np.iinfo(np.int64).max
        distances = np.full(self.shared.size, far)
        np.minimum.at(distances, texts[pairs], places[pairs + 1] - places[pairs])
        return np.where(distances == far, 0, distances)
