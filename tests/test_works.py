"""Filters by work and author, and a query's own work, which is left out of its answers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import UsageError
from allusion_es.corpora.passage import Passage, Work
from allusion_es.es.build import build_es_index
from allusion_es.es.connection import Server
from allusion_es.es.index import open_index
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.build import build_local
from allusion_es.local.index import LocalIndex
from allusion_es.retrieval.analysed import analyse_passages
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import Query, SearchFilter
from allusion_es.retrieval.works import OwnWork, folded, known_names, own_works

VERGIL, OVID = Work("Vergilius", "Aeneis"), Work("Ovidius", "Metamorphoses")
SHARED = (Work("Horatius", "Carmina"), Work("Catullus", "Carmina"))
NAMELESS = Work("", "Ilias Latina")
LINES = {
    VERGIL: ("arma virumque cano", "Troiae qui primus ab oris"),
    OVID: ("in nova fert animus", "arma viri fugiunt"),
    SHARED[0]: ("arma dabunt ipsi",),
    SHARED[1]: ("arma cui dono",),
    NAMELESS: ("arma diu pugnata",),
}


def passages() -> list[Passage]:
    """The lines of all works."""
    return [
        Passage(f"{work.title[:3]}{work.author[:1]}{number}", text, work.title, author=work.author)
        for work, texts in LINES.items()
        for number, text in enumerate(texts, start=1)
    ]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> LocalIndex:
    """An index of five small works, two of one title, one of no author."""
    path = tmp_path_factory.mktemp("works") / "poems.idx"
    analyser = Analyser()
    settings = IndexSettings(analyser.settings)
    build_local(path, analyse_passages(passages(), analyser), settings)
    return LocalIndex(path)


def ids(index: LocalIndex, **chosen: object) -> set[str]:
    """Ids of the passages that a filter lets pass."""
    names = {k: frozenset([v]) if isinstance(v, (str, Work)) else v for k, v in chosen.items()}
    return set(index.ids(replace(SearchFilter(), **names)))  # type: ignore[arg-type]


def test_an_index_knows_its_works_with_their_authors(index: LocalIndex) -> None:
    assert index.works() == set(LINES)
    assert index.passages(["AenV1"])[0].author == "Vergilius"


def test_filters_choose_and_leave_out_works_and_authors(index: LocalIndex) -> None:
    everything = {passage.id for passage in passages()}
    assert ids(index, authors="Ovidius") == {"MetO1", "MetO2"}
    assert ids(index, works="Carmina") == {"CarH1", "CarC1"}
    assert ids(index, works="Carmina", authors="Catullus") == {"CarC1"}
    assert ids(index, excluded_works="Aeneis") == everything - {"AenV1", "AenV2"}
    assert ids(index, excluded_authors="") == everything - {"Ili1"}
    assert ids(index, left_out=SHARED[0]) == everything - {"CarH1"}
    assert ids(index, left_out=NAMELESS, excluded_authors="Ovidius") == {
        "AenV1", "AenV2", "CarH1", "CarC1",
    }  # fmt: skip


@given(
    works=st.frozensets(st.sampled_from(sorted(LINES))),
    excluded=st.frozensets(st.sampled_from(sorted(LINES))),
)
def test_a_filter_is_what_its_parts_say(
    index: LocalIndex, works: frozenset[Work], excluded: frozenset[Work]
) -> None:
    chosen = SearchFilter(works=frozenset(work.title for work in works), left_out=excluded)
    expected = {
        passage.id
        for passage in passages()
        if (not works or passage.work in {work.title for work in works})
        and Work(passage.author, passage.work) not in excluded
    }
    assert set(index.ids(chosen)) == expected


def test_names_may_be_spelt_otherwise_but_must_be_there(index: LocalIndex) -> None:
    chosen = known_names(SearchFilter(works=frozenset({"ILIAS latina"})), index)
    assert chosen.works == {"Ilias Latina"}
    with pytest.raises(UsageError) as refused:
        known_names(SearchFilter(excluded_authors=frozenset({"Lucanus"})), index)
    assert str(refused.value) == (
        "exclude_author: index 'poems' has no author 'Lucanus'; "
        "it has Catullus; Horatius; Ovidius; Vergilius"
    )


@pytest.mark.parametrize(
    ("chosen", "argument"),
    [
        (SearchFilter(works=frozenset({"Aeneis"}), authors=frozenset({"Ovidius"})), "author"),
        (SearchFilter(works=frozenset({"Aeneis"}), excluded_works=frozenset({"aeneis"})),
         "exclude_work"),
        (SearchFilter(authors=frozenset({"Vergilius"}), excluded_authors=frozenset({"vergilius"})),
         "exclude_author"),
    ],
)  # fmt: skip
def test_a_filter_that_lets_no_work_pass_is_refused(
    index: LocalIndex, chosen: SearchFilter, argument: str
) -> None:
    with pytest.raises(UsageError) as refused:
        known_names(chosen, index)
    assert str(refused.value) == (
        f"{argument}: with all choices of works and authors, nothing of index 'poems' is left to "
        "search; leave out one of them"
    )


def test_books_of_the_bible_are_refused_where_there_are_none(index: LocalIndex) -> None:
    for argument, chosen in (
        ("book", SearchFilter(books=frozenset({"Gen"}))),
        ("testament", SearchFilter(testaments=frozenset({"ot"}))),
    ):
        with pytest.raises(UsageError) as refused:
            known_names(chosen, index)
        assert str(refused.value) == (
            f"{argument}: index 'poems' has no books of the Bible; choose works or authors"
        )


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("Aeneis", {VERGIL}),
        ("Vergil, Aeneis 6", {VERGIL}),
        ("P. Vergilius Maro, Aeneis lib. VI", {VERGIL}),
        ("Homer, Aeneis", set()),
        ("Carmina", set(SHARED)),
        ("Catullus, Carmina", {SHARED[1]}),
        ("Baebius, Ilias Latina", {NAMELESS}),
        ("Vergilius", set()),
        ("Aen", set()),
        ("", set()),
        (" , ", set()),
    ],
)
def test_a_querys_own_work_is_told_by_its_title(name: str, own: set[Work]) -> None:
    assert own_works(name, LINES) == own


@given(st.text())
def test_a_works_own_label_is_always_its_own(title: str) -> None:
    work = Work("Lucanus", title)
    assert work in own_works(work.label, [work]) or not folded(title)


def test_a_poem_does_not_find_itself_unless_that_is_wanted(index: LocalIndex) -> None:
    queries = [Query("arma virumque", "1", work="Vergil, Aeneis 1"), Query("arma virumque", "2")]
    retriever = Retriever(index, QueryOptions(reranker=None, grouped=False))
    own, other = ([hit.id for hit in answer.hits] for answer in retriever.answers(queries))
    assert "AenV1" in other
    assert not {"AenV1", "AenV2"} & set(own)
    # All else is as it was, in the same order.
    assert own == [identifier for identifier in other if not identifier.startswith("Aen")]
    assert retriever.warnings == (
        "left out of the answers to its own words: Vergilius, Aeneis; "
        "--own-work (own_work in Python) keeps it",
    )
    kept = QueryOptions(reranker=None, grouped=False, search_filter=SearchFilter(own_work=True))
    again = Retriever(index, kept)
    assert [hit.id for hit in next(again.answers(queries)).hits] == other
    assert again.warnings == ()


def test_where_nothing_else_could_be_found_nothing_is_left_out(index: LocalIndex) -> None:
    only = OwnWork(index, SearchFilter(works=frozenset({"Aeneis"})))
    assert only.filter_of("Vergil, Aeneis") == SearchFilter(works=frozenset({"Aeneis"}))
    assert only.note == ""


def test_a_server_filters_alike(server: Server, index: LocalIndex) -> None:
    analyser = Analyser()
    analysed = analyse_passages(passages(), analyser)
    build_es_index(server, "poems", analysed, IndexSettings(analyser.settings))
    remote = open_index(server, "poems")
    assert remote.works() == index.works()
    assert remote.passages(["AenV1", "Ili1"]) == index.passages(["AenV1", "Ili1"])
    filters = [
        SearchFilter(authors=frozenset({"Ovidius", ""})),
        SearchFilter(works=frozenset({"Carmina"}), excluded_authors=frozenset({"Catullus"})),
        SearchFilter(excluded_works=frozenset({"Aeneis", "Carmina"})),
        SearchFilter(left_out=frozenset({*SHARED[:1], NAMELESS, VERGIL})),
        SearchFilter(authors=frozenset({"Ovidius"}), left_out=frozenset({OVID})),
    ]
    for chosen in filters:
        assert remote.ids(chosen) == index.ids(chosen)
    query = Query("arma virumque", work="Vergil, Aeneis 1")
    here, there = (
        Retriever(each, QueryOptions(generators=["bm25"], reranker=None)).answer(query).hits
        for each in (index, remote)
    )
    assert [hit.id for hit in there] == [hit.id for hit in here] != []
    assert not {"AenV1", "AenV2"} & {hit.id for hit in there}


def write_table(folder: Path) -> Path:
    """The passages as a table for `index`."""
    rows = [f"{p.id}\t{p.text}\t{p.work}\t{p.author}" for p in passages()]
    path = folder / "works-of-poets.tsv"
    path.write_text("\n".join(["id\ttext\twork\tauthor", *rows]))
    return path


def test_commands_filter_and_say_what_they_left_out(run: Run, tmp_path: Path) -> None:
    table = write_table(tmp_path)
    options = ["--no-vectors", "--no-learned-links"]
    assert run("index", str(table), *options).returncode == 0

    def found(*arguments: str) -> tuple[list[str], str]:
        done = run(
            "query", *arguments, "--name", "works-of-poets", "--rerank", "none", "--format", "json",
            "--first-stage", "bm25", "--no-group",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        return [hit["id"] for answer in answers for hit in answer["hits"]], done.stderr

    everything, _ = found("arma")
    assert set(everything) == {"AenV1", "MetO2", "CarH1", "CarC1", "Ili1"}
    assert set(found("arma", "--author", "ovidius")[0]) == {"MetO2"}
    assert set(found("arma", "--exclude-work", "Carmina")[0]) == {"AenV1", "MetO2", "Ili1"}
    assert set(found("arma", "--exclude-author", "Horatius")[0]) == set(everything) - {"CarH1"}
    queries = tmp_path / "q.jsonl"
    queries.write_text('{"text": "arma", "author": "Ovid", "title": "Metamorphoses 2"}\n')
    own, told = found(str(queries))
    assert set(own) == set(everything) - {"MetO2"}
    assert told.count("Ovidius, Metamorphoses") == 1
    kept, told = found(str(queries), "--own-work")
    assert (kept, told) == (everything, "")
    done = run("query", "arma", "--name", "works-of-poets", "--work", "Pharsalia")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--work: index 'works-of-poets' has no work 'Pharsalia'; it has Aeneis" in done.stderr


def test_an_evaluation_leaves_each_querys_own_work_out(run: Run, tmp_path: Path) -> None:
    table = write_table(tmp_path)
    assert run("index", str(table), "--no-vectors", "--no-learned-links").returncode == 0
    gold = tmp_path / "gold.jsonl"
    gold.write_text(
        '{"query_id": "m", "text": "arma virum cano dabunt", "relevant": ["CarH1"],'
        ' "author": "Vergil", "title": "Aeneis 1"}\n'
    )
    options = [
        "--name", "works-of-poets", "--methods", "none", "--first-stage", "bm25",
        "--measures", "mrr",
        "--format", "json", "--workers", "1", "--resamples", "0",
    ]  # fmt: skip

    def mrr(*more: str) -> tuple[float, str]:
        done = run("evaluate", str(gold), *options, *more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)[0]["mrr"], done.stderr

    value, told = mrr()
    assert value == 100
    assert "Vergilius, Aeneis" in told
    value, told = mrr("--own-work")
    assert value == 50
    assert "left out" not in told
    value, _ = mrr("--own-work", "--exclude-author", "vergilius")
    assert value == 100
