"""Processor time of a default query in process, as a whole and by the functions that take it.

    python benchmarks/query.py [GOLD.jsonl …] [--queries N] [--rounds N] [--parts N]
    python benchmarks/query.py … --es URL
    python benchmarks/query.py … --save ANSWERS.json
    python benchmarks/query.py … --compare ANSWERS.json

Queries are those of gold files, with the words around them, or else three that stand here. The
first round finds words and vectors new, as one process of many queries does; the median of the
later ones is that of a program that has been running for a while. Time is of the processor, so
that others on the machine disturb little. A timer interrupts every millisecond; what has passed
since the last time goes to the innermost function of the program, with the numpy it called.

With `--es` the Vulgate's index on a server is asked, first by a process that is not measured, so
that the server has been asked before. Then there is the clock, too, and how long the server says
that its searches took: each request of searches as a whole, and the first of each query by search.

`--save` keeps ids and scores of all candidates, `--compare` holds them against those that were
kept: before and after a change.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from timing import report

import allusion_es.core
from allusion_es.es.address import find_address
from allusion_es.es.connection import Server
from allusion_es.es.index import open_index
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.local.library import VULGATE_NAME, Library
from allusion_es.retrieval.analysed import analyse_query
from allusion_es.retrieval.pipeline import QueryOptions, Ranked, Ranker, Retriever, index_analyser
from allusion_es.retrieval.reranking import Collection
from allusion_es.retrieval.types import Query

QUERIES = (
    "gustate et videte quoniam suavis est dominus",
    "in principio erat verbum et vidit deus lucem quod esset bona",
    "qui seminant in lacrimis in gaudio metent cum venerit dominus ad iudicium",
)

_ROOT = str(Path(allusion_es.core.__file__).parent.parent)
_STEP = 0.001
"""Seconds of the processor between two looks at what is being done."""


def chosen(paths: Sequence[Path], count: int) -> list[Query]:
    """Queries, evenly from all gold files; those that stand here where there is none."""
    if not paths:
        return [Query(text, str(number)) for number, text in enumerate(QUERIES)]
    found = []
    for path in paths:
        links = read_gold(path)
        step = max(1, len(links) * len(paths) // count)
        for link in links[::step]:
            found.append(link.query)
    return found[:count]


class Sampler:
    """Adds up the processor's time by function, and by module."""

    def __init__(self) -> None:
        self.functions: dict[str, float] = defaultdict(float)
        self.modules: dict[str, float] = defaultdict(float)
        self._last = 0.0

    def __enter__(self) -> "Sampler":
        """Begin to look."""
        signal.signal(signal.SIGPROF, self._look)
        self._last = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, _STEP, _STEP)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _look(self, _: int, frame: FrameType | None) -> None:
        now = time.process_time()
        while frame is not None and not _is_own(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None:
            path = frame.f_code.co_filename.removeprefix(_ROOT).strip("/")
            name = frame.f_code.co_qualname.replace("<locals>.", "")
            self.functions[f"{path} {name}"] += now - self._last
            self.modules[path] += now - self._last
        self._last = now


def _is_own(path: str) -> bool:
    """Whether a file is of the program, and not of a package that it uses."""
    return path.startswith(_ROOT) and "site-packages" not in path and "benchmarks" not in path


def answers(retriever: Retriever, queries: Sequence[Query]) -> tuple[list[float], float]:
    """Milliseconds of the processor of each query, asked one by one, and their sum."""
    times = []
    for query in queries:
        start = time.process_time()
        retriever.answer(query)
        times.append((time.process_time() - start) * 1000)
    return times, sum(times)


class WatchedServer(Server):
    """A connection that keeps how long the server took for requests of searches.

    Attributes:
        took: Of each request, milliseconds of the server's clock.
        parts: Of each request, the same of each of its searches.
    """

    took: list[float]
    parts: list[list[float]]

    def send_lines(self, path: str, lines: Iterable[bytes]) -> dict[str, Any]:
        """As the connection does."""
        answer = super().send_lines(path, lines)
        self.took.append(answer["took"])
        self.parts.append([each["took"] for each in answer["responses"]])
        return answer


def asked_on_a_server(url: str, queries: Sequence[Query], rounds: int) -> None:
    """Print how long queries take where the index is on a server."""
    library = Library()
    server = WatchedServer(find_address(url))
    server.took, server.parts = [], []

    opened = open_index(server, VULGATE_NAME, library.vectors, library.citations)
    retriever = Retriever(opened)
    retriever.answer(QUERIES[0])
    server.took.clear()
    server.parts.clear()
    for number in range(rounds):
        clock, processor = [], []
        for query in queries:
            start = time.perf_counter(), time.process_time()
            retriever.answer(query)
            clock.append((time.perf_counter() - start[0]) * 1000)
            processor.append((time.process_time() - start[1]) * 1000)
        what = "asked again" if number else "new words"
        report(f"{what}, clock, median of {len(queries)} queries", median(clock), "ms")
        report(f"{what}, processor of the client, median", median(processor), "ms")
    report("requests of searches a query", len(server.took) / len(queries) / rounds, "")
    report("the server's clock, all of these, mean", sum(server.took) / len(queries) / rounds, "ms")
    widest = max(map(len, server.parts))
    whole = [parts for parts in server.parts if len(parts) == widest]
    for number, part in enumerate(zip(*whole, strict=True), start=1):
        report(f"  search {number} of the first stage, median", median(part), "ms")


def rankings(queries: Sequence[Query]) -> dict[str, list[list[object]]]:
    """All candidates of each query by its number, in their final order, with their scores."""
    index = Library().open()
    analyser = index_analyser(index)
    options = QueryOptions()
    ranker = Ranker(index, QueryOptions(top=options.candidates))
    found: dict[str, list[list[object]]] = {}
    asked = [analyse_query(query, analyser) for query in queries]
    for number, ranked in enumerate(ranker.rank(asked, Collection(index))):
        assert isinstance(ranked, Ranked)
        ids = [ranked.first.ids[place] for place in ranked.places.tolist()]
        found[str(number)] = [[*pair] for pair in zip(ids, ranked.scores.tolist(), strict=True)]
    return found


def compare(mine: dict[str, list[list[object]]], kept: dict[str, list[list[object]]]) -> None:
    """Print how far two sets of rankings differ."""
    largest, order, sets, first = 0.0, 0, 0, 0
    for number, rows in mine.items():
        other = kept[number]
        names, others = [row[0] for row in rows], [row[0] for row in other]
        order += names != others
        first += names[:10] != others[:10]
        sets += set(names) != set(others)
        known = {row[0]: float(str(row[1])) for row in other}
        for name, score in rows:
            if name in known:
                largest = max(largest, abs(float(str(score)) - known[str(name)]))
    report("largest difference of two scores, in millionths", largest * 1e6, "")
    report("queries with other candidates", sets, "queries")
    report("queries in another order", order, "queries")
    report("queries with another order of the first ten", first, "queries")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("gold", nargs="*", type=Path)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", type=int, default=25)
    parser.add_argument("--es")
    parser.add_argument("--asked-before", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path)
    options = parser.parse_args()
    queries = chosen(options.gold, options.queries)
    if options.es:
        if not options.asked_before:
            again = [sys.executable, *sys.argv, "--asked-before"]
            subprocess.run([*again, "--rounds", "1"], check=True, stdout=subprocess.DEVNULL)
        asked_on_a_server(options.es, queries, options.rounds)
        return
    if options.save:
        options.save.write_text(json.dumps(rankings(queries)))
        return
    if options.compare:
        compare(rankings(queries), json.loads(options.compare.read_text()))
        return
    retriever = Retriever(Library().open())
    start = time.process_time()
    retriever.answer(QUERIES[0])
    report("the first query of the process", (time.process_time() - start) * 1000, "ms")
    first, _ = answers(retriever, queries)
    report(f"median of {len(queries)} queries, each new", median(first), "ms")
    later = [time for _ in range(options.rounds - 1) for time in answers(retriever, queries)[0]]
    if later:
        report("median, asked again", median(later), "ms")
        report("percentile 95, asked again", float(np.percentile(later, 95)), "ms")
    sampler = Sampler()
    fresh = Retriever(Library().open())
    fresh.answer(QUERIES[0])
    with sampler:
        _, total = answers(fresh, queries)
    for what, parts in (("module", sampler.modules), ("function", sampler.functions)):
        print(f"\nnew queries by {what}, {total / len(queries):.1f} ms on average:")
        for name, seconds in sorted(parts.items(), key=lambda each: -each[1])[: options.parts]:
            report(name, seconds * 1000 / len(queries), "ms")


if __name__ == "__main__":
    main()
