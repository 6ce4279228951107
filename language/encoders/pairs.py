"""Cross-encoders: models that read a query and a passage together and give one number."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import InputError, UsageError
from allusion_es.language.encoders.models import find_model
from allusion_es.language.encoders.onnx import OnnxModel

_LOGITS = "logits"

_MOST_CLASSES = 32
"""More numbers a text are the vector of an encoder."""


class CrossEncoder:
    """A model of pairs of texts, such as BERT with a head for classes.

    With one class the score is its logit; with two, how much the second's logit is above the
    first's, the log-odds of "yes"; with more, the log-odds of the chosen class.

    Args:
        model: See `EncoderChoice.model`.
        folder: The data folder, into which a model of the hub is fetched.
        label: The number of the class that means "alludes", from 0; -1 for the last of two, or the
            only one.

    Attributes:
        name: The model and its revision, for people.

    Raises:
        InputError: There is no such model, a file is missing or broken, or it gives no logits.
        DownloadError: It cannot be fetched.
        UsageError: A package is missing, or there is no such class.
    """

    def __init__(self, model: str, folder: Path, label: int = -1) -> None:
        files = find_model(model, folder)
        if files.onnx is None:
            raise InputError(
                f"{files.folder}: there is no model.onnx; export the cross-encoder (docs/neural.md)"
            )
        self.name = f"{files.folder.name if Path(files.model).is_absolute() else files.model} "
        self.name += files.revision[:19]
        self._model = OnnxModel(files, files.max_tokens())
        outputs = [name for name, rank in self._model.ranks.items() if rank == 2]
        outputs.sort(key=lambda name: name != _LOGITS)
        if not outputs or self._model.widths[outputs[0]] > _MOST_CLASSES:
            raise InputError(
                f"{files.onnx}: its outputs ({', '.join(self._model.ranks)}) are no logits, so it "
                "is no cross-encoder; export it as text-classification"
            )
        self._output = outputs[0]
        classes = self._model.widths[self._output]
        if label >= classes or label < -1 or (label == -1 and classes > 2):
            raise UsageError(
                f"cross-encoder.label is {label}, but the model has {classes} classes: set it to "
                f"the one that means that a passage is alluded to, from 0 to {classes - 1}"
            )
        self._label = label if label >= 0 else classes - 1

    @property
    def cut(self) -> int:
        """How many pairs were too long for the model and were cut, since it was opened."""
        return self._model.cut

    def scores(self, query: str, passages: Sequence[str]) -> Floats:
        """The score of each passage, shape (len(passages),), higher is better."""
        scores = np.zeros(len(passages))
        pairs = [(query, passage) for passage in passages]
        if pairs:
            for batch in self._model.batches(pairs, self._output):
                scores[batch.places] = log_odds(batch.values.astype(np.float64), self._label)
        return scores


def log_odds(logits: Floats, label: int) -> Floats:
    """The log-odds of a class against all others; of a single class its logit. Shape (n,).

    Args:
        logits: Shape (n, classes).
        label: The class.

    Example:
        >>> log_odds(np.array([[2.5]]), 0).tolist(), log_odds(np.array([[1.0, 4.0]]), 1).tolist()
        ([2.5], [3.0])
    """
    own = logits[:, label]
    others = np.delete(logits, label, axis=1)
    if not others.shape[1]:
        return np.asarray(own)
    largest = others.max(axis=1)
    sums = np.log(np.exp(others - largest[:, None]).sum(axis=1))
    return np.asarray(own - (largest + sums))
