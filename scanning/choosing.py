"""From segments to findings: which segments compete, which belong together, what is reported."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.corpora.findings import KINDS, Alternative, Finding
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.windows import range_reference
from allusion_es.scanning.model import MOST
from allusion_es.scanning.reading import Reading

ALTERNATIVES = MOST - 1
"""Other passages that a finding names, at most."""

LEAST_SHARE = 0.2
"""Share of the finding's probability that an alternative needs."""

SEQUENCE_GAP = 6
"""Words between two findings that are joined as one sequence, at most: such as `et iterum`."""

Follows = Callable[[int, int], bool]
"""True if the second passage comes right after the first in the collection, by their numbers."""

_ORDERED = 0.7
"""Share of the matches' weight that must be aligned for the alignment to set the bounds."""

_CARRYING = 8
"""Words that a finding names as those that carry it, at most."""

_HEAVY = 2.0
"""Weight from which a matching word says something; below it lie function words."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A stretch of words with the passage, or sequence of passages, that it most likely alludes to.

    Attributes:
        segments: The numbers of its segments, several in a sequence of passages.
        first: The first word.
        last: The last word.
        passages: Numbers of the passages, in the order of the text.
        log_odds: Of the link.
        probability: Of the link.
        others: The alternatives: other passages for these words, best first.
    """

    segments: tuple[int, ...]
    first: int
    last: int
    passages: tuple[int, ...]
    log_odds: float
    probability: float
    others: tuple["Choice", ...] = ()


def choose(reading: Reading, log_odds: Floats, probabilities: Floats, least: float) -> list[Choice]:
    """The best of competing segments, in the order of the text, the others as its alternatives.

    Greedy: the likeliest segment is chosen first; one that shares at least half of the shorter
    one's words with it is its alternative; the likeliest of the rest is chosen next, and so on.

    Args:
        reading: The segments.
        log_odds: Of each segment.
        probabilities: Of each segment.
        least: Probability that a choice needs.
    """
    ids, segments = reading.texts.ids, reading.segments
    order = sorted(
        np.flatnonzero(probabilities >= least * LEAST_SHARE).tolist(),
        # Not by probability, which is 1 for all that are sure enough.
        key=lambda number: (
            -log_odds[number],
            ids[segments.passages[number]],
            segments.firsts[number],
        ),
    )
    chosen: list[Choice] = []
    others: list[list[Choice]] = []
    # Of each word which of the chosen have it, by their places: a choice has few words.
    having: dict[int, list[int]] = {}
    for number in order:
        choice = _choice(reading, number, log_odds, probabilities)
        words = range(choice.first, choice.last + 1)
        near = sorted({place for word in words for place in having.get(word, ())})
        rival = next((place for place in near if _overlap(choice, chosen[place])), None)
        if rival is not None:
            _add_other(others[rival], chosen[rival], choice)
        elif choice.probability >= least:
            for word in words:
                having.setdefault(word, []).append(len(chosen))
            chosen.append(choice)
            others.append([])
    complete = [replace(c, others=tuple(o)) for c, o in zip(chosen, others, strict=True)]
    return sorted(complete, key=lambda choice: (choice.first, choice.last))


def _add_other(others: list[Choice], best: Choice, choice: Choice) -> None:
    """Add an alternative to those of `best`, if it is another passage and likely enough."""
    known = {best.passages, *(other.passages for other in others)}
    if (
        len(others) < ALTERNATIVES
        and choice.passages not in known
        and choice.probability >= LEAST_SHARE * best.probability
    ):
        others.append(choice)


def _choice(reading: Reading, number: int, log_odds: Floats, probabilities: Floats) -> Choice:
    """The choice of one segment alone."""
    first, last = bounds(reading, number)
    return Choice(
        (number,),
        first,
        last,
        (int(reading.segments.passages[number]),),
        float(log_odds[number]),
        float(probabilities[number]),
    )


def bounds(reading: Reading, number: int) -> tuple[int, int]:
    """The first and the last word of a segment.

    Where most of its weight stands in the passage's order, these are the bounds of the alignment,
    which leaves out, for example, an `et` before a quotation; else the first and last match.
    """
    segments, alignments = reading.segments, reading.alignments
    matches = slice(segments.begins[number], segments.ends[number])
    matched = float(reading.match_weights[matches].sum())
    first, last = int(alignments.firsts[number]), int(alignments.lasts[number])
    if last >= first and float(alignments.scores[number]) >= _ORDERED * matched:
        return first, last
    return int(segments.firsts[number]), int(segments.lasts[number])


def _overlap(one: Choice, other: Choice) -> bool:
    """Whether two choices share at least half of the shorter one's words."""
    common = min(one.last, other.last) - max(one.first, other.first) + 1
    shorter = min(one.last - one.first, other.last - other.first) + 1
    return 2 * common >= shorter


def joined(choices: Sequence[Choice], follows: Follows) -> list[Choice]:
    """The choices, with those of passages that follow each other joined into one.

    A quotation of three verses in a row would else be three findings.

    Args:
        choices: In the order of the text.
        follows: Tells whether the second passage comes right after the first.
    """
    result: list[Choice] = []
    for choice in choices:
        if result and choice.first - result[-1].last - 1 <= SEQUENCE_GAP:
            pair = _sequence(result[-1], choice, follows)
            if pair is not None:
                result[-1] = pair
                continue
        result.append(choice)
    return result


