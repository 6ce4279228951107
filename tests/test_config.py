"""The configuration file: what it may say, what goes before it, and what is wrong with it."""

import json
from pathlib import Path

import pytest
import typer
from processes import Run

from allusion_es.cli.config import Config, configured_defaults, read_config
from allusion_es.cli.main import app
from allusion_es.core.errors import InputError, UsageError

VERSES = "id\ttext\n" + "".join(f"{n}\tdominus {word}\n" for n, word in enumerate("abcdefgh"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def little(run: Run, folder: Path) -> str:
    """An index of eight passages that all have the same word."""
    (folder / "verses.tsv").write_text(VERSES)
    done = run("index", "verses.tsv", "--name", "configured", "--no-vectors", "--no-learned-links")
    assert done.returncode == 0, done.stderr
    return "configured"


def hits(run: Run, *arguments: str, **more: str) -> int:
    done = run("query", "dominus", *arguments, **more)
    assert done.returncode == 0, done.stderr
    return len(json.loads(done.stdout)["hits"])


def test_the_command_line_goes_before_the_file_and_that_before_the_defaults(
    run: Run, folder: Path, little: str
) -> None:
    (folder / "allusion-es.toml").write_text(
        f'name = "{little}"\n[query]\ntop = 3\nformat = "json"\nfirst-stage = "bm25"\n'
        'rerank = "none"\ngroup = false\n'
    )
    assert hits(run) == 3
    assert hits(run, "--top", "5") == 5
    done = run("query", "dominus", "--html", "r.html")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "[default: 3]" in run("query", "--help").stdout
    assert run("query", "dominus", "--candidates", "0").stderr.startswith(
        "allusion-es: error: --candidates: must"
    )
    (folder / "allusion-es.toml").write_text(f'name = "{little}"\ncandidates = 0\n')
    assert "--candidates in the configuration file: must be" in run("query", "dominus").stderr


def test_the_environment_goes_before_the_file(run: Run, folder: Path, little: str) -> None:
    (folder / "allusion-es.toml").write_text('es = "http://127.0.0.1:9"\n')
    assert "http://127.0.0.1:9 " in run("list", "indexes").stderr
    more = {"ALLUSION_ES_URL": "http://127.0.0.1:8"}
    assert "http://127.0.0.1:8 " in run("list", "indexes", **more).stderr
    arguments = ("--name", little, "--format", "json", "--first-stage", "bm25", "--rerank", "none")
    assert hits(run, *arguments, "--es", "") == 8


def test_a_project_has_its_options_in_its_own_file(run: Run, folder: Path, little: str) -> None:
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "x"\n[tool.allusion-es.query]\ntop = 2\nformat = "json"\n'
        f'name = "{little}"\nfirst-stage = "bm25"\nrerank = "none"\ngroup = false\n'
    )
    assert hits(run) == 2
    rows = json.loads(run("doctor", "--format", "json").stdout)
    (told,) = (row for row in rows if row["what"] == "configuration")
    assert told["detail"] == str(folder / "pyproject.toml")
    (folder / "allusion-es.toml").write_text("")  # the program's own file goes before
    rows = json.loads(run("doctor", "--format", "json").stdout)
    (told,) = (row for row in rows if row["what"] == "configuration")
    assert told["detail"] == str(folder / "allusion-es.toml")


def test_without_a_file(run: Run, folder: Path) -> None:
    (folder / "pyproject.toml").write_text("broken [ but of no concern")
    assert read_config() is None
    rows = json.loads(run("doctor", "--format", "json").stdout)
    (told,) = (row for row in rows if row["what"] == "configuration")
    assert told["detail"] == "no allusion-es.toml here"
    (folder / "pyproject.toml").write_text("[tool]\nallusion-es = 1\n")
    with pytest.raises(InputError, match=r"'tool.allusion-es' is no table"):
        read_config()


def test_groups_of_commands_have_tables_too(folder: Path) -> None:
    (folder / "allusion-es.toml").write_text(
        'name = "all"\n[annotate]\nname = "annotated"\n[candidates.push]\nname = "pushed"\n'
        'first-stage = "bm25"\n'
    )
    config = read_config()
    assert config is not None
    found = configured_defaults(config, typer.main.get_command(app))
    assert found["query"] == found["gold"]["check"] == {"name": "all"}
    assert found["annotate"]["page"] == {"name": "annotated"}
    assert found["candidates"]["push"] == {"name": "pushed", "first_stage": "bm25"}
    assert found["fetch"] == found["candidates"]["list"] == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour = 1", "'colour': it is no option of any command"),
        ("[query]\ntopp = 2", "'query.topp': it is no option of 'query'; did you mean 'top'?"),
        ("[query]\nfirst_stage = 'x'", "did you mean 'first-stage'?"),
        ("[query]\ntext = 'x'", "'query.text': it is no option"),
        ("[query]\nhelp = true", "'query.help': it is no option"),
        ("[query]\ntop = 'x'", "'query.top': it must be a whole number, not \"x\""),
        ("[query]\ntop = true", "'query.top': it must be a whole number, not true"),
        ("[query]\ntop = 1.5", "'query.top': it must be a whole number, not 1.5"),
        ("[query]\nexplain = 1", "'query.explain': it must be true or false, not 1"),
        ("[query]\nrerank = ['a']", "'query.rerank': it must be a text in quotes, not [\"a\"]"),
        ("[query]\nbook = 'Ps'", "'query.book': it must be a list in brackets, not \"Ps\""),
        ("[query]\nbook = ['Ps', 1]", "'query.book': it must be a text in quotes"),
        ("[query]\nfield = 'stem'", "'query.field': it must be token, lemma or both, not \"stem\""),
        ("[query.x]\na = 1", "'query.x': it is no option of 'query'"),
        ("[qeury]\ntop = 1", "'qeury': there is no command of that name; did you mean 'query'?"),
        ("query = 1", "'query': it is a command; give its options in [query]"),
        ("[gold]\ncolour = 1", "'gold.colour': it is no option of 'gold'"),
        ("[gold.check]\ncolour = 1", "'gold.check.colour': it is no option of 'gold check'"),
        ("format = 'trec'", "'format': for 'scan' it must be table, tsv"),
        ("[serve]\nport = 70000", "'serve.port': it must be at most 65535, not 70000"),
        ("[query]\ntimeout = 0", "'query.timeout': it must be at least 0.1, not 0"),
        ("password = 'x'", "'password': a secret does not belong in such a file; set ALLUSION_ES_"),
        ("[query]\napi-key = 'x'", "'query.api-key': a secret does not belong"),
        ("es = 'http://me:hidden@host'", "'es': a password does not belong"),
        ("top = ", "not TOML"),
        ("top = " + "[" * 3000, "not TOML"),
        ("top = 1\ntop = 2", "not TOML"),
    ],
)
def test_what_is_wrong_is_one_line_with_file_and_key(
    run: Run, folder: Path, text: str, said: str
) -> None:
    (folder / "allusion-es.toml").write_text(text)
    done = run("list", "generators")
    assert (done.returncode, done.stdout) == (4 if said == "not TOML" else 2, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("allusion-es: error: allusion-es.toml: ")
    assert said in done.stderr
    assert "hidden" not in done.stderr


def test_a_file_that_is_no_text(folder: Path) -> None:
    (folder / "allusion-es.toml").write_bytes(b"top = \xff")
    with pytest.raises(InputError, match=r"allusion-es.toml:1: byte \d \(0xff\) is not UTF-8"):
        read_config()


def test_values_of_every_type_are_taken(folder: Path) -> None:
    options = {
        "query": {"top": 3, "explain": True, "book": ["Ps"], "wait": 1, "timeout": 1.5},
        "scan": {"threshold": 0.5, "out": "found", "format": "json"},
        "evaluate": {"gold": "links.jsonl", "cache": False},
    }
    found = configured_defaults(Config(folder / "x", options), typer.main.get_command(app))
    assert {name: found[name] for name in options} == options
    with pytest.raises(UsageError, match=r"x: 'scan.threshold': it must be a number, not \"a\""):
        configured_defaults(
            Config(folder / "x", {"scan": {"threshold": "a"}}), typer.main.get_command(app)
        )
