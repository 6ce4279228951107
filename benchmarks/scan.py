"""How fast `allusion-es scan` is, how much memory it takes, and what it finds.

    python benchmarks/scan.py FILE ... [--words N] [--fast] [--workers N]
    python benchmarks/scan.py FILE ... [--save FINDINGS.jsonl | --compare FINDINGS.jsonl]
    python benchmarks/scan.py --nt-ot [--links GOLD.jsonl] [--workers N]
    python benchmarks/scan.py --gold csel_allusions.jsonl

The first joins the files (plain or TEI), repeats them up to N words, scans them by the command
line and prints words a second, seconds of processors, and the largest memory of the parent and of
all processes at once. `--save` keeps the findings, `--compare` holds them against those that were
kept: before and after a change.
`--nt-ot` scans the Vulgate's New Testament for allusions to the Old; with `--links` it prints the
share of these links that are found. `--gold` scans `before`, `text` and `after` of each link and
prints the share of right verses found, findings per 1,000 words, and the reciprocal rank of the
right verse among the findings beside that of rankings for the same words as one query.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from allusion_es.corpora.findings import Finding
from allusion_es.corpora.source import read_source
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.local.library import Library
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import Query
from allusion_es.scanning.model import ScanOptions
from allusion_es.scanning.scanner import Scanner

TOP = 50

PrintedFinding = dict[str, object]
"""A finding as the command prints it."""


def resident(process: int) -> int:
    """Bytes of a process and its children that lie in memory, shared pages counted once each."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if process in (int(folder.name), parent):
                for line in (folder / "smaps_rollup").read_text().splitlines():
                    if line.startswith("Pss:"):
                        total += 1024 * int(line.split()[1])
        except (OSError, IndexError):
            continue
    return total


def scan_file(path: Path, *options: str) -> tuple[list[PrintedFinding], str, float]:
    """Findings, what it took, and seconds."""
    command = shutil.which("allusion-es", path=str(Path(sys.executable).parent))
    assert command
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        more = ["--format", "json", "--out", folder, *options]
        process = subprocess.Popen([command, "scan", str(path), *more])
        largest = 0

        def watch() -> None:
            nonlocal largest
            while process.poll() is None:
                largest = max(largest, resident(process.pid))
                time.sleep(0.5)

        watcher = threading.Thread(target=watch)
        watcher.start()
        process.wait()
        watcher.join()
        seconds = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = Path(folder, f"{path.stem}.jsonl").read_text("utf-8").splitlines()
    took = (
        f"{seconds:.1f} s with the start, {used.ru_utime + used.ru_stime:.1f} s of processors, "
        f"{largest / 1e6:.0f} MB at most"
    )
    return [json.loads(line) for line in lines], took, seconds


def compare(before: Sequence[PrintedFinding], after: Sequence[PrintedFinding]) -> None:
    """Print how far two lists of findings differ, in all but their probabilities and in these."""
    old, new = ({_told(each): each for each in some} for some in (before, after))
    both = old.keys() & new.keys()
    differences = [
        abs(float(str(old[each]["probability"])) - float(str(new[each]["probability"])))
        for each in both
    ]
    print(
        f"{len(both)} findings are the same, {len(old) - len(both)} are gone, "
        f"{len(new) - len(both)} are new; probabilities differ by {max(differences, default=0):.1g}"
    )


def _told(finding: PrintedFinding) -> str:
    """What a finding says, without scores and probabilities."""
    others = finding["alternatives"]
    assert isinstance(others, list)
    told = {name: finding[name] for name in ("start", "end", "passages", "kind", "words")}
    return json.dumps([told, [other["passages"] for other in others]])


