"""How well verses are found: first stages, single models, and the learned ranker.

    python benchmarks/quality.py GOLD.jsonl ... [options]

    --name NAME       the index; its citation vectors must not have been learned from works or
                      wording of the gold files, or figures with citations say nothing
    --without NAME    the same passages, indexed with --no-learned-links (default: words)
    --candidates N    how many candidates are reranked
    --keep FOLDER     keep the features there, so that the next run is quick
    --folds N         in how many parts works are divided
    --only KIND       `citations` or `words`: with or without citation vectors only
    --ablation        also what the ranker finds without each group of its features

Files whose links have works are tested by cross-validation: the ranker is learned from the works
of the other parts, all files together, without links that share a title or six words in a row
with a tested one. Files without works are tested with what is learned from all the others. Links
from the New Testament are looked up in the Old.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from ranker_data import GoldSet, Judged, gold_set, with_parts

from allusion_es.core.arrays import Floats
from allusion_es.evaluation.statistics import paired_randomisation
from allusion_es.learning.links import LearningCollection, read_collection
from allusion_es.learning.ranker import Example, feature_scales, learn_weights
from allusion_es.learning.validation import folds_by_work, without_leaks
from allusion_es.local.library import Library

PENALTY = 0.003
"""Of squared weights; not tuned."""

SINGLE = ("tfidf", "tesserae", "bm25-lemma", "soft-cosine", "spelling", "local-alignment-lemma")
BASE = "soft-cosine"

AUTHOR = 20
"""Authors with fewer queries are counted together."""

GROUPS: Mapping[str, Callable[[str], bool]] = {
    "the first stage": lambda name: name.startswith("first-stage"),
    "BM25, TfIdf": lambda name: name.startswith(("bm25", "tfidf")),
    "soft cosine": lambda name: name.startswith("soft-cosine"),
    "Tesserae": lambda name: name.startswith("tesserae"),
    "spelling": lambda name: name.startswith("spelling"),
    "local alignment": lambda name: name.startswith(("local-alignment", "run")),
    "citation vectors": lambda name: name.startswith("citations") or name == "both",
    "words around": lambda name: name.startswith(("window", "citations-context")),
    "neighbouring verses": lambda name: name.endswith("/neighbour"),
    "shares and lengths": lambda name: (
        name.startswith(("coverage", "shared", "rarest", "length")) or name.endswith("/short")
    ),
    "ranks": lambda name: name.endswith("/rank"),
}

Ranks = NDArray[np.float64]
Score = Callable[[Example], Floats]


def thinned(example: Example) -> Example:
    """The relevant candidates, the first 60, and every sixth of the rest: enough to learn from."""
    places = np.arange(len(example.relevant))
    chosen = example.relevant | (places < 60) | (places % 6 == 0)
    return Example(example.values[chosen], example.relevant[chosen])


def learn(queries: Sequence[Judged]) -> Score:
    """A ranker that is learned from these queries."""
    examples = [thinned(one.example) for one in queries if one.example.relevant.any()]
    scales = feature_scales(examples)
    weights = learn_weights(examples, scales, PENALTY) / scales
    return lambda example: example.values.astype(np.float64) @ weights


def rank(scores: Floats, relevant: NDArray[np.bool_]) -> float:
    """The best rank of a relevant candidate, of those with equal scores the last."""
    if not relevant.any():
        return np.inf
    best = scores[relevant].max()
    return float(1 + np.count_nonzero(scores[~relevant] >= best))


def cross_validated(sets: Sequence[GoldSet], texts: LearningCollection, folds: int) -> list[Ranks]:
    """For each set the ranks that rankers learned from other works give."""
    queries = [one for gold in sets for one in gold.queries]
    by_link = {id(one.link): number for number, one in enumerate(queries)}
    ranks = np.full(len(queries), np.inf)
    with_works = [one.link for one in queries if one.link.link.work]
    for held_out in folds_by_work(with_works, folds):
        held = {id(link) for link in held_out}
        rest = [link for link in with_works if id(link) not in held]
        learned = without_leaks(rest, held_out, texts)
        score = learn([queries[by_link[id(link)]] for link in learned])
        for link in held_out:
            example = queries[by_link[id(link)]].example
            ranks[by_link[id(link)]] = rank(score(example), example.relevant)
    score = learn([queries[by_link[id(link)]] for link in with_works])
    for number, one in enumerate(queries):
        if not one.link.link.work:
            ranks[number] = rank(score(one.example), one.example.relevant)
    ends = np.cumsum([len(gold.queries) for gold in sets]).tolist()
    return [ranks[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def single(gold: GoldSet, name: str) -> Ranks:
    """The ranks that one feature gives."""
    column = gold.names.index(name)
    return np.array(
        [
            rank(q.example.values[:, column].astype(np.float64), q.example.relevant)
            for q in gold.queries
        ],
        dtype=np.float64,
    )


def figures(ranks: Ranks) -> str:
    """MRR, P@10 and P@20, times 100."""
    values = ((1 / ranks).mean(), (ranks <= 10).mean(), (ranks <= 20).mean())
    return "/".join(f"{100 * value:.1f}" for value in values)


def works_of(gold: GoldSet) -> list[str]:
    """The work of each query; one without is a work of its own."""
    return [one.link.link.work or str(number) for number, one in enumerate(gold.queries)]


def tell(gold: GoldSet, learned: Ranks, kind: str) -> None:
    """Print the tables of a set."""
    print(f"\n{gold.name}, {len(gold.queries)} queries, {kind}")
    for stage in gold.queries[0].stages:
        ranks = np.array([one.stages[stage] for one in gold.queries])
        recall = "/".join(f"{100 * (ranks <= depth).mean():.1f}" for depth in (100, 500, 1000))
        print(f"  first stage {stage:24} {figures(ranks):15} recall@100/500/1000 {recall}")
    works, base = works_of(gold), single(gold, BASE)
    names = [name for name in (*SINGLE, "citations", "citations-context") if name in gold.names]
    for name, ranks in [*((name, single(gold, name)) for name in names), ("learned", learned)]:
        p = paired_randomisation(
            (1 / ranks).tolist(), (1 / base).tolist(), works, permutations=2000
        )
        print(f"  {name:36} {figures(ranks):15} p {p:.4f}")
    shared = np.minimum([one.shared for one in gold.queries], 3)
    for count in range(4):
        mine = shared == count
        if mine.any():
            both = f"{BASE} {figures(base[mine])}, learned {figures(learned[mine])}"
            print(f"  {count}{'+' if count == 3 else ''} shared lemmas, {mine.sum()}: {both}")


def by_author(gold: GoldSet, learned: Ranks) -> None:
    """Print the figures of authors with at least `AUTHOR` queries, and of the rest together."""
    base = single(gold, BASE)
    authors = np.array([one.link.link.author or "unknown" for one in gold.queries])
    names, counts = np.unique(authors, return_counts=True)
    large = names[counts >= AUTHOR]
    for name in (*large[np.argsort(-counts[counts >= AUTHOR], kind="stable")], "others"):
        mine = ~np.isin(authors, large) if name == "others" else authors == name
        if mine.any():
            both = f"{BASE} {figures(base[mine])}, learned {figures(learned[mine])}"
            print(f"  {name}, {mine.sum()}: {both}")


def ablation(
    sets: Sequence[GoldSet], whole: Sequence[Ranks], texts: LearningCollection, folds: int
) -> None:
    """Print what the ranker finds without each group of features."""
    for title, drop in GROUPS.items():
        less = [with_parts(gold, drop) for gold in sets]
        cells = []
        for gold, ranks, all_ranks in zip(
            sets, cross_validated(less, texts, folds), whole, strict=True
        ):
            p = paired_randomisation(
                (1 / ranks).tolist(), (1 / all_ranks).tolist(), works_of(gold), permutations=2000
            )
            cells.append(f"{figures(ranks)} p {p:.4f}")
        print(f"  without {title:24} {'  '.join(cells)}", flush=True)


def main() -> None:
    options = parsed(sys.argv[1:])
    library = Library()
    index = library.open(options.name)
    bare = library.open(options.without)
    texts = read_collection(index)
    for learned, chosen in ((False, bare), (True, index)):
        if options.only == ("words" if learned else "citations"):
            continue
        sets = [
            gold_set(path, chosen, texts, options.candidates, learned=learned, keep=options.keep)
            for path in options.gold
        ]
        found = cross_validated(sets, texts, options.folds)
        for gold, ranks in zip(sets, found, strict=True):
            tell(gold, ranks, f"{'with' if learned else 'without'} citation vectors")
            by_author(gold, ranks)
        if options.ablation:
            ablation(sets, found, texts, options.folds)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("gold", type=Path, nargs="+")
    parser.add_argument("--name", default="vulgate")
    parser.add_argument("--without", default="words")
    parser.add_argument("--candidates", type=int, default=400)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--only", choices=("citations", "words"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
