"""Features of candidates for a learned ranker: scores, ranks, shared words, neighbours."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.language.citations.vectors import CitationVectors, unit
from allusion_es.language.latin.analysis import Analysis
from allusion_es.rerankers._shared.spelling import Spelling
from allusion_es.rerankers.bm25 import Bm25
from allusion_es.rerankers.citation_cosine import CitationCosine
from allusion_es.rerankers.local_alignment import LocalAlignment
from allusion_es.rerankers.soft_cosine import SoftCosine
from allusion_es.rerankers.tesserae import Tesserae
from allusion_es.rerankers.tfidf import TfIdf
from allusion_es.retrieval.generators import citing_words
from allusion_es.retrieval.reranking import (
    UNDEFINED,
    Candidates,
    Collection,
    Explanation,
    Reranker,
)
from allusion_es.retrieval.types import (
    FIELDS,
    AnalysedQuery,
    Field,
)
from allusion_es.retrieval.weighting import idf

RANK_OFFSET = 10
"""A rank r counts as `RANK_OFFSET / (RANK_OFFSET + r)`, so that the first ten differ most."""

CITATIONS = ("citations", "citations-context")
"""Scores that only an index with citation vectors gives."""

_WITH_NEIGHBOURS = ("bm25-lemma", "local-alignment-lemma", "citations-context")
"""Scores of which the verses before and after give a feature: an allusion may run over both."""

_WITH_LENGTH = ("bm25-lemma", "soft-cosine", "citations-context")
"""Scores that are also weighed by the query's length: how far to trust them depends on it."""

_UNBROKEN = 100.0
"""A gap price above the weight of any word, which leaves only unbroken runs."""

ByField = dict[Field, Candidates]
"""The same candidates with their tokens and with their lemmas."""


@dataclass(frozen=True, slots=True)
class CandidateFeatures:
    """The features of n candidates.

    Attributes:
        names: Names of the features.
        values: Their values, finite, shape (n, len(names)).
    """

    names: tuple[str, ...]
    values: Floats