def _sequence(one: Choice, other: Choice, follows: Follows) -> Choice | None:
    """Both choices as one if the second goes on where the first ends, else None."""
    if one.passages[-1] in other.passages:
        passages = one.passages
    elif follows(one.passages[-1], other.passages[0]):
        passages = (*one.passages, *other.passages)
    else:
        return None
    best = max(one, other, key=lambda choice: choice.probability)
    return replace(
        best,
        segments=(*one.segments, *other.segments),
        first=min(one.first, other.first),
        last=max(one.last, other.last),
        passages=passages,
        others=_merged_alternatives(one, other, passages),
    )


def _merged_alternatives(
    one: Choice, other: Choice, passages: tuple[int, ...]
) -> tuple[Choice, ...]:
    """The alternatives of both, best first: each passage once, none of the sequence itself."""
    taken = set(passages)
    united: list[Choice] = []
    for choice in sorted((*one.others, *other.others), key=lambda choice: -choice.log_odds):
        if taken.isdisjoint(choice.passages):
            taken.update(choice.passages)
            united.append(choice)
    return tuple(united[:ALTERNATIVES])


# Findings: what is reported for a choice.

QUOTATION, PARAPHRASE, ALLUSION = KINDS
"""The kinds of findings."""

_QUOTATION_SHARE = 0.7
"""Share of the weight that a quotation has in the passage's form and order."""

_PARAPHRASE_SHARE = 0.5
"""Share of the weight that a paraphrase shares with the passage at all."""

_LEAST_WORDS = 3
"""Shared words of a quotation or paraphrase at least: two may stand together by chance."""


def finding_of(
    choice: Choice,
    reading: Reading,
    text: str,
    offset: int,
    passages: Mapping[int, Passage],
    top: int,
    *,
    calibrated: bool,
) -> Finding:
    """The finding that is reported for a choice.

    Args:
        choice: The words and passages.
        reading: The segments of the block.
        text: The characters of the block.
        offset: Where the block starts in the whole text.
        passages: All passages that the choice names, by their numbers.
        top: How many passages a finding names at most.
        calibrated: Whether its probability was measured for such a scan.
    """
    spans = reading.analysis.spans
    start, end = spans[choice.first][0], spans[choice.last][1]
    named = [passages[number] for number in choice.passages]
    matches = _matches(reading, choice)
    return Finding(
        start=offset + start,
        end=offset + end,
        text=text[start:end],
        passages=tuple(passage.id for passage in named),
        reference=range_reference(named),
        score=choice.log_odds,
        probability=choice.probability,
        kind=_kind(reading, choice, matches),
        words=_carrying_words(reading, text, matches),
        alternatives=tuple(
            Alternative(
                tuple(passages[number].id for number in other.passages),
                range_reference([passages[number] for number in other.passages]),
                other.log_odds,
                other.probability,
            )
            for other in choice.others[: top - 1]
        ),
        calibrated=calibrated,
    )


def _kind(reading: Reading, choice: Choice, matches: NDArray[np.int64]) -> str:
    """The kind of a choice, from its matches between its bounds and its alignments."""
    weights, same_form = reading.match_weights[matches], reading.same_form[matches]
    return kind_of(
        # Words that only texts have that cite the passage weigh nothing here: not shared.
        words=int(np.count_nonzero(weights)),
        total=float(reading.weights[choice.first : choice.last + 1].sum()),
        in_order=float(reading.alignments.scores[list(choice.segments)].sum()),
        same_form=float(weights[same_form].sum()),
        shared=float(weights.sum()),
    )


def kind_of(words: int, total: float, in_order: float, same_form: float, shared: float) -> str:
    """The kind of reuse that a finding is: quotation, paraphrase or allusion.

    A quotation has at least three words of which the passage has 70% in the same form and order,
    by weight (idf), skipped words deducted; a paraphrase at least three of which it has half, in
    any form and order; anything else is an allusion.

    Args:
        words: Words of the finding that the passage has too.
        total: Weight of all words of the finding.
        in_order: Weight of the aligned words, less what was skipped.
        same_form: Weight of the words that the passage has in the same form.
        shared: Weight of the words that the passage has in any form.

    Example:
        >>> kind_of(5, 20.0, 18.0, 18.0, 19.0), kind_of(4, 20.0, 9.0, 6.0, 15.0)
        ('quotation', 'paraphrase')
        >>> kind_of(2, 20.0, 19.0, 19.0, 19.0)
        'allusion'
    """
    if words < _LEAST_WORDS or total <= 0:
        return ALLUSION
    if min(in_order, same_form) >= _QUOTATION_SHARE * total:
        return QUOTATION
    return PARAPHRASE if shared >= _PARAPHRASE_SHARE * total else ALLUSION


def _matches(reading: Reading, choice: Choice) -> NDArray[np.int64]:
    """The numbers of the matches of a choice's segments that lie between its bounds."""
    segments = reading.segments
    matches = np.concatenate(
        [np.arange(segments.begins[number], segments.ends[number]) for number in choice.segments]
    )
    places = reading.matches.places[matches]
    return np.asarray(matches[(places >= choice.first) & (places <= choice.last)])


def _carrying_words(reading: Reading, text: str, matches: NDArray[np.int64]) -> tuple[str, ...]:
    """The words as printed that weigh most, each once; where none weighs much, the heaviest."""
    places, weights = reading.matches.places[matches], reading.match_worth[matches]
    order = np.lexsort((places, -weights)).tolist()
    heavy = [number for number in order if weights[number] >= _HEAVY] or order[:1]
    spans = [reading.analysis.spans[int(places[number])] for number in heavy]
    return tuple(dict.fromkeys(text[start:end] for start, end in spans))[:_CARRYING]
