"""Errors of methods: where relevant passages were lost, and which passages came first instead."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.overlap import Overlap
from allusion_es.evaluation.runs import Run
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import SearchRequest

PARALLEL = 0.5
"""From this cosine of TfIdf vectors of lemmas on, two passages count as parallel.

Parallels are passages that say nearly the same, as in the synoptic gospels. To find one in place
of the relevant passage is hardly an error.
"""

_MOST_PARALLELS = 50
"""Most parallels of one passage; formulas such as "haec dicit Dominus" would have hundreds."""

GOOD = 20
"""A relevant passage that ranks lower is an error: the greater cutoff of the paper's measures."""

Loss = Literal["", "first stage", "reranking", "unanswered"]
"""The stage at which a relevant passage was lost; "" where it is among the first `GOOD`."""


def parallels(
    ids: Iterable[str], index: CandidateIndex, least: float = PARALLEL
) -> dict[str, tuple[str, ...]]:
    """The passages that say nearly the same as each of some passages, nearest first.

    Args:
        ids: Ids of passages.
        index: The index that has them.
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
        SearchRequest("tfidf", "lemma", _MOST_PARALLELS, dict(Counter(texts.text(number))))
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
    """The links, with the parallels of their relevant passages counted as relevant too."""
    near = parallels((name for link in links for name in link.relevant), index)
    widened = []
    for link in links:
        others = [other for name in link.relevant for other in near[name]]
        relevant = tuple(dict.fromkeys([*link.relevant, *others]))
        widened.append(replace(link, relevant=relevant))
    return widened


def loss_of(rank: int | None) -> Loss:
    """The stage at which a relevant passage of that rank was lost; None means not ranked.

    Example:
        >>> loss_of(20), loss_of(21), loss_of(None)
        ('', 'reranking', 'first stage')
    """
    if rank is None:
        return "first stage"
    return "" if rank <= GOOD else "reranking"


class ErrorAnalysis:
    """Collects the errors of one method after the other.

    Args:
        links: The gold links.
        index: The index that has the passages.
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

    def add(self, labels: Mapping[str, str], run: Run, unanswered: Collection[str] = ()) -> None:
        """Add the errors of a method: a row for each query and relevant passage.

        Args:
            labels: The columns that name the method; the same columns for all methods.
            run: The method's run.
            unanswered: Ids of the queries that it could not answer.
        """
        self._labels = tuple(labels)
        pairs = iter(self._overlaps)
        for link in self._links:
            query_id = link.query.query_id
            found = run.get(query_id)
            ids = found.ranking.ids if found is not None else ()
            ranks = {name: rank for rank, name in enumerate(ids, start=1)}
            accepted = {other for name in link.relevant for other in (name, *self._near[name])}
            lenient = min((ranks[name] for name in accepted if name in ranks), default=None)
            for name in link.relevant:
                overlap, rank = next(pairs), ranks.get(name)
                stage = int(found.stage_ranks[rank - 1]) if found is not None and rank else None
                self._rows.append(
                    {
                        "query_id": query_id,
                        **labels,
                        "type": link.type,
                        "relevant": name,
                        "rank": rank,
                        "candidate_rank": stage,
                        "loss": "unanswered" if query_id in unanswered else loss_of(rank),
                        "shared_tokens": overlap.shared["token"],
                        "shared_lemmas": overlap.shared["lemma"],
                        "top": ids[0] if ids else "",
                        "top_is_parallel": bool(ids) and ids[0] in accepted - set(link.relevant),
                        "rank_with_parallels": lenient,
                    }
                )

    def rows(self) -> list[dict[str, Any]]:
        """All rows, with the words of the query, the relevant passage and the first hit.

        Raises:
            VerseError: A run has a first hit that is not in the index.
        """
        # The words are read once for all methods: most passages are in several rows.
        ids = list(
            dict.fromkeys(row[key] for row in self._rows for key in ("relevant", "top") if row[key])
        )
        passages = dict(zip(ids, self._index.passages(ids), strict=True))
        words = {link.query.query_id: link.query.text for link in self._links}
        for row in self._rows:
            row["text"] = words[row["query_id"]]
            row["relevant_text"] = passages[row["relevant"]].text
            row["top_text"] = passages[row["top"]].text if row["top"] else ""
        return self._rows

    def losses(self) -> list[dict[str, Any]]:
        """The losses of each method, as `loss_rows` counts them."""
        return loss_rows(self._rows, self._labels)


def loss_rows(rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> list[dict[str, Any]]:
    """One row for each method: how many relevant passages it lost at which stage.

    `top_is_parallel` counts the rows whose first hit is a parallel of a relevant passage.

    Args:
        rows: From `ErrorAnalysis.rows`, with or without words.
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
