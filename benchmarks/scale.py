"""How building and asking an index grow with its size, in this process and on Elasticsearch.

    python benchmarks/scale.py                                  # 36 and 360 thousand passages
    python benchmarks/scale.py --passages 1000000 --places local --methods bm25
    python benchmarks/scale.py --places local es:1 es:3 --nodes 3 --json scale.jsonl

Collections are synthetic (`synthetic.py`). A place is `local`, or `es:N` for N shards on a real
server that is started for it (of `--nodes` nodes, 512 MB of heap each, no replicas); with `+links`
behind it, the index has what was learned from citations of the Bible, which others than the Bible
do not have by default. Measured are:
building with the command line (seconds, the largest memory of all its processes, the size of the
index; for a server also its own memory), opening, each query by itself in a process of its own
(50th, 95th and 99th percentile of milliseconds, after some that do not count, and the process's
largest memory), and queries a second of 1, 2, 4 and 8 clients at once, each a process. One line a
figure; `--json FILE` adds each to a file as JSON.

Beside seconds stand those of processors, of the client and of the server, which hardly depend on
what else the machine does; all other times do, so that its load is told with them.
"""

import argparse
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

# As the commands do: threads that wait for each other double the processors' time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
from main_job import COMMAND, fragments
from scan import resident
from synthetic import write_collection
from timing import report

from allusion_es.core.files import DATA_DIR_VARIABLE, data_dir
from allusion_es.es.connection import Server
from allusion_es.es.index import open_index
from allusion_es.local.library import Library
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import QueryOptions, Retriever

NAME = "scale"
LINKS = "+links"
"""Behind a place: with what was learned from citations."""

METHODS: dict[str, dict[str, Any]] = {
    "bm25": {"generators": ("bm25",), "reranker": None, "candidates": 500},
    "fused": {"generators": ("fused",), "reranker": None},
    "bm25+soft-cosine": {"generators": ("bm25",), "reranker": "soft-cosine", "candidates": 500},
    "fused+learned": {"generators": ("fused",), "reranker": "learned"},
}
PATIENCE = 300
"""Seconds that a server may take for an answer, since other work may share its processors."""

Answers = Any
"""A queue of another process."""

WARM = 5
"""Queries that do not count."""


@dataclass(frozen=True)
class Figures:
    """Prints figures, and keeps them as JSON."""

    passages: int
    place: str
    file: Path | None

    def add(self, what: str, value: float, unit: str) -> None:
        """One figure."""
        report(f"{self.passages:>9,} {self.place:<11} {what}", value, unit)
        sys.stdout.flush()
        if self.file:
            known = {"passages": self.passages, "place": self.place, "load": os.getloadavg()[0]}
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**known, "what": what, "value": value, "unit": unit}) + "\n")


