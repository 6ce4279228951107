"""The fields of a gold link as files have them: checked, with errors that say where."""

import re
from collections.abc import Mapping
from pathlib import Path

from allusion_es.core.errors import InputError, VerseError
from allusion_es.core.texts import half_character
from allusion_es.corpora.references import Reference, find_references, parse_references
from allusion_es.evaluation.gold import GoldLink
from allusion_es.retrieval.types import Query

COLUMNS = (
    "query_id", "text", "before", "after", "anchor", "relevant", "type", "author", "title",
    "source_ids", "source", "licence", "translation",
)  # fmt: skip
"""The fields of a gold link, in the order in which they are written."""

_QUERY = frozenset({"query_id", "text", "before", "after", "anchor"})
_LISTS = frozenset({"relevant", "source_ids"})

Value = str | tuple[str, ...]


def values_of(link: GoldLink) -> dict[str, Value]:
    """The fields of a link, in the order of `COLUMNS`."""
    return {name: getattr(link.query if name in _QUERY else link, name) for name in COLUMNS}


def make_link(record: Mapping[str, object], path: Path, line: int) -> GoldLink:
    """The link that a record describes; fields that are not among `COLUMNS` are passed over.

    Args:
        record: Strings, and for `relevant` and `source_ids` lists of strings, or strings with
            blanks or semicolons between ids. What is missing or None is empty; a query id that
            is missing is the number of the line.
        path: The file, for messages.
        line: The line.

    Raises:
        InputError: A field is of another type, the query is empty, nothing is relevant, or a
            passage is relevant twice; the message names file, line and field.
    """
    place = f"{path}:{line}"
    given = {name: record[name] for name in COLUMNS if record.get(name) is not None}
    texts = {name: _text(given[name], name, place) for name in given if name not in _LISTS}
    lists = {name: _ids(given[name], name, place) for name in given if name in _LISTS}
    query = {name: texts.pop(name) for name in _QUERY & texts.keys()}
    _check_query(query.setdefault("text", ""), query.setdefault("query_id", str(line)), place)
    relevant = lists.setdefault("relevant", ())
    if not relevant:
        raise InputError(f"{place}: field 'relevant' is empty; name at least one passage")
    for name, ids in lists.items():
        if len(set(ids)) < len(ids):
            twice = next(each for each in ids if ids.count(each) > 1)
            raise InputError(
                f"{place}: field {name!r} of query {query['query_id']!r} has {twice!r} twice; "
                "name each passage once"
            )
    return GoldLink(query=Query(**query), **lists, **texts, line=line)  # type: ignore[arg-type]


def split_ids(cell: str) -> tuple[str, ...]:
    """The ids or references of a cell, with blanks or semicolons between them.

    A cell that is a list of references is one; it is cut only where each part alone means what
    it means in the list. A cell with a book's name that cannot be read stays whole where a part
    alone would be a whole book or chapter (`Is 7,14; Ps`).

    Example:
        >>> split_ids("Ps.22.1 Isa.7.14"), split_ids("Ps 22,1-3; Is 7,14"), split_ids("b-1; b-2")
        (('Ps.22.1', 'Isa.7.14'), ('Ps 22,1-3', 'Is 7,14'), ('b-1', 'b-2'))
        >>> split_ids("Ps 22,1; 23,2")  # the second belongs to the book of the first
        ('Ps 22,1; 23,2',)
        >>> split_ids("Is. LV")  # not Isaiah and Leviticus
        ('Is. LV',)
    """
    words = tuple(cell.split())
    parts = tuple(part.strip() for part in cell.split(";") if part.strip())
    if all(map(_is_osis, words)):
        return words
    whole = _read(cell)
    if whole:
        alone = [reference for part in parts for reference in _read(part)]
        return parts if tuple(alone) == whole else (cell.strip(),)
    if not _names_a_book(cell):
        return parts if ";" in cell else words
    if any(not reference.verse for part in parts for reference in _read(part)):
        return (cell.strip(),)
    return parts


_OSIS = re.compile(r"\w+(?:\.[0-9]+){1,2}(?:-\w+(?:\.[0-9]+){1,2})?")


def _is_osis(word: str) -> bool:
    return _OSIS.fullmatch(word) is not None and bool(_read(word))


def _read(text: str) -> tuple[Reference, ...]:
    try:
        return parse_references(text)
    except VerseError:
        return ()


def _names_a_book(cell: str) -> bool:
    """Whether a book's name and a number stand in a cell, or the whole cell is several names."""
    if find_references(cell):
        return True
    words = cell.split()
    return len(words) > 1 and any(map(_read, words))


def _check_query(text: str, query_id: str, place: str) -> None:
    if not query_id.strip() or not query_id.isprintable():
        raise InputError(
            f"{place}: field 'query_id' is {query_id!r:.60}; leave it out, or fill it with "
            "printable characters"
        )
    if not text.strip():
        raise InputError(
            f"{place}: field 'text' of query {query_id!r} is empty; give at least one word"
        )


def _text(value: object, name: str, place: str) -> str:
    if name == "query_id" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise InputError(f"{place}: field {name!r} must be a string, not {value!r:.60}")
    if half := half_character(value):
        raise InputError(
            f"{place}: field {name!r} has half a character ({half}); write the whole character"
        )
    return value


def _ids(value: object, name: str, place: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return split_ids(_text(value, name, place))
    if not isinstance(value, list | tuple):
        raise InputError(f"{place}: field {name!r} must be a list of strings, not {value!r:.60}")
    ids = tuple(_text(item, name, place) for item in value)
    if not all(each.strip() for each in ids):
        raise InputError(f"{place}: field {name!r} has an empty id; leave it out or fill it")
    return ids
