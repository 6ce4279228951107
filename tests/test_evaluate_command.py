"""`allusion-es evaluate` as users call it, in this process and on a real server."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from processes import Run

from allusion_es.corpora.passage import Passage
from allusion_es.local.index import LocalIndex

GOLD = [
    {
        "query_id": "q1",
        "text": "clamavi de tribulatione mea",
        "before": "dixit",
        "after": "ad Dominum et exaudivit",
        "anchor": "tribulatione",
        "relevant": ["Jonah.2.3"],
        "type": "quotation",
        "title": "De fide",
    },
    {
        "query_id": "q2",
        "text": "Jonas in ventre piscis tribus diebus et tribus noctibus",
        "relevant": ["Jonah.2.1"],
        "type": "allusion",
        "title": "De fide",
    },
    {
        "query_id": "q3",
        "text": "quadraginta dies et civitas subvertetur",
        "relevant": ["Jonah.3.4"],
        "type": "allusion",
        "title": "De spe",
    },
    {"query_id": "q4", "text": "xyzzy", "relevant": ["Jonah.4.6"], "title": "De spe"},
]
JONAH = ("--book", "Jonah")
MINOR = "minor"
PLAIN = ("--resamples", "0", "--workers", "1")


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory, vulgate_index: LocalIndex) -> Path:
    path = tmp_path_factory.mktemp("evaluate") / "gold.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in GOLD))
    return path


@pytest.fixture(scope="module")
def minor(
    run: Run, vulgate_passages: Sequence[Passage], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The minor prophets, which are soon indexed and soon learned from."""
    path = tmp_path_factory.mktemp("minor") / "minor.tsv"
    books = (
        "Hos",
        "Joel",
        "Amos",
        "Obad",
        "Jonah",
        "Mic",
        "Nah",
        "Hab",
        "Zeph",
        "Hag",
        "Zech",
        "Mal",
    )
    chosen = [p for p in vulgate_passages if p.book in books]
    path.write_text("id\ttext\n" + "".join(f"{p.id}\t{p.text}\n" for p in chosen))
    done = run("index", str(path), "--name", MINOR)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def evaluate(run: Run, gold: Path) -> Callable[..., list[dict[str, Any]]]:
    def evaluate(*arguments: str | Path) -> list[dict[str, Any]]:
        done = run("evaluate", *map(str, arguments), "--format", "json")
        assert done.returncode == 0, done.stderr
        rows: list[dict[str, Any]] = json.loads(done.stdout)
        return rows

    return evaluate


Evaluate = Callable[..., list[dict[str, Any]]]


def test_free_choice(evaluate: Evaluate, gold: Path) -> None:
    rows = evaluate(gold, "--methods", "bm25,none", "--input", "token,lemma", *JONAH)
    groups = ("quotation", "allusion", "untyped", "all", "macro by work")
    assert [(row["method"], row["input"], row["group"]) for row in rows] == [
        (method, field, group)
        for method in ("bm25", "none:fused")
        for field in ("token", "lemma")
        for group in groups
    ]
    every = rows[3]
    assert every["queries"] == 4
    # Three clauses of Jonah are found at once among 48 verses, and one word is no word.
    assert (every["mrr"], every["p10"], every["candidate_recall"]) == (75.0, 75.0, 75.0)
    assert every["mrr_low"] <= 75 <= every["mrr_high"]
    assert rows[4]["mrr"] == 75.0
    assert [row["mrr"] for row in rows[:3]] == [100.0, 100.0, 0.0]


def test_what_has_no_value_is_an_empty_cell(run: Run, gold: Path) -> None:
    done = run("evaluate", str(gold), "--methods", "bm25", *JONAH, "--format", "tsv")
    header, *lines = (line.split("\t") for line in done.stdout.splitlines())
    rows = {row[header.index("group")]: row for row in lines}
    assert rows["macro by work"][header.index("mrr_low")] == ""
    assert float(rows["all"][header.index("mrr_low")]) <= 75
    assert "None" not in done.stdout


def test_the_second_time_costs_nothing_and_changes_nothing(
    run: Run, gold: Path, data_folder: Path
) -> None:
    arguments = ("evaluate", str(gold), "--methods", "bow,tesserae", *JONAH)
    first = run(*arguments, "--workers", "2")
    assert first.returncode == 0, first.stderr
    kept = sorted((data_folder / "evaluations").glob("*/*.run"))
    times = [path.stat().st_mtime_ns for path in kept]
    again = run(*arguments, "--workers", "1")
    assert (again.stdout, again.stderr) == (first.stdout, first.stderr)
    assert [path.stat().st_mtime_ns for path in kept] == times
    without = run(*arguments, "--workers", "1", "--no-cache")
    assert without.stdout == first.stdout


