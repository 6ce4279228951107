"""Words that are not the same but stand for each other, as citations of passages use them."""

from allusion_es.core.arrays import Floats
import numpy as np

from allusion_es.language.analysis import Analysis
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.scanning.evidence import Texts

CLOSE = 0.45
"""Cosine from which words stand for each other."""

SHARE = 0.7
"""What such a word counts beside the same word, times the cosine."""

_RARE = 2.5
"""idf from which words are compared at all: function words are like each other and say little."""


def alike(
    analysis: Analysis, texts: Texts, weights: Floats, citations: CitationVectors
) -> list[tuple[str, int, float]]:
    """Lemmas of a text that stand for other lemmas of passages, as `find_matches` takes them.

    Args:
        analysis: The words of the text.
        texts: The passages.
        weights: idf of each word of the text, shape (words,).
        citations: What gives words their vectors.
    """
    idf_of = dict(zip(analysis.lemmas, weights.tolist(), strict=True))
    mine = [lemma for lemma, weight in idf_of.items() if weight > _RARE]
    places = np.flatnonzero(texts.weights > _RARE)
    theirs = [texts.lemmas.words[place] for place in places.tolist()]
    if not mine or not theirs:
        return []
    cosines = _vectors(mine, citations) @ _vectors(theirs, citations).T
    rows, columns = np.nonzero(cosines >= CLOSE)
    return [
        (mine[row], int(places[column]), SHARE * float(cosines[row, column]))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        if mine[row] != theirs[column]
    ]


def _vectors(
    lemmas: list[str], citations: CitationVectors
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    vectors = citations.known_word_vectors([(lemma, lemma) for lemma in lemmas])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return np.asarray(units)
