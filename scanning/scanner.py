"""Scanning a text: block by block, in this process or in several, in the order of the text."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from allusion_es.core.errors import UsageError
from allusion_es.core.processes import in_processes
from allusion_es.corpora.findings import Finding
from allusion_es.corpora.source import SourceText
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.scanning.block_scanner import BlockScanner, OpenIndex
from allusion_es.scanning.blocks import Block, cut
from allusion_es.scanning.options import ScanOptions

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
        >>> from allusion_es.retrieval.memory import index_texts
        >>> from allusion_es.scanning.options import ScanOptions
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
