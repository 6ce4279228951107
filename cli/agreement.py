"""`allusion-es agreement`: how far annotators agree on spans."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allusion_es.cli.options import Html, TableFormat, takes_html

if TYPE_CHECKING:
    from allusion_es.annotation.agreement.measures import Agreement, Coefficients
    from allusion_es.annotation.formats.files import SkippedFile
    from allusion_es.annotation.spans import SpanAnnotation

_FAR_APART = 0.3
"""By how much alpha must be above kappa for the output to say why."""

_BINS = 10
"""Bars of the histogram of overlaps, each a tenth wide."""

_ANCHORS = {False: "without an anchor", True: "with an anchor", None: "anchor not told"}
"""Names of the groups of `Agreement.by_anchor`."""

_SHOWN = {
    "observed_overlap": "overlap",
    "expected_overlap": "expected",
    "kappa": "kappa",
    "perfect_share": "perfect",
    "alpha": "alpha",
}
"""The coefficients that tables and intervals show, and their names in a table."""


def agreement(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Stores, JSON lines, tables (instance, annotator, start, end), brat or "
            "WebAnno TSV 3 files, or folders of them."
        ),
    ],
    html: Html = None,
    format: Annotated[
        TableFormat | None,
        typer.Option(help="How to print; a table by default.", show_default=False),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(help="Draw histogram and cumulative plot here.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resampling.")] = 0,
    resamples: Annotated[
        int,
        typer.Option(
            min=0, max=1_000_000, help="Data sets to resample for the intervals; 0: no intervals."
        ),
    ] = 1000,
    keep_doubts: Annotated[
        bool, typer.Option("--keep-doubts", help="Compare spans marked with a doubt, too.")
    ] = False,
    layer: Annotated[
        str | None,
        typer.Option(help="Span layer of WebAnno files, if there are several.", show_default=False),
    ] = None,
) -> None:
    """Measure how far annotators agree on spans: overlap, kappa, Krippendorff's alpha."""
    from allusion_es.annotation.agreement.measures import measure_agreement
    from allusion_es.annotation.formats.files import SkippedFile, read_spans
    from allusion_es.core.files import write_lines

    takes_html(context, html, "format")
    skipped: list[SkippedFile] = []
    annotations = read_spans(files, layer, skipped)
    for each in skipped:
        annotator = f" ({each.name})" if each.name else ""
        print(f"{each.where}: left out{annotator}: {each.why}", file=sys.stderr)
    found = measure_agreement(annotations, keep_doubts=keep_doubts, resamples=resamples, seed=seed)
    if svg is not None:
        write_lines(svg, [_svg(found).rstrip("\n")])
    if html is not None:
        _write_html(html, found, annotations, skipped)
    elif format is TableFormat.json:
        settings = {"keep_doubts": keep_doubts, "resamples": resamples, "seed": seed}
        record = _record(found, annotations) | settings
        record["no_annotators"] = [asdict(each) for each in skipped]
        print(json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False))
    elif format is TableFormat.tsv:
        from allusion_es.cli.output import print_rows

        print_rows(_rows(found), format)
    else:
        _print_tables(found)


def _groups(found: "Agreement") -> "list[tuple[str, str, Coefficients]]":
    """Group, name and coefficients: of all pairs, each two annotators, each kind of link.

    Where some instances have no anchor, also of these and of the others.
    """
    anchors = found.by_anchor.items() if found.counts.without_anchor else ()
    return [
        ("all", "", found.total),
        *(("pair", " / ".join(names), each) for names, each in found.by_pair.items()),
        *(("type", name, each) for name, each in found.by_type.items()),
        *(("anchor", _ANCHORS[told], each) for told, each in anchors),
    ]


def _rows(found: "Agreement") -> list[dict[str, Any]]:
    rows = []
    for group, name, each in _groups(found):
        row: dict[str, Any] = {"group": group, "name": name} | asdict(each)
        for measure in _SHOWN:
            interval = found.intervals.get(measure) if group == "all" else None
            row |= {
                f"{measure}_low": "" if interval is None else interval.low,
                f"{measure}_high": "" if interval is None else interval.high,
            }
        rows.append(row)
    return rows


def _record(found: "Agreement", annotations: "Sequence[SpanAnnotation]") -> dict[str, Any]:
    """The whole result, for JSON."""
    from allusion_es.annotation.agreement.measures import CONFIDENCE

    counts = asdict(found.counts)
    overlaps, shares = found.cumulative()
    return {
        **asdict(found.total),
        "intervals": {name: list(ends) for name, ends in found.intervals.items()},
        "confidence": CONFIDENCE,
        "instances_read": counts.pop("instances"),
        **counts,
        "by_annotator": _by_annotator(annotations),
        "by_pair": [
            {"annotators": list(names), **asdict(each)} for names, each in found.by_pair.items()
        ],
        "by_type": [{"type": name, **asdict(each)} for name, each in found.by_type.items()],
        "by_anchor": [{"anchor": told, **asdict(each)} for told, each in found.by_anchor.items()],
        "histogram": [
            {"from": place / _BINS, "to": (place + 1) / _BINS, "pairs": int(count)}
            for place, count in enumerate(found.histogram(_BINS))
        ],
        "cumulative": [
            {"overlap": float(overlap), "share": float(share)}
            for overlap, share in zip(overlaps, shares, strict=True)
        ],
    }


