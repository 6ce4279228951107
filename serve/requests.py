"""Requests to query and to scan: read from JSON, and checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allusion_es.core.characters import lone_surrogate
from allusion_es.retrieval.defaults import CANDIDATES, FIRST_STAGE, RERANKER
from allusion_es.retrieval.options import FIELD_CHOICES, search_filter_of
from allusion_es.retrieval.types import Query, SearchFilter
from allusion_es.web.guard import RefusedError

# These limits keep one request from filling the memory; larger work is for the command line.

MOST_QUERIES = 1000
MOST_HITS = 5000
"""Most passages that one request gets, over all its queries."""

MOST_CANDIDATES = 10_000
LONGEST_QUERY = 100_000
"""Most characters of a query; longer texts are to be scanned."""

_LONGEST_NAME = 1000
_MOST_NAMES = 200

_COMMON = ("index", "books", "testaments", "works", "view")
_QUERY = (
    "text", "queries", "first_stage", "field", "candidates", "rerank", "top", "set", "explain",
    "group",
)  # fmt: skip
_SCAN = ("text", "text_id", "threshold", "fast")
_QUERY_PARTS = ("text", "query_id", "before", "after", "anchor", "work")


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """Queries to be answered, with the options of `allusion-es query`.

    Attributes:
        index: Name of the index.
        search_filter: The passages that may be found.
        view: `lines` for the command line's objects, `report` for those of the page.
        queries: The queries.
        first_stage: Name of the first stage.
        field: Field that it searches, of `FIELD_CHOICES`.
        candidates: How many candidates are reranked.
        rerank: Name of the reranker, or `none`.
        top: How many passages are returned for each query.
        settings: Parameters of plug-ins, by the plug-in's name.
        explain: Whether the answer lists what each pair of words adds to a score.
        group: Whether parallel passages are one hit.
    """

    index: str
    search_filter: SearchFilter
    view: str
    queries: tuple[Query, ...]
    first_stage: str
    field: str
    candidates: int
    rerank: str
    top: int
    settings: Mapping[str, Mapping[str, str]]
    explain: bool
    group: bool


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """A text to be scanned for allusions.

    Attributes:
        index: Name of the index.
        search_filter: The passages that may be found.
        view: `lines` for the command line's objects, `report` for those of the page.
        text: The text itself, or "" where it was uploaded before.
        text_id: Its id, where it was uploaded before, else "".
        threshold: The least probability of a finding; None for the default.
        fast: Whether to be fast rather than thorough.
    """

    index: str
    search_filter: SearchFilter
    view: str
    text: str
    text_id: str
    threshold: float | None
    fast: bool


def read_query_request(record: Mapping[str, Any], default_index: str) -> QueryRequest:
    """Read and check a request to `query`.

    Args:
        record: The request's JSON.
        default_index: Name of the index that is searched if the request names none.

    Raises:
        RefusedError: A field is unknown or has a value that cannot be used.
        UsageError, VerseError: There is no such testament or book.

    Example:
        >>> read_query_request({"text": "vinea mea"}, "vulgate").queries[0].text
        'vinea mea'
    """
    fields = _RequestFields(record, (*_COMMON, *_QUERY))
    top = fields.number("top", 10, 1, 100)
    queries = _queries(fields)
    if len(queries) * top > MOST_HITS:
        raise RefusedError(
            422, f"{len(queries)} queries with {top} passages each are more than {MOST_HITS}"
        )
    field = fields.text("field", "lemma")
    if field not in FIELD_CHOICES:
        raise RefusedError(422, f"field 'field' must be one of {', '.join(FIELD_CHOICES)}")
    return QueryRequest(
        index=fields.text("index", default_index),
        search_filter=_search_filter(fields),
        view=_view(fields),
        queries=queries,
        first_stage=fields.text("first_stage", FIRST_STAGE),
        field=field,
        candidates=fields.number("candidates", CANDIDATES, 1, MOST_CANDIDATES),
        rerank=fields.text("rerank", RERANKER),
        top=top,
        settings=_settings(fields.value("set", {})),
        explain=fields.boolean("explain"),
        group=fields.boolean("group", True),
    )


def read_scan_request(record: Mapping[str, Any], default_index: str) -> ScanRequest:
    """Read and check a request to `scan`, with the errors of `read_query_request`.

    Example:
        >>> request = read_scan_request({"text": "vinea mea", "books": ["Isaias"]}, "vulgate")
        >>> request.search_filter.books
        frozenset({'Isa'})
    """
    fields = _RequestFields(record, (*_COMMON, *_SCAN))
    if ("text" in record) == ("text_id" in record):
        raise RefusedError(422, "give either field 'text' or field 'text_id'")
    threshold = fields.value("threshold", None)
    if threshold is not None and not (_is_number(threshold) and 0 < threshold <= 1):
        raise RefusedError(422, "field 'threshold' must be a number above 0, at most 1")
    return ScanRequest(
        index=fields.text("index", default_index),
        search_filter=_search_filter(fields),
        view=_view(fields),
        text=fields.text("text", "", longest=None),
        text_id=fields.text("text_id", ""),
        threshold=None if threshold is None else float(threshold),
        fast=fields.boolean("fast"),
    )


class _RequestFields:
    """The fields of a request; each method checks one, and refuses it in a line that names it."""

    def __init__(self, record: Mapping[str, Any], known: Sequence[str]) -> None:
        # An unknown field is refused: a misspelt option must not be ignored in silence.
        for name in record:
            if name not in known:
                raise RefusedError(
                    422, f"there is no field {name[:40]!r}; there are: {', '.join(known)}"
                )
        self._record = record

    def value(self, name: str, default: object) -> Any:  # noqa: ANN401 - whatever JSON can hold
        # A field that is null counts as missing.
        value = self._record.get(name)
        return default if value is None else value

    def text(self, name: str, default: str, longest: int | None = _LONGEST_NAME) -> str:
        value = self.value(name, default)
        if not isinstance(value, str) or (longest is not None and len(value) > longest):
            most = f" of at most {longest} characters" if longest is not None else ""
            raise RefusedError(422, f"field {name!r} must be a text{most}")
        _check_surrogates(value, f"field {name!r}")
        return value

    def number(self, name: str, default: int, least: int, most: int) -> int:
        value = self.value(name, default)
        # type() rather than isinstance(), since True is an int too.
        if type(value) is not int or not least <= value <= most:
            raise RefusedError(422, f"field {name!r} must be a whole number from {least} to {most}")
        return value

    def boolean(self, name: str, default: bool = False) -> bool:
        value = self.value(name, default)
        if not isinstance(value, bool):
            raise RefusedError(422, f"field {name!r} must be true or false")
        return value

    def names(self, name: str) -> list[str]:
        value = self.value(name, [])
        if not _is_list_of_names(value):
            raise RefusedError(422, f"field {name!r} must be a list of names")
        names: list[str] = value
        return names


def _search_filter(fields: _RequestFields) -> SearchFilter:
    return search_filter_of(*(fields.names(name) for name in ("books", "testaments", "works")))


def _view(fields: _RequestFields) -> str:
    view = fields.text("view", "lines")
    if view not in ("lines", "report"):
        raise RefusedError(422, "field 'view' must be lines or report")
    return view


def _queries(fields: _RequestFields) -> tuple[Query, ...]:
    """The queries of a request, from its list `queries` or its one `text`."""
    listed = fields.value("queries", None)
    text = fields.value("text", None)
    if (listed is None) == (text is None):
        raise RefusedError(422, "give either field 'text' or field 'queries'")
    rows = [{"text": text}] if listed is None else listed
    if not isinstance(rows, list) or not 1 <= len(rows) <= MOST_QUERIES:
        raise RefusedError(422, f"field 'queries' must be a list of 1 to {MOST_QUERIES} queries")
    queries = tuple(_query(row, number) for number, row in enumerate(rows, start=1))
    if len({query.query_id for query in queries}) < len(queries):
        raise RefusedError(422, "field 'query_id': give each query another one")
    return queries


def _query(row: object, number: int) -> Query:
    where = f"query {number}"
    if not isinstance(row, dict) or set(row) - set(_QUERY_PARTS):
        raise RefusedError(422, f"{where} must be an object with {', '.join(_QUERY_PARTS)}")
    values = {"query_id": str(number), **{k: v for k, v in row.items() if v is not None}}
    for name, value in values.items():
        if not isinstance(value, str) or len(value) > LONGEST_QUERY:
            raise RefusedError(
                422,
                f"{where}: field {name!r} must be a text of at most {LONGEST_QUERY} characters; "
                "scan longer texts",
            )
        _check_surrogates(value, f"{where}: field {name!r}")
    if not values.get("text", "").strip() or not values["query_id"].strip():
        raise RefusedError(422, f"{where} is empty; give at least one word")
    return Query(**values)


def _check_surrogates(text: str, where: str) -> None:
    if half := lone_surrogate(text):
        raise RefusedError(422, f"{where} has half a character ({half}); write the whole one")


def _settings(value: object) -> dict[str, dict[str, str]]:
    """The field `set`: parameters of plug-ins, without paths, which are files of the server."""
    problem = RefusedError(
        422, 'field \'set\' must be an object of objects: {"soft-cosine": {"power": "3"}}'
    )
    if not isinstance(value, dict) or len(value) > _MOST_NAMES:
        raise problem
    settings: dict[str, dict[str, str]] = {}
    for plugin, values in value.items():
        if not isinstance(values, dict) or not _is_list_of_names(list(values.values())):
            raise problem
        if any("/" in each or "\\" in each for each in values.values()):
            raise RefusedError(422, "field 'set': files of your own are for the command line")
        settings[plugin] = dict(values)
    return settings


def _is_list_of_names(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= _MOST_NAMES
        and all(isinstance(each, str) and len(each) <= _LONGEST_NAME for each in value)
        and not any(map(lone_surrogate, value))
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
