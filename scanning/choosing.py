"""From segments to findings: what competes, what belongs together, where a finding ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from allusion_es.core.arrays import Floats
from allusion_es.scanning.model import MOST
from allusion_es.scanning.reading import Reading

# What kind of reuse a finding is, by how much of its words the passage has, and in which form.


QUOTATION, PARAPHRASE, ALLUSION = "quotation", "paraphrase", "allusion"

_SAME = 0.7
_LIKE = 0.5
_WORDS = 3


def kind_of(words: int, total: float, in_order: float, same_form: float, shared: float) -> str:
    """The kind of a finding.

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
    if words < _WORDS or total <= 0:
        return ALLUSION
    if min(in_order, same_form) >= _SAME * total:
        return QUOTATION
    return PARAPHRASE if shared >= _LIKE * total else ALLUSION


ALTERNATIVES = MOST - 1
"""Other passages that a finding names, at most."""

LEAST_SHARE = 0.2
"""Share of the finding's probability that an alternative needs."""

Follows = Callable[[int, int], bool]
"""Says whether one passage comes right after another one in the collection, by their numbers."""

_ORDERED = 0.7
"""Share of the matches' weight in the same order from which the order sets a finding's bounds."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Words of a text and a passage.

    Attributes:
        segments: The numbers of its segments, several in a sequence of passages.
        first: The first word.
        last: The last word.
        passages: Numbers of the passages, in the order of the text.
        log_odds: Of the link.
        probability: Of the link.
        others: What else the words may allude to, best first.
    """

    segments: tuple[int, ...]
    first: int
    last: int
    passages: tuple[int, ...]
    log_odds: float
    probability: float
    others: tuple["Choice", ...] = ()


def choose(reading: Reading, log_odds: Floats, probabilities: Floats, least: float) -> list[Choice]:
    """The findings of a stretch of text, in its order; those that compete as alternatives.

    The likeliest segment comes first; one that shares at least half of the shorter one's words
    with it is its alternative; the likeliest of the rest comes next, and so on.

    Args:
        reading: What was read.
        log_odds: Of each segment.
        probabilities: Of each segment.
        least: Findings need this probability.
    """
    ids, segments = reading.texts.ids, reading.found.segments
    order = sorted(
        range(len(segments)),
        key=lambda number: (
            -probabilities[number],
            ids[segments.passages[number]],
            segments.firsts[number],
        ),
    )
    chosen: list[Choice] = []
    others: list[list[Choice]] = []
    for number in order:
        if probabilities[number] < least * LEAST_SHARE:
            break
        choice = _choice(reading, number, log_odds, probabilities)
        rival = next((place for place, best in enumerate(chosen) if _overlap(choice, best)), None)
        if rival is not None:
            _add_other(others[rival], chosen[rival], choice)
        elif choice.probability >= least:
            chosen.append(choice)
            others.append([])
    found = [replace(c, others=tuple(o)) for c, o in zip(chosen, others, strict=True)]
    return sorted(found, key=lambda choice: (choice.first, choice.last))


def _add_other(others: list[Choice], best: Choice, choice: Choice) -> None:
    known = {best.passages, *(other.passages for other in others)}
    if (
        len(others) < ALTERNATIVES
        and choice.passages not in known
        and choice.probability >= LEAST_SHARE * best.probability
    ):
        others.append(choice)


def _choice(reading: Reading, number: int, log_odds: Floats, probabilities: Floats) -> Choice:
    first, last = bounds(reading, number)
    return Choice(
        (number,),
        first,
        last,
        (int(reading.found.segments.passages[number]),),
        float(log_odds[number]),
        float(probabilities[number]),
    )


def bounds(reading: Reading, number: int) -> tuple[int, int]:
    """The first and the last word of a segment.

    Where most of its words stand in the passage's order, those of the alignment, which knows
    that `et` before a quotation is not part of it; else its first and last match.
    """
    found = reading.found
    segments, alignments = found.segments, found.alignments
    matched = float(found.worth[segments.begins[number] : segments.ends[number]].sum())
    start = int(found.starts[number])
    first = start + int(alignments.firsts[number])
    last = start + int(alignments.lasts[number])
    if last >= first and float(alignments.scores[number]) >= _ORDERED * matched:
        return first, last
    return int(segments.firsts[number]), int(segments.lasts[number])


def _overlap(one: Choice, other: Choice) -> bool:
    common = min(one.last, other.last) - max(one.first, other.first) + 1
    shorter = min(one.last - one.first, other.last - other.first) + 1
    return 2 * common >= shorter


def joined(choices: Sequence[Choice], follows: Follows, gap: int = 6) -> list[Choice]:
    """The findings, those of passages that follow each other in text and collection as one.

    Args:
        choices: In the order of the text.
        follows: Says whether the second passage comes right after the first.
        gap: Words between two findings of one sequence, at most.
    """
    result: list[Choice] = []
    for choice in choices:
        if result and choice.first - result[-1].last - 1 <= gap:
            pair = _sequence(result[-1], choice, follows)
            if pair is not None:
                result[-1] = pair
                continue
        result.append(choice)
    return result


def _sequence(one: Choice, other: Choice, follows: Follows) -> Choice | None:
    """Two findings as one, if the second goes on where the first ends, in their best reading."""
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
        others=_united(one, other, passages),
    )


def _united(one: Choice, other: Choice, passages: tuple[int, ...]) -> tuple[Choice, ...]:
    """The alternatives of both, best first; each passage once, and none of the sequence itself."""
    taken = set(passages)
    united: list[Choice] = []
    for choice in sorted((*one.others, *other.others), key=lambda choice: -choice.log_odds):
        if taken.isdisjoint(choice.passages):
            taken.update(choice.passages)
            united.append(choice)
    return tuple(united[:ALTERNATIVES])
