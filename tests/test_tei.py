"""What is read of a TEI file, and where it stands."""

import html
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tei_fixtures import document

from allusion_es.core.errors import UsageError
from allusion_es.corpora.source import read_source
from allusion_es.corpora.source_text import Place, SourceText

TEI = {"tei": "http://www.tei-c.org/ns/1.0"}


def read(body: str, folder: Path, keep: frozenset[str] = frozenset()) -> SourceText:
    path = folder / "sermo.xml"
    path.write_text(document(body), "utf-8")
    return read_source(path, keep=keep)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>Gustate  et\n   videte</p>", "Gustate et videte"),
        ("<head>De gustu</head>\n<p> Gustate </p><p>et videte</p>", "De gustu\nGustate\net videte"),
        ("<lg><l>Gustate</l><l>et videte</l></lg>", "Gustate\net videte"),
        ("<p>Gustate<lb/>et <pb n='2'/>videte</p>", "Gustate et videte"),
        ("<p>Gusta<lb break='no'/>te et vi <pb break='no'/> dete</p>", "Gustate et videte"),
        ("<p>Gusta-<lb/>\n te et vi-\ndete, qui-<pb n='2'/><lb/>a</p>", "Gustate et videte, quia"),
        ("<p>Gusta-<lb break='no'/>te, vi<hi>de¬</hi><lb/>te</p>", "Gustate, videte"),
        ("<p>Gustate - et videte\n- 12-\n13 a-\n2</p>", "Gustate - et videte - 12- 13 a- 2"),
        ("<p>Gustate<note>Ps 33,9 <p>vide</p></note> et videte</p>", "Gustate et videte"),
        ("<p>G<choice><sic>o</sic><corr>u</corr></choice>state</p>", "Gustate"),
        ("<p>G<choice><corr>u</corr><sic>o</sic></choice>state</p>", "Gustate"),
        ("<p>d<choice>\n<abbr>ns</abbr>\n <expan>e<ex>us</ex></expan>\n</choice></p>", "deus"),
        ("<p><choice><orig>Vrbs</orig><reg>urbs</reg></choice></p>", "urbs"),
        ("<p><choice><sic>Vrbs</sic></choice> et</p>", "Vrbs et"),
        ("<p><choice><unclear>a</unclear><unclear>b</unclear></choice></p>", "a"),
        ("<p><choice><sic>bo-<lb/>vem</sic><corr>bo-<lb/>num</corr></choice></p>", "bonum"),
        ("<p>bo-<choice><sic><lb/>vem</sic><corr> num</corr></choice></p>", "bo- num"),
        ("<p>bo-\n<choice><sic>vem</sic><corr>num</corr></choice></p>", "bonum"),
        ("<p><app><lem>quia</lem><rdg>quod</rdg></app> bonus</p>", "quia bonus"),
        ("<p><app><rdg>quod</rdg><lem>quia</lem></app> bonus</p>", "quia bonus"),
        ("<p><app><rdg wit='A'>quod</rdg><rdg>quia</rdg></app> bonus</p>", "quod bonus"),
        ("<p>quia <app>1 Ps 33,9 <hi>om. A</hi><lb/></app></p><p>est</p>", "quia\nest"),
        ("<p>quia<app from='#a'><lem>quia</lem><rdg>quod</rdg></app></p>", "quia"),
        ("<p><app><lem>quia <note>sic</note></lem><note>om. A</note></app> est</p>", "quia est"),
        ("<p><subst><del>o</del><add>a</add></subst> <supplied>bonus</supplied></p>", "a bonus"),
        ("<p>a <surplus>a</surplus> <gap reason='x'><desc>hole</desc></gap>bonus</p>", "a bonus"),
        ("<p><unclear>v</unclear>ir <fw>12</fw>est<figure><head>x</head></figure></p>", "vir est"),
        ("<cit><quote>Gustate</quote> <bibl>Ps 33,9</bibl></cit>", "Gustate"),
        ("<p>Gustate (<ref cRef='Ps.33.9'>Ps 33,9</ref>) et</p>", "Gustate () et"),
        ("<p><ref cRef='Ps.33.9'>Gustate</ref> et<ref target='#n1'>1</ref></p>", "Gustate et"),
        ("<p>a &amp; b &#x65;t <![CDATA[c < d]]> e<!-- no -->t</p>", "a & b et c < d et"),
        ("<div type='translation'><p>Taste</p></div><div><p>Gustate</p></div>", "Gustate"),
        ("<p>Gustate <x:y xmlns:x='urn:x'>nihil</x:y>et</p>", "Gustate et"),
        ("<p>Ἐν ἀρχῇ in principio ęternę 𐌰</p>", "Ἐν ἀρχῇ in principio ęternę 𐌰"),
    ],
)  # fmt: skip
def test_what_is_read(tmp_path: Path, body: str, text: str) -> None:
    assert read(body, tmp_path).text == text


