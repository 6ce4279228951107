"""Gold links in files: read as they were written, refused where they are wrong."""

import json
import string
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import InputError, UsageError
from allusion_es.evaluation.gold.files import read_gold, write_gold, write_table, write_trec
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.retrieval.types import Query

SHARED = Path(__file__).parents[2] / "shared" / "data" / "gold"
GOOD = '{"text": "in principio", "relevant": ["Gen.1.1"]}\n'

words = st.text(st.characters(exclude_categories=["Cs"]))
texts = words.filter(str.strip)
names = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs", "Cf", "Co", "Cn"]))
ids = st.lists(texts, unique=True).map(tuple)
links = st.builds(
    GoldLink,
    query=st.builds(
        Query, text=texts, query_id=names.filter(str.strip), before=words, after=words, anchor=words
    ),
    relevant=ids.filter(bool),
    type=words, author=words, title=words, source_ids=ids, source=words, licence=words,
    translation=words,
)  # fmt: skip
unique_links = st.lists(links, min_size=1, unique_by=lambda link: link.query.query_id)


@given(unique_links)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, links: list[GoldLink]
) -> None:
    path = tmp_path_factory.getbasetemp() / "property.jsonl"
    write_gold(path, links)
    again = read_gold(path)
    assert again == links
    assert [link.line for link in again] == list(range(1, len(links) + 1))
    stream = StringIO()
    write_gold(stream, again)
    assert stream.getvalue().encode() == path.read_bytes()


simple = st.text(string.ascii_letters + string.digits + ".-", min_size=1)
simple_words = st.lists(simple, min_size=1).map(" ".join)
simple_links = st.builds(
    GoldLink,
    query=st.builds(Query, text=simple_words, query_id=simple),
    relevant=st.lists(simple, min_size=1, unique=True).map(tuple),
)


@given(
    st.lists(simple_links, min_size=1, unique_by=lambda link: link.query.query_id),
    st.text(string.ascii_letters),
)
def test_tables_and_trec_files_keep_what_they_can_hold(
    tmp_path_factory: pytest.TempPathFactory, links: list[GoldLink], title: str
) -> None:
    folder = tmp_path_factory.getbasetemp()
    write_trec(folder / "property.qrels", links)
    assert read_gold(folder / "property.qrels") == links
    verses = [
        GoldLink(link.query, ("Ps.22.1", "Isa.7.14"), title=title, source_ids=("Matt.1.23",))
        for link in links
    ]
    write_table(folder / "property.tsv", verses)
    assert read_gold(folder / "property.tsv") == verses


def test_all_fields_are_read_and_others_passed_over(tmp_path: Path) -> None:
    record = {
        "query_id": 7, "text": "ecce virgo", "before": "ut", "after": "et", "anchor": "virgo",
        "relevant": ["Isa.7.14", "Mic 5,2-3"], "type": "quotation", "author": "A", "title": "T",
        "source_ids": ["Matt.1.23"], "source": "S", "licence": "L", "translation": "Behold",
        "notes": [1, 2], "author_dates": None,
    }  # fmt: skip
    path = tmp_path / "links.jsonl"
    path.write_text("\ufeff\n" + json.dumps(record) + "\r\n")
    (link,) = read_gold(path)
    assert link == GoldLink(
        Query("ecce virgo", "7", "ut", "et", "virgo"), ("Isa.7.14", "Mic 5,2-3"), "quotation",
        "A", "T", ("Matt.1.23",), "S", "L", "Behold",
    )  # fmt: skip
    assert (link.line, link.work) == (2, "A, T")


