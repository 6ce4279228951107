"""Printing and writing of an evaluation's figures: tables, histograms, pages of errors."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from allusion_es.cli import output
from allusion_es.cli.options import TableFormat
from allusion_es.core.errors import UsageError
from allusion_es.core.files import write_lines, writing
from allusion_es.evaluation.paper.experiments import TableLine
from allusion_es.reports.answers import one_line

_HEADINGS = {"candidate_recall": "recall", "jaccard_token": "J token", "jaccard_lemma": "J lemma"}
"""Shorter names of columns, for people."""

_PRINTED = ("paper_mrr", "paper_p10", "paper_p20")
"""Columns of the paper's own figures."""


_OF_PAIRS = ("versus", "p", "effect")
"""Columns that people find in the table of pairs."""


def with_printed(
    rows: Sequence[Mapping[str, Any]], lines: Sequence[TableLine]
) -> list[dict[str, Any]]:
    """The rows with the paper's figures beside ours, if it has any for one of the lines."""
    if not any(line.printed for line in lines):
        return [dict(row) for row in rows]
    printed = {tuple(line.labels.values()): line.printed for line in lines}
    added = []
    for row in rows:
        labels = tuple(row[name] for name in lines[0].labels)
        figures = printed[labels] or (None,) * len(_PRINTED)
        added.append({**row, **dict(zip(_PRINTED, figures, strict=True))})
    return added


def print_rows(
    rows: Sequence[Mapping[str, Any]], format: str, title: str, note: str = "", label: str = ""
) -> None:
    """Print figures; tables for people round them, put intervals beside them, and have a note."""
    if format in ("json", "tsv"):
        output.print_rows(rows, TableFormat(format))
        return
    shown = [for_people(row) for row in rows]
    if format == "latex":
        from allusion_es.reports.latex import latex_table

        print(latex_table(shown, _caption(title, note), label))
        return
    output.print_rows(shown, TableFormat.table, title)
    if note:
        print(note)


def print_methods(
    rows: Sequence[Mapping[str, Any]],
    measures: Sequence[str],
    format: str,
    title: str,
    note: str,
    label: str,
    compared: str,
) -> None:
    """Print the figures of methods: in LaTeX as a paper has them, else as `print_rows` does."""
    if format != "latex":
        print_rows(rows, format, title, note)
        return
    from allusion_es.reports.latex import methods_table

    print(methods_table(rows, measures, _caption(title, note), label, compared))


def _caption(title: str, note: str) -> str:
    """A title and a note as a caption; LaTeX numbers tables itself.

    Example:
        >>> _caption("Table 2: all models", "paper: 729 allusions")
        'All models. Paper: 729 allusions'
    """
    words = title.partition(": ")[2] if title.startswith("Table ") else title
    return ". ".join(part[:1].upper() + part[1:] for part in (words, note) if part)


def print_histogram(rows: Sequence[Mapping[str, Any]], format: str) -> None:
    """Print the histogram of types that links share; as bars for people."""
    if format != "table":
        print_rows(rows, format, "Links by shared types", label="tab:shared-types")
        return
    from allusion_es.reports.figures import bars

    for field in dict.fromkeys(row["input"] for row in rows):
        some = [row for row in rows if row["input"] == field]
        counts = [row["links"] for row in some]
        print(f"shared {field}s: links")
        print(*bars([str(row["shared"]) for row in some], counts, list(map(str, counts))), sep="\n")


def write_errors(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows of an error analysis as TSV.

    Raises:
        StorageError: It cannot be written.
    """
    write_table(path, rows)


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as TSV with a header.

    Raises:
        StorageError: It cannot be written.
    """
    lines = ["\t".join(rows[0])]
    lines += ["\t".join(one_line(output.cell(value)) for value in row.values()) for row in rows]
    write_lines(path, lines)


def write_figure(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw the histograms of Figure 2, in the format that the name's ending tells.

    Raises:
        UsageError: PNG and PDF need matplotlib, which is not installed.
        StorageError: The file cannot be written.
    """
    from allusion_es.reports.figures import overlap_picture, overlap_svg

    kind = path.suffix.removeprefix(".")
    with writing(path) as file:
        file.write(overlap_svg(rows).encode() if kind == "svg" else overlap_picture(rows, kind))


def check_names(errors: Path | None, figure: Path | None, pairs: Path | None) -> None:
    """Check, before any work is done, that the endings of files tell their formats.

    Raises:
        UsageError: An ending tells no format that can be written.
    """
    for option, path, endings in (
        ("--errors", errors, (".tsv",)),
        ("--figure", figure, (".svg", ".pdf", ".png")),
        ("--pairs", pairs, (".tsv",)),
    ):
        if path is not None and path.suffix not in endings:
            named = ", ".join(endings[:-1]) + f" or {endings[-1]}" if endings[1:] else endings[0]
            raise UsageError(f"{option} {path}: the name must end in {named}")


def for_people(row: Mapping[str, Any]) -> dict[str, str]:
    """A row for people: two digits, the first figure with its interval, the paper's together."""
    shown: dict[str, str] = {}
    interval = next((name[:-4] for name in row if name.endswith("_low")), "")
    for name, value in row.items():
        if name.endswith(("_low", "_high", "_sd")) or name in _PRINTED:
            continue
        if name == "method" and ("model" in row or "window" in row):
            continue
        if name in _OF_PAIRS and "versus" in row:
            continue
        digits = 4 if name in ("p", "p_holm") else 2
        text = f"{value:.{digits}f}" if isinstance(value, float) else output.cell(value)
        if name == interval and row[f"{name}_low"] is not None:
            text += f" [{row[f'{name}_low']:.1f}, {row[f'{name}_high']:.1f}]"
        if f"{name}_sd" in row:
            text += f" (± {row[f'{name}_sd']:.2f})"
        shown[_HEADINGS.get(name, name)] = text
    if _PRINTED[0] in row:
        # The paper has allusions only; beside other groups its figures would mislead.
        compared = row.get("group") in ("allusion", "all")
        figures = [row[name] for name in _PRINTED if compared]
        shown["paper"] = "/".join(f"{value:.2f}" for value in figures if value is not None)
    return shown
