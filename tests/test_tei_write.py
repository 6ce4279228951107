"""Findings written into TEI and beside it."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tei_fixtures import document, without_prefixes
from test_tei import BODIES, ENCODINGS, encoded

from allusion_es.core.errors import InputError, UsageError
from allusion_es.corpora.findings import (
    Alternative,
    Finding,
    annotation_lines,
    json_line,
    table_lines,
    write_table,
)
from allusion_es.corpora.source import read_source
from allusion_es.corpora.source_text import SourceText
from allusion_es.corpora.tei.plain import as_tei
from allusion_es.corpora.tei.write import (
    inline_markup,
    pointer,
    standoff_lines,
    standoff_markup,
    with_insertions,
)

TEI = {"tei": "http://www.tei-c.org/ns/1.0"}
OTHER = Alternative(("1Pet.2.3",), "1 Petr 2,3", 1.5, 0.25)


def finding(source: SourceText, start: int, end: int, kind: str = "allusion") -> Finding:
    words = source.text[start:end]
    return Finding(
        start, end, words, ("Ps.33.9",), "Ps 33,9", 2.5, 0.75, kind, ("suauis",), (OTHER,)
    )


def found(source: SourceText, words: str, kind: str = "allusion") -> Finding:
    start = source.text.index(words)
    return finding(source, start, start + len(words), kind)


def marked(source: SourceText, *findings: Finding) -> bytes:
    return b"".join(with_insertions(source, inline_markup(source, findings)))


def tei(folder: Path, body: str) -> SourceText:
    path = folder / "sermo.xml"
    path.write_text(document(body), "utf-8")
    return read_source(path)


@pytest.mark.parametrize(
    ("body", "words", "expected"),
    [
        ("<p>Et gustate et.</p>", "gustate", "<p>Et [1]gustate[/] et.</p>"),
        ("<p>Et <hi>gustate</hi> et</p>", "gustate", "<p>Et <hi>[1]gustate[/]</hi> et</p>"),
        ("<p>Et <hi>gustate</hi> et</p>", "gustate et", "<p>Et [1]<hi>gustate</hi> et[/]</p>"),
        ("<p>E <hi>a b</hi> c</p>", "b c", "<p>E <hi>a [1.1 >1.2]b[/]</hi> [1.2 <1.1]c[/]</p>"),
        ("<p>E <hi>a b</hi></p>", "E a", "<p>[1.1 >1.2]E[/] <hi>[1.2 <1.1]a[/] b</hi></p>"),
        ("<p>a b</p><p>c</p>", "b\nc", "<p>a [1.1 >1.2]b[/]</p><p>[1.2 <1.1]c[/]</p>"),
        ("<p>a<note>x <hi>y</hi></note> b</p>", "a b", "<p>[1]a<note>x <hi>y</hi></note> b[/]</p>"),
        ("<p>a <note>x</note>b</p>", "b", "<p>a <note>x</note>[1]b[/]</p>"),
        (
            "<p>a <choice><sic>x</sic><corr>b</corr></choice> c</p>",
            "b c",
            "<p>a [1]<choice><sic>x</sic><corr>b</corr></choice> c[/]</p>",
        ),
        ("<p>d<ex>omi</ex>ni</p>", "mini", "<p>d[1]<ex>omi</ex>ni[/]</p>"),
        ("<p>a <![CDATA[b c]]></p>", "c", "<p>a [1]<![CDATA[b c]]>[/]</p>"),
        ("<p><hi> a b </hi> c</p>", "a b c", "<p>[1]<hi> a b </hi> c[/]</p>"),
        ("<p>&amp; &#98;<lb/>c</p>", "& b c", "<p>[1]&amp; &#98;<lb/>c[/]</p>"),
        (
            "<cit><quote>a b</quote><bibl>x</bibl></cit>",
            "b",
            "<cit><quote>a [1]b[/]</quote><bibl>x</bibl></cit>",
        ),
    ],
)  # fmt: skip
def test_tags_go_where_elements_allow(tmp_path: Path, body: str, words: str, expected: str) -> None:
    source = tei(tmp_path, body)
    text = marked(source, found(source, words)).decode()

    def short(match: re.Match[str]) -> str:
        assert match[1] == 'type="allusion" source="bible:Ps.33.9" n="Ps 33,9" cert="0.75"'
        joined = match[3].replace(' next="#allusion-', " >").replace(' prev="#allusion-', " <")
        return f"[{match[2]}{joined.replace(chr(34), '')}]"

    tag = re.compile(r'<seg (type=.*?) xml:id="allusion-([\d.]+)"(.*?)>')
    text = without_prefixes(text)
    assert tag.sub(short, text).replace("</seg>", "[/]") == document(expected)


def test_findings_nest(tmp_path: Path) -> None:
    source = tei(tmp_path, "<p>a b c d e</p>")
    findings = [found(source, words) for words in ("a b c", "b c d", "c", "a b c d e", "c")]
    text = marked(source, *findings).decode()
    tags = re.sub(r'<seg .*?xml:id="allusion-([\d.]+)".*?>', r"[\1 ", text).replace("</seg>", "]")
    assert "<p>[1 [2 a [3.1 b [4 [5 c]]]] [3.2 d] e]</p>" in tags


def test_quotations_are_quotes_where_tei_allows_them(tmp_path: Path) -> None:
    source = tei(tmp_path, "<p>a b <date>c</date></p>")
    text = marked(source, found(source, "a", "quotation"), found(source, "c", "quotation")).decode()
    assert '<quote type="quotation"' in text
    assert '<date><seg type="quotation"' in text


@pytest.mark.parametrize(
    ("body", "words", "name"),
    [
        ("<p>a <quote>b c</quote></p>", "b c", "seg"),
        ("<p>a <quote>'b c.'</quote></p>", "b c", "seg"),  # marks are no words
        ("<p>a <q>b <hi>c</hi></q></p>", "b c", "seg"),
        ("<quote><p>b c</p></quote>", "b c", "seg"),
        ("<p>a <quote>b c</quote></p>", "c", "quote"),  # a quotation in the quotation
        ("<p>a <quote>b c</quote></p>", "a b c", "quote"),
        ("<p>a b c</p>", "b c", "quote"),
    ],
)
def test_what_is_a_quote_already_gets_no_second_one(
    tmp_path: Path, body: str, words: str, name: str
) -> None:
    source = tei(tmp_path, body)
    text = marked(source, found(source, words, "quotation")).decode()
    assert re.findall(r'<(\w+) type="quotation"', text) == [name]


def test_prefixes_and_ids_of_the_file_are_heeded(tmp_path: Path) -> None:
    path = tmp_path / "sermo.xml"
    path.write_text(
        '<t:TEI xmlns:t="http://www.tei-c.org/ns/1.0"><t:teiHeader></t:teiHeader><t:text><t:body>'
        '<t:p xml:id="allusion-7">gustate</t:p></t:body></t:text></t:TEI>'
    )
    source = read_source(path)
    text = marked(source, found(source, "gustate")).decode()
    assert '<t:p xml:id="allusion-7"><t:seg type' in text
    assert 'xml:id="allusion2-1">gustate</t:seg></t:p>' in text
    beside = b"".join(with_insertions(source, standoff_markup(source, [found(source, "gustate")])))
    ElementTree.fromstring(beside)
    assert b"</t:teiHeader>\n<t:standOff><t:listAnnotation" in beside


def test_prefixes_are_defined_once(tmp_path: Path) -> None:
    source = tei(tmp_path, "<p>Et gustate.</p>")
    text = marked(source, found(source, "gustate")).decode()
    defined = ElementTree.fromstring(text).findall(".//tei:encodingDesc//tei:prefixDef", TEI)
    assert [each.get("ident") for each in defined] == ["bible"]
    match = re.fullmatch(defined[0].get("matchPattern", ""), "Ps.33.9")
    assert match is not None
    assert match.groups() == ("Ps", "33", "9")
    # A file that was marked already, or that defines them itself, needs no second definition.
    source.path.write_text(text)
    again = read_source(source.path)
    assert again.prefixes == {"bible"}
    assert marked(again, found(again, "Et")).decode().count("<prefixDef") == 1
    beside = b"".join(standoff_line.encode() for standoff_line in standoff_lines(source, []))
    assert b"prefixDef" not in beside


def test_judgements_are_written(tmp_path: Path) -> None:
    source = tei(tmp_path, "<p>Et gustate.</p>")
    judged = replace(found(source, "gustate"), judgement="rejected", comment="aliter")
    assert b'subtype="rejected"' in marked(source, judged)
    header, row = table_lines(source, [judged], judged=True, separator=",")
    assert header.endswith(",calibrated,judgement,comment")
    assert row.endswith(",yes,rejected,aliter")
    assert json.loads(json_line(source, judged))["judgement"] == "rejected"
    page = json.loads("".join(annotation_lines(source, [judged])))
    told = {body["purpose"]: body.get("value") for body in page["items"][0]["body"]}
    assert (told["assessing"], told["commenting"]) == ("rejected", "aliter")


_TAG = re.compile(rb"<(seg|quote) [^>]*?xml:id=\"allusion-[^>]*>")


def stripped(data: bytes, codec: str) -> bytes:
    """What is left when the tags of findings are taken away, found by an own small parser."""
    text = data.decode(codec)
    kept: list[str] = []
    is_ours: list[bool] = []
    place = 0
    tag = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<(/?)([a-zA-Z]+)[^>]*?(/?)>", re.S)
    for match in tag.finditer(text):
        if not match[2] or match[3]:
            continue
        ours = is_ours.pop() if match[1] else 'xml:id="allusion-' in match[0]
        if not match[1]:
            is_ours.append(ours)
        if ours:
            kept.append(text[place : match.start()])
            place = match.end()
    return "".join([*kept, text[place:]]).encode(codec)


@given(body=BODIES, encoding=ENCODINGS, data=st.data())
def test_what_is_written_is_the_file_with_tags(
    tmp_path_factory: pytest.TempPathFactory, body: str, encoding: str, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.xml"
    before = encoded(body, encoding)
    path.write_bytes(before)
    source = read_source(path)
    assert marked(source) == before
    length = len(source.text)
    starts = st.integers(0, length - 1)
    spans = st.tuples(starts, starts).map(lambda two: (min(two), max(two) + 1))
    findings = [
        finding(source, *span, data.draw(st.sampled_from(["quotation", "allusion"])))
        for span in data.draw(st.lists(spans, max_size=4))
    ]
    after = marked(source, *findings)
    codec = source.facts.codec
    plain = stripped(after, codec).decode(codec)
    assert (without_prefixes(plain) if findings else plain).encode(codec) == before
    path.write_bytes(after)
    again = read_source(path)
    assert again.text == source.text
    words_of = {
        number: {
            place
            for annotation in again.annotations
            if re.fullmatch(rf"allusion-{number}(\.\d+)?", annotation.id)
            for place in range(annotation.start, annotation.end)
            if source.text[place].isalnum()
        }
        for number in range(1, len(findings) + 1)
    }
    ordered = sorted(findings, key=lambda found: (found.start, -found.end))
    for number, wanted in enumerate(ordered, start=1):
        places = range(wanted.start, wanted.end)
        asked = {place for place in places if source.text[place].isalnum()}
        assert asked <= words_of[number]
        # More is marked only where an element allows no tags inside it.
        atoms = ("<ex>", "<am>", "<pc>", "CDATA")
        assert words_of[number] == asked or any(atom in body for atom in atoms)


def test_the_file_must_be_what_it_was(tmp_path: Path) -> None:
    source = tei(tmp_path, "<p>gustate</p>")
    wanted = found(source, "gustate")
    source.path.write_bytes(source.path.read_bytes() + b"\n")
    with pytest.raises(InputError, match="changed since it was read"):
        marked(source, wanted)
    source.path.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        marked(source, wanted)


def test_findings_of_other_texts_are_refused(tmp_path: Path) -> None:
    source = tei(tmp_path, "<p>gustate</p>")
    good = found(source, "gustate")
    for bad, told in [
        (Finding(0, 3, "abc", ("Ps.33.9",), "", 1.0, 0.5, "allusion"), "do not stand"),
        (Finding(5, 12, "te", ("Ps.33.9",), "", 1.0, 0.5, "allusion"), "do not stand"),
        (Finding(0, 7, "gustate", (), "", 1.0, 0.5, "allusion"), "names no passage"),
        (Finding(0, 7, "gustate", ("a",), "", float("nan"), 0.5, "allusion"), "give numbers"),
        (Finding(0, 7, "gustate", ("a",), "", 1.0, 1.5, "allusion"), "give numbers"),
    ]:
        with pytest.raises(UsageError, match=told):
            marked(source, good, bad)
    plain = tmp_path / "sermo.txt"
    plain.write_text("gustate")
    with pytest.raises(UsageError, match="no TEI file"):
        inline_markup(read_source(plain), [])
    with pytest.raises(UsageError, match="no teiHeader"):
        standoff_markup(read_source(plain), [])


def test_pointers_count_in_the_element(tmp_path: Path) -> None:
    source = tei(tmp_path, "<p>Et <note>Ps 33</note>\n  gustate <hi>et videte</hi></p>")
    root = ElementTree.parse(source.path).getroot()
    for words in ("gustate et", "videte"):
        place = found(source, words)
        target = pointer(source, place.start, place.end)
        match = re.fullmatch(r"sermo\.xml#string-range\(xpath\((.*)\),(\d+),(\d+)\)", target)
        assert match
        element = root.find(match[1].removeprefix("/tei:TEI[1]/"), TEI)
        assert element is not None
        start = int(match[2])
        assert "".join(element.itertext())[start : start + int(match[3])] == words
    plain = tmp_path / "sermo 1.txt"
    plain.write_text("Et gustate")
    assert pointer(read_source(plain), 3, 10) == "sermo%201.txt#char=3,10"


def test_standoff(tmp_path: Path) -> None:
    source = tei(tmp_path, "<p>Et gustate &amp; videte</p>")
    lines = "\n".join(standoff_lines(source, [found(source, "gustate & videte", "quotation")]))
    root = ElementTree.fromstring(lines)
    annotation = root.find(".//tei:annotation", TEI)
    assert annotation is not None
    assert annotation.get("cert") == "0.75"
    refs = [
        (ref.get("type"), ref.get("target"), ref.text) for ref in annotation.findall("tei:ref", TEI)
    ]
    assert refs == [
        ("quotation", "bible:Ps.33.9", "Ps 33,9"),
        ("alternative", "bible:1Pet.2.3", "1 Petr 2,3"),
    ]
    assert annotation.findtext("tei:note", namespaces=TEI) == "gustate & videte"
    inside = b"".join(with_insertions(source, standoff_markup(source, [found(source, "gustate")])))
    assert b'target="#string-range(' in inside
    assert standoff_markup(source, []) == []
    source.path.write_bytes(inside)
    assert read_source(source.path).text == source.text


def test_web_annotations(tmp_path: Path) -> None:
    source = tei(tmp_path, "<p>Et <hi>gustate</hi> \u201cvidete\u201d</p>")
    page = json.loads("\n".join(annotation_lines(source, [found(source, "gustate")])))
    assert page["@context"] == "http://www.w3.org/ns/anno.jsonld"
    item = page["items"][0]
    assert item["body"][0] == {
        "type": "SpecificResource",
        "purpose": "linking",
        "source": "bible:Ps.33.9",
    }
    quote, xpath = item["target"]["selector"]
    assert quote == {
        "type": "TextQuoteSelector",
        "exact": "gustate",
        "prefix": "Et ",
        "suffix": " \u201cvidete\u201d",
    }
    assert xpath["value"].endswith("/tei:p[1]/tei:hi[1]")
    assert xpath["refinedBy"] == {"type": "TextPositionSelector", "start": 0, "end": 7}
    assert json.loads("\n".join(annotation_lines(source, [])))["items"] == []
    plain = tmp_path / "sermo.txt"
    plain.write_text("Et gustate")
    text = read_source(plain)
    selectors = json.loads("".join(annotation_lines(text, [found(text, "gustate")])))["items"][0]
    assert selectors["target"]["selector"][1] == {
        "type": "TextPositionSelector", "start": 3, "end": 10
    }  # fmt: skip


def test_tables_open_in_spreadsheets(tmp_path: Path) -> None:
    source = tei(tmp_path, '<pb n="=4"/><p>Et\t<hi>"-gustate"</hi></p><p>et</p>')
    findings = [found(source, '-gustate"\net'), found(source, '"-g')]
    header, second, first = table_lines(source, findings)
    assert header.split("\t")[:6] == ["start", "end", "page", "line", "section", "text"]
    cells = first.split("\t")
    assert cells[2] == "'=4"
    assert cells[5] == '"\'-gustate"" et"'
    assert second.split("\t")[5] == '"""-g"'
    assert "1 Petr 2,3 (0.25)" in cells
    out = tmp_path / "sermo.tsv"
    write_table(out, source, findings)
    assert out.read_bytes().startswith(b"\xef\xbb\xbfstart\tend\t")
    assert out.read_text("utf-8-sig").splitlines()[1:] == [second, first]


