"""Answers as lines for programs: JSON, and tables with tabs."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from allusion_es.core.texts import visible

if TYPE_CHECKING:
    from allusion_es.retrieval.pipeline import Answer

_COLUMNS = ("query_id", "rank", "id", "reference", "score", "candidate_rank", "candidate_score")


def one_line(text: str) -> str:
    """The text without tabs, line breaks and control characters, for a cell of a TSV.

    Example:
        >>> one_line("Deus" + chr(9) + "dixit")
        'Deus dixit'
    """
    return visible(" ".join(text.split()))


def answer_json(answer: "Answer", partial: Mapping[str, object] | None = None) -> str:
    """The answer as one line of JSON; `error` says why there is none, where that is so.

    Args:
        answer: The answer.
        partial: How much of the index it lacks, or None.
    """
    query, analysis = answer.query.query, answer.query.analysis
    return json.dumps(
        {
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
            **({"partial": partial} if partial else {}),
        },
        ensure_ascii=False,
        allow_nan=False,
    )


def tsv_header() -> str:
    """Names of the columns of `answer_tsv`."""
    return "\t".join((*_COLUMNS, "text", "parallels"))


def answer_tsv(answer: "Answer") -> Iterable[str]:
    """One line a hit."""
    for hit in answer.hits:
        values = [one_line(answer.query.query.query_id)]
        values += [one_line(str(getattr(hit, name))) for name in _COLUMNS[1:]]
        parallels = " ".join(one_line(other.id) for other in hit.parallels)
        yield "\t".join((*values, one_line(hit.text), parallels))
