"""The citation vectors that come with the program: unchanged, fitting, and worth having."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from allusion_es.language.citations import vectors as citation_vectors
from allusion_es.language.citations.citing_words import citing_words_of
from allusion_es.language.citations.translations import Translations
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.index import LocalIndex
from allusion_es.retrieval.pipeline import QueryOptions, Retriever

PATH = Path(citation_vectors.__file__).parent / "patrologia.citations"
SHA256 = "ab82ce87081f75cf197a8847fd646195a614540d89597f7c3634b61fb6660907"
TRANSLATIONS = PATH.with_suffix(".translations")
TRANSLATIONS_SHA256 = "55e5d587a1954b2c8e9d2e0033be7d33065f9d1ee1e43500c3c411614d8fb218"
WORDS = PATH.with_suffix(".expansion")
WORDS_SHA256 = "e558d377031a1c7aa7be17e65eef7f94e2e48c699a4e0eee73d168e83888b24b"
LARGEST = 24_000_000


def test_the_files_are_those_that_were_made() -> None:
    assert hashlib.sha256(PATH.read_bytes()).hexdigest() == SHA256
    assert hashlib.sha256(TRANSLATIONS.read_bytes()).hexdigest() == TRANSLATIONS_SHA256
    assert hashlib.sha256(WORDS.read_bytes()).hexdigest() == WORDS_SHA256
    assert sum(path.stat().st_size for path in (PATH, TRANSLATIONS, WORDS)) <= LARGEST


def test_citing_words_can_be_read_by_people() -> None:
    words = citing_words_of(CitationVectors(PATH))
    assert words is not None
    assert words.about["links"] == 27_049
    table = words.table()
    assert len(table) > 10_000
    assert table["Matt.13.47"]["sagena"] >= 1


def test_translations_can_be_read_by_people() -> None:
    table = Translations(TRANSLATIONS)
    assert table.about["vectors"] == CitationVectors(PATH).name
    assert Analyser().settings.has_lemmas_of(table.settings)
    found = table.matrix(["rete"], ["rete", "piscator", "panis"])[0]
    assert found[0] > found[2]


def test_it_says_what_it_was_learned_from_and_fits_this_program() -> None:
    vectors = CitationVectors(PATH)
    vectors.check(Analyser().settings)
    assert "Patrologia Latina" in vectors.about["text"]
    assert vectors.about["links"] == 27_049
    assert vectors.about["made_with"].startswith("benchmarks/train_citations.py")
    assert vectors.dimension == 256


def test_the_vulgate_has_its_vectors(vulgate_index: LocalIndex) -> None:
    assert vulgate_index.settings.citations == CitationVectors(PATH).name


@pytest.mark.parametrize(
    ("words", "verse"),
    [
        ("rete plenum piscibus bonis et malis usque ad finem saeculi", "Matt.13.47"),
        ("uirgo concipiet deum nobiscum", "Isa.7.14"),
        ("in Adam omnes peccauimus et mortui sumus", "Rom.5.12"),
    ],
)
def test_it_finds_what_is_alluded_to(vulgate_index: LocalIndex, words: str, verse: str) -> None:
    retriever = Retriever(
        vulgate_index, QueryOptions(generators=["citations"], reranker=None, top=10)
    )
    assert verse in [hit.id for hit in retriever.answer(words).hits]


def test_vectors_of_all_verses_are_finite(vulgate_index: LocalIndex) -> None:
    vectors = vulgate_index.citations
    assert vectors is not None
    words = [(word, word) for word in vulgate_index.words]
    found = vectors.word_vectors(words)
    assert np.isfinite(found).all()
    assert (np.abs(found).max(axis=1) > 0).mean() > 0.99
