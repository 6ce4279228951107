"""The types that cross the borders between index, reranker and report.

All are frozen and name passages by id, since a place in an array has a meaning in one index only.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.corpora.passage import Work
from allusion_es.language.latin.analysis import Analysis

Field = Literal["token", "lemma"]

FIELDS: tuple[Field, Field] = ("token", "lemma")


@dataclass(frozen=True, slots=True)
class Query:
    """Words that may allude to something, as the user gave them.

    Attributes:
        text: The words of the query.
        query_id: Names the query in runs and gold links.
        before: Words that precede it in its work.
        after: Words that follow it.
        anchor: The editor's signpost word inside the query, or "".
        work: The work that it stands in, or "".
    """

    text: str
    query_id: str = "1"
    before: str = ""
    after: str = ""
    anchor: str = ""
    work: str = ""


@dataclass(frozen=True, slots=True)
class AnalysedQuery:
    """A query with its words: `words("token")` and `words("lemma")` run in parallel.

    Attributes:
        query: As the user gave it.
        analysis: Its words.
        window: The same with some words before and after the query; None where there are none.
    """

    query: Query
    analysis: Analysis
    window: Analysis | None = None

    def words(self, field: Field) -> tuple[str, ...]:
        """The query's tokens or lemmas, in order, repetitions kept."""
        return self.analysis.tokens if field == "token" else self.analysis.lemmas


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Restricts a search to some passages; by default it lets all pass.

    An empty set does not restrict.

    Attributes:
        books: Only these books, as OSIS codes.
        testaments: Only these testaments, `ot` or `nt`.
        works: Only works of these titles.
        authors: Only works of these authors.
        excluded_works: No work of these titles.
        excluded_authors: No work of these authors.
        left_out: None of these works; `works.OwnWork` puts a query's own work here.
        own_work: Whether the work that a query is from is searched too.
    """

    books: frozenset[str] = frozenset()
    testaments: frozenset[str] = frozenset()
    works: frozenset[str] = frozenset()
    authors: frozenset[str] = frozenset()
    excluded_works: frozenset[str] = frozenset()
    excluded_authors: frozenset[str] = frozenset()
    left_out: frozenset[Work] = frozenset()
    own_work: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether every passage passes, but perhaps for a query's own work."""
        return dataclasses.replace(self, own_work=False) == SearchFilter()

    def as_lists(self) -> list[object]:
        """All that it says as plain values, for keys of what is kept of a search."""
        values = (getattr(self, each.name) for each in dataclasses.fields(self))
        return [sorted(each) if isinstance(each, frozenset) else each for each in values]


STEM = 4
"""Letters by which two lemmas begin alike if they may be of one family: `bellum`, `bellicus`."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search of one field.

    Attributes:
        kind: `bm25`, `tfidf`, `ngrams` and `expansion` use `words`, and so do `stems`, whose words
            are beginnings of lemmas, `STEM` letters long, or shorter lemmas, each with what it adds
            to a passage that has such a lemma; and `named`, whose words are ids of passages that
            are known already, each with its score; `knn`, `citations` and `dense` use `vector`.
        field: The field that is searched; only `bm25`, `tfidf` and `knn` know more than one.
        words: How much each word counts, above 0, such as how often it occurs in the query; for
            `ngrams` each gram, for `expansion` each lemma.
        vector: Unit vector of the query, shape (dimension,), or None.
        size: How many passages to return at most; none by default.
        search_filter: Which passages may be returned.
    """

    kind: Literal[
        "bm25", "tfidf", "knn", "citations", "ngrams", "expansion", "dense", "named", "stems"
    ]
    field: Field
    size: int = 0
    words: Mapping[str, float] = dataclasses.field(default_factory=dict)
    vector: NDArray[np.float32] | None = None
    search_filter: SearchFilter = SearchFilter()

    @property
    def direction(self) -> NDArray[np.float32] | None:
        """The vector; None where it is all zeros, as that of unknown words: it has no cosine."""
        return self.vector if self.vector is not None and self.vector.any() else None


