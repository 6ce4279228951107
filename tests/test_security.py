"""What docs/security.md promises: secrets, query syntax, names, terminals, servers elsewhere."""

import ast
import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from allusion_es.cli.main import run as run_here
from allusion_es.core.characters import visible
from allusion_es.core.errors import AllusionError, InputError, UsageError
from allusion_es.corpora.findings import spreadsheet_cell
from allusion_es.corpora.passage import Passage
from allusion_es.es.address import find_address
from allusion_es.es.build import build_es_index
from allusion_es.es.connection import Server
from allusion_es.es.index import open_index
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.library import Library
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.analysed import analyse_passages
from allusion_es.retrieval.citation_models import CitationModels
from allusion_es.retrieval.index import IndexSettings
from allusion_es.retrieval.pipeline import QueryOptions, Retriever

ROOT = Path(__file__).parents[1]
SECRET = "geheim-4711"
ENCODED = base64.b64encode(f"elastic:{SECRET}".encode()).decode()
TEXTS = {
    "Gen.1.1": "In principio creavit Deus caelum et terram.",
    "Ps.22.1": "Dominus regit me et nihil mihi deerit.",
    "Ps.33.9": "Gustate et videte quoniam suavis est Dominus.",
}


@dataclass
class Stub:
    """A server that always answers the same, with what it was sent in it.

    Attributes:
        port: Where it listens.
        seen: The paths that were asked for, with the Authorization header.
    """

    port: int
    seen: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def stub(status: int, location: str = "", kind: str = "application/json") -> Iterator[Stub]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            login = self.headers.get("Authorization", "")
            state.seen.append((self.path, login))
            reason = f"{login} {SECRET} at http://elastic:{SECRET}@x"
            body = json.dumps({"error": {"type": "x", "reason": reason}}).encode()
            self.send_response(status)
            self.send_header("X-elastic-product", "Elasticsearch")
            self.send_header("Content-Type", kind)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Stub(server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def logins(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Gives the secret in the way that the parameter names; returns what stands before the host."""
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    monkeypatch.setenv("ALLUSION_ES_USER", "elastic")
    if request.param == "url":
        monkeypatch.delenv("ALLUSION_ES_USER")
        return f"elastic:{SECRET}@"
    if request.param == "environment":
        monkeypatch.setenv("ALLUSION_ES_PASSWORD", SECRET)
    elif request.param == "file":
        monkeypatch.setenv("ALLUSION_ES_PASSWORD_FILE", str(file))
    else:
        monkeypatch.delenv("ALLUSION_ES_USER")
        monkeypatch.setenv("ALLUSION_ES_API_KEY_FILE", str(file))
    return ""


COMMANDS = (
    "query deus", "list indexes", "doctor", "scan {text}", "evaluate {gold} --workers 2",
    "index {table}", "candidates push deus", "candidates runs", "kibana install --kibana {url}",
    "learn {gold}", "heat deus",
)  # fmt: skip


@pytest.mark.parametrize(
    ("logins", "status"),
    [("url", 401), ("url", 0), ("environment", 500), ("environment", 302), ("file", 0),
     ("file", 401), ("key file", 500)],
    indirect=["logins"],
)  # fmt: skip
def test_no_command_tells_a_secret(
    logins: str,
    status: int,
    tmp_path: Path,
    data_folder: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever goes wrong; also where the server sends the login back."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "data").symlink_to(data_folder / "data")
    monkeypatch.setenv("ALLUSION_DATA_DIR", str(folder))
    (tmp_path / "sermo.txt").write_text("Gustate et videte quoniam suavis est Dominus.")
    (tmp_path / "gold.jsonl").write_text('{"text": "gustate", "relevant": ["Ps.33.9"]}\n')
    (tmp_path / "t.tsv").write_text("id\ttext\ns1\tGustate et videte\n")
    with stub(status or 401, "http://127.0.0.1:9/x") as server:
        port = server.port if status else 9
        url = f"http://{logins}127.0.0.1:{port}"
        for command in COMMANDS:
            words = command.format(
                text=tmp_path / "sermo.txt",
                gold=tmp_path / "gold.jsonl",
                table=tmp_path / "t.tsv",
                url=url,
            ).split()
            code = run_here(words if "--kibana" in words else [*words, "--es", url])
            told = capfd.readouterr()
            text = told.out + told.err + caplog.text
            assert code, (command, text)
            for secret in (SECRET, ENCODED, base64.b64encode(SECRET.encode()).decode()):
                assert secret not in text, (command, text)
            assert "Traceback" not in told.out + told.err
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_relative_to(folder / "data"):
            assert SECRET.encode() not in path.read_bytes(), path


def test_a_login_does_not_follow_to_another_host() -> None:
    """A server may not send the client, and with it the login, elsewhere."""
    for status in (301, 302, 307, 308):
        with stub(401) as other, stub(status, f"http://127.0.0.1:{other.port}/") as server:
            url = f"http://elastic:{SECRET}@127.0.0.1:{server.port}"
            with pytest.raises(AllusionError):
                Server.connect(url)
            assert server.seen
            assert other.seen == []


def test_a_secret_in_arguments_is_told_of(capfd: pytest.CaptureFixture[str]) -> None:
    closed = "127.0.0.1:9"
    for shown in (
        ["--es", f"http://elastic:{SECRET}@{closed}"],
        ["--es", f"http://{closed}", "--user", "elastic", "--password", SECRET],
        ["--es", f"http://{closed}", f"--api-key={SECRET}"],
    ):
        run_here(["query", "deus", *shown])
        assert "others on this machine can see secrets in arguments" in capfd.readouterr().err
    run_here(["query", "deus: et", "--es", f"http://{closed}"])
    assert "secrets" not in capfd.readouterr().err


def test_secrets_come_from_files(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text(f"{SECRET}\n")
    environment = {"ALLUSION_ES_USER": "elastic", "ALLUSION_ES_PASSWORD_FILE": str(path)}
    assert find_address("http://a", environment=environment).login.password == SECRET
    environment = {"ALLUSION_ES_API_KEY_FILE": str(path)}
    assert find_address("http://a", environment=environment).login.api_key == SECRET
    first = {**environment, "ALLUSION_ES_API_KEY": "other"}
    assert find_address("http://a", environment=first).login.api_key == "other"
    for content in (b"", b"\xff"):
        path.write_bytes(content)
        with pytest.raises(UsageError, match="there is no secret to read"):
            find_address("http://a", environment=environment)


SYNTAX = frozenset({
    "query_string", "simple_query_string", "wildcard", "regexp", "script", "script_score",
    "script_fields", "runtime_mappings", "template", "stored_script", "fuzzy",
})  # fmt: skip
"""Searches in which text is a program, or could be made one; a prefix is taken as it stands."""


def test_no_search_takes_text_for_syntax() -> None:
    found = set()
    for path in [*(ROOT / "es").glob("*.py"), *(ROOT / "mappings").glob("*.json")]:
        text = path.read_text()
        if path.suffix == ".json":
            found |= {word for word in SYNTAX if f'"{word}"' in text}
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and node.value in SYNTAX:
                found.add(f"{path.name}:{node.lineno}: {node.value}")
    assert not found


HOSTILE = (
    "*:*", '" OR 1==1', "_exists_:id", "deus AND NOT dominus", "*", "/.*/", "dominus~2", "deus^9",
    '{"match_all": {}}', "id:Gen.1.1", "\\", "{!lucene}*:*", "${jndi:ldap://x}", "<script>",
    "' or ''='", "_index:_all", "\u202edeus", "dominus\x00regit",
)  # fmt: skip


def test_hostile_queries_find_what_their_words_find(elasticsearch_url_any: str) -> None:
    """A real server finds the same as the index in this process, which has no syntax at all."""
    analyser = Analyser()
    passages = [Passage(name, text, order=n) for n, (name, text) in enumerate(TEXTS.items())]
    with Server.connect(elasticsearch_url_any) as server:
        analysed = analyse_passages(passages, analyser)
        build_es_index(server, "hostile", analysed, IndexSettings(analyser.settings))
        there = open_index(server, "hostile", lambda: pytest.fail("no vectors are needed"))
        here = index_texts(TEXTS)
        known = {word for text in TEXTS.values() for word in analyser.analyse(text).tokens}
        counts = set()
        by_words = QueryOptions(("bm25",), ("token",), reranker=None, grouped=False)
        for text in HOSTILE:
            found = [
                [
                    (hit.id, round(hit.score, 4))
                    for hit in Retriever(index, by_words).answer(text).hits
                ]
                for index in (there, here)
            ]
            assert found[0] == found[1], text
            counts.add(len(found[0]))
            if not known.intersection(analyser.analyse(text).tokens):
                assert not found[0], text
        assert counts == {0, 1, 2, 3}
        for name in ("_all", "*", "hostile*", "hostile,other", "-hostile", "<hostile-{now/d}>"):
            with pytest.raises(UsageError):
                open_index(server, name, lambda: pytest.fail("no vectors are needed"))
        assert len(open_index(server, "hostile", lambda: pytest.fail("no"))) == len(TEXTS)


NAMES = (
    "", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", "C:x", "_all", "_x", "*", "a*", "a,b",
    "-a", "+a", ".hidden", "a b", "A", "vulgaté", "\u0430", "a\0", "a\n", "a" * 101, "a%2e", "~",
    "$HOME", "a?b", "a#b", "a:b", "a\u202e", "<a-{now/d}>",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_of_indexes_are_names_only(name: str, tmp_path: Path) -> None:
    library = Library(tmp_path / "data")
    for act in (library.path, library.open, lambda each: library.build(each, [])):
        with pytest.raises(UsageError, match="use up to 100 lower-case letters"):
            act(name)
    with stub(200) as server:
        address = find_address(f"http://127.0.0.1:{server.port}", environment={})
        connection = Server(address)
        with pytest.raises(UsageError, match="use up to 100 lower-case letters"):
            open_index(connection, name, lambda: pytest.fail("no vectors are needed"))
        connection.close()
        assert server.seen == []
    assert not (tmp_path / "data").exists()


def test_models_are_looked_for_in_their_folder_only(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "secret.citations").write_text("x")
    for name in ("../secret", str(tmp_path / "secret"), "", "a/b"):
        with pytest.raises(InputError, match="which are not in"):
            CitationModels(tmp_path).open(name)


ESCAPES = "Deus\x1b[31m ruber\x1b]0;title\x07 \x9b2J \u202eabc\u2066 [red]b[/red] gustate"


def test_texts_cannot_act_on_a_terminal(
    data_folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.tsv"
    table.write_text(f"id\ttext\twork\ns1\t{ESCAPES}\t\x1b[5mW\ns2\tet nihil\tW\n", newline="")
    queries = tmp_path / "q.txt"
    queries.write_text(f"{ESCAPES}\n", newline="")
    name = ("--name", "escapes")
    assert run_here(["index", str(table), *name, "--no-vectors"]) == 0
    try:
        for format in ("table", "tsv"):
            for more in ((), ("--explain",)):
                arguments = ["query", str(queries), *name, "--rerank", "none"]
                arguments += ["--first-stage", "bm25", "--format", format, *more]
                assert run_here(arguments) == 0
                told = capfd.readouterr()
                assert "[red]b[/red]" in told.out
                for text in (told.out, told.err):
                    assert visible(text) == text
    finally:
        (data_folder / "indexes" / "escapes.idx").unlink()
    assert run_here(["query", "deus", "--name", "\x1b[31mrot"]) == 2
    assert "\x1b" not in capfd.readouterr().err
    missing = tmp_path / "\x1b]0;x\x07.jsonl"
    assert run_here(["evaluate", str(missing)]) == 4
    assert "\x1b" not in capfd.readouterr().err


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", " ="])
def test_tables_for_spreadsheets_hold_no_formulas(start: str) -> None:
    shown = spreadsheet_cell(f"{start}cmd|' /C calc'!A0")
    assert shown.startswith("'")
    assert shown.isprintable()
