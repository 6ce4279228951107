"""Instances from gold links, their division, and gold links from annotations."""

import json
from collections import Counter
from pathlib import Path

import pytest
from annotation_server import INDEX, links
from hypothesis import given
from hypothesis import strategies as st
from processes import Run

from allusion_es.annotation.export import agreed_span, annotation_rows, export_links
from allusion_es.annotation.marks import Mark
from allusion_es.annotation.split import check_annotator, split
from allusion_es.annotation.store import Store
from allusion_es.annotation.tasks import annotated_link, instance_of
from allusion_es.core.errors import InputError, UsageError
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.language.latin.tokenise import printed_words
from allusion_es.retrieval.types import Query

PAPER = GoldLink(
    Query(
        "dilectio illa supereminet omni scientiae",
        "b-1",
        "Magna res est; sed",
        ". Haec enim non inflat",
        "scientiae",
    ),
    ("Eph.3.19",),
    type="allusion",
    author="Bernard",
    translation="passing knowledge",
)


def test_the_papers_example() -> None:
    instance = instance_of(PAPER)
    assert instance.passage == (
        "Magna res est; sed dilectio illa supereminet omni scientiae. Haec enim non inflat"
    )
    printed = [instance.text(i, i + 1) for i in range(len(instance.words))]
    assert " ".join(printed) == (
        "Magna res est sed dilectio illa supereminet omni scientiae Haec enim non inflat"
    )
    assert instance.anchor == (8, 9)
    assert instance.text(8, 9) == "scientiae"
    assert instance.text(*instance.own) == "dilectio illa supereminet omni scientiae"
    assert annotated_link(instance, 3, 9) == GoldLink(
        Query(
            "sed dilectio illa supereminet omni scientiae",
            "b-1",
            "Magna res est;",
            ". Haec enim non inflat",
            "scientiae",
        ),
        ("Eph.3.19",),
        type="allusion",
        author="Bernard",
        translation="passing knowledge",
    )


def test_enclitics_stay_on_and_numbers_are_no_words() -> None:
    instance = instance_of(GoldLink(Query("dixitque 40 dominusque ver-\nbum", "q"), ("Gen.1.1",)))
    assert [instance.text(i, i + 1) for i in range(len(instance.words))] == [
        "dixitque",
        "dominusque",
        "ver-\nbum",
    ]


@pytest.mark.parametrize(
    ("text", "anchor", "found"),
    [
        # Places in the passage, in which one more word `duo` precedes the text.
        ("unus duo tres", "DVO", (2, 3)),
        ("unus duo tres duo", "duo", (2, 3)),
        ("unus duo tres", "duo tres", (2, 4)),
        ("unus duo tres quattuor", "", None),
        ("unus", " ", None),
    ],
)
def test_anchors(text: str, anchor: str, found: tuple[int, int] | None) -> None:
    instance = instance_of(GoldLink(Query(text, "q", "duo", "duo", anchor), ("Gen.1.1",)))
    assert instance.anchor == found
    assert instance.text(*instance.own) == text


@pytest.mark.parametrize(
    "query", [Query("12 .", "q"), Query("unus", "q", anchor="duo"), Query("unus", "q", anchor="3")]
)
def test_links_that_cannot_be_annotated(query: Query) -> None:
    with pytest.raises(InputError, match=r"links\.jsonl:4: field '(text|anchor)'"):
        instance_of(GoldLink(query, ("Gen.1.1",), line=4), "links.jsonl")


parts = st.text("abq ue.,-[]()&\n1ſæ\u00ad", max_size=12)


@given(parts, parts, parts, st.booleans(), st.data())
def test_no_word_is_lost_or_made(
    before: str, text: str, after: str, named: bool, data: st.DataObject
) -> None:
    if not printed_words(text):
        text += " uerbum"
    anchor = data.draw(st.sampled_from(printed_words(text))).form if named else ""
    instance = instance_of(GoldLink(Query(text, "q", before, after, anchor), ("Gen.1.1",)))
    forms = [word.form for part in (before, text, after) for word in printed_words(part)]
    assert [word.form for word in printed_words(instance.passage)] == forms
    assert "".join(instance.pieces()) == instance.passage
    assert len(instance.pieces()) == 2 * len(forms) + 1
    start = data.draw(st.integers(0, instance.anchor[0] if instance.anchor else len(forms) - 1))
    end = data.draw(st.integers(instance.anchor[1] if instance.anchor else start + 1, len(forms)))
    query = annotated_link(instance, start, end).query
    cut = [[w.form for w in printed_words(p)] for p in (query.before, query.text, query.after)]
    assert cut == [forms[:start], forms[start:end], forms[end:]]
    # What was exported can be annotated again, around an anchor of the same form or without one.
    again = instance_of(GoldLink(query, ("Gen.1.1",)))
    assert len(again.words) == len(forms)
    assert again.own == (start, end)
    assert (again.anchor is None) == (not named)
    if again.anchor:
        assert [printed_words(anchor)[0].form] == forms[slice(*again.anchor)]


