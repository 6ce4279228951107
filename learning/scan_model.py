"""Learning how likely a scan's findings are: the models of `scanning/scan.json`.

A segment on the words of a gold link is right if its passage is one that the link names, wrong if
it is another; what is found in a text that cannot allude, such as Caesar's, is wrong. From this a
logistic model is learned, and for the default mode trees on top of it. Then both are shifted and
scaled so that findings are right as often as their probability says.

Everything is measured on works that neither the model nor the citation vectors were learned from:
works are divided into folds, each with an index whose vectors know nothing of it
(`learn_scan_models`).
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.core.files import write_lines
from allusion_es.corpora.source import read_source
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.language.latin.analysis import Analysis
from allusion_es.learning.boosting import Boosting, learn_chances
from allusion_es.rerankers._shared.trees import Tree
from allusion_es.retrieval.coded_texts import code_texts
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import index_analyser
from allusion_es.retrieval.types import SearchFilter
from allusion_es.scanning.choosing import choose
from allusion_es.scanning.features import NAMES
from allusion_es.scanning.measured import measured_on
from allusion_es.scanning.model import FORMAT, MODELS, Calibration, Point
from allusion_es.scanning.reading import Reading, read
from allusion_es.scanning.scanner import cut
from allusion_es.scanning.segments import CandidateTexts

PENALTY = 1.0
"""Of the squared weights of scaled features."""

TARGET = 0.75
"""The default threshold is the lowest from which the precision stays at this."""

THRESHOLDS = tuple(round(0.05 * number, 2) for number in range(1, 20))
"""Thresholds at which precision and recall are measured."""

PLAIN_WORDS = 2_000
"""Words that are read of each text that cannot allude."""

TREES = Boosting(trees=150, leaves=15, rate=0.05, least=30)
"""Settings of the trees: small, since there are but a few thousand right segments."""

_LEAST = 0.02
"""Probability from which findings are looked at."""


@dataclass(frozen=True)
class ScanFold:
    """A part of the works, with an index that knows nothing of it.

    Attributes:
        index: The passages; its citation vectors and citing texts were learned from other works.
        links: Gold links with the words around them, on which is learned and measured.
        more: Others, on which is only learned.
    """

    index: CandidateIndex
    links: Sequence[GoldLink]
    more: Sequence[GoldLink] = ()


@dataclass(frozen=True)
class Piece:
    """A text that was read.

    Attributes:
        fold: Which part of the works it is in.
        reading: Its segments.
        inside: First and last character of the words that are judged; all in plain texts.
        relevant: Ids of the passages that are right; none in plain texts.
        is_measured: Whether it is measured on.
    """

    fold: int
    reading: Reading
    inside: tuple[int, int]
    relevant: frozenset[str]
    is_measured: bool = True

    def labels(self) -> NDArray[np.int64]:
        """For each segment 1 if it is right, 0 if wrong, -1 if nobody knows."""
        texts, segments = self.reading.texts, self.reading.segments
        labels = np.full(len(segments), -1)
        for number in range(len(segments)):
            if not self.judges(int(segments.firsts[number]), int(segments.lasts[number])):
                continue
            passage = texts.ids[segments.passages[number]]
            if passage in self.relevant:
                labels[number] = 1
            elif not is_beside(passage, self.relevant):
                labels[number] = 0
        return labels

    def judges(self, first: int, last: int) -> bool:
        """Whether these words overlap those that are judged."""
        spans = self.reading.analysis.spans
        return spans[first][0] < self.inside[1] and spans[last][1] > self.inside[0]


def is_beside(passage: str, relevant: frozenset[str]) -> bool:
    """Whether a passage is the one before or after a relevant one: a reference may mean it too.

    Example:
        >>> is_beside("Ps.33.10", frozenset({"Ps.33.9"})), is_beside("Ps.33.9", frozenset())
        (True, False)
    """
    chapter, _, verse = passage.rpartition(".")
    if not verse.isdecimal():
        return False
    return any(f"{chapter}.{int(verse) + step}" in relevant for step in (-1, 1))


def link_pieces(fold: int, part: ScanFold, mode: str) -> Iterator[Piece]:
    """The gold links of a fold, each read with the words around it by the fold's index."""
    analyser = index_analyser(part.index)
    for is_measured, links in ((True, part.links), (False, part.more)):
        for link in links:
            query = link.query
            analysis = analyser.analyse(f"{query.before} {query.text} {query.after}")
            if analysis.tokens:
                start = len(query.before) + 1
                inside = (start, start + len(query.text))
                reading = _read(part.index, analysis, mode)
                yield Piece(fold, reading, inside, frozenset(link.relevant), is_measured)


