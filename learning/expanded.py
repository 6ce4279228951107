"""Searching what expansions would be, before an index has them."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Array
from allusion_es.core.spilled import SpilledArray, TemporaryFiles
from allusion_es.language.citation_file import to_bytes
from allusion_es.language.citation_vectors import CitationVectors
from allusion_es.learning.links import KnownLink, LearningCollection
from allusion_es.retrieval.analysed import WINDOW
from allusion_es.retrieval.expansion import ExpansionMaker
from allusion_es.retrieval.fused import AROUND
from allusion_es.retrieval.inversion import Inversion
from allusion_es.retrieval.local_expansion import LocalExpansion, expansion_arrays
from allusion_es.retrieval.types import Ranking

_TOGETHER = 1_000


def expansion_rankings(
    links: Sequence[KnownLink],
    collection: LearningCollection,
    vectors: CitationVectors,
    size: int,
) -> list[Ranking]:
    """For each link the passages whose expansion has most of its words.

    Args:
        links: What is searched for, each with the words around it.
        collection: The passages.
        vectors: Citation vectors, with what lies beside their file.
        size: How many passages to keep.
    """
    df: Counter[str] = Counter()
    cf: Counter[str] = Counter()
    for text in collection.texts:
        lemmas = [lemma for _, lemma in text]
        cf.update(lemmas)
        df.update(set(lemmas))
    counts = {word: (df[word], total) for word, total in cf.items()}
    filled = sum(1 for text in collection.texts if text)
    maker = ExpansionMaker(vectors, collection.ids, counts, filled)
    rows = to_bytes(vectors.text_vectors(collection.texts))[0]
    expansion = LocalExpansion(_arrays(maker, collection, rows).__getitem__, len(collection))
    ids = np.array(collection.ids)
    rankings = []
    for link in links:
        scores = expansion.scores(searched_lemmas(link))
        found = np.flatnonzero(scores > 0)
        order = found[np.lexsort((ids[found], -scores[found]))][:size]
        rankings.append(Ranking(tuple(ids[order].tolist()), scores[order].astype(np.float64)))
    return rankings


def _arrays(
    maker: ExpansionMaker, collection: LearningCollection, vectors: NDArray[np.int8]
) -> dict[str, Array]:
    with TemporaryFiles(Path(tempfile.gettempdir())) as files:
        inversion = Inversion(files, len(maker.words), np.uint16)
        for start in range(0, len(collection), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            found = maker.expand(collection.ids[part], collection.texts[part], vectors[part])
            inversion.add(np.diff(found.offsets), found.codes, found.bits)
        arrays = expansion_arrays(maker.words, inversion.postings())
        return {
            name: array.mapped() if isinstance(array, SpilledArray) else array
            for name, array in arrays.items()
        }


def searched_lemmas(link: KnownLink) -> dict[str, float]:
    """A link's own lemmas, and those around it, which count less.

    As `retrieval.fused.words_around` has them for a query.
    """
    around = link.words[max(0, link.start - WINDOW) : link.end + WINDOW]
    weights = dict.fromkeys((lemma for _, lemma in link.own_words), 1.0)
    for _, lemma in around:
        weights.setdefault(lemma, AROUND)
    return weights
