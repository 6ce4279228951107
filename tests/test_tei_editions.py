"""Whole TEI files in the manner of several series: their text word by word, what is left out, and
findings written into them."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tei_fixtures import HEADER, document

from allusion_es.core.errors import InputError
from allusion_es.corpora.findings import Finding
from allusion_es.corpora.left_out import left_out_note
from allusion_es.corpora.source import read_source
from allusion_es.corpora.source_listing import Stretch, listing, place_label
from allusion_es.corpora.source_text import SourceText
from allusion_es.corpora.tei.write import inline_markup, with_insertions

_HEAD = HEADER.format(title="Sermo", author="Anonymus")
_TEI = f'<TEI xmlns="http://www.tei-c.org/ns/1.0">{_HEAD}'

# Corpus Scriptorum Ecclesiasticorum Latinorum as OpenGreekAndLatin encodes it: printed lines with
# broken words, the apparatus as notes at the foot, the edition in a div with a CTS URN.
CSEL = f"""{_TEI}<text xml:lang="lat"><body>
<div type="edition" n="urn:cts:latinLit:stoa0040.stoa001.opp-lat1" xml:lang="lat">
<div type="textpart" subtype="book" n="1"><div type="textpart" subtype="chapter" n="2">
<p><pb n="302"/>Hoc est quod ait scrip-<lb n="1"/>tura: <quote>gustate et uidete quo-
<lb n="2"/>niam suauis est dominus</quote>, et alibi <add>non</add> <del>autem</del>
<lb n="3"/>derelinquet<note type="footnote">1 Ps. 33, 9 <lb/>3 autem <hi>A</hi></note> <supplied>eum
</supplied>. <milestone unit="section" n="3"/>Item graece <foreign xml:lang="grc">ὁ λόγος</foreign>
uerbum dicitur.</p></div></div></div>
<div type="translation" xml:lang="eng"><p>This is what Scripture says.</p></div>
</body></text></TEI>"""

# Patrologia Latina as Corpus Corporum has it: columns, references in brackets, italics, an
# editor's admonition before the text.
MIGNE = f"""{_TEI}<text><front><div type="admonitio"><p>Sermo hic in editis omnibus desideratur.
</p></div></front><body><div n="1"><head>SERMO PRIMUS</head>
<p><pb n="0143A"/>Audistis, fratres: <hi rend="italic">Gustate et videte quoniam suavis est
Dominus</hi> <ref>(Psal. XXXIII, 9)</ref>. <hi rend="italic">Beatus vir</hi> (<bibl>Ibid.</bibl>)
qui sperat in <cb n="0143B"/>eo.</p>
<lg><l>Arma virumque cano,</l><l part="I">Troiae</l></lg></div></body>
<back><div type="index"><list><item>Psalmi 12</item></list></div></back></text></TEI>"""

# A tokenised edition (LASLA, PROIEL, Sermones): no blank between the words.
TOKENS = f"""{_TEI}<text><body><ab><s n="1"><w lemma="dico">Ait</w><w>enim</w><pc>:</pc><pc>“</pc><w
>Gusta<lb/>te</w><w>et</w><w part="I">vi</w><pc>-</pc><lb/><w
part="F">dete</w><pc>”</pc><pc>.</pc></s><s n="2"><w>Arma</w><w>virum</w><w
join="left">que</w><w><choice><abbr>dns</abbr><expan>d<ex>omi</ex>nus</expan></choice></w><gap
reason="lacuna"/><w>cano</w></s></ab></body></text></TEI>"""
# EpiDoc: abbreviations, interpuncts, lines that break words, hands, a translation and commentary.
EPIDOC = f"""<TEI xmlns="http://www.tei-c.org/ns/1.0" xml:lang="en">{_HEAD}<text><body>
<div type="edition" xml:lang="la" xml:space="preserve"><ab>
<lb n="1"/><expan><abbr>D<am>D</am></abbr><ex>ominis</ex></expan><g type="interpunct"/><expan>n<ex
>ostris</ex></expan><g type="interpunct"/>impera<lb n="2" break="no"/>toribus
<choice><orig>bibas</orig><reg>vivas</reg></choice> <space extent="1"
unit="character"/>in<handShift/> <app><lem>deo</lem><rdg resp="#x">domino</rdg></app> <subst>
  <del>p</del>
  <add>b</add>
