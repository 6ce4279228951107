"""Makes all files learned from known citations that come with the program.

    python -m allusion_es.learning.build LINKS.jsonl[.gz] --gold GOLD.jsonl ... --out FOLDER

LINKS are many, and may be wrong now and then: vectors, translations and citing texts are learned
from them. GOLD are few and better: the ranker is learned from them, and from some of the links.
Nothing that is learned from a link may be used where the ranker learns from it, or it would learn
to trust memory. So the works are divided into folds. For each fold, vectors and citing texts are
learned from the links of all other works, without those that share a title or six words in a row
with it; the features of the fold's links and gold links come from these. The ranker is learned
from the features of all folds. Last, vectors, translations and citing texts are learned from all
links.

    --gold FILE       gold links to learn the ranker from; may be repeated
    --judge FILE      gold links without works, such as those from the New Testament to the Old,
                      that the ranker is only measured on; may be repeated
    --out FOLDER      where the files are written: NAME.citations, NAME.translations, NAME.citing
                      and NAME.ranker
    --name NAME       their name (default: patrologia)
    --index NAME      the index of the passages (default: vulgate)
    --work FOLDER     what is made on the way is kept here; a run that was stopped goes on from it
    --workers N       processes (default: 2)
    --about KEY=TEXT  something to write into the files, such as the licence of the links

It prints how well the ranker does on the gold links, each fold with a ranker learned from the
others. The same links and gold give the same files, byte for byte.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.errors import UsageError
from allusion_es.core.files import write_lines
from allusion_es.core.processes import in_processes
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.language.citations.citing_texts import SUFFIX as CITING
from allusion_es.language.citations.citing_texts import save_citing_texts
from allusion_es.language.citations.translations import save_translations
from allusion_es.language.citations.vectors import CitationVectors, save_citation_vectors
from allusion_es.learning.boosting import learn_trees
from allusion_es.learning.examples import LinkExample, best_rank, link_examples, thinned
from allusion_es.learning.learn import ROWS, citing_texts, facts_of, prune
from allusion_es.learning.links import (
    KnownLink,
    LearningCollection,
    known_links,
    read_collection,
    read_links,
)
from allusion_es.learning.ranker import Example, feature_scales, learn_weights
from allusion_es.learning.train import CitationTraining, train
from allusion_es.learning.translation_model import learn_translations
from allusion_es.learning.validation import Figures, folds_by_work, title_key, without_leaks
from allusion_es.local.build import build_local
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import VULGATE_NAME, Library
from allusion_es.rerankers._shared.trees import Trees
from allusion_es.rerankers.learned import RankerSet, blended, write_model
from allusion_es.retrieval.analysed import reread
from allusion_es.retrieval.citation_models import SUFFIX as CITATIONS
from allusion_es.retrieval.citation_models import TRANSLATIONS
from allusion_es.retrieval.defaults import CANDIDATES
from allusion_es.retrieval.pipeline import index_analyser

FOLDS = 4
"""Parts of the works; with more, more vectors must be trained, from hardly more links."""

ALLUSIONS, QUOTATIONS = 6_000, 1_800
"""Links that the ranker learns from besides gold links."""

OF_A_WORK = 60
"""Links of one kind that are taken from a work at most, so that no work drowns the others."""

_SHORTEST = 4
"""Words of such a link at least: of fewer nobody could tell what they allude to."""

PENALTY = 0.003
"""Of the squared weights of the linear ranker; not tuned."""

_GOLD, _QUOTATION = 2.0, 0.4
"""How much a gold link counts for the trees beside another, and a quotation beside an allusion."""


@dataclass(frozen=True)
class Sources:
    """What everything is learned from, and where it is kept meanwhile.

    Attributes:
        links: Files of links.
        gold: Files of gold links to learn from.
        judged: Files of gold links that are only measured on.
        index: Name of the index of the passages.
        work: The folder of what is made on the way.
        about: Facts that are written into the files.
    """

    links: tuple[Path, ...]
    gold: tuple[Path, ...]
    judged: tuple[Path, ...]
    index: str
    work: Path
    about: Mapping[str, str]


@dataclass(frozen=True)
class Fold:
    """A part of the works.

    Attributes:
        tested: Its links and gold links, each with the name of its file.
        learned: Links of other works that give nothing of it away.
    """

    tested: list[tuple[str, KnownLink]]
    learned: list[KnownLink]


class Workshop:
    """Reads the sources once, and makes one file after the other from them.

    Args:
        sources: What is learned from.
    """

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.library = Library()
        self.index = self.library.open(sources.index)
        self.collection: LearningCollection = read_collection(self.index)
        analyser = index_analyser(self.index)
        self.settings = analyser.settings
        found = (link for path in sources.links for link in read_links(path))
        self.links, _ = known_links(found, self.collection, analyser)
        self.gold = {
            path.stem: known_links(read_gold(path), self.collection, analyser)[0]
            for path in (*sources.gold, *sources.judged)
        }

    @cached_property
    def folds(self) -> list[Fold]:
        """The works in parts, and what may be learned for each."""
        named = [("", link) for link in chosen_links(self.links)]
        named += [(name, link) for name, links in self.gold.items() for link in links]
        names = {id(link): name for name, link in named}
        folds = folds_by_work([link for _, link in named], FOLDS)
        return [
            Fold(
                [(names[id(link)], link) for link in fold],
                without_leaks(self.links, fold, self.collection),
            )
            for fold in folds
        ]

    def vectors(self, links: Sequence[KnownLink], name: str) -> CitationVectors:
        """Citation vectors learned from links, and beside them the citing texts; made once."""
        path = self.sources.work / f"{name}{CITATIONS}"
        if not path.with_suffix(CITING).exists():
            training = CitationTraining()
            checkpoint = path.with_suffix(".unfinished")
            table = train(
                links, self.collection, self.library.vectors(), training, checkpoint=checkpoint
            )
            facts = facts_of(
                links, self.collection, self.sources.index, training, self.sources.about
            )
            kept = prune(table, ROWS, links, self.collection)
            saved = save_citation_vectors(path, kept, self.settings, facts)
            beside = {"links": len(links), "vectors": saved, **self.sources.about}
            texts = citing_texts(links, self.collection)
            save_citing_texts(path.with_suffix(CITING), texts, self.settings, beside)
        return CitationVectors(path)

    def translations(self, vectors: CitationVectors) -> None:
        """Write the translations that are learned from all links beside vectors."""
        facts = {"links": len(self.links), "vectors": vectors.name, **self.sources.about}
        table = learn_translations(self.links, self.collection)
        save_translations(vectors.path.with_suffix(TRANSLATIONS), table, self.settings, facts)

    def index_with(self, vectors: CitationVectors | None, name: str) -> LocalIndex:
        """The index of the passages with these citation vectors, or none; built once."""
        path = self.sources.work / f"{name}.idx"
        if not path.exists():
            settings = replace(self.index.settings, citations=vectors.name if vectors else "")
            build_local(path, reread(self.index), settings, self.index.vectors, vectors, 1)
        return LocalIndex(
            path, self.library.vectors, (lambda _: vectors) if vectors is not None else None
        )

    def examples(self, number: int, index: LocalIndex, kind: str) -> None:
        """Keep the features of the candidates of a fold's links in a file; made once."""
        path = examples_path(self.sources.work, number, kind)
        if path.exists():
            return
        tested = self.folds[number].tested
        if kind == WORDS:
            tested = [(name, link) for name, link in tested if name]
        names = {id(link): name for name, link in tested}
        found = link_examples([link for _, link in tested], index, CANDIDATES)
        save_examples(path, ((names[id(one.link)], one) for one in found))


