"""Candidate generators: plug-ins that rank the passages of an index for a query."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from allusion_es.core.arrays import Singles
from allusion_es.core.caches import IdentityCache
from allusion_es.core.errors import UsageError
from allusion_es.core.plugins import start_plugin
from allusion_es.language.citations.vectors import CitationVectors
from allusion_es.language.citations.word_parts import SEARCHED_SIZES, Word, grams
from allusion_es.language.encoders.sentences import SentenceEncoder, cut_warnings
from allusion_es.language.vectors.types import mean_vectors
from allusion_es.retrieval.citing_evidence import citing_evidence
from allusion_es.retrieval.index import CandidateIndex, require_capability
from allusion_es.retrieval.types import (
    STEM,
    AnalysedQuery,
    Field,
    Ranking,
    SearchFilter,
    SearchRequest,
)
from allusion_es.retrieval.weighting import lucene_idf

GROUP = "allusion_es.generators"
"""The entry-point group that candidate generators register in."""

ALL = "all"
"""Name of the generator that leaves nothing out."""

MAX_WORDS = 1024
"""Distinct words of a query that are searched for; a server's default is to refuse more."""

MAX_STEMS = 64
"""Beginnings of a query's lemmas that are searched for."""

AROUND = 0.2
"""How much a word around the query counts beside one of its own, chosen on development links."""


NAMED = 500
"""Passages that are asked for by name: twice as many as are wanted by default, since a filter may
leave some out."""


