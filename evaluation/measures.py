"""Measures of rankings: MRR, success, precision, recall, nDCG, MAP, R-precision.

Every measure is a number from 0 to 1 for one query, and 0 where no relevant passage was found.
The formulas are those of C. D. Manning, P. Raghavan and H. Schütze, Introduction to Information
Retrieval (2008), chapter 8, and give the numbers of trec_eval. In them, R is how many passages
are relevant and a hit is a relevant passage in the ranking.
"""

import math
import re
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass

from allusion_es.core.errors import InputError, UsageError


@dataclass(frozen=True, slots=True)
class Judged:
    """The ranks of the relevant passages in one ranking: all that a measure needs.

    Attributes:
        ranks: Ranks of the relevant passages, from 1, ascending, each once.
        relevant: Number of relevant passages, found or not; at least 1.
    """

    ranks: tuple[int, ...]
    relevant: int


def judge(ids: Sequence[str], relevant: Collection[str]) -> Judged:
    """The judged ranking: the ranks of the relevant passages among some ids.

    Args:
        ids: Passage ids from best to worst.
        relevant: Ids of the relevant passages, at least one; their order does not matter.

    Raises:
        InputError: A relevant passage is in the ranking twice, or nothing is relevant.

    Example:
        >>> judge(["Ps.1.1", "Eph.3.19", "Ps.1.2"], ["Eph.3.19", "Isa.7.14"])
        Judged(ranks=(2,), relevant=2)
    """
    wanted = frozenset(relevant)
    if not wanted:
        raise InputError("no passage is relevant to the query; give at least one")
    found = [(rank, name) for rank, name in enumerate(ids, start=1) if name in wanted]
    if len({name for _, name in found}) < len(found):
        names = [name for _, name in found]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"passage {twice!r} is in the ranking twice; rank each passage once")
    return Judged(tuple(rank for rank, _ in found), len(wanted))


_Formula = Callable[[Judged, int], float]
"""Computes a measure from a judged ranking and the number of ranks that count."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of one ranking, made by `parse_measure`.

    Attributes:
        name: Its name as the user wrote it (`p10`, `ndcg@10`).
        cutoff: Number of ranks that count; None for all.
    """

    name: str
    cutoff: int | None
    _formula: _Formula

    def __call__(self, judged: Judged) -> float:
        """The measure's value, from 0 to 1."""
        if self.cutoff is not None:
            return self._formula(judged, self.cutoff)
        # No hit and no ideal rank comes after this one, so that it cuts nothing off.
        last = max(judged.relevant, judged.ranks[-1] if judged.ranks else 0)
        return self._formula(judged, last)


def reciprocal_rank(judged: Judged, k: int) -> float:
    """1 / rank of the first hit in the first k ranks; its mean is the mean reciprocal rank.

    Source: E. Voorhees, The TREC-8 Question Answering Track Report (1999).

    Example:
        >>> reciprocal_rank(Judged((4, 5), 3), 10)
        0.25
    """
    first = judged.ranks[0] if judged.ranks else 0
    return 1 / first if 0 < first <= k else 0.0


def success(judged: Judged, k: int) -> float:
    """1 if there is a hit in the first k ranks, else 0: what the paper calls P@k.

    Source: E. Manjavacas, B. Long and M. Kestemont, On the Feasibility of Automated Detection
    of Allusive Text Reuse (2019), section 5.4.

    Example:
        >>> success(Judged((4, 5), 3), 3), success(Judged((4, 5), 3), 4)
        (0.0, 1.0)
    """
    return float(_hits(judged, k) > 0)


def precision(judged: Judged, k: int) -> float:
    """Hits in the first k ranks / k, also where fewer passages are ranked.

    Example:
        >>> precision(Judged((4, 5), 3), 5)
        0.4
    """
    return _hits(judged, k) / k


def recall(judged: Judged, k: int) -> float:
    """Hits in the first k ranks / R.

    Example:
        >>> recall(Judged((4, 5), 4), 5)
        0.5
    """
    return _hits(judged, k) / judged.relevant


def r_precision(judged: Judged, k: int) -> float:
    """Hits in the first R ranks / R; `k` changes nothing.

    Example:
        >>> r_precision(Judged((2, 5), 4), 100)
        0.25
    """
    return _hits(judged, judged.relevant) / judged.relevant


