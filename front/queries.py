"""Queries as people give them: words, lines, JSON lines (gold files too), tables, Python values."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from allusion_es.core.errors import InputError, UsageError
from allusion_es.core.files import decode, read_text
from allusion_es.core.records import checked, checked_id, parse_json
from allusion_es.corpora.formats import (
    JSON_SUFFIXES,
    TABLE_SUFFIXES,
    TESS_SUFFIX,
    check_plain,
    check_signature,
    kind_of,
    looks_like_json,
)
from allusion_es.corpora.passage import Passage, Work
from allusion_es.corpora.tables import read_rows, split_lines
from allusion_es.retrieval.types import Query

MAX_CHARACTERS = 1_000_000
"""Most characters of a query; a longer one is a mistake and would match everything."""

_NO_NAMES: Mapping[str, str] = MappingProxyType({})
# An ending of a file's name, or a path without blanks that begins as paths do.
_FILE = re.compile(
    r".*\.(?:txt|text|csv|tsv|tab|jsonl?|jsonld|ndjson|xml|tei|[sx]?html?|xht|doc[mx]?|dotx?|odt|ods"
    r"|fodt|rtfd?|pdf|epub|mobi|azw3|latex|ltx|tex|md|gz|tgz|bz2|xz|zst|7z|rar|zip|xls[mx]?|pptx?"
    r"|numbers|pages|wpd|wps|png|jpe?g|gif|tiff?|webp|bmp|djvu?|eps|srt|vtt|ya?ml|log|bak|qrels?"
    r"|topics|run|tess|sqlite|asc)"
    r"|(?:\.{0,2}/|~/|[A-Za-z]:\\|file:|https?://)\S*|\.{1,2}|[^\s/]+(?:/[^\s/]*)*/",
    re.IGNORECASE,
)
_COLUMNS = ("query_id", "id", "before", "after", "anchor", "work", "author", "title")


class _QueryRecord(Struct):
    """A line of JSON or a row of a table, without what it leaves empty."""

    text: str
    query_id: str | int = ""
    id: str | int = ""
    seg_id: str | int = ""
    before: str = ""
    after: str = ""
    anchor: str = ""
    work: str = ""
    author: str = ""
    title: str = ""


_FIELDS = _QueryRecord.__struct_fields__
_IDS = ("query_id", "id", "seg_id")
"""What other programs call the id of a query; the first that there is counts."""


def read_queries(
    argument: str,
    input_format: str | None,
    columns: Mapping[str, str] = _NO_NAMES,
) -> list[Query]:
    """Return the queries that the argument stands for, at least one.

    Args:
        argument: `-` for stdin, the path of a file, or the words of one query.
        input_format: How a file or stdin is read, `lines`, `jsonl` or `table`; by default as its
            name and first bytes say: TEI or a text of Tesserae, of which each passage is a query
            with those beside it as context; a table (`.csv`, `.tsv`, or a text that begins with
            names of columns), JSON lines, a page or document of which each paragraph is a query,
            else one query a line, empty lines left out.
        columns: A table's own names of its columns, where they differ.

    Raises:
        InputError: No query has words, or one is too long, a line is no JSON, a query id occurs
            twice, the file is of a kind that is not read, or looks like a file and there is none;
            the message names file, line and field.
    """
    if argument == "-":
        data = sys.stdin.buffer.read()
        if input_format is None:
            check_signature(data, "stdin")
        return _parse(decode(data, "stdin"), "stdin", input_format, columns)
    path = Path(argument)
    if _is_file(path):
        return read_query_file(path, input_format, columns)
    if _looks_like_a_file(argument) or ("/" in argument and path.is_dir()):
        if path.is_dir():
            raise InputError(f"{argument}: it is a folder; give the path of a file in it")
        raise InputError(
            f"{argument}: there is no such file; give the path of one, or words to search for "
            "without the ending of a file's name"
        )
    return [_checked(Query(argument), "query")]


def queries_of(given: Iterable[str | Query | Mapping[str, Any]]) -> list[Query]:
    """The queries behind Python values, in their order; those without an id are numbered.

    Args:
        given: Words, `Query` objects, or mappings with `text` and what else a line of JSON has.

    Raises:
        InputError: A query has no words, or is too long, or an id occurs twice.
        UsageError: A value is none of these.

    Example:
        >>> [(query.query_id, query.text) for query in queries_of(["Dominus regit me", "vinea"])]
        [('1', 'Dominus regit me'), ('2', 'vinea')]
        >>> queries_of([{"query_id": "b1", "text": "vinea mea", "before": "et"}])[0].before
        'et'
    """
    return _unique(((n, _query_of(each, n)) for n, each in enumerate(given, start=1)), "query")


def _query_of(value: object, number: int) -> Query:
    place = f"query:{number}"
    if isinstance(value, str):
        # The check of files lets empty rows pass; here each value was meant as a query.
        return _checked(Query(value, str(number)), place)
    if isinstance(value, Query):
        return _checked(value, place)
    if isinstance(value, Mapping) and value.get("text") is not None:
        return _checked(_from_record(value, place, str(number)), place)
    raise UsageError(
        f"{place}: give words, a Query or a dict with 'text', not {type(value).__name__}"
    )


def is_path(text: str) -> bool:
    """Whether a text is the path of a file that is there, or looks like the path of one.

    Example:
        >>> is_path("sermo.txt"), is_path("Dominus regit me")
        (True, False)
    """
    return _looks_like_a_file(text) or _is_file(Path(text))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a path, or with a NUL: words, then
        return False


def _looks_like_a_file(argument: str) -> bool:
    """Whether an argument that is not a file looks like the path of one."""
    return bool(_FILE.fullmatch(argument.strip()))


def read_query_file(
    path: Path, input_format: str | None = None, columns: Mapping[str, str] = _NO_NAMES
) -> list[Query]:
    """The queries of a file, at least one; arguments and errors are those of `read_queries`."""
    if input_format == "table":
        return _unique(_table_rows(path, None, columns), str(path))
    if input_format is not None:
        return _parse(read_text(path), str(path), input_format, columns)
    kind = kind_of(path, tables=True)
    suffix = path.suffix.lower()
    # Readers of editions take long to import, and mostly words or lines are asked for.
    if kind == "tei" or suffix == TESS_SUFFIX:
        from allusion_es.corpora.passage_files import read_passages

        return passage_queries(read_passages(path))
    if kind == "html" or kind == "docx":
        from allusion_es.corpora.documents import document_of

        text = document_of(path, kind).text
        return _parse(text, str(path), "lines", columns)
    if suffix in TABLE_SUFFIXES:
        return _unique(_table_rows(path, None, columns), str(path))
    is_json = suffix in JSON_SUFFIXES
    return _parse(read_text(path), str(path), "jsonl" if is_json else None, columns)


def passage_queries(passages: Iterable[Passage]) -> list[Query]:
    """A query for each passage, with the passages beside it as the words before and after.

    Args:
        passages: In the order of the text.

    Example:
        >>> lines = [Passage("1", "Arma virumque cano", "Aeneis"), Passage("2", "Troiae", "Aeneis")]
        >>> [(query.query_id, query.before, query.after) for query in passage_queries(lines)]
        [('1', '', 'Troiae'), ('2', 'Arma virumque cano', '')]
    """
    listed = list(passages)
    queries = []
    for number, passage in enumerate(listed):
        beside = [listed[at] if 0 <= at < len(listed) else None for at in (number - 1, number + 1)]
        work = Work(passage.author, passage.work)
        before, after = (
            each.text if each and Work(each.author, each.work) == work else "" for each in beside
        )
        queries.append(Query(passage.text, passage.id, before, after, work=work.label))
    return queries


def _parse(
    text: str, source: str, input_format: str | None, columns: Mapping[str, str]
) -> list[Query]:
    if input_format == "table":
        return _unique(_table_rows(source, text, columns), source)
    is_checked = input_format is None
    if input_format is None and looks_like_json(text):
        input_format = "jsonl"
    if input_format is None and _has_header(text):
        return _unique(_table_rows(source, text, columns), source)
    return _unique(_line_rows(text, source, input_format, is_checked), source)


def _has_header(text: str) -> bool:
    """Whether a text begins as a table with queries does: with `text` and another column."""
    first = text.lstrip("\ufeff").split("\n", 1)[0]
    names = {name.strip(' "\r').lower() for name in re.split("[,;\t]", first)}
    return "text" in names and not names.isdisjoint(_COLUMNS)


def _line_rows(
    text: str, source: str, input_format: str | None, is_checked: bool
) -> Iterator[tuple[int, Query]]:
    for number, line in enumerate(split_lines(text), start=1):
        if not line.strip():
            continue
        place = f"{source}:{number}"
        if input_format == "jsonl":
            yield number, _from_json(line, place, str(number))
        else:
            if is_checked:
                check_plain(line, place, is_line=True)
            yield number, Query(line.strip(), str(number))


def _table_rows(
    source: Path | str, text: str | None, columns: Mapping[str, str]
) -> Iterator[tuple[int, Query]]:
    for number, cells in read_rows(source, ("text",), _COLUMNS, columns, text):
        if not any(cells.values()):
            continue
        record = {name: cell for name, cell in cells.items() if cell}
        record.setdefault("text", "")
        yield number, _from_record(record, f"{source}:{number}", str(number))


def _unique(rows: Iterable[tuple[int, Query]], source: str) -> list[Query]:
    """The queries of a file, which must be there and have different ids."""
    queries = []
    seen: dict[str, int] = {}
    for number, query in rows:
        place = f"{source}:{number}"
        first = seen.setdefault(query.query_id, number)
        if first != number:
            raise InputError(f"{place}: query_id {query.query_id!r} is also on line {first}")
        # One row without words is told as such, like one of signs only, and costs no other.
        queries.append(_checked(query, place) if query.text.strip() else query)
    if not any(query.text.strip() for query in queries):
        raise InputError(f"{source}: there is no query in it; give one a line")
    return queries


def _from_json(line: str, place: str, default_id: str) -> Query:
    record = parse_json(line, place)
    if not isinstance(record, dict) or record.get("text") is None:
        raise InputError(f"{place}: field 'text' is missing; give an object with 'text'")
    return _from_record(record, place, default_id)


def _from_record(record: Mapping[str, Any], place: str, default_id: str) -> Query:
    given = {name: record[name] for name in _FIELDS if record.get(name) is not None}
    row = checked(given, _QueryRecord, place)
    named = next((record[name] for name in _IDS if record.get(name) is not None), default_id)
    query_id = checked_id(named, place)
    work = row.work or Work(row.author, row.title).label
    return Query(row.text, query_id, row.before, row.after, row.anchor, work)


def _checked(query: Query, place: str) -> Query:
    if not query.text.strip():
        raise InputError(f"{place}: the query is empty; give at least one word")
    if len(query.text) > MAX_CHARACTERS:
        raise InputError(
            f"{place}: the query has {len(query.text)} characters, at most {MAX_CHARACTERS} are "
            "taken; split it into passages, one a line"
        )
    return query
