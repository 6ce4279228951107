"""What a reranker is, and what it may know."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from allusion_es.core.plugins import load_plugin
from allusion_es.language.vectors import WordVectors
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.texts import CodedTexts
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Contribution,
    Field,
    Floats,
    Ranking,
    TermStatistics,
)

GROUP = "allusion_es.rerankers"
"""The entry-point group that rerankers register in."""


class Collection:
    """What a reranker may know of the collection: statistics and word vectors, no passages.

    Args:
        index: Where the statistics come from.
    """

    def __init__(self, index: CandidateIndex) -> None:
        self._index = index

    @property
    def vectors(self) -> WordVectors | None:
        """The word vectors that the index was built with, if any."""
        return self._index.vectors

    def statistics(self, field: Field, words: Sequence[str]) -> TermStatistics:
        """Document and collection frequencies of `words`, shape (len(words),)."""
        return self._index.statistics(field, words)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The passages to rescore.

    Attributes:
        ranking: Their ids and first-stage scores, best first.
        field: Which words of theirs the rerankers see, tokens or lemmas.
        texts: Those words, one text a candidate, in the order of `ranking`.
    """

    ranking: Ranking
    field: Field
    texts: CodedTexts

    def __len__(self) -> int:
        """How many candidates there are."""
        return len(self.ranking)

    def take(self, numbers: Sequence[int]) -> "Candidates":
        """Some of the candidates, in the order of `numbers`."""
        ids = tuple(self.ranking.ids[number] for number in numbers)
        scores = self.ranking.scores[list(numbers)]
        return Candidates(Ranking(ids, scores), self.field, self.texts.take(numbers))


class Reranker(Protocol):
    """Gives candidates new scores, and says where they come from."""

    def score(self, query: AnalysedQuery, candidates: Candidates, collection: Collection) -> Floats:
        """A finite score for each candidate, higher is better, shape (len(candidates),)."""
        ...

    def explain(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> list[tuple[Contribution, ...]]:
        """For each candidate what each pair of words adds; the parts sum to the score."""
        ...


def load_reranker(name: str) -> Reranker:
    """The reranker that is registered under `name`.

    Raises:
        PluginError: There is none of that name, or it cannot be loaded.
    """
    reranker: Reranker = load_plugin(GROUP, name)()
    return reranker