CITATION, WORDS = "citations", "words"
"""Rankers for indexes with and without citation vectors."""

KINDS = (CITATION, WORDS)


def chosen_links(links: Sequence[KnownLink]) -> list[KnownLink]:
    """Some of the links, from as many works as can be: what the ranker learns from besides gold.

    Which, depends on a hash of each, not on their order.
    """
    wanted = {"allusion": ALLUSIONS, "quotation": QUOTATIONS}
    of_work: Counter[tuple[str, str]] = Counter()
    chosen = []
    for link in sorted(links, key=_hash):
        key = title_key(link.link.title), link.link.type
        is_long = len(link.own_words) >= _SHORTEST
        if is_long and wanted.get(link.link.type, 0) and of_work[key] < OF_A_WORK:
            wanted[link.link.type] -= 1
            of_work[key] += 1
            chosen.append(link)
    return chosen


def _hash(link: KnownLink) -> bytes:
    text = "\t".join((link.link.query.text, link.link.query.before, *link.link.relevant))
    return sha256(text.encode()).digest()


# Features on disk: one file a fold.


@dataclass(frozen=True)
class KeptExample:
    """A link's candidates, as they are kept.

    Attributes:
        file: Name of the gold file, "" for one of the links.
        work: The work it is from.
        text: Its words.
        type: Its kind.
        example: Features of all candidates, and which are relevant.
    """

    file: str
    work: str
    text: str
    type: str
    example: Example


def examples_path(work: Path, number: int, kind: str) -> Path:
    """The file of a fold's examples."""
    return work / f"fold-{number}-{kind}.npz"


