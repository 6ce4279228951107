"""Fits how likely a scan's findings are; with this `scanning/scan.json` is made.

    python benchmarks/calibrate_scan.py --gold GOLD.jsonl ... --plain TEXT ... [options]

    --gold FILE ...   links with `before` and `after`: what an editor printed is right, other
                      passages for the same words are wrong, what stands around is left out
    --plain FILE ...  texts that cannot allude, such as Caesar: all that is found there is wrong
    --test FILE ...   gold links to measure on only
    --name NAME       the index; its citation vectors must not have been learned from these works
    --words N         words of each plain text (default 4,000)
    --out FILE        where to write

All texts of a work are in the same of five parts; what is measured of a part comes from a model
fitted on the others. Printed: how often findings of a probability are right, and for thresholds
the precision (of findings on the gold words and in plain text) and the recall (of gold links).
"""

import argparse
import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from allusion_es.core.arrays import Floats
from allusion_es.core.files import write_lines
from allusion_es.corpora.source import read_source
from allusion_es.evaluation.gold.files import read_gold
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.language.latin.analysis import Analysis
from allusion_es.local.library import Library
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import index_analyser
from allusion_es.retrieval.types import (
    SearchFilter,
)
from allusion_es.scanning.choosing import choose
from allusion_es.scanning.features import NAMES
from allusion_es.scanning.measured import measured_on
from allusion_es.scanning.model import FORMAT, MODELS, Calibration
from allusion_es.scanning.reading import Reading, read
from allusion_es.scanning.scanner import cut

FOLDS = 5
PENALTY = 1.0
TARGET = 0.75
THRESHOLDS = tuple(round(0.05 * number, 2) for number in range(1, 20))


@dataclass(frozen=True)
class Piece:
    """A text that was read.

    Attributes:
        fold: Which part of the data it is in.
        reading: Its segments.
        inside: First and last character of the words that are judged; all in plain texts.
        relevant: Ids of the passages that are right.
        links: Whether there is something to find.
    """

    fold: int
    reading: Reading
    inside: tuple[int, int]
    relevant: frozenset[str]
    links: bool

    def labels(self) -> NDArray[np.int64]:
        """For each segment 1 if it is right, 0 if wrong, -1 if nobody knows."""
        texts, segments = self.reading.texts, self.reading.segments
        labels = np.full(len(segments), -1)
        for number in range(len(segments)):
            if not self.judged(int(segments.firsts[number]), int(segments.lasts[number])):
                continue
            passage = texts.ids[segments.passages[number]]
            if passage in self.relevant:
                labels[number] = 1
            elif not beside(passage, self.relevant):
                labels[number] = 0
        return labels

    def judged(self, first: int, last: int) -> bool:
        """Whether these words overlap those that are judged."""
        spans = self.reading.analysis.spans
        return spans[first][0] < self.inside[1] and spans[last][1] > self.inside[0]


def beside(passage: str, relevant: frozenset[str]) -> bool:
    """Whether a passage is the one before or after a relevant one: a reference may mean it too."""
    chapter, _, verse = passage.rpartition(".")
    if not verse.isdecimal():
        return False
    return any(f"{chapter}.{int(verse) + step}" in relevant for step in (-1, 1))


def fold_of(name: str) -> int:
    return zlib.crc32(name.encode()) % FOLDS


def gold_pieces(index: CandidateIndex, links: Sequence[GoldLink], mode: str) -> Iterator[Piece]:
    analyser = index_analyser(index)
    for link in links:
        query = link.query
        text = f"{query.before} {query.text} {query.after}"
        analysis = analyser.analyse(text)
        if analysis.tokens:
            start = len(query.before) + 1
            yield Piece(
                fold_of(link.title),
                reading(index, analysis, mode),
                (start, start + len(query.text)),
                frozenset(link.relevant),
                True,
            )


def plain_pieces(
    index: CandidateIndex, paths: Sequence[Path], words: int, mode: str
) -> Iterator[Piece]:
    analyser = index_analyser(index)
    for path in paths:
        text = " ".join(read_source(path).text.split()[:words])
        for block in cut(text):
            analysis = analyser.analyse(block.text)
            inside = (block.start - block.offset, block.end - block.offset)
            yield Piece(
                fold_of(path.name), reading(index, analysis, mode), inside, frozenset(), False
            )


def reading(index: CandidateIndex, analysis: Analysis, mode: str) -> Reading:
    citations = index.citations if mode == "default" else None
    return read(index, analysis, SearchFilter(), citations, fast=mode == "fast")


def fit(values: Floats, labels: NDArray[np.int64]) -> Calibration:
    """A logistic model with a small penalty on the weights of scaled features."""
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


