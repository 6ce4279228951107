"""What went wrong for which query: lost in the first stage, or ranked low, and what came first."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.paper.experiments import Line
from allusion_es.evaluation.paper.overlap import Overlap
from allusion_es.evaluation.runs import Run
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import SearchRequest

# Passages that say nearly the same, such as synoptic parallels: an error that is hardly one.


LIKE = 0.5
"""From this cosine of TfIdf vectors of lemmas on, two passages count as parallel."""

_MOST = 50


def parallels(
    ids: Iterable[str], index: CandidateIndex, least: float = LIKE
) -> dict[str, tuple[str, ...]]:
    """For each passage those that are nearly the same, nearest first.

    Args:
        ids: Ids of passages.
        index: Where they are.
        least: The least cosine that counts.

    Raises:
        VerseError: A passage is not in the index.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> texts = {"Ps.13.1": "dixit insipiens in corde", "Ps.52.1": "dixit insipiens in corde"}
        >>> texts |= {f"Gen.1.{verse}": "fiat lux" for verse in range(5)}
        >>> parallels(["Ps.13.1"], index_texts(texts))
        {'Ps.13.1': ('Ps.52.1',)}
    """
    distinct = list(dict.fromkeys(ids))
    texts = index.texts("lemma", distinct)
    requests = [
        SearchRequest("tfidf", "lemma", _MOST, dict(Counter(texts.text(number))))
        for number in range(len(distinct))
    ]
    return {
        name: tuple(
            other
            for other, score in zip(ranking.ids, ranking.scores.tolist(), strict=True)
            if other != name and score >= least
        )
        for name, ranking in zip(distinct, index.search(requests), strict=True)
    }


def with_parallels(links: Sequence[GoldLink], index: CandidateIndex) -> list[GoldLink]:
    """The links with the parallels of what is relevant counted as relevant too."""
    near = parallels((name for link in links for name in link.relevant), index)
    return [
        replace(
            link,
            relevant=tuple(
                dict.fromkeys(
                    [*link.relevant, *(other for name in link.relevant for other in near[name])]
                )
            ),
        )
        for link in links
    ]


Loss = Literal["", "first stage", "reranking", "unanswered"]
"""Where a relevant passage was lost; "" where it is among the first `GOOD`."""

GOOD = 20
"""A relevant passage that ranks lower is an error: the paper's greater cutoff."""


def loss_of(rank: int | None) -> Loss:
    """Where a passage of that rank was lost; None is no rank at all.

    Example:
        >>> loss_of(20), loss_of(21), loss_of(None)
        ('', 'reranking', 'first stage')
    """
    if rank is None:
        return "first stage"
    return "" if rank <= GOOD else "reranking"


class ErrorAnalysis:
    """What went wrong, gathered from run to run.

    Args:
        links: The gold links.
        index: Where the passages are.
        overlaps: From `overlap.overlaps`, of the same links.

    Raises:
        VerseError: A passage is not in the index.
    """

    def __init__(
        self, links: Sequence[GoldLink], index: CandidateIndex, overlaps: Sequence[Overlap]
    ) -> None:
        self._links, self._index, self._overlaps = links, index, overlaps
        self._near = parallels((name for link in links for name in link.relevant), index)
        self._rows: list[dict[str, Any]] = []
        self._labels: tuple[str, ...] = ()

    def add(self, line: Line, run: Run, unanswered: Collection[str] = ()) -> None:
        """Add what a method did, and which queries it could not answer."""
        self._labels = tuple(line.labels)
        self._rows += error_rows(line, run, self._links, self._overlaps, self._near, unanswered)

    def rows(self) -> list[dict[str, Any]]:
        """See `error_rows`; with the words of query, relevant passage and first hit."""
        add_texts(self._rows, self._links, self._index)
        return self._rows

    def losses(self) -> list[dict[str, Any]]:
        """See `loss_rows`."""
        return loss_rows(self._rows, self._labels)


def error_rows(
    line: Line,
    run: Run,
    links: Sequence[GoldLink],
    overlaps: Sequence[Overlap],
    near: Mapping[str, Sequence[str]],
    unanswered: Collection[str] = (),
) -> list[dict[str, Any]]:
    """One row for each query and relevant passage: where it ranks, and what ranks first.

    Args:
        line: Which method, on which queries.
        run: What it found.
        links: The gold links.
        overlaps: From `overlap.overlaps`, of the same links.
        near: From `parallels`, of all relevant passages.
        unanswered: Ids of the queries that the method could not answer.
    """
    pairs = iter(overlaps)
    rows = []
    for link in links:
        found = run.get(link.query.query_id)
        ids = found.ranking.ids if found is not None else ()
        ranks = {name: rank for rank, name in enumerate(ids, start=1)}
        accepted = {other for name in link.relevant for other in (name, *near[name])}
        lenient = min((ranks[name] for name in accepted if name in ranks), default=None)
        for name in link.relevant:
            overlap, rank = next(pairs), ranks.get(name)
            stage = int(found.stage_ranks[rank - 1]) if found is not None and rank else None
            rows.append(
                {
                    "query_id": link.query.query_id,
                    **line.labels,
                    "type": link.type,
                    "relevant": name,
                    "rank": rank,
                    "candidate_rank": stage,
                    "loss": "unanswered" if link.query.query_id in unanswered else loss_of(rank),
                    "shared_tokens": overlap.shared["token"],
                    "shared_lemmas": overlap.shared["lemma"],
                    "top": ids[0] if ids else "",
                    "top_is_parallel": bool(ids) and ids[0] in accepted - set(link.relevant),
                    "rank_with_parallels": lenient,
                }
            )
    return rows


def add_texts(
    rows: Sequence[dict[str, Any]], links: Sequence[GoldLink], index: CandidateIndex
) -> None:
    """Add to each row the words of the query, the relevant passage and the first hit.

    Raises:
        VerseError: A passage is not in the index.
    """
    ids = list(dict.fromkeys(row[key] for row in rows for key in ("relevant", "top") if row[key]))
    passages = dict(zip(ids, index.passages(ids), strict=True))
    words = {link.query.query_id: link.query.text for link in links}
    for row in rows:
        row["text"] = words[row["query_id"]]
        row["relevant_text"] = passages[row["relevant"]].text
        row["top_text"] = passages[row["top"]].text if row["top"] else ""


def loss_rows(rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> list[dict[str, Any]]:
    """How many relevant passages each method lost where, and how many were parallels.

    Args:
        rows: From `error_rows`.
        labels: The columns that name a method.
    """
    counts: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[label] for label in labels)
        line = counts.setdefault(
            key,
            {
                **dict(zip(labels, key, strict=True)),
                "links": 0,
                f"in_first_{GOOD}": 0,
                "lost_in_first_stage": 0,
                "ranked_low": 0,
                "top_is_parallel": 0,
            },
        )
        line["links"] += 1
        line["lost_in_first_stage"] += row["loss"] == "first stage"
        line["ranked_low"] += row["loss"] == "reranking"
        line[f"in_first_{GOOD}"] += not row["loss"]
        line["top_is_parallel"] += row["top_is_parallel"]
        if row["loss"] == "unanswered":
            line["unanswered"] = line.get("unanswered", 0) + 1
    return list(counts.values())
