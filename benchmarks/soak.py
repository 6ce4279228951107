"""Queries and scans on a cluster of three nodes for a long time: errors, wrong answers, memory.

    python benchmarks/soak.py [--minutes 30] [--clients 2] [--pause 1] [--kill-every SECONDS]
        [--verses N] [--queries N] [--rounds N] [--report SECONDS]

Starts the cluster on loopback, indexes the Vulgate (or its first N verses) in three shards with
one replica, and lets the clients, each a process of its own, ask the same queries (fused and
learned, BM25 and soft cosine) and scan the same text again and again. Every answer is compared with
the first one, byte by byte. With `--kill-every`, one node after the other is killed with SIGKILL
and started again once the cluster has noticed. Prints a line for each report: rounds, answers,
errors, wrong answers, answers a second, and the resident memory of clients and nodes. Exits with 1
if there was an error or a wrong answer.
"""

import argparse
import contextlib
import itertools
import json
import math
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from elasticsearch_server import Cluster, running_cluster

from allusion_es.core.errors import AllusionError
from allusion_es.corpora.findings import json_line
from allusion_es.corpora.source import read_source
from allusion_es.corpora.source_text import SourceText
from allusion_es.es.build import build_es_index
from allusion_es.es.connection import Server
from allusion_es.es.index import ElasticsearchIndex, open_index
from allusion_es.local.library import BuildOptions, Library
from allusion_es.reports.answers import answer_json
from allusion_es.retrieval.options import generators_of
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import Query
from allusion_es.scanning.scanner import Scanner

NAME = "soak"
_SEED = 11


@dataclass
class Count:
    """What a client did since it began.

    Attributes:
        rounds: How often it went through everything.
        answers: Queries and scans that were answered.
        errors: Those that failed.
        wrong: Answers that differ from the first.
        failures: What failures said.
    """

    rounds: int = 0
    answers: int = 0
    errors: int = 0
    wrong: int = 0
    failures: list[str] = field(default_factory=list)


def megabytes(process: int) -> float:
    """Resident memory of a process."""
    try:
        text = Path(f"/proc/{process}/status").read_text("utf-8")
    except OSError:
        return 0.0
    lines = (line for line in text.splitlines() if line.startswith("VmRSS:"))
    return next((int(line.split()[1]) / 1024 for line in lines), 0.0)


def work_of(folder: Path, number: int, queries: int) -> tuple[list[Query], Path]:
    """Queries (verses that have lost some of their words) and a text to scan."""
    chance = random.Random(_SEED + number)
    verses = [passage.text for passage in Library(folder).vulgate()]
    chosen = chance.sample(verses, queries)
    texts = [" ".join(word for word in text.split() if chance.random() < 0.7) for text in chosen]
    path = folder / f"sermo-{number}.txt"
    path.write_text("\n\n".join(f"Dicit scriptura: {text} Et iterum." for text in texts), "utf-8")
    return [Query(text or "Deus", str(place)) for place, text in enumerate(texts)], path


class Client:
    """Asks the same again and again, and compares.

    Args:
        server: The cluster.
        number: Chooses what is asked.
        folder: The data folder.
        queries: How many queries it asks.
        pause: Seconds to rest after each answer.
    """

    def __init__(
        self, server: Server, number: int, folder: Path, queries: int, pause: float
    ) -> None:
        self.count = Count()
        self._server = server
        self._library = Library(folder)
        self._queries, path = work_of(folder, number, queries)
        self._source = read_source(path)
        self._pause = pause
        self._first: dict[tuple[str, str], str] = {}

    def round(self) -> None:
        """Ask everything once; what fails is counted, and the rest is asked all the same."""
        self.count.failures = []
        with self._counting("open"):
            # Words and statistics are kept, so a new one asks for them again.
            library = self._library
            index = open_index(self._server, NAME, library.vectors, library.citations)
            for stage, reranker in (("fused", "learned"), ("bm25", "soft-cosine")):
                self._ask(index, stage, reranker)
            with self._counting("scan"):
                self._compare(("scan", ""), scanned(index, self._source))
        self.count.rounds += 1

    def _ask(self, index: ElasticsearchIndex, stage: str, reranker: str) -> None:
        retriever = Retriever(
            index, QueryOptions(generators=generators_of(stage), reranker=reranker)
        )
        for query in self._queries:
            with self._counting(f"{stage}, {reranker}"):
                answer = answer_json(retriever.answer(query))
                self._compare((stage, query.query_id), answer)
            time.sleep(self._pause)

    def _compare(self, what: tuple[str, str], answer: str) -> None:
        self.count.answers += 1
        self.count.wrong += self._first.setdefault(what, answer) != answer

    @contextlib.contextmanager
    def _counting(self, kind: str) -> Iterator[None]:
        try:
            yield
        except AllusionError as error:
            self.count.errors += 1
            self.count.failures.append(f"{kind}: {error}")


def scanned(index: ElasticsearchIndex, source: SourceText) -> str:
    """The findings of a text as lines of JSON."""
    return "\n".join(json_line(source, found) for found in Scanner(index).scan(source))


