"""The translation model: how likely a citing text has a word for a word of the cited passage."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.language.citations.translations import Entries
from allusion_es.learning.links import KnownLink, LearningCollection

_ROUNDS = 5
"""Rounds of expectation maximisation; more fit the links ever closer, rare words first."""

_LEAST = 0.01
"""Least probability of a translation: less likely ones are many, and mostly chance."""

_NULL = ""
"""The source of words that no word of the passage explains."""

_LONGEST = 60
"""Words of a text that count: longer texts say more than they cite."""


def learn_translations(
    links: Sequence[KnownLink],
    collection: LearningCollection,
    rounds: int = _ROUNDS,
    least: float = _LEAST,
) -> Entries:
    """Translation probabilities by IBM model 1, from links and the passages that they cite.

    `t(w | u)` is the share of u's alignments that go to w, where in each link each word w is
    aligned with each word u of the passage, and with nothing, in the proportion of t(w | u); at
    the start all are equal. Source: Brown et al. 1993; for retrieval: Berger and Lafferty 1999.

    Args:
        links: Texts with the passages that they cite; a text that cites several passages counts
            for each.
        collection: The passages.
        rounds: Rounds of expectation maximisation.
        least: Probabilities below this are left out.

    Returns:
        For each lemma of cited passages, the lemmas of citing texts with their probabilities.
    """
    numbers: dict[str, int] = {_NULL: 0}
    sources: list[NDArray[np.int32]] = []
    targets: list[NDArray[np.int32]] = []
    sizes: list[NDArray[np.int32]] = []
    for link in links:
        asked = _codes((lemma for _, lemma in link.own_words[:_LONGEST]), numbers)
        for place in link.places:
            cited = _codes([_NULL, *(lemma for _, lemma in collection.texts[place])], numbers)
            sources.append(np.tile(cited, len(asked)))
            targets.append(np.repeat(asked, len(cited)))
            sizes.append(np.full(len(asked), len(cited), dtype=np.int32))
    if not sources:
        return {}
    words = list(numbers)
    pairs = np.concatenate(sources).astype(np.int64) * len(words) + np.concatenate(targets)
    distinct, which = np.unique(pairs, return_inverse=True)
    owners = np.repeat(np.arange(sum(map(len, sizes))), np.concatenate(sizes))
    values = _maximise(distinct // len(words), which, owners, rounds)
    return _entries(distinct, values, words, least)


def _maximise(
    source_of: NDArray[np.int64],
    which: NDArray[np.int64],
    owners: NDArray[np.int64],
    rounds: int,
) -> NDArray[np.float64]:
    """The probability t of each distinct pair.

    Args:
        source_of: The word of a passage in each distinct pair.
        which: The pair of each cell, a cell being a word of a text and one of its passage.
        owners: The word of a text that each cell belongs to.
        rounds: Number of rounds.
    """
    values = np.ones(len(source_of))
    for _ in range(rounds):
        cells = values[which]
        cells /= np.bincount(owners, weights=cells)[owners]
        counts = np.bincount(which, weights=cells, minlength=len(source_of))
        values = counts / np.bincount(source_of, weights=counts)[source_of]
    return values


def _entries(
    distinct: NDArray[np.int64], values: NDArray[np.float64], words: Sequence[str], least: float
) -> Entries:
    """The table of probabilities of at least `least`, without those of the null word."""
    entries: dict[str, dict[str, float]] = {}
    for place in np.flatnonzero(values >= least).tolist():
        source, target = divmod(int(distinct[place]), len(words))
        if source:
            entries.setdefault(words[source], {})[words[target]] = float(values[place])
    return entries


def _codes(lemmas: Iterable[str], numbers: dict[str, int]) -> NDArray[np.int32]:
    distinct = dict.fromkeys(lemmas)
    return np.array([numbers.setdefault(w, len(numbers)) for w in distinct], dtype=np.int32)