def fit_pieces(pieces: Sequence[Piece]) -> Calibration:
    """Fitted on segments, then so shifted and scaled that findings are right as often as said."""
    labels = [piece.labels() for piece in pieces]
    values = np.concatenate(
        [piece.reading.features[known >= 0] for piece, known in zip(pieces, labels, strict=True)]
    )
    flat = np.concatenate([known[known >= 0] for known in labels])
    model = fit(values, flat)
    judged = [found for piece in pieces for found in findings(piece, model, 0.02)]
    odds = np.array([[found[2]] for found in judged])
    right = np.array([int(found[1]) for found in judged])
    line = fit(odds, right)
    slope = line.weights[0]
    return Calibration(
        slope * model.bias + line.bias, tuple(slope * weight for weight in model.weights), 0.5
    )


def findings(piece: Piece, model: Calibration, least: float) -> list[tuple[float, bool, float]]:
    """Probability, whether it is right, and log odds of each finding on the judged words."""
    features = piece.reading.features
    odds, probabilities = model.log_odds(features), model.probabilities(features)
    ids = piece.reading.texts.ids
    result = []
    for choice in choose(piece.reading, odds, probabilities, least):
        if piece.judged(choice.first, choice.last):
            named = {ids[n] for c in (choice, *choice.others) for n in c.passages}
            right = bool(named & piece.relevant)
            result.append((choice.probability, right, choice.log_odds))
    return result


def measured(pieces: Sequence[tuple[Piece, Calibration]]) -> list[tuple[float, float, float]]:
    """Threshold, precision, recall."""
    found = [(piece, findings(piece, model, 0.02)) for piece, model in pieces]
    links = sum(piece.links for piece, _ in found)
    points = []
    for threshold in THRESHOLDS:
        kept = [each for _, some in found for each in some if each[0] >= threshold]
        hits = sum(any(e[1] and e[0] >= threshold for e in some) for _, some in found)
        precision = sum(each[1] for each in kept) / len(kept) if kept else 0.0
        points.append((threshold, round(precision, 4), round(hits / max(links, 1), 4)))
    return points


def show(title: str, pieces: Sequence[tuple[Piece, Calibration]]) -> None:
    print(f"{title}\n  threshold  precision  recall")
    for threshold, precision, recall in measured(pieces):
        print(f"  {threshold:9.2f}  {precision:9.3f}  {recall:6.3f}")
    every = [each for piece, model in pieces for each in findings(piece, model, 0.02)]
    print("  probability  findings  right")
    for low in np.arange(0, 1, 0.1):
        some = [each[1] for each in every if low <= each[0] < low + 0.1]
        if some:
            print(f"  {low:.1f} to {low + 0.1:.1f}  {len(some):9}  {np.mean(some):.3f}")


def first_at(points: Sequence[tuple[float, float, float]], target: float) -> float:
    """The least threshold from which the precision stays at the target."""
    chosen = points[-1][0]
    for threshold, precision, _ in reversed(points):
        if precision < target:
            break
        chosen = threshold
    return chosen


def shipped_citations() -> str:
    """Name of the citation vectors for which the figures are told.

    They are learned like those that were measured, only from more: from these works too.
    """
    shipped = Library().models.shipped()
    return shipped.name if shipped else ""


def main() -> None:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gold", type=Path, nargs="+", required=True)
    parser.add_argument("--plain", type=Path, nargs="+", required=True)
    parser.add_argument("--test", type=Path, nargs="*", default=[])
    parser.add_argument("--name", default="vulgate")
    parser.add_argument("--words", type=int, default=4000)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    index = Library().open(arguments.name)
    models = {}
    for mode in MODELS:
        pieces = [
            piece for path in arguments.gold for piece in gold_pieces(index, read_gold(path), mode)
        ]
        pieces += plain_pieces(index, arguments.plain, arguments.words, mode)
        parts = [fit_pieces([p for p in pieces if p.fold != fold]) for fold in range(FOLDS)]
        held = [(piece, parts[piece.fold]) for piece in pieces]
        model = fit_pieces(pieces)
        show(f"{mode}, held out", held)
        for path in arguments.test:
            tested = list(gold_pieces(index, read_gold(path), mode))
            show(f"{mode}, {path.stem}", [(piece, model) for piece in tested])
        points = measured(held)
        models[mode] = {
            "bias": model.bias,
            "weights": list(model.weights),
            "threshold": first_at(points, TARGET),
            "points": points,
        }
        print({name: round(w, 2) for name, w in zip(NAMES, model.weights, strict=True)})
        sys.stdout.flush()
    if arguments.out:
        known = replace(measured_on(index), citations=shipped_citations())
        data = {
            "format": FORMAT,
            "features": list(NAMES),
            "measured_on": known.to_json(),
            "models": models,
        }
        write_lines(arguments.out, [json.dumps(data, indent=1)])


if __name__ == "__main__":
    main()
