"""Answers from Python: `find`, and what it gives."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

from allusion_es.core.characters import shorten
from allusion_es.core.errors import AllusionError, InputError, UsageError
from allusion_es.core.plugins import Settings
from allusion_es.front.frames import data_frame
from allusion_es.front.indexes import Index, index_of
from allusion_es.front.queries import is_path, queries_of, read_query_file
from allusion_es.reports import answers as reported
from allusion_es.reports.notebook import answer_table, note
from allusion_es.reports.report import ReportMeta, write_report
from allusion_es.retrieval import pipeline
from allusion_es.retrieval.defaults import DEFAULTS
from allusion_es.retrieval.options import search_filter_of
from allusion_es.retrieval.pipeline import QueryOptions, Retriever
from allusion_es.retrieval.types import Hit, Query

if TYPE_CHECKING:
    import pandas

_SHOWN = 3
"""Hits that the `repr` of an answer names."""

_TABLES = 20
"""Answers whose tables a notebook shows; more would fill its page."""


class Answer(Sequence[Hit]):
    """The answer to a query: its hits, best first.

    It is a sequence of hits. In a notebook it shows itself as a table.

    Args:
        found: The answer of the retriever.
        retriever: Who gave it.
        index: Where from.
        method: How, for people.

    Attributes:
        query: The query.
        hits: The hits, best first.
        unknown: Words of the query that the index does not have.
        notes: What a reader should know: why it is hardly Latin, what was not searched for, and of
            the scores, what they are.
        failure: Why the query could not be answered, where it is one of several; else None.
    """

    def __init__(
        self, found: pipeline.Answer, retriever: Retriever, index: Index, method: str
    ) -> None:
        self._found, self._retriever, self._index, self._method = found, retriever, index, method
        self.query: Query = found.query.query
        self.hits: tuple[Hit, ...] = found.hits
        self.unknown: tuple[str, ...] = found.unknown
        self.failure: AllusionError | None = found.failure
        notes = (found.doubt, found.cut_note, *retriever.notes, *retriever.warnings)
        self.notes: tuple[str, ...] = tuple(filter(None, notes))

    def __len__(self) -> int:
        """How many hits there are."""
        return len(self.hits)

    @overload
    def __getitem__(self, number: int) -> Hit: ...

    @overload
    def __getitem__(self, number: slice) -> tuple[Hit, ...]: ...

    def __getitem__(self, number: int | slice) -> Hit | tuple[Hit, ...]:
        """The hit of a number, from 0."""
        return self.hits[number]

    def __repr__(self) -> str:
        """The query and the first few hits."""
        if self.failure is not None:
            return f"<Answer to {_short(self.query.text)!r}: not answered: {self.failure}>"
        shown = "; ".join(f"{hit.reference} {hit.score:.2f}" for hit in self.hits[:_SHOWN])
        more = f"; and {len(self) - _SHOWN} more" if len(self) > _SHOWN else ""
        return f"<Answer to {_short(self.query.text)!r}: {shown or 'no passage found'}{more}>"

    def _repr_html_(self) -> str:
        """The table that notebooks show."""
        return answer_table(self._found, self._retriever.analyser, self._retriever.compared)

    def to_dict(self) -> dict[str, Any]:
        """The object that `allusion-es query --format json` prints."""
        return reported.answer_record(self._found)

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame with a row for each hit, and the columns of `--format tsv`.

        Raises:
            UsageError: pandas is not installed.
        """
        return data_frame(reported.answer_rows(self._found), reported.COLUMNS)

    def to_html(self, path: str | Path) -> None:
        """Write the report of `allusion-es query --html`; with `explain=True` it gives the reasons.

        Raises:
            StorageError: The file cannot be written.
        """
        Answers([self]).to_html(path)


