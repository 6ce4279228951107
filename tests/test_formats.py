"""What is read as text: plain text, pages, documents; and what is refused, with what to do."""

import contextlib
import gzip
import io
import json
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import InputError
from allusion_es.corpora import documents
from allusion_es.corpora.documents import read_docx, read_html
from allusion_es.corpora.formats import check_plain, kind_of
from allusion_es.corpora.passage_files import read_passages
from allusion_es.corpora.source import read_source
from allusion_es.language.latin.analysis import Analyser

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
CASE = (
    "<html><head><title>Sermo</title></head><body><h1>Sermo</h1><p>Gustate et videte quoniam "
    "suavis est Dominus<br/>Beatus vir qui sperat in eo; c&aelig;li enarrant gloriam Dei</p></body>"
    "</html>"
)


def packed(**parts: str | bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


def docx(body: str, namespace: str = WORD) -> bytes:
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="{namespace}" '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
        f"<w:body>{body}</w:body></w:document>"
    )
    return packed(**{"[Content_Types].xml": "<Types/>", "word/document.xml": text})


def run_of(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


@pytest.fixture
def file(tmp_path: Path) -> "Maker":
    return Maker(tmp_path)


class Maker:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str, data: bytes | str) -> Path:
        path = self.folder / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path


OLD_WORD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100


@pytest.mark.parametrize(
    ("data", "what", "advice"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "a PDF", "save it as plain text in UTF-8, HTML or DOCX"),
        (rb"{\rtf1\ansi Gustate et videte}", "RTF", "save it as plain text"),
        (b"\xef\xbb\xbf\n{\\rtf1 Gustate}", "RTF", "save it as plain text"),
        (OLD_WORD, "an old Word or Excel file", "save it as plain text"),
        (b"\xffWPC\x10", "a WordPerfect file", "save it as"),
        (gzip.compress(b"Gustate", mtime=0), "packed (gzip)", "unpack it first"),
        (b"BZh91AY&SY", "packed (bzip2)", "unpack it first"),
        (b"\xfd7zXZ\x00\x00", "packed (xz)", "unpack it first"),
        (b"7z\xbc\xaf\x27\x1c\x00", "packed (7z)", "unpack it first"),
        (b"\x89PNG\r\n\x1a\n", "an image", "text recognised (OCR)"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "an image", "text recognised (OCR)"),
        (b"GIF89a", "an image", "OCR"),
        (b"II*\x00\x08", "an image", "OCR"),
        (b"%!PS-Adobe-3.0", "PostScript", "save it"),
        (packed(mimetype="application/vnd.oasis.opendocument.text"), "an OpenDocument", "save it"),
        (packed(**{"mimetype": "application/epub+zip", "META-INF/container.xml": "<x/>"}),
         "an e-book (EPUB)", "give the XHTML files"),
        (packed(**{"xl/workbook.xml": "<x/>"}), "an Excel sheet", "save the sheet as CSV"),
        (packed(**{"a.txt": "Gustate"}), "packed (ZIP)", "unpack it first"),
        (b"SQLite format 3\x00", "a database", "save its texts"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["sermo.txt", "sermo", "sermo.html"])
def test_first_bytes_tell(file: Maker, name: str, data: bytes, what: str, advice: str) -> None:
    path = file(name, data)
    for read in (read_source, lambda path: list(read_passages(path))):
        with pytest.raises(InputError) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: the file is {what}")
        assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("a.pdf", "a PDF"), ("a.DOC", "an old Word file"), ("a.odt", "an OpenDocument text"),
        ("a.rtf", "RTF"), ("a.tex", "LaTeX"), ("a.jsonld", "JSON-LD"),
        ("a.epub", "an e-book"), ("a.xlsx", "a spreadsheet"), ("a.gz", "packed"),
        ("a.tiff", "an image"),
    ],
)  # fmt: skip
def test_names_tell(file: Maker, name: str, what: str) -> None:
    path = file(name, "Gustate et videte")
    with pytest.raises(InputError, match=f"the file is {what}"):
        read_source(path)
    # Who says so knows better.
    assert read_source(path, kind="text").text == "Gustate et videte"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Gustate\net <i>videte</i>", ":2: '</i>' is markup"),
        ("Gustate\r\net videte<br />quoniam", ":2: '<br />' is markup"),
        ('Gustate <span class="x">et', ":1: '<span class"),
        ("c&aelig;li", ":1: '&aelig;' is markup"),
        ("c&#230;li", ":1: '&#230;' is markup"),
        ("<text><body>Gustate</body></text>", ":1: '<body>' is markup"),
        ("Gustate <!-- x -->", ":1: '<!--' is markup"),
        ("Gustate \\emph{et} videte", r":1: '\\emph{' is markup"),
        ("\\section*{Caput I}\nGustate", r":1: '\\section*{' is markup"),
        ("<p>Gustate et videte\n<p>quoniam", ":1: '<p>' is markup"),
        ("Gustate\n <P>Et videte", ":2: '<P>' is markup"),
        ("Gustate<br>et videte", ":1: '<br>' is markup"),
        ("Gustate \\pstart et", r":1: '\\pstart' is markup"),
        ("{\\it Gustate} et", r":1: '\\it' is markup"),
        ('["Gustate", "et videte"]', ": the file is JSON"),
        ('{"text": "Gustate et videte"}', ": the file is JSON"),
        ('[{"text": "Gustate"}]', ": the file is JSON"),
        ('{"text": "Gustate"}\n{"text": "et videte"}\n', ": the file is JSON"),
        ('{\n "text": "Gustate et vid', ": the file is JSON"),
    ],
)
def test_markup_in_a_text_is_refused(file: Maker, text: str, said: str) -> None:
    path = file("sermo.txt", text)
    with pytest.raises(InputError) as caught:
        read_source(path)
    assert str(caught.value).startswith(f"{path}{said}")
    with pytest.raises(InputError, match=r"markup|JSON"):
        list(read_passages(path))
    assert read_source(path, kind="text").text == text


