"""Windows over passages: several verses joined into one passage, or a passage cut into pieces."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from allusion_es.core.errors import UsageError
from allusion_es.corpora.bible.references import format_references, is_verse_id
from allusion_es.corpora.passage import Passage

# Letters with the accents that follow them, so that decomposed text is not cut inside a letter.
_WORD = re.compile(r"[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*)*")

_NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)
"""A reference that ends with a number, and what stands before it."""


def passage_windows(passages: Iterable[Passage], size: int, step: int = 1) -> Iterator[Passage]:
    """Yield windows of several passages that follow each other in a book of a work.

    A window's text joins its passages' texts with blanks; its id is that of its first passage,
    a hyphen, and that of its last. It never goes over the end of a book or work. The last
    window of each may be shorter; a window wholly inside the one before is left out. Windows
    of one passage keep its id.

    Args:
        passages: In the order of the text.
        size: Passages in a window, at least 1.
        step: Passages from the start of one window to the next, at least 1.

    Raises:
        UsageError: `size` or `step` is less than 1.

    Example:
        >>> verses = [Passage(f"Ps.22.{n}", f"v{n}", book="Ps", chapter=22) for n in (1, 2, 3)]
        >>> [(window.id, window.reference) for window in passage_windows(verses, 2)]
        [('Ps.22.1-Ps.22.2', 'Ps 22,1-2'), ('Ps.22.2-Ps.22.3', 'Ps 22,2-3')]
    """
    _check(size, step)
    return _passage_windows(passages, size, step)


def word_windows(passages: Iterable[Passage], size: int, step: int) -> Iterator[Passage]:
    """Yield windows of a number of words, cut from each passage.

    Words are runs of letters. A window's text is cut from the passage's at the first and last
    word, with what stands between; its id is the passage's id, `#`, and the numbers of its
    first and last word, from 1. The last window may be shorter; a window wholly inside the one
    before is left out. A passage without words gives none. Tokens and lemmas that the user
    brought are left out, since they need not be these words.

    Args:
        passages: Any passages.
        size: Words in a window, at least 1.
        step: Words from the start of one window to the next, at least 1.

    Raises:
        UsageError: `size` or `step` is less than 1.

    Example:
        >>> [(window.id, window.text) for window in word_windows(
        ...     [Passage("s1", "Gustate, et videte: quoniam suavis.")], size=3, step=2)]
        [('s1#1-3', 'Gustate, et videte'), ('s1#3-5', 'videte: quoniam suavis')]
    """
    _check(size, step)
    return _word_windows(passages, size, step)


def _check(size: int, step: int) -> None:
    for name, value in (("size", size), ("step", step)):
        if value < 1:
            raise UsageError(f"the {name} of windows is {value}; it must be at least 1")


def _passage_windows(passages: Iterable[Passage], size: int, step: int) -> Iterator[Passage]:
    for order, run in enumerate(_passage_runs(passages, size, step)):
        yield joined_passage(run, order)


def _passage_runs(passages: Iterable[Passage], size: int, step: int) -> Iterator[Sequence[Passage]]:
    """Yield the passages of each window; memory holds one window at a time."""
    held: deque[Passage] = deque()
    # How many passages to skip before the next window, and how many of those held are in no
    # window yet (if there are any at the end of a book, they make a last, shorter window).
    skip = fresh = 0
    place: tuple[str, str, str] | None = None
    for passage in passages:
        if (passage.author, passage.work, passage.book) != place:
            if fresh:
                yield tuple(held)
            held.clear()
            skip = fresh = 0
            place = (passage.author, passage.work, passage.book)
        if skip:
            skip -= 1
            continue
        held.append(passage)
        fresh += 1
        if len(held) == size:
            yield tuple(held)
            fresh = 0
            skip = max(step - size, 0)
            for _ in range(min(step, size)):
                held.popleft()
    if fresh:
        yield tuple(held)


def joined_passage(run: Sequence[Passage], order: int) -> Passage:
    """The passage that passages in a row make: their texts with blanks between, and their range.

    Args:
        run: The passages, at least one, of one book of a work.
        order: Its place in the collection.
    """
    first, last = run[0], run[-1]
    if len(run) == 1:
        return replace(first, order=order)
    return replace(
        first,
        id=f"{first.id}-{last.id}",
        text=" ".join(passage.text for passage in run),
        order=order,
        reference=range_reference(run),
        tokens=_chained([passage.tokens for passage in run]),
        lemmas=_chained([passage.lemmas for passage in run]),
    )


def range_reference(run: Sequence[Passage]) -> str:
    """The reference that people read for passages in a row.

    Of the last one only the number is repeated where the rest is that of the first.

    Example:
        >>> range_reference([Passage("Ps.33.9", ""), Passage("Ps.33.10", "")])
        'Ps 33,9-10'
        >>> range_reference([Passage("luc._1.9", "", reference=f"luc. 1.{n}") for n in (9, 10)])
        'luc. 1.9-10'
        >>> range_reference([Passage("a", ""), Passage("b", "")])
        'a-b'
    """
    if all(is_verse_id(passage.id) for passage in run):
        return format_references(passage.id for passage in run)
    first, last = (passage.reference or passage.id for passage in (run[0], run[-1]))
    if first == last:
        return first
    begins, ends = (_NUMBERED.fullmatch(name) for name in (first, last))
    if begins and ends and begins[1] == ends[1]:
        last = ends[2]
    return f"{first}-{last}"


def _chained(parts: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """All words in one tuple; None if one passage has none, since tokens and text would differ."""
    words: list[str] = []
    for part in parts:
        if part is None:
            return None
        words += part
    return tuple(words)


def _word_windows(passages: Iterable[Passage], size: int, step: int) -> Iterator[Passage]:
    order = 0
    for passage in passages:
        spans = [match.span() for match in _WORD.finditer(passage.text)]
        for start in range(0, len(spans), step):
            # A window wholly inside the one before would add nothing.
            if start and start + max(size - step, 0) >= len(spans):
                break
            window = spans[start : start + size]
            numbers = f"{start + 1}-{start + len(window)}"
            yield replace(
                passage,
                id=f"{passage.id}#{numbers}",
                text=passage.text[window[0][0] : window[-1][1]],
                order=order,
                reference=f"{passage.reference or passage.id} #{numbers}",
                tokens=None,
                lemmas=None,
            )
            order += 1


def windowed(
    passages: Iterable[Passage], window: int | None, window_words: int | None, step: int | None
) -> Iterable[Passage]:
    """The passages themselves, or windows over them where a size is given.

    Args:
        passages: In the order of the text.
        window: Passages of a window, or None.
        window_words: Words of a window, or None.
        step: From one window to the next; half a window by default.

    Raises:
        UsageError: Both sizes are given, or a step without a size, or a number is below 1.

    Example:
        >>> verses = [Passage("Ps.1.1", "Beatus vir"), Passage("Ps.1.2", "sed in lege")]
        >>> [each.id for each in windowed(verses, 2, None, None)]
        ['Ps.1.1-Ps.1.2']
    """
    if window is not None and window_words is not None:
        raise UsageError("window and window words exclude each other; give one")
    size = window if window is not None else window_words
    if size is None:
        if step is not None:
            raise UsageError("it needs a window or window words", argument="step")
        return passages
    for argument, value in (("window", window), ("window_words", window_words), ("step", step)):
        if value is not None and value < 1:
            raise UsageError(f"must be at least 1, not {value}", argument=argument)
    make = passage_windows if window is not None else word_windows
    return make(passages, size, max(1, size // 2) if step is None else step)