@pytest.mark.parametrize(
    ("table", "labels", "lines"),
    [
        ("table2", ("method", "model", "input"), 17),
        ("table3", ("method", "model", "input"), 6),
        ("table4", ("method", "input", "window"), 6),
    ],
)
def test_tables(
    evaluate: Evaluate, gold: Path, minor: Path, table: str, labels: Sequence[str], lines: int
) -> None:
    # word2vec is trained on the index, which takes a minute for the whole Vulgate.
    where = ("--name", MINOR) if table == "table3" else ()
    rows = evaluate(table, "--gold", gold, *JONAH, *PLAIN, *where)
    names = {tuple(row[label] for label in labels) for row in rows}
    assert len(names) == lines
    assert {row["group"] for row in rows} == {
        "quotation",
        "allusion",
        "untyped",
        "all",
        "macro by work",
    }
    best = [row for row in rows if row["method"] == "soft-cosine" and row["group"] == "all"]
    # A thousand verses are too few to learn good vectors from.
    learned = [row for row in best if row.get("model") == "SC_w2v"]
    assert len(learned) == (2 if table == "table3" else 0)
    for row in best:
        if row not in learned and row.get("window", "manual") == "manual":
            assert row["mrr"] >= 75.0
    assert best[0]["paper_mrr"] == 21.41
    for row in rows:
        assert 0 <= row["mrr"] <= 100
        assert 0 <= row["p10"] <= row["p20"] <= 100


def test_table_1_and_figure_2(evaluate: Evaluate, gold: Path, run: Run, tmp_path: Path) -> None:
    rows = evaluate("table1", "--gold", gold)
    ours = {row["group"]: row for row in rows if row["from"] == "here"}
    assert ours["all"]["count"] == 4
    # "clamavi de tribulatione mea" against "Clamavi de tribulatione mea ad Dominum, …".
    assert ours["quotation"]["source_length"] == 4
    assert [row["group"] for row in rows if row["from"] == "paper"] == [
        "quotation",
        "mention",
        "allusion",
    ]
    svg, png, pdf = (tmp_path / f"f.{kind}" for kind in ("svg", "png", "pdf"))
    counts = evaluate("fig2", "--gold", gold, "--figure", svg)
    evaluate("fig2", "--gold", gold, "--figure", png)
    evaluate("fig2", "--gold", gold, "--figure", pdf)
    assert sum(row["links"] for row in counts if row["input"] == "lemma") == 4
    bars = [e for e in ElementTree.parse(svg).iter() if e.get("class") == "bar"]
    assert len(bars) == len(counts)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert pdf.read_bytes().startswith(b"%PDF")
    labels = [
        e.text or "" for e in ElementTree.parse(svg).iter() if e.text and e.text[:1].isdigit()
    ]
    assert labels
    assert all("." not in each for each in labels if " to " not in each)
    shown = run("evaluate", "fig2", "--gold", str(gold)).stdout
    assert shown.startswith("shared tokens: links\n0  1  ")


def test_formats_for_people_and_papers(run: Run, gold: Path) -> None:
    arguments = ("evaluate", "table4", "--gold", str(gold), "--windows", "2", *JONAH, *PLAIN)
    table = run(*arguments)
    assert "Table 4" in table.stdout
    assert "21.95/39.64/47.60" in table.stdout
    assert "another gold set" in table.stdout
    assert "note: 3 of 4 links have no anchor" in table.stderr
    latex = run(*arguments, "--format", "latex").stdout
    assert latex.startswith("\\begin{table}")
    assert r" & \multicolumn{3}{c}{tokens} & \multicolumn{3}{c}{lemmas} \\" in latex
    assert re.search(r"\nManual & [^&]+ & [^&]+ & [^&]+ & (\\textbf\{)?\d+\.\d\d\}? & ", latex)
    assert r"\quad in the paper & 21.41 & 37.31 & 44.31 & 21.95 & 39.64 & 47.60 \\" in latex
    assert latex.count(r"\caption") == latex.count(r"\label{tab:windows}") == 1
    for format in ("table", "latex", "tsv"):
        shown = run(*arguments, "--no-paper-column", "--format", format).stdout
        assert not re.search("paper|21[.]41", shown)
    tsv = run(*arguments, "--format", "tsv").stdout.splitlines()
    assert tsv[0].split("\t")[:4] == ["method", "input", "window", "group"]
    assert len({line.count("\t") for line in tsv}) == 1


