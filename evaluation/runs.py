"""Runs: what a method found for each query, in memory and in files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import ArrayFile, save_arrays
from allusion_es.retrieval.types import Ranking


@dataclass(frozen=True, slots=True)
class Found:
    """What a method found for one query.

    Attributes:
        ranking: The passages, best first.
        stage_ranks: Rank of each of them in the first stage, from 1, shape (len(ranking),).
    """

    ranking: Ranking
    stage_ranks: NDArray[np.int32]


Run = Mapping[str, Found]
"""What a method found, by query id."""


def found_in(ranking: Ranking) -> Found:
    """A ranking that is its own first stage, as one that came from a file."""
    return Found(ranking, np.arange(1, len(ranking) + 1, dtype=np.int32))


def save_run(path: Path, run: Run) -> None:
    """Write a run, or part of one; scores are rounded to single precision.

    Raises:
        StorageError: It cannot be written.
    """
    ids = sorted({passage for found in run.values() for passage in found.ranking.ids})
    numbers = {passage: number for number, passage in enumerate(ids)}
    sizes = [len(found.ranking) for found in run.values()]
    save_arrays(
        path,
        {"queries": list(run), "sizes": sizes, "ids": ids},
        {
            "passages": np.array(
                [numbers[passage] for found in run.values() for passage in found.ranking.ids],
                dtype=np.int32,
            ),
            "scores": _joined([found.ranking.scores for found in run.values()], np.float32),
            "stage_ranks": _joined([found.stage_ranks for found in run.values()], np.int32),
        },
    )


def load_run(path: Path) -> dict[str, Found]:
    """The run that `save_run` wrote to `path`.

    Raises:
        IndexDamagedError: It is damaged or something else.
        OSError: It cannot be opened.
    """
    file = ArrayFile(path, "delete it, and it is made again")
    ids = file.meta["ids"]
    passages, scores = file.load("passages"), file.load("scores")
    stage_ranks = file.load("stage_ranks")
    run, start = {}, 0
    for query_id, size in zip(file.meta["queries"], file.meta["sizes"], strict=True):
        part = slice(start, start + size)
        names = tuple([ids[number] for number in passages[part].tolist()])
        run[query_id] = Found(Ranking(names, scores[part].astype(np.float64)), stage_ranks[part])
        start += size
    return run


def _joined(parts: Sequence[NDArray[np.generic]], kind: type[np.generic]) -> NDArray[np.generic]:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind)
