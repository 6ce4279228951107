"""The options of a scan, and the fitted models that say how likely a segment alludes.

A model is a logistic regression on the features of a segment, and may have trees that correct it.
`scan.json` holds three of them, with the precision and recall that were measured at each threshold.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import UsageError
from allusion_es.rerankers._shared.trees import Tree, Trees
from allusion_es.retrieval.types import SearchFilter
from allusion_es.scanning.features import NAMES, ORDER

MOST = 6
"""Passages that a finding names at most: its own and five others."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """The options of a scan.

    Attributes:
        threshold: The probability that findings need; None for the model's own.
        precision: Instead: the threshold at which this precision was measured; or None.
        fast: Look only at what is clear, several times as fast.
        top: How many passages a finding names, with its alternatives.
        search_filter: Which passages may be found.

    Raises:
        UsageError: A number is out of its range, or both thresholds are given.
    """

    threshold: float | None = None
    precision: float | None = None
    fast: bool = False
    top: int = MOST
    search_filter: SearchFilter = field(default_factory=SearchFilter)

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise UsageError(
                f"give a number from 0 to 1, not {self.threshold:g}", argument="threshold"
            )
        if self.threshold is not None and self.precision is not None:
            raise UsageError("threshold and precision say the same thing; give one of them")
        if not 1 <= self.top <= MOST:
            raise UsageError(f"give a number from 1 to {MOST}, not {self.top}", argument="top")


FORMAT = 2
"""Version of `scan.json`; raised whenever the file or the meaning of a feature changes."""

_FILE = "scan.json"
"""The fitted models, made by `learning.scan_model`."""

_NEAR = 0.03
"""Distance up to which a point's figures are told of another threshold; points are 0.05 apart."""

MODELS = ("default", "words", "fast")
"""The model with citation vectors, the one without, and the one for `--fast`."""

RANKED = "ranked"
"""The model for collections other than the Bible, which are read by the ranker (`ranked`)."""

_RANKED_FILE = "epic.json"
"""That model, as it was learned from the links of the ranker that comes along for them."""

SCORE = ("score",)
"""Its only feature: the ranker's score of the passage for the words around the segment."""


DOUBT = -6.0
"""Log odds below which trees are not asked: they would change them, but not make a finding."""


