"""The command line on a real server: the same answers as in this process."""

import json
from collections.abc import Sequence

import pytest
from processes import Run

from allusion_es.corpora.passage import Passage

QUERIES = [
    "gustate et videte quoniam suavis est Dominus",
    "sed dilectio illa supereminet omni scientiae",
    "xyzzy",
]
NAME = "by-command"


@pytest.fixture(scope="module")
def passages(vulgate_passages: Sequence[Passage]) -> Sequence[Passage]:
    """The Psalms and the New Testament; `test_es_same_answers` compares the whole Vulgate."""
    return [p for p in vulgate_passages if p.book == "Ps" or p.testament == "nt"]


@pytest.fixture(scope="module")
def url(
    elasticsearch_url_any: str,
    run: Run,
    passages: Sequence[Passage],
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    path = tmp_path_factory.mktemp("cli-es") / "psalms-and-new-testament.tsv"
    path.write_text("id\ttext\n" + "".join(f"{p.id}\t{p.text}\n" for p in passages))
    for there in ((), ("--es", elasticsearch_url_any)):
        done = run("index", str(path), "--name", NAME, *there)
        assert done.returncode == 0, done.stderr
        assert f"index '{NAME}': {len(passages)} passages" in done.stderr
    return elasticsearch_url_any


@pytest.fixture(scope="module")
def stdin(passages: Sequence[Passage]) -> str:
    return "\n".join([*QUERIES, *(p.text for p in passages[7::430])])


@pytest.mark.parametrize("stage", ["bm25", "tfidf", "knn", "rrf"])
@pytest.mark.parametrize("rerank", ["soft-cosine", "none"])
def test_answers_are_the_same(run: Run, url: str, stdin: str, stage: str, rerank: str) -> None:
    more = ("--format", "json", "--first-stage", stage, "--rerank", rerank, "--top", "50")
    here = run("query", "-", *more, "--name", NAME, stdin=stdin)
    there = run("query", "-", *more, "--es", url, "--name", NAME, stdin=stdin)
    assert (here.returncode, there.returncode, there.stderr) == (0, 0, here.stderr)
    for one, other in zip(here.stdout.splitlines(), there.stdout.splitlines(), strict=True):
        local, remote = json.loads(one), json.loads(other)
        assert local["query"] == remote["query"]
        scores = [hit["score"] for hit in local["hits"]]
        # Where neighbours have the same score but for rounding, their order may differ; fused by
        # rank, that is one place more or less.
        swapped = 1 / 60 - 1 / 61 if (stage, rerank) == ("rrf", "none") else 0
        found = [hit["score"] for hit in remote["hits"]]
        assert found == pytest.approx(scores, rel=1e-4, abs=swapped)
        assert len({h["id"] for h in local["hits"]} ^ {h["id"] for h in remote["hits"]}) <= 2


def test_what_is_asked_of_both_is_found_by_both(run: Run, url: str) -> None:
    for text, verse, within in ((QUERIES[0], "Ps.33.9", 1), (QUERIES[1], "Eph.3.19", 50)):
        arguments = ("query", text, "--format", "json", "--top", "50", "--es", url, "--name", NAME)
        hits = json.loads(run(*arguments).stdout)["hits"]
        assert verse in [hit["id"] for hit in hits[:within]]


def test_the_index_is_listed_and_the_doctor_sees_the_server(
    run: Run, url: str, passages: Sequence[Passage]
) -> None:
    rows = json.loads(run("list", "indexes", "--es", url, "--format", "json").stdout)
    assert (NAME, url, f"{len(passages)} passages") in {
        (r["name"], r["where"], r["detail"]) for r in rows
    }
    done = run("doctor", "--es", url, "--format", "json")
    server = next(row for row in json.loads(done.stdout) if row["what"] == "server")
    assert server["state"] == "ok"
    assert "Elasticsearch 8." in server["detail"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--name", "gone"], 7, "has no index 'gone'"),
        (["--candidates", "10001"], 2, "10001 candidates are more than the 10000"),
        (["--name", "No"], 2, "index name 'No'"),
    ],
)
def test_bad_input_is_one_line(
    run: Run, url: str, arguments: list[str], status: int, said: str
) -> None:
    done = run("query", "Deus", "--es", url, "--name", NAME, *arguments)
    assert said in done.stderr
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (status, "", 1)
