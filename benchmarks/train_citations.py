"""Train citation vectors on the Vulgate; with this the vectors are made that come along.

    python benchmarks/train_citations.py LINKS.jsonl[.gz] OUT.citations [options]

    --source TEXT     only links whose source contains it (what comes along: "PL TEI")
    --test FILE       a gold file to test on; links that would give it away are left out, and the
                      figures are printed. May be repeated.
    --rows N          keep only the N rows that are used most
    --seed N          same links and seed: same file
    --about KEY=TEXT  something to write into the file, such as where the links come from

Beside the vectors are written a table of translations (IBM model 1), `OUT.translations`, and the
words that are known to cite each passage, `OUT.expansion`.

    --keep-vectors    the vectors are there; make only what lies beside them

Each line of a file has `text` and `relevant` (ids of passages), and may have `before`, `after`,
`title`, `author` and `source`. The index `vulgate` must have been built.
"""

import argparse
import gzip
import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from allusion_es.cli.progress import progress
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.language.citations.citing_words import SUFFIX, save_citing_words
from allusion_es.language.citations.translations import save_translations
from allusion_es.language.citations.vectors import CitationVectors, save_citation_vectors
from allusion_es.learning.learn import count_citing_words, facts_of, prune
from allusion_es.learning.links import KnownLink, LearningCollection, known_links, read_collection
from allusion_es.learning.train import CitationTraining, train
from allusion_es.learning.translation_model import learn_translations
from allusion_es.learning.validation import Figures, ranks_by_group, without_leaks
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import Library
from allusion_es.retrieval.citation_models import TRANSLATIONS
from allusion_es.retrieval.pipeline import index_analyser
from allusion_es.retrieval.types import Query


def read_links(path: Path, source: str = "") -> Iterator[GoldLink]:
    """The links of a file, those of one source or all."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            record = json.loads(line)
            if source in record.get("source", ""):
                yield GoldLink(
                    Query(
                        record["text"],
                        str(record.get("query_id", number)),
                        record.get("before", ""),
                        record.get("after", ""),
                    ),
                    tuple(record["relevant"]),
                    title=record.get("title", ""),
                    author=record.get("author", ""),
                    source=record.get("source", ""),
                )


def tell(
    name: str,
    tested: Sequence[KnownLink],
    learned: Sequence[KnownLink],
    collection: LearningCollection,
    index: LocalIndex,
    vectors: CitationVectors,
) -> None:
    """Print the figures of one gold file."""
    for (group, method), ranks in ranks_by_group(tested, learned, collection, index, vectors):
        figures = Figures.of(ranks)
        shown = [figures.mrr, figures.p10, figures.p20, figures.r100, figures.r1000]
        values = "  ".join(f"{100 * value:5.1f}" for value in shown)
        print(f"{name:16} {group:18} {figures.queries:5} {method:12} {values}", flush=True)


def vectors_from(
    learned: Sequence[KnownLink],
    collection: LearningCollection,
    books: Library,
    options: argparse.Namespace,
    more: dict[str, str],
) -> str:
    """Train vectors, write them, and give their name."""
    started = time.monotonic()
    whole = train(
        learned, collection, books.vectors(), CitationTraining(seed=options.seed), progress=progress
    )
    seconds = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    table = prune(whole, options.rows, learned, collection) if options.rows else whole
    print(f"{seconds:.0f} s, {peak:.0f} MB, {len(whole.keys)} rows, {len(table.keys)} kept")
    facts = facts_of(
        learned, collection, books.open().name, CitationTraining(seed=options.seed), more
    )
    name = save_citation_vectors(options.out, table, index_analyser(books.open()).settings, facts)
    print(f"{options.out}: {name}, {options.out.stat().st_size} bytes")
    return name


def beside(
    path: Path, learned: Sequence[KnownLink], collection: LearningCollection, facts: dict[str, Any]
) -> None:
    """Write what lies beside vectors."""
    settings = CitationVectors(path).settings
    translations, words = path.with_suffix(TRANSLATIONS), path.with_suffix(SUFFIX)
    save_translations(translations, learn_translations(learned, collection), settings, facts)
    save_citing_words(words, count_citing_words(learned, collection), settings, facts)
    for file in (translations, words):
        print(f"{file}: {file.stat().st_size} bytes")


def main() -> None:
    options = parsed(sys.argv[1:])
    books = Library()
    index = books.open()
    analyser, collection = index_analyser(index), read_collection(index)
    links, missing = known_links(
        read_links(options.links, options.source), collection, analyser, progress
    )
    tests = {
        path.stem: known_links(read_links(path), collection, analyser)[0] for path in options.test
    }
    held_out = [link for links in tests.values() for link in links]
    learned = without_leaks(links, held_out, collection) if held_out else links
    print(f"{len(links)} links, {len(learned)} without leaks; unknown ids: {len(missing)}")
    more = dict(text.split("=", 1) for text in options.about)
    if options.keep_vectors:
        name = CitationVectors(options.out).name
    else:
        name = vectors_from(learned, collection, books, options, more)
    beside(options.out, learned, collection, {"links": len(learned), "vectors": name, **more})
    if tests:
        print(f"{'':53}   MRR   P@10   P@20  R@100  R@1000")
        vectors = CitationVectors(options.out)
        for title, links in tests.items():
            tell(title, links, learned, collection, index, vectors)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("links", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--source", default="")
    parser.add_argument("--test", type=Path, action="append", default=[])
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep-vectors", action="store_true")
    parser.add_argument("--about", action="append", default=[])
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
