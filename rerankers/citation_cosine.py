"""Cosine of citation vectors, which are learned from texts that cite the passages."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allusion_es.core.arrays import Floats
from allusion_es.core.errors import UsageError
from allusion_es.core.plugins import check_range
from allusion_es.language.citations.vectors import CONTEXT, CitationVectors
from allusion_es.language.citations.word_parts import Word
from allusion_es.retrieval.explanations import Parts, as_contributions
from allusion_es.retrieval.generators import citing_words
from allusion_es.retrieval.reranking import Candidates, Collection, Explanation
from allusion_es.retrieval.types import (
    FIELDS,
    AnalysedQuery,
    Field,
)


@dataclass(frozen=True, slots=True)
class _WeightedText:
    """A text as a weighted sum of its distinct words' vectors, of unit length or zero."""

    words: list[Word]
    weights: Floats
    vectors: Floats

    def total(self) -> Floats:
        """The vector of the text, shape (dimension,)."""
        return np.asarray(self.weights @ self.vectors)


class CitationCosine:
    """Cosine of vectors that were learned from how texts cite passages.

    `cos(v(q) + c v(window), v(p))`, with `v(text) = sum over its distinct words of sqrt(tf)
    w(lemma) v(word)` made unit length; see `language.citations.vectors`. The cosine is a sum over
    pairs of words, which explain it. From -1 to 1; a text without known words scores 0.

    Args:
        context: c, how much the words around the query count; 0 leaves them out.

    Raises:
        UsageError: When scoring, where the index has no citation vectors.
    """

    name = "citation-cosine"

    def __init__(self, context: float = CONTEXT) -> None:
        check_range(self.name, "context", context, 0, 100)
        self._context = context

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        vectors = _citation_vectors(collection)
        query_vector = self._query(query, vectors).total()
        passage_vectors = vectors.text_vectors(_texts(candidates, collection)).astype(np.float64)
        return np.asarray(passage_vectors @ query_vector)

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[Explanation]:
        """For each candidate, addends of pairs of tokens or of lemmas, as its field is."""
        vectors = _citation_vectors(collection)
        query_text = self._query(query, vectors)
        passages = (_unit(_sum(Counter(t), vectors)) for t in _texts(candidates, collection))
        return [as_contributions(_pairs(query_text, p, candidates.field)) for p in passages]

    def notes(self, collection: Collection) -> Sequence[str]:
        """A note that names the citation vectors and the number of links behind them."""
        vectors = collection.citations
        if vectors is None:
            return ()
        return (
            f"citation-cosine: citation vectors {vectors.name}, "
            f"{vectors.about.get('links', '?')} links, context {self._context:g}",
        )

    def _query(self, query: AnalysedQuery, vectors: CitationVectors) -> _WeightedText:
        """The query as one text: its own words, and those around it with weight c."""
        own, window = citing_words(query)
        parts = [_unit(_sum(Counter(own), vectors))]
        if window and self._context > 0:
            parts.append(_unit(_sum(Counter(window), vectors)))
            parts[1].weights[:] *= self._context
        return _unit(
            _WeightedText(
                [word for part in parts for word in part.words],
                np.concatenate([part.weights for part in parts]),
                np.concatenate([part.vectors for part in parts]),
            )
        )


def _citation_vectors(collection: Collection) -> CitationVectors:
    """The citation vectors of the index, or an error where it has none."""
    if collection.citations is None:
        raise UsageError(
            "the index has no citation vectors, which citation-cosine needs; rebuild it without "
            "--no-learned-links or choose another reranker"
        )
    return collection.citations


def _texts(candidates: Candidates, collection: Collection) -> list[list[Word]]:
    """Tokens and lemmas of each candidate."""
    other: Field = "lemma" if candidates.field == "token" else "token"
    more = collection.texts(other, candidates.ranking.ids)
    both = (candidates.texts, more) if other == "lemma" else (more, candidates.texts)
    return [
        list(zip(both[0].text(number), both[1].text(number), strict=True))
        for number in range(len(candidates))
    ]


def _sum(counts: Counter[Word], vectors: CitationVectors) -> _WeightedText:
    words = list(counts)
    weights = np.sqrt(np.array(list(counts.values()), dtype=np.float64))
    return _WeightedText(words, weights, vectors.known_word_vectors(words).astype(np.float64))


def _unit(text: _WeightedText) -> _WeightedText:
    """The text with weights that make its vector unit length; zero where it has no direction."""
    length = float(np.linalg.norm(text.total()))
    scale = 1 / length if length > 1e-6 else 0.0
    return _WeightedText(text.words, text.weights * scale, text.vectors)


def _pairs(query: _WeightedText, passage: _WeightedText, field: Field) -> Parts:
    """The addends of the cosine, by pairs of tokens or of lemmas."""
    place = FIELDS.index(field)
    products = (query.weights[:, None] * query.vectors) @ (
        passage.weights[:, None] * passage.vectors
    ).T
    parts: Parts = {}
    for one, row in zip(query.words, products.tolist(), strict=True):
        for other, value in zip(passage.words, row, strict=True):
            if value:
                pair = one[place], other[place]
                parts[pair] = parts.get(pair, 0.0) + value
    return parts
