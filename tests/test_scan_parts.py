"""Segments, matches, alignments and features, by hand and against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allusion_es.language.latin.analysis import Analyser, Analysis
from allusion_es.local.index import LocalIndex
from allusion_es.local.memory import index_texts
from allusion_es.rerankers.local_alignment import LocalAlignment
from allusion_es.rerankers.trial import trial
from allusion_es.retrieval.coded_texts import code_texts
from allusion_es.retrieval.types import SearchFilter
from allusion_es.retrieval.weighting import idf
from allusion_es.scanning.alignment import AROUND, PRICE, Aligner, align
from allusion_es.scanning.choosing import kind_of
from allusion_es.scanning.features import NAMES, best_rival, equal_forms, rivalry
from allusion_es.scanning.reading import LEAST, read, windows
from allusion_es.scanning.segments import (
    CandidateTexts,
    Matches,
    Segments,
    Similar,
    find_matches,
    find_segments,
    match_weights,
)

WORDS = ("lux", "nox", "dies", "rex", "ius", "et", "mare", "terra")


@st.composite
def matches(draw: st.DrawFn) -> list[tuple[int, int, float]]:
    """Passage, place and weight, ordered."""
    pairs = draw(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 60)), max_size=40))
    return [(*pair, draw(st.integers(1, 40)) / 4) for pair in sorted(pairs)]


def plain_segments(found: list[tuple[int, int, float]], price: float) -> list[tuple[object, ...]]:
    """`S_k = w_k + max(0, S_(k-1) - price (words between))`, as it is written."""
    runs: list[list[tuple[int, float]]] = []
    before: tuple[int, int] | None = None
    score = 0.0
    for number, (passage, place, weight) in enumerate(found):
        kept = 0.0
        if before is not None and before[0] == passage:
            kept = max(0.0, score - price * (place - before[1] - 1))
        if kept == 0:
            runs.append([])
        score = weight + kept
        runs[-1].append((number, score))
        before = (passage, place)
    result: list[tuple[object, ...]] = []
    for run in runs:
        peak, best = max(run, key=lambda each: (each[1], -each[0]))
        first = run[0][0]
        result.append((found[first][0], found[first][1], found[peak][1], best, first, peak + 1))
    return result


@given(matches(), st.sampled_from([0.25, 1.0, 3.0]))
def test_segments_are_those_of_the_formula(
    found: list[tuple[int, int, float]], price: float
) -> None:
    passages, places, weights = (
        (np.array(column) for column in zip(*found, strict=True))
        if (found)
        else (np.zeros(0, int), np.zeros(0, int), np.zeros(0))
    )
    got = find_segments(passages, places, weights.astype(float), price)
    columns = (got.passages, got.firsts, got.lasts, got.scores, got.begins, got.ends)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert rows == plain_segments(found, price)


@given(matches())
def test_no_stretch_of_a_run_scores_more_than_its_segment(
    found: list[tuple[int, int, float]],
) -> None:
    if not found:
        return
    passages, places, weights = (np.array(column) for column in zip(*found, strict=True))
    got = find_segments(passages, places, weights.astype(float), 1.0)
    bounds = [*got.begins.tolist(), len(found)]
    for number in range(len(got)):
        run = range(bounds[number], bounds[number + 1])
        for first in run:
            for last in range(first, run.stop):
                words = places[last] - places[first] + 1
                score = weights[first : last + 1].sum() - (words - (last + 1 - first))
                assert score <= got.scores[number] + 1e-9


def test_a_segment_by_hand() -> None:
    # 5 - 1 (one word between) + 2 = 6; forty words on, 6 - 40 < 0 begins anew.
    got = find_segments(np.array([7, 7, 7]), np.array([1, 3, 44]), np.array([5.0, 2.0, 3.0]), 1.0)
    assert (got.firsts.tolist(), got.lasts.tolist()) == ([1, 44], [3, 44])
    assert got.scores.tolist() == [6.0, 3.0]
    assert got.take(got.scores > 4).begins.tolist() == [0]


def plain_alignment(gains: list[list[float]], price: float) -> tuple[float, int, int]:
    """Smith and Waterman, cell by cell; a step down both is taken only where it gains most."""
    columns = len(gains[0])
    above = [(0.0, 0)] * (columns + 1)
    best = (0.0, 0, -1)
    for row, gain in enumerate(gains):
        here: list[tuple[float, int]] = []
        for column in range(columns + 1):
            cell = (max(above[column][0] - price, 0.0), above[column][1])
            if column:
                height, begun = above[column - 1]
                step = height + gain[column - 1]
                if step > cell[0]:
                    cell = (step, begun if height > 0 else row)
                left = here[-1][0] - price
                if left > cell[0]:
                    cell = (left, here[-1][1])
            here.append(cell)
        for height, begun in here:
            if height > best[0]:
                best = (height, begun, row)
        above = here
    return best


@given(
    st.integers(1, 6).flatmap(
        lambda width: st.lists(
            st.lists(st.sampled_from([-2, -1, 1, 2, 3, 5]), min_size=width, max_size=width),
            min_size=1, max_size=7,
        )
    ),
    st.sampled_from([0.5, 1.0, 2.0]),
)  # fmt: skip
def test_alignments_are_those_of_smith_and_waterman(gains: list[list[int]], price: float) -> None:
    # Beside another pair, which must change nothing.
    both = np.array([gains, np.full_like(gains, 1)], dtype=np.float32)
    found = align(both, price)
    got = (float(found.scores[0]), int(found.firsts[0]), int(found.lasts[0]))
    want = plain_alignment([[float(value) for value in row] for row in gains], price)
    assert (got[0], got[2]) == (want[0], want[2])
    if want[0] > 0:
        assert got[1] == want[1]


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=40),
    st.lists(st.lists(st.sampled_from(WORDS[2:]), min_size=1, max_size=30), min_size=1, max_size=4),
    st.data(),
)
def test_only_words_between_equal_ones_need_be_aligned(
    words: list[str], passages: list[list[str]], data: st.DataObject
) -> None:
    coded = code_texts(passages)
    idfs = np.linspace(0.3, 3.1, len(coded.words))
    texts = CandidateTexts(tuple(map(str, range(len(passages)))), coded, coded, idfs)
    analysis = Analysis(tuple(words), tuple(words), ((0, 0),) * len(words))
    place = st.integers(0, len(words) - 1)
    pairs = st.tuples(st.integers(0, len(passages) - 1), place, place)
    rows = data.draw(st.lists(pairs.filter(lambda row: row[1] <= row[2]), min_size=1, max_size=5))
    owners, firsts, lasts = (np.array(column) for column in zip(*rows, strict=True))
    aligner = Aligner(analysis, texts)
    stretches = aligner.stretches(
        Segments(owners, firsts, lasts, np.ones(len(rows)), owners, lasts)
    )
    found = aligner.align(stretches)
    for number, (passage, first, last) in enumerate(rows):
        start = max(first - AROUND, 0)
        gains = [
            [
                idfs[coded.words.index(word)] if word == other else -PRICE
                for other in passages[passage]
            ]
            for word in words[start : last + 1 + AROUND]
        ]
        whole = align(np.array([gains], dtype=np.float32), PRICE)
        assert found.scores[number] == whole.scores[0]  # to the last bit
        assert stretches.most[number] >= whole.scores[0] - 1e-5
        if whole.scores[0] > 0:
            assert found.firsts[number] == start + whole.firsts[0]
            assert found.lasts[number] == start + whole.lasts[0]
        else:
            assert found.lasts[number] < found.firsts[number]


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=8),
    st.lists(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(tuple),
        min_size=2, max_size=4, unique=True,
    ),
)  # fmt: skip
def test_scores_are_those_of_the_reranker(query: list[str], texts: list[tuple[str, ...]]) -> None:
    wanted = trial(LocalAlignment(gap=1.0), " ".join(query), [" ".join(text) for text in texts])
    df = {word: sum(word in text for text in texts) for word in WORDS}
    weights = {word: float(idf(np.array([max(n, 1)]), len(texts))[0]) for word, n in df.items()}
    for text, score in zip(texts, wanted, strict=True):
        gains = [[weights[word] if word == other else -1.0 for other in text] for word in query]
        found = align(np.array([gains], dtype=np.float32), 1.0)
        assert float(found.scores[0]) == pytest.approx(score, abs=1e-3)


@given(
    st.lists(st.sampled_from(WORDS), max_size=12),
    st.lists(st.lists(st.sampled_from(WORDS), max_size=6), min_size=1, max_size=4),
    st.lists(
        st.tuples(st.sampled_from(WORDS), st.integers(0, 20), st.sampled_from([0.3, 0.5, 0.6])),
        max_size=4,
    ),
)
def test_matches_are_all_equal_or_alike_words(
    lemmas: list[str], passages: list[list[str]], alike: list[tuple[str, int, float]]
) -> None:
    texts = code_texts(passages)
    alike = [pair for pair in alike if pair[1] < len(texts.words)]
    distinct = [*dict.fromkeys(lemmas)]
    known = [pair for pair in alike if pair[0] in distinct and pair[0] != texts.words[pair[1]]]
    similar = Similar(
        np.array([distinct.index(word) for word, _, _ in known], dtype=np.int64),
        np.array([code for _, code, _ in known], dtype=np.int64),
        np.array([likeness for _, _, likeness in known]),
    )
    found = find_matches(lemmas, texts, similar)
    got = list(zip(found.passages.tolist(), found.places.tolist(), strict=True))
    best: dict[tuple[int, int], float] = {}
    for number, passage in enumerate(passages):
        for place, word in enumerate(lemmas):
            others = {texts.words[code]: 0.0 for _, code, _ in alike}
            for mine, code, likeness in alike:
                if mine == word:
                    others[texts.words[code]] = max(others[texts.words[code]], likeness)
            values = [others.get(other, 0.0) for other in passage] + [float(word in passage)]
            if max(values) > 0:
                best[number, place] = max(values)
    assert got == sorted(best)
    assert found.likeness.tolist() == [best[pair] for pair in got]
    for passage, code in zip(found.passages.tolist(), found.codes.tolist(), strict=True):
        assert texts.words[code] in passages[passage]


def test_a_word_said_again_counts_a_tenth_where_the_passage_has_it_once() -> None:
    lemmas = ["lux", "et", "lux", *["x"] * 30, "lux"]
    coded = code_texts([("lux", "nox"), ("lux", "lux")])
    texts = CandidateTexts(("a", "b"), coded, coded, np.array([2.0, 3.0]))
    found = find_matches(lemmas, coded)
    assert found.places.tolist() == [0, 2, 33, 0, 2, 33]
    assert match_weights(found, texts).tolist() == pytest.approx([2.0, 0.2, 2.0, 2.0, 2.0, 2.0])
    half = Matches(found.passages, found.places, found.codes, found.likeness * 0.5)
    assert match_weights(half, texts).tolist() == pytest.approx([1.0, 0.1, 1.0, 1.0, 1.0, 1.0])


@given(st.integers(0, 200), st.integers(1, 30), st.integers(1, 30))
def test_windows_hold_every_word(words: int, size: int, step: int) -> None:
    found = list(windows(words, size, min(step, size)))
    assert {place for start, end in found for place in range(start, end)} == set(range(words))
    assert all(end - start == min(size, words) for start, end in found)


def segments(*rows: tuple[int, int, float]) -> Segments:
    firsts, lasts, scores = (np.array(column) for column in zip(*rows, strict=True))
    numbers = np.arange(len(rows))
    return Segments(numbers, firsts, lasts, scores.astype(float), numbers, numbers + 1)


def test_rivals_by_hand() -> None:
    some = segments((0, 3, 8.0), (2, 5, 4.0), (9, 9, 1.0))
    # Words 0 to 3 belong to the first, 4 and 5 to the second: (8 + 8 + 4 + 4) / 4.
    assert rivalry(some, 10).tolist() == [8.0, 6.0, 1.0]
    # In the middle of the first (word 1) there is no other; in that of the second (3) there is.
    assert best_rival(some, np.array([0.9, 0.5, 0.3]), 10).tolist() == [0.0, 0.9, 0.0]


@given(
    st.lists(
        st.tuples(st.integers(0, 11), st.integers(0, 11), st.sampled_from([-1, 0, 0.2, 3]))
        .filter(lambda row: row[0] <= row[1]),
        min_size=1, max_size=8,
    )
)  # fmt: skip
def test_rivals_are_those_of_plain_loops(rows: list[tuple[int, int, float]]) -> None:
    values = np.array([value for _, _, value in rows])
    some = segments(*((first, last, abs(value)) for first, last, value in rows))
    best = [max((abs(v) for a, b, v in rows if a <= word <= b), default=0.0) for word in range(12)]
    means = [np.mean(best[first : last + 1]) for first, last, _ in rows]
    assert rivalry(some, 12).tolist() == pytest.approx(means)
    for number, (first, last, _) in enumerate(rows):
        middle = (first + last) // 2
        others = [v for n, (a, b, v) in enumerate(rows) if n != number and a <= middle <= b]
        assert best_rival(some, values, 12)[number] == max([0.0, *others])


@pytest.fixture(scope="module")
def index() -> LocalIndex:
    base = {f"v{n}": f"{WORDS[n % 8]} {WORDS[n % 5]} uerbum{n}" for n in range(60)}
    return index_texts(base | {"w": "lux nox dies", "x": "mare et terra", "y": "rex"})


@settings(max_examples=30)
@given(
    text=st.lists(
        st.sampled_from([*WORDS, "uerbum7", "uerbum8", "uerbum9", "aliud"]), min_size=1, max_size=90
    )
)
@pytest.mark.parametrize("fast", [False, True])
def test_features_are_finite_and_in_range(index: LocalIndex, fast: bool, text: list[str]) -> None:
    analysis = Analyser().analyse(" ".join(text))
    reading = read(index, analysis, SearchFilter(), None, fast=fast)
    found = reading
    assert reading.features.shape == (len(found.segments), len(NAMES))
    assert np.isfinite(reading.features).all()
    assert np.isfinite(reading.weights).all()
    for name in ("passage-share", "text-share", "order-share", "among-rivals"):
        column = reading.features[:, NAMES.index(name)]
        assert ((column >= 0) & (column <= 1)).all()
    assert (found.segments.scores >= LEAST).all()
    assert (found.segments.firsts <= found.segments.lasts).all()
    assert (found.segments.lasts < len(analysis.tokens)).all()
    assert (found.alignments.scores <= reading.weights.sum() + 1e-3).all()


@given(*[st.floats(0, 50, allow_nan=False)] * 4, st.integers(0, 20))
def test_kinds_ascend(
    total: float, in_order: float, same_form: float, shared: float, words: int
) -> None:
    order = ("allusion", "paraphrase", "quotation")
    kind = kind_of(words, total, in_order, same_form, max(shared, same_form))
    better = kind_of(words + 1, total, in_order + 1, same_form + 1, max(shared, same_form) + 1)
    assert order.index(better) >= order.index(kind)
    if words < 3:
        assert kind == "allusion"


@pytest.mark.parametrize(
    ("words", "in_order", "same_form", "shared", "kind"),
    [
        (3, 7.0, 7.0, 7.0, "quotation"),
        (3, 6.9, 7.0, 7.0, "paraphrase"),
        (3, 7.0, 6.9, 7.0, "paraphrase"),
        (3, 0.0, 0.0, 5.0, "paraphrase"),
        (3, 0.0, 0.0, 4.9, "allusion"),
        (2, 10.0, 10.0, 10.0, "allusion"),
    ],
)
def test_the_borders_of_the_kinds(
    words: int, in_order: float, same_form: float, shared: float, kind: str
) -> None:
    assert kind_of(words, 10.0, in_order, same_form, shared) == kind


def test_equal_forms_are_those_whose_form_the_passage_has() -> None:
    analysis = Analyser().analyse("reges regem rex nouum")
    # The lemma of the first three is the same; only the second is so written in the first passage.
    tokens = code_texts([("regem", "dixit"), ("rex",), ("nihil",)])
    lemmas = code_texts([(analysis.lemmas[0], "dico"), (analysis.lemmas[0],), ("nihil",)])
    texts = CandidateTexts(("a", "b", "c"), tokens, lemmas, np.ones(len(lemmas.words)))
    found = find_matches(analysis.lemmas, lemmas)
    same = equal_forms(analysis, texts, found)
    pairs = zip(found.passages.tolist(), found.places.tolist(), same.tolist(), strict=True)
    assert list(pairs) == [
        (0, 0, False), (0, 1, True), (0, 2, False), (1, 0, False), (1, 1, False), (1, 2, True),
    ]  # fmt: skip
    none = code_texts([(), (), ()])
    assert not equal_forms(
        analysis, CandidateTexts(texts.ids, none, lemmas, texts.weights), found
    ).any()
