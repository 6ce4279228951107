"""Scanning a text for allusions, block by block, in this process or in several.

A scan cuts the text into blocks (`cut`), reads each (`Scanner.scan_block`: `reading.read`, or
`ranked.RankedReader` in collections other than the Bible, the model's probabilities,
`choosing.choose` and `joined`), and settles what two blocks both found on
their border (`seamless`).
"""

import re
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from allusion_es.core.errors import UsageError
from allusion_es.core.processes import in_processes
from allusion_es.corpora.findings import Finding
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.source_text import SourceText
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import index_analyser
from allusion_es.retrieval.works import OwnWork, known_names
from allusion_es.scanning.choosing import LEAST_SHARE, Choice, choose, finding_of, joined
from allusion_es.scanning.features import PassageVectors
from allusion_es.scanning.measured import is_ranked, scan_model, unmeasured
from allusion_es.scanning.model import ScanOptions, probabilities_of
from allusion_es.scanning.ranked import RankedReader
from allusion_es.scanning.reading import Reading, read

# Blocks: parts of a text that can be scanned one by one, in any process.

WORDS = 1_000
"""Words of a block: memory is bounded, and a stopped scan loses little."""

MARGIN = 60
"""Words on each side of a block that are read with it; longer than nearly every finding."""

_RUN = re.compile(r"\S+")
"""A word between blanks."""

_HYPHENS = ("-", "\u2010", "\u00ac", "\u00ad", "\u2e17", "=")
"""Characters at the end of a line that break a word: hyphens, the not sign, old hyphens."""


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
    # An array of starts, not a list of words: a text of millions of words must fit in memory.
    starts = array("q")
    broken = False
    for match in _RUN.finditer(text):
        if not broken:
            starts.append(match.start())
        broken = text.endswith(_HYPHENS, match.start(), match.end())
    for number, first in enumerate(range(0, len(starts), words)):
        last = first + words
        start = starts[first] if first else 0
        end = starts[last] if last < len(starts) else len(text)
        offset = starts[max(0, first - margin)] if first else 0
        until = starts[last + margin] if last + margin < len(starts) else len(text)
        yield Block(number, text[offset:until], offset, start, end)


OpenIndex = Callable[[], CandidateIndex]
"""Opens the index; other processes call it too, so it must be a function of a module."""

Scanned = tuple[Block, list[Finding]]
"""A block and the findings that start in it."""

_SEQUENCE = 0.5
"""Share of the threshold that part of a sequence needs: joined, the whole has the best of all."""


