"""Scanning a text: block by block, in this process or in several, in the order of the text."""

import re
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.errors import UsageError
from allusion_es.core.processes import in_processes
from allusion_es.corpora.bible.references import format_references, is_verse_id
from allusion_es.corpora.findings import Alternative, Finding
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.source import SourceText
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import index_analyser
from allusion_es.scanning.choosing import Choice, choose, joined, kind_of
from allusion_es.scanning.measured import unmeasured
from allusion_es.scanning.model import Calibration, ScanOptions, calibration
from allusion_es.scanning.reading import Reading, read

# Cutting a text into blocks that can be scanned one by one, in any process.


WORDS = 1_000
"""Words of a block."""

MARGIN = 60
"""Words on each side of a block that are read with it; longer than nearly every finding."""

_RUN = re.compile(r"\S+")
_BROKEN = ("-", "\u2010", "\u00ac", "\u00ad", "\u2e17", "=")


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


# Scanning one block of a text: its words in, its findings out.


OpenIndex = Callable[[], CandidateIndex]
"""Opens the index; other processes call it too, so it must be a function of a module."""

_CARRYING = 8
_SEQUENCE = 0.5
"""Share of the threshold that part of a sequence needs."""

_SAYS_LITTLE = 2.0


class BlockScanner:
    """Finds what the words of a block allude to.

    Args:
        index: The passages.
        options: What to look for.

    Attributes:
        model: The model that says how likely a finding is.
        threshold: The probability that findings need.
        unmeasured: Why its probabilities are not calibrated, or ""; see `measured.unmeasured`.

    Raises:
        SettingsMismatchError: The index was analysed in another way.
        UsageError: There is no threshold of such a precision.
    """

    def __init__(self, index: CandidateIndex, options: ScanOptions) -> None:
        self._index = index
        self._options = options
        self._analyser = index_analyser(index)
        self._citations = None if options.fast else index.citations
        self.model = _model(options, self._citations is not None)
        self.threshold = _threshold(options, self.model)
        self.unmeasured = unmeasured(index, options)

    def scan(self, block: Block) -> list[Finding]:
        """The findings that start in a block, in the order of the text."""
        analysis = self._analyser.analyse(block.text)
        if not analysis.tokens:
            return []
        reading = read(
            self._index,
            analysis,
            self._options.search_filter,
            self._citations,
            fast=self._options.fast,
        )
        odds = self.model.log_odds(reading.features)
        probabilities = self.model.probabilities(reading.features)
        choices = choose(reading, odds, probabilities, self.threshold * _SEQUENCE)
        passages = self._passages(reading, choices)
        choices = joined(choices, partial(_follows, passages))
        return [
            _finding(
                reading, block, choice, passages, self._options.top, calibrated=not self.unmeasured
            )
            for choice in choices
            if choice.probability >= self.threshold
            and block.start <= block.offset + analysis.spans[choice.first][0] < block.end
        ]

    def _passages(self, reading: Reading, choices: Sequence[Choice]) -> dict[int, Passage]:
        """All passages that findings name, by their numbers."""
        numbers = sorted(
            {n for choice in choices for each in (choice, *choice.others) for n in each.passages}
        )
        found = self._index.passages([reading.texts.ids[number] for number in numbers])
        return dict(zip(numbers, found, strict=True))


def _model(options: ScanOptions, has_citations: bool) -> Calibration:
    if options.fast:
        return calibration("fast")
    return calibration("default" if has_citations else "words")


def _threshold(options: ScanOptions, model: Calibration) -> float:
    if options.precision is not None:
        return model.threshold_for(options.precision)
    return model.threshold if options.threshold is None else options.threshold


def _follows(passages: dict[int, Passage], one: int, other: int) -> bool:
    """Whether a passage comes right after another one in its book."""
    first, second = passages[one], passages[other]
    return (first.work, first.book, first.order + 1) == (second.work, second.book, second.order)


def _finding(
    reading: Reading,
    block: Block,
    choice: Choice,
    passages: dict[int, Passage],
    top: int,
    *,
    calibrated: bool,
) -> Finding:
    spans = reading.analysis.spans
    start, end = spans[choice.first][0], spans[choice.last][1]
    named = [passages[number] for number in choice.passages]
    return Finding(
        start=block.offset + start,
        end=block.offset + end,
        text=block.text[start:end],
        passages=tuple(passage.id for passage in named),
        reference=reference(named),
        score=choice.log_odds,
        probability=choice.probability,
        kind=_kind(reading, choice),
        words=_carrying(reading, block, choice),
        alternatives=tuple(
            Alternative(
                tuple(passages[number].id for number in other.passages),
                reference([passages[number] for number in other.passages]),
                other.log_odds,
                other.probability,
            )
            for other in choice.others[: top - 1]
        ),
        calibrated=calibrated,
    )


def reference(passages: Sequence[Passage]) -> str:
    """What people read for passages in a row.

    Example:
        >>> reference([Passage("Ps.33.9", ""), Passage("Ps.33.10", "")])
        'Ps 33,9-10'
        >>> reference([Passage("a", "", reference="I 1"), Passage("b", "", reference="I 2")])
        'I 1-I 2'
    """
    if all(is_verse_id(passage.id) for passage in passages):
        return format_references(passage.id for passage in passages)
    names = [passage.reference or passage.id for passage in passages]
    return names[0] if len(names) == 1 else f"{names[0]}-{names[-1]}"


def _kind(reading: Reading, choice: Choice) -> str:
    found = reading.found
    inside = _inside(reading, choice)
    total = float(reading.weights[choice.first : choice.last + 1].sum())
    return kind_of(
        words=len(inside),
        total=total,
        in_order=float(found.alignments.scores[list(choice.segments)].sum()),
        same_form=float(found.worth[inside][found.same_form[inside]].sum()),
        shared=float(found.worth[inside].sum()),
    )


