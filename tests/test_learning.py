"""Training: its gradient, its steps, what it may not see, and that it can be repeated."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_fixtures import APART, NAMES, code_links, collection, link, words

from allusion_es.core.errors import InputError, UsageError
from allusion_es.core.progress import silent
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.citations.vectors import save_citation_vectors as save
from allusion_es.language.citations.word_parts import WordParts, gram_keys, lemma_key, token_key
from allusion_es.language.latin.analysis import Analyser
from allusion_es.learning.links import check_enough, known_links
from allusion_es.learning.optimisation import Adam, Batch, Parameters, gradient
from allusion_es.learning.sampling import hard_negatives
from allusion_es.learning.train import CitationTraining, train
from allusion_es.learning.validation import without_leaks
from allusion_es.learning.word_matrices import (
    Lemmas,
    WordNumbering,
    count_matrix,
    lemma_idf,
    part_matrix,
    root_matrix,
)
from allusion_es.retrieval.types import Query

SMALL = CitationTraining(dimension=16, batch=32, epochs=3)


def _parameters(rng: np.random.Generator) -> tuple[Parameters, list[Any]]:
    """Four words of two lemmas each, in double precision so that differences are exact."""
    from scipy.sparse import csr_array

    parts = csr_array(rng.random((6, 9)) * (rng.random((6, 9)) < 0.6))
    made = Parameters(
        rng.normal(size=(9, 4)),  # type: ignore[arg-type]
        rng.normal(size=3) * 0.1,  # type: ignore[arg-type]
        np.array([1.0, 2.0, 0.5]),
        parts,
        np.array([0, 1, 2, 0, 1, 2]),
    )
    texts = [csr_array(rng.random((size, 6)) + 0.1) for size in (3, 5)]
    return made, texts


def test_the_gradient_is_what_differences_say() -> None:
    rng = np.random.default_rng(3)
    parameters, (queries, passages) = _parameters(rng)
    ignored = np.zeros((3, 5), dtype=np.bool_)
    ignored[0, 3] = True
    batch = Batch(queries, passages, np.array([0, 4, 2]), ignored, rng.normal(size=5))  # type: ignore[arg-type]
    found = gradient(batch, parameters, 0.5)
    for values, rows, changes in (
        (parameters.table, found.rows, found.of_rows),
        (parameters.biases, found.lemmas, found.of_biases),
    ):
        expected = np.zeros_like(values)
        for place in np.ndindex(values.shape):
            before = values[place]
            values[place] = before + 1e-6
            more = gradient(batch, parameters, 0.5).loss
            values[place] = before - 1e-6
            less = gradient(batch, parameters, 0.5).loss
            values[place] = before
            expected[place] = (more - less) / 2e-6
        given_ = np.zeros_like(values)
        given_[rows] = changes
        np.testing.assert_allclose(given_, expected, atol=1e-6)


def test_a_batch_of_one_pair_and_one_other_by_hand() -> None:
    from scipy.sparse import csr_array

    eye = csr_array(np.eye(2, dtype=np.float32))
    parameters = Parameters(
        np.eye(2, dtype=np.float32),
        np.zeros(2, dtype=np.float32),
        np.ones(2, dtype=np.float32),
        eye,
        np.array([0, 1]),
    )
    none = np.zeros((1, 2), dtype=np.bool_)
    batch = Batch(eye[[0]], eye, np.array([0]), none, np.zeros(2, dtype=np.float32))
    # Cosines 1 and 0, temperature 1: -ln(e / (e + 1)).
    assert gradient(batch, parameters, 1.0).loss == pytest.approx(np.log1p(np.exp(-1)), rel=1e-6)
    none[0, 1] = True
    assert gradient(batch, parameters, 1.0).loss == pytest.approx(0, abs=1e-6)


def test_adam_moves_touched_rows_as_the_paper_says() -> None:
    rows = np.ones((3, 1), dtype=np.float32)
    adam = Adam(rows)
    mean = square = 0.0
    expected = 1.0
    for number, slope in enumerate((0.5, -0.2, 0.3), start=1):
        adam.step(np.array([1]), np.array([[slope]], dtype=np.float32), rate=0.1, number=number)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        bias = (1 - 0.9**number, 1 - 0.999**number)
        expected -= 0.1 * (mean / bias[0]) / (np.sqrt(square / bias[1]) + 1e-8)
    assert rows[:, 0].tolist() == pytest.approx([1.0, expected, 1.0], rel=1e-5)


def test_idf_and_roots_by_hand() -> None:
    numbers = WordNumbering()
    codes = [numbers.encode(words(text)) for text in ("rex rex rex rex mare", "rex", "nox")]
    lemmas = Lemmas.of(numbers.words)
    roots = root_matrix(codes, len(numbers))
    assert roots.toarray().tolist() == [[2, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert count_matrix(codes, 3).toarray()[0].tolist() == [4, 1, 0]
    expected = np.log([4 / 3, 4 / 2, 4 / 2])
    np.testing.assert_allclose(lemma_idf(roots, lemmas), expected, rtol=1e-6)


def test_a_word_is_the_weighted_sum_of_its_parts() -> None:
    keys = np.array(sorted([token_key("rex"), lemma_key("rex")]), dtype=np.int64)
    matrix = part_matrix([("rex", "rex"), ("regem", "rex")], keys).toarray()
    at_token = keys.tolist().index(token_key("rex"))
    assert matrix[0, at_token] == pytest.approx(0.8)
    assert matrix[0, 1 - at_token] == matrix[1, 1 - at_token] == 1.0
    assert matrix[1, at_token] == 0.0
    grams = WordParts([("rex", "x")], np.array(sorted(gram_keys("rex")), dtype=np.int64))
    np.testing.assert_allclose(grams.weights, 0.6 / np.sqrt(6), rtol=1e-6)


def test_negatives_share_words_but_are_not_cited_or_near() -> None:
    texts = ["rex nox", "mare", "dies", "terra", "rex", "rex rex", "lux", "uinum", "mons", "panis"]
    numbers = WordNumbering()
    # Common words say nothing: with ten passages, only a word of one passage is rare.
    passages = [numbers.encode(words(text)) for text in texts * 5]
    query = numbers.encode(words("nox rex"))
    found = hard_negatives([query], [(0,)], passages, Lemmas.of(numbers.words), 20)[0]
    kept = set(found[found >= 0].tolist())
    assert kept == set()
    sparse = [numbers.encode(words(f"w{number}")) for number in range(60)]
    sparse[10] = sparse[40] = sparse[42] = numbers.encode(words("rex"))
    found = hard_negatives([query], [(40,)], sparse, Lemmas.of(numbers.words), 5)[0]
    assert found.tolist() == [10, -1, -1, -1, -1]


def test_leaks_by_title_and_by_wording() -> None:
    verses = collection(["in principio creauit deus caelum et terram", "lux"])
    held = [link("a b c d e f g", 0, title="De Ciuitate Dei, lib. 2")]
    kept = [
        link("alia uerba", 1, title="Confessiones"),
        link("x in principio creauit deus caelum et", 0, title="Sermo"),
    ]
    leaked = [
        link("alia", 1, title="de civitate dei lib 2"),
        link("z", 1, before="x b c d e f g", title="Sermo"),
    ]
    quoting = [*held, link("in principio creauit deus caelum et terram", 0, title="Alius")]
    assert without_leaks([*kept, *leaked], quoting, verses) == kept


@given(st.lists(st.tuples(st.text("ab ", max_size=12), st.sampled_from("XYZ")), max_size=6))
def test_nothing_of_what_is_held_out_is_left(texts: list[tuple[str, str]]) -> None:
    links = [link(text, 0, title=title) for text, title in texts if text.strip()]
    held, verses = links[: len(links) // 2], collection(["c"])
    for one in without_leaks(links, held, verses, run=2):
        assert all(one.link.title != other.link.title for other in held)
        runs = {one.words[n : n + 2] for n in range(len(one.words) - 1)}
        for other in held:
            assert not runs & {other.words[n : n + 2] for n in range(len(other.words) - 1)}


def test_the_same_seed_gives_the_same_bytes_also_if_interrupted(tmp_path: Path) -> None:
    links, verses = code_links(120), collection()

    class Enough(Exception):
        pass

    def interrupted(items: Iterable[Any], description: str, total: int | None = None) -> Any:  # noqa: ANN401
        for number, item in enumerate(items):
            if number == 12:
                raise Enough
            yield item

    whole = train(links, verses, None, SMALL)
    kept = tmp_path / "kept.arrays"
    with pytest.raises(Enough):
        train(links, verses, None, SMALL, checkpoint=kept, progress=interrupted)
    assert kept.exists()
    resumed = train(links, verses, None, SMALL, checkpoint=kept)
    assert not kept.exists()
    settings = Analyser().settings
    for number, table in enumerate((whole, resumed, train(links, verses, None, SMALL))):
        save(tmp_path / str(number), table, settings, {"links": 120})
    assert len({(tmp_path / str(number)).read_bytes() for number in range(3)}) == 1
    other = train(links, verses, None, CitationTraining(dimension=16, batch=32, epochs=3, seed=2))
    assert not np.array_equal(other.rows, whole.rows)


def test_a_checkpoint_of_another_training_is_not_used(tmp_path: Path) -> None:
    kept = tmp_path / "kept.arrays"
    kept.write_bytes(b"not arrays")
    links, verses = code_links(40), collection()
    table = train(links, verses, None, SMALL, checkpoint=kept)
    assert np.array_equal(table.rows, train(links, verses, None, SMALL).rows)


def test_it_learns_what_no_shared_word_tells(tmp_path: Path) -> None:
    verses = collection()
    table = train(
        code_links(300), verses, None, CitationTraining(dimension=32, batch=64), progress=silent
    )
    save(tmp_path / "model", table, Analyser().settings, {})
    model = CitationVectors(tmp_path / "model")
    found = model.text_vectors(verses.texts)
    hits = 0
    for place, name in enumerate(NAMES):
        query = model.query_vector(words(f"secretum{name} alius"))
        # Passages near the cited one are not held against it, so that one of them may win.
        hits += int(np.argmax(found @ query)) // APART == place
    assert hits >= 9


def test_links_are_read_once_each_and_unknown_ids_are_told() -> None:
    verses = collection(["rex regum est", "mare magnum est"])
    gold = [
        GoldLink(Query("Rex regum!", "1"), ("p.0",)),
        GoldLink(Query("rex regum", "2"), ("p.0",)),
        GoldLink(Query("mare", "3", before="est"), ("p.1", "q.9")),
        GoldLink(Query("mare", "4"), ("q.9",)),
        GoldLink(Query("1234", "5"), ("p.0",)),
    ]
    found, missing = known_links(gold, verses, Analyser())
    assert [known.link.query.query_id for known in found] == ["1", "3"]
    assert missing == ["q.9"]
    assert found[1].own_words == (("mare", "mare"),)
    assert found[1].places == (1,)
    with pytest.raises(InputError, match=r"2 different links are too few.*q\.9.*200 or more"):
        check_enough(found, missing, "vulgate")


def test_other_languages_are_refused() -> None:
    gold = [GoldLink(Query("the king of kings and lord", "1"), ("p.0",))]
    with pytest.raises(InputError, match="only 0% of the links' words"):
        known_links(gold, collection(["rex regum"]), Analyser())


def test_numbers_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^epochs: must be from 1"):
        CitationTraining(epochs=0)


def test_going_on_keeps_what_was_learned_and_adds_to_it() -> None:
    links, verses = code_links(120), collection()
    first = train(links, verses, None, SMALL)
    other = [link(f"nouum{name} uerbum", APART * n) for n, name in enumerate(NAMES)] * 4
    more = train(other, verses, None, SMALL, start=first)
    assert set(first.keys.tolist()) <= set(more.keys.tolist())
    assert set(first.lemma_keys.tolist()) <= set(more.lemma_keys.tolist())
    assert len(more.keys) > len(first.keys)
    same = more.rows[np.searchsorted(more.keys, first.keys)]
    assert 0 < np.abs(same - first.rows).max() < 0.5
    with pytest.raises(UsageError, match="vectors of 16 numbers cannot be gone on from with 32"):
        train(other, verses, None, CitationTraining(dimension=32), start=first)
