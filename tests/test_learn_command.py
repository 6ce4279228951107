"""`allusion-es learn` as users meet it, on a little index of their own."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_fixtures import APART, NAMES, code_links, collection, link
from processes import Run

from allusion_es.learning.validation import Figures, best_ranks, folds_by_work, groups
from allusion_es.retrieval.types import Ranking

LATIN = ("deus", "dominus", "uita", "mors", "caelum", "anima", "corpus", "populus", "homo", "lex")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, run: Run, data_folder: Path) -> Path:
    """A data folder with an index `parva`, and a file of 250 links to it."""
    folder = tmp_path_factory.mktemp("learn")
    (folder / "data").symlink_to(data_folder / "data")
    rows = ["id\ttext"]
    for number, name in enumerate(NAMES):
        for other in range(APART):
            rows.append(f"X.{number}.{other}\t{name} {LATIN[other]} est et {LATIN[-1 - other]}")
    (folder / "parva.tsv").write_text("\n".join(rows) + "\n")
    done = run("index", str(folder / "parva.tsv"), "--no-vectors", ALLUSION_DATA_DIR=str(folder))
    assert done.returncode == 0, done.stderr
    letters = str.maketrans("0123456789", "abcdefghik")
    links = []
    for number, one in enumerate(code_links(250)):
        place = one.places[0] // APART
        text = one.link.query.text.translate(letters)
        links.append(
            {
                "query_id": str(number),
                "text": f"{LATIN[place]} {NAMES[place]} est et {text}",
                "relevant": [f"X.{place}.0"],
                "title": f"opus {number % 6}",
                "source": "made up",
            }
        )
    _write(folder / "links.jsonl", links)
    return folder


def _write(path: Path, links: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in links))


def _hits(run: Run, folder: Path, *more: str) -> "list[dict[str, object]]":
    done = run(
        *("query", "dominus mare noster", "--name", "parva", "--format", "json", *more),
        ALLUSION_DATA_DIR=str(folder),
    )
    assert done.returncode == 0, done.stderr
    hits: list[dict[str, object]] = json.loads(done.stdout)["hits"]
    return hits


def test_a_ranker_is_learned_installed_and_taken_back(run: Run, folder: Path) -> None:
    def learn(*arguments: str) -> str:
        done = run("learn", *arguments, "--name", "parva", ALLUSION_DATA_DIR=str(folder))
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    file = str(folder / "links.jsonl")
    before = _hits(run, folder)
    done = run(
        *("learn", file, "--folds", "2", "--format", "json", "--name", "parva"),
        ALLUSION_DATA_DIR=str(folder),
    )
    rows = json.loads(done.stdout)
    assert "nothing was changed" in done.stderr
    scans = [row for row in rows if "scan from" in row]
    assert [row["default"] for row in scans].count("yes") == 1
    assert scans[0]["recall"] > 50
    rows = [row for row in rows if "ranker" in row]
    assert {(row["work"], row["ranker"]) for row in rows} >= {
        ("all", "now"), ("all", "learned"), ("opus 0", "learned"),
    }  # fmt: skip
    figures = {row["ranker"]: row["mrr"] for row in rows if row["work"] == "all"}
    assert figures["learned"] > figures["now"]
    assert not list(folder.glob("models/*.ranker"))
    told = learn(file, "--folds", "0", "--yes")
    (ranker,) = folder.glob("models/*.ranker")
    assert f"now has ranker {ranker.stem}, learned from 250 links" in told
    after = _hits(run, folder)
    assert [hit["score"] for hit in after] != [hit["score"] for hit in before]
    assert "250 links to parva" in learn("--info")
    content = ranker.read_bytes()
    learn(file, "--folds", "0", "--yes")
    assert [path.read_bytes() for path in folder.glob("models/*.ranker")] == [content]
    ranker.rename(ranker.with_suffix(".away"))
    done = run("query", "dominus", "--name", "parva", ALLUSION_DATA_DIR=str(folder))
    assert done.returncode == 4
    assert f"the index was given ranker {ranker.stem!r}, which is not in" in done.stderr
    ranker.with_suffix(".away").rename(ranker)
    learn("--undo")
    assert _hits(run, folder) == before
    ranker.unlink()
    # With parts to test on, what a scan finds is measured, too.
    text = folder / "opus.txt"
    text.write_text("secretum\n".join(f"{LATIN[n]} {NAMES[n]} est et\n" for n in range(3)))

    def scanned() -> str:
        done = run("scan", str(text), "--name", "parva", ALLUSION_DATA_DIR=str(folder))
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "(not calibrated for this collection, which 'allusion-es learn'" in scanned()
    assert "and the probabilities of scans, learned from 250 links" in learn(
        file, "--folds", "2", "--yes"
    )
    assert "(measured: precision" in scanned()
    assert "from probability" in learn("--info")
    learn("--undo")
    assert "(not calibrated for this collection" in scanned()
    for path in folder.glob("models/*"):
        path.unlink()
    few = folder / "few.jsonl"
    few.write_text("".join(Path(file).read_text().splitlines(keepends=True)[:20]))
    done = run("learn", str(few), "--name", "parva", ALLUSION_DATA_DIR=str(folder))
    assert done.returncode == 4
    assert "20 different links are too few to learn from; give 50 or more" in done.stderr


def test_learn_install_tell_and_take_back(run: Run, folder: Path) -> None:
    def learn(*arguments: str) -> str:
        done = run("learn", *arguments, "--name", "parva", ALLUSION_DATA_DIR=str(folder))
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    index, file = folder / "indexes" / "parva.idx", str(folder / "links.jsonl")
    before = index.read_bytes()
    told = learn(file, "--vectors", "--folds", "2", "--anew")
    assert "never cited" in told
    assert "both, fused" in told
    assert "nothing was changed" in told
    assert index.read_bytes() == before
    assert not list(folder.glob("models/*"))
    told = learn(file, "--vectors", "--folds", "0", "--yes", "--epochs", "2")
    assert "now has citation vectors" in told
    (model,) = folder.glob("models/*.citations")
    assert model.stem in told
    assert model.with_suffix(".translations").exists()
    for reranker in ("citation-cosine", "translation"):
        assert _hits(run, folder, "--first-stage", "citations", "--rerank", reranker)
    facts = json.loads(learn("--info", "--format", "json"))[0]
    assert (facts["name"], facts["links"], facts["works"]) == (model.stem, 250, 6)
    assert facts["sources"] == ["made up"]
    assert facts["index"] == "parva"
    after = index.read_bytes()
    learn(file, "--vectors", "--folds", "0", "--yes", "--anew", "--epochs", "99")
    assert index.read_bytes() != after
    learn("--undo")
    assert index.read_bytes() == after
    learn("--undo")
    assert index.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "give files of gold links, or --undo, or --info"),
        (["links.jsonl", "--undo"], 2, "one of the three"),
        (["links.jsonl", "--folds", "1"], 2, "--folds: give 2 or more"),
        (["few.jsonl"], 4, "3 different links are too few to learn from"),
        (["same.jsonl"], 4, "1 different links are too few to learn from"),
        (["unknown.jsonl"], 4, "0 different links are too few to learn from"),
        (["english.jsonl"], 4, "only 0% of the links' words occur in the collection"),
        (["none.jsonl"], 4, "cannot be read"),
    ],
)
def test_what_cannot_be_learned_is_one_line(
    run: Run, folder: Path, arguments: list[str], status: int, message: str
) -> None:
    def links(count: int, text: str, verse: str) -> list[dict[str, object]]:
        return [
            {"query_id": str(number), "text": text.format(number), "relevant": [verse]}
            for number in range(count)
        ]

    few = links(3, "deus et", "X.0.0")
    for number, record in enumerate(few):
        record["text"] = f"deus {LATIN[number]}"
    _write(folder / "few.jsonl", few)
    _write(folder / "same.jsonl", links(5000, "deus dominus", "X.0.0"))
    _write(folder / "unknown.jsonl", links(300, "deus dominus", "Y.0.0"))
    _write(folder / "english.jsonl", links(300, "the king of kings", "X.0.0"))
    paths = [str(folder / part) if part.endswith(".jsonl") else part for part in arguments]
    before = (folder / "indexes" / "parva.idx").read_bytes()
    done = run("learn", *paths, "--vectors", "--name", "parva", ALLUSION_DATA_DIR=str(folder))
    assert done.returncode == status, done.stderr
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert (folder / "indexes" / "parva.idx").read_bytes() == before


def test_an_index_that_has_learned_nothing(run: Run, folder: Path) -> None:
    rows = "id\ttext\nX.1\trex et regina\n"
    (folder / "sola.tsv").write_text(rows)
    environment = {"ALLUSION_DATA_DIR": str(folder)}
    done = run(
        "index", str(folder / "sola.tsv"), "--no-vectors", "--no-learned-links", **environment
    )
    assert done.returncode == 0, done.stderr
    told = {"--undo": "has learned nothing", "--info": "no citation vectors"}
    for option, message in told.items():
        done = run("learn", option, "--name", "sola", **environment)
        assert done.returncode == 2
        assert message in done.stderr
    done = run("query", "rex", "--name", "sola", "--rerank", "bm25", **environment)
    assert done.returncode == 0, done.stderr
    done = run("query", "rex", "--name", "sola", "--first-stage", "citations", **environment)
    assert done.returncode == 2
    assert "no citation vectors, which citations needs" in done.stderr


@given(st.lists(st.sampled_from("ABCDEFG"), min_size=1, max_size=40), st.integers(2, 4))
def test_a_work_is_never_in_two_parts(titles: list[str], count: int) -> None:
    links = [link(f"uerbum{number}", 0, title=title) for number, title in enumerate(titles)]
    parts = folds_by_work(links, count)
    assert len(parts) == count
    assert sorted(id(one) for part in parts for one in part) == sorted(map(id, links))
    works = [{one.link.title for one in part} for part in parts]
    assert all(not a & b for number, a in enumerate(works) for b in works[number + 1 :])


def test_groups_by_hand() -> None:
    verses = collection(["rex et mare", "nauis", "panis"])
    learned = [link("a b c d", 0)]
    tested = [link("rex b c d", 0), link("et x y z", 0), link("panis", 2), link("a b", 0, 1)]
    assert groups(tested, learned, verses) == {
        "all": [0, 1, 2, 3],
        "never cited": [2],
        "no shared lemma": [1, 3],  # `et` is a stop word
        "no shared trigram": [1, 2, 3],
    }


def test_ranks_and_figures_by_hand() -> None:
    rankings = [Ranking(("p.2", "p.0"), np.array([2.0, 1.0])), Ranking.empty()]
    ranks = best_ranks(rankings, [link("a", 0, 1), link("b", 1)])
    assert ranks.tolist() == [2.0, np.inf]
    assert Figures.of(ranks) == Figures(2, 0.25, 0.5, 0.5, 0.5, 0.5)
    assert Figures.of(ranks[:0]).queries == 0