def _matches(reading: Reading, choice: Choice) -> NDArray[np.int64]:
    """The numbers of all matches of a finding's segments."""
    segments = reading.found.segments
    bounds = list(zip(segments.begins.tolist(), segments.ends.tolist(), strict=True))
    return np.concatenate([np.arange(*bounds[number]) for number in choice.segments])


def _inside(reading: Reading, choice: Choice) -> NDArray[np.int64]:
    """Those of its matches that lie between its bounds."""
    matches = _matches(reading, choice)
    places = reading.found.matches.places[matches]
    return matches[(places >= choice.first) & (places <= choice.last)]


def _carrying(reading: Reading, block: Block, choice: Choice) -> tuple[str, ...]:
    """The words as printed that weigh most, each once; where none weighs much, the heaviest."""
    found = reading.found
    matches = _inside(reading, choice)
    places, worth = found.matches.places[matches], found.worth[matches]
    order = np.lexsort((places, -worth)).tolist()
    heavy = [number for number in order if worth[number] >= _SAYS_LITTLE] or order[:1]
    spans = [reading.analysis.spans[int(places[number])] for number in heavy]
    return tuple(dict.fromkeys(block.text[start:end] for start, end in spans))[:_CARRYING]


Scanned = tuple[Block, list[Finding]]
"""A block and what was found in it."""


class Scanner:
    """Finds every stretch of a text that alludes to passages of an index.

    Args:
        index: The passages.
        options: What to look for.

    Attributes:
        threshold: The probability that findings need.
        measured: What was measured at this threshold, or near it; None where nothing was, or it
            does not hold for this scan.
        unmeasured: Why nothing that was measured holds for this scan, or "".

    Raises:
        SettingsMismatchError: The index was analysed in another way.
        UsageError: There is no threshold of such a precision.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from allusion_es.corpora.source import read_source
        >>> from allusion_es.local.memory import index_texts
        >>> from allusion_es.scanning.model import ScanOptions
        >>> verses = {f"Ps.1.{n}": f"uerbum{n}" for n in range(2, 400)}
        >>> index = index_texts(verses | {"Ps.33.9": "Gustate et uidete quoniam suauis"})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "sermo.txt")
        ...     _ = path.write_text("Ideo dicit: gustate et videte, fratres, quoniam suavis")
        ...     source = read_source(path)
        >>> scanner = Scanner(index, ScanOptions(threshold=0.01))
        >>> [(found.text, found.passages) for found in scanner.scan(source)]
        [('gustate et videte, fratres, quoniam suavis', ('Ps.33.9',))]
    """

    def __init__(self, index: CandidateIndex, options: ScanOptions | None = None) -> None:
        self._scanner = BlockScanner(index, options or ScanOptions())
        self.threshold = self._scanner.threshold
        self.unmeasured = self._scanner.unmeasured
        self.measured = None if self.unmeasured else self._scanner.model.measured(self.threshold)

    def scan(self, source: SourceText, stop: Callable[[], bool] | None = None) -> Iterator[Finding]:
        """The findings of a text in its order, as they are made.

        Args:
            source: The text.
            stop: Asked before each block; once it says yes, nothing more is looked at.
        """
        return seamless(found for _, found in self.blocks(cut(source.text), stop))

    def blocks(
        self, blocks: Iterable[Block], stop: Callable[[], bool] | None = None
    ) -> Iterator[Scanned]:
        """Each block and the findings that start in it."""
        for block in blocks:
            if stop is not None and stop():
                return
            yield block, self._scanner.scan(block)


def scan_in_processes(
    open_index: OpenIndex, options: ScanOptions, blocks: Iterable[Block], workers: int
) -> Iterator[Scanned]:
    """What `Scanner.blocks` gives, in the same order, from several processes.

    Args:
        open_index: Opens the index in each process.
        options: What to look for.
        blocks: What to scan; read a few at a time.
        workers: How many processes.

    Raises:
        UsageError: `workers` is below 1.
        AllusionError: As scanning raises; or a process died.
    """
    if workers < 1:
        raise UsageError(f"workers must be at least 1, not {workers}")
    if workers == 1:
        yield from Scanner(open_index(), options).blocks(blocks)
        return
    start = partial(_start, open_index, options)
    advice = "use --resume to go on from what was done, with fewer --workers"
    # Numbers may have gaps: a scan that goes on leaves out what is done.
    order: deque[int] = deque()
    waiting: dict[int, Scanned] = {}
    for block, found in in_processes(start, _noted(blocks, order), workers, advice):
        waiting[block.number] = (block, found)
        while order and order[0] in waiting:
            yield waiting.pop(order.popleft())


def _noted(blocks: Iterable[Block], order: deque[int]) -> Iterator[Block]:
    for block in blocks:
        order.append(block.number)
        yield block


def _start(open_index: OpenIndex, options: ScanOptions) -> Callable[[Block], list[Finding]]:
    return BlockScanner(open_index(), options).scan


def seamless(found: Iterable[Iterable[Finding]]) -> Iterator[Finding]:
    """The findings of all blocks; of two that share half their words the likelier one.

    Two blocks may each find what lies on their border.
    """
    held: Finding | None = None
    for some in found:
        for finding in some:
            if held is not None and _overlap(held, finding):
                if finding.probability > held.probability:
                    held = finding
                continue
            if held is not None:
                yield held
            held = finding
    if held is not None:
        yield held


def _overlap(one: Finding, other: Finding) -> bool:
    common = min(one.end, other.end) - max(one.start, other.start)
    return 2 * common >= min(one.end - one.start, other.end - other.start)
