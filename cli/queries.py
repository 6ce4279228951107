"""Reading queries: from the command line, one a line, or as JSON lines (gold files too)."""

import json
import sys
from pathlib import Path

from allusion_es.cli.query import InputFormat
from allusion_es.core.characters import lone_surrogate
from allusion_es.core.errors import InputError
from allusion_es.core.files import decode, read_text
from allusion_es.retrieval.types import Query

MAX_CHARACTERS = 1_000_000
"""A longer query is a mistake: it would match everything."""

_FIELDS = ("text", "query_id", "before", "after", "anchor", "work", "author", "title")


def read_queries(argument: str, input_format: InputFormat | None) -> list[Query]:
    """The queries that the argument stands for, at least one.

    Args:
        argument: `-` for stdin, the path of a file, or the words of one query.
        input_format: How a file or stdin is read; by default JSON lines where the file's name
            ends in `.jsonl`, else one query a line, empty lines left out.

    Raises:
        InputError: A query is empty or too long, a line is no JSON, a query id occurs twice, or
            the text is not UTF-8; the message names file, line and field.
    """
    if argument == "-":
        return _parse(decode(sys.stdin.buffer.read(), "stdin"), "stdin", input_format)
    path = Path(argument)
    if _is_file(path):
        if input_format is None and path.suffix == ".jsonl":
            input_format = InputFormat.jsonl
        return _parse(read_text(path), argument, input_format)
    return [_checked(Query(argument), "query")]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a path, or with a NUL: words, then
        return False


def _parse(text: str, source: str, input_format: InputFormat | None) -> list[Query]:
    queries = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{source}:{number}"
        if input_format is InputFormat.jsonl:
            query = _from_json(line, place, str(number))
        else:
            query = Query(line.strip(), str(number))
        first = seen.setdefault(query.query_id, number)
        if first != number:
            raise InputError(f"{place}: query_id {query.query_id!r} is also on line {first}")
        queries.append(_checked(query, place))
    if not queries:
        raise InputError(f"{source}: there is no query in it; give one a line")
    return queries


def _from_json(line: str, place: str, default_id: str) -> Query:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON ({error}); give one object a line") from error
    if not isinstance(record, dict) or record.get("text") is None:
        raise InputError(f"{place}: field 'text' is missing; give an object with 'text'")
    values = {name: record[name] for name in _FIELDS if record.get(name) is not None}
    values.setdefault("query_id", default_id)
    if isinstance(values["query_id"], int):
        values["query_id"] = str(values["query_id"])
    for name, value in values.items():
        if not isinstance(value, str):
            raise InputError(f"{place}: field '{name}' must be a string, not {value!r:.60}")
        if half := lone_surrogate(value):
            raise InputError(
                f"{place}: field '{name}' has half a character ({half}); write the whole one"
            )
    author, title = values.pop("author", ""), values.pop("title", "")
    values.setdefault("work", ", ".join(filter(None, (author, title))))
    if not values["query_id"].strip() or not values["query_id"].isprintable():
        raise InputError(
            f"{place}: field 'query_id' is {values['query_id']!r:.60}; leave it out, or fill it "
            "with printable characters"
        )
    return Query(**values)


def _checked(query: Query, place: str) -> Query:
    if not query.text.strip():
        raise InputError(f"{place}: the query is empty; give at least one word")
    if len(query.text) > MAX_CHARACTERS:
        raise InputError(
            f"{place}: the query has {len(query.text)} characters, at most {MAX_CHARACTERS} are "
            "taken; split it into passages, one a line"
        )
    return query
