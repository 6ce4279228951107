"""`allusion-es embeddings`, on texts of two lines and on the Vulgate's index."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from allusion_es.cli import embeddings
from allusion_es.core.errors import AllusionError, InputError, UsageError
from allusion_es.language.vectors.files import read_vectors, save_vectors
from allusion_es.language.vectors.tables import NgramVectors, TableVectors
from allusion_es.local.index import LocalIndex

Invoke = Callable[..., tuple[str, str]]

TRAIN = (
    "import sys\n"
    "from allusion_es.cli.embeddings import app\n"
    "app(sys.argv[1:], standalone_mode=False)\n"
)


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Runs a command of the group; gives what it wrote on stdout and stderr."""

    def invoke(*arguments: str) -> tuple[str, str]:
        capsys.readouterr()
        embeddings.app(list(arguments), standalone_mode=False)
        out, err = capsys.readouterr()
        return out, err

    return invoke


@pytest.fixture
def sermon(tmp_path: Path) -> Path:
    path = tmp_path / "sermo.txt"
    path.write_text("Gustate et videte quoniam suavis est\n\nDeus caritas est et videt\n" * 3)
    return path


@pytest.fixture
def two_words(tmp_path: Path) -> Path:
    """panis is at cosine .6 to cibus, and deus has the opposite direction."""
    table = np.array([[1, 0], [0.6, 0.8], [-1, 0]], np.float32)
    save_vectors(tmp_path / "two", ["cibus", "panis", "deus"], table, details={"method": "hand"})
    return tmp_path / "two"


@pytest.mark.process
@pytest.mark.parametrize("method", ["fasttext", "word2vec"])
def test_two_trainings_in_two_processes_give_the_same_bytes(
    tmp_path: Path, sermon: Path, method: str
) -> None:
    written = []
    for seed in ("1", "2"):  # of Python's own hashing
        out = tmp_path / f"{seed}.vectors"
        arguments = ["train", str(sermon), "--out", str(out), "--method", method]
        arguments += ["--dimension", "8", "--epochs", "2", "--min-count", "1"]
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", TRAIN, *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert done.stderr == f"{out}: 8 words, 8 dimensions\n"
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_lemmas_or_tokens_are_trained(tmp_path: Path, sermon: Path, invoke: Invoke) -> None:
    short = ("--dimension", "4", "--epochs", "1", "--min-count", "1", "--method", "word2vec")
    known = {}
    for choice in ("--lemmas", "--tokens"):
        out = str(tmp_path / choice)
        invoke("train", str(sermon), "--out", out, choice, *short)
        vectors = read_vectors(Path(out))
        assert isinstance(vectors, TableVectors)
        assert vectors.details["about"] == f"{choice[2:]} of sermo.txt"
        known[choice] = vectors.vectors(["uideo", "uidet"]).any(axis=1).tolist()
    assert known == {"--lemmas": [True, False], "--tokens": [False, True]}


def test_tables_are_read_as_for_index(tmp_path: Path, invoke: Invoke) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("id\ttext\ttokens\tlemmas\n1\tx\tverba deus\tverbum deus\n")
    out = tmp_path / "out"
    invoke("train", str(path), "-o", str(out), "--min-count", "1", "--dimension", "2")
    vectors = read_vectors(out)
    assert isinstance(vectors, NgramVectors)
    assert len(vectors) == 2
    assert vectors.vectors(["uerbum", "xyzzy"]).any(axis=1).all()


