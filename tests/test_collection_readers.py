"""Collections in the formats that people have: TEI editions, Tesserae, JSON lines, folders."""

import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import InputError
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.passage_files import read_files, read_passages
from allusion_es.corpora.source import read_source
from allusion_es.front.queries import read_query_file

EDITION = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt>
<title>{title}</title><author>{author}</author></titleStmt></fileDesc>{encoding}</teiHeader>
<text><body>{body}</body></text></TEI>"""

# Perseus: CTS, a book and its lines, whose numbers some lines lack, one in two parts.
CTS = """<encodingDesc><refsDecl n="CTS"><cRefPattern n="line" matchPattern="(\\w+).(\\w+)"
replacementPattern="#xpath(/tei:TEI/tei:text/tei:body/tei:div/tei:div[@n='$1']//tei:l[@n='$2'])"/>
<cRefPattern n="book" matchPattern="(\\w+)"
replacementPattern="#xpath(/tei:TEI/tei:text/tei:body/tei:div/tei:div[@n='$1'])"/>
</refsDecl></encodingDesc>"""
AENEID = """<div type="edition" n="urn:cts:latinLit:phi0690.phi003.perseus-lat2" xml:lang="lat">
<div type="textpart" subtype="book" n="1"><head>Liber I</head>
<l n="1">Arma virumque cano, Troiae qui primus ab oris</l>
<q><l>Italiam <choice><sic>fata</sic><corr>fato</corr></choice> profugus<note>a</note></l></q>
<l n="5" part="I">multa quoque et bello passus,</l><l n="5" part="F">dum conderet</l></div>
<div type="textpart" subtype="book" n="2"><l n="1">Conticuere omnes</l></div></div>"""

# TEI's own way: citeStructure, with a delimiter of its own and sections inside paragraphs.
STRUCTURE = """<encodingDesc><refsDecl><citeStructure unit="book" match="/TEI/text/body/div"
use="@n"><citeStructure unit="chapter" match="div" use="@n" delim="."><citeStructure
unit="section" match="p/seg" use="@n" delim=":"/></citeStructure></citeStructure></refsDecl>
</encodingDesc>"""
GALLIC_WAR = """<div n="1"><div n="1"><p>Incipit. <seg n="1">Gallia est omnis divisa</seg>
<seg n="2">quarum unam incolunt Belgae,</seg> et cetera.</p></div>
<div n="2"><p><seg n="1">Apud Helvetios</seg></p></div></div>"""

# MGH and the like: a preface, chapters with headings, paragraphs of which few have numbers.
CHRONICLE = """<div type="praefatio"><p>Vitam scribere animus tulit.</p></div>
<div type="chapter" n="1"><head>De gente</head><p>Gens Meroingorum.</p><p>Alterum.</p></div>
<div type="chapter" n="2"><p n="1">Prima.</p><p>Sine numero.</p><p n="2">Secunda
<quote><l>tu regere imperio</l><l>memento</l></quote> finit.</p></div>"""

# DTA: the `n` of a division is its depth.
DEPTHS = """<div n="1"><head>A</head><p>Primum<lb/>caput.</p></div>
<div n="1"><head>B</head><p>Secundum.</p><p>Tertium.</p></div>"""

MILESTONES = """<div n="1" type="book"><p><milestone unit="chapter" n="1"/><milestone
unit="section" n="1"/>Iam primum <milestone unit="section" n="2"/>Troia capta</p><p>saevitum.
<milestone unit="chapter" n="2"/><milestone unit="section" n="1"/>Antenori</p></div>"""

POEMS = """<div n="1"><lg n="1"><l>Maecenas atavis</l><l>o et praesidium</l></lg>
<lg n="2"><l n="3">sunt quos curriculo</l></lg></div>"""
STANZAS = """<lg n="1"><l n="1">Pange lingua</l><l n="2">corporis</l></lg>
<lg n="2"><l n="1">nobis datus</l></lg>"""

KINDS = {
    "perseus": (
        AENEID, CTS,
        [("phi0690.phi003.perseus-lat2.1.1", "Arma virumque cano, Troiae qui primus ab oris"),
         ("phi0690.phi003.perseus-lat2.1.2", "Italiam fato profugus"),
         ("phi0690.phi003.perseus-lat2.1.5", "multa quoque et bello passus, dum conderet"),
         ("phi0690.phi003.perseus-lat2.2.1", "Conticuere omnes")],
    ),
    "structure": (
        GALLIC_WAR, STRUCTURE,
        [("file.1.1:1", "Incipit. Gallia est omnis divisa"),
         ("file.1.1:2", "quarum unam incolunt Belgae, et cetera."),
         ("file.1.2:1", "Apud Helvetios")],
    ),
    "chronicle": (
        CHRONICLE, "",
        [("file.praefatio.p1", "Vitam scribere animus tulit."),
         ("file.1", "De gente Gens Meroingorum. Alterum."),
         ("file.2.1", "Prima."), ("file.2.p2", "Sine numero."),
         ("file.2.2", "Secunda tu regere imperio memento finit.")],
    ),
    "depths": (
        DEPTHS, "",
        [("file.div1.p1", "Primum caput."), ("file.div2.p1", "Secundum."),
         ("file.div2.p2", "Tertium.")],
    ),
    "milestones": (
        MILESTONES, "",
        [("file.1.1.1", "Iam primum"), ("file.1.1.2", "Troia capta saevitum."),
         ("file.1.2.1", "Antenori")],
    ),
    "poems": (
        POEMS, "",
        [("file.1.1", "Maecenas atavis"), ("file.1.2", "o et praesidium"),
         ("file.1.3", "sunt quos curriculo")],
    ),
    "stanzas": (
        STANZAS, "",
        [("file.1.1", "Pange lingua"), ("file.1.2", "corporis"), ("file.2.1", "nobis datus")],
    ),
    "repeated": (
        '<p n="1">Primum.</p><p n="2">Alterum.</p><p n="1">Tertium.</p>', "",
        [("file.1", "Primum."), ("file.2", "Alterum."), ("file.1(2)", "Tertium.")],
    ),
    "unread declaration": (
        '<p n="4">Primum.</p>',
        '<encodingDesc><refsDecl><citeStructure match="//p[last()]" use="head"/></refsDecl>'
        "</encodingDesc>",
        [("file.4", "Primum.")],
    ),
    "no numbers": (
        "<p>Primum.</p><list><item>Alterum.</item></list>", "",
        [("file.p1", "Primum."), ("file.item1", "Alterum.")],
    ),
}  # fmt: skip


def edition(path: Path, body: str, encoding: str = "", title: str = "T", author: str = "A") -> Path:
    """Write a TEI file."""
    path.write_text(EDITION.format(title=title, author=author, encoding=encoding, body=body))
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_each_citation_unit_of_an_edition_is_a_passage(tmp_path: Path, kind: str) -> None:
    body, encoding, expected = KINDS[kind]
    path = edition(tmp_path / "file.xml", body, encoding, "Opera omnia", "Auctor")
    passages = list(read_passages(path))
    assert [(passage.id, passage.text) for passage in passages] == expected
    assert [passage.order for passage in passages] == list(range(len(expected)))
    assert {(passage.work, passage.author) for passage in passages} == {("Opera omnia", "Auctor")}
    citation = passages[0].id.removeprefix("phi0690.phi003.perseus-lat2.").removeprefix("file.")
    assert passages[0].reference == f"Opera omnia {citation}"


@pytest.mark.parametrize("kind", KINDS)
def test_no_word_of_an_edition_is_lost_but_headings(tmp_path: Path, kind: str) -> None:
    body, encoding, _ = KINDS[kind]
    path = edition(tmp_path / "file.xml", body, encoding)
    headings = {"Liber", "I", "De", "gente", "A", "B"}
    read = [word for word in read_source(path).text.split() if word not in headings]
    found = [word for passage in read_passages(path) for word in passage.text.split()]
    assert [word for word in found if word not in headings] == read


NUMBERS = st.sampled_from(["", "1", "2", "3", "12a", "praef."])


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A body of divisions, paragraphs, lines and segments, numbered or not; and its words."""
    words: list[str] = []

    def leaf() -> str:
        words.append(f"verbum{len(words)}")
        return words[-1]

    def element(depth: int) -> str:
        name = draw(st.sampled_from(["div", "lg", "p", "l", "ab"] if depth else ["p", "l", "ab"]))
        number = draw(NUMBERS)
        n = f' n="{number}"' if number else ""
        if name in ("div", "lg"):
            inner = "".join(element(depth - 1) for _ in range(draw(st.integers(1, 3))))
        elif draw(st.booleans()):
            inner = f"{leaf()} <seg n='{draw(st.integers(1, 3))}'>{leaf()}</seg> {leaf()}"
        else:
            inner = leaf()
        return f"<{name}{n}>{inner}</{name}>"

    return "".join(element(2) for _ in range(draw(st.integers(1, 4)))), words