class CandidateGenerator(Protocol):
    """The plug-in protocol: ranks passages for queries.

    Only `rank` is needed, and it is called with positional arguments. A generator that asks the
    index for nothing but searches is best derived from `SearchGenerator`, which has it already.

    A generator whose attribute `one_field` is true searches the same whatever the field, so it is
    asked only once where queries compare both tokens and lemmas. Of a method
    `warnings() -> Sequence[str]` people are told the lines once all is answered.
    """

    def rank(
        self,
        queries: Sequence[AnalysedQuery],
        index: CandidateIndex,
        field: Field,
        size: int,
        search_filter: SearchFilter,
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


class SearchGenerator:
    """Base of the generators that rank by searches of the index.

    A subclass says in `requests` which searches a query needs, and in `fuse` how one ranking is
    made of several. All searches for a batch of queries go to the index at once, since a server
    answers them together in one round trip.

    Attributes:
        one_field: See `CandidateGenerator`.
    """

    one_field = False

    def requests(
        self, query: AnalysedQuery, index: CandidateIndex, field: Field
    ) -> list[SearchRequest]:
        """The searches that `query` needs, at least one; `rank` adds their size and filter.

        Raises:
            UsageError: The index lacks what the generator searches.
        """
        raise NotImplementedError

    def fuse(
        self, requests: Sequence[SearchRequest], rankings: Sequence[Ranking], size: int
    ) -> Ranking:
        """One ranking of at most `size` passages from the answers to the requests of a query."""
        (ranking,) = rankings
        return ranking

    def rank(
        self,
        queries: Sequence[AnalysedQuery],
        index: CandidateIndex,
        field: Field,
        size: int,
        search_filter: SearchFilter,
    ) -> list[Ranking]:
        """The best passages for each query, at most `size`."""
        searches = [
            [
                replace(request, size=size, search_filter=search_filter)
                for request in self.requests(query, index, field)
            ]
            for query in queries
        ]
        answers = iter(index.search([request for requests in searches for request in requests]))
        return [
            self.fuse(requests, [next(answers) for _ in requests], size) for requests in searches
        ]


class _WordSearch(SearchGenerator):
    """Passages that share words with the query, ranked by the index itself."""

    kind: Literal["bm25", "tfidf"]

    def requests(
        self, query: AnalysedQuery, index: CandidateIndex, field: Field
    ) -> list[SearchRequest]:
        """One search for the words of the query, each as often as it has them."""
        words = searched_words(query.words(field), index, field)
        return [SearchRequest(self.kind, field, words=words)]


class Bm25Search(_WordSearch):
    """BM25 as Lucene computes it, with the index's k1 and b."""

    kind = "bm25"


class TfIdfSearch(_WordSearch):
    """Cosine of TfIdf vectors with the paper's idf (section 5.1)."""

    kind = "tfidf"


class NgramSearch(SearchGenerator):
    """BM25 of sequences of 4 and 5 letters within tokens, in one spelling, each counted once.

    It finds words of one stem, and words that editions spell in several ways.
    """

    one_field = True

    def requests(
        self, query: AnalysedQuery, index: CandidateIndex, field: Field
    ) -> list[SearchRequest]:
        """One search for the query's n-grams; the field makes no difference."""
        # N-grams of the words around the query bring little and cost much.
        return [SearchRequest("ngrams", "token", words=searched_grams(query.words("token")))]


def _lacks(index: CandidateIndex, what: str, generator: str, option: str) -> UsageError:
    """The error for an index that was built, by an option, without what a generator searches."""
    return UsageError(
        f"index {index.name!r} has no {what}, which {generator} needs; rebuild it without {option} "
        "or choose another --first-stage"
    )


class KnnSearch(SearchGenerator):
    """Cosine of averaged word vectors (the paper's BOW_emb, section 5.2)."""

    def requests(
        self, query: AnalysedQuery, index: CandidateIndex, field: Field
    ) -> list[SearchRequest]:
        """One search for the nearest neighbours of the query's mean vector.

        Raises:
            UsageError: The index was built without word vectors.
        """
        if index.vectors is None:
            raise _lacks(index, "word vectors", "knn", "--no-vectors")
        (mean,) = mean_vectors([query.words(field)], index.vectors)
        return [SearchRequest("knn", field, vector=mean)]


class CitationSearch(SearchGenerator):
    """Cosine of citation vectors, learned from how texts cite passages.

    The query's vector is that of its words, and half that of its window beside it.
    """

    def requests(
        self, query: AnalysedQuery, index: CandidateIndex, field: Field
    ) -> list[SearchRequest]:
        """One search for the neighbours of the query's vector; the field makes no difference.

        Raises:
            UsageError: The index was built without citation vectors.
        """
        if index.citations is None:
            raise _lacks(index, "citation vectors", "citations", "--no-learned-links")
        vector = citing_vectors(query, index.citations).both
        return [SearchRequest("citations", field, vector=vector)]


class WindowSearch(SearchGenerator):
    """Cosine of citation vectors, the query's being that of the words around it and its own.

    What is spoken of there may be nearer to a passage than the few words that allude to it.
    """

    one_field = True

    def requests(
        self, query: AnalysedQuery, index: CandidateIndex, field: Field
    ) -> list[SearchRequest]:
        """One search for the neighbours of the window's vector, zeros where there is no window.

        Raises:
            UsageError: The index was built without citation vectors.
        """
        if index.citations is None:
            raise _lacks(index, "citation vectors", "window", "--no-learned-links")
        vector = citing_vectors(query, index.citations).window
        return [SearchRequest("citations", field, vector=vector)]


class DenseSearch(SearchGenerator):
    """Cosine of the vectors that a sentence encoder of the user's gives query and passages.

    The query is encoded as it is written, without the words around it.
    """

    one_field = True

    def __init__(self) -> None:
        self._encoder: SentenceEncoder | None = None

    def warnings(self) -> Sequence[str]:
        """How many queries were cut, if any."""
        return cut_warnings(self._encoder)

    def requests(
        self, query: AnalysedQuery, index: CandidateIndex, field: Field
    ) -> list[SearchRequest]:
        """One search for the neighbours of the query's vector; the field makes no difference.

        Raises:
            UsageError: The index was built without an encoder, or a package is missing.
            InputError: The encoder is not on this machine.
            SettingsMismatchError: It has changed since the index was built.
        """
        require_capability("dense", index.capabilities, index.name)
        self._encoder = index.encoder
        if self._encoder is None:
            raise UsageError(f"index {index.name!r} was opened without its encoder")
        return [SearchRequest("dense", "token", vector=self._encoder.query(query.query.text))]


class ExpansionSearch(SearchGenerator):
    """Sum of the weights of the query's lemmas in the passages' expansions.

    A passage's expansion has the lemmas by which it is known to be cited, and those that its
    citation vector suggests. Lemmas around the query count a fifth.
    """

    one_field = True

    def requests(
        self, query: AnalysedQuery, index: CandidateIndex, field: Field
    ) -> list[SearchRequest]:
        """One search for the query's lemmas; the field makes no difference."""
        return [SearchRequest("expansion", "lemma", words=words_around(query, index, "lemma"))]


class CitingTextSearch(SearchGenerator):
    """BM25 of the query and each text that is known to cite a passage.

    A passage's score is that of its three most similar citing texts. Words around the texts count
    like their own, those around the query a fifth.
    """

    one_field = True

    def requests(
        self, query: AnalysedQuery, index: CandidateIndex, field: Field
    ) -> list[SearchRequest]:
        """One search for the passages with the most evidence; the field makes no difference.

        Raises:
            UsageError: No citing texts are known for the index.
        """
        evidence = citing_evidence(index.citations) if index.citations is not None else None
        if evidence is None:
            raise _lacks(index, "citing texts", "citing-texts", "--no-learned-links")
        return [SearchRequest("named", "lemma", words=evidence.named(query, NAMED))]


class StemSearch(SearchGenerator):
    """Sum of the weights of the query's lemmas over passages with a lemma that begins alike.

    Lemmas begin alike that have the first four letters in common (`STEM`), as words of one family
    do: bellum, bellicus, bello. A shorter lemma is like itself alone. Each adds its idf, once.
    """

    one_field = True

    def requests(
        self, query: AnalysedQuery, index: CandidateIndex, field: Field
    ) -> list[SearchRequest]:
        """One search for the beginnings of the query's lemmas; the field makes no difference."""
        words = list(searched_words(query.words("lemma"), index, "lemma"))
        known = index.statistics("lemma", words)
        weights = lucene_idf(known.df, known.passages).tolist()
        stems: dict[str, float] = {}
        for word, weight in zip(words, weights, strict=True):
            stems[word[:STEM]] = max(weight, stems.get(word[:STEM], 0.0))
        # The weightiest: a server looks up each beginning in its list of words.
        best = sorted(stems.items(), key=lambda item: (-item[1], item[0]))[:MAX_STEMS]
        return [SearchRequest("stems", "lemma", words=dict(best))]


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
        search_filter: SearchFilter,
    ) -> list[Ranking]:
        """The ranking of all passages, one for all queries, whatever `size` is."""

        def everything() -> Ranking:
            ids = index.ids(search_filter)
            return Ranking(ids, np.ones(len(ids)))

        # The same object for every query, so that rerankers can keep what they made of it.
        return [self._latest.get(everything, index, search_filter)] * len(queries)