def test_a_written_run_is_worth_the_same(
    evaluate: Evaluate, gold: Path, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "bow.run"
    measures = ("--measures", "mrr,map,ndcg@10,recall@5,rprec,success@1,precision@5")
    first = evaluate(gold, "--methods", "bow", *JONAH, *PLAIN, *measures, "--save-run", path)
    again = evaluate(gold, "--run", path, *JONAH, *PLAIN, *measures)
    for one, other in zip(first, again, strict=True):
        assert other.pop("method") == "bow.run"
        assert {**one, "input": ""} == {"method": one["method"], **other}
    more = tmp_path / "more.run"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("q1 ")]
    more.write_text("\n".join([*lines, "q9 Q0 Jonah.1.1 1 0.5 " + lines[0].split()[-1]]) + "\n")
    done = run("evaluate", str(gold), "--run", str(more), *JONAH, *PLAIN)
    assert "note: 1 queries of the run have no gold links and are left out" in done.stderr
    assert "note: 2 queries of the gold links are not in the run and count 0" in done.stderr
    assert "are left out ('q9')" in done.stderr
    assert "of the run are not in index" not in done.stderr


def test_a_run_with_ids_of_another_scheme_is_told(run: Run, gold: Path, tmp_path: Path) -> None:
    path = tmp_path / "osis.run"
    path.write_text(
        "".join(f"q1 Q0 JON%20{n}:1 {n} {9 - n} tag\n" for n in range(1, 5))
        + "q1 Q0 Jonah.1.1 5 1 tag\n"
    )
    done = run("evaluate", str(gold), "--run", str(path), *PLAIN)
    assert done.returncode == 0, done.stderr
    assert (
        "note: 4 of 5 passages of the run are not in index 'vulgate' ('JON 1:1', 'JON 2:1', "
        "'JON 3:1', …; the index has '1Chr.1.1'): they count as wrong"
    ) in done.stderr
    assert re.search(r"note: \d of \d relevant passages are ranked nowhere in the run", done.stderr)


def test_comparison_and_errors(evaluate: Evaluate, gold: Path, run: Run, tmp_path: Path) -> None:
    chosen = (gold, "--methods", "bow,bm25,none", *JONAH, *PLAIN)
    pairs, plain = tmp_path / "pairs.tsv", evaluate(*chosen)
    compared = evaluate(*chosen, "--compare", "mrr", "--pairs", pairs)
    new = ["versus", "difference", "difference_low", "difference_high", "p", "p_holm", "effect"]
    assert [{n: v for n, v in row.items() if n not in new} for row in compared] == plain
    assert list(compared[0]) == [*plain[0], *new]
    every = {row["method"]: row for row in compared if row["group"] == "all"}
    best = max(every.values(), key=lambda row: float(row["mrr"]))
    assert best["versus"] is None
    for row in every.values():
        if row is not best:
            assert row["versus"] == f"{best['method']} lemma"
            assert row["difference"] == pytest.approx(row["mrr"] - best["mrr"], abs=1e-3)
            assert row["difference_low"] <= row["difference"] <= row["difference_high"]
            assert 0 < row["p"] <= row["p_holm"] <= 1
    header, *lines = (line.split("\t") for line in pairs.read_text().splitlines())
    assert header == ["first", "second", *new[1:]]
    assert [line[:2] for line in lines] == [
        ["bow lemma", "bm25 lemma"],
        ["bow lemma", "none:fused lemma"],
        ["bm25 lemma", "none:fused lemma"],
    ]
    shown = run("evaluate", *map(str, chosen), "--compare", "mrr").stdout
    assert "difference: mrr less that of" in shown
    assert "Pairs of methods by mrr" in shown
    alone = run("evaluate", *map(str, chosen), "--pairs", str(pairs))
    assert alone.returncode == 2
    assert "--pairs writes what --compare finds; name a measure with --compare" in alone.stderr
    path = tmp_path / "errors.tsv"
    done = run("evaluate", str(gold), "--methods", "none", *JONAH, *PLAIN, "--errors", str(path))
    header, *lines = (line.split("\t") for line in path.read_text().splitlines())
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    assert [(row["query_id"], row["rank"], row["loss"]) for row in rows] == [
        ("q1", "1", ""),
        ("q2", "1", ""),
        ("q3", "1", ""),
        ("q4", "", "first stage"),
    ]
    assert "of 4 relevant passages 1 were lost in the first stage" in done.stderr


def test_a_report_has_figures_and_links(gold: Path, run: Run, tmp_path: Path) -> None:
    page = tmp_path / "reports" / "r.html"
    more = ("--methods", "none,bow", *JONAH, "--resamples", "100", "--html", str(page))
    done = run("evaluate", str(gold), *more)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.splitlines()[-1] == f"{page}: 1 table, 4 gold links"
    data = page_data(page)
    assert data["title"] == "Evaluation on gold.jsonl"
    (table,) = data["figures"]["tables"]
    assert [name for name, _ in table["heads"]][:4] == ["method", "input", "group", "queries"]
    assert {row[0] for row in table["rows"]} == {"none:fused", "bow"}
    assert len(data["links"]) == 4
    done = run("evaluate", "fig2", "--gold", str(gold), "--html", str(page))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert len(page_data(page)["figures"]["pictures"]) == 1


