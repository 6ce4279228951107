"""Candidate generators: plug-ins that rank passages of an index for a query."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np

from allusion_es.core.caches import IdentityCache
from allusion_es.core.errors import UsageError
from allusion_es.core.plugins import start_plugin
from allusion_es.language.citations.word_parts import Word, grams
from allusion_es.language.vectors.types import mean_vectors
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.types import AnalysedQuery, Field, Ranking, SearchFilter, SearchRequest

GROUP = "allusion_es.generators"
"""The entry-point group that candidate generators register in."""

ALL = "all"
"""Name of the generator that leaves nothing out."""

MAX_WORDS = 1024
"""Distinct words of a query that are searched for; servers take no more in one search."""


class CandidateGenerator(Protocol):
    """Ranks passages for queries.

    One whose attribute `one_field` is true searches the same whatever the field, and is asked
    but once where there are two.
    """

    def rank(
        self,
        queries: Sequence[AnalysedQuery],
        index: CandidateIndex,
        field: Field,
        size: int,
        within: SearchFilter,
    ) -> list[Ranking]:
        """The best passages for each query, at most `size`."""
        ...


def load_generator(name: str) -> CandidateGenerator:
    """The candidate generator that is registered under `name`.

    Raises:
        PluginError: There is none of that name, or it cannot be loaded.
    """
    generator: CandidateGenerator = start_plugin(GROUP, name)
    return generator


class _ByWords:
    """Candidates that share words with the query, ranked by the index itself."""

    kind: Literal["bm25", "tfidf"]

    def rank(
        self,
        queries: Sequence[AnalysedQuery],
        index: CandidateIndex,
        field: Field,
        size: int,
        within: SearchFilter,
    ) -> list[Ranking]:
        """See `CandidateGenerator.rank`."""
        return index.search(
            [
                SearchRequest(
                    self.kind,
                    field,
                    size,
                    words=searched_words(query.words(field), index, field),
                    within=within,
                )
                for query in queries
            ]
        )


class Bm25(_ByWords):
    """BM25 as Lucene computes it, with the index's k1 and b."""

    kind = "bm25"


class Ngrams:
    """BM25 of sequences of 3 to 5 letters within tokens, in one spelling, each counted once.

    It finds words of one stem, and words that editions spell in several ways.
    """

    one_field = True

    def rank(
        self,
        queries: Sequence[AnalysedQuery],
        index: CandidateIndex,
        field: Field,
        size: int,
        within: SearchFilter,
    ) -> list[Ranking]:
        """See `CandidateGenerator.rank`; the field makes no difference.

        Raises:
            UsageError: The index was built without n-grams.
        """
        searched = [searched_grams(query.words("token")) for query in queries]
        return index.search(
            [SearchRequest("ngrams", "token", size, words=one, within=within) for one in searched]
        )


class TfIdf(_ByWords):
    """Cosine of TfIdf vectors with the paper's idf (section 5.1)."""

    kind = "tfidf"


class NearestNeighbours:
    """Cosine of averaged word vectors (the paper's BOW_emb, section 5.2)."""

    def rank(
        self,
        queries: Sequence[AnalysedQuery],
        index: CandidateIndex,
        field: Field,
        size: int,
        within: SearchFilter,
    ) -> list[Ranking]:
        """See `CandidateGenerator.rank`.

        Raises:
            UsageError: The index was built without word vectors.
        """
        if index.vectors is None:
            raise UsageError(
                f"index {index.name!r} has no word vectors, which knn needs; rebuild it without "
                "--no-vectors or choose another --first-stage"
            )
        means = mean_vectors([query.words(field) for query in queries], index.vectors)
        return index.search(
            [SearchRequest("knn", field, size, vector=mean, within=within) for mean in means]
        )


class AllPassages:
    """Every passage of the index: no first stage, so that nothing is lost before reranking.

    Slow, and meant for experiments. The order is that of ids. Passages that the reranker then
    finds to have nothing to do with the query are left out.
    """

    def __init__(self) -> None:
        self._latest: IdentityCache[Ranking] = IdentityCache()

    def rank(
        self,
        queries: Sequence[AnalysedQuery],
        index: CandidateIndex,
        field: Field,
        size: int,
        within: SearchFilter,
    ) -> list[Ranking]:
        """The same ranking for each query, of any size."""

        def everything() -> Ranking:
            ids = index.ids(within)
            return Ranking(ids, np.ones(len(ids)))

        return [self._latest.get(everything, index, within)] * len(queries)


class Citations:
    """Cosine of citation vectors, learned from how texts cite passages.

    The query's vector is that of its words, and half that of its window beside it.
    """

    def rank(
        self,
        queries: Sequence[AnalysedQuery],
        index: CandidateIndex,
        field: Field,
        size: int,
        within: SearchFilter,
    ) -> list[Ranking]:
        """See `CandidateGenerator.rank`; the field makes no difference.

        Raises:
            UsageError: The index was built without citation vectors.
        """
        vectors = index.citations
        if vectors is None:
            raise UsageError(
                f"index {index.name!r} has no citation vectors, which citations needs; rebuild it "
                "without --no-learned-links or choose another --first-stage"
            )
        asked = [vectors.query_vector(*citing_words(query)) for query in queries]
        return index.search(
            [
                SearchRequest("citations", field, size, vector=vector, within=within)
                for vector in asked
            ]
        )


def citing_words(query: AnalysedQuery) -> tuple[list[Word], list[Word]]:
    """The words of a query and of its window, as citation vectors take them."""
    parts = (query.analysis, query.window)
    own, window = (
        list(zip(part.tokens, part.lemmas, strict=True)) if part else [] for part in parts
    )
    return own, window


def searched_grams(tokens: Sequence[str]) -> dict[str, float]:
    """The distinct grams of some tokens, each counted once.

    Of more than `MAX_WORDS` the longest are kept, which are the rarest.

    Example:
        >>> list(searched_grams(["et"]))
        ['<et>', '<et', 'et>']
    """
    found = {gram for token in tokens for gram in grams(token)}
    chosen = sorted(found, key=lambda gram: (-len(gram), gram))[:MAX_WORDS]
    return dict.fromkeys(chosen, 1.0)


def searched_words(words: Sequence[str], index: CandidateIndex, field: Field) -> dict[str, int]:
    """How often each word occurs in a query; the rarest `MAX_WORDS` of the collection's words.

    Only in a query with more distinct words does anything fall away.
    """
    counts = Counter(words)
    if len(counts) <= MAX_WORDS:
        return dict(counts)
    distinct = sorted(counts)
    df = index.statistics(field, distinct).df.tolist()
    known = sorted((n, word) for n, word in zip(df, distinct, strict=True) if n > 0)
    return {word: counts[word] for _, word in known[:MAX_WORDS]}
