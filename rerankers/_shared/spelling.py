"""Spelling similarity: words matched by their letters, so that endings and spellings may differ."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, ranges
from allusion_es.language.citations.word_parts import distinct_gram_keys
from allusion_es.retrieval.explanations import Parts, as_contributions
from allusion_es.retrieval.reranking import Candidates, Collection, Explanation
from allusion_es.retrieval.types import AnalysedQuery
from allusion_es.retrieval.weighting import idf

_CACHE_SIZE = 100_000
"""Words whose grams are kept; then the cache is emptied."""


class Spelling:
    """Weight of the query's words, each times the likeness of its best match in the passage.

    `sum over distinct words i of the query of idf_i max_j C_ij²`, C the cosine of the sets of
    sequences of 3 to 5 letters of two words in one spelling, as
    `language.citations.word_parts.grams` gives them; 0 where a word has none, as `h`.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._places: dict[str, int] = {}
        self._numbers: dict[int, int] = {}
        # The grams of the word at place i are those from starts[i] to starts[i + 1], as numbers.
        self._starts = np.zeros(1, dtype=np.int64)
        self._grams = np.zeros(0, dtype=np.int64)

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        words, likeness = self._weighted(query, candidates, collection)
        scores = np.zeros(len(candidates))
        texts = candidates.texts
        filled = np.flatnonzero(np.diff(texts.offsets))
        if len(filled) and words:
            each = likeness[:, texts.codes]
            best = np.maximum.reduceat(each, texts.offsets[filled], axis=1)
            scores[filled] = best.sum(axis=0)
        return scores

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """For each candidate, each word of the query with its best match."""
        words, likeness = self._weighted(query, candidates, collection)
        texts = candidates.texts
        reasons: list[Explanation] = []
        for number in range(len(candidates)):
            codes = texts.codes[texts.offsets[number] : texts.offsets[number + 1]]
            parts: Parts = {}
            if len(codes):
                likeness_here = likeness[:, codes]
                for word, place, row in zip(
                    words, likeness_here.argmax(axis=1).tolist(), likeness_here, strict=True
                ):
                    if row[place] > 0:
                        parts[word, texts.words[codes[place]]] = float(row[place])
            reasons.append(as_contributions(parts))
        return reasons

    def _weighted(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> tuple[list[str], Floats]:
        """Distinct words of the query, and `idf_i C_ij²`, shape (words, candidates' words)."""
        asked = list(dict.fromkeys(query.words(candidates.field)))
        found = candidates.texts.words
        known = collection.statistics(candidates.field, asked)
        weights = idf(known.df, known.passages)
        return asked, weights[:, None] * self.likeness(asked, found)

    def likeness(self, asked: Sequence[str], found: Sequence[str]) -> Floats:
        """Squared cosines of the words' sets of grams, shape (len(asked), len(found)).

        From 0 to 1; 0 for words without grams.
        """
        if len(self._places) > _CACHE_SIZE:
            self._forget()
        if not len(asked) or not len(found):
            return np.zeros((len(asked), len(found)))
        asked_grams, asked_sizes = self._grams_of(asked)
        found_grams, found_sizes = self._grams_of(found)
        # The words of the query that have a gram stand together, from starts[gram] on.
        owners = np.repeat(np.arange(len(asked)), asked_sizes)[np.argsort(asked_grams)]
        counts = np.bincount(asked_grams, minlength=len(self._numbers))
        starts = np.cumsum(counts) - counts
        # Few words of passages have any of the query's grams.
        hits = np.flatnonzero(counts[found_grams])
        grams, words = found_grams[hits], np.repeat(np.arange(len(found)), found_sizes)[hits]
        each = counts[grams]
        pairs = owners[ranges(starts[grams], each)] * len(found) + np.repeat(words, each)
        common = np.bincount(pairs, minlength=len(asked) * len(found))
        common = common.reshape(len(asked), len(found)).astype(np.float64)
        # A word may be spelled as nothing (`h`) and so have no grams: then it is like no other.
        products: Floats = asked_sizes.astype(np.float64)[:, None] * found_sizes
        result: Floats = np.zeros(products.shape)
        np.divide(common**2, products, out=result, where=products > 0)
        return result

    def _grams_of(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of the grams of words, one word after the other, and how many each has."""
        new = [word for word in dict.fromkeys(words) if word not in self._places]
        if new:
            self._add(new)
        places = np.array([self._places[word] for word in words], dtype=np.int64)
        starts, sizes = self._starts[places], self._starts[places + 1] - self._starts[places]
        return self._grams[ranges(starts, sizes)], sizes

    def _add(self, words: Sequence[str]) -> None:
        """Number the grams of words that are not known yet."""
        keys, sizes = distinct_gram_keys(words)
        used, where = np.unique(keys, return_inverse=True)
        numbers = self._numbers
        found = np.array([numbers.setdefault(key, len(numbers)) for key in used.tolist()], np.int64)
        first, end = len(self._places), int(self._starts[len(self._places)])
        self._starts = _with_room(self._starts, first + len(words) + 1)
        self._starts[first + 1 : first + len(words) + 1] = end + np.cumsum(sizes)
        self._grams = _with_room(self._grams, end + len(where))
        self._grams[end : end + len(where)] = found[where]
        for word in words:
            self._places[word] = len(self._places)


def _with_room(numbers: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The numbers, with zeros behind them where there are less than `size`; they grow seldom."""
    if size <= len(numbers):
        return numbers
    return np.concatenate([numbers, np.zeros(2 * size - len(numbers), dtype=np.int64)])
