"""Findings from the answers of a retriever."""

from collections.abc import Iterable, Iterator, Sequence

from allusion_es.corpora.passage import Passage
from allusion_es.language.analysis import Analyser
from allusion_es.reports.finding import Finding, Match
from allusion_es.reports.heat import heat_of
from allusion_es.reports.surroundings import Surroundings
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import Answer
from allusion_es.retrieval.types import Field, Hit

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
    around = Surroundings(index, analyser)
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
            work=query.work,
            place=place,
            method=method,
            note=_note(answer),
        )


def _note(answer: Answer) -> str:
    if answer.failure is not None:
        return f"Not answered: {answer.failure}"
    unknown = f"Unknown words: {', '.join(answer.unknown)}" if answer.unknown else ""
    doubt = answer.doubt[:1].upper() + answer.doubt[1:]
    return ". ".join(filter(None, [unknown, doubt]))


def _match(
    hit: Hit, passage: Passage, answer: Answer, around: Surroundings, fields: Sequence[Field]
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
        parallels=tuple(other.reference for other in hit.parallels),
    )