@pytest.mark.parametrize(
    "text",
    [
        "Gust<a>te [et] <i>n videte {quoniam}",
        "AT&T & c&c; &et; <est> suavis >> est << Dominus",
        "[1] Gustate [2] et videte",
        "[Sermo] Gustate",
        "{Gustate} et videte",
        "«Gustate» <et> ‹videte› <...> a < b > c",
        "Gustate\\n et \\ videte",
        "Petrus & Paulus; et alii",
        "P<etrus> </ et",
        "in <p>rincipio\n<p>rincipium C<hr>istus <div>inus",
        "Gustate \\et uidete/ quoniam \\et/",
        '["Gustate] et "videte"',
    ],
)
def test_editors_marks_are_no_markup(file: Maker, text: str) -> None:
    assert read_source(file("sermo.txt", text)).text == text


@given(st.text(alphabet="<>/&;#ab\"'= \n\\{}[]-!:é", max_size=60))
def test_checking_is_quick_and_never_fails_otherwise(text: str) -> None:
    with contextlib.suppress(InputError):
        check_plain(text, "a.txt")


@pytest.mark.parametrize(
    "text",
    [
        "<!---->" * 2000,
        "<a " * 10_000,
        "&" * 50_000,
        '{"' * 9000,
        "[{" * 9000,
        "<a a=" * 5000,
        "\\a" * 20_000,
        " " * 100_000,
    ],
)
def test_hostile_beginnings_cost_no_time(file: Maker, text: str) -> None:  # fmt: skip
    path = file("sermo", text)
    started = time.process_time()
    kind_of(path)
    with contextlib.suppress(InputError):
        check_plain(text, "a.txt")
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.html", "Gustate", "html"),
        ("a.HTM", "Gustate", "html"),
        ("a.xhtml", '<?xml version="1.0"?><html/>', "html"),
        ("a.txt", "<!DOCTYPE html><p>Gustate", "html"),
        ("a.txt", "\ufeff<HTML lang='la'>Gustate", "html"),
        ("a", '<?xml version="1.0"?>\n<!-- c -->\n<!DOCTYPE html PUBLIC "x"><html>', "html"),
        ("a", '<?xml version="1.0"?><TEI>', "tei"),
        ("a.xml", "<html>", "tei"),
        ("a.txt", "Gustate <html>", "text"),
        ("a.md", "# Gustate", "text"),
    ],
)
def test_kinds(file: Maker, name: str, text: str, kind: str) -> None:
    assert kind_of(file(name, text)) == kind


