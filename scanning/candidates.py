"""Which passages the words of a block may allude to at all: the first stage of a scan."""

from collections.abc import Iterator

from allusion_es.language.analysis import Analysis
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.retrieval.generators import searched_words
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import FIELDS, SearchRequest, Within
from allusion_es.retrieval.weighting import idf
from allusion_es.scanning.evidence import Texts

WINDOW = 20
"""Words of a window."""

STEP = 10
"""Words from the start of one window to that of the next."""

EACH = 30
"""Passages that a window proposes by its lemmas, and by its citation vector."""


def windows(words: int, size: int = WINDOW, step: int = STEP) -> Iterator[tuple[int, int]]:
    """First word and end (exclusive) of windows that together hold all words.

    Example:
        >>> list(windows(45))
        [(0, 20), (10, 30), (20, 40), (25, 45)]
    """
    last = max(words - size, 0)
    for start in range(0, last, step):
        yield start, start + size
    if words:
        yield last, words


def candidates(
    index: CandidateIndex,
    analysis: Analysis,
    within: Within,
    citations: CitationVectors | None,
    *,
    fast: bool = False,
) -> tuple[str, ...]:
    """Ids of the passages that the windows of a text propose, sorted.

    Args:
        index: Where to look.
        analysis: The words of the text.
        within: Which passages may be proposed.
        citations: What gives windows vectors; without them only lemmas propose.
        fast: Windows do not overlap.
    """
    step = WINDOW if fast else STEP
    found = list(windows(len(analysis.tokens), step=step))
    requests = []
    for start, end in found:
        words = searched_words(analysis.lemmas[start:end], index, "lemma")
        requests.append(SearchRequest("bm25", "lemma", EACH, words=words, within=within))
    if citations is not None:
        words_of = list(zip(analysis.tokens, analysis.lemmas, strict=True))
        vectors = citations.text_vectors([words_of[start:end] for start, end in found])
        requests += [
            SearchRequest("citations", "lemma", EACH, vector=vector, within=within)
            for vector in vectors
            if vector.any()
        ]
    return tuple(sorted({each for ranking in index.search(requests) for each in ranking.ids}))


def read_texts(index: CandidateIndex, ids: tuple[str, ...]) -> Texts:
    """The words of passages and their weights."""
    tokens, lemmas = (index.texts(field, ids) for field in FIELDS)
    known = index.statistics("lemma", lemmas.words)
    return Texts(ids, tokens, lemmas, idf(known.df, known.passages))