def save_examples(path: Path, examples: Iterator[tuple[str, LinkExample]]) -> None:
    """Write examples, whole or not at all; of the links, only the candidates learned from."""
    facts: list[list[str]] = []
    values: list[NDArray[np.float32]] = []
    relevant: list[NDArray[np.bool_]] = []
    names: tuple[str, ...] = ()
    for file, one in examples:
        names = one.names
        link = one.link.link
        facts.append([file, link.work, link.query.text, link.type])
        kept = one.example if file else thinned(one.example, link.query.text)
        values.append(kept.values)
        relevant.append(kept.relevant)
    part = path.with_suffix(".part.npz")
    np.savez(
        part,
        names=np.array(names),
        facts=np.array(json.dumps(facts)),
        sizes=np.array([len(one) for one in relevant]),
        values=np.concatenate(values),
        relevant=np.concatenate(relevant),
    )
    part.replace(path)


def read_examples(path: Path) -> tuple[tuple[str, ...], list[KeptExample]]:
    """The names of features, and the examples of a file."""
    with np.load(path) as opened:
        arrays = {name: opened[name] for name in opened.files}
    facts = json.loads(str(arrays["facts"]))
    ends = np.cumsum(arrays["sizes"]).tolist()
    examples = []
    for (file, work, text, kind), start, end in zip(facts, [0, *ends], ends, strict=False):
        example = Example(arrays["values"][start:end], arrays["relevant"][start:end])
        examples.append(KeptExample(file, work, text, kind, example))
    return tuple(str(name) for name in arrays["names"].tolist()), examples


# The pieces of work, done in several processes.

ALL = "all"


def pieces() -> list[str]:
    """All pieces of work, the longest first."""
    return [*(f"fold {number}" for number in range(FOLDS)), ALL, "words"]


def start_work(sources: Sources) -> Callable[[str], float]:
    """Start a process's workshop; gives the function that does a piece, and how long it took."""
    workshop = Workshop(sources)

    def work(piece: str) -> float:
        started = time.monotonic()
        if piece == ALL:
            workshop.translations(workshop.vectors(workshop.links, ALL))
        elif piece == WORDS:
            index = workshop.index_with(None, WORDS)
            for number in range(FOLDS):
                workshop.examples(number, index, WORDS)
        else:
            number = int(piece.split()[1])
            vectors = workshop.vectors(workshop.folds[number].learned, f"fold-{number}")
            index = workshop.index_with(vectors, f"fold-{number}")
            workshop.examples(number, index, CITATION)
        return time.monotonic() - started

    return work


# The ranker, from the examples of all folds.

Examples = Sequence[KeptExample]


def learn_ranker(names: tuple[str, ...], examples: Examples, *, trees: bool) -> RankerSet:
    """The linear ranker, and trees, that are learned from examples.

    Args:
        names: Names of the features.
        examples: What to learn from; those without a relevant candidate teach nothing.
        trees: Learn trees too.
    """
    used = [one for one in examples if one.example.relevant.any()]
    short = [thinned(one.example, one.text) if one.file else one.example for one in used]
    scales = feature_scales(short)
    linear = learn_weights(short, scales, PENALTY)
    if not trees:
        return RankerSet(names, scales, linear)
    weights = [
        (_GOLD if one.file else 1.0) * (_QUOTATION if one.type == "quotation" else 1.0)
        for one in used
    ]
    return RankerSet(names, scales, linear, tuple(learn_trees(short, weights, names)))


def ranks_of(ranker: RankerSet, examples: Examples) -> NDArray[np.float64]:
    """The best rank of a relevant candidate of each example, infinite where there is none."""
    weights = ranker.linear / ranker.scales
    trees = Trees(ranker.trees, ranker.features) if ranker.trees else None
    found = []
    for one in examples:
        values = one.example.values.astype(np.float64)
        scores = blended(values @ weights, trees.sums(values) if trees else None)
        found.append(best_rank(scores, one.example.relevant))
    return np.array(found, dtype=np.float64)


@dataclass(frozen=True)
class RankingPiece:
    """A ranker to be learned.

    Attributes:
        kind: For which indexes.
        fold: The fold that it is not learned from but measured on; None for none.
    """

    kind: str
    fold: int | None