def test_a_page_is_read_as_people_see_it(file: Maker) -> None:
    source = read_source(file("sermo.html", CASE))
    assert source.kind == "html"
    assert source.title == "Sermo"
    assert source.text == (
        "Sermo\nGustate et videte quoniam suavis est Dominus\n"
        "Beatus vir qui sperat in eo; cæli enarrant gloriam Dei"
    )
    tokens = Analyser().analyse(source.text).tokens
    assert {"gustate", "dominus", "beatus", "caeli"} <= set(tokens)
    start = source.text.index("cæli")
    place = source.place(start, start + 4)
    assert (place.section, place.line, place.offset, place.length) == ("Sermo", "3", start, 4)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>gus<b>ta</b>te</p>", "gustate"),
        ("<p>gus<wbr>ta&shy;te</p>", "gusta\u00adte"),
        ("<td>gustate<td>et<tr><td>videte", "gustate\net\nvidete"),
        ("<ul><li>gustate<li>et</ul>videte", "gustate\net\nvidete"),
        ("<div>gustate<div>et</div>videte</div>", "gustate\net\nvidete"),
        ("gustate\n   et\tvidete", "gustate et videte"),
        ("<pre>gustate\n  et</pre>", "gustate\n  et"),
        ("<nav><p>Home</p></nav><p>gustate</p>", "gustate"),
        ("<script>var a = '<p>'</script><style>p{}</style>gustate", "gustate"),
        ("<p>gustate<sup><a href='#n'>a</a></sup> et", "gustate et"),
        ("<p>gustate<a href='#n'><sup>1</sup></a> et", "gustate et"),
        ("<p>v<sup>o</sup> et", "vo et"),
        ("<p hidden>Home</p><p style='display: none'>x</p>gustate", "gustate"),
        ("<!-- Home --><p>gustate<!-- x --> et", "gustate et"),
        ("<del>edite</del> gustate <noscript>Home</noscript>", "gustate"),
        ("<head><title>Home</title><body>gustate", "gustate"),
        ("<title>Home</title>gustate", "gustate"),
        ("&lt;est&gt; &amp; &quot;&#x1fd;&quot;", '<est> & "ǽ"'),
        ("<ruby>gustate<rt>x</rt></ruby>", "gustate"),
        ('<html xmlns="http://www.w3.org/1999/xhtml"><script src="x"/><p>gustate</p>', "gustate"),
        ("<p>gustate</div></p></b> et", "gustate\net"),
        ("<b><p>gustate</b> et</p>", "gustate et"),
    ],
)
def test_what_a_page_says(page: str, text: str) -> None:
    assert read_html(page.encode(), "a.html").text == text


