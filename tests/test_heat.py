"""Heat: what each word adds to a score, and how that is shaded."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from allusion_es.cli.heat import legend, shaded, shortened
from allusion_es.language.latin.analysis import Analysis
from allusion_es.local.index import LocalIndex
from allusion_es.reports.heat import HeatedWord, heat_of, level, shades
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import Contribution

WORDS = st.sampled_from(["deus", "dico", "uideo", "bonus", "lux"])
VALUES = st.floats(-10, 10, allow_subnormal=False)
PAPER = "sed dilectio illa supereminet omni scientiae"


def spaced(words: list[str]) -> Analysis:
    """The analysis of words with a blank between them, each its own lemma."""
    starts = [sum(len(word) + 1 for word in words[:place]) for place in range(len(words))]
    spans = [(start, start + len(word)) for start, word in zip(starts, words, strict=True)]
    return Analysis(tuple(words), tuple(words), tuple(spans))


@given(st.lists(VALUES, min_size=1))
def test_shades_follow_contributions(values: list[float]) -> None:
    found = shades(values)
    assert all(0 <= shade <= 1 for shade in found)
    if any(values):
        assert max(found) == 1 or max(values) == 0
    for (one, dark), (other, darker) in pairwise(sorted(zip(values, found, strict=True))):
        if one < other:
            assert dark <= darker
            assert level(dark) <= level(darker)


@given(
    st.lists(WORDS, min_size=1),
    st.lists(WORDS, min_size=1),
    st.dictionaries(st.tuples(WORDS, WORDS), VALUES),
)
def test_words_sum_to_the_pairs(
    query: list[str], passage: list[str], parts: dict[tuple[str, str], float]
) -> None:
    pairs = [Contribution(*words, value) for words, value in parts.items()]
    heat = heat_of(pairs, spaced(query), spaced(passage), ["lemma"])
    for words, text, side in ((heat.query, query, 0), (heat.passage, passage, 1)):
        joined = " ".join(text)
        per_word = {joined[word.start : word.end]: word.contribution for word in words}
        expected = [value for key, value in parts.items() if key[side] in text]
        assert sum(per_word.values()) == pytest.approx(sum(expected), abs=1e-9)
        in_pairs = [word for word in text if word in {key[side] for key in parts}]
        assert [joined[word.start : word.end] for word in words] == in_pairs
    assert {pair.query_word for pair in heat.apart} & set(query) == set()
    assert len(heat.pairs) + len(heat.apart) == len(parts)
    few = heat.strongest(2)
    assert few.pairs == heat.pairs[:2]
    assert few.others + len(few.pairs) == len(heat.pairs)
    told = sum(pair.contribution for pair in (*few.pairs, *few.apart)) + few.others_sum
    assert told == pytest.approx(sum(parts.values()), abs=1e-9)


def test_a_token_and_its_lemma_count_once_where_they_are_the_same() -> None:
    analysis = Analysis(("deus", "dixit"), ("deus", "dico"), ((0, 4), (5, 10)))
    parts = [("deus", 4.0), ("dico", 2.0), ("dixit", 1.0)]
    pairs = [Contribution(word, word, value) for word, value in parts]
    heat = heat_of(pairs, analysis, analysis, ["token", "lemma"])
    assert [word.contribution for word in heat.query] == [4.0, 3.0]
    assert [word.shade for word in heat.passage] == [1.0, 0.75]


def test_what_is_no_word_of_the_text_stands_apart() -> None:
    analysis = spaced(["deus"])
    pairs = [Contribution("‹distance 1›", "‹distance 2›", 2.0), Contribution("deus", "deus", 1.0)]
    heat = heat_of(pairs, analysis, analysis, ["lemma"])
    assert [pair.query_word for pair in heat.apart] == ["‹distance 1›"]
    assert [(word.contribution, word.shade) for word in heat.query] == [(1.0, 1.0)]
    assert heat_of(None, analysis, analysis, ["lemma"]).query == ()


@pytest.mark.parametrize("reranker", ["soft-cosine", "wmd", "tesserae", "fuse", None])
def test_the_heat_of_real_hits_sums_to_their_scores(
    vulgate_index: LocalIndex, reranker: str | None
) -> None:
    # The first stage `fused` does not say what its words add; BM25 does.
    options = QueryOptions(("bm25",), reranker=reranker, candidates=500, explain=True, top=20)
    retriever = Retriever(vulgate_index, options)
    answer = retriever.answer(PAPER)
    checked = 0
    for hit in answer.hits:
        if hit.contributions is None:
            continue
        analysis = retriever.analyser.analyse(hit.text)
        heat = heat_of(hit.contributions, answer.query.analysis, analysis, retriever.compared)
        apart = sum(pair.contribution for pair in heat.apart)
        assert all(pair.query_word.startswith("‹") for pair in heat.apart)
        for words, text in ((heat.query, PAPER), (heat.passage, hit.text)):
            # Each word of the text counts once, however often it occurs.
            fold = {word.start: place for place, word in enumerate(words)}
            forms = analysis if text == hit.text else answer.query.analysis
            once = {
                lemma: words[fold[span[0]]].contribution
                for lemma, span in zip(forms.lemmas, forms.spans, strict=True)
                if span[0] in fold
            }
            assert sum(once.values()) + apart == pytest.approx(hit.score, rel=1e-5, abs=1e-6)
            checked += 1
    assert checked


WORDS_OF_THREE = [
    HeatedWord(0, 4, 1.0, 1.0),
    HeatedWord(5, 10, 0.4, 0.4),
    HeatedWord(11, 13, 0.2, 0.2),
    HeatedWord(14, 17, 0.01, 0.01),
]


def test_the_terminal_shades_with_and_without_colour() -> None:
    text = shaded("Deus dixit ad eos.", WORDS_OF_THREE)
    assert text.plain == "Deus³ dixit² ad¹ eos."
    colour = Console(force_terminal=True, color_system="truecolor", no_color=False)
    with colour.capture() as captured:
        colour.print(text)
    grounds = [part.split("m")[0] for part in captured.get().split("\x1b[")[1:] if "48;2" in part]
    # Blue that gets darker: the sum of red, green and blue falls.
    light = [sum(map(int, ground.split("48;2;")[1].split(";")[:3])) for ground in grounds]
    assert light == sorted(light)
    assert len(light) == 3
    plain = Console(force_terminal=True, color_system="truecolor", no_color=True)
    with plain.capture() as captured:
        plain.print(text)
        plain.print(legend())
    assert "48;" not in captured.get()
    assert "³" in captured.get()


# A terminal is sent no control characters.
TEXTS = st.characters(exclude_categories=["Cc", "Cs"])


@given(st.text(TEXTS, max_size=40), st.integers(0, 300), st.text(TEXTS, max_size=300))
def test_a_shortened_text_keeps_its_shaded_words(before: str, filling: int, after: str) -> None:
    text = f"{before} {filling * 'et '}Deus {after}"
    start = len(text) - len(after) - 5
    found = shortened(text, [HeatedWord(start, start + 4, 1.0, 1.0)]).plain
    assert "Deus³" in found
    assert len(found) <= 4 * 60 + 10
    if len(text) <= 120:
        assert found == f"{text[: start + 4]}³{text[start + 4 :]}"