def test_a_table(tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_text(
        "Relevant\ttext\tremarks\ttitle\r\nPs 22,1-3; Is 7,14\tin principio\tx\tT\r\n\r\n"
        "Ps.22.1 Ps.22.2\tverbum\t\t\r\nserm-1; serm-2\tvox\t\t\r\n"
    )
    links = read_gold(path, "tsv")
    assert [link.relevant for link in links] == [
        ("Ps 22,1-3", "Is 7,14"),
        ("Ps.22.1", "Ps.22.2"),
        ("serm-1", "serm-2"),
    ]
    assert [link.query.query_id for link in links] == ["2", "4", "5"]
    assert links[0].title == "T"


def test_qrels_with_topics(tmp_path: Path) -> None:
    (tmp_path / "q.qrels").write_text("2 0 b 1\n1 0 a 2\n1 0 b 0\n1 0 c 1\n")
    (tmp_path / "words").write_text("1\tin principio\n2\tverbum\n")
    links = read_gold(tmp_path / "q.qrels", topics=tmp_path / "words")
    assert links == [
        GoldLink(Query("in principio", "1"), ("a", "c")),
        GoldLink(Query("verbum", "2"), ("b",)),
    ]
    assert [link.line for link in links] == [2, 1]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", r"x.jsonl:2: not JSON"),
        ("[1]", r"x.jsonl:2: '\[1\]' is no object"),
        ("[" * 99_999, r"x.jsonl:2: not JSON"),
        ('{"text": 5, "relevant": ["a"]}', r"x.jsonl:2: field 'text' must be a string, not 5"),
        ('{"text": "a", "relevant": 5}', r"x.jsonl:2: field 'relevant' must be a list"),
        (
            '{"text": "a", "relevant": [5]}',
            r"2: field 'relevant\[0\]' must be a string that .*, not 5",
        ),
        (
            '{"text": "a", "relevant": [" "]}',
            r"2: field 'relevant\[0\]' must be .* not blank, not ' '",
        ),
        ('{"text": "a", "relevant": []}', r"x.jsonl:2: field 'relevant' is empty"),
        ('{"text": "a"}', r"x.jsonl:2: field 'relevant' is empty"),
        ('{"text": " ", "relevant": ["a"]}', r"x.jsonl:2: field 'text' of query '2' is empty"),
        ('{"relevant": ["a"]}', r"x.jsonl:2: field 'text' of query '2' is empty"),
        ('{"query_id": "", "text": "a", "relevant": ["a"]}', r"x.jsonl:2: field 'query_id' is ''"),
        ('{"query_id": "a\\n", "text": "a", "relevant": ["a"]}', r"2: field 'query_id' is 'a\\n'"),
        ('{"query_id": true, "text": "a", "relevant": ["a"]}', r"'query_id' must be a string"),
        ('{"query_id": 1, "text": "a", "relevant": ["a"]}', r"2: query_id '1' is also on line 1"),
        ('{"text": "a", "relevant": ["b", "a", "b"]}', r"2: field 'relevant' .* has 'b' twice"),
        ('{"text": "\\ud800", "relevant": ["a"]}', r"'text' has half a character \(U\+D800\)"),
    ],
)
def test_wrong_lines_are_refused(line: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(GOOD + line + "\n")
    with pytest.raises(InputError, match=told) as caught:
        read_gold(tmp_path / "x.jsonl")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", r"x.tsv: the file is empty; give a header with 'text' and 'relevant'"),
        ("text\tverse\n", r"x.tsv:1: there is no column 'relevant'; found 'text', 'verse'"),
        ("text\trelevant\ttext\n", r"x.tsv:1: column 'text' is there twice"),
        ("text\trelevant\n", r"x.tsv: there is no gold link"),
        ("text\trelevant\na\tb\tc\n", r"x.tsv:2: 3 cells, but the header has 2"),
        ("text\trelevant\na\t\n", r"x.tsv:2: field 'relevant' is empty"),
        ("text\trelevant\na\tb b\n", r"x.tsv:2: field 'relevant' .* has 'b' twice"),
    ],
)
def test_wrong_tables_are_refused(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text(text)
    with pytest.raises(InputError, match=told):
        read_gold(tmp_path / "x.tsv")


@pytest.mark.parametrize(
    ("qrels", "topics", "told"),
    [
        ("1 0 a 1\n2 0 a 1\n", "1\ta\n", r"x.qrels:2: query '2' is not in .*x.topics"),
        ("1 0 a 1\n2 0 a 0\n", "1\ta\n2\tb\n", r"x.topics: no passage is relevant to query '2'"),
        ("1 0 a 1\n", None, r"x.topics: cannot be read"),
    ],
)
def test_qrels_and_topics_must_fit(
    qrels: str, topics: str | None, told: str, tmp_path: Path
) -> None:
    (tmp_path / "x.qrels").write_text(qrels)
    if topics is not None:
        (tmp_path / "x.topics").write_text(topics)
    with pytest.raises(InputError, match=told):
        read_gold(tmp_path / "x.qrels")


def test_the_kind_must_be_known(tmp_path: Path) -> None:
    (tmp_path / "links.txt").write_text(GOOD)
    with pytest.raises(UsageError, match=r"links.txt: its name does not say .* end in .jsonl, "):
        read_gold(tmp_path / "links.txt")
    for missing in (tmp_path, tmp_path / "nothing.txt", tmp_path / "nothing"):
        with pytest.raises(InputError, match="there is no such file; give a file of gold links"):
            read_gold(missing)
    with pytest.raises(UsageError, match="no kind of gold file is 'xml'"):
        read_gold(tmp_path / "links.txt", "xml")
    with pytest.raises(UsageError, match="topics go with TREC qrels"):
        read_gold(tmp_path / "links.txt", "jsonl", tmp_path / "topics")
    assert len(read_gold(tmp_path / "links.txt", "jsonl")) == 1
    with pytest.raises(InputError, match=r"none.jsonl: cannot be read"):
        read_gold(tmp_path / "none.jsonl")


def test_ids_that_a_table_or_trec_file_cannot_hold(tmp_path: Path) -> None:
    links = [GoldLink(Query("in principio", "serm. 1"), ("Gen 1,1", "100%"))]
    with pytest.raises(UsageError, match="'Gen 1,1' cannot stand in a table"):
        write_table(tmp_path / "x.tsv", links)
    with pytest.raises(UsageError, match="the topics would lie there"):
        write_trec(tmp_path / "x.topics", links)
    with pytest.raises(UsageError, match="an empty id cannot stand in a TREC file"):
        write_trec(tmp_path / "x.qrels", [GoldLink(Query("in principio", ""), ("Gen.1.1",))])
    assert not list(tmp_path.iterdir())
    told: list[str] = []
    write_trec(tmp_path / "x.qrels", links, told.append)
    assert (tmp_path / "x.qrels").read_text().splitlines() == [
        "serm.%201 0 Gen%201,1 1",
        "serm.%201 0 100%25 1",
    ]
    assert (tmp_path / "x.topics").read_text() == "serm.%201\tin principio\n"
    assert len(told) == 1
    (again,) = read_gold(tmp_path / "x.qrels")
    assert (again.query.query_id, again.relevant) == ("serm. 1", ("Gen 1,1", "100%"))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the development gold is not here")
@pytest.mark.parametrize("path", sorted(SHARED.glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_development_gold_survives_every_form(path: Path, tmp_path: Path) -> None:
    links = read_gold(path)
    write_gold(tmp_path / "again.jsonl", links)
    assert read_gold(tmp_path / "again.jsonl") == links
    write_trec(tmp_path / "again.qrels", links)
    again = read_gold(tmp_path / "again.qrels")
    assert [(link.query.query_id, link.relevant) for link in again] == [
        (link.query.query_id, link.relevant) for link in links
    ]
