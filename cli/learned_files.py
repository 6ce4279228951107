"""The command `learned-files`, for those who change the program; hidden from its users."""

import sys
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from allusion_es.core.errors import UsageError


def learned_files(
    links: Annotated[
        list[Path],
        typer.Argument(help="Many links, JSON lines, may be compressed (.gz)."),
    ],
    out: Annotated[Path, typer.Option(help="The folder for the files.")],
    gold: Annotated[list[Path], typer.Option(help="Gold links to learn the ranker from.")],
    judge: Annotated[
        list[Path] | None,
        typer.Option(help="Gold links that the ranker is only measured on."),
    ] = None,
    marked: Annotated[
        list[str] | None,
        typer.Option(
            help="Name, without ending, of a file of --gold in which an editor marked the very "
            "words that allude: on these the scan is measured."
        ),
    ] = None,
    plain: Annotated[
        list[Path] | None,
        typer.Option(
            help="A text that cannot allude, such as Caesar, to learn the scan's models with."
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="The name of the files.")] = "patristic",
    index: Annotated[str, typer.Option(help="The index of the passages.")] = "vulgate",
    work: Annotated[
        Path | None,
        typer.Option(help="The folder of what is made on the way.", show_default="OUT/work"),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    about: Annotated[
        list[str] | None,
        typer.Option(help="KEY=TEXT that is written into the files, such as the licence."),
    ] = None,
) -> None:
    """Make all files learned from known citations that come with the program.

    These are citation vectors, translations, citing texts, rankers and the models of scans.
    Prints what the ranker finds of the gold links, each fold of works with a ranker learned from
    the others (MRR, P@10, P@20, in hundredths), and how often a scan is right.
    """
    from allusion_es.learning.build import Sources, build

    facts = dict(_fact(text) for text in about or ())
    sources = Sources(
        tuple(links),
        tuple(gold),
        tuple(judge or ()),
        tuple(marked or ()),
        tuple(plain or ()),
        index,
        work or out / "work",
        facts,
    )
    built = build(sources, out, name, workers, _tell)
    for (kind, file), one in built.figures.items():
        shown = "/".join(f"{100 * value:.1f}" for value in (one.mrr, one.p10, one.p20))
        print(f"{kind:10} {file:24} {one.queries:5} {shown}")
    for model, measured in built.scan.items():
        print(f"scan, {model}\n  threshold  precision  recall")
        for point in measured.points:
            print(f"  {point.threshold:9.2f}  {point.precision:9.3f}  {point.recall:6.3f}")
        print("  probability  findings  right")
        for low, count, right in measured.bins:
            print(f"  {low:.1f} to {low + 0.1:.1f}  {count:9}  {right:.3f}")
    for path in built.files:
        print(f"{sha256(path.read_bytes()).hexdigest()}  {path} ({path.stat().st_size} bytes)")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _fact(text: str) -> tuple[str, str]:
    key, is_fact, value = text.partition("=")
    if not is_fact:
        raise UsageError(f"--about {text!r} is not KEY=TEXT, such as 'licence=CC0'")
    return key, value
