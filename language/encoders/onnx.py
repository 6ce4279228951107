"""An ONNX model with its tokenizer: texts, or pairs of texts, in; arrays of numbers out.

onnxruntime and tokenizers are used directly and not by way of fastembed, whose list of known models
stands in the way of all others.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Integers, Singles
from allusion_es.core.errors import InputError
from allusion_es.language.encoders.models import ModelFiles, missing_package

if TYPE_CHECKING:
    from tokenizers import Encoding

Text = str | tuple[str, str]
"""A text, or a pair of texts that are read together."""

# TensorRT is left out: it builds an engine for minutes, whatever is asked.
_ACCELERATORS = (
    "CUDAExecutionProvider", "ROCMExecutionProvider", "MIGraphXExecutionProvider",
    "DmlExecutionProvider",
)  # fmt: skip

_TEXTS_TOGETHER, _TOKENS_TOGETHER = 32, 4_096
_TEXTS_ON_GPU, _TOKENS_ON_GPU = 256, 65_536
"""Limits of a batch, padding counted: some hundred MB of activations in a model of usual size."""

_DYNAMIC = b"DynamicQuantize"
"""In the name of an operation whose numbers depend on all texts of a batch."""

_CHUNK = 1 << 24

_PROBE = "et"
"""A text that is read once to see the shapes of a model's outputs."""


@dataclass(frozen=True, slots=True)
class OutputBatch:
    """Some texts and what the model gives for them.

    Attributes:
        places: Their places among all texts, shape (n,).
        encodings: Their tokens.
        mask: 1 for a token, 0 for padding, shape (n, tokens).
        values: The chosen output: a vector a text, shape (n, d), or a token, (n, tokens, d).
    """

    places: Integers
    encodings: "Sequence[Encoding]"
    mask: Integers
    values: Singles


class OnnxModel:
    """A model that is ready to be run.

    Args:
        files: Its files, with an export.
        max_tokens: Longer texts are cut.

    Attributes:
        ranks: For each output its number of dimensions: 2 for a vector a text, 3 for one a token.
        widths: For each output the length of its last dimension.
        cut: How many texts were cut.

    Raises:
        InputError: A file is missing or broken, or the model wants something else than texts.
        UsageError: A package is missing.
    """

    def __init__(self, files: ModelFiles, max_tokens: int) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise missing_package(error) from error
        assert files.onnx is not None
        self._path = files.onnx
        path = files.folder / "tokenizer.json"
        if not path.is_file():
            raise InputError(
                f"{path}: there is no tokenizer; write it with "
                "AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER)"
            )
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(max_tokens)
        except Exception as error:  # of a library in another language, without a type of its own
            raise InputError(f"{path}: no tokenizer can be read from it ({error})") from error
        self._padding = _padding(files, self._tokenizer.token_to_id)
        self.cut = 0
        there = onnxruntime.get_available_providers()
        gpu = [name for name in _ACCELERATORS if name in there]
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors; they are raised too
        # Threads that spin while they wait slow down all else on the machine.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if multiprocessing.parent_process() is not None:
            options.intra_op_num_threads = 1  # as many processes as processors are at work
        try:
            self._session = onnxruntime.InferenceSession(
                str(self._path), options, providers=[*gpu, "CPUExecutionProvider"]
            )
        except Exception as error:
            raise InputError(f"{self._path}: the model cannot be loaded ({_why(error)})") from error
        self._on_gpu = self._session.get_providers()[0] in _ACCELERATORS
        self._alone = _contains(self._path, _DYNAMIC)
        self._inputs = {each.name: each.type for each in self._session.get_inputs()}
        known = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
        if "input_ids" not in self._inputs or not self._inputs.keys() <= known:
            raise InputError(
                f"{self._path}: its inputs are {', '.join(self._inputs)}, which are not those of a "
                "model of texts"
            )
        names = [each.name for each in self._session.get_outputs()]
        probe = self._run(names, [self._tokenizer.encode(_PROBE)])[1]
        self.ranks = {name: array.ndim for name, array in zip(names, probe, strict=True)}
        self.widths = {name: array.shape[-1] for name, array in zip(names, probe, strict=True)}

    def batches(self, texts: Sequence[Text], output: str) -> Iterator[OutputBatch]:
        """What the model gives for texts, batch by batch: texts of like length come together.

        Batches depend on nothing but `texts` and the kind of processor.

        Raises:
            InputError: The model fails, or gives numbers that are none.
        """
        encodings = self._tokenizer.encode_batch(list(texts))
        self.cut += sum(bool(each.overflowing) for each in encodings)
        for places in self._cut([len(each.ids) for each in encodings]):
            chosen = [encodings[place] for place in places]
            mask, (values,) = self._run([output], chosen)
            if not np.isfinite(values).all():
                raise InputError(f"{self._path}: the model gives numbers that are not finite")
            yield OutputBatch(np.array(places), chosen, mask, values)

    def _cut(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Places of texts for each batch, shortest texts first."""
        most, tokens = (
            (_TEXTS_ON_GPU, _TOKENS_ON_GPU) if self._on_gpu else (_TEXTS_TOGETHER, _TOKENS_TOGETHER)
        )
        batch: list[int] = []
        for place in sorted(range(len(lengths)), key=lengths.__getitem__):
            # Texts come by length, so this one is the longest and all others are padded to it.
            full = len(batch) == most or (len(batch) + 1) * lengths[place] > tokens
            if batch and (full or self._alone):
                yield batch
                batch = []
            batch.append(place)
        if batch:
            yield batch

    def _run(
        self, outputs: Sequence[str], encodings: "Sequence[Encoding]"
    ) -> tuple[Integers, list[NDArray[np.float32]]]:
        """The mask of some texts, and the outputs for them."""
        shape = (len(encodings), max(len(each.ids) for each in encodings))
        feed: dict[str, NDArray[Any]] = {
            "input_ids": np.full(shape, self._padding),
            "attention_mask": np.zeros(shape, dtype=np.int64),
            "token_type_ids": np.zeros(shape, dtype=np.int64),
            "position_ids": np.tile(np.arange(shape[1]), (shape[0], 1)),
        }
        for row, each in enumerate(encodings):
            feed["input_ids"][row, : len(each.ids)] = each.ids
            feed["attention_mask"][row, : len(each.ids)] = 1
            feed["token_type_ids"][row, : len(each.ids)] = each.type_ids
        given = {
            name: feed[name].astype(np.int32 if "int32" in kind else np.int64)
            for name, kind in self._inputs.items()
        }
        try:
            values = self._session.run(list(outputs), given)
        except Exception as error:
            raise InputError(f"{self._path}: the model cannot be run ({_why(error)})") from error
        return feed["attention_mask"], [np.asarray(each, dtype=np.float32) for each in values]


def _padding(files: ModelFiles, id_of: Any) -> int:  # noqa: ANN401 - a method of a class in Rust
    """The number of the token that fills up short texts; it is masked, so any will do."""
    token = files.json("tokenizer_config.json").get("pad_token", "[PAD]")
    content = token.get("content") if isinstance(token, dict) else token
    found = id_of(content) if isinstance(content, str) else None
    return int(found) if found is not None else 0


def _contains(path: Any, name: bytes) -> bool:  # noqa: ANN401
    """Whether a file has these bytes."""
    tail = b""
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            if name in tail + chunk:
                return True
            tail = chunk[-len(name) :]
    return False


def _why(error: Exception) -> str:
    """The first line of what onnxruntime says, which may go on for pages."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
