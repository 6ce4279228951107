"""Candidates with their ranks, scores and gold labels, as documents to inspect in Kibana.

They come from traces of queries that are asked now (`traced_candidates`), or from a TREC run
(`run_candidates`).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from allusion_es.core.caches import LruCache
from allusion_es.corpora.bible.books import OSIS_CODES, book_by_osis
from allusion_es.corpora.passage import Passage
from allusion_es.es.kibana.candidate import Candidate, StageRank, score_of
from allusion_es.evaluation.errors import loss_of
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.reranking import Explanation
from allusion_es.retrieval.traces import Trace
from allusion_es.retrieval.types import Ranking

PAIRS = 10
"""Word pairs of a candidate that are kept one by one; of all others only the sum is kept."""

_KEPT = 50_000
"""Passages in the cache: more than the Vulgate has, so that each is fetched once."""

GoldByQuery = Mapping[str, GoldLink]
"""Gold links by query id; their relevant passages are in the index."""


def traced_candidates(
    traces: Iterable[Trace], gold: GoldByQuery, index: CandidateIndex, pairs: int = PAIRS
) -> Iterator[Candidate]:
    """The candidates of each query in their final order, then its gold passages that were lost.

    Args:
        traces: The queries with the ranking of each stage.
        gold: Gold links of some of the queries, of all, or of none.
        index: The index that has the passages.
        pairs: How many word pairs to keep of each candidate.
    """
    known = _PassageCache(index)
    for trace in traces:
        query = trace.query
        query_id = query.query.query_id
        link = gold.get(query_id)
        first, final = _stage_ranks(trace.first), _reranker_ranks(trace.final)
        first_stages = {name: _stage_ranks(each) for name, each in trace.first_stages.items()}
        rerankers = {name: _reranker_ranks(each) for name, each in trace.rerankers.items()}
        for passage in known.passages(_with_gold(final, link)):
            place = final.get(passage.id)
            yield Candidate(
                query_id,
                query_text=query.query.text,
                query_lemmas=query.words("lemma"),
                **_work_fields(query.query.work, link),
                **_passage_fields(passage),
                **_gold_fields(passage.id, place.rank if place else None, link),
                first=first.get(passage.id),
                final=place,
                first_stages=_in_stages(passage.id, first_stages),
                rerankers=_in_stages(passage.id, rerankers),
                **_explanation_fields(trace.explanations.get(passage.id), pairs),
            )


def run_candidates(
    run: Mapping[str, Ranking], gold: GoldByQuery, texts: Mapping[str, str], index: CandidateIndex
) -> Iterator[Candidate]:
    """The passages that a run ranks for each query, then its gold passages that it does not rank.

    A run holds the last stage alone, so that the candidates have no rank in a first stage.

    Args:
        run: A ranking for each query id.
        gold: Gold links; where the run lacks a query, all its gold passages count as lost.
        texts: The words of the queries by id, as far as they are known.
        index: The index that has the passages.

    Raises:
        VerseError: The run has a passage that the index lacks.
    """
    known = _PassageCache(index)
    for query_id in dict.fromkeys([*run, *gold]):
        ranking = run.get(query_id, Ranking.empty())
        places = _stage_ranks(ranking)
        for passage in known.passages(_with_gold(places, gold.get(query_id))):
            place = places.get(passage.id)
            yield Candidate(
                query_id,
                query_text=texts.get(query_id, ""),
                **_work_fields("", gold.get(query_id)),
                **_passage_fields(passage),
                **_gold_fields(passage.id, place.rank if place else None, gold.get(query_id)),
                final=place,
            )


class _PassageCache:
    """The passages of an index, with an LRU cache: queries have many candidates in common."""

    def __init__(self, index: CandidateIndex) -> None:
        self._index = index
        self._recent: LruCache[str, Passage] = LruCache(_KEPT)

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """The passages with these ids, in this order, as `CandidateIndex.passages`."""
        found = {name: self._recent.get(name) for name in ids}
        missing = [name for name, passage in found.items() if passage is None]
        if missing:
            for name, passage in zip(missing, self._index.passages(missing), strict=True):
                self._recent.put(name, passage)
                found[name] = passage
        return [passage for passage in found.values() if passage is not None]


def _with_gold(found: Iterable[str], link: GoldLink | None) -> Sequence[str]:
    return list(dict.fromkeys([*found, *(link.relevant if link else ())]))


def _work_fields(work: str, link: GoldLink | None) -> dict[str, Any]:
    """Whose words a query has; without a gold link its work alone is known, if that is."""
    if link is None:
        return {"title": work}
    return {"author": link.author, "title": link.title, "type": link.type}


def _passage_fields(passage: Passage) -> dict[str, Any]:
    return {
        "verse_id": passage.id,
        "reference": passage.reference or passage.id,
        "book": _book_name(passage.book),
        "testament": passage.testament,
        "order": passage.order,
        "text": passage.text,
    }


def _book_name(code: str) -> str:
    """The book as people write it; collections that are no Bible may call theirs as they like."""
    return book_by_osis(code).abbreviation if code in OSIS_CODES else code


def _gold_fields(passage_id: str, rank: int | None, link: GoldLink | None) -> dict[str, Any]:
    if link is None:
        return {}
    gold = passage_id in link.relevant
    return {"gold": gold, "loss": loss_of(rank) if gold else None}


def _explanation_fields(explanation: Explanation, pairs: int) -> dict[str, Any]:
    words = [each for each in explanation or () if each.is_of_words]
    others = [each for each in explanation or () if not each.is_of_words]
    return {
        "contributions": tuple(words[:pairs]),
        "other_contributions": math.fsum(each.contribution for each in words[pairs:]),
        "beyond_words": math.fsum(each.contribution for each in others),
    }


def _stage_ranks(ranking: Ranking) -> dict[str, StageRank]:
    pairs = zip(ranking.ids, ranking.scores.tolist(), strict=True)
    return {name: StageRank(rank, score) for rank, (name, score) in enumerate(pairs, start=1)}


def _reranker_ranks(ranking: Ranking) -> dict[str, StageRank]:
    places = _stage_ranks(ranking).items()
    return {name: StageRank(place.rank, score_of(place.score)) for name, place in places}


def _in_stages(
    passage_id: str, stages: Mapping[str, Mapping[str, StageRank]]
) -> dict[str, StageRank]:
    return {stage: places[passage_id] for stage, places in stages.items() if passage_id in places}
