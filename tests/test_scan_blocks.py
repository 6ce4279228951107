"""Blocks, journals and the scanner: nothing twice, nothing lost, the same in several processes."""

import json
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import StorageError, UsageError
from allusion_es.corpora.findings import Alternative, Finding
from allusion_es.corpora.source import read_source
from allusion_es.corpora.source_text import SourceText
from allusion_es.local.index import LocalIndex
from allusion_es.local.library import BuildOptions, Library
from allusion_es.local.memory import index_texts
from allusion_es.retrieval.types import SearchFilter
from allusion_es.scanning import journal as journals
from allusion_es.scanning.journal import Journal, scan_key
from allusion_es.scanning.model import ScanOptions
from allusion_es.scanning.scanner import Scanner, cut, scan_in_processes, seamless

VERSES = {f"Gen.{n}.1": f"aliud{n} uerbum{n} nouum{n} factum{n}" for n in range(1, 200)} | {
    "Ps.33.9": "Gustate et videte quoniam suavis est Dominus",
    "Ps.33.10": "Timete Dominum omnes sancti eius",
}


@given(
    st.text(st.sampled_from("ab -\u00ad\u2010\n\t"), max_size=80),
    st.integers(1, 7),
    st.integers(0, 5),
)
def test_blocks_own_each_character_once_and_break_no_word(
    text: str, words: int, margin: int
) -> None:
    blocks = list(cut(text, words, margin))
    assert [block.number for block in blocks] == list(range(len(blocks)))
    assert "".join(text[block.start : block.end] for block in blocks) == (text if blocks else "")
    assert blocks or not text.strip()
    for block in blocks:
        assert block.text == text[block.offset : block.offset + len(block.text)]
        assert block.offset <= block.start < block.end <= block.offset + len(block.text)
        for place in (block.start, block.offset, block.offset + len(block.text)):
            if 0 < place < len(text):
                before = text[:place].rstrip()
                assert text[place - 1].isspace()
                assert not text[place].isspace()
                assert not before.endswith(("-", "\u00ad", "\u2010"))
        whole_margin = len(text[block.offset : block.start].split()) >= margin
        assert whole_margin or not text[: block.offset].strip()


def test_margins_are_words() -> None:
    text = " ".join(f"u{n}" for n in range(10))
    found = [(block.text, text[block.start : block.end]) for block in cut(text, 4, 2)]
    assert found == [
        ("u0 u1 u2 u3 u4 u5 ", "u0 u1 u2 u3 "),
        ("u2 u3 u4 u5 u6 u7 u8 u9", "u4 u5 u6 u7 "),
        ("u6 u7 u8 u9", "u8 u9"),
    ]


@pytest.mark.parametrize(("words", "margin"), [(0, 1), (1, -1)])
def test_wrong_sizes(words: int, margin: int) -> None:
    with pytest.raises(UsageError, match="blocks of"):
        list(cut("a", words, margin))


