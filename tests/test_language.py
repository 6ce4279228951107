"""Normalising, tokenising and lemmatising Latin."""

import tracemalloc
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import InputError, PluginError
from allusion_es.language.latin.analysis import STOP_WORDS, Analyser
from allusion_es.language.latin.fold import MAX_WORD, fold
from allusion_es.language.latin.lemmatise import Simplemma
from allusion_es.language.latin.spelling import likely_spelling, spellings
from allusion_es.language.latin.tokenise import Tokeniser


@pytest.fixture(scope="module")
def analyser() -> Analyser:
    return Analyser()


@pytest.mark.parametrize(
    ("printed", "folded"),
    [
        ("Deus", "deus"),
        ("VERBVM", "uerbum"),
        ("verbum", "uerbum"),
        ("uerbum", "uerbum"),
        ("Jesus", "iesus"),
        ("ejus", "eius"),
        ("cælum", "caelum"),
        ("cœlum", "coelum"),
        ("ęcclesia", "aecclesia"),
        ("Israël", "israel"),
        (unicodedata.normalize("NFD", "Israël"), "israel"),
        ("ămō", "amo"),
        ("áër", "aer"),
        ("ſcientia", "scientia"),
        ("signi[fi]cat", "significat"),
        ("domi†nus†", "dominus"),
        ("soft\u00adhyphen", "softhyphen"),
        ("Ⅷ", "uiii"),
        ("verbum²", "uerbum"),
        ("12", ""),
        ("", ""),
    ],
)
def test_fold(printed: str, folded: str) -> None:
    assert fold(printed) == folded


@given(st.text())
def test_fold_is_idempotent_and_gives_letters(text: str) -> None:
    once = fold(text)
    assert fold(once) == once
    assert len(once) <= MAX_WORD
    assert not once or once.isalpha()
    assert not set(once) & set("vjVJ")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("dixitque", ["dixit", "que"]),
        ("populusque", ["populus", "que"]),
        ("itaque neque quisque quoque atque denique", None),
        ("namque usque absque utique ubique uterque", None),
        ("sine homine nomine bene siue breue salue", None),
        ("estne", ["est", "ne"]),
        ("putasne", ["putas", "ne"]),
        ("siccine", ["siccine"]),
        ("que ne ue", ["que", "ne", "ue"]),
        ("signi-\nficat", ["significat"]),
        ("signi\u00ad\nficat", ["significat"]),
        ("semi-deus", ["semi", "deus"]),
        ("a & b", ["a", "et", "b"]),
        ("Ps 22,1 (dominus)", ["ps", "dominus"]),
        ("[Benedicam] †crux†", ["benedicam", "crux"]),
        ("bene<di>cam", ["benedicam"]),
        ("", []),
        ("12 , ?!", []),
    ],
)
def test_tokens(analyser: Analyser, text: str, tokens: list[str] | None) -> None:
    assert list(analyser.analyse(text).tokens) == (text.split() if tokens is None else tokens)


@given(st.text(alphabet=st.sampled_from("abquenveAÆ -\n[]<>†&12\u0301\u00ad.,"), max_size=60))
def test_spans_point_at_the_words(text: str) -> None:
    words = list(Tokeniser(lambda form: len(form) % 2 == 0).words(text))
    ends = [0, *(word.end for word in words)]
    for word, before in zip(words, ends, strict=False):
        assert before <= word.start < word.end <= len(text)
        printed = text[word.start : word.end]
        assert fold(printed) == word.form or printed == "&"


def test_a_long_word_is_cut_and_a_huge_text_is_read(analyser: Analyser) -> None:
    assert analyser.analyse("a" * 100_000).tokens == ("a" * MAX_WORD,)
    assert len(analyser.analyse("-\n" * 100_000 + "deus " * 100_000).tokens) == 100_000


@pytest.mark.parametrize(
    ("form", "lemma"),
    [
        ("uiderunt", "uideo"),
        ("uerbi", "uerbum"),
        ("seruos", "seruus"),
        ("dei", "deus"),
        ("eius", "is"),
        ("huius", "hic"),
        ("iesu", "iesus"),
        ("supereminet", "superemineo"),
        ("caritatem", "caritas"),
        ("xyzzy", "xyzzy"),
        ("uita", "uita"),
        ("gustate", "gusto"),
        ("regis", "rex"),
    ],
)
def test_lemmas(form: str, lemma: str) -> None:
    assert Simplemma().lemma(form) == lemma


@pytest.mark.parametrize("pair", ["videte uidete", "Jesu Iesu", "vivus uiuus", "juvat iuuat"])
def test_spelling_makes_no_difference(analyser: Analyser, pair: str) -> None:
    one, other = pair.split()
    for text in (one, one.upper(), other):
        analysis = analyser.analyse(text)
        assert (analysis.tokens, analysis.lemmas) == (
            analyser.analyse(other).tokens,
            analyser.analyse(other).lemmas,
        )


@given(st.text(alphabet="aeiourlnqgt", max_size=12))
def test_spellings_fold_back(form: str) -> None:
    found = spellings(form)
    assert {fold(spelling) for spelling in found} == {form}
    assert fold(likely_spelling(form)) == form
    assert len(set(found)) == len(found) <= 8


def test_words_that_the_user_brings_are_kept(analyser: Analyser) -> None:
    analysis = analyser.adopt(("Uerba", "uitae", "3"), ("verbum", "vita", "III"))
    assert analysis.tokens == ("uerba", "uitae")
    assert analysis.lemmas == ("uerbum", "uita")
    assert analyser.adopt(("videt",), None).lemmas == ("uideo",)
    with pytest.raises(InputError, match="1 lemmas for 2 tokens"):
        analyser.adopt(("a", "b"), ("a",))


def test_long_words_fill_no_memory(analyser: Analyser) -> None:
    texts = ["et " + "m" * 100_000 + chr(ord("a") + number) for number in range(20)]
    analyser.analyse(texts[0])
    tracemalloc.start()
    for text in texts:
        assert analyser.analyse(text).tokens == ("et", "m" * MAX_WORD)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 200_000


def test_stop_words_are_left_out_if_asked() -> None:
    text = "Et in principio erat Verbum"
    assert Analyser(stop_words=True).analyse(text).tokens == ("principio", "uerbum")
    assert {fold(word) for word in STOP_WORDS} == STOP_WORDS


def test_an_unknown_lemmatiser_is_named() -> None:
    with pytest.raises(PluginError, match="no lemmatisers plug-in 'lemlat'; there are: simplemma"):
        Analyser("lemlat")


def test_few_words_of_the_vulgate_change_their_v(vulgate_passages: tuple[object, ...]) -> None:
    """`likely_spelling` gives back what the edition prints for 99.5 of 100 words."""
    from allusion_es.corpora.passage import Passage

    words = wrong = 0
    for passage in vulgate_passages[::20]:
        assert isinstance(passage, Passage)
        for printed in passage.text.lower().split():
            bare = "".join(
                c for c in unicodedata.normalize("NFD", printed.replace("œ", "oe")) if c.isalpha()
            )
            words += 1
            wrong += likely_spelling(fold(bare)) != bare.replace("j", "i")
    assert words > 25_000
    assert wrong / words < 0.005
