"""The citation vectors that come with the program: unchanged, fitting, and worth having."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from allusion_es.language.citations import vectors as citation_vectors
from allusion_es.language.citations.citing_texts import citing_texts_of
from allusion_es.language.citations.translations import Translations
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.latin.analysis import Analyser
from allusion_es.local.index import LocalIndex
from allusion_es.retrieval.pipeline import QueryOptions, Retriever

PATH = Path(citation_vectors.__file__).parent / "patristic.citations"
SHA256 = {
    ".citations": "f7f7649d19ea9b308efd873fdb1f51bf96bda3fe60605916c58b25981d703bdc",
    ".translations": "565b8064c8d4f4aa03c56743b1094b7f0c2286fa98924a87f1cc92c63b626af0",
    ".citing": "93c8ce985a5228cbd27957173f9ef8d62ee71b1f51ed19fa93c0a87f90f074b4",
}
LARGEST = 45_000_000
"""Bytes of all files together, so that the package stays small enough to fetch."""


def test_the_files_are_those_that_were_made() -> None:
    for suffix, expected in SHA256.items():
        assert hashlib.sha256(PATH.with_suffix(suffix).read_bytes()).hexdigest() == expected
    assert sum(PATH.with_suffix(suffix).stat().st_size for suffix in SHA256) <= LARGEST


def test_their_rights_are_told_beside_them() -> None:
    told = PATH.with_name("LICENCES.md").read_text()
    for source in CitationVectors(PATH).about["sources"]:
        place, _, commit = source.partition(": ")[0].split(" via ")[-1].partition("@")
        assert place in told
        assert commit in told
    for licence in CitationVectors(PATH).about["licences"]:
        assert licence.split("; ")[0] in told


def test_citing_texts_have_no_order_and_are_of_these_vectors() -> None:
    texts = citing_texts_of(CitationVectors(PATH))
    assert texts is not None
    assert texts.about["links"] == CitationVectors(PATH).about["links"]
    words = texts.words_by_passage()
    assert len(words.ids) > 15_000
    verse = words.places["Matt.13.47"]
    row = slice(words.offsets[verse], words.offsets[verse + 1])
    assert "sagena" in {words.words[lemma] for lemma in words.lemmas[row]}
    for text in texts.texts()[:1000]:
        assert list(text.own) == sorted(text.own)
        assert list(text.around) == sorted(text.around)


def test_translations_can_be_read_by_people() -> None:
    table = Translations(PATH.with_suffix(".translations"))
    assert table.about["vectors"] == CitationVectors(PATH).name
    assert Analyser().settings.has_lemmas_of(table.settings)
    found = table.matrix(["rete"], ["rete", "piscator", "panis"])[0]
    assert found[0] > found[2]


def test_it_says_what_it_was_learned_from_and_fits_this_program() -> None:
    vectors = CitationVectors(PATH)
    vectors.check(Analyser().settings)
    assert "Patrologia Latina" in vectors.about["text"]
    assert vectors.about["licence"].startswith("CC BY-SA 4.0")
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
