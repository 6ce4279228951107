"""Annotation stores: nothing acknowledged is lost, nothing is doubled, all is remembered."""

import multiprocessing
import shutil
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from annotation_server import ANCHOR, WORDS
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.annotation.marks import (
    LONGEST_COMMENT,
    NOTHING,
    Mark,
    MarkConflictError,
    MarkRefusedError,
    Saved,
)
from allusion_es.annotation.spans import SpanAnnotation
from allusion_es.annotation.store import Store, is_store, spans
from allusion_es.annotation.tasks import instance_of
from allusion_es.core.errors import InputError, StorageError
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.retrieval.types import Query


def link(name: str) -> GoldLink:
    return GoldLink(Query(" ".join(WORDS), name, anchor=WORDS[5]), ("Ps.33.9",), type="allusion")


def new_store(folder: Path, *names: str) -> Store:
    store = Store(folder / "spans.sqlite", create_missing=True)
    store.add([instance_of(link(name)) for name in names or ("b-0", "b-1")])
    return store


def test_save_and_undo(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    assert store.save("b-0", "anna", Mark(5, 6), "k1") == Saved(Mark(5, 6), 1, 1)
    second = Mark(4, 8, doubt=True, comment="sed cf. 1 Cor")
    assert store.save("b-0", "anna", second, "k2", revision=1) == Saved(second, 2, 2)
    assert store.undo("b-0", "anna", "k3", revision=2) == Saved(Mark(5, 6), 3, 1)
    assert store.undo("b-0", "anna", "k4") == Saved(NOTHING, 4, 0)
    with pytest.raises(MarkRefusedError, match="nothing to undo"):
        store.undo("b-0", "anna", "k5")
    assert Store(store.path).saved("anna") == {"b-0": Saved(NOTHING, 4, 0)}
    assert [(c.kind, c.key, c.before, c.after) for c in store.history()] == [
        ("save", "k1", NOTHING, Mark(5, 6)),
        ("save", "k2", Mark(5, 6), second),
        ("undo", "k3", second, Mark(5, 6)),
        ("undo", "k4", Mark(5, 6), NOTHING),
    ]
    assert {(c.instance, c.annotator) for c in store.history()} == {("b-0", "anna")}
    assert [c.at for c in store.history()] == sorted(c.at for c in store.history())


def test_a_change_of_the_same_key_is_made_once(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    first = store.save("b-0", "anna", Mark(5, 6), "k1", revision=0)
    assert store.save("b-0", "anna", Mark(5, 6), "k1", revision=0) == first
    undone = store.undo("b-0", "anna", "k2", revision=1)
    assert store.undo("b-0", "anna", "k2", revision=1) == undone
    # A key is one annotator's own.
    assert store.save("b-0", "berta", Mark(5, 7), "k1").revision == 1
    assert len(store.history()) == 3


def test_who_has_not_seen_the_latest_is_told(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store.save("b-0", "anna", Mark(5, 6), "k1", revision=0)
    with pytest.raises(MarkConflictError) as conflict:
        store.save("b-0", "anna", Mark(5, 9), "k2", revision=0)
    assert conflict.value.saved == Saved(Mark(5, 6), 1, 1)
    with pytest.raises(MarkConflictError):
        store.undo("b-0", "anna", "k3", revision=0)
    assert len(store.history()) == 1


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        (Mark(-1, 7), "does not lie in the text, which has words 0 to 12"),
        (Mark(5, 13), "does not lie in the text"),
        (Mark(7, 6), "does not lie in the text"),
        (Mark(0, 5), "does not include the anchor, words 5 to 6"),
        (Mark(6, 12), "does not include the anchor"),
        (Mark(5, None), "both start and end"),
        (Mark(), "mark a span, or doubt, or skip"),
        (Mark(doubt=True, skipped=True), "mark a span, or doubt, or skip"),
        (Mark(5, 6, skipped=True), "skipped has no span"),
        (Mark(5, 6, comment="x" * (LONGEST_COMMENT + 1)), "2001 characters, at most 2000"),
        (Mark(5, 6, comment="a\0b"), "control characters"),
        (Mark(5, 6, comment="\ud800"), "control characters"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, mark: Mark, message: str) -> None:
    store = new_store(tmp_path)
    with pytest.raises(MarkRefusedError, match=message):
        store.save("b-0", "anna", mark, "k1")
    assert store.history() == []
    assert store.marks() == []


def test_unknown_instances_and_keys_are_refused(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with pytest.raises(MarkRefusedError, match="no instance 'b-9'"):
        store.save("b-9", "anna", Mark(5, 6), "k1")
    for key in ("", "k" * 65, "\ud800"):
        with pytest.raises(MarkRefusedError, match="1 to 64"):
            store.save("b-0", "anna", Mark(5, 6), key)
    assert store.history() == []


marks = st.builds(
    Mark,
    st.integers(0, ANCHOR[0]),
    st.integers(ANCHOR[1], len(WORDS)),
    st.booleans(),
    comment=st.sampled_from(["", "'; DROP TABLE history; --", "<script>alert(1)</script>"]),
) | st.sampled_from([Mark(doubt=True), Mark(skipped=True)])
steps = st.lists(
    st.tuples(
        st.sampled_from(["b-0", "b-1"]), st.sampled_from(["anna", "berta"]), st.none() | marks
    ),
    max_size=12,
)


@given(steps)
def test_any_changes_leave_the_last_state_and_the_whole_history(
    changes: list[tuple[str, str, Mark | None]],
) -> None:
    stacks: dict[tuple[str, str], list[Mark]] = {}
    expected = []
    with tempfile.TemporaryDirectory() as folder:
        store = new_store(Path(folder))
        for number, (name, who, mark) in enumerate(changes):
            stack = stacks.setdefault((name, who), [NOTHING])
            before, key = stack[-1], f"k{number}"
            if mark is not None:
                stack.append(mark)
                store.save(name, who, mark, key)
            elif len(stack) == 1:
                with pytest.raises(MarkRefusedError):
                    store.undo(name, who, key)
                continue
            else:
                stack.pop()
                store.undo(name, who, key)
            expected.append((name, who, "undo" if mark is None else "save", before, stack[-1], key))
        again = Store(store.path)
        for who in ("anna", "berta"):
            saved = again.saved(who)
            for name in ("b-0", "b-1"):
                stack = stacks.get((name, who), [NOTHING])
                found = saved.get(name, Saved())
                assert (found.mark, found.undoable) == (stack[-1], len(stack) - 1)
        assert [
            (c.instance, c.annotator, c.kind, c.before, c.after, c.key) for c in again.history()
        ] == expected
        last = {place: stack[-1] for place, stack in stacks.items() if stack[-1] != NOTHING}
        assert {(name, who): mark for name, who, mark in again.marks()} == last
        assert len(again.marks()) == len(last)


def test_spans_are_what_agreement_reads(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store.save("b-1", "anna", Mark(3, 8), "k1")
    store.save("b-0", "berta", Mark(skipped=True), "k1")
    store.save("b-0", "anna", Mark(doubt=True), "k2")
    store.save("b-1", "berta", Mark(5, 6), "k2")
    store.undo("b-1", "berta", "k3")
    assert is_store(store.path)
    words = len(WORDS)
    assert spans(store.path) == [
        SpanAnnotation("b-0", "anna", None, None, True, "allusion", tokens=words, has_anchor=True),
        SpanAnnotation("b-0", "berta", None, None, False, "allusion", 0, words, has_anchor=True),
        SpanAnnotation("b-1", "anna", 3, 8, False, "allusion", tokens=words, has_anchor=True),
    ]


def test_a_store_that_forced_the_middle_word_no_longer_does(tmp_path: Path) -> None:
    """Before links could lack an anchor, the store had their middle word in its place."""
    bare = GoldLink(Query(" ".join(WORDS), "b-0"), ("Ps.33.9",))
    store = Store(tmp_path / "spans.sqlite", create_missing=True)
    store.add([instance_of(bare)])
    with sqlite3.connect(store.path) as database:
        database.execute("UPDATE instance SET anchor_start = 5, anchor_end = 6")
    database.close()
    store.save("b-0", "anna", Mark(4, 8), "k1")
    with pytest.raises(MarkRefusedError, match="does not include the anchor"):
        store.save("b-0", "anna", Mark(0, 2), "k2")
    store.add([instance_of(bare)])  # as the page does when it is started
    assert store.save("b-0", "anna", Mark(0, 2), "k2").revision == 2
    assert spans(store.path) == [
        SpanAnnotation("b-0", "anna", 0, 2, tokens=len(WORDS), has_anchor=False)
    ]
    assert [change.after for change in store.history()] == [Mark(4, 8), Mark(0, 2)]


def test_instances_stay_what_they_are(tmp_path: Path) -> None:
    store = new_store(tmp_path, "b-0")
    better = replace(link("b-0"), type="quotation", translation="One, two", line=7)
    store.add([instance_of(better)])
    assert store.instances() == [instance_of(replace(better, line=0))]
    for other in (
        replace(better, relevant=("Ps.33.10",)),
        replace(better, query=replace(better.query, anchor=WORDS[6])),
        replace(better, query=replace(better.query, anchor="")),
        replace(better, query=replace(better.query, text=better.query.text + " tredecim")),
        replace(better, query=replace(better.query, before="nullus", text=" ".join(WORDS))),
    ):
        with pytest.raises(InputError, match="'b-0' is there with another passage, anchor or"):
            store.add([instance_of(link("b-new")), instance_of(other)])
    assert [instance.id for instance in store.instances()] == ["b-0"]


@pytest.mark.parametrize(
    "content", [b"query_id\ttext\n" * 40, b"x", b"SQLite format 3\0" + b"?" * 99]
)
def test_other_files_are_no_stores(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "links.tsv"
    path.write_bytes(content)
    for create_missing in (False, True):
        with pytest.raises(InputError, match=r"links\.tsv: not a store of annotations"):
            Store(path, create_missing=create_missing)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_other_databases_are_no_stores(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE annotation (text TEXT)")
    database.close()
    before = path.read_bytes()
    for create_missing in (False, True):
        with pytest.raises(InputError, match="not a store of annotations"):
            Store(path, create_missing=create_missing)
    assert path.read_bytes() == before


def test_missing_newer_and_impossible_files_are_told_of(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no store of annotations"):
        Store(tmp_path / "missing.sqlite")
    with pytest.raises(InputError, match="a folder"):
        Store(tmp_path, create_missing=True)
    with pytest.raises(StorageError, match="cannot be written"):
        Store(new_store(tmp_path).path / "below.sqlite", create_missing=True)
    database = sqlite3.connect(tmp_path / "spans.sqlite")
    database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(InputError, match="version 2, but this allusion-es reads version 1"):
        Store(tmp_path / "spans.sqlite")


def test_names_with_signs_of_urls_are_files_too(tmp_path: Path) -> None:
    store = Store(tmp_path / "a?b#c%20 ä.sqlite", create_missing=True)
    assert store.path.exists()
    assert Store(store.path).identifier == store.identifier


def test_each_commit_is_flushed_to_the_disk(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with store._writing() as database:
        assert database.execute("PRAGMA synchronous").fetchone() == (2,)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_what_is_acknowledged_survives_without_a_clean_end(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with store._reading():  # keeps the log from being folded into the file
        store.save("b-0", "anna", Mark(5, 6), "k1")
        copy = tmp_path / "copy.sqlite"
        for suffix in ("", "-wal"):
            shutil.copy(f"{store.path}{suffix}", f"{copy}{suffix}")
    assert Store(copy).marks() == [("b-0", "anna", Mark(5, 6))]


def _annotate(path: Path, who: str, count: int) -> None:
    store = Store(path, create_missing=True)
    store.add([instance_of(link(f"b-{number}")) for number in range(3)])
    for number in range(count):
        store.save(f"b-{number % 3}", who, Mark(5, 6 + number % 7), f"k{number}")


def test_several_processes_use_one_store(tmp_path: Path) -> None:
    path, count = tmp_path / "spans.sqlite", 15
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_annotate, args=(path, f"anna-{number}", count))
        for number in range(4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    store = Store(path)
    assert len(store.instances()) == 3
    assert len(store.history()) == 4 * count
    assert len(store.marks()) == 4 * 3
    for number in range(4):
        mine = [change for change in store.history() if change.annotator == f"anna-{number}"]
        assert [change.key for change in mine] == [f"k{number}" for number in range(count)]


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM store",
        "UPDATE store SET identifier = x'ff'",
        "UPDATE annotation SET start = 5, end = 5",
        "UPDATE annotation SET start = -1",
        "UPDATE annotation SET end = NULL",
        "UPDATE annotation SET end = 10000",
        "UPDATE instance SET link = replace(link, 'b-0', 'b-9')",
    ],
)
def test_what_was_never_written_is_refused(tmp_path: Path, damage: str) -> None:
    store = new_store(tmp_path)
    store.save("b-0", "anna", Mark(5, 6), "k1")
    assert len(spans(store.path)) == 1
    with sqlite3.connect(store.path) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        assert database.execute(damage).rowcount > 0
    database.close()
    with pytest.raises(InputError, match=r"spans\.sqlite: damaged"):
        spans(store.path)
