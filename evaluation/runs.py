"""Runs: the rankings of a method for each query, in memory and in files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from allusion_es.core.arrays import ArrayFile, CheckedArrays, save_arrays
from allusion_es.core.records import Count
from allusion_es.retrieval.types import Ranking

_LARGEST = float(np.finfo(np.float32).max)
"""Greatest score that a saved run can hold."""


@dataclass(frozen=True, slots=True)
class QueryRanking:
    """The ranking of a method for one query.

    Attributes:
        ranking: The passages, best first.
        stage_ranks: The rank of each passage in the first stage, from 1; shape (len(ranking),).
    """

    ranking: Ranking
    stage_ranks: NDArray[np.int32]


Run = Mapping[str, QueryRanking]
"""The rankings of a method by query id."""


def found_in(ranking: Ranking) -> QueryRanking:
    """The ranking of a file, which has no first stage but itself, as a `QueryRanking`."""
    return QueryRanking(ranking, np.arange(1, len(ranking) + 1, dtype=np.int32))


def save_run(path: Path, run: Run) -> None:
    """Write a run, or a batch of one, to a file; scores are rounded to single precision.

    Each passage id is written once, and a ranking refers to it by number: runs are read as often
    as tables are printed, and most of a run is repeated ids.

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


class _Header(Struct):
    """The header of a run's file: query ids, the number of passages of each, all passages' ids."""

    queries: list[str]
    sizes: list[Count]
    ids: list[str]


def load_run(path: Path) -> dict[str, QueryRanking]:
    """The run that `save_run` wrote to `path`.

    Raises:
        IndexDamagedError: It is damaged or something else.
        OSError: It cannot be opened.
    """
    file = CheckedArrays(ArrayFile(path, "delete it, and it is made again"))
    header = file.header(_Header)
    queries, sizes, ids = header.queries, header.sizes, header.ids
    if len(queries) != len(sizes):
        raise file.file.damaged("queries and sizes do not fit")
    total = sum(sizes)
    passages = file.integers("passages", (total,), len(ids))
    scores = file.floats("scores", (total,), _LARGEST)
    stage_ranks = file.integers("stage_ranks", (total,), 1 << 31)
    run, start = {}, 0
    for query_id, size in zip(queries, sizes, strict=True):
        part = slice(start, start + size)
        names = tuple([ids[number] for number in passages[part].tolist()])
        run[query_id] = QueryRanking(
            Ranking(names, scores[part].astype(np.float64)), stage_ranks[part]
        )
        start += size
    return run


def _joined(parts: Sequence[NDArray[np.generic]], kind: type[np.generic]) -> NDArray[np.generic]:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind)