</subst>onis <surplus>bonis</surplus> <delSpan spanTo="#end"/>et malis <anchor xml:id="end"/>vale
</ab></div>
<div type="translation"><p>To our lords.</p></div><div type="commentary"><p>See line 2.</p></div>
<div><p>Found in Rome.</p></div></body></text></TEI>"""

# A critical edition in parallel segmentation with groups of readings, and a German preface.
SERMONES = f"""{_TEI}<text><front><div xml:lang="de"><p>Die Handschriften.</p></div></front>
<body xml:lang="la"><div type="sermo" n="4"><p>Dilectissimi, <app><rdgGrp type="orthographic"><lem
wit="#A">gustate</lem><rdg wit="#B">gustatte</rdg></rdgGrp><rdgGrp><rdg wit="#C">gustabitis</rdg
></rdgGrp><note>sic A</note></app> et <app><rdg wit="#B">uidetis</rdg><lem>uidete</lem></app>
<app><rdg wit="#A"/><rdg wit="#B">quoniam</rdg></app> <cit><quote>suauis est <choice><am>dns</am><ex
>dominus</ex></choice> <ref target="#ps">Ps. 33, v. 9</ref></quote><bibl>Ps. 33</bibl></cit>
<q xml:lang="de">wie süß</q>; <unclear>beatus</unclear> <choice><unclear
cert="low">uis</unclear><unclear
cert="high">uir</unclear></choice>.</p></div></body></text></TEI>"""
# Deutsches Textarchiv: Latin in a German book, with running titles and marginal notes.
DTA = f"""{_TEI}<text xml:lang="de"><body><div n="1"><fw place="top">Das Buch</fw><p>Der Herr
spricht: <quote xml:lang="la">Gustate et vi¬<lb/>
dete</quote><note place="left">Ps. 33</note> das ist, <foreign xml:lang="lat">quoniam
<choice><sic>suauus</sic><corr>suavis</corr></choice> est</foreign>.</p><p xml:lang="la">Beatus
vir.</p> </div></body></text></TEI>"""

EDITIONS = {
    "csel": (
        CSEL,
        "Hoc est quod ait scriptura: gustate et uidete quoniam suauis est dominus, et "
        "alibi non derelinquet eum . Item graece uerbum dicitur.",
        'left out: note (7 words, line 6), div type="translation" (5 words, line 9), '
        'xml:lang="grc" (2 words, line 7), del (1 word, line 5); --keep note, --keep div,'
        " --language grc, --keep del read them",
    ),
    "migne": (
        MIGNE,
        "SERMO PRIMUS\n"
        "Audistis, fratres: Gustate et videte quoniam suavis est Dominus . Beatus vir () "
        "qui sperat in eo.\n"
        "Arma virumque cano,\n"
        "Troiae",
        "left out: front (6 words, line 1), ref (3 words, line 4), back (2 words, line "
        "7), bibl (1 word, line 4); --keep front, --keep back, --keep bibl read them",
    ),
    "tokens": (
        TOKENS,
        "Ait enim: “Gustate et videte”. Arma virumque dominus cano",
        "",
    ),
    "epidoc": (
        EPIDOC,
        "Dominis nostris imperatoribus vivas in deo bonis vale",
        'left out: xml:lang="en" (3 words, line 1), div type="translation" (3 words, line'
        ' 11), div type="commentary" (3 words, line 11), delSpan (2 words, line 9), del '
        "(1 word, line 7), surplus (1 word, line 9); --language en, --keep div, --keep "
        "del, --keep surplus read them",
    ),
    "sermones": (
        SERMONES,
        "Dilectissimi, gustate et uidete quoniam suauis est dominus ; beatus uir.",
        "left out: ref (4 words, line 6), front (2 words, line 1), note (2 words, line "
        '4), bibl (2 words, line 6), xml:lang="de" (2 words, line 7); --keep front, '
        "--keep note, --keep bibl, --language de read them",
    ),
    "dta": (
        DTA,
        "Gustate et videte quoniam suavis est\nBeatus vir.",
        'left out: xml:lang="de" (6 words, line 1), fw (2 words, line 1), note (2 words, '
        "line 3); --language de, --keep fw, --keep note read them",
    ),
}


def source(name: str, folder: Path) -> SourceText:
    path = folder / f"{name}.xml"
    path.write_text(EDITIONS[name][0], "utf-8")
    return read_source(path)


MARKUP = [
    ("<p>d <choice><am>qm</am><ex>quoniam</ex></choice> e</p>", "d quoniam e"),
    ("<p>d <choice><ex>quoniam</ex><am>qm</am></choice> e</p>", "d quoniam e"),
    ("<p>d <am>qm</am><ex>quoniam</ex> e</p>", "d quoniam e"),
    ("<p>d<ex>omi</ex><am>~</am>nus e</p>", "dominus e"),
    ("<p><expan><abbr>Aug<am>g</am></abbr><ex>ustorum</ex></expan> e</p>", "Augustorum e"),
    ("<p><abbr>q<am>m</am></abbr> e</p>", "qm e"),
    (
        "<p><choice><abbr>d<am>n</am>s</abbr><expan>d<ex>omi</ex>nus</expan></choice> e</p>",
        "dominus e",
    ),
    (
        "<p><choice><orig>Vrbs</orig><reg><choice><sic>urps</sic><corr>urbs</corr></choice>"
        "</reg></choice></p>",
        "urbs",
    ),
    (
        "<p><choice><reg>urbs</reg><choice><abbr>a</abbr><expan>b</expan></choice></choice></p>",
        "urbs",
    ),
    (
        "<p><choice><unclear cert='low'>a</unclear><unclear cert='high'>b</unclear></choice></p>",
        "b",
    ),
    ("<p><choice><expan/><abbr>dns</abbr></choice> e</p>", "dns e"),
    ("<p>u <app><rdgGrp><lem>quia</lem><rdg>quod</rdg></rdgGrp></app> b</p>", "u quia b"),
    ("<p>u <app><rdgGrp><rdg>quod</rdg></rdgGrp><lem>quia</lem></app> b</p>", "u quia b"),
    (
        "<p>u <app><lem>quia</lem><rdgGrp type='x'><rdgGrp><rdg>quod</rdg></rdgGrp><note>x"
        "</note></rdgGrp></app> b</p>",
        "u quia b",
    ),
    (
        "<p>u <app><rdgGrp><rdg>quod</rdg><rdg>quo</rdg></rdgGrp><rdg>qui</rdg></app> b</p>",
        "u quod b",
    ),
    ("<p>u <app><rdg wit='A'/><rdg>qui</rdg></app> b</p>", "u qui b"),
    ("<p>u <app><lem/><rdg>qui</rdg></app> b</p>", "u b"),
    (
        "<p>u <app>\n<lem>quia <app><lem>est</lem><rdg>sit</rdg></app></lem>\n<rdg>x</rdg>\n"
        "</app> b</p>",
        "u quia est b",
    ),
    (
        "<p><w>Audite</w><pc>,</pc><w>fratres</w><pc>.</pc><w>ait</w><pc>“</pc><w>gustate</w>"
        "<pc>”</pc><w>et</w></p>",
        "Audite, fratres. ait “gustate” et",
    ),
    ("<p><w>gus<lb/>tate</w><w>et</w></p>", "gustate et"),
    ("<p><w>gus-<lb/>tate</w><w>et</w></p>", "gustate et"),
    ("<p><w>gus<lb/></w><w>tate</w></p>", "gus tate"),
    ("<p><w>gus</w><w><lb/>tate</w></p>", "gus tate"),
    ("<p><w part='I'>gus</w><lb/><w part='F'>tate</w><w>et</w></p>", "gustate et"),
    (
        "<p><w part='I'>gus</w><pc>-</pc><lb/><w part='F'>tate</w><w>et</w></p>",
        "gustate et",
    ),
    (
        "<lg><l><w>a</w><w part='I'>gus</w></l><l><w part='F'>tate</w><w>et</w></l></lg>",
        "a gustate et",
    ),
    ("<p><w>virum<w>que</w></w><w>cano</w></p>", "virumque cano"),
    ("<p><w>virum</w><w join='left'>que</w><w>cano</w></p>", "virumque cano"),
    ("<p><w><m>gust</m><m>ate</m></w><c> </c><w>et</w></p>", "gustate et"),
    ("<p><w><c>g</c><c>u</c></w><w>et</w></p>", "gu et"),
    ("<p><seg type='word'>gustate</seg><seg type='word'>et</seg></p>", "gustate et"),
    ("<p><s>gustate</s><s>et</s></p>", "gustate et"),
    (
        "<p>gustate<milestone unit='s' n='1'/>et<g ref='#x'/>vi<g ref='#y'>d</g>ete"
        "<space/>quo<caesura/>niam<gap/>est<anchor xml:id='a'/>, et</p>",
        "gustate et videte quo niam est, et",
    ),
    ("<p><w>gus<milestone unit='s'/>ta<gap/>t<g/>e</w></p>", "gustate"),
    ("<p>gus<milestone unit='s' break='no'/>tate</p>", "gustate"),
    ("<p>v<subst>\n<del>o</del>\n<add>a</add>\n</subst>s</p>", "vas"),
    ("<p>est<del> bonus </del>verbum</p>", "est verbum"),
    ("<p>ver<restore><del>bum</del></restore></p>", "verbum"),
    (
        "<p>est <delSpan spanTo='#d'/>non bonus</p><p>male <anchor xml:id='d'/>verbum</p>",
        "est\nverbum",
    ),
    ("<p>gu<delSpan spanTo='#d'/>x<anchor xml:id='d'/>state</p>", "gustate"),
    ("<p>est <delSpan spanTo='#nope'/>bonus</p>", "est bonus"),
    (
        "<p>est <addSpan spanTo='#d'/>bonus<anchor xml:id='d'/> vir <damageSpan "
        "spanTo='#e'/>a<anchor xml:id='e'/></p>",
        "est bonus vir a",
    ),
    (
        "<p>est <foreign xml:lang='grc'>logos</foreign> verbum <foreign xml:lang='lat'>vir"
        "</foreign></p>",
        "est verbum vir",
    ),
    ("<p>est<foreign xml:lang='grc'>logos</foreign>verbum</p>", "est verbum"),
    (
        "<div xml:lang='de'><p>Er sagt <quote xml:lang='la'>gustate</quote> <note>x"
        "</note>heute</p></div><p>est</p>",
        "gustate\nest",
    ),
    ("<div xml:lang='la-x-med'><p xml:lang='LA'>est</p></div>", "est"),
    (
        "<p>dicit: <quote>gustate et <ref>Ps. 33, v. 9</ref> videte</quote></p>",
        "dicit: gustate et videte",
    ),
    (
        "<p>dicit: <quote>gustate et <ref>cf. Psal. XXXIII</ref> videte <ref>ibid.</ref> "
        "<ref>gustate</ref></quote></p>",
        "dicit: gustate et videte gustate",
    ),
    (
        "<cit><quote>gustate</quote> <ref target='#x'>Verg. Aen. 6, 853</ref></cit>",
        "gustate",
    ),
    ("<p>cf <ref target='#x'>in capitulo sexto</ref> a</p>", "cf in capitulo sexto a"),
    (
        "<p><w>Audite</w><w>fratres</w><w>gustate</w><w>et</w><w>videte</w><w>quoniam</w>"
        "<w>suavis</w><w>est</w><w>Dominus</w><pc>;</pc><w>beatus</w><w>vir</w></p>",
        "Audite fratres gustate et videte quoniam suavis est Dominus; beatus vir",
    ),
    (
        "<p>Gustate et videte <choice><am>qm</am><ex>quoniam</ex></choice> suavis est "
        "<choice><am>dns</am><ex>dominus</ex></choice>.</p>",
        "Gustate et videte quoniam suavis est dominus.",
    ),
    (
        "<p><foreign xml:lang='de'>Er sagt <q xml:lang='la'>gustate</q> und</foreign>videte</p>",
        "gustate videte",
    ),
    ("<p><w>gu<del> x </del>state</w><w>et</w></p>", "gustate et"),
    (
        "<table><row><cell>unus</cell><cell>duo</cell></row></table><list><item>tres"
        "</item><item>quattuor</item></list>",
        "unus\nduo\ntres\nquattuor",
    ),
    ("<sp><speaker>A</speaker><l>unus</l><stage>x</stage><l>duo</l></sp>", "unus\nduo"),
    ("<p>gus-<pb n='3'/><fw>12</fw><lb/>tate</p>", "gustate"),
    ("<p>gus-<fw>12</fw><pb n='3'/><lb/>tate</p>", "gustate"),
    ("<p>gus<lb type='inWord'/>tate</p>", "gustate"),
    ("<p><w>gus<pb/><fw>3</fw><lb/>tate</w></p>", "gustate"),
    ("<p>a<w>b</w>c</p>", "a b c"),
    (
        "<p>a <hi>G</hi>ustate <persName><w>Dauid</w></persName><w>rex</w></p>",
        "a Gustate Dauid rex",
    ),
    ("<p><name><w>Dauid</w></name>, <w>rex</w>.</p>", "Dauid, rex."),
    ("<p>(<w>Dauid</w>)</p>", "(Dauid)"),
    ("<p><w>a</w><lb/><w>b</w><pb/><w>c</w></p>", "a b c"),
    ("<p><w>a</w>\n<w>b</w>\n<pc>.</pc></p>", "a b ."),
    ("<p><w>gus</w><lb break='no'/><w>tate</w></p>", "gustate"),
    ("<p><w next='#b' xml:id='a'>gus</w><lb/><w prev='#a' xml:id='b'>tate</w></p>", "gustate"),
    ("<p><w part='I'>gus</w> aliud <w part='F'>tate</w></p>", "gus aliud tate"),
    ("<p>cf. <choice><sic>a</sic><corr resp='#x'/></choice>b</p>", "cf. b"),
    (
        "<p><choice><seg xml:lang='en'>taste</seg><seg xml:lang='la'>gustate</seg></choice></p>",
        "gustate",
    ),
    ("<p><quote xml:lang='grc'>logos</quote><quote xml:lang='la'>verbum</quote></p>", "verbum"),
    ("<p>est<figure><figDesc>x</figDesc></figure>verbum</p>", "est verbum"),
    ("<p>est <choice><orig>u<lb/>erbum</orig><reg>verbum</reg></choice></p>", "est verbum"),
    (
        "<p>est <app><lem wit='#A'>ver<lb break='no'/>bum</lem><rdg>v</rdg></app></p>",
        "est verbum",
    ),
    (
        "<p>est <app><note>x</note><rdgGrp><rdg><app><lem>bonus</lem><rdg>b</rdg></app>"
        "</rdg><rdg>malus</rdg></rdgGrp></app></p>",
        "est bonus",
    ),
    ("<p>a <add place='m'>b</add> <subst><add>c</add><del>d</del></subst></p>", "a b c"),
    (
        "<p>a <delSpan spanTo='#x'/>b <delSpan spanTo='#y'/>c <anchor xml:id='x'/>d "
        "<anchor xml:id='y'/>e</p>",
        "a e",
    ),
    ("<p xml:lang='la-Latn'>a <seg xml:lang=''>b</seg> <seg xml:lang='und'>c</seg></p>", "a b c"),
    (
        "<p>dicit <quote>gustate <ref>Ps. 33</ref> et <ref>(Ps 33:9)</ref> <ref "
        "target='n'>videte quam</ref></quote></p>",
        "dicit gustate et videte quam",
    ),
    (
        "<p>dicit <cit><quote>gustate</quote><ref>Ps.</ref></cit> <q>et <ref>33, 9</ref></q></p>",
        "dicit gustate et",
    ),
    (
        "<p>dicit <cit><ref>Is. VII, 14</ref> <quote>ecce virgo</quote></cit></p>",
        "dicit ecce virgo",
    ),
    ("<p><label>a</label>gustate et</p>", "a gustate et"),
    ("<p>quo⸗<lb/>niam gusta=\n<lb/>te, a = b</p>", "quoniam gustate, a = b"),
]


@pytest.mark.parametrize(("body", "text"), MARKUP)
def test_markup_in_words_and_between_them(tmp_path: Path, body: str, text: str) -> None:
    path = tmp_path / "sermo.xml"
    path.write_text(document(body), "utf-8")
    assert read_source(path).text == text


@pytest.mark.parametrize("name", EDITIONS)
def test_the_text_word_by_word(tmp_path: Path, name: str) -> None:
    assert source(name, tmp_path).text == EDITIONS[name][1]


@pytest.mark.parametrize("name", EDITIONS)
def test_what_is_left_out_is_told(tmp_path: Path, name: str) -> None:
    assert left_out_note(source(name, tmp_path).left_out) == EDITIONS[name][2]


@pytest.mark.parametrize("name", EDITIONS)
def test_every_stretch_of_words_can_be_marked(tmp_path: Path, name: str) -> None:
    text = source(name, tmp_path)
    words = [match.span() for match in re.finditer(r"\w+", text.text)]
    for count in (1, 2, 5, len(words)):
        findings = [
            Finding(
                start, words[min(first + count, len(words)) - 1][1],
                text.text[start : words[min(first + count, len(words)) - 1][1]],
                ("Ps.33.9",), "Ps 33,9", 2.5, 0.75, "allusion",
            )
            for first, (start, _) in enumerate(words)
        ]  # fmt: skip
        marked = b"".join(with_insertions(text, inline_markup(text, findings)))
        ElementTree.fromstring(marked)
        again = tmp_path / f"marked-{count}.xml"
        again.write_bytes(marked)
        read = read_source(again)
        assert read.text == text.text
        ids = {each.id.split(".")[0] for each in read.annotations if each.id.startswith("allusion")}
        assert len(ids) == len(findings)


@pytest.mark.parametrize("name", EDITIONS)
def test_the_listing_has_the_whole_text(tmp_path: Path, name: str) -> None:
    text = source(name, tmp_path)
    items = list(listing(text))
    stretches = [item for item in items if isinstance(item, Stretch)]
    assert " ".join(item.text for item in stretches).split() == text.text.split()
    assert all(item.text == text.text[item.start : item.end] for item in stretches)
    assert tuple(item for item in items if not isinstance(item, Stretch)) == text.left_out
    starts = [item.start for item in items]
    assert starts == sorted(starts) or name != "migne"


def test_places_of_a_listing(tmp_path: Path) -> None:
    told = [
        (place_label(item.place, item.start), item.text)
        for item in listing(source("csel", tmp_path))
        if isinstance(item, Stretch)
    ]
    assert told == [
        ("1.2, p. 302, l. 1", "Hoc est quod ait scriptura: gustate et uidete quoniam"),
        ("1.2, p. 302, l. 2", "suauis est dominus, et alibi non"),
        ("1.2, p. 302, l. 3", "derelinquet eum ."),
        ("1.2.3, p. 302, l. 3", "Item graece uerbum dicitur."),
    ]


def test_what_is_left_out_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "sermones.xml"
    path.write_text(SERMONES, "utf-8")
    more = read_source(path, keep=frozenset({"front"}), languages=frozenset({"de"})).text
    assert more.startswith("Die Handschriften.\nDilectissimi")
    assert "dominus wie süß; beatus" in more
    assert read_source(path, languages=frozenset({"all"})).text == more.split("\n")[1]


def test_a_file_in_another_language_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sermo.xml"
    path.write_text(document("<p>Gustate et videte</p>").replace("<text>", '<text xml:lang="en">'))
    with pytest.raises(
        InputError, match=r'left out: xml:lang="en" \(3 words, line 2\); --language'
    ):
        read_source(path)
    assert read_source(path, languages=frozenset({"en"})).text == "Gustate et videte"


def test_words_of_a_deletion_are_counted_over_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "sermo.xml"
    path.write_text(
        document("<p>a <delSpan spanTo='#x'/>male</p><p>peius <anchor xml:id='x'/>b</p>"), "utf-8"
    )
    read = read_source(path)
    assert read.text == "a\nb"
    assert [(each.words, each.text) for each in read.left_out] == [(2, "male peius")]


def test_a_deletion_without_an_end_is_told_and_leaves_nothing_out(tmp_path: Path) -> None:
    path = tmp_path / "sermo.xml"
    for attribute, told in (
        ("spanTo='#x'", "line 2: a delSpan goes to '#x', which does not come after it"),
        ("", "line 2: a delSpan has no spanTo"),
    ):
        path.write_text(document(f"<p>Gustate <delSpan {attribute}/>et</p><p>videte</p>"))
        read = read_source(path)
        assert read.text == "Gustate et\nvidete"
        assert len(read.remarks) == 1
        assert read.remarks[0].startswith(told)
