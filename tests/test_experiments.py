"""The paper's tables on eight verses and five queries, every cell worked out by hand."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.measures import parse_measure
from allusion_es.evaluation.methods import Method
from allusion_es.evaluation.overlap import overlap_histogram, overlap_table, overlaps
from allusion_es.evaluation.paper import experiments
from allusion_es.evaluation.paper.experiments import Experiment, line_runs
from allusion_es.evaluation.runner import Task
from allusion_es.evaluation.scoring import Scoring, score_rows, score_run
from allusion_es.language.latin.analysis import Analyser
from allusion_es.language.vectors.files import save_vectors
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.rerankers.soft_cosine_random import SoftCosineRandom
from allusion_es.rerankers.soft_cosine_wordnet import SoftCosineWordNet
from allusion_es.retrieval.types import FIELDS, AnalysedQuery, Field, Query

# A ring: each lemma is in two verses, so that all have the same idf, and each verse has two.
VERSES = {
    "v1": "lux mundi",
    "v2": "lux vitae",
    "v3": "panis vitae",
    "v4": "panis caeli",
    "v5": "rex caeli",
    "v6": "rex gloriae",
    "v7": "via gloriae",
    "v8": "via mundi",
}
LINKS = [
    GoldLink(Query("lux mundi", "q1", "panis", "caeli", "mundi"), ("v1",), "quotation"),
    GoldLink(Query("lucem vita", "q2", "", "nox"), ("v2",), "allusion"),
    GoldLink(Query("rex mundi", "q3", "via"), ("v8",), "allusion"),
    GoldLink(Query("rex rex gloriae", "q4", "", "", "gloriae"), ("v5",), "allusion"),
    GoldLink(Query("nox", "q5", "panis"), ("v3",), "allusion"),
]
EVERYTHING = Method("soft-cosine")
AXES = ["lux", "mundus", "uita", "panis", "caelum", "rex", "gloria", "uia"]
FORMS = {
    "lucem": "lux",
    "mundi": "mundus",
    "uitae": "uita",
    "caeli": "caelum",
    "gloriae": "gloria",
}


class Ring:
    """One direction for each lemma; nox lies near panis: cosine 0.6."""

    name = "ring"
    dimension = 9

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(words), 9), np.float32)
        for row, word in zip(rows, words, strict=True):
            lemma = FORMS.get(word, word)
            if lemma == "nox":
                row[[AXES.index("panis"), 8]] = 0.6, 0.8
            elif lemma in AXES:
                row[AXES.index(lemma)] = 1.0
        return rows


@pytest.fixture(scope="module")
def index() -> LocalIndex:
    index = index_texts(VERSES, Ring())
    assert [index.texts("lemma", [verse]).text(0) for verse in VERSES] == [
        ("lux", "mundus"),
        ("lux", "uita"),
        ("panis", "uita"),
        ("panis", "caelum"),
        ("rex", "caelum"),
        ("rex", "gloria"),
        ("uia", "gloria"),
        ("uia", "mundus"),
    ]
    return index


def ranks(experiment: Experiment, index: LocalIndex) -> dict[tuple[str, ...], list[int | None]]:
    """Rank of the gold verse of each query, by labels without the first (the method's name)."""
    task = Task(lambda: index, experiment.sets)
    found = {}
    for line, run in line_runs(experiment, LINKS, task):
        judged = score_run(run, LINKS, line.labels).judged
        key = tuple(line.labels.values())[1:]
        found[key] = [each.ranks[0] if each.ranks else None for each in judged]
    return found


def figures(experiment: Experiment, index: LocalIndex) -> dict[tuple[str, ...], tuple[float, ...]]:
    """MRR, P@1, P@2, P@10 of all links, by labels without the first."""
    task = Task(lambda: index, experiment.sets)
    scored = [
        score_run(run, LINKS, line.labels) for line, run in line_runs(experiment, LINKS, task)
    ]
    names = ("mrr", "p1", "p2", "p10")
    rows = score_rows(scored, LINKS, Scoring(tuple(map(parse_measure, names)), resamples=0))
    labels = list(experiment.lines[0].labels)[1:]
    return {
        tuple(row[label] for label in labels): tuple(row[name] for name in names)
        for row in rows
        if row["group"] == "all"
    }


def test_table_1_and_figure_2(index: LocalIndex) -> None:
    analyser = Analyser()
    queries = {
        link.query.query_id: AnalysedQuery(link.query, analyser.analyse(link.query.text))
        for link in LINKS
    }
    found = overlaps(LINKS, queries, index)
    # Shared types / all types, tokens: 2/2, 0/4, 1/3, 1/3, 0/3; lemmas: 2/2, 2/2, 1/3, 1/3, 0/3.
    rows = {row["group"]: row for row in overlap_table(found)}
    assert rows["quotation"] == {
        "group": "quotation",
        "jaccard_token": 1.0,
        "jaccard_token_sd": 0.0,
        "jaccard_lemma": 1.0,
        "jaccard_lemma_sd": 0.0,
        "source_length": 2.0,
        "source_length_sd": 0.0,
        "ref_length": 2.0,
        "ref_length_sd": 0.0,
        "count": 1,
    }
    assert rows["allusion"] == {
        "group": "allusion",
        "jaccard_token": round(1 / 6, 4),
        "jaccard_token_sd": round(math.sqrt(4 / 36 / 3), 4),
        "jaccard_lemma": round(5 / 12, 4),
        "jaccard_lemma_sd": round(math.sqrt((49 + 1 + 1 + 25) / 144 / 3), 4),
        "source_length": 2.0,  # 2, 2, 3, 1
        "source_length_sd": round(math.sqrt(2 / 3), 4),
        "ref_length": 2.0,
        "ref_length_sd": 0.0,
        "count": 4,
    }
    assert rows["all"] == {
        "group": "all",
        "jaccard_token": round(1 / 3, 4),
        "jaccard_token_sd": round(math.sqrt((4 + 1 + 0 + 0 + 1) / 9 / 4), 4),
        "jaccard_lemma": round(8 / 15, 4),
        "jaccard_lemma_sd": round(math.sqrt((49 + 49 + 9 + 9 + 64) / 225 / 4), 4),
        "source_length": 2.0,
        "source_length_sd": round(math.sqrt(2 / 4), 4),
        "ref_length": 2.0,
        "ref_length_sd": 0.0,
        "count": 5,
    }
    assert [tuple(row.values()) for row in overlap_histogram(found)] == [
        ("token", 0, 2),
        ("token", 1, 2),
        ("token", 2, 1),
        ("lemma", 0, 1),
        ("lemma", 1, 2),
        ("lemma", 2, 2),
    ]


def test_table_2(index: LocalIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def little(left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """nox and panis share two synonyms: 1/2, which the fifth power makes 1/32."""
        table = [[(i == j) + 0.5 * ({i, j} == {"nox", "panis"}) for j in right] for i in left]
        return np.array(table, np.float32).reshape(len(left), len(right))

    monkeypatch.setattr(SoftCosineWordNet, "_comparison", lambda _: little)
    experiment = experiments.table2(LINKS, EVERYTHING)
    # q1 is v1. q2 shares both lemmas of v2, no token. q3 shares one word with v1, v5, v6, v8,
    # which tie and stand in the order of ids. q4 has rex twice: v6 shares both words, v5 two
    # of three. q5 shares nothing.
    token, lemma = [1, None, 4, 2, None], [1, 1, 4, 2, None]
    # Word vectors know that lucem is lux; nox is nearest to v3 and v4, which tie.
    semantic = [1, 1, 4, 2, 1]
    assert ranks(experiment, index) == {
        ("BOW", "token"): token,
        ("BOW", "lemma"): lemma,
        ("TfIdf", "token"): token,
        ("TfIdf", "lemma"): lemma,
        # Only where two types are shared; q4 shares one with its verse.
        ("Tesserae", "token"): [1, None, None, None, None],
        ("Tesserae", "lemma"): [1, 1, None, None, None],
        ("BOW_emb", "token"): semantic,
        ("BOW_emb", "lemma"): semantic,
        ("TfIdf_emb", "token"): semantic,
        ("TfIdf_emb", "lemma"): semantic,
        # Half of q3 goes to each of the four for nothing, half for 1: they tie. Of q4, 1/6 has to
        # go far to become v6, 1/2 to become v5. q5: 1/2 · 0.4 + 1/2 · 1 to v3 and v4.
        ("WMD", "token"): semantic,
        ("WMD", "lemma"): semantic,
        ("SC_wn", "lemma"): semantic,
        ("SC_emb", "token"): semantic,
        ("SC_emb", "lemma"): semantic,
        # WMD, but for q1 (and q2 by lemmas), which share two types with their verse.
        ("T+WMD", "token"): semantic,
        ("T+WMD", "lemma"): semantic,
    }
    cells = figures(experiment, index)
    assert cells["BOW", "token"] == (35.0, 20.0, 40.0, 60.0)  # (1 + 0 + 1/4 + 1/2 + 0) / 5
    assert cells["TfIdf", "lemma"] == (55.0, 40.0, 60.0, 80.0)
    assert cells["Tesserae", "token"] == (20.0, 20.0, 20.0, 20.0)
    assert cells["Tesserae", "lemma"] == (40.0, 40.0, 40.0, 40.0)
    alike = ("BOW_emb", "TfIdf_emb", "WMD", "SC_emb", "T+WMD")
    assert {cells[model, field] for model in alike for field in ("token", "lemma")} == {
        (75.0, 60.0, 80.0, 100.0)
    }
    assert cells["SC_wn", "lemma"] == (75.0, 60.0, 80.0, 100.0)
    printed = {tuple(line.labels.values())[1:]: line.printed for line in experiment.lines}
    assert printed["SC_emb", "lemma"] == (21.95, 39.64, 47.6)
    assert len(printed) == 17


def test_table_3(index: LocalIndex, tmp_path: Path) -> None:
    # word2vec that knows no form of lux, vita and nox: only equal words are alike there.
    known = [word for word in (*AXES, *FORMS) if word not in ("lucem", "uita")]
    path = tmp_path / "w2v.vec"
    rows = np.eye(len(known), dtype=np.float32)
    save_vectors(path, known, rows)
    vectors: dict[Field, str] = {"token": str(path), "lemma": str(path)}
    experiment = experiments.table3(LINKS, EVERYTHING, vectors)
    found = ranks(experiment, index)
    assert found["SC_emb", "token"] == found["SC_emb", "lemma"] == [1, 1, 4, 2, 1]
    assert found["SC_w2v", "token"] == [1, None, 4, 2, None]
    assert found["SC_w2v", "lemma"] == [1, 1, 4, 2, None]
    for field in FIELDS:
        assert found["SC_rnd", field] == random_ranks(index, field)
    assert figures(experiment, index)["SC_w2v", "token"] == (35.0, 20.0, 40.0, 60.0)


def random_ranks(index: LocalIndex, field: Field) -> list[int]:
    """Ranks by soft cosine with the random S, by loops over pairs of words."""
    model, analyser = SoftCosineRandom(), Analyser()

    def similar(i: str, j: str) -> float:
        if i == j:
            return 1.0
        left, right = (model.features([word], field, None) for word in (i, j))  # type: ignore[arg-type]
        return float(model.similarity(left, right)[0, 0])

    def product(left: dict[str, float], right: dict[str, float]) -> float:
        return sum(a * b * similar(i, j) for i, a in left.items() for j, b in right.items())

    def weighted(words: Sequence[str]) -> dict[str, float]:
        df = index.statistics(field, list(words)).df.tolist()
        weights: dict[str, float] = {}
        for word, count in zip(words, df, strict=True):
            weights[word] = weights.get(word, 0.0) + math.log(8 / (1 + count))
        return weights

    found = []
    for link in LINKS:
        analysis = analyser.analyse(link.query.text)
        query = weighted(analysis.tokens if field == "token" else analysis.lemmas)
        scores = {}
        for verse in VERSES:
            other = weighted(index.texts(field, [verse]).text(0))
            length = math.sqrt(product(query, query) * product(other, other))
            scores[verse] = product(query, other) / length
        gold = link.relevant[0]
        found.append(sum(score > scores[gold] + 1e-7 for score in scores.values()) + 1)
    return found


def test_table_4(index: LocalIndex) -> None:
    experiment = experiments.table4(LINKS, Method("soft-cosine"), (0, 1, 2))
    texts = {each.name: [query.text for query in each.queries] for each in experiment.sets}
    assert texts == {
        "manual": ["lux mundi", "lucem vita", "rex mundi", "rex rex gloriae", "nox"],
        # Without an anchor the middle word is taken, of two the first.
        "0": ["mundi", "lucem", "rex", "gloriae", "nox"],
        "1": ["lux mundi caeli", "lucem vita", "via rex mundi", "rex gloriae", "panis nox"],
        "2": [
            "panis lux mundi caeli",
            "lucem vita nox",
            "via rex mundi",
            "rex rex gloriae",
            "panis nox",
        ],
    }
    # 0: mundi is in v1 and v8; lucem in v1 before v2; rex and gloriae are not in v8 and v5; nox
    #    is nearest to v3 and v4.
    # 1: q1 shares two of three words with v1, one with v2, v4, v5, v8. q3 is v8 and rex. q4: rex
    #    in v5 as in v6 and gloriae in v6 and v7, so that v6 leads and v5 comes before v7. q5:
    #    panis and nox are both near v3 and v4.
    # 2: q1 is as near to v4 as to v1, which stands first. q2: nox draws v3 and v4, but v2 has two
    #    words of three.
    expected: dict[tuple[str, str], list[Any]] = {}
    for field in ("token", "lemma"):
        expected |= {
            (field, "manual"): [1, 1, 4, 2, 1],
            (field, "0"): [1, 2, None, None, 1],
            (field, "1"): [1, 1, 1, 2, 1],
            (field, "2"): [1, 1, 1, 2, 1],
        }
    assert ranks(experiment, index) == expected
    cells = figures(experiment, index)
    assert cells["token", "0"] == (50.0, 40.0, 60.0, 60.0)  # (1 + 1/2 + 0 + 0 + 1) / 5
    assert cells["lemma", "1"] == (90.0, 80.0, 100.0, 100.0)
    printed = {tuple(line.labels.values())[1:]: line.printed for line in experiment.lines}
    assert printed["lemma", "manual"] == (21.95, 39.64, 47.6)
    assert printed["lemma", "1"] is None
