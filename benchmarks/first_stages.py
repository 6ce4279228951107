"""How well first stages find verses, on indexes that know nothing of the works that are tested.

    python benchmarks/first_stages.py WORK LINKS ... --gold GOLD ... [--judge GOLD ...] [options]

WORK is the folder that `allusion-es learned-files` keeps, made from the same LINKS and GOLD, which
are given in the same order. Of each fold of works the gold links are searched in the fold's own
index. Printed are MRR, P@10 and P@20 in hundredths, and how often a relevant verse is among the
first 150, 500 and 1,000 (R@150 and so on).

    --only GOLD       measure this gold file alone (its name without ending); may be repeated
    --workers N       processes (default: 2)
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from allusion_es.core.processes import in_processes
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.learning.build import FOLDS, Sources, Workshop
from allusion_es.learning.examples import best_rank
from allusion_es.local.index import LocalIndex
from allusion_es.retrieval.analysed import analyse_query
from allusion_es.retrieval.citation_models import SUFFIX
from allusion_es.retrieval.pipeline import QueryOptions, Ranked, Ranker, index_analyser
from allusion_es.retrieval.reranking import Collection
from allusion_es.retrieval.types import SearchFilter

DEPTH, TOGETHER = 1_000, 64
RECALLS = (150, 500, 1_000)

STAGES = (
    ("BM25, tokens", "bm25", "token"),
    ("BM25, lemmas", "bm25", "lemma"),
    ("BM25, tokens and lemmas", "bm25", "both"),
    ("letters", "ngrams", "token"),
    ("citations", "citations", "lemma"),
    ("expansion", "expansion", "lemma"),
    ("citing-texts", "citing-texts", "lemma"),
    ("fused", "fused", "lemma"),
)
"""A name, the generator and its field."""

Piece = tuple[int, str, str]
"""A fold, a generator and a field."""


def start(sources: Sources, only: Sequence[str]) -> Callable[[Piece], list[tuple[str, float]]]:
    """Start a process; gives the function that measures a stage on a fold.

    It returns the name of each gold link's file, and the rank of the first relevant verse.
    """
    workshop = Workshop(sources)

    def measure(piece: Piece) -> list[tuple[str, float]]:
        fold, stage, field = piece
        name = f"fold-{fold}"
        index = workshop.index_with(CitationVectors(sources.work / f"{name}{SUFFIX}"), name)
        links = [
            (file, known.link)
            for file, known in workshop.folds[fold].tested
            if file and (not only or file in only)
        ]
        found: list[tuple[str, float]] = []
        # Links from the New Testament are looked up in the Old.
        for testaments in (frozenset[str](), frozenset({"ot"})):
            some = [each for each in links if bool(each[1].source_ids) == bool(testaments)]
            ranks = ranked([link for _, link in some], index, stage, field, testaments)
            found += zip((file for file, _ in some), ranks, strict=True)
        return found

    return measure


def ranked(
    links: Sequence[GoldLink],
    index: LocalIndex,
    stage: str,
    field: str,
    testaments: frozenset[str],
) -> list[float]:
    """The rank of the first relevant verse of each link, infinite beyond `DEPTH`."""
    options = QueryOptions.chosen(
        first_stage=stage,
        field=field,
        candidates=DEPTH,
        rerank="none",
        top=DEPTH,
        search_filter=SearchFilter(testaments=testaments),
    )
    analyser = index_analyser(index)
    ranks = []
    remaining = iter(links)
    while batch := list(islice(remaining, TOGETHER)):
        queries = [analyse_query(link.query, analyser) for link in batch]
        answers = Ranker(index, options).rank(queries, Collection(index))
        for found, link in zip(answers, batch, strict=True):
            assert isinstance(found, Ranked)
            relevant = [name in set(link.relevant) for name in found.first.ids]
            ranks.append(best_rank(found.first.scores, np.array(relevant, dtype=np.bool_)))
    return ranks


def figures(ranks: Sequence[float]) -> str:
    """MRR, P@10 and P@20, and recalls, in hundredths."""
    found = np.array(ranks)
    measures = ((1 / found).mean(), (found <= 10).mean(), (found <= 20).mean())
    recalls = ((found <= depth).mean() for depth in RECALLS)
    return "   ".join("/".join(f"{100 * x:.1f}" for x in row) for row in (measures, recalls))


def main() -> None:
    """Print a table for each gold file."""
    options = parsed(sys.argv[1:])
    sources = Sources(
        tuple(options.links), tuple(options.gold), tuple(options.judge), work=options.work
    )
    begin = partial(start, sources, tuple(options.only or ()))
    pieces = [(fold, stage, field) for fold in range(FOLDS) for _, stage, field in STAGES]
    found: dict[tuple[str, str, str], list[float]] = {}
    for (_, stage, field), parts in in_processes(
        begin, pieces, options.workers, "fewer --workers", ordered=True
    ):
        for file, rank in parts:
            found.setdefault((file, stage, field), []).append(rank)
    for file in dict.fromkeys(file for file, _, _ in found):
        print(f"\n{file}: MRR/P@10/P@20   R@{'/'.join(map(str, RECALLS))}")
        for name, stage, field in STAGES:
            print(f"  {name:26} {figures(found[file, stage, field])}")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("links", nargs="+", type=Path)
    parser.add_argument("--gold", nargs="+", type=Path, required=True)
    parser.add_argument("--judge", nargs="+", type=Path, default=[])
    parser.add_argument("--only", action="append")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
