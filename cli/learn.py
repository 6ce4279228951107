"""`allusion-es learn`: learn from gold links how an index is cited."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allusion_es.cli.options import (
    Name,
    ServerOptions,
    TableFormat,
    library,
    open_candidate_index,
    takes_server,
)
from allusion_es.core.errors import UsageError
from allusion_es.retrieval.defaults import DEFAULTS

if TYPE_CHECKING:
    from allusion_es.evaluation.gold.link import GoldLink
    from allusion_es.language.citations.vectors import CitationVectors
    from allusion_es.learning.learn import CitationLearner
    from allusion_es.learning.links import KnownLink
    from allusion_es.learning.validation import GroupFigures
    from allusion_es.retrieval.index import CandidateIndex
    from allusion_es.scanning.model import Calibration


@takes_server
def learn(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="GOLD…",
            help="Files of gold links: JSON lines, tables with tabs, or TREC qrels with topics.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Install what is learned: build the index with it.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Go back to what the index had before it learned.")
    ] = False,
    info: Annotated[
        bool, typer.Option("--info", help="Tell what the index has learned, and from what.")
    ] = False,
    folds: Annotated[
        int,
        typer.Option(
            help="Divide the works into so many parts, and test on each what the others teach; "
            "0 tests nothing."
        ),
    ] = 3,
    anew: Annotated[
        bool,
        typer.Option(
            "--anew", help="Learn from these links alone, not on top of what the index knows."
        ),
    ] = False,
    vectors: Annotated[
        bool | None,
        typer.Option(
            help="Learn citation vectors, or only how to rank; by default vectors for the Bible, "
            "for an index that has some, and from 2,000 links on.",
            show_default=False,
        ),
    ] = None,
    cross_encoder: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Learn what a cross-encoder's ranks are worth, too: a folder with an ONNX export, "
            "or a name on the hub (docs/neural.md).",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same links and seed give the same vectors.")] = 1,
    epochs: Annotated[int, typer.Option(help="How often to go through the links.")] = 5,
    name: Name = DEFAULTS.name,
    format: Annotated[TableFormat, typer.Option(help="How to print.")] = TableFormat.table,
    *,
    server: ServerOptions,
) -> None:
    """Learn from gold links how the passages of an index are cited.

    Shows what that would bring on works that were not learned from, and where it would hurt;
    changes nothing without --yes.
    """
    if bool(files) + undo + info != 1:
        raise UsageError("give files of gold links, or --undo, or --info; one of the three")
    if folds < 0 or folds == 1:
        raise UsageError(f"give 2 or more, or 0 to test nothing, not {folds}", argument="folds")
    index = open_candidate_index(name, server)
    if info:
        _info(index, format)
    elif undo:
        _undo(index, server)
    else:
        _learn(
            files or [],
            index,
            server,
            yes=yes,
            folds=folds,
            seed=seed,
            epochs=epochs,
            anew=anew,
            vectors=vectors,
            cross_encoder=cross_encoder or "",
            format=format,
        )


def _learn(
    files: list[Path],
    index: "CandidateIndex",
    server: ServerOptions,
    *,
    yes: bool,
    folds: int,
    seed: int,
    epochs: int,
    anew: bool,
    vectors: bool | None,
    cross_encoder: str,
    format: TableFormat,
) -> None:
    """Read links, validate learning on them, print the figures, and install if told to."""
    from allusion_es.cli.output import print_rows
    from allusion_es.cli.progress import progress
    from allusion_es.learning.collection_ranker import LEAST_LINKS
    from allusion_es.learning.learn import CitationLearner
    from allusion_es.learning.links import check_enough, known_links, read_collection
    from allusion_es.learning.train import CitationTraining
    from allusion_es.learning.validation import figure_rows
    from allusion_es.retrieval.index import is_bible
    from allusion_es.retrieval.pipeline import index_analyser

    training = CitationTraining(seed=seed, epochs=epochs)
    gold = _read_links(files, index)
    collection = read_collection(index)
    links, missing = known_links(gold, collection, index_analyser(index), progress)
    if vectors is None:
        has_some = index.citations is not None or is_bible(index)
        vectors = has_some or len(links) >= _ENOUGH_FOR_VECTORS
    if not vectors:
        if index.citations is not None:
            raise UsageError(
                f"index {index.name!r} has citation vectors, and its ranker compares by them; "
                "leave --no-vectors out, or build the index with --no-learned-links first"
            )
        check_enough(links, missing, index.name, LEAST_LINKS)
        _learn_ranker(links, index, server, cross_encoder, yes=yes, folds=folds, format=format)
        return
    if cross_encoder:
        raise UsageError(
            "vectors are learned without it; --no-vectors learns how to rank",
            argument="cross_encoder",
        )
    check_enough(links, missing, index.name)
    # By default learning goes on from the vectors that the index has.
    start = None if anew else index.citations
    learner = CitationLearner(index, collection, index.vectors, training, start, progress)
    results = learner.validate(links, folds) if folds else []
    rows = figure_rows(results)
    if rows:
        print_rows(rows, format, "On works not learned from (hundredths)")
    if folds and not rows:
        print("nothing was tested: all links come from one work or text", file=sys.stderr)
    for line in _advice(results):
        print(line, file=sys.stderr)
    if start is not None and results:
        print(
            f"learned on top of {start.name}; where its {start.about.get('links', '?')} links come "
            "from the same works, the figures are too good",
            file=sys.stderr,
        )
    if yes:
        _install(learner, links, rows, index, server)
    else:
        print(
            f"{len(links)} links; nothing was changed: --yes builds index {index.name!r} with "
            "what is learned",
            file=sys.stderr,
        )


_ENOUGH_FOR_VECTORS = 2_000
"""Links from which vectors are learned for a collection of which no citations are known."""


def _learn_ranker(
    links: "list[KnownLink]",
    index: "CandidateIndex",
    server: ServerOptions,
    cross_encoder: str,
    *,
    yes: bool,
    folds: int,
    format: TableFormat,
) -> None:
    """Learn how to rank, print the figures before and after, and install it if told to."""
    from allusion_es.cli.output import print_rows
    from allusion_es.cli.progress import progress
    from allusion_es.learning.collection_ranker import RankerLearner, figure_rows, parts_of
    from allusion_es.learning.collection_scan import learn_scan, scan_file, scan_pieces

    if cross_encoder and Path(cross_encoder).exists():
        cross_encoder = str(Path(cross_encoder).resolve())  # the ranker remembers it
    learner = RankerLearner(index, cross_encoder=cross_encoder, progress=progress)
    examples = learner.examples(links)
    scan: Calibration | None = None
    if folds:
        works = len({link.link.work for link in links})
        parts = "works" if works > 1 else "parts of the one work"
        figures = figure_rows(learner.validate(examples, folds))
        scan = learn_scan(scan_pieces(index, learner, examples, parts_of(examples, folds)))
        measured = [] if scan is None else _scan_rows(scan)
        if format is TableFormat.json:
            print_rows([*figures, *measured], format)
        else:
            print_rows(figures, format, f"On {parts} not learned from (hundredths)")
        if measured and format is not TableFormat.json:
            print()
            print_rows(measured, format, f"A scan of {parts} not learned from (hundredths)")
        if known := learner.known(links):
            print(
                f"the present ranker was learned from {known} of the {len(links)} links or from "
                "others of their source: its figures ('now') are too good",
                file=sys.stderr,
            )
    if scan is None:
        print(
            "for 'scan' no probabilities were learned: that takes parts of the links to test on",
            file=sys.stderr,
        )
    ranker = learner.learn(examples)
    also = " and the probabilities" if scan is not None else ""
    if not yes:
        print(
            f"{len(links)} links; nothing was changed: --yes gives index {index.name!r} the ranker"
            f"{also} that {'are' if also else 'is'} learned from all of them",
            file=sys.stderr,
        )
        return
    models = library().models
    of_scan = b"" if scan is None else scan_file(index, scan)
    name = learner.save(models.folder, links, ranker, of_scan)
    _rebuild(index, server, None, name)
    print(
        f"index {index.name!r} now has ranker {name}{also and also + ' of scans'}, learned from "
        f"{len(links)} links; "
        f"'allusion-es learn --undo --name {index.name}' takes it back",
        file=sys.stderr,
    )


def _scan_rows(scan: "Calibration") -> list[dict[str, Any]]:
    """What was measured of a scan, in hundredths, at thresholds where something was found."""
    return [
        {
            "scan from": point.threshold,
            "default": "yes" if point.threshold == scan.threshold else "",
            "precision": round(100 * point.precision, 1),
            "recall": round(100 * point.recall, 1),
        }
        for point in scan.points
        if point.recall
    ]


def _read_links(files: list[Path], index: "CandidateIndex") -> "list[GoldLink]":
    """The links of all files, with ids of the index; says on stderr what is left out."""
    from allusion_es.evaluation.gold.files import read_gold
    from allusion_es.evaluation.gold.ids import resolve_known

    ids = index.ids()
    links = []
    for file in files:
        kept, unknown = resolve_known(read_gold(file), ids, source=str(file))
        links += kept
        if unknown:
            first = unknown[0]
            print(
                f"{file}:{first.line}: {first.written!r} is not in index {index.name!r}; left "
                f"out, {len(unknown)} such in all",
                file=sys.stderr,
            )
    return links


def _advice(results: "list[GroupFigures]") -> list[str]:
    """Lines that say for each group of queries whether learning helps or hurts."""
    found = {(result.group, result.method): result.figures for result in results}
    lines = []
    for group in dict.fromkeys(result.group for result in results):
        words, vectors = found[group, "bm25"], found[group, "citations"]
        if words.queries:
            change = 100 * (vectors.p10 - words.p10)
            verdict = "helps" if change > 0 else "hurts" if change < 0 else "changes nothing"
            lines.append(
                f"{group}: learning {verdict}: {change:+.1f} of 100 queries have a right passage "
                f"among the first 10 ({words.queries} queries)"
            )
    return lines


def _install(
    learner: "CitationLearner",
    links: "list[KnownLink]",
    rows: list[dict[str, Any]],
    index: "CandidateIndex",
    server: ServerOptions,
) -> None:
    """Train on all links, and build the index with the vectors."""
    # What the index had before is kept by name, for --undo.
    more = {"figures": rows, "before": index.settings.citations}
    vectors = learner.install(links, library().models, more)
    _rebuild(index, server, vectors)
    print(
        f"index {index.name!r} now has citation vectors {vectors.name}, learned from "
        f"{len(links)} links; 'allusion-es learn --undo --name {index.name}' takes them back",
        file=sys.stderr,
    )


def _rebuild(
    index: "CandidateIndex",
    server: ServerOptions,
    vectors: "CitationVectors | None",
    ranker: str = "",
) -> None:
    """Build the index again with what was learned, in this process or on its server."""
    if server.url is None:
        library().give_learned(index.name, vectors, ranker)
        return
    from allusion_es.cli.progress import progress
    from allusion_es.es.build import give_learned
    from allusion_es.es.index import open_index

    with server.connect() as connected:
        books = library()
        there = open_index(
            connected, index.name, books.vectors, books.citations, encoders=books.encoder
        )
        give_learned(connected, there, vectors, ranker, progress, books.folder)


def _undo(index: "CandidateIndex", server: ServerOptions) -> None:
    """Take back the ranker of the index, or the vectors that were learned last."""
    if index.settings.ranker:
        _rebuild(index, server, index.citations)
        print(
            f"index {index.name!r} has the ranker that comes along again; {index.settings.ranker} "
            f"is kept in {library().models.folder}",
            file=sys.stderr,
        )
        return
    vectors = index.citations
    if vectors is None or "before" not in vectors.about:
        raise UsageError(f"index {index.name!r} has learned nothing that could be taken back")
    before = str(vectors.about["before"])
    _rebuild(index, server, library().citations(before) if before else None)
    now = f"citation vectors {before}" if before else "no citation vectors"
    print(
        f"index {index.name!r} has {now} again; {vectors.name} are kept in {vectors.path}",
        file=sys.stderr,
    )


def _info(index: "CandidateIndex", format: TableFormat) -> None:
    """Print facts of the index's citation vectors, and how well they did when they were learned."""
    from allusion_es.language.citations.citing_texts import citing_texts_of

    vectors = index.citations
    if vectors is None and index.ranker is not None:
        from allusion_es.rerankers.learned import read_model
        from allusion_es.scanning.measured import scan_model, unmeasured
        from allusion_es.scanning.model import ScanOptions

        told = {"ranker": index.settings.ranker, **read_model(index.ranker).about}
        options = ScanOptions()
        if not unmeasured(index, options):
            model = scan_model(index, options)
            point = model.measured(model.threshold)
            if point is not None:
                told["scan"] = (
                    f"from probability {model.threshold:g}: precision {point.precision:.2f}, "
                    f"recall {point.recall:.2f}"
                )
        _print_facts(told, format)
        return
    if vectors is None:
        raise UsageError(
            f"index {index.name!r} has no citation vectors; learn some with 'allusion-es learn'"
        )
    facts: dict[str, Any] = {
        "name": vectors.name,
        "rows": len(vectors),
        "dimension": vectors.dimension,
    }
    known = citing_texts_of(vectors)
    if known is not None:
        facts["citing_texts"] = len(known)
        facts["citing_lemmas"] = len(known.words)
    _print_facts(facts | dict(vectors.about), format)


def _print_facts(facts: dict[str, Any], format: TableFormat) -> None:
    """Print facts, a row each, and the figures among them as a table of their own."""
    from allusion_es.cli.output import print_rows

    if format is TableFormat.json:
        print_rows([facts], format)
        return
    rows = [{"property": key, "value": facts[key]} for key in facts if key != "figures"]
    print_rows(rows, format)
    measured = facts.get("figures", [])
    if measured and format is TableFormat.table:
        print_rows(measured, format, "On works not learned from (hundredths)")