def average_precision(judged: Judged, k: int) -> float:
    """Sum over the hits in the first k ranks of (hits so far / rank), / R; its mean is MAP.

    Example:
        >>> average_precision(Judged((1, 4), 2), 10)  # (1/1 + 2/4) / 2
        0.75
    """
    ranks = [rank for rank in judged.ranks if rank <= k]
    return math.fsum(n / rank for n, rank in enumerate(ranks, start=1)) / judged.relevant


def normalised_gain(judged: Judged, k: int) -> float:
    """Sum of 1 / log2(rank + 1) over hits in the first k ranks, / the sum over ranks 1 to R.

    Binary gains; the ideal ranking is cut at k too.

    Source: K. Järvelin and J. Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques,
    ACM Transactions on Information Systems 20 (2002), with the discount of trec_eval.

    Example:
        >>> normalised_gain(Judged((3,), 1), 10)  # 1 / log2(4)
        0.5
    """
    gain = math.fsum(1 / math.log2(rank + 1) for rank in judged.ranks if rank <= k)
    ideal = range(1, min(judged.relevant, k) + 1)
    # fsum is exact up to one rounding, so that a perfect ranking gives exactly 1.
    return gain / math.fsum(1 / math.log2(rank + 1) for rank in ideal)


def _hits(judged: Judged, k: int) -> int:
    return sum(rank <= k for rank in judged.ranks)


_FORMULAS: dict[str, tuple[_Formula, str]] = {
    "mrr": (reciprocal_rank, "mrr, mrr@k"),
    "p": (success, "p10, p20 (a hit in the first 10 or 20, as in the paper)"),
    "success": (success, "success@k"),
    "precision": (precision, "precision@k"),
    "recall": (recall, "recall@k"),
    "ndcg": (normalised_gain, "ndcg, ndcg@k"),
    "ap": (average_precision, "ap, ap@k"),
    "map": (average_precision, "map, map@k (the same as ap)"),
    "rprec": (r_precision, "rprec"),
}
# Over a whole ranking of a thousand passages these say next to nothing: a forgotten cutoff.
_NEEDS_CUTOFF = frozenset({"success", "precision", "recall"})
_NAME = re.compile(r"([a-z]+)@([1-9][0-9]{0,5})|(p)([1-9][0-9]{0,5})|([a-z]+)")


def parse_measure(text: str, argument: str = "measures") -> Measure:
    """The measure of a name such as `mrr`, `p10` or `recall@100`.

    `p10` and `p20` are the paper's P@10 and P@20: the share of queries with a relevant passage
    among the first 10 or 20, elsewhere called success@10. `precision@10` divides by 10.

    Args:
        text: The name.
        argument: What it is the value of, for messages.

    Raises:
        UsageError: There is no such measure; the message lists all.

    Example:
        >>> [parse_measure(name)(Judged((4,), 1)) for name in ("mrr", "p10", "precision@10")]
        [0.25, 1.0, 0.1]
    """
    match = _NAME.fullmatch(text.strip().lower())
    if match:
        name = match[1] or match[3] or match[5]
        cutoff = match[2] or match[4]
        fits = name != "rprec" if cutoff else name not in _NEEDS_CUTOFF | {"p"}
        if name in _FORMULAS and fits and (name != "p" or match[3]):
            return Measure(match[0], int(cutoff) if cutoff else None, _FORMULAS[name][0])
    known = "; ".join(form for _, form in _FORMULAS.values())
    raise UsageError(f"there is no measure {text!r}; use {known}", argument=argument)


def mean(values: Sequence[float]) -> float:
    """The mean over queries (micro), 0 where there are none.

    Example:
        >>> mean([1.0, 0.5, 0.0])
        0.5
    """
    return math.fsum(values) / len(values) if values else 0.0


def macro_mean(values: Sequence[float], groups: Sequence[Hashable]) -> float:
    """The mean of the means of groups, such as works; 0 where there are none.

    Args:
        values: One for each query.
        groups: The group of each query.

    Raises:
        UsageError: There is not one group for each value.

    Example:
        >>> macro_mean([1.0, 0.0, 0.5], ["a", "a", "b"]), macro_mean([1.0, 0.0, 0.0], "abb")
        (0.5, 0.5)
    """
    if len(values) != len(groups):
        raise UsageError(f"{len(groups)} groups for {len(values)} values; give one for each")
    members: dict[Hashable, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        members.setdefault(group, []).append(value)
    return mean([mean(group) for group in members.values()])