def citing_words(query: AnalysedQuery) -> tuple[list[Word], list[Word]]:
    """The words of a query and of its window, as citation vectors take them."""
    parts = (query.analysis, query.window)
    own, window = (
        list(zip(part.tokens, part.lemmas, strict=True)) if part else [] for part in parts
    )
    return own, window


@dataclass(frozen=True, slots=True)
class CitingVectors:
    """The citation vectors of a query, each of unit length, or zeros if no word is known.

    Attributes:
        own: Of its words, shape (dimension,).
        both: Of its words, and half of its window's beside it.
        window: Of its window.
    """

    own: Singles
    both: Singles
    window: Singles


_VECTORS: IdentityCache[CitingVectors] = IdentityCache(128)
"""Those of the last queries: a batch of them is searched before the first is reranked."""


def citing_vectors(query: AnalysedQuery, vectors: CitationVectors) -> CitingVectors:
    """The citation vectors of a query, which the first stage and features share."""

    def compute() -> CitingVectors:
        words, window = citing_words(query)
        own, both = vectors.query_vectors(words, window)
        return CitingVectors(own, both, vectors.query_vector(window))

    return _VECTORS.get(compute, query, vectors)


def searched_grams(tokens: Sequence[str]) -> dict[str, float]:
    """The distinct grams of some tokens, each counted once.

    Of more than `MAX_WORDS` the longest are kept, which are the rarest.

    Example:
        >>> list(searched_grams(["et"]))
        ['<et>']
    """
    found = {gram for token in tokens for gram in grams(token, SEARCHED_SIZES)}
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


def words_around(query: AnalysedQuery, index: CandidateIndex, field: Field) -> dict[str, float]:
    """The distinct words of a query, each of weight 1, and those around it, of weight `AROUND`.

    At most `MAX_WORDS`; those around it fall away first.
    """
    weights = dict.fromkeys(searched_words(query.words(field), index, field), 1.0)
    if query.window is not None:
        around = query.window.tokens if field == "token" else query.window.lemmas
        for word in dict.fromkeys(around):
            if len(weights) < MAX_WORDS:
                weights.setdefault(word, AROUND)
    return weights