@dataclass(frozen=True, slots=True)
class Ranking:
    """Passages from best to worst: score descending, then passage id.

    Attributes:
        ids: Passage ids, no id twice.
        scores: Shape (len(ids),), finite, descending; above 0 where `words` are searched.
        parts: Where several rankings were fused, the score that each passage has in each of
            them, by the ranking's name, 0 where it is not in it; shape (len(ids),) each.
    """

    ids: tuple[str, ...]
    scores: Floats
    parts: Mapping[str, Floats] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        """The number of ranked passages."""
        return len(self.ids)

    def take(self, numbers: Sequence[int]) -> "Ranking":
        """Some of the passages, in the order of `numbers`."""
        ids, places = tuple(self.ids[number] for number in numbers), list(numbers)
        parts = {name: scores[places] for name, scores in self.parts.items()}
        return Ranking(ids, self.scores[places], parts)

    @staticmethod
    def empty() -> "Ranking":
        """The ranking of no passages."""
        return Ranking((), np.zeros(0))


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """Frequencies of some words in one field of a collection, and the field's size.

    Attributes:
        df: Document frequency of each word, shape (n,), 0 for unknown words.
        cf: Collection frequency of each word, shape (n,).
        passages: |D|, the number of passages that have at least one word in the field.
        mean_length: Mean number of words of those passages.
    """

    df: NDArray[np.int64]
    cf: NDArray[np.int64]
    passages: int
    mean_length: float


@dataclass(frozen=True, slots=True)
class Contribution:
    """The part of a score that one pair of words adds; the contributions of a hit sum to it.

    What adds to the score without being a pair of words, such as a length or a rank, stands as a
    pair in angle quotes: `‹length›`, `‹2.3›`.

    Example:
        >>> print(Contribution("femina", "mulier", 0.018), Contribution("deus", "deus", 0.5))
        femina ~ mulier 0.0180 deus 0.5000
    """

    query_word: str
    passage_word: str
    contribution: float

    @property
    def is_of_words(self) -> bool:
        """Whether it is that of a word, and not of something else that adds to the score.

        Example:
            >>> Contribution("‹length›", "‹2.3›", 1.0).is_of_words
            False
        """
        return not (self.query_word.startswith("‹") and self.passage_word.startswith("‹"))

    def __str__(self) -> str:
        """The words and what they add, for people."""
        words = dict.fromkeys((self.query_word, self.passage_word))
        return f"{' ~ '.join(words)} {self.contribution:.4f}"


@dataclass(frozen=True, slots=True)
class Parallel:
    """A passage that says nearly the same as another.

    Attributes:
        id: Passage id.
        reference: What people read (`Mc 4,9`).
    """

    id: str
    reference: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage in a final ranking, and how it came there.

    Attributes:
        rank: Final rank, from 1.
        id: Passage id.
        reference: What people read (`Ps 33,9`).
        text: The passage's text.
        score: The reranker's score, or the first stage's where nothing reranks.
        candidate_rank: Rank in the first stage, from 1.
        candidate_score: Score in the first stage.
        contributions: Word pairs, largest first; they sum to `score`. Empty unless asked for,
            None where the reranker's formula has no value for the passage.
        parallels: Other passages that say nearly the same, in the collection's order, at most
            `parallels.MOST`; empty unless asked for. None of them is another hit.
    """

    rank: int
    id: str
    reference: str
    text: str
    score: float
    candidate_rank: int
    candidate_score: float
    contributions: tuple[Contribution, ...] | None = ()
    parallels: tuple[Parallel, ...] = ()

    def __repr__(self) -> str:
        """Rank, reference and score, for the prompt."""
        return f"<Hit {self.rank}: {self.reference} {self.score:.4f}>"
