"""The probabilities of a scan of one collection, learned from a user's own links to it."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from allusion_es.learning.collection_ranker import RankerLearner
from allusion_es.learning.examples import LinkExample
from allusion_es.learning.scan_model import (
    Piece,
    fit_pieces,
    measure_models,
    without_texts,
)
from allusion_es.rerankers.learned import RankerSet
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.pipeline import best_places, index_analyser
from allusion_es.scanning.measured import measured_on
from allusion_es.scanning.model import FORMAT, RANKED, SCORE, Calibration, Point
from allusion_es.scanning.ranked import KEPT, ranked_reading


def scan_pieces(
    index: CandidateIndex,
    learner: RankerLearner,
    examples: Sequence[LinkExample],
    parts: Sequence[Sequence[int]],
) -> list[Piece]:
    """The queries of links as a scan reads them, each with a ranker that was not learned from it.

    Those with the same words are one, whose findings are right if one of the links names their
    passage.

    Args:
        index: The index that the links cite.
        learner: Learns its ranker.
        examples: What the learner's `examples` gave.
        parts: The numbers of the examples in each part, as `parts_of` gives them.
    """
    pieces = []
    for fold, part in enumerate(parts):
        tested = set(part)
        rest = [one for number, one in enumerate(examples) if number not in tested]
        if rest and part:
            ranker = learner.learn(rest)
            pieces += _pieces(fold, [examples[number] for number in part], ranker, index)
    return pieces


def models_of(pieces: Sequence[Piece]) -> dict[int, Calibration]:
    """For each part a model that was learned from the others; none where the links are too few.

    Args:
        pieces: What `scan_pieces` gave.
    """
    labels = {(each.fold, label) for each in pieces for label in each.labels().tolist()}
    if any(sum(of == wanted for _, of in labels) < 2 for wanted in (0, 1)):
        return {}
    folds = {each.fold for each in pieces}
    return {
        fold: fit_pieces([each for each in pieces if each.fold != fold], trees=False)
        for fold in folds
    }


def learn_scan(pieces: Sequence[Piece]) -> Calibration | None:
    """The model of a scan by the ranker, with what was measured on parts not learned from.

    Args:
        pieces: What `scan_pieces` gave.

    Returns:
        None where the links are too few: fewer than two parts have some that can be found.
    """
    models = models_of(pieces)
    if not models:
        return None
    points = measure_models(pieces, models).points
    whole = fit_pieces(pieces, trees=False)
    return replace(whole, threshold=_best_threshold(points), points=points)


def _pieces(
    fold: int, examples: Sequence[LinkExample], ranker: RankerSet, index: CandidateIndex
) -> list[Piece]:
    """Each different query of some links, as a scan with a ranker reads it."""
    relevant: dict[tuple[str, str, str], set[str]] = {}
    first: dict[tuple[str, str, str], LinkExample] = {}
    for one in examples:
        query = one.link.link.query
        key = query.before, query.text, query.after
        relevant.setdefault(key, set()).update(one.link.link.relevant)
        first.setdefault(key, one)
    analyser = index_analyser(index)
    found = []
    for key, one in first.items():
        analysis = analyser.analyse(" ".join(key))
        start = len(key[0]) + 1
        inside = start, start + len(key[1])
        own = [n for n, (a, b) in enumerate(analysis.spans) if a < inside[1] and b > inside[0]]
        if not own:
            continue
        scores: NDArray[np.float64] = one.example.values @ (ranker.linear / ranker.scales)
        order = best_places(np.arange(len(scores)), scores, one.candidates, KEPT).tolist()
        best = {one.candidates[number]: float(scores[number]) for number in order}
        reading = ranked_reading(index, analysis, [(own[0], own[-1] + 1)], [best])
        found.append(Piece(fold, without_texts(reading), inside, frozenset(relevant[key])))
    return found


def _best_threshold(points: Sequence[Point]) -> float:
    """The threshold of the best F1: where parallels are of a word or two, few are sure."""

    def f1(point: Point) -> float:
        total = point.precision + point.recall
        return 2 * point.precision * point.recall / total if total else 0.0

    return max(points, key=lambda point: (f1(point), point.threshold)).threshold


def scan_file(index: CandidateIndex, model: Calibration) -> bytes:
    """The content of the file with the model of a scan of an index, for `scanning.measured`."""
    record = {
        "format": FORMAT,
        "features": list(SCORE),
        "measured_on": measured_on(index).to_json(),
        "models": {RANKED: model.to_json()},
    }
    return json.dumps(record).encode()