def found(start: int, end: int, probability: float = 0.5, passage: str = "Ps.33.9") -> Finding:
    return Finding(
        start, end, "x" * (end - start), (passage,), "Ps 33,9", 1.25, probability, "quotation",
        ("gustate", "suavis\u2028\x85"), (Alternative(("a", "b"), "A", 0.5, 0.25),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("second", "kept"),
    [
        (found(15, 25, 0.6), [(15, 25)]),  # shares 5 of 10
        (found(15, 25, 0.4), [(10, 20)]),
        (found(16, 26, 0.9), [(10, 20), (16, 26)]),  # shares 4 of 10
        (found(12, 14, 0.4), [(10, 20)]),  # inside
        (found(20, 30, 0.9), [(10, 20), (20, 30)]),
    ],
)
def test_what_two_blocks_find_on_their_border_is_one(
    second: Finding, kept: list[tuple[int, int]]
) -> None:
    got = seamless([[found(10, 20)], [], [second]])
    assert [(each.start, each.end) for each in got] == kept


def test_a_journal_gives_back_what_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.scan"
    given = {0: [found(1, 5), found(7, 9)], 2: [], 1: [found(3, 4)]}
    first = Journal(path, "key", resume=False)
    assert first.done == {}
    for number, some in given.items():
        first.add(number, some)
    first.close()
    again = Journal(path, "key", resume=True)
    assert again.done == given
    again.add(5, [])
    again.close()
    last = Journal(path, "key", resume=True)
    last.close()
    assert last.done == given | {5: []}


def test_a_journal_cut_off_anywhere_keeps_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.scan"
    journal = Journal(path, "key", resume=False)
    for number in range(3):
        journal.add(number, [found(number, number + 1)])
    journal.close()
    data = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(data) if byte == ord("\n")]
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        again = Journal(path, "key", resume=True)
        assert len(again.done) == max(0, sum(end <= size for end in ends) - 1)
        for number in range(3):
            if number not in again.done:
                again.add(number, [found(number, number + 1)])
        again.close()
        assert path.read_bytes() == data


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\n", b"{}\n", b"\xff\xfe\n", b'{"key": "other"}\n', b"null\n",
    ],
)  # fmt: skip
def test_what_is_no_journal_for_this_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.scan"
    line = json.dumps({"block": 0, "findings": []}).encode() + b"\n"
    path.write_bytes(content + line)
    journal = Journal(path, "key", resume=True)
    assert journal.done == {}
    journal.close()
    assert path.read_bytes() == b'{"key": "key"}\n'


