"""How queries are read: from words, files of any kind, tables, and stdin."""

import io
import json
import sys
from pathlib import Path

import pytest
from conftest import Run

from allusion_es.cli.options import InputFormat
from allusion_es.core.errors import InputError
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.front.queries import read_queries
from allusion_es.retrieval.types import Query

TABLE = InputFormat.table


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Maker":
    monkeypatch.chdir(tmp_path)
    return Maker()


class Maker:
    def __call__(self, name: str, data: bytes | str) -> str:
        Path(name).write_bytes(data.encode() if isinstance(data, str) else data)
        return name


def complaint(argument: str, kind: InputFormat | None = None, **columns: str) -> str:
    with pytest.raises(InputError) as caught:
        read_queries(argument, kind, columns)
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", 'text,query_id,before,after\n"vir, et",q1,sed,\nlex,q2,,non\n'),
        ("a.csv", '\ufefftext,query_id,before,after\r\n"vir, et",q1,sed,\r\nlex,q2,,non\r\n'),
        ("a.csv", 'after;Text;before;query_id;x\n;"vir, et";sed;q1;y\nnon;lex;;q2;y\n'),
        ("a.csv", '"sep=;"\r\nid;text;before;after\r\nq1;vir, et;sed;\r\nq2;lex;;non\r\n'),
        ("A.CSV", 'sep=;\r\nid;text;before;after\r\nq1;vir, et;sed;\r\nq2;lex;;non\r\n'),
        ("a.csv", 'id\ttext\tbefore\tafter\nq1\t"vir, et"\tsed\t\nq2\tlex\t\tnon\n'),
        ("a.tsv", "query_id\ttext\tbefore\tafter\n\nq1\tvir, et\tsed\t\n\t\t\t\nq2\tlex\t\tnon\n"),
        ("a.jsonl", '{"query_id":"q1","text":"vir, et","before":"sed"}\n'
                    '{"query_id":"q2","text":"lex","after":"non"}\n'),
        ("a.txt", '{"query_id":"q1","text":"vir, et","before":"sed"}\n'
                  '{"query_id":"q2","text":"lex","after":"non"}\n'),
    ],
)  # fmt: skip
def test_tables_and_json_lines(file: "Maker", name: str, data: str) -> None:
    assert read_queries(file(name, data), None) == [
        Query("vir, et", "q1", before="sed"),
        Query("lex", "q2", after="non"),
    ]


@pytest.mark.parametrize("divider", [",", ";", "\t"])
def test_a_text_that_is_a_table(file: "Maker", divider: str) -> None:
    data = f"\ufeffquery_id{divider}Text\r\nq1{divider}vir\r\nq2{divider}lex\r\n"
    assert read_queries(file("a.txt", data), None) == [Query("vir", "q1"), Query("lex", "q2")]


def test_one_row_without_words_costs_no_other(file: "Maker") -> None:
    queries = [Query("vir", "1"), Query("", "2"), Query("lex", "3")]
    assert read_queries(file("a.csv", "text,id\nvir,1\n,2\nlex,3\n"), None) == queries


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\u2029"])
def test_line_ends_of_all_programs(file: "Maker", end: str) -> None:
    queries = read_queries(file("a.txt", f"vir{end}{end}lex{end}"), None)
    assert queries == [Query("vir", "1"), Query("lex", "3")]


def test_folders(file: "Maker") -> None:
    Path("gold").mkdir()
    for argument in ("gold/", "./gold", "."):
        assert complaint(argument) == f"{argument}: it is a folder; give the path of a file in it"
    assert read_queries("gold", None) == [Query("gold")]


def test_a_cell_of_several_lines_and_ids_by_line(file: "Maker") -> None:
    queries = read_queries(file("a.csv", 'text\n"gustate\net ""videte"""\nvir\n'), None)
    assert queries == [Query('gustate\net "videte"', "2"), Query("vir", "4")]


