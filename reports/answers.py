"""Findings from the answers of a retriever."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from allusion_es.corpora.passage import Passage
from allusion_es.language.analysis import Analyser, Analysis
from allusion_es.reports.finding import Finding, Match
from allusion_es.reports.heat import heat_of
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import Answer
from allusion_es.retrieval.types import Field, Hit, Within

NEIGHBOURS = 3
"""Passages that are shown before and after each passage."""

PAIRS = 12
"""Word pairs that are shown for each passage; of the others, number and sum."""


def findings_of(
    answers: Iterable[Answer],
    index: CandidateIndex,
    analyser: Analyser,
    fields: Sequence[Field],
    method: str = "",
) -> Iterator[Finding]:
    """One finding for each answer: the best hit, the others as its alternatives.

    Args:
        answers: With their contributions, in the order of the text.
        index: Where they come from.
        analyser: That of the index (`Retriever.analyser`).
        fields: What the contributions consist of (`Retriever.compared`).
        method: How they were found.

    Example:
        >>> from allusion_es.retrieval.memory import index_texts
        >>> from allusion_es.retrieval.pipeline import Retriever
        >>> index = index_texts({"Ps.1.1": "Beatus vir", "Ps.1.2": "sed in lege"})
        >>> retriever = Retriever(index, reranker=None, explain=True)
        >>> answers = [retriever.answer("vir fortis")]
        >>> (finding,) = findings_of(answers, index, retriever.analyser, retriever.compared)
        >>> finding.matches[0].passage.id, finding.note
        ('Ps.1.1', 'Unknown words: fortis')
    """
    around = _Surroundings(index, analyser)
    for place, answer in enumerate(answers):
        query = answer.query.query
        passages = index.passages([hit.id for hit in answer.hits])
        yield Finding(
            id=query.query_id,
            text=query.text,
            matches=tuple(
                _match(hit, passage, answer, around, fields)
                for hit, passage in zip(answer.hits, passages, strict=True)
            ),
            before=query.before,
            after=query.after,
            place=place,
            method=method,
            note=f"Unknown words: {', '.join(answer.unknown)}" if answer.unknown else "",
        )


def _match(
    hit: Hit, passage: Passage, answer: Answer, around: "_Surroundings", fields: Sequence[Field]
) -> Match:
    heat = heat_of(hit.contributions, answer.query.analysis, around.analysis(passage), fields)
    before, after = around.neighbours(passage)
    return Match(
        passage=passage,
        rank=hit.rank,
        score=hit.score,
        candidate_rank=hit.candidate_rank,
        candidate_score=hit.candidate_score,
        before=before,
        after=after,
        heat=heat.strongest(PAIRS),
    )


class _Surroundings:
    """What stands around passages, and their words; both are looked up once."""

    def __init__(self, index: CandidateIndex, analyser: Analyser) -> None:
        self._index, self._analyser = index, analyser
        self._analyses: dict[str, Analysis] = {}
        self._books: dict[str, _Row] = {}

    def analysis(self, passage: Passage) -> Analysis:
        if passage.id not in self._analyses:
            self._analyses[passage.id] = self._analyser.analyse(passage.text)
        return self._analyses[passage.id]

    def neighbours(self, passage: Passage) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
        if not passage.book:
            return self._works[passage.work].around(passage)
        if passage.book not in self._books:
            ids = self._index.ids(Within(books=frozenset({passage.book})))
            self._books[passage.book] = _Row(self._index.passages(ids))
        return self._books[passage.book].around(passage)

    @cached_property
    def _works(self) -> "dict[str, _Row]":
        """The passages of each work that has no books."""
        found = defaultdict(list)
        for passage in self._index.passages(self._index.ids()):
            found[passage.work].append(passage)
        return {work: _Row(passages) for work, passages in found.items()}


class _Row:
    """Passages one after the other."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._passages = sorted(passages, key=lambda passage: (passage.order, passage.id))
        self._places = {passage.id: place for place, passage in enumerate(self._passages)}

    def around(self, passage: Passage) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
        place = self._places[passage.id]
        before = self._passages[max(0, place - NEIGHBOURS) : place]
        return tuple(before), tuple(self._passages[place + 1 : place + 1 + NEIGHBOURS])