def plain_pieces(
    parts: Sequence[ScanFold], paths: Iterable[Path], mode: str, words: int = PLAIN_WORDS
) -> Iterator[Piece]:
    """The blocks of texts that cannot allude; a text is in the fold that its name falls into."""
    for path in paths:
        fold = zlib.crc32(path.name.encode()) % len(parts)
        index = parts[fold].index
        analyser = index_analyser(index)
        text = " ".join(read_source(path).text.split()[:words])
        for block in cut(text):
            reading = _read(index, analyser.analyse(block.text), mode)
            inside = (block.start - block.offset, block.end - block.offset)
            yield Piece(fold, reading, inside, frozenset())


def _read(index: CandidateIndex, analysis: Analysis, mode: str) -> Reading:
    citations = index.citations if mode == "default" else None
    return without_texts(read(index, analysis, SearchFilter(), citations, fast=mode == "fast"))


def without_texts(reading: Reading) -> Reading:
    """A reading without the words of its thousands of passages, which would fill the memory."""
    empty = code_texts([])
    texts = CandidateTexts(reading.texts.ids, empty, empty, np.zeros(0))
    return replace(reading, texts=texts)


def fit(values: Floats, labels: NDArray[np.int64]) -> Calibration:
    """The logistic model of some rows with a small penalty on the weights of scaled features.

    Args:
        values: Shape (n, features).
        labels: 1 or 0 each, shape (n,).
    """
    from scipy.optimize import minimize

    mean, scale = values.mean(axis=0), values.std(axis=0)
    scale[scale == 0] = 1
    rows = np.column_stack(((values - mean) / scale, np.ones(len(values))))

    def loss(weights: Floats) -> tuple[float, Floats]:
        odds = rows @ weights
        shares = 1 / (1 + np.exp(-np.clip(odds, -50, 50)))
        inner = np.append(weights[:-1], 0.0)
        value = np.logaddexp(0, odds).sum() - odds[labels == 1].sum() + PENALTY / 2 * inner @ inner
        return float(value), rows.T @ (shares - labels) + PENALTY * inner

    start = np.zeros(rows.shape[1])
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x
    weights = best[:-1] / scale
    return Calibration(float(best[-1] - weights @ mean), tuple(weights.tolist()), 0.5)


def fit_pieces(pieces: Sequence[Piece], *, trees: bool) -> Calibration:
    """The model of some pieces: fitted on segments, then calibrated on findings.

    Args:
        pieces: What to learn from.
        trees: Learn trees too, on top of the logistic model.
    """
    labels = [piece.labels() for piece in pieces]
    values = np.concatenate(
        [piece.reading.features[known >= 0] for piece, known in zip(pieces, labels, strict=True)]
    )
    flat = np.concatenate([known[known >= 0] for known in labels])
    model = fit(values, flat)
    if trees:
        found = learn_chances(values, flat, model.log_odds(values), NAMES, TREES)
        model = replace(model, trees=tuple(found))
    scored = [(piece, *scores(piece, model)) for piece in pieces]
    judged = [found for each in scored for found in findings(*each, _LEAST)]
    rights = [right for _, right, _ in judged]
    if all(rights) or not any(rights):
        return model  # of findings that are all alike nothing can be learned
    line = fit(np.array([[odds] for *_, odds in judged]), np.array(rights, dtype=np.int64))
    slope = line.weights[0]
    if slope <= 0:
        return model  # by chance, of a few findings: what is likelier must stay so
    return Calibration(
        slope * model.bias + line.bias,
        tuple(slope * weight for weight in model.weights),
        0.5,
        trees=tuple(_scaled(tree, slope) for tree in model.trees),
    )


def _scaled(tree: Tree, slope: float) -> Tree:
    return replace(tree, leaves=tuple(round(slope * leaf, 5) for leaf in tree.leaves))


def scores(piece: Piece, model: Calibration) -> tuple[Floats, Floats]:
    """Log odds and probability of each segment."""
    features = piece.reading.features
    return model.log_odds(features), model.probabilities(features)


