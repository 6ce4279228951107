"""From queries to hits: candidates, a reranker, grouping of parallel passages, explanations.

`Ranker` runs both stages and gives rankings, which is all that an evaluation needs; `Retriever`
makes hits of them, with texts and reasons.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from allusion_es.core.arrays import Floats
from allusion_es.core.caches import IdentityCache
from allusion_es.core.errors import AllusionError, PluginError, SettingsMismatchError, UsageError
from allusion_es.core.plugins import Settings
from allusion_es.language.latin.analysis import Analyser, Analysis
from allusion_es.retrieval.analysed import analyse_query
from allusion_es.retrieval.defaults import DEFAULTS
from allusion_es.retrieval.explanations import first_stage_contributions
from allusion_es.retrieval.fusion import FUSED, FusedSearch, reciprocal_rank_fusion
from allusion_es.retrieval.generators import ALL, MAX_WORDS, load_generator
from allusion_es.retrieval.index import CandidateIndex
from allusion_es.retrieval.latin import language_doubt
from allusion_es.retrieval.options import (
    FIELD_CHOICES,
    field_choice,
    generators_of,
)
from allusion_es.retrieval.reranking import (
    UNDEFINED,
    Candidates,
    Collection,
    Explanation,
    QueryFrequencies,
    Reranker,
    load_reranker,
    reranker_names,
    reranker_notes,
)
from allusion_es.retrieval.types import (
    AnalysedQuery,
    Field,
    Hit,
    Parallel,
    Query,
    Ranking,
    SearchFilter,
)
from allusion_es.retrieval.unanswered import Unanswered, attempt, fault
from allusion_es.retrieval.works import OwnWork, known_names

_LARGEST = float(np.finfo(np.float32).max)
"""Runs keep scores in single precision, in which a larger one would be infinite."""

_BATCH = 64
"""Queries that are searched for at once, and wait in memory for their candidates."""

_GROUPING_DEPTH = 4
"""With grouping, hits are looked for among so many times as many as are wanted."""


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """Options of an answer: the first stage, the reranker, and which hits are returned.

    Without arguments they are those of `defaults.DEFAULTS`, so that a `Retriever` gives the answers
    of `allusion-es query`.

    Attributes:
        generators: Names of candidate generators; several are fused by reciprocal rank.
        fields: Which words the generators use; with both fields their rankings are fused.
        candidates: How many candidates the first stage hands on.
        reranker: Name of a reranker, or None to keep the first stage's order. Rerankers see
            lemmas, or tokens where `fields` has only these.
        settings: Parameters of the reranker (and of its parts), as text.
        search_filter: Which passages may be returned.
        top: How many passages to return.
        exact: How many of these need exact scores; None for all. See `Candidates.wanted`.
        explain: Fill `Hit.contributions`.
        grouped: Of passages that say nearly the same return only the best, and name the others.
    """

    generators: Sequence[str] = generators_of(DEFAULTS.first_stage)
    fields: Sequence[Field] = FIELD_CHOICES[DEFAULTS.field]
    candidates: int = DEFAULTS.candidates
    reranker: str | None = DEFAULTS.rerank
    settings: Settings = field(default_factory=dict)
    search_filter: SearchFilter = field(default_factory=SearchFilter)
    top: int = DEFAULTS.top
    exact: int | None = None
    explain: bool = False
    grouped: bool = DEFAULTS.group

    @classmethod
    def chosen(
        cls,
        *,
        first_stage: str = DEFAULTS.first_stage,
        field: str = DEFAULTS.field,
        candidates: int = DEFAULTS.candidates,
        rerank: str = DEFAULTS.rerank,
        top: int = DEFAULTS.top,
        settings: Settings = MappingProxyType({}),
        search_filter: SearchFilter = SearchFilter(),  # noqa: B008 - frozen
        explain: bool = False,
        group: bool = DEFAULTS.group,
    ) -> "QueryOptions":
        """The options for choices by the names that people type.

        Args:
            first_stage: A generator, or one of `options.STAGES`.
            field: `token`, `lemma` or `both`.
            candidates: How many candidates the first stage hands on.
            rerank: A reranker, or `none`.
            top: How many passages to return.
            settings: Parameters of the reranker, as text.
            search_filter: Which passages may be returned.
            explain: Fill `Hit.contributions`.
            group: Of passages that say nearly the same return only the best.

        Raises:
            UsageError: There is no such field.

        Example:
            >>> QueryOptions.chosen(first_stage="rrf", rerank="none").generators
            ('bm25', 'tfidf', 'knn')
            >>> QueryOptions.chosen() == QueryOptions()
            True
        """
        return cls(
            generators=generators_of(first_stage),
            fields=field_choice(field),
            candidates=candidates,
            reranker=None if rerank == "none" else rerank,
            settings=dict(settings),
            search_filter=search_filter,
            top=top,
            explain=explain,
            grouped=group,
        )

    @property
    def reranked_field(self) -> Field:
        """The field whose words rerankers compare: lemmas where they are used at all."""
        return "lemma" if "lemma" in self.fields else "token"

    def check(self, index: CandidateIndex) -> None:
        """Check the numbers, and that settings are for a reranker that is used.

        Raises:
            UsageError: A number is below 1, more candidates are asked for than the index gives,
                or a parameter is of another reranker.
        """
        for name in ("candidates", "top"):
            if getattr(self, name) < 1:
                raise UsageError(f"must be at least 1, not {getattr(self, name)}", argument=name)
        if self.candidates > index.max_candidates:
            raise UsageError(
                f"{self.candidates} candidates are more than the {index.max_candidates} that "
                f"index {index.name!r} returns in one search; ask for fewer",
                argument="candidates",
            )
        if unused := set(self.settings) - set(reranker_names(self.reranker or "")):
            raise UsageError(
                f"parameters of {', '.join(sorted(unused))} are set, but the reranker is "
                f"{self.reranker or 'none'}",
                argument="set",
            )


@dataclass(frozen=True, slots=True)
class Ranked:
    """A query's candidates and their final order.

    Attributes:
        query: The query and its words.
        first: All candidates as the first stage ranked them.
        candidates: The same with their words, or None where nothing reranks.
        places: Places in `first` of the best passages, best first, shape (n,).
        scores: Their final scores, shape (n,).
    """

    query: AnalysedQuery
    first: Ranking
    candidates: Candidates | None
    places: NDArray[np.int64]
    scores: Floats


class Ranker:
    """Ranks the passages of an index for queries.

    Args:
        index: Any candidate index.
        options: How to rank; `explain` and `grouped` are for the `Retriever` alone.

    Attributes:
        options: As given.
        reranker: The reranker, or None.
        name: What messages call it.

    Raises:
        PluginError: A generator or reranker is unknown.
        UsageError: A number is out of range, or a parameter is unknown or not allowed.
    """

    def __init__(self, index: CandidateIndex, options: QueryOptions) -> None:
        options.check(index)
        search_filter = known_names(options.search_filter, index)
        self._index = index
        self.options = replace(options, search_filter=search_filter)
        self._own = OwnWork(index, search_filter)
        self._generators = [load_generator(name) for name in options.generators]
        self.reranker: Reranker | None = None
        if options.reranker:
            self.reranker = load_reranker(options.reranker, options.settings)
        self._stage = f"first stage {'+'.join(options.generators)!r}"
        self.name = f"reranker {options.reranker!r}" if options.reranker else self._stage
        self._latest: IdentityCache[Candidates] = IdentityCache()
        # A reranker that compares fused scores needs them whatever the first stage is.
        self._fused: FusedSearch | None = None
        if getattr(self.reranker, "needs_fused", False) and tuple(options.generators) != (FUSED,):
            self._fused = FusedSearch()

    def rank(
        self, queries: Sequence[AnalysedQuery], collection: Collection
    ) -> Iterator[Ranked | Unanswered]:
        """The passages for each query, in the order of the queries.

        A query for which a generator or reranker fails, or does not give each candidate a finite
        score, is `Unanswered`; the others are answered.

        Raises:
            AllusionError: What concerns every query; see `attempt`.
        """
        for query, first in zip(queries, self._first_stage(queries), strict=True):
            if isinstance(first, Unanswered):
                yield first
            else:
                yield attempt(
                    query.query,
                    self.name,
                    lambda: self._reranked(query, first, collection),  # noqa: B023 - called at once
                )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was left out, and the warnings of the first stage and the reranker, each once."""
        parts = [*self._generators, self.reranker]
        given: list[Sequence[str]] = [getattr(part, "warnings", tuple)() for part in parts]
        if self._own.note:
            given.insert(0, [self._own.note])
        return tuple(dict.fromkeys(line for lines in given for line in lines))

    def _first_stage(self, queries: Sequence[AnalysedQuery]) -> Sequence[Ranking | Unanswered]:
        """The candidates of each query; where a batch fails, its queries are asked one by one."""
        if not queries:
            return []
        found = attempt(queries[0].query, self._stage, lambda: self._candidates(queries))
        if not isinstance(found, Unanswered):
            return found
        if len(queries) == 1:
            return [found]
        return [each for query in queries for each in self._first_stage([query])]

    def _candidates(self, queries: Sequence[AnalysedQuery]) -> list[Ranking]:
        """The candidates of each query; queries of one work are searched for together."""
        found: dict[int, Ranking] = {}
        for search_filter, numbers in self._own.groups([each.query for each in queries]):
            asked = [queries[number] for number in numbers]
            found.update(zip(numbers, self._searched(asked, search_filter), strict=True))
        return [found[number] for number in range(len(queries))]

    def _searched(
        self, queries: Sequence[AnalysedQuery], search_filter: SearchFilter
    ) -> list[Ranking]:
        """The candidates of each query, from all generators and fields together."""
        options = self.options
        lists = []
        for generator in self._generators:
            one_field = getattr(generator, "one_field", False)
            for words in options.fields[:1] if one_field else options.fields:
                # By position: a plug-in may have other names for its parameters.
                lists.append(
                    generator.rank(queries, self._index, words, options.candidates, search_filter)
                )
        for rankings in lists:
            _check_rankings(rankings, len(queries))
        if len(lists) == 1:
            return lists[0]
        return [
            reciprocal_rank_fusion(rankings, options.candidates)
            for rankings in zip(*lists, strict=True)
        ]

    def _reranked(self, query: AnalysedQuery, first: Ranking, collection: Collection) -> Ranked:
        """The final order of a query's candidates."""
        candidates = None
        scores = first.scores
        if self.reranker is not None and len(first):
            # Where all passages are candidates, the same ranking comes for every query.
            candidates = self._latest.get(lambda: self._with_words(first), first)
            if self._fused is not None:
                parts = self._fused.parts(query, self._index, first.ids, self.options.search_filter)
                candidates = replace(candidates, ranking=replace(first, parts=parts))
            scores = self._scored(query, candidates, collection)
        places = np.arange(len(first))
        if tuple(self.options.generators) == (ALL,) and candidates is not None:
            # No first stage chose the candidates, so most have nothing to do with the query.
            nothing = getattr(self.reranker, "nothing", 0.0)
            places = np.flatnonzero((scores != nothing) & (scores != UNDEFINED))
        places = best_places(places, scores, first.ids, self.options.top)
        return Ranked(query, first, candidates, places, scores[places])

    def _with_words(self, first: Ranking) -> Candidates:
        """The candidates as a reranker sees them."""
        options = self.options
        exact = options.top if options.exact is None else options.exact
        words = options.reranked_field
        return Candidates(first, words, self._index.texts(words, first.ids), wanted=exact)

    def _scored(
        self, query: AnalysedQuery, candidates: Candidates, collection: Collection
    ) -> Floats:
        assert self.reranker is not None
        given = np.asarray(self.reranker.score(query, candidates, collection))
        scores = given.real.astype(np.float64)
        if (
            np.iscomplexobj(given)
            or scores.shape != (len(candidates),)
            or not (np.abs(scores) <= _LARGEST).all()
        ):
            raise PluginError(
                f"{self.name} gave no finite score for each of {len(candidates)} candidates; "
                "this is a fault in the plug-in"
            )
        return scores