def _by_annotator(annotations: "Sequence[SpanAnnotation]") -> list[dict[str, Any]]:
    """Number of annotations, spans and doubts of each annotator, and their mean length."""
    rows: list[dict[str, Any]] = []
    by_name: dict[str, list[SpanAnnotation]] = {}
    for annotation in annotations:
        by_name.setdefault(annotation.annotator, []).append(annotation)
    for name, own in sorted(by_name.items()):
        lengths = [row.length for row in own if row.length]
        rows.append(
            {
                "annotator": name,
                "annotations": len(own),
                "spans": len(lengths),
                "doubts": sum(row.doubt for row in own),
                "mean_length": sum(lengths) / len(lengths) if lengths else None,
            }
        )
    return rows


def _shown_rows(found: "Agreement") -> list[dict[str, Any]]:
    """The coefficients as people read them; the first with its interval below it."""
    rows: list[dict[str, Any]] = []
    for group, name, each in _groups(found):
        title = {"all": "all pairs", "type": name or "(no type)"}.get(group, name)
        figures = {short: f"{getattr(each, name):.3f}" for name, short in _SHOWN.items()}
        rows.append({"": title, "instances": each.instances, "pairs": each.pairs, **figures})
        if group == "all" and found.intervals:
            ends = {
                short: f"{found.intervals[name].low:.3f} – {found.intervals[name].high:.3f}"
                for name, short in _SHOWN.items()
            }
            rows.append({"": "95 % interval", "instances": "", "pairs": "", **ends})
    return rows


def _print_tables(found: "Agreement") -> None:
    from allusion_es.cli.output import print_rows
    from allusion_es.reports.figures import bars

    print_rows(_shown_rows(found), TableFormat.table, "Agreement")
    histogram = [int(count) for count in found.histogram(_BINS)]
    starts = [f"{place / _BINS:.1f}–{(place + 1) / _BINS:.1f}" for place in range(_BINS)]
    print("\nPairs by overlap")
    print("\n".join(bars(starts, histogram, [str(count) for count in histogram])))
    overlaps, shares = found.cumulative()
    places = [place / _BINS for place in range(_BINS + 1)]
    # 1e-12, since an overlap of three tenths is not exactly the float 0.3.
    below = [float(max(shares[overlaps <= place + 1e-12], default=0.0)) for place in places]
    print("\nShare of pairs with at most that overlap")
    percentages = [f"{share:.1%}" for share in below]
    print("\n".join(bars([f"{place:.1f}" for place in places], below, percentages)))
    print("\n" + _summary(found))


def _summary(found: "Agreement") -> str:
    """How much was compared and how much was not, in a line or two."""
    counts = found.counts
    lines = [
        f"{counts.annotations} annotations of {counts.instances} instances by "
        f"{counts.annotators} annotators: {counts.doubts} with a doubt ({counts.left_out} left "
        f"out), {counts.skipped} skipped, {counts.missing} missing, {counts.alone} instances with "
        "one span only."
    ]
    if counts.without_anchor:
        lines.append(
            f"{counts.without_anchor} instances have no anchor, so that their spans could lie "
            "anywhere: compare 'without an anchor' and 'with an anchor'."
        )
    if counts.assumed_lengths:
        lines.append(
            f"alpha: {counts.assumed_lengths} instances do not tell how long their text is; it is "
            "taken to end with the furthest span. Give 'tokens' to mend that."
        )
    if found.total.alpha - found.total.kappa > _FAR_APART:
        lines.append(
            "kappa is 0 where long and short spans overlap alike, however well (here "
            f"{found.total.observed_overlap:.2f} on average); alpha compares with spans laid by "
            "chance. docs/agreement.md tells more."
        )
    return "\n".join(lines)


def _write_html(
    path: Path,
    found: "Agreement",
    annotations: "Sequence[SpanAnnotation]",
    skipped: "Sequence[SkippedFile]",
) -> None:
    """Write the report: coefficients, what each annotator did, and how much spans overlap."""
    from allusion_es.core.files import write_lines
    from allusion_es.reports.figures_page import figures_data, figures_page

    annotators = [
        {name: f"{value:.2f}" if isinstance(value, float) else value for name, value in row.items()}
        for row in _by_annotator(annotations)
    ]
    left_out = [f"{each.where} was left out: {each.why}" for each in skipped]
    figures = figures_data(
        [("Coefficients", _shown_rows(found)), ("Annotators", annotators)],
        [("Observed and cumulative overlap of spans", _svg(found))],
        [*_summary(found).splitlines(), *left_out],
    )
    write_lines(path, [figures_page("Agreement of annotators", figures)])
    print(f"{path}: {found.counts.annotators} annotators", file=sys.stderr)


def _svg(found: "Agreement") -> str:
    """Histogram and cumulative plot of overlaps, as the text of an SVG file."""
    from allusion_es.reports.figures import histogram, steps, svg

    total = found.total
    overlaps, shares = found.cumulative()
    panels = [
        histogram(
            [place / _BINS for place in range(_BINS + 1)],
            [int(count) for count in found.histogram(_BINS)],
            title="Observed overlap",
            x_label="overlap of two spans",
            y_label="pairs",
        ),
        steps(
            overlaps.tolist(),
            shares.tolist(),
            title="Cumulative overlap",
            x_label="overlap of two spans",
            y_label="share of pairs",
        ),
    ]
    return svg(
        panels,
        title="Overlap of annotated spans",
        description=f"{total.pairs} pairs of {total.instances} instances. Mean overlap "
        f"{total.observed_overlap:.3f}, kappa {total.kappa:.3f}; "
        f"{total.perfect_share:.1%} of the pairs are identical.",
    )