def test_notes_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    body = "<p>Gustate <note>Vide psalmum</note> et videte</p>"
    source = read(body, tmp_path, frozenset({"note"}))
    assert source.text == "Gustate\nVide psalmum\net videte"
    assert (source.annotations[0].start, source.annotations[0].end) == (8, 20)


def test_header(tmp_path: Path) -> None:
    source = read("<p>Gustate</p>", tmp_path)
    assert (source.title, source.author) == ("Sermo", "Anonymus")
    path = tmp_path / "csel.xml"
    path.write_text(
        "<TEI><teiHeader><fileDesc><titleStmt><title/><author> Aurelius\n <persName>Augustinus"
        "</persName><date>354-430</date></author></titleStmt><sourceDesc><biblStruct><monogr>"
        "<author>Vrba</author><title>De Natura</title></monogr></biblStruct></sourceDesc>"
        "</fileDesc></teiHeader><text><body><p>unum</p></body></text></TEI>"
    )
    source = read_source(path)
    assert (source.title, source.author) == ("De Natura", "Aurelius Augustinus")
    assert source.text == "unum"


def test_places(tmp_path: Path) -> None:
    body = (
        '<pb n="12"/><div n="1"><div n="4"><p>unum <lb/>duo <lb/>tria <hi>quattuor</hi> <lb n="9"/>'
        'quin<lb break="no"/>que <pb n="13"/>sex <lb/>septem</p></div><div n="5">'
        '<lg><l n="3">octo</l></lg><p>novem <milestone unit="section" n="2"/>decem</p></div></div>'
    )
    source = read(body, tmp_path)

    def place(word: str) -> Place:
        start = source.text.index(word)
        return source.place(start, start + len(word))

    found = [place(word) for word in ("unum", "duo", "quattuor", "quinque", "sex", "septem")]
    assert [(each.page, each.line, each.section) for each in found] == [
        ("12", "1", "1.4"), ("12", "2", "1.4"), ("12", "3", "1.4"), ("12", "9", "1.4"),
        ("13", "1", "1.4"), ("13", "2", "1.4"),
    ]  # fmt: skip
    assert [place(word).section for word in ("octo", "novem", "decem")] == ["1.5", "1.5", "1.5.2"]
    assert [place(word).line for word in ("octo", "novem")] == ["3", ""]
    paragraph = "/tei:TEI[1]/tei:text[1]/tei:body[1]/tei:div[1]/tei:div[1]/tei:p[1]"
    assert place("quattuor") == Place("12", "3", "1.4", f"{paragraph}/tei:hi[1]", 0, 8)
    assert place("tria quattuor") == Place("12", "3", "1.4", paragraph, 9, 13)


def test_places_outside_are_refused(tmp_path: Path) -> None:
    source = read("<p>unum</p>", tmp_path)
    for start, end in ((0, 5), (2, 2), (-1, 2)):
        with pytest.raises(UsageError, match=r"are not in its text of 4"):
            source.place(start, end)


def test_annotations(tmp_path: Path) -> None:
    body = (
        '<p>Dixit: <quote source="bible:Ps.33.9">gustate et</quote><note xml:id="n1" type="x">cf. '
        "<ref cRef='Ps.33.9'>Ps 33,9</ref></note> videte<anchor xml:id='a1'/><ref target='#n1'/>"
        "<bibl n='Ps 33'>Psalm\n 33</bibl> <seg source='passage:a'>quia</seg> <seg>bonus</seg></p>"
    )
    source = read(body, tmp_path)
    told = [(a.element, a.start, a.end, a.text, a.target, a.parent) for a in source.annotations]
    assert source.text == "Dixit: gustate et videte quia bonus"
    assert told == [
        ("quote", 7, 17, "", "bible:Ps.33.9", -1),
        ("note", 17, 17, "cf. Ps 33,9", "", -1),
        ("ref", 17, 17, "Ps 33,9", "Ps.33.9", 1),
        ("ref", 24, 24, "", "#n1", -1),
        ("bibl", 24, 24, "Psalm 33", "Ps 33", -1),
        ("seg", 25, 29, "", "passage:a", -1),
    ]
    assert source.annotations[1].line == 2
    assert source.annotations[1].xpath.endswith("/tei:p[1]/tei:note[1]")
    assert source.ids["a1"] == (24, 24)
    assert source.pointers == {"n1": 24}


