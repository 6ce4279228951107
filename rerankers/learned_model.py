"""The file of a learned ranker: features, scales and weights, as text."""

from allusion_es.core.arrays import Floats
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from allusion_es.core.errors import InputError
from allusion_es.core.files import writing

_FIRST = "allusion-es ranker 1"
"""First line of a file: what it is, and its format."""


@dataclass(frozen=True, slots=True)
class LearnedModel:
    """How much features count: `score = sum over features f of weight_f value_f / scale_f`.

    Attributes:
        about: What it was learned from, name to text.
        sets: For `citations` and `words`, with and without citation vectors: each feature's
            weight divided by its scale.
    """

    about: Mapping[str, str]
    sets: Mapping[str, Mapping[str, float]]

    def weights(self, kind: str, names: Sequence[str]) -> Floats:
        """The weight of each feature, shape (len(names),).

        Args:
            kind: `citations` or `words`.
            names: Of the features.

        Raises:
            InputError: The model was made for other features.
        """
        known = self.sets.get(kind, {})
        if set(known) != set(names):
            other = sorted(set(known) ^ set(names))
            raise InputError(
                f"the ranker has other features than this program ({kind}: {', '.join(other)}); "
                "make it again with benchmarks/train_ranker.py"
            )
        return np.array([known[name] for name in names])


def write_model(
    path: Path,
    about: Mapping[str, str],
    sets: Mapping[str, tuple[Sequence[str], Floats, Floats]],
) -> None:
    """Write a ranker's file, whole or not at all.

    Args:
        path: The file.
        about: What it was learned from.
        sets: For each kind names, scales and weights, shape (features,) both.

    Raises:
        StorageError: It cannot be written.
    """
    lines = [_FIRST, *(f"about\t{key}\t{text}" for key, text in about.items())]
    for kind, (names, scales, weights) in sets.items():
        for name, scale, weight in zip(names, scales.tolist(), weights.tolist(), strict=True):
            lines.append(f"{kind}\t{name}\t{scale:.6g}\t{weight:.6g}")
    with writing(path) as file:
        file.write(("\n".join(lines) + "\n").encode())


def read_model(path: Path) -> LearnedModel:
    """The ranker in a file.

    Raises:
        InputError: It cannot be read, or is something else; the message names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    if not lines or lines[0] != _FIRST:
        raise InputError(f"{path}:1: not a ranker; it must begin with {_FIRST!r}")
    about: dict[str, str] = {}
    sets: dict[str, dict[str, float]] = {}
    for number, line in enumerate(lines[1:], start=2):
        kind, *rest = line.split("\t")
        if kind == "about" and len(rest) == 2:
            about[rest[0]] = rest[1]
            continue
        sets.setdefault(kind, {})[rest[0] if rest else ""] = _weight(rest, f"{path}:{number}")
    return LearnedModel(about, sets)


def _weight(cells: Sequence[str], place: str) -> float:
    try:
        _, scale, weight = cells
        value = float(weight) / float(scale)
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{place}: not kind, feature, scale above 0 and weight, with tabs")
    return value
