"""Files of word vectors: each format against gensim, and each refusal."""

import gzip
import struct
import tempfile
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors
from gensim.models.fasttext import load_facebook_vectors, save_facebook_model
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from allusion_es.core import plugins
from allusion_es.core.errors import IndexDamagedError, InputError, UsageError
from allusion_es.language.latin.fold import fold
from allusion_es.language.vectors.files import load_vectors, read_vectors, save_vectors
from allusion_es.language.vectors.tables import Floret, NgramVectors, TableVectors, ngram_buckets
from allusion_es.language.vectors.training import WordVectorTraining, train_vectors

HAND = "3 2\ndeus 3 4\nhomo 0 -2\nres 0 0\n"
SENTENCES = [
    ["in", "principio", "creauit", "deus", "caelum", "et", "terram"],
    ["deus", "caritas", "est", "et", "qui", "manet", "in", "caritate"],
    ["in", "deo", "manet", "et", "deus", "in", "eo"],
] * 4


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def binary(*words: tuple[str, Sequence[float]], header: str = "", end: bytes = b"") -> bytes:
    header = header or f"{len(words)} {len(words[0][1])}\n"
    rows = [word.encode() + b" " + np.array(v, "<f4").tobytes() + end for word, v in words]
    return header.encode() + b"".join(rows)


def refusal(path: Path) -> str:
    """What is said of the file; one line, and with the right exit code."""
    with pytest.raises(InputError) as error:
        read_vectors(path)
    assert "\n" not in str(error.value)
    return str(error.value).replace(str(path.parent) + "/", "")


def unit(rows: NDArray[Any]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    result = np.zeros(rows.shape)
    np.divide(rows, lengths, out=result, where=lengths > 0)
    return result


def test_text_by_hand(tmp_path: Path) -> None:
    vectors = read_vectors(write(tmp_path / "hand.txt", HAND))
    assert isinstance(vectors, TableVectors)
    found = vectors.vectors(["homo", "deus", "res", "xyzzy", "deus"])
    assert found.dtype == np.float32
    expected = [[0, -1], [0.6, 0.8], [0, 0], [0, 0], [0.6, 0.8]]
    assert found == pytest.approx(np.array(expected), abs=1e-7)
    assert (vectors.dimension, len(vectors), vectors.kind) == (2, 3, "word2vec")
    assert vectors.unknown_words == "no vector: similar to nothing"
    assert vectors.vectors([]).shape == (0, 2)


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("name", ["v.bin", "v", "v.bin.gz"])
def test_binary_by_hand(tmp_path: Path, name: str, end: bytes) -> None:
    content = binary(("deus", [3, 4]), ("homo", [0, -2]), end=end)
    path = write(tmp_path / name, gzip.compress(content) if name.endswith(".gz") else content)
    assert read_vectors(path).vectors(["homo", "deus"]) == pytest.approx(
        np.array([[0, -1], [0.6, 0.8]]), abs=1e-7
    )


@pytest.mark.parametrize("name", ["v.txt.gz", "v.gz", "v.vec", "v"])
def test_text_under_other_names(tmp_path: Path, name: str) -> None:
    packed = gzip.compress(HAND.encode()) if name.endswith(".gz") else HAND
    assert read_vectors(write(tmp_path / name, packed)).vectors(["deus"]).tolist() == [
        [pytest.approx(0.6), pytest.approx(0.8)]
    ]


def test_words_are_folded_and_the_first_counts(tmp_path: Path) -> None:
    text = "6 1\n</s> 9\nVerbum 1\nuerbum -1\nJēsus 1\nin_principio 1\n12 1\n"
    vectors = read_vectors(write(tmp_path / "v.txt", text))
    assert vectors.vectors(["uerbum", "iesus", "s", "inprincipio"]).tolist() == [[1], [1], [0], [0]]
    assert isinstance(vectors, TableVectors)
    assert len(vectors) == 2


NAMES = st.text(alphabet="abcdeilmnorstuæáü", min_size=1, max_size=8)
NUMBERS = st.floats(-(2.0**99), 2.0**99, width=32) | st.floats(-2, 2, width=32)


@given(
    st.integers(1, 6).flatmap(
        lambda size: st.dictionaries(
            NAMES, st.lists(NUMBERS, min_size=size, max_size=size), min_size=1, max_size=8
        )
    ),
    st.booleans(),
    st.booleans(),
)
@settings(deadline=None)
def test_gensim_writes_what_is_read(
    rows: dict[str, list[float]], as_binary: bool, packed: bool
) -> None:
    table = np.array(list(rows.values()), np.float32)
    keyed = KeyedVectors(table.shape[1])
    keyed.add_vectors(list(rows), table)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, ("v.bin" if as_binary else "v.txt") + (".gz" if packed else ""))
        keyed.save_word2vec_format(str(path), binary=as_binary)
        ours = read_vectors(path)
        theirs = KeyedVectors.load_word2vec_format(str(path), binary=as_binary)
    known: dict[str, str] = {}
    for word in rows:
        known.setdefault(fold(word), word)
    found = ours.vectors(list(known))
    assert found == pytest.approx(unit(theirs[list(known.values())]), abs=1e-5)
    assert np.isfinite(found).all()


