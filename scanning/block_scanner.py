"""Scanning one block of a text: its words in, its findings out."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from allusion_es.corpora.findings import Alternative, Finding
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.references import format_references, is_verse_id
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import index_analyser
from allusion_es.scanning.blocks import Block
from allusion_es.scanning.choosing import Choice, choose, joined
from allusion_es.scanning.kinds import kind_of
from allusion_es.scanning.measured import unmeasured
from allusion_es.scanning.model import Calibration, calibration
from allusion_es.scanning.options import ScanOptions
from allusion_es.scanning.reading import Reading, read

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
            self._index, analysis, self._options.within, self._citations, fast=self._options.fast
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
