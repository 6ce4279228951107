"""Faults of every kind, and what becomes of commands that meet them.

    python benchmarks/faults.py proxy [--share 1] [--es URL]
    python benchmarks/faults.py kills [--points 30] [--verses N] [--es URL]
    python benchmarks/faults.py machine [--verses N] [--es URL]

`proxy` breaks the answers of a server: each fault, with each command that speaks to one, at the
first, the n-th or every request; `--share` takes a part of them by chance. `kills` ends commands
with SIGKILL at random moments, with an index in process and one on a server, and lets them go on.
`machine` fills disks, limits files and memory, sends signals, and starts two builders at once.

Every outcome is the right result, to the byte, or one clear line with the right exit status while
what was there before still answers; anything else is wrong. Prints a table (fault, command, tries,
right, clear, wrong, longest seconds), then whatever was wrong, and exits with 1 if anything was.
Without `--es` a server is started on loopback.
"""

import argparse
import contextlib
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from elasticsearch_server import running_server
from fault_commands import Bench, Tried, attempts
from fault_kills import emptied_folder, kills
from fault_machine import machine_faults
from fault_proxy import fault_proxy


def proxied(url: str, share: float, seed: int) -> Iterator[Tried]:
    """Faults between the program and its server."""
    with emptied_folder() as folder, fault_proxy(url) as proxy:
        bench = Bench(url, proxy, folder)
        try:
            yield from attempts(bench, share, seed)
        finally:
            bench.close()


def everywhere(options: argparse.Namespace, url: str) -> Iterator[Tried]:
    """Faults of processes and machines, with an index in process, then with one on the server."""
    for place in ("", url):
        with emptied_folder() as folder:
            if options.what == "kills":
                yield from kills(folder, place, options.points, options.verses, options.seed)
            else:
                yield from machine_faults(folder, place, options.verses)


def told(tried: Iterable[Tried]) -> Iterator[Tried]:
    """The same, with a dot on stderr for each, or what was wrong."""
    for each in tried:
        wrong = each.verdict.startswith("wrong")
        print(f"\n{each}" if wrong else ".", end="", file=sys.stderr, flush=True)
        yield each
    print(file=sys.stderr)


def table(tried: Sequence[Tried], by_command: bool) -> list[str]:
    """The lines of the table, and of what was wrong."""
    groups: dict[tuple[str, ...], list[Tried]] = defaultdict(list)
    for each in tried:
        groups[(each.fault, *([each.command, each.when] if by_command else []))].append(each)
        groups[("all",)].append(each)
    groups[("all",)] = groups.pop(("all",), [])
    lines = [f"{'fault':50} tries  right  clear  skipped  wrong  longest"]
    for key, members in groups.items():
        kinds = [each.verdict.partition(":")[0] for each in members]
        counts = "  ".join(
            f"{kinds.count(kind):{len(kind)}}" for kind in ("right", "clear", "skipped", "wrong")
        )
        longest = max((each.seconds for each in members), default=0.0)
        lines.append(f"{', '.join(key):50} {len(members):5}  {counts}  {longest:6.1f} s")
    return [*lines, *(f"{each}" for each in tried if each.verdict.startswith("wrong"))]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Faults, and what becomes of commands.")
    parser.add_argument("what", choices=("proxy", "kills", "machine"))
    parser.add_argument("--share", type=float, default=1.0, help="of all combinations")
    parser.add_argument("--points", type=int, default=30, help="kills of each command")
    parser.add_argument("--verses", type=int, default=3000, help="in the index")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--es", metavar="URL")
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        url = options.es or stack.enter_context(running_server(8))
        proxy = options.what == "proxy"
        runs = proxied(url, options.share, options.seed) if proxy else everywhere(options, url)
        tried = list(told(runs))
    print("\n".join(table(tried, by_command=not proxy)))
    return 1 if any(each.verdict.startswith("wrong") for each in tried) else 0


if __name__ == "__main__":
    sys.exit(main())