def best_places(
    places: NDArray[np.int64], scores: Floats, ids: Sequence[str], top: int
) -> NDArray[np.int64]:
    """The `top` places of the highest scores, best first; of equal scores the lower id first.

    Ids decide between equal scores, so that the order is the same everywhere.

    Args:
        places: Those to choose from.
        scores: The score of every place.
        ids: The id of every place.
        top: How many, at least 1.

    Example:
        >>> best_places(np.arange(4), np.array([1.0, 2.0, 1.0, 0.0]), ["b", "c", "a", "d"], 2)
        array([1, 2])
    """
    if len(places) > top:
        # The others need not be sorted; all that tie with the last are kept until ids decide.
        chosen = scores[places]
        places = places[chosen >= np.partition(chosen, -top)[-top]]
    names = np.array([ids[place] for place in places.tolist()], dtype=str)
    return places[np.lexsort((names, -scores[places]))][:top]


def _check_rankings(rankings: Sequence[Ranking], queries: int) -> None:
    """Refuse what a generator must not give: too few rankings, or scores that are no numbers."""
    if len(rankings) != queries:
        raise PluginError(f"the first stage gave {len(rankings)} rankings for {queries} queries")
    for ranking in rankings:
        if ranking.scores.shape != (len(ranking.ids),) or not np.isfinite(ranking.scores).all():
            raise PluginError("the first stage gave no finite score for each of its candidates")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query.

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

    @property
    def cut_note(self) -> str:
        """How many words were not searched for, for people to read; "" where all were."""
        told = "of its most frequent words were not searched for; a shorter query finds more"
        return f"{self.cut} {told}" if self.cut else ""


