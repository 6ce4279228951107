"""Learn the weights of the reranker `learned`; with this those are made that come along.

    python benchmarks/train_ranker.py OUT.ranker GOLD.jsonl ... [options]

    --name NAME       the index; its citation vectors must not have been learned from works or
                      wording of the gold files, or they would seem better than they are
    --without NAME    the same passages, indexed with --no-learned-links (default: words)
    --candidates N    how many candidates are looked at
    --words FILE      learn the weights without citation vectors from this file instead; may be
                      repeated
    --keep FOLDER     keep the features there, so that the next run is quick
    --about KEY=TEXT  something to write into the file, such as where the links come from

`benchmarks/quality.py` tells how well weights do that are learned in this way.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from quality import PENALTY, thinned
from ranker_data import gold_set

from allusion_es.core.arrays import Floats
from allusion_es.learning.links import read_collection
from allusion_es.learning.ranker import feature_scales, learn_weights
from allusion_es.local.library import Library
from allusion_es.rerankers.learned import write_model


def main() -> None:
    options = parsed(sys.argv[1:])
    library = Library()
    index = library.open(options.name)
    texts = read_collection(index)
    bare = library.open(options.without)
    found: dict[str, tuple[tuple[str, ...], Floats, Floats]] = {}
    queries: dict[str, int] = {}
    for kind, chosen in (("citations", index), ("words", bare)):
        sets = [
            gold_set(
                path,
                chosen,
                texts,
                options.candidates,
                learned=kind == "citations",
                keep=options.keep,
            )
            for path in (options.gold if kind == "citations" else options.words or options.gold)
        ]
        examples = [thinned(one.example) for gold in sets for one in gold.queries]
        queries[kind] = len(examples)
        scales = feature_scales(examples)
        found[kind] = sets[0].names, scales, learn_weights(examples, scales, PENALTY)
    about = {
        "queries": ", ".join(f"{kind} {count}" for kind, count in queries.items()),
        "candidates": str(options.candidates),
        "penalty": f"{PENALTY:g}",
        "citation_vectors": index.settings.citations,
        **dict(text.split("=", 1) for text in options.about),
    }
    write_model(options.out, about, found)
    print(f"{options.out}: {about['queries']} queries, {options.out.stat().st_size} bytes")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("gold", type=Path, nargs="+")
    parser.add_argument("--name", default="vulgate")
    parser.add_argument("--without", default="words")
    parser.add_argument("--candidates", type=int, default=400)
    parser.add_argument("--words", type=Path, action="append", default=[])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--about", action="append", default=[])
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
