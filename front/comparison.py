"""Comparing two texts: which passages of the later one allude to which of the earlier."""

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from allusion_es.core.code import code_hash
from allusion_es.core.errors import (
    IndexDamagedError,
    IndexMissingError,
    InputError,
    UsageError,
)
from allusion_es.core.progress import Progress, silent
from allusion_es.corpora.passage import Passage
from allusion_es.corpora.passage_files import collection_files, read_files
from allusion_es.corpora.tables import OnBad, raise_bad
from allusion_es.corpora.windows import joined_passage
from allusion_es.es.build import build_es_index
from allusion_es.es.catalogue import delete_index
from allusion_es.es.connection import Server
from allusion_es.es.index import open_index as open_es_index
from allusion_es.front.answers import Answer as Answered
from allusion_es.front.answers import Answers, names
from allusion_es.front.frames import data_frame
from allusion_es.front.indexes import (
    Index,
    connected,
    index_choices,
    index_of,
    open_index,
    passages_of,
)
from allusion_es.front.many_answers import ManyAnswers
from allusion_es.front.queries import passage_queries
from allusion_es.language.latin.analysis import STOP_WORDS, Analyser
from allusion_es.language.latin.tokenise import ENCLITICS
from allusion_es.local.library import BuildOptions, Library
from allusion_es.reports.notebook import cell, note, table
from allusion_es.retrieval.defaults import DEFAULTS
from allusion_es.retrieval.index import CandidateIndex, check_name
from allusion_es.retrieval.options import search_filter_of
from allusion_es.retrieval.pipeline import Answer, QueryOptions, Retriever
from allusion_es.retrieval.types import Hit
from allusion_es.retrieval.unanswered import Unanswered
from allusion_es.retrieval.weighting import lucene_idf

if TYPE_CHECKING:
    import pandas

_PARTS = ("core", "language", "corpora", "retrieval", "local")
"""Packages on whose code an index depends: after a change of one, none that is kept is used."""

_FUNCTION_WORDS = STOP_WORDS.union(ENCLITICS)

_WITHIN_A_QUERY = frozenset({"learned"})
"""Rerankers whose scores say which passage is best for a query, and not how good it is."""

SCORE_WORTH = 3.0
"""What a point of the ranker's score is worth beside the idf of shared lemmas; 2 to 8 do as well.

Of 524 parallels of Argonautica 1 with epic, 13 of 100 are among the first 100 pairs in 1,000 words,
26 among 400; by the shared lemmas less the logarithm of the rank 10 and 26, by the score alone 12
and 26. Of 93 strong parallels of Lucan 1 with the Aeneid, 14 are among the first 100 pairs and 27
among 500 (12 and 25; 17 and 28). These are the halves of both benchmarks on which this was chosen;
the rankers were learned from other lines."""

RANK_PRICE = 1.0
"""What a pair that joins another costs, times ln(rank): low ranks share words by chance."""

TOP = 100
"""Pairs that are kept by default."""

_DEEP = 50
"""Hits of each passage that are looked at where pairs may be joined."""