@dataclass(frozen=True, slots=True)
class Point:
    """Precision and recall that were measured at a threshold.

    Attributes:
        threshold: Findings of at least this probability are kept.
        precision: The share of them that an editor's reference confirms.
        recall: The share of the editors' references that they find.
    """

    threshold: float
    precision: float
    recall: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted model.

    Attributes:
        bias: Log odds of a segment whose features are 0.
        weights: One for each of `features.NAMES`.
        threshold: The probability that findings need by default.
        points: Measured figures, by ascending threshold.
        trees: What they sum to is added to the log odds; none by default.
    """

    bias: float
    weights: tuple[float, ...]
    threshold: float
    points: tuple[Point, ...] = ()
    trees: tuple[Tree, ...] = ()

    def log_odds(self, features: Floats) -> Floats:
        """The log odds of each row of features, shape (n,)."""
        odds = np.asarray(features @ np.array(self.weights) + self.bias)
        if self.trees:
            asked = odds >= DOUBT
            odds[asked] += _prepared(self.trees).sums(features[asked])
        return odds

    def probabilities(self, features: Floats) -> Floats:
        """The probability of each row of features, from 0 to 1, shape (n,).

        Example:
            >>> model = Calibration(0.0, (1.0,) + (0.0,) * (len(NAMES) - 1), 0.5)
            >>> model.probabilities(np.zeros((1, len(NAMES)))).tolist()
            [0.5]
        """
        return probabilities_of(self.log_odds(features))

    def promising(self, features: Floats, least: float) -> NDArray[np.bool_]:
        """Whether each row of features may have at least some probability, shape (n,).

        Args:
            features: The columns `features.ORDER` are the highest that they may be.
            least: The probability, above 0 and below 1.

        Example:
            >>> weights = [0.0] * len(NAMES)
            >>> weights[ORDER[0]] = 2.0
            >>> model = Calibration(-3.0, tuple(weights), 0.5)
            >>> rows = np.zeros((2, len(NAMES)))
            >>> rows[1, ORDER[0]] = 1.5
            >>> model.promising(rows, 0.5).tolist()
            [False, True]
        """
        weights = np.array(self.weights)
        weights[list(ORDER)] = np.maximum(weights[list(ORDER)], 0)  # they may be 0, too
        wanted = math.log(least / (1 - least))
        # Those that trees are not asked for stay as they are.
        return np.asarray(
            features @ weights + self.bias >= (min(wanted, DOUBT) if self.trees else wanted)
        )

    def nearest(self, threshold: float) -> Point | None:
        """The point whose threshold is nearest to this one, or None if there are no points."""
        return min(self.points, key=lambda point: abs(point.threshold - threshold), default=None)

    def measured(self, threshold: float) -> Point | None:
        """The point at this threshold, or at one at most `_NEAR` from it; None if there is none.

        Example:
            >>> model = Calibration(0.0, (), 0.5, (Point(0.5, 0.8, 0.4), Point(0.6, 0.9, 0.3)))
            >>> model.measured(0.52).threshold, model.measured(0.95)
            (0.5, None)
        """
        point = self.nearest(threshold)
        return point if point and abs(point.threshold - threshold) <= _NEAR else None

    def threshold_for(self, precision: float) -> float:
        """The least threshold at which at least this precision was measured, and above it.

        Raises:
            UsageError: No threshold has it, or it is not between 0 and 1.
        """
        if not 0 < precision < 1:
            raise UsageError(
                f"give a number between 0 and 1, not {precision:g}", argument="precision"
            )
        chosen = None
        for point in reversed(self.points):
            if point.precision < precision:
                break
            chosen = point.threshold
        if chosen is None:
            best = max((point.precision for point in self.points), default=0.0)
            raise UsageError(
                f"no threshold has a measured precision of {precision:g}; the best is {best:.2f}",
                argument="precision",
            )
        return chosen

    def to_json(self) -> dict[str, object]:
        """The model as plain values, for `parse_calibration`; trees ask for features by number."""
        numbers = {name: number for number, name in enumerate(NAMES)}
        return {
            "bias": self.bias,
            "weights": list(self.weights),
            "threshold": self.threshold,
            "points": [[p.threshold, p.precision, p.recall] for p in self.points],
            "trees": [
                [
                    [numbers[name] for name in tree.features],
                    list(tree.thresholds),
                    list(tree.lefts),
                    list(tree.rights),
                    list(tree.leaves),
                ]
                for tree in self.trees
            ],
        }


def probabilities_of(log_odds: Floats) -> Floats:
    """The probabilities of log odds, from 0 to 1, same shape."""
    # Clipped, since exp overflows above 709; at 50 the probability is 1 in float64.
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -50, 50))))


@lru_cache(maxsize=16)
def _prepared(trees: tuple[Tree, ...]) -> Trees:
    return Trees(trees, NAMES)


def calibration(name: str) -> Calibration:
    """The fitted model of that name that comes with the program.

    Args:
        name: One of `MODELS`, or `RANKED`.
    """
    if name == RANKED:
        return ranked_calibration(shipped(_RANKED_FILE))
    return parse_calibration(shipped(), name)


def ranked_calibration(data: Mapping[str, object]) -> Calibration:
    """The model of a scan by the ranker from the plain values of a file.

    Raises:
        UsageError: The file is of another format.
    """
    return parse_calibration(data, RANKED, SCORE)


def calibration_hash() -> str:
    """A hash of the files of models, which are no code but change findings too."""
    folder = files("allusion_es.scanning")
    data = b"".join((folder / name).read_bytes() for name in (_FILE, _RANKED_FILE))
    return hashlib.sha256(data).hexdigest()


def parse_calibration(
    data: Mapping[str, object], name: str, features: Sequence[str] = NAMES
) -> Calibration:
    """A model from the plain values of a file.

    Args:
        data: The plain values.
        name: The model's name in the file.
        features: The features that it has to be for.

    Raises:
        UsageError: The file is of another format, or for other features.
    """
    if data.get("format") != FORMAT or data.get("features") != list(features):
        raise UsageError("the scan's calibration does not fit this program; install it again")
    models = data["models"]
    assert isinstance(models, dict)
    model = models[name]
    points = tuple(Point(*row) for row in model["points"])
    weights: Sequence[float] = model["weights"]
    trees = tuple(
        Tree(tuple(NAMES[number] for number in asked), *(tuple(each) for each in rest))
        for asked, *rest in model["trees"]
    )
    return Calibration(model["bias"], tuple(weights), model["threshold"], points, trees)


@cache
def shipped(name: str = _FILE) -> Mapping[str, object]:
    """The plain values of a file that comes with the program."""
    text = (files("allusion_es.scanning") / name).read_text(encoding="utf-8")
    data: Mapping[str, object] = json.loads(text)
    return data
