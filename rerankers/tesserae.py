"""Tesserae: rare shared words that lie close together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allusion_es.core.arrays import Floats, Integers
from allusion_es.core.plugins import check_choice
from allusion_es.rerankers._shared.shared_words import (
    SharedTypes,
    query_distances,
    shared_types,
    text_distances,
)
from allusion_es.retrieval.explanations import as_contributions
from allusion_es.retrieval.reranking import UNDEFINED, Candidates, Collection, Explanation
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Field,
)


class Tesserae:
    """Tesserae's score, with word frequencies from the two collections.

    `ln(sum over shared types w of (1 / f(w, s) + 1 / f(w, t)) / (d_s + d_t))`, s the query and t
    the passage. f(w, t) is the frequency of w in the collection, f(w, s) that in all queries of
    the run or, where there is only one, in the collection too (a frequency below 1 counts as
    1); `notes` says which. d is the distance in tokens between the two rarest shared words, by
    that text's f: adjacent words have 1; a repeated word counts where it lies nearest to the
    other; where words are equally rare, the nearest pair counts. Source: Forstall et al. 2015;
    Manjavacas et al. 2019, section 5.1.

    Only defined for texts that share two types; others get `UNDEFINED`, rank last, and are
    explained by None. Scores are usually below 0.

    A logarithm of a sum cannot be split among its terms. The explanation splits off the
    distance, `-ln(d_s + d_t)`, exactly, as a pair of its own (`‹distance 2›`), and divides the
    rest, `L = ln(sum of rarities r_w)`, in proportion: `L r_w / R`, R the sum; where L is below
    0, `L (2 / n - r_w / R)` for n words, so that a rarer word still stands higher.

    Args:
        query_side: Where f(w, s) comes from: `run`, all queries of the run where there are
            several, or `collection`.

    Example:
        >>> from allusion_es.rerankers.trial import trial
        >>> trial(Tesserae(), "in principio erat", ["in principio", "erat uerbum"])
        [0.6931, -1000.0]
    """

    nothing = UNDEFINED

    def __init__(self, query_side: str = "run") -> None:
        check_choice("tesserae", "query_side", query_side, ("run", "collection"))
        self._from_run = query_side == "run"

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        return self._terms(query, candidates, collection).scores()

    def values(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[float | None]:
        """The scores, None where fewer than two types are shared."""
        scores = self.score(query, candidates, collection).tolist()
        return [None if score == UNDEFINED else score for score in scores]

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """For each candidate, its score split as the class docstring says."""
        terms = self._terms(query, candidates, collection)
        return [terms.explanation(number) for number in range(len(candidates))]

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note on the collections that frequencies come from."""
        side = collection.query_side if self._from_run else "the collection"
        return (
            f"Tesserae: frequencies of query words from {side}, of passage "
            "words from the collection; undefined below two shared words",
        )

    def frequencies(
        self, shared: SharedTypes, field: Field, collection: Collection
    ) -> tuple[Floats, Floats]:
        """f(w, s) and f(w, t) of each shared type, at least 1, shape of `shared.types`."""
        words = shared.query_words
        found = np.maximum(collection.statistics(field, words).cf, 1)
        asked = found
        if self._from_run:
            asked = np.maximum(collection.query_frequencies(field, words), 1)
        return asked[shared.types].astype(np.float64), found[shared.types].astype(np.float64)

    def _terms(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> "_Terms":
        """The terms of the scores of all candidates."""
        words, texts = query.words(candidates.field), candidates.texts
        shared = shared_types(words, texts)
        asked, found = self.frequencies(shared, candidates.field, collection)
        return _Terms(
            shared,
            1 / asked + 1 / found,
            query_distances(shared, asked, words),
            text_distances(shared, found, texts),
        )


@dataclass(frozen=True, slots=True)
class _Terms:
    """The terms of the formula, from which scores and explanations are made.

    Attributes:
        shared: The shared types of each text.
        rarities: `1 / f(w, s) + 1 / f(w, t)` of each.
        query_distances: d_s for each text, 0 where undefined.
        text_distances: d_t for each text.
    """

    shared: SharedTypes
    rarities: Floats
    query_distances: Integers
    text_distances: Integers

    def scores(self) -> Floats:
        """The score of each text, `UNDEFINED` where fewer than two types are shared."""
        sums = np.bincount(self.shared.texts, weights=self.rarities, minlength=self.shared.size)
        scores = np.full(self.shared.size, UNDEFINED)
        defined = sums > 0
        distances = (self.query_distances + self.text_distances)[defined]
        scores[defined] = np.log(sums[defined] / distances)
        return scores

    def explanation(self, number: int) -> Explanation:
        """The score of one text split into the distance and its shared words."""
        first, last = np.searchsorted(self.shared.texts, [number, number + 1])
        if first == last:
            return None
        rarities = self.rarities[first:last]
        total = float(rarities.sum())
        shares, left = rarities / total, math.log(total)
        if left < 0:
            shares = 2 / len(shares) - shares
        near, far = int(self.query_distances[number]), int(self.text_distances[number])
        parts = {(f"‹distance {near}›", f"‹distance {far}›"): -math.log(near + far)}
        for kind, share in zip(self.shared.types[first:last], shares, strict=True):
            word = self.shared.query_words[kind]
            parts[word, word] = left * float(share)
        return as_contributions(parts)