class Answers(Sequence[Answer]):
    """The answers to several queries, in their order.

    In a notebook they show themselves as tables.

    Args:
        answers: The answers, all of one index and method.
    """

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers = tuple(answers)

    def __len__(self) -> int:
        """How many answers there are."""
        return len(self._answers)

    @overload
    def __getitem__(self, number: int) -> Answer: ...

    @overload
    def __getitem__(self, number: slice) -> "Answers": ...

    def __getitem__(self, number: int | slice) -> "Answer | Answers":
        """The answer of a number, from 0."""
        if isinstance(number, slice):
            return Answers(self._answers[number])
        return self._answers[number]

    def __repr__(self) -> str:
        """How many there are, and how many of the queries could not be answered."""
        failed = sum(answer.failure is not None for answer in self)
        lack = f", {failed} of them not answered" if failed else ""
        return f"<Answers to {len(self)} {'query' if len(self) == 1 else 'queries'}{lack}>"

    def _repr_html_(self) -> str:
        """The tables that notebooks show."""
        more = len(self) - _TABLES
        tables = [answer._repr_html_() for answer in self._answers[:_TABLES]]
        return "\n".join(tables) + (note(f"and {more} more") if more > 0 else "")

    def to_dict(self) -> list[dict[str, Any]]:
        """The objects that `allusion-es query --format json` prints, one for each query."""
        return [answer.to_dict() for answer in self]

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame with a row for each hit of each query.

        Raises:
            UsageError: pandas is not installed.
        """
        rows = [row for answer in self for row in reported.answer_rows(answer._found)]
        return data_frame(rows, reported.COLUMNS)

    def to_html(self, path: str | Path) -> None:
        """Write the report of `allusion-es query --html`; with `explain=True` it gives the reasons.

        Raises:
            StorageError: The file cannot be written.
            UsageError: There are no answers.
        """
        if not self._answers:
            raise UsageError("there are no answers to report")
        first = self._answers[0]
        index, retriever, method = first._index, first._retriever, first._method
        findings = reported.findings_of(
            (answer._found for answer in self),
            index.candidates,
            retriever.analyser,
            retriever.compared,
            method,
        )
        meta = ReportMeta(
            f"Allusions to {index.name}", f"Method {method}, index {index.name}", retriever.notes
        )
        write_report(Path(path), list(findings), meta)


class QueryChoices(TypedDict, total=False):
    """The arguments of `find` beside the words; what each means stands there."""

    index: "Index | str | None"
    first_stage: str
    field: str
    candidates: int
    rerank: str
    top: int
    book: str | Iterable[str]
    testament: str | Iterable[str]
    work: str | Iterable[str]
    author: str | Iterable[str]
    exclude_work: str | Iterable[str]
    exclude_author: str | Iterable[str]
    own_work: bool
    set: Mapping[str, Mapping[str, object]]
    group: bool
    explain: bool


# A text is one query, though it is an iterable of letters, too.
@overload
def find(  # type: ignore[overload-overlap]
    text: str | Query, **choices: Unpack[QueryChoices]
) -> Answer: ...


@overload
def find(
    text: Path | Iterable[str | Query | Mapping[str, Any]], **choices: Unpack[QueryChoices]
) -> Answers: ...


def find(
    text: str | Query | Path | Iterable[str | Query | Mapping[str, Any]],
    *,
    index: "Index | str | None" = None,
    first_stage: str = DEFAULTS.first_stage,
    field: str = DEFAULTS.field,
    candidates: int = DEFAULTS.candidates,
    rerank: str = DEFAULTS.rerank,
    top: int = DEFAULTS.top,
    book: str | Iterable[str] = (),
    testament: str | Iterable[str] = (),
    work: str | Iterable[str] = (),
    author: str | Iterable[str] = (),
    exclude_work: str | Iterable[str] = (),
    exclude_author: str | Iterable[str] = (),
    own_work: bool = False,
    set: Mapping[str, Mapping[str, object]] | None = None,
    group: bool = DEFAULTS.group,
    explain: bool = False,
) -> Answer | Answers:
    """Find the passages that a text alludes to, as `allusion-es query` does.

    Args:
        text: The words of one query, which has one answer; or a list of queries, or the `Path` of
            a file of them, which have one answer each. Queries are words, `Query` objects, or
            dicts with `text` and perhaps `query_id`, `before`, `after`, `anchor` and `work`.
        index: An index, its name, or the URL of a server; see `open_index`.
        first_stage: Where candidates come from: `fused`, `bm25`, `tfidf`, `knn`, `rrf`, `ngrams`,
            `citations`, `expansion`, or a generator of another package.
        field: Words that candidates share: `lemma`, `token` or `both`.
        candidates: How many candidates the reranker gets.
        rerank: A reranker, or `none`.
        top: How many passages to return.
        book: Only this book, by any of its names, or these.
        testament: Only this testament: `ot` or `nt`.
        work: Only this work, or these.
        author: Only works of this author, or these.
        exclude_work: Not this work, or these.
        exclude_author: No work of this author, or these.
        own_work: Search the work that a query is from, too; it is left out otherwise.
        set: Parameters of rerankers: `{"soft-cosine": {"power": 3}}`.
        group: Return passages that say nearly the same as one.
        explain: Give each hit its `contributions`, the word pairs that its score consists of.

    Raises:
        AllusionError: The query, an argument or the index cannot be used. Of several queries, one
            that cannot be answered has its reason in `Answer.failure`.

    Example:
        >>> from allusion_es.local.memory import index_texts
        >>> index = Index(index_texts({"Ps.22.1": "Dominus regit me", "Isa.5.1": "vinea mea"}))
        >>> find("vinea electa", index=index, top=1)  # doctest: +ELLIPSIS
        <Answer to 'vinea electa': Isa.5.1 ...>
        >>> [answer.hits[0].id for answer in find(["vinea", "regit"], index=index)]
        ['Isa.5.1', 'Ps.22.1']
    """
    queries = _queries(text)
    retriever = Retriever(
        (opened := index_of(index)).candidates,
        QueryOptions.chosen(
            first_stage=first_stage,
            field=field,
            candidates=candidates,
            rerank=rerank,
            top=top,
            settings=settings_of(set or {}),
            search_filter=search_filter_of(
                names(book),
                names(testament),
                names(work),
                authors=names(author),
                excluded_works=names(exclude_work),
                excluded_authors=names(exclude_author),
                own_work=own_work,
            ),
            explain=explain,
            group=group,
        ),
    )
    method = f"{first_stage}.{field}.{rerank}"
    found = list(retriever.answers(queries))
    answers = [Answer(each, retriever, opened, method) for each in found]
    if not isinstance(text, (str, Query)):
        return Answers(answers)
    (answer,) = answers
    if answer.failure is not None:
        raise answer.failure
    return answer


def _queries(text: object) -> list[Query]:
    if isinstance(text, Path):
        return read_query_file(text)
    if isinstance(text, str):
        if is_path(text):
            raise InputError(
                f"{text!r:.200} looks like a file: give pathlib.Path(…) for the queries in it"
            )
        return queries_of([text])
    if isinstance(text, Query):
        return queries_of([text])
    if isinstance(text, Iterable) and not isinstance(text, (bytes, Mapping)):
        if hasattr(text, "columns"):
            raise UsageError("of a data frame give the column with the words, as frame['text']")
        if queries := queries_of(text):
            return queries
        raise InputError("there is no query in the list; give at least one")
    raise UsageError(f"give words, a Path, a Query or a list of queries, not {type(text).__name__}")


def names(given: str | Iterable[str]) -> tuple[str, ...]:
    """The names that an argument gives: one, or several.

    Raises:
        UsageError: One of them is no text.

    Example:
        >>> names("Isaias"), names(["Isaias", "Ier"])
        (('Isaias',), ('Isaias', 'Ier'))
    """
    found = (given,) if isinstance(given, str) else tuple(given or ())
    for each in found:
        if not isinstance(each, str):
            raise UsageError(f"give names as texts, not {type(each).__name__}")
    return found


Choice = TypeVar("Choice", bound=str)


def one_of(argument: str, given: str, choices: Iterable[Choice]) -> Choice:
    """The choice that an argument names.

    Raises:
        UsageError: It names none; the message says which there are.

    Example:
        >>> one_of("input_format", "tei", ("text", "tei"))
        'tei'
    """
    known = tuple(choices)
    for each in known:
        if each == given:
            return each
    raise UsageError(f"{argument}: use {', '.join(known)}, not {given!r:.40}")


def settings_of(given: Mapping[str, Mapping[str, object]]) -> Settings:
    """Parameters of rerankers as the command line has them, as text.

    Raises:
        UsageError: They are not dicts in a dict.

    Example:
        >>> settings_of({"soft-cosine": {"power": 3}})
        {'soft-cosine': {'power': '3'}}
    """
    for name, values in given.items():
        if not isinstance(values, Mapping):
            raise UsageError(
                f"set: give a dict for each reranker, such as {{'soft-cosine': {{'power': 3}}}}, "
                f"not {name!r}: {values!r:.40}"
            )
    return {
        name: {parameter: str(value) for parameter, value in values.items()}
        for name, values in given.items()
    }


def _short(text: str) -> str:
    return shorten(" ".join(text.split()), 40)
