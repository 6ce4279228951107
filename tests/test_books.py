import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import VerseError
from allusion_es.corpora.bible.books import BOOKS, Book, book_by_osis, find_book

NAMES = [(name, book) for book in BOOKS for name in (book.osis, book.abbreviation, *book.names)]


def test_there_are_46_books_of_the_old_testament_and_27_of_the_new() -> None:
    assert [book.testament for book in BOOKS] == ["ot"] * 46 + ["nt"] * 27
    assert (BOOKS[0].osis, BOOKS[45].osis, BOOKS[46].osis) == ("Gen", "2Macc", "Matt")


def test_codes_and_abbreviations_are_unique() -> None:
    for codes in zip(*((b.osis, b.vulgate, b.abbreviation) for b in BOOKS), strict=True):
        assert len(set(codes)) == 73


def test_every_listed_name_means_its_own_book() -> None:
    assert [(name, find_book(name).osis) for name, _ in NAMES] == [
        (name, book.osis) for name, book in NAMES
    ]


def test_codes_of_the_data_mean_their_books() -> None:
    assert [find_book(book.vulgate) for book in BOOKS] == list(BOOKS)


@given(st.sampled_from(NAMES), st.data())
def test_case_dots_and_spelling_make_no_difference(
    case: tuple[str, Book], data: st.DataObject
) -> None:
    name, book = case
    variant = data.draw(
        st.sampled_from([name.upper(), name.lower(), name + ".", f"  {name} ", name.title()])
    )
    assert find_book(variant) == book


@pytest.mark.parametrize(
    ("name", "osis"),
    [
        ("I Reg.", "1Sam"),
        ("IV Regum", "2Kgs"),
        ("1. Könige", "1Kgs"),
        ("1 Kings", "1Kgs"),
        ("First Samuel", "1Sam"),
        ("5. Mose", "Deut"),
        ("II Esdr.", "Neh"),
        ("Ieremias", "Jer"),
        ("Iudicum", "Judg"),
        ("Ivdith", "Jdt"),
        ("Iud.", "Jude"),
        ("Leuiticus", "Lev"),
        ("Lu", "Luke"),
        ("Lv", "Lev"),
        ("Ioh.", "John"),
        ("Epistola ad Romanos", "Rom"),
        ("1 ad Cor.", "1Cor"),
        ("Evangelium secundum Lucam", "Luke"),
        ("Ecclesiastes", "Eccl"),
        ("Ecclesiasticus", "Sir"),
        ("Eccli.", "Sir"),
        ("Philipp.", "Phil"),
        ("Philem.", "Phlm"),
        ("Hohes Lied", "Song"),
        ("Offb", "Rev"),
    ],
)
def test_usual_names(name: str, osis: str) -> None:
    assert find_book(name).osis == osis


def test_an_unknown_book_is_named_with_near_ones() -> None:
    with pytest.raises(VerseError, match=r"'Psalmm' is not a book .* did you mean Psalm"):
        find_book("Psalmm")
    with pytest.raises(VerseError, match="'3 Esdr' is not a book"):
        find_book("3 Esdr")
    with pytest.raises(VerseError, match="write a book such as"):
        find_book("")
    with pytest.raises(VerseError, match=r"'1Sm' is not a book.*1Sam"):
        book_by_osis("1Sm")


def test_a_long_name_is_shortened_in_the_message() -> None:
    with pytest.raises(VerseError) as caught:
        find_book("x" * 5000)
    assert len(str(caught.value)) < 150