@pytest.mark.parametrize(
    "data",
    [
        "<p>cæli".encode(),
        b"\xef\xbb\xbf" + "<p>cæli".encode(),
        "<p>cæli".encode("utf-16"),
        '<meta charset="iso-8859-1"><p>cæli'.encode("latin-1"),
        "<meta http-equiv=x content='text/html; charset=windows-1252'><p>cæli".encode("cp1252"),
        '<?xml version="1.0" encoding="iso-8859-15"?><html><p>cæli'.encode("iso-8859-15"),
        '<meta charset="macintosh"><p>cæli'.encode("mac-roman"),
        '<meta charset="utf-16"><p>cæli'.encode(),
    ],
)
def test_encodings_of_pages(data: bytes) -> None:
    assert read_html(data, "a.html").text == "cæli"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("<p>cæli".encode("latin-1"), "a.html:1: byte 4 (0xe6) is not UTF-8; name the page's enc"),
        (b"<meta charset=punycode><p>x", "a.html: the encoding 'punycode' is not read"),
        (b"<meta charset=none-such><p>x", "a.html: the encoding 'none-such' is not read"),
        (b"<p>a\0b", "a.html: NUL byte at byte 4"),
        (b"<div>" * 2000 + b"x", "a.html: more than 1000 elements inside each other"),
    ],
)
def test_pages_that_cannot_be_read(data: bytes, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_html(data, "a.html")
    assert str(caught.value).startswith(said)


def test_a_page_without_text_is_told(file: Maker) -> None:
    for page in ("", "<html></html>", "<script>x</script>"):
        with pytest.raises(InputError, match="there is no text in it"):
            read_source(file("a.html", page))


def test_hostile_pages_cost_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    started = time.process_time()
    read_html(b"<h1>a</h2>" * 900 + b"</p>" * 200_000, "a.html")
    read_html(b"<p " + b"".join(b"a%d=1 " % n for n in range(100_000)) + b">x", "a.html")
    read_html(b"<!--" * 100_000, "a.html")
    assert time.process_time() - started < 10
    monkeypatch.setattr(documents, "LARGEST_PAGE", 10)
    with pytest.raises(InputError, match="more than 10 bytes"):
        read_html(b"<p>gustate et videte", "a.html")


def test_a_document_is_read_as_people_see_it(file: Maker) -> None:
    body = (
        f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>{run_of("Caput I")}</w:p>'
        f"<w:p>{run_of('Gus')}{run_of('tate ')}<w:ins>{run_of('et')}</w:ins>"
        f"<w:del><w:r><w:delText>aut</w:delText></w:r></w:del><w:r><w:tab/><w:t>vi</w:t>"
        f"<w:softHyphen/><w:t>dete</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>x</w:t></w:r>"
        '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>!</w:t></w:r>'
        "<w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
        f"<w:tbl><w:tr><w:tc><w:p>{run_of('quoniam')}</w:p></w:tc><w:tc><w:p>{run_of('suavis')}"
        f"</w:p></w:tc></w:tr></w:tbl><w:sdt><w:sdtContent><w:p>{run_of('est')}"
        "<w:r><w:br/></w:r><w:hyperlink>" + run_of("Dominus") + "</w:hyperlink></w:p>"
        "</w:sdtContent></w:sdt><w:p/>"
    )
    path = file("sermo.docx", docx(body))
    source = read_source(path)
    assert (source.kind, source.title) == ("docx", "sermo")
    assert source.text == "Caput I\nGustate et vi\u00addete!\nquoniam\nsuavis\nest\nDominus"
    start = source.text.index("suavis")
    assert source.place(start, start + 6).section == "Caput I"
    passages = list(read_passages(path))
    assert [passage.text for passage in passages] == source.text.split("\n")


def test_a_text_box_cuts_no_word() -> None:
    box = (
        "<w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p>" + run_of("nota")
        + "</w:p></w:txbxContent></mc:Choice><mc:Fallback><w:p>" + run_of("nota")
        + "</w:p></mc:Fallback></mc:AlternateContent></w:r>"
    )  # fmt: skip
    body = f"<w:p>{run_of('gus')}{box}{run_of('tate')}</w:p>"
    for namespace in (WORD, "http://purl.oclc.org/ooxml/wordprocessingml/main"):
        assert _docx_text(docx(body, namespace)) == "nota\ngustate"


def _docx_text(data: bytes) -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.docx")
        path.write_bytes(data)
        return read_docx(path).text


BOMB = "<!DOCTYPE a [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]>"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"Gustate", "no DOCX file, though its name says so"),
        (b"PK\x03\x04 cut off", "a damaged ZIP or DOCX file"),
        (docx("<w:p>")[:-40], "a damaged ZIP or DOCX file"),
        (docx("<w:p>"), "word/document.xml:1: not well-formed XML (mismatched tag)"),
        (packed(**{"word/document.xml": f"{BOMB}<x>&b;</x>"}), "declares a document type"),
        (packed(**{"word/document.xml": '<!DOCTYPE a SYSTEM "file:///etc/passwd"><x/>'}),
         "declares a document type"),
        (docx("<w:p>" * 600), "more than 500 elements inside each other"),
        (docx("<w:p/>"), "there is no text in it"),
    ],
)  # fmt: skip
def test_documents_that_cannot_be_read(file: Maker, data: bytes, said: str) -> None:
    path = file("a.docx", data)
    with pytest.raises(InputError) as caught:
        read_source(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_a_small_file_cannot_stand_for_a_large_one(
    file: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file("a.docx", docx(f"<w:p>{run_of('a ' * 5_000_000)}</w:p>"))
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(documents, "LARGEST_DOCX", 1_000_000)
    with pytest.raises(InputError, match="bytes unpacked, more than 1,000,000"):
        read_docx(path)
    # Nor by lying about its size.
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("word/document.xml").file_size.to_bytes(4, "little")
    while (place := data.find(size)) >= 0:
        data[place : place + 4] = (1000).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(InputError):
        read_docx(path)


def test_an_encrypted_document_is_told(file: Maker) -> None:
    data = bytearray(docx("<w:p/>"))
    at = data.rindex(b"word/document.xml")
    data[at - 46 + 8] |= 1
    with pytest.raises(InputError, match="encrypted"):
        read_docx(file("a.docx", bytes(data)))


def test_passages_of_pages_and_json_as_tables(file: Maker) -> None:
    passages = list(read_passages(file("sermo.html", CASE)))
    assert [passage.id for passage in passages] == ["1", "2", "3"]
    assert passages[1].text == "Gustate et videte quoniam suavis est Dominus"
    with pytest.raises(InputError, match=r"a\.json:1: field 'id' is empty"):
        list(read_passages(file("a.json", json.dumps({"text": "Gustate"}))))
    with pytest.raises(InputError, match="there is no text outside of its header"):
        list(read_passages(file("a.xml", "<TEI/>")))
