"""floret's hashed rows, against MurmurHash3's own digest and by hand."""

import struct
from pathlib import Path

import mmh3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from allusion_es.core.errors import InputError
from allusion_es.corpora.packages import FLORET
from allusion_es.language.vectors.tables import Floret

SEED = 2166136261


def save(path: Path, table: NDArray[np.float32]) -> Floret:
    np.save(path, table)
    return Floret(path, "little")


def digest_rows(padded: str, rows: int) -> list[int]:
    """The rows of one n-gram, from the 128-bit digest as bytes."""
    return [
        h % rows for h in struct.unpack_from("<2I", mmh3.hash_bytes(padded, SEED, x64arch=True))
    ]


def grams(padded: str) -> list[str]:
    sizes = range(2, 7)
    return [padded] + [padded[i : i + n] for n in sizes for i in range(len(padded) - n + 1)]


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> tuple[Floret, NDArray[np.float32]]:
    table = np.random.default_rng(3).normal(size=(97, 4)).astype(np.float32)
    return save(tmp_path_factory.mktemp("floret") / "little.npy", table), table


def test_the_digest_is_the_published_one() -> None:
    """MurmurHash3 x64 128 of no bytes and seed 0 is 0; the halves are little-endian."""
    assert mmh3.hash_bytes("", 0, x64arch=True) == bytes(16)
    low, high = mmh3.hash64("<deus>", SEED, signed=False)
    assert mmh3.hash_bytes("<deus>", SEED, x64arch=True) == struct.pack("<2Q", low, high)


def test_one_letter_by_hand(tmp_path: Path) -> None:
    """`<a>` and its n-grams `<a`, `a>` and `<a>` again: each adds two of seven unit rows."""
    floret = save(tmp_path / "seven.npy", np.eye(7, dtype=np.float32))
    expected = np.zeros(7)
    for gram in ("<a>", "<a", "a>", "<a>"):
        for row in digest_rows(gram, 7):
            expected[row] += 1
    found = floret.vectors(["a"])[0]
    assert found == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)


@given(st.lists(st.text(alphabet="abdeimnorstuxæ", max_size=12), max_size=5))
def test_each_vector_is_the_mean_of_the_hashed_rows(
    little: tuple[Floret, NDArray[np.float32]], words: list[str]
) -> None:
    from allusion_es.language.latin.spelling import likely_spelling

    floret, table = little
    found = floret.vectors(words)
    assert found.shape == (len(words), 4)
    assert found.dtype == np.float32
    for word, vector in zip(words, found, strict=True):
        rows = [row for g in grams(f"<{likely_spelling(word)}>") for row in digest_rows(g, 97)]
        mean = table[rows].mean(axis=0, dtype=np.float64)
        assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-4)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_folded_words_are_respelled_for_the_table(
    little: tuple[Floret, NDArray[np.float32]],
) -> None:
    floret, table = little
    rows = [row for g in grams("<verbum>") for row in digest_rows(g, 97)]
    mean = table[rows].mean(axis=0, dtype=np.float64)
    assert floret.vectors(["uerbum"])[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_a_table_of_zeros_gives_zeros(tmp_path: Path) -> None:
    floret = save(tmp_path / "zeros.npy", np.zeros((5, 3), np.float32))
    assert floret.vectors(["deus", ""]).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert floret.vectors([]).shape == (0, 3)


def test_a_vector_that_is_not_finite_is_refused_by_word(tmp_path: Path) -> None:
    table = np.full((5, 3), np.nan, np.float32)
    with pytest.raises(InputError) as error:
        save(tmp_path / "nan.npy", table).vectors(["deus"])
    assert str(error.value) == "word vectors little: the vector of 'deus' is not finite"


@pytest.mark.parametrize(
    "table", [np.zeros((3, 2)), np.zeros(3, np.float32), np.zeros((0, 2), np.float32)]
)
def test_other_tables_are_refused(tmp_path: Path, table: NDArray[np.float32]) -> None:
    with pytest.raises(InputError, match="word vectors must be a float32 matrix, not float"):
        save(tmp_path / "other.npy", table)


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pickle.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not a table of word vectors"):
        Floret(path, "pickle")
    with pytest.raises(InputError, match="not a table of word vectors"):
        Floret(tmp_path / "none.npy", "none")


def test_the_real_table_knows_like_words(data_folder: Path) -> None:
    floret = Floret(FLORET.path(data_folder), "floret")
    words = ["dilectio", "caritas", "equus", "uerbum", "xyzzyxyzzy"]
    found = floret.vectors(words)
    assert np.isfinite(found).all()
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(words)), abs=1e-5)
    cosines = found @ found.T
    assert cosines[0, 1] > 0.8 > 0.5 > cosines[0, 2]
