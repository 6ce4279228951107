"""The learned reranker: its features by hand, its file, its explanations."""

import math
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pytest
from little_vectors import LittleVectors

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import InputError
from allusion_es.language.citations.word_parts import grams
from allusion_es.language.latin.analysis import Analysis
from allusion_es.local.index import LocalIndex
from allusion_es.rerankers._shared.features import FeatureMaker
from allusion_es.rerankers._shared.spelling import Spelling
from allusion_es.rerankers._shared.trees import Tree
from allusion_es.rerankers.learned import Learned, RankerSet, read_model, write_model
from allusion_es.rerankers.trial import TrialCollection, trial_candidates, trial_query
from allusion_es.retrieval.analysed import analyse_query
from allusion_es.retrieval.coded_texts import code_texts
from allusion_es.retrieval.fusion import FusedSearch
from allusion_es.retrieval.pipeline import QueryOptions, Retriever, index_analyser
from allusion_es.retrieval.reranking import Candidates
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Query,
    Ranking,
    SearchFilter,
)

TEXTS = ["x y z", "x y", "w", "y x"]
IDF = {"x": math.log(4 / 4), "y": math.log(4 / 4), "z": math.log(4 / 2), "w": math.log(4 / 2)}


def features(query: str, *ids: str) -> dict[str, Floats]:
    """Of the four texts, under these ids."""
    found = trial_candidates(TEXTS)
    ranking = Ranking(ids or found.ranking.ids, np.array([4.0, 3.0, 3.0, 1.0]))
    maker, collection = FeatureMaker(), Collection()
    made = maker.features(trial_query(query), Candidates(ranking, "lemma", found.texts), collection)
    assert made.values.shape == (4, len(made.names))
    return dict(zip(made.names, made.values.T, strict=True))


class Collection(TrialCollection):
    """The four texts, whatever their ids."""

    def __init__(self) -> None:
        super().__init__(TEXTS, LittleVectors())

    def texts(self, field: str, ids: object) -> object:  # type: ignore[override]
        return code_texts([text.split() for text in TEXTS])


class Biblical(Collection):
    """The same as verses of the Bible."""

    is_bible = True


def test_shared_words_and_lengths_by_hand() -> None:
    found = features("z w x")
    z, w = IDF["z"], IDF["w"]
    assert found["coverage"] == pytest.approx(np.array([z, 0, w, 0]) / (z + w))
    assert found["coverage-passage"] == pytest.approx([1, 0, 1, 0])
    assert found["shared-lemmas"].tolist() == [2, 1, 1, 1]
    assert found["rarest-shared"] == pytest.approx([z, 0, w, 0])
    assert found["length"] == pytest.approx(np.log([4, 3, 2, 3]))
    assert found["length-difference"] == pytest.approx(np.log([1, 4 / 3, 2, 4 / 3]))


def test_ranks_are_damped_and_shared_by_equals() -> None:
    assert features("z")["first-stage/rank"] == pytest.approx([10 / 11, 10 / 12, 10 / 12, 10 / 14])


def test_scores_stand_beside_the_best() -> None:
    found = features("z y")
    best = found["bm25-lemma"].max()
    assert found["bm25-lemma/best"] == pytest.approx(found["bm25-lemma"] / best)
    assert found["bm25-lemma/neighbour"].tolist() == [0, 0, 0, 0]


def test_the_better_neighbour_counts() -> None:
    found = features("z y", "Ps.1.2", "Ps.1.3", "Ps.2.2", "Ps.1.4")
    of_best = found["bm25-lemma/best"]
    expected = [of_best[1], max(of_best[0], of_best[3]), 0, of_best[1]]
    assert found["bm25-lemma/neighbour"] == pytest.approx(expected)


def test_a_run_is_unbroken() -> None:
    texts = ["a b x c", "a b c", "d", "e", "f"]
    collection = TrialCollection(texts)
    made = FeatureMaker().features(trial_query("a b c"), trial_candidates(texts), collection)
    runs = made.values[:, made.names.index("run")]
    both, three = math.log(5 / 3), math.log(5 / 3)
    assert runs.tolist() == pytest.approx([2 * both, 3 * three, 0, 0, 0])


def test_the_window_counts_without_the_query() -> None:
    own, around = ("x",), ("w", "x", "z")
    query = AnalysedQuery(
        Query("x", before="w", after="z"), Analysis(own, own, ()), Analysis(around, around, ())
    )
    made = FeatureMaker().features(query, trial_candidates(TEXTS), TrialCollection(TEXTS))
    window = made.values[:, made.names.index("window")]
    assert (window > 0).tolist() == [True, False, True, False]


