"""Examples for rankers: gold links with the features of their candidates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from allusion_es.learning.links import KnownLink
from allusion_es.learning.ranker import Example
from allusion_es.rerankers._shared.features import FeatureMaker
from allusion_es.retrieval.analysed import analyse_query
from allusion_es.retrieval.generators import load_generator
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import index_analyser
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import Ranking, SearchFilter

_BATCH = 64

_FIRST, _SOME = 45, 30
"""Candidates that are learned from besides the relevant ones: the first, and some of the others.

All of them would take three times as long and teach no more."""


@dataclass(frozen=True, slots=True)
class LinkExample:
    """A link with its candidates.

    Attributes:
        link: The link.
        candidates: Ids of the candidates, best first.
        names: Names of the features.
        example: Their features, and which of them are relevant.
    """

    link: KnownLink
    candidates: tuple[str, ...]
    names: tuple[str, ...]
    example: Example


def link_examples(
    links: Sequence[KnownLink],
    index: CandidateIndex,
    candidates: int,
    first_stage: str = "fused",
    groups: Sequence[str] = (),
    *,
    encoder: bool = False,
    cross_encoder: str = "",
) -> Iterator[LinkExample]:
    """Each link with its candidates and their features, in order.

    Links whose own words are passages of the collection are looked up in the Old Testament, as
    those from the New Testament that they are.

    Args:
        links: The links; one without candidates is left out.
        index: The index that is searched; it should not have been learned from them.
        candidates: How many candidates of the first stage have features.
        first_stage: Name of a candidate generator.
        groups: Groups of passages that have a feature each, as in `FeatureMaker`.
        encoder: Whether the cosine of the index's encoder is a feature.
        cross_encoder: A cross-encoder whose score is a feature, or "".
    """
    analyser, generator = index_analyser(index), load_generator(first_stage)
    maker = FeatureMaker(None, groups, encoder=encoder, cross_encoder=cross_encoder)
    collection = Collection(index)
    remaining = iter(links)
    while batch := list(islice(remaining, _BATCH)):
        queries = [analyse_query(link.link.query, analyser) for link in batch]
        rankings: dict[int, Ranking] = {}
        for testaments in (frozenset[str](), frozenset({"ot"})):
            some = [
                n for n, link in enumerate(batch) if bool(link.link.source_ids) == bool(testaments)
            ]
            found = generator.rank(
                [queries[n] for n in some],
                index,
                "lemma",
                candidates,
                SearchFilter(testaments=testaments),
            )
            rankings |= zip(some, found, strict=True)
        for number, link in enumerate(batch):
            ranking, relevant = rankings[number], set(link.link.relevant)
            if not len(ranking):
                continue
            words = Candidates(ranking, "lemma", index.texts("lemma", ranking.ids))
            made = maker.features(queries[number], words, collection)
            is_relevant = np.array([name in relevant for name in ranking.ids], dtype=np.bool_)
            example = Example(made.values.astype(np.float32), is_relevant)
            yield LinkExample(link, ranking.ids, made.names, example)


def thinned(example: Example, seed: str, first: int = _FIRST, some: int = _SOME) -> Example:
    """The relevant candidates, the first ones, and some others by chance: enough to learn from.

    Args:
        example: A query's candidates, in the order of the first stage.
        seed: What chance depends on, such as the query's words.
        first: How many of the first are kept.
        some: How many of the others.
    """
    places = np.arange(len(example.relevant))
    chosen: NDArray[np.bool_] = example.relevant | (places < first)
    rest = np.flatnonzero(~chosen)
    rng = np.random.default_rng(crc32(seed.encode()))
    chosen[rng.choice(rest, min(some, len(rest)), replace=False)] = True
    return Example(example.values[chosen], example.relevant[chosen])


def best_rank(scores: NDArray[np.float64], relevant: NDArray[np.bool_]) -> float:
    """The best rank of a relevant candidate, of those with equal scores the last.

    Infinite where none is relevant.

    Example:
        >>> best_rank(np.array([3.0, 2.0, 2.0]), np.array([False, True, False]))
        3.0
    """
    if not relevant.any():
        return np.inf
    best = scores[relevant].max()
    return float(1 + np.count_nonzero(scores[~relevant] >= best))
