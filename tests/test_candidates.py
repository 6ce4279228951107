"""Candidates on a real server: complete or not there at all, never twice, listed, deleted."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import Run

from allusion_es.core.errors import (
    IndexMissingError,
    InputError,
    ServerRefusedError,
    UsageError,
)
from allusion_es.es import alias_swap, bulk
from allusion_es.es.catalogue import list_indexes
from allusion_es.es.connection import Server
from allusion_es.es.documents import MAX_ID_BYTES
from allusion_es.es.kibana import pushed_runs
from allusion_es.es.kibana.candidate import (
    Candidate,
    StageNames,
    StageRank,
    describe_candidate,
    document_id,
)
from allusion_es.es.kibana.pushed_runs import ALIAS, delete_run, list_runs, push_candidates
from allusion_es.retrieval.types import Contribution

STAGES = StageNames(("bm25",), ("soft-cosine", "fuse:bm25+wmd"))
FOUND = Candidate(
    "q1",
    "Ps.33.9",
    query_text="gustate <b>et</b> uidete",
    query_lemmas=("gusto", "et", "uideo"),
    gold=True,
    loss="",
    reference="Ps 33,9",
    book="Ps",
    testament="ot",
    order=14000,
    text="Gustate et videte quoniam suavis est Dominus",
    first=StageRank(3, 12.5),
    final=StageRank(1, 0.75),
    first_stages={"bm25": StageRank(3, 12.5)},
    rerankers={"soft-cosine": StageRank(1, 0.75), "fuse:bm25+wmd": StageRank(2, None)},
    author="Bernardus",
    title="Sermo 3",
    type="allusion",
    contributions=(Contribution("gusto", "gusto", 0.5), Contribution("et", "sed", 0.018)),
    other_contributions=0.25,
    beyond_words=-0.1,
)
LOST = Candidate("q1", "Eph.3.19", gold=True, loss="first stage", book="Eph", testament="nt")


def documents(server: Server) -> dict[str, dict[str, Any]]:
    """Every document behind the alias, by id."""
    answer = server.request("GET", f"/{ALIAS}/_search?size=1000")
    return {hit["_id"]: hit["_source"] for hit in answer["hits"]["hits"]}


def several(number: int, query_id: str = "q") -> list[Candidate]:
    return [Candidate(query_id, f"v.{n}", final=StageRank(n, -n)) for n in range(1, number + 1)]


def test_what_stands_in_the_documents(server: Server) -> None:
    summary = push_candidates(server, "run 1", [FOUND, LOST], STAGES, method="by hand")
    assert (summary.documents, summary.queries, summary.method) == (2, 1, "by hand")
    found = documents(server)
    assert found["run 1/q1/Eph.3.19"] == {
        "run_id": "run 1",
        "time": summary.time,
        "query_id": "q1",
        "query": "q1",
        "gold": True,
        "loss": "first stage",
        "verse_id": "Eph.3.19",
        "book": "Eph",
        "testament": "nt",
    }
    whole = found["run 1/q1/Ps.33.9"]
    assert whole["rank_gain"] == 2
    assert whole["query_lemmas"] == "gusto et uideo"
    assert (whole["candidate_rank"], whole["candidate_score"]) == (3, 12.5)
    assert (whole["final_rank"], whole["final_score"]) == (1, 0.75)
    assert whole["first_stage"] == {"bm25": {"rank": 3, "score": 12.5}}
    assert whole["rerank"] == {
        "soft-cosine": {"rank": 1, "score": 0.75},
        "fuse_bm25_wmd": {"rank": 2},
    }
    assert whole["contributions"] == ["gusto 0.5000", "et ~ sed 0.0180"]
    assert (whole["other_contributions"], whole["beyond_words"]) == (0.25, -0.1)
    assert whole["query"] == "gustate <b>et</b> uidete (q1)"
    assert (whole["author"], whole["title"], whole["type"]) == ("Bernardus", "Sermo 3", "allusion")


def test_fields_of_each_stage_can_be_searched(server: Server) -> None:
    push_candidates(server, "r", [FOUND, LOST], STAGES)
    for field in ("first_stage.bm25.rank", "rerank.soft-cosine.score", "rerank.fuse_bm25_wmd.rank"):
        body = {"query": {"range": {field: {"gte": 0.5}}}}
        answer = server.request("POST", f"/{ALIAS}/_search", body)
        assert [hit["_source"]["verse_id"] for hit in answer["hits"]["hits"]] == ["Ps.33.9"]


def test_pushed_twice_there_are_no_duplicates_and_no_remains(server: Server) -> None:
    push_candidates(server, "r", several(30), StageNames())
    push_candidates(server, "other", several(3), StageNames())
    first = documents(server)
    push_candidates(server, "r", several(30), StageNames())
    second = documents(server)
    assert first.keys() == second.keys()
    assert len(second) == 33
    push_candidates(server, "r", several(10), StageNames())
    assert len(documents(server)) == 13
    assert [(run.run_id, run.documents) for run in list_runs(server)] == [("other", 3), ("r", 10)]
    assert len(server.request("GET", f"/{ALIAS}-*")) == 2


def test_one_run_is_deleted_and_the_others_stay(server: Server) -> None:
    for run_id in ("a*", "a", "b/c"):
        push_candidates(server, run_id, several(2), StageNames())
    assert delete_run(server, "a*").documents == 2
    assert [run.run_id for run in list_runs(server)] == ["a", "b/c"]
    with pytest.raises(IndexMissingError, match=r"no candidates of run '\*' \(it has 'a', 'b/c'\)"):
        delete_run(server, "*")
    delete_run(server, "a")
    delete_run(server, "b/c")
    assert list_runs(server) == []


def test_what_the_server_refuses_is_named_and_nothing_changes(server: Server) -> None:
    push_candidates(server, "r", several(3), StageNames())
    before = documents(server)
    bad = [*several(5, "q2"), Candidate("q3", "x" * 40_000)]
    with pytest.raises(
        InputError, match=r"did not index 'r/q3/xxx.*parse field .verse_id.*nothing was changed"
    ) as e:
        push_candidates(server, "r", bad, StageNames())
    assert "\n" not in str(e.value)
    assert documents(server) == before
    assert len(server.request("GET", f"/{ALIAS}-*")) == 1


def test_a_field_without_a_mapping_is_refused(server: Server) -> None:
    with pytest.raises(InputError, match=r"'r/q1/Ps.33.9' \(strict_dynamic_mapping_exception"):
        push_candidates(server, "r", [FOUND], StageNames())
    assert server.request("GET", f"/{ALIAS}-*") == {}


def test_an_interrupted_push_leaves_nothing(server: Server) -> None:
    def interrupted() -> Iterator[Candidate]:
        yield from several(5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        push_candidates(server, "r", interrupted(), StageNames())
    assert server.request("GET", f"/{ALIAS}-*") == {}


def test_the_count_is_verified(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    push_candidates(server, "r", several(2), StageNames())
    sent = bulk.index_documents

    def one_too_few(server: Server, index: str, items: Any) -> int:  # noqa: ANN401
        held = list(items)
        sent(server, index, held[1:])
        return len(held)

    monkeypatch.setattr(pushed_runs, "index_documents", one_too_few)
    with pytest.raises(ServerRefusedError, match="holds 3 of 4 candidates; they were discarded"):
        push_candidates(server, "r", several(4), StageNames())
    assert len(documents(server)) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "no candidates"),
        ([*several(2), *several(1)], "query 'q' has passage 'v.1' twice"),
        ([*several(1), *several(1, "p"), *several(1)], "query 'q' is there twice"),
        ([Candidate("\ud800", "v")], "cannot be written in UTF-8"),
        ([Candidate("q", "v", final=StageRank(1, float("nan")))], "not a finite number"),
    ],
)
def test_bad_candidates(server: Server, given: list[Candidate], message: str) -> None:
    with pytest.raises(InputError, match=message):
        push_candidates(server, "r", given, StageNames())
    assert server.request("GET", f"/{ALIAS}-*") == {}


@pytest.mark.parametrize("run_id", ["", "  ", "a\nb", "a\x1b[31m", "x" * 201, "\ud800"])
def test_bad_run_ids(server: Server, run_id: str) -> None:
    with pytest.raises(UsageError, match="run id"):
        push_candidates(server, run_id, several(1), StageNames())


@pytest.mark.parametrize("run_id", ["*", "../_all", "a/b%2F", '"<script>', "Ψαλμός 22", "_all,-x"])
def test_hostile_run_ids_are_but_names(server: Server, run_id: str) -> None:
    hostile = [Candidate(query_id, verse) for query_id in ("*", "a\n/b") for verse in ("?", "-x")]
    push_candidates(server, "kept", several(1), StageNames())
    for _ in range(2):
        push_candidates(server, run_id, hostile, StageNames())
    assert len(documents(server)) == 5
    assert {run.run_id for run in list_runs(server)} == {"kept", run_id}
    delete_run(server, run_id)
    assert [run.run_id for run in list_runs(server)] == ["kept"]


def test_candidates_are_no_index_of_passages(server: Server) -> None:
    push_candidates(server, "r", several(1), StageNames())
    assert list_indexes(server) == []


def test_documents_are_made_while_they_are_sent(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, held = 0, []
    monkeypatch.setattr(bulk, "BATCH_DOCUMENTS", 10)
    send = Server.send_lines

    def counting(self: Server, path: str, lines: Any) -> dict[str, Any]:  # noqa: ANN401
        answer = send(self, path, lines)
        held.append(made)
        return answer

    def endless() -> Iterator[Candidate]:
        nonlocal made
        for candidate in several(200):
            made += 1
            yield candidate

    monkeypatch.setattr(Server, "send_lines", counting)
    push_candidates(server, "r", endless(), StageNames())
    assert len(held) == 20
    # A batch is made ready while as many as may be under way are.
    assert all(made <= 10 * (n + 1 + bulk.IN_FLIGHT) for n, made in enumerate(held, start=1))


def test_half_pushed_runs_of_dead_processes_are_cleared_away(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = f"{ALIAS}-20200101000000-00000000"
    server.request("PUT", f"/{left}")
    server.request("PUT", f"/{ALIAS}-of-somebody")
    push_candidates(server, "r", several(1), StageNames())
    assert left in server.request("GET", f"/{ALIAS}-*")  # it may still be at work
    monkeypatch.setattr(alias_swap, "STALE_SECONDS", -1)
    push_candidates(server, "r", several(1), StageNames())
    names = server.request("GET", f"/{ALIAS}-*")
    assert left not in names
    assert f"{ALIAS}-of-somebody" in names


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)
SHORT = st.text("a/%", max_size=4)


@given(st.lists(st.tuples(SHORT, SHORT, SHORT) | st.tuples(TEXTS, TEXTS, TEXTS), unique=True))
def test_each_candidate_has_an_id_of_its_own(triples: list[tuple[str, str, str]]) -> None:
    ids = [document_id(*triple) for triple in triples]
    assert len(set(ids)) == len(ids)
    assert all(len(each.encode()) <= MAX_ID_BYTES for each in ids)
    assert ids == [document_id(*triple) for triple in triples]


def test_long_ids_that_differ_at_the_end_differ() -> None:
    assert document_id("r", "q" * 600, "v1") != document_id("r", "q" * 600, "v2")


def test_documents_are_the_same_every_time() -> None:
    assert describe_candidate("r", "t", FOUND) == describe_candidate("r", "t", replace(FOUND))


def test_stages_that_cannot_be_told_apart() -> None:
    with pytest.raises(UsageError, match="cannot be told apart"):
        StageNames(rerankers=("fuse:a+b", "fuse:a:b"))


VERSES = """id\ttext\tbook\ttestament
Gen.1.1\tin principio deus caelum\tGen\tot
Gen.1.2\tdeus terra lux\tGen\tot
Ps.1.1\tbeatus uir\tPs\tot
John.1.1\tin principio uerbum\tJohn\tnt
"""


@pytest.fixture(scope="module")
def es(
    run: Run, elasticsearch_url_any: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, ...]:
    """The options that name a server with a little index."""
    path = tmp_path_factory.mktemp("little") / "little.tsv"
    path.write_text(VERSES)
    options = ("--es", elasticsearch_url_any, "--name", "little")
    done = run("index", str(path), *options, "--no-vectors", "--no-learned-links")
    assert done.returncode == 0, done.stderr
    return options


def gold_file(folder: Path) -> Path:
    links = [
        {
            "query_id": "a",
            "text": "principio uerbum",
            "relevant": ["Gen 1,1", "Ps.1.1"],
            "author": "Augustinus",
            "title": "Sermo 9",
            "type": "allusion",
        },
        {"query_id": "b", "text": "xyzzy", "relevant": ["John.1.1"]},
    ]
    path = folder / "links.jsonl"
    path.write_text("".join(json.dumps(link) + "\n" for link in links))
    return path


def rows_of(es: tuple[str, ...], run_id: str) -> dict[tuple[str, str], dict[str, Any]]:
    with Server.connect(es[1]) as server:
        body = {"query": {"term": {"run_id": run_id}}, "size": 100}
        answer = server.request("POST", f"/{ALIAS}/_search", body)
    found = [hit["_source"] for hit in answer["hits"]["hits"]]
    return {(row["query_id"], row["verse_id"]): row for row in found}


def test_queries_are_pushed_with_gold_and_losses(
    run: Run, es: tuple[str, ...], tmp_path: Path
) -> None:
    arguments = ("candidates", "push", "--from-query", str(gold_file(tmp_path)), *es)
    stages = ("--first-stage", "bm25,tfidf", "--rerank", "jaccard,bow")
    for _ in range(2):
        done = run(*arguments, *stages)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    name = "links.bm25+tfidf.lemma.jaccard+bow"
    assert done.stderr == f"run '{name}': 4 candidates of 2 queries in {es[1]}\n"
    rows = rows_of(es, name)
    assert {key: (row["gold"], row.get("loss")) for key, row in rows.items()} == {
        ("a", "John.1.1"): (False, None),
        ("a", "Gen.1.1"): (True, ""),
        ("a", "Ps.1.1"): (True, "first stage"),
        ("b", "John.1.1"): (True, "first stage"),
    }
    best = rows["a", "John.1.1"]
    # Jaccard: two of three lemmas shared. Bag of words: 2 / (sqrt 2 * sqrt 3).
    assert best["final_score"] == pytest.approx(2 / 3)
    assert best["rerank"]["jaccard"] == {"rank": 1, "score": best["final_score"]}
    assert best["rerank"]["bow"] == {"rank": 1, "score": pytest.approx(2 / 6**0.5)}
    assert set(best["first_stage"]) == {"bm25", "tfidf"}
    assert best["candidate_score"] == pytest.approx(2 / 61)
    assert best["contributions"] == ["principium 0.3333", "uerbum 0.3333"]
    assert (best["book"], best["testament"], best["reference"]) == ("Joh", "nt", "Joh 1,1")
    assert (best["author"], best["title"], best["type"]) == ("Augustinus", "Sermo 9", "allusion")
    assert best["query"] == "principio uerbum (a)"


def test_contributions_are_words_to_read(run: Run, es: tuple[str, ...], tmp_path: Path) -> None:
    """What else adds to a learned score, such as lengths and ranks, is one number beside them."""
    path = gold_file(tmp_path)
    done = run("candidates", "push", "--from-query", str(path), *es, "--run-id", "by-words")
    assert done.returncode == 0, done.stderr
    best = rows_of(es, "by-words")["a", "John.1.1"]
    told = [re.fullmatch(r"\w+(?: ~ \w+)? (-?\d+\.\d{4})", each) for each in best["contributions"]]
    assert told
    words = sum(float(each[1]) for each in told if each)
    assert all(told)
    assert words + best.get("other_contributions", 0) + best["beyond_words"] == pytest.approx(
        best["final_score"], abs=1e-3
    )


def test_a_run_is_pushed(run: Run, es: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "mine.run"
    path.write_text("a Q0 Ps.1.1 1 -2000.5 t\na Q0 Gen.1.2 2 -3000 t\nc Q0 Gen.1.2 1 1 t\n")
    gold = ("--gold", str(gold_file(tmp_path)))
    done = run("candidates", "push", str(path), *es, *gold)
    assert done.stderr == f"run 'mine': 5 candidates of 3 queries in {es[1]}\n"
    rows = rows_of(es, "mine")
    assert rows["a", "Ps.1.1"]["loss"] == ""
    assert rows["a", "Ps.1.1"]["final_score"] == -2000.5
    assert rows["a", "Ps.1.1"]["query_text"] == "principio uerbum"
    assert rows["a", "Gen.1.1"]["loss"] == "first stage"
    assert rows["b", "John.1.1"]["loss"] == "first stage"
    assert "gold" not in rows["c", "Gen.1.2"]
    assert not any("candidate_rank" in row for row in rows.values())


def test_runs_are_listed_and_deleted(run: Run, es: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "gone.run"
    path.write_text("a Q0 Ps.1.1 1 2 t\n")
    run("candidates", "push", str(path), *es, "--run-id", "--x", "--local", "--name", "nowhere")
    assert run("candidates", "push", str(path), *es, "--run-id", "x y").returncode == 0
    listed = run("candidates", "list", "--es", es[1], "--format", "json").stdout
    row = next(row for row in json.loads(listed) if row["run_id"] == "x y")
    assert (row["queries"], row["documents"], row["method"]) == (1, 1, "TREC run gone.run")
    done = run("candidates", "delete", "x y", "--es", es[1])
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"run 'x y': 1 candidates deleted from {es[1]}\n"
    done = run("candidates", "delete", "x y", "--es", es[1])
    assert done.returncode == 7
    assert "has no candidates of run 'x y'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "either a TREC run or --from-query"),
        (["{run}", "--from-query", "{gold}"], 2, "either a TREC run or --from-query"),
        (["{run}"], 5, "nowhere.run: index 'little' has no passage 'Sermo.1'"),
        (["{gone}"], 4, "cannot be read"),
        (["--from-query", "{gold}", "--rerank", "jaccard,jaccard"], 2, "named twice"),
        (["--from-query", "{gold}", "--rerank", ","], 2, "--rerank names nothing"),
        (["--from-query", "{gold}", "--rerank", "nix"], 11, "no rerankers plug-in 'nix'"),
        (["--from-query", "{gold}", "--rerank", "bow", "--set", "wmd.x=1"], 2, "of wmd are set"),
        (["--from-query", "{gold}", "--candidates", "0"], 2, "at least 1"),
        (["--from-query", "{bad}", "--rerank", "bow"], 5, "bad.jsonl:1"),
        (["--from-query", "{gold}", "--run-id", " "], 2, "run id"),
    ],
)
def test_bad_input_is_one_line(
    run: Run,
    es: tuple[str, ...],
    tmp_path: Path,
    arguments: list[str],
    status: int,
    message: str,
) -> None:
    (tmp_path / "nowhere.run").write_text("a Q0 Sermo.1 1 2 t\n")
    (tmp_path / "bad.jsonl").write_text('{"text": "uerbum", "relevant": ["Ps 151,1"]}\n')
    names = {
        "{run}": "nowhere.run",
        "{gone}": "gone.run",
        "{bad}": "bad.jsonl",
        "{gold}": gold_file(tmp_path).name,
    }
    given = [str(tmp_path / names[word]) if word in names else word for word in arguments]
    done = run("candidates", "push", *given, *es)
    assert message in done.stderr
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (status, "", 1)


def test_a_server_must_be_named(run: Run, tmp_path: Path) -> None:
    for arguments in (("push", "--from-query", "deus"), ("list",), ("delete", "x")):
        done = run("candidates", *arguments)
        assert done.returncode == 2
        assert "Elasticsearch" in done.stderr or "--es URL" in done.stderr
