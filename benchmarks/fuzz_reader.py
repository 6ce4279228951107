"""What is fuzzed: a reader, valid inputs to begin with, and how they are made hostile."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fuzz_mutate import Mutation, mutate_bytes
from numpy.typing import ArrayLike

Files = Mapping[str, bytes]
"""Files by name; the first is what the reader is given."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader under test.

    Attributes:
        name: Its name.
        seeds: Valid inputs; of one of them, one file is made hostile.
        read: Reads the first file, and asks of what was read all that users ask.
        words: Words of the format.
        mutate: How bytes are made hostile.
        reads: Folders of the program's own that it may read from, too.
    """

    name: str
    seeds: tuple[Files, ...]
    read: Callable[[Path], object]
    words: tuple[bytes, ...] = ()
    mutate: Mutation = mutate_bytes
    reads: tuple[Path, ...] = ()


def finite(*numbers: ArrayLike) -> None:
    """NaN and infinity never leave a function."""
    for each in numbers:
        assert np.isfinite(np.asarray(each, dtype=np.float64)).all(), "a number is not finite"


def printable(*texts: str) -> None:
    """Half a character cannot be printed, saved or sent."""
    for text in texts:
        text.encode()