_SHOWN = 200
"""Pairs that a notebook shows; more would fill its page."""

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

    Either may be several passages in a row, whose id and reference are then a range.

    Attributes:
        target: The passage of the later text.
        source: What was found for it in the earlier one.
        matched: The words of the target whose lemma or form the source has too, as printed,
            in their order; without function words unless there are only these.
        score: By it pairs are ordered; see `best_pairs`.
        parts: The ids of target and source of each single pair that it consists of.
    """

    target: Passage
    source: Hit
    matched: tuple[str, ...]
    score: float
    parts: tuple[tuple[str, str], ...]

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


@dataclass(frozen=True, slots=True)
class _Single:
    """A hit of one passage of the target.

    Attributes:
        number: The passage's number in the target.
        answer: The answer that the hit is from.
        hit: The hit.
        score: What the pair is worth.
    """

    number: int
    answer: Answer
    hit: Hit
    score: float


def best_pairs(
    answers: Iterable[Answer],
    targets: Sequence[Passage],
    retriever: Retriever,
    top: int,
    window: int = 1,
) -> list[Pair]:
    """The best pairs of all answers: score descending, then the target's place, then the id.

    Most rerankers give scores by which pairs of different targets can be compared. Those of
    `learned` are made within a query; there a pair's score is the sum of the idf of the lemmas
    that both share and `SCORE_WORTH` times the ranker's score.

    Args:
        answers: One for each target, in their order; those that failed have no pairs.
        targets: The passages of the later text.
        retriever: Who gave the answers.
        top: How many pairs to return.
        window: An allusion may go over so many passages on either side. Pairs beside a better one
            join it where they add shared lemmas that are worth more than their rank costs
            (`RANK_PRICE`); what they add is added to the score, where it is the sum above.

    Example:
        >>> from allusion_es.front.queries import passage_queries
        >>> from allusion_es.local.memory import index_texts
        >>> index = index_texts({"Aen.1.1": "Arma virumque cano", "Aen.1.2": "Italiam fato"})
        >>> retriever = Retriever(index, QueryOptions.chosen(rerank="none", first_stage="bm25"))
        >>> lines = [Passage("Luc.1.2", "fato victus"), Passage("Luc.1.3", "et armis")]
        >>> answers = list(retriever.answers(passage_queries(lines)))
        >>> for pair in best_pairs(answers, lines, retriever, top=2):
        ...     print(pair.target.id, pair.source.id, pair.matched)
        Luc.1.2 Aen.1.2 ('fato',)
        Luc.1.3 Aen.1.1 ('armis',)
        >>> (pair,) = best_pairs(answers, lines, retriever, top=2, window=2)
        >>> pair.target.id, pair.source.id, pair.matched
        ('Luc.1.2-Luc.1.3', 'Aen.1.1-Aen.1.2', ('fato', 'armis'))
    """
    comparable = retriever.options.reranker not in _WITHIN_A_QUERY
    rarity = _Rarity(retriever)
    found = (
        _Single(number, answer, hit, hit.score if comparable else rarity.score(answer, hit))
        for number, answer in enumerate(answers)
        for hit in answer.hits
    )
    analyser = retriever.analyser
    if window == 1:
        return [
            Pair(
                targets[one.number],
                one.hit,
                shared_words([one.answer], one.hit.text, analyser),
                one.score,
                ((targets[one.number].id, one.hit.id),),
            )
            for one in nsmallest(top, found, key=_order)
        ]
    singles = sorted(found, key=_order)
    passages = _passages_of_hits(singles, retriever.index)
    pairs = [
        _joined_pair(group, targets, passages, analyser, None if comparable else gained)
        for group, gained in _groups(singles, targets, passages, rarity, window)
    ]
    # The order of equal scores is that of their best single pairs.
    return sorted(pairs, key=lambda pair: -pair.score)[:top]


def _order(one: _Single) -> tuple[float, int, str]:
    return -one.score, one.number, one.hit.id


def _passages_of_hits(singles: Sequence[_Single], index: CandidateIndex) -> dict[str, Passage]:
    """The passages that hits name, by id."""
    ids = sorted({one.hit.id for one in singles})
    return dict(zip(ids, index.passages(ids), strict=True))


def _groups(
    singles: Sequence[_Single],
    targets: Sequence[Passage],
    passages: Mapping[str, Passage],
    rarity: "_Rarity",
    window: int,
) -> Iterator[tuple[list[_Single], float]]:
    """Single pairs, best first, each with those that join it; and what the others add to it.

    Passages of a group are in a row, on either side, and at most `window`.
    """
    places = {_place(one, targets, passages): one for one in singles}
    for seed in singles:
        place = _place(seed, targets, passages)
        if places.pop(place, None) is None:
            continue  # it has joined a better one
        group, gained = [seed], 0.0
        work, of_target, of_source = place
        spans = [range(of_target, of_target + 1), range(of_source, of_source + 1)]
        shared = set(rarity.shared(seed.answer, seed.hit))
        while True:
            around = [
                (worth, one, (work, number, order))
                for number in _reach(spans[0], window)
                for order in _reach(spans[1], window)
                if (one := places.get((work, number, order))) is not None
                and (worth := rarity.gain(one.answer, one.hit, shared)) > 0
            ]
            if not around:
                break
            worth, one, place = min(around, key=lambda each: (-each[0], _order(each[1])))
            del places[place]
            group.append(one)
            gained += worth
            shared |= set(rarity.shared(one.answer, one.hit))
            spans = [
                range(min(span.start, at), max(span.stop, at + 1))
                for span, at in zip(spans, place[1:], strict=True)
            ]
        yield group, gained


def _reach(span: range, window: int) -> Iterator[int]:
    """The numbers of a span, and those beside it as long as it stays within the window."""
    for number in range(span.start - 1, span.stop + 1):
        if max(span.stop, number + 1) - min(span.start, number) <= window:
            yield number


_Place = tuple[tuple[str, ...], int, int]
"""The works of the target and of the source, and the place of a passage in each."""


def _place(one: _Single, targets: Sequence[Passage], passages: Mapping[str, Passage]) -> _Place:
    """The place of a single pair; pairs that follow each other have neighbouring places."""
    target, source = targets[one.number], passages[one.hit.id]
    works = (target.author, target.work, target.book, source.author, source.work, source.book)
    return works, one.number, source.order


def _joined_pair(
    group: Sequence[_Single],
    targets: Sequence[Passage],
    passages: Mapping[str, Passage],
    analyser: Analyser,
    gained: float | None,
) -> Pair:
    """The pair that single pairs make.

    Args:
        group: The single pairs, the best first.
        targets: The passages of the target.
        passages: Those that hits name, by id.
        analyser: That of the index.
        gained: What the others add to the score of the best, or None where its own score stands.
    """
    best, in_order = group[0], sorted(group, key=lambda one: one.number)
    numbers = sorted({one.number for one in group})
    named = sorted({one.hit.id for one in group}, key=lambda name: passages[name].order)
    target = joined_passage([targets[number] for number in numbers], numbers[0])
    source = joined_passage([passages[name] for name in named], 0)
    hit = replace(best.hit, id=source.id, reference=source.reference or source.id, text=source.text)
    return Pair(
        target,
        hit,
        shared_words([one.answer for one in in_order], hit.text, analyser),
        best.score + (gained or 0.0),
        tuple((targets[one.number].id, one.hit.id) for one in in_order),
    )


class _Rarity:
    """How rare the lemmas are that a query and a hit share, in the collection that was searched."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever
        self._lemmas: dict[str, frozenset[str]] = {}
        self._idf: dict[str, float] = {}

    def score(self, answer: Answer, hit: Hit) -> float:
        """The sum of the idf of the shared lemmas, and what the ranker's score is worth."""
        shared = self.shared(answer, hit)
        return sum(self._idf[lemma] for lemma in shared) + SCORE_WORTH * hit.score

    def gain(self, answer: Answer, hit: Hit, known: Collection[str]) -> float:
        """The idf of the lemmas that are shared and not known yet, less the price of the rank."""
        shared = self.shared(answer, hit)
        worth = sum(self._idf[lemma] for lemma in shared if lemma not in known)
        return worth - RANK_PRICE * math.log(hit.rank)

    def shared(self, answer: Answer, hit: Hit) -> list[str]:
        """The lemmas that a query and a hit share, each once, in the query's order."""
        if hit.id not in self._lemmas:
            self._lemmas[hit.id] = frozenset(self._retriever.analyser.analyse(hit.text).lemmas)
        asked = tuple(dict.fromkeys(answer.query.words("lemma")))
        if missing := [lemma for lemma in asked if lemma not in self._idf]:
            statistics = self._retriever.index.statistics("lemma", missing)
            idf = lucene_idf(statistics.df, statistics.passages)
            self._idf.update(zip(missing, idf.tolist(), strict=True))
        return [lemma for lemma in asked if lemma in self._lemmas[hit.id]]


