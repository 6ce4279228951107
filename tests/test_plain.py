from pathlib import Path

import pytest

from allusion_es.core.errors import InputError
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.passage_files import read_text_lines, read_verse_lines, verse_passage


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "Psalmi.txt"


def test_one_passage_a_line(path: Path) -> None:
    path.write_bytes("\ufeffMagnus es, Domine,\r\n\r\n  et laudabilis valde  ".encode())
    assert list(read_text_lines(path)) == [
        Passage("1", "Magnus es, Domine,", "Psalmi", order=0, reference="1"),
        Passage("3", "et laudabilis valde", "Psalmi", order=1, reference="3"),
    ]
    assert {passage.work for passage in read_text_lines(path, work="Conf.")} == {"Conf."}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028"])
def test_line_ends_of_all_programs(path: Path, end: str) -> None:
    path.write_bytes(f"Ps 22,1\tDominus{end}Ps 22,2\tin loco{end}".encode())
    assert [each.text for each in read_verse_lines(path)] == ["Dominus", "in loco"]
    assert [each.id for each in read_text_lines(path)] == ["1", "2"]


def test_one_verse_a_line_in_any_style(path: Path) -> None:
    path.write_text(
        "# Gallican\nPs 22,1\tDominus regit me\n\nI Reg. ii, 3\tNolite\nJud 5\tCommonere\n"
    )
    first, second, third = read_verse_lines(path)
    assert first == Passage(
        id="Ps.22.1",
        text="Dominus regit me",
        work="Psalmi",
        book="Ps",
        chapter=22,
        verse=1,
        order=0,
        testament="ot",
        reference="Ps 22,1",
    )
    assert (second.id, second.reference, second.order) == ("1Sam.2.3", "1 Reg 2,3", 1)
    assert (third.id, third.testament) == ("Jude.1.5", "nt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": the file has no verses; "),
        ("Ps 22,1 Dominus", ":1: no tab in 'Ps 22,1 Dominus'; "),
        ("Ps 22,1\tx\nPs. xxii, 1\ty\n", ":2: the reference is 'Ps.22.1', as on line 1; "),
        ("Ps 22,1\t \n", ":1: the text of Ps.22.1 is empty; "),
        ("Psalmm 22,1\tx\n", ":1: 'Psalmm 22,1' is not the reference of one verse: "),
        ("Ps 22,1-2\tx\n", ":1: 'Ps 22,1-2' is not the reference of one verse: "),
        ("Ps 22\tx\n", ":1: 'Ps 22' is not the reference of one verse: "),
        ("Ps 22,1; 23,1\tx\n", ":1: 'Ps 22,1; 23,1' is not the reference of one verse: "),
        ("\tx\n", ":1: '' is not the reference of one verse: "),
    ],
)
def test_bad_verses_are_told_in_one_line(path: Path, text: str, message: str) -> None:
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        list(read_verse_lines(path))
    assert str(caught.value).startswith(f"{path}{message}")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": the file has no text; "),
        (b"\n \n", ": the file has no text; "),
        (b"a\nc\xe6lum", ":2: not UTF-8 at byte 3 "),
        (b"a\n\0", ":2: NUL byte at byte 2; "),
        (b"x" * 100_001, ":1: the line has 100,001 characters, more than 100,000; "),
    ],
)
def test_bad_lines_are_told_in_one_line(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_text_lines(path))
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_verse_of_the_vulgate_is_made_from_its_id(
    vulgate_passages: tuple[Passage, ...],
) -> None:
    for passage in vulgate_passages[::997]:
        assert verse_passage(passage.id, passage.text, passage.work, passage.order) == passage