class Retriever:
    """Answers queries from an index.

    Args:
        index: Any candidate index.
        options: How queries are answered.

    Attributes:
        index: As given.
        options: As given.
        analyser: Analyses as the index was analysed.
        compared: The words that the pairs of a hit's contributions consist of: a reranker's
            lemmas, or tokens where `fields` has only these; without a reranker, `fields`.
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
        >>> retriever = Retriever(index, QueryOptions(reranker=None))
        >>> answer = retriever.answer(Query("creator in principio"))
        >>> answer.hits[0].id, answer.unknown
        ('Gen.1.1', ('creator',))
    """

    def __init__(
        self,
        index: CandidateIndex,
        options: QueryOptions = QueryOptions(),
    ) -> None:
        # Before they are multiplied: a message must have the number that was given.
        options.check(index)
        self.index = index
        self.options = options
        depth = options.top * _GROUPING_DEPTH if options.grouped else options.top
        self._ranker = Ranker(index, replace(options, top=depth))
        # Shared by all calls of `answers`: what rerankers keep about passages, see `Collection`.
        self._memories: dict[str, dict[str, float]] = {}
        self.analyser = index_analyser(index)
        self.compared: tuple[Field, ...] = tuple(options.fields)
        if options.reranker is not None and "lemma" in options.fields:
            self.compared = ("lemma",)
        self.notes: tuple[str, ...] = ()

    def answer(self, query: Query | str) -> Answer:
        """The answer to one query.

        Raises:
            AllusionError: It cannot be answered.
        """
        asked = Query(query) if isinstance(query, str) else query
        answer = next(self.answers([asked]))
        if answer.failure is not None:
            raise answer.failure
        return answer

    def answers(
        self, queries: Iterable[Query], frequencies: QueryFrequencies | None = None
    ) -> Iterator[Answer]:
        """The answer to each query, in order; they are searched for in batches.

        The queries of a sequence count as a collection of their own for rerankers that compare
        two collections; an iterator is read batch by batch, and each of its queries stands alone.
        A query that cannot be answered, because a plug-in fails for it, has an answer with
        `Answer.failure`; the others are answered.

        Args:
            queries: The queries.
            frequencies: Those of the collection that the queries are a part of, if they are.

        Raises:
            AllusionError: What concerns every query: an option, a file, the index, its server.
        """
        analysed: Iterable[AnalysedQuery | Unanswered] = (
            attempt_analysis(query, self.analyser) for query in queries
        )
        if frequencies is None and isinstance(queries, Sequence):
            # Their frequencies are needed before the first of them is answered.
            analysed = list(analysed)
            frequencies = QueryFrequencies(answerable(analysed))
        collection = Collection(self.index, frequencies, self._memories)
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

    @property
    def warnings(self) -> tuple[str, ...]:
        """What concerns all answers so far, such as how many texts a model has cut; mostly none."""
        return self._ranker.warnings

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
        others: Sequence[tuple[str, ...]] = [()] * len(ranked.places)
        if self.options.grouped:
            ranked, others = group_parallels(ranked, self.index, self.options.top)
        hits = self._hits(ranked, self._reasons(ranked, collection), others)
        distinct = max(len(set(query.words(field))) for field in self.options.fields)
        unknown, doubt = self._unknown(query)
        return Answer(query, hits, unknown, max(0, distinct - MAX_WORDS), doubt=doubt)

    def _reasons(self, ranked: Ranked, collection: Collection) -> Sequence[Explanation]:
        places = ranked.places.tolist()
        if not self.options.explain or not places:
            return [()] * len(places)
        if self._ranker.reranker is not None and ranked.candidates is not None:
            chosen = ranked.candidates.take(places)
            return checked_reasons(
                self._ranker.reranker.explain(ranked.query, chosen, collection),
                len(places),
                self._ranker.name,
            )
        return first_stage_contributions(
            self.options.generators,
            self.options.fields,
            ranked.query,
            ranked.first.take(places),
            self.index,
        )

    def _hits(
        self, ranked: Ranked, reasons: Sequence[Explanation], others: Sequence[tuple[str, ...]]
    ) -> tuple[Hit, ...]:
        places = ranked.places.tolist()
        passages = self.index.passages([ranked.first.ids[place] for place in places])
        named = list(dict.fromkeys(name for group in others for name in group))
        known = {
            passage.id: Parallel(passage.id, passage.reference or passage.id)
            for passage in (self.index.passages(named) if named else ())
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
        for each in self.options.fields:
            statistics = self.index.statistics(each, query.words(each))
            known |= statistics.df > 0
            passages = statistics.passages
        is_known = known.tolist()
        found = (token for token, each in zip(tokens, is_known, strict=True) if not each)
        doubt = language_doubt(tokens, is_known, self.index, passages, self.analyser)
        return tuple(dict.fromkeys(found)), doubt


def checked_reasons(reasons: Iterable[Explanation], size: int, what: str) -> list[Explanation]:
    """The explanations of a plug-in, once they are checked.

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
    """The queries that could be analysed."""
    return (query for query in queries if not isinstance(query, Unanswered))


# Grouping: of passages that say nearly the same only the best counts.


def group_parallels(
    ranked: Ranked, index: CandidateIndex, top: int
) -> tuple[Ranked, list[tuple[str, ...]]]:
    """The best passage of each group, up to `top`, and for each the ids of the group's others.

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
    """The place in `ids` of the first of each group, and the ids of the others, best first.

    Groups are looked up for `together` passages at a time, since often the first few suffice.
    """
    seen: set[str] = set()
    for start in range(0, len(ids), together):
        part = ids[start : start + together]
        for number, (identifier, group) in enumerate(zip(part, index.parallels(part), strict=True)):
            # Of a large group not all are named, but any two of it have some in common.
            if identifier not in seen and seen.isdisjoint(group):
                seen.update(group, (identifier,))
                yield start + number, group


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
