"""The file that citation vectors are kept in: one byte a number, and no text."""

from allusion_es.core.arrays import Singles
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array, save_arrays
from allusion_es.language.analysis import AnalysisSettings

KIND = "citation vectors"
FORMAT = 1
"""Raised whenever the file changes in a way that older programs cannot read."""

_NAME = re.compile(r"[0-9A-Za-z_-]{1,64}")
_LARGEST = 127
_ZERO = 1e-30
"""Rows that are smaller are zero: single precision could not hold their scales."""



@dataclass(frozen=True, slots=True)
class CitationTable:
    """What training learns.

    Attributes:
        keys: Which token, lemma or gram each row stands for (`word_parts`), ascending, shape (n,).
        rows: Their vectors, shape (n, dimension), float32.
        lemma_keys: Lemmas that have a weight, ascending, shape (m,).
        lemma_weights: `exp(b) idf` of each, shape (m,), float32.
        unknown_weight: The weight of any other lemma.
    """

    keys: NDArray[np.int64]
    rows: Singles
    lemma_keys: NDArray[np.int64]
    lemma_weights: Singles
    unknown_weight: float


def save_citation_vectors(
    path: Path, table: CitationTable, settings: AnalysisSettings, about: Mapping[str, Any]
) -> str:
    """Write a table with one byte a number and a scale a row, whole or not at all.

    Args:
        path: The file.
        table: What was learned.
        settings: How the texts were analysed; others cannot use it.
        about: What it was learned from, as JSON.

    Returns:
        The model's name: it names the content, so no two models have the same.

    Raises:
        StorageError: The file cannot be written.
    """
    numbers, scales = to_bytes(table.rows)
    arrays: dict[str, Array] = {
        "keys": table.keys,
        "rows": numbers,
        "scales": scales,
        "lemma_keys": table.lemma_keys,
        "lemma_weights": table.lemma_weights,
    }
    meta = {
        "kind": KIND,
        "format": FORMAT,
        "settings": asdict(settings),
        "unknown_weight": table.unknown_weight,
        "about": dict(about),
    }
    digest = hashlib.sha256(json.dumps(meta, sort_keys=True).encode())
    for array in arrays.values():
        digest.update(np.ascontiguousarray(array).data)
    name = digest.hexdigest()[:16]
    save_arrays(path, {**meta, "name": name}, arrays)
    return name


def is_name(name: str) -> bool:
    """Whether a name can be that of citation vectors; it becomes part of a path.

    Example:
        >>> is_name("0f3a"), is_name("../0f3a")
        (True, False)
    """
    return _NAME.fullmatch(name) is not None


def to_bytes(rows: Singles) -> tuple[NDArray[np.int8], Singles]:
    """Vectors as whole numbers from -127 to 127, and what to multiply each row by.

    Args:
        rows: Shape (n, dimension).

    Returns:
        Shapes (n, dimension) and (n,).

    Example:
        >>> numbers, scales = to_bytes(np.array([[0.5, -1.0], [0.0, 0.0]], dtype=np.float32))
        >>> numbers.tolist(), scales.round(4).tolist()
        ([[64, -127], [0, 0]], [0.007899999618530273, 0.0])
    """
    largest = np.abs(rows).max(axis=1, initial=0.0).astype(np.float64)
    largest[largest < _ZERO] = 0.0
    steps = np.divide(_LARGEST, largest, out=np.zeros(len(rows)), where=largest > 0)
    numbers = np.rint(rows * steps[:, None]).astype(np.int8)
    return numbers, (largest / _LARGEST).astype(np.float32)
