"""The main job, measured: build an index, ask it, in this process and on a real Elasticsearch.

    python benchmarks/main_job.py            # both
    python benchmarks/main_job.py --no-es    # without a server

Prints one figure a line with its target on a machine of two cores. Data must have been fetched
(`allusion-es fetch`). Indexes are built in a temporary folder.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from timing import report

from allusion_es.core.files import DATA_DIR_VARIABLE, data_dir

COMMAND = str(Path(sys.executable).parent / "allusion-es")
TIME = "/usr/bin/time"
QUERIES = 200


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="allusion-es-benchmark-"))
    (folder / "data").symlink_to(data_dir().resolve() / "data")
    os.environ[DATA_DIR_VARIABLE] = str(folder)
    queries = folder / "queries.txt"
    in_process(queries)
    if "--no-es" not in sys.argv:
        on_a_server(queries)


def in_process(queries: Path) -> None:
    """Figures of the index in this process."""
    seconds, megabytes = timed("index")
    report("Vulgate to saved index", seconds, "s", 15)
    report("  peak memory", megabytes, "MB", 600)
    queries.write_text("\n".join(fragments(1000)) + "\n")
    seconds, megabytes = timed("query", "gustate et videte quoniam suavis est Dominus")
    report("whole `allusion-es query` process", seconds, "s", 2)
    report("  peak memory", megabytes, "MB", 600)
    seconds = min(timed("--help")[0] for _ in range(5))
    report("`allusion-es --help`", seconds * 1000, "ms", 300)
    seconds, megabytes = timed("query", str(queries), "--format", "json")
    report("1,000 queries through `query`, a second", 1000 / seconds, "/s (at least)", 50)
    report("  peak memory", megabytes, "MB", 600)
    warm("in process", 10)


def on_a_server(queries: Path) -> None:
    """The same on Elasticsearch, started for the purpose."""
    from elasticsearch_server import running_server

    with running_server(8) as url:
        seconds, megabytes = timed("index", "--es", url)
        report("Vulgate to Elasticsearch", seconds, "s", 20)
        report("  peak memory", megabytes, "MB", 600)
        seconds, _ = timed("query", "gustate et videte", "--es", url)
        report("whole `allusion-es query --es` process", seconds, "s", 2)
        warm("on Elasticsearch", 40, url)


def warm(where: str, target: float, url: str | None = None) -> None:
    """Median time of a warm query with soft cosine over 500 candidates."""
    from allusion_es.es.connection import Server
    from allusion_es.es.index import open_index
    from allusion_es.local.library import Library
    from allusion_es.retrieval.index import CandidateIndex
    from allusion_es.retrieval.pipeline import QueryOptions, Retriever

    library = Library()
    index: CandidateIndex = library.open()
    if url is not None:
        index = open_index(Server.connect(url), "vulgate", library.vectors)
    retriever = Retriever(
        index, QueryOptions(("bm25",), candidates=500, reranker="soft-cosine", grouped=False)
    )
    texts = list(fragments(2 * QUERIES))
    times = []
    for number, text in enumerate(texts):
        start = time.perf_counter()
        retriever.answer(text)
        if number >= QUERIES:
            times.append(time.perf_counter() - start)
    times.sort()
    report(f"warm query {where}, median", times[len(times) // 2] * 1000, "ms", target)
    report("  95th percentile", times[int(len(times) * 0.95)] * 1000, "ms")


def fragments(count: int) -> Iterator[str]:
    """Clauses of verses, spread over the whole Vulgate, as queries."""
    from allusion_es.corpora.bible.vulgate import read_vulgate
    from allusion_es.corpora.packages import VULGATE

    verses = list(read_vulgate(VULGATE.path(data_dir())))
    for number in range(count):
        words = verses[number * len(verses) // count].text.split()
        yield " ".join(words[2:10] or words)


def timed(*arguments: str) -> tuple[float, float]:
    """Seconds and peak MB of one run of the command."""
    start = time.perf_counter()
    done = subprocess.run(
        [TIME, "-f", "%M", COMMAND, *arguments], capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - start
    return seconds, float(done.stderr.splitlines()[-1]) / 1024


if __name__ == "__main__":
    main()
