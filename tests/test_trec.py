"""TREC files: written, read again, and refused where they are wrong."""

import itertools
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import InputError, UsageError
from allusion_es.evaluation.trec import (
    escape,
    escape_note,
    read_qrels,
    read_run,
    read_topics,
    run_lines,
    topic_line,
    unescape,
    write_qrels,
    write_run,
)
from allusion_es.retrieval.types import Ranking

RUN = "q1 Q0 Ps.1.1 1 0.5 tag\n"


def test_the_order_is_by_score_then_id_never_by_the_column_of_ranks(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text(
        "q2 Q0 Ps.1.9 1 -1 tag\n\nq1 Q0 Ps.1.2 1 0.5 tag\nq1\tQ0\tPs.1.1\t2\t5e-1\ttag\r\n"
        "q1 Q0 Ps.1.3 3 7 tag\n"
    )
    run = read_run(path)
    assert list(run) == ["q2", "q1"]
    assert run["q1"].ids == ("Ps.1.3", "Ps.1.2", "Ps.1.1")
    assert run["q1"].scores.tolist() == [7, 0.5, 0.5]


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][0-9]{1,3}", fullmatch=True),
        st.dictionaries(
            st.from_regex(r"Ps\.[1-9]\.[1-9]", fullmatch=True),
            st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, 0.5, -0.5, 1e-40]),
            min_size=1,
        ),
        min_size=1,
    )
)
def test_a_written_run_is_read_in_the_same_order(
    tmp_path_factory: pytest.TempPathFactory, scores: dict[str, dict[str, float]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "property-run"
    rankings = {}
    for query_id, scored in scores.items():
        order = sorted(scored, key=lambda passage: (-scored[passage], passage))
        rankings[query_id] = Ranking(tuple(order), np.array([scored[p] for p in order]))
    write_run(path, rankings, "tag")
    again = read_run(path)
    assert {name: each.ids for name, each in again.items()} == {
        name: each.ids for name, each in rankings.items()
    }
    for each in again.values():
        assert (np.diff(each.scores) < 0).all()
        assert np.isfinite(each.scores).all()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("q1 Q0 Ps.1.1 1 0.5\n", r"run:1: 5 columns instead of 6; write 'query_id Q0"),
        (RUN + "q1 Q0 Ps.1.2 2 high tag\n", r"run:2: score 'high' is not a finite number"),
        (RUN + "q1 Q0 Ps.1.2 2 1_0 tag\n", r"run:2: score '1_0' is not a finite number"),
        (RUN + "q1 Q0 Ps.1.2 2 nan tag\n", r"run:2: score 'nan' is not a finite number"),
        (RUN + "q1 Q0 Ps.1.2 2 1e39 tag\n", r"run:2: score '1e39' is beyond single precision"),
        (RUN + "q1 Q0 Ps.1.2 2 -inf tag\n", r"run:2: score '-inf' is not a finite number"),
        (RUN + "\n" + RUN, r"run:3: passage 'Ps.1.1' is there twice for query 'q1'"),
        (RUN + "q2 Q0 Ps.1.2 2 0.1 other\n", r"run:2: tag 'other' after 'tag'"),
        ("\n", r"run: there is no ranked passage"),
    ],
)
def test_wrong_runs_are_refused(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text(text)
    with pytest.raises(InputError, match=told):
        read_run(tmp_path / "run")


def test_what_cannot_stand_in_a_run_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="empty passage id cannot stand"):
        write_run(tmp_path / "run", {"q": Ranking(("a", ""), np.array([2.0, 1.0]))}, "tag")
    assert not list(tmp_path.iterdir())
    lowest = -float(np.finfo(np.float32).max)
    with pytest.raises(UsageError, match="of 'b' is beyond single precision"):
        list(run_lines("q", Ranking(("a", "b"), np.array([lowest, lowest])), "tag"))
    for score in (np.nan, np.inf, -1e39):
        with pytest.raises(UsageError, match=r"of 'a' is beyond single precision"):
            list(run_lines("q", Ranking(("a",), np.array([score])), "tag"))
    for query_id, tag in (("", "tag"), ("q", "")):
        with pytest.raises(UsageError, match="cannot stand in a TREC file"):
            list(run_lines(query_id, Ranking(("a",), np.array([1.0])), tag))


NAMES = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from(" %\t\n\u00a0\u2003\x1c209aA"),
    min_size=1,
)


@given(NAMES)
def test_what_is_escaped_is_one_word_and_comes_back(name: str) -> None:
    written = escape(name)
    assert written.split() == [written]
    assert unescape(written) == name
    assert unescape(name.replace("%", "")) == name.replace("%", "")