@given(body=bodies())
def test_every_word_is_in_one_passage_and_every_id_is_its_own(
    body: tuple[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = edition(tmp_path_factory.mktemp("bodies") / "file.xml", body[0])
    passages = list(read_passages(path))
    assert [word for passage in passages for word in passage.text.split()] == body[1]
    assert len({passage.id for passage in passages}) == len(passages)


def test_a_text_of_tesserae_has_its_tags_as_ids(tmp_path: Path) -> None:
    path = tmp_path / "vergil.aeneid.part.1.tess"
    path.write_text(
        "<verg. aen. 1.1>\tArma virumque\n\n# a comment\nno tag\n<verg. aen. 1.2>\tItaliam\n"
        "<verg. aen. 1.2>\tfato\n<verg. aen. 1.3>\t\n<verg. aen. 1.1>\tagain\n"
    )
    bad: list[InputError] = []
    passages = list(read_passages(path, on_bad=bad.append))
    assert passages == [
        Passage("verg._aen._1.1", "Arma virumque", "aeneid", order=0, reference="verg. aen. 1.1",
                author="vergil"),
        Passage("verg._aen._1.2", "Italiam fato", "aeneid", order=1, reference="verg. aen. 1.2",
                author="vergil"),
    ]  # fmt: skip
    assert [str(error).removeprefix(f"{path}:") for error in bad] == [
        "4: no tag before 'no tag'; write '<verg. aen. 1.1>', a tab, the words",
        "7: 'verg. aen. 1.3' has no words; leave out the line",
        "8: the tag is 'verg._aen._1.1', as on line 1; give each passage an id of its own",
    ]
    with pytest.raises(InputError, match=r":4: no tag"):
        list(read_passages(path))


def test_json_lines_of_passim_and_locisimiles(tmp_path: Path) -> None:
    path = tmp_path / "poems.jsonl"
    rows = [
        {"id": "d1", "series": "Aeneis", "text": "Arma virumque", "date": "-19"},
        {"seg_id": 7, "text": "Bella per", "title": "Pharsalia", "author": "Lucan"},
        {"id": "d3", "text": ""},
        {"id": "d1", "text": "again"},
        {"text": "nameless"},
        {"id": "d4", "text": ["no", "text"]},
        {"id": "Ps.22.1", "text": "Dominus regit me"},
    ]
    path.write_text("\n".join([*map(json.dumps, rows), "{broken", "[1]"]))
    bad: list[InputError] = []
    passages = list(read_passages(path, on_bad=bad.append))
    assert [(each.id, each.work, each.author, each.book) for each in passages] == [
        ("d1", "Aeneis", "", ""), ("7", "Pharsalia", "Lucan", ""), ("Ps.22.1", "poems", "", "Ps"),
    ]  # fmt: skip
    lines = [str(error).removeprefix(f"{path}:").partition(":")[0] for error in bad]
    assert lines == ["3", "4", "5", "6", "8", "9"]


def test_one_bad_row_of_a_table_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "poems.tsv"
    path.write_text(
        "id\ttext\tauthor\na\tArma\tVergil\nb\t\t\nc\tBella\tLucan\ta cell too many\n"
        "a\tagain\t\nd\tCano\tLucan\n"
    )
    bad: list[InputError] = []
    passages = list(read_passages(path, on_bad=bad.append))
    assert [(each.id, each.author, each.order) for each in passages] == [
        ("a", "Vergil", 0), ("d", "Lucan", 1),
    ]  # fmt: skip
    assert [str(error).removeprefix(f"{path}:")[:2] for error in bad] == ["3:", "4:", "5:"]


def ten_editions(folder: Path) -> None:
    """A folder as of a repository: ten editions, two of one name, a catalogue, a broken file."""
    for number in range(9):
        inner = folder / f"phi{number % 3}"
        inner.mkdir(parents=True, exist_ok=True)
        body = f'<l n="1">Arma {number}</l><l n="2">virum {number}</l>'
        edition(inner / f"work{number}.xml", body, "", f"Opus {number}", f"Auctor {number % 3}")
    edition(folder / "phi1" / "work0.xml", '<l n="1">Bella</l>', "", "Opus 9", "Auctor 1")
    (folder / "phi1" / "__cts__.xml").write_text("<ti:work xmlns:ti='x'/>")
    (folder / ".hidden.xml").write_text("<TEI/>")
    (folder / "README.md").write_text("About these texts")
    (folder / "phi2" / "broken.xml").write_text("<TEI><text><body><p>Arma")


def test_a_folder_is_one_collection(tmp_path: Path) -> None:
    folder = tmp_path / "editions"
    ten_editions(folder)
    bad: list[InputError] = []
    passages = list(read_files([folder], on_bad=bad.append))
    assert len(passages) == 19
    assert [passage.order for passage in passages] == list(range(19))
    ids = [passage.id for passage in passages]
    assert ids[:2] == ["phi0.work0.1", "phi0.work0.2"]
    assert "phi1.work0.1" in ids
    assert "work4.1" in ids
    assert len(set(ids)) == 19
    assert {passage.author for passage in passages} == {"Auctor 0", "Auctor 1", "Auctor 2"}
    (error,) = bad
    assert str(error).startswith(f"{folder}/phi2/broken.xml:1: column")


def test_several_files_need_ids_of_their_own(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("a.tsv", "b.tsv", "c.txt"))
    first.write_text("id\ttext\n1\tArma\n")
    second.write_text("id\ttext\n1\tBella\n2\tcano\n")
    third.write_text("Conticuere omnes\n")
    bad: list[InputError] = []
    passages = list(read_files([first, second, third], on_bad=bad.append))
    assert [passage.id for passage in passages] == ["1", "2", "c.1"]
    assert [str(error) for error in bad] == [
        f"{second}: the id '1' is in {first} too; give each passage an id of its own"
    ]
    with pytest.raises(InputError, match="the id '1' is in"):
        list(read_files([first, second]))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="there is no file with passages in it"):
        list(read_files([empty]))


def test_the_same_files_are_queries_and_texts(tmp_path: Path) -> None:
    body, encoding, expected = KINDS["perseus"]
    path = edition(tmp_path / "file.xml", body, encoding, "Aeneid", "Vergil")
    queries = read_query_file(path)
    assert [query.query_id for query in queries] == [identifier for identifier, _ in expected]
    assert (queries[1].before, queries[1].after) == (expected[0][1], expected[2][1])
    assert {query.work for query in queries} == {"Vergil, Aeneid"}
    tess = tmp_path / "lucan.bellum_civile.tess"
    tess.write_text("<luc. 1.1>\tBella per\n<luc. 1.2>\tIusque datum\n")
    assert [query.query_id for query in read_query_file(tess)] == ["luc._1.1", "luc._1.2"]
    source = read_source(tess)
    assert (source.kind, source.text) == ("passages", "Bella per\nIusque datum")
    assert source.place(10, 16).section == "luc. 1.2"
    table = tmp_path / "epistulae.csv"
    table.write_text('id,text,author\ne1,"Salve, frater",Plinius\ne2,Vale,Plinius\n')
    source = read_source(table)
    assert (source.work, source.sections.at(15)) == ("Plinius, epistulae", "e2")
    lines = tmp_path / "loci.jsonl"
    lines.write_text('{"seg_id": "s1", "text": "Arma"}\n{"id": 4, "text": "cano"}\n')
    assert [query.query_id for query in read_query_file(lines)] == ["s1", "4"]


def test_an_index_of_a_folder_says_what_it_left_out(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "Editiones 2"
    ten_editions(folder)
    done = run("index", str(folder), "--no-vectors", "--no-learned-links")
    assert (done.returncode, done.stdout) == (13, "")
    told = done.stderr.splitlines()
    assert told[0].startswith(f"left out: {folder}/phi2/broken.xml:1: column")
    assert told[1].startswith("index 'editiones-2': 19 passages in ")
    assert told[2].endswith(
        "1 record was left out, since they cannot be read; the others are there"
    )
    done = run(
        "query", "arma", "--name", "editiones-2", "--author", "Auctor 1", "--rerank", "none",
        "--format", "tsv", "--first-stage", "bm25", "--no-group",
    )  # fmt: skip
    ids = [line.split("\t")[2] for line in done.stdout.splitlines()[1:]]
    assert set(ids) == {"work1.1", "work4.1", "work7.1"}
    assert run("index", str(folder / "phi2" / "broken.xml")).returncode == 4


def peak_of(passages: Sequence[Path]) -> int:
    """Most bytes that reading takes at once."""
    tracemalloc.start()
    for _ in read_files(passages):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_a_hundred_thousand_lines_would_fit_in_a_gigabyte(tmp_path: Path) -> None:
    count = 2_000
    lines = "".join(f'<l n="{n}">Arma virumque cano Troiae</l>' for n in range(count))
    path = edition(tmp_path / "long.xml", f'<div n="1">{lines}</div>', CTS)
    assert peak_of([path]) / count * 100_000 < 1 << 30


def test_each_text_of_a_corpus_has_its_own_header(tmp_path: Path) -> None:
    def tei(head: str, body: str, name: str = "") -> str:
        return (
            f"<TEI{name}><teiHeader><fileDesc><titleStmt>{head}</titleStmt></fileDesc>"
            f"</teiHeader><text><body>{body}</body></text></TEI>"
        )

    corpus = (
        "<teiCorpus><teiHeader><fileDesc><titleStmt><title>Patres</title><author>Varii</author>"
        "</titleStmt></fileDesc><encodingDesc><refsDecl><citeStructure match='/TEI/text/body/div' "
        "use='@n'/></refsDecl></encodingDesc></teiHeader>{}</teiCorpus>"
    )
    path = tmp_path / "patres.xml"
    path.write_text(
        corpus.format(
            tei(
                "<title>Sermones</title><author>Augustinus</author>",
                "<div n='I'><p n='1'>Gustate</p><p n='2'>et videte</p></div>",
                " xml:id='aug'",
            )
            + tei("<title>Epistulae</title>", "<div n='I'><p>Dominus regit me</p></div>")
            + tei("<author>Leo</author>", "<p>Vinea mea electa</p>")
        )
    )
    found = [(p.id, p.author, p.work, p.reference, p.text) for p in read_passages(path)]
    # The corpus says how its texts are cited, and who wrote what has no author of its own.
    assert found == [
        ("patres.aug.I", "Augustinus", "Sermones", "Sermones I", "Gustate et videte"),
        ("patres.2.I", "Varii", "Epistulae", "Epistulae I", "Dominus regit me"),
        ("patres.3.p1", "Leo", "Patres", "Patres p1", "Vinea mea electa"),
    ]
    source = read_source(path)
    assert (source.title, source.author) == ("Patres", "Varii")
    path.write_text(corpus.format(tei("<title>Unus</title><author>Beda</author>", "<p>Unus</p>")))
    assert [(p.id, p.author) for p in read_passages(path)] == [("patres.p1", "Beda")]
    assert read_source(path).author == "Beda"
    # A text may hold others, whose words are theirs alone.
    inner = tei("<title>Intus</title>", "<p n='1'>arma virumque</p>", " xml:id='in'")
    path.write_text(tei("<title>Foris</title>", "").replace("<body>", f"<body>{inner}"))
    assert [(p.id, p.work, p.text) for p in read_passages(path)] == [
        ("patres.in.1", "Intus", "arma virumque")
    ]
