"""Gold links in files: JSON lines, tables with tabs, TREC qrels with their topics."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TextIO, get_args

from allusion_es.core.characters import lone_surrogate
from allusion_es.core.errors import InputError, UsageError, VerseError
from allusion_es.core.files import read_text, write_lines
from allusion_es.corpora.bible.references import Reference, find_references, parse_references
from allusion_es.corpora.tables import read_rows
from allusion_es.evaluation.gold.link import GoldLink
from allusion_es.evaluation.trec import (
    Judgement,
    read_qrels,
    read_topics,
    topic_line,
    write_qrels,
)
from allusion_es.retrieval.types import Query

# The fields of a gold link as files have them: checked, with errors that say where.


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
    if half := lone_surrogate(value):
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


# Gold links as tables: one link a row, tabs between columns, a header.


_NO_COLUMNS: Mapping[str, str] = MappingProxyType({})
_NEEDED = ("text", "relevant")


def read_table(path: Path, columns: Mapping[str, str] = _NO_COLUMNS) -> Iterator[GoldLink]:
    """The links of a table, in its order; `gold_files.read_gold` says what columns there are.

    Args:
        path: The table; tabs between columns, or a `.csv` (`tables.read_rows`).
        columns: What the table calls its columns, where it is another name.

    Raises:
        InputError: It has no columns `text` and `relevant`, or a row cannot be read; the
            message names file, line and column.
    """
    others = [name for name in COLUMNS if name not in _NEEDED]
    for number, cells in read_rows(path, _NEEDED, others, columns, command="gold convert "):
        if record := {name: cell for name, cell in cells.items() if cell}:
            yield make_link(record, path, number)


def table_lines(links: Iterable[GoldLink]) -> Iterator[str]:
    r"""The lines of a table with all columns; blanks, tabs and line ends become one blank.

    Raises:
        UsageError: An id contains blanks or semicolons, which stand between ids there.

    Example:
        >>> from allusion_es.retrieval.types import Query
        >>> lines = list(table_lines([GoldLink(Query("in\nprincipio", "q"), ("Gen.1.1",))]))
        >>> lines[1].split("\t")[:6]
        ['q', 'in principio', '', '', '', 'Gen.1.1']
    """
    yield "\t".join(COLUMNS)
    for link in links:
        yield "\t".join(_cell(value) for value in values_of(link).values())


def _cell(value: Value) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    for name in value:
        if ";" in name or len(name.split()) != 1:
            raise UsageError(
                f"{name!r} cannot stand in a table of gold links; ids must not contain blanks or "
                "semicolons"
            )
    return " ".join(value)


GoldKind = Literal["jsonl", "tsv", "trec"]
"""How gold links are written down."""

GOLD_KINDS: tuple[GoldKind, ...] = get_args(GoldKind)

_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_SUFFIXES: dict[str, GoldKind] = {
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "tsv",
    ".qrels": "trec",
    ".qrel": "trec",
}


def read_gold(
    path: Path,
    kind: str | None = None,
    topics: Path | None = None,
    columns: Mapping[str, str] = _NO_NAMES,
) -> list[GoldLink]:
    r"""The gold links of a file, in its order.

    JSON lines: one object a line, with `text` and `relevant`, and any other of
    `gold_fields.COLUMNS`. Tables: the same columns, with a header, and with tabs or as a `.csv`;
    in `relevant` and `source_ids`, ids or references with blanks or semicolons between them.
    TREC: qrels, and topics beside them. A link without `query_id` is named by its line. Other
    fields are passed over.

    Args:
        path: A UTF-8 file; `.jsonl`, `.tsv`, `.csv` and `.qrels` are known by their names.
        kind: One of `GOLD_KINDS`, where the file's name does not say.
        topics: The topics of qrels; by default the file of the same name that ends in `.topics`.
        columns: What a table calls its columns, where it is another name.

    Returns:
        The links, with `relevant` as the file has it: ids, or references such as `Ps 22,1-3`,
        which `gold_check.resolve` turns into ids.

    Raises:
        InputError: A line cannot be read, a query has no words or nothing relevant, or a query
            id or link is there twice; the message names file, line and field.
        UsageError: There is no such kind, or the name does not say which it is.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "links.tsv")
        ...     _ = path.write_text("text\trelevant\nin principio erat\tGen 1,1; Ioh 1,1\n")
        ...     [(link.query.query_id, link.relevant) for link in read_gold(path)]
        [('2', ('Gen 1,1', 'Ioh 1,1'))]
    """
    chosen = kind or _SUFFIXES.get(path.suffix.lower(), "")
    if chosen not in GOLD_KINDS:
        told = f"no kind of gold file is {kind!r}" if kind else f"{path}: its name does not say"
        raise UsageError(f"{told}; say that it is one of {', '.join(GOLD_KINDS)}")
    if topics is not None and chosen != "trec":
        raise UsageError(f"topics go with TREC qrels, but {path} is read as {chosen}")
    if chosen == "trec":
        links = list(_read_trec(path, topics or path.with_suffix(".topics")))
    else:
        links = list(read_table(path, columns) if chosen == "tsv" else _read_json_lines(path))
    if not links:
        raise InputError(f"{path}: there is no gold link in it; give at least one")
    _check_ids(links, path)
    return links


def write_gold(target: Path | TextIO, links: Iterable[GoldLink]) -> None:
    """Write links as JSON lines, which `read_gold` reads as the same links.

    Args:
        target: A file, written whole or not at all, or an open stream.
        links: What to write; fields that are empty are left out.

    Raises:
        StorageError: The file cannot be written.

    Example:
        >>> import sys
        >>> from allusion_es.retrieval.types import Query
        >>> write_gold(sys.stdout, [GoldLink(Query("omni scientiae", "b-1"), ("Eph.3.19",))])
        {"query_id": "b-1", "text": "omni scientiae", "relevant": ["Eph.3.19"]}
    """
    write_lines(target, map(_json_line, links))


def write_table(target: Path | TextIO, links: Iterable[GoldLink]) -> None:
    """Write links as a table with tabs; see `gold_table.table_lines`.

    Raises:
        UsageError: An id contains blanks or semicolons.
        StorageError: The file cannot be written.
    """
    write_lines(target, table_lines(links))


def write_trec(
    qrels: Path, links: Iterable[GoldLink], note: Callable[[str], None] = lambda _: None
) -> Path:
    """Write links as qrels, and their words as topics (`id TAB text`) beside them.

    Args:
        qrels: Where the qrels go; the topics get the same name, ending in `.topics`.
        links: What to write; only ids and words are kept.
        note: Called with a note if ids were escaped, since they contain blanks or `%`.

    Returns:
        Where the topics are.

    Raises:
        UsageError: An id is empty, or both files would be the same.
        StorageError: A file cannot be written.
    """
    kept = list(links)
    topics = qrels.with_suffix(".topics")
    if topics == qrels:
        raise UsageError(f"{qrels}: the topics would lie there; name the qrels otherwise")
    if any("" in (link.query.query_id, *link.relevant) for link in kept):
        raise UsageError("an empty id cannot stand in a TREC file; name each query and passage")
    write_lines(topics, (topic_line(link.query.query_id, link.query.text) for link in kept))
    write_qrels(qrels, {link.query.query_id: link.relevant for link in kept}, note)
    return topics


def _json_line(link: GoldLink) -> str:
    return json.dumps(
        {name: value for name, value in values_of(link).items() if value}, ensure_ascii=False
    )


def _read_json_lines(path: Path) -> Iterator[GoldLink]:
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}:{number}: not JSON ({error}); give one object a line") from (
                error
            )
        if not isinstance(record, dict):
            raise InputError(f"{path}:{number}: {line[:40]!r} is no object; give one a line")
        yield make_link(record, path, number)


def _read_trec(path: Path, topics: Path) -> Iterator[GoldLink]:
    by_query: dict[str, list[Judgement]] = {}
    for judgement in read_qrels(path):
        if judgement.grade > 0:
            by_query.setdefault(judgement.query_id, []).append(judgement)
    texts = read_topics(topics)
    for query_id, found in by_query.items():
        if query_id not in texts:
            raise InputError(
                f"{path}:{found[0].line}: query {query_id!r} is not in {topics}; add its words "
                "there"
            )
    for query_id, text in texts.items():
        if query_id not in by_query:
            raise InputError(
                f"{topics}: no passage is relevant to query {query_id!r} in {path}; add one, or "
                "leave the topic out"
            )
        relevant = [judgement.passage for judgement in by_query[query_id]]
        record = {"query_id": query_id, "text": text, "relevant": relevant}
        yield make_link(record, path, by_query[query_id][0].line)


def _check_ids(links: Iterable[GoldLink], path: Path) -> None:
    seen: dict[str, int] = {}
    for link in links:
        query_id = link.query.query_id
        if query_id in seen:
            raise InputError(
                f"{path}:{link.line}: query_id {query_id!r} is also on line {seen[query_id]}; "
                "give each query one line, with all its passages"
            )
        seen[query_id] = link.line
