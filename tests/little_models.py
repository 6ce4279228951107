"""Language models small enough to reckon with by hand: real ONNX files and real tokenizers."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

VECTORS = {
    "amor": (1.0, 0.0),
    "caritas": (0.6, 0.8),
    "odium": (-1.0, 0.0),
    "lux": (0.0, 1.0),
    "query": (0.0, 3.0),
}
"""The vectors of words; those of all others, and of [CLS] and [SEP], are zeros."""

WEIGHTS = {"amor": 1.0, "caritas": 2.0, "odium": -4.0}
"""What words add to the score of a pair; those of the second text count twice."""

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def encoder(
    folder: Path,
    pooling: str | None = "mean_tokens",
    vectors: Mapping[str, tuple[float, ...]] = VECTORS,
    *,
    most: int = 16,
    inside: bool = False,
    quantised: bool = False,
) -> Path:
    """Write an encoder whose token vectors are `vectors`, and give its folder.

    Args:
        folder: Where.
        pooling: What its files say of pooling; None for nothing.
        vectors: Of words.
        most: Tokens that it reads.
        inside: Whether the mean is taken in the model, which gives a vector a text.
        quantised: Whether it rounds vectors by the largest of the whole batch.
    """
    tokenizer(folder, list(vectors), most)
    if pooling is not None:
        (folder / "1_Pooling").mkdir()
        config = {
            f"pooling_mode_{pooling}": True,
            "pooling_mode_max_tokens": pooling == "max_tokens",
        }
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    width = len(next(iter(vectors.values())))
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["found"])]
    if quantised:
        nodes.append(
            helper.make_node("DynamicQuantizeLinear", ["found"], ["bytes", "step", "zero"])
        )
        nodes.append(helper.make_node("DequantizeLinear", ["bytes", "step", "zero"], ["rounded"]))
    shape: list[str | int] = ["texts", "tokens", width]
    name = "last_hidden_state"
    if inside:
        name, shape = "sentence_embedding", ["texts", width]
        nodes.append(helper.make_node("ReduceSum", ["found", "axis"], [name], keepdims=0))
    else:
        last = "rounded" if quantised else "found"
        nodes.append(helper.make_node("Identity", [last], [name]))
    constants = {"table": _table(vectors, width), "axis": np.array([1])}
    _save(folder, nodes, name, shape, constants, ["input_ids", "attention_mask"])
    return folder


def cross_encoder(folder: Path, classes: int = 1, most: int = 16) -> Path:
    """Write a model whose logit for a pair is the sum of `WEIGHTS`, and give its folder.

    With more classes, the first have the logit 0.
    """
    tokenizer(folder, list(WEIGHTS), most)
    table = {word: (*[0.0] * (classes - 1), weight) for word, weight in WEIGHTS.items()}
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["found"]),
        helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["types", "mask"], ["factors"]),
        helper.make_node("Unsqueeze", ["factors", "last"], ["column"]),
        helper.make_node("Mul", ["found", "column"], ["weighed"]),
        helper.make_node("ReduceSum", ["weighed", "axis"], ["logits"], keepdims=0),
    ]
    constants = {"table": _table(table, classes), "axis": np.array([1]), "last": np.array([2])}
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    _save(folder, nodes, "logits", ["texts", classes], constants, inputs)
    return folder


def parameters(
    folder: Path, vectors: Mapping[str, tuple[float, ...]]
) -> Mapping[str, Mapping[str, str]]:
    """Write a model for each reranker that has to be given one, and give their parameters."""
    written = {
        "encoder-cosine": encoder(folder / "encoder", vectors=vectors, most=64),
        "cross-encoder": cross_encoder(folder / "pairs", most=64),
    }
    return {name: {"model": str(model)} for name, model in written.items()}


def tokenizer(folder: Path, words: list[str], most: int) -> None:
    """Write a tokenizer of words between [CLS] and [SEP]."""
    folder.mkdir(parents=True)
    numbers = {word: number for number, word in enumerate([*_SPECIAL, *words])}
    made = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, numbers[name]) for name in ("[CLS]", "[SEP]")],
    )
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": most}))


def _table(vectors: Mapping[str, tuple[float, ...]], width: int) -> np.ndarray:
    rows = [(0.0,) * width] * len(_SPECIAL) + list(vectors.values())
    return np.array(rows, dtype=np.float32)


def _save(
    folder: Path,
    nodes: list[onnx.NodeProto],
    output: str,
    shape: list[str | int],
    constants: Mapping[str, np.ndarray],
    inputs: list[str],
) -> None:
    graph = helper.make_graph(
        nodes,
        "little",
        [helper.make_tensor_value_info(n, TensorProto.INT64, ["texts", "tokens"]) for n in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    # Versions that the oldest onnxruntime of the extra reads.
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    onnx.save(model, folder / "model.onnx")