def shared_words(answers: Sequence[Answer], text: str, analyser: Analyser) -> tuple[str, ...]:
    """The words of some queries, as printed, whose lemma or form is in a text too.

    Each once for each query. Function words are left out, unless there are no others in any query.
    """
    other = analyser.analyse(text)
    tokens, lemmas = set(other.tokens), set(other.lemmas)
    words: dict[str, None] = {}
    common: dict[str, None] = {}
    for answer in answers:
        own = answer.query.analysis
        seen: set[str] = set()
        for token, lemma, (start, end) in zip(own.tokens, own.lemmas, own.spans, strict=True):
            if lemma not in seen and (token in tokens or lemma in lemmas):
                seen.add(lemma)
                kept = common if _FUNCTION_WORDS & {token, lemma} else words
                kept[answer.query.query.text[start:end]] = None
    return tuple(words or common)


class Comparison(Sequence[Pair]):
    """The best pairs of two texts, in their order, and what is to be known of them.

    It is a sequence of pairs. In a notebook it shows itself as a table.

    Args:
        answers: The answers to the passages of the target, in their order.
        targets: The passages of the target.
        retriever: Who answers as they were answered.
        found: Gave the answers.
        top: How many pairs to keep.
        window: See `best_pairs`.

    Attributes:
        pairs: The pairs, best first.
        targets: How many passages the target has.
        retriever: As given; its `index` is that of the source.
        found: As given.
        notes: What a reader should know, such as which work was left out.
        unanswered: The passages of the target for which nothing could be asked, with the reason.
    """

    def __init__(
        self,
        answers: Sequence[Answer],
        targets: Sequence[Passage],
        retriever: Retriever,
        found: ManyAnswers,
        top: int,
        window: int,
    ) -> None:
        self.pairs = tuple(best_pairs(answers, targets, retriever, top, window))
        self.targets = len(targets)
        self.found = found
        self.notes = found.warnings
        self.unanswered = [
            Unanswered(answer.query.query, answer.failure)
            for answer in answers
            if answer.failure is not None
        ]
        self.retriever = retriever
        self._answers = answers

    def __len__(self) -> int:
        """How many pairs there are."""
        return len(self.pairs)

    @overload
    def __getitem__(self, number: int) -> Pair: ...

    @overload
    def __getitem__(self, number: slice) -> tuple[Pair, ...]: ...

    def __getitem__(self, number: int | slice) -> Pair | tuple[Pair, ...]:
        """The pair of a number, from 0."""
        return self.pairs[number]

    def __repr__(self) -> str:
        """How many pairs, and of how many passages."""
        return (
            f"<Comparison: {len(self)} {'pair' if len(self) == 1 else 'pairs'} of "
            f"{self.targets:,} passages with {len(self.retriever.index):,}>"
        )

    def _repr_html_(self) -> str:
        """The table that notebooks show."""
        rows = [
            [
                (str(rank), True),
                (f"<b>{cell(str(row['target']))}</b><br>{cell(str(row['target_text']))}", False),
                (f"<b>{cell(str(row['source']))}</b><br>{cell(str(row['source_text']))}", False),
                (cell(str(row["matched"])), False),
                (f"{row['score']:.4f}", True),
            ]
            for rank, row in enumerate(self.rows()[:_SHOWN], start=1)
        ]
        heads = ("rank", "target", "source", "matched words", "score")
        more = len(self) - _SHOWN
        shown = table(heads, rows) if rows else note("no pair found")
        return shown + (note(f"and {more} more") if more > 0 else "")

    def rows(self) -> list[dict[str, object]]:
        """The pairs as rows of a table, with `COLUMNS`."""
        return [pair.row(rank) for rank, pair in enumerate(self, start=1)]

    def to_dict(self) -> list[dict[str, object]]:
        """The objects that `allusion-es compare --format json` prints, one for each pair."""
        return [
            {**row, "matched": pair.matched} for row, pair in zip(self.rows(), self, strict=True)
        ]

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame with a row for each pair, and the columns of `--format csv`.

        Raises:
            UsageError: pandas is not installed.
        """
        return data_frame(self.rows(), COLUMNS)

    def to_html(self, path: str | Path) -> None:
        """Write the report of `allusion-es compare --html`; with `explain=True` it gives reasons.

        Raises:
            StorageError: The file cannot be written.
        """
        where, method = Index(self.retriever.index), self.method
        shown = (Answered(each, self.retriever, where, method) for each in self.answers())
        Answers(shown).to_html(path)

    @property
    def method(self) -> str:
        """How the pairs were found, for people to read."""
        options = self.retriever.options
        stage = "+".join(options.generators)
        return f"{stage}.{options.reranker or 'none'}, the best {len(self)} pairs"

    def answers(self) -> Iterator[Answer]:
        """The answers with only the hits that are among the pairs; those without are left out."""
        wanted = {part for pair in self for part in pair.parts}
        for answer in self._answers:
            target = answer.query.query.query_id
            if hits := tuple(hit for hit in answer.hits if (target, hit.id) in wanted):
                yield replace(answer, hits=hits)


def compare(
    source: "Index | CandidateIndex | str | Path",
    target: Iterable[Any] | Mapping[str, str] | str | Path,
    *,
    top: int = TOP,
    window: int = 1,
    first_stage: str = DEFAULTS.first_stage,
    candidates: int = DEFAULTS.candidates,
    rerank: str = DEFAULTS.rerank,
    work: str | Iterable[str] = (),
    author: str | Iterable[str] = (),
    exclude_work: str | Iterable[str] = (),
    exclude_author: str | Iterable[str] = (),
    own_work: bool = False,
    explain: bool = False,
    es: str | None = None,
    workers: int = 1,
    data_dir: str | Path | None = None,
) -> Comparison:
    """Find the passages of a later text that allude to those of an earlier one.

    As `allusion-es compare` does: each passage of the target is a query with the passages beside it
    as context, and the best pairs of all are returned.

    Args:
        source: The earlier text: a file or folder as for `build_index`, whose index is kept for the
            next time; or an index, or its name.
        target: The later text: a file or folder, or passages as for `build_index`.
        top: How many pairs to return.
        window: An allusion may go over so many passages on either side: pairs beside each other
            are one, whose ids and references are ranges.
        first_stage: Where candidates come from, as for `find`.
        candidates: How many candidates the reranker gets for each passage of the target.
        rerank: A reranker, or `none`.
        work: Only this work of the source, or these.
        author: Only works of this author, or these.
        exclude_work: Not this work, or these.
        exclude_author: No work of this author, or these.
        own_work: Search the work that the target is from, too; it is left out otherwise.
        explain: Keep the reasons, for `Comparison.to_html`.
        es: URL of an Elasticsearch where the index of the source is, or is kept; see `open_index`.
        workers: Processes. With more than one, a script needs `if __name__ == "__main__":`.
        data_dir: Folder for fetched data and indexes.

    Raises:
        AllusionError: A text, an argument or the index cannot be used.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> aeneid = Index(index_texts({"Aen.9.97": "cui tanta deo permissa potestas"}))
        >>> found = compare(aeneid, {"Luc.1.595": "pontifices, sacri quibus est permissa potestas"})
        >>> found
        <Comparison: 1 pair of 1 passages with 1>
        >>> found[0].target.id, found[0].source.id, found[0].matched
        ('Luc.1.595', 'Aen.9.97', ('permissa', 'potestas'))
    """
    targets = list(passages_of(target))
    choices = index_choices(es=es, data_dir=data_dir)
    folder = choices.get("data_dir")
    library = Library(Path(folder) if folder else None, workers=workers)
    if isinstance(source, (str, Path)):
        connect = partial(connected, choices) if "es" in choices else None
        opener = open_source(source, library, partial(_candidates_of, choices), connect).open
    else:
        candidates_of_source = index_of(source).candidates
        # It cannot be given to other processes.
        opener, workers = lambda: candidates_of_source, 1
    options = QueryOptions.chosen(
        first_stage=first_stage,
        candidates=candidates,
        rerank=rerank,
        search_filter=search_filter_of(
            None,
            None,
            names(work),
            authors=names(author),
            excluded_works=names(exclude_work),
            excluded_authors=names(exclude_author),
            own_work=own_work,
        ),
        explain=explain,
    )
    return compare_passages(opener, targets, options, top=top, window=window, workers=workers)


def _candidates_of(choices: Mapping[str, Any], name: str) -> CandidateIndex:
    return open_index(name, **choices).candidates


def compare_passages(
    open_source: Callable[[], CandidateIndex],
    targets: Sequence[Passage],
    options: QueryOptions,
    *,
    top: int,
    window: int,
    workers: int = 1,
    progress: Progress = silent,
) -> Comparison:
    """The best pairs of passages with those of an index.

    Args:
        open_source: Opens the index; other processes call it too.
        targets: The passages.
        options: How queries are answered.
        top: How many pairs to keep.
        window: See `best_pairs`.
        workers: Most processes.
        progress: Told of the queries that are answered.

    Raises:
        UsageError: A number is below 1, or another option cannot be used.
        AllusionError: As `Retriever` raises.
    """
    for argument, value in (("top", top), ("window", window), ("workers", workers)):
        if value < 1:
            raise UsageError(f"must be at least 1, not {value}", argument=argument)
    if window > 1:
        # What joins a better pair is often far down in its own ranking.
        options = replace(options, top=max(options.top, _DEEP))
    # Options are checked here, before other processes begin.
    retriever = Retriever(open_source(), options)
    queries = passage_queries(targets)
    found = ManyAnswers(retriever, open_source, queries, workers)
    answers = list(progress(found, "Comparing", len(queries)))
    return Comparison(answers, targets, retriever, found, top, window)


@dataclass(frozen=True, slots=True)
class Source:
    """The index of a source.

    Attributes:
        open: Opens it; other processes may call it, too.
        forget: Deletes it, where it is one that was built of files and is kept.
    """

    open: Callable[[], CandidateIndex]
    forget: Callable[[], None]


def open_source(
    source: str | Path,
    library: Library,
    open_named: Callable[[str], CandidateIndex],
    connect: Callable[[], Server] | None = None,
    on_bad: OnBad = raise_bad,
    progress: Progress = silent,
    watch: Callable[[Iterable[Passage]], Iterable[Passage]] = iter,
) -> Source:
    """The index of a file or folder, which is built where it is not kept yet, or that of a name.

    Args:
        source: The path of a file or folder; or the name of an index.
        library: The indexes of this machine.
        open_named: Opens the index of a name, on the server if there is one; other processes call
            it, too.
        connect: Connects with the server where indexes are; None for none.
        on_bad: Called with the error of a record that cannot be read.
        progress: Told of the passages that are read, and of those that are indexed.
        watch: Sees the passages that are read, and gives them on.

    Raises:
        InputError: There is neither such a file nor such an index, or no passage can be read.
        AllusionError: The index cannot be built, or the server does not answer as it should.
    """
    path = Path(source)
    if not path.exists():
        _check_named(str(source), library, open_named, is_here=connect is None)
        return Source(partial(open_named, str(source)), _nothing)

    def passages() -> Iterable[Passage]:
        return progress(watch(read_files([path], on_bad=on_bad)), f"Indexing {path.name}")

    if connect is None:
        key = collection_key([path])
        library.kept(key, passages)
        return Source(partial(_kept, library.folder, key), partial(library.forget, key))
    key = collection_key([path], code_hash("es", "mappings"))
    with connect() as server:
        try:
            open_es_index(server, key)
        except (IndexMissingError, IndexDamagedError):
            prepared = library.prepare(passages(), BuildOptions())
            build_es_index(server, key, *prepared, progress=progress, workers=library.workers)

    def forget() -> None:
        with connect() as server:
            delete_index(server, key)

    return Source(partial(open_named, key), forget)


def _check_named(
    name: str, library: Library, open_named: Callable[[str], CandidateIndex], *, is_here: bool
) -> None:
    """Raise an error if there is no index of that name, as there is no such file."""
    try:
        check_name(name)
    except UsageError as error:
        raise InputError(
            f"{name}: there is no such file, and no index can have that name"
        ) from error
    try:
        if is_here and name != DEFAULTS.name and not library.path(name).exists():
            raise IndexMissingError(f"there are: {', '.join(library.names()) or 'none yet'}")
        if not is_here:
            open_named(name)
    except IndexMissingError as error:
        raise InputError(
            f"{name}: there is no such file, and no index of that name; {error}"
        ) from error


def _kept(folder: Path, key: str) -> CandidateIndex:
    """The index that is kept under a key; also called in other processes."""
    return Library(folder).open_kept(key)


def _nothing() -> None:
    """Do nothing: an index that has a name is the user's."""


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