def test_json_lines(tmp_path: Path) -> None:
    source = tei(tmp_path, '<pb n="4"/><p>Et <hi>gustate</hi></p>')
    record = json.loads(json_line(source, found(source, "gustate", "quotation")))
    assert list(record) == [
        "start", "end", "text", "passages", "reference", "score", "probability", "calibrated",
        "kind", "words",
        "alternatives", "xpath", "page",
    ]  # fmt: skip
    assert (record["start"], record["end"], record["page"]) == (3, 10, "4")
    assert record["alternatives"][0]["passages"] == ["1Pet.2.3"]


def test_a_plain_text_becomes_tei(tmp_path: Path) -> None:
    path = tmp_path / "sermo.txt"
    path.write_text(
        "Et  gus-\ntate & <b>\x07et\x0c videte.\n\n \n😀 Sua\xadvis est ¬\nDominus —\n\n\nfinis"
    )
    source = read_source(path)
    start, end = source.text.index("Sua"), source.text.index(" —")
    found = [finding(source, 4, 14), finding(source, start, end, "quotation")]
    tei, moved = as_tei(source, found, tmp_path / "sermo.xml")
    assert [each.text for each in moved] == ["gustate", "Sua\xadvis est ¬ Dominus"]
    assert [tei.place(each.start, each.end).line for each in moved] == ["1", "5"]
    root = ElementTree.fromstring(b"".join(with_insertions(tei, inline_markup(tei, moved))))
    assert root.find(".//tei:prefixDef[@ident='bible']", TEI) is not None
    assert len(root.findall(".//tei:body/tei:p", TEI)) == 3
    assert [each.get("n") for each in root.iterfind(".//tei:lb", TEI)] == ["1", "2", "5", "6", "9"]