@given(st.dictionaries(st.text("abcdeilmu", min_size=1), st.tuples(NUMBERS, NUMBERS), min_size=1))
@settings(deadline=None)
def test_saved_vectors_come_back(rows: dict[str, tuple[float, float]]) -> None:
    table = np.array(list(rows.values()), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "v.vectors")
        save_vectors(path, list(rows), table, details={"method": "by hand"})
        vectors = read_vectors(path)
    assert isinstance(vectors, TableVectors)
    assert (vectors.kind, vectors.details) == ("by hand", {"method": "by hand"})
    words = [word for word in rows if len(word) <= 100]
    assert vectors.vectors(words) == pytest.approx(
        unit(table[[list(rows).index(word) for word in words]]), abs=1e-6
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "2 2\ndeus 1 2\nhomo nan 1\n",
            "v.txt:3: the vector of 'homo' is not finite; leave the word out or train again",
        ),
        (
            "2 2\ndeus 1 2\nhomo 1 -inf\n",
            "v.txt:3: the vector of 'homo' is not finite; leave the word out or train again",
        ),
        (
            "1 1\ndeus 1e39\n",
            "v.txt:2: the vector of 'deus' is not finite; leave the word out or train again",
        ),
        (
            "2 2\ndeus 1 2\nhomo 1\n",
            "v.txt:3: 1 numbers for 'homo', but the header says 2; the file is damaged or its "
            "header wrong",
        ),
        (
            "2 2\ndeus 1 2 3\nhomo 1 2\n",
            "v.txt:2: 3 numbers for 'deus', but the header says 2; the file is damaged or its "
            "header wrong",
        ),
        (
            "3 1\ndeus 1\nhomo 1\ndeus 2\n",
            "v.txt:4: 'deus' is also on line 2; leave one of them out",
        ),
        ("0 2\n", "v.txt: there is no word in it; give at least one"),
        ("2 1\n</s> 1\n12 1\n", "v.txt: there is no word in it; give at least one"),
        (
            "1 1\ndeus x\n",
            "v.txt:2: the vector of 'deus': could not convert string to float: b'x'",
        ),
        (
            "3 1\ndeus 1\n",
            "v.txt: the header says 3 words, but there are 1; the file is cut off, get it again",
        ),
        (
            "1 1\ndeus 1\nhomo 1\n",
            "v.txt:3: the header says 1 words, but there are more; correct the header",
        ),
        (
            "2 1\ndeus 1\n\nhomo 1\n",
            "v.txt:3: there is no word; give a word, a blank and its numbers",
        ),
        ("1 0\ndeus\n", "v.txt:1: dimension 0; it must be from 1 to 10000"),
        ("1 999999999999\n", "v.txt:1: dimension 999999999999; it must be from 1 to 10000"),
        *[
            (
                text,
                "v.txt:1: not word vectors; word2vec's formats begin with a line such as "
                "'5000 100', the number of words and the dimension",
            )
            for text in ("", "deus 1 2\n", "-1 2\n", "1 2 3\ndeus 1 2\n", "x" * (1 << 21))
        ],
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_bad_texts_are_refused_by_line(
    tmp_path: Path, text: str, message: str, packed: bool
) -> None:
    if packed:
        path = write(tmp_path / "v.txt.gz", gzip.compress(text.encode()))
        assert refusal(path) == message.replace("v.txt", "v.txt.gz")
    else:
        assert refusal(write(tmp_path / "v.txt", text)) == message