def run_client(options: argparse.Namespace) -> None:
    """Go round until the process is ended, and print the counts after each round."""
    with Server.connect(options.client, wait=60) as server:
        client = Client(server, options.number, options.data, options.queries, options.pause)
        while True:
            client.round()
            print(json.dumps(asdict(client.count)), flush=True)


class Watched:
    """A client's process, and what it last said.

    Args:
        arguments: Its command line.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self.process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE)
        self.count = Count()
        self.failures: list[str] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.count = Count(**json.loads(line))
            self.failures += self.count.failures

    def end(self) -> None:
        """Stop it."""
        self.process.kill()
        self.process.wait()
        self._thread.join()
        if self.process.stdout:
            self.process.stdout.close()


def build(server: Server, folder: Path, verses: int) -> None:
    """Index the Vulgate, or its first verses."""
    library = Library(folder)
    passages = itertools.islice(library.vulgate(), verses or None)
    build_es_index(server, NAME, *library.prepare(passages, BuildOptions()), shards=3, replicas=1)
    wait_for(server, nodes=3, status="green")


def kill_and_restart(cluster: Cluster, server: Server, number: int) -> None:
    """Kill a node, wait until the cluster has noticed, start it again, and wait for its copies."""
    node = cluster.nodes[number % len(cluster.nodes)]
    node.kill()
    wait_for(server, nodes=2)
    node.restart([each.transport for each in cluster.nodes if each is not node])
    wait_for(server, nodes=3, status="green")


def wait_for(server: Server, *, nodes: int, status: str = "", seconds: float = 300) -> None:
    """Until the cluster has so many nodes, and such a status."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        with contextlib.suppress(AllusionError):
            health = server.request("GET", "/_cluster/health")
            if health["number_of_nodes"] == nodes and status in ("", health["status"]):
                return
        time.sleep(0.3)
    raise AssertionError(f"the cluster did not get {nodes} nodes {status} in {seconds} s")


def report(clients: Sequence[Watched], cluster: Cluster, seconds: float, kills: int) -> Count:
    """Print a line; gives the sum of all clients."""
    counts = [each.count for each in clients]
    total = Count(
        sum(count.rounds for count in counts),
        sum(count.answers for count in counts),
        sum(count.errors for count in counts),
        sum(count.wrong for count in counts),
    )
    ours = " ".join(f"{megabytes(each.process.pid):.0f}" for each in clients)
    nodes = " ".join(f"{megabytes(node.process.pid):.0f}" for node in cluster.nodes)
    print(
        f"{seconds / 60:6.1f} min  {total.rounds:5} rounds  {total.answers:7} answers  "
        f"{total.errors:4} errors  {total.wrong:4} wrong  {total.answers / seconds:6.2f} a second"
        f"  MB of clients: {ours}  of nodes: {nodes}  kills: {kills}",
        flush=True,
    )
    return total


def soak(options: argparse.Namespace) -> Count:
    """Load a cluster for so long or so many rounds; gives the sum of all clients."""
    kills = 0
    with (
        tempfile.TemporaryDirectory() as name,
        running_cluster(8, 3) as cluster,
        Server.connect(",".join(cluster.urls), wait=60) as server,
        contextlib.ExitStack() as stack,
    ):
        folder, urls = Path(name), ",".join(cluster.urls)
        (folder / "data").symlink_to(Library().folder.resolve() / "data")
        build(server, folder, options.verses)
        clients = [_client(urls, folder, number, options) for number in range(options.clients)]
        for each in clients:
            stack.callback(each.end)
        start = time.monotonic()
        due = killing = start
        while time.monotonic() < start + 60 * options.minutes and not _all(clients, options.rounds):
            time.sleep(min(1.0, options.report))
            now = time.monotonic()
            if options.kill_every and now > killing + options.kill_every and _all(clients, 1):
                kill_and_restart(cluster, server, kills)
                kills, killing = kills + 1, time.monotonic()
            if now > due + options.report:
                report(clients, cluster, now - start, kills)
                due = now
        total = report(clients, cluster, time.monotonic() - start, kills)
        failures = [line for each in clients for line in each.failures]
        assert all(each.process.poll() is None for each in clients), "a client has died"
    for line in failures[:20]:
        print(line)
    return total


def _client(urls: str, folder: Path, number: int, options: argparse.Namespace) -> Watched:
    arguments = [__file__, "--client", urls, "--data", str(folder), "--number", str(number)]
    return Watched([*arguments, "--queries", str(options.queries), "--pause", str(options.pause)])


def _all(clients: Sequence[Watched], rounds: float) -> bool:
    """Whether each has gone round so often; after the first, it has something to compare with."""
    return all(each.count.rounds >= rounds for each in clients)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds after each answer")
    parser.add_argument("--kill-every", type=float, default=0, help="seconds; 0 for never")
    parser.add_argument("--verses", type=int, default=0, help="0 for all")
    parser.add_argument("--queries", type=int, default=20, help="of each client and method")
    parser.add_argument("--rounds", type=float, default=math.inf, help="of each client, at most")
    parser.add_argument("--report", type=float, default=60, help="seconds")
    parser.add_argument("--client", help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        run_client(options)
    total = soak(options)
    return 1 if total.errors or total.wrong or not total.answers else 0


if __name__ == "__main__":
    sys.exit(main())
