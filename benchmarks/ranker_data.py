"""What rankers are learned from and judged by: gold links with the features of candidates."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.cli.progress import progress
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.language.latin.analysis import STOP_WORDS
from allusion_es.learning.links import KnownLink, LearningCollection, known_links
from allusion_es.learning.ranker import Example
from allusion_es.local.index import LocalIndex
from allusion_es.rerankers._shared.features import FeatureMaker
from allusion_es.retrieval.analysed import analyse_query
from allusion_es.retrieval.fusion import reciprocal_rank_fusion
from allusion_es.retrieval.generators import load_generator
from allusion_es.retrieval.pipeline import index_analyser
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import Ranking, SearchFilter

DEPTH = 1000
"""To this rank the recall of first stages is told."""

_BATCH = 64


@dataclass(frozen=True, slots=True)
class Judged:
    """A query with the features of its candidates.

    Attributes:
        link: The gold link.
        example: Features of the candidates, and which are relevant.
        stages: For each first stage the rank of the best relevant passage, infinite if none.
        shared: How many lemmas, stop words aside, query and relevant passages share at most.
    """

    link: KnownLink
    example: Example
    stages: dict[str, float]
    shared: int


@dataclass(frozen=True, slots=True)
class GoldSet:
    """The queries of a gold file.

    Attributes:
        name: The file's.
        names: Names of the features.
        queries: The queries, in the order of the file.
    """

    name: str
    names: tuple[str, ...]
    queries: list[Judged]


def gold_set(
    path: Path,
    index: LocalIndex,
    texts: LearningCollection,
    candidates: int,
    *,
    learned: bool,
    keep: Path | None = None,
) -> GoldSet:
    """A gold file with the features of its candidates.

    Args:
        path: The file.
        index: What is searched.
        texts: Its passages.
        candidates: How many candidates have features.
        learned: Use citation vectors, for candidates and for features.
        keep: A folder where the features are kept, so that the next run is quick; with fewer
            candidates too.
    """
    links, _ = known_links(read_gold(path), texts, index_analyser(index))
    kept = keep / f"{path.stem}-{'citations' if learned else 'words'}.npz" if keep else None
    if kept is not None and kept.exists():
        with np.load(kept) as file:
            arrays = {name: file[name] for name in file.files}
    else:
        arrays = _computed(links, index, candidates, learned)
        if kept is not None:
            np.savez(kept, **arrays)  # type: ignore[arg-type]
    return _as_set(path.stem, links, texts, arrays, candidates)


def with_parts(gold: GoldSet, drop: Callable[[str], bool]) -> GoldSet:
    """The same without the features that `drop` names."""
    kept = [column for column, name in enumerate(gold.names) if not drop(name)]
    queries = [
        replace(one, example=Example(one.example.values[:, kept], one.example.relevant))
        for one in gold.queries
    ]
    return GoldSet(gold.name, tuple(gold.names[column] for column in kept), queries)


def _as_set(
    name: str,
    links: Sequence[KnownLink],
    texts: LearningCollection,
    arrays: dict[str, NDArray[np.generic]],
    candidates: int,
) -> GoldSet:
    names = tuple(str(one) for one in arrays["names"].tolist())
    stages = [str(one) for one in arrays["stage_names"].tolist()]
    ends = np.cumsum(arrays["sizes"]).tolist()
    queries = []
    for number, (link, start, end) in enumerate(zip(links, [0, *ends], ends, strict=False)):
        end = min(end, start + candidates)
        example = Example(arrays["values"][start:end], arrays["relevant"][start:end])  # type: ignore[arg-type]
        ranks = dict(zip(stages, arrays["stages"][number].tolist(), strict=True))
        queries.append(Judged(link, example, ranks, _shared(link, texts)))
    return GoldSet(name, names, queries)


def _computed(
    links: Sequence[KnownLink], index: LocalIndex, candidates: int, learned: bool
) -> dict[str, NDArray[np.generic]]:
    maker, collection = FeatureMaker(), Collection(index)
    values, relevant, sizes, stages = [], [], [], []
    names: tuple[str, ...] = ()
    ways: list[str] = []
    for link, rankings in progress(_searched(links, index, learned), "Features", len(links)):
        ways = list(rankings)
        wanted = set(link.link.relevant)
        stages.append([_best(ranking, wanted) for ranking in rankings.values()])
        first = rankings[ways[-1]].take(range(min(candidates, len(rankings[ways[-1]]))))
        both = Candidates(first, "lemma", index.texts("lemma", first.ids))
        query = analyse_query(link.link.query, index_analyser(index))
        found = maker.features(query, both, collection)
        names = found.names
        values.append(found.values.astype(np.float32))
        relevant.append(np.array([name in wanted for name in first.ids], dtype=np.bool_))
        sizes.append(len(first))
    return {
        "names": np.array(names),
        "stage_names": np.array(ways),
        "values": np.concatenate(values),
        "relevant": np.concatenate(relevant),
        "sizes": np.array(sizes),
        "stages": np.array(stages),
    }


def _searched(
    links: Sequence[KnownLink], index: LocalIndex, learned: bool
) -> Iterator[tuple[KnownLink, dict[str, Ranking]]]:
    """Each link with the rankings of first stages; the last is the one that is reranked."""
    analyser = index_analyser(index)
    bm25, citations = load_generator("bm25"), load_generator("citations")
    others = ("ngrams", "expansion", "fused") if learned else ("ngrams", "fused")
    for start in range(0, len(links), _BATCH):
        batch = links[start : start + _BATCH]
        where = _testament(batch)
        queries = [analyse_query(link.link.query, analyser) for link in batch]
        lemmas = bm25.rank(queries, index, "lemma", DEPTH, where)
        tokens = bm25.rank(queries, index, "token", DEPTH, where)
        vectors = citations.rank(queries, index, "lemma", DEPTH, where) if learned else None
        more = {
            name: load_generator(name).rank(queries, index, "lemma", DEPTH, where)
            for name in others
        }
        for number, link in enumerate(batch):
            words = [tokens[number], lemmas[number]]
            found = {
                "bm25 lemma": lemmas[number],
                "bm25 both": reciprocal_rank_fusion(words, DEPTH),
            }
            if vectors is not None:
                found["citations"] = vectors[number]
            found |= {name: rankings[number] for name, rankings in more.items()}
            yield link, found


def _testament(links: Iterable[KnownLink]) -> SearchFilter:
    """The Old Testament where all queries are passages of the New, else everything."""
    inside = all(link.link.source_ids for link in links)
    return SearchFilter(testaments=frozenset({"ot"})) if inside else SearchFilter()


def _best(ranking: Ranking, wanted: set[str]) -> float:
    return next((rank for rank, name in enumerate(ranking.ids, 1) if name in wanted), np.inf)


def _shared(link: KnownLink, texts: LearningCollection) -> int:
    own = {lemma for _, lemma in link.own_words} - STOP_WORDS
    return max(len(own & {lemma for _, lemma in texts.texts[place]}) for place in link.places)
