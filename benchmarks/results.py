"""The tables of `docs/results.md`, from public gold links, with the command that users have.

    python benchmarks/results.py [FOLDER] > tables.md

Fetches OpenBible's links from the New Testament to the Old (20 votes or more), repeats the
paper's experiments on them over the Old Testament, and prints Markdown. Runs are kept in the data
folder, so that a second time costs little.
"""

import json
import subprocess
import sys
import tempfile
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

OLD = ("--testament", "ot")
TWO_STAGES = ("--first-stage", "bm25", "--candidates", "500", "--input", "lemma")
COLUMNS = {
    "table1": ("group", "jaccard_token", "jaccard_lemma", "source_length", "ref_length", "count"),
    "table2": ("model", "input", "mrr", "p10", "p20", "candidate_recall"),
    "table3": ("model", "input", "mrr", "p10", "p20"),
    "table4": ("window", "input", "mrr", "p10", "p20"),
    "stages": ("method", "input", "mrr", "p10", "p20", "candidate_recall"),
    "pairs": ("first", "second", "difference", "p_holm", "effect"),
}


def rows(*arguments: str) -> list[dict[str, Any]]:
    command = ["allusion-es", "evaluate", *arguments, "--format", "json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def show(title: str, columns: tuple[str, ...], found: list[dict[str, Any]]) -> None:
    printed = "paper_mrr" in found[0]
    print(f"\n### {title}\n")
    heads = [*columns, *(["paper"] if printed else [])]
    print(f"| {' | '.join(heads)} |")
    print(f"|{'---|' * len(heads)}")
    for row in found:
        cells = [cell(row, name) for name in columns]
        if printed:
            figures = [row[f"paper_{name}"] for name in ("mrr", "p10", "p20")]
            cells.append("/".join(f"{value:.1f}" for value in figures if value is not None))
        print(f"| {' | '.join(cells)} |")


def cell(row: dict[str, Any], name: str) -> str:
    value = row[name]
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.4f}" if name == "p_holm" else f"{value:.2f}"
    if row.get(f"{name}_low") is not None:
        text += f" [{row[f'{name}_low']:.1f}, {row[f'{name}_high']:.1f}]"
    return text


def overall(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in found if row["group"] == "all"]


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    gold = folder / "openbible.jsonl"
    if not gold.exists():
        fetch = ["allusion-es", "gold", "fetch", "openbible", "--out", str(gold)]
        subprocess.run(fetch, check=True)
    links = [json.loads(line) for line in gold.read_text().splitlines()]
    pairs = sum(len(link["relevant"]) for link in links)
    print(f"Made on {date.today()} with allusion-es {version('allusion-es')}: ", end="")
    print(f"{len(links)} queries, {pairs} links.")
    table1 = [row for row in rows("table1", "--gold", str(gold)) if row["from"] == "here"]
    show("Table 1: overlap and lengths", COLUMNS["table1"], table1)
    for table, title in (
        ("table2", "Table 2: all models, whole collection"),
        ("table3", "Table 3: where word similarity comes from"),
        ("table4", "Table 4: windows"),
    ):
        found = overall(rows(table, "--gold", str(gold), *OLD))
        show(title, COLUMNS[table], found)
    methods = (*TWO_STAGES, "--methods", "none,soft-cosine,tesserae,tesserae-wmd")
    show(
        "Two stages: 500 candidates of BM25",
        COLUMNS["stages"],
        overall(rows(str(gold), *OLD, *methods)),
    )
    show(
        "The same with parallel verses counted as right",
        COLUMNS["stages"],
        overall(rows(str(gold), *OLD, *methods, "--parallels")),
    )
    show(
        "Pairs of methods by MRR",
        COLUMNS["pairs"],
        rows(str(gold), *OLD, *methods, "--compare", "mrr"),
    )


if __name__ == "__main__":
    main()
