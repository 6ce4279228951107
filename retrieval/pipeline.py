"""Two stages: candidates from one generator or several, then a reranker, then hits."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from types import MappingProxyType

import numpy as np

from allusion_es.core.errors import AllusionError, PluginError, SettingsMismatchError
from allusion_es.core.plugins import Settings
from allusion_es.language.latin.analysis import Analyser, Analysis
from allusion_es.retrieval.analysed import analyse_query
from allusion_es.retrieval.explanations import first_stage_contributions
from allusion_es.retrieval.generators import MAX_WORDS
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.latin import language_doubt
from allusion_es.retrieval.ranker import Ranked, Ranker, Stages
from allusion_es.retrieval.reranking import (
    Collection,
    Explanation,
    QueryFrequencies,
    reranker_notes,
)
from allusion_es.retrieval.types import AnalysedQuery, Field, Hit, Parallel, Query, SearchFilter
from allusion_es.retrieval.unanswered import Unanswered, attempt, fault

# Rankings in which passages that say nearly the same count as one.


DEEPER = 4
"""The best of each group are looked for among so many times the hits that are wanted."""

Others = Sequence[tuple[str, ...]]


def group_parallels(ranked: Ranked, index: CandidateIndex, top: int) -> tuple[Ranked, Others]:
    """The best passage of each group, up to `top`, and for each the ids of the others.

    Args:
        ranked: More passages than are wanted, best first.
        index: Where the passages are.
        top: How many to return.
    """
    ids = [ranked.first.ids[place] for place in ranked.places.tolist()]
    found = list(islice(_first_of_each_group(ids, index, top), top))
    kept = [number for number, _ in found]
    return (
        replace(ranked, places=ranked.places[kept], scores=ranked.scores[kept]),
        [group for _, group in found],
    )


def _first_of_each_group(
    ids: Sequence[str], index: CandidateIndex, together: int
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The place in `ids` of the first of each group, and the others; few are asked for at once."""
    seen: set[str] = set()
    for start in range(0, len(ids), together):
        part = ids[start : start + together]
        for number, (identifier, group) in enumerate(zip(part, index.parallels(part), strict=True)):
            # Of a large group not all are named, but any two of it have some in common.
            if identifier not in seen and seen.isdisjoint(group):
                seen.update(group, (identifier,))
                yield start + number, group


