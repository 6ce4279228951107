"""Word Mover's Distance."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.core.caches import IdentityCache
from allusion_es.core.plugins import check_choice
from allusion_es.rerankers._shared.transport import SOLVERS, Solve, load_solver
from allusion_es.rerankers._shared.word_pairs import WeightedWords, by_counts, equal_words
from allusion_es.rerankers._shared.word_vectors import ChosenVectors, vectors_of
from allusion_es.retrieval.coded_texts import WordCounts
from allusion_es.retrieval.explanations import as_contributions
from allusion_es.retrieval.reranking import UNDEFINED, Candidates, Collection, Explanation
from allusion_es.retrieval.types import AnalysedQuery

_SLACK = 1e-9
"""Distances that differ by no more count as equal: solvers round in the last digits."""


class WordMoversDistance:
    """Similarity of texts: 1 minus the cost of moving the words of one to those of the other.

    The score is 1 minus the distance, `min over T of sum_ij T_ij c_ij` with
    `c_ij = 1 - cos(v_i, v_j)`, 0 for equal words, and T >= 0 moving the one histogram into the
    other; histograms are word counts that sum to 1. Source: Kusner et al. 2015; Manjavacas et
    al. 2019, section 5.2. From -1 to 1. Vectors have unit length; stop words count, unless the
    index leaves them out.

    A word without a vector is 0 from itself and 1 from all others. A text without words has no
    distance: it gets `UNDEFINED`, ranks last, and is explained by None. The explanation shows
    the flow: each pair adds `T_ij (1 - c_ij)`.

    Distances are exact for the best `Candidates.wanted` candidates. The relaxed distance (each
    word goes to its nearest, in both directions the greater) is a lower bound, so that those
    whose bound is above the distance of enough others need not be solved. These get 1 minus
    their bound, all lowered by the same amount where needed to rank below every exact score.

    Args:
        solver: `pot` or `pyemd`, which agree to six digits; pot is faster.
        vectors: Name or path of word vectors; "" for those of the index.

    Raises:
        UsageError: When scoring, where `vectors` is "" and the index has none.
        InputError: When scoring, where a vector is not finite.

    Example:
        >>> from allusion_es.rerankers.trial import TrialVectors, trial
        >>> vectors = TrialVectors({"rex": (1, 0), "regina": (0.6, 0.8)})
        >>> trial(WordMoversDistance(), "rex", ["rex", "regina", "rex regina", ""], vectors)
        [1.0, 0.6, 0.8, -1000.0]
    """

    name = "wmd"
    nothing = UNDEFINED

    def __init__(self, solver: str = "pot", vectors: str = "") -> None:
        check_choice(self.name, "solver", solver, SOLVERS)
        self._solver = solver
        self._solve: Solve | None = None
        self._vectors = ChosenVectors(self.name, vectors)
        self._sides: IdentityCache[tuple[Floats, NDArray[np.int64], list[int]]] = IdentityCache()

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        problems = self._problems(query, candidates, collection)
        scores = np.full(len(candidates), UNDEFINED)
        texts = problems.texts
        if problems.weighted.query_words and len(texts):
            wanted = len(texts) if candidates.wanted is None else candidates.wanted
            scores[texts] = self._best(problems, problems.relaxed(), min(wanted, len(texts)))
        return scores

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """For each candidate, the flow between each pair of words times their similarity."""
        problems = self._problems(query, candidates, collection)
        explained: list[Explanation] = [None] * len(candidates)
        if problems.weighted.query_words:
            for place, text in enumerate(problems.texts.tolist()):
                explained[text] = self._flow(problems, place)
        return explained

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note on the word vectors, the cost and the histograms."""
        return (
            f"{self._vectors.note(collection)}; cost 1 - cosine; histograms of word counts that "
            "sum to 1; words are left out only as the index leaves out stop words",
        )

    def _best(self, problems: "_TransportProblems", bounds: Floats, wanted: int) -> Floats:
        """Scores, exact for the best `wanted`, shape of `bounds`."""
        # By ascending lower bound, until no bound that is left can be among the best.
        distances = np.full(len(bounds), np.inf)
        nearest = [-np.inf] * max(wanted, 1)  # a heap of negative distances: the farthest first
        for place in np.argsort(bounds, kind="stable").tolist():
            if bounds[place] > _SLACK - nearest[0]:
                break
            distances[place] = distance = self._solved(problems, place)[0]
            if -distance > nearest[0]:
                heapq.heapreplace(nearest, -distance)
        exact = np.isfinite(distances)
        scores: Floats = 1 - np.where(exact, distances, bounds)
        if not exact.all():
            reach = scores[~exact].max() - scores[exact].min() + _SLACK
            scores[~exact] -= max(0.0, float(reach))
        return scores

    def _solved(self, problems: "_TransportProblems", place: int) -> tuple[float, Floats]:
        """Distance, and flow from the candidate's words to the query's."""
        first, last = problems.starts[place], problems.starts[place + 1]
        histogram = problems.histograms[first:last]
        return self._transport()(histogram, problems.histogram, problems.costs(place))

    def _flow(self, problems: "_TransportProblems", place: int) -> Explanation:
        """`T_ij (1 - c_ij)` for each pair of words of the query and one candidate."""
        first, last = problems.starts[place], problems.starts[place + 1]
        flow = self._solved(problems, place)[1]
        parts = flow * (1 - problems.costs(place))
        codes = problems.weighted.entries.codes[first:last]
        asked, found = problems.weighted.query_words, problems.weighted.words
        return as_contributions(
            {
                (asked[column], found[codes[row]]): float(parts[row, column])
                for row, column in zip(*(side.tolist() for side in np.nonzero(flow)), strict=True)
            }
        )

    def _transport(self) -> Solve:
        if self._solve is None:
            self._solve = load_solver(self._solver)
        return self._solve

    def _problems(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> "_TransportProblems":
        """The transport problems of all candidates."""
        weighted = by_counts(query, candidates)
        left = vectors_of(self._vectors.need(collection), weighted.query_words)
        right = self._vectors.rows(collection, weighted.words)
        cost = np.maximum(1 - (left @ right.T).astype(np.float64), 0.0)
        cost[equal_words(weighted.query_words, weighted.words)] = 0.0
        return _TransportProblems(
            weighted,
            weighted.query_weights / max(float(weighted.query_weights.sum()), 1.0),
            cost,
            *self._sides.get(lambda: _passage_side(weighted.entries), weighted.entries),
        )


@dataclass(frozen=True, slots=True)
class _TransportProblems:
    """One transport problem for each candidate that has words.

    Attributes:
        weighted: The words and their counts.
        histogram: Of the query, shape (query words,).
        cost: From each word of the query to each of the candidates', shape (query words, words).
        histograms: Of the candidates, one an entry, shape (entries,).
        texts: Numbers of the candidates that have words, shape (n,).
        starts: Entries of the i-th of them are `starts[i]:starts[i + 1]`; n + 1 numbers.
    """

    weighted: WeightedWords
    histogram: Floats
    cost: Floats
    histograms: Floats
    texts: NDArray[np.int64]
    starts: list[int]

    def costs(self, place: int) -> Floats:
        """From each word of a candidate to each of the query's, shape (its words, query words)."""
        first, last = self.starts[place], self.starts[place + 1]
        return np.ascontiguousarray(self.cost[:, self.weighted.entries.codes[first:last]].T)

    def relaxed(self) -> Floats:
        """The relaxed distance of each candidate, shape (n,)."""
        first, codes = self.starts[:-1], self.weighted.entries.codes
        back = np.add.reduceat(self.histograms * self.cost.min(axis=0)[codes], first)
        forth = np.zeros(len(first))
        # Word by word, so that no array has a number for each entry and word of the query.
        for share, cost in zip(self.histogram.tolist(), self.cost, strict=True):
            forth += share * np.minimum.reduceat(cost[codes], first)
        return np.maximum(forth, back)


def _passage_side(entries: WordCounts) -> tuple[Floats, NDArray[np.int64], list[int]]:
    """`histograms`, `texts` and `starts` of `_TransportProblems`, which no query changes."""
    texts, starts = np.unique(entries.texts, return_index=True)
    totals = entries.sums(entries.counts)
    return entries.counts / totals[entries.texts], texts, [*starts.tolist(), len(entries.texts)]
