"""Answers of a retriever as lines for programs (JSON, tables), and as findings of a report."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from allusion_es.core.characters import visible
from allusion_es.corpora.passage import Passage
from allusion_es.language.latin.analysis import Analyser
from allusion_es.reports.heat import heat_of
from allusion_es.reports.report import Match, ReportFinding
from allusion_es.reports.surroundings import Surroundings
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import Answer
from allusion_es.retrieval.types import Field, Hit

PAIRS = 12
"""Word pairs that a report shows for each passage; of the others, number and sum."""

COLUMNS = (
    "query_id", "rank", "id", "reference", "score", "candidate_rank", "candidate_score", "text",
    "parallels",
)  # fmt: skip
"""The columns of a table of hits."""


def one_line(text: str) -> str:
    """The text without tabs, line breaks and control characters, for a cell of a TSV.

    Example:
        >>> one_line("Deus" + chr(9) + "dixit")
        'Deus dixit'
    """
    return visible(" ".join(text.split()))


def answer_json(answer: Answer, partial: Mapping[str, object] | None = None) -> str:
    """An answer as one line of JSON; if the query failed, with its error in `error`.

    Args:
        answer: The answer.
        partial: Says how much of the index did not answer, or None if all of it did.
    """
    record = {**answer_record(answer), **({"partial": partial} if partial else {})}
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def answer_record(answer: Answer) -> dict[str, Any]:
    """An answer as plain values, as `answer_json` writes them."""
    query, analysis = answer.query.query, answer.query.analysis
    return {
        "query": {
            "query_id": query.query_id,
            "text": query.text,
            "tokens": analysis.tokens,
            "lemmas": analysis.lemmas,
            "unknown": answer.unknown,
        },
        "hits": [asdict(hit) for hit in answer.hits],
        **({"error": str(answer.failure)} if answer.failure is not None else {}),
        **({"notes": [answer.doubt]} if answer.doubt else {}),
    }


def answer_rows(answer: Answer) -> list[dict[str, Any]]:
    """The hits of an answer as rows of a table, with the columns of `tsv_header`."""
    return [
        {
            "query_id": answer.query.query.query_id,
            **{name: getattr(hit, name) for name in COLUMNS[1:-1]},
            "parallels": " ".join(other.id for other in hit.parallels),
        }
        for hit in answer.hits
    ]


def tsv_header() -> str:
    """The names of the columns of `answer_tsv`, as a line."""
    return "\t".join(COLUMNS)


def answer_tsv(answer: Answer) -> Iterable[str]:
    """An answer as lines of a table with tabs, one for each hit."""
    for row in answer_rows(answer):
        yield "\t".join(one_line(str(value)) for value in row.values())


def findings_of(
    answers: Iterable[Answer],
    index: CandidateIndex,
    analyser: Analyser,
    fields: Sequence[Field],
    method: str = "",
) -> Iterator[ReportFinding]:
    """One finding for each answer: the best hit, the others as its alternatives.

    Args:
        answers: The answers with their contributions, in the order of the text.
        index: The index that was searched.
        analyser: Its analyser (`Retriever.analyser`).
        fields: Fields whose words the contributions name (`Retriever.compared`).
        method: Name of the method.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> from allusion_es.retrieval.pipeline import QueryOptions, Retriever
        >>> index = index_texts({"Ps.1.1": "Beatus vir", "Ps.1.2": "sed in lege"})
        >>> retriever = Retriever(index, QueryOptions(reranker=None, explain=True))
        >>> answers = [retriever.answer("vir fortis")]
        >>> (finding,) = findings_of(answers, index, retriever.analyser, retriever.compared)
        >>> finding.matches[0].passage.id, finding.note
        ('Ps.1.1', 'Unknown words: fortis')
    """
    surroundings = Surroundings(index, analyser)
    for place, answer in enumerate(answers):
        query = answer.query.query
        passages = index.passages([hit.id for hit in answer.hits])
        yield ReportFinding(
            id=query.query_id,
            text=query.text,
            matches=tuple(
                _match(hit, passage, answer, surroundings, fields)
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
    """A remark for the reader: why there is no answer, or which words the index does not know."""
    if answer.failure is not None:
        return f"Not answered: {answer.failure}"
    unknown = f"Unknown words: {', '.join(answer.unknown)}" if answer.unknown else ""
    doubt = answer.doubt[:1].upper() + answer.doubt[1:]
    return ". ".join(filter(None, [unknown, doubt]))


def _match(
    hit: Hit, passage: Passage, answer: Answer, surroundings: Surroundings, fields: Sequence[Field]
) -> Match:
    heat = heat_of(hit.contributions, answer.query.analysis, surroundings.analysis(passage), fields)
    before, after = surroundings.neighbours(passage)
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
