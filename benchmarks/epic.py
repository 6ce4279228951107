"""How well parallels are found in a collection that is not the Bible: BM25, the default, `learn`.

    python benchmarks/epic.py COLLECTION GOLD ... [--ranker FILE] [--scan FILE]

COLLECTION is a table with the columns id and text, whose passages are lines of poems; GOLD are
files of links to it, JSON lines, each of one poem whose lines they name in a field `line`. A ranker
never sees the block of 20 lines of the poem that it is tested on: `default` is learned from the
other blocks and the other files and knows nothing of works, `default, other files` from the other
files alone, `learn` from the other blocks, with a weight for each work of the collection.
Intervals come from a bootstrap over blocks. Then a scan of the lines that have links: how many
findings in 1,000 words, and how many of the links are among them. With `--ranker` the ranker that
the program ships for such collections, learned from all links, is written into FILE, with `--scan`
the model of its scans, learned from the first file, whose queries should be lines as a scan reads.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from allusion_es.corpora.passage_files import read_passages
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.evaluation.statistics import bootstrap_interval
from allusion_es.learning.collection_ranker import RankerLearner, about
from allusion_es.learning.collection_scan import learn_scan, models_of, scan_file, scan_pieces
from allusion_es.learning.examples import LinkExample, best_rank
from allusion_es.learning.links import KnownLink, known_links, read_collection
from allusion_es.learning.scan_model import Piece, scores
from allusion_es.local.library import BuildOptions, Library
from allusion_es.rerankers.learned import RankerSet, write_model
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import QueryOptions, Retriever, index_analyser
from allusion_es.scanning.choosing import choose

LINES, FOLDS = 20, 5
THRESHOLDS = (0.02, 0.05, 0.1, 0.2, 0.3)
DEPTH = 1_000


def main() -> None:
    """Print a table for each file of links."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("gold", nargs="+", type=Path)
    parser.add_argument("--ranker", type=Path)
    parser.add_argument("--scan", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = Library(Path(folder), workers=2)
        shared = Library().folder / "data"
        if shared.exists():
            (Path(folder) / "data").symlink_to(shared)
        library.build("epic", read_passages(given.collection), BuildOptions())
        measure(library.open("epic"), given.gold, given.ranker, given.scan)


def measure(
    index: CandidateIndex, files: Sequence[Path], ranker: Path | None, scan: Path | None
) -> None:
    """Print the figures, and write the ranker and the model."""
    collection, analyser = read_collection(index), index_analyser(index)
    plain, by_work = (RankerLearner(index, groups=groups) for groups in (False, True))
    links: dict[Path, list[KnownLink]] = {}
    blocks: dict[str, int] = {}
    for file in files:
        records = map(json.loads, file.read_text("utf-8").splitlines())
        blocks |= {f"{file} {row['query_id']}": (row["line"] - 1) // LINES for row in records}
        links[file], _ = known_links(read_gold(file), collection, analyser)
    examples = {file: plain.examples(some) for file, some in links.items()}
    of_works = {file: by_work.examples(some) for file, some in links.items()}
    for file in files:
        others = [one for other in files if other != file for one in examples[other]]
        places = [blocks[f"{file} {one.link.link.query.query_id}"] for one in examples[file]]
        rows = {
            name: answered(index, examples[file], QueryOptions.chosen(**options, top=DEPTH))
            for name, options in (
                ("BM25", {"first_stage": "bm25", "rerank": "none", "candidates": DEPTH}),
                ("soft cosine", {"first_stage": "bm25", "rerank": "soft-cosine"}),
                ("first stage", {"rerank": "none"}),
            )
        }
        rows["default"] = crossed(plain, examples[file], places, others)
        if others:
            one = plain.learn(others)
            rows["default, other files"] = [rank(each, one) for each in examples[file]]
        rows["learn"] = crossed(by_work, of_works[file], places, [])
        print(f"\n{file.stem}, {len(places)} links (MRR, P@10, P@20; 95% intervals)")
        for name, ranks in rows.items():
            print(f"{name:24}" + "   ".join(figures(ranks, places)))
        for name, learner, some in (
            ("default", plain, examples[file]),
            ("learn", by_work, of_works[file]),
        ):
            print_scan(name, scan_pieces(index, learner, some, folded(places)))
    every = [one for file in files for one in examples[file]]
    if scan is not None:
        first = files[0]
        places = [blocks[f"{first} {one.link.link.query.query_id}"] for one in examples[first]]
        model = learn_scan(scan_pieces(index, plain, examples[first], folded(places)))
        assert model is not None
        record = json.loads(scan_file(index, model))
        del record["measured_on"]  # the model comes along for collections that are not this one
        scan.write_text(json.dumps(record) + "\n")
    if ranker is not None:
        facts = about([one.link for one in every], "Latin epic")
        write_model(ranker, facts, {"words": plain.learn(every)})


def crossed(
    learner: RankerLearner,
    examples: Sequence[LinkExample],
    places: Sequence[int],
    more: Sequence[LinkExample],
) -> list[float]:
    """Ranks by rankers that are learned from the other blocks and more examples."""
    ranks = [np.inf] * len(examples)
    for fold in range(FOLDS):
        inside = [place % FOLDS == fold for place in places]
        known = [one for one, is_in in zip(examples, inside, strict=True) if not is_in]
        ranker = learner.learn([*known, *more])
        for number, is_in in enumerate(inside):
            if is_in:
                ranks[number] = rank(examples[number], ranker)
    return ranks


def folded(places: Sequence[int]) -> list[list[int]]:
    """The numbers of the links in each part, by their blocks."""
    return [[n for n, place in enumerate(places) if place % FOLDS == fold] for fold in range(FOLDS)]


def print_scan(name: str, pieces: Sequence[Piece]) -> None:
    """Print the findings in 1,000 words and the share of links among them, at some thresholds."""
    models = models_of(pieces)
    words = sum(
        piece.inside[1] > span[0] >= piece.inside[0]
        for piece in pieces
        for span in piece.reading.analysis.spans
    )
    links = sum(len(piece.relevant) for piece in pieces)
    for threshold in THRESHOLDS:
        count, found = 0, 0
        for piece in pieces:
            chosen = choose(piece.reading, *scores(piece, models[piece.fold]), threshold)
            kept = [each for each in chosen if piece.judges(each.first, each.last)]
            ids = piece.reading.texts.ids
            named = {ids[n] for each in kept for one in (each, *each.others) for n in one.passages}
            count, found = count + len(kept), found + len(named & piece.relevant)
        print(
            f"scan, {name}, from {threshold}: {1000 * count / words:.0f} findings in 1,000 words, "
            f"{100 * found / links:.1f} of 100 links"
        )


def rank(example: LinkExample, ranker: RankerSet) -> float:
    """The best rank of a relevant passage."""
    scores = example.example.values.astype(np.float64) @ (ranker.linear / ranker.scales)
    return best_rank(scores, example.example.relevant)


def answered(
    index: CandidateIndex, examples: Sequence[LinkExample], options: QueryOptions
) -> list[float]:
    """Ranks by a method that learns nothing."""
    queries = [one.link.link.query for one in examples]
    found = Retriever(index, options).answers(queries)
    ranks = []
    for answer, one in zip(found, examples, strict=True):
        relevant = set(one.link.link.relevant)
        hits = [hit.rank for hit in answer.hits if hit.id in relevant]
        ranks.append(float(min(hits, default=np.inf)))
    return ranks


def figures(ranks: Sequence[float], places: Sequence[int]) -> Iterator[str]:
    """Each measure with its interval, in hundredths."""
    found = np.array(ranks)
    for values in (1 / found, found <= 10, found <= 20):
        each = np.asarray(values, dtype=np.float64).tolist()
        low, high = bootstrap_interval(each, [str(place) for place in places])
        yield f"{100 * np.mean(each):5.1f} [{100 * low:.1f}, {100 * high:.1f}]"


if __name__ == "__main__":
    main()
