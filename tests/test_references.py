import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import UsageError, VerseError
from allusion_es.corpora.bible.books import BOOKS
from allusion_es.corpora.bible.references import (
    STYLES,
    Reference,
    Style,
    format_reference,
    format_references,
    parse_references,
    parse_verse_id,
)
from allusion_es.corpora.bible.verse_table import VerseTable
from allusion_es.corpora.passage import Passage


def read(text: str) -> list[str]:
    return [str(reference) for reference in parse_references(text)]


def expand(text: str, verses: list[str]) -> list[str]:
    table = VerseTable(verses)
    return [verse for reference in parse_references(text) for verse in table.expand(reference)]


PSALMS = [f"Ps.22.{n}" for n in range(1, 7)] + [f"Ps.23.{n}" for n in range(1, 11)]


@pytest.mark.parametrize(
    ("text", "osis"),
    [
        ("Ps.22.1", ["Ps.22.1"]),
        ("Ps.22.1-Ps.22.3", ["Ps.22.1-Ps.22.3"]),
        ("Ps.22.1 Ps.22.3", ["Ps.22.1", "Ps.22.3"]),
        ("Ps.22-Ps.23", ["Ps.22-Ps.23"]),
        ("1Sam.2.3", ["1Sam.2.3"]),
        ("Ps 22,1", ["Ps.22.1"]),
        ("ps. 22, 1.", ["Ps.22.1"]),
        ("Ps 22:1-3", ["Ps.22.1-Ps.22.3"]),
        ("Ps. 22.1", ["Ps.22.1"]),
        ("Ps. XXII, 1", ["Ps.22.1"]),
        ("Ps. xxii 1", ["Ps.22.1"]),
        ("Ps. XXII. 1", ["Ps.22.1"]),
        ("Ps. cxviij, 105", ["Ps.118.105"]),
        ("I Reg. II, 3", ["1Sam.2.3"]),
        ("1. Mose 2,3b", ["Gen.2.3"]),
        ("Song of Solomon 1:2", ["Song.1.2"]),
        ("Ps 22,1.3", ["Ps.22.1", "Ps.22.3"]),
        ("Ps 22,1-3.5", ["Ps.22.1-Ps.22.3", "Ps.22.5"]),
        ("Ps 22,1,3,5", ["Ps.22.1", "Ps.22.3", "Ps.22.5"]),
        ("Ps 22,1-3,5", ["Ps.22.1-Ps.22.3", "Ps.22.5"]),
        ("Ps 22:1, 3-5", ["Ps.22.1", "Ps.22.3-Ps.22.5"]),
        ("Ps 22:1, 23:4", ["Ps.22.1", "Ps.23.4"]),
        ("Ps 22,1; 23,4", ["Ps.22.1", "Ps.23.4"]),
        ("Ps 22; 24", ["Ps.22", "Ps.24"]),
        ("Is 7,14; 1 Cor 13, 1 Joh 4,8", ["Isa.7.14", "1Cor.13", "1John.4.8"]),
        ("Ps 22,1f", ["Ps.22.1-Ps.22.2"]),
        ("Ps 22,1 s.", ["Ps.22.1-Ps.22.2"]),
        ("Ps 22,1 sqq.; Is 7,14", ["Ps.22.1-Ps.22.3", "Isa.7.14"]),
        ("Ps 22", ["Ps.22"]),
        ("Ps 22-24", ["Ps.22-Ps.24"]),
        ("Ps 22-24,3", ["Ps.22-Ps.24.3"]),
        ("Ps", ["Ps"]),
        ("Gen 1,31-2,3", ["Gen.1.31-Gen.2.3"]),
        ("Gen 1:31\u20132:3", ["Gen.1.31-Gen.2.3"]),
        ("Jude 5", ["Jude.1.5"]),
        ("Abd 1", ["Obad.1.1"]),
        ("Jude 1:5", ["Jude.1.5"]),
        ("Phlm 4-6.8", ["Phlm.1.4-Phlm.1.6", "Phlm.1.8"]),
        ("Jude.1.5-Jude.1.7", ["Jude.1.5-Jude.1.7"]),
    ],
)
def test_usual_styles_are_read(text: str, osis: list[str]) -> None:
    assert read(text) == osis


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "there is no verse reference"),
        ("22,1", "'22,1' names no book"),
        ("xyz 22,1", "'xyz' is not a book"),
        ("Psalmm 22,1", "did you mean Psalm"),
        ("Ps 22,1 xyz", "'xyz' in 'Ps 22,1 xyz' is no number or book"),
        ("Ps 22,3-1", "ends before it begins"),
        ("Ps 24-22", "ends before it begins"),
        ("Ps 22,0", "cannot be read"),
        ("Ps 0", "cannot be read"),
        ("Ps 22,9999", "cannot be read"),
        ("Ps--22", "cannot be read"),
        ("Ps 22,1-Rom 3,4", "one book to another"),
        ("Ps 22,1\n\t?", "is no number or book"),
        ("Ps 1 " * 1000, "too long"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(text: str, complaint: str) -> None:
    with pytest.raises(VerseError) as caught:
        parse_references(text)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        references = parse_references(text)
    except VerseError:
        return
    assert references


@given(st.lists(st.sampled_from([*"0123456789,.:;- fs", "Ps", "Jude", "1 Cor", "xx"])))
def test_what_is_read_never_ends_before_it_begins(parts: list[str]) -> None:
    try:
        references = parse_references("".join(parts))
    except VerseError:
        return
    for reference in references:
        assert reference.chapter <= reference.last_chapter
        if reference.chapter == reference.last_chapter and reference.last_verse:
            assert reference.verse <= reference.last_verse


VERSES = st.builds(
    lambda book, chapter, verse: f"{book.osis}.{1 if book.has_one_chapter else chapter}.{verse}",
    st.sampled_from(BOOKS),
    st.integers(1, 150),
    st.integers(1, 176),
)


def test_a_verse_number_is_not_the_number_of_the_next_book() -> None:
    assert read("Gen.1.1 John.1.1") == ["Gen.1.1", "John.1.1"]
    assert read("1Sam.2.3-1Sam.2.5") == ["1Sam.2.3-1Sam.2.5"]
    assert read("Gen 1,1; 1 Joh 1,1") == ["Gen.1.1", "1John.1.1"]


@given(VERSES, st.sampled_from(STYLES))
def test_a_printed_verse_is_read_back(osis_id: str, style: Style) -> None:
    assert read(format_reference(osis_id, style)) == [osis_id]


@given(st.lists(VERSES, min_size=1, max_size=5), st.sampled_from(STYLES))
def test_printed_verses_are_read_back_in_order(osis_ids: list[str], style: Style) -> None:
    found = []
    for reference in parse_references(format_references(osis_ids, style)):
        assert reference.chapter == reference.last_chapter
        found += [
            f"{reference.book}.{reference.chapter}.{verse}"
            for verse in range(reference.verse, reference.last_verse + 1)
        ]
    assert found == osis_ids


def test_every_verse_of_the_vulgate_is_read_back_in_every_style(
    vulgate_passages: tuple[Passage, ...],
) -> None:
    table = VerseTable(passage.id for passage in vulgate_passages)
    for style in STYLES:
        for passage in vulgate_passages[:: 1 if style == "comma" else 5]:
            (reference,) = parse_references(format_reference(passage.id, style))
            assert table.expand(reference) == (passage.id,)


@pytest.mark.parametrize(
    ("osis_ids", "comma", "colon", "osis"),
    [
        (["1Sam.2.3"], "1 Reg 2,3", "1 Reg 2:3", "1Sam.2.3"),
        (["Ps.22.1", "Ps.22.2"], "Ps 22,1-2", "Ps 22:1-2", "Ps.22.1-Ps.22.2"),
        (["Ps.22.1", "Ps.22.3"], "Ps 22,1.3", "Ps 22:1,3", "Ps.22.1 Ps.22.3"),
        (["Ps.22.6", "Ps.23.1"], "Ps 22,6; 23,1", "Ps 22:6; 23:1", "Ps.22.6 Ps.23.1"),
        (["Jude.1.5", "Rev.1.8"], "Jud 5; Apc 1,8", "Jud 5; Apc 1:8", "Jude.1.5 Rev.1.8"),
        ([], "", "", ""),
    ],
)
def test_printing(osis_ids: list[str], comma: str, colon: str, osis: str) -> None:
    assert [format_references(osis_ids, style) for style in ("comma", "colon", "osis")] == [
        comma,
        colon,
        osis,
    ]


@pytest.mark.parametrize("bad", ["Ps", "Ps.22", "Ps.22.0", "Ps.022.1", "Ps.22.1-Ps.22.2", "Ps.x.1"])
def test_only_ids_of_verses_are_printed(bad: str) -> None:
    with pytest.raises(VerseError):
        format_reference(bad)


def test_an_unknown_style_is_refused() -> None:
    with pytest.raises(UsageError, match="osis, comma, colon"):
        format_reference("Ps.22.1", "roman")  # type: ignore[arg-type]


def test_the_parts_of_an_id() -> None:
    verse = parse_verse_id("1Sam.2.3")
    assert (verse.book.osis, verse.chapter, verse.verse, str(verse)) == ("1Sam", 2, 3, "1Sam.2.3")


@pytest.mark.parametrize(
    ("text", "osis_ids"),
    [
        ("Ps 22,5-6", ["Ps.22.5", "Ps.22.6"]),
        ("Ps 22,5-23,2", ["Ps.22.5", "Ps.22.6", "Ps.23.1", "Ps.23.2"]),
        ("Ps 22", PSALMS[:6]),
        ("Ps", PSALMS),
        ("Ps 22-23", PSALMS),
        ("Ps 22,5ff", ["Ps.22.5", "Ps.22.6"]),
        ("Ps 22,6f", ["Ps.22.6"]),
    ],
)
def test_expansion_gives_the_verses_that_exist(text: str, osis_ids: list[str]) -> None:
    assert expand(text, PSALMS) == osis_ids


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Ps 22,7", "Ps 22 has no verse 7; it has 1 to 6"),
        ("Ps 22,7f", "Ps 22 has no verse 7; it has 1 to 6"),
        ("Ps 22,4-9", "Ps 22 has no verse 7; it has 1 to 6"),
        ("Ps 24", "Ps has no chapter 24; it has 22 to 23"),
        ("Ps 22,1-24,1", "Ps has no chapter 24; it has 22 to 23"),
        ("Joh 1,1", "Joh is not in this collection; it has Ps"),
    ],
)
def test_expansion_names_what_exists(text: str, complaint: str) -> None:
    with pytest.raises(VerseError, match=complaint):
        expand(text, PSALMS)