def start_ranking(
    work: Path, gold: Sequence[str]
) -> Callable[[RankingPiece], tuple[RankerSet, dict[str, NDArray[np.float64]], int]]:
    """Start a process that learns rankers.

    The function that it gives returns the ranker, the ranks for each gold file in the fold, and
    how many examples it was learned from.
    """

    def learn(
        piece: RankingPiece,
    ) -> tuple[RankerSet, dict[str, NDArray[np.float64]], int]:
        folds = [read_examples(examples_path(work, n, piece.kind)) for n in range(FOLDS)]
        learned = [one for n, (_, fold) in enumerate(folds) if n != piece.fold for one in fold]
        used = [one for one in learned if one.file in ("", *gold)]
        ranker = learn_ranker(folds[0][0], used, trees=piece.kind == CITATION)
        tested = folds[piece.fold][1] if piece.fold is not None else []
        by_file: dict[str, list[KeptExample]] = {}
        for one in tested:
            if one.file:
                by_file.setdefault(one.file, []).append(one)
        return ranker, {file: ranks_of(ranker, some) for file, some in by_file.items()}, len(used)

    return learn


def tell(ranks: Mapping[tuple[str, str], NDArray[np.float64]]) -> None:
    """Print the figures of each kind of index and gold file."""
    print("cross-validated: MRR, P@10, P@20 in hundredths")
    for (kind, file), some in ranks.items():
        one = Figures.of(some)
        shown = "/".join(f"{100 * value:.1f}" for value in (one.mrr, one.p10, one.p20))
        print(f"  {kind:10} {file:24} {one.queries:5} {shown}", flush=True)


def build(sources: Sources, out: Path, name: str, workers: int) -> None:
    """Make all files; see the top of this module."""
    started = time.monotonic()
    sources.work.mkdir(parents=True, exist_ok=True)
    _check_work(sources)
    start = partial(start_work, sources)
    for name_of, seconds in in_processes(start, pieces(), workers, "use fewer --workers"):
        print(f"{time.monotonic() - started:5.0f} s: {name_of} took {seconds:.0f} s", flush=True)
    gold = [path.stem for path in sources.gold]
    ranking = [RankingPiece(kind, fold) for kind in KINDS for fold in (None, *range(FOLDS))]
    learn = partial(start_ranking, sources.work, gold)
    sets: dict[str, RankerSet] = {}
    counts: dict[str, int] = {}
    ranks: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    for piece, (ranker, found, used) in in_processes(
        learn, ranking, workers, "use fewer --workers", ordered=True
    ):
        print(f"{time.monotonic() - started:5.0f} s: {piece}", flush=True)
        if piece.fold is None:
            sets[piece.kind], counts[piece.kind] = ranker, used
        for file, some in found.items():
            ranks.setdefault((piece.kind, file), []).append(some)
    tell({key: np.concatenate(parts) for key, parts in sorted(ranks.items())})
    vectors = CitationVectors(sources.work / f"{ALL}{CITATIONS}")
    about = {
        "queries": ", ".join(f"{kind} {count}" for kind, count in counts.items()),
        "candidates": str(CANDIDATES),
        "penalty": f"{PENALTY:g}",
        "citation_vectors": vectors.name,
        "program": version("allusion-es"),
        **sources.about,
    }
    out.mkdir(parents=True, exist_ok=True)
    for suffix in (CITATIONS, TRANSLATIONS, CITING):
        data = vectors.path.with_suffix(suffix).read_bytes()
        (out / f"{name}{suffix}").write_bytes(data)
    write_model(out / f"{name}.ranker", about, sets)
    print(f"{time.monotonic() - started:5.0f} s in all")
    for path in sorted(out.glob(f"{name}.*")):
        print(f"{path}: {path.stat().st_size} bytes, {sha256(path.read_bytes()).hexdigest()}")


def _check_work(sources: Sources) -> None:
    """Refuse a work folder that holds what was made from other sources."""
    digest = sha256()
    for path in (*sources.links, *sources.gold, *sources.judged):
        digest.update(path.read_bytes())
    known = [sources.index, Library().open(sources.index).fingerprint, dict(sources.about)]
    digest.update(json.dumps(known, default=str, sort_keys=True).encode())
    kept = sources.work / "sources"
    if kept.exists() and kept.read_text().strip() != digest.hexdigest():
        raise UsageError(
            f"{sources.work} holds what was made from other links or another index; "
            "delete it or give another --work"
        )
    write_lines(kept, [digest.hexdigest()])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m allusion_es.learning.build", usage=__doc__)
    parser.add_argument("links", type=Path, nargs="+")
    parser.add_argument("--gold", type=Path, action="append", required=True)
    parser.add_argument("--judge", type=Path, action="append", default=[])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--name", default="patrologia")
    parser.add_argument("--index", default=VULGATE_NAME)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--about", action="append", default=[])
    options = parser.parse_args(arguments)
    sources = Sources(
        tuple(options.links),
        tuple(options.gold),
        tuple(options.judge),
        options.index,
        options.work or options.out / "work",
        dict(text.split("=", 1) for text in options.about),
    )
    build(sources, options.out, options.name, options.workers)


if __name__ == "__main__":
    main(sys.argv[1:])