def findings(
    piece: Piece, odds: Floats, probabilities: Floats, least: float
) -> list[tuple[float, bool, float]]:
    """Probability, whether it is right, and log odds of each finding on the judged words.

    A finding is right if it or one of its alternatives is a relevant passage.
    """
    ids = piece.reading.texts.ids
    result = []
    for choice in choose(piece.reading, odds, probabilities, least):
        if piece.judges(choice.first, choice.last):
            named = {ids[n] for each in (choice, *choice.others) for n in each.passages}
            result.append((choice.probability, bool(named & piece.relevant), choice.log_odds))
    return result


@dataclass(frozen=True)
class Measurements:
    """What was measured of a model on works that it was not learned from.

    Attributes:
        points: Precision and recall at each threshold.
        bins: For each tenth of probability its lower end, the number of findings, and the share of
            them that is right; tenths without findings are left out.
    """

    points: tuple[Point, ...]
    bins: tuple[tuple[float, int, float], ...]


def measure_models(pieces: Sequence[Piece], models: Mapping[int, Calibration]) -> Measurements:
    """What is measured on pieces, each with the model that was learned from the other folds."""
    found = [
        (bool(piece.relevant), findings(piece, *scores(piece, models[piece.fold]), _LEAST))
        for piece in pieces
        if piece.is_measured
    ]
    links = sum(is_link for is_link, _ in found)
    every = [each for _, some in found for each in some]
    points = []
    for threshold in THRESHOLDS:
        kept = [right for probability, right, _ in every if probability >= threshold]
        hits = sum(any(e[1] and e[0] >= threshold for e in some) for _, some in found)
        precision = sum(kept) / len(kept) if kept else 0.0
        points.append(Point(threshold, round(precision, 4), round(hits / max(links, 1), 4)))
    bins = []
    for tenth in range(10):
        some = [right for probability, right, _ in every if int(10 * probability) == tenth]
        if some:
            bins.append((tenth / 10, len(some), sum(some) / len(some)))
    return Measurements(tuple(points), tuple(bins))


def first_at(points: Sequence[Point], target: float) -> float:
    """The least threshold from which the precision stays at the target.

    Example:
        >>> first_at([Point(0.1, 0.8, 0.9), Point(0.2, 0.7, 0.8), Point(0.3, 0.9, 0.7)], 0.75)
        0.3
    """
    chosen = points[-1].threshold
    for point in reversed(points):
        if point.precision < target:
            break
        chosen = point.threshold
    return chosen


def learn_scan_models(
    folds: Sequence[ScanFold], plain: Sequence[Path]
) -> Iterator[tuple[str, Calibration, Measurements]]:
    """The models of a scan, each with its name and what was measured.

    Args:
        folds: At least two parts of the works.
        plain: Texts that cannot allude.
    """
    for mode in MODELS:
        pieces = [p for fold, part in enumerate(folds) for p in link_pieces(fold, part, mode)]
        pieces += plain_pieces(folds, plain, mode)
        # Without citations there are few features, and trees bring nothing.
        trees = mode == "default"
        models = {
            fold: fit_pieces([p for p in pieces if p.fold != fold], trees=trees)
            for fold in range(len(folds))
        }
        measured = measure_models(pieces, models)
        threshold = first_at(measured.points, TARGET)
        whole = fit_pieces(pieces, trees=trees)
        yield mode, replace(whole, threshold=threshold, points=measured.points), measured


def scan_record(
    models: Mapping[str, Calibration], index: CandidateIndex, citations: str
) -> dict[str, Any]:
    """The content of `scan.json`.

    Args:
        models: By name, as `learn_scan_models` gives them.
        index: The collection that they were learned on.
        citations: Name of the citation vectors that the models are to be used with: learned as
            those of the folds, but from all works.
    """
    return {
        "format": FORMAT,
        "features": list(NAMES),
        "measured_on": replace(measured_on(index), citations=citations).to_json(),
        "models": {name: model.to_json() for name, model in models.items()},
    }


def write_scan_models(path: Path, record: Mapping[str, Any]) -> None:
    """Write `scan.json`: a line for each tree, so that it can be read and compared.

    Raises:
        StorageError: The file cannot be written.
    """
    models = []
    for name, model in record["models"].items():
        rest = {key: value for key, value in model.items() if key != "trees"}
        trees = ",\n".join(json.dumps(tree) for tree in model["trees"])
        models.append(f'{json.dumps(name)}: {json.dumps(rest)[:-1]}, "trees": [\n{trees}]}}')
    head = json.dumps({key: value for key, value in record.items() if key != "models"})
    write_lines(path, [f'{head[:-1]}, "models": {{\n' + ",\n".join(models) + "}}"])
