"""Collections that are not the Bible: what an index has by default, lemmas that begin alike."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.corpora.passage import Passage
from allusion_es.evaluation.gold.files import make_link
from allusion_es.learning.collection_ranker import RankerLearner
from allusion_es.learning.links import known_links, read_collection
from allusion_es.local.library import BuildOptions, Library
from allusion_es.local.memory import index_texts
from allusion_es.rerankers._shared.features import FeatureMaker, group_of
from allusion_es.retrieval.analysed import analyse_query
from allusion_es.retrieval.fusion import FusedSearch
from allusion_es.retrieval.generators import MAX_STEMS, StemSearch
from allusion_es.retrieval.index import is_bible
from allusion_es.retrieval.pipeline import index_analyser
from allusion_es.retrieval.reranking import Candidates, Collection
from allusion_es.retrieval.types import Query, Ranking, SearchFilter, SearchRequest
from allusion_es.retrieval.weighting import lucene_idf

EPIC = {
    "aen.1.1": "arma uirumque cano",
    "aen.1.2": "bellicus ensis amor",
    "aen.1.3": "amo regem",
    "theb.1.1": "bello bellum cano",
    "theb.1.2": "rex amorem canit",
}


def verse(number: int, book: str) -> Passage:
    name = f"{book}.1.{number}" if book else f"aen.1.{number}"
    return Passage(name, "In principio creavit Deus caelum et terram", book=book, order=number)


@pytest.mark.parametrize(
    ("books", "chosen", "has"),
    [
        (["Gen"] * 3, None, True),
        ([""] * 3, None, False),
        (["Gen", "", ""], None, False),
        (["Gen", "Gen", ""], None, True),
        ([""] * 3, True, True),
        (["Gen"] * 3, False, False),
    ],
)
def test_what_was_learned_from_citations_of_the_bible_is_for_the_bible(
    books: list[str], chosen: bool | None, has: bool, tmp_path: Path
) -> None:
    library = Library(tmp_path)
    passages = (verse(number, book) for number, book in enumerate(books))
    count = library.build("x", passages, BuildOptions(vectors=False, learned_links=chosen))
    index = library.open("x")
    assert count == len(index) == len(books)
    assert (index.citations is not None) == has
    assert ("expansion" in index.capabilities) == has
    assert is_bible(index) == any(books)


def test_lemmas_that_begin_alike_by_hand() -> None:
    """`bellum` is in one passage; `bell…` in two. A lemma of three letters is like itself alone."""
    index = index_texts(EPIC)
    query = analyse_query(Query("bellum rex"), index_analyser(index))
    assert query.words("lemma") == ("bellum", "rex")
    (request,) = StemSearch().requests(query, index, "lemma")
    df = index.statistics("lemma", ["bellum", "rex"]).df
    idf = lucene_idf(df, 5).tolist()
    assert request.words == pytest.approx({"bell": idf[0], "rex": idf[1]})
    (ranking,) = StemSearch().rank([query], index, "lemma", 10, SearchFilter())
    found = dict(zip(ranking.ids, ranking.scores.tolist(), strict=True))
    of_war, of_kings = {"aen.1.2", "theb.1.1"}, {"aen.1.3", "theb.1.2"}
    assert found == pytest.approx(
        {name: idf[0] for name in of_war} | {name: idf[1] for name in of_kings}, rel=1e-6
    )


@given(st.lists(st.sampled_from(sorted({w for t in EPIC.values() for w in t.split()})), max_size=6))
def test_a_beginning_counts_once_for_each_passage_that_has_it(words: list[str]) -> None:
    index = index_texts(EPIC)
    stems = {word[:4]: 1.0 + number for number, word in enumerate(dict.fromkeys(words))}
    (ranking,) = index.search([SearchRequest("stems", "lemma", 10, stems)])
    texts = index.texts("lemma", index.ids())
    for number, name in enumerate(index.ids()):
        lemmas = texts.text(number)
        expected = sum(
            weight
            for stem, weight in stems.items()
            if any(lemma.startswith(stem) if len(stem) == 4 else lemma == stem for lemma in lemmas)
        )
        found = dict(zip(ranking.ids, ranking.scores.tolist(), strict=True)).get(name, 0.0)
        assert found == pytest.approx(expected)


def test_long_queries_ask_for_the_rarest_beginnings() -> None:
    index = index_texts(EPIC)
    letters = [chr(ord("a") + number) for number in range(26)]
    text = " ".join(f"{one}{other}{one}{other}us" for one in letters[:9] for other in letters[:9])
    (request,) = StemSearch().requests(
        analyse_query(Query(text), index_analyser(index)), index, "lemma"
    )
    assert 1 < len(request.words) <= MAX_STEMS


def test_beginnings_are_searched_where_nothing_is_known_of_citations(tmp_path: Path) -> None:
    library = Library(tmp_path)
    for name, book in (("epic", ""), ("bible", "Gen")):
        options = BuildOptions(vectors=False, learned_links=False)
        library.build(name, [verse(number, book) for number in range(3)], options)
        index = library.open(name)
        query = analyse_query(Query("terrarum"), index_analyser(index))
        kinds = [request.kind for request in FusedSearch().requests(query, index, "lemma")]
        assert ("stems" in kinds) == (name == "epic")
        (ranking,) = FusedSearch().rank([query], index, "lemma", 10, SearchFilter())
        assert ("stems" in ranking.parts) == (name == "epic")


def test_groups_are_features_of_a_ranker_that_knows_them() -> None:
    index = index_texts(EPIC)
    ids = index.ids()
    candidates = Candidates(Ranking(ids, np.ones(len(ids))), "lemma", index.texts("lemma", ids))
    query = analyse_query(Query("bellum"), index_analyser(index))
    made = FeatureMaker(None, ["aen"]).features(query, candidates, Collection(index))
    column = made.values[:, made.names.index("group:aen")]
    assert column.tolist() == [float(group_of(name) == "aen") for name in ids]


def test_a_ranker_learns_to_which_work_an_author_alludes() -> None:
    """Two works have the same lines, so that only the links tell which is meant."""
    words = ["arma", "bellum", "cano", "deus", "ensis", "fatum", "genus", "hora", "ignis", "nox"]
    texts = {
        f"{work}.{number}": f"{words[number % 10]} {words[number // 10 + 3]} et mare"
        for work in ("aen", "theb")
        for number in range(40)
    }
    index = index_texts(texts)
    gold = [
        make_link(
            {
                "query_id": f"{number}",
                "text": texts[f"theb.{number}"] + " fuit",
                "relevant": [f"theb.{number}"],
                "title": "Ilias Latina",
            },
            Path("gold.jsonl"),
            number,
        )
        for number in range(40)
    ]
    links, _ = known_links(gold, read_collection(index), index_analyser(index))
    learner = RankerLearner(index)
    assert learner.groups == ["aen", "theb"]
    examples = learner.examples(links)
    (figures,) = learner.validate(examples, 2)
    assert figures.before.queries == 40
    assert figures.before.mrr < 0.6
    assert figures.after.mrr > 0.9
    ranker = learner.learn(examples)
    weights = dict(zip(ranker.features, ranker.linear.tolist(), strict=True))
    assert weights["group:theb"] > 0 > weights["group:aen"]
    assert RankerLearner(index, groups=False).groups == []
