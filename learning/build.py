"""Making all files learned from known citations that come with the program.

There are many links, some of them wrong: vectors, translations and citing texts are learned from
them. There are few gold links: the ranker is learned from them, and from some of the others.
Nothing that is learned from a link may be used where the ranker learns from it, or it would learn
to trust memory. So the works are divided into folds. For each fold, vectors and citing texts are
learned from the links of all other works, without those that share a title or six words in a row
with it; the features of the fold's links and gold links come from these. The ranker is learned
from the features of all folds. Last, vectors, translations and citing texts are learned from all
links.

So no piece of the work waits for another but the rankers, and the pieces are shared among
processes. A piece that is done is kept in a folder: a run that was stopped goes on from it. The
same links and gold give the same files, byte for byte.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from shutil import copyfile

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
from allusion_es.language.latin.analysis import STOP_WORDS
from allusion_es.learning.blended_ranker import PENALTY, learn_ranker, ranks_of
from allusion_es.learning.examples import link_examples
from allusion_es.learning.kept_examples import KeptExample, read_examples, save_examples
from allusion_es.learning.learn import ROWS, citing_texts, facts_of, prune
from allusion_es.learning.links import (
    KnownLink,
    LearningCollection,
    known_links,
    read_collection,
    read_links,
)
from allusion_es.learning.scan_model import (
    Measurements,
    ScanFold,
    learn_scan_models,
    scan_record,
    write_scan_models,
)
from allusion_es.learning.train import CitationTraining, train
from allusion_es.learning.translation_model import learn_translations
from allusion_es.learning.validation import Figures, folds_by_work, title_key, without_leaks
from allusion_es.local.build import build_local
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import VULGATE_NAME, Library
from allusion_es.rerankers.learned import RankerSet, write_model
from allusion_es.retrieval.analysed import reread
from allusion_es.retrieval.citation_models import SUFFIX as CITATIONS
from allusion_es.retrieval.citation_models import TRANSLATIONS
from allusion_es.retrieval.defaults import DEFAULTS
from allusion_es.retrieval.pipeline import index_analyser

FOLDS = 4
"""Parts of the works; with more, more vectors must be trained, from hardly more links."""

ALLUSIONS, QUOTATIONS = 6_000, 1_800
"""Links that the ranker learns from besides gold links."""

OF_A_WORK = 60
"""Links of one kind that are taken from a work at most, so that no work drowns the others."""

_SHORTEST = 4
"""Words of such a link at least: of fewer nobody could tell what they allude to."""


@dataclass(frozen=True)
class Sources:
    """What everything is learned from, and where it is kept meanwhile.

    Attributes:
        links: Files of links.
        gold: Files of gold links to learn from.
        judged: Files of gold links that are only measured on.
        marked: Names, without ending, of those of `gold` in which an editor has marked the very
            words that allude: on them the scan is measured.
        plain: Texts that cannot allude, for the scan; without any, its models are not made.
        index: Name of the index of the passages.
        work: The folder of what is made on the way.
        about: Facts that are written into the files.
    """

    links: tuple[Path, ...]
    gold: tuple[Path, ...]
    judged: tuple[Path, ...] = ()
    marked: tuple[str, ...] = ()
    plain: tuple[Path, ...] = ()
    index: str = VULGATE_NAME
    work: Path = Path("learned-files")
    about: Mapping[str, str] = field(default_factory=dict)


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
            build_local(path, reread(self.index), settings, self.index.vectors, vectors, workers=1)
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
        found = link_examples([link for _, link in tested], index, DEFAULTS.candidates)
        save_examples(path, ((names[id(one.link)], self._shared(one.link), one) for one in found))

    def _shared(self, link: KnownLink) -> int:
        """Most lemmas, stop words aside, that a link shares with a passage that it cites."""
        own = {lemma for _, lemma in link.own_words} - STOP_WORDS
        passages = (self.collection.texts[place] for place in link.places)
        return max(len(own & {lemma for _, lemma in passage}) for passage in passages)

    def scan_fold(self, number: int) -> ScanFold:
        """A fold's gold links with the index that knows nothing of it."""
        name = f"fold-{number}"
        index = self.index_with(CitationVectors(self.sources.work / f"{name}{CITATIONS}"), name)
        marked, others = [], []
        learned = {path.stem for path in self.sources.gold}
        for file, link in self.folds[number].tested:
            if file in self.sources.marked:
                marked.append(link.link)
            elif file in learned:
                others.append(link.link)
        return ScanFold(index, marked, others)


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


def examples_path(work: Path, number: int, kind: str) -> Path:
    """The file of a fold's examples."""
    return work / f"fold-{number}-{kind}.npz"


# The models, from what is kept of all folds.


@dataclass(frozen=True)
class RankerPiece:
    """A ranker to be learned.

    Attributes:
        kind: For which indexes.
        fold: The fold that it is not learned from but measured on; None for none.
    """

    kind: str
    fold: int | None


SCAN = "scan"


@dataclass(frozen=True)
class FoundRanker:
    """A ranker that was learned.

    Attributes:
        ranker: The ranker.
        learned_from: How many examples it was learned from.
        ranks: Of each gold file, the best ranks of relevant passages in the fold left out.
    """

    ranker: RankerSet
    learned_from: int
    ranks: dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class FoundScan:
    """The models of a scan.

    Attributes:
        measured: What was measured of each, by name.
    """

    measured: dict[str, Measurements]


