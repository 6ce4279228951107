"""How well verses are found: the first stage, single models, and the learned ranker.

    python benchmarks/quality.py WORK GOLD ... [options]

WORK is the folder in which `allusion-es learned-files` keeps the features of the gold links: those
of each fold of works come from vectors and citing texts that know nothing of it, and every ranker
here is learned from the other folds. GOLD are the names of gold files, without ending, that the
ranker is learned from; all others are only measured.

    --words           for indexes without citation vectors
    --like RANKER     also a linear ranker on the features that this ranker's file has, as it would
                      do on the same candidates
    --ablation        also what its linear part finds without each group of its features
    --only GOLD       measure these alone; may be repeated
    --workers N       processes (default: 2)
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.processes import in_processes
from allusion_es.evaluation.statistics import bootstrap_interval, paired_randomisation
from allusion_es.learning.blended_ranker import learn_ranker, ranks_of
from allusion_es.learning.build import CITATION, FOLDS, WORDS, examples_path
from allusion_es.learning.examples import best_rank
from allusion_es.learning.kept_examples import KeptExample, read_examples
from allusion_es.learning.ranker import Example
from allusion_es.rerankers.learned import RankerSet, read_model

SINGLE = (
    "tfidf", "tesserae", "bm25-lemma", "soft-cosine", "spelling", "local-alignment-lemma",
    "citations-context", "maxsim-cubed", "citing-context-three",
)  # fmt: skip
BASE = "soft-cosine"

AUTHOR = 20
"""Authors with fewer queries are counted together."""

GROUPS: Mapping[str, Callable[[str], bool]] = {
    "the first stage's scores": lambda name: name.startswith(("first-stage", "stage-")),
    "BM25, TfIdf": lambda name: name.startswith(("bm25", "tfidf")),
    "soft cosine": lambda name: name.startswith("soft-cosine"),
    "Tesserae": lambda name: name.startswith("tesserae"),
    "spelling": lambda name: name.startswith("spelling"),
    "local alignment": lambda name: name.startswith(("local-alignment", "run")),
    "citation vectors of texts": lambda name: name.startswith("citations") or name == "both",
    "citation vectors of words": lambda name: name.startswith(
        ("maxsim", "aligned", "alike", "largest")
    ),
    "evidence from citing texts": lambda name: name.startswith("citing"),
    "words around the query": lambda name: name.startswith(("window", "citations-context")),
    "verses beside": lambda name: name.endswith("/neighbour"),
    "chapter and book": lambda name: name.startswith(("chapter", "book")),
    "shares and lengths": lambda name: (
        name.startswith(("coverage", "shared", "rarest", "length", "query-words", "words-around"))
        or name.endswith("/short")
    ),
    "ranks": lambda name: name.endswith("/rank"),
}

FEWER = (100, 60)
"""With how many candidates the whole ranker is measured besides."""

WHOLE, LINEAR, LIKE = "learned", "learned, linear part", "linear, the features of --like"

Ranks = NDArray[np.float64]


class Folds:
    """The kept examples of all folds.

    Args:
        work: The folder.
        kind: With or without citation vectors.
        gold: Names of the gold files that are learned from.
    """

    def __init__(self, work: Path, kind: str, gold: Sequence[str]) -> None:
        self._folds = [read_examples(examples_path(work, n, kind)) for n in range(FOLDS)]
        self.names = self._folds[0][0]
        self._gold = {"", *gold}
        self._trees = kind == CITATION

    def tested(self, fold: int) -> list[KeptExample]:
        """The gold links of a fold."""
        return [one for one in self._folds[fold][1] if one.file]

    def learn(self, fold: int, columns: Sequence[int], *, trees: bool) -> RankerSet:
        """The ranker on some features that is learned from the other folds."""
        others = [one for n, (_, some) in enumerate(self._folds) if n != fold for one in some]
        used = [with_columns(one, columns) for one in others if one.file in self._gold]
        names = tuple(self.names[column] for column in columns)
        return learn_ranker(names, used, trees=trees and self._trees)


def with_columns(one: KeptExample, columns: Sequence[int]) -> KeptExample:
    """An example with some of its features."""
    return replace(one, example=Example(one.example.values[:, columns], one.example.relevant))


def first(one: KeptExample, count: int) -> KeptExample:
    """An example with its first candidates alone; features stay those among all."""
    values, relevant = one.example.values[:count], one.example.relevant[:count]
    return replace(one, example=Example(values, relevant))


Piece = tuple[str, int]
"""What is left out, "" for nothing or `LIKE`, and the fold that is measured."""


def start(
    work: Path, kind: str, gold: Sequence[str], like: Path | None
) -> Callable[[Piece], dict[str, Ranks]]:
    """Start a process; gives the function that measures a piece, by the ranker's name."""
    folds = Folds(work, kind, gold)

    def measure(piece: Piece) -> dict[str, Ranks]:
        without, fold = piece
        if without == LIKE:
            assert like is not None
            kept = set(read_names(like, kind))
            columns = [n for n, name in enumerate(folds.names) if name in kept]
        else:
            drop = GROUPS[without] if without else None
            columns = [n for n, name in enumerate(folds.names) if not (drop and drop(name))]
        # Without trees, which take fifteen times as long to learn.
        ranker = folds.learn(fold, columns, trees=not without)
        tested = [with_columns(one, columns) for one in folds.tested(fold)]
        found = {without or WHOLE: ranks_of(ranker, tested)}
        if not without:
            found[LINEAR] = ranks_of(replace(ranker, trees=()), tested)
            for count in FEWER:
                few = [first(one, count) for one in tested]
                found[f"{WHOLE}, {count} candidates"] = ranks_of(ranker, few)
        return found

    return measure


