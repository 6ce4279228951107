"""Readers of texts: passages, sources, gold, runs, references, annotations, queries."""

import io
import json
import zipfile
from pathlib import Path
from random import Random

import lxml.etree  # noqa: F401 - or the first page would open its files
import numpy as np
from fuzz_mutate import mutate_bytes, mutate_json_lines
from fuzz_reader import Reader, finite, printable

from allusion_es.annotation.formats.files import read_spans
from allusion_es.corpora.bible.references import format_references, is_verse_id, parse_references
from allusion_es.corpora.bible.verse_table import VerseTable
from allusion_es.corpora.bible.vulgate import read_vulgate
from allusion_es.corpora.passage_files import Kind, read_passages
from allusion_es.corpora.source import read_source
from allusion_es.corpora.source_text import SourceText
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.evaluation.gold.ids import ReferenceReader, resolve_known
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.gold.tei import gold_from_tei
from allusion_es.evaluation.trec import read_run, run_lines
from allusion_es.front.queries import read_queries
from allusion_es.rerankers.learned import read_model

IDS = tuple(f"Ps.{chapter}.{verse}" for chapter in (1, 22, 115) for verse in range(1, 12))
"""Verses of the collection that gold links are held against."""

_TABLE = "id\ttext\twork\ttokens\tlemmas\nPs.22.1\tDominus regit me\tB\tdominus regit\tdominus rego\ns2\tet nihil\t\tet nihil\tet nihil\n"  # noqa: E501
_CSV = 'id,text\r\nPs.22.1,"Dominus ""regit"" me"\r\ns2,"et\nnihil"\r\n'
_LINK = {
    "query_id": "b-1", "text": "omni scientiae", "before": "sed", "after": "est",
    "anchor": "omni", "relevant": ["Ps.22.1", "Ps 22,2-3"], "type": "allusion",
    "author": "Bernardus", "title": "Sermo", "source_ids": ["Ps.1.1"], "source": "s",
    "licence": "l",
}  # fmt: skip
_LINKS = f"{json.dumps(_LINK)}\n" + json.dumps({"text": "in principio", "relevant": "Ps 1,1"})
_GOLD_TABLE = "query_id\ttext\trelevant\ttype\nq1\tomni scientiae\tPs 22,1; Ps 1,1\tallusion\nq2\tin principio\tPs.1.1\t\n"  # noqa: E501
_QRELS = "q1 0 Ps.22.1 1\nq1 0 Ps.1.1 0\nq2 0 Ps.1.2 2\n"
_TOPICS = "q1\tomni scientiae\nq2\tin principio\n"
_TAGGED = (
    "<top>\n<num> Number: q1\n<title> omni scientiae\n</top>\n"
    "<top><num>q2<title>in &amp; principio</top>\n"
)
_RUN = "q1 Q0 Ps.22.1 1 2.5 tag\nq1 Q0 Ps.1.1 2 0.5 tag\nq2 Q0 Ps.1.1 1 1e-3 tag\n"
_REFERENCES = "Ps 22,1-3.5; I Reg. ii, 3sqq; Gen.1.1-Gen.2.3 Jud 5; Rom. 5, 12 - 6, 3 Ps 115,11ff"
_SPANS = (
    '{"instance": "b-1", "annotator": "anna", "start": 2, "end": 6, "doubt": true, "tokens": 9}\n'
    '{"instance": "b-2", "annotator": "anna", "start": null, "end": null, "type": "x"}\n'
)
_SPAN_TABLE = (
    "instance\tannotator\tstart\tend\tdoubt\ttype\ttokens\nb-1\tanna\t2\t6\tyes\tx\t9\n"
    "b-2\tanna\t\t\tno\t\t\n"
)
_BRAT = "T1\tallusion 12 26\tomni scientiae\nA1\tDoubt T1\nA2\tInstance T1 b-17\n#1\tNotes T1\thm\n"
_BRAT_TEXT = "Supereminet omni scientiae, dilectio\nilla Christi 3; et omni."
_WEBANNO = (
    "#FORMAT=WebAnno TSV 3.3\n#T_SP=webanno.custom.Allusion|instance|doubt|type\n\n\n"
    "#Text=omni scientiae est\n1-1\t0-4\tomni\tb-1[1]\tfalse[1]\tx[1]\t\n"
    "1-2\t5-14\tscientiae\tb-1[1]|b-2[2]\tfalse[1]|true[2]\tx[1]|y[2]\t\n"
    "1-3\t15-18\test\t_\t_\t_\t\n"
)
_TEI = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>Sermo</title>
<author>A</author></titleStmt></fileDesc></teiHeader><text><body><pb n="3"/><div n="1"><p n="2">
Gustate <hi>et videte</hi> &amp; <quote cRef="Ps.22.1" xml:id="q1">Dominus regit me</quote><note
n="a" place="foot">Cf. Ps 22,1-3; 9 cf. Ps. 1, 2</note><lb n="4"/> quo<lb break="no"/>niam <cit>
<q type="allusion">suavis est</q><bibl n="Ps 1,1">Ps 1,1</bibl></cit><ref target="#q1">ibid.</ref>
<seg corresp="#q1">nihil &#x153;na <![CDATA[mihi <b>]]></seg><app><lem>a</lem><rdg>b</rdg></app>
<!-- c --></p></div></body></text></TEI>
"""
_TEI_WORDS = tuple(
    b'<note>|</note>|<lb n="5"/>|<pb n="x"/>|<quote|</quote>|xml:id="q1"|next="#q1"|cRef="Ps.1.1"|'
    b"<!DOCTYPE TEI [|<!ENTITY x|&x;|]>|&#0;|&#x110000;|<![CDATA[|]]>|<!--|-->|<?x|?>|<TEI>|</TEI>|"
    b'encoding="UTF-16"|encoding="iso-8859-1"|encoding="utf-7"|xmlns:a="b"|<a:b>|place="foot"|'
    b"<app>|<choice><sic>a</sic><corr>b</corr></choice>|<gap/>|rend='x'|<div>|</div>|<standOff>".split(
        b"|"
    )
)
_EDITION = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><encodingDesc><refsDecl>
<cRefPattern matchPattern="(.+)" replacementPattern="#xpath(/tei:TEI//tei:l[@n='$1'])"/>
<citeStructure match="//body/div" use="@n"><citeStructure match="p" use="position()" delim=":"/>
</citeStructure></refsDecl></encodingDesc></teiHeader><text><body n="urn:cts:a:b.c"><div n="1"><lg
n="2"><l n="1">Arma</l><l part="F">virum</l></lg><p>cano <seg n="3">Troiae</seg> qui</p></div>
<p><milestone unit="section" n="4"/>primus</p></body></text></TEI>
"""
_CITED = (
    *_TEI_WORDS,
    b'<l n="1">', b"<l>", b"</l>", b'<div n="1">', b'<seg n="2">', b"</seg>", b'n=""', b'n=" "',
    b'n="urn:cts:"', b'<milestone unit="section" n="1"/>', b'match="//*"', b'match=""', b'use="@n"',
    b"#xpath(", b"[@n='$1']", b"$2", b'part="M"', b"<lg>", b"</lg>", b"<head>", b"</head>",
)  # fmt: skip
_HTML = """<!DOCTYPE html>
<html lang="la"><head><meta charset="utf-8"><meta name="author" content="A"><title>Sermo</title>
<style>p {}</style></head><body><nav>x</nav><h1>Caput I</h1><p>Gustate <b>et</b> videte<sup><a
href="#n1">1</a></sup> c&aelig;li &#x153;na<br/>quoniam<p hidden>x</p><table><tr><td>suavis<td>est
</table><pre>a\nb</pre><script>if (a < b) {}</script><!-- c --><ul><li>Dominus</ul></body></html>
"""
_HTML_WORDS = tuple(
    b'<p>|</p>|<div>|</div>|<sup>|</sup>|<a href="#x">|</a>|<title>|</title>|<head>|</head>|<pre>|'
    b'<script>|</script>|<!--|-->|<![CDATA[|]]>|<meta charset="utf-16">|<meta charset="utf-7">|'
    b'<meta charset="idna">|&aelig;|&#0;|&#xd800;|&#x110000;|&|<|<?xml version="1.0"?>|<p hidden>|'
    b"<table>|<td>|<select>|<svg>|<template>|<plaintext>|<textarea>|</body>|<frameset>".split(b"|")
)
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_DOCX = f"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<w:document xmlns:w="{_WORD}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">
<w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Caput I</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">Gustate </w:t></w:r><w:ins><w:r><w:t>et</w:t></w:r></w:ins>
<w:del><w:r><w:delText>aut</w:delText></w:r></w:del><w:r><w:tab/><w:t>videte</w:t><w:br/><w:rPr>
<w:vanish/></w:rPr><w:t>x</w:t></w:r><w:r><mc:AlternateContent><mc:Choice>
<w:p><w:r><w:t>&#x153;na</w:t></w:r></w:p>
</mc:Choice><mc:Fallback><w:t>y</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p></w:body>
</w:document>
"""
_DOCX_WORDS = tuple(
    b"<w:p>|</w:p>|<w:r>|</w:r>|<w:t>|</w:t>|<w:del>|</w:del>|<w:br/>|<w:sym/>|<mc:Fallback>|"
    b"<!DOCTYPE a [|<!ENTITY x|&x;|]>|&#0;|<![CDATA[|]]>|<!--|-->|<w:vanish/>|<w:p/>".split(b"|")
)
_VULGATE = (
    "book,chapter,verse,latin\nPs,22,1,<Psalmus>Dominus regit me\nGn,1,1,[In principio creavit\n"
)
_RANKER = (
    "allusion-es ranker 2\nabout\tlinks\t12\nlinear\tcitations\tbm25\t2.5\t0.3\n"
    "node\tcitations\t0\t0\tbm25\t1.5\t-1\t-2\nleaf\tcitations\t0\t0\t-0.5\n"
    "leaf\tcitations\t0\t1\t0.5\nlinear\twords\tbm25\t1\t-0.3\n"
)


def _packed(text: bytes, name: str = "word/document.xml") -> bytes:
    """A DOCX file with this main text."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("[Content_Types].xml", "<Types/>")
        packed.writestr(name, text)
    return file.getvalue()