def test_empty_lines_at_the_end_do_no_harm(tmp_path: Path) -> None:
    write(tmp_path / "v.txt", "1 1\r\ndeus 1 \r\n\r\n\n")
    assert read_vectors(tmp_path / "v.txt").vectors(["deus"]).tolist() == [[1]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            binary(("deus", [1, 2]), ("homo", [np.nan, 1])),
            "v.bin: word 2: the vector of 'homo' is not finite; leave the word out or train again",
        ),
        (
            binary(("deus", [1, 2]), ("homo", [1, 2]))[:-3],
            "v.bin: word 2: 1 numbers for 'homo', but the header says 2; the file is damaged or "
            "its header wrong",
        ),
        (
            binary(("deus", [1, 2]), ("deus", [1, 2])),
            "v.bin: word 2: 'deus' is also word 1; leave one of them out",
        ),
        (
            binary(("deus", [1, 2]), header="2 2\n"),
            "v.bin: the header says 2 words, but there are 1; the file is cut off, get it again",
        ),
        (
            binary(("deus", [1, 2]), ("homo", [1, 2]), header="1 2\n"),
            "v.bin: word 2: the header says 1 words, but there are more; correct the header",
        ),
        (
            b"1 1\n\xff\xfe \x00\x00\x00\x00",
            "v.bin: word 1: the word is not UTF-8; convert the file",
        ),
        (
            b"1 1\n" + b"x" * 9000,
            "v.bin: word 1: 0 numbers for '" + "x" * 40 + "', but the header says 1; the file is "
            "damaged or its header wrong",
        ),
        (
            b"1 1\n \x00\x00\x00\x00",
            "v.bin: word 1: there is no word; give a word, a blank and its numbers",
        ),
    ],
)
def test_bad_binaries_are_refused_by_word(tmp_path: Path, content: bytes, message: str) -> None:
    assert refusal(write(tmp_path / "v.bin", content)) == message


def test_large_files_are_read_in_parts(tmp_path: Path) -> None:
    """More rows than are first made room for, and more bytes than are read at once."""
    count = 20_000
    table = np.random.default_rng(1).normal(size=(count, 12)).astype(np.float32)
    letters = "abcdefghik"
    words = ["".join(letters[int(digit)] for digit in str(n)) for n in range(count)]
    keyed = KeyedVectors(12)
    keyed.add_vectors(words, table)
    for name, as_binary in (("v.bin", True), ("v.txt", False)):
        keyed.save_word2vec_format(str(tmp_path / name), binary=as_binary)
        assert read_vectors(tmp_path / name).vectors(words) == pytest.approx(unit(table), abs=1e-6)


def test_memory_holds_the_table_once(tmp_path: Path) -> None:
    import tracemalloc

    count, dimension = 30_000, 100
    header = f"{count} {dimension}\n".encode()
    row = np.ones(dimension, "<f4").tobytes()
    letters = "abcdefghik"
    words = ["".join(letters[int(d)] for d in str(n)) for n in range(count)]
    write(tmp_path / "v.bin", header + b"".join(w.encode() + b" " + row for w in words))
    tracemalloc.start()
    read_vectors(tmp_path / "v.bin")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * count * dimension * 4 + 2e7


def test_a_header_that_lies_takes_no_memory(tmp_path: Path) -> None:
    write(tmp_path / "v.txt", "999999999999 300\ndeus" + " 1" * 300 + "\n")
    assert "the file is cut off" in refusal(tmp_path / "v.txt")


def test_damaged_gzip_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress((HAND * 100).encode())
    for content in (packed[:-20], packed[:20] + b"\0" * 20 + packed[40:]):
        assert refusal(write(tmp_path / "v.txt.gz", content)).startswith("v.txt.gz: damaged (")


PICKLES = (
    "v: a file that gensim's save() or Python's pickle wrote; it could run any code and is not "
    "read; write the vectors with gensim's save_word2vec_format(), or as .npy with the words "
    "beside it in a .txt, one a line"
)


