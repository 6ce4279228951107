import csv
import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import InputError, UsageError
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.passage_files import Kind, read_passages


@pytest.fixture
def write(tmp_path: Path) -> "Writer":
    return Writer(tmp_path)


class Writer:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, content: str | bytes, name: str = "sermo.tsv") -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


def complaint(path: Path, kind: Kind | None = None) -> str:
    with pytest.raises(InputError) as caught:
        list(read_passages(path, kind=kind))
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


def test_a_table_with_id_and_text(write: Writer) -> None:
    path = write("id\ttext\ns1\tGustate et videte\n\ns2\tquoniam suavis\n")
    assert list(read_passages(path)) == [
        Passage("s1", "Gustate et videte", "sermo", order=0, reference="s1"),
        Passage("s2", "quoniam suavis", "sermo", order=1, reference="s2"),
    ]


def test_all_columns_in_any_order_with_others_between(write: Writer) -> None:
    path = write(
        "note\tLemmas\tText\twork\tID\ttokens\n"
        "x\tdico deus\tDixit Deus.\tGenesis\ta\tdixit deus\n"
        "x\t\tEt factum est\t\tb\t\n"
    )
    first, second = read_passages(path, work="Opera")
    assert (first.work, first.tokens, first.lemmas) == (
        "Genesis",
        ("dixit", "deus"),
        ("dico", "deus"),
    )
    assert (second.work, second.tokens, second.lemmas) == ("Opera", None, None)


def test_commas_quotes_and_a_byte_order_mark(write: Writer) -> None:
    path = write('\ufeffid,text\r\ns1,"Dixit, ""Fiat""\net factum est"\r\ns2,x\r\n', "sermo.csv")
    assert [(passage.id, passage.text) for passage in read_passages(path)] == [
        ("s1", 'Dixit, "Fiat"\net factum est'),
        ("s2", "x"),
    ]


def test_quotes_in_tabbed_tables_are_text(write: Writer) -> None:
    path = write('id\ttext\ns1\t"Fiat lux\ns2\tet facta est"\n')
    assert [passage.text for passage in read_passages(path)] == ['"Fiat lux', 'et facta est"']


def test_an_osis_id_makes_a_verse(write: Writer) -> None:
    (passage,) = read_passages(write("id\ttext\n1Sam.2.3\tNolite multiplicare\n"))
    assert (passage.book, passage.chapter, passage.verse) == ("1Sam", 2, 3)
    assert (passage.testament, passage.reference) == ("ot", "1 Reg 2,3")


def test_an_id_that_only_looks_like_a_verse_stays_as_it_is(write: Writer) -> None:
    (passage,) = read_passages(write("id\ttext\nSermo.2.3\tFratres\n"))
    assert (passage.id, passage.book, passage.reference) == ("Sermo.2.3", "", "Sermo.2.3")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": the file is empty; "),
        ("\nid\ttext\n", ":1: the first line is empty; "),
        ("id\ttext\n", ": the table has a header but no rows; "),
        ("id\tlatin\ns1\tx\n", ":1: there is no column 'text'; found 'id', 'latin'; "),
        ("id,text\ns1,x\n", ":1: there is no column 'id'; found 'id,text'; "),
        ("id\ttext\ttext\ns1\tx\ty\n", ":1: column 'text' is there twice; "),
        ("id\ttext\tlemmas\ns1\tx\ty\n", ":1: column 'lemmas' without a column 'tokens'; "),
        ("id\ttext\ns1\tx\ns1\ty\n", ":3: column 'id' is 's1', as on line 2; "),
        ("id\ttext\n\tx\n", ":2: column 'id' is empty; "),
        ("id\ttext\ns1\t \n", ":2: column 'text' of 's1' is empty; "),
        ("id\ttext\ns1\n", ":2: 1 cells, but the header has 2; "),
        ("id\ttext\ns1\tx\ty\n", ":2: 3 cells, but the header has 2; "),
        ("id\ttext\na\u2028b\tx\n", ":2: column 'id' is 'a\\u2028b', with a control character"),
        ("id\ttext\n" + "ä" * 257 + "\tx\n", "longer than 512 bytes; "),
        ("id\ttext\ns1\t" + "x" * 100_001, ":2: column 'text' has 100,001 characters, more than"),
        ("id\ttext\ns1\t" + "x" * 140_000, ":2: a cell has more than 100,000 characters; "),
        ("id\ttext\ns1\tx\0y\n", ":2: NUL byte at byte 12; "),
        (b"id\ttext\ns1\tc\xe6lum\n", ":2: not UTF-8 at byte 12 (0xe6); "),
        (b"\xef\xbb\xbfid\ttext\xe6\n", ":1: not UTF-8 at byte 10 (0xe6); "),
        (
            "id\ttext\ttokens\tlemmas\ns1\tDixit Deus\tdixit deus\tdico\n",
            ":2: column 'lemmas' of 's1' has 1 words, column 'tokens' 2; ",
        ),
        ("id\ttext\ns1\tx\ry\n", ":2: cannot be read as a table: "),
    ],
)
def test_bad_tables_are_told_in_one_line(write: Writer, content: str | bytes, message: str) -> None:
    assert message in complaint(write(content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('id,text\ns1,"x\n', ":2: cannot be read as a table: "),
        ('id,text\ns1,x\n"a\nb",y\n', ":3: column 'id' is 'a\\nb', with a control character"),
        ('id,text\n"s1","x\ny"\ns1,z\n', ":4: column 'id' is 's1', as on line 2"),
    ],
)
def test_bad_tables_with_commas(write: Writer, content: str, message: str) -> None:
    assert message in complaint(write(content, "sermo.csv"))


def test_a_very_long_line_does_not_fill_the_memory(write: Writer) -> None:
    assert ":1: the line is longer than" in complaint(write(b"x" * 4_000_001, "sermo.txt"))


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    assert ": cannot be read (No such file" in complaint(tmp_path / "none.tsv")
    assert ": cannot be read (Is a directory)" in complaint(tmp_path, kind="table")


def test_a_file_without_permission_is_told(write: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    path = write("id\ttext\ns1\tx\n")
    monkeypatch.setattr(Path, "open", refuse)
    assert ": cannot be read (Permission denied)" in complaint(path)


def test_the_suffix_or_the_kind_chooses_the_reader(write: Writer) -> None:
    assert [p.id for p in read_passages(write("Fiat\nlux\n", "a.txt"))] == ["1", "2"]
    assert [p.id for p in read_passages(write("id\ttext\ns\tx\n", "b.txt"), kind="table")] == ["s"]
    assert [p.id for p in read_passages(write("id,text\ns,x\n", "B.CSV"))] == ["s"]
    verses = read_passages(write("Ps 22,1\tDominus\n", "c.tsv"), kind="verses")
    assert [p.id for p in verses] == ["Ps.22.1"]
    with pytest.raises(UsageError, match="table, lines, verses"):
        read_passages(write("x"), kind="pdf")  # type: ignore[arg-type]


def test_passages_come_one_at_a_time(write: Writer) -> None:
    passages = read_passages(write("id\ttext\ns1\tx\ns1\ty\n"))
    assert next(passages).id == "s1"
    with pytest.raises(InputError):
        next(passages)


CELLS = st.text(st.characters(categories=["L", "Nd", "Po"]), min_size=1, max_size=8)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, unique_by=lambda row: row[0]))
def test_what_a_table_holds_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("tables") / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "text"), *rows])
    assert [(passage.id, passage.text) for passage in read_passages(path)] == rows