def _mutate_docx(data: bytes, rng: Random, words: tuple[bytes, ...]) -> bytes:
    """A DOCX file whose text is hostile, with the right checksums; now and then, other bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            text = packed.read("word/document.xml")
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, NotImplementedError, EOFError):
        return mutate_bytes(data, rng, words)
    if rng.random() < 0.3:
        return mutate_bytes(data, rng, words)
    return _packed(mutate_bytes(text, rng, words))


def _files(*pairs: tuple[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in pairs}


def _passages(path: Path) -> None:
    kind: Kind | None = "verses" if path.stem == "verses" else None
    for number, passage in enumerate(read_passages(path, kind=kind)):
        printable(passage.id, passage.text, passage.work, passage.reference)
        assert passage.order == number


def _source(path: Path) -> SourceText:
    source = read_source(path)
    printable(source.text, source.title, source.author)
    size = len(source.text)
    for start in {0, size // 2, size - 1}:
        place = source.place(start, min(size, start + 5))
        printable(place.xpath, place.page, place.line, place.section)
    for each in source.annotations:
        assert 0 <= each.start <= each.end <= size
    return source


def _tei(path: Path) -> None:
    found = gold_from_tei(_source(path), ReferenceReader(IDS))
    for link in found.links:
        _check_link(link)


def _gold(path: Path) -> None:
    links, _ = resolve_known(read_gold(path), IDS)
    for link in links:
        _check_link(link)


def _check_link(link: GoldLink) -> None:
    printable(link.query.text, link.query.query_id, link.query.before, *link.relevant)
    assert set(link.relevant) <= set(IDS)


def _run(path: Path) -> None:
    for query_id, ranking in read_run(path).items():
        finite(ranking.scores)
        assert len(set(ranking.ids)) == len(ranking.ids)
        list(run_lines(query_id, ranking, "tag"))


_VERSES = VerseTable(
    f"{book}.{chapter}.{verse}"
    for book in ("Gen", "Judg", "1Sam", "Ps", "Rom", "Jude", "Rev")
    for chapter in range(1, 2 if book == "Jude" else 116)
    for verse in range(1, 26)
)


def _references(path: Path) -> None:
    text = path.read_bytes().decode(errors="replace")
    is_verse_id(text)
    for reference in dict.fromkeys(parse_references(text)):
        verses = _VERSES.expand(reference)
        assert len(verses) <= 115 * 25
        format_references(verses)


def _spans(path: Path) -> None:
    for row in read_spans([path]):
        printable(row.instance, row.annotator, row.type)
        assert row.start is None or (row.end is not None and 0 <= row.start < row.end)


def _queries(path: Path) -> None:
    for query in read_queries(str(path), None):
        printable(query.text, query.query_id, query.before, query.after, query.work)


def _ranker(path: Path) -> None:
    model = read_model(path)
    for kind, one in model.sets.items():
        finite(model.weights(kind, one.features))
        trees = model.trees(kind, one.features)
        if trees is not None:
            finite(trees.sums(np.ones((2, len(one.features)))))


READERS = (
    Reader(
        "passages",
        (
            _files(("a.tsv", _TABLE)),
            _files(("a.csv", _CSV)),
            _files(("a.txt", "Magnus es, Domine\n\net laudabilis valde\n")),
            _files(("verses.txt", "Ps 22,1\tDominus regit me\n# x\nPs 22,2\tin loco\n")),
            _files(("luc.b.tess", "<luc. 1.1>\tBella per\n<luc. 1.2>\tIusque datum\n")),
            _files(
                (
                    "a.jsonl",
                    '{"id": "a", "text": "Bella per", "work": "x"}\n{"seg_id": 7, "text": "x"}\n',
                )
            ),
        ),
        _passages,
    ),
    Reader("editions", (_files(("a.xml", _EDITION)), _files(("b.xml", _TEI))), _passages, _CITED),
    Reader(
        "source",
        (_files(("a.txt", "Gustate\net videte.\r\n\f[p. 3] Quoniam suavis est.")),),
        _source,
    ),
    Reader("tei", (_files(("a.xml", _TEI)),), _tei, _TEI_WORDS),
    Reader("html", (_files(("a.html", _HTML)),), _source, _HTML_WORDS),
    Reader("docx", ({"a.docx": _packed(_DOCX.encode())},), _source, _DOCX_WORDS, _mutate_docx),
    Reader("vulgate", (_files(("clem_vulgate.csv", _VULGATE)),), lambda p: list(read_vulgate(p))),
    Reader(
        "gold",
        (_files(("a.jsonl", _LINKS)), _files(("a.tsv", _GOLD_TABLE))),
        _gold,
        mutate=mutate_json_lines,
    ),
    Reader(
        "qrels",
        (
            _files(("a.qrels", _QRELS), ("a.topics", _TOPICS)),
            _files(("a.qrels", _QRELS), ("a.topics", _TAGGED)),
        ),
        _gold,
    ),
    Reader("run", (_files(("a.run", _RUN)),), _run),
    Reader(
        "references",
        (_files(("a.txt", _REFERENCES)), _files(("a.txt", "Ps 22,1"))),
        _references,
        tuple(b"Ps|1 Cor|ii|,|:|.|-|;|ff|sqq|f|s|a|Gen.1.1|ibid|xxiv|1|999|Iud| ".split(b"|")),
    ),
    Reader(
        "spans",
        (
            _files(("a.jsonl", _SPANS)),
            _files(("a.tsv", _SPAN_TABLE)),
            _files(("b.ann", _BRAT), ("b.txt", _BRAT_TEXT)),
            _files(("w.tsv", _WEBANNO)),
        ),
        _spans,
        (b"T1", b"A1\tDoubt T1", b"#T_SP=", b"|", b"[1]", b"1-1", b"12 26;30 36"),
        mutate_json_lines,
    ),
    Reader(
        "queries",
        (
            _files(("a.txt", "omni scientiae\n\nin principio\n")),
            _files(("a.jsonl", _LINKS)),
            _files(("a.csv", _CSV)),
        ),
        _queries,
        mutate=mutate_json_lines,
    ),
    Reader("ranker", (_files(("a.ranker", _RANKER)),), _ranker),
)
