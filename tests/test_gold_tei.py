"""Gold links from TEI written in the manner of several editions."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import Run
from tei_fixtures import document

from allusion_es.corpora.passage import Passage
from allusion_es.corpora.tei.reader import read_tei
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.evaluation.gold.ids import ReferenceReader
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.gold.tei import TeiGold, gold_from_tei
from allusion_es.evaluation.gold.tei_references import references_in_note, references_in_target
from allusion_es.local.index import LocalIndex


@pytest.fixture(scope="module")
def reader(vulgate_passages: Sequence[Passage]) -> ReferenceReader:
    return ReferenceReader(passage.id for passage in vulgate_passages)


def gold(body: str, folder: Path, reader: ReferenceReader, words: int = 10) -> TeiGold:
    path = folder / "sermo.xml"
    path.write_text(document(body, title="De gustu", author="Beda"), "utf-8")
    return gold_from_tei(read_tei(path), reader, words=words, context=3)


def told(found: TeiGold) -> list[tuple[str, tuple[str, ...], str]]:
    return [(link.query.text, link.relevant, link.type) for link in found.links]


@pytest.mark.parametrize(
    ("body", "text", "relevant", "kind"),
    [
        # the element itself
        ("a <quote source='bible:Ps.33.9'>gustate</quote> b", "gustate", "Ps.33.9", "quotation"),
        ("a <q source='#Ps.33.9'>gustate</q> b", "gustate", "Ps.33.9", "quotation"),
        ("a <ref cRef='Ps 33:9'>gustate et</ref> b", "gustate et", "Ps.33.9", "reference"),
        ("a <ref target='urn:x:biblia:Ps.33.9'>gustate</ref>", "gustate", "Ps.33.9", "reference"),
        ("<seg type='allusion' source='Ps.33.9'>gustate</seg>", "gustate", "Ps.33.9", "allusion"),
        ("<q type='allusion' source='Ps.33.9'>gustate</q>", "gustate", "Ps.33.9", "allusion"),
        # cit
        (
            "ait: <cit><quote>gustate</quote> <bibl>Ps. XXXIII, 9</bibl></cit> et",
            "gustate", "Ps.33.9", "quotation",
        ),
        ("<cit><ref cRef='Ps.33.9'/><q>gustate</q></cit>", "gustate", "Ps.33.9", "quotation"),
        ("<cit><quote>gustate</quote><bibl n='Ps 33,9'/></cit>", "gustate", "Ps.33.9", "quotation"),
        # a note in or after a quotation
        ("a <q>gustate et <note>Ps 33,9</note></q> b", "gustate et", "Ps.33.9", "quotation"),
        ("a <quote>gustate</quote>. <note>cf. Ps 33,9</note> b", "gustate", "Ps.33.9", "allusion"),
        # Migne: italics, and references in brackets
        ("ait: <hi>gustate et videte <note>(Psal. XXXIII, 9)</note></hi>", "gustate et videte",
         "Ps.33.9", "quotation"),
        ("ait <said source='Ps.33.9'>gustate et</said>", "gustate et", "Ps.33.9", "quotation"),
        ("ait: <hi>gustate et videte</hi> <note>(Ps. XXXIII, 9)</note>.", "gustate et videte",
         "Ps.33.9", "quotation"),
        ("Dixit et. Dauid <hi>rex</hi> qui ait <note>(Ps. XXXIII, 9)</note>.", "Dauid rex qui ait",
         "Ps.33.9", "reference"),
        # a mere mark
        ("Prius est. Quare gustate et<note>Ps. 33, 9</note> bonum", "Quare gustate et",
         "Ps.33.9", "reference"),
        ("Quare gustate. Et videte<note>cfr Ps 33,9</note> bonum", "Quare gustate. Et videte",
         "Ps.33.9", "allusion"),
        ("unus duo tres <bibl>Ps 33, 9-10; Is 7,14</bibl>", "unus duo tres",
         "Ps.33.9 Ps.33.10 Isa.7.14", "reference"),
        ("unus duo tres<note>cf. <ref cRef='Ps.33.9'>l. c.</ref></note>", "unus duo tres",
         "Ps.33.9", "reference"),
        ("caput unum</p><p>duo<note>Ps 33,9</note>", "duo", "Ps.33.9", "reference"),
        ("a</p><l>unus</l><l>duo tres<note>Ps 33,9</note></l><p>b", "unus duo tres", "Ps.33.9",
         "reference"),
        # one quotation in two elements
        ("<q source='Ps.33.9' xml:id='a' next='#b'>unus</q></p><p><q source='Ps.33.9' xml:id='b' "
         "prev='#a'>duo</q>", "unus duo", "Ps.33.9", "quotation"),
        # notes elsewhere
        ("unus duo tres<ref target='#n1'>1</ref> et</p><p>finis <note xml:id='n1'>Ps 33,9</note>",
         "unus duo tres", "Ps.33.9", "reference"),
        ("unus duo tres<anchor xml:id='a'/> et</p><p>finis <note target='#a'>Ps 33,9</note>",
         "unus duo tres", "Ps.33.9", "reference"),
        ("unus <seg xml:id='a'>duo tres</seg> et</p><p>finis <note target='#a'>Ps 33,9</note>",
         "duo tres", "Ps.33.9", "reference"),
    ],
)  # fmt: skip
def test_one_reference(
    tmp_path: Path, reader: ReferenceReader, body: str, text: str, relevant: str, kind: str
) -> None:
    found = gold(f"<p>{body}</p>", tmp_path, reader)
    assert told(found) == [(text, tuple(relevant.split()), kind)]
    assert found.unread == []


def test_what_a_link_tells(tmp_path: Path, reader: ReferenceReader) -> None:
    found = gold(
        "<p>A b c d. Quare gustate et<note>Ps 33,9</note> uidete e f g.</p>", tmp_path, reader
    )
    link = found.links[0]
    assert (link.query.query_id, link.query.text) == ("sermo-1", "Quare gustate et")
    assert (link.query.before, link.query.after) == ("b c d.", "uidete e f")
    assert link.query.anchor == "et"
    assert (link.author, link.title, link.line) == ("Beda", "De gustu", 2)
    assert link.source == "sermo.xml:/tei:TEI[1]/tei:text[1]/tei:body[1]/tei:p[1]/tei:note[1]"


def test_words_before_a_mark_are_bounded(tmp_path: Path, reader: ReferenceReader) -> None:
    body = "<p>a b c d e f g h i k l m<note>Ps 33,9</note></p>"
    assert gold(body, tmp_path, reader, words=4).links[0].query.text == "i k l m"


def test_apparatus_with_line_numbers(tmp_path: Path, reader: ReferenceReader) -> None:
    body = (
        '<p><pb n="302"/>prima linea <lb/>secunda <lb n="3"/>tertia<note>1 Gen. 1, 1</note></p>'
        '<p><pb n="303"/>unum <lb/>duo duo <lb/>tria <lb/>quattuor <lb n="5"/>quinque <lb/>sex '
        "<note type='footnote'>2 cf. Matth. 5, 3 4 I Cor. 5, 6 sqq. 5 uerba] uerbum <hi>A</hi> "
        "9 Rom. 5, 12</note></p>"
    )
    found = gold(body, tmp_path, reader)
    assert told(found) == [
        ("prima linea secunda", ("Gen.1.1",), "reference"),
        ("duo duo tria", ("Matt.5.3",), "allusion"),
        ("quattuor quinque", ("1Cor.5.6", "1Cor.5.7", "1Cor.5.8"), "reference"),
    ]
    assert ("Rom. 5, 12", "line 9 is not on its page") in [
        (each.written, each.reason) for each in found.unread
    ]


def test_a_word_that_a_printed_line_breaks_is_whole(
    tmp_path: Path, reader: ReferenceReader
) -> None:
    body = (
        '<p><pb n="1"/><lb n="1"/>quia deus bo-\n<lb n="2"/>nus est\n<lb n="3"/>et ue-\n'
        '<lb n="4"/>rax<note>2 Ps. 33, 9</note></p>'
    )
    assert told(gold(body, tmp_path, reader)) == [("bonus est et uerax", ("Ps.33.9",), "reference")]


def test_a_list_that_ends_doubtfully_is_told(tmp_path: Path, reader: ReferenceReader) -> None:
    found = gold("<p>unus duo tres<note>Ps. 33, 9; 10</note></p>", tmp_path, reader)
    assert told(found) == [("unus duo tres", ("Ps.33.9",), "reference")]
    assert [each.written for each in found.unread] == ["; 10"]


def test_an_app_without_readings_is_an_apparatus(tmp_path: Path, reader: ReferenceReader) -> None:
    body = (
        '<p><pb n="1"/>unum <lb/>duo <app><lem>duo</lem><rdg>tria Ps 1,1</rdg></app></p>'
        "<app> 1 Gen. 1, 1 Ps. 33, 9 2 Rom. 5, 12 </app> <app>2 <lb/> om. <hi>A</hi></app>"
    )
    found = gold(body, tmp_path, reader)
    assert told(found) == [
        ("unum duo duo", ("Gen.1.1", "Ps.33.9"), "reference"),
        ("duo duo", ("Rom.5.12",), "reference"),
    ]
    assert (found.unread, found.without) == ([], 1)


def test_several_references_in_a_quotation_divide_it(
    tmp_path: Path, reader: ReferenceReader
) -> None:
    body = "<p><quote>gustate<note>Ps 33,9</note> et beatus<note>Ps 1,1</note></quote></p>"
    assert told(gold(body, tmp_path, reader)) == [
        ("gustate", ("Ps.33.9",), "quotation"),
        ("et beatus", ("Ps.1.1",), "quotation"),
    ]
    body = (
        "<p><hi>gustate et uidete<note>Ps 33,9</note> et beatus uir<note>Ibid. I, 1</note></hi></p>"
    )
    assert told(gold(body, tmp_path, reader)) == [
        ("gustate et uidete", ("Ps.33.9",), "quotation"),
        ("et beatus uir", ("Ps.1.1",), "quotation"),
    ]


def test_what_gives_no_link_is_told_or_counted(tmp_path: Path, reader: ReferenceReader) -> None:
    body = (
        "<p>unus duo<note>Verg. Aen. 6, 12</note> tres<note>Ps 33,99</note>\n"
        "quattuor<note>om. A</note> <quote source='bible:Xyz.1'>quinque</quote>"
        "<bibl>Psalmus</bibl><note>Ps 33</note><note>Ibid. 3, 4</note>"
        "<ref target='https://example.org/7'>sex</ref></p>"
    )
    found = gold(body, tmp_path, reader)
    assert found.links == []
    assert [(each.line, each.written) for each in found.unread] == [
        (2, "Verg. Aen. 6, 12"), (2, "Ps 33,99"), (3, "bible:Xyz.1"), (3, "Psalmus"),
        (3, "Ps 33"), (3, "Ibid. 3, 4"),
    ]  # fmt: skip
    assert "Ps 33 has no verse 99; it has 1 to 23" in found.unread[1].reason
    assert found.without == 2


@pytest.mark.parametrize(
    ("body", "written", "reason"),
    [
        # words of another language, and marks that go to them
        ("<quote xml:lang='de' source='Ps.33.9'>und</quote>", "Ps.33.9", "its words are left"),
        ("<quote xml:lang='grc'>λόγος</quote><note>Io 1, 1</note>", "Io 1, 1", "that are left out"),
        ("<q xml:lang='de'>das <note>Ps 33,9</note></q>", "Ps 33,9", "stands in xml:lang"),
        ("<delSpan spanTo='#d'/>tres<note>Ps 33,9</note><anchor xml:id='d'/>", "Ps 33,9",
         "stands in delSpan"),
        ("<quote source='Ps.33.9'/>", "Ps.33.9", "it has no words"),
        # beside a reference that is read
        ("<note>Ps 33,9. Verg. Aen. 6, 853</note>", "Verg. Aen. 6, 853", "beside others"),
        ("<note>IV Esdr. 2, 34</note>", "IV Esdr. 2, 34", "is no book here"),
        ("<note>Iud. 16, 3</note>", "Iud. 16, 3", "has one chapter"),
    ],
)  # fmt: skip
def test_references_without_words_are_told(
    tmp_path: Path, reader: ReferenceReader, body: str, written: str, reason: str
) -> None:
    found = gold(f"<p>unus duo {body} quattuor</p>", tmp_path, reader)
    assert len(found.links) == (reason == "beside others")
    assert [each.written for each in found.unread] == [written]
    assert reason in found.unread[0].reason
    assert found.unread[0].line == 2


def test_notes_on_parts_that_are_left_out(tmp_path: Path, reader: ReferenceReader) -> None:
    path = tmp_path / "sermo.xml"
    body = "<p>unus duo<ref target='#n1'>1</ref> tres</p>"
    back = "<back><p>Praefatio<note>Ps 4,5</note></p><note xml:id='n1'>Ps 33,9</note></back></text>"
    path.write_text(document(body).replace("</text>", back))
    found = gold_from_tei(read_tei(path), reader)
    assert told(found) == [("unus duo", ("Ps.33.9",), "reference")]
    assert [(each.written, each.reason) for each in found.unread] == [
        ("Ps 4,5", "stands in back, which is left out, and points to no words of the text")
    ]
    kept = gold_from_tei(read_tei(path, keep=frozenset({"back"})), reader)
    assert told(kept)[0] == ("Praefatio", ("Ps.4.5",), "reference")


@pytest.mark.parametrize(
    "body",
    [
        # inside what is no note itself
        "<app><lem>tres<note>Ps 33,9</note></lem><rdg>tria</rdg></app>",
        "<app><lem>tres</lem><rdg>tria</rdg><note>Ps 33,9</note></app>",
        "<ref target='x.html'>tres<note>Ps 33,9</note></ref>",
        # deep inside a note
        "tres<note><cit><quote>x</quote><bibl><ref cRef='Ps.33.9'>l</ref></bibl></cit></note>",
    ],
)  # fmt: skip
def test_notes_in_any_element_are_read(tmp_path: Path, reader: ReferenceReader, body: str) -> None:
    found = gold(f"<p>unus duo {body}</p>", tmp_path, reader)
    assert told(found) == [("unus duo tres", ("Ps.33.9",), "reference")]


_NOTED = st.lists(
    st.sampled_from([
        "<note>Ps 33,9</note>", "<note>om. A</note>", "<note>Verg. Aen. 6, 1</note>",
        "<note>Ps 33</note>", "<bibl>Io 1,1</bibl>", "<note>Ps 33,99</note>", "<note>III 4</note>",
        "<foreign xml:lang='de'>x<note>Rom. 5, 12</note></foreign>", "<app>1 Gen. 1, 1</app>",
        "<quote source='Ps.1.1'>y</quote>", "<quote source='Xyz'>z</quote>",
    ]),
    min_size=1, max_size=8,
)  # fmt: skip


@given(_NOTED)
def test_every_note_is_a_link_or_told(
    tmp_path_factory: pytest.TempPathFactory, reader: ReferenceReader, notes: list[str]
) -> None:
    body = " ".join(f"unus duo tres {note}" for note in notes)
    found = gold(f"<p>{body}</p>", tmp_path_factory.getbasetemp(), reader)
    paths = {link.source.split(":", 1)[1] for link in found.links}
    paths |= {each.xpath for each in found.all_unread()}
    assert len(paths) == len(notes)


def test_other_numbering(tmp_path: Path, vulgate_passages: Sequence[Passage]) -> None:
    reader = ReferenceReader((passage.id for passage in vulgate_passages), "kjv")
    body = "<p><quote source='bible:Ps.51.1'>miserere mei</quote></p>"
    assert told(gold(body, tmp_path, reader)) == [("miserere mei", ("Ps.50.3",), "quotation")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cf. Ps. 33, 9 et Is. 7, 14", [("Ps. 33, 9", True), ("Is. 7, 14", False)]),
        ("cf. Ps. 33, 9; Matth. 5, 3", [("Ps. 33, 9; Matth. 5, 3", True)]),
        ("Hic cf. Ps. 33, 9, I Cor. 3, 4.", [("Ps. 33, 9", True), ("I Cor. 3, 4", True)]),
        ("uide 1 Reg. 2, 3 sq. et alibi", [("1 Reg. 2, 3 sq", True)]),
        ("Ad Rom. V, 12 dicit", [("Ad Rom. V, 12", False)]),
        ("(Joan. XIV, 6.)", [("Joan. XIV, 6", False)]),
        ("uerbum 33, 9", []),
        ("Lib. 1, c. 2, n. 3", []),
        ("", []),
    ],
)
def test_references_in_notes(text: str, expected: list[tuple[str, bool]]) -> None:
    assert [(each.written, each.confer) for each in references_in_note(text)[0]] == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("Ps 33,9", ["Ps 33,9"]),
        ("bible:Ps.33.9-Ps.33.10", ["Ps.33.9-Ps.33.10"]),
        ("bible:Ps.33.9 bible:Isa.7.14", ["Ps.33.9", "Isa.7.14"]),
        ("urn:cts:vulgate:Ps.33.9", ["Ps.33.9"]),
        ("BIBLIA:Ps_33,9", ["Ps 33,9"]),
        ("https://example.org/vul/Ps.33.9", ["Ps.33.9"]),
        ("https://example.org/?ref=Ps%2033,9", ["Ps 33,9"]),
        ("#n12", []),
        ("", []),
    ],
)
def test_references_in_attributes(target: str, expected: list[str]) -> None:
    assert [each.written for each in references_in_target(target)] == expected


@given(st.text(max_size=80))
def test_no_note_breaks_the_reading(text: str) -> None:
    for each in (*references_in_note(text, "Ps")[0], *references_in_target(text)):
        assert each.written


def test_the_command(run: Run, vulgate_index: LocalIndex, tmp_path: Path) -> None:
    sermo, other = tmp_path / "a" / "sermo.xml", tmp_path / "b" / "sermo.xml"
    for path in (sermo, other):
        path.parent.mkdir()
        path.write_text(document(
            "<p>Ait: <quote source='bible:Ps.33.9'>gustate</quote> et tres quattuor"
            "<note>cf. Is 7,14</note>\n et<note>Verg. Aen. 6, 12</note></p>"
        ))  # fmt: skip
    out = tmp_path / "gold.jsonl"
    done = run("gold", "from-tei", str(sermo), str(other), "--out", str(out))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    lines = done.stderr.splitlines()
    assert lines[0].startswith(f"{sermo}:3: 'Verg. Aen. 6, 12': names no verse")
    assert lines[1] == (
        f"{sermo}: 2 links (1 allusion, 1 quotation); references not read: 1, "
        "notes and pointers without one: 0"
    )
    links: list[GoldLink] = read_gold(out)
    assert [link.query.query_id for link in links] == ["sermo-1", "sermo-2", "sermo-3", "sermo-4"]
    assert [link.relevant for link in links[:2]] == [("Ps.33.9",), ("Isa.7.14",)]
    done = run(
        "gold", "from-tei", str(sermo), "--type", "allusion", "--words", "1", "--context", "2"
    )
    assert done.stdout.startswith('{"query_id": "sermo-2", "text": "quattuor", "before": "et tres"')
    assert done.stdout.count("\n") == 1
    done = run("gold", "check", str(out), "--format", "json")
    assert done.returncode == 0


def test_the_file_of_what_is_not_read(run: Run, vulgate_index: LocalIndex, tmp_path: Path) -> None:
    sermo = tmp_path / "sermo.xml"
    sermo.write_text(document(
        "<p>tres quattuor<note>Ps 33,9</note>\n et<note>=om. A; Ps</note>\n"
        "uel<note>Verg. Aen. 6, 12</note> <foreign xml:lang='de'>und</foreign></p>"
    ))  # fmt: skip
    table, lines = tmp_path / "unread.tsv", tmp_path / "unread.jsonl"
    out = ("--out", str(tmp_path / "gold.jsonl"))
    done = run("gold", "from-tei", str(sermo), "--unread", str(table), *out)
    assert done.returncode == 0, done.stderr
    assert f"{table}: 2 notes and sources that were not read" in done.stderr
    assert f'{sermo}: left out: xml:lang="de" (1 word, line 4); --language de' in done.stderr
    header, *rows = (line.split("\t") for line in table.read_text("utf-8").splitlines())
    assert header == ["file", "line", "element", "reference", "reason", "text", "xpath"]
    assert [row[1:6] for row in rows] == [
        ["3", "note", "'=om. A; Ps", "has no reference to verses of the Bible", "'=om. A; Ps"],
        ["4", "note", "Verg. Aen. 6, 12", "names no verse of the Bible that can be read",
         "Verg. Aen. 6, 12"],
    ]  # fmt: skip
    run("gold", "from-tei", str(sermo), "--unread", str(lines), *out)
    assert [json.loads(line)["line"] for line in lines.read_text("utf-8").splitlines()] == [3, 4]
    sermo.write_text(document("<p>unus<note>om. A</note></p>"))
    # Also where there is no link at all.
    assert run("gold", "from-tei", str(sermo), "--unread", str(lines), *out).returncode == 4
    assert len(lines.read_text("utf-8").splitlines()) == 1
    done = run("gold", "from-tei", str(sermo), "--keep", "note")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--keep note: only parts" in done.stderr


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        (document("<p>unus<note>om. A</note></p>"), 4, "no reference to a verse gives a link"),
        ("<TEI><text>", 4, "not well-formed XML"),
    ],
)
def test_files_without_links_are_errors(
    run: Run, vulgate_index: LocalIndex, tmp_path: Path, text: str, status: int, reason: str
) -> None:
    path, out = tmp_path / "sermo.xml", tmp_path / "gold.jsonl"
    path.write_text(text)
    done = run("gold", "from-tei", str(path), "--out", str(out))
    assert (done.returncode, done.stdout) == (status, "")
    assert reason in done.stderr.splitlines()[-1]
    assert not out.exists()


def test_long_notes_and_attributes_are_read_in_time(
    tmp_path: Path, reader: ReferenceReader
) -> None:
    # Each of these takes hours where the time grows with the square of the length.
    target, note = ":a" * 300_000, "A" + "i" * 90_000
    body = f"<p>unus<note>{note}</note><ref target='{target}'>duo</ref><note>Ps 33,9</note></p>"
    found = gold(body, tmp_path, reader)
    assert [link.relevant for link in found.links] == [("Ps.33.9",)]
    assert found.without == 2
