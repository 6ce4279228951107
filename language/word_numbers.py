"""Numbers of words, with a memory for many words that are asked for together."""

from allusion_es.core.arrays import Integers
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.latest import Latest


_REMEMBERED = 4


class WordNumbers(dict[str, int]):
    """The place of each of some distinct words.

    Rerankers ask again and again for the same thousands of words; whole tuples of them are
    remembered, the last few, and not looked up word by word.

    Args:
        words: Each once.

    Example:
        >>> WordNumbers(["deus", "lux"]).of(("lux", "nox"))
        array([ 1, -1])
    """

    def __init__(self, words: Iterable[str]) -> None:
        super().__init__((word, number) for number, word in enumerate(words))
        self._latest: Latest[Integers] = Latest(_REMEMBERED)

    def of(self, words: Sequence[str]) -> Integers:
        """The place of each, -1 for those that are not there; shape (len(words),)."""
        if not isinstance(words, tuple):
            return self._looked_up(words)
        return self._latest.get(lambda: self._looked_up(words), words)

    def remember(self, words: tuple[str, ...], numbers: Integers) -> None:
        """Keep what `of` would give for words that will be asked for."""
        self._latest.get(lambda: numbers, words)

    def _looked_up(self, words: Sequence[str]) -> Integers:
        number = self.get
        return np.array([number(word, -1) for word in words], dtype=np.int64)
