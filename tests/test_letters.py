"""Letters outside the alphabet: none is lost, and what they stand for has its place in the text."""

import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.language.latin.analysis import Analyser
from allusion_es.language.latin.fold import fold
from allusion_es.language.latin.tokenise import Tokeniser, printed_words
from allusion_es.retrieval.citation_models import CitationModels

LATIN = [
    chr(code)
    for code in range(0x110000)
    if unicodedata.name(chr(code), "").startswith("LATIN ")
    and unicodedata.category(chr(code)).startswith("L")
]
# As docs/letters.md says of the letters that stay: no Latin text is printed with them.
FOREIGN = frozenset(
    """
    TONE OPEN TURNED REVERSED INVERTED SIDEWAYS SCHWA GAMMA LAMBDA BARRED OI ESH EZH LEZH TWO
    GLOTTAL CLICK YOGH OU BAR ALPHA HENG OMEGA PHI PHARYNGEAL STRETCHED CLOSED DEZH TESH FENG
    PERCUSSIVE UPSILON HALF VOICED AIN RAMS EGYPTOLOGICAL TRESILLO CUATRILLO SALTILLO SINOLOGICAL
    REVERSED-SCHWA VOLAPUK CHI BETA POLISH DOUBLE SCOTS SIGMOID LENIS ENG SCRIPT YAT IOTIFIED
    """.split()  # noqa: SIM905 - a list of single words is not read more easily
)
BY_PLACE = frozenset("ꝗꝖꝯꝮↄↃɔƆȝȜʒƷ")


def test_every_latin_letter_is_written_out_or_stays_whole() -> None:
    kept = set()
    for letter in LATIN:
        folded = fold(letter)
        assert folded, unicodedata.name(letter)
        if not folded.isascii():
            kept.add(letter)
            known = letter in BY_PLACE or FOREIGN & set(unicodedata.name(letter).split())
            assert known, unicodedata.name(letter)
    assert len(LATIN) > 1200
    assert len(kept) < 280
    # All that is printed in texts of any European language is written out.
    european = [letter for letter in LATIN if ord(letter) < 0x180 or 0x1E00 <= ord(letter) < 0x1F00]
    assert not kept & set(european)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_composed_and_decomposed_letters_are_the_same(form: str) -> None:
    for letter in LATIN:
        assert fold(unicodedata.normalize(form, letter + "a")) == fold(letter + "a")  # type: ignore[arg-type]


@pytest.mark.parametrize("ligature", [c for c in LATIN if fold(c) in ("ae", "oe")])
@pytest.mark.parametrize("mark", ["", "\u0301", "\u0304", "\u0306", "\u0308", "\u0323"])
def test_ligatures_with_any_accent(ligature: str, mark: str) -> None:
    assert fold(f"c{ligature}{mark}lum") == f"c{fold(ligature)}lum"


@pytest.mark.parametrize(
    ("printed", "folded"),
    [
        ("s\u01fdculum", "saeculum"),
        ("qu\u01e3", "quae"),
        ("\u0229cclesia", "aecclesia"),
        ("\u1e1dcclesia", "aecclesia"),
        ("\u0119\u0301", "ae"),
        ("e\u1dcecclesia", "aecclesia"),
        ("dēum", "deum"),
        ("dĕus", "deus"),
        ("dėus", "deus"),
        ("f\u01ffdus", "fodus"),
        ("f\u0153\u0301dus", "foedus"),
        ("ſanctiſſimus", "sanctissimus"),
        ("ﬆella", "stella"),
        ("filĳ", "filii"),
        ("filÿ", "fily"),
        ("ꝑ", "per"),
        ("ſꝑ", "sper"),
        ("Ꝓpter", "propter"),
        ("ꝕdico", "praedico"),
        ("ꝙ", "quod"),
        ("atꝗ", "atque"),
        ("neqꝫ", "neque"),
        ("uſqȝ", "usque"),
        ("omnibꝫ", "omnibus"),
        ("ꝫ", "et"),
        ("ꝯtra", "contra"),
        ("Ꝯmunis", "communis"),
        ("deꝯ", "deus"),
        ("man\ua770", "manus"),
        ("eoꝝ", "eorum"),
        ("coꝛ", "cor"),
        ("ꝉ", "uel"),
        ("t\u035bra", "terra"),
        ("a\u0364", "ae"),
        ("q\u0365", "qi"),
        ("dʼeus", "deus"),
    ],
)
def test_what_letters_and_scribes_signs_stand_for(printed: str, folded: str) -> None:
    assert fold(printed) == folded


@pytest.mark.parametrize("printed", ["habꝫ", "ꝗ", "aꝯa", "aꝉ", "əa", "ꞛa"])
def test_a_sign_in_doubt_makes_an_unknown_word(printed: str) -> None:
    assert not fold(printed).isascii()
    (word,) = printed_words(printed)
    assert word == (fold(printed), 0, len(printed))


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ("uirumqꝫ cano", [("uirum", "uirum"), ("que", "qꝫ"), ("cano", "cano")]),
        ("uirumꝗ cano", [("uirumque", "uirumꝗ"), ("cano", "cano")]),
        ("uirumq\u0301ue\u0304.", [("uirum", "uirum"), ("que", "q\u0301ue\u0304")]),
        ("⁊ gus\u200bta\u00adte", [("et", "⁊"), ("gustate", "gus\u200bta\u00adte")]),
        ("e\u1dcea cu\u035b", [("aea", "e\u1dcea"), ("cuer", "cu\u035b")]),
    ],
)
def test_places_of_written_out_letters(printed: str, words: list[tuple[str, str]]) -> None:
    tokeniser = Tokeniser({"uirum", "cano", "gustate"}.__contains__)
    found = tokeniser.words(printed)
    assert [(word.form, printed[word.start : word.end]) for word in found] == words


@given(
    st.text(alphabet=st.sampled_from([*LATIN, *"\u0301\u0328\u0365\u035b-[]\u00ad\u200b &⁊que"]))
)
def test_words_and_their_places_agree(text: str) -> None:
    at = 0
    for word in Tokeniser(lambda form: len(form) % 2 == 0).words(text):
        assert at <= word.start < word.end <= len(text)
        assert word.form
        at = word.end
        if text[word.start : word.end] not in ("&", "⁊"):
            assert fold(text[word.start : word.end]) == word.form


def test_what_comes_with_the_program_fits_an_index_that_is_built_now(tmp_path: Path) -> None:
    vectors = CitationModels(tmp_path).shipped()
    assert vectors is not None
    assert vectors.fits(Analyser().settings)
    assert not vectors.fits(replace(Analyser().settings, stop_words=True))
    assert not vectors.fits(replace(Analyser().settings, version=99))


def test_accents_change_no_word() -> None:
    analyser = Analyser()
    plain = analyser.analyse("manet in sæculum sæculi, munera quæ etiam excæcant")
    printed = analyser.analyse("manet in s\u01fdculum s\u01fdculi, múnera quæ étiam exc\u01fdcant")
    assert plain.tokens == printed.tokens
    assert plain.lemmas == printed.lemmas