@pytest.mark.parametrize(
    "line",
    [
        b"null", b"[]", b'{"block": 1}', b'{"block": "x", "findings": []}', b"\xff",
        b'{"block": 1, "findings": [{"start": 1}]}', b'{"block": 1, "findings": 5}',
    ],
)  # fmt: skip
def test_damaged_lines_end_what_is_kept(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "a.scan"
    journal = Journal(path, "key", resume=False)
    journal.add(0, [found(1, 2)])
    journal.close()
    sound = path.read_bytes()
    path.write_bytes(sound + line + b'\n{"block": 7, "findings": []}\n')
    again = Journal(path, "key", resume=True)
    again.close()
    assert again.done == {0: [found(1, 2)]}
    assert path.read_bytes() == sound


def test_a_journal_without_resume_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.scan"
    first = Journal(path, "key", resume=False)
    first.add(0, [])
    first.close()
    again = Journal(path, "key", resume=False)
    again.close()
    assert again.done == {}
    assert b"block" not in path.read_bytes()


def test_a_journal_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        Journal(tmp_path / "file" / "a.scan", "key", resume=False)
    full = Path("/dev/full")
    if full.exists():
        with pytest.raises(StorageError, match=r"/dev/full: cannot be written \(No space left"):
            Journal(full, "key", resume=False)


def source(folder: Path, text: str) -> SourceText:
    path = folder / "sermo.txt"
    path.write_text(text, "utf-8")
    return read_source(path)


def test_keys_differ_by_all_that_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, other = source(tmp_path, "gustate"), source(tmp_path, "videte")
    key = partial(scan_key, text, fingerprint="f")
    keys = [
        key(ScanOptions()),
        key(ScanOptions(threshold=0.3)),
        key(ScanOptions(precision=0.3)),
        key(ScanOptions(fast=True)),
        key(ScanOptions(top=3)),
        key(ScanOptions(search_filter=SearchFilter(books=frozenset({"Ps"})))),
        key(ScanOptions(search_filter=SearchFilter(testaments=frozenset({"nt"})))),
        key(ScanOptions(search_filter=SearchFilter(works=frozenset({"Ps"})))),
        scan_key(text, ScanOptions(), "g"),
        scan_key(other, ScanOptions(), "f"),
    ]
    for name in ("code_hash", "calibration_hash"):
        with monkeypatch.context() as patch:
            patch.setattr(journals, name, lambda *_: "another program")
            keys.append(key(ScanOptions()))
    assert len(set(keys)) == len(keys)
    assert key(ScanOptions()) == keys[0]


@pytest.fixture(scope="module")
def index() -> LocalIndex:
    return index_texts(VERSES, verses=True)


FILLER = " ".join(["caseus", "rusticus", "uenditur"] * 40)
QUOTE = "gustate et videte quoniam suavis est dominus"


@pytest.mark.parametrize("before", [0, 1, 20, 59, 60, 500, 938, 955, 993, 997, 999, 1000, 1001])
def test_a_quotation_is_found_once_wherever_blocks_are_cut(
    index: LocalIndex, tmp_path: Path, before: int
) -> None:
    filler = (FILLER + " ") * 20
    words = filler.split()
    text = " ".join([*words[:before], *QUOTE.split(), *words[: 1500 - before]])
    sermon = source(tmp_path, text)
    [only] = Scanner(index, ScanOptions(threshold=0.2)).scan(sermon)
    assert (only.text, only.passages) == (QUOTE, ("Ps.33.9",))
    assert sermon.text[only.start : only.end] == QUOTE


def test_a_quotation_of_two_verses_is_one_finding(index: LocalIndex, tmp_path: Path) -> None:
    text = f"{FILLER} {QUOTE}. Timete dominum omnes sancti eius. {FILLER}"
    [only] = Scanner(index, ScanOptions(threshold=0.2)).scan(source(tmp_path, text))
    assert (only.passages, only.reference) == (("Ps.33.9", "Ps.33.10"), "Ps 33,9-10")
    assert only.text == f"{QUOTE}. Timete dominum omnes sancti eius"


def test_nothing_is_found_where_there_is_nothing(index: LocalIndex, tmp_path: Path) -> None:
    assert list(Scanner(index).scan(source(tmp_path, FILLER))) == []
    assert list(Scanner(index).scan(source(tmp_path, "a"))) == []


def test_a_scan_stops_when_told(index: LocalIndex, tmp_path: Path) -> None:
    text = " ".join([QUOTE, *["caseus"] * 2000, QUOTE])
    answers = iter([False, True])
    got = list(Scanner(index, ScanOptions(threshold=0.2)).scan(
        source(tmp_path, text), lambda: next(answers)
    ))  # fmt: skip
    assert [(each.start, each.passages) for each in got] == [(0, ("Ps.33.9",))]


def test_outside_the_chosen_books_nothing_is_found(index: LocalIndex, tmp_path: Path) -> None:
    options = ScanOptions(threshold=0.01, search_filter=SearchFilter(books=frozenset({"Gen"})))
    assert list(Scanner(index, options).scan(source(tmp_path, QUOTE))) == []


@pytest.fixture(scope="module")
def name(library: Library) -> str:
    from allusion_es.corpora.passage_files import verse_passage

    passages = [verse_passage(i, t, "Vulgata", n) for n, (i, t) in enumerate(VERSES.items())]
    library.build("scanned", passages, BuildOptions(vectors=False, learned_links=False))
    return "scanned"


def open_index(name: str) -> LocalIndex:
    """What workers call; they inherit the data folder from the environment."""
    return Library().open(name)


@pytest.mark.parametrize("workers", [1, 3])
def test_processes_change_nothing(name: str, workers: int) -> None:
    text = " ".join(f"{FILLER} {QUOTE} {FILLER} aliud{n} uerbum{n} nouum{n}" for n in range(2, 40))
    blocks = list(cut(text))
    assert len(blocks) > 8
    options = ScanOptions(threshold=0.2)
    here = list(Scanner(open_index(name), options).blocks(blocks))
    assert sum(len(some) for _, some in here) > 20
    there = scan_in_processes(partial(open_index, name), options, iter(blocks), workers)
    assert list(there) == here


def test_a_resumed_scan_has_gaps(name: str) -> None:
    blocks = list(cut(" ".join([QUOTE, *["caseus"] * 990] * 6)))
    chosen = [blocks[number] for number in (1, 4, 5)]
    there = scan_in_processes(partial(open_index, name), ScanOptions(), chosen, 2)
    assert [block.number for block, _ in there] == [1, 4, 5]


def test_few_blocks_and_wrong_numbers(name: str) -> None:
    opened = partial(open_index, name)
    assert list(scan_in_processes(opened, ScanOptions(), [], 2)) == []
    with pytest.raises(UsageError, match="workers must be at least 1, not 0"):
        list(scan_in_processes(opened, ScanOptions(), [], 0))