@given(
    st.dictionaries(NAMES, st.lists(NAMES, unique=True, min_size=1, max_size=5), min_size=1),
    st.text("my run%", min_size=1),
)
def test_ids_with_blanks_come_back(
    tmp_path_factory: pytest.TempPathFactory, relevant: dict[str, list[str]], tag: str
) -> None:
    folder = tmp_path_factory.getbasetemp()
    notes: list[str] = []
    rankings = {
        name: Ranking(tuple(ids), np.arange(len(ids), 0, -1.0)) for name, ids in relevant.items()
    }
    write_run(folder / "blank-run", rankings, tag, notes.append)
    again = read_run(folder / "blank-run")
    assert {name: each.ids for name, each in again.items()} == {
        name: each.ids for name, each in rankings.items()
    }
    special = any(
        escape(name) != name for name in (tag, *relevant, *itertools.chain(*relevant.values()))
    )
    assert len(notes) == special
    write_qrels(folder / "blank-qrels", relevant, notes.append)
    found: dict[str, list[str]] = {}
    for judgement in read_qrels(folder / "blank-qrels"):
        found.setdefault(judgement.query_id, []).append(judgement.passage)
    assert found == relevant
    (folder / "blank-topics").write_text(
        "".join(topic_line(name, "in principio") + "\n" for name in relevant), "utf-8", newline=""
    )
    assert list(read_topics(folder / "blank-topics")) == list(relevant)


def test_a_file_with_escapes_is_told_once() -> None:
    told: list[str] = []
    ranking = Ranking(("verg. aen. 1.1", "verg. aen. 1.2"), np.array([2.0, 1.0]))
    lines = list(escape_note(run_lines("q", ranking, "tag"), told.append))
    assert lines[0] == "q Q0 verg.%20aen.%201.1 1 2.0 tag"
    assert told == [
        "blanks and % in ids are escaped in TREC files: 'verg. aen. 1.1' is written "
        "verg.%20aen.%201.1"
    ]


def test_other_signs_with_percent_are_read_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("q%c3 Q0 50% 1 2 t%\nq%c3 Q0 %41 2 1 t%\nq%c3 Q0 a%20b 3 0 t%\n")
    assert read_run(path)["q%c3"].ids == ("50%", "%41", "a b")


@given(
    st.dictionaries(
        st.text("abAB.19é", min_size=1, max_size=3),
        st.floats(-10, 10) | st.sampled_from([0.5, 0.5 + 1e-9, 1 / 3, -0.0, 0.0, 1e-46]),
        min_size=2,
    )
)
def test_ties_are_broken_as_trec_eval_breaks_them(
    tmp_path_factory: pytest.TempPathFactory, scores: dict[str, float]
) -> None:
    """Its reciprocal rank of each passage, when that alone is relevant, is one over our rank."""
    path = tmp_path_factory.getbasetemp() / "tied-run"
    path.write_text("".join(f"q Q0 {name} 0 {score!r} tag\n" for name, score in scores.items()))
    ranked = read_run(path)["q"].ids
    measure = ir_measures.measures.RR
    theirs = list(ir_measures.read_trec_run(str(path)))  # type: ignore[no-untyped-call]
    for rank, name in enumerate(ranked, start=1):
        found = ir_measures.calc_aggregate([measure], [ir_measures.Qrel("q", name, 1)], theirs)
        assert found[measure] == pytest.approx(1 / rank)


def test_qrels(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    write_qrels(path, {"q1": ["Ps.1.1", "Ps.1.2"], "q2": ["Isa.7.14"]})
    assert path.read_text() == "q1 0 Ps.1.1 1\nq1 0 Ps.1.2 1\nq2 0 Isa.7.14 1\n"
    found = [(j.query_id, j.passage, j.grade, j.line) for j in read_qrels(path)]
    assert found == [("q1", "Ps.1.1", 1, 1), ("q1", "Ps.1.2", 1, 2), ("q2", "Isa.7.14", 1, 3)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("q1 0 Ps.1.1\n", r"qrels:1: 3 columns instead of 4"),
        ("q1 0 Ps.1.1 yes\n", r"qrels:1: grade 'yes' is not a whole number"),
        ("q1 0 Ps.1.1 1\nq1 0 Ps.1.1 0\n", r"qrels:2: passage 'Ps.1.1' is judged twice .*line 1"),
        ("", r"qrels: there is no judgement"),
    ],
)
def test_wrong_qrels_are_refused(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(InputError, match=told):
        read_qrels(tmp_path / "qrels")


TOPICS = {"301": "in principio & erat", "302": "verbum"}


@pytest.mark.parametrize(
    "text",
    [
        "301\tin principio & erat\n\n302\tverbum\n",
        "<top>\n<num> Number: 301\n<title> in principio\n&amp; erat\n<desc> Description:\nwords\n"
        "</top>\n<top><num>302</num><title>verbum</title></top>",
        "<top>\n<num> 301\n<title> Topic: in principio & erat\n<top>\n<num> 302 <title> verbum\n",
    ],
)
def test_topics(text: str, tmp_path: Path) -> None:
    (tmp_path / "topics").write_text(text)
    assert read_topics(tmp_path / "topics") == TOPICS


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1\tverbum\n2\n", r"topics:2: the topic has no words"),
        ("\tverbum\n", r"topics:1: the topic has no number"),
        ("<top><num>1<title>a</top>\n<top><title>b</top>", r"topics:2: the topic has no number"),
        ("<top>\n<num>1\n</top>", r"topics:1: the topic has no words"),
        ("1\ta\n1\tb\n", r"topics:2: topic '1' is there twice"),
        ("", r"topics: there is no topic"),
    ],
)
def test_wrong_topics_are_refused(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "topics").write_text(text)
    with pytest.raises(InputError, match=told):
        read_topics(tmp_path / "topics")