# Random documents: pieces of text and elements, with what XML knows to vary them.
_TEXTS = st.lists(
    st.sampled_from(
        ["gustate", "et", " ", "\n", ". ", "  \n ", "ęæ", "ad-", "\u00ac\n", "&amp;", "&#x61;",
         "<![CDATA[in < & loco]]>", "<!-- x -->", "<?pi x?>", "<lb/>", "<pb n='2'/>",
         "<lb break='no'/>", "<note>Ps 33</note>", "\r\n", "&#10;", "𐌰"]
    ),
    max_size=5,
).map("".join)  # fmt: skip
_SHAPES = [
    "<hi>{0}</hi>{1}",
    "<choice><sic>{0}</sic><corr>{1}</corr></choice>",
    "<app><lem>{0}</lem><rdg>{1}</rdg></app>",
    "<cit><quote>{0}</quote><bibl>Ps 1</bibl></cit>{1}",
    "d<ex>omi</ex>{0}{1}",
    "<lg><l>{0}</l><l>{1}</l></lg>",
    "<quote><p>{0}</p><p>{1}</p></quote>",
    "<ref target='x'>{0}</ref>{1}",
    "<choice><am>{0}</am><ex>{1}</ex></choice>",
    "<am>{0}</am><ex>{1}</ex>",
    "<ex>{0}</ex><am>{1}</am>",
    "<choice><orig>{0}</orig><reg/></choice>{1}",
    "<app><rdgGrp><lem>{0}</lem><rdg>{1}</rdg></rdgGrp></app>",
    "<app><rdg>{0}</rdg><rdgGrp><lem>{1}</lem></rdgGrp></app>",
    "<w>{0}</w><w>{1}</w>",
    "<w part='I'>{0}</w><pc>,</pc><w part='F'>{1}</w>",
    "<w>{0}<w join='left'>{1}</w></w>",
    "<seg type='word'>{0}</seg><s>{1}</s>",
    "{0}<milestone unit='x' n='1'/>{1}",
    "{0}<g ref='x'/><space/>{1}<gap/>",
    "<foreign xml:lang='grc'>{0}</foreign>{1}",
    "<quote xml:lang='de'>{0} <foreign xml:lang='la'>{1}</foreign></quote>",
    "<quote>{0} <ref>Ps. {1} 33, v. 9</ref></quote>",
    "{0}<delSpan spanTo='#d'/>{1}<anchor xml:id='d'/>",
    "{0}<delSpan spanTo='#never'/>{1}",
    "<subst><del>{0}</del> <add>{1}</add></subst>",
    "<restore><del>{0}</del></restore><del>{1}</del>",
    "{0}{1}",
]
_INLINE = st.recursive(
    _TEXTS,
    lambda inner: st.builds(str.format, st.sampled_from(_SHAPES), inner, inner),
    max_leaves=12,
)
BODIES = st.lists(_INLINE, min_size=1, max_size=4).map(
    lambda parts: "".join(f"<p>{part}</p>\n" for part in ["initium", *parts])
)
ENCODINGS = st.sampled_from(["UTF-8", "UTF-16", "ISO-8859-1"])


def encoded(body: str, encoding: str) -> bytes:
    text = document(body).replace("UTF-8", encoding)
    if encoding == "ISO-8859-1":
        return text.encode("iso-8859-1", "xmlcharrefreplace")
    return text.encode(encoding)


@given(body=BODIES, encoding=ENCODINGS)
def test_every_character_is_where_it_is_said_to_be(
    tmp_path_factory: pytest.TempPathFactory, body: str, encoding: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "places.xml"
    data = encoded(body, encoding)
    path.write_bytes(data)
    source = read_source(path)
    root = ElementTree.fromstring(data)
    whole = "".join(root.itertext())
    codec = source.facts.codec
    for place, character in enumerate(source.text):
        start, stop = source.map.byte_range(place, place + 1)
        if start == stop:
            assert character in " \n"
            continue
        written = html.unescape(data[start:stop].decode(codec))
        raw = source.map.raw_range(place, place + 1)
        standing = whole[slice(*raw)]
        if character == " ":
            assert written.isspace()
            assert standing.isspace()
        else:
            assert (written, standing) == (character, character)
            where = source.place(place, place + 1)
            element = root.find(where.xpath.removeprefix("/tei:TEI[1]/"), TEI)
            assert element is not None
            assert "".join(element.itertext())[where.offset] == character


@given(body=BODIES)
def test_blanks_are_single(tmp_path_factory: pytest.TempPathFactory, body: str) -> None:
    path = tmp_path_factory.getbasetemp() / "blanks.xml"
    path.write_bytes(encoded(body, "UTF-8"))
    text = read_source(path).text
    assert "  " not in text
    assert text == "\n".join(line.strip(" ") for line in text.split("\n"))
    assert "\n\n" not in text


@given(body=BODIES)
def test_no_letter_is_lost_or_read_twice(
    tmp_path_factory: pytest.TempPathFactory, body: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "letters.xml"
    data = encoded(body, "UTF-8")
    path.write_bytes(data)
    source = read_source(path)
    told = [each.text for each in source.left_out]
    assume(not any(text.endswith("\u2026") for text in told))
    text = ElementTree.fromstring(data).find("tei:text", TEI)
    assert text is not None
    assert letters("".join(text.itertext())) == letters(source.text, *told)
    assert all(0 <= each.start <= len(source.text) and each.words > 0 for each in source.left_out)


def letters(*texts: str) -> list[str]:
    return sorted(filter(str.isalnum, "".join(texts)))
