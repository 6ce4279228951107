"""A listing of a source text, line by line, with what is left out, for an editor to check."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from allusion_es.corpora.left_out import LeftOut
from allusion_es.corpora.source_text import Place, SourceText


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of a source text with the same page, line and section throughout.

    Attributes:
        start: Its first character, an offset in the text.
        end: The offset after its last character.
        text: Its characters.
        place: Its page, line and section.
    """

    start: int
    end: int
    text: str
    place: Place


def listing(source: SourceText) -> Iterator[Stretch | LeftOut]:
    r"""Yield all stretches of a text and all that is left out of it, in the order of the file.

    A stretch is as long as page, line and section stay the same, and at most a line of the text.
    A word over a line end belongs to the line on which it begins. What is left out comes after the
    stretch that it stands in. All characters of the text but blanks are in exactly one stretch.

    Args:
        source: The text.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from allusion_es.corpora.source import read_source
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.txt")
        ...     _ = path.write_text("Gustate\net videte.")
        ...     [(each.place.line, each.text) for each in listing(read_source(path))]
        [('1', 'Gustate'), ('2', 'et videte.')]
    """
    waiting = iter(source.left_out)
    omission = next(waiting, None)
    for start, end in _stretches(source):
        # What is left out before a stretch's first word is listed before the stretch.
        while omission is not None and omission.start <= start and omission.start < end:
            yield omission
            omission = next(waiting, None)
        yield Stretch(start, end, source.text[start:end], source.place(start, end))
        while omission is not None and omission.start < end:
            yield omission
            omission = next(waiting, None)
    while omission is not None:
        yield omission
        omission = next(waiting, None)


def place_label(place: Place, start: int) -> str:
    """Return section, page and line of a place, as far as known; else the offset.

    Example:
        >>> place_label(Place("12", "3", "1.4", "", 40, 7), 99)
        '1.4, p. 12, l. 3'
        >>> place_label(Place("", "", "", "", 40, 7), 99)
        'char. 99'
    """
    parts = (place.section, place.page and f"p. {place.page}", place.line and f"l. {place.line}")
    return ", ".join(filter(None, parts)) or f"char. {start}"


def _stretches(source: SourceText) -> Iterator[tuple[int, int]]:
    """Yield start and end of each stretch, without blanks at its ends."""
    text = source.text
    borders = {match.end() for match in re.finditer("\n", text)}
    for labels in (source.pages, source.lines, source.sections):
        before = ""
        for place, label in zip(labels.starts, labels.labels, strict=True):
            if label != before or labels is source.pages:
                borders.add(_word_end(text, place))
            before = label
    start = 0
    for border in sorted((*borders, len(text))):
        if stretch := text[start:border].strip():
            first = start + text[start:border].index(stretch)
            yield first, first + len(stretch)
        start = max(start, border)


def _word_end(text: str, place: int) -> int:
    """The place itself, or, inside a word, the end of the word and its punctuation."""
    while 0 < place < len(text) and not text[place - 1].isspace() and not text[place].isspace():
        place += 1
    return place