def speed(
    files: Sequence[Path],
    words: int,
    options: Sequence[str],
    saved: Path | None = None,
    compared: Path | None = None,
) -> None:
    found = [word for path in files for word in read_source(path).text.split()]
    found = (found * (words // len(found) + 1))[:words] if words else found
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "opus.txt")
        path.write_text(" ".join(found), "utf-8")
        load = os.getloadavg()[0]
        findings, took, seconds = scan_file(path, *options)
    if saved is not None:
        saved.write_text("".join(json.dumps(each) + "\n" for each in findings), "utf-8")
    if compared is not None:
        lines = compared.read_text("utf-8").splitlines()
        compare([json.loads(line) for line in lines], findings)
    print(
        f"{len(found):,} words, {' '.join(options) or 'default'}: {took}, "
        f"{len(found) / seconds:,.0f} words/s, {len(findings)} findings; load before: {load:.1f}"
    )


def nt_ot(links: Sequence[GoldLink], options: Sequence[str]) -> None:
    verses = [passage for passage in Library().vulgate() if passage.testament == "nt"]
    places: list[int] = []
    parts: list[str] = []
    at = 0
    for verse in verses:
        places.append(at)
        parts.append(verse.text)
        at += len(verse.text) + 1
    text = "\n".join(parts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "nt.txt")
        path.write_text(text, "utf-8")
        print(f"load before: {os.getloadavg()[0]:.1f}")
        findings, took, _ = scan_file(path, "--testament", "ot", *options)
    print(f"{len(text.split()):,} words: {took}")
    print(f"{len(findings)} findings:", dict(Counter(str(each["kind"]) for each in findings)))
    named: dict[str, set[str]] = {}
    for each in findings:
        start, end = int(str(each["start"])), int(str(each["end"]))
        others = each["alternatives"]
        assert isinstance(others, list)
        passages = each["passages"]
        assert isinstance(passages, list)
        known = {*passages, *(p for other in others for p in other["passages"])}
        for verse, place in zip(verses, places, strict=True):
            if place < end and place + len(verse.text) > start:
                named.setdefault(verse.id, set()).update(known)
    if links:
        hits = [bool(_named(named, link) & set(link.relevant)) for link in links]
        print(f"links found: {sum(hits)} of {len(hits)} ({sum(hits) / len(hits):.3f})")


def _named(named: dict[str, set[str]], link: GoldLink) -> set[str]:
    """All passages that findings in the link's verses name."""
    return {passage for verse in link.source_ids for passage in named.get(verse, ())}


def rank(names: Sequence[str], relevant: frozenset[str]) -> float:
    return next((1 / place for place, name in enumerate(names, 1) if name in relevant), 0.0)


def finding_names(findings: Sequence[Finding]) -> list[str]:
    """Passages of all findings, likeliest first, then their alternatives."""
    ordered = sorted(findings, key=lambda each: -each.probability)
    names = [p for each in ordered for p in each.passages]
    others = sorted((o for each in findings for o in each.alternatives), key=lambda o: -o.score)
    return list(dict.fromkeys([*names, *(p for other in others for p in other.passages)]))


def gold(links: Sequence[GoldLink]) -> None:
    index = Library().open()
    scanners = {
        "default": Scanner(index),
        "fast": Scanner(index, ScanOptions(fast=True)),
        "default, threshold 0.02": Scanner(index, ScanOptions(threshold=0.02)),
    }
    texts = [f"{link.query.before} {link.query.text} {link.query.after}" for link in links]
    words = sum(len(text.split()) for text in texts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.txt")
        for name, scanner in scanners.items():
            ranks, count, hits = [], 0, 0
            for link, text in zip(links, texts, strict=True):
                path.write_text(text, "utf-8")
                findings = list(scanner.scan(read_source(path, kind="text")))
                count += len(findings)
                relevant = frozenset(link.relevant)
                hits += bool(relevant & set(finding_names(findings)))
                ranks.append(rank(finding_names(findings), relevant))
            print(
                f"scan, {name}: {hits / len(links):.3f} of the verses found, "
                f"{1000 * count / words:.1f} findings per 1,000 words, "
                f"MRR {sum(ranks) / len(ranks):.4f}"
            )
    for reranker in (None, "soft-cosine"):
        retriever = Retriever(index, QueryOptions(("bm25",), reranker=reranker, top=TOP))
        ranks = [
            rank([hit.id for hit in answer.hits], frozenset(link.relevant))
            for link, answer in zip(links, retriever.answers(map(Query, texts)), strict=True)
        ]
        print(f"raw window, bm25, {reranker}: MRR {sum(ranks) / len(ranks):.4f}")


def main() -> None:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--words", type=int, default=0)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--nt-ot", action="store_true")
    parser.add_argument("--links", type=Path)
    parser.add_argument("--gold", type=Path)
    arguments = parser.parse_args()
    options = ["--fast"] if arguments.fast else []
    options += ["--workers", str(arguments.workers)] if arguments.workers else []
    if arguments.files:
        speed(arguments.files, arguments.words, options, arguments.save, arguments.compare)
    if arguments.nt_ot:
        nt_ot(read_gold(arguments.links) if arguments.links else [], options)
    if arguments.gold:
        gold(read_gold(arguments.gold))


if __name__ == "__main__":
    main()
