"""What training has learned so far, kept in a file in case it is interrupted."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import ArrayFile, save_arrays
from allusion_es.core.checked_arrays import CheckedArrays
from allusion_es.core.errors import IndexDamagedError


def _told(meta: Mapping[str, Any]) -> tuple[int, list[str]]:
    """How many epochs are done, and the names of the arrays, as a header has them."""
    epochs, names = meta["epochs"], list(meta["names"])
    if type(epochs) is not int or epochs < 0 or not all(isinstance(each, str) for each in names):
        raise TypeError("epochs or names")
    return epochs, names


class Checkpoint:
    """A file with the state of one training.

    Args:
        path: The file, or None to keep nothing.
        fingerprint: What two trainings have in common that give the same result; a file of
            another training is not gone on from.
    """

    def __init__(self, path: Path | None, fingerprint: Mapping[str, object]) -> None:
        self._path = path
        self._fingerprint = json.loads(json.dumps(fingerprint))

    def load(self) -> tuple[int, dict[str, NDArray[np.float32]]] | None:
        """How many epochs are done and the arrays that were saved; None where there is nothing."""
        if self._path is None:
            return None
        try:
            file = ArrayFile(self._path, "delete it")
            if file.meta.get("fingerprint") != self._fingerprint:
                return None
            checked = CheckedArrays(file)
            epochs, names = checked.told(_told)
            return epochs, {name: checked.singles(name) for name in names}
        except (OSError, IndexDamagedError):
            return None  # training begins anew, and writes another

    def save(self, epochs: int, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep the state after so many epochs.

        Raises:
            StorageError: The file cannot be written.
        """
        if self._path is not None:
            meta = {"fingerprint": self._fingerprint, "epochs": epochs, "names": list(arrays)}
            save_arrays(self._path, meta, arrays)

    def remove(self) -> None:
        """Training is done: delete the file."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
