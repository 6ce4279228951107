"""Evidence for segments: what windows propose, citing texts, words compared; by loops."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_citing_texts import TEXTS, WORDS, saved

from allusion_es.language.citations.citing_texts import CitingText, CitingTexts
from allusion_es.language.citations.vectors import CitationVectors, unit
from allusion_es.language.latin.analysis import Analysis
from allusion_es.local.index import LocalIndex
from allusion_es.retrieval.coded_texts import code_texts
from allusion_es.retrieval.types import FIELDS, SearchFilter
from allusion_es.scanning.evidence import (
    CITED_SHARE,
    cited_matches,
    citing_features,
    compared_features,
    joined_matches,
)
from allusion_es.scanning.features import NAMES, RANKS, PassageVectors
from allusion_es.scanning.model import calibration
from allusion_es.scanning.reading import Proposals, Reading, read
from allusion_es.scanning.segments import (
    CandidateTexts,
    Matches,
    Segments,
    compare_lemmas,
    find_matches,
)

PASSAGES = {"p.0": "lux nox", "p.1": "mare rete", "p.2": "sagena", "p.3": "lux"}


@pytest.fixture(scope="module")
def citing(tmp_path_factory: pytest.TempPathFactory) -> CitingTexts:
    return saved(tmp_path_factory.mktemp("citing") / "some.citing")


def analysed(words: list[str]) -> Analysis:
    return Analysis(tuple(words), tuple(words), ((0, 0),) * len(words))


def candidate_texts() -> CandidateTexts:
    coded = code_texts([tuple(text.split()) for text in PASSAGES.values()])
    return CandidateTexts(tuple(PASSAGES), coded, coded, np.arange(1.0, len(coded.words) + 1))


def segments(*rows: tuple[int, int, int]) -> Segments:
    """Passage, first and last word of each."""
    passages, firsts, lasts = (np.array(column) for column in zip(*rows, strict=True))
    none = np.zeros(len(rows), dtype=np.int64)
    return Segments(passages, firsts, lasts, np.ones(len(rows)), none, none)


@st.composite
def texts_and_segments(draw: st.DrawFn) -> tuple[list[str], list[tuple[int, int, int]]]:
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=30))
    places = st.integers(0, len(words) - 1)
    pairs = st.tuples(st.integers(0, 3), places, places).filter(lambda row: row[1] <= row[2])
    return words, draw(st.lists(pairs, min_size=1, max_size=6))


@settings(max_examples=40)
@given(texts_and_segments())
def test_evidence_for_segments_is_that_for_queries(
    citing: CitingTexts, made: tuple[list[str], list[tuple[int, int, int]]]
) -> None:
    words, rows = made
    found = citing_features(segments(*rows), analysed(words), candidate_texts(), citing)
    for (passage, first, last), row in zip(rows, found, strict=True):
        own = dict.fromkeys(words[first : last + 1], 1.0)
        near = dict.fromkeys(words[max(first - 10, 0) : last + 11], 0.2) | own
        place = citing.places([f"p.{passage}"])
        expected = []
        for weights, around in ((own, False), (near, True)):
            evidence = citing.evidence(weights, around=around).take(place)
            expected += [evidence.best[0], evidence.best_three[0]]
        count = sum(f"p.{passage}" in text.passages for text in TEXTS)
        assert row.tolist() == pytest.approx(np.log1p([*expected, count]).tolist(), abs=1e-5)


def test_without_citing_texts_or_vectors_there_is_no_evidence() -> None:
    some = segments((1, 0, 1))
    assert not citing_features(some, analysed(["mare", "rete"]), candidate_texts(), None).any()
    weights = np.ones(2)
    assert not compared_features(some, candidate_texts(), weights, None).any()


def test_words_of_citing_texts_are_matches_where_the_passage_lacks_them(tmp_path: Path) -> None:
    cited = [
        *[CitingText(("p.1",), ("mare", "piscator"), ())] * 4,
        *[CitingText(("p.2",), ("nauis", f"uerbum{n}"), ()) for n in range(6)],
    ]
    known = saved(tmp_path / "some.citing", cited)
    texts, words = candidate_texts(), ["piscator", "mare", "nauis", "piscator", "uerbum1"]
    matches = find_matches(words, texts.lemmas)
    near = np.ones((5, 4), dtype=bool)
    near[3] = False
    weights = np.full(5, 3.0)
    found, worth = cited_matches(analysed(words), texts, weights, known, matches, near)
    # `mare` is in p.1 itself; `uerbum1` is in one text of six, which is too little.
    assert list(zip(found.passages.tolist(), found.places.tolist(), strict=True)) == [
        (1, 0),
        (2, 2),
    ]
    assert worth.tolist() == pytest.approx([CITED_SHARE * 3 * 4 / 6, CITED_SHARE * 3 * 6 / 8])
    assert found.codes.tolist() == [-1, -1]
    # Common words are left out, however many texts have them.
    none, _ = cited_matches(analysed(words), texts, np.ones(5), known, matches, near)
    assert not len(none.places)
    both, order = joined_matches(matches, found)
    assert list(zip(both.passages.tolist(), both.places.tolist(), strict=True)) == [
        (1, 0),
        (1, 1),
        (2, 2),
    ]
    assert order.tolist() == [1, 0, 2]


def test_words_are_compared_as_by_loops(vulgate_index: LocalIndex) -> None:
    vectors = vulgate_index.citations
    assert vectors is not None
    passages = [("sequor", "rete", "relinquo"), ("piscator", "mare")]
    coded = code_texts(passages)
    idfs = np.arange(1.0, 6.0)
    texts = CandidateTexts(("a", "b"), coded, coded, idfs)
    words = ["piscator", "rete", "sequor", "amo"]
    weights = np.array([3.0, 4.0, 2.0, 1.5])
    rows = [(0, 0, 2), (1, 0, 3), (0, 3, 3)]
    compared = compare_lemmas(analysed(words), texts, vectors)
    found = compared_features(segments(*rows), texts, weights, compared)
    for (passage, first, last), row in zip(rows, found, strict=True):
        asked, theirs = words[first : last + 1], passages[passage]
        mine = weights[first : last + 1]
        others = np.array([idfs[coded.words.index(word)] for word in theirs])
        cosines = np.array([[cosine(a, b, vectors) for b in theirs] for a in asked])
        best, back = cosines.max(axis=1), cosines.max(axis=0)
        alike = mine * (best >= 0.5)
        assert row.tolist() == pytest.approx(
            [
                (mine * best).sum() / mine.sum(),
                (mine * best**3).sum() / mine.sum(),
                (others * back**3).sum() / others.sum(),
                alike.sum() / mine.sum(),
                np.log1p(alike.max()),
            ],
            abs=1e-5,
        )


def cosine(one: str, other: str, vectors: CitationVectors) -> float:
    if one == other:
        return 1.0
    a, b = unit(vectors.known_word_vectors([(one, one), (other, other)]))
    return max(0.0, float(a @ b))


def test_ranks_are_those_of_windows_with_a_word_of_the_segment() -> None:
    ranks = np.zeros((len(RANKS), 3, 2), dtype=np.float32)
    ranks[0, 0, 0], ranks[0, 2, 0], ranks[1, 1, 1] = 0.9, 0.5, 0.7
    proposals = Proposals(("a", "b"), ((0, 20), (10, 30), (20, 40)), ranks)
    some = segments((0, 0, 5), (0, 12, 25), (0, 30, 35), (1, 5, 9), (1, 5, 10), (1, 30, 39))
    found = proposals.ranks_at(some)
    assert found[:, 0].tolist() == pytest.approx([0.9, 0.9, 0.5, 0, 0, 0])
    assert found[:, 1].tolist() == pytest.approx([0, 0, 0, 0, 0.7, 0])
    near = proposals.near(40)
    assert near[:, 0].all()
    assert np.flatnonzero(near[:, 1]).tolist() == [*range(40)]
    alone = Proposals(("a",), ((0, 20), (10, 30), (25, 45)), ranks[:, ::-1, :1] * 0 + 0)
    assert not alone.near(45).any()


def test_a_passage_matches_only_near_the_windows_that_propose_it(
    vulgate_index: LocalIndex,
) -> None:
    """`gustate` at the other end of a text has nothing to do with the verse."""
    from allusion_es.retrieval.pipeline import index_analyser

    filler = "rusticus agrum colit et nihil de imbre timet " * 12
    text = f"gustate et videte quoniam suavis est dominus {filler} quoniam suavis"
    analysis = index_analyser(vulgate_index).analyse(text)
    reading = read(vulgate_index, analysis, SearchFilter(), vulgate_index.citations)
    ids = reading.texts.ids
    found = [number for number, p in enumerate(reading.segments.passages) if ids[p] == "Ps.33.9"]
    assert reading.segments.lasts[found].min() <= 6
    ranks = reading.features[:, [NAMES.index(name) for name in RANKS]]
    assert (ranks.max(axis=1) > 0).all()
    assert isinstance(reading.matches, Matches)


def test_what_is_not_promising_is_left_out_and_nothing_else(vulgate_index: LocalIndex) -> None:
    """The same segments with the same features, of those that may be likely enough."""
    from allusion_es.retrieval.pipeline import index_analyser

    text = (
        "rusticus agrum colit gustate et videte quoniam suavis est dominus fratres carissimi qui "
        "in principio erat apud deum et verbum caro factum est habitavit in nobis pauperes enim "
        "spiritu beati quia regnum caelorum ipsorum est sicut piscatores relictis retibus"
    )
    analysis = index_analyser(vulgate_index).analyse(text)
    for fast, name in ((False, "default"), (True, "fast")):
        citations = None if fast else vulgate_index.citations
        model = calibration(name)
        whole = read(vulgate_index, analysis, SearchFilter(), citations, fast=fast)
        odds = model.log_odds(whole.features)
        for least in (0.02, 0.3):
            some = read(
                vulgate_index,
                analysis,
                SearchFilter(),
                citations,
                fast=fast,
                promising=partial(model.promising, least=least),
            )
            kept = rows_of(some)
            wanted = {
                row: known
                for (row, known), value in zip(rows_of(whole).items(), odds, strict=True)
                if value >= np.log(least / (1 - least))
            }
            assert wanted.items() <= kept.items() <= rows_of(whole).items()
            assert len(wanted) > 0
            assert len(kept) < len(odds)


def rows_of(reading: Reading) -> dict[tuple[int, int, int], tuple[float, ...]]:
    found = reading.segments
    places = zip(found.passages.tolist(), found.firsts.tolist(), found.lasts.tolist(), strict=True)
    return dict(zip(places, map(tuple, reading.features.tolist()), strict=True))


def test_vectors_of_passages_are_those_of_their_texts(vulgate_index: LocalIndex) -> None:
    vectors = vulgate_index.citations
    assert vectors is not None
    ids = ("Ps.33.9", "John.1.1", "Gen.1.1", "Matt.4.19")
    tokens, lemmas = (vulgate_index.texts(field, ids) for field in FIELDS)
    texts = CandidateTexts(ids, tokens, lemmas, np.ones(len(lemmas.words)))
    words = [list(zip(tokens.text(n), lemmas.text(n), strict=True)) for n in (1, 3)]
    known = PassageVectors(vectors)
    known.of(texts, np.array([0, 3]))
    found = known.of(texts, np.array([1, 3]))
    assert np.abs(found - vectors.text_vectors(words)).max() < 1e-6
