"""Comparing two texts: which passages of the later one allude to which of the earlier."""

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from pathlib import Path

from allusion_es.core.code import code_hash
from allusion_es.core.errors import InputError
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.passage_files import collection_files
from allusion_es.language.latin.analysis import STOP_WORDS, Analyser
from allusion_es.language.latin.tokenise import ENCLITICS
from allusion_es.retrieval.pipeline import Answer, Retriever
from allusion_es.retrieval.types import Hit
from allusion_es.retrieval.weighting import lucene_idf

_PARTS = ("core", "language", "corpora", "retrieval", "local")
"""Packages on whose code an index depends: after a change of one, none that is kept is used."""

_FUNCTION_WORDS = STOP_WORDS.union(ENCLITICS)

_WITHIN_A_QUERY = frozenset({"learned"})
"""Rerankers whose scores say which passage is best for a query, and not how good it is."""

RANK_PRICE = 1.0
"""What a lower rank costs a pair, times ln(rank); in a large collection up to 5 does as well. Of 93
strong parallels of Lucan 1 with the Aeneid (the half of Tesserae's benchmark on which this was
chosen), 11 are among the first 100 pairs and 20 among 500. By the scores of `learned` they are 10
and 19, but 5 and 18 with other weights of it; by those of `tesserae` 5 and 13."""

_NAME = 60
"""Most characters of a key that a file's name gives."""

COLUMNS = (
    "rank", "target", "target_text", "source", "source_text", "matched", "score", "target_id",
    "source_id",
)  # fmt: skip
"""The columns of a table of pairs, as Tesserae has them, with the ids after them."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A passage of the target and one of the source to which it may allude.

    Attributes:
        target: The passage of the later text.
        source: What was found for it in the earlier one.
        matched: The words of the target whose lemma or form the source has too, as printed,
            in their order; without function words unless there are only these.
        score: By it pairs are ordered; see `best_pairs`.
    """

    target: Passage
    source: Hit
    matched: tuple[str, ...]
    score: float

    def row(self, rank: int) -> dict[str, object]:
        """The pair as a row of a table, with `COLUMNS`."""
        return {
            "rank": rank,
            "target": self.target.reference or self.target.id,
            "target_text": self.target.text,
            "source": self.source.reference,
            "source_text": self.source.text,
            "matched": "; ".join(self.matched),
            "score": self.score,
            "target_id": self.target.id,
            "source_id": self.source.id,
        }


def best_pairs(
    answers: Iterable[Answer], targets: Sequence[Passage], retriever: Retriever, top: int
) -> list[Pair]:
    """The best pairs of all answers: score descending, then the target's place, then the id.

    Most rerankers give scores by which pairs of different targets can be compared. Those of
    `learned` are made within a query; there a pair's score is the sum of the idf of the lemmas
    that both share, less `RANK_PRICE` x ln(rank), so that what it ranks first counts for more.

    Args:
        answers: One for each target, in their order; those that failed have no pairs.
        targets: The passages of the later text.
        retriever: Who gave the answers.
        top: How many pairs to return.

    Example:
        >>> from allusion_es.front.queries import passage_queries
        >>> from allusion_es.local.memory import index_texts
        >>> from allusion_es.retrieval.pipeline import QueryOptions
        >>> index = index_texts({"Aen.1.1": "Arma virumque cano", "Aen.1.2": "Italiam fato"})
        >>> retriever = Retriever(index, QueryOptions.chosen(rerank="none", first_stage="bm25"))
        >>> lines = [Passage("Luc.1.2", "fato victus"), Passage("Luc.1.3", "et armis")]
        >>> answers = retriever.answers(passage_queries(lines))
        >>> for pair in best_pairs(answers, lines, retriever, top=2):
        ...     print(pair.target.id, pair.source.id, pair.matched)
        Luc.1.2 Aen.1.2 ('fato',)
        Luc.1.3 Aen.1.1 ('armis',)
    """
    comparable = retriever.options.reranker not in _WITHIN_A_QUERY
    rarity = _Rarity(retriever)
    found = (
        (-(hit.score if comparable else rarity.score(answer, hit)), number, hit.id, answer, hit)
        for number, answer in enumerate(answers)
        for hit in answer.hits
    )
    best = nsmallest(top, found, key=lambda each: each[:3])
    return [
        Pair(targets[number], hit, shared_words(answer, hit.text, retriever.analyser), -negative)
        for negative, number, _, answer, hit in best
    ]


class _Rarity:
    """How rare the lemmas are that a query and a hit share, in the collection that was searched."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever
        self._lemmas: dict[str, frozenset[str]] = {}
        self._idf: dict[str, float] = {}

    def score(self, answer: Answer, hit: Hit) -> float:
        """The sum of the idf of the shared lemmas, less the price of the hit's rank."""
        if hit.id not in self._lemmas:
            self._lemmas[hit.id] = frozenset(self._retriever.analyser.analyse(hit.text).lemmas)
        asked = tuple(dict.fromkeys(answer.query.words("lemma")))
        if missing := [lemma for lemma in asked if lemma not in self._idf]:
            statistics = self._retriever.index.statistics("lemma", missing)
            idf = lucene_idf(statistics.df, statistics.passages)
            self._idf.update(zip(missing, idf.tolist(), strict=True))
        shared = (self._idf[lemma] for lemma in asked if lemma in self._lemmas[hit.id])
        return sum(shared) - RANK_PRICE * math.log(hit.rank)


def shared_words(answer: Answer, text: str, analyser: Analyser) -> tuple[str, ...]:
    """The words of a query, as printed, whose lemma or form is in a text too.

    Function words are left out, unless there are no others.
    """
    other = analyser.analyse(text)
    tokens, lemmas = set(other.tokens), set(other.lemmas)
    own = answer.query.analysis
    words: dict[str, str] = {}
    common: dict[str, str] = {}
    for token, lemma, (start, end) in zip(own.tokens, own.lemmas, own.spans, strict=True):
        if token in tokens or lemma in lemmas:
            kept = common if _FUNCTION_WORDS & {token, lemma} else words
            kept.setdefault(lemma, answer.query.query.text[start:end])
    return tuple((words or common).values())


def answers_of_pairs(answers: Iterable[Answer], pairs: Iterable[Pair]) -> Iterator[Answer]:
    """The answers with only the hits that are among some pairs; those without any are left out."""
    wanted = {(pair.target.id, pair.source.id) for pair in pairs}
    for answer in answers:
        target = answer.query.query.query_id
        if hits := tuple(hit for hit in answer.hits if (target, hit.id) in wanted):
            yield replace(answer, hits=hits)


def collection_key(paths: Sequence[Path], *more: object) -> str:
    """A name for the index of some files that tells their content, and all that decides it.

    Args:
        paths: Files, or folders.
        more: Options of reading them.

    Raises:
        InputError: A file cannot be read, or there is none.
    """
    digest = hashlib.sha256(repr((code_hash(*_PARTS), *more)).encode())
    files = collection_files(paths)
    for path in files:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
        # Names give titles and ids.
        digest.update(f"{path.name}\n{len(data)}\n".encode("utf-8", "surrogateescape"))
        digest.update(data)
    first = paths[0]
    stem = (first.resolve().name if first.is_dir() else first.stem).lower()
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in stem).strip("-")[:_NAME]
    return f"{name or 'texts'}-{digest.hexdigest()[:16]}"
