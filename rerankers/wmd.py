"""Word Mover's Distance."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allusion_es.core.arrays import Floats, Integers, Singles
from allusion_es.core.caches import IdentityCache
from allusion_es.core.plugins import check_choice
from allusion_es.rerankers._shared.transport import SOLVERS, Solve, load_solver
from allusion_es.rerankers._shared.word_pairs import WeightedWords, by_counts
from allusion_es.rerankers._shared.word_vectors import ChosenVectors, vectors_of
from allusion_es.retrieval.coded_texts import CodedTexts
from allusion_es.retrieval.explanations import as_contributions
from allusion_es.retrieval.reranking import UNDEFINED, Candidates, Collection, Explanation
from allusion_es.retrieval.types import AnalysedQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

_SLACK = 1e-9
"""Distances that differ by no more count as equal: solvers round in the last digits."""

_PADDING = -2.0
"""The similarity of no word to any: less than that of any two words."""

_STEP = 4
"""Texts whose numbers of words have the same next multiple of this are computed together."""

_CELLS = 1 << 17
"""Pairs of words that are computed together: half a megabyte, which a processor's cache holds."""

_NEAR = 4096
"""Texts at least that are ranked by their relaxed distance where they are not solved.

Those beyond are ranked below. With all of the Vulgate's verses, recall at 1,000 was the same."""

_FIRST = 64
"""Texts at least that are solved, where needed, before all others."""

# Of 2,860 verses that the relaxed distance leaves open for a clause, these leave 300 to be solved.
# With half the entropy and twice the steps it would be 215, which takes longer in all.
_ENTROPY = np.float32(0.1)
_PRICE_STEPS = 5