def start_models(sources: Sources) -> "Callable[[RankerPiece | str], FoundRanker | FoundScan]":
    """Start a process that learns rankers and the models of a scan; gives the function for it."""
    gold = {"", *(path.stem for path in sources.gold)}

    def learn(piece: RankerPiece | str) -> FoundRanker | FoundScan:
        if not isinstance(piece, RankerPiece):
            return _learn_scan(Workshop(sources))
        folds = [read_examples(examples_path(sources.work, n, piece.kind)) for n in range(FOLDS)]
        learned = [one for n, (_, fold) in enumerate(folds) if n != piece.fold for one in fold]
        used = [one for one in learned if one.file in gold]
        ranker = learn_ranker(folds[0][0], used, trees=piece.kind == CITATION)
        by_file: dict[str, list[KeptExample]] = {}
        for one in folds[piece.fold][1] if piece.fold is not None else []:
            if one.file:
                by_file.setdefault(one.file, []).append(one)
        ranks = {file: ranks_of(ranker, some) for file, some in by_file.items()}
        return FoundRanker(ranker, len(used), ranks)

    return learn


def _learn_scan(workshop: Workshop) -> FoundScan:
    """Learn the models of a scan and keep them in the folder of what is made on the way."""
    folds = [workshop.scan_fold(number) for number in range(FOLDS)]
    models, measured = {}, {}
    for name, model, found in learn_scan_models(folds, workshop.sources.plain):
        models[name], measured[name] = model, found
    vectors = CitationVectors(workshop.sources.work / f"{ALL}{CITATIONS}")
    record = scan_record(models, workshop.index, vectors.name)
    write_scan_models(workshop.sources.work / SCAN_FILE, record)
    return FoundScan(measured)


SCAN_FILE = "scan.json"


@dataclass(frozen=True)
class Built:
    """What was made.

    Attributes:
        files: The files.
        figures: By kind of index and gold file, what the ranker finds, cross-validated.
        scan: By name of a scan's model, what was measured of it; empty if none was made.
    """

    files: list[Path]
    figures: dict[tuple[str, str], Figures]
    scan: dict[str, Measurements]


def build(
    sources: Sources, out: Path, name: str, workers: int, tell: Callable[[str], None]
) -> Built:
    """Make all files.

    Args:
        sources: What is learned from.
        out: The folder where `NAME.citations`, `NAME.translations`, `NAME.citing`, `NAME.ranker`
            and `scan.json` are written.
        name: Their name.
        workers: Processes.
        tell: Told what is done, and how long it took.

    Raises:
        UsageError: The folder of what is made on the way has things made from other sources.
        InputError: A file cannot be read.
    """
    started = time.monotonic()
    sources.work.mkdir(parents=True, exist_ok=True)
    _check_work(sources)
    start = partial(start_work, sources)
    for piece, seconds in in_processes(start, pieces(), workers, _ADVICE):
        tell(f"{time.monotonic() - started:5.0f} s: {piece} took {seconds:.0f} s")
    models: list[RankerPiece | str] = [SCAN] if sources.plain else []
    models += [RankerPiece(kind, fold) for kind in KINDS for fold in (None, *range(FOLDS))]
    rankers: dict[str, FoundRanker] = {}
    ranks: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    scan: dict[str, Measurements] = {}
    for model, found in in_processes(
        partial(start_models, sources), models, workers, _ADVICE, ordered=True
    ):
        tell(f"{time.monotonic() - started:5.0f} s: {model}")
        if isinstance(found, FoundScan):
            scan = found.measured
        elif isinstance(model, RankerPiece):
            if model.fold is None:
                rankers[model.kind] = found
            for file, some in found.ranks.items():
                ranks.setdefault((model.kind, file), []).append(some)
    figures = {key: Figures.of(np.concatenate(parts)) for key, parts in sorted(ranks.items())}
    files = _write(sources, out, name, rankers)
    tell(f"{time.monotonic() - started:5.0f} s in all")
    return Built(files, figures, scan)


_ADVICE = "use fewer --workers"


def _write(
    sources: Sources, out: Path, name: str, rankers: Mapping[str, FoundRanker]
) -> list[Path]:
    vectors = CitationVectors(sources.work / f"{ALL}{CITATIONS}")
    learned_from = (f"{kind} {found.learned_from}" for kind, found in rankers.items())
    about = {
        "queries": ", ".join(learned_from),
        "candidates": str(DEFAULTS.candidates),
        "penalty": f"{PENALTY:g}",
        "citation_vectors": vectors.name,
        "program": version("allusion-es"),
        **sources.about,
    }
    out.mkdir(parents=True, exist_ok=True)
    for suffix in (CITATIONS, TRANSLATIONS, CITING):
        copyfile(vectors.path.with_suffix(suffix), out / f"{name}{suffix}")
    write_model(
        out / f"{name}.ranker", about, {kind: found.ranker for kind, found in rankers.items()}
    )
    if sources.plain:
        copyfile(sources.work / SCAN_FILE, out / SCAN_FILE)
    return sorted([*out.glob(f"{name}.*"), *out.glob(SCAN_FILE)])


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
