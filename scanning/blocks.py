"""Cutting a text into blocks that can be scanned one by one, in any process."""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from allusion_es.core.errors import UsageError

WORDS = 1_000
"""Words of a block."""

MARGIN = 60
"""Words on each side of a block that are read with it; longer than nearly every finding."""

_RUN = re.compile(r"\S+")
_BROKEN = ("-", "\u2010", "\u00ac", "\u00ad")


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text, with a margin on both sides.

    Attributes:
        number: Its place among the blocks, from 0.
        text: Its characters, margins included.
        offset: Where `text` starts, in characters of the whole text.
        start: Where the block itself starts; findings that start in it are its own.
        end: Where the block itself ends, exclusive.
    """

    number: int
    text: str
    offset: int
    start: int
    end: int


def cut(text: str, words: int = WORDS, margin: int = MARGIN) -> Iterator[Block]:
    """The blocks of a text, which together own each of its characters once.

    Cuts fall before a word, and never behind the hyphen of a broken one.

    Args:
        text: Any text.
        words: Words of a block, between blanks, at least 1.
        margin: Words on each side.

    Raises:
        UsageError: A number is too small.

    Example:
        >>> for block in cut("in principio creauit deus", words=2, margin=1):
        ...     print(repr(block.text), block.offset, block.start, block.end)
        'in principio creauit ' 0 0 13
        'principio creauit deus' 3 13 25
    """
    if words < 1 or margin < 0:
        raise UsageError(f"blocks of {words} words with margins of {margin}: use at least 1 and 0")
    return _blocks(text, words, margin)


def _blocks(text: str, words: int, margin: int) -> Iterator[Block]:
    starts = array("q")
    broken = False
    for match in _RUN.finditer(text):
        if not broken:
            starts.append(match.start())
        broken = text.endswith(_BROKEN, match.start(), match.end())
    for number, first in enumerate(range(0, len(starts), words)):
        last = first + words
        start = starts[first] if first else 0
        end = starts[last] if last < len(starts) else len(text)
        offset = starts[max(0, first - margin)] if first else 0
        until = starts[last + margin] if last + margin < len(starts) else len(text)
        yield Block(number, text[offset:until], offset, start, end)