def test_pickles_are_refused_unread(tmp_path: Path) -> None:
    keyed = KeyedVectors(2)
    keyed.add_vectors(["deus"], np.ones((1, 2), np.float32))
    keyed.save(str(tmp_path / "v"))
    assert refusal(tmp_path / "v") == PICKLES
    assert refusal(write(tmp_path / "v", gzip.compress(b"\x80\x04."))) == PICKLES
    assert refusal(write(tmp_path / "v", b"PK\x03\x04")) == PICKLES


def test_a_table_with_its_words_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    np.save(path, np.array([[3, 4], [1, 0]], np.float32))
    assert isinstance(read_vectors(path), Floret)
    write(tmp_path / "v.txt", "Deus\nhomo\n")
    vectors = read_vectors(path)
    assert vectors.vectors(["deus", "xyzzy"]) == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("deus\n", "v.txt: 1 words do not match the 2 rows of v.npy; give one word a line"),
        ("deus\ndeus\n", "v.txt:2: 'deus' is also on line 1; leave one of them out, and its row"),
        (
            "deus\nhomo\n",
            "v.txt:2: the vector of 'homo' is not finite; leave the word out, and its row",
        ),
    ],
)
def test_tables_that_do_not_fit_their_words_are_refused(
    tmp_path: Path, words: str, message: str
) -> None:
    np.save(tmp_path / "v.npy", np.array([[3, 4], [np.inf, 0]], np.float32))
    write(tmp_path / "v.txt", words)
    assert refusal(tmp_path / "v.npy") == message


def test_a_table_without_words_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.ones((1, 2), np.float32))
    write(tmp_path / "v.txt", "12\n")
    assert refusal(tmp_path / "v.npy") == "v.txt: there is no word in it; give at least one"


def trained(**options: object) -> FastText:
    defaults = {"vector_size": 12, "min_count": 1, "bucket": 500, "seed": 1, "workers": 1}
    return FastText(SENTENCES, **{**defaults, **options})


@pytest.mark.parametrize("sizes", [(3, 6), (2, 2), (1, 4)])
def test_fasttext_files_agree_with_gensim(tmp_path: Path, sizes: tuple[int, int]) -> None:
    path = tmp_path / "model.bin"
    save_facebook_model(trained(min_n=sizes[0], max_n=sizes[1]), str(path))
    ours, theirs = read_vectors(path), load_facebook_vectors(str(path))
    assert isinstance(ours, NgramVectors)
    words = ["deus", "caritas", "in", "xyzzy", "caritatem", "principium", "æternus"]
    expected = np.array([theirs.get_vector(word) for word in words])
    assert ours.vectors(words) == pytest.approx(unit(expected), abs=1e-5)
    assert (ours.kind, len(ours), ours.unknown_words) == (
        "fastText",
        len(theirs),
        "made of their n-grams",
    )