def test_spelling_by_hand() -> None:
    """Sets of grams of caritas and charitas are one; of caritate some are shared."""
    mine, other = set(grams("caritas")), set(grams("caritate"))
    share = len(mine & other) ** 2 / (len(mine) * len(other))
    found = Spelling().likeness(["caritas", "rex"], ["charitas", "caritate", "mare"])
    assert found[0] == pytest.approx([1.0, share, 0.0])
    assert found[1] == pytest.approx([0.0, 0.0, 0.0])


def test_spelling_takes_the_best_match_of_each_word() -> None:
    texts = ["charitas rex", "caritate", "", "mare"]
    collection = TrialCollection(texts)
    asked, candidates = trial_query("caritas rex"), trial_candidates(texts)
    spelling = Spelling()
    like = spelling.likeness(["caritas"], ["caritate"])[0, 0]
    new, one = math.log(3), math.log(3 / 2)
    scores = spelling.score(asked, candidates, collection)
    assert scores.tolist() == pytest.approx([new + one, like * new, 0.0, 0.0])
    for score, reason in zip(scores, spelling.explain(asked, candidates, collection), strict=True):
        assert sum(part.contribution for part in reason or ()) == pytest.approx(score)


NAMES = ("coverage", "length")


def test_a_written_model_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "one.ranker"
    write_model(
        path, {"queries": "7"}, {"words": RankerSet(NAMES, np.array([2.0, 0.5]), np.array([1, -3]))}
    )
    model = read_model(path)
    assert model.about == {"queries": "7"}
    assert model.weights("words", ("length", "coverage")).tolist() == [-6.0, 0.5]
    with pytest.raises(InputError, match=r"words: length, width\)"):
        model.weights("words", ("coverage", "width"))
    with pytest.raises(InputError, match="other features"):
        model.weights("citations", NAMES)


def test_trees_are_written_and_read_and_add_to_the_linear_score(tmp_path: Path) -> None:
    """A tree of two leaves by hand: texts with a word in common get 2, others -1."""
    maker, collection, candidates = FeatureMaker(), Collection(), trial_candidates(TEXTS)
    made = maker.features(trial_query("z y"), candidates, collection)
    linear = np.where(np.array(made.names) == "length", 1.0, 0.0)
    tree = Tree(("shared-lemmas",), (0.5,), (-1,), (-2,), (-1.0, 2.0))
    path = tmp_path / "trees.ranker"
    write_model(
        path, {}, {"words": RankerSet(made.names, np.ones(len(made.names)), linear, (tree,))}
    )
    ranker = Learned(str(path))
    lengths, found = np.log([4, 3, 2, 3]), np.array([2.0, 2.0, -1.0, 2.0])
    standard = [(one - one.mean()) / one.std() for one in (lengths, found)]
    scores = ranker.score(trial_query("z y"), candidates, collection)
    assert scores == pytest.approx(standard[0] + standard[1], abs=1e-5)
    for score, reason in zip(
        scores, ranker.explain(trial_query("z y"), candidates, collection), strict=True
    ):
        parts = {part.query_word: part.contribution for part in reason or ()}
        assert sum(parts.values()) == pytest.approx(score)
        assert "‹trees›" in parts
    alone = read_model(path).without_trees()
    assert alone.trees("words", made.names) is None


FIRST = "allusion-es ranker 2\n"
LINEAR = f"{FIRST}linear\twords\tlength\t1\t1\n"
LEAVES = "leaf\twords\t0\t0\t1\nleaf\twords\t0\t1\t2\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: not a ranker"),
        ("allusion-es ranker 1\nwords\tlength\t1\t1\n", ":1: not a ranker"),
        (f"{FIRST}linear\twords\tlength\t0\t1\n", ":2: a scale must be above 0"),
        (f"{FIRST}about\ta\tb\nlinear\twords\tlength\t1\n", ":3: not a line of a ranker"),
        (f"{FIRST}linear\twords\tlength\t1\tnan\n", ":2: 'nan' is no number"),
        (f"{FIRST}linear\twords\tlength\t1\t1e30\n", ":2: '1e30' is no number"),
        (f"{FIRST}node\twords\t0\t1\tlength\t1\t-1\t-2\n", ":2: trees and nodes must be"),
        (f"{FIRST}leaf\twords\t0\t0\t1\n", ":2: leaves must follow"),
        (f"{LINEAR}node\twords\t0\t0\twidth\t1\t-1\t-2\n{LEAVES}", "unknown feature width"),
        (f"{LINEAR}node\twords\t0\t0\tlength\t1\t0\t-2\n{LEAVES}", "tree 0 of words: "),
        (f"{LINEAR}node\twords\t0\t0\tlength\t1\t-1\t-9\n{LEAVES}", "tree 0 of words: "),
    ],
)
def test_what_is_no_model_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.ranker"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_model(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_model(tmp_path / "missing.ranker")


