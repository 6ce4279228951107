"""Words of a query and of its candidates, compared one by one by their citation vectors.

`rete` and `piscator` have nearly the same citation vector, since texts that cite the same verses
have them. A text's vector, a sum over its words, hides which words are alike; these features tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats, Integers, Singles
from allusion_es.language.citations.vectors import CitationVectors, unit, weighted_sums
from allusion_es.language.citations.word_parts import Word
from allusion_es.rerankers.local_alignment import Alignment
from allusion_es.retrieval.generators import citing_words
from allusion_es.retrieval.reranking import Candidates
from allusion_es.retrieval.types import AnalysedQuery, Field

ALIKE = (0.97, 0.8, 0.65, 0.5, 0.35, 0.2)
"""Cosines above which a word of the query counts as having a partner in a candidate."""

LARGEST = 3
"""How many of the query's best matched words have a feature of their own."""


@dataclass(frozen=True)
class ComparedWords:
    """The words of a query and of n candidates, with their citation vectors.

    Attributes:
        asked: The query's distinct words.
        asked_weights: w(lemma) of each, shape (len(asked),).
        asked_vectors: Their unit vectors, shape (len(asked), dimension).
        order: The query's words in order, as positions in `asked`.
        asked_lemmas: The lemma of each of `asked`, as a number, shape (len(asked),).
        words: The candidates' distinct words.
        lemmas: The lemma of each, as a number, shape (len(words),).
        weights: w(lemma) of each, shape (len(words),).
        vectors: `w(lemma) v(word)` of each, shape (len(words), dimension).
        codes: All words of all candidates in order, as positions in `words`.
        offsets: Candidate i is `codes[offsets[i]:offsets[i + 1]]`; shape (n + 1,).
    """

    asked: Sequence[Word]
    asked_weights: Singles
    asked_vectors: Singles
    order: Integers
    asked_lemmas: Integers
    words: Sequence[Word]
    lemmas: Integers
    weights: Singles
    vectors: Singles
    codes: Integers
    offsets: Integers

    def text_vectors(self) -> Floats:
        """`CitationVectors.text_vectors` of the candidates, shape (n, dimension)."""
        size = max(len(self.words), 1)
        keys, counts = np.unique(self._owners * size + self.codes, return_counts=True)
        roots = np.sqrt(counts).astype(np.float32)
        offsets = np.searchsorted(keys, np.arange(len(self.offsets)) * size)
        sums = weighted_sums(roots, keys % size, offsets, self.vectors)
        return unit(sums).astype(np.float64)

    @cached_property
    def cosines(self) -> Singles:
        """The cosine of each word of the query and each word, at least 0; 1 for equal lemmas."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.vectors, self.vectors))
        lengths[lengths == 0] = 1
        found = np.maximum(self.asked_vectors @ self.vectors.T / lengths, np.float32(0))
        # Words of one lemma are the same word, whatever their forms.
        found[self.asked_lemmas[:, None] == self.lemmas] = 1
        return np.asarray(np.minimum(found, 1), dtype=np.float32)

    def best_of_query(self) -> Singles:
        """For each word of the query the cosine of its nearest in each candidate.

        Returns:
            Shape (len(asked), n), 0 for candidates without words.
        """
        texts = len(self.offsets) - 1
        if not len(self.codes):
            return np.zeros((len(self.asked), texts), dtype=np.float32)
        # One column more, since `reduceat` gives an empty text the column that it begins with.
        spread = np.zeros((len(self.asked), len(self.codes) + 1), dtype=np.float32)
        np.take(self.cosines, self.codes, axis=1, out=spread[:, :-1])
        best = np.maximum.reduceat(spread, self.offsets[:-1], axis=1)
        best[:, np.diff(self.offsets) == 0] = 0
        return best

    def features(self) -> dict[str, Floats]:
        """Features of the candidates by name, shape (n,) each.

        `maxsim`: mean over the query's words, by their weight, of the cosine to the nearest word
        of the candidate; `maxsim-passage` the other way round (Khattab and Zaharia 2020, ColBERT's
        sum of largest similarities); `…-cubed` of the cube, so that only near words count.
        `alike-0.65`: share of the query's weight that has a word above that cosine.
        `largest-1`: weight times cube of the best matched word, and so on.
        """
        best = self.best_of_query()
        weights = self.asked_weights / max(float(self.asked_weights.sum()), 1e-9)
        backwards = self.cosines.max(axis=0, initial=0.0)
        mine = self.weights[self.codes]
        total = np.maximum(self._sums(mine), 1e-9)
        cubes = best * best * best
        largest = -np.sort(-(self.asked_weights[:, None] * cubes), axis=0)
        features: dict[str, NDArray[Any]] = {
            "maxsim": weights @ best,
            "maxsim-cubed": weights @ cubes,
            "maxsim-passage": self._sums(mine * backwards[self.codes]) / total,
            "maxsim-passage-cubed": self._sums(mine * backwards[self.codes] ** 3) / total,
        }
        for cosine in ALIKE:
            features[f"alike-{cosine:g}"] = weights @ (best > cosine)
        for number in range(LARGEST):
            row = largest[number] if number < len(largest) else np.zeros(best.shape[1])
            features[f"largest-{number + 1}"] = row
        return {name: np.asarray(values, dtype=np.float64) for name, values in features.items()}

    @cached_property
    def alignments(self) -> dict[str, Alignment]:
        """Local alignments by citation vectors, whose scores are features.

        `aligned` is by weight and square of the cosine, `aligned-close` by its fourth power.
        """
        squares = self.cosines * self.cosines
        return {
            "aligned": self._aligned(squares, 1.0),
            "aligned-close": self._aligned(squares * squares, 0.6),
        }

    def pairs(self, number: int, field: Field) -> dict[tuple[str, str], float]:
        """For each word of the query its nearest in a candidate, with weight times cubed cosine."""
        codes = self.codes[self.offsets[number] : self.offsets[number + 1]]
        if not len(codes):
            return {}
        side = 0 if field == "token" else 1
        cosines = self.cosines[:, codes]
        nearest = cosines.argmax(axis=1)
        found: dict[tuple[str, str], float] = {}
        for row, column in enumerate(nearest.tolist()):
            gain = float(self.asked_weights[row] * cosines[row, column] ** 3)
            pair = self.asked[row][side], self.words[codes[column]][side]
            found[pair] = max(found.get(pair, 0.0), gain)
        return found

    @cached_property
    def _owners(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def _sums(self, values: NDArray[Any]) -> Floats:
        """Sums of one value a word of each candidate, shape (n,)."""
        sums = np.bincount(self._owners, weights=values, minlength=len(self.offsets) - 1)
        return sums.astype(np.float64, copy=False)

    def _aligned(self, similarity: Singles, gap: float) -> Alignment:
        lighter = np.minimum(self.asked_weights[:, None], self.weights)
        gains = similarity * (lighter + np.float32(gap)) - np.float32(gap)
        return Alignment.exact(self.order, gains, self.codes, gap)


def compare_words(
    query: AnalysedQuery, tokens: Candidates, lemmas: Candidates, vectors: CitationVectors
) -> ComparedWords:
    """The words of a query and of its candidates, compared by citation vectors.

    Args:
        query: The query.
        tokens: The candidates with their tokens.
        lemmas: The same with their lemmas.
        vectors: The citation vectors.
    """
    own, _ = citing_words(query)
    asked = list(dict.fromkeys(own))
    numbers = {word: number for number, word in enumerate(asked)}
    texts, others = tokens.texts, lemmas.texts
    size = max(len(others.words), 1)
    pairs, codes = np.unique(texts.codes * size + others.codes, return_inverse=True)
    lemma_codes = pairs % size
    words = [
        (texts.words[token], others.words[lemma])
        for token, lemma in zip((pairs // size).tolist(), lemma_codes.tolist(), strict=True)
    ]
    # A lemma that no candidate has gets a number that no other has.
    asked_lemmas = np.arange(size, size + len(asked))
    found, places = others.find([lemma for _, lemma in asked])
    asked_lemmas[found] = places
    lemma_weights = vectors.word_weights([("", lemma) for lemma in others.words])
    return ComparedWords(
        asked,
        vectors.word_weights(asked),
        unit(vectors.known_word_vectors(asked)),
        np.array([numbers[word] for word in own], dtype=np.int64),
        asked_lemmas,
        words,
        lemma_codes,
        lemma_weights[lemma_codes],
        vectors.known_word_vectors(words),
        codes,
        texts.offsets,
    )