_BATCH = 64


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found for a query.

    Attributes:
        query: The query and its words.
        hits: Best first; empty where no word of the query is known.
        unknown: Tokens of the query that the collection does not have, in their order.
        cut: How many of its distinct words were not searched for, since it has too many.
        failure: Why the query could not be answered; None where it was. There are no hits then,
            which says nothing of what the collection has.
        doubt: Why it is hardly Latin (`latin.language_doubt`), or "".
    """

    query: AnalysedQuery
    hits: tuple[Hit, ...]
    unknown: tuple[str, ...]
    cut: int
    failure: AllusionError | None = None
    doubt: str = ""


class Retriever:
    """Answers queries from an index.

    Args:
        index: Any candidate index.
        generators: Names of candidate generators; several are fused by reciprocal rank.
        fields: Which words the generators use; with both fields their rankings are fused.
        candidates: How many candidates the first stage hands on.
        reranker: Name of a reranker, or None to keep the first stage's order. Rerankers see
            lemmas, or tokens where `fields` has only these.
        top: How many hits to return.
        within: Which passages may be returned.
        explain: Fill `Hit.contributions`.
        settings: Parameters of the reranker (and of its parts), as text.
        grouped: Of passages that say nearly the same return only the best, and name the others.

    Attributes:
        analyser: Analyses as the index was analysed.
        compared: What the word pairs of a hit's contributions consist of: a reranker's lemmas,
            or tokens where `fields` has only these; without a reranker, `fields`.
        notes: What a reader of the scores should know: their scale, the vectors, the
            frequencies; empty before the first answer.

    Raises:
        PluginError: A generator or reranker is unknown.
        SettingsMismatchError: This installation would analyse the query in another way than the
            index was.
        UsageError: A number is below 1, more candidates are asked for than the index gives, or a
            parameter is unknown or not allowed.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> index = index_texts({"Gen.1.1": "In principio creavit Deus", "Ps.1.1": "Beatus vir"})
        >>> answer = Retriever(index, reranker=None).answer(Query("creator in principio"))
        >>> [hit.id for hit in answer.hits], answer.unknown
        (['Gen.1.1'], ('creator',))
    """

    def __init__(
        self,
        index: CandidateIndex,
        *,
        generators: Sequence[str] = ("bm25",),
        fields: Sequence[Field] = ("lemma",),
        candidates: int = 500,
        reranker: str | None = "soft-cosine",
        top: int = 10,
        within: SearchFilter = SearchFilter(),  # noqa: B008 - frozen
        explain: bool = False,
        settings: Settings = MappingProxyType({}),
        grouped: bool = False,
    ) -> None:
        self._ranker = Ranker(
            index,
            Stages(
                generators=tuple(generators),
                fields=tuple(fields),
                candidates=candidates,
                reranker=reranker,
                settings=settings,
                within=within,
                top=top * DEEPER if grouped else top,
            ),
        )
        self._index = index
        self._top = top
        self._grouped = grouped
        self._generator_names = tuple(generators)
        self._fields = tuple(fields)
        self._memories: dict[str, dict[str, float]] = {}
        self._explain = explain
        self.analyser = index_analyser(index)
        self.compared: tuple[Field, ...] = self._fields
        if reranker is not None and "lemma" in self._fields:
            self.compared = ("lemma",)
        self.notes: tuple[str, ...] = ()

    def answer(self, query: Query | str) -> Answer:
        """What is found for one query.

        Raises:
            AllusionError: It cannot be answered.
        """
        asked = Query(query) if isinstance(query, str) else query
        answer = next(self.answers([asked]))
        if answer.failure is not None:
            raise answer.failure
        return answer

    def answers(self, queries: Iterable[Query]) -> Iterator[Answer]:
        """What is found for each query, in order; they are searched for in batches.

        The queries of a sequence count as a collection of their own for rerankers that compare
        two collections; an iterator is read batch by batch, and each of its queries stands alone.
        A query that cannot be answered, because a plug-in fails for it, has an answer with
        `Answer.failure`; the others are answered.

        Raises:
            AllusionError: What concerns every query: an option, a file, the index, its server.
        """
        analysed: Iterable[AnalysedQuery | Unanswered] = (
            attempt_analysis(query, self.analyser) for query in queries
        )
        frequencies = None
        if isinstance(queries, Sequence):
            analysed = list(analysed)
            frequencies = QueryFrequencies(answerable(analysed))
        collection = Collection(self._index, frequencies, self._memories)
        self.notes = self._notes(collection)
        remaining = iter(analysed)
        while batch := list(islice(remaining, _BATCH)):
            ranked = self._ranker.rank(list(answerable(batch)), collection)
            for query in batch:
                if isinstance(query, Unanswered):
                    nothing = AnalysedQuery(query.query, Analysis((), (), ()))
                    yield Answer(nothing, (), (), 0, query.error)
                else:
                    yield self._answered(query, next(ranked), collection)

    def _notes(self, collection: Collection) -> tuple[str, ...]:
        if self._ranker.reranker is None:
            return ()
        try:
            return reranker_notes(self._ranker.reranker, collection)
        except AllusionError:
            raise
        except Exception as error:  # what it has to say costs no answer
            return (str(fault("reading the reranker's notes", error)),)

    def _answered(
        self, query: AnalysedQuery, ranked: Ranked | Unanswered, collection: Collection
    ) -> Answer:
        found: Answer | Unanswered
        if isinstance(ranked, Unanswered):
            found = ranked
        else:
            what = self._ranker.name
            found = attempt(query.query, what, lambda: self._answer(ranked, collection))
        if isinstance(found, Unanswered):
            return Answer(query, (), (), 0, found.error)
        return found

    def _answer(self, ranked: Ranked, collection: Collection) -> Answer:
        query = ranked.query
        others: Others = [()] * len(ranked.places)
        if self._grouped:
            ranked, others = group_parallels(ranked, self._index, self._top)
        hits = self._hits(ranked, self._reasons(ranked, collection), others)
        distinct = max(len(set(query.words(field))) for field in self._fields)
        unknown, doubt = self._unknown(query)
        return Answer(query, hits, unknown, max(0, distinct - MAX_WORDS), doubt=doubt)

    def _reasons(self, ranked: Ranked, collection: Collection) -> Sequence[Explanation]:
        places = ranked.places.tolist()
        if not self._explain or not places:
            return [()] * len(places)
        if self._ranker.reranker is not None and ranked.candidates is not None:
            chosen = ranked.candidates.take(places)
            return checked_reasons(
                self._ranker.reranker.explain(ranked.query, chosen, collection),
                len(places),
                self._ranker.name,
            )
        return first_stage_contributions(
            self._generator_names,
            self._fields,
            ranked.query,
            ranked.first.take(places),
            self._index,
        )

    def _hits(
        self, ranked: Ranked, reasons: Sequence[Explanation], others: Others
    ) -> tuple[Hit, ...]:
        places = ranked.places.tolist()
        passages = self._index.passages([ranked.first.ids[place] for place in places])
        named = list(dict.fromkeys(name for group in others for name in group))
        known = {
            passage.id: Parallel(passage.id, passage.reference or passage.id)
            for passage in (self._index.passages(named) if named else ())
        }
        return tuple(
            Hit(
                rank=rank,
                id=passage.id,
                reference=passage.reference or passage.id,
                text=passage.text,
                score=score,
                candidate_rank=place + 1,
                candidate_score=float(ranked.first.scores[place]),
                contributions=parts,
                parallels=tuple(known[name] for name in group),
            )
            for rank, (place, score, passage, parts, group) in enumerate(
                zip(places, ranked.scores.tolist(), passages, reasons, others, strict=True), start=1
            )
        )

    def _unknown(self, query: AnalysedQuery) -> tuple[tuple[str, ...], str]:
        """Tokens that occur in none of the searched fields, and what that says of the language."""
        tokens = query.words("token")
        known = np.zeros(len(tokens), dtype=bool)
        passages = 0
        for field in self._fields:
            statistics = self._index.statistics(field, query.words(field))
            known |= statistics.df > 0
            passages = statistics.passages
        is_known = known.tolist()
        found = (token for token, each in zip(tokens, is_known, strict=True) if not each)
        doubt = language_doubt(tokens, is_known, self._index, passages, self.analyser)
        return tuple(dict.fromkeys(found)), doubt


def checked_reasons(reasons: Iterable[Explanation], size: int, what: str) -> list[Explanation]:
    """The explanations of a plug-in.

    Args:
        reasons: What it gave.
        size: How many it was asked for.
        what: Its kind and name, for the message.

    Raises:
        PluginError: There is not one for each, or one has a part that is no finite number or no
            pair of words.
    """
    found = [None if reason is None else tuple(reason) for reason in reasons]
    parts = [part for reason in found for part in reason or ()]
    if (
        len(found) != size
        or not np.isfinite(np.array([p.contribution for p in parts], dtype=np.float64)).all()
        or not all(isinstance(w, str) for p in parts for w in (p.query_word, p.passage_word))
    ):
        raise PluginError(
            f"{what} gave no finite explanation for each of {size} candidates; this is a fault in "
            "the plug-in"
        )
    return found


def attempt_analysis(query: Query, analyser: Analyser) -> AnalysedQuery | Unanswered:
    """The query with its words; `Unanswered` where its words cannot be told."""
    what = f"lemmatiser {analyser.settings.lemmatiser!r}"
    return attempt(query, what, lambda: analyse_query(query, analyser))


def answerable(queries: Iterable[AnalysedQuery | Unanswered]) -> Iterator[AnalysedQuery]:
    """Those queries whose words could be told."""
    return (query for query in queries if not isinstance(query, Unanswered))


def index_analyser(index: CandidateIndex) -> Analyser:
    """The analyser that the index was built with.

    Raises:
        SettingsMismatchError: This installation has another one.
    """
    settings = index.settings.analysis
    analyser = Analyser(settings.lemmatiser, settings.stop_words)
    then, now = asdict(settings), asdict(analyser.settings)
    changed = [f"{key} {then[key]!r} (now {now[key]!r})" for key in then if then[key] != now[key]]
    if changed:
        raise SettingsMismatchError(
            f"index {index.name!r} was built with {', '.join(changed)}, so queries would be "
            "analysed in another way; rebuild it with 'allusion-es index'"
        )
    return analyser