def test_gaps_in_a_collection_are_named() -> None:
    with pytest.raises(VerseError, match="Ps 22 has no verse 2; it has 1, 3"):
        expand("Ps 22,2", ["Ps.22.1", "Ps.22.3"])
    with pytest.raises(VerseError, match="Ps 22 has no verse 2; it has only 1"):
        expand("Ps 22,2", ["Ps.22.1"])
    with pytest.raises(VerseError, match="Ps is not in this collection; it has no verses"):
        expand("Ps 22,2", ["window-1"])


def test_numbers_that_go_on_over_two_psalms_are_understood(
    vulgate_passages: tuple[Passage, ...],
) -> None:
    verses = [passage.id for passage in vulgate_passages if passage.book == "Ps"]
    assert expand("Ps 115,11-12", verses) == ["Ps.115.2", "Ps.115.3"]
    assert expand("Ps 115,19", verses) == ["Ps.115.10"]
    assert expand("Ps 147,12; 147,20", verses) == ["Ps.147.1", "Ps.147.9"]
    assert expand("Ps 115,10", verses) == ["Ps.115.10"]
    with pytest.raises(VerseError, match="Ps 147 has no verse 21; it has 1 to 9"):
        expand("Ps 147,21", verses)


def test_a_reference_prints_as_osis() -> None:
    assert str(Reference("Ps", 22, 1, 23, 4)) == "Ps.22.1-Ps.23.4"
    assert str(Reference("Ps")) == "Ps"
