"""Requests to query and to scan: read from JSON, and checked."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from allusion_es.core.records import checked
from allusion_es.retrieval.defaults import DEFAULTS
from allusion_es.retrieval.options import search_filter_of
from allusion_es.retrieval.types import Query, SearchFilter
from allusion_es.web.guard import RefusedError

_Shape = TypeVar("_Shape", bound=Struct)
_AnyRequest = TypeVar("_AnyRequest", bound="_Request")

# These limits keep one request from filling the memory; larger work is for the command line.

MOST_QUERIES = 1000
MOST_HITS = 5000
"""Most passages that one request gets, over all its queries."""

MOST_CANDIDATES = 10_000
LONGEST_QUERY = 100_000
"""Most characters of a query; longer texts are to be scanned."""

_LONGEST_NAME = 1000
_MOST_NAMES = 200

_Name = Annotated[str, Meta(max_length=_LONGEST_NAME)]
_Names = Annotated[
    list[_Name], Meta(max_length=_MOST_NAMES, description=f"a list of at most {_MOST_NAMES} names")
]
_QueryText = Annotated[
    str,
    Meta(
        max_length=LONGEST_QUERY,
        description=f"a string of at most {LONGEST_QUERY} characters (scan longer texts)",
    ),
]
_Settings = Annotated[
    dict[_Name, Annotated[dict[_Name, _Name], Meta(max_length=_MOST_NAMES)]],
    Meta(
        max_length=_MOST_NAMES,
        description='an object of objects, {"soft-cosine": {"power": "3"}}',
    ),
]


class _Request(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The fields that both kinds of requests have, checked as they are declared."""

    index: _Name
    books: _Names = []
    testaments: _Names = []
    works: _Names = []
    authors: _Names = []
    exclude_works: _Names = []
    exclude_authors: _Names = []
    own_work: bool = False
    view: Literal["lines", "report"] = "lines"

    @property
    def search_filter(self) -> SearchFilter:
        """The passages that may be found."""
        return search_filter_of(
            self.books,
            self.testaments,
            self.works,
            authors=self.authors,
            excluded_works=self.exclude_works,
            excluded_authors=self.exclude_authors,
            own_work=self.own_work,
        )


class QueryRequest(_Request, frozen=True):
    """Queries to be answered, with the options of `allusion-es query`.

    Attributes:
        index: Name of the index.
        books: Books in which passages may be found, all if none; likewise `testaments`, `works` and
            `authors`.
        exclude_works: Works of which no passage may be found; likewise `exclude_authors`.
        own_work: Whether the work that a query or text is from is searched too.
        view: `lines` for the command line's objects, `report` for those of the page.
        queries: The queries, at least one.
        text: The words of the only query, where `queries` was not given.
        first_stage: Name of the first stage.
        field: Field that it searches, of `FIELD_CHOICES`.
        candidates: How many candidates are reranked.
        rerank: Name of the reranker, or `none`.
        top: How many passages are returned for each query.
        settings: Parameters of plug-ins, by the plug-in's name.
        explain: Whether the answer lists what each pair of words adds to a score.
        group: Whether parallel passages are one hit.
    """

    queries: tuple[Query, ...]
    text: object = None
    first_stage: _Name = DEFAULTS.first_stage
    field: Literal["token", "lemma", "both"] = DEFAULTS.field
    candidates: Annotated[int, Meta(ge=1, le=MOST_CANDIDATES)] = DEFAULTS.candidates
    rerank: _Name = DEFAULTS.rerank
    top: Annotated[int, Meta(ge=1, le=100)] = DEFAULTS.top
    settings: _Settings = msgspec.field(name="set", default_factory=dict)
    explain: bool = False
    group: bool = DEFAULTS.group


class ScanRequest(_Request, frozen=True):
    """A text to be scanned for allusions.

    Attributes:
        index: Name of the index.
        books: Books in which passages may be found, all if none; likewise `testaments`, `works` and
            `authors`.
        exclude_works: Works of which no passage may be found; likewise `exclude_authors`.
        own_work: Whether the work that a query or text is from is searched too.
        view: `lines` for the command line's objects, `report` for those of the page.
        text: The text itself, or "" where it was uploaded before.
        text_id: Its id, where it was uploaded before, else "".
        threshold: The least probability of a finding; None for the default.
        fast: Whether to be fast rather than thorough.
    """

    text: str = ""
    text_id: _Name = ""
    threshold: Annotated[float, Meta(gt=0, le=1)] | None = None
    fast: bool = False


class _QueryPart(Struct, forbid_unknown_fields=True):
    """One of the queries of a request."""

    text: _QueryText = ""
    query_id: _QueryText | None = None
    before: _QueryText = ""
    after: _QueryText = ""
    anchor: _QueryText = ""
    work: _QueryText = ""


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
    queries = _queries(record)
    request = _read_request({**record, "queries": queries}, QueryRequest, default_index)
    if len(queries) * request.top > MOST_HITS:
        raise RefusedError(
            422,
            f"{len(queries)} queries with {request.top} passages each are more than {MOST_HITS}",
        )
    paths = (each for values in request.settings.values() for each in values.values())
    if any("/" in each or "\\" in each for each in paths):
        raise RefusedError(422, "field 'set': files of your own are for the command line")
    return request


def read_scan_request(record: Mapping[str, Any], default_index: str) -> ScanRequest:
    """Read and check a request to `scan`, with the errors of `read_query_request`.

    Example:
        >>> request = read_scan_request({"text": "vinea mea", "books": ["Isaias"]}, "vulgate")
        >>> request.search_filter.books
        frozenset({'Isa'})
    """
    if ("text" in record) == ("text_id" in record):
        raise RefusedError(422, "give either field 'text' or field 'text_id'")
    return _read_request(record, ScanRequest, default_index)


def _read_request(
    record: Mapping[str, Any], shape: type[_AnyRequest], default_index: str
) -> _AnyRequest:
    if record.get("index") is None:
        record = {**record, "index": default_index}
    request = _read(record, shape)
    # Made here once, so that an unknown book is refused now, not when the work begins.
    _ = request.search_filter
    return request


def _read(record: object, shape: type[_Shape], where: str = "") -> _Shape:
    """A part of a request as its declared type; a field that is null counts as missing."""
    if isinstance(record, dict):
        # Unknown fields stay, to be refused: a misspelt option must not be ignored in silence.
        known = shape.__struct_encode_fields__
        record = {k: v for k, v in record.items() if v is not None or k not in known}
    return checked(record, shape, where, partial(RefusedError, 422))


def _queries(record: Mapping[str, Any]) -> tuple[Query, ...]:
    """The queries of a request, from its list `queries` or its one `text`."""
    listed, text = record.get("queries"), record.get("text")
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
    part = _read(row, _QueryPart, where)
    query_id = str(number) if part.query_id is None else part.query_id
    if not part.text.strip() or not query_id.strip():
        raise RefusedError(422, f"{where} is empty; give at least one word")
    return Query(part.text, query_id, part.before, part.after, part.anchor, part.work)