def test_fasttext_without_ngrams_leaves_unknown_words_out(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    save_facebook_model(trained(min_n=1, max_n=0, bucket=0), str(path))
    ours, theirs = read_vectors(path), load_facebook_vectors(str(path))
    assert ours.vectors(["deus"]) == pytest.approx(unit(theirs[["deus"]]), abs=1e-5)
    assert not ours.vectors(["xyzzy"]).any()


@given(st.text(alphabet="abeimsuæé𐌰", max_size=9), st.integers(1, 4), st.integers(0, 4))
def test_ngrams_are_those_of_gensim(word: str, least: int, more: int) -> None:
    from gensim.models.fasttext import ft_ngram_hashes

    expected = list(ft_ngram_hashes(word, least, least + more, 1000))
    assert ngram_buckets(word, least, least + more, 1000) == expected


def test_unknown_words_are_spelled_as_the_file_spells(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    model = FastText([["verbum", "vita"]] * 9, vector_size=4, min_count=1, bucket=500, workers=1)
    save_facebook_model(model, str(path))
    theirs = load_facebook_vectors(str(path))
    words = {"uerbum": "verbum", "uiuus": "vivus", "rex": "rex"}
    expected = unit(np.array([theirs.get_vector(word) for word in words.values()]))
    assert read_vectors(path).vectors(list(words)) == pytest.approx(expected, abs=1e-5)


def little_fasttext(**changes: int) -> bytearray:
    """A fastText file of two words and one shared row, of dimension 2."""
    fields = {
        "magic": 793712314, "version": 12, "dim": 2, "ws": 5, "epoch": 5, "minCount": 1,
        "neg": 5, "wordNgrams": 1, "loss": 2, "model": 2, "bucket": 1, "minn": 3, "maxn": 6,
        "rate": 100, "t": 0, "size": 2, "nwords": 2, "nlabels": 0, "tokens": 9, "pruned": -1,
    } | {name: value for name, value in changes.items() if name != "quantised"}  # fmt: skip
    data = bytearray(struct.pack("<2i12id3i2q", *fields.values()))
    for word in (b"deus", b"homo"):
        data += word + b"\0" + struct.pack("<qb", 3, 0)
    data += struct.pack("<?2q", changes.get("quantised", 0), 3, 2)
    return data + np.array([[2, 0], [0, 2], [0, 1]], "<f4").tobytes()


def test_fasttext_by_hand(tmp_path: Path) -> None:
    """deus: its row (2, 0) and 10 n-grams, all of which share the row (0, 1)."""
    vectors = read_vectors(write(tmp_path / "v.bin", bytes(little_fasttext())))
    assert len(ngram_buckets("deus", 3, 6, 1)) == 10
    assert vectors.vectors(["deus", "rex"]) == pytest.approx(
        unit(np.array([[2, 10], [0, 1]])), abs=1e-6
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 13}, "v.bin: fastText format 13; 11 and 12 are read"),
        (
            {"nlabels": 1},
            "v.bin: a fastText classifier; use a model trained with 'skipgram' or 'cbow'",
        ),
        (
            {"model": 3},
            "v.bin: a fastText classifier; use a model trained with 'skipgram' or 'cbow'",
        ),
        ({"quantised": 1}, "v.bin: a quantised fastText model; use the '.bin' or '.vec' file"),
        ({"pruned": 1}, "v.bin: a quantised fastText model; use the '.bin' or '.vec' file"),
        ({"dim": 3}, "v.bin: its parts do not fit each other; get the file again"),
        ({"size": 1}, "v.bin: its parts do not fit each other; get the file again"),
        ({"size": 0, "nwords": 0}, "v.bin: there is no word in it; give at least one"),
    ],
)
def test_other_fasttext_files_are_refused(
    tmp_path: Path, changes: dict[str, int], message: str
) -> None:
    assert refusal(write(tmp_path / "v.bin", bytes(little_fasttext(**changes)))) == message


def test_fasttext_files_that_are_cut_off_are_refused(tmp_path: Path) -> None:
    whole = bytes(little_fasttext())
    for length in range(4, len(whole)):
        message = refusal(write(tmp_path / f"{length}.bin", whole[:length]))
        assert message == f"{length}.bin: the file is cut off; get it again"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (1, "v.bin: the vector of 'homo' is not finite; train again"),
        (2, "v.bin: the vector in row 2 (of n-grams) is not finite; train again"),
    ],
)
def test_fasttext_rows_that_are_not_finite_are_refused(
    tmp_path: Path, row: int, message: str
) -> None:
    data = little_fasttext()
    struct.pack_into("<f", data, len(data) - 4 * (6 - 2 * row), float("nan"))
    assert refusal(write(tmp_path / "v.bin", bytes(data))) == message


def test_fasttext_words_that_are_repeated_are_refused(tmp_path: Path) -> None:
    data = bytes(little_fasttext()).replace(b"homo", b"deus")
    assert refusal(write(tmp_path / "v.bin", data)) == (
        "v.bin: word 2: 'deus' is also word 1; train again"
    )


def test_packed_fasttext_files_are_to_be_unpacked(tmp_path: Path) -> None:
    path = write(tmp_path / "v.bin.gz", gzip.compress(bytes(little_fasttext())))
    assert refusal(path) == "v.bin.gz: unpack it first, with 'gunzip v.bin.gz'"


