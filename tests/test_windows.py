import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import UsageError
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.passage_files import verse_passage
from allusion_es.corpora.windows import passage_windows, word_windows

PSALM = [verse_passage(f"Ps.22.{n}", f"v{n}", "Vulgata", n - 1) for n in range(1, 6)]


def ids(passages: list[Passage], size: int, step: int) -> list[str]:
    return [window.id for window in passage_windows(passages, size, step)]


def test_a_window_joins_verses() -> None:
    first = next(passage_windows(PSALM, 3))
    assert first == Passage(
        id="Ps.22.1-Ps.22.3",
        text="v1 v2 v3",
        work="Vulgata",
        book="Ps",
        chapter=22,
        verse=1,
        order=0,
        testament="ot",
        reference="Ps 22,1-3",
    )


@pytest.mark.parametrize(
    ("size", "step", "spans"),
    [
        (1, 1, [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]),
        (2, 1, [(1, 2), (2, 3), (3, 4), (4, 5)]),
        (2, 2, [(1, 2), (3, 4), (5, 5)]),
        (3, 2, [(1, 3), (3, 5)]),
        (4, 3, [(1, 4), (4, 5)]),
        (2, 3, [(1, 2), (4, 5)]),
        (1, 4, [(1, 1), (5, 5)]),
        (5, 1, [(1, 5)]),
        (9, 2, [(1, 5)]),
    ],
)
def test_sizes_and_steps(size: int, step: int, spans: list[tuple[int, int]]) -> None:
    expected = [f"Ps.22.{a}" if a == b else f"Ps.22.{a}-Ps.22.{b}" for a, b in spans]
    assert ids(PSALM, size, step) == expected
    words = [Passage("p", "a b c d e")]
    assert [w.id for w in word_windows(words, size, step)] == [f"p#{a}-{b}" for a, b in spans]


def test_windows_end_with_a_book_or_a_work() -> None:
    passages = [
        verse_passage("Jude.1.25", "a", "Vulgata", 0),
        verse_passage("Rev.1.1", "b", "Vulgata", 1),
        verse_passage("Rev.1.2", "c", "Vulgata", 2),
        verse_passage("Rev.1.3", "d", "Vetus Latina", 3),
    ]
    windows = list(passage_windows(passages, 2))
    assert [window.id for window in windows] == ["Jude.1.25", "Rev.1.1-Rev.1.2", "Rev.1.3"]
    assert [window.order for window in windows] == [0, 1, 2]


def test_windows_go_over_the_end_of_a_chapter() -> None:
    passages = [verse_passage(verse, "x", "Vulgata", 0) for verse in ("Ps.22.6", "Ps.23.1")]
    (window,) = passage_windows(passages, 2)
    assert (window.id, window.reference) == ("Ps.22.6-Ps.23.1", "Ps 22,6; 23,1")


def test_windows_of_other_texts() -> None:
    passages = [Passage("a", "x", tokens=("x",), lemmas=("X",)), Passage("b", "y", tokens=("y",))]
    (window,) = passage_windows(passages, 2)
    assert (window.id, window.reference) == ("a-b", "a-b")
    assert (window.tokens, window.lemmas) == (("x", "y"), None)


def test_nothing_gives_no_windows() -> None:
    assert ids([], 2, 1) == []
    assert list(word_windows([Passage("p", " . 1 ")], 2, 1)) == []


def test_words_are_cut_from_the_text_as_it_stands() -> None:
    passage = Passage("s1", "«Gustate», et vide\u0301te: quoniam [suavis] est 2.", tokens=("x",))
    windows = list(word_windows([passage], size=3, step=2))
    assert [window.text for window in windows] == [
        "Gustate», et vide\u0301te",
        "vide\u0301te: quoniam [suavis",
        "suavis] est",
    ]
    assert [window.id for window in windows] == ["s1#1-3", "s1#3-5", "s1#5-6"]
    assert {window.tokens for window in windows} == {None}


def test_word_windows_count_on_over_passages() -> None:
    windows = word_windows([Passage("a", "x y"), Passage("b", "z")], 2, 1)
    assert [(window.id, window.order) for window in windows] == [("a#1-2", 0), ("b#1-1", 1)]


@pytest.mark.parametrize(("size", "step"), [(0, 1), (1, 0), (-1, 1)])
def test_sizes_and_steps_are_at_least_one(size: int, step: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        passage_windows(PSALM, size, step)
    with pytest.raises(UsageError, match="at least 1"):
        word_windows(PSALM, size, step)


@given(st.integers(0, 30), st.integers(1, 8), st.integers(1, 8))
def test_windows_follow_the_step_and_none_lies_in_the_one_before(
    length: int, size: int, step: int
) -> None:
    passages = [Passage(str(number), f"w{number}") for number in range(length)]
    shown = [
        [int(number) for number in re.findall(r"\d+", window.text)]
        for window in passage_windows(passages, size, step)
    ]
    assert all(len(window) <= size for window in shown)
    assert all(len(window) == size for window in shown[:-1])
    assert [window[0] for window in shown] == list(range(0, length, step))[: len(shown)]
    for before, window in pairwise(shown):
        assert window[-1] > before[-1]
    if step <= size:
        assert {number for window in shown for number in window} == set(range(length))


@given(st.lists(st.sampled_from(["et", "Deus,", "(dixit)", "2", "—"])), st.integers(1, 4))
def test_word_windows_side_by_side_hold_every_word_once(parts: list[str], size: int) -> None:
    text = " ".join(parts)
    windows = word_windows([Passage("p", text)], size, size)
    words = [word for window in windows for word in re.findall(r"[a-z]+", window.text.lower())]
    assert words == re.findall(r"[a-z]+", text.lower())


def test_windows_of_the_vulgate_stay_in_their_books(
    vulgate_passages: tuple[Passage, ...],
) -> None:
    windows = list(passage_windows(vulgate_passages, 3, 2))
    assert windows[0].id == "Gen.1.1-Gen.1.3"
    assert len({window.id for window in windows}) == len(windows)
    for window in windows:
        parts = window.id.split("-")
        assert {part.partition(".")[0] for part in parts} == {window.book}
