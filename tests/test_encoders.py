"""Language models of the user's: real ONNX files, with vectors that are known by hand."""

import json
from pathlib import Path

import little_models
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allusion_es.core.errors import InputError, SettingsMismatchError, UsageError
from allusion_es.language.encoders.models import find_model
from allusion_es.language.encoders.pairs import CrossEncoder
from allusion_es.language.encoders.sentences import (
    SentenceEncoder,
    choose_encoder,
    recorded_encoder,
)
from allusion_es.language.encoders.settings import EncoderChoice, EncoderSettings

TEXTS = ["amor", "amor caritas", "odium lux lux lux", "ignotum", "", "caritas"]
UNITS = [
    (1, 0),
    (2 / 5**0.5, 1 / 5**0.5),
    (-1 / 10**0.5, 3 / 10**0.5),
    (0, 0),
    (0, 0),
    (0.6, 0.8),
]


def vectors(encoder: SentenceEncoder, texts: list[str]) -> np.ndarray:
    found = np.full((len(texts), encoder.settings.dimension), np.nan)
    for places, some in encoder.passages(texts):
        found[places] = some
    return found


def test_vectors_are_the_mean_of_those_of_tokens(tmp_path: Path) -> None:
    folder = little_models.encoder(tmp_path / "little")
    encoder = choose_encoder(EncoderChoice(str(folder)), tmp_path)
    assert vectors(encoder, TEXTS) == pytest.approx(np.array(UNITS), abs=1e-6)
    for text, unit in zip(TEXTS, UNITS, strict=True):
        assert encoder.query(text) == pytest.approx(unit, abs=1e-6)
    settings = encoder.settings
    assert (settings.model, settings.dimension, settings.pooling) == (str(folder), 2, "mean")
    assert (settings.query_prefix, settings.passage_prefix, settings.max_tokens) == ("", "", 16)
    assert settings.name == f"little {settings.revision[:19]}"
    assert EncoderSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


@pytest.mark.parametrize(
    ("pooling", "unit"),
    [("mean", (-1, 2)), ("max", (0, 1)), ("cls", (0, 0))],
)
def test_pooling_is_the_users_or_the_models(
    tmp_path: Path, pooling: str, unit: tuple[float, ...]
) -> None:
    wanted = np.array(unit) / max(float(np.linalg.norm(unit)), 1)
    text = "odium lux lux"
    own = little_models.encoder(tmp_path / "own", f"{pooling}_token" + "s" * (pooling != "cls"))
    silent = little_models.encoder(tmp_path / "silent", None)
    for choice in (EncoderChoice(str(own)), EncoderChoice(str(silent), pooling)):
        encoder = choose_encoder(choice, tmp_path)
        assert encoder.settings.pooling == pooling
        assert encoder.query(text) == pytest.approx(wanted, abs=1e-6)


def test_a_model_may_give_a_vector_a_text(tmp_path: Path) -> None:
    encoder = choose_encoder(
        EncoderChoice(str(little_models.encoder(tmp_path / "m", None, inside=True))), tmp_path
    )
    assert encoder.settings.pooling == "none"
    assert vectors(encoder, TEXTS) == pytest.approx(np.array(UNITS), abs=1e-6)
    assert encoder.tokens("amor", is_query=True) is None


