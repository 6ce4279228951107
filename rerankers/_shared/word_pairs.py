"""Scores that are sums over pairs of words, and rerankers that give such scores."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.retrieval.coded_texts import CodedTexts, WordCounts
from allusion_es.retrieval.explanations import Parts, as_contributions
from allusion_es.retrieval.reranking import Candidates, Collection, Explanation
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Contribution,
)
from allusion_es.retrieval.weighting import idf


def shares(explanation: Explanation, score: float, otherwise: tuple[str, str]) -> Parts:
    """`score` divided among the pairs of `explanation`; the parts sum to it.

    Pairs that add something share in proportion; those that take something away get nothing.
    Where all take something away, those that take least get most: `1 - part / sum` each.

    Args:
        explanation: Pairs with contributions of either sign, or None.
        score: What is divided.
        otherwise: The pair that gets all where there are no pairs.
    """
    parts = {(part.query_word, part.passage_word): part.contribution for part in explanation or ()}
    kept = {pair: part for pair, part in parts.items() if part > 0}
    if not kept and len(parts) > 1:
        total = sum(parts.values())
        kept = {pair: 1 - part / total for pair, part in parts.items()} if total < 0 else {}
    total = sum(kept.values())
    if total <= 0:
        kept, total = dict.fromkeys(parts or (otherwise,), 1.0), float(len(parts) or 1)
    return {pair: score * part / total for pair, part in kept.items()}


Similarity = NDArray[np.floating] | tuple[NDArray[np.floating], NDArray[np.floating]]
"""Similarities of words i of a query and words j of texts: S of shape (i, j), or L and R of shapes
(i, dimension) and (j, dimension), where S is L times the transpose of R."""


@dataclass(frozen=True, slots=True)
class PairSums:
    """`sum over i, j of q_i S_ij p_jt / divisor_t` for each candidate t.

    Attributes:
        query_words: Distinct words i of the query.
        query_weights: q, shape (len(query_words),).
        texts: The candidates' texts, with their distinct words j.
        similarity: S, or its factors; None where each word is similar to itself alone.
        weights: p, one for each entry of `texts.counts`, shape (entries,).
        divisors: One a candidate, shape (len(texts),); where it is 0 so is the score.
    """

    query_words: Sequence[str]
    query_weights: Floats
    texts: CodedTexts
    similarity: Similarity | None
    weights: Floats
    divisors: Floats

    def scores(self) -> Floats:
        """The scores, shape (len(texts),)."""
        similarity = self.similarity
        sums = self._equal_sums() if similarity is None else self._similar_sums(similarity)
        return np.divide(sums, self.divisors, out=np.zeros(len(sums)), where=self.divisors > 0)

    def _equal_sums(self) -> Floats:
        """The sums where only equal words are similar: few texts share a word with the query."""
        rows, entries = self.texts.entries_of(self.query_words)
        sums = np.bincount(
            self.texts.counts.texts[entries],
            weights=self.weights[entries] * self.query_weights[rows],
            minlength=len(self.texts),
        )
        return sums.astype(np.float64, copy=False)

    def _similar_sums(self, similarity: Similarity) -> Floats:
        if isinstance(similarity, tuple):
            left, right = similarity
            pull = right @ (self.query_weights @ left)
        else:
            pull = self.query_weights @ similarity
        counts = self.texts.counts
        return counts.sums(self.weights * pull[counts.codes])

    def explanation(self, number: int) -> tuple[Contribution, ...]:
        """Each pair's addend in one candidate's score; pairs that add nothing are left out."""
        entries = self.texts.counts
        first, last = np.searchsorted(entries.texts, [number, number + 1])
        codes = entries.codes[first:last]
        found = [self.texts.words[code] for code in codes.tolist()]
        if self.similarity is None:
            parts = np.zeros((len(self.query_words), len(found)))
            parts[equal_words(self.query_words, found)] = 1.0
        elif isinstance(self.similarity, tuple):
            left, right = self.similarity
            parts = (left @ right[codes].T).astype(np.float64, copy=False)
        else:
            parts = self.similarity[:, codes].astype(np.float64)
        divisor = float(self.divisors[number])
        parts *= self.query_weights[:, None] * self.weights[first:last]
        parts *= 1 / divisor if divisor > 0 else 0.0
        rows, columns = np.nonzero(parts)
        return as_contributions(
            {
                (self.query_words[row], found[column]): float(parts[row, column])
                for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
            }
        )


class PairReranker(ABC):
    """A reranker whose scores are sums over pairs of words.

    Attributes:
        whole: Whether a score depends on the other candidates too.
    """

    whole = False

    @abstractmethod
    def sums(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> PairSums:
        """The sums over pairs of words that give the scores of `candidates`."""

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        chosen, numbers = self._chosen(candidates)
        return self.sums(query, chosen, collection).scores()[numbers]

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[tuple[Contribution, ...]]:
        """For each candidate, each pair's addend; pairs that add nothing are left out."""
        chosen, numbers = self._chosen(candidates)
        sums = self.sums(query, chosen, collection)
        return [sums.explanation(number) for number in numbers.tolist()]

    def _chosen(self, candidates: Candidates) -> tuple[Candidates, NDArray[np.int64]]:
        return candidates.pool if self.whole else (candidates, np.arange(len(candidates)))


def equal_words(
    asked: Sequence[str], found: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of equal words in two lists of distinct words: in `asked`, and in `found`."""
    rows = {word: row for row, word in enumerate(asked)}
    pairs = [(rows[word], column) for column, word in enumerate(found) if word in rows]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


@dataclass(frozen=True, slots=True)
class WeightedWords:
    """Distinct words of a query and its candidates, with a weight for each occurrence.

    Attributes:
        query_words: The query's distinct words.
        query_weights: Shape (len(query_words),).
        texts: The candidates' texts.
        weights: One for each entry of `texts.counts`, shape (entries,).
    """

    query_words: list[str]
    query_weights: Floats
    texts: CodedTexts
    weights: Floats

    @property
    def words(self) -> tuple[str, ...]:
        """The candidates' distinct words."""
        return self.texts.words

    @property
    def entries(self) -> WordCounts:
        """The words that each candidate has."""
        return self.texts.counts

    def norms(self, collection: Collection) -> Floats:
        """Length of the query's vector times that of each candidate's, shape (len(texts),)."""
        square = float(self.query_weights @ self.query_weights)
        squares = collection.kept(
            lambda: self.entries.sums(self.weights**2), WeightedWords, self.texts, self.weights
        )
        return np.sqrt(square * squares)


def by_counts(query: AnalysedQuery, candidates: Candidates) -> WeightedWords:
    """Words weighted by how often they occur in their text."""
    counts = Counter(query.words(candidates.field))
    tf = np.array(list(counts.values()), dtype=np.float64)
    return WeightedWords(list(counts), tf, candidates.texts, candidates.texts.counts.counts)


def by_tfidf(query: AnalysedQuery, candidates: Candidates, collection: Collection) -> WeightedWords:
    """Words weighted by term frequency times the paper's idf (section 5.1)."""
    plain = by_counts(query, candidates)
    asked = collection.statistics(candidates.field, plain.query_words)

    def passage_weights() -> Floats:
        found = collection.statistics(candidates.field, plain.words)
        return plain.weights * idf(found.df, found.passages)[plain.entries.codes]

    return WeightedWords(
        plain.query_words,
        plain.query_weights * idf(asked.df, asked.passages),
        plain.texts,
        collection.kept(passage_weights, by_tfidf, candidates.texts),
    )
