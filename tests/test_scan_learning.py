"""The models of a scan are learned from links and plain texts, and measured on other works."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from allusion_es.core.arrays import Floats
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.learning import scan_model
from allusion_es.learning.boosting import Boosting, learn_chances
from allusion_es.learning.scan_model import (
    ScanFold,
    learn_scan_models,
    link_pieces,
    scan_record,
    write_scan_models,
)
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.rerankers._shared.trees import Tree, Trees
from allusion_es.retrieval.types import Query
from allusion_es.scanning.features import NAMES
from allusion_es.scanning.model import (
    DOUBT,
    FORMAT,
    MODELS,
    Calibration,
    parse_calibration,
)

VERSES = 120
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru")


def word(begin: str, *numbers: int) -> str:
    """A made-up word of letters, since tokens have no digits."""
    return begin + "x".join("".join(SYLLABLES[int(d)] for d in str(n)) for n in numbers)


OTHERS = [word("aliud", number) for number in range(400)]


@pytest.fixture(scope="module")
def index() -> LocalIndex:
    """Verses of six words of their own; every second also has one that many have."""
    return index_texts(
        {
            f"Ps.{number}.1": " ".join(word("uerbum", number, n) for n in range(6))
            + (f" {OTHERS[number]}" if number % 2 else "")
            for number in range(1, VERSES)
        }
    )


def links(count: int, seed: int) -> list[GoldLink]:
    """Links that have three or four words of their verse, among others; one in six is wrong."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        verse = int(rng.integers(1, VERSES))
        words = [word("uerbum", verse, n) for n in rng.permutation(6)[: int(rng.integers(3, 5))]]
        around = [" ".join(rng.choice(OTHERS, 8)) for _ in range(2)]
        query = Query(" ".join(words), f"{seed}.{number}", *around)
        named = verse if number % 6 else (verse + 50) % (VERSES - 1) + 1
        made.append(GoldLink(query, (f"Ps.{named}.1",), title=f"opus {seed}"))
    return made


@pytest.fixture
def plain(tmp_path: Path) -> list[Path]:
    rng = np.random.default_rng(9)
    paths = [tmp_path / f"plain{number}.txt" for number in range(4)]
    for path in paths:
        path.write_text(" ".join(rng.choice(OTHERS, 600)), "utf-8")
    return paths


def folds(index: LocalIndex) -> list[ScanFold]:
    return [ScanFold(index, links(30, seed), links(5, seed + 100)) for seed in range(3)]


def test_models_are_learned_measured_and_written(
    index: LocalIndex, plain: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_model, "TREES", replace(scan_model.TREES, trees=5, least=5))
    models, texts = {}, []
    for _ in range(2):
        for name, model, measured in learn_scan_models(folds(index), plain):
            models[name] = model
            assert model.points == measured.points
            by_threshold = {point.threshold: point for point in measured.points}
            assert by_threshold[0.5].precision == pytest.approx(5 / 6, abs=0.05)
            assert by_threshold[0.5].recall > 0.7
            assert sum(count for _, count, _ in measured.bins) >= 60
        write_scan_models(tmp_path / "scan.json", scan_record(models, index, "0f"))
        texts.append((tmp_path / "scan.json").read_bytes())
    assert texts[0] == texts[1]
    assert tuple(models) == MODELS
    assert models["default"].trees
    assert not models["words"].trees
    record = json.loads(texts[0])
    assert record["measured_on"]["citations"] == "0f"
    assert {name: parse_calibration(record, name) for name in MODELS} == models


def test_pieces_judge_only_the_words_of_the_link(index: LocalIndex) -> None:
    mine, before = (" ".join(word("uerbum", verse, n) for n in range(3)) for verse in (5, 7))
    query = Query(mine, "q", f"{before} {OTHERS[0]}", "")
    [piece] = link_pieces(0, ScanFold(index, [GoldLink(query, ("Ps.5.1",))]), "words")
    ids = piece.reading.texts.ids
    named = {
        ids[passage]: label
        for passage, label in zip(
            piece.reading.segments.passages.tolist(), piece.labels().tolist(), strict=True
        )
    }
    assert named["Ps.5.1"] == 1
    assert named["Ps.7.1"] == -1


def test_trees_correct_what_is_known() -> None:
    rng = np.random.default_rng(1)
    values: Floats = rng.normal(size=(600, 2))
    labels = ((values[:, 0] > 0) & (values[:, 1] > 0)).astype(np.int64)
    names = ["a", "b"]
    trees = learn_chances(values, labels, np.zeros(600), names, Boosting(trees=40, least=10))
    odds = Trees(trees, names).sums(values)
    assert ((odds > 0) == (labels == 1)).mean() > 0.95
    again = learn_chances(values, labels, np.zeros(600), names, Boosting(trees=40, least=10))
    assert trees == again
    # Where the log odds that are known say all there is to say, trees have little to add.
    known = np.where(labels == 1, 9.0, -9.0)
    rest = learn_chances(values, labels, known, names, Boosting(trees=40, least=10))
    assert np.abs(Trees(rest, names).sums(values)).max() < 0.5


def test_trees_are_asked_only_where_there_is_doubt() -> None:
    tree = Tree((NAMES[0],), (0.5,), (-1,), (-2,), (-1.0, 2.0))
    weights = (0.0, 1.0, *[0.0] * (len(NAMES) - 2))
    model = Calibration(0.0, weights, 0.5, trees=(tree,))
    features = np.zeros((3, len(NAMES)))
    features[1:, 0] = 1.0
    features[2, 1] = DOUBT - 1
    assert model.log_odds(features).tolist() == [-1.0, 2.0, DOUBT - 1]
    record = {"format": FORMAT, "features": list(NAMES)}
    again = parse_calibration({**record, "models": {"fast": model.to_json()}}, "fast")
    assert again == model