def page_data(page: Path) -> dict[str, Any]:
    """The data in the page of a report."""
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text())
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_same_on_a_server(
    evaluate: Evaluate, gold: Path, minor: Path, run: Run, elasticsearch_url_any: str
) -> None:
    there = ("--es", elasticsearch_url_any)
    done = run("index", str(minor), "--name", MINOR, *there)
    assert done.returncode == 0, done.stderr
    every = ("--first-stage", "all", "--methods", "bow,soft-cosine,wmd", *JONAH)
    for more in (("--name", MINOR), ("--name", MINOR, *every)):
        here = evaluate(gold, *more, *PLAIN)
        assert evaluate(gold, *more, *PLAIN, *there) == here
    assert evaluate(gold, *more, "--resamples", "0", "--workers", "2", "--no-cache", *there) == here


@pytest.mark.parametrize(
    ("lines", "arguments", "status", "said"),
    [
        ([{**GOLD[0], "relevant": ["Jonah.9.9"]}], [], 5, "gold.jsonl:1: query 'q1', 'Jonah.9.9'"),
        ([GOLD[0], GOLD[0]], [], 4, "gold.jsonl:2"),
        ([{**GOLD[0], "text": " "}], [], 4, "gold.jsonl:1"),
        ([{**GOLD[0], "relevant": ["Jonah.1.1", "Jonah.1.1"]}], [], 4, "gold.jsonl:1"),
        ([GOLD[0]], ["--testament", "nt"], 5, "Jonah.2.3"),
        ([GOLD[0]], ["--methods", "magic"], 11, "magic"),
        ([GOLD[0]], ["--methods", ","], 2, "--methods names nothing"),
        (
            [GOLD[0]],
            ["--input", "stem"],
            2,
            "--input: use token, lemma, or both with a comma between them, not 'stem'",
        ),
        ([GOLD[0]], ["--measures", "f1"], 2, "--measures: there is no measure 'f1'"),
        ([GOLD[0]], ["--type", "mention"], 2, "--type: no link of "),
        ([GOLD[0]], ["--errors", "e.html"], 2, "--errors e.html: the name must end in .tsv"),
        ([GOLD[0]], ["--html", "e.tsv"], 2, "--html: e.tsv: the name of a report must end in"),
        ([GOLD[0]], ["--html", "e.html", "--format", "tsv"], 2, "leave out --format"),
        ([GOLD[0]], ["--candidates", "0"], 2, "error: --candidates: must be at least 1"),
        ([GOLD[0]], ["--save-run", "r", "--methods", "bow,bm25"], 2, "--save-run writes one run"),
        ([GOLD[0]], ["--depth", "0"], 2, "'--depth'"),
        ([GOLD[0]], ["--compare", "f1"], 2, "--compare: there is no measure 'f1'"),
        ([GOLD[0]], ["--word2vec", "x"], 2, "--word2vec: it is for 'evaluate table3' alone"),
        ([GOLD[0]], ["--windows", "x"], 2, "--windows: 'x'"),
        ([GOLD[0]], ["--gold", "other.jsonl"], 2, "both name gold links"),
    ],
)
def test_bad_input_is_one_line(
    run: Run,
    tmp_path: Path,
    vulgate_index: LocalIndex,
    lines: list[dict[str, Any]],
    arguments: list[str],
    status: int,
    said: str,
) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("evaluate", str(path), *PLAIN, *arguments)
    assert said in done.stderr
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (status, "", 1)


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("q9 Q0 Jonah.1.1 1 0.5 tag\n", 2, "no query of this run"),
        ("q1 Q0 Jonah.1.1 1 high tag\n", 4, "bad.run:1"),
        ("q1 Q0 Jonah.1.1 1 nan tag\n", 4, "bad.run:1"),
        ("q1 Q0 Jonah.1.1 1 2 tag\nq1 Q0 Jonah.1.1 2 1 tag\n", 4, "bad.run:2"),
        ("q1 Jonah.1.1 1 0.5\n", 4, "bad.run:1"),
        ("", 4, "no ranked passage"),
    ],
)
def test_bad_runs_are_one_line(
    run: Run, gold: Path, tmp_path: Path, text: str, status: int, said: str
) -> None:
    path = tmp_path / "bad.run"
    path.write_text(text)
    done = run("evaluate", str(gold), "--run", str(path))
    assert said in done.stderr
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (status, "", 1)


def test_an_experiment_needs_gold(run: Run) -> None:
    done = run("evaluate", "table2")
    assert (done.returncode, done.stdout) == (2, "")
    assert "table2 needs gold links" in done.stderr