@contextmanager
def memory(processes: Sequence[int]) -> Iterator[list[float]]:
    """The largest memory of processes and their children meanwhile, in MB, once it is over."""
    largest = [0.0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            largest[0] = max(largest[0], sum(map(resident, processes)) / 1e6)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield largest
    finally:
        done.set()
        watcher.join()


def build(figures: Figures, collection: Path, url: str, shards: int, workers: int) -> None:
    command = [COMMAND, "index", str(collection), "--name", NAME, "--workers", str(workers)]
    command += ["--learned-links"] if figures.place.endswith(LINKS) else []
    command += ["--es", url, "--timeout", str(PATIENCE), "--shards", str(shards)] if url else []
    start, used = time.perf_counter(), of_children()
    process = subprocess.Popen(command)
    with memory([process.pid]) as largest:
        if process.wait():
            raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
    figures.add(f"built by {workers} processes", time.perf_counter() - start, "s")
    figures.add("  processors of the client", of_children() - used, "s")
    figures.add("  memory of the client", largest[0], "MB")


def of_children() -> float:
    """Seconds of processors that ended children and theirs have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of_processes(processes: Sequence[int]) -> float:
    """Seconds of processors that running processes have used."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def opened(url: str) -> CandidateIndex:
    library = Library()
    if not url:
        return library.open(NAME)
    server = Server.connect(url, timeout=PATIENCE)
    return open_index(server, NAME, library.vectors, library.citations)


def peak() -> float:
    """The largest memory of this process, in MB, without what its parent had when it began."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def ask_alone(url: str, method: str, texts: Sequence[str], queue: Answers) -> None:
    """Milliseconds of each query, the first with opening, and of processors; MB; what is found."""
    start = time.perf_counter()
    retriever = Retriever(opened(url), QueryOptions(grouped=False, **METHODS[method]))
    times, found = [], []
    for number, text in enumerate(texts):
        if number:
            start = time.perf_counter()
        if number == WARM:
            used = time.process_time()
        found.append([hit.id for hit in retriever.answer(text).hits])
        times.append(1000 * (time.perf_counter() - start))
    own = 1000 * (time.process_time() - used) / (len(texts) - WARM)
    queue.put((times, own, peak(), found))


def ask_with_others(
    url: str, method: str, texts: Sequence[str], barrier: Barrier, queue: Answers
) -> None:
    """When all clients were ready, and when this one was done."""
    retriever = Retriever(opened(url), QueryOptions(grouped=False, **METHODS[method]))
    for text in texts[:WARM]:
        retriever.answer(text)
    barrier.wait()
    start = time.monotonic()
    for text in texts[WARM:]:
        retriever.answer(text)
    queue.put((start, time.monotonic()))


def latency(
    figures: Figures, url: str, servers: Sequence[int], method: str, texts: Sequence[str]
) -> list[list[str]]:
    """Prints figures of one method; returns the ids that each query finds."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=ask_alone, args=(url, method, texts, queue))
    before = of_processes(servers)
    process.start()
    times, own, megabytes, found = queue.get()
    process.join()
    figures.add(f"{method}: opened and first answer", times[0] / 1000, "s")
    for share in (50, 95, 99):
        value = float(np.percentile(times[WARM:], share))
        figures.add(f"{method}: query, percentile {share}", value, "ms")
    figures.add(f"{method}: query, processors of the client", own, "ms")
    if servers:
        of_server = 1000 * (of_processes(servers) - before) / len(texts)
        figures.add(f"{method}: query, processors of the server", of_server, "ms")
    figures.add(f"{method}: memory", megabytes, "MB")
    kept: list[list[str]] = found
    return kept


def throughput(figures: Figures, url: str, method: str, texts: Sequence[str], clients: int) -> None:
    context = multiprocessing.get_context("spawn")
    queue, barrier = context.Queue(), context.Barrier(clients)
    each = max(1, (len(texts) - WARM) // clients)
    processes = []
    for number in range(clients):
        mine = [*texts[:WARM], *texts[WARM + number * each : WARM + (number + 1) * each]]
        arguments = (url, method, mine, barrier, queue)
        processes.append(context.Process(target=ask_with_others, args=arguments))
    for process in processes:
        process.start()
    spans = [queue.get() for _ in processes]
    for process in processes:
        process.join()
    seconds = max(end for _, end in spans) - min(start for start, _ in spans)
    figures.add(f"{method}: {clients} clients", clients * each / seconds, "queries/s")


def measure(
    figures: Figures, url: str, servers: Sequence[int], options: argparse.Namespace
) -> dict[str, list[list[str]]]:
    """All figures of queries; returns what each method finds."""
    texts = list(fragments(options.queries + WARM))
    found = {method: latency(figures, url, servers, method, texts) for method in options.methods}
    for method in options.methods:
        for clients in options.clients:
            throughput(figures, url, method, texts, clients)
    return found


def on_a_server(
    figures: Figures, collection: Path, shards: int, options: argparse.Namespace
) -> dict[str, list[list[str]]]:
    from elasticsearch_server import running_cluster

    with ExitStack() as stack:
        cluster = stack.enter_context(running_cluster(8, options.nodes))
        servers = [node.process.pid for node in cluster.nodes]
        largest = stack.enter_context(memory(servers))
        before = of_processes(servers)
        url = ",".join(cluster.urls)
        build(figures, collection, url, shards, options.workers)
        with Server.connect(url, timeout=PATIENCE) as server:
            stored = server.request("GET", "/_stats/store")["_all"]["primaries"]["store"]
        figures.add("  processors of the server", of_processes(servers) - before, "s")
        figures.add("size on disk", stored["size_in_bytes"] / 1e6, "MB")
        figures.add("memory of the server, building", largest[0], "MB")
        found = measure(figures, url, servers, options)
        figures.add("memory of the server, in all", largest[0], "MB")
    return found


def main() -> None:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, nargs="+", default=[36_000, 360_000])
    parser.add_argument("--places", nargs="+", default=["local", "es:1", "es:3"])
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="allusion-es-scale-"))
    try:
        (folder / "data").symlink_to(data_dir().resolve() / "data")
        for passages in options.passages:
            collection = folder / f"{passages}.tsv"
            write_collection(collection, passages)
            os.environ[DATA_DIR_VARIABLE] = str(folder)
            print(
                f"{collection.stat().st_size / 1e6:.0f} MB of text; load {os.getloadavg()[0]:.1f}"
            )
            found = {place: run(place, passages, collection, options) for place in options.places}
            for links in ("", LINKS):
                alike = [
                    each for place, each in found.items() if place.endswith(LINKS) == bool(links)
                ]
                if len(alike) > 1:
                    same = all(each == alike[0] for each in alike)
                    print(f"the same answers everywhere{links}: {'yes' if same else 'NO'}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(
    place: str, passages: int, collection: Path, options: argparse.Namespace
) -> dict[str, list[list[str]]]:
    figures = Figures(passages, place, options.json)
    kind, _, shards = place.removesuffix(LINKS).partition(":")
    if kind != "local":
        return on_a_server(figures, collection, int(shards), options)
    build(figures, collection, "", 1, options.workers)
    size = Library().path(NAME).stat().st_size
    figures.add("size on disk", size / 1e6, "MB")
    return measure(figures, "", (), options)


if __name__ == "__main__":
    main()