def test_prefixes_are_the_users_or_the_models(tmp_path: Path) -> None:
    folder = little_models.encoder(tmp_path / "m")
    given = EncoderChoice(str(folder), query_prefix="query: ")
    assert choose_encoder(given, tmp_path).query("amor") == pytest.approx(
        np.array((1, 3)) / 10**0.5, abs=1e-6
    )
    prompts = {"prompts": {"query": "query: ", "document": "lux "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    encoder = choose_encoder(EncoderChoice(str(folder)), tmp_path)
    assert encoder.settings.query_prefix == "query: "
    assert vectors(encoder, ["amor"]) == pytest.approx(np.array([(1, 1)]) / 2**0.5, abs=1e-6)
    without = EncoderChoice(str(folder), query_prefix="")
    assert choose_encoder(without, tmp_path).query("amor") == pytest.approx((1, 0), abs=1e-6)


def test_tokens_add_up_to_the_texts_vector(tmp_path: Path) -> None:
    folder = little_models.encoder(tmp_path / "m")
    encoder = choose_encoder(EncoderChoice(str(folder), query_prefix="query: "), tmp_path)
    tokens = encoder.tokens("amor et caritas", is_query=True)
    assert tokens is not None
    words = [text for text in tokens.spans if text != (0, 0)]
    assert words == [(0, 4), (5, 7), (8, 15)]
    total = tokens.vectors.sum(axis=0)
    assert total / np.linalg.norm(total) == pytest.approx(
        encoder.query("amor et caritas"), abs=1e-6
    )


def test_long_texts_are_cut_and_counted(tmp_path: Path) -> None:
    encoder = choose_encoder(
        EncoderChoice(str(little_models.encoder(tmp_path / "m", most=4))), tmp_path
    )
    found = vectors(encoder, ["amor amor lux lux", "amor amor", "lux"])
    assert found == pytest.approx(np.array([(1, 0), (1, 0), (0, 1)]), abs=1e-6)
    assert encoder.cut == 1


@given(st.lists(st.lists(st.sampled_from([*little_models.VECTORS, "x"])), max_size=70))
def test_a_text_has_the_same_vector_in_any_company(texts: list[list[str]]) -> None:
    encoder = _encoder()
    joined = [" ".join(text) for text in texts]
    for text, vector in zip(joined, vectors(encoder, joined), strict=True):
        assert vector == pytest.approx(encoder.query(text), abs=1e-6)


_KEPT: list[SentenceEncoder] = []


def _encoder() -> SentenceEncoder:
    """One for all examples, as opening one takes longer than running it."""
    return _KEPT[0]


@pytest.fixture(scope="module", autouse=True)
def _kept(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("models")
    model = little_models.encoder(folder / "quantised", quantised=True, most=512)
    # Its numbers are rounded by the largest of a batch, so texts must be run one by one.
    _KEPT.append(choose_encoder(EncoderChoice(str(model)), folder))


def test_an_index_gets_its_own_encoder_again(tmp_path: Path) -> None:
    folder = little_models.encoder(tmp_path / "models" / "m")
    settings = choose_encoder(EncoderChoice(str(folder), store="float16"), tmp_path).settings
    again = recorded_encoder(settings, tmp_path)
    assert again.settings == settings
    assert again.query("caritas") == pytest.approx((0.6, 0.8), abs=1e-6)
    # On another machine the folder may lie elsewhere: the data folder is looked in.
    (tmp_path / "encoders").mkdir()
    folder.rename(tmp_path / "encoders" / "m")
    assert recorded_encoder(settings, tmp_path).query("lux") == pytest.approx((0, 1), abs=1e-6)
    (tmp_path / "encoders" / "m").rename(tmp_path / "away")
    with pytest.raises(InputError, match=r"not there; put it back, or into .*encoders/m"):
        recorded_encoder(settings, tmp_path)
    little_models.encoder(folder, vectors={"lux": (1.0, 0.0)})
    with pytest.raises(SettingsMismatchError, match="built with another model than the one"):
        recorded_encoder(settings, tmp_path)


def test_faults_are_told_in_one_line(tmp_path: Path) -> None:
    def refused(model: Path | str, *told: str, pooling: str | None = None) -> None:
        with pytest.raises(InputError) as error:
            choose_encoder(EncoderChoice(str(model), pooling), tmp_path)
        assert all(part in str(error.value) for part in told), error.value

    refused(tmp_path / "no", "there is no folder", "OWNER/NAME")
    refused("", "there is no folder ''", "OWNER/NAME")
    (tmp_path / "empty").mkdir()
    (tmp_path / "verses.tsv").write_text("id\ttext\n")
    refused(tmp_path / "verses.tsv", "not an .onnx file; give one, or the folder of an export")
    refused(tmp_path / "empty", "no model.onnx", "docs/neural.md")
    silent = little_models.encoder(tmp_path / "silent", None)
    refused(silent, "--pooling mean, cls or max")
    refused(silent, "no output for pooling 'none'", "last_hidden_state", pooling="none")
    strange = little_models.encoder(tmp_path / "strange", "lasttoken")
    refused(strange, "pooling 'lasttoken' is not known")
    layered = little_models.encoder(tmp_path / "layered")
    (layered / "modules.json").write_text(
        json.dumps([{"type": f"sentence_transformers.models.{n}"} for n in ("Pooling", "Dense")])
    )
    refused(layered, "a layer after its pooling (Dense)", "sentence_embedding")
    wide = little_models.encoder(tmp_path / "wide", vectors={"lux": (1.0,) * 5000})
    refused(wide, "vectors of 5000 numbers", "4096")
    broken = little_models.encoder(tmp_path / "broken")
    (broken / "tokenizer.json").write_text("{}")
    refused(broken, "tokenizer.json: no tokenizer can be read")
    (broken / "tokenizer.json").unlink()
    refused(broken, "there is no tokenizer", "save_pretrained")
    cut = little_models.encoder(tmp_path / "cut")
    data = (cut / "model.onnx").read_bytes()
    (cut / "model.onnx").write_bytes(data[: len(data) // 2])
    refused(cut, "model.onnx: the model cannot be loaded")
    pairs = little_models.cross_encoder(tmp_path / "pairs")
    refused(pairs, "(logits) are no vectors of texts", "--set cross-encoder.model=MODEL")
    infinite = little_models.encoder(tmp_path / "infinite", vectors={"lux": (float("inf"), 0.0)})
    encoder = choose_encoder(EncoderChoice(str(infinite)), tmp_path)
    with pytest.raises(InputError, match="numbers that are not finite"):
        encoder.query("lux")


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(UsageError, match="--pooling must be one of mean, cls, max, none"):
        EncoderChoice("m", "sum")
    with pytest.raises(UsageError, match="--encoder-store must be one of int8, float16"):
        EncoderChoice("m", store="int4")


@pytest.mark.parametrize(
    "change",
    [{"dimension": 0}, {"dimension": "2"}, {"pooling": "sum"}, {"store": 1}, {"model": None}],
)
def test_damaged_settings_are_refused(change: dict[str, object]) -> None:
    whole = EncoderSettings("m", "r", 2, "mean", "", "", 16).to_json()
    assert EncoderSettings.from_json(whole).dimension == 2
    with pytest.raises(ValueError, match=next(iter(change))):
        EncoderSettings.from_json({**whole, **change})


def test_the_file_of_an_export_can_be_named(tmp_path: Path) -> None:
    folder = little_models.encoder(tmp_path / "m")
    (folder / "onnx").mkdir()
    small = (folder / "model.onnx").rename(folder / "onnx" / "model_small.onnx")
    with pytest.raises(InputError, match=r"no model\.onnx"):
        find_model(str(folder), tmp_path)
    files = find_model(str(small), tmp_path)
    assert (files.folder, files.onnx) == (folder, small)
    assert choose_encoder(EncoderChoice(str(small)), tmp_path).query("amor")[0] == 1


def test_a_cross_encoder_reads_pairs(tmp_path: Path) -> None:
    one = CrossEncoder(str(little_models.cross_encoder(tmp_path / "one")), tmp_path)
    passages = ["caritas", "odium", "ignotum", "amor caritas et"]
    # The query counts once, the passage twice.
    assert one.scores("amor", passages).tolist() == [5.0, -7.0, 1.0, 7.0]
    assert one.scores("amor", []).tolist() == []
    assert one.name.startswith("one sha256:")
    two = CrossEncoder(str(little_models.cross_encoder(tmp_path / "two", 2)), tmp_path)
    assert two.scores("amor", passages) == pytest.approx([5.0, -7.0, 1.0, 7.0])
    three = str(little_models.cross_encoder(tmp_path / "three", 3))
    with pytest.raises(UsageError, match="the model has 3 classes: set it to the one"):
        CrossEncoder(three, tmp_path)
    chosen = CrossEncoder(three, tmp_path, label=2).scores("amor", ["caritas"])
    assert chosen == pytest.approx([5 - np.log(2)])
    with pytest.raises(InputError, match="are no logits, so it is no cross-encoder"):
        CrossEncoder(str(little_models.encoder(tmp_path / "m")), tmp_path)


def test_long_pairs_are_cut_and_counted(tmp_path: Path) -> None:
    model = CrossEncoder(str(little_models.cross_encoder(tmp_path / "m", most=6)), tmp_path)
    model.scores("amor", ["caritas", "caritas " * 9])
    assert model.cut == 1