def some_links(count: int) -> list[GoldLink]:
    return [GoldLink(Query("in principio", f"q{i}"), ("Gen.1.1",)) for i in range(count)]


@given(st.integers(0, 40), st.integers(1, 5), st.integers(0, 40), st.integers(0, 9))
def test_work_is_even_and_complete(count: int, people: int, overlap: int, seed: int) -> None:
    all_links, names = some_links(count), [f"a{i}" for i in range(people)]
    if overlap > count:
        with pytest.raises(UsageError, match=f"overlap: {overlap} links .* from {count}"):
            split(all_links, names, overlap, seed)
        return
    shares = split(all_links, names, overlap, seed)
    assert shares == split(all_links, names, overlap, seed)
    assert list(shares) == names
    sizes = [len(share) for share in shares.values()]
    assert max(sizes) - min(sizes) <= 1
    given_to = Counter(link.query.query_id for share in shares.values() for link in share)
    assert set(given_to) == {link.query.query_id for link in all_links}
    if people > 1:
        assert sorted(given_to.values(), reverse=True) == (
            [people] * overlap + [1] * (count - overlap)
        )
    for share in shares.values():
        assert share == [link for link in all_links if link in share]


def test_the_seed_decides_who_gets_what() -> None:
    shares = {
        tuple(link.query.query_id for link in split(some_links(20), ["a", "b"], 4, seed)["a"])
        for seed in range(5)
    }
    assert len(shares) == 5


@pytest.mark.parametrize("name", ["", " anna", "../anna", "a/b", ".anna", "a\tb", "a" * 65, "-a"])
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(UsageError):
        check_annotator(name)


def test_names_that_are_there_twice() -> None:
    assert check_annotator("Zoë M. 2") == "Zoë M. 2"
    with pytest.raises(UsageError, match="twice"):
        split(some_links(4), ["anna", "Anna"], 2)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(6, 12)), min_size=1, max_size=6))
def test_around_an_anchor_the_agreed_span_goes_from_median_to_median(
    spans: list[tuple[int, int]],
) -> None:
    starts, ends = sorted(start for start, _ in spans), sorted(end for _, end in spans)
    assert agreed_span(spans) == (starts[len(spans) // 2], ends[(len(spans) - 1) // 2])


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)), min_size=1, max_size=5))
def test_the_agreed_span_is_what_more_than_half_marked(places: list[tuple[int, int]]) -> None:
    spans = [(start, start + length) for start, length in places]
    marked = [sum(start <= place < end for start, end in spans) for place in range(13)]
    majority = [place for place in range(13) if 2 * marked[place] > len(spans)]
    span = agreed_span(spans)
    if span is not None:
        assert list(range(*span)) == majority
    elif majority:
        assert majority != list(range(majority[0], majority[-1] + 1))