@pytest.mark.parametrize("method", ["fasttext", "word2vec"])
def test_training_twice_gives_the_same_bytes(tmp_path: Path, method: Any) -> None:  # noqa: ANN401
    training = WordVectorTraining(method, dimension=8, epochs=2, min_count=1, seed=7)
    paths = [tmp_path / "one", tmp_path / "two"]
    for path in paths:
        assert train_vectors(SENTENCES, path, training, "three sentences") == 14
    assert paths[0].read_bytes() == paths[1].read_bytes()
    vectors = read_vectors(paths[0])
    assert isinstance(vectors, NgramVectors | TableVectors)
    assert vectors.details["about"] == "three sentences"
    assert vectors.details["seed"] == 7


def test_trained_vectors_agree_with_gensim(tmp_path: Path) -> None:
    """The same training by gensim alone, and its vectors, of unknown words too."""
    training = WordVectorTraining(dimension=8, epochs=3, min_count=2, seed=5)
    train_vectors(SENTENCES, tmp_path / "ours", training)
    theirs = FastText(
        SENTENCES, vector_size=8, epochs=3, min_count=2, seed=5, sg=1, workers=1, bucket=100_000
    )
    words = ["deus", "caritas", "caritatem", "xyzzy"]
    expected = unit(np.array([theirs.wv.get_vector(word) for word in words]))
    assert read_vectors(tmp_path / "ours").vectors(words) == pytest.approx(expected, abs=1e-5)


def test_training_needs_frequent_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no word occurs 3 times in the texts; give more text or"):
        train_vectors([["deus"], []], tmp_path / "v")
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimension": 0}, "dimension: must be from 1 to 10000"),
        ({"window": 0}, "window: must be at least 1"),
        ({"epochs": -1}, "epochs: must be at least 1"),
        ({"min_count": 0}, "min_count: must be at least 1"),
        ({"seed": -1}, "seed: must be from 0 to 4294967295"),
    ],
)
def test_options_of_training_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        WordVectorTraining(**options)


def test_saved_vectors_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "v"
    with pytest.raises(InputError, match="there is no word to save"):
        save_vectors(path, [], np.ones((0, 2), np.float32))
    with pytest.raises(InputError, match="a vector is not finite"):
        save_vectors(path, ["deus"], np.full((1, 2), np.nan, np.float32))
    save_vectors(path, ["deus"], np.ones((1, 2), np.float32))
    data = bytearray(path.read_bytes())
    data[-60] ^= 1
    with pytest.raises(IndexDamagedError, match="train the vectors again"):
        read_vectors(write(path, bytes(data)))


def test_other_files_of_ours_are_no_vectors(tmp_path: Path) -> None:
    from allusion_es.core.arrays import save_arrays

    save_arrays(tmp_path / "v", {}, {"words": np.zeros(1, np.uint8)})
    assert refusal(tmp_path / "v") == (
        "v: not word vectors, or of another version; train them with 'allusion-es embeddings train'"
    )


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none") == "none: cannot be read (No such file or directory)"
    assert refusal(tmp_path).endswith("cannot be read (Is a directory)")


def test_loading_is_by_name_or_path_and_once(tmp_path: Path) -> None:
    path = write(tmp_path / "v.txt", HAND)
    vectors = load_vectors(path)
    assert load_vectors(str(path)) is vectors
    write(path, HAND.replace("3 2", "3 2 "))
    assert load_vectors(path) is not vectors
    assert load_vectors("named", {"named": lambda: vectors}) is vectors
    for name in ("none", "none\0", "x" * 5000):
        with pytest.raises(InputError, match="give a file or floret"):
            load_vectors(name, {"floret": lambda: vectors})


def test_names_tell_versions_apart(tmp_path: Path) -> None:
    one = read_vectors(write(tmp_path / "v.txt", HAND)).name
    assert read_vectors(tmp_path / "v.txt").name == one
    other = read_vectors(write(tmp_path / "v.txt", HAND.replace("-2", "-3"))).name
    assert one.startswith("v.txt ")
    assert one != other


def test_vectors_of_other_packages_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("little", "little_vectors:LittleVectors", "allusion_es.vectors")
    monkeypatch.setattr(plugins, "_registered", lambda path: lambda group: [entry])
    assert load_vectors("little").vectors(["x", "xyzzy"]).tolist() == [[1, 0], [0, 0]]
    with pytest.raises(InputError, match="there are no word vectors 'litle'; give a file or li"):
        load_vectors("litle")
