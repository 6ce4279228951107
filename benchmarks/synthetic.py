"""Collections that look like Latin, of any size: words follow each other as in the Vulgate.

A word follows the two before it as often as it does there (a trigram model). Where these two
stand together only once, the last alone decides, so that verses are not simply copied; one word
in twenty is drawn without regard to the others. One word in a hundred is made of two halves of
others, since larger collections have more distinct words. Passages are as long as verses are.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Integers
from allusion_es.core.files import data_dir
from allusion_es.corpora.bible.vulgate import read_vulgate
from allusion_es.corpora.packages import VULGATE

_FREE = 0.05
_NEW = 0.01
_TOGETHER = 10_000


class Followers:
    """Where a text goes on after each of its places.

    Args:
        contexts: What decides at each place, shape (places,).
    """

    def __init__(self, contexts: Integers) -> None:
        self._order = np.argsort(contexts, kind="stable")
        ordered = contexts[self._order]
        firsts = np.searchsorted(ordered, contexts)
        self.counts = np.searchsorted(ordered, contexts, "right") - firsts
        self._firsts = firsts

    def draw(self, places: Integers, random: NDArray[np.float64]) -> Integers:
        """For each place another one with the same context, by numbers from 0 to 1."""
        chosen = (random * self.counts[places]).astype(np.int64)
        found: Integers = self._order[self._firsts[places] + chosen]
        return found


class Synthetic:
    """Draws passages.

    Args:
        seed: The same seed gives the same passages.
    """

    def __init__(self, seed: int = 1) -> None:
        verses = [p.text.split() for p in read_vulgate(VULGATE.path(data_dir()))]
        self._words, codes = np.unique(
            np.array([word for verse in verses for word in verse]), return_inverse=True
        )
        self._lengths = np.array([len(verse) for verse in verses if verse])
        self._codes = codes
        size = len(self._words)
        before = np.concatenate(([-1], codes[:-1]))
        self._pairs = Followers((before + 1) * (size + 1) + codes)
        self._singles = Followers(codes)
        self._random = np.random.default_rng(seed)

    def texts(self, count: int) -> Iterator[str]:
        """So many passages."""
        for start in range(0, count, _TOGETHER):
            yield from self._some(min(_TOGETHER, count - start))

    def _some(self, count: int) -> list[str]:
        random = self._random
        lengths = random.choice(self._lengths, count)
        last = len(self._codes) - 1
        places = random.integers(0, last, count)
        columns = np.empty((int(lengths.max()), count), dtype=np.int64)
        for row in columns:
            row[:] = self._codes[places]
            draw = random.random((2, count))
            found = np.where(
                self._pairs.counts[places] > 1,
                self._pairs.draw(places, draw[0]),
                self._singles.draw(places, draw[0]),
            )
            free = random.integers(0, last, count)
            places = np.where(draw[1] < _FREE, free, np.minimum(found, last - 1) + 1)
        words = self._words[columns]
        new = random.random(columns.shape) < _NEW
        others = self._words[random.choice(self._codes, int(new.sum()))]
        halves = zip(words[new], others, strict=True)
        words = words.astype(object)
        words[new] = [
            one[: (len(one) + 1) // 2] + other[len(other) // 2 :] for one, other in halves
        ]
        return [" ".join(words[: lengths[n], n]) for n in range(count)]


def write_collection(path: Path, passages: int, seed: int = 1) -> None:
    """Write a table of passages for `allusion-es index`."""
    with path.open("w", encoding="utf-8") as file:
        file.write("id\twork\ttext\n")
        for number, text in enumerate(Synthetic(seed).texts(passages)):
            file.write(f"s{number:09d}\topus {number // 10_000}\t{text}\n")
