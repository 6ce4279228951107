"""Tables for papers: what they show, that LaTeX takes them, and that they fit a page."""

import itertools
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.measures import Judged, parse_measure
from allusion_es.evaluation.scoring import (
    ScoredRun,
    Scoring,
    compare_methods,
    score_rows,
    with_best,
)
from allusion_es.reports.latex import latex_table, methods_table
from allusion_es.retrieval.types import Query

MODELS = ("BOW", "TfIdf", "Tesserae", "BOW_emb", "TfIdf_emb", "WMD", "SC_wn", "SC_emb", "T+WMD")
MANY = ("mrr", "p10", "p20", "map", "ndcg@10", "success@1")


def scored(inputs: Sequence[str], models: Sequence[str] = MODELS) -> list[ScoredRun]:
    """Runs of which the first misses every second query, and each next one fewer."""
    runs = []
    for number, (model, each) in enumerate(itertools.product(models, inputs)):
        judged = [Judged((1 if n % (number + 2) else 30,), 1) for n in range(40)]
        labels = {"method": model.lower(), "model": model, "input": each}
        runs.append(ScoredRun(labels, tuple(judged)))
    return runs


def links(types: Sequence[str] = ("allusion",)) -> list[GoldLink]:
    return [
        GoldLink(
            Query("lux", f"q{n}"),
            ("Gen.1.3",),
            type=types[n % len(types)],
            title=f"work {n % 3}" if len(types) > 1 else "",
        )
        for n in range(40)
    ]


def table(
    inputs: Sequence[str],
    measures: Sequence[str] = ("mrr", "p10", "p20"),
    *,
    types: Sequence[str] = ("allusion",),
    resamples: int = 0,
    compared: str = "",
    printed: bool = False,
    caption: str = "All models",
) -> str:
    runs, gold = scored(inputs), links(types)
    scoring = Scoring(tuple(parse_measure(name) for name in measures), resamples)
    rows: Sequence[Mapping[str, Any]] = score_rows(runs, gold, scoring)
    if compared:
        pairs = compare_methods(runs, gold, parse_measure(compared), scoring)
        rows = with_best(rows, runs[0].labels, compared, pairs)
    if printed:
        own = {"paper_mrr": 21.41, "paper_p10": 37.31, "paper_p20": 44.31}
        rows = [{**row, **own} for row in rows]
    return methods_table(rows, measures, caption, "tab:models", compared)


BOTH = ("token", "lemma")
TABLES = {
    "plain": table(BOTH),
    "groups": table(BOTH, types=("allusion", "quotation"), printed=True),
    "intervals": table(("lemma",), resamples=50),
    "intervals beside": table(BOTH, ("mrr",), resamples=50),
    "compared": table(BOTH, compared="mrr", printed=True, resamples=50),
    "many": table(BOTH, MANY, compared="mrr", resamples=50),
    "far too many": table(("lemma",), [f"ndcg@{n}" for n in range(1, 16)]),
    "special": table(BOTH, caption=r"50 % of $x_1 & ~\^ {a} #2 <b> ±"),
    "overlap": latex_table(
        [{"group": "allusion", "jaccard_token": "0.06 (± 0.07)", "source_length": "6.86"}],
        "Overlap",
    ),
}


def columns(line: str) -> int:
    """The number of columns that a line fills."""
    spans = [int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", line)]
    return len(re.findall(r"(?<!\\)&", line)) + 1 + sum(spans)


@pytest.mark.parametrize("name", TABLES)
def test_every_line_fills_the_columns(name: str) -> None:
    (kinds,) = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", TABLES[name])
    lines = [line for line in TABLES[name].splitlines() if line.endswith(r"\\")]
    assert len(lines) > 1
    assert {columns(line) for line in lines} == {len(kinds)}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no TeX")
def test_latex_takes_them_and_none_is_too_wide(tmp_path: Path) -> None:
    if not subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True).stdout:
        pytest.skip("this TeX has no booktabs")
    head = r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}"
    body = "\n\\clearpage\n".join(TABLES.values())
    (tmp_path / "t.tex").write_text(f"{head}\n{body}\n\\end{{document}}\n")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert (tmp_path / "t.pdf").read_bytes().startswith(b"%PDF")


def test_tokens_and_lemmas_stand_side_by_side() -> None:
    shown = TABLES["plain"]
    assert r" & MRR & P@10 & P@20 & MRR & P@10 & P@20 \\" in shown
    assert r"\cmidrule(lr){2-4}\cmidrule(lr){5-7}" in shown
    assert shown.count("\nSC\\textsubscript{emb} & ") == 1
    assert shown.count(r"\caption") == shown.count(r"\label{tab:models}") == 1
    assert "40 queries. The best figures are bold." in shown


def test_the_best_of_each_column_is_bold_and_only_it() -> None:
    lines = [line for line in TABLES["plain"].splitlines() if line.count(" & ") == 6]
    cells = [line.removesuffix(r" \\").split(" & ")[1:] for line in lines[2:]]
    for column in zip(*cells, strict=True):
        values = [float(re.sub(r"\\textbf|[{}]", "", cell)) for cell in column]
        bold = [value for value, cell in zip(values, column, strict=True) if "textbf" in cell]
        assert set(bold) == {max(values)}
    assert "textbf" not in methods_table(
        [{"method": m, "input": "lemma", "group": "all", "queries": 1, "mrr": 5.0} for m in "ab"],
        ["mrr"],
        "Equal",
    )


def test_what_differs_from_the_best_is_marked_with_its_p() -> None:
    shown = TABLES["compared"]
    assert "p (Holm)" in shown
    assert r"\rlap{$^\dagger$}" in shown
    assert r"$^\dagger$: MRR below that of" in shown
    assert r"below that of SC\_wn on tokens (p $<$ 0.05" in shown
    found = 0
    for line in shown.splitlines():
        cells = line.removesuffix(r" \\").split(" & ")
        if len(cells) == 9 and cells[0] in ("BOW", "TfIdf", "WMD"):
            for first, p in ((1, 4), (5, 8)):
                significant = cells[p].startswith("$<$") or float(cells[p]) < 0.05
                assert ("dagger" in cells[first]) == significant
                found += significant
    assert found > 0


def test_intervals_are_shown_where_they_fit() -> None:
    assert re.search(r"\d+\.\d\d \[\d+\.\d, \d+\.\d\]", TABLES["intervals beside"])
    assert "In brackets: 95 \\% intervals." in TABLES["intervals beside"]
    assert "[" not in re.sub(r"\[.*?pt\]", "", TABLES["many"].partition(r"\caption")[0])
    assert r"\resizebox{\textwidth}{!}" in TABLES["far too many"]


def test_the_papers_figures_stand_beside_allusions_alone() -> None:
    parts = re.split(r"\\multicolumn\{7\}\{l\}\{\\textit\{", TABLES["groups"])
    headed = {part.partition(" (n")[0]: part for part in parts[1:]}
    assert list(headed) == ["allusion", "quotation", "all", "each work counting alike"]
    assert [name for name, part in headed.items() if "in the paper" in part] == ["allusion"]
    assert "allusion (n = 20)" in TABLES["groups"]