def test_the_score_is_the_weighted_sum(tmp_path: Path) -> None:
    maker, collection, candidates = FeatureMaker(), Collection(), trial_candidates(TEXTS)
    made = maker.features(trial_query("z y"), candidates, collection)
    scales, weights = np.full(len(made.names), 2.0), np.arange(len(made.names)) / 10 - 1
    path = tmp_path / "all.ranker"
    write_model(path, {}, {"words": RankerSet(made.names, scales, weights)})
    scores = Learned(str(path)).score(trial_query("z y"), candidates, collection)
    assert scores == pytest.approx(made.values @ (weights / 2), rel=1e-4)


def test_some_of_the_candidates_score_as_among_all() -> None:
    candidates, collection = trial_candidates(TEXTS), TrialCollection(TEXTS, LittleVectors())
    whole = Learned().score(trial_query("z y"), candidates, collection)
    some = candidates.take([2, 0])
    assert Learned().score(trial_query("z y"), some, collection).tolist() == whole[[2, 0]].tolist()
    reasons = Learned().explain(trial_query("z y"), some, collection)
    sums = [sum(part.contribution for part in reason or ()) for reason in reasons]
    assert sums == pytest.approx(whole[[2, 0]].tolist())


def test_the_shipped_model_has_the_features_of_this_program() -> None:
    with as_file(files("allusion_es.rerankers") / "patristic.ranker") as path:
        model = read_model(path)
    made = FeatureMaker().features(trial_query("x"), trial_candidates(TEXTS), Biblical())
    assert len(model.weights("words", made.names)) == len(made.names)
    assert set(made.names) < set(model.sets["citations"].features)
    assert len(model.sets["citations"].trees) == 300
    assert not model.sets["words"].trees


def test_the_shipped_model_for_other_collections_has_the_features_of_this_program() -> None:
    with as_file(files("allusion_es.rerankers") / "epic.ranker") as path:
        model = read_model(path)
    made = FeatureMaker().features(trial_query("x"), trial_candidates(TEXTS), Collection())
    assert set(model.sets) == {"words"}
    assert len(model.weights("words", made.names)) == len(made.names)
    assert {"stage-stems", "rarest-pair"} < set(made.names)
    (note,) = Learned().notes(Collection())
    assert "weights from 617 links to Latin epic, from Lucan" in note


def test_the_paper_s_example_is_found_and_explained(vulgate_index: LocalIndex) -> None:
    asked = Query("sed dilectio illa supereminet omni scientiae")
    retriever = Retriever(
        vulgate_index, QueryOptions(fields=("token", "lemma"), reranker="learned", explain=True)
    )
    hits = retriever.answer(asked).hits
    assert "Eph.3.19" in [hit.id for hit in hits]
    for hit in hits:
        assert hit.contributions is not None
        assert sum(part.contribution for part in hit.contributions) == pytest.approx(hit.score)


def test_passages_of_another_first_stage_have_the_scores_of_fused(
    vulgate_index: LocalIndex,
) -> None:
    text = "gustate et videte quoniam suavis est Dominus"
    query = analyse_query(Query(text, before="Ps"), index_analyser(vulgate_index))
    fused = FusedSearch()
    (ranking,) = fused.rank([query], vulgate_index, "lemma", 60, SearchFilter())
    parts = fused.parts(query, vulgate_index, ranking.ids, SearchFilter())
    assert parts.keys() == ranking.parts.keys() > {"fused", "bm25-token", "words", "citations"}
    for name, scores in ranking.parts.items():
        assert parts[name].tolist() == scores.tolist(), name
    assert parts["fused"].tolist() == ranking.scores.tolist()


@pytest.mark.parametrize("stage", ["bm25", "tfidf", "ngrams", "knn", "citations", "rrf"])
def test_the_first_stage_only_chooses_the_candidates(stage: str, vulgate_index: LocalIndex) -> None:
    text = "gustate et videte quoniam suavis est Dominus"
    options = QueryOptions.chosen(first_stage=stage)
    hits = Retriever(vulgate_index, options).answer(text).hits
    assert hits[0].id == "Ps.33.9"
    assert hits[0].candidate_rank == 1
