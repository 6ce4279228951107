"""A linear ranker learned from gold links: many features of a candidate, one weight each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import InputError
from allusion_es.core.files import writing
from allusion_es.rerankers._shared.features import (
    CandidateFeatures,
    FeatureMaker,
    feature_part,
    in_both_fields,
)
from allusion_es.rerankers._shared.word_pairs import shares
from allusion_es.retrieval.explanations import Parts, as_contributions
from allusion_es.retrieval.reranking import Candidates, Collection, Explanation
from allusion_es.retrieval.types import AnalysedQuery

_SHIPPED = "patristic.ranker"
"""The weights that come with the program, made by `benchmarks/train_ranker.py`."""


class Learned:
    """Weighted sum of features of a candidate, with weights learned from gold links.

    `sum over features f of weight_f value_f / scale_f`. Features are scores of other rerankers
    (BM25, TfIdf, soft cosine, Tesserae, local alignment of lemmas and of tokens, unbroken runs,
    spelling, cosine of citation vectors with and without context), as they are, in proportion to
    the best candidate's and as ranks; how much of query and passage is shared; lengths; how well
    the verses before and after fit; what words around the query say. Where an index has no
    citation vectors, a second set of weights without them is used. Source: a listwise linear
    ranker (Cao et al. 2007, ListNet's top one); `learning/ranker.py` says how weights are found,
    `docs/quality.md` how they were learned and how well they do.

    Scores are of any size, and compare candidates of one query only; they depend on which
    candidates there are. What a score's features add is divided among its own word pairs; other
    features stand as a pair such as (`‹length›`, `‹2.3›`).

    Args:
        model: Path of a ranker that `benchmarks/train_ranker.py` made; "" for the one that
            comes with the program.

    Example:
        >>> from allusion_es.rerankers.trial import trial
        >>> texts = ["et lux in tenebris lucet", "fiat lux", "in domo", "uir"]
        >>> scores = trial(Learned(), "lux in tenebris", texts)
        >>> scores[0] == max(scores)
        True
    """

    name = "learned"

    def __init__(self, model: str = "") -> None:
        self._path = model

    @cached_property
    def _model(self) -> "LearnedModel":
        if self._path:
            return read_model(Path(self._path))
        with as_file(files("allusion_es.rerankers") / _SHIPPED) as path:
            return read_model(path)

    @cached_property
    def _maker(self) -> FeatureMaker:
        names = {name for features in self._model.sets.values() for name in features}
        return FeatureMaker(map(feature_part, names))

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        pool, numbers = candidates.pool
        return np.asarray(self._added(query, pool, collection)[1].sum(axis=1)[numbers])

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """For each candidate, its score divided as the class docstring says."""
        pool, numbers = candidates.pool
        features, added = self._added(query, pool, collection)
        totals: list[Parts] = [{} for _ in range(len(candidates))]
        both = in_both_fields(candidates, collection)
        parts = [feature_part(name) for name in features.names]
        for part, (field, scorer) in self._maker.scorers.items():
            columns = [column for column, name in enumerate(parts) if name == part]
            if columns:
                reasons = scorer.explain(query, both[field], collection)
                values = added[numbers][:, columns].sum(axis=1).tolist()
                for total, reason, value in zip(totals, reasons, values, strict=True):
                    _add(total, shares(reason, value, (f"‹{part}›", "‹nothing›")))
        for column, part in enumerate(parts):
            if part not in self._maker.scorers:
                self._add_alone(totals, features, added, numbers, column)
        return [as_contributions(total) for total in totals]

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note on the links behind the weights, and that scores are relative."""
        kind = "with" if collection.citations is not None else "without"
        about = self._model.about.get("learned_from", "unknown links")
        return (
            f"learned: weights from {about}, {kind} citation vectors; scores compare the "
            "candidates of one query",
        )

    def _added(
        self, query: AnalysedQuery, pool: Candidates, collection: Collection
    ) -> tuple[CandidateFeatures, Floats]:
        """The features, and what each adds to the score of each candidate, shape (n, features)."""
        features = self._maker.features(query, pool, collection)
        kind = "words" if collection.citations is None else "citations"
        return features, features.values * self._model.weights(kind, features.names)

    @staticmethod
    def _add_alone(
        totals: Sequence[Parts],
        features: CandidateFeatures,
        added: Floats,
        numbers: NDArray[np.int64],
        column: int,
    ) -> None:
        """Add a feature that no reranker explains to totals, as a pair of its name and value."""
        for total, number in zip(totals, numbers.tolist(), strict=True):
            value = float(added[number, column])
            if value:
                pair = f"‹{features.names[column]}›", f"‹{features.values[number, column]:.3g}›"
                _add(total, {pair: value})


def _add(total: Parts, more: Parts) -> None:
    for pair, value in more.items():
        total[pair] = total.get(pair, 0.0) + value


# The file of a ranker: features, scales and weights, as text that people can read.

_FIRST = "allusion-es ranker 1"
"""First line of a file of weights: kind and version of its format."""


@dataclass(frozen=True, slots=True)
class LearnedModel:
    """The weights of features: `score = sum over features f of weight_f value_f / scale_f`.

    Attributes:
        about: Facts about the links it was learned from, name to text.
        sets: For indexes with citation vectors (`citations`) and without (`words`): each
            feature's weight divided by its scale.
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
    """The weight divided by the scale, from the cells of a line after its kind."""
    try:
        _, scale, weight = cells
        value = float(weight) / float(scale)
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{place}: not kind, feature, scale above 0 and weight, with tabs")
    return value
