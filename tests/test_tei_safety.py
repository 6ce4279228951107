"""Files that are hostile, broken, or nothing that can be read: one clear line each."""

import codecs
from pathlib import Path

import pytest
from tei_fixtures import document

from allusion_es.core.errors import InputError, UsageError
from allusion_es.corpora.source import read_source
from allusion_es.corpora.tei import events

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha ha "}">\n' for n in range(10))
P = "<TEI><text><body><p>"
END = "</p></body></text></TEI>"


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_source(path)
    told = str(caught.value)
    assert told.startswith(f"{path}:")
    assert "\n" not in told
    assert len(told) < 300
    return told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"<!DOCTYPE TEI [{LAUGHS}]>{P}&l9;{END}", ":1: the file declares the entity 'l0'"),
        (
            f'<!DOCTYPE TEI [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n{P}&x;{END}',
            ":1: the file declares the entity 'x'; entities are not read",
        ),
        (f'<!DOCTYPE TEI [<!ENTITY % p SYSTEM "http://x.test/p">%p;]>{P}a{END}', "the entity 'p'"),
        (f'<!DOCTYPE TEI SYSTEM "tei.dtd">\n{P}&eacute;{END}', ":2: the entity &eacute; is not"),
        (f"{P}a&eacute;{END}", ":1: column 22: not well-formed XML (undefined entity)"),
        ("<TEI>" + "<p>" * 300, ":1: more than 200 elements inside each other"),
        (f"\n{P}a\n<b></p>", ":3: column 6: not well-formed XML (mismatched tag)"),
        (f"{P}a", "not well-formed XML (no element found)"),
        (f"{P}a & b{END}", "not well-formed XML (not well-formed (invalid token))"),
        (f"{P}<x:p>a</x:p>{END}", ":1: the prefix of <x:p> is not declared"),
        ("<html><body><p>Gustate</p></body></html>", ":1: the file's first element is <html>"),
        ("<TEI.2><text/></TEI.2>", "TEI P4 is not read"),
        ("", "the file is empty"),
        (" \n", "the file is empty"),
        (f"{P}  {END}", "there is no text outside of its header, notes and apparatus"),
        (f"{P}<note>Gustate</note>{END}", "there is no text outside"),
        (f"{P}Ἐν ἀρχῇ 12{END}", "there is no Latin letter in it"),
        (f'<?xml version="1.0" encoding="x-none"?>{P}a{END}', "the encoding 'x-none' is not read"),
        (f'<?xml version="1.0" encoding="Shift_JIS"?>{P}a{END}', "the encoding 'Shift_JIS' is not"),
        (f'<?xml version="1.0" encoding="utf-7"?>{P}a{END}', "the encoding 'utf-7' is not read"),
        (f'<?xml version="1.0" encoding="idna"?>{P}a{END}', "the encoding 'idna' is not read"),
        (f'<?xml version="1.0" encoding="punycode"?>{P}a{END}', "the encoding 'punycode' is not"),
        (
            f'<?xml version="1.0" encoding="UTF-16"?>{P}a{END}',
            "says that it is UTF-16, but",
        ),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "sermo.xml"
    path.write_text(text, "utf-8")
    assert told in refused(path)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"PK\x03\x04\x00\x00\x00", "NUL byte at byte 4: it is no text file"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", ":1: byte 0 is not UTF-8, the file's encoding"),
        (document("<p>\n\ncæna</p>").encode("latin-1"), ":4: byte 302 is not UTF-8"),
        ((P + "cæna").encode("utf-16")[:-1], ":1: byte 48 is not UTF-16-LE"),
    ],
)
def test_wrong_bytes_are_told_with_their_place(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "sermo.xml"
    path.write_bytes(data)
    assert told in refused(path)


def test_nothing_but_the_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.dtd").write_text('<!ELEMENT TEI ANY><!ATTLIST p n CDATA "secret">')
    path = tmp_path / "sermo.xml"
    path.write_text(f'<!DOCTYPE TEI SYSTEM "secret.dtd">{P}Gustate{END}')
    assert read_source(path).text == "Gustate"


@pytest.mark.parametrize("codec", ["iso-8859-1", "windows-1252", "iso-8859-15"])
def test_encodings_of_one_byte_are_read(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "sermo.xml"
    path.write_bytes(
        document("<p>cœna prædæ</p>").replace("UTF-8", codec).encode(codec, "xmlcharrefreplace")
    )
    source = read_source(path)
    assert source.text == "cœna prædæ"
    start, stop = source.map.byte_range(5, 10)
    assert path.read_bytes()[start:stop] == "prædæ".encode(codec)


def test_byte_order_marks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "sermo.xml"
    for codec in ("utf-8-sig", "utf-16"):
        path.write_bytes(f"{P}cœna{END}".encode(codec))
        assert read_source(path).text == "cœna"
    path.write_bytes(f"{P}cœna{END}".encode("utf-16-be"))
    assert read_source(path).text == "cœna"


def test_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sermo.xml"
    path.write_text(P + "<!--" + "x" * 5_000_000 + "-->" + END)
    assert "a tag or comment has more than 4,194,304 bytes" in refused(path)
    monkeypatch.setattr(events, "LARGEST_FILE", 1000)
    path.write_text(P + "verba " * 200 + END)
    assert "the file has more than 1,000 bytes; split it" in refused(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    assert "cannot be read (No such file" in refused(tmp_path / "none.xml")
    assert "cannot be read (No such file" in refused(tmp_path / "none.txt")
    assert "cannot be read (Is a directory" in refused(tmp_path)


def test_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "sermo.txt"
    path.write_bytes(codecs.BOM_UTF8 + "Gustate\r\net <vidēte>".encode())
    source = read_source(path)
    assert (source.kind, source.text, source.title) == ("text", "Gustate\r\net <vidēte>", "sermo")
    place = source.place(13, 19)
    assert (place.line, place.offset, place.length, place.xpath) == ("2", 13, 6, "")
    start, stop = source.map.byte_range(13, 19)
    assert path.read_bytes()[start:stop] == "vidēte".encode()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "there is no text in it"),
        (b" \n", "there is no text in it"),
        (b"12, 3", "there is no Latin letter in it"),
        ("Ἐν ἀρχῇ".encode(), "there is no Latin letter in it"),
        (b"\x00\x01a", "NUL byte at byte 0: it is no UTF-8 text"),
        ("una\ncæna".encode("latin-1"), ":2: byte 5 (0xe6) is not UTF-8"),
    ],
)
def test_plain_texts_that_cannot_be_read(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "sermo.txt"
    path.write_bytes(data)
    assert told in refused(path)


def test_the_kind_is_known_or_told(tmp_path: Path) -> None:
    path = tmp_path / "sermo"
    path.write_text(P + "Gustate" + END)
    assert read_source(path).kind == "tei"
    assert read_source(path, kind="text").text == P + "Gustate" + END
    with pytest.raises(UsageError, match="no kind of source 'pdf'; use one of text, tei, html"):
        read_source(path, kind="pdf")  # type: ignore[arg-type]
