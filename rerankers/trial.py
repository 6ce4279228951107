"""Trials of a reranker on a few texts, without an index: for examples and for tests."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from allusion_es.language.latin.analysis import Analysis
from allusion_es.language.vectors.types import WordVectors
from allusion_es.retrieval.coded_texts import CodedTexts, code_texts
from allusion_es.retrieval.reranking import Candidates, Collection, N, Reranker
from allusion_es.retrieval.types import AnalysedQuery, Field, Query, Ranking, TermStatistics


class TrialCollection(Collection):
    """A collection that consists of texts at hand.

    Args:
        texts: Blank-separated words.
        vectors: Word vectors, or None.
    """

    def __init__(self, texts: Sequence[str], vectors: WordVectors | None = None) -> None:
        self._given = [text.split() for text in texts]
        self._texts = [words for words in self._given if words]
        self._vectors = vectors
        self._queries = None

    @property
    def vectors(self) -> WordVectors | None:
        """The given word vectors, or None."""
        return self._vectors

    @property
    def citations(self) -> None:
        """None: words on trial have no citations."""
        return None

    @property
    def ranker(self) -> None:
        """None: no ranker was learned for words on trial."""
        return None

    @property
    def is_bible(self) -> bool:
        """False: the weights for collections of which nothing is known are on trial."""
        return False

    @property
    def encoder(self) -> None:
        """None: words on trial have no encoder vectors."""
        return None

    def written(self, ids: Sequence[str]) -> list[str]:
        """The texts of candidates as they were given."""
        return [" ".join(self._given[int(identifier)]) for identifier in ids]

    def texts(self, field: Field, ids: Sequence[str]) -> CodedTexts:
        """The words of candidates; tokens and lemmas are the same."""
        return code_texts([self._given[int(identifier)] for identifier in ids])

    def memory(self, name: str) -> dict[str, float]:
        """An empty memory each time, since the same ids are other texts in the next trial."""
        return {}

    def kept(self, compute: Callable[[], NDArray[N]], *objects: object) -> NDArray[N]:
        """The array, computed each time."""
        return compute()

    def statistics(self, field: Field, words: Sequence[str]) -> TermStatistics:
        """Frequencies of words in the given texts, shape (len(words),)."""
        df = Counter(word for text in self._texts for word in set(text))
        cf = Counter(word for text in self._texts for word in text)
        return TermStatistics(
            np.array([df[word] for word in words], dtype=np.int64),
            np.array([cf[word] for word in words], dtype=np.int64),
            len(self._texts),
            cf.total() / max(len(self._texts), 1),
        )


class TrialVectors:
    """Word vectors at hand, made unit length; other words have none.

    Args:
        table: Vectors by word, all of one length.
    """

    name = "trial"

    def __init__(self, table: dict[str, Sequence[float]]) -> None:
        self.dimension = len(next(iter(table.values())))
        self._table = {word: np.array(vector) for word, vector in table.items()}

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of words, zeros for others; shape (len(words), dimension)."""
        rows = np.zeros((len(words), self.dimension), dtype=np.float32)
        for row, word in enumerate(words):
            if word in self._table:
                rows[row] = self._table[word] / np.linalg.norm(self._table[word])
        return rows


def trial_query(text: str, query_id: str = "1") -> AnalysedQuery:
    """A query whose tokens and lemmas are its blank-separated words."""
    words = tuple(text.split())
    return AnalysedQuery(Query(text, query_id), Analysis(words, words, ((0, 0),) * len(words)))


def trial_candidates(texts: Sequence[str]) -> Candidates:
    """Candidates with the ids 0, 1, …, all with first-stage score 1."""
    ids = tuple(str(number) for number in range(len(texts)))
    coded = code_texts([text.split() for text in texts])
    return Candidates(Ranking(ids, np.ones(len(ids))), "lemma", coded)


def trial(
    reranker: Reranker, query: str, texts: Sequence[str], vectors: WordVectors | None = None
) -> list[float]:
    """Scores of `texts`, which are all candidates and the whole collection, to 4 digits.

    Args:
        reranker: Any reranker.
        query: Blank-separated words.
        texts: Blank-separated words each.
        vectors: Word vectors, or None.
    """
    scores = reranker.score(
        trial_query(query), trial_candidates(texts), TrialCollection(texts, vectors)
    )
    return [round(score, 4) for score in scores.tolist()]