_ROUNDING = 1e-5
"""More than single precision can add to a bound, which must not exceed the distance."""


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

    Distances are exact for the best `Candidates.wanted` candidates. Two lower bounds say which
    need not be solved, because enough others are nearer: the relaxed distance (each word goes to
    its nearest, in both directions) and, where that does not decide, the value of prices that a
    few steps of Sinkhorn's algorithm find (`_TransportProblems.priced`). Candidates that are not
    solved get 1 minus their relaxed distance, all lowered by the same amount where needed to rank
    below every exact score; far ones, of which only one direction is computed, rank below those.

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
        self._passages: IdentityCache[_PassageSide] = IdentityCache()

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        problems = self._problems(query, candidates, collection)
        scores = np.full(len(candidates), UNDEFINED)
        texts = problems.passages.texts
        if problems.weighted.query_words and len(texts):
            wanted = len(texts) if candidates.wanted is None else candidates.wanted
            scores[texts] = self._best(problems, min(wanted, len(texts)))
        return scores

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """For each candidate, the flow between each pair of words times their similarity."""
        problems = self._problems(query, candidates, collection)
        explained: list[Explanation] = [None] * len(candidates)
        if problems.weighted.query_words:
            for place, text in enumerate(problems.passages.texts.tolist()):
                explained[text] = self._flow(problems, place)
        return explained

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note on the word vectors, the cost and the histograms."""
        return (
            f"{self._vectors.note(collection)}; cost 1 - cosine; histograms of word counts that "
            "sum to 1; words are left out only as the index leaves out stop words",
        )

    def _best(self, problems: "_TransportProblems", wanted: int) -> Floats:
        """Scores of the texts that have words, exact for the best `wanted`."""
        bounds = problems.back()
        distances = np.full(len(bounds), np.inf)
        nearest = [-np.inf] * max(wanted, 1)  # a heap of negative distances: the farthest first

        def still_open(texts: Integers) -> Integers:
            return texts[bounds[texts] <= _SLACK - nearest[0]]

        def solve(texts: Integers) -> None:
            texts = still_open(texts)
            if wanted < len(bounds):
                # Not a number where prices cannot be found: then the other bound stands.
                bounds[texts] = np.fmax(bounds[texts], problems.priced(texts))
            for place in texts[np.argsort(bounds[texts], kind="stable")].tolist():
                if bounds[place] > _SLACK - nearest[0]:
                    break
                distances[place] = distance = self._solved(problems, place)[0]
                if -distance > nearest[0]:
                    heapq.heapreplace(nearest, -distance)

        # Likely texts first: their distances rule out most of the others by the cheapest bound.
        first = min(max(2 * wanted, _FIRST), len(bounds))
        by_estimate = np.argsort(bounds + problems.moved_evenly(), kind="stable")
        solve(by_estimate[:first])
        others = by_estimate[first:]
        is_near = np.arange(first, len(bounds)) < _NEAR
        others = others[is_near | (bounds[others] <= _SLACK - nearest[0])]
        bounds[others] = np.maximum(bounds[others], problems.forth(others))
        others = others[np.argsort(bounds[others], kind="stable")]
        scores: Floats = 1 - bounds  # before `solve` tightens the bounds of some of them
        solve(others[:first])
        solve(others[first:])

        exact = np.isfinite(distances)
        scores[exact] = 1 - distances[exact]
        near = np.zeros(len(bounds), dtype=bool)
        near[by_estimate[:first]] = near[others] = True
        _rank_below(scores, exact, near & ~exact)
        _rank_below(scores, near, ~near)
        return scores

    def _solved(self, problems: "_TransportProblems", place: int) -> tuple[float, Floats]:
        """Distance, and flow from the candidate's words to the query's."""
        entries = problems.passages.entries(place)
        histogram = problems.passages.histograms[entries]
        return self._transport()(histogram, problems.histogram, problems.costs(place))

    def _flow(self, problems: "_TransportProblems", place: int) -> Explanation:
        """`T_ij (1 - c_ij)` for each pair of words of the query and one candidate."""
        flow = self._solved(problems, place)[1]
        parts = flow * (1 - problems.costs(place))
        codes = problems.weighted.entries.codes[problems.passages.entries(place)]
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
        similarity = np.full((len(left), len(right) + 1), _PADDING, dtype=np.float32)
        np.minimum(left @ right.T, 1, out=similarity[:, :-1])
        similarity[weighted.texts.find(weighted.query_words)] = 1.0
        return _TransportProblems(
            weighted,
            weighted.query_weights / max(float(weighted.query_weights.sum()), 1.0),
            similarity,
            self._passages.get(lambda: _PassageSide.of(weighted.texts), weighted.texts),
        )


def _rank_below(scores: Floats, upper: "NDArray[np.bool_]", lower: "NDArray[np.bool_]") -> None:
    """Lower the scores of some texts by the same amount, so that none reaches those of others."""
    if upper.any() and lower.any():
        reach = scores[lower].max() - scores[upper].min() + _SLACK
        scores[lower] -= max(0.0, float(reach))


@dataclass(frozen=True, slots=True)
class _TransportProblems:
    """One transport problem for each candidate that has words.

    Attributes:
        weighted: The words and their counts.
        histogram: Of the query, shape (query words,).
        similarity: 1 minus the cost of moving each word of the query to each of the candidates',
            shape (query words, words + 1); the last column is that of no word.
        passages: The candidates' words.
    """

    weighted: WeightedWords
    histogram: Floats
    similarity: Singles
    passages: "_PassageSide"

    def costs(self, place: int) -> Floats:
        """From each word of a candidate to each of the query's, shape (its words, query words)."""
        codes = self.weighted.entries.codes[self.passages.entries(place)]
        return np.ascontiguousarray(1 - self.similarity[:, codes].T.astype(np.float64))

    def moved_evenly(self) -> Floats:
        """What it costs to move each word to all others in proportion, shape (n,)."""
        evenly = self.histogram.astype(np.float32) @ self.similarity[:, :-1]
        costs: Floats = 1 - self.passages.matrix @ evenly
        return costs

    def back(self) -> Floats:
        """A lower bound of each distance: each word of a candidate goes to its nearest; (n,)."""
        nearest = 1 - self.similarity[:, :-1].max(axis=0).astype(np.float64)
        costs: Floats = self.passages.matrix @ nearest
        return costs

    def forth(self, texts: Integers) -> Floats:
        """A lower bound: each word of the query goes to its nearest in a text; (len(texts),)."""
        costs = np.empty(len(texts))
        for rows, codes, _ in self._blocks(texts):
            best = self.similarity.take(codes, axis=1).max(axis=1)
            costs[rows] = self.histogram @ (1 - best.astype(np.float64))
        return costs

    def priced(self, texts: Integers) -> Floats:
        """A lower bound of the distance of some candidates, shape (len(texts),).

        If every word has a price, and no two words' prices together exceed the cost of moving the
        one to the other, then what the prices of all words sum to, each times its share of the
        histogram, is at most the distance (weak duality of linear programmes). Good prices are
        those of the problem with an entropy term, which a few steps find for many texts at once;
        then each is lowered, and after that raised, to the least slack. Source: Cuturi 2013,
        Sinkhorn Distances: Lightspeed Computation of Optimal Transport.
        """
        bounds = np.empty(len(texts))
        asked = self.histogram.astype(np.float32)[:, None]
        for rows, codes, shares in self._blocks(texts):
            cost = 1 - self.similarity.take(codes, axis=1)  # query words x passage words x texts
            kernel = np.exp(cost / -_ENTROPY)
            right = shares
            for _ in range(_PRICE_STEPS):
                left = asked / np.einsum("qpt,pt->qt", kernel, right)
                right = shares / np.einsum("qpt,qt->pt", kernel, left)
            price = _ENTROPY * np.log(left)
            other = np.where(shares > 0, (cost - price[:, None]).min(axis=0), 0)
            price = (cost - other).min(axis=1)
            bounds[rows] = (asked * price).sum(axis=0) + (shares * other).sum(axis=0)
        return bounds - _ROUNDING

    def _blocks(self, texts: Integers) -> Iterator[tuple[Integers, Integers, Singles]]:
        """Texts of nearly the same number of words together, as many as a cache holds.

        Yields:
            Where they stand in `texts`; their words, padded with the number of no word, shape
            (words of each, texts); and the words' shares of the histogram, of the same shape.
        """
        kinds = self.passages.kinds[texts]
        for kind in np.unique(kinds).tolist():
            rows = np.flatnonzero(kinds == kind)
            codes, shares = self.passages.padded[kind]
            size = max(1, _CELLS // (len(self.histogram) * codes.shape[1]))
            for first in range(0, len(rows), size):
                some = rows[first : first + size]
                inside = self.passages.rows[texts[some]]
                yield some, codes[inside].T, shares[inside].T


@dataclass(frozen=True, slots=True)
class _PassageSide:
    """The candidates' side of the transport problems, which no query changes.

    Attributes:
        histograms: One number for each entry of the texts' counts.
        texts: Numbers of the candidates that have words, shape (n,).
        starts: Entries of the i-th of them are `starts[i]:starts[i + 1]`; n + 1 numbers.
        matrix: Their histograms, shape (n, words).
        kinds: For each of them which of `padded` it is in, shape (n,).
        rows: Its row there, shape (n,).
        padded: Words and histograms of texts of nearly the same number of words, both of shape
            (texts, greatest number); padded with the number of no word, and with 0.
    """

    histograms: Floats
    texts: Integers
    starts: list[int]
    matrix: "csr_array"
    kinds: Integers
    rows: Integers
    padded: list[tuple[Integers, Singles]]

    @classmethod
    def of(cls, coded: CodedTexts) -> "_PassageSide":
        """The side of these texts."""
        entries = coded.counts
        texts, starts = np.unique(entries.texts, return_index=True)
        histograms = entries.counts / entries.sums(entries.counts)[entries.texts]
        sizes = np.diff(starts, append=len(entries.texts))
        widths, kinds = np.unique(-(-sizes // _STEP) * _STEP, return_inverse=True)
        rows, padded = np.empty(len(texts), dtype=np.int64), []
        for kind, width in enumerate(widths.tolist()):
            some = np.flatnonzero(kinds == kind)
            rows[some] = np.arange(len(some))
            inside = np.arange(width) < sizes[some, None]
            places = np.where(inside, starts[some, None] + np.arange(width), 0)
            codes = np.where(inside, entries.codes[places], len(coded.words))
            padded.append((codes, np.where(inside, histograms[places], 0).astype(np.float32)))
        matrix = entries.matrix(histograms, len(coded.words))[texts]
        return cls(
            histograms, texts, [*starts.tolist(), len(entries.texts)], matrix, kinds, rows, padded
        )

    def entries(self, place: int) -> slice:
        """The entries of one of the texts."""
        return slice(self.starts[place], self.starts[place + 1])
