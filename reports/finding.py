"""What a report shows: findings, each a stretch of a text with the passages that it may allude to.

A finding does not know how it was found, so that whatever finds allusions can be reported.
"""

from dataclasses import dataclass, field

from allusion_es.corpora.passage import Passage
from allusion_es.reports.heat import Heat


@dataclass(frozen=True, slots=True)
class Match:
    """A passage that the words of a finding may allude to.

    Attributes:
        passage: The passage.
        rank: Its rank among the matches of its finding, from 1.
        score: The score that it is ranked by.
        candidate_rank: Rank in the first stage, from 1; 0 where there is none.
        candidate_score: Score in the first stage.
        before: The passages that precede it in its book, in their order.
        after: Those that follow it.
        heat: What the words add to the score; empty where the method does not tell.
        kind: What kind of link it is (`allusion`, `quotation`, …), or "" where nobody said.
        probability: How likely it is a link, from 0 to 1, or None where that is not estimated.
        ids: Where `passage` is several in a row put together, their ids; else empty.
        parallels: References of passages that say nearly the same.
    """

    passage: Passage
    rank: int
    score: float
    candidate_rank: int = 0
    candidate_score: float = 0.0
    before: tuple[Passage, ...] = ()
    after: tuple[Passage, ...] = ()
    heat: Heat = field(default_factory=Heat)
    kind: str = ""
    probability: float | None = None
    ids: tuple[str, ...] = ()
    parallels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportFinding:
    """Words of a text that may allude, in their context, and to what.

    Attributes:
        id: Unique in the report; the query id of gold lines.
        text: The words.
        matches: Best first; the first is shown, the others are its alternatives. May be empty.
        before: Words that precede them.
        after: Words that follow them.
        work: The work that they stand in, or "".
        place: Where in the work, in any unit that grows from its beginning.
        label: What people call that place (`page 3, line 12`); its id where it is "".
        method: How they were found, where a report compares methods, or "".
        note: What a reader should know of this finding, or "".

    Example:
        >>> passage = Passage("Ps.1.1", "Beatus vir", book="Ps", reference="Ps 1,1")
        >>> ReportFinding("q", "vir beatus", (Match(passage, 1, 0.9, 3, 12.5),)).matches[0].score
        0.9
    """

    id: str
    text: str
    matches: tuple[Match, ...] = ()
    before: str = ""
    after: str = ""
    work: str = ""
    place: int = 0
    label: str = ""
    method: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReportMeta:
    """What a report says of itself.

    Attributes:
        title: Its heading.
        method: How all of it was found.
        notes: What a reader of the scores should know, each a sentence.
        extent: Where the one work that is reported on ends, in the unit of `ReportFinding.place`; 0
            where there are several, or none.
    """

    title: str = "Allusions"
    method: str = ""
    notes: tuple[str, ...] = ()
    extent: int = 0
