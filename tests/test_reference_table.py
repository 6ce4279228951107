"""References in the forms of real editions: read as they are meant, or refused, everywhere."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tei_fixtures import document

from allusion_es.core.errors import VerseError
from allusion_es.corpora.bible.books import BOOKS, book_by_osis, plain_word
from allusion_es.corpora.bible.references import (
    Reference,
    find_references,
    parse_references,
)
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.tei.reader import read_tei
from allusion_es.evaluation.gold.check import check
from allusion_es.evaluation.gold.files import split_ids
from allusion_es.evaluation.gold.ids import ReferenceReader
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.gold.tei import gold_from_tei
from allusion_es.evaluation.gold.tei_references import references_in_note, references_in_target
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.types import Query

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from references import REFUSED, Outcome, outcomes

TABLE = outcomes()


def read(text: str) -> tuple[Reference, ...]:
    try:
        return parse_references(text)
    except VerseError:
        return ()


def test_the_table_has_the_forms_of_many_editions() -> None:
    assert len(TABLE) >= 600
    forms = {each.form for each in TABLE}
    assert forms >= {
        "csel", "ccsl", "pl", "gcs", "french", "english", "usfm", "osis", "german", "italian",
        "work", "address",
    }  # fmt: skip
    assert len({each.written for each in TABLE}) == len(TABLE)


def test_no_reference_is_read_wrongly_and_nearly_all_are_read() -> None:
    assert [each for each in TABLE if each.is_wrong] == []
    readable = [each for each in TABLE if each.meant != REFUSED]
    missed = [each for each in readable if each.is_missed]
    assert len(missed) <= len(readable) / 100, missed


@pytest.mark.parametrize("outcome", TABLE, ids=lambda each: each.written)
def test_every_entrance_reads_the_same(outcome: Outcome) -> None:
    """A cell of a table, a note and an attribute give what the parser gives, or refuse."""
    meant = () if outcome.found == REFUSED else tuple(outcome.found.split(" "))
    in_cell = [str(found) for part in split_ids(outcome.written) for found in read(part)]
    if meant:
        assert in_cell == list(meant)
    else:  # a cell is cut at semicolons; parts that are good stay, the others are told
        pieces = find_references(outcome.written)
        assert set(in_cell) <= {str(found) for piece in pieces for found in piece.references}
    if any(not reference.verse for reference in read(outcome.written)):
        return  # notes give no links to whole chapters
    if not meant or outcome.form != "address":
        cited, refused = references_in_note(outcome.written)
        in_note = [str(found) for each in cited for found in read(each.written)]
        if meant:
            assert in_note == list(meant)
            assert refused == []
        elif in_note:  # a good reference beside what is refused, or beside other words
            assert refused or outcome.written == "Ps 22,1 xyz"
    in_attribute = [
        str(found) for each in references_in_target(outcome.written) for found in read(each.written)
    ]
    assert in_attribute in ([], list(meant))
    if meant:
        assert in_attribute == list(meant)


def test_notes_of_a_file_give_the_verses_of_the_table(
    tmp_path: Path, vulgate_passages: Sequence[Passage]
) -> None:
    """All lines of the table that name verses of the Vulgate, as notes of one TEI file."""
    reader = ReferenceReader(passage.id for passage in vulgate_passages)
    notes, meant = [], []
    for each in TABLE:
        references = read(each.written)
        if each.form == "address" or not all(reference.verse for reference in references):
            continue
        try:
            verses = [verse for one in references for verse in reader.passages(str(one))]
        except VerseError:
            continue
        if verses:
            escaped = each.written.replace("&", "&amp;").replace("<", "&lt;")
            notes.append(f"<p>unus duo tres quattuor<note>{escaped}</note> quinque.</p>")
            meant.append((each.written, set(verses)))
    path = tmp_path / "notes.xml"
    path.write_text(document("".join(notes)), "utf-8")
    found: dict[int, set[str]] = {}
    for link in gold_from_tei(read_tei(path), reader).links:
        number = int(re.search(r"tei:p\[(\d+)\]", link.source)[1])  # type: ignore[index]
        found.setdefault(number, set()).update(link.relevant)
    assert len(meant) > 500
    for number, (written, expected) in enumerate(meant, start=1):
        # Printed lines that a file does not have are told, and give no link.
        assert found.get(number, set()) <= expected, written
    with_lines = {"3 Matth. 5, 3 7 Rom. 5, 12", "1 I Cor. 5, 6", "3) Gen. 1, 26"}
    lost = [written for number, (written, _) in enumerate(meant, start=1) if number not in found]
    assert set(lost) <= with_lines | {"9] Ps. 18, 2. 10] Io. 1, 10."}


# Properties.

NAMES = [
    name
    for book in BOOKS
    for name in (book.osis, book.abbreviation, *book.names, f"{book.abbreviation}.")
]
WORDS = [
    "et", "u.", "v.", "vv.", "c.", "cap.", "cf.", "sq.", "sqq.", "ff", "s.", "LXX", "par.", "in",
    "adv.", "Aug.", "ad", "Ep.", "ibid.", "ac", "&", "Tert.", "de", "Vulg.", "hebr.", "bis", "p.",
    "LV", "lv", "V", "v", "XXII", "L", "C", "iii", "Iud.", "Ep", "am", "Ps", "1", "3", "10", "22",
    "118", "4", "2",
]  # fmt: skip
MARKS = [",", ".", ":", ";", "-", "–", "(", ")", "]", "[", " ", ", ", ". ", "; ", " - ", "a", "/"]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(NAMES),
        st.sampled_from(WORDS),
        st.sampled_from(MARKS),
        st.integers(1, 160).map(str),
    ),
    min_size=1,
    max_size=14,
).map(lambda parts: "".join(part if part in MARKS else f" {part}" for part in parts).strip())


def has_name(book: str, text: str) -> bool:
    """Whether a word of a text begins a name of a book, or the whole of it, in any spelling."""
    spelling = str.maketrans({"j": "i", "v": "u"})
    listed = book_by_osis(book)
    names = {
        plain_word(word).translate(spelling)
        for name in (listed.osis, listed.vulgate, listed.abbreviation, *listed.names)
        for word in re.findall(r"[^\W\d_]+", name)
    }
    words = [plain_word(word).translate(spelling) for word in re.findall(r"[^\W\d_]+", text)]
    return any(
        name.startswith(word) or re.fullmatch(f"[iu]+{name}", word)
        for word in words
        for name in names
    )


@settings(max_examples=500)
@given(TEXTS)
def test_no_book_is_read_whose_name_is_not_there(text: str) -> None:
    for piece in find_references(text):
        for reference in piece.references:
            assert has_name(reference.book, piece.written), (text, reference)


def numbers_of(text: str) -> set[int]:
    from allusion_es.corpora.bible.reference_tokens import roman_to_int

    words = re.findall(r"[0-9]+|[^\W\d_]+", text)
    return {int(word) if word.isdecimal() else roman_to_int(word) or 0 for word in words}


@settings(max_examples=500)
@given(TEXTS)
def test_every_number_that_is_read_was_written(text: str) -> None:
    """No chapter or verse is made up, but for what `sqq.` adds and the chapter of Jude."""
    for piece in find_references(text):
        written = numbers_of(piece.written)
        for each in piece.references:
            last = each.last_verse if not each.open else 0
            chapters = {each.chapter, each.last_chapter} if each.verse else {each.chapter}
            if book_by_osis(each.book).has_one_chapter:
                chapters = set()
            assert chapters | {each.verse, last} <= written | {0}, (text, each)
            if each.open:
                assert each.last_verse - each.verse <= 2


@settings(max_examples=300)
@given(TEXTS)
def test_a_list_holds_what_a_note_finds(text: str) -> None:
    """The strict reading is that of notes, or a refusal."""
    strict = read(text)
    pieces = find_references(text)
    if strict and strict[0].chapter and "/" not in text and ":" not in text:
        assert tuple(one for piece in pieces for one in piece.references) == strict
        assert not any(piece.reason for piece in pieces)


@settings(max_examples=300)
@given(TEXTS)
def test_what_a_note_cites_is_read_again(text: str) -> None:
    for each in references_in_note(text)[0]:
        found = read(each.written)
        assert found
        assert all(reference.verse for reference in found)


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ("Is. LV", ("Is. LV",)),
        ("Is. LV, 1", ("Is. LV, 1",)),
        ("Ps Isa", ("Ps Isa",)),
        ("Ps 22,1 xyz", ("Ps 22,1 xyz",)),
        ("Gen 1,1; Is", ("Gen 1,1; Is",)),
        ("Gen 1,1; xyz 3,4", ("Gen 1,1", "xyz 3,4")),
        ("Gen. 1, 26; 27", ("Gen. 1, 26", "27")),
        ("a-1 a-2", ("a-1", "a-2")),
        ("12 13", ("12", "13")),
        ("Ps", ("Ps",)),
    ],
)
def test_cells_are_cut_only_where_each_part_means_the_same(
    cell: str, parts: tuple[str, ...]
) -> None:
    assert split_ids(cell) == parts


@pytest.mark.parametrize(
    ("text", "read_as", "refused"),
    [
        ("III Esdr. 4, 4", [], ["III Esdr. 4, 4"]),
        ("Ps. 33, 9 et Tert. adv. Marc. 2, 4", ["Ps. 33, 9"], ["Marc. 2, 4"]),
        ("Gen. 1, 26; 27", ["Gen. 1, 26"], ["; 27"]),
        ("Ps. 33", [], ["Ps. 33"]),
        ("Ps. 18, 2. 10 Io. 1, 10", ["Ps. 18, 2", "Io. 1, 10"], ["10"]),
    ],
)
def test_what_a_note_does_not_read_is_named(
    text: str, read_as: list[str], refused: list[str]
) -> None:
    cited, left = references_in_note(text)
    assert [each.written for each in cited] == read_as
    assert [each.written for each in left] == refused
    assert all(each.reason for each in left)


def test_check_lists_whole_chapters_and_books_first() -> None:
    links = [
        GoldLink(Query("xyzzy", "q1"), ("Ps 1,1",), line=1),
        GoldLink(Query("beatus vir", "q2"), ("Ps 1",), line=2),
        GoldLink(Query("beatus uir qui", "q3"), ("Ps 1,1 sqq.",), line=3),
        GoldLink(Query("beatus", "q4"), ("Ps",), line=4),
    ]
    index = index_texts({"Ps.1.1": "beatus vir", "Ps.1.2": "sed in lege", "Ps.1.3": "et erit"})
    found = [(each.kind, each.line) for each in check(links, index, Analyser()).findings]
    assert found[:3] == [("whole", 2), ("whole", 4), ("following", 3)]
    assert found[3:].count(("no-overlap", 1)) == 1