@pytest.mark.usefixtures("data_folder")
def test_the_vulgate_is_the_default(tmp_path: Path, invoke: Invoke) -> None:
    out = tmp_path / "vulgate.vectors"
    options = ("--method", "word2vec", "--dimension", "10", "--epochs", "1", "--min-count", "20")
    _, err = invoke("train", "--out", str(out), *options)
    assert err.startswith(f"{out}: ")
    found, _ = invoke("info", str(out), "--format", "json")
    (facts,) = json.loads(found)
    assert facts["texts"] == 35_809
    assert facts["about"] == "lemmas of the Vulgate"
    assert facts["words"] > 1_500


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("--epochs", "0"), UsageError, "--epochs: must be at least 1"),
        (("--dimension", "0"), UsageError, "--dimension: must be from 1 to 10000"),
        (("--min-count", "99"), InputError, "no word occurs 99 times in the texts"),
    ],
)
def test_what_cannot_be_trained_is_said(
    tmp_path: Path,
    sermon: Path,
    invoke: Invoke,
    arguments: tuple[str, ...],
    error: type[AllusionError],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        invoke("train", str(sermon), "--out", str(tmp_path / "out"), *arguments)
    assert not (tmp_path / "out").exists()


def test_texts_are_not_overwritten(tmp_path: Path, sermon: Path, invoke: Invoke) -> None:
    before = sermon.read_text()
    for out in (sermon, tmp_path):
        with pytest.raises(UsageError, match="a folder or one of the texts; give another file"):
            invoke("train", str(sermon), "--out", str(out))
    assert sermon.read_text() == before


@pytest.mark.usefixtures("data_folder")
def test_info_on_files_and_names(two_words: Path, invoke: Invoke) -> None:
    (facts,) = json.loads(invoke("info", str(two_words), "--format", "json")[0])
    assert facts.pop("name").startswith("two ")
    assert facts == {
        "dimension": 2,
        "format": "hand",
        "words": 3,
        "unknown_words": "no vector: similar to nothing",
        "method": "hand",
    }
    table, _ = invoke("info", str(two_words))
    assert "unknown_words" in table
    header, row = invoke("info", "floret", "--format", "tsv")[0].splitlines()
    assert header == "name\tdimension\tformat\twords"
    assert row == "floret vulgata-pipeline==0.0.1\t100\tfloret\tany, each made of its n-grams"
    with pytest.raises(InputError, match="there are no word vectors 'florte'; give a file or fl"):
        invoke("info", "florte")


def test_nearest_words_by_hand(two_words: Path, vulgate_index: LocalIndex, invoke: Invoke) -> None:
    out, err = invoke("nearest", "Cibus", "--vectors", str(two_words), "--format", "json")
    (hit,) = json.loads(out)
    passages = int(vulgate_index.statistics("lemma", ["panis"]).df[0])
    assert hit == {"rank": 1, "word": "panis", "cosine": 0.6, "passages": passages}
    assert err == ""


def test_nearest_words_of_the_index_itself(vulgate_index: LocalIndex, invoke: Invoke) -> None:
    out, _ = invoke("nearest", "DILECTIO", "-k", "3", "--format", "tsv")
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == ["rank", "word", "cosine", "passages"]
    assert [line[0] for line in lines[1:]] == ["1", "2", "3"]
    assert lines[1][1] == "caritas"
    cosines = [float(line[2]) for line in lines[1:]]
    assert cosines == sorted(cosines, reverse=True)
    assert "caritas" in invoke("nearest", "dilectio")[0]
    tokens, _ = invoke("nearest", "dilectionem", "--field", "token", "--format", "json")
    assert "caritatem" in {hit["word"] for hit in json.loads(tokens)}


def test_words_without_a_vector_are_named(
    two_words: Path, vulgate_index: LocalIndex, invoke: Invoke
) -> None:
    out, err = invoke("nearest", "xyzzy", "--vectors", str(two_words), "--format", "json")
    assert json.loads(out) == []
    assert err.startswith("'xyzzy' has no vector in two ")
    with pytest.raises(UsageError, match="'12' is no word; give one with letters"):
        invoke("nearest", "12")


@pytest.mark.process
def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from allusion_es.cli.embeddings import app\n"
        "app(['train', '--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'scipy', 'gensim', 'mmh3', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'imports {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--min-count" in done.stdout
