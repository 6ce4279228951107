"""Sentence encoders: a unit vector for each text, and the parts of a cosine by pairs of words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers, Singles
from allusion_es.core.caches import LruCache
from allusion_es.core.errors import InputError, SettingsMismatchError
from allusion_es.language.encoders.models import ModelFiles, find_model, find_recorded
from allusion_es.language.encoders.onnx import OnnxModel
from allusion_es.language.encoders.settings import (
    MOST_DIMENSIONS,
    EncoderChoice,
    EncoderSettings,
    Pooling,
    Store,
)

_KEPT_QUERIES = 256
"""Vectors of queries that are kept, since a first stage and a reranker both ask for them."""

_NO_SENTENCE = frozenset({"logits", "pooler_output"})
"""Outputs with one row a text that are no vector of it: of a classifier, of BERT's first task."""


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The vectors of a text's tokens, whose sum has the direction of the text's vector.

    Attributes:
        spans: Begin and end of each token in the text; (0, 0) for the tokens of the model's own and
            of the prefix.
        vectors: Shape (tokens, dimension).
    """

    spans: Sequence[tuple[int, int]]
    vectors: Floats


class SentenceEncoder(Protocol):
    """Encodes texts as unit vectors.

    Attributes:
        settings: What an index remembers of it.
    """

    settings: EncoderSettings

    @property
    def cut(self) -> int:
        """How many texts were too long for the model and were cut, since it was opened."""
        ...

    def passages(self, texts: Sequence[str]) -> Iterator[tuple[Integers, Singles]]:
        """Unit vectors of passages, batch by batch.

        Yields:
            The places of some texts, shape (n,), and their vectors, (n, dimension).
        """
        ...

    def query(self, text: str) -> Singles:
        """The unit vector of a query, shape (dimension,); encoded alone, so always the same."""
        ...

    def tokens(self, text: str, *, is_query: bool) -> TokenVectors | None:
        """The vectors of a text's tokens; None where the text's vector is not their sum."""
        ...


def choose_encoder(choice: EncoderChoice, folder: Path) -> SentenceEncoder:
    """The encoder of a user's choice.

    Args:
        choice: The choice.
        folder: The data folder, into which a model of the hub is fetched.

    Raises:
        InputError: There is no such model, a file is missing or broken, or its pooling is unknown.
        DownloadError: It cannot be fetched.
        UsageError: A package is missing.
    """
    files = find_model(choice.model, folder)
    query = files.prefix("query") if choice.query_prefix is None else choice.query_prefix
    passage = choice.passage_prefix
    if passage is None:
        passage = files.prefix("passage", "document")
    store: Store = "float16" if choice.store == "float16" else "int8"
    if files.onnx is None:
        return SentenceTransformersEncoder(files, query, passage, store)
    tokens = files.max_tokens()
    model = OnnxModel(files, tokens)
    pooling, output = _pooling(files, model, choice.pooling)
    dimension = model.widths[output]
    if dimension > MOST_DIMENSIONS:
        raise InputError(
            f"{files.onnx}: vectors of {dimension} numbers; an index takes {MOST_DIMENSIONS} at "
            "most"
        )
    return OnnxEncoder(
        model,
        output,
        EncoderSettings(
            files.model, files.revision, dimension, pooling, query, passage, tokens, store
        ),
    )


def recorded_encoder(settings: EncoderSettings, folder: Path) -> SentenceEncoder:
    """The encoder that an index was built with, without any network.

    Args:
        settings: The index's.
        folder: The data folder.

    Raises:
        InputError: It is not on this machine, or a file is broken.
        SettingsMismatchError: It has changed since.
        UsageError: A package is missing.
    """
    files = find_recorded(settings.model, settings.revision, folder)
    found: SentenceEncoder
    if files.onnx is None:
        found = SentenceTransformersEncoder(
            files, settings.query_prefix, settings.passage_prefix, settings.store
        )
    else:
        model = OnnxModel(files, settings.max_tokens)
        _, output = _pooling(files, model, settings.pooling)
        found = OnnxEncoder(model, output, settings)
        if model.widths[output] != settings.dimension:
            raise SettingsMismatchError(
                f"the index has vectors of {settings.dimension} numbers, the model in "
                f"{files.folder} gives {model.widths[output]}; build the index again"
            )
    return found


def _pooling(files: ModelFiles, model: OnnxModel, chosen: str | None) -> tuple[Pooling, str]:
    """How a model's outputs become one vector, and the name of the output that is used.

    Raises:
        InputError: It is not known, or the model has no such output.
    """
    whole = [name for name, rank in model.ranks.items() if rank == 2 and name not in _NO_SENTENCE]
    whole.sort(key=lambda name: name != "sentence_embedding")
    by_token = [name for name, rank in model.ranks.items() if rank == 3]
    pooling = chosen
    if pooling is None:
        if whole and (whole[0] == "sentence_embedding" or not by_token):
            pooling = "none"
        elif by_token:
            pooling = files.pooling()
            if pooling is not None and (layers := files.layers_after_pooling()):
                raise InputError(
                    f"{files.folder}: the model has a layer after its pooling "
                    f"({', '.join(layers)}), which the export lacks; export the whole model, with "
                    "an output sentence_embedding"
                )
        else:
            raise InputError(
                f"{files.onnx}: its outputs ({', '.join(model.ranks)}) are no vectors of texts; a "
                "cross-encoder is set with --set cross-encoder.model=MODEL"
            )
    outputs = whole if pooling == "none" else by_token
    if pooling is None:
        raise InputError(
            f"{files.folder}: nothing there says how the vectors of tokens become one; say it with "
            "--pooling mean, cls or max"
        )
    if not outputs:
        raise InputError(
            f"{files.onnx}: no output for pooling {pooling!r}; there are {', '.join(model.ranks)}"
        )
    known: dict[str, Pooling] = {"mean": "mean", "cls": "cls", "max": "max", "none": "none"}
    return known[pooling], outputs[0]


class OnnxEncoder:
    """A sentence encoder that is an ONNX model.

    Args:
        model: The model.
        output: The output that is used.
        settings: What an index remembers.

    Attributes:
        settings: As given.
    """

    def __init__(self, model: OnnxModel, output: str, settings: EncoderSettings) -> None:
        self._model = model
        self._output = output
        self.settings = settings
        self._queries: LruCache[str, Singles] = LruCache(_KEPT_QUERIES)

    @property
    def cut(self) -> int:
        """How many texts were too long for the model and were cut."""
        return self._model.cut

    def passages(self, texts: Sequence[str]) -> Iterator[tuple[Integers, Singles]]:
        """Unit vectors of passages, batch by batch, as `SentenceEncoder.passages` gives them."""
        prefix = self.settings.passage_prefix
        for batch in self._model.batches([prefix + text for text in texts], self._output):
            yield batch.places, unit(pooled(batch.values, batch.mask, self.settings.pooling))

    def query(self, text: str) -> Singles:
        """The unit vector of a query, shape (dimension,)."""
        vector = self._queries.get(text)
        if vector is None:
            prefixed = [self.settings.query_prefix + text]
            (batch,) = self._model.batches(prefixed, self._output)
            vector = unit(pooled(batch.values, batch.mask, self.settings.pooling))[0]
            self._queries.put(text, vector)
        return vector

    def tokens(self, text: str, *, is_query: bool) -> TokenVectors | None:
        """The vectors of a text's tokens; None unless the model's pooling is the mean."""
        if self.settings.pooling != "mean":
            return None
        prefix = self.settings.query_prefix if is_query else self.settings.passage_prefix
        (batch,) = self._model.batches([prefix + text], self._output)
        start = len(prefix)
        spans = [
            (max(first - start, 0), last - start) if last > max(first, start) else (0, 0)
            for first, last in batch.encodings[0].offsets
        ]
        return TokenVectors(spans, batch.values[0].astype(np.float64))


class SentenceTransformersEncoder:
    """A sentence encoder of sentence-transformers, taken as it is, with its pooling and layers.

    Args:
        files: Its files.
        query_prefix: Put before each query.
        passage_prefix: Put before each passage.
        store: How an index keeps its vectors.

    Attributes:
        settings: What an index remembers.

    Raises:
        InputError: sentence-transformers cannot load it.
    """

    def __init__(
        self, files: ModelFiles, query_prefix: str, passage_prefix: str, store: Store
    ) -> None:
        from sentence_transformers import SentenceTransformer

        try:
            self._model: Any = SentenceTransformer(str(files.folder), local_files_only=True)
        except Exception as error:
            raise InputError(f"{files.folder}: the model cannot be loaded ({error})") from error
        probe = self._model.encode([""], show_progress_bar=False)
        self.settings = EncoderSettings(
            files.model,
            files.revision,
            int(np.asarray(probe).shape[1]),
            "none",
            query_prefix,
            passage_prefix,
            int(self._model.max_seq_length or 1 << 20),
            store,
        )
        self.cut = 0
        self._queries: LruCache[str, Singles] = LruCache(_KEPT_QUERIES)

    def passages(self, texts: Sequence[str]) -> Iterator[tuple[Integers, Singles]]:
        """Unit vectors of passages, as `SentenceEncoder.passages` gives them: all at once."""
        vectors = self._encoded([self.settings.passage_prefix + text for text in texts])
        yield np.arange(len(texts)), vectors

    def query(self, text: str) -> Singles:
        """The unit vector of a query, shape (dimension,)."""
        vector = self._queries.get(text)
        if vector is None:
            vector = self._encoded([self.settings.query_prefix + text])[0]
            self._queries.put(text, vector)
        return vector

    def tokens(self, text: str, *, is_query: bool) -> None:
        """None: layers of its own may come after the pooling."""
        return None

    def _encoded(self, texts: list[str]) -> Singles:
        counted = self._model.tokenizer(texts, truncation=False, verbose=False)["input_ids"]
        self.cut += sum(len(ids) > self.settings.max_tokens for ids in counted)
        # Prefixes are in the texts, so the model's own prompts must not come before them again.
        vectors = self._model.encode(texts, prompt="", show_progress_bar=False)
        return unit(np.asarray(vectors, dtype=np.float32))


def cut_warnings(encoder: SentenceEncoder | None) -> tuple[str, ...]:
    """How many texts an encoder has cut, as a line for people; none if it cut none."""
    if encoder is None or not encoder.cut:
        return ()
    settings = encoder.settings
    return (
        f"{encoder.cut} texts are longer than the {settings.max_tokens} tokens that "
        f"{settings.name} reads, and were cut",
    )


def pooled(values: Singles, mask: Integers, pooling: Pooling) -> Singles:
    """One vector a text, shape (texts, d).

    Args:
        values: Vectors of tokens, shape (texts, tokens, d); of texts, (texts, d), for `none`.
        mask: 1 for a token, 0 for padding, shape (texts, tokens).
        pooling: How they become one.

    Example:
        >>> tokens = np.array([[[1.0, 0.0], [3.0, 2.0], [9.0, 9.0]]], dtype=np.float32)
        >>> mask = np.array([[1, 1, 0]])
        >>> [pooled(tokens, mask, kind).tolist() for kind in ("mean", "cls", "max")]
        [[[2.0, 1.0]], [[1.0, 0.0]], [[3.0, 2.0]]]
    """
    if pooling == "none":
        return values
    if pooling == "cls":
        return np.asarray(values[:, 0])
    kept = mask[:, :, None].astype(bool)
    if pooling == "max":
        return np.asarray(np.where(kept, values, -np.inf).max(axis=1), dtype=np.float32)
    counts = np.maximum(mask.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.where(kept, values, 0).sum(axis=1) / counts, dtype=np.float32)


def unit(vectors: NDArray[np.float32]) -> Singles:
    """Vectors made unit length; zeros stay zeros. Same shape."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    units = np.divide(vectors, lengths, out=np.zeros(vectors.shape), where=lengths > 0)
    return np.asarray(units, dtype=np.float32)