class Scanner:
    """Finds every stretch of a text that alludes to passages of an index.

    Args:
        index: The passages.
        options: What to look for.

    Attributes:
        index: As given.
        options: As given, or the defaults.
        threshold: The probability that findings need.
        measured: Precision and recall that were measured at this threshold, or near it; None
            where nothing was, or it does not hold for this scan.
        points: All that was measured, by ascending threshold; empty where nothing holds.
        unmeasured: Why nothing that was measured holds for this scan, or ""; see
            `measured.unmeasured`.
        own_note: Which work is left out since it is the text itself (`of_text`), or "".

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
        options = options or ScanOptions()
        options = replace(options, search_filter=known_names(options.search_filter, index))
        self.index = index
        self.options = options
        self._analyser = index_analyser(index)
        self.own_note = ""
        self._citations = None if options.fast else index.citations
        self._vectors = None if self._citations is None else PassageVectors(self._citations)
        self._ranked: RankedReader | None = None
        if is_ranked(index, options):
            self._ranked = RankedReader(index, options.search_filter)
        self._model = scan_model(index, options)
        if options.precision is not None:
            self.threshold = self._model.threshold_for(options.precision)
        elif options.threshold is not None:
            self.threshold = options.threshold
        else:
            self.threshold = self._model.threshold
        self.unmeasured = unmeasured(index, options)
        self.measured = None if self.unmeasured else self._model.measured(self.threshold)
        self.points = () if self.unmeasured else self._model.points

    def of_text(self, source: SourceText) -> "Scanner":
        """The scanner for a text: where the index has the text itself, it is left out."""
        own = OwnWork(self.index, self.options.search_filter)
        search_filter = own.filter_of(source.work)
        if search_filter == self.options.search_filter:
            return self
        scanner = Scanner(self.index, replace(self.options, search_filter=search_filter))
        scanner.own_note = own.note
        return scanner

    def scan(self, source: SourceText, stop: Callable[[], bool] | None = None) -> Iterator[Finding]:
        """The findings of a text in its order, as they are made.

        Args:
            source: The text.
            stop: Called before each block; if it returns True the scan ends there.
        """
        return seamless(found for _, found in self.blocks(cut(source.text), stop))

    def blocks(
        self, blocks: Iterable[Block], stop: Callable[[], bool] | None = None
    ) -> Iterator[Scanned]:
        """Each block and the findings that start in it."""
        for block in blocks:
            if stop is not None and stop():
                return
            yield block, self.scan_block(block)

    def scan_block(self, block: Block) -> list[Finding]:
        """The findings that start in a block, in the order of the text."""
        analysis = self._analyser.analyse(block.text)
        if not analysis.tokens:
            return []
        options, least = self.options, self.threshold * _SEQUENCE
        if self._ranked is not None:
            reading = self._ranked.read(block.text, analysis)
        else:
            reading = read(
                self.index,
                analysis,
                options.search_filter,
                self._citations,
                fast=options.fast,
                passage_vectors=self._vectors,
                promising=partial(self._model.promising, least=least * LEAST_SHARE),
            )
        odds = self._model.log_odds(reading.features)
        choices = choose(reading, odds, probabilities_of(odds), least)
        passages = self._passages(reading, choices)
        choices = joined(choices, partial(_follows, passages))
        return [
            finding_of(
                choice,
                reading,
                block.text,
                block.offset,
                passages,
                options.top,
                calibrated=not self.unmeasured,
            )
            for choice in choices
            if choice.probability >= self.threshold
            and block.start <= block.offset + analysis.spans[choice.first][0] < block.end
        ]

    def _passages(self, reading: Reading, choices: Sequence[Choice]) -> dict[int, Passage]:
        """All passages that choices name, by their numbers."""
        numbers = sorted(
            {n for choice in choices for each in (choice, *choice.others) for n in each.passages}
        )
        found = self.index.passages([reading.texts.ids[number] for number in numbers])
        return dict(zip(numbers, found, strict=True))


def _follows(passages: dict[int, Passage], one: int, other: int) -> bool:
    """Whether a passage comes right after another one in its book of a work."""
    first, second = passages[one], passages[other]
    places = [(each.author, each.work, each.book) for each in (first, second)]
    return places[0] == places[1] and first.order + 1 == second.order


def scan_in_processes(
    open_index: OpenIndex, options: ScanOptions, blocks: Iterable[Block], workers: int
) -> Iterator[Scanned]:
    """Each block and its findings, as `Scanner.blocks` gives them, from several processes.

    Args:
        open_index: Opens the index in each process.
        options: What to look for.
        blocks: The blocks to scan; a few are taken at a time.
        workers: Number of processes.

    Raises:
        UsageError: `workers` is below 1.
        AllusionError: As scanning raises; or a process died.
    """
    if workers < 1:
        raise UsageError(f"workers must be at least 1, not {workers}")
    if workers == 1:
        yield from Scanner(open_index(), options).blocks(blocks)
        return
    start = partial(_block_scanner, open_index, options)
    advice = "use --resume to go on from what was done, with fewer --workers"
    # Processes finish blocks in any order. Numbers may have gaps, since a scan that goes on leaves
    # out what is done, so that the order in which blocks were handed out is kept.
    order: deque[int] = deque()
    waiting: dict[int, Scanned] = {}

    def handed_out() -> Iterator[Block]:
        for block in blocks:
            order.append(block.number)
            yield block

    for block, found in in_processes(start, handed_out(), workers, advice):
        waiting[block.number] = (block, found)
        while order and order[0] in waiting:
            yield waiting.pop(order.popleft())


def _block_scanner(open_index: OpenIndex, options: ScanOptions) -> Callable[[Block], list[Finding]]:
    """The function that a process calls for each block, with an index of its own."""
    return Scanner(open_index(), options).scan_block


def seamless(found: Iterable[Iterable[Finding]]) -> Iterator[Finding]:
    """The findings of all blocks in order; of two that overlap by half only the likelier one.

    Two blocks may each find the same words on their border, since both read them.
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
    """Whether two findings share at least half of the shorter one's characters."""
    common = min(one.end, other.end) - max(one.start, other.start)
    return 2 * common >= min(one.end - one.start, other.end - other.start)