def test_without_an_anchor_any_words_may_be_marked(tmp_path: Path, run: Run) -> None:
    work = links(tmp_path / "links.jsonl", 4, anchor="")
    store = Store(tmp_path / "spans.sqlite", create_missing=True)
    store.add([instance_of(link) for link in read_gold(work)])
    said: dict[
        str, list[Mark | None]
    ] = {  # the link's own words are 3 to 8; the others are its context
        "anna": [Mark(0, 2), Mark(7, 12), Mark(0, 9), Mark(0, 2)],
        "berta": [Mark(0, 3), Mark(6, 9), Mark(0, 2), None],
        "carla": [None, None, Mark(5, 9), Mark(10, 12)],
    }
    for name, marks in said.items():
        for number, mark in enumerate(marks):
            if mark:
                store.save(f"b-{number}", name, mark, f"k{number}")
    assert {mark for _, _, mark in Store(store.path).marks()} >= {Mark(0, 2), Mark(10, 12)}
    done = export_links(store)
    assert {link.query.query_id: link.query.text for link in done.links} == {
        "b-0": "unus duo",
        "b-1": "octo nouem",
    }
    assert (done.without_anchor, done.apart) == (2, 2)
    assert {link.query.anchor for link in done.links} == {""}
    assert {row["anchor"] for row in annotation_rows(store)} == {""}
    told = run("annotate", "export", "--store", str(store.path)).stderr
    assert told == (
        "2 links (2 of them where spans differ, 2 without an anchor); left out: 0 in doubt, 0 "
        "without a span, 2 where no run of words was marked by more than half\n"
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Five instances: agreed, spans that differ, doubt of one, skipped by one, untouched."""
    work = links(tmp_path / "links.jsonl", 5)
    store = Store(tmp_path / "spans.sqlite", create_missing=True)
    store.add([instance_of(link) for link in read_gold(work)])
    said = {
        "anna": [Mark(4, 7), Mark(3, 7), Mark(4, 7), Mark(5, 6, comment="a\tb\nc"), None],
        "berta": [Mark(4, 7), Mark(5, 9), Mark(5, 7, doubt=True), Mark(skipped=True), None],
        "carla": [None, Mark(2, 8), Mark(doubt=True), None, None],
    }
    for name, marks in said.items():
        for number, mark in enumerate(marks):
            if mark:
                store.save(f"b-{number}", name, mark, f"k{number}")
    return store


def texts(store: Store, *annotators: str, doubts: bool = False) -> dict[str, str]:
    done = export_links(store, annotators, doubts=doubts)
    return {link.query.query_id: link.query.text for link in done.links}


def test_export(store: Store) -> None:
    done = export_links(store)
    assert texts(store) == {
        "b-0": "quinque sex septem",
        "b-1": "quattuor quinque sex septem octo",  # of (3, 7), (5, 9), (2, 8)
        "b-3": "sex",
    }
    assert (done.doubted, done.unmarked, done.merged) == (1, 1, 1)
    assert texts(store, "carla") == {"b-1": "tres quattuor quinque sex septem octo"}
    assert texts(store, doubts=True)["b-2"] == "sex septem"
    assert texts(store, "anna", "berta")["b-1"] == "sex septem"
    for link in done.links:
        assert (link.query.anchor, link.relevant) == ("sex", ("Ps.33.9",))
    assert (done.apart, done.without_anchor) == (0, 0)
    with pytest.raises(
        UsageError, match=r"annotator: 'dora' has annotated nothing in .*; there are: anna, berta"
    ):
        export_links(store, ["dora"])


def test_every_annotation_as_a_row(store: Store) -> None:
    rows = annotation_rows(store, ["anna"])
    assert rows[3] == {
        "instance": "b-3",
        "annotator": "anna",
        "start": 5,
        "end": 6,
        "doubt": 0,
        "skipped": 0,
        "type": "allusion",
        "anchor": "sex",
        "text": "sex",
        "comment": "a\tb\nc",
    }
    assert len(annotation_rows(store)) == 8
    in_doubt = [row for row in annotation_rows(store, doubts=True) if row["doubt"]]
    assert [(row["annotator"], row["start"], row["text"]) for row in in_doubt] == [
        ("berta", 5, "sex septem"),
        ("carla", "", ""),
    ]


def test_the_commands(run: Run, store: Store, tmp_path: Path, little_index: str) -> None:
    done = run("annotate", "export", "--store", str(store.path))
    assert done.returncode == 0
    assert done.stderr == (
        "3 links (1 of them where spans differ, 0 without an anchor); left out: 1 in doubt, 1 "
        "without a span, 0 where no run of words was marked by more than half\n"
    )
    exported = tmp_path / "exported.jsonl"
    exported.write_text(done.stdout)
    assert tuple(read_gold(exported)) == export_links(store).links
    assert run("annotate", "export", "--store", str(store.path)).stdout == done.stdout
    measured = run("evaluate", str(exported), "--name", INDEX, "--methods", "none")
    assert measured.returncode == 0, measured.stderr
    table = run("annotate", "export", "--store", str(store.path), "--format", "tsv", "--doubts")
    lines = [line.split("\t") for line in table.stdout.splitlines()]
    assert lines[0][:4] == ["instance", "annotator", "start", "end"]
    assert len(lines) == 11
    assert {len(line) for line in lines} == {10}
    assert lines[9][-1] == "a b c"


def test_the_split_command(run: Run, tmp_path: Path) -> None:
    work, out = links(tmp_path / "links.jsonl", 11), tmp_path / "work"
    usual = [
        "annotate",
        "split",
        str(work),
        "--overlap",
        "3",
        "--out",
        str(out),
        "--format",
        "json",
    ]
    done = run(*usual, "--annotators", "anna, berta")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        {"annotator": name, "links": 7, "shared": 3, "file": str(out / f"{name}.jsonl")}
        for name in ("anna", "berta")
    ]
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    shares = {path.stem: read_gold(path) for path in out.iterdir()}
    assert shares == split(read_gold(work), ["anna", "berta"], 3)
    assert run(*usual, "--annotators", "anna,berta").returncode == 0
    refused = run(*usual, "--annotators", "carla,anna", "--seed", "2")
    assert refused.returncode == 2
    assert "anna.jsonl: there already, with other links" in refused.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    refused = run(*usual, "--annotators", "anna,,berta")
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
