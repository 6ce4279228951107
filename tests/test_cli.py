"""The command line, run as users run it, on the real Vulgate."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from processes import Run, StartProcess, program

from allusion_es.cli.help import EXAMPLES, GroupedCommand
from allusion_es.cli.main import app
from allusion_es.cli.partial import tell_missing
from allusion_es.es.partial import Partial, Shortfall
from allusion_es.local.index import LocalIndex

TASTE = "gustate et videte quoniam suavis est Dominus"
PAPER = "sed dilectio illa supereminet omni scientiae"


@pytest.fixture(autouse=True)
def _built(vulgate_index: LocalIndex) -> None:
    """The default index is there."""


def answers(run: Run, *arguments: str, **more: str) -> list[dict[str, object]]:
    done = run("query", *arguments, "--format", "json", **more)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_quotation_is_found(run: Run) -> None:
    (answer,) = answers(run, TASTE)
    assert set(answer) == {"query", "hits"}
    assert answer["query"] == {
        "query_id": "1",
        "text": TASTE,
        "tokens": ["gustate", "et", "uidete", "quoniam", "suauis", "est", "dominus"],
        "lemmas": ["gusto", "et", "uideo", "quoniam", "suauis", "sum", "dominus"],
        "unknown": [],
    }
    first = answer["hits"][0]  # type: ignore[index]
    assert (first["rank"], first["id"], first["reference"]) == (1, "Ps.33.9", "Ps 33,9")
    assert first["text"].startswith("Gustate et videte")
    assert set(first) == {
        "rank", "id", "reference", "text", "score", "candidate_rank", "candidate_score",
        "contributions", "parallels",
    }  # fmt: skip


def test_the_papers_example_is_found(run: Run) -> None:
    (answer,) = answers(run, PAPER, "--top", "50")
    ids = [hit["id"] for hit in answer["hits"]]  # type: ignore[attr-defined]
    assert len(ids) == 50
    assert ids.index("Eph.3.19") < 10


@pytest.mark.parametrize("stage", ["bm25", "tfidf", "knn", "rrf"])
@pytest.mark.parametrize("field", ["token", "lemma", "both"])
@pytest.mark.parametrize("rerank", ["none", "soft-cosine"])
def test_every_way_explains_its_scores(run: Run, stage: str, field: str, rerank: str) -> None:
    (answer,) = answers(
        run, TASTE, "--first-stage", stage, "--field", field, "--rerank", rerank, "--explain"
    )
    hits = answer["hits"]
    assert isinstance(hits, list)
    assert hits[0]["id"] == "Ps.33.9"
    assert [hit["rank"] for hit in hits] == list(range(1, 11))
    order = [(-hit["score"], hit["id"]) for hit in hits]
    assert order == sorted(order)
    for hit in hits:
        total = sum(part["contribution"] for part in hit["contributions"])
        assert total == pytest.approx(hit["score"], rel=1e-5, abs=1e-6)


def test_filters(run: Run) -> None:
    (answer,) = answers(run, "Dominus", "--book", "Psalmi", "--book", "1 Reg", "--top", "200")
    books = {hit["id"].split(".")[0] for hit in answer["hits"]}  # type: ignore[attr-defined]
    assert books <= {"Ps", "1Sam"}
    assert "Ps" in books
    (answer,) = answers(run, "Dominus", "--testament", "nt")
    assert all(
        hit["id"].split(".")[0] in {"Matt", "Mark", "Luke", "John", "Acts", "Rom", "1Cor", "2Cor",
                                    "Gal", "Eph", "Phil", "Col", "1Thess", "2Thess", "1Tim",
                                    "2Tim", "Titus", "Phlm", "Heb", "Jas", "1Pet", "2Pet", "1John",
                                    "2John", "3John", "Jude", "Rev"}
        for hit in answer["hits"]  # type: ignore[attr-defined]
    )  # fmt: skip


def test_table_marks_shared_words(run: Run) -> None:
    done = run("query", TASTE)
    assert "*Gustate* *et* *videte* *quoniam* *suavis* *est* *Dominus*" in " ".join(
        done.stdout.replace("│", " ").split()
    )
    assert "Ps 33,9" in done.stdout


def test_table_shades_words_and_lists_pairs(run: Run) -> None:
    done = run("query", TASTE, "--rerank", "soft-cosine", "--explain", "--top", "1")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Words add to the score: some¹, more², most³;")
    printed = " ".join(done.stdout.replace("│", " ").split())
    assert "Gustate³ et videte¹ quoniam¹ suavis³ est Dominus" in printed
    assert "‡ gustate³ et videte¹ quoniam¹ suavis³ est Dominus" in printed
    assert "other pairs" in printed
    assert "\x1b" not in done.stdout


def test_parts_that_are_not_words_are_listed_apart(run: Run) -> None:
    done = run("query", PAPER, "--rerank", "tesserae", "--explain", "--top", "1")
    assert "not words of the text: ‹distance" in " ".join(done.stdout.replace("│", " ").split())


def test_tsv_and_trec(run: Run) -> None:
    lines = run("query", TASTE, "--format", "tsv").stdout.splitlines()
    assert lines[0].split("\t")[:4] == ["query_id", "rank", "id", "reference"]
    assert lines[1].split("\t")[:4] == ["1", "1", "Ps.33.9", "Ps 33,9"]
    assert len(lines) == 11
    lines = run("query", TASTE, "--format", "trec", "--tag", "mine").stdout.splitlines()
    rows = [line.split(" ") for line in lines]
    assert rows[0][:4] == ["1", "Q0", "Ps.33.9", "1"]
    assert {(len(row), row[0], row[1], row[5]) for row in rows} == {(6, "1", "Q0", "mine")}


def test_trec_scores_fall_strictly_even_where_scores_are_equal(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "same.tsv"
    table.write_text("id\ttext\n" + "".join(f"p{n}\tdeus {n}\n" for n in range(9)) + "x\tvita\n")
    assert run("index", str(table)).returncode == 0
    options = ("--first-stage", "bm25", "--rerank", "none", "--format", "trec")
    done = run("query", "deus", "--name", "same", *options)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[2] for row in rows] == [f"p{n}" for n in range(9)]
    scores = [float(row[4]) for row in rows]
    import numpy as np

    assert all(np.diff(np.array(scores, np.float32)) < 0)


def test_queries_from_stdin_and_files(run: Run, tmp_path: Path) -> None:
    both = answers(run, "-", stdin=f"{TASTE}\n\n{PAPER}\n")
    assert [answer["query"]["query_id"] for answer in both] == ["1", "3"]  # type: ignore[index]
    file = tmp_path / "queries.txt"
    file.write_text(f"\ufeff{TASTE}\r\n{PAPER}\r\n")
    texts = [answer["query"]["text"] for answer in answers(run, str(file))]  # type: ignore[index]
    assert texts == [TASTE, PAPER]
    gold = tmp_path / "gold.jsonl"
    gold.write_text(
        json.dumps({"query_id": "a", "text": TASTE, "before": "", "relevant": ["Ps.33.9"]}) + "\n"
    )
    (answer,) = answers(run, str(gold))
    assert answer["query"]["query_id"] == "a"  # type: ignore[index]
    (same,) = answers(run, "-", "--input-format", "jsonl", stdin=gold.read_text())
    assert same == answer


def test_two_runs_give_the_same_bytes(run: Run) -> None:
    one, other = (
        run("query", "-", "--format", "json", "--explain", stdin=f"{TASTE}\n{PAPER}\n").stdout
        for _ in range(2)
    )
    assert one == other


@pytest.mark.parametrize(
    ("arguments", "stdin", "status", "said"),
    [
        (["query", ""], "", 4, "query: the query is empty"),
        (["query", "  "], "", 4, "query: the query is empty"),
        (["query", "-"], "", 4, "stdin: there is no query in it"),
        (["query", "-"], b"Deus\n\xff\xfe", 4, "stdin:2: byte 5 (0xff) is not UTF-8"),
        (["query", "-"], "a " * 5_000_000, 4, "stdin:1: the query has 9999999 characters"),
        (["query", "-", "--input-format", "jsonl"], "{", 4, "stdin:1: not JSON"),
        (["query", "-", "--input-format", "jsonl"], "[]", 4, "stdin:1: field 'text' is missing"),
        (["query", "-", "--input-format", "jsonl"], '{"text": 3}', 4, "field 'text' must be a s"),
        (
            ["query", "-", "--input-format", "jsonl"],
            '{"text": "a", "query_id": "1"}\n{"text": "b", "query_id": "1"}',
            4,
            "stdin:2: query_id '1' is also on line 1",
        ),
        (["query", "-", "--input-format", "jsonl"], "[" * 100_000, 4, "stdin:1: not JSON"),
        (["query", "x", "--rerank", "magic"], "", 11, "no rerankers plug-in 'magic'; there are: "),
        (["query", "x", "--first-stage", "magic"], "", 11, "no generators plug-in 'magic'"),
        (["query", "x", "--book", "Magica"], "", 5, "'Magica' is not a book"),
        (["query", "x", "--testament", "old"], "", 2, "no testament 'old'; use ot or nt"),
        (["query", "x", "--top", "0"], "", 2, "error: --top: must be at least 1, not 0"),
        (["query", "x", "--candidates", "-3"], "", 2, "error: --candidates: must be at least 1"),
        (["query", "x", "--candidates", "many"], "", 2, "--candidates"),
        (["query", "x", "--name", "No Name"], "", 2, "index name 'No Name'"),
        (["query", "x", "--name", "../../etc"], "", 2, "index name '../../etc'"),
        (["query", "x", "--name", "gone"], "", 7, "there is no index 'gone'"),
        (["query", "x", "--nonsense"], "", 2, "--nonsense"),
        (["query", "x", "--es", "http://127.0.0.1:9"], "", 3, "docker compose up --wait"),
        (["index", "/no/such/file.tsv"], "", 4, "/no/such/file.tsv"),
        (["index", "--b", "2"], "", 2, "error: --b: must be from 0 to 1"),
        (["index", "--step", "2"], "", 2, "error: --step: it needs"),
        (["index", "--lemmatiser", "x"], "", 11, "no lemmatisers plug-in 'x'"),
    ],
)
def test_bad_input_is_one_line(
    run: Run, arguments: list[str], stdin: str | bytes, status: int, said: str
) -> None:
    done = run(*arguments, stdin=stdin)
    assert done.stdout == ""
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("allusion-es: error: ")
    assert done.returncode == status


def test_unknown_words_are_told_and_nothing_is_wrong(run: Run) -> None:
    done = run("query", "xyzzy plugh", "--format", "json")
    assert json.loads(done.stdout)["hits"] == []
    assert json.loads(done.stdout)["query"]["unknown"] == ["xyzzy", "plugh"]
    assert done.stderr.splitlines() == [
        "query 1: no passage found; unknown words: xyzzy, plugh",
        "query 1: of its 2 words only 0 occur in 'vulgate'; is it Latin?",
    ]
    assert done.returncode == 0
    done = run("query", "xyzzy Dominus", "--format", "json")
    assert json.loads(done.stdout)["query"]["unknown"] == ["xyzzy"]


def test_a_query_of_many_words_is_cut_and_says_so(run: Run, vulgate_index: LocalIndex) -> None:
    words = [f"{a}{b}{c}" for a in "abcdefgh" for b in "aeiou" for c in "mnrstlcdpbgfxvz"] * 2
    text = " ".join([*words, *(f"x{word}" for word in words), *(f"y{word}" for word in words)])
    done = run("query", text + " gustate suavis", "--format", "json", "--top", "1")
    assert done.returncode == 0
    assert "were not searched for" in done.stderr


def test_more_candidates_than_passages_give_all(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "few.csv"
    table.write_text("id,text\n1,Deus caritas est\n2,Deus meus\n3,vita\n4,mors\n")
    assert run("index", str(table)).returncode == 0
    for stage in ("bm25", "tfidf", "knn", "rrf"):
        (answer,) = answers(
            run,
            "Deus",
            "--name",
            "few",
            "--candidates",
            "99",
            "--top",
            "99",
            "--first-stage",
            stage,
        )
        hits = answer["hits"]
        assert isinstance(hits, list)
        assert 1 < len(hits) <= 4
        assert len({hit["id"] for hit in hits}) == len(hits)


def test_user_lemmas_are_used(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "lemmas.tsv"
    table.write_text(
        "id\ttext\ttokens\tlemmas\n1\tQuoddam uerbum\tquoddam uerbum\tquidam caritas\n"
    )
    assert run("index", str(table)).returncode == 0
    (answer,) = answers(run, "caritate", "--name", "lemmas")
    assert [hit["id"] for hit in answer["hits"]] == ["1"]  # type: ignore[attr-defined]


def test_lists(run: Run) -> None:
    rows = json.loads(run("list", "--format", "json").stdout)
    assert {"index", "generator", "lemmatiser", "reranker"} == {row["kind"] for row in rows}
    assert ("vulgate", "35809 passages") in {(row["name"], row["detail"]) for row in rows}
    tsv = run("list", "rerankers", "--format", "tsv").stdout.splitlines()
    assert tsv[0] == "kind\tname\twhere\tdetail"
    assert any(line.startswith("reranker\tsoft-cosine\t") for line in tsv)


def test_parameters_of_rerankers_are_set_and_checked(run: Run) -> None:
    soft = ("--rerank", "soft-cosine")
    one, three, five = (
        answers(run, PAPER, *soft, "--set", f"soft-cosine.power={power}")[0]["hits"]
        for power in (1, 3, 5)
    )
    assert five == answers(run, PAPER, *soft)[0]["hits"]
    assert one[0]["score"] > three[0]["score"] > five[0]["score"]  # type: ignore[index]
    for setting, said in (
        ("power", "write it as plugin.parameter=value"),
        ("soft-cosine.power=x", "soft-cosine.power must be a whole number, not 'x'"),
        ("soft-cosine.power=0", "power"),
        (
            "soft-cosine.colour=1",
            "soft-cosine has no parameter 'colour'; there are: power",
        ),
        ("wmd.solver=pot", "parameters of wmd are set, but the reranker is soft-cosine"),
    ):
        done = run("query", PAPER, *soft, "--set", setting)
        assert (done.returncode, done.stdout, said in done.stderr) == (2, "", True), done.stderr


def test_notes_say_what_a_score_means(run: Run) -> None:
    done = run("query", PAPER, "--rerank", "tesserae", "--explain")
    assert done.stderr.startswith("note: Tesserae: ")


def test_doctor(run: Run, data_folder: Path) -> None:
    done = run("doctor", "--format", "json")
    rows = {row["what"]: row for row in json.loads(done.stdout)}
    assert rows["index vulgate"]["state"] == "ok"
    assert rows["clem_vulgate.csv"]["detail"] == "vulgata-spacy==0.0.1, hash verified"
    broken = data_folder / "indexes" / "broken.idx"
    broken.write_bytes(b"nonsense")
    try:
        done = run("doctor", "--format", "json")
        rows = {row["what"]: row for row in json.loads(done.stdout)}
        assert done.returncode == 1
        assert "rebuild it" in rows["index broken"]["detail"]
        assert run("query", "Deus", "--name", "broken").returncode == 8
    finally:
        broken.unlink()
    done = run("doctor", "--es", "http://user:hunter2@127.0.0.1:9")
    assert done.returncode == 1
    assert "hunter2" not in done.stdout + done.stderr


def test_no_password_is_ever_printed(run: Run) -> None:
    for arguments in (
        ["query", "x", "--es", "http://127.0.0.1:9", "--user", "u", "--password", "hunter2"],
        ["query", "x", "--es", "http://u:hunter2@127.0.0.1:9"],
        ["list", "--es", "http://127.0.0.1:9", "--api-key", "hunter2"],
    ):
        done = run(*arguments)
        assert done.returncode == 3
        assert "hunter2" not in done.stdout + done.stderr


@pytest.mark.process
@pytest.mark.parametrize("options", ["--format json", "--format table"])
def test_head_closes_the_pipe_in_peace(tmp_path: Path, options: str) -> None:
    """`allusion-es query … | head -1` exits 0 and says nothing."""
    lines = tmp_path / "q.txt"
    lines.write_text(f"{TASTE}\n" * 300)
    script = (
        f"set -o pipefail; '{program()}' query {lines} {options} --top 300 | head -1 >/dev/null"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_interrupting_an_index_leaves_the_old_one(
    start_process: StartProcess, data_folder: Path
) -> None:
    """Ctrl-C while the Vulgate is being indexed."""
    import signal
    import time

    path = data_folder / "indexes" / "vulgate.idx"
    before = path.stat()
    process = start_process([program(), "index"], stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == "allusion-es: error: interrupted; nothing was changed\n"
    assert path.stat() == before
    assert {file.suffix for file in path.parent.iterdir()} == {".idx"}


HEADINGS = ["Arguments", "What to search", "How to rank", "Input", "Output", "Options"]


@pytest.mark.process
def help_of(*words: str) -> str:
    """What a command's help says on a terminal of 80 columns."""
    environment = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run([program(), *words], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def options_in(text: str) -> set[str]:
    return set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE))