class FeatureMaker:
    """Computes features of candidates.

    A feature `NAME`, `NAME/best` and `NAME/rank` each is a score as it is, divided by the best
    among the candidates, and as a damped reciprocal rank among them.

    Args:
        parts: The scores to make features of, by the names that `feature_part` gives; None for
            all.

    Attributes:
        scorers: The rerankers that give these scores, with the field whose words they compare.
    """

    def __init__(self, parts: Iterable[str] | None = None) -> None:
        scorers: dict[str, tuple[Field, Reranker]] = {
            "bm25-lemma": ("lemma", Bm25()),
            "bm25-token": ("token", Bm25()),
            "tfidf": ("lemma", TfIdf()),
            "soft-cosine": ("lemma", SoftCosine()),
            "tesserae": ("lemma", Tesserae(query_side="collection")),
            "local-alignment-lemma": ("lemma", LocalAlignment()),
            "local-alignment-token": ("token", LocalAlignment()),
            "run": ("token", LocalAlignment(gap=_UNBROKEN)),
            "spelling": ("token", Spelling()),
            "window": ("lemma", _WindowBm25()),
            "citations": ("lemma", CitationCosine(context=0.0)),
            "citations-context": ("lemma", CitationCosine()),
        }
        wanted = set(scorers if parts is None else parts)
        self.scorers = {name: scorer for name, scorer in scorers.items() if name in wanted}

    def features(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> CandidateFeatures:
        """The features of all candidates of a query; all, since their ranks are features too."""
        both = in_both_fields(candidates, collection)
        scores = self._scores(query, both, collection)
        named: dict[str, Floats] = {}
        for name, values in scores.items():
            named[name] = values
            named[f"{name}/best"] = _of_best(values)
            named[f"{name}/rank"] = _damped_ranks(values)
        named["first-stage/best"] = _of_best(candidates.ranking.scores)
        named["first-stage/rank"] = _damped_ranks(candidates.ranking.scores)
        named |= _shared(query, both["lemma"], collection)
        ids = candidates.ranking.ids
        short = 1 / np.sqrt(max(len(query.words("lemma")), 1))
        before, after = _neighbours(ids)
        for name in scores:
            if name in _WITH_NEIGHBOURS:
                values = np.append(named[f"{name}/best"], 0.0)
                named[f"{name}/neighbour"] = np.maximum(values[before], values[after])
            if name in _WITH_LENGTH:
                named[f"{name}/short"] = short * named[f"{name}/best"]
        if "citations-context" in scores and "bm25-lemma" in scores:
            named["both"] = named["bm25-lemma/best"] * named["citations-context/best"]
        return CandidateFeatures(tuple(named), np.stack(list(named.values()), axis=1))

    def _scores(
        self, query: AnalysedQuery, both: ByField, collection: Collection
    ) -> dict[str, Floats]:
        """Each score by name; those of citation vectors only where the index has them."""
        found = {}
        for name, (field, scorer) in self.scorers.items():
            if name not in CITATIONS:
                found[name] = scorer.score(query, both[field], collection)
        if "tesserae" in found:
            values = found["tesserae"]
            # Tesserae is a logarithm; its power is 0 where it is undefined, and bounded, so that
            # it cannot overflow.
            found["tesserae"] = np.where(values == UNDEFINED, 0.0, np.exp(np.minimum(values, 20.0)))
        vectors = collection.citations
        if vectors is not None and not self.scorers.keys().isdisjoint(CITATIONS):
            asked = vectors.query_vectors(*citing_words(query))
            texts = _vectors(both, vectors)
            cosines = {name: texts @ vector for name, vector in zip(CITATIONS, asked, strict=True)}
            found |= {name: values for name, values in cosines.items() if name in self.scorers}
        return found


class _WindowBm25:
    """BM25 of the words around the query, without its own."""

    def __init__(self) -> None:
        self._bm25 = Bm25()

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """The score of each candidate, shape (len(candidates),)."""
        return self._bm25.score(_window_query(query), candidates, collection)

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> Sequence[Explanation]:
        """For each candidate, what each pair of words adds to its score."""
        return self._bm25.explain(_window_query(query), candidates, collection)


def in_both_fields(candidates: Candidates, collection: Collection) -> ByField:
    """The candidates with their tokens and with their lemmas."""
    ranking = candidates.ranking
    return {
        field: candidates
        if field == candidates.field
        else Candidates(ranking, field, collection.texts(field, ranking.ids))
        for field in FIELDS
    }


def feature_part(name: str) -> str:
    """The score that a feature is made of; the name itself where it is none.

    Example:
        >>> feature_part("run/rank"), feature_part("length")
        ('run', 'length')
    """
    return name.partition("/")[0]


def _window_query(query: AnalysedQuery) -> AnalysedQuery:
    """A query of the words around the query, without its own; empty where it has none around."""
    window = (
        list(zip(query.window.tokens, query.window.lemmas, strict=True)) if query.window else []
    )
    for word in zip(query.words("token"), query.words("lemma"), strict=True):
        if word in window:
            window.remove(word)
    tokens, lemmas = (tuple(word[side] for word in window) for side in (0, 1))
    return AnalysedQuery(query.query, Analysis(tokens, lemmas, ((0, 0),) * len(tokens)))


def _vectors(both: ByField, vectors: CitationVectors) -> Floats:
    """`CitationVectors.text_vectors` of the candidates, computed from their codes in less time."""
    from scipy.sparse import csr_array  # takes longer to import than a few words to compare

    tokens, lemmas = both["token"].texts, both["lemma"].texts
    size = max(len(lemmas.words), 1)
    owners = np.repeat(np.arange(len(tokens)), np.diff(tokens.offsets))
    pairs, codes = np.unique(tokens.codes * size + lemmas.codes, return_inverse=True)
    words = [(tokens.words[pair // size], lemmas.words[pair % size]) for pair in pairs.tolist()]
    keys, counts = np.unique(owners * max(len(words), 1) + codes, return_counts=True)
    places = (keys // max(len(words), 1), keys % max(len(words), 1))
    roots = np.sqrt(counts).astype(np.float32)
    matrix = csr_array((roots, places), shape=(len(tokens), len(words)))
    sums = matrix @ vectors.known_word_vectors(words)
    return unit(np.asarray(sums, dtype=np.float32)).astype(np.float64)


def _of_best(values: Floats) -> Floats:
    best = float(np.abs(values).max(initial=0.0))
    return values / best if best > 0 else np.zeros(len(values))


def _damped_ranks(values: Floats) -> Floats:
    """Equal values, but for rounding, share the best of their ranks."""
    slack = 1e-6 * float(np.abs(values).max(initial=0.0))
    better = len(values) - np.searchsorted(np.sort(values), values + slack, "right")
    return RANK_OFFSET / (RANK_OFFSET + 1.0 + better)


def _neighbours(ids: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The candidates before and after each one in its chapter, by ids that end in `.NUMBER`.

    Returns:
        Their numbers, -1 where there are none, shape (len(ids),) both.
    """
    places = {identifier: place for place, identifier in enumerate(ids)}
    near = np.full((2, len(ids)), -1)
    for place, identifier in enumerate(ids):
        start, _, last = identifier.rpartition(".")
        if start and last.isdecimal():
            number = int(last)
            near[0, place] = places.get(f"{start}.{number - 1}", -1)
            near[1, place] = places.get(f"{start}.{number + 1}", -1)
    return near[0], near[1]


def _shared(
    query: AnalysedQuery, candidates: Candidates, collection: Collection
) -> dict[str, Floats]:
    """Features of shared words, by weight and number, and of lengths."""
    texts, asked = candidates.texts, set(query.words("lemma"))
    known = collection.statistics("lemma", texts.words)
    weights = idf(known.df, known.passages)
    mine = collection.statistics("lemma", sorted(asked))
    total = float(idf(mine.df, mine.passages).sum())
    is_asked = np.zeros(len(texts.words))
    is_asked[texts.find(sorted(asked))[1]] = 1.0
    counts = texts.counts
    each: NDArray[np.float64] = (weights * is_asked)[counts.codes]
    shared, whole = counts.sums(each), counts.sums(weights[counts.codes])
    rarest = np.zeros(len(texts))
    np.maximum.at(rarest, counts.texts, each)
    lengths = np.log1p(np.diff(texts.offsets).astype(np.float64))
    return {
        "coverage": shared / total if total > 0 else np.zeros(len(texts)),
        "coverage-passage": np.divide(shared, whole, out=np.zeros(len(texts)), where=whole > 0),
        "shared-lemmas": counts.sums(is_asked[counts.codes]),
        "rarest-shared": rarest,
        "length": lengths,
        "length-difference": np.abs(lengths - np.log1p(len(query.words("lemma")))),
    }