def read_names(path: Path, kind: str) -> tuple[str, ...]:
    """The features of a ranker's file, also of one of the first format."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if lines[0].endswith("ranker 1"):
        return tuple(line.split("\t")[1] for line in lines[1:] if line.startswith(f"{kind}\t"))
    return read_model(path).sets[kind].features


def single(queries: Sequence[KeptExample], column: int | None) -> Ranks:
    """The ranks that one feature gives; None for the order of the first stage."""
    found = []
    for one in queries:
        values = one.example.values
        scores = -np.arange(len(values)) if column is None else values[:, column]
        found.append(best_rank(scores.astype(np.float64), one.example.relevant))
    return np.array(found, dtype=np.float64)


def figures(ranks: Ranks) -> str:
    """MRR, P@10 and P@20, times 100."""
    values = ((1 / ranks).mean(), (ranks <= 10).mean(), (ranks <= 20).mean())
    return "/".join(f"{100 * value:.1f}" for value in values)


def interval(ranks: Ranks, works: Sequence[str]) -> str:
    """The 95% interval of the MRR, by work, times 100."""
    low, high = bootstrap_interval((1 / ranks).tolist(), works)
    return f"[{100 * low:.1f}, {100 * high:.1f}]"


def tell(file: str, queries: Sequence[KeptExample], methods: Mapping[str, Ranks]) -> None:
    """Print the tables of a gold file."""
    print(f"\n{file}: {len(queries)} queries; MRR/P@10/P@20, interval of the MRR by work")
    works = [one.work or str(number) for number, one in enumerate(queries)]
    for name, ranks in methods.items():
        print(f"  {name:40} {figures(ranks):15} {interval(ranks, works)}")
    base, learned = methods[BASE], methods[WHOLE]
    shared = np.minimum([one.shared for one in queries], 3)
    for count in range(4):
        mine = shared == count
        if mine.any():
            both = f"{BASE} {figures(base[mine])}, learned {figures(learned[mine])}"
            print(f"  {count}{'+' if count == 3 else ''} shared lemmas, {mine.sum()}: {both}")
    authors = np.array([one.author or "unknown" for one in queries])
    names, counts = np.unique(authors, return_counts=True)
    large = names[counts >= AUTHOR]
    for name in (*large[np.argsort(-counts[counts >= AUTHOR], kind="stable")], "others"):
        mine = ~np.isin(authors, large) if name == "others" else authors == name
        if mine.any():
            both = f"{BASE} {figures(base[mine])}, learned {figures(learned[mine])}"
            print(f"  {name}, {mine.sum()}: {both}")


def main() -> None:
    options = parsed(sys.argv[1:])
    kind = WORDS if options.words else CITATION
    folds = Folds(options.work, kind, options.gold)
    queries = [one for n in range(FOLDS) for one in folds.tested(n)]
    withouts = ["", *([LIKE] if options.like else []), *(GROUPS if options.ablation else ())]
    found: dict[str, list[Ranks]] = {}
    pieces = [(without, fold) for without in withouts for fold in range(FOLDS)]
    begin = partial(start, options.work, kind, options.gold, options.like)
    for _, parts in in_processes(begin, pieces, options.workers, "fewer --workers", ordered=True):
        for name, ranks in parts.items():
            found.setdefault(name, []).append(ranks)
    learned = {name: np.concatenate(ranks) for name, ranks in found.items()}
    for file in options.only or dict.fromkeys(one.file for one in queries):
        mine = np.array([one.file == file for one in queries])
        some = [one for one in queries if one.file == file]
        methods = {"first stage": single(some, None)}
        methods |= {n: single(some, folds.names.index(n)) for n in SINGLE if n in folds.names}
        few = [f"{WHOLE}, {count} candidates" for count in FEWER]
        methods |= {n: learned[n][mine] for n in (LIKE, LINEAR, WHOLE, *few) if n in learned}
        tell(file, some, methods)
        works = [one.work or str(number) for number, one in enumerate(some)]
        for name in GROUPS if options.ablation else ():
            ranks = learned[name][mine]
            p = paired_randomisation(
                (1 / ranks).tolist(), (1 / methods[LINEAR]).tolist(), works, permutations=2000
            )
            print(f"  linear part without {name:30} {figures(ranks)} p {p:.4f}")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("gold", nargs="+")
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--like", type=Path)
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--only", action="append")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