def test_the_help_of_query_fits_a_screen_and_ends_with_examples() -> None:
    short = help_of("query", "--help")
    lines = short.splitlines()
    assert len(lines) <= 60
    headings = [line.rstrip(":") for line in lines if line.endswith(":") and line[0] != " "]
    assert headings == [*HEADINGS, "Elasticsearch", "Examples"]
    whole = help_of("query", "--help-all")
    of_server = whole.partition("\nElasticsearch:\n")[2]
    wanted = {"--es", "--ca-certs", "--password", "--timeout", "--allow-partial"}
    assert wanted <= options_in(of_server)
    assert "--data-dir" not in options_in(of_server)
    assert options_in(short) - {"--help-all"} < options_in(whole)
    assert "--es" in options_in(short)
    assert not (wanted - {"--es"}) & options_in(short)


def every_command() -> Iterator[tuple[str, Any]]:
    """Each command's words, and what Typer made of it."""

    def below(group: Any, words: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from below(command, f"{words}{name} ")
            else:
                yield f"{words}{name}", command

    return below(typer.main.get_command(app), "")


COMMANDS = dict(every_command())


def test_all_commands_have_grouped_help() -> None:
    assert all(isinstance(command, GroupedCommand) for command in COMMANDS.values())
    assert EXAMPLES.keys() <= COMMANDS.keys()
    text = help_of("gold", "check", "--help")
    assert "\nWhat to search:\n" in text
    assert text.endswith("Examples:\n  allusion-es gold check links.tsv\n")
    assert "\nKibana:\n  --kibana URL" in help_of("kibana", "install", "--help")


@pytest.mark.parametrize("words", EXAMPLES)
def test_examples_of_the_help_can_be_typed(words: str) -> None:
    for line in EXAMPLES[words]:
        start, *arguments = shlex.split(line)
        assert start == "allusion-es"
        given = arguments[len(words.split()) :]
        if words == "annotate page":  # which may be left out
            given = arguments[1:]
        COMMANDS[words].make_context(words, list(given))


def test_what_is_all_is_not_taken_out_of_words(run: Run) -> None:
    done = run("query", "--top", "x", "--", "--help-all")
    assert done.returncode == 2
    assert "Invalid value for '--top'" in done.stderr
    assert "(see 'allusion-es query --help')" in done.stderr


@pytest.mark.process
def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from allusion_es.cli.main import run\n"
        "for arguments in ([], *([c] for c in ('query', 'index', 'fetch', 'list', 'doctor'))):\n"
        "    run([*arguments, '--help'])\n"
        "print(sorted({'numpy', 'scipy', 'gensim', 'ot', 'elasticsearch', 'rich', 'simplemma'} "
        "& set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == "[]\n"


def test_without_a_network_it_says_what_to_do(run: Run, tmp_path: Path) -> None:
    environment = {
        "ALLUSION_DATA_DIR": str(tmp_path),
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_FIND_LINKS": "",
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_CACHE_DIR": "1",
    }
    for command in (["fetch"], ["query", "Deus"]):
        done = run(*command, **environment)
        assert done.returncode == 6
        assert len(done.stderr.splitlines()) == 1
        assert "could not be downloaded" in done.stderr
        assert "is the network there?" in done.stderr
    assert not list(tmp_path.rglob("*.csv")) + list(tmp_path.rglob("*.part"))


def test_the_data_folder_is_an_option(run: Run, tmp_path: Path) -> None:
    done = run("list", "indexes", "--format", "json", "--data-dir", str(tmp_path))
    assert json.loads(done.stdout) == []


def test_what_a_server_says_of_missing_shards_cannot_act_on_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    partial = Partial()
    partial.note(Shortfall(2, 3, "node \x1b[31mleft"))
    tell_missing(partial)
    assert "node \ufffd[31mleft" in capsys.readouterr().err