@pytest.mark.parametrize("divider", [",", ";", "\t"])
def test_tables_on_stdin(divider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = f"id{divider}text\nq1{divider}vir\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert read_queries("-", TABLE) == [Query("vir", "q1")]


@pytest.mark.parametrize(
    ("data", "kind", "query"),
    [
        (b'{"text": "vir"}\n', None, Query("vir", "1")),
        (b"vir\n", None, Query("vir", "1")),
        (b'{"text": "vir"}\n', InputFormat.lines, Query('{"text": "vir"}', "1")),
    ],
)
def test_stdin(
    data: bytes, kind: InputFormat | None, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert read_queries("-", kind) == [query]


@pytest.mark.parametrize("data", [b"%PDF-1.5\n", b"\x89PNG\r\n\x1a\n", rb"{\rtf1 vir}"])
def test_stdin_of_another_kind(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert "which is not read" in complaint("-")


def test_columns_of_other_names(file: "Maker") -> None:
    name = file("a.tsv", "seg_id\tcontent\nx1\tgustate\n")
    assert complaint(name) == (
        "a.tsv:1: there is no column 'text'; found 'seg_id', 'content'; rename one in the first "
        "line, or say which it is with '--text-column content'"
    )
    assert read_queries(name, None, {"text": "Content"}) == [Query("gustate", "2")]
    named = read_queries(name, None, {"text": "content", "query_id": "seg_id"})
    assert named == [Query("gustate", "x1")]
    assert complaint(name, text="words") == (
        "a.tsv:1: there is no column 'words'; found 'seg_id', 'content'; give the name of one of "
        "these"
    )
    assert "there is no column 'key'" in complaint(name, text="content", query_id="key")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.csv", "", "a.csv: the file is empty; give a header with 'text'"),
        ("a.csv", "text\n", "a.csv: there is no query in it"),
        ("a.csv", "text,id\n,1\n ,2\n", "a.csv: there is no query in it"),
        ("a.txt", '["vir", "lex"]', "a.txt:1: field 'text' is missing"),
        ("a.csv", "text,id\nvir,1\net,1\n", "a.csv:3: query_id '1' is also on line 2"),
        ("a.csv", "text,id\nvir\n", "a.csv:2: 1 cells, but the header has 2"),
        ("a.csv", "text,text\nvir,et\n", "a.csv:1: column 'text' is there twice"),
        ("a.csv", 'text\n"vir\n', "a.csv:2: cannot be read as a table"),
        ("a.txt", "gustate\n<p>et</p>\n", "a.txt:2: '</p>' is markup"),
        ("a.xml", "<TEI/>", "a.xml: there is no text outside of its header"),
        ("a.pdf", "vir", "a.pdf: the file is a PDF, which is not read"),
        ("a.json", "[1]", "a.json:1: field 'text' is missing"),
        ("a.txt", "v\0i\0r\0\n", "a.txt:1: NUL byte at byte 1; save the text as UTF-8"),  # UTF-16
    ],
)
def test_files_that_cannot_be_read(file: "Maker", name: str, data: str, said: str) -> None:
    assert complaint(file(name, data)).startswith(said)


def test_pages_are_queries_by_paragraph(file: "Maker") -> None:
    name = file("a.html", "<title>x</title><p>gus<b>tate</b></p><p>c&aelig;li")
    assert read_queries(name, None) == [Query("gustate", "1"), Query("cæli", "2")]


@pytest.mark.parametrize(
    "argument",
    ["missing.ods", "missing.txt.gz", "missing.numbers", "https://a.b/c", "folder/none/", "a.shtml",
     "missing.txt", "in principio.csv", "queries.TSV", "a.b.jsonl", "./a", "../x/y", "/no/where",
     "~/queries", "C:\\queries", "sermo.docx", "sermo.html"],
)  # fmt: skip
def test_what_looks_like_a_file_and_is_none(file: "Maker", argument: str) -> None:
    assert complaint(argument).startswith(f"{argument}: there is no such file")


@pytest.mark.parametrize(
    "argument",
    ["gustate et videte", "Deus.homo", "in principio erat verbum.", "suavis/dulcis", "/ Deus", "h",
     "Ps. 33,9", "gustate...", "(Matth. 5,3) beati", "e.g", "txt", "a" * 5000],
)  # fmt: skip
def test_what_are_words(file: "Maker", argument: str) -> None:
    assert read_queries(argument, None) == [Query(argument)]


def test_gold_tables_with_commas_and_columns_of_other_names(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_text('\ufeffseg_id;content;verse\nq1;"vir; beatus";Ps 1,1\n')
    with pytest.raises(InputError, match="with 'gold convert --text-column content'"):
        read_gold(path)
    (link,) = read_gold(
        path, columns={"text": "content", "query_id": "seg_id", "relevant": "verse"}
    )
    assert (link.query.query_id, link.query.text) == ("q1", "vir; beatus")
    assert link.relevant == ("Ps 1,1",)


def test_the_commands(run: Run, vulgate_index: object, tmp_path: Path) -> None:
    done = run("query", "missing.txt")
    assert (done.returncode, done.stdout) == (4, "")
    assert "missing.txt: there is no such file" in done.stderr
    table = tmp_path / "a.csv"
    table.write_text('seg;content\nx1;"gustate et videte; quoniam suavis"\n')
    columns = ("--text-column", "content", "--id-column", "seg")
    done = run("query", str(table), *columns, "--format", "json", "-k", "1")
    answer = json.loads(done.stdout)
    assert (answer["query"]["query_id"], answer["hits"][0]["id"]) == ("x1", "Ps.33.9")
    assert "notes" not in answer
    done = run("index", str(table), "--name", "query-files", "--no-vectors", *columns)
    assert (done.returncode, "1 passages" in done.stderr) == (0, True)
    done = run("index", str(table), "--name", "query-files")
    assert done.returncode == 4
    assert "say which it is with '--id-column NAME'" in done.stderr
    gold = tmp_path / "gold.csv"
    gold.write_text("seg;content;verse\nq1;gustate et videte;Ps 33,9\n")
    done = run(
        "gold", "convert", str(gold), "--to", "jsonl", *columns, "--relevant-column", "verse"
    )
    assert json.loads(done.stdout) == {
        "query_id": "q1", "text": "gustate et videte", "relevant": ["Ps.33.9"]
    }  # fmt: skip


def test_scan_reads_stdin(run: Run, vulgate_index: object, tmp_path: Path) -> None:
    text = "Ideo dicit: gustate et videte quoniam suavis est dominus. Amen dico vobis.\n"
    page = f"<html><body><p>{text}</body></html>"
    places = []
    for data in (
        text,
        page,
        f'<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><p>{text}</p></text></TEI>',
    ):
        done = run("scan", "-", "--fast", "--format", "json", stdin=data)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith("stdin: 1 finding")
        places.append(json.loads(done.stdout)["passages"])
    assert places == [["Ps.33.9"]] * 3
    done = run("scan", "-", "--fast", "--format", "jsonld", "--out", str(tmp_path), stdin=page)
    assert done.returncode == 0
    (annotation,) = json.loads((tmp_path / "stdin.jsonld").read_text())["items"]
    assert annotation["target"]["source"] == "stdin"
    # Characters of a page are none of its file: it is found by its words.
    assert [each["type"] for each in annotation["target"]["selector"]] == ["TextQuoteSelector"]
    for arguments, data, status, said in (
        (("-",), "%PDF-1", 4, "error: stdin: the file is a PDF"),
        (("-", "-"), text, 2, "'-' is there twice"),
        (("-", "--format", "tei", "--tei", "separate"), page, 2, "is HTML, to whose characters"),
    ):
        done = run("scan", *arguments, stdin=data)
        assert (done.returncode, done.stdout) == (status, "")
        assert said in done.stderr
        assert "/allusion" not in done.stderr
